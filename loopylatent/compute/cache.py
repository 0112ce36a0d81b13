"""A bounded cache of results in memory, and checkpoints in files."""

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

MAX_RESULTS = 4000
MAX_PARTS = 20_000


class ResultCache:
    """LRU cache limited by number of results or bytes; it always holds the latest result."""

    def __init__(self, most: int = MAX_RESULTS, most_bytes: int | None = None) -> None:
        def room(result: Any) -> int:
            return min(max(size_of(result), most_bytes // most), most_bytes) if most_bytes else 1

        self._kept: LRUCache[Hashable, Any] = LRUCache(most_bytes or most, getsizeof=room)
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Hashable, result: Any) -> None:
        with self._lock:
            self._kept.pop(key, None)  # replacing it would not make it the newest
            self._kept[key] = result

    def items(self) -> list[tuple[Hashable, Any]]:
        """Return keys and results, the newest first."""
        with self._lock:
            return list(self._kept.items())[::-1]


def size_of(result: Any) -> int:
    """Return roughly how many bytes the arrays and texts in a result take."""
    total, seen, stack = 0, set[int](), [result]
    while stack and len(seen) < MAX_PARTS:
        one = stack.pop()
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
            stack.extend((one.data, one.indices, one.indptr))
        elif is_dataclass(one) and not isinstance(one, type):
            held = getattr(one, "__dict__", None)  # what it holds, and not what it could compute
            own = (getattr(one, field.name, None) for field in fields(one))
            stack.extend(own if held is None else held.values())
        elif isinstance(one, Mapping):
            stack.extend(one.values())
        elif isinstance(one, (tuple, list)):
            stack.extend(one[:MAX_PARTS])
    return total


Arrays = Mapping[str, NDArray[Any]]
SECONDS = 5.0
"""Between two saves of a checkpoint."""
_KEY, _DONE = "key", "done"


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """The content of a checkpoint: tasks done, and their results."""

    done: int
    arrays: Arrays


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A file with intermediate results; `load` raises if it was saved with another key."""

    path: str | os.PathLike[str]
    key: str
    """Identifies the data and settings."""
    _saved_at: float = field(default_factory=time.monotonic)

    def load(self) -> Saved | None:
        """Return the content of the file, or None if it does not exist."""
        if not os.path.exists(self.path):  # noqa: PTH110  (accepts any path)
            check_place(self.path)
            return None
        try:
            with np.load(self.path, allow_pickle=False) as content:
                arrays = dict(content)
            key, done = str(arrays.pop(_KEY)), int(arrays.pop(_DONE))
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
            problem = "is not a checkpoint, or is damaged. Remove it, or name another file."
        else:
            if key == self.key:
                return Saved(done, arrays)
            problem = (
                "is a checkpoint of other data or settings. Remove it to start from the "
                "beginning, or name another file."
            )
        raise DataError(f"{quoted(os.fspath(self.path))} {problem}")

    def save_if_due(self, done: int, arrays: Callable[[], Arrays]) -> None:
        """Save if the last save was at least SECONDS ago."""
        if time.monotonic() - self._saved_at >= SECONDS:
            self.save(done, arrays())

    def save(self, done: int, arrays: Arrays) -> None:
        """Write the file atomically."""
        content: dict[str, Any] = {_KEY: np.array(self.key), _DONE: np.array(done), **arrays}
        with replacing(self.path, "checkpoint ") as stream:
            np.savez(stream, **content)
        self._saved_at = time.monotonic()
