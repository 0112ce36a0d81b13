"""When each cycle and each hidden node is born and dies while r grows (not in the paper)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from loopylatent.analysis.matching import assigned, cycle_columns, match_hidden, nearest_columns
from loopylatent.analysis.stability.support import SAME_CYCLE
from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.compute.values import FloatArray
from loopylatent.errors import DataError, listed
from loopylatent.graph import LatentGraph

Kind = Literal["cycle", "hidden"]
Pairs = dict[int, int]
"""Which part of the next graph (key) is which of the one before (value)."""
MOST_NEAR = 4
"""Columns by which a hidden node is called."""


@dataclass(frozen=True, slots=True, repr=False)
class Bar:
    """The life of a cycle or of a hidden node.

    Parameters
    ----------
    kind : {"cycle", "hidden"}
    columns : tuple of str
        In the middle of its life: of a cycle the columns by which it is known, of a hidden node
        the columns nearest to it.
    start, end : float
        It is there for start <= r < end.
    """

    kind: Kind
    columns: tuple[str, ...]
    start: float
    end: float

    def __repr__(self) -> str:
        span = f"{self.start:.3g} to {self.end:.3g}"
        return f"Bar({self.kind} of {listed(self.columns)}: r from {span})"

    @property
    def length(self) -> float:
        """How much of r it lives through."""
        return self.end - self.start

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2


def barcode(points: Sequence[SweepPoint], end: float | None = None) -> tuple[Bar, ...]:
    """Return a bar for each cycle and each hidden node of a sweep along r, longest first.

    A graph counts from its radius to the next point's; the last one to ``end``, by default its
    own radius. So births and deaths are known as closely as the points lie. Hidden nodes of
    neighbouring points are the same from a cosine of 0.95 on, cycles (of a minimum cycle basis)
    where they have 80 % of their columns in common, one to one.

    Parameters
    ----------
    points : sequence of SweepPoint
        That differ in r.
    end : float, optional

    Examples
    --------
    >>> from loopylatent.distances.matrix import information_distances
    >>> from loopylatent.analysis.sweep.table import sweep
    >>> from loopylatent.synthetic import latent_cycle
    >>> D = information_distances(latent_cycle(girth=8, seed=1).sample(4000, seed=1))
    >>> bars = barcode(sweep(D).points)
    >>> bars[0].length >= bars[-1].length
    True
    """
    ordered = sorted(points, key=lambda point: point.thresholds.r)
    if not ordered:
        return ()
    fixed = {(point.thresholds.Lambda, point.thresholds.tau) for point in ordered}
    if len(fixed) > 1:
        raise DataError("a barcode is of points that differ in r alone; these differ in more.")
    radii = [point.thresholds.r for point in ordered]
    limits = [*radii, radii[-1] if end is None else max(end, radii[-1])]
    graphs = [point.graph for point in ordered]
    known = [cycle_columns(graph) for graph in graphs]

    def columns_of(k: int, cycle: int) -> tuple[str, ...]:
        return tuple(name for name in graphs[k].names if name in known[k][cycle])

    def near(k: int, hidden: int) -> tuple[str, ...]:
        found = nearest_columns(graphs[k], graphs[k].hidden_nodes[hidden], MOST_NEAR)
        return tuple(graphs[k].names[one.node] for one in found)

    cycles = _lives([len(one) for one in known], lambda k: _same_cycles(known[k - 1], known[k]))
    counts = [graph.n_hidden for graph in graphs]
    hidden = _lives(counts, lambda k: _same_hidden(graphs[k - 1], graphs[k]))
    kinds: dict[Kind, Any] = {"cycle": (cycles, columns_of), "hidden": (hidden, near)}
    bars = [
        Bar(kind, columns(*life[len(life) // 2]), limits[life[0][0]], limits[life[-1][0] + 1])
        for kind, (lives, columns) in kinds.items()
        for life in lives
    ]
    return tuple(sorted(bars, key=lambda bar: (-bar.length, bar.kind, bar.start, bar.columns)))


def _lives(counts: Sequence[int], same: Callable[[int], Pairs]) -> list[list[tuple[int, int]]]:
    """Follow parts through graphs as (graph, part); ``same(k)`` pairs graph k with graph k - 1."""
    lives: list[list[tuple[int, int]]] = []
    current: list[list[tuple[int, int]]] = []
    for k, count in enumerate(counts):
        pairs = same(k) if k else {}
        followed = [current[pairs[part]] if part in pairs else [] for part in range(count)]
        lives += [life for life in followed if not life]
        for part, life in enumerate(followed):
            life.append((k, part))
        current = followed
    return lives


def _same_hidden(before: LatentGraph, after: LatentGraph) -> Pairs:
    pairs = match_hidden(before, after).pairs
    return {pair.right - after.n_observed: pair.left - before.n_observed for pair in pairs}


def _same_cycles(before: Sequence[frozenset[str]], after: Sequence[frozenset[str]]) -> Pairs:
    if not before or not after:
        return {}
    names = sorted(frozenset().union(*before, *after))
    one, other = _membership(before, names), _membership(after, names)
    common = one @ other.T
    either = one.sum(axis=1)[:, None] + other.sum(axis=1) - common
    share = np.divide(common, either, out=np.zeros_like(common), where=either > 0)
    counting = np.where(share >= SAME_CYCLE, share, 0.0)
    return {right: left for left, right in assigned(counting)}


def _membership(cycles: Sequence[frozenset[str]], names: Sequence[str]) -> FloatArray:
    """(cycles, names) 1 where a column belongs to a cycle."""
    number = {name: k for k, name in enumerate(names)}
    table = np.zeros((len(cycles), len(names)))
    for row, cycle in zip(table, cycles, strict=True):
        row[[number[name] for name in cycle]] = 1.0
    return table
