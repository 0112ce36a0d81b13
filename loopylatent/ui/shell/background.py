"""Work beside the pages: jobs, one thread each; giving memory back; compiling before it is needed.

Streamlit's collection of garbage after every run, which takes as long as the run, is turned off in
`.streamlit/config.toml`; here it is done when the pages rest.
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
    first_graph,
    loop_radius,
)
from loopylatent.learning.learner import learn
from loopylatent.settings import FitSettings, LearnSettings, Method
from loopylatent.synthetic.discrete import DiscreteLaw, gibbs
from loopylatent.tables.observations import Observations

log = logging.getLogger(__name__)
Work = Callable[[Progress], Any]


class Cancelled(Exception):  # noqa: N818  (nothing went wrong)
    """Raised inside a job when nobody waits for it any more."""


class Key:
    """What a result or a job is known by: a frozen dataclass with named fields."""

    __slots__ = ()


Name = str | Key


@dataclass(slots=True)
class Job:
    """One piece of work, how far it is, and what came of it."""

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
        """What came of it; None while it runs, and where it failed or was stopped."""
        return None if self.is_running or self.error is not None else self.result

    @property
    def failure(self) -> str | None:
        """Why it failed; None where it was only stopped."""
        return None if self.error == "stopped" else self.error

    def report(self, done: int, total: int) -> None:
        """Take a progress report; stops the work once the job is cancelled."""
        if self.cancelled.is_set():
            raise Cancelled
        self.done, self.total = done, total


def start(key: Name, work: Work) -> Job:
    """Begin ``work(report)`` in a thread of its own."""
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
            job.error = f"this did not work ({type(error).__name__}); the terminal has the details."
        finally:
            job.finished.set()

    threading.Thread(target=run, name=f"loopylatent {key}", daemon=True).start()
    return job


def _cancel_all(jobs: Mapping[str, Job]) -> None:
    for job in jobs.values():
        job.cancelled.set()


class Jobs:
    """The jobs of one session: at most one of each kind; a newer one cancels the older.

    When the session is gone, so that nobody can look at them, all of them are cancelled.
    """

    def __init__(self) -> None:
        self._current: dict[str, Job] = {}
        weakref.finalize(self, _cancel_all, self._current)

    def current(self, kind: str) -> Job | None:
        """Return the current job of a kind, whatever it works on."""
        return self._current.get(kind)

    def of(self, kind: str, key: Name) -> Job | None:
        """Return the current job of a kind, where it is for this very key."""
        job = self._current.get(kind)
        return job if job is not None and job.key == key else None

    def running(self, kind: str) -> Job | None:
        """Return the current job of a kind, where it runs and somebody waits for it."""
        job = self._current.get(kind)
        return job if job and job.is_running and not job.cancelled.is_set() else None

    def drop(self, kind: str) -> None:
        """Forget the current job of a kind; the next one begins anew."""
        self._current.pop(kind, None)

    def get(self, kind: str, key: Name, work: Work) -> Job:
        """Return the job for ``key``, started now if it is not the current one of its kind."""
        job = self.of(kind, key)
        return self.again(kind, key, work) if job is None or job.error == "stopped" else job

    def again(self, kind: str, key: Name, work: Work) -> Job:
        """Start a job for ``key``, even where one for it is there already."""
        job = self._current.get(kind)
        if job is not None:
            job.cancelled.set()
        job = self._current[kind] = start(key, work)
        return job


REST = 2.0
"""Seconds without a run of a page before garbage is collected."""
LATEST = 30.0
"""Seconds after which it is collected although pages still run."""
LOOK = 10.0
"""Seconds between two looks for sessions whose time is over."""


@st.cache_resource(show_spinner=False)
def upkeep() -> threading.Event:
    """Return what a page sets when it has run; the first call in a server starts the upkeep."""
    has_run = threading.Event()

    def keep_up() -> None:
        while True:
            ran = has_run.wait(LOOK)
            if ran:
                _wait_for_rest(has_run)
            if drop_ended_sessions() or ran:
                give_back()

    if runtime.exists():
        threading.Thread(target=keep_up, name="loopylatent upkeep", daemon=True).start()
    return has_run


def _wait_for_rest(has_run: threading.Event) -> None:
    deadline = time.monotonic() + LATEST
    while has_run.is_set() and time.monotonic() < deadline:
        has_run.clear()
        time.sleep(REST)


def drop_ended_sessions() -> int:
    """Drop sessions that can no longer be come back to; return how many there were."""
    with suppress(AttributeError, RuntimeError):  # another Streamlit: it drops them later
        sessions: Any = runtime.get_instance()._session_mgr  # noqa: SLF001  (nothing public does)
        with sessions._storage_lock:  # noqa: SLF001
            return len(sessions._session_storage._cache.expire())  # noqa: SLF001
    return 0


def give_back() -> None:
    """Collect garbage, and hand free memory to the system where the system's library can."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # only the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)


