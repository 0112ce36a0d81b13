"""Results that a project file brings along, so that nothing has to be computed again.

They belong to one table and its distances, which they name by their digests; of other data nothing
here is ever shown. What is read may be damaged or hostile: each part is checked before it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.analysis.evaluation.contest import Evaluation, NotEvaluated
from loopylatent.analysis.stability.groups import Groups
from loopylatent.analysis.stability.loop_test import LoopTest
from loopylatent.analysis.stability.runs import Stability
from loopylatent.analysis.sweep.barcode import Bar
from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.analysis.sweep.scores import ComparedScores, Failed, PointScores
from loopylatent.errors import DataError
from loopylatent.exporting.project.codec import (
    Graphs,
    from_plain,
    graphs_from_plain,
    graphs_to_plain,
    plain_size,
    to_plain,
)
from loopylatent.graph import LatentGraph
from loopylatent.inference.saved import SavedModel
from loopylatent.settings import LearnSettings

FARTHEST = 1e9
"""Where a node can stand, in pixels; NaN stands for a node that is not drawn."""


@dataclass(frozen=True, eq=False)
class Barcode:
    """The bars of a sweep along r; the radius of the settings plays no part."""

    settings: LearnSettings
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class TestedLoops:
    """The loops at a radius, tested."""

    r: float
    test: LoopTest


@dataclass(frozen=True, eq=False)
class Supported:
    """The support of a graph, and with what it was asked for."""

    settings: LearnSettings
    n_runs: int
    found: Stability


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of the table of scores, and on which rows it was scored."""

    metric: str
    column: str | None
    """The label column that splits the rows; None for a split at random."""
    test: str
    share: float
    seed: int
    belief: bool
    entry: Evaluation | NotEvaluated


@dataclass(frozen=True, slots=True)
class Compared:
    """How one side of a comparison explains its rows."""

    data: str
    graph: str
    """Digests of the rows and of the graph."""
    settings: LearnSettings
    scores: ComparedScores


@dataclass(frozen=True, eq=False)
class Places:
    """Where the nodes of the drawn graph stand."""

    graph: LatentGraph
    positions: NDArray[np.float64]
    """(nodes, 2), NaN where a node is not drawn."""
    opened: tuple[int, ...] = ()
    """Nodes whose folded nodes are taken out."""
    selected: int | None = None


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that was computed on one table.

    Parameters
    ----------
    data, distances : str
        The digests of the rows, empty where there are none, and of the distances.
    places : Places or None
        Of the graph that is shown.
    points, bars, loops
        What the page Tune has learned: graphs, barcodes, tests of the loops.
    split : str
        The digest of the rows learned from and kept apart on that page.
    scores
        Of these graphs, on the rows kept apart.
    support
        Of graphs, by resampling.
    groups : Groups or None
        On which resamples agree.
    models
        Fitted parameters.
    evaluations, comparisons
        Tables of scores.

    Examples
    --------
    >>> read_results(write_results(Results("d", "m"))).distances
    'm'
    """

    data: str
    distances: str
    places: Places | None = None
    points: tuple[SweepPoint, ...] = ()
    bars: tuple[Barcode, ...] = ()
    loops: tuple[TestedLoops, ...] = ()
    split: str = ""
    scores: tuple[PointScores | Failed, ...] = ()
    support: tuple[Supported, ...] = ()
    groups: Groups | None = None
    models: tuple[SavedModel, ...] = field(default=(), repr=False)
    evaluations: tuple[Scored, ...] = ()
    comparisons: tuple[Compared, ...] = ()

    def __post_init__(self) -> None:
        if self.places is not None:
            _check_places(self.places)
        for one in self.support:
            _check_support(one.found)
        if self.groups is not None:
            _check_groups(self.groups)
        _check_numbers(self)
        for model in self.models:
            _check(model.history.ndim == 1 and len(model.history) > 0, "a fit")

    @property
    def columns(self) -> set[tuple[str, ...]]:
        """The columns of all graphs that are drawn or listed."""
        graphs = [one.graph for one in self.points] + [one.graph for one in self.models]
        graphs += [one.found.graph for one in self.support]
        graphs += [] if self.places is None else [self.places.graph]
        found = {graph.names for graph in graphs}
        return found if self.groups is None else found | {self.groups.names}

    @property
    def words(self) -> tuple[str, ...]:
        """What is in it, for a person.

        Examples
        --------
        >>> Results("d", "m").words
        ()
        """
        counts = {
            "graph of a sweep": len(self.points),
            "score of a sweep": len(self.scores),
            "test of loops": len(self.loops),
            "support": len(self.support),
            "consensus of groups": int(self.groups is not None),
            "fit": len(self.models),
            "row of scores": len(self.evaluations) + len(self.comparisons),
        }
        return tuple(_counted(count, what) for what, count in counts.items() if count)


def write_results(results: Results) -> bytes:
    """Return the results as JSON; equal results give equal bytes."""
    graphs = Graphs()
    parts = to_plain(results, graphs)
    described = graphs_to_plain(graphs.listed) | {"results": parts}
    return json.dumps(described, allow_nan=False, separators=(",", ":")).encode("ascii")


def read_results(parsed: bytes | Mapping[str, Any]) -> Results:
    """Read results, from JSON or from what was parsed of it, and check them.

    Up to format 2 of projects each graph brought the names of its columns.
    """
    if isinstance(parsed, bytes):
        parsed = json.loads(parsed)
    if not isinstance(parsed, Mapping) or set(parsed) - {"names"} != {"graphs", "results"}:
        raise DataError("the results are no results of this program.")
    if not isinstance(parsed["graphs"], list):
        raise DataError("the results hold no list of graphs.")
    graphs = Graphs(graphs_from_plain(parsed["graphs"], parsed.get("names", [])))
    found: Results = from_plain(Results, parsed["results"], graphs)
    return found


ORDER = (
    "places", "groups", "models", "loops", "evaluations", "comparisons", "support", "scores",
    "bars", "points",
)  # fmt: skip
"""What stays first where not everything has room: what is small, then what took longest."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Results that have room, and those that have none."""

    kept: Results
    left_out: Results


