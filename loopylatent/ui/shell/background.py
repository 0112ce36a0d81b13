"""Background work: jobs in threads, garbage collection, and the start of the warm-up.

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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit import runtime

from loopylatent.compute.values import Progress
from loopylatent.errors import LoopyLatentError
from loopylatent.ui.shell.warm_up import warm_up

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
    """Compile or load in the background what pages need, once per server."""

    def run() -> None:
        warm_up()
        free_memory()  # compilation needs much memory once

    thread = threading.Thread(target=run, name="loopylatent warm-up", daemon=True)
    thread.start()
    return thread
