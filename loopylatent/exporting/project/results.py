"""Results that a project file brings along, so that nothing has to be computed again.

They belong to one table and its distances, which they name by their digests; of other data nothing
here is ever shown. What is read may be damaged or hostile: each part is checked before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
from loopylatent.exporting.project.codec import decoded, plain_size
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
    """Everything that was computed on one table."""

    data: str
    """The digest of the rows, empty where there are none."""
    distances: str
    """The digest of the distances."""
    places: Places | None = None
    points: tuple[SweepPoint, ...] = ()
    bars: tuple[Barcode, ...] = ()
    loops: tuple[TestedLoops, ...] = ()
    split: str = ""
    """The digest of the rows learned from and kept apart on the page Tune."""
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
        """What is in it, for a person."""
        counts = {
            "graph{s} of a sweep": len(self.points),
            "score{s} of a sweep": len(self.scores),
            "test{s} of loops": len(self.loops),
            "support{s}": len(self.support),
            "consensus of groups": int(self.groups is not None),
            "fit{s}": len(self.models),
            "row{s} of scores": len(self.evaluations) + len(self.comparisons),
        }
        return tuple(
            f"{count} {what.format(s='' if count == 1 else 's')}"
            for what, count in counts.items()
            if count
        )


def read_results(content: bytes) -> Results:
    """Read results from JSON and check them."""
    found: Results = decoded(Results, content)
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
    """Return the results that take at most so many bytes as JSON; the first of a kind stay."""
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


def _check_places(places: Places) -> None:
    n, selected = places.graph.n_nodes, places.selected
    chosen = places.opened if selected is None else (*places.opened, selected)
    fits = places.positions.shape == (n, 2) and not (np.abs(places.positions) > FARTHEST).any()
    _check(fits and all(0 <= node < n for node in chosen), "the places of nodes")


def _check_support(found: Stability) -> None:
    graph, initial, tally = found.graph, found.initial_graph, found.tally
    n_edges = len(tally.edges)
    for size, share in (
        (graph.n_edges, found.edges),
        (graph.n_hidden, found.hidden),
        (graph.n_cycles, found.cycles),
        (initial.n_edges, found.initial_edges),
    ):
        _check(share.shape == (size,), "a support")
        _check(bool(((share >= 0) & (share <= 1 + 1e-9)).all()), "a support")
    _check(
        initial.n_hidden == 0
        and initial.names == graph.names == tally.names
        and found.n_used >= 1
        and found.n_asked >= found.n_done
        and tally.edges.shape == (n_edges, 2)
        and tally.counts.shape == tally.lengths.shape == (n_edges,)
        and tally.n_graphs >= 1
        and tally.n_hidden <= n_edges,
        "a support",
    )
    LatentGraph.build(tally.names, tally.n_hidden, tally.edges, tally.lengths)


def _check_groups(groups: Groups) -> None:
    labels, used = groups.labels, set(groups.labels.ravel().tolist())
    fits = labels.shape == (len(groups.names),) and len(labels) > 0
    fits = fits and used == set(range(len(used)))
    _check(fits and groups.n_resamples >= 1 and groups.together is None, "a grouping")


def _check(fits: bool, what: str) -> None:
    if not fits:
        raise DataError(f"{what} in the results does not fit together.")
