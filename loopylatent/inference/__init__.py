"""Parameters on a graph: exact sums, belief propagation, Gaussian models, the fitted model."""

from loopylatent.inference.elimination import LARGEST_TABLE, Elimination, eliminate
from loopylatent.inference.fit import FitProgress, fit_parameters
from loopylatent.inference.model import ExtremeRows, LbpError, Model

__all__ = [
    "LARGEST_TABLE",
    "Elimination",
    "ExtremeRows",
    "FitProgress",
    "LbpError",
    "Model",
    "eliminate",
    "fit_parameters",
]
