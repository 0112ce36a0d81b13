"""Background work: jobs in threads, garbage collection, and compilation ahead of use.

Streamlit's garbage collection after every run takes as long as the run itself. It is turned off in
`.streamlit/config.toml` and done here when the pages are idle.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import pandas as pd
import streamlit as st
from scipy import sparse
from streamlit import runtime

from loopylatent.analysis.stability.resampling import Resampling
from loopylatent.analysis.stability.runs import stability
from loopylatent.compute._kernels.grouping import declares
from loopylatent.compute.values import Progress
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.distances.sparse import sparse_distances
from loopylatent.errors import LoopyLatentError
from loopylatent.figures.layout import positions
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.grouping import quartets
from loopylatent.learning.initial_graph import (
    default_thresholds,
    edge_density,
    initial_graph,
    loop_radius,
)
from loopylatent.learning.learner import learn
from loopylatent.settings import FitSettings, LearnSettings, Method
from loopylatent.synthetic.discrete import DiscreteLaw, gibbs
from loopylatent.tables.observations import Observations

log = logging.getLogger(__name__)
Work = Callable[[Progress], Any]


class Cancelled(Exception):  # noqa: N818  (not an error)
    """Raised inside a job that was cancelled."""


class Key:
    """Identifies a result or a job: a frozen dataclass with named fields."""

    __slots__ = ()


Name = str | Key


@dataclass(slots=True)
class Job:
    """A computation in the background with its progress and result."""

    key: Name
    done: int = 0
    total: int = 0
    result: Any = None
    error: str | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)

    @property
    def is_running(self) -> bool:
        return not self.finished.is_set()

    @property
    def found(self) -> Any:
        """The result; None if the job is running, failed or was stopped."""
        return None if self.is_running or self.error is not None else self.result

    @property
    def failure(self) -> str | None:
        """The error message; None if the job was only stopped."""
        return None if self.error == "stopped" else self.error

    def report(self, done: int, total: int) -> None:
        """Record progress; raise if the job was cancelled."""
        if self.cancelled.is_set():
            raise Cancelled
        self.done, self.total = done, total


def start(key: Name, work: Work) -> Job:
    """Start ``work(report)`` in a thread."""
    job = Job(key)

    def run() -> None:
        try:
            job.result = work(job.report)
        except Cancelled:
            job.error = "stopped"
        except LoopyLatentError as error:
            job.error = str(error)
        except Exception as error:
            log.exception("background work failed: %s", key)
            job.error = f"Internal error ({type(error).__name__}). See the terminal for details."
        finally:
            job.finished.set()

    threading.Thread(target=run, name=f"loopylatent {key}", daemon=True).start()
    return job


def _cancel_all(jobs: Mapping[str, Job]) -> None:
    for job in jobs.values():
        job.cancelled.set()


class Jobs:
    """The jobs of one session, at most one of each kind; a new one cancels the old one.

    All of them are cancelled when the session ends.
    """

    def __init__(self) -> None:
        self._current: dict[str, Job] = {}
        weakref.finalize(self, _cancel_all, self._current)

    def current(self, kind: str) -> Job | None:
        """Return the current job of a kind."""
        return self._current.get(kind)

    def of(self, kind: str, key: Name) -> Job | None:
        """Return the current job of a kind if it has this key."""
        job = self._current.get(kind)
        return job if job is not None and job.key == key else None

    def running(self, kind: str) -> Job | None:
        """Return the current job of a kind if it is running and not cancelled."""
        job = self._current.get(kind)
        return job if job and job.is_running and not job.cancelled.is_set() else None

    def drop(self, kind: str) -> None:
        """Forget the current job of a kind."""
        self._current.pop(kind, None)

    def get(self, kind: str, key: Name, work: Work) -> Job:
        """Return the job for ``key``; start it if it is not the current one of its kind."""
        job = self.of(kind, key)
        return self.again(kind, key, work) if job is None or job.error == "stopped" else job

    def again(self, kind: str, key: Name, work: Work) -> Job:
        """Start a job for ``key`` even if there is one already."""
        job = self._current.get(kind)
        if job is not None:
            job.cancelled.set()
        job = self._current[kind] = start(key, work)
        return job


IDLE = 2.0
"""Seconds without a run of a page before garbage is collected."""
LATEST = 30.0
"""Seconds after which it is collected even if pages are running."""
CHECK_EVERY = 10.0
"""Seconds between two checks for expired sessions."""


@st.cache_resource(show_spinner=False)
def upkeep() -> threading.Event:
    """Return the event that pages set when they run; the first call starts the upkeep thread."""
    has_run = threading.Event()

    def keep_up() -> None:
        while True:
            ran = has_run.wait(CHECK_EVERY)
            if ran:
                _wait_until_idle(has_run)
            if drop_expired_sessions() or ran:
                free_memory()

    if runtime.exists():
        threading.Thread(target=keep_up, name="loopylatent upkeep", daemon=True).start()
    return has_run


def _wait_until_idle(has_run: threading.Event) -> None:
    deadline = time.monotonic() + LATEST
    while has_run.is_set() and time.monotonic() < deadline:
        has_run.clear()
        time.sleep(IDLE)


def drop_expired_sessions() -> int:
    """Drop sessions that can no longer be reconnected; return their number."""
    with suppress(AttributeError, RuntimeError):  # other versions of Streamlit drop them later
        sessions: Any = runtime.get_instance()._session_mgr  # noqa: SLF001  (there is no public API)
        with sessions._storage_lock:  # noqa: SLF001
            return len(sessions._session_storage._cache.expire())  # noqa: SLF001
    return 0


def free_memory() -> None:
    """Collect garbage and return free memory to the system, if the C library supports that."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # only in the GNU C library
        ctypes.CDLL(None).malloc_trim(0)


