"""The Tune page in AppTest, and functions to read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from loopylatent.ui.shell.session import Session
from loopylatent.ui.tune.state import JOBS, KEY, Tuning

ROOT = Path(__file__).resolve().parents[2]
PAGE = "pages/2_Tune.py"
TIMEOUT = 180.0  # seconds for one run of the page, and for background work


def opened(**params: str) -> AppTest:
    """Open the page in a new session by a link, and wait until its graphs are learned."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    for name, value in params.items():
        page.query_params[name] = value
    return settled(ran(page.switch_page(PAGE)))


def ran(page: Any) -> AppTest:
    page = page.run()
    assert [error.value for error in page.exception] == []
    return page


def settled(page: AppTest) -> AppTest:
    """Wait for all background work, and run the page again."""
    for kind in JOBS:
        job = session_of(page).jobs.current(kind)
        if job is not None:
            assert job.finished.wait(TIMEOUT), f"{kind} did not end"
            assert job.error in (None, "stopped"), job.error
    return ran(page)


def session_of(page: AppTest) -> Session:
    return page.session_state["loopylatent"]


def tuning_of(page: AppTest) -> Tuning:
    return page.session_state[KEY]


def press(page: AppTest, key: str) -> AppTest:
    return ran(page.button(key=f"tune_{key}").click())


def turn_to(page: AppTest, tab: str) -> AppTest:
    page.session_state["tune_tab"] = tab
    return ran(page)


def figure(page: AppTest) -> dict[str, Any]:
    """The plot that is shown."""
    (chart,) = page.get("plotly_chart")
    return json.loads(chart.proto.spec)


def trace(page: AppTest, name: str) -> dict[str, Any]:
    return next(one for one in figure(page)["data"] if one.get("name") == name)


def words_on(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.warning, *page.success, *page.error]
    return "\n".join(part.value for part in parts)
