"""What one browser session has computed: results by their kind and key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import APP

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Slot:
    kind: str
    key: Hashable


@dataclass(frozen=True, slots=True)
class _Kept:
    slot: _Slot
    result: Any
    seconds: float


class Memo:
    """Keeps the last results, and counts how often each kind was computed.

    Large results are forgotten earlier, so that a session takes no more than its memory; the last
    one of each kind stays. Results are frozen, so handing the same one out again is safe.
    """

    def __init__(self, most: int = 400, most_bytes: int = APP.session_bytes) -> None:
        self._cache = ResultCache(most, most_bytes)
        self._last: dict[str, _Kept] = {}
        self.computed: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        """How long it took to compute the result of each kind that was last handed out."""

    def get(self, kind: str, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result known under ``key``, or compute and keep it."""
        kept = self._find(kind, key)
        if kept is None:
            start = perf_counter()
            result = compute()
            self.keep(kind, key, result, perf_counter() - start)
            self.computed[kind] += 1
            kept = self._last[kind]
        self._last[kind] = kept
        self.seconds[kind] = kept.seconds
        found: T = kept.result
        return found

    def known(self, kind: str, key: Hashable) -> Any:
        """Return the result known under ``key``, or None; nothing is computed."""
        kept = self._find(kind, key)
        return None if kept is None else kept.result

    def items(self, kind: str) -> list[tuple[Hashable, Any]]:
        """Return all results of a kind that are known, the newest first."""
        last = self._last.get(kind)
        every = {last.slot: last} if last is not None else {}
        every |= {one.slot: one for _, one in self._cache.items()}
        return [(slot.key, one.result) for slot, one in every.items() if slot.kind == kind]

    def keep(self, kind: str, key: Hashable, result: Any, seconds: float = 0.0) -> None:
        """Remember a result that was computed elsewhere, in the place of an older one."""
        slot = _Slot(kind, key)
        self._last[kind] = kept = _Kept(slot, result, seconds)
        self._cache.put(slot, kept)

    def _find(self, kind: str, key: Hashable) -> _Kept | None:
        kept: _Kept | None = self._cache.get(_Slot(kind, key))
        last = self._last.get(kind)
        return last if kept is None and last is not None and last.slot.key == key else kept
