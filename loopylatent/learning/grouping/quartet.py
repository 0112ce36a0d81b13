"""Recursive grouping by quartet tests (Algorithms 1 and 2).

Two nodes can be siblings when no declared quartet puts them on different sides. Each join makes a
hidden node of degree three or more, so no new hidden node of degree two has to be removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from loopylatent.compute._kernels.quartets import group_by_quartets, list_quartets
from loopylatent.compute.arrays import FloatArray
from loopylatent.errors import ThresholdError
from loopylatent.learning.grouping.base import LocalTree, Neighbourhood, contract_short_edges
from loopylatent.learning.trace import Edge, Join
from loopylatent.settings import LearnSettings

Verdict = Literal["ab|cd", "ac|bd", "ad|bc", "⊥"]
VERDICTS: tuple[Verdict, ...] = ("⊥", "ab|cd", "ac|bd", "ad|bc")
MOST_LISTED = 2_000_000


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by quartet tests."""
    m = neighbourhood.size
    joins, join_lengths, rest, rest_lengths = group_by_quartets(
        neighbourhood.distances, settings.thresholds.Lambda, settings.max_outsiders
    )
    records = tuple(
        Join(left, right, new, left_length, right_length, bool(supported))
        for (left, right, new, supported), (left_length, right_length) in zip(
            joins.tolist(), join_lengths.tolist(), strict=True
        )
    )
    edges = []
    for join in records:
        edges.append(Edge(join.left, join.hidden, join.left_length))
        edges.append(Edge(join.right, join.hidden, join.right_length))
    left_over = tuple(
        Edge(u, v, d) for (u, v), d in zip(rest.tolist(), rest_lengths.tolist(), strict=True)
    )
    contracted = contract_short_edges(
        [*edges, *left_over], neighbourhood.hidden, settings.thresholds.tau
    )
    return LocalTree(
        contracted.edges,
        records,
        contracted.contractions,
        stuck=m - len(records) > 2,
        capped=m > settings.max_outsiders,
        rest=left_over,
    )


@dataclass(frozen=True, slots=True)
class Quartet:
    """Four nodes with their three products e^-(d + d') and what the test says of them."""

    nodes: tuple[int, int, int, int]
    products: tuple[float, float, float]
    """Of ab|cd, ac|bd and ad|bc, without the margin."""
    verdict: Verdict


def quartets(distances: FloatArray, Lambda: float) -> tuple[Quartet, ...]:
    """List every quartet of a neighbourhood, by the same test that the learner uses.

    Examples
    --------
    >>> import numpy as np
    >>> d = np.array([[0, 2, 3, 3], [2, 0, 3, 3], [3, 3, 0, 2], [3, 3, 2, 0.0]])
    >>> quartets(d, Lambda=0.0)[0].verdict
    'ab|cd'
    """
    m = len(distances)
    count = m * (m - 1) * (m - 2) * (m - 3) // 24
    if count > MOST_LISTED:
        raise ThresholdError(
            f"{m} nodes have {count:,} quartets, more than {MOST_LISTED:,}; choose fewer nodes."
        )
    strength = np.exp(-np.asarray(distances, dtype=np.float64))
    found = []
    for a, b, c, d, verdict in list_quartets(strength, float(Lambda)).tolist():
        products = (
            float(strength[a, b] * strength[c, d]),
            float(strength[a, c] * strength[b, d]),
            float(strength[a, d] * strength[b, c]),
        )
        found.append(Quartet((a, b, c, d), products, VERDICTS[verdict]))
    return tuple(found)
