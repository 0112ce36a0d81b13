"""Work that goes on while the page can be used: one thread a job, asked after now and then."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from loopylatent.errors import LoopyLatentError
from loopylatent.ui.upkeep import give_back
from loopylatent.warm_up import warm_up

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def warm_up_once() -> threading.Thread:
    """Compile or load what pages need later, once in a server, while the page can be used."""
    thread = threading.Thread(target=_warm_up, name="loopylatent warm-up", daemon=True)
    thread.start()
    return thread


def _warm_up() -> None:
    warm_up()
    give_back()  # a compiler takes much memory, once


class Cancelled(Exception):  # noqa: N818  (nothing went wrong)
    """Raised inside a job when nobody waits for it any more."""


@dataclass(slots=True)
class Job:
    """One piece of work, how far it is, and what came of it."""

    key: Hashable
    done: int = 0
    total: int = 0
    result: Any = None
    error: str | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)

    def report(self, done: int, total: int) -> None:
        """Take a progress report; stops the work once the job is cancelled."""
        if self.cancelled.is_set():
            raise Cancelled
        self.done, self.total = done, total


def start(key: Hashable, work: Callable[[Callable[[int, int], None]], Any]) -> Job:
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

    def drop(self, kind: str) -> None:
        """Forget the current job of a kind; the next one begins anew."""
        self._current.pop(kind, None)

    def get(
        self, kind: str, key: Hashable, work: Callable[[Callable[[int, int], None]], Any]
    ) -> Job:
        """Return the job for ``key``, started now if it is not the current one of its kind."""
        job = self._current.get(kind)
        if job is None or job.key != key or job.error == "stopped":
            if job is not None:
                job.cancelled.set()
            job = self._current[kind] = start(key, work)
        return job

    def again(
        self, kind: str, key: Hashable, work: Callable[[Callable[[int, int], None]], Any]
    ) -> Job:
        """Start a job for ``key``, even where one for it is there already."""
        job = self._current.get(kind)
        if job is not None:
            job.cancelled.set()
        job = self._current[kind] = start(key, work)
        return job
