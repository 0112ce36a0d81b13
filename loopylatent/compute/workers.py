"""Independent pieces of work on all cores or on a cluster, each result as soon as it is there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any, Literal, TypeVar, get_args
from uuid import uuid4

import numpy as np

from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import Check, Progress
from loopylatent.errors import LoopyLatentError, Remedy, ThresholdError

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

    ``progress`` is called in the thread of the caller, several times a second; what it raises ends
    the work, and so does giving up the iterator: tasks that have not begun are dropped, the others
    are stopped at their next call of what they are given. ``ahead`` is as in `OnThreads`.
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
    """Which pieces may begin: none is far ahead of the first that has not been handed out."""

    def __init__(self, total: int, ahead: int | None, most: int) -> None:
        self._total = total
        self._size = total if ahead is None else max(1, min(ahead, most))
        self._next = self._first = 0
        self._early: set[int] = set()

    @property
    def n_left(self) -> int:
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


@dataclass(frozen=True, slots=True)
class OnThreads:
    """How independent pieces of work run, on the threads of this machine."""

    threads: int | None = None

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
        tasks = [partial(work, shared, piece) for piece in pieces]
        return as_they_finish(tasks, progress, self.threads, ahead)


def in_order(results: Generator[tuple[int, T], None, None]) -> Generator[T, None, None]:
    """Yield results in the order of their positions, each as soon as all before it are there."""
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


Engine = Literal["threads", "dask"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

HERE = "127.0.0.1"
"""A cluster that is started here listens to this machine alone."""
CONNECTING = 30
"""Seconds to wait for a scheduler."""
COMING_BACK = 300
"""Seconds to wait for a first worker, and for one after all were lost."""
PATIENCE = 1.0
"""Seconds between two questions of a worker whether its piece is still wanted."""
MOST_LOSSES = 5
"""Times that what all pieces read may be lost with its workers, and is sent again."""


class ClusterError(LoopyLatentError):
    """The cluster cannot be reached, or it lost a piece of work for good."""


@contextmanager
def runner(
    engine: Engine = "threads", scheduler: str | None = None, threads: int | None = None
) -> Iterator[Runner]:
    """Give what runs pieces of work; a local cluster that was started for it ends with it.

    ``scheduler`` is the address of a Dask scheduler, such as ``tcp://10.0.0.5:8786``; without it
    the engine ``dask`` starts processes on this machine. ``threads`` is for the engine ``threads``.
    """
    if engine not in ENGINES:
        raise ThresholdError(f"engine = {engine!r} is unknown; use one of {', '.join(ENGINES)}.")
    if engine == "threads":
        if scheduler is not None:
            raise ThresholdError(Remedy("scheduler"), "; add that, or leave it out.")
        yield OnThreads(threads)
        return
    with _client(scheduler) as client:
        yield OnCluster(client)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            Remedy("dask"),
            " needs Dask, which is not installed; run: "
            "pip install 'loopylatent[cluster]', or pip install -r requirements-cluster.txt",
        ) from None
    return distributed


@contextmanager
def _client(scheduler: str | None) -> Iterator[Any]:
    dask = _distributed()
    if scheduler is None:
        pages = dict.fromkeys(("dashboard_address", "worker_dashboard_address"), f"{HERE}:0")
        with (
            dask.LocalCluster(processes=True, threads_per_worker=1, host=HERE, **pages) as cluster,
            dask.Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = dask.Client(scheduler, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, TimeoutError):
        raise ClusterError(
            f"no Dask scheduler answers at {scheduler!r}; start one there, or check the address."
        ) from None
    with client:
        yield client


@dataclass(frozen=True, slots=True)
class OnCluster:
    """The same on a Dask cluster; a piece whose worker is lost runs again on another one."""

    client: Any

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        pieces: Sequence[A],
        progress: Progress | None = None,
        ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        run = _ClusterRun(self.client, work, _Shared(shared), pieces, progress)
        total = len(pieces)
        try:
            run.report()
            if not total:
                return
            run.wait_for_workers()
            window = Window(total, ahead, 2 * sum(self.client.nthreads().values()))
            while window.n_left:
                run.submit(window.begin())
                for position, result in run.finished():
                    window.end(position)
                    run.done = total - window.n_left
                    yield position, result
                run.report()
        finally:
            run.stop()


Runner = OnThreads | OnCluster


@dataclass(slots=True, eq=False)
class _ClusterRun:
    """Pieces that are under way on a cluster."""

    client: Any
    work: Any
    shared: _Shared
    pieces: Sequence[Any]
    progress: Progress | None
    done: int = 0
    waiting: dict[Any, int] = field(default_factory=dict)
    _kept: Any = None
    """What all pieces read, once it is on the workers."""
    _losses: int = 0
    _name: str = field(default_factory=lambda: f"loopylatent-{uuid4().hex}")

    def report(self) -> None:
        """Tell how far the work is; raises where nobody waits for it any more."""
        if self.progress is not None:
            self.progress(self.done, len(self.pieces))

    def wait_for_workers(self) -> None:
        """Wait for a first worker, or for one after all were lost."""
        end = time.monotonic() + COMING_BACK
        while True:
            try:
                self.client.wait_for_workers(1, timeout=PATIENCE)
                return
            except TimeoutError:
                self.report()
            if time.monotonic() > end:
                raise ClusterError(
                    f"the cluster has had no worker for {COMING_BACK} seconds; start some."
                )

    def submit(self, positions: Sequence[int]) -> None:
        """Send what all pieces read to every worker once, then the pieces, the first ones first."""
        if not positions:
            return
        if self._kept is None:
            self.wait_for_workers()
            try:
                (self._kept,) = self.client.scatter([self.shared], broadcast=True, hash=False)
            except (TimeoutError, OSError):
                raise ClusterError(
                    "what all pieces of work read could not be sent to the workers; "
                    "do they run, and does the network reach them?"
                ) from None
        futures = self.client.map(
            _run_piece,
            [self.pieces[k] for k in positions],
            work=self.work,
            kept=self._kept,
            stop=self._name,
            pure=False,
        )
        self.waiting.update(zip(futures, positions, strict=True))

    def finished(self) -> Iterator[tuple[int, Any]]:
        """Yield what has finished by now; wait a moment where nothing has."""
        dask = _distributed()
        nothing = (dask.TimeoutError, dask.client.FuturesCancelledError)
        with self.client.as_current(), suppress(*nothing):
            dask.wait(list(self.waiting), timeout=TICK, return_when="FIRST_COMPLETED")
        done = [future for future in self.waiting if future.done()]
        lost = []
        for future in sorted(done, key=self.waiting.__getitem__):
            try:
                result = future.result()
            except dask.client.FutureCancelledError:  # it is gone, with its worker
                lost.append(self.waiting.pop(future))
            except dask.KilledWorker:
                raise ClusterError(
                    "a piece of work ended its worker several times; "
                    "do the workers have enough memory?"
                ) from None
            else:
                yield self.waiting.pop(future), frozen(result)
        if lost:
            self._losses += 1
            if self._losses > MOST_LOSSES:
                raise ClusterError("the cluster keeps losing its workers; look at their logs.")
            self._kept = None  # it may be gone with them
            self.submit(lost)

    def stop(self) -> None:
        """Drop what has not begun, and tell what has that nobody waits for it."""
        if not self.waiting:
            return
        with suppress(Exception):  # the cluster may be gone
            _distributed().Event(self._name, client=self.client).set()
            self.client.cancel(list(self.waiting), force=True)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all pieces read, in a box, so that Dask does not look into it."""

    content: Any


def _run_piece(piece: Any, *, work: Any, kept: _Shared, stop: str) -> Any:
    with one_thread():
        return work(kept.content, piece, _StillWanted(stop))


class _StillWanted:
    """Asks now and then whether the piece is still wanted, and raises where it is not."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = time.monotonic()

    def __call__(self, *_: int) -> None:
        if time.monotonic() - self._asked < PATIENCE:
            return
        dask = _distributed()
        if dask.Event(self._name, client=dask.get_client()).is_set():
            raise Stopped
        self._asked = time.monotonic()


def frozen(result: T) -> T:
    """Make the arrays of a result read-only again, which they are not after a journey."""
    parts: Iterable[Any] = ()
    if isinstance(result, np.ndarray):
        result.setflags(write=False)
    elif isinstance(result, dict):
        parts = result.values()
    elif isinstance(result, (list, tuple)):
        parts = result
    elif is_dataclass(result) and not isinstance(result, type):
        parts = [getattr(result, one.name) for one in fields(result)]
    for part in parts:
        frozen(part)
    return result
