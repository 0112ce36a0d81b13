"""Matching of hidden nodes between graphs, their names, and the surroundings of a node.

Columns are matched by name. A hidden node is identified by its profile, e^-(path length) to every
column; names, support and comparisons all use this definition.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from scipy.optimize import linear_sum_assignment

from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError, ThresholdError, quoted
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import CleanUpStep, VisitStep

ROUNDING = 1e-12
"""Relative difference below which two lengths or two cosines are equal."""
SAME_HIDDEN = 0.95
"""Two hidden nodes are the same if the cosine of their profiles is at least this."""
FEWEST_COMMON = 3
"""With fewer common columns, profiles of different nodes look similar."""


@dataclass(frozen=True, slots=True)
class HiddenPair:
    """A hidden node of each graph, and the cosine of their profiles."""

    left: int
    right: int
    cosine: float


@dataclass(frozen=True, slots=True, repr=False)
class HiddenMatching:
    """Which hidden nodes of two graphs correspond, and which have no counterpart."""

    pairs: tuple[HiddenPair, ...]
    unmatched_left: tuple[int, ...]
    unmatched_right: tuple[int, ...]

    def __repr__(self) -> str:
        left, right = len(self.unmatched_left), len(self.unmatched_right)
        return f"HiddenMatching({len(self.pairs)} pairs, unmatched: {left} left, {right} right)"


@dataclass(frozen=True, eq=False)
class NamedNode:
    """A user's name for a hidden node, with the node's profile."""

    name: str
    columns: tuple[str, ...]
    profile: FloatArray

    def __post_init__(self) -> None:
        name, columns = self.name, tuple(self.columns)
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"Name {quoted(name)} of a hidden node must be non-empty text.")
        if not all(isinstance(column, str) for column in columns):
            raise DataError(f"The columns saved with the name {quoted(name)} must be text.")
        if len(set(columns)) < len(columns):
            raise DataError(f"The columns saved with the name {quoted(name)} must differ.")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "profile", self._checked_profile(len(columns)))

    def _checked_profile(self, n_columns: int) -> FloatArray:
        try:
            profile: FloatArray = frozen_array(self.profile, np.float64)
        except (TypeError, ValueError, OverflowError):
            profile = np.full(n_columns, np.nan)
        if profile.shape != (n_columns,) or not ((profile >= 0) & (profile <= 1)).all():
            raise DataError(
                f"The profile saved with the name {quoted(self.name)} must be {n_columns} numbers "
                "from 0 to 1, one per column."
            )
        return profile


@dataclass(frozen=True, slots=True)
class FollowedNames:
    """Names by hidden node, and names without a matching hidden node."""

    by_node: dict[int, str]
    unmatched: tuple[str, ...]


def match_hidden(
    left: LatentGraph, right: LatentGraph, threshold: float = SAME_HIDDEN
) -> HiddenMatching:
    """Match the hidden nodes of two graphs on the same columns.

    A hidden node's profile is e^-(path length) to every column. The nodes are matched one to one to
    maximise the sum of the cosines of their profiles; pairs below ``threshold`` are dropped.

    Parameters
    ----------
    left, right : LatentGraph
        Graphs on the same column names, in any order.
    threshold : float
        Smallest cosine of a match, from 0 to 1.

    Returns
    -------
    HiddenMatching
        Node numbers of the two graphs, ascending in the left one. A hidden node without a path to
        any column is never matched.

    Raises
    ------
    DataError
        If the two graphs have different columns.
    ThresholdError
        If ``threshold`` is not between 0 and 1.

    Examples
    --------
    >>> star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [1.0, 2.0, 3.0])
    >>> same = LatentGraph.build("cba", 1, [(0, 3), (1, 3), (2, 3)], [3.0, 2.0, 1.0])
    >>> match_hidden(star, same).pairs
    (HiddenPair(left=3, right=3, cosine=1.0),)
    """
    _check_cosine(threshold)
    order = column_order(left, right)
    cosines = _rounded(hidden_profiles(left) @ hidden_profiles(right)[:, order].T)
    pairs = tuple(
        HiddenPair(left.hidden_nodes[i], right.hidden_nodes[j], float(cosines[i, j]))
        for i, j in assigned(cosines, threshold)
    )
    return HiddenMatching(
        pairs,
        tuple(sorted(set(left.hidden_nodes) - {pair.left for pair in pairs})),
        tuple(sorted(set(right.hidden_nodes) - {pair.right for pair in pairs})),
    )


class HiddenIndex:
    """A common numbering for the hidden nodes of several graphs, matched as in `match_hidden`."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.columns = LatentGraph.build(names, 0, [])
        self.profiles = np.zeros((0, len(names)))

    @property
    def n_hidden(self) -> int:
        return len(self.profiles)

    def add(self, graph: LatentGraph) -> tuple[IntArray, FloatArray]:
        """(nodes,) the common numbers; (hidden,) cosine with the first match, 1 if new."""
        order = column_order(self.columns, graph)
        profiles = hidden_profiles(graph)[:, order]
        cosines = _rounded(profiles @ self.profiles.T)
        numbers, cosine = np.full(len(profiles), -1), np.ones(len(profiles))
        for row, column in assigned(cosines, SAME_HIDDEN):
            numbers[row], cosine[row] = column, cosines[row, column]
        new = numbers < 0
        numbers[new] = self.n_hidden + np.arange(new.sum())
        self.profiles = np.concatenate([self.profiles, profiles[new]])
        return np.concatenate([np.argsort(order), len(order) + numbers]), cosine


