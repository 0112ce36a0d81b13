"""Laboratory and Theory in AppTest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from loopylatent.ui.shell import laboratory as lab_state
from loopylatent.ui.shell.laboratory import Lab

ROOT = Path(__file__).resolve().parents[2]


LABORATORY, THEORY = "pages/5_Laboratory.py", "pages/6_Theory.py"


TIMEOUT = 180.0  # seconds for one run of a page, and for background work


def opened(page: str) -> AppTest:
    """Open a page in a new session."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    return ran(app.switch_page(page))


def ran(page: Any) -> AppTest:
    page = page.run()
    assert [error.value for error in page.exception] == []
    return page


def lab_of(page: AppTest) -> Lab:
    return page.session_state[lab_state.KEY]
