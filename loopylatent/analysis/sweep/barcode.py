"""The range of r in which each cycle and each hidden node exists (not in the paper)."""

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
"""Part of the next graph: matching part of the previous graph."""
MOST_NEAR = 4
"""Columns that describe a hidden node."""


@dataclass(frozen=True, slots=True, repr=False)
class Bar:
    """The range of r in which a cycle or a hidden node exists.

    Parameters
    ----------
    kind : {"cycle", "hidden"}
    columns : tuple of str
        The columns of the cycle (those on it or next to its hidden nodes), or the columns nearest
        to the hidden node; in the middle of the range.
    start, end : float
        It exists for start <= r < end.
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
        return self.end - self.start

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2


def barcode(points: Sequence[SweepPoint], end: float | None = None) -> tuple[Bar, ...]:
    """Return a bar for each cycle and each hidden node of a sweep along r, longest first.

    Each graph is taken to hold from its radius to that of the next point, the last one to ``end``
    (by default its own radius). The resolution is therefore that of the points. Parts of
    consecutive graphs are matched one to one: hidden nodes if the cosine of their profiles is at
    least 0.95, cycles of a minimum cycle basis if the Jaccard index of their columns is at least
    0.8.

    Parameters
    ----------
    points : sequence of SweepPoint
        Points that differ only in r.
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
        raise DataError("Points of a barcode must have equal Lambda and tau.")
    radii = [point.thresholds.r for point in ordered]
    limits = [*radii, radii[-1] if end is None else max(end, radii[-1])]
    graphs = [point.graph for point in ordered]
    known = [cycle_columns(graph) for graph in graphs]

    def on_cycle(k: int, cycle: int) -> tuple[str, ...]:
        return tuple(name for name in graphs[k].names if name in known[k][cycle])

    def near(k: int, hidden: int) -> tuple[str, ...]:
        found = nearest_columns(graphs[k], graphs[k].hidden_nodes[hidden], MOST_NEAR)
        return tuple(graphs[k].names[one.node] for one in found)

    cycles = _tracks([len(one) for one in known], lambda k: _same_cycles(known[k - 1], known[k]))
    counts = [graph.n_hidden for graph in graphs]
    hidden = _tracks(counts, lambda k: _same_hidden(graphs[k - 1], graphs[k]))
    kinds: dict[Kind, Any] = {"cycle": (cycles, on_cycle), "hidden": (hidden, near)}
    bars = [
        Bar(kind, columns(*track[len(track) // 2]), limits[track[0][0]], limits[track[-1][0] + 1])
        for kind, (tracks, columns) in kinds.items()
        for track in tracks
    ]
    return tuple(sorted(bars, key=lambda bar: (-bar.length, bar.kind, bar.start, bar.columns)))


def _tracks(counts: Sequence[int], same: Callable[[int], Pairs]) -> list[list[tuple[int, int]]]:
    """Follow parts through graphs as (graph, part); ``same(k)`` pairs graph k with graph k - 1."""
    tracks: list[list[tuple[int, int]]] = []
    current: list[list[tuple[int, int]]] = []
    for k, count in enumerate(counts):
        pairs = same(k) if k else {}
        followed = [current[pairs[part]] if part in pairs else [] for part in range(count)]
        tracks += [track for track in followed if not track]
        for part, track in enumerate(followed):
            track.append((k, part))
        current = followed
    return tracks


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
    similar = np.where(share >= SAME_CYCLE, share, 0.0)
    return {right: left for left, right in assigned(similar)}


def _membership(cycles: Sequence[frozenset[str]], names: Sequence[str]) -> FloatArray:
    """(cycles, names) 1 where a column belongs to a cycle."""
    number = {name: k for k, name in enumerate(names)}
    table = np.zeros((len(cycles), len(names)))
    for row, cycle in zip(table, cycles, strict=True):
        row[[number[name] for name in cycle]] = 1.0
    return table
