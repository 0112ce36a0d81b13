"""Widgets that follow the walk: they show where it is, and can be moved by hand.

While steps follow each other quickly, the browser may send along what such a widget showed a
moment ago. That is no wish to go back, and is passed over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

GRACE = 1.5
"""Seconds for which a value that was left by itself is taken for an echo."""
_NOTHING = object()


@dataclass(slots=True)
class Follower:
    """What a widget shows, and what it showed a moment ago."""

    shown: Any = _NOTHING
    left: dict[Any, float] = field(default_factory=dict)

    def show(self, value: Any) -> None:
        """Note that the walk has gone on by other means than this widget."""
        now = time.monotonic()
        if self.shown is not _NOTHING and value != self.shown:
            self.left[self.shown] = now
        self.shown = value
        self.left = {old: at for old, at in self.left.items() if now - at < GRACE}

    def echoes(self, value: Any) -> bool:
        """Whether a value is one that was left a moment ago."""
        return value in self.left and time.monotonic() - self.left[value] < GRACE

    def take(self, value: Any) -> None:
        """Note that the widget was moved by hand."""
        self.shown, self.left = value, {}


def follows(
    follower: Follower,
    widget: str,
    value: Any,
    report: Callable[[Any], None],
    is_echo: Callable[[Any], bool],
) -> Mapping[str, Any]:
    """Return the arguments that tie a widget to the walk, deaf to what ``is_echo`` says is one."""
    follower.show(value)
    st.session_state[widget] = value

    def changed() -> None:
        wish = st.session_state[widget]
        if not is_echo(wish):
            follower.take(wish)
            report(wish)

    return {"key": widget, "on_change": changed}
