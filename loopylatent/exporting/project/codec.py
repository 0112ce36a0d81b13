"""Frozen results as plain JSON and back, with every value checked against its declared type.

Nothing in the JSON says which code to run: the type that is asked for says what may stand there.
Graphs, which many results share, stand once in a list and are named by their place in it; so do
the names of their columns.
"""

from __future__ import annotations

import json
import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, Struct

from loopylatent.compute.arrays import frozen_array
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph

KIND = "is"
"""The entry that names the class of a set of values."""
MOST_NAMED = 8_000_000
"""Columns of all graphs together: names stand once, and would be read once for each graph."""

# Writing -----------------------------------------------------------------------------------


def to_plain(value: Any, graphs: dict[LatentGraph, int]) -> Any:
    """Turn a frozen value into what JSON can hold; its graphs get a place where they are new.

    Examples
    --------
    >>> to_plain((1, math.inf, "a", None), {})
    [1, 'inf', 'a', None]
    """
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
    """Return a frozen value with its graphs as JSON; equal values give equal bytes."""
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
    described = {"names": list(names), "graphs": graphs, "results": parts}
    return json.dumps(described, allow_nan=False, separators=(",", ":")).encode("ascii")


NUMBER, PLACE, NAMED = 26, 12, 8
"""Bytes for a number, the place of a graph in its list, and a column of a graph (`MOST_NAMED`)."""


def plain_size(value: Any, seen: set[Any]) -> int:
    """Return how many bytes a value takes as JSON at the most; nothing is written.

    ``seen`` are graphs and names that stand in the file already; those of the value are added.

    Examples
    --------
    >>> plain_size((1, "a"), set()) >= len('[1,"a"]')
    True
    """
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
"""Numbers that JSON lacks."""
Length = Annotated[float, Meta(ge=0)]
_LIMITED: dict[str, Any] = {
    **dict.fromkeys(("n_train", "n_samples"), Annotated[float, Meta(gt=0)]),
    **dict.fromkeys(("start", "end", "seconds"), Length),
    **dict.fromkeys(("p_value", "instability"), Annotated[float, Meta(ge=0, le=1)]),
}
"""Numbers that must be finite and in these limits: logarithms and shares of them are taken."""


class _Graph(Struct, forbid_unknown_fields=True):
    names: Count | tuple[str, ...]
    """Their place among those listed; in formats 1 and 2 the names."""
    n_hidden: Count
    edges: list[Count]
    lengths: list[Length]

    def built(self, listed: Sequence[tuple[str, ...]]) -> LatentGraph:
        names = self.names if isinstance(self.names, tuple) else listed[self.names]
        if len(self.edges) % 2 or self.n_hidden > len(self.lengths) or len(set(names)) < len(names):
            raise DataError("a graph in the results does not fit together.")
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
    """What stands in a file for a frozen dataclass."""

    stands_for: ClassVar[Any]


class _Shared(ABC):  # noqa: B024
    """What stands in a file for a graph: its place in the list."""


_Shared.register(LatentGraph)


def decoded(kind: Any, content: bytes) -> Any:
    """Read what `encoded` wrote of a frozen dataclass; whatever does not fit is refused."""
    try:
        file = msgspec.json.decode(content, type=_File)
        shared = [one.names for one in file.graphs if isinstance(one.names, int)]
        if any(place >= len(file.names) for place in shared):
            raise DataError("a graph in the results has no names.")
        if sum(len(file.names[place]) for place in shared) > MOST_NAMED:
            raise DataError("the results hold more graphs of so many columns than can be read.")
        hook = partial(_special, [one.built(file.names) for one in file.graphs])
        return _value(msgspec.json.decode(file.results, type=_wire(kind), dec_hook=hook))
    except LoopyLatentError:
        raise
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"its results do not fit: {in_short(error)}.") from None


def in_short(error: Exception) -> str:
    """Return what msgspec says, which may repeat anything, on one line and not too long."""
    return repr(str(error)[:200])[1:-1]


@cache
def _wire(kind: Any) -> Any:
    """What msgspec reads for a type of ours."""
    if kind is LatentGraph:
        return _Shared
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        parts = [(one.name, _LIMITED.get(one.name, _wire(hints[one.name]))) for one in fields(kind)]
        name, namespace = kind.__name__, {"stands_for": kind}
        return msgspec.defstruct(name, parts, bases=(_Part,), tag=name, namespace=namespace)
    if get_origin(kind) is tuple:
        return tuple[tuple(map(_wire, get_args(kind)))]  # type: ignore[misc]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(_wire, get_args(kind)))]  # noqa: UP007
    return {int: Count, float: float | Odd}.get(kind, kind)


def _special(graphs: Sequence[LatentGraph], kind: Any, plain: Any) -> Any:
    """Read what msgspec does not know: graphs and arrays."""
    if kind is _Shared:
        place = msgspec.convert(plain, Count)
        if place >= len(graphs):
            raise ValueError("no such graph")
        return graphs[place]
    dtype = get_args(get_args(kind)[1])[0]
    array = msgspec.convert(plain, _Whole if np.issubdtype(dtype, np.integer) else _Array)
    return frozen_array(np.array(array.values, dtype=dtype).reshape(array.shape), dtype)


def _value(read: Any) -> Any:
    if isinstance(read, _Part):
        parts = {name: _value(getattr(read, name)) for name in read.__struct_fields__}
        return read.stands_for(**parts)
    if isinstance(read, tuple):
        return tuple(map(_value, read))
    return float(read.value) if isinstance(read, Odd) else read