def name_node(graph: LatentGraph, node: int, name: str) -> NamedNode:
    """Name a hidden node, with its profile, so that the name can be matched in other graphs."""
    if node not in graph.hidden_nodes:
        raise DataError(f"Node {node} is not a hidden node; only hidden nodes can be named.")
    lengths = graph.path_lengths([node])[0, : graph.n_observed]
    return NamedNode(name, graph.names, np.exp(-lengths))


def follow_names(
    named: Sequence[NamedNode], graph: LatentGraph, threshold: float = 0.8
) -> FollowedNames:
    """Assign names to hidden nodes one to one, by the largest sum of cosines on common columns."""
    _check_cosine(threshold)
    if not named:
        return FollowedNames({}, ())
    lengths = _column_lengths(graph)
    cosines = np.array([_cosines(one, graph.names, lengths) for one in named])
    cosines = cosines.reshape(len(named), graph.n_hidden)
    # pairs below the threshold must not displace usable ones
    usable = np.where(cosines >= threshold, cosines, 0.0)
    node_of = {row: graph.hidden_nodes[column] for row, column in assigned(usable)}
    return FollowedNames(
        {node: named[row].name for row, node in sorted(node_of.items(), key=lambda pair: pair[1])},
        tuple(one.name for row, one in enumerate(named) if row not in node_of),
    )


def cycle_columns(graph: LatentGraph) -> tuple[frozenset[str], ...]:
    """Return for each of ``graph.cycles`` the columns on it and next to its hidden nodes."""
    return tuple(
        frozenset(
            graph.names[near]
            for node in cycle
            for near in ((node,) if node < graph.n_observed else graph.neighbours(node))
            if near < graph.n_observed
        )
        for cycle in graph.cycles
    )


def column_order(left: LatentGraph, right: LatentGraph) -> IntArray:
    """(columns,) the node of ``right`` that has the name of each column of ``left``."""
    number = {name: node for node, name in enumerate(right.names)}
    known = set(left.names)
    differing = [name for name in left.names if name not in number]
    differing += [name for name in right.names if name not in known]
    if differing:
        shown = ", ".join(quoted(name) for name in differing[:5])
        more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
        raise DataError(
            f"The graphs have different columns ({shown}{more} in only one of them); compare "
            "graphs on the same columns."
        )
    for graph in (left, right):
        if len(set(graph.names)) < graph.n_observed:
            twice = next(name for name in graph.names if graph.names.count(name) > 1)
            raise DataError(f"Two columns are named {quoted(twice)}; column names must be unique.")
    return np.array([number[name] for name in left.names], dtype=np.int64)