def within(results: Results, most_bytes: int) -> Chosen:
    """Return the results that take at most so many bytes as JSON; the first of a kind come first.

    Examples
    --------
    >>> tested = TestedLoops(1.5, LoopTest(1, 0.5, 0.1, 9, 0))
    >>> within(Results("d", "m", loops=(tested,)), 100).left_out.words
    ('1 test of loops',)
    """
    empty = Results(results.data, results.distances, split=results.split)
    room, seen = most_bytes - plain_size(empty, set()) - 100, set[Any]()
    kept: dict[str, Any] = {}
    left: dict[str, Any] = {}
    for name in ORDER:
        found = getattr(results, name)
        many = isinstance(found, tuple)
        stay, go = [], []
        for one in found if many else () if found is None else (found,):
            new = set(seen)
            size = plain_size(one, new) + 1
            if size <= room:
                room, seen = room - size, new
                stay.append(one)
            else:
                go.append(one)
        for parts, these in ((kept, stay), (left, go)):
            parts[name] = tuple(these) if many else next(iter(these), None)
    return Chosen(replace(results, **kept), replace(empty, **left))


_POSITIVE = frozenset({"n_train", "n_samples"})
"""Rows, or their weights: logarithms of them are taken, and shares of them."""
_FINITE = frozenset({"start", "end", "seconds"})
_SHARES = frozenset({"p_value", "instability"})


def _check_numbers(value: Any) -> None:
    """Refuse negative counts, and numbers with which a page could not go on."""
    if isinstance(value, tuple):
        for one in value:
            _check_numbers(one)
    elif is_dataclass(value) and not isinstance(value, LatentGraph):
        for part in fields(value):
            found = getattr(value, part.name)
            if isinstance(found, int | float):
                _check(_is_possible(part.name, found), f"the number {part.name}")
            else:
                _check_numbers(found)


def _is_possible(name: str, number: float) -> bool:
    if name in _POSITIVE:
        return 0 < number < math.inf
    if name in _SHARES:
        return 0 <= number <= 1
    if name in _FINITE:
        return 0 <= number < math.inf
    return number >= 0 if isinstance(number, int) else True


def _check_places(places: Places) -> None:
    n = places.graph.n_nodes
    _check(places.positions.shape == (n, 2), "the places of nodes")
    _check(not (np.abs(places.positions) > FARTHEST).any(), "the places of nodes")
    chosen = [*places.opened, *([] if places.selected is None else [places.selected])]
    _check(all(0 <= node < n for node in chosen), "the places of nodes")


def _check_support(found: Stability) -> None:
    graph, initial, tally = found.graph, found.initial_graph, found.tally
    shares = (
        (graph.n_edges, found.edges),
        (graph.n_hidden, found.hidden),
        (graph.n_cycles, found.cycles),
        (initial.n_edges, found.initial_edges),
    )
    for size, share in shares:
        _check(share.shape == (size,) and _are_shares(share), "a support")
    _check(initial.n_hidden == 0 and initial.names == graph.names == tally.names, "a support")
    _check(found.n_used >= 1 and found.n_asked >= found.n_done, "a support")
    _check(tally.edges.ndim == 2 and tally.edges.shape[1] == 2, "a support")
    n_edges = len(tally.edges)
    _check(tally.counts.shape == tally.lengths.shape == (n_edges,), "a support")
    _check(tally.n_graphs >= 1 and 0 <= tally.n_hidden <= n_edges, "a support")
    LatentGraph.build(tally.names, tally.n_hidden, tally.edges, tally.lengths)


def _check_groups(groups: Groups) -> None:
    labels, used = groups.labels, set(groups.labels.ravel().tolist())
    fits = labels.shape == (len(groups.names),) and len(labels) > 0
    _check(fits and used == set(range(len(used))), "a grouping")
    _check(groups.n_resamples >= 1 and groups.together is None, "a grouping")


def _are_shares(values: NDArray[np.float64]) -> bool:
    return bool(((values >= 0) & (values <= 1 + 1e-9)).all())


def _check(fits: bool, what: str) -> None:
    if not fits:
        raise DataError(f"{what} in the results does not fit together.")


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    first, space, rest = what.partition(" ")
    plural = first if first == "consensus" else f"{first}s"
    return f"{count} {plural}{space}{rest}"
