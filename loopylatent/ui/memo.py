"""A small memory of results, one for each browser session."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Keeps the last results of each kind, and counts how often each kind was computed.

    Results are frozen, so handing the same one out again is safe.
    """

    def __init__(self, most: int = 24) -> None:
        self._most = most
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {}
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
            kept[key] = (result, perf_counter() - start)
            self.computed[kind] += 1
            while len(kept) > self._most:
                kept.popitem(last=False)
        found: T
        found, self.seconds[kind] = kept[key]
        return found

    def known(self, kind: str, key: Hashable) -> Any:
        """Return the result known under ``key``, or None; nothing is computed."""
        kept = self._kept.get(kind)
        return None if kept is None or key not in kept else kept[key][0]

    def keep(self, kind: str, key: Hashable, result: Any, seconds: float = 0.0) -> None:
        """Remember a result that was computed elsewhere, in the place of an older one."""
        kept = self._kept.setdefault(kind, OrderedDict())
        kept[key] = (result, seconds)
        kept.move_to_end(key)
        while len(kept) > self._most:
            kept.popitem(last=False)
