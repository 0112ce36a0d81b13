"""The local latent tree of a neighbourhood (Algorithms 1 and 2), by one of three methods.

Quartet grouping rests on quartet tests (Erdős, Steel, Székely and Warnow, 1999). Relaxed grouping
is the variant behind the paper's experiments, a form of recursive grouping (Choi, Tan, Anandkumar
and Willsky, JMLR 12, 2011) with the constants of their published MATLAB toolbox, none of whose code
is used. Neighbor joining is by Saitou and Nei (1987). docs/references.md has full references and
the source of each constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray
from loopylatent.errors import ThresholdError
from loopylatent.settings import LearnSettings

if TYPE_CHECKING:
    from loopylatent.compute._kernels.grouping import Rules


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Nodes connected by finite distances, and all distances between them."""

    nodes: tuple[int, ...]
    distances: FloatArray


def finite_parts(distances: FloatArray) -> tuple[Part, ...]:
    """Split nodes by finite distances; replace infinite ones within a part by shortest paths."""
    part, filled = _kernels.grouping.split_by_finite(np.array(distances, np.float64))
    found = [np.flatnonzero(part == k) for k in range(int(part.max()) + 1)]
    return tuple(Part(tuple(nodes.tolist()), filled[nodes[:, None], nodes]) for nodes in found)


Verdict = Literal["ab|cd", "ac|bd", "ad|bc", "⊥"]
VERDICTS: tuple[Verdict, ...] = ("⊥", "ab|cd", "ac|bd", "ad|bc")
MOST_LISTED = 2_000_000


@dataclass(frozen=True, slots=True)
class Quartet:
    """Four nodes, their three products e^-(d + d'), and the verdict of the quartet test."""

    nodes: tuple[int, int, int, int]
    products: tuple[float, float, float]
    """For ab|cd, ac|bd and ad|bc, without the margin."""
    verdict: Verdict


def quartets(distances: FloatArray, Lambda: float) -> tuple[Quartet, ...]:
    """List every quartet of a neighbourhood with the verdict of the learner's test."""
    m = len(distances)
    count = m * (m - 1) * (m - 2) * (m - 3) // 24
    if count > MOST_LISTED:
        raise ThresholdError(
            f"{m} nodes have {count:,} quartets; at most {MOST_LISTED:,} are listed. Choose fewer "
            "nodes."
        )
    strength = np.exp(-np.asarray(distances, dtype=np.float64))
    listed = _kernels.grouping.list_quartets(strength, float(Lambda))
    a, b, c, d, _ = listed.T
    pairs = (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
    products = np.column_stack([strength[one] * strength[other] for one, other in pairs])
    return tuple(
        Quartet((a, b, c, d), (first, second, third), VERDICTS[verdict])
        for (a, b, c, d, verdict), (first, second, third) in zip(
            listed.tolist(), products.tolist(), strict=True
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """The active nodes after some joins, and the Q criterion of neighbor joining."""

    nodes: tuple[int, ...]
    """Positions; new hidden nodes follow those of the neighbourhood."""
    distances: FloatArray
    q: FloatArray
    """(a, a) Q of every pair; NaN on the diagonal."""


def criterion(distances: FloatArray, joins: int) -> Criterion:
    """Return the Q criterion after some joins, from the distances of a neighbourhood."""
    initial = np.ascontiguousarray(distances, np.float64)
    *_, active, between = _kernels.grouping.join_neighbors(initial, joins)
    sums = between.sum(axis=1)
    q = (len(active) - 2) * between - sums[:, None] - sums
    np.fill_diagonal(q, np.nan)
    return Criterion(tuple(active.tolist()), between, q)


REACH = -math.log(0.05)
REACH_BY_ROWS = 0.1
"""Relaxed grouping: witnesses are nearer than ``REACH + REACH_BY_ROWS * log(rows)``."""


def grouping_rules(settings: LearnSettings, n_samples: int | None) -> Rules:
    """Return what the kernels read of the settings."""
    reach = REACH + REACH_BY_ROWS * math.log(max(n_samples or 1, 1))
    return _kernels.grouping.Rules(
        _kernels.grouping.METHODS.index(settings.method), settings.thresholds.Lambda,
        settings.shortest_edge, settings.max_outsiders, reach,
    )  # fmt: skip
