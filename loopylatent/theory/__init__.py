"""The conditions and bounds of the paper as numbers and tables (section 5)."""

from loopylatent.theory.assumptions import Condition, Verdict, conditions, depth, ensemble_of
from loopylatent.theory.ensemble import (
    KAPPA,
    DepthBound,
    Ensemble,
    Interval,
    failure_bound,
    necessary_samples,
    pair_distance,
    sampled_depth,
    sampled_growth,
)

__all__ = [
    "KAPPA", "Condition", "DepthBound", "Ensemble", "Interval", "Verdict", "conditions",
    "depth", "ensemble_of", "failure_bound", "necessary_samples", "pair_distance",
    "sampled_depth", "sampled_growth",
]  # fmt: skip
