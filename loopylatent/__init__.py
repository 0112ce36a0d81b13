"""Learning loopy graphical models with hidden variables (Anandkumar and Valluvan, 2013).

>>> import loopylatent as ll
>>> sample = ll.load_sample("bfi25")
>>> D = ll.information_distances(sample.observations)
>>> ll.learn(D).graph.n_observed
25
"""

from loopylatent import laboratory, notebook, synthetic, theory
from loopylatent._version import __version__
from loopylatent.api import export, learn, settings_for, stability
from loopylatent.barcode import Bar, barcode
from loopylatent.block_scan import scan_table
from loopylatent.block_table import BlockTable
from loopylatent.coherence import coherence
from loopylatent.communities import Groups, communities, groups
from loopylatent.cycle_groups import cycle_groups
from loopylatent.data import Observations, read_table
from loopylatent.distances import DistanceMatrix, information_distances
from loopylatent.errors import (
    DataError,
    DistanceError,
    InferenceError,
    LimitError,
    LoopyLatentError,
    ThresholdError,
)
from loopylatent.estimator import LocalCLGrouping
from loopylatent.evaluate import Contestant, contestants, iter_evaluations
from loopylatent.graph import LatentGraph
from loopylatent.inference import Model, fit_parameters
from loopylatent.initial_graph import EdgeDensity, edge_density, initial_graph
from loopylatent.lda import fit_lda
from loopylatent.learn import LearnResult, iter_steps
from loopylatent.matching import match_hidden
from loopylatent.project import Project, open_project, write_project
from loopylatent.recipe import Recipe, read_distances
from loopylatent.regularize import RegularizedResult
from loopylatent.report.findings import Findings, examine
from loopylatent.report.page import to_report, write_report
from loopylatent.samples import Sample, load_sample, sample_names
from loopylatent.scoring import Scores
from loopylatent.seeds import SeedEffect, over_seeds
from loopylatent.settings import FitSettings, LearnSettings, Thresholds
from loopylatent.sparse_distances import SparseDistances, sparse_distances
from loopylatent.sparse_files import read_sparse
from loopylatent.stability import Stability
from loopylatent.structure_error import structure_error
from loopylatent.suggest import Suggestion, suggest
from loopylatent.sweep import Sweep, sweep
from loopylatent.sweep_points import SweepPoint
from loopylatent.sweep_scores import PointScores
from loopylatent.thresholds import default_thresholds, loop_radius
from loopylatent.topics import Topic, shared_columns, topics
from loopylatent.trace import replay

notebook.attach()

__all__ = [
    "Bar",
    "BlockTable",
    "Contestant",
    "DataError",
    "DistanceError",
    "DistanceMatrix",
    "EdgeDensity",
    "Findings",
    "FitSettings",
    "Groups",
    "InferenceError",
    "LatentGraph",
    "LearnResult",
    "LearnSettings",
    "LimitError",
    "LocalCLGrouping",
    "LoopyLatentError",
    "Model",
    "Observations",
    "PointScores",
    "Project",
    "Recipe",
    "RegularizedResult",
    "Sample",
    "Scores",
    "SeedEffect",
    "SparseDistances",
    "Stability",
    "Suggestion",
    "Sweep",
    "SweepPoint",
    "ThresholdError",
    "Thresholds",
    "Topic",
    "__version__",
    "barcode",
    "coherence",
    "communities",
    "contestants",
    "cycle_groups",
    "default_thresholds",
    "edge_density",
    "examine",
    "export",
    "fit_lda",
    "fit_parameters",
    "groups",
    "information_distances",
    "initial_graph",
    "iter_evaluations",
    "iter_steps",
    "laboratory",
    "learn",
    "load_sample",
    "loop_radius",
    "match_hidden",
    "open_project",
    "over_seeds",
    "read_distances",
    "read_sparse",
    "read_table",
    "replay",
    "sample_names",
    "scan_table",
    "settings_for",
    "shared_columns",
    "sparse_distances",
    "stability",
    "structure_error",
    "suggest",
    "sweep",
    "synthetic",
    "theory",
    "to_report",
    "topics",
    "write_project",
    "write_report",
]