def assigned(cosines: FloatArray, least: float = 0.0) -> list[tuple[int, int]]:
    """Maximum-sum assignment, without pairs that are 0 or below ``least``."""
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [(i, j) for i, j in pairs if cosines[i, j] > 0 and cosines[i, j] >= least]


def _check_cosine(threshold: float) -> None:
    if not 0 <= threshold <= 1:
        raise ThresholdError(f"threshold = {threshold} is out of range; use a number from 0 to 1.")


def _cosines(named: NamedNode, names: tuple[str, ...], lengths: FloatArray) -> FloatArray:
    """(hidden,) cosine of a named profile with that of each hidden node, on common columns."""
    at = {column: k for k, column in enumerate(named.columns)}
    common = [node for node, column in enumerate(names) if column in at]
    if len(common) < FEWEST_COMMON:
        return np.zeros(len(lengths))
    with np.errstate(divide="ignore"):
        own = -np.log(named.profile[[at[names[node]] for node in common]])
    return _rounded(_unit_profiles(lengths[:, common]) @ _unit_profiles(own[None])[0])


def _column_lengths(graph: LatentGraph) -> FloatArray:
    """(hidden, columns) path lengths."""
    return graph.path_lengths(graph.hidden_nodes)[:, : graph.n_observed]


def hidden_profiles(graph: LatentGraph) -> FloatArray:
    """(hidden, columns) profiles of norm 1."""
    return _unit_profiles(_column_lengths(graph))


def _unit_profiles(lengths: FloatArray) -> FloatArray:
    """(hidden, columns) e^-length, each row of norm 1, or 0 without a path to any column."""
    nearest = lengths.min(axis=1, keepdims=True, initial=np.inf)
    # cosines do not depend on scale; subtracting the smallest length avoids underflow
    profiles: FloatArray = np.exp(np.where(np.isfinite(nearest), nearest, 0.0) - lengths)
    norms = np.linalg.norm(profiles, axis=1, keepdims=True)
    return profiles / np.where(norms > 0, norms, 1.0)


def _rounded(cosines: FloatArray) -> FloatArray:
    return np.where(cosines > 1 - ROUNDING, 1.0, cosines)


@dataclass(frozen=True, slots=True)
class Near:
    """A node and its distance."""

    node: int
    distance: float

    @property
    def strength(self) -> float:
        return math.exp(-self.distance)


@dataclass(frozen=True, slots=True)
class Origin:
    """The visit that created a hidden node."""

    number: int
    """From 1, over all visits."""
    step: int
    """Position of the visit in the trace."""
    visited: int
    """The visited column."""


def neighbours_of(graph: LatentGraph, node: int) -> tuple[Near, ...]:
    """Return the neighbours of ``node``, nearest first."""
    return tuple(Near(other, length) for length, other in sorted_edges(graph)[node])


def nearest_columns(
    where: LatentGraph | DistanceMatrix, node: int, most: int = 10
) -> tuple[Near, ...]:
    """Return the columns nearest to a node, along a graph or by the estimated distances."""
    if isinstance(where, LatentGraph):
        lengths = where.path_lengths([node])[0, : where.n_observed]
    else:
        lengths = where.values[node]
    order = np.argsort(lengths, kind="stable").tolist()
    found = [Near(k, float(lengths[k])) for k in order if k != node and np.isfinite(lengths[k])]
    return tuple(found[:most])


