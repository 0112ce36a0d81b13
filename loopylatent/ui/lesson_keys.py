"""Arrow keys on the Step by step page: counted in the browser, so that quick ones are not lost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st


@dataclass(frozen=True, slots=True)
class Pressed:
    """How often the right arrow key was pressed, less the left one, since counting began."""

    counter: str = ""
    """Which counter it is: each time the page is drawn anew, another one begins at 0."""
    count: int = 0


def arrow_keys(*, key: str) -> Pressed:
    """Listen to the arrow keys."""
    # an argument that changed would make another component of it, whose count is lost
    found = _component()(key=key, default={"pressed": None}, on_pressed_change=lambda: None)
    return _read(found.pressed)


def pressed_now(key: str) -> Pressed:
    """Return what the browser has just sent, before the page runs."""
    return _read(getattr(st.session_state.get(key), "pressed", None))


def _read(sent: Any) -> Pressed:
    return Pressed() if sent is None else Pressed(str(sent["counter"]), int(sent["count"]))


@cache
def _component() -> Any:
    script = (files("loopylatent.ui") / "lesson_keys.js").read_text(encoding="utf-8")
    return st.components.v2.component(
        "loopylatent_lesson_keys", html='<div class="keys"></div>\n', js=script
    )
