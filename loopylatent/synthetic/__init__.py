"""Models with a known graph: exact distances, exact samples (the oracle of section 5.1)."""

from __future__ import annotations

from loopylatent.compute.values import Range
from loopylatent.synthetic.closed_forms import GaussianLaw, Spins
from loopylatent.synthetic.discrete import Diagnostics, DiscreteLaw, GibbsRun, gibbs
from loopylatent.synthetic.families import (
    CAGES,
    LENGTHS,
    STRONGEST_POTENTIAL,
    cage,
    from_skeleton,
    hidden_by_chance,
    latent_cycle,
    latent_tree,
    read_edges,
    regular_skeleton,
)
from loopylatent.synthetic.laboratory import Family, Specification
from loopylatent.synthetic.model import Drawn, Kind, SyntheticModel

__all__ = [
    "CAGES", "LENGTHS", "STRONGEST_POTENTIAL", "Diagnostics", "DiscreteLaw", "Drawn", "Family",
    "GaussianLaw", "GibbsRun", "Kind", "Range", "Specification", "Spins", "SyntheticModel",
    "cage", "from_skeleton", "gibbs", "hidden_by_chance", "latent_cycle", "latent_tree",
    "read_edges", "regular_skeleton",
]  # fmt: skip
