"""Frozen results as plain JSON and back, with every value checked against its declared type.

Nothing in the JSON says which code to run: the type that is asked for says what may stand there.
Graphs, which many results share, stand once in a list and are named by their place in it; so do
the names of their columns.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from loopylatent.compute.arrays import frozen_array
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph

LARGEST_WHOLE = 2**53
MOST_DIMENSIONS = 8
KIND = "is"
"""The entry that names the class of a set of values."""
MOST_NAMED = 8_000_000
"""Columns of all graphs together: names stand once, and would be read once for each graph."""
_ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""Numbers that JSON lacks."""


class Graphs:
    """The graphs that plain values name, each once."""

    def __init__(self, graphs: Sequence[LatentGraph] = ()) -> None:
        self.listed: list[LatentGraph] = list(graphs)
        self._place = {graph.digest: k for k, graph in enumerate(self.listed)}

    def place(self, graph: LatentGraph) -> int:
        """Return where a graph stands; it is put at the end where it is new."""
        if graph.digest not in self._place:
            self._place[graph.digest] = len(self.listed)
            self.listed.append(graph)
        return self._place[graph.digest]


# Writing -----------------------------------------------------------------------------------


def to_plain(value: Any, graphs: Graphs) -> Any:
    """Turn a frozen value into what JSON can hold.

    Examples
    --------
    >>> to_plain((1, math.inf, "a", None), Graphs())
    [1, 'inf', 'a', None]
    """
    if isinstance(value, LatentGraph):
        return graphs.place(value)
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": _numbers_to_plain(value)}
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


def _numbers_to_plain(array: np.ndarray[Any, Any]) -> list[Any]:
    flat = array.ravel().tolist()
    return [one if math.isfinite(one) else str(one) for one in flat]


def graphs_to_plain(graphs: Sequence[LatentGraph]) -> dict[str, Any]:
    """Turn graphs into what JSON can hold; names of columns that several have stand once.

    Examples
    --------
    >>> graphs_to_plain([LatentGraph.build("ab", 0, [(0, 1)], [0.5])])
    {'names': [['a', 'b']], 'graphs': [{'names': 0, 'n_hidden': 0, 'edges': [0, 1], \
'lengths': [0.5]}]}
    """
    places = {names: k for k, names in enumerate(dict.fromkeys(one.names for one in graphs))}
    listed = [
        {
            "names": places[graph.names],
            "n_hidden": graph.n_hidden,
            "edges": graph.edges.ravel().tolist(),
            "lengths": graph.lengths.tolist(),
        }
        for graph in graphs
    ]
    return {"names": [list(names) for names in places], "graphs": listed}


NUMBER, PLACE, NAMED = 26, 12, 8
"""Bytes for a number, the place of a graph in its list, and a column of a graph (`MOST_NAMED`)."""


def plain_size(value: Any, seen: set[Any]) -> int:
    """Return how many bytes a value takes as JSON at the most; nothing is written.

    Parameters
    ----------
    value
    seen : set
        Graphs and names that stand in the file already; those of the value are added.

    Examples
    --------
    >>> plain_size((1, "a"), set()) >= len('[1,"a"]')
    True
    """
    if isinstance(value, LatentGraph):
        return PLACE + _graph_size(value, seen)
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


def _graph_size(graph: LatentGraph, seen: set[Any]) -> int:
    if graph.digest in seen:
        return 0
    ends = 2 * (len(str(graph.n_nodes)) + 1)
    size = 100 + (ends + NUMBER) * graph.n_edges + NAMED * graph.n_observed
    if graph.names not in seen:
        size += plain_size(graph.names, seen)
    seen.update((graph.digest, graph.names))
    return size


# Reading -----------------------------------------------------------------------------------


def graphs_from_plain(plain: Any, names: Any) -> list[LatentGraph]:
    """Read graphs and the names of their columns, and check them."""
    listed = [_names(one) for one in _listing(names)]
    graphs = _listing(plain)
    places = [one.get("names") for one in graphs if isinstance(one, dict)]
    shared = [listed[k] for k in places if type(k) is int and 0 <= k < len(listed)]
    if sum(map(len, shared)) > MOST_NAMED:
        raise DataError("the results hold more graphs of so many columns than can be read.")
    return [graph_from_plain(one, listed) for one in graphs]


def _names(plain: Any) -> tuple[str, ...]:
    names = tuple(_text(name) for name in _listing(plain))
    if len(set(names)) < len(names):
        raise _wrong("a graph")
    return names


def graph_from_plain(plain: Any, listed: Sequence[tuple[str, ...]] = ()) -> LatentGraph:
    """Read a graph and check it; its names stand in it, or at a place among those listed.

    Examples
    --------
    >>> graph_from_plain({"names": ["a", "b"], "n_hidden": 0, "edges": [0, 1], "lengths": [0.5]})
    LatentGraph(2 observed, 0 hidden, 1 edges, 0 cycles)
    """
    parts = _entries(plain, ("names", "n_hidden", "edges", "lengths"), "a graph")
    names = _names_of(parts["names"], listed)
    edges = [_whole(end) for end in _listing(parts["edges"])]
    lengths = [_number(length) for length in _listing(parts["lengths"])]
    n_hidden = _whole(parts["n_hidden"])
    if len(edges) % 2 or not 0 <= n_hidden <= len(lengths):
        raise _wrong("a graph")
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return LatentGraph.build(names, n_hidden, pairs, np.array(lengths))


