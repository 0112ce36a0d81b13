"""Buttons of long computations show the time needed, and are disabled beyond the limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.app import APP, TIMEOUT, ran, session_of, stands_still
from streamlit.testing.v1 import AppTest

from loopylatent.compute import limits
from loopylatent.ui.laboratory.page import OVER_N, OVER_R, PAPER
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.laboratory import CURVE_N, CURVE_R, PAPERS
from loopylatent.ui.tune.page import GRID
from loopylatent.ui.tune.state import CELLS, GRAPHS, JOBS

RING = "latent_cycle"
PINS = json.dumps([["tree", {"sample": RING, "r": "9", "Lambda": "0.01", "tau": "0.1"}]])
TUNE, COMPARE, EVALUATE, LABORATORY = (
    f"pages/{name}.py" for name in ("2_Tune", "3_Compare", "4_Evaluate", "5_Laboratory")
)
BUTTONS: dict[str, tuple[str | None, dict[str, str], dict[str, str]]] = {
    "make_report": (None, {}, {"more": "Export"}),
    "seeds": (None, {"method": "relaxed"}, {}),
    "bic": (None, {}, {}),
    "tune_loops": (TUNE, {"r": "1.5"}, {}),
    "score_pins": (COMPARE, {"pins": PINS}, {}),
    "evaluate_fit": (EVALUATE, {}, {}),
    f"run {CURVE_N}": (LABORATORY, {}, {"lab_tab": OVER_N}),
    f"run {CURVE_R}": (LABORATORY, {}, {"lab_tab": OVER_R}),
    f"run {PAPERS}": (LABORATORY, {}, {"lab_tab": PAPER}),
}
"""The key of each button: its page, link parameters and open tab."""


def opened(page: str | None, params: dict[str, str], state: dict[str, str]) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    for name, value in ({"sample": RING} | params).items():
        app.query_params[name] = value
    if page is not None:
        app.switch_page(page)
    for name, tab in state.items():
        app.session_state[name] = tab
    return ran(app)


def words_on(page: AppTest) -> list[str]:
    texts = [one.value for one in (*page.caption, *page.error, *page.warning)]
    return [text.replace("\\", "") for text in texts]


def control(page: AppTest, key: str) -> Any:
    return page.toggle(key=key) if key == "bic" else page.button(key=key)


@pytest.mark.parametrize("key", BUTTONS)
def test_the_time_is_shown_next_to_the_button(key, monkeypatch):
    monkeypatch.setattr(limits, "slowness", lambda: 1.0)
    page = opened(*BUTTONS[key])
    assert not control(page, key).disabled
    said = [text for text in words_on(page) if "takes a" in text.lower()]
    own = {"bic": "With it: ", "tune_loops": "simulates 39 tables"}
    if key in own:
        assert any(own[key] in text for text in said)
    else:  # that of the BIC is in the sidebar of most pages
        assert [text for text in said if not text.startswith(own["bic"])]


@pytest.mark.parametrize("key", [key for key in BUTTONS if key != f"run {CURVE_R}"])
def test_computations_beyond_the_limit_are_disabled_and_the_page_says_what_would_fit(
    key, monkeypatch
):
    monkeypatch.setattr(limits, "slowness", lambda: 1e7)
    page = opened(*BUTTONS[key])
    assert control(page, key).disabled
    errors = [text for text in words_on(page) if "more than the limit of 1 h 0 min" in text]
    assert errors
    assert all("use" in text and "\n" not in text for text in errors)


def test_nothing_long_starts_automatically(monkeypatch):
    monkeypatch.setattr(limits, "slowness", lambda: 1e7)
    page = opened(TUNE, {}, {"tune_tab": GRID})
    assert [session_of(page).jobs.current(kind) for kind in JOBS] == [None] * len(JOBS)
    assert page.button(key=f"tune_learn {CELLS}").disabled
    page = opened(LABORATORY, {}, {})
    assert session_of(page).jobs.current("lab learn") is None
    assert any("more than the limit of" in one.value for one in page.error)


def test_the_bic_of_a_link_is_rejected_if_it_takes_too_long(monkeypatch):
    monkeypatch.setattr(limits, "slowness", lambda: 1e7)
    page = opened(None, {"regularize": "bic"}, {})
    assert session_of(page).recipe.regularize == "bic"
    assert session_of(page).jobs.current("bic") is None
    assert any("Shown without BIC penalty: This takes" in one.value for one in page.warning)
    assert not page.toggle(key="bic").disabled, "it can be switched off"


def test_a_sweep_that_takes_minutes_starts_on_request(monkeypatch):
    monkeypatch.setattr(limits, "slowness", lambda: 1.0)
    once = limits.estimate("learn", 0, 20).seconds
    monkeypatch.setattr(limits, "slowness", lambda: 10.0 / once)
    page = opened(TUNE, {}, {})
    assert session_of(page).jobs.current(GRAPHS) is None
    button = page.button(key=f"tune_learn {GRAPHS}")
    assert button.label.startswith("Learn ")
    assert any("Takes about" in text for text in words_on(page))
    page = ran(button.click())
    job = session_of(page).jobs.current(GRAPHS)
    assert job.finished.wait(TIMEOUT)
    assert job.error is None


def test_a_cancelled_sweep_can_be_resumed(monkeypatch):
    monkeypatch.setattr(limits, "slowness", lambda: 1.0)
    with monkeypatch.context() as still:
        still.setattr(Job, "report", stands_still)
        page = opened(TUNE, {}, {})
        job = session_of(page).jobs.current(GRAPHS)
        while job.done < 1:
            assert not job.finished.wait(0.01), job.error
        page = ran(page)
        page = ran(page.button(key="tune_cancel").click())
        assert job.finished.wait(TIMEOUT)
    page = ran(page)
    page = ran(page.button(key=f"tune_learn {GRAPHS}").click())
    again = session_of(page).jobs.current(GRAPHS)
    assert again is not job
    assert again.finished.wait(TIMEOUT)
    assert again.error is None