@st.cache_resource(show_spinner=False)
def warm_up_once() -> threading.Thread:
    """Compile or load in the background what pages need later, once per server."""

    def run() -> None:
        warm_up()
        free_memory()  # compilation needs much memory once

    thread = threading.Thread(target=run, name="loopylatent warm-up", daemon=True)
    thread.start()
    return thread


def warm_up() -> None:
    """Run every compiled function once on a small table."""
    for _ in warm_up_steps():
        pass


_ROWS, _GROUPS, _EACH = 60, 4, 4


def warm_up_steps() -> Iterator[str]:
    """Run them step by step, those of the first page first; yield the name of each step."""
    numbers = _numbers()
    D = information_distances(Observations.from_frame(numbers))
    edge_density(D)
    yield "curve"
    graph = _learned(D, "quartet")
    yield "quartet"
    positions(graph, start=positions(graph))
    yield "layout"
    initial_graph(D, D.r_min)
    yield "initial graph"
    for method in get_args(Method):
        _learned(D, method)
        yield method
    for kind, table in _tables(numbers).items():
        _fit(Observations.from_frame(table))
        yield f"fit of {kind}"
    near = D.values[:_EACH, :_EACH]
    quartets(near, 0.0)
    declares(np.exp(-near), 0.0, 0, 1, 2, 3)
    yield "single quartet tests"
    for table in (numbers, (numbers > 2).astype(int)):
        stability(Observations.from_frame(table), how=Resampling(n_resamples=2))
    yield "support"
    law = DiscreteLaw.ising(_ring(D.names), np.full(_ring(D.names).n_edges, 0.3))
    gibbs(law, n=8, rng=np.random.default_rng(0), burn_in=2, thinning=1)
    yield "synthetic rows"
    lists = sparse_distances(sparse.csr_array(numbers.to_numpy() > 1, dtype=np.float64))
    for method in get_args(Method):
        learn(lists, LearnSettings(default_thresholds(lists), method))
    yield "very many columns"


def _numbers() -> pd.DataFrame:
    """Return groups of columns, each with a hidden variable; the hidden variables form a ring."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(_ROWS, _GROUPS))
    hidden = np.repeat(steps + np.roll(steps, 1, axis=1), _EACH, axis=1)
    values = hidden + 0.7 * rng.normal(size=hidden.shape)
    return pd.DataFrame(values).add_prefix("c")


def _tables(numbers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    binary = (numbers > 0).astype(int)
    missing = np.arange(numbers.size).reshape(numbers.shape) % 17 == 3
    return {
        "continuous": numbers,
        "binary": binary,
        "continuous, missing values": numbers.mask(missing),
        "binary, missing values": binary.astype(float).mask(missing),
        "categorical": numbers.apply(pd.cut, bins=3, labels=["few", "some", "many"]).astype(
            "object"
        ),
    }


def _learned(D: DistanceMatrix, method: Method) -> LatentGraph:
    thresholds = replace(default_thresholds(D), r=loop_radius(D))
    return learn(D, LearnSettings(thresholds, method)).graph


def _fit(table: Observations) -> None:
    """Fit a graph with a loop and one without, and call what the pages call."""
    D = information_distances(table)
    for graph in (_learned(D, "nj"), _ring(D.names)):
        model = fit_parameters(graph, table, FitSettings(max_steps=3))
        model.log_likelihood(table)
        model.hidden_posteriors(table)
        if model.is_exact and model.kind != "gaussian":
            model.lbp_error()


def _ring(names: tuple[str, ...]) -> LatentGraph:
    """Return a ring of hidden nodes, so that the hidden part contains a loop."""
    p = len(names)
    edges = [(k, p + k // _EACH) for k in range(p)]
    edges += [(p + k, p + (k + 1) % _GROUPS) for k in range(_GROUPS)]
    return LatentGraph.build(names, _GROUPS, edges, np.full(len(edges), 0.5))
