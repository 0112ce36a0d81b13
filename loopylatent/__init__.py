"""Learning loopy graphical models with hidden variables (Anandkumar and Valluvan, 2013).

>>> import loopylatent as ll
>>> sample = ll.load_sample("bfi25")
>>> D = ll.information_distances(sample.observations)
>>> ll.learn(D).graph.n_observed
25
"""

from loopylatent import synthetic
from loopylatent._version import __version__
from loopylatent.api import export, learn, settings_for
from loopylatent.communities import Groups, communities, groups
from loopylatent.data import Observations, read_table
from loopylatent.distances import DistanceMatrix, information_distances
from loopylatent.errors import (
    DataError,
    DistanceError,
    InferenceError,
    LoopyLatentError,
    ThresholdError,
)
from loopylatent.estimator import LocalCLGrouping
from loopylatent.graph import LatentGraph
from loopylatent.inference import Model, fit_parameters
from loopylatent.initial_graph import EdgeDensity, edge_density, initial_graph
from loopylatent.learn import LearnResult, iter_steps
from loopylatent.matching import match_hidden
from loopylatent.project import Project, open_project, write_project
from loopylatent.recipe import Recipe, read_distances
from loopylatent.regularize import RegularizedResult
from loopylatent.samples import Sample, load_sample, sample_names
from loopylatent.scoring import Scores
from loopylatent.settings import FitSettings, LearnSettings, Thresholds
from loopylatent.structure_error import structure_error
from loopylatent.thresholds import default_thresholds, loop_radius
from loopylatent.trace import replay

__all__ = [
    "DataError",
    "DistanceError",
    "DistanceMatrix",
    "EdgeDensity",
    "FitSettings",
    "Groups",
    "InferenceError",
    "LatentGraph",
    "LearnResult",
    "LearnSettings",
    "LocalCLGrouping",
    "LoopyLatentError",
    "Model",
    "Observations",
    "Project",
    "Recipe",
    "RegularizedResult",
    "Sample",
    "Scores",
    "ThresholdError",
    "Thresholds",
    "__version__",
    "communities",
    "default_thresholds",
    "edge_density",
    "export",
    "fit_parameters",
    "groups",
    "information_distances",
    "initial_graph",
    "iter_steps",
    "learn",
    "load_sample",
    "loop_radius",
    "match_hidden",
    "open_project",
    "read_distances",
    "read_table",
    "replay",
    "sample_names",
    "settings_for",
    "structure_error",
    "synthetic",
    "write_project",
]
