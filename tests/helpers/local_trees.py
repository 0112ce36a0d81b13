"""Local latent trees of single neighbourhoods, as the tests of grouping read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray
from loopylatent.learning.grouping import grouping_rules
from loopylatent.learning.trace import Contraction, Edge, Family, Join, Round, read_tree
from loopylatent.settings import LearnSettings


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


NODES = ("u", "v", "left", "right", "hidden", "parent", "candidate", "removed", "survivor")
SEVERAL = ("children", "active")


def renamed(part: Any, ids: Sequence[int]) -> Any:
    """Replace positions by working numbers in an edge, a join, a contraction or a round."""
    fields = part.__dataclass_fields__
    new = {name: ids[getattr(part, name)] for name in NODES if name in fields}
    new |= {name: tuple(ids[k] for k in getattr(part, name)) for name in SEVERAL if name in fields}
    if "families" in fields:
        new["families"] = tuple(tuple(ids[k] for k in family) for family in part.families)
    return replace(part, **new)


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
