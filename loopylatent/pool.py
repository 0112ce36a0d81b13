"""Independent pieces of work on all cores, each result handed out as soon as it is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

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
) -> Iterator[tuple[int, T]]:
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


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
