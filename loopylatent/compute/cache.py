"""Bounded memories of results."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

MOST_KEPT = 4000


class Known:
    """Results that need not be computed again; threads may share one.

    Examples
    --------
    >>> known = Known(most=2)
    >>> for key in "abc":
    ...     known.put(key, key.upper())
    >>> known.get("a"), known.get("c")
    (None, 'C')
    >>> known = Known(most_bytes=5, size_of=len)
    >>> for word in ("abc", "de", "f"):
    ...     known.put(word, word)
    >>> known.get("abc"), known.get("f"), known.n_bytes
    (None, 'f', 3)
    """

    def __init__(
        self,
        most: int = MOST_KEPT,
        *,
        most_bytes: float = math.inf,
        size_of: Callable[[Any], int] | None = None,
    ) -> None:
        self._most, self._most_bytes, self._size_of = most, most_bytes, size_of
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self.n_bytes = 0
        """What all results take; 0 where nothing says how large they are."""
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return what is known under ``key``, or None."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a result; the ones that were not asked for longest go first."""
        size = 0 if self._size_of is None else self._size_of(value)
        with self._lock:
            self.n_bytes += size - self._sizes.get(key, 0)
            self._kept[key], self._sizes[key] = value, size
            self._kept.move_to_end(key)
            while len(self._kept) > self._most or (
                len(self._kept) > 1 and self.n_bytes > self._most_bytes
            ):
                gone, _ = self._kept.popitem(last=False)
                self.n_bytes -= self._sizes.pop(gone)

    def items(self) -> list[tuple[Hashable, Any]]:
        """Return all that is known, the newest first."""
        with self._lock:
            return list(reversed(self._kept.items()))
