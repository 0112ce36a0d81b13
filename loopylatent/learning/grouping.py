"""The local latent tree of a neighbourhood (Algorithms 1 and 2), by one of three methods.

Quartet grouping rests on quartet tests (Erdős, Steel, Székely and Warnow, 1999). Relaxed grouping
is the variant behind the paper's experiments, a form of recursive grouping (Choi, Tan, Anandkumar
and Willsky, JMLR 12, 2011) with the constants of their published MATLAB toolbox, none of whose code
is used. Neighbor joining is by Saitou and Nei (1987). docs/references.md has full references and
the source of each constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray
from loopylatent.errors import ThresholdError
from loopylatent.learning.trace import Contraction, Edge, Family, Join, Round, read_tree
from loopylatent.settings import LearnSettings

if TYPE_CHECKING:
    from loopylatent.compute._kernels.grouping import Rules


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """The closed neighbourhood of a node: the input of a grouping method."""

    ids: tuple[int, ...]
    """Working numbers, ascending: columns, then hidden nodes in order of creation."""
    hidden: tuple[bool, ...]
    surrogates: tuple[int, ...]
    """For each node the column that represents it: itself, or the one whose visit created it."""
    distances: FloatArray
    """(m, m) between the nodes."""
    n_samples: int | None
    rng: np.random.Generator
    between_surrogates: FloatArray | None = None
    """(m, m) between the surrogates; None: ``distances``."""
    gaps: tuple[float, ...] = ()
    """The distance of each node from its surrogate; empty means 0."""

    @property
    def size(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class LocalTree:
    """A latent tree on a neighbourhood.

    Nodes are positions: 0..m-1 in the neighbourhood, then m, m+1, ... for new hidden nodes.
    """

    edges: tuple[Edge, ...]
    joins: tuple[Join | Family, ...]
    contractions: tuple[Contraction, ...]
    stuck: bool
    capped: bool
    rest: tuple[Edge, ...] = ()
    """Edges between the nodes that were not joined, before contraction."""
    rounds: tuple[Round, ...] = ()
    by_surrogates: bool = False
    """Whether distances between surrogates were used."""

    @property
    def n_new(self) -> int:
        """The number of new hidden nodes, including contracted ones."""
        return sum(join.is_new for join in self.joins)

    @property
    def uncontracted(self) -> list[Edge]:
        """The edges before contraction."""
        return [*edges_of(self.joins), *self.rest]


def edges_of(joins: Iterable[Join | Family]) -> list[Edge]:
    """Return the edges from children to parents."""
    return [
        Edge(child, join.parent, length)
        for join in joins
        for child, length in zip(join.children, join.lengths, strict=True)
    ]


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


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by the method of the settings."""
    m, method = neighbourhood.size, settings.method
    by_surrogates, between = method == "relaxed", neighbourhood.between_surrogates
    distances = between if by_surrogates and between is not None else neighbourhood.distances
    rules = grouping_rules(settings, neighbourhood.n_samples)
    tree = _kernels.grouping.group(
        np.array(distances, np.float64), np.array(neighbourhood.surrogates, np.int64),
        np.array(neighbourhood.gaps or np.zeros(m), np.float64), rules, True, neighbourhood.rng,
    )  # fmt: skip
    hidden = np.array(neighbourhood.hidden, np.bool_)
    cut = _kernels.grouping.contract(tree, hidden, rules.shortest_edge)
    steps = read_tree(
        method, range(2 * m), tree.ends.tolist(), tree.lengths.tolist(), tree.n_rest,
        tree.notes.tolist(), tree.numbers,
    )  # fmt: skip
    ends, moves = cut.ends.tolist(), cut.moves.tolist()
    edges = [Edge(u, v, d) for (u, v), d in zip(ends, cut.lengths.tolist(), strict=True)]
    contractions = [Contraction(u, v, d) for (u, v), d in zip(moves, cut.at.tolist(), strict=True)]
    return LocalTree(
        tuple(sorted(edges, key=lambda edge: (edge.u, edge.v))), steps.joins, tuple(contractions),
        bool(tree.stuck), bool(tree.capped), steps.rest, steps.rounds, by_surrogates,
    )  # fmt: skip
