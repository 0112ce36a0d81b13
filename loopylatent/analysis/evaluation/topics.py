"""Hidden nodes as topics: the columns nearest to each, with strength and sign (section 6.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from loopylatent.compute.values import FloatArray
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteModel, pair_strength
from loopylatent.inference.gaussian import GaussianModel
from loopylatent.inference.model import Model

MOST_WORDS = 10
FAR = 80.0
"""Subtracted from a log-potential to exclude a state (factor e^-80)."""


@dataclass(frozen=True, slots=True)
class TopicWord:
    """A column, its path length, its correlation with the hidden node (e^-distance if unfitted)."""

    column: int
    distance: float
    strength: float


@dataclass(frozen=True, slots=True, repr=False)
class Topic:
    """A hidden node and the columns nearest to it, nearest first."""

    node: int
    """The hidden node."""
    words: tuple[TopicWord, ...]
    """The columns, with distance and strength."""

    def __repr__(self) -> str:
        return f"Topic(node={self.node}, columns={self.columns})"

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(word.column for word in self.words)


@dataclass(frozen=True, slots=True)
class SharedColumn:
    """A column of several topics, the columns on its cycles, its neighbours on these cycles."""

    column: int
    topics: tuple[int, ...]
    n_cycles: int
    others: tuple[int, ...]
    between: tuple[int, ...]


def topics(
    graph: LatentGraph, model: Model | None = None, most: int = MOST_WORDS
) -> tuple[Topic, ...]:
    """Return for each hidden node its nearest columns along the graph.

    Parameters
    ----------
    graph : LatentGraph
    model : Model, optional
        A fit of this graph; without it strengths are e^-distance.
    most : int
        Largest number of columns in a topic.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    >>> found, = topics(star, most=2)
    >>> found.node, [(star.names[word.column], round(word.strength, 3)) for word in found.words]
    (3, [('b', 0.368), ('a', 0.135)])
    """
    lengths = graph.path_lengths(graph.hidden_nodes)[:, : graph.n_observed]
    strengths = np.exp(-lengths) if model is None else hidden_strengths(graph, model)
    found = []
    for k, h in enumerate(graph.hidden_nodes):
        order = np.argsort(lengths[k], kind="stable")[:most]
        words = tuple(
            TopicWord(int(j), float(lengths[k, j]), float(strengths[k, j]))
            for j in order
            if np.isfinite(lengths[k, j])
        )
        found.append(Topic(h, words))
    return tuple(found)


def hidden_strengths(graph: LatentGraph, model: Model) -> FloatArray:
    """(hidden, columns) correlations under the model."""
    if model.graph.digest != graph.digest:
        raise InferenceError("The model was fitted to another graph; fit this one.")
    found = model.distribution
    p = graph.n_observed
    if isinstance(found, GaussianModel):
        spread = np.sqrt(np.diag(found.correlation))
        correlations: FloatArray = found.correlation / np.outer(spread, spread)
        return correlations[p:, :p]
    return np.array([_discrete_strengths(found, h) for h in graph.hidden_nodes]).reshape(-1, p)


def _discrete_strengths(model: DiscreteModel, h: int) -> list[float]:
    layout, p = model.layout, model.layout.graph.n_observed
    shares = layout.node_table(model.marginals, h)
    partition = model.method.partition()
    conditional = []
    for state in range(len(shares)):
        cells = model.cells.copy()
        table = layout.node_table(cells, h)
        table[np.arange(len(table)) != state] -= FAR
        conditional.append(partition.evaluate(cells).by_cells)
    joint = shares[:, None] * np.array(conditional)
    return [pair_strength(joint[:, layout.node_cells(j)]) for j in range(p)]


def shared_columns(graph: LatentGraph, found: Sequence[Topic]) -> tuple[SharedColumn, ...]:
    """Return the columns that belong to several topics, those on most cycles first.

    Columns on a cycle connect topics by loops. Columns on no cycle, which a tree has too, are last.

    Parameters
    ----------
    graph : LatentGraph
    found : sequence of Topic
        The topics of this graph.

    Examples
    --------
    Two hidden nodes, 6 and 7, meet in columns a and b, which closes a cycle.

    >>> edges = [(0, 6), (1, 6), (2, 6), (3, 6), (0, 7), (1, 7), (4, 7), (5, 7)]
    >>> ring = LatentGraph.build(list("abcdef"), 2, edges)
    >>> both = shared_columns(ring, topics(ring, most=4))
    >>> [(ring.names[one.column], one.topics, one.n_cycles) for one in both]
    [('a', (6, 7), 1), ('b', (6, 7), 1)]
    """
    of_column: dict[int, list[int]] = {}
    for topic in found:
        for column in topic.columns:
            of_column.setdefault(column, []).append(topic.node)
    p = graph.n_observed
    result = []
    for column, nodes in of_column.items():
        if len(nodes) < 2:
            continue
        cycles = [cycle for cycle in graph.cycles if column in cycle]
        others = sorted({k for cycle in cycles for k in cycle if k < p and k != column})
        links = {link for cycle in cycles for link in pairwise((*cycle, cycle[0]))}
        adjacent = sorted({k for link in links if column in link for k in link if k != column})
        parts = (tuple(nodes), len(cycles), tuple(others), tuple(adjacent))
        result.append(SharedColumn(column, *parts))
    return tuple(sorted(result, key=lambda one: (-one.n_cycles, -len(one.topics), one.column)))


@dataclass(frozen=True, slots=True)
class CycleGroups:
    """A cycle, its columns, and the groups of these columns with counts."""

    cycle: tuple[int, ...]
    columns: tuple[int, ...]
    """On the cycle."""
    adjacent: tuple[int, ...]
    """Adjacent to its hidden nodes."""
    groups: tuple[tuple[str, int], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.groups)


def cycle_groups(graph: LatentGraph, groups: Mapping[str, str]) -> tuple[CycleGroups, ...]:
    """Return for each cycle of a minimum cycle basis the groups that it connects.

    Columns without a group are not counted.

    Parameters
    ----------
    graph : LatentGraph
    groups : mapping from column to group

    Examples
    --------
    Columns a and b close a cycle with hidden nodes 5 and 6.

    >>> edges = [(0, 5), (1, 5), (2, 5), (0, 6), (1, 6), (3, 6), (3, 4)]
    >>> graph = LatentGraph.build(list("abcde"), 2, edges)
    >>> found, = cycle_groups(graph, {"a": "oil", "b": "banks", "c": "oil", "d": "oil"})
    >>> found.cycle, found.adjacent, found.groups
    ((0, 5, 1, 6), (2, 3), (('oil', 3), ('banks', 1)))
    """
    p = graph.n_observed
    found = []
    for cycle in graph.cycles:
        on = tuple(sorted(node for node in cycle if node < p))
        around = {
            other
            for node in cycle
            if node >= p
            for other in graph.neighbours(node)
            if other < p and other not in on
        }
        adjacent = tuple(sorted(around))
        counts = Counter(
            groups[graph.names[column]]
            for column in (*on, *adjacent)
            if graph.names[column] in groups
        )
        ordered = tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
        found.append(CycleGroups(cycle, on, adjacent, ordered))
    return tuple(found)


def joined_groups(found: tuple[CycleGroups, ...]) -> tuple[tuple[tuple[str, str], int], ...]:
    """Return the pairs of groups that cycles connect, with the number of cycles, most first."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in found:
        names = sorted(one.names)
        counts.update((a, b) for k, a in enumerate(names) for b in names[k + 1 :])
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
