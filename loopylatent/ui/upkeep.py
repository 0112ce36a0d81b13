"""Memory is given back while nobody waits: after pages have run, and when people have left.

Streamlit would collect garbage after every run of a page, which for a process as large as this one
takes about as long as the run itself; `.streamlit/config.toml` turns that off. Here it is done
when the pages rest. Sessions whose people are gone Streamlit drops only when another tab is
closed; here they are dropped when their time is over.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit import runtime

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
    if runtime.exists():
        threading.Thread(
            target=_keep_up, args=(has_run,), name="loopylatent upkeep", daemon=True
        ).start()
    return has_run


def _keep_up(has_run: threading.Event) -> None:
    while True:
        ran = has_run.wait(LOOK)
        if ran:
            _wait_for_rest(has_run)
        if drop_ended_sessions() or ran:
            give_back()


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
