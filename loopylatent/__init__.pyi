"""The public names; `loopylatent` imports each when it is first used."""

from . import synthetic as synthetic, theory as theory
from .analysis.evaluation.coherence import coherence as coherence
from .analysis.evaluation.contest import (
    Contestant as Contestant,
    contestants as contestants,
    iter_evaluations as iter_evaluations,
)
from .analysis.evaluation.lda import fit_lda as fit_lda
from .analysis.evaluation.topics import (
    Topic as Topic,
    cycle_groups as cycle_groups,
    shared_columns as shared_columns,
    topics as topics,
)
from .analysis.matching import match_hidden as match_hidden
from .analysis.stability.groups import (
    Groups as Groups,
    communities as communities,
    groups as groups,
)
from .analysis.stability.resampling import SeedEffect as SeedEffect, over_seeds as over_seeds
from .analysis.stability.runs import Stability as Stability
from .analysis.structure_error import structure_error as structure_error
from .analysis.sweep.barcode import Bar as Bar, barcode as barcode
from .analysis.sweep.points import SweepPoint as SweepPoint
from .analysis.sweep.scores import PointScores as PointScores
from .analysis.sweep.suggest import Suggestion as Suggestion, suggest as suggest
from .analysis.sweep.table import Sweep as Sweep, sweep as sweep
from .api import (
    export as export,
    learn as learn,
    stability as stability,
)
from .distances.files import read_distances as read_distances
from .distances.matrix import (
    DistanceMatrix as DistanceMatrix,
    information_distances as information_distances,
)
from .distances.sparse import (
    SparseDistances as SparseDistances,
    sparse_distances as sparse_distances,
)
from .errors import (
    DataError as DataError,
    DistanceError as DistanceError,
    InferenceError as InferenceError,
    LimitError as LimitError,
    LoopyLatentError as LoopyLatentError,
    ThresholdError as ThresholdError,
)
from .exporting.project.file import (
    Project as Project,
    Recipe as Recipe,
    open_project as open_project,
    write_project as write_project,
)
from .exporting.report.findings import Findings as Findings, examine as examine
from .exporting.report.page import to_report as to_report, write_report as write_report
from .graph import LatentGraph as LatentGraph
from .inference.fit import fit_parameters as fit_parameters
from .inference.model import Model as Model
from .inference.scores import Scores as Scores
from .learning.estimator import LocalCLGrouping as LocalCLGrouping
from .learning.initial_graph import (
    EdgeDensity as EdgeDensity,
    default_thresholds as default_thresholds,
    edge_density as edge_density,
    initial_graph as initial_graph,
    loop_radius as loop_radius,
    settings_for as settings_for,
)
from .learning.learner import LearnResult as LearnResult, iter_steps as iter_steps
from .learning.part_evidence import Evidence as Evidence
from .learning.refinement import (
    RefinedResult as RefinedResult,
    RefinedStep as RefinedStep,
    Refinement as Refinement,
    TriedMove as TriedMove,
    refine as refine,
)
from .learning.regularized import RegularizedResult as RegularizedResult
from .learning.trace import replay as replay
from .settings import (
    FitSettings as FitSettings,
    LearnSettings as LearnSettings,
    Thresholds as Thresholds,
)
from .synthetic import laboratory as laboratory
from .tables.blocks.table import BlockTable as BlockTable, scan_table as scan_table
from .tables.observations import Observations as Observations, read_table as read_table
from .tables.samples import (
    Sample as Sample,
    load_sample as load_sample,
    sample_names as sample_names,
)
from .tables.sparse import read_sparse as read_sparse

__version__: str
