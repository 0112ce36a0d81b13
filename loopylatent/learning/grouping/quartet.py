"""Recursive grouping by quartet tests (Algorithms 1 and 2).

Two nodes can be siblings when no declared quartet puts them on different sides. Each join makes a
hidden node of degree three or more, so no new hidden node of degree two has to be removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray
from loopylatent.errors import ThresholdError
from loopylatent.learning.grouping.base import LocalTree, Neighbourhood, contracted_tree
from loopylatent.learning.trace import Edge, Join
from loopylatent.settings import LearnSettings

Verdict = Literal["ab|cd", "ac|bd", "ad|bc", "⊥"]
VERDICTS: tuple[Verdict, ...] = ("⊥", "ab|cd", "ac|bd", "ad|bc")
MOST_LISTED = 2_000_000


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by quartet tests."""
    m = neighbourhood.size
    joins, join_lengths, rest, rest_lengths = _kernels.quartets.group_by_quartets(
        neighbourhood.distances, settings.thresholds.Lambda, settings.max_outsiders
    )
    records = tuple(
        Join(left, right, new, left_length, right_length, bool(supported))
        for (left, right, new, supported), (left_length, right_length) in zip(
            joins.tolist(), join_lengths.tolist(), strict=True
        )
    )
    left_over = tuple(
        Edge(u, v, d) for (u, v), d in zip(rest.tolist(), rest_lengths.tolist(), strict=True)
    )
    stuck, capped = m - len(records) > 2, m > settings.max_outsiders
    return contracted_tree(neighbourhood, settings, records, left_over, stuck=stuck, capped=capped)


@dataclass(frozen=True, slots=True)
class Quartet:
    """Four nodes with their three products e^-(d + d') and what the test says of them."""

    nodes: tuple[int, int, int, int]
    products: tuple[float, float, float]
    """Of ab|cd, ac|bd and ad|bc, without the margin."""
    verdict: Verdict


def quartets(distances: FloatArray, Lambda: float) -> tuple[Quartet, ...]:
    """List every quartet of a neighbourhood, by the same test that the learner uses."""
    m = len(distances)
    count = m * (m - 1) * (m - 2) * (m - 3) // 24
    if count > MOST_LISTED:
        raise ThresholdError(
            f"{m} nodes have {count:,} quartets, more than {MOST_LISTED:,}; choose fewer nodes."
        )
    strength = np.exp(-np.asarray(distances, dtype=np.float64))
    listed = _kernels.quartets.list_quartets(strength, float(Lambda))
    a, b, c, d, _ = listed.T
    pairs = (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
    products = np.column_stack([strength[one] * strength[other] for one, other in pairs])
    return tuple(
        Quartet((a, b, c, d), (first, second, third), VERDICTS[verdict])
        for (a, b, c, d, verdict), (first, second, third) in zip(
            listed.tolist(), products.tolist(), strict=True
        )
    )
