"""Results that need not be computed again: one bounded cache, which threads may share."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
from cachetools import LRUCache
from scipy import sparse

MOST_KEPT = 4000
MOST_PARTS = 20_000


class ResultCache:
    """Keeps so many results or bytes, and always the last one; the least recently used go first."""

    def __init__(self, most: int = MOST_KEPT, most_bytes: int | None = None) -> None:
        def room(result: Any) -> int:
            return min(max(size_of(result), most_bytes // most), most_bytes) if most_bytes else 1

        self._kept: LRUCache[Hashable, Any] = LRUCache(most_bytes or most, getsizeof=room)
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return what is known under ``key``, or None."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Hashable, result: Any) -> None:
        """Keep a result, in the place of an older one."""
        with self._lock:
            self._kept.pop(key, None)  # else it would keep its place among the others
            self._kept[key] = result

    def items(self) -> list[tuple[Hashable, Any]]:
        """Return all that is known, the newest first."""
        with self._lock:
            return list(self._kept.items())[::-1]


def size_of(result: Any) -> int:
    """Return about how many bytes the arrays and texts in a result take."""
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
