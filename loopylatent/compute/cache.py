"""Results that need not be computed again: a bounded cache in memory, and checkpoints in a file."""

from __future__ import annotations

import os
import threading
import time
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
from cachetools import LRUCache
from numpy.typing import NDArray
from scipy import sparse

from loopylatent.compute.files import check_place, replacing
from loopylatent.errors import DataError, quoted

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
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Hashable, result: Any) -> None:
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


Arrays = Mapping[str, NDArray[Any]]
SECONDS = 5.0
"""Between two times that the file is written."""
_KEY, _DONE = "key", "done"


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """How much was done, and what came of it."""

    done: int
    arrays: Arrays


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A file that holds how far some work has come; one with another key is refused."""

    path: str | os.PathLike[str]
    key: str
    """What the work depends on."""
    _saved_at: float = field(default_factory=time.monotonic)

    def load(self) -> Saved | None:
        """Return what the file holds; None where there is none."""
        if not os.path.exists(self.path):  # noqa: PTH110  (asks nothing of an odd path)
            check_place(self.path)
            return None
        try:
            with np.load(self.path, allow_pickle=False) as content:
                arrays = dict(content)
            key, done = str(arrays.pop(_KEY)), int(arrays.pop(_DONE))
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
            problem = "is no checkpoint, or it is damaged; remove it, or name another file."
        else:
            if key == self.key:
                return Saved(done, arrays)
            problem = (
                "is a checkpoint of other data or other settings; remove it to start again, "
                "or name another file."
            )
        raise DataError(f"{quoted(os.fspath(self.path))} {problem}")

    def save_now_and_then(self, done: int, arrays: Callable[[], Arrays]) -> None:
        """Write the file where it has not been written for a while."""
        if time.monotonic() - self._saved_at >= SECONDS:
            self.save(done, arrays())

    def save(self, done: int, arrays: Arrays) -> None:
        """Write the file; until it is whole, the one before stays."""
        content: dict[str, Any] = {_KEY: np.array(self.key), _DONE: np.array(done), **arrays}
        with replacing(self.path, "checkpoint ") as stream:
            np.savez(stream, **content)
        self._saved_at = time.monotonic()
