"""Independent tasks on all cores or on a cluster; results are yielded as they finish."""

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
"""Seconds between two progress calls, and so the delay of a cancellation."""


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """Raised inside a task that was cancelled."""


def as_they_finish(
    tasks: Sequence[Callable[[Check], T]],
    progress: Progress | None = None,
    threads: int | None = None,
    ahead: int | None = None,
) -> Generator[tuple[int, T], None, None]:
    """Run the tasks on threads and yield (position, result) as they finish.

    ``progress`` is called in the caller's thread several times a second. If it raises, or the
    iterator is closed, the work is cancelled: tasks that have not started are dropped, the others
    stop at their next call of the check. ``ahead`` is as in `OnThreads`.
    """
    stop = threading.Event()

    def check(*_: int) -> None:
        if stop.is_set():
            raise Stopped

    n_threads, total = threads or os.cpu_count() or 1, len(tasks)
    window = Window(total, ahead, 2 * n_threads)
    pool = ThreadPoolExecutor(n_threads)
    pending: dict[Future[T], int] = {}
    try:
        while True:
            for k in window.begin():
                pending[pool.submit(tasks[k], check)] = k
            if progress is not None:
                progress(total - window.n_left, total)
            if not window.n_left:
                return
            finished, _ = wait(pending, timeout=TICK, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=pending.__getitem__):
                window.end(pending[future])
                yield pending.pop(future), future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


class Window:
    """Decides which tasks may start: at most a fixed number ahead of the first unfinished one."""

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
    """Runs independent tasks on the threads of this machine."""

    threads: int | None = None

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        tasks: Sequence[A],
        progress: Progress | None = None,
        ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        """Yield (position, work(shared, task, check)) as the tasks finish.

        ``shared`` is the data that all tasks read, such as the rows; it is sent once to each
        worker. ``progress`` is as in `as_they_finish`. ``ahead`` limits how many tasks run or wait
        for an earlier one; two per thread is the maximum. Without it there is no limit.
        """
        calls = [partial(work, shared, task) for task in tasks]
        return as_they_finish(calls, progress, self.threads, ahead)


def in_order(results: Generator[tuple[int, T], None, None]) -> Generator[T, None, None]:
    """Yield results in the order of their positions, as early as possible."""
    early: dict[int, T] = {}
    position = 0
    try:
        for found, result in results:
            early[found] = result
            while position in early:
                yield early.pop(position)
                position += 1
    finally:
        results.close()


