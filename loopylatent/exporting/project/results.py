"""Results in a project file; each part is checked before use.

They identify their table and distances by digests and are never shown for other data.
"""

from __future__ import annotations

import json
import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from loopylatent.analysis.evaluation.contest import Evaluation, NotEvaluated
from loopylatent.analysis.stability.groups import Groups
from loopylatent.analysis.stability.loop_test import LoopTest
from loopylatent.analysis.stability.runs import Stability
from loopylatent.analysis.sweep.barcode import Bar
from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.analysis.sweep.scores import ComparedScores, Failed, PointScores
from loopylatent.compute.values import frozen_array
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.inference.model import SavedModel
from loopylatent.settings import LearnSettings

KIND = "is"
"""The entry with the class name of an object."""
MOST_NAMED = 8_000_000
"""Largest total number of columns over all graphs, which share their lists of names."""

# Writing -----------------------------------------------------------------------------------


def to_plain(value: Any, graphs: dict[LatentGraph, int]) -> Any:
    """Convert a frozen value to JSON values; graphs become indices into ``graphs``."""
    if isinstance(value, LatentGraph):
        return graphs.setdefault(value, len(graphs))
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": to_plain(tuple(value.ravel().tolist()), {})}
    if isinstance(value, tuple):
        return [to_plain(one, graphs) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        parts = {one.name: to_plain(getattr(value, one.name), graphs) for one in fields(value)}
        return {KIND: type(value).__name__} | parts
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    assert value is None or isinstance(value, str | bool | int | float), f"{type(value)} is new"
    return value


def encoded(value: Any) -> bytes:
    """Return a frozen value and its graphs as JSON; equal values give equal bytes."""
    places: dict[LatentGraph, int] = {}
    parts = to_plain(value, places)
    names = {names: k for k, names in enumerate(dict.fromkeys(one.names for one in places))}
    graphs = [
        {
            "names": names[graph.names],
            "n_hidden": graph.n_hidden,
            "edges": graph.edges.ravel().tolist(),
            "lengths": graph.lengths.tolist(),
        }
        for graph in places
    ]
    content = {"names": list(names), "graphs": graphs, "results": parts}
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


NUMBER, PLACE, NAMED = 26, 12, 8
"""Bytes of a number, of the index of a graph, and of a column of a graph (`MOST_NAMED`)."""


def plain_size(value: Any, seen: set[Any]) -> int:
    """Return an upper bound on the size of a value as JSON; ``seen`` is already written."""
    if isinstance(value, LatentGraph):
        if value.digest in seen:
            return PLACE
        edge = 2 * (len(str(value.n_nodes)) + 1) + NUMBER
        size = PLACE + 100 + edge * value.n_edges + NAMED * value.n_observed
        size += plain_size(value.names, seen) if value.names not in seen else 0
        seen.update((value.digest, value.names))
        return size
    if isinstance(value, np.ndarray):
        return 100 + NUMBER * value.size
    if isinstance(value, str):
        return len(json.dumps(value)) + 1
    if isinstance(value, tuple):
        return 3 + sum(plain_size(one, seen) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = (len(f.name) + 4 + plain_size(getattr(value, f.name), seen) for f in fields(value))
        return len(type(value).__name__) + 12 + sum(parts)
    return NUMBER


# Reading -----------------------------------------------------------------------------------

Count = Annotated[int, Meta(ge=0, le=2**53)]
Odd = Enum("Odd", {"NAN": "nan", "INF": "inf", "MINUS_INF": "-inf"})
"""Numbers that JSON cannot represent."""
Length = Annotated[float, Meta(ge=0)]
_LIMITED: dict[str, Any] = {
    **dict.fromkeys(("n_train", "n_samples"), Annotated[float, Meta(gt=0)]),
    **dict.fromkeys(("start", "end", "seconds"), Length),
    **dict.fromkeys(("p_value", "instability"), Annotated[float, Meta(ge=0, le=1)]),
}
"""Numbers that must be finite and within these limits."""


class _Graph(Struct, forbid_unknown_fields=True):
    names: Count | tuple[str, ...]
    """Index of the list of names; in formats 1 and 2, the names."""
    n_hidden: Count
    edges: list[Count]
    lengths: list[Length]

    def built(self, listed: Sequence[tuple[str, ...]]) -> LatentGraph:
        names = self.names if isinstance(self.names, tuple) else listed[self.names]
        if len(self.edges) % 2 or self.n_hidden > len(self.lengths) or len(set(names)) < len(names):
            raise DataError("a graph in the results is inconsistent.")
        pairs = np.array(self.edges, dtype=np.int64).reshape(-1, 2)
        return LatentGraph.build(names, self.n_hidden, pairs, np.array(self.lengths))


class _File(Struct, forbid_unknown_fields=True):
    graphs: list[_Graph]
    results: msgspec.Raw
    names: list[tuple[str, ...]] = []


class _Array(Struct, forbid_unknown_fields=True):
    shape: Annotated[list[Count], Meta(max_length=8)]
    values: list[float | Literal["nan", "inf", "-inf"]]


class _Whole(_Array):
    values: list[Count]  # type: ignore[assignment]


class _Part(Struct, forbid_unknown_fields=True, tag_field=KIND):
    """A frozen dataclass as stored in a file."""

    target: ClassVar[Any]


class _Shared(ABC):  # noqa: B024
    """A graph as stored in a file: its index in the list."""


_Shared.register(LatentGraph)


def decoded(kind: Any, content: bytes) -> Any:
    """Reverse `encoded`; raise if the content is invalid."""
    try:
        file = msgspec.json.decode(content, type=_File)
        shared = [one.names for one in file.graphs if isinstance(one.names, int)]
        if any(place >= len(file.names) for place in shared):
            raise DataError("a graph in the results has no names.")
        if sum(len(file.names[place]) for place in shared) > MOST_NAMED:
            raise DataError("the results contain too many graphs of this many columns.")
        hook = partial(_special, [one.built(file.names) for one in file.graphs])
        return _value(msgspec.json.decode(file.results, type=_wire(kind), dec_hook=hook))
    except LoopyLatentError:
        raise
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"its results are invalid: {shortened(error)}.") from None


def shortened(error: Exception) -> str:
    """Return the message of msgspec, which can quote anything, as one short line."""
    return repr(str(error)[:200])[1:-1]


@cache
def _wire(kind: Any) -> Any:
    """Return the type that msgspec reads for a type of ours."""
    if kind is LatentGraph:
        return _Shared
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        parts = [(one.name, _LIMITED.get(one.name, _wire(hints[one.name]))) for one in fields(kind)]
        name, namespace = kind.__name__, {"target": kind}
        return msgspec.defstruct(name, parts, bases=(_Part,), tag=name, namespace=namespace)
    if get_origin(kind) is tuple:
        return tuple[tuple(map(_wire, get_args(kind)))]  # type: ignore[misc]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(_wire, get_args(kind)))]  # noqa: UP007
    return {int: Count, float: float | Odd}.get(kind, kind)


def _special(graphs: Sequence[LatentGraph], kind: Any, raw: Any) -> Any:
    """Read graphs and arrays, which msgspec does not know."""
    if kind is _Shared:
        place = msgspec.convert(raw, Count)
        if place >= len(graphs):
            raise ValueError("no such graph")
        return graphs[place]
    dtype = get_args(get_args(kind)[1])[0]
    array = msgspec.convert(raw, _Whole if np.issubdtype(dtype, np.integer) else _Array)
    return frozen_array(np.array(array.values, dtype=dtype).reshape(array.shape), dtype)


def _value(read: Any) -> Any:
    if isinstance(read, _Part):
        parts = {name: _value(getattr(read, name)) for name in read.__struct_fields__}
        return read.target(**parts)
    if isinstance(read, tuple):
        return tuple(map(_value, read))
    return float(read.value) if isinstance(read, Odd) else read


FARTHEST = 1e9
"""Largest coordinate of a node, in pixels; NaN means that it is not drawn."""


@dataclass(frozen=True, eq=False)
class Barcode:
    """The bars of a sweep along r; the radius in the settings is ignored."""

    settings: LearnSettings
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class TestedLoops:
    """The loop test at a radius."""

    r: float
    test: LoopTest


@dataclass(frozen=True, eq=False)
class Supported:
    """The support of a graph, with its settings."""

    settings: LearnSettings
    n_runs: int
    found: Stability


@dataclass(frozen=True, slots=True)
class Scored:
    """An entry of the score table, with its split of the rows."""

    metric: str
    column: str | None
    """The label column that splits the rows; None for a random split."""
    test: str
    share: float
    seed: int
    belief: bool
    entry: Evaluation | NotEvaluated


@dataclass(frozen=True, slots=True)
class Compared:
    """The scores of one side of a comparison."""

    data: str
    graph: str
    """Digests of the rows and of the graph."""
    settings: LearnSettings
    scores: ComparedScores


@dataclass(frozen=True, eq=False)
class Places:
    """Positions of the nodes of the drawn graph."""

    graph: LatentGraph
    positions: NDArray[np.float64]
    """(nodes, 2), NaN if a node is not drawn."""
    opened: tuple[int, ...] = ()
    """Nodes that are unfolded."""
    selected: int | None = None


@dataclass(frozen=True, eq=False)
class Results:
    """All results on one table."""

    data: str
    """The digest of the rows, empty if there are none."""
    distances: str
    """The digest of the distances."""
    places: Places | None = None
    points: tuple[SweepPoint, ...] = ()
    bars: tuple[Barcode, ...] = ()
    loops: tuple[TestedLoops, ...] = ()
    split: str = ""
    """The digest of the training and test rows on the page Tune."""
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
        """The columns of all drawn or listed graphs."""
        graphs = [one.graph for one in self.points] + [one.graph for one in self.models]
        graphs += [one.found.graph for one in self.support]
        graphs += [] if self.places is None else [self.places.graph]
        found = {graph.names for graph in graphs}
        return found if self.groups is None else found | {self.groups.names}

    @property
    def summary(self) -> tuple[str, ...]:
        """The number of results of each type, in words."""
        counts = {
            "graph{s} of a sweep": len(self.points),
            "score{s} of a sweep": len(self.scores),
            "loop test{s}": len(self.loops),
            "stability result{s}": len(self.support),
            "grouping over resamples": int(self.groups is not None),
            "fitted model{s}": len(self.models),
            "score{s} of graphs": len(self.evaluations) + len(self.comparisons),
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
"""Order of priority if space is limited: small results, then those that took longest."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Results that fit the limit, and those that do not."""

    kept: Results
    left_out: Results


def within(results: Results, most_bytes: int) -> Chosen:
    """Return the results that fit into ``most_bytes`` of JSON, in order of priority."""
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
    _check(fits and all(0 <= node < n for node in chosen), "the position of a node")


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
        raise DataError(f"{what} in the results is inconsistent.")
