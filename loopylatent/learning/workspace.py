"""The graph while it is learned, with the distances between its nodes (Algorithm 3)."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.distances.sparse import Distances, SparseDistances
from loopylatent.graph import LatentGraph
from loopylatent.learning.node_distances import LazyNodeDistances
from loopylatent.learning.trace import CleanUpStep, Record
from loopylatent.settings import Method

if TYPE_CHECKING:
    from loopylatent.compute._kernels.grouping import Rules
    from loopylatent.compute._kernels.learner import GraphArrays

NO_DISTANCES = np.empty((0, 0))


class Counts(NamedTuple):
    """Visits: all, those that got stuck, those with a cap on outsiders."""

    n_visits: int
    n_stuck: int
    n_capped: int

    @classmethod
    def of(cls, counts: IntArray) -> Counts:
        """Read the counts of the compiled learner."""
        return cls(*counts[_kernels.learner.N_VISITS : _kernels.learner.N_CAPPED + 1].tolist())


def graph_of(names: tuple[str, ...], found: GraphArrays) -> LatentGraph:
    """Return the graph of the compiled learner."""
    hidden, edges, lengths = found
    edges.setflags(write=False)
    lengths.setflags(write=False)
    return LatentGraph(names, len(hidden), edges, lengths)


class Workspace:
    """The state of the compiled learner: a mutable graph with distances.

    Nodes have working numbers: columns 0..p-1, then hidden nodes in order of creation. Numbers of
    removed nodes are not reused. Distances are a matrix, or computed on demand from sparse ones.
    """

    def __init__(self, initial: LatentGraph, D: Distances, *, record: bool = True) -> None:
        self._names = initial.names
        self._lazy = LazyNodeDistances(D) if isinstance(D, SparseDistances) else None
        values = NO_DISTANCES if isinstance(D, SparseDistances) else D.values
        self._state = _kernels.learner.make_state(
            values, initial.n_observed, initial.edges, initial.lengths, record
        )

    def copy(self) -> Workspace:
        """Return an independent copy; not for sparse distances."""
        other = copy(self)
        other._state = deepcopy(self._state)  # noqa: SLF001
        return other

    @property
    def n_observed(self) -> int:
        return len(self._names)

    def is_hidden(self, node: int) -> bool:
        return node >= self.n_observed

    @property
    def hidden_ids(self) -> tuple[int, ...]:
        return tuple(_kernels.learner.read_graph(self._state.graph).hidden.tolist())

    @property
    def neighbours(self) -> dict[int, tuple[int, ...]]:
        """The neighbours of each node, in no particular order."""
        found = _kernels.learner.read_graph(self._state.graph)
        ids = (*range(self.n_observed), *found.hidden.tolist())
        ends: dict[int, list[int]] = {node: [] for node in ids}
        for u, v in found.edges.tolist():
            ends[ids[u]].append(ids[v])
            ends[ids[v]].append(ids[u])
        return {node: tuple(others) for node, others in ends.items()}

    @property
    def counts(self) -> Counts:
        return Counts.of(self._state.graph.counts)

    def graph(self) -> LatentGraph:
        return graph_of(self._names, _kernels.learner.read_graph(self._state.graph))

    def visit(
        self, order: IntArray, begin: int, effort: float, rules: Rules, rng: np.random.Generator
    ) -> int:
        """Visit nodes from ``begin`` on, as long as ``effort`` allows; return how many are done."""
        if self._lazy is None:
            self._state, done = _kernels.learner.visit_some(
                self._state, order, begin, effort, rules, rng
            )
            return done
        for done, node in enumerate(order[begin:].tolist(), start=begin):
            if effort < 0:
                return done
            members = _kernels.learner.closed_neighbourhood(self._state.graph, node)
            effort -= float(len(members)) ** 3
            if len(members) > 2:
                self._visit_one(node, members, self._lazy, rules, rng)
        return len(order)

    def _visit_one(
        self, node: int, members: IntArray, lazy: LazyNodeDistances, rules: Rules,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        distances = self._distances(members, lazy, rules)
        self._state, placed = _kernels.learner.visit_one(
            self._state, node, members, distances, rules, rng
        )
        for (u, v), length in zip(placed.ends.tolist(), placed.lengths.tolist(), strict=True):
            lazy.note_edge(u, v, length)
        if len(placed.new):
            lazy.place(placed.members, placed.new, placed.paths)

    def _distances(self, members: IntArray, lazy: LazyNodeDistances, rules: Rules) -> FloatArray:
        """Return the distances between members or, for relaxed grouping, their surrogates."""
        distances = lazy.between(members)
        if rules.method != _kernels.grouping.RELAXED:
            return distances
        surrogates = self._state.graph.nodes[members, _kernels.learner.SURROGATE]
        gaps = self._state.gaps[members]
        return _kernels.learner.bridge(lazy.between(surrogates), gaps, distances)

    def clean_up(self, shortest_edge: float = 0.0) -> None:
        """Contract edges shorter than this; drop or bridge hidden nodes of degree below 3."""
        self._state = _kernels.learner.clean_up(self._state, shortest_edge)

    def drop_low_degree_hidden(self) -> CleanUpStep:
        """Remove hidden nodes of degree 0 and 1, bridge those of degree 2."""
        self.clean_up()
        (step,) = self.take_steps(None, "quartet")
        assert isinstance(step, CleanUpStep)
        return step

    def take_steps(self, initial: LatentGraph | None, method: Method) -> Record:
        """Return the steps since the last call, after that of the initial graph if given."""
        state, count = self._state, self._state.graph.counts
        n_ints, n_floats = count[[_kernels.learner.N_INTS, _kernels.learner.N_FLOATS]].tolist()
        count[[_kernels.learner.N_INTS, _kernels.learner.N_FLOATS]] = 0
        arrays = state.ints[:n_ints].copy(), state.floats[:n_floats].copy()
        return Record(initial, method, self.n_observed, *arrays)