Engine = Literal["threads", "dask"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

HERE = "127.0.0.1"
"""A local cluster listens on this address only."""
CONNECT_TIMEOUT = 30
"""Seconds to wait for a scheduler."""
WORKER_TIMEOUT = 300
"""Seconds to wait for a worker."""
CHECK_INTERVAL = 1.0
"""Seconds between two checks by a worker whether its task was cancelled."""
MAX_LOSSES = 5
"""How often the shared data may be lost with its workers and sent again."""


class ClusterError(LoopyLatentError):
    """The cluster cannot be reached, or keeps losing tasks."""


@contextmanager
def runner(
    engine: Engine = "threads", scheduler: str | None = None, threads: int | None = None
) -> Iterator[Runner]:
    """Provide a runner of tasks; a local cluster ends with it.

    ``scheduler`` is the address of a Dask scheduler, such as ``tcp://10.0.0.5:8786``; without it
    the engine ``dask`` starts processes on this machine. ``threads`` is for the engine ``threads``.
    """
    if engine not in ENGINES:
        raise ThresholdError(f"Unknown engine = {engine!r}. Choose one of {', '.join(ENGINES)}.")
    if engine == "threads":
        if scheduler is not None:
            raise ThresholdError(Remedy("scheduler"), ". Add it, or omit the scheduler.")
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
            " needs Dask, which is not installed. Run: "
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
        client = dask.Client(scheduler, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TimeoutError):
        raise ClusterError(
            f"No Dask scheduler answers at {scheduler!r}. Start one there, or check the address."
        ) from None
    with client:
        yield client


@dataclass(frozen=True, slots=True)
class OnCluster:
    """Runs independent tasks on a Dask cluster; a task whose worker is lost is repeated."""

    client: Any

    def __call__(
        self,
        work: Callable[[S, A, Check], T],
        shared: S,
        tasks: Sequence[A],
        progress: Progress | None = None,
        ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        run = _ClusterRun(self.client, work, _Shared(shared), tasks, progress)
        total = len(tasks)
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
    """Tasks that run on a cluster."""

    client: Any
    work: Any
    shared: _Shared
    tasks: Sequence[Any]
    progress: Progress | None
    done: int = 0
    pending: dict[Any, int] = field(default_factory=dict)
    _kept: Any = None
    """The shared data, once it is on the workers."""
    _losses: int = 0
    _name: str = field(default_factory=lambda: f"loopylatent-{uuid4().hex}")

    def report(self) -> None:
        """Call ``progress``, which may raise to cancel."""
        if self.progress is not None:
            self.progress(self.done, len(self.tasks))

    def wait_for_workers(self) -> None:
        end = time.monotonic() + WORKER_TIMEOUT
        while True:
            try:
                self.client.wait_for_workers(1, timeout=CHECK_INTERVAL)
                return
            except TimeoutError:
                self.report()
            if time.monotonic() > end:
                raise ClusterError(
                    f"The cluster has had no worker for {WORKER_TIMEOUT} seconds. Start workers."
                )

    def submit(self, positions: Sequence[int]) -> None:
        """Send the shared data to every worker once, then the tasks in order."""
        if not positions:
            return
        if self._kept is None:
            self.wait_for_workers()
            try:
                (self._kept,) = self.client.scatter([self.shared], broadcast=True, hash=False)
            except (TimeoutError, OSError):
                raise ClusterError(
                    "The data could not be sent to the workers. Check that they run and that the "
                    "network reaches them."
                ) from None
        futures = self.client.map(
            _run_task,
            [self.tasks[k] for k in positions],
            work=self.work,
            kept=self._kept,
            stop=self._name,
            pure=False,
        )
        self.pending.update(zip(futures, positions, strict=True))

    def finished(self) -> Iterator[tuple[int, Any]]:
        """Yield finished tasks; wait briefly if there are none."""
        dask = _distributed()
        nothing = (dask.TimeoutError, dask.client.FuturesCancelledError)
        with self.client.as_current(), suppress(*nothing):
            dask.wait(list(self.pending), timeout=TICK, return_when="FIRST_COMPLETED")
        done = [future for future in self.pending if future.done()]
        lost = []
        for future in sorted(done, key=self.pending.__getitem__):
            try:
                result = future.result()
            except dask.client.FutureCancelledError:  # lost with its worker
                lost.append(self.pending.pop(future))
            except dask.KilledWorker:
                raise ClusterError(
                    "A task ended its worker several times. Check that the workers have enough "
                    "memory."
                ) from None
            else:
                yield self.pending.pop(future), frozen(result)
        if lost:
            self._losses += 1
            if self._losses > MAX_LOSSES:
                raise ClusterError("The cluster keeps losing its workers. Check their logs.")
            self._kept = None  # may be lost too
            self.submit(lost)

    def stop(self) -> None:
        """Cancel all pending tasks."""
        if not self.pending:
            return
        with suppress(Exception):  # the cluster may be gone
            _distributed().Event(self._name, client=self.client).set()
            self.client.cancel(list(self.pending), force=True)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Wraps the shared data, so that Dask does not inspect it."""

    content: Any


def _run_task(task: Any, *, work: Any, kept: _Shared, stop: str) -> Any:
    with one_thread():
        return work(kept.content, task, _CancelCheck(stop))


class _CancelCheck:
    """Raises `Stopped` if the task was cancelled; asks at most once per CHECK_INTERVAL."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = time.monotonic()

    def __call__(self, *_: int) -> None:
        if time.monotonic() - self._asked < CHECK_INTERVAL:
            return
        dask = _distributed()
        if dask.Event(self._name, client=dask.get_client()).is_set():
            raise Stopped
        self._asked = time.monotonic()


def frozen(result: T) -> T:
    """Make the arrays of a result read-only again after transfer."""
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