@st.cache_resource(show_spinner=False)
def warm_up_once() -> threading.Thread:
    """Compile or load what pages need later, once in a server, while the page can be used."""

    def run() -> None:
        warm_up()
        give_back()  # a compiler takes much memory, once

    thread = threading.Thread(target=run, name="loopylatent warm-up", daemon=True)
    thread.start()
    return thread


def warm_up() -> None:
    """Run every compiled function once on a tiny table."""
    for _ in warm_up_steps():
        pass


_ROWS, _GROUPS, _EACH = 60, 4, 4


def warm_up_steps() -> Iterator[str]:
    """Do the same step by step, what the first page needs first; yield what was done."""
    numbers = _numbers()
    D = information_distances(Observations.from_frame(numbers))
    edge_density(D)
    yield "curve"
    graph = _learned(D, "quartet")
    yield "quartet"
    positions(graph, start=positions(graph))
    yield "layout"
    first_graph(D, loop_radius(D))
    yield "first graph"
    for method in get_args(Method):
        _learned(D, method)
        yield method
    for kind, table in _tables(numbers).items():
        _fit(Observations.from_frame(table))
        yield f"fit of {kind}"
    near = D.values[:_EACH, :_EACH]
    quartets(near, 0.0)
    declares(np.exp(-near), 0.0, 0, 1, 2, 3)
    yield "votes one by one"
    law = DiscreteLaw.ising(_ring(D.names), np.full(_ring(D.names).n_edges, 0.3))
    gibbs(law, n=8, rng=np.random.default_rng(0), burn_in=2, thinning=1)
    yield "made-up rows"
    lists = sparse_distances(sparse.csr_array(numbers.to_numpy() > 1, dtype=np.float64))
    for method in get_args(Method):
        learn(lists, LearnSettings(default_thresholds(lists), method))
    yield "very many columns"


def _numbers() -> pd.DataFrame:
    """Groups of columns, each around a hidden number; the groups stand in a ring."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(_ROWS, _GROUPS))
    hidden = np.repeat(steps + np.roll(steps, 1, axis=1), _EACH, axis=1)
    values = hidden + 0.7 * rng.normal(size=hidden.shape)
    return pd.DataFrame(values).add_prefix("c")


def _tables(numbers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    yes_no = (numbers > 0).astype(int)
    gaps = np.arange(numbers.size).reshape(numbers.shape) % 17 == 3
    return {
        "numbers": numbers,
        "yes and no": yes_no,
        "numbers with gaps": numbers.mask(gaps),
        "yes and no with gaps": yes_no.astype(float).mask(gaps),
        "names": numbers.apply(pd.cut, bins=3, labels=["few", "some", "many"]).astype("object"),
    }


def _learned(D: DistanceMatrix, method: Method) -> LatentGraph:
    thresholds = replace(default_thresholds(D), r=loop_radius(D))
    return learn(D, LearnSettings(thresholds, method)).graph


def _fit(table: Observations) -> None:
    """Fit a graph with a loop and one without, and ask the models what pages ask."""
    D = information_distances(table)
    for graph in (_learned(D, "nj"), _ring(D.names)):
        model = fit_parameters(graph, table, FitSettings(max_steps=3))
        model.log_likelihood(table)
        model.hidden_posteriors(table)
        if model.is_exact and model.kind != "gaussian":
            model.lbp_error()


def _ring(names: tuple[str, ...]) -> LatentGraph:
    """Hidden nodes in a ring, so that hidden parts hold a loop of their own."""
    p = len(names)
    edges = [(k, p + k // _EACH) for k in range(p)]
    edges += [(p + k, p + (k + 1) % _GROUPS) for k in range(_GROUPS)]
    return LatentGraph.build(names, _GROUPS, edges, np.full(len(edges), 0.5))
