"""Independent pieces of work on all cores, each result handed out as soon as it is there."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

S = TypeVar("S")
A = TypeVar("A")
T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the pieces done and the pieces in all; may raise to stop the work."""
Check = Callable[[int, int], None]
"""What a piece of work calls now and then; raises when nobody waits for it any more."""
TICK = 0.1
"""Seconds between two reports while nothing finishes: how soon the work can be stopped."""


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """Raised inside a piece of work that is not wanted any more."""


def as_they_finish(
    tasks: Sequence[Callable[[Check], T]],
    progress: Progress | None = None,
    threads: int | None = None,
) -> Generator[tuple[int, T], None, None]:
    """Run the tasks on threads and yield (position, result) as they finish.

    Tasks begin in the given order. ``progress`` is called in the thread of the caller, several
    times a second; what it raises ends the work, and so does giving up the iterator: tasks that
    have not begun are dropped, the others are stopped at their next call of what they are given.

    Examples
    --------
    >>> squares = as_they_finish([lambda check, k=k: k * k for k in range(4)], threads=2)
    >>> sorted(squares)
    [(0, 0), (1, 1), (2, 4), (3, 9)]
    """
    stop = threading.Event()

    def check(*_: int) -> None:
        if stop.is_set():
            raise Stopped

    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1)
    try:
        waiting: dict[Future[T], int] = {pool.submit(t, check): k for k, t in enumerate(tasks)}
        total = len(waiting)
        _report(progress, 0, total)
        while waiting:
            finished, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=lambda one: waiting[one]):
                yield waiting.pop(future), future.result()
            _report(progress, total - len(waiting), total)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


class Runner(Protocol):
    """How independent pieces of work run: on the threads of this machine, or on a cluster."""

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        pieces: Sequence[A],
        progress: Progress | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        """Yield (position, work(shared, piece, check)) as the pieces finish.

        ``shared`` is what all pieces read, such as the rows: it travels once, pieces are small.
        ``progress`` is as in `as_they_finish`.
        """
        ...


@dataclass(frozen=True, slots=True)
class OnThreads:
    """Runs pieces on the threads of this machine.

    Examples
    --------
    >>> run = OnThreads(2)
    >>> sorted(run(lambda base, k, check: base + k, 10, [1, 2, 3]))
    [(0, 11), (1, 12), (2, 13)]
    """

    threads: int | None = None

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        pieces: Sequence[A],
        progress: Progress | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        """Yield (position, result) as the pieces finish; see `Runner`."""
        tasks = [partial(work, shared, piece) for piece in pieces]
        return as_they_finish(tasks, progress, self.threads)


def in_order(results: Generator[tuple[int, T], None, None]) -> Generator[T, None, None]:
    """Yield results in the order of their positions, each as soon as all before it are there.

    Whoever gives up this iterator gives up the one that it reads.

    Examples
    --------
    >>> list(in_order(pair for pair in [(1, "b"), (0, "a"), (2, "c")]))
    ['a', 'b', 'c']
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


def in_window(
    pool: Executor, work: Callable[[A], T], pieces: Iterable[A], ahead: int
) -> Generator[T, None, None]:
    """Yield results in the order of the pieces; at most ``ahead`` others are made meanwhile.

    Examples
    --------
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(in_window(pool, abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    waiting: deque[Future[T]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(work, piece))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
