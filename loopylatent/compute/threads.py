"""Independent pieces of work on all cores, each result handed out as soon as it is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, TypeVar

from loopylatent.compute.arrays import Check, Progress

S = TypeVar("S")
A = TypeVar("A")
T = TypeVar("T")

TICK = 0.1
"""Seconds between two reports while nothing finishes: how soon the work can be stopped."""


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """Raised inside a piece of work that is not wanted any more."""


def as_they_finish(
    tasks: Sequence[Callable[[Check], T]],
    progress: Progress | None = None,
    threads: int | None = None,
    ahead: int | None = None,
) -> Generator[tuple[int, T], None, None]:
    """Run the tasks on threads and yield (position, result) as they finish.

    Tasks begin in the given order. ``progress`` is called in the thread of the caller, several
    times a second; what it raises ends the work, and so does giving up the iterator: tasks that
    have not begun are dropped, the others are stopped at their next call of what they are given.
    ``ahead`` is as in `Runner`.
    """
    stop = threading.Event()

    def check(*_: int) -> None:
        if stop.is_set():
            raise Stopped

    n_threads, total = threads or os.cpu_count() or 1, len(tasks)
    window = Window(total, ahead, 2 * n_threads)
    pool = ThreadPoolExecutor(n_threads)
    waiting: dict[Future[T], int] = {}
    try:
        while True:
            for k in window.begin():
                waiting[pool.submit(tasks[k], check)] = k
            if progress is not None:
                progress(total - window.n_left, total)
            if not window.n_left:
                return
            finished, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=waiting.__getitem__):
                window.end(waiting[future])
                yield waiting.pop(future), future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


class Window:
    """Which pieces may begin: none is far ahead of the first that has not been handed out.

    So the results that wait for an earlier one stay few, however slow that one is.
    """

    def __init__(self, total: int, ahead: int | None, most: int) -> None:
        self._total = total
        self._size = total if ahead is None else max(1, min(ahead, most))
        self._next = self._first = 0
        self._early: set[int] = set()

    @property
    def n_left(self) -> int:
        """Pieces that have not ended."""
        return self._total - self._first - len(self._early)

    def begin(self) -> list[int]:
        found = range(self._next, min(self._first + self._size, self._total))
        self._next = max(self._next, found.stop)
        return list(found)

    def end(self, position: int) -> None:
        self._early.add(position)
        while self._first in self._early:
            self._early.remove(self._first)
            self._first += 1


class Runner(Protocol):
    """How independent pieces of work run: on the threads of this machine, or on a cluster."""

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        pieces: Sequence[A],
        progress: Progress | None = None,
        ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        """Yield (position, work(shared, piece, check)) as the pieces finish.

        ``shared`` is what all pieces read, such as the rows: it travels once, pieces are small.
        ``progress`` is as in `as_they_finish`. With ``ahead`` at most so many pieces, and at most
        two for each thread, are under way or wait for an earlier one; without it all may be.
        """


@dataclass(frozen=True, slots=True)
class OnThreads:
    """A `Runner` on the threads of this machine."""

    threads: int | None = None

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        pieces: Sequence[A],
        progress: Progress | None = None,
        ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        tasks = [partial(work, shared, piece) for piece in pieces]
        return as_they_finish(tasks, progress, self.threads, ahead)


def in_order(results: Generator[tuple[int, T], None, None]) -> Generator[T, None, None]:
    """Yield results in the order of their positions, each as soon as all before it are there.

    Whoever gives up this iterator gives up the one that it reads.
    """
    waiting: dict[int, T] = {}
    position = 0
    try:
        for found, result in results:
            waiting[found] = result
            while position in waiting:
                yield waiting.pop(position)
                position += 1
    finally:
        results.close()


class _Limit:
    """How many blocks want one thread now, and what takes the limit off again."""

    lock = threading.Lock()
    wanted = 0
    off: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products on one thread, in the whole process, while any such block runs.

    The matrices are small, so that several threads only get into each other's way; and the last
    digits of a product may depend on their number. The first block sets the limit and the last
    one lifts it, in whatever order they end.
    """
    with _Limit.lock:
        _Limit.wanted += 1
        if _Limit.wanted == 1:
            _free_control()
            _Limit.off = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.wanted -= 1
            if _Limit.wanted == 0:
                _free_control()
                _Limit.off.restore_original_limits()
                _free_control()


def _free_control() -> None:
    """Let this thread set the limit; threadpoolctl leaves that to the thread that did it first."""
    from threadpoolctl import OpenBLASController

    free = getattr(OpenBLASController, "clear_controlling_thread", None)
    if free is not None:
        free(force=True)


@cache
def _controller() -> Any:
    """Looked for once: it takes longer than many a product."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
