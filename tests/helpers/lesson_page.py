"""The Step by step page in AppTest, and functions to read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.lesson.lesson import Lesson, build, draw
from loopylatent.ui.lesson.controls import KEY, Walk
from loopylatent.ui.shell.session import Session

ROOT = Path(__file__).resolve().parents[2]
PAGE = "pages/1_Step_by_step.py"
TIMEOUT = 180.0  # seconds for one run of the page


def opened(**params: str) -> AppTest:
    """Open the lesson in a new session by a link."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    for name, value in params.items():
        page.query_params[name] = value
    return ran(page.switch_page(PAGE))


def from_explore(**params: str) -> AppTest:
    """Open the Explore page, which links to the lesson."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    for name, value in params.items():
        page.query_params[name] = value
    return ran(page)


def ran(page: Any) -> AppTest:
    page = page.run()
    assert [error.value for error in page.exception] == []
    return page


def walk_of(page: AppTest) -> Walk:
    return page.session_state[KEY]


def session_of(page: AppTest) -> Session:
    return page.session_state["loopylatent"]


def press(page: AppTest, key: str) -> AppTest:
    return ran(page.button(key=f"lesson_{key}").click())


def params_of(page: AppTest) -> dict[str, str]:
    """The link parameters; they are lists after a later run."""
    return {
        name: value if isinstance(value, str) else value[0]
        for name, value in page.query_params.items()
    }


def anchor(page: AppTest) -> str:
    return params_of(page)["step"]


def drawn(page: AppTest) -> dict[str, Any]:
    graph = next(one for one in page.get("bidi_component") if one.key == "lesson_graph")
    return json.loads(graph.proto.json)


def said(page: AppTest) -> str:
    return next(one.proto.body for one in page.get("html") if "lesson-caption" in one.proto.body)


def html(page: AppTest) -> str:
    return "".join(one.proto.body for one in page.get("html"))


def lesson_of(page: AppTest) -> Lesson:
    """Return the lesson of the package for the settings in the link."""
    params = params_of(page)
    sample = ll.load_sample(params["sample"])
    D = ll.information_distances(sample.observations, metric=params["metric"])
    numbers = {name: float(params[name]) for name in ("r", "Lambda", "tau")}
    result = ll.learn(D, **numbers, method=params["method"], seed=int(params["seed"]))
    return build(result, D, sample.observations, sample.truth)


def shows(page: AppTest, lesson: Lesson, at: str) -> None:
    """Check that picture and caption are those of this step."""
    frame = lesson.frame(lesson.find(at), walk_of(page).detail)
    picture = draw(lesson, frame)
    shown = drawn(page)
    assert [edge["id"] for edge in shown["edges"]] == [edge["id"] for edge in picture.edges]
    assert [node["group"] for node in shown["nodes"]] == [n["group"] for n in picture.nodes]
    assert shown["shade"] == picture.shade
    for number in frame.caption.numbers:
        assert f">{number.text}<" in said(page)
    assert anchor(page) == at
