"""A small memory of results, one for each browser session."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse

from loopylatent.compute.cache import Known
from loopylatent.compute.limits import APP

T = TypeVar("T")


class Memo:
    """Keeps the last results of each kind, and counts how often each kind was computed.

    Large results are forgotten earlier, so that a session takes no more than its memory.
    Results are frozen, so handing the same one out again is safe.
    """

    def __init__(self, most: int = 24, most_bytes: int = APP.session_bytes) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: dict[str, OrderedDict[Hashable, _Kept]] = {}
        self.computed: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        """How long it took to compute the result of each kind that was last handed out."""

    def get(self, kind: str, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result known under ``key``, or compute and keep it."""
        kept = self._kept.setdefault(kind, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
        else:
            start = perf_counter()
            result = compute()
            self.keep(kind, key, result, perf_counter() - start)
            self.computed[kind] += 1
        found: T = kept[key].result
        self.seconds[kind] = kept[key].seconds
        return found

    def known(self, kind: str, key: Hashable) -> Any:
        """Return the result known under ``key``, or None; nothing is computed."""
        kept = self._kept.get(kind)
        return None if kept is None or key not in kept else kept[key].result

    def items(self, kind: str) -> list[tuple[Hashable, Any]]:
        """Return all results of a kind that are known, the newest first."""
        kept = self._kept.get(kind, OrderedDict())
        return [(key, one.result) for key, one in reversed(list(kept.items()))]

    def keep(self, kind: str, key: Hashable, result: Any, seconds: float = 0.0) -> None:
        """Remember a result that was computed elsewhere, in the place of an older one."""
        kept = self._kept.setdefault(kind, OrderedDict())
        kept[key] = _Kept(result, seconds, size_of(result))
        kept.move_to_end(key)
        while len(kept) > self._most:
            kept.popitem(last=False)
        self._forget()

    def _forget(self) -> None:
        """Forget the oldest of what takes most, until the rest fits; the last of a kind stays."""
        sizes = {
            kind: sum(one.n_bytes for one in kept.values()) for kind, kept in self._kept.items()
        }
        while sum(sizes.values()) > self._most_bytes:
            kind = max(sizes, key=lambda one: sizes[one] if len(self._kept[one]) > 1 else -1)
            if len(self._kept[kind]) < 2:
                return
            _, gone = self._kept[kind].popitem(last=False)
            sizes[kind] -= gone.n_bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    result: Any
    seconds: float
    n_bytes: int


MOST_PARTS = 20_000


def size_of(result: Any) -> int:
    """Return about how many bytes the arrays and texts in a result take.

    Examples
    --------
    >>> size_of((np.zeros(100), {"text": b"abc"}))
    803
    """
    total, seen, waiting = 0, set[int](), [result]
    while waiting and len(seen) < MOST_PARTS:
        one = waiting.pop()
        if id(one) in seen or one is None:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            total += one.nbytes
        elif isinstance(one, (bytes, str)):
            total += len(one)
        elif isinstance(one, pd.DataFrame):
            total += int(one.memory_usage(index=True).sum())
        elif isinstance(one, sparse.csr_array):
            waiting.extend((one.data, one.indices, one.indptr))
        elif is_dataclass(one) and not isinstance(one, type):
            waiting.extend(getattr(one, field.name, None) for field in fields(one))
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, (tuple, list)):
            waiting.extend(one[:MOST_PARTS])
    return total


def known_within() -> Known:
    """Return room for the many small results of a page, within its part of the memory."""
    return Known(most_bytes=APP.session_bytes // 4, size_of=size_of)


def known_last() -> Known:
    """Return room for one large thing that is quickly made again."""
    return Known(most=1)
