"""Validated settings of the learner (the inputs of Algorithm 3: r, Lambda, tau) and of fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from loopylatent.compute.values import check_choice, check_whole, finite
from loopylatent.errors import Remedy, ThresholdError

Method = Literal["quartet", "relaxed", "nj"]
Order = Literal["degree", "index", "random"]
Inference = Literal["auto", "exact", "lbp"]
Goal = Literal["structure", "prediction"]
"""What a refinement by likelihood is for."""

READS: Mapping[Method, tuple[str, ...]] = {
    "quartet": ("r", "Lambda", "tau"),
    "relaxed": ("r",),
    "nj": ("r", "tau"),
}
"""The thresholds that each method uses."""
RELAXED_TAU = -math.log(0.9)
"""The fixed contraction threshold of relaxed grouping."""
_RADIUS = ("use a distance, such as ", Remedy("radius_of_a_tree"), " for a tree")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The three thresholds of the paper.

    Parameters
    ----------
    r : float
        Radius of the balls in which local minimum spanning trees are built, at least 0.
    Lambda : float
        Confidence margin of the quartet test, in [0, 1).
    tau : float
        Edges at a hidden node that are shorter than this are contracted, at least 0.

    Examples
    --------
    >>> Thresholds(r=5, Lambda=0, tau=0.1)
    Thresholds(r=5.0, Lambda=0.0, tau=0.1)
    """

    r: float
    Lambda: float
    tau: float

    def __post_init__(self) -> None:
        r = finite("r", self.r, *_RADIUS)
        Lambda = finite("Lambda", self.Lambda, "use a number in [0, 1)")
        tau = finite("tau", self.tau, "use a length of at least 0")
        if r < 0:
            raise ThresholdError(
                f"r = {r:g} is negative; use at least the smallest distance",
                Remedy("smallest_distance"),
                ".",
            )
        if not 0 <= Lambda < 1:
            raise ThresholdError(
                Remedy("setting", "Lambda", f"{Lambda:g}"), " ", Remedy("margin"), "."
            )
        if tau < 0:
            raise ThresholdError(
                Remedy("setting", "tau", f"{tau:g}"), " is negative; use 0 for no contraction."
            )
        object.__setattr__(self, "r", r)
        object.__setattr__(self, "Lambda", Lambda)
        object.__setattr__(self, "tau", tau)

    @property
    def in_short(self) -> str:
        """The thresholds with three digits each, on one line."""
        return f"r={self.r:.3g}, Lambda={self.Lambda:.3g}, tau={self.tau:.3g}"


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """All settings that, with the distances, determine the learned graph.

    Parameters
    ----------
    thresholds : Thresholds
    method : {"quartet", "relaxed", "nj"}
        How the local latent tree of a neighbourhood is built: by quartet tests, by relaxed
        grouping (ignores Lambda, has a fixed tau), or by neighbor joining (ignores Lambda).
    order : {"degree", "index", "random"}
        The order in which nodes are visited; ``random`` uses ``seed``.
    seed : int
        For the random order and the random starts of relaxed grouping.
    max_outsiders : int
        In larger neighbourhoods, the quartet test of a pair uses only this many outsiders, the
        nearest ones, and relaxed grouping splits into at most this many families.

    Examples
    --------
    >>> LearnSettings(Thresholds(r=5, Lambda=0, tau=0.1), order="random", seed=3).seed
    3
    """

    thresholds: Thresholds
    method: Method = "quartet"
    order: Order = "degree"
    seed: int = 0
    max_outsiders: int = 150

    def __post_init__(self) -> None:
        check_choice("method", self.method, get_args(Method))
        check_choice("order", self.order, get_args(Order))
        check_whole("seed", self.seed, 0)
        if self.max_outsiders < 2:
            raise ThresholdError(
                f"max_outsiders = {self.max_outsiders} is too small; a quartet needs at least 2."
            )

    @property
    def shortest_edge(self) -> float:
        """The contraction threshold in effect: tau, or that of relaxed grouping."""
        return RELAXED_TAU if self.method == "relaxed" else self.thresholds.tau


@dataclass(frozen=True, slots=True)
class FitSettings:
    """All settings that, with the graph and the rows, determine the fitted parameters.

    Parameters
    ----------
    n_starts : int
        The first start uses the learned lengths and the observed correlations; further ones
        perturb the parameters of the hidden nodes. The best result is kept.
    max_steps : int
        Maximum number of L-BFGS steps per start.
    tolerance : float
        A fit has converged if no entry of the gradient per row is larger.
    seed : int
        For the further starts.
    inference : {"auto", "exact", "lbp"}
        ``auto`` is exact if no table has more than ``largest_table`` entries, else loopy belief
        propagation.
    spread : float
        Standard deviation of the perturbed starts.
    largest_table : int

    Examples
    --------
    >>> FitSettings(n_starts=3, inference="lbp").inference
    'lbp'
    """

    n_starts: int = 1
    max_steps: int = 1000
    tolerance: float = 1e-4
    seed: int = 0
    inference: Inference = "auto"
    spread: float = 0.5
    largest_table: int = 2**20

    def __post_init__(self) -> None:
        check_whole("n_starts", self.n_starts, 1)
        check_whole("max_steps", self.max_steps, 0)
        check_whole("seed", self.seed, 0)
        check_whole("largest_table", self.largest_table, 2)
        check_choice("inference", self.inference, get_args(Inference))
        for name in ("tolerance", "spread"):
            if finite(name, getattr(self, name), "use a number above 0") <= 0:
                raise ThresholdError(f"{name} = {getattr(self, name):g} must be above 0.")
