"""Memory that is given back: when pages rest, and when people have left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from helpers.app_server import started
from streamlit import config

from benchmarks.app.session_line import Line
from loopylatent.ui.shell import background as upkeep

TIMEOUT = 60.0
APP = """
import weakref
from pathlib import Path
import streamlit as st
from loopylatent.ui.shell import background as upkeep

class Kept:
    def __init__(self):
        self.itself = self  # only the collector of garbage finds it
        weakref.finalize(self, (Path({folder!r}) / f"{{id(self)}}.forgotten").touch)

upkeep.LOOK = upkeep.REST = 0.1
st.session_state.setdefault("kept", Kept())
upkeep.upkeep().set()
"""


def soon(is_so: Callable[[], object]) -> bool:
    """Whether something comes true."""
    deadline = time.monotonic() + TIMEOUT
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(is_so())


def test_a_session_is_forgotten_when_its_time_is_over_although_nobody_else_comes(tmp_path):
    script = tmp_path / "app.py"
    script.write_text(APP.format(folder=str(tmp_path)), encoding="utf-8")
    server = started(script, tmp_path, disconnectedSessionTTL=1)

    def forgotten() -> list[Path]:
        return list(tmp_path.glob("*.forgotten"))

    try:
        lines = [Line(server.address, "") for _ in range(2)]
        assert soon(lambda: all(line.runs for line in lines))
        assert not forgotten(), "they are still looked at"
        for line in lines:
            line.close()
        assert soon(forgotten), "of the last one Streamlit holds on until the next one comes"
    finally:
        server.stop()


def test_nothing_is_collected_between_two_moves_of_a_slider():
    assert config.get_option("runner.postScriptGC") is False


def test_it_waits_for_pages_to_rest_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(upkeep, "IDLE", 0.01)
    has_run = threading.Event()
    has_run.set()
    upkeep._wait_until_idle(has_run)
    assert not has_run.is_set(), "nothing ran meanwhile"

    class Busy(threading.Event):
        def is_set(self) -> bool:
            return True

    monkeypatch.setattr(upkeep, "LATEST", 0.05)
    upkeep._wait_until_idle(Busy())


def test_without_a_server_nothing_is_dropped():
    assert upkeep.drop_expired_sessions() == 0
    upkeep.free_memory()