def _names_of(plain: Any, listed: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(plain, list):  # as formats 1 and 2 have them
        return _names(plain)
    place = _whole(plain)
    if not 0 <= place < len(listed):
        raise _wrong("a graph")
    return listed[place]


def from_plain(kind: Any, plain: Any, graphs: Graphs) -> Any:
    """Read a value of a given type; whatever does not fit is refused.

    Examples
    --------
    >>> from_plain(tuple[float, ...], [1, "inf"], Graphs())
    (1.0, inf)
    >>> from_plain(int, "1", Graphs())
    Traceback (most recent call last):
    loopylatent.errors.DataError: a whole number in the results is something else.
    """
    if kind is LatentGraph:
        place = _whole(plain)
        if not 0 <= place < len(graphs.listed):
            raise _wrong("a graph")
        return graphs.listed[place]
    if kind in _SIMPLE:
        return _SIMPLE[kind](plain)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        if plain not in inner or isinstance(plain, bool):
            raise _wrong("a word")
        return plain
    if origin in (Union, types.UnionType):
        return from_plain(_member(inner, plain), plain, graphs)
    if origin is tuple:
        return _tuple(inner, _listing(plain), graphs)
    if origin is np.ndarray:
        return _array(get_args(inner[1])[0], plain)
    return _structure(kind, plain, graphs)


def _member(kinds: tuple[Any, ...], plain: Any) -> Any:
    """Which of several types is meant: none, a class by its name, or the one that is left."""
    if plain is None and type(None) in kinds:
        return type(None)
    named = plain.get(KIND) if isinstance(plain, dict) else None
    classes = {kind.__name__: kind for kind in kinds if _is_class(kind)}
    if isinstance(named, str) and named in classes:
        return classes[named]
    others = [kind for kind in kinds if kind is not type(None) and not _is_class(kind)]
    if named is not None or len(others) != 1:
        raise _wrong("a set of values")
    return others[0]


def _is_class(kind: Any) -> bool:
    """Whether values of this type are written under the name of their class."""
    return is_dataclass(kind) and kind is not LatentGraph


def _tuple(inner: tuple[Any, ...], plain: list[Any], graphs: Graphs) -> tuple[Any, ...]:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(from_plain(inner[0], one, graphs) for one in plain)
    if len(inner) != len(plain):
        raise _wrong("a list")
    return tuple(from_plain(one, value, graphs) for one, value in zip(inner, plain, strict=True))


def _array(dtype: Any, plain: Any) -> Any:
    parts = _entries(plain, ("shape", "values"), "an array")
    shape = [_whole(size) for size in _listing(parts["shape"])]
    read: Callable[[Any], Any] = _whole if np.issubdtype(dtype, np.integer) else _number
    values = [read(value) for value in _listing(parts["values"])]
    if min(shape, default=0) < 0 or math.prod(shape) != len(values):
        raise _wrong("an array")
    if len(shape) > MOST_DIMENSIONS or math.prod(size or 1 for size in shape) > LARGEST_WHOLE:
        raise _wrong("an array")
    return frozen_array(np.array(values, dtype=dtype).reshape(shape), dtype)


def _structure(kind: Any, plain: Any, graphs: Graphs) -> Any:
    hints = _hints(kind)
    parts = _entries(plain, (KIND, *hints), "a set of values")
    if parts[KIND] != kind.__name__:
        raise _wrong("a set of values")
    return kind(**{name: from_plain(hint, parts[name], graphs) for name, hint in hints.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    known = typing.get_type_hints(kind)
    return {one.name: known[one.name] for one in fields(kind)}


def _entries(plain: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    if not isinstance(plain, dict) or set(plain) != set(names):
        raise _wrong(what)
    return plain


def _listing(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise _wrong("a list")
    return plain


def _whole(plain: Any) -> int:
    if isinstance(plain, bool) or not isinstance(plain, int) or abs(plain) > LARGEST_WHOLE:
        raise _wrong("a whole number")
    return plain


def _number(plain: Any) -> float:
    if isinstance(plain, str) and plain in _ODD:
        return _ODD[plain]
    if isinstance(plain, int):
        return float(_whole(plain))
    if not isinstance(plain, float) or not math.isfinite(plain):
        raise _wrong("a number")
    return plain


def _text(plain: Any) -> str:
    if not isinstance(plain, str):
        raise _wrong("a text")
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise _wrong("a text") from None
    return plain


def _truth(plain: Any) -> bool:
    if not isinstance(plain, bool):
        raise _wrong("a yes or no")
    return plain


def _nothing(plain: Any) -> None:
    if plain is not None:
        raise _wrong("nothing")


_SIMPLE: dict[Any, Callable[[Any], Any]] = {
    int: _whole,
    float: _number,
    str: _text,
    bool: _truth,
    type(None): _nothing,
}


def _wrong(what: str) -> DataError:
    return DataError(f"{what} in the results is something else.")