def columns_near_hidden(graph: LatentGraph, most: int = 5) -> tuple[tuple[int, ...], ...]:
    """Return the nearest columns of every hidden node along the graph."""
    lengths = _column_lengths(graph)
    near = zip(np.argsort(lengths, axis=1, kind="stable")[:, :most], lengths, strict=True)
    return tuple(tuple(order[np.isfinite(own[order])].tolist()) for order, own in near)


def cycles_through(graph: LatentGraph, node: int) -> tuple[tuple[int, ...], ...]:
    """Return the cycles of the minimum cycle basis that contain a node, shortest first."""
    return tuple(cycle for cycle in graph.cycles if node in cycle)


def origin_of(result: LearnResult, node: int) -> Origin | None:
    """Return the visit that created a hidden node; None for a column, or without a trace."""
    if result.trace is None or node < result.graph.n_observed:
        return None
    last = result.trace[-1]
    assert isinstance(last, CleanUpStep)
    working = last.hidden_ids[node - result.graph.n_observed]
    visits = [(k, step) for k, step in enumerate(result.trace) if isinstance(step, VisitStep)]
    for number, (k, step) in enumerate(visits, start=1):
        if any(join.is_new and join.parent == working for join in step.joins):
            return Origin(number, k, step.node)
    return None


MOST_CYCLES = 400
"""With more cycles, computing the cycle basis takes too long."""


@dataclass(frozen=True, slots=True)
class HiddenSummary:
    """The surroundings of a hidden node."""

    node: int
    nearest: tuple[Near, ...]
    """The nearest columns along the graph."""
    n_columns: int
    """Adjacent columns."""
    n_cycles: int | None
    """Cycles of the minimum basis through it; None if the graph has too many."""


def summaries(graph: LatentGraph, most_nearest: int = 5) -> tuple[HiddenSummary, ...]:
    """Describe every hidden node, those with most adjacent columns first."""
    counted = graph.n_cycles <= MOST_CYCLES
    on_cycles = Counter(node for cycle in graph.cycles for node in cycle) if counted else Counter()
    found = [
        HiddenSummary(
            node,
            nearest_on_graph(graph, node, most_nearest),
            sum(end < graph.n_observed for end in graph.neighbours(node)),
            on_cycles[node] if counted else None,
        )
        for node in graph.hidden_nodes
    ]
    return tuple(sorted(found, key=lambda one: (-one.n_columns, -(one.n_cycles or 0), one.node)))


def nearest_on_graph(graph: LatentGraph, node: int, most: int) -> tuple[Near, ...]:
    """Return the columns nearest to a node along the graph; stops as soon as they are found."""
    walk = nearest_first(sorted_edges(graph).__getitem__, node)
    near = (Near(one.node, one.distance) for one in walk if one.node < graph.n_observed)
    return tuple(islice((one for one in near if one.node != node), most))


@dataclass(frozen=True, slots=True)
class Reached:
    """A node, its distance from the start, and its predecessor on the shortest path."""

    distance: float
    node: int
    before: int


def nearest_first(
    edges_of: Callable[[int], Iterable[tuple[float, int]]], start: int
) -> Iterator[Reached]:
    """Yield nodes by distance (Dijkstra), ties by number."""
    pending, done = [(0.0, start, start)], set[int]()
    while pending:
        so_far, node, before = heapq.heappop(pending)
        if node in done:
            continue
        done.add(node)
        yield Reached(so_far, node, before)
        for length, other in edges_of(node):
            if other not in done:
                heapq.heappush(pending, (so_far + length, other, node))


@lru_cache(maxsize=8)
def sorted_edges(graph: LatentGraph) -> tuple[tuple[tuple[float, int], ...], ...]:
    """For each node its (edge length, neighbour) pairs, nearest first."""
    edges: list[list[tuple[float, int]]] = [[] for _ in range(graph.n_nodes)]
    for (u, v), length in zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True):
        edges[u].append((length, v))
        edges[v].append((length, u))
    return tuple(tuple(sorted(own)) for own in edges)
