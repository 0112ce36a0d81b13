"""Walking through a lesson: chapters, steps, play, links, and what is chosen beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

import streamlit as st

from loopylatent.api import provenance
from loopylatent.figures.labels import shown_label
from loopylatent.lesson.frames import CHAPTERS
from loopylatent.lesson.lesson import Lesson
from loopylatent.lesson.page import to_page
from loopylatent.lesson.presets import PRESETS
from loopylatent.settings import Method
from loopylatent.ui.lesson.walk import (
    KEYS,
    OPENING,
    SPEEDS,
    Follower,
    Walk,
    follows,
    is_untouched,
    open_preset,
    preset_of,
    pressed_now,
)
from loopylatent.ui.page import Present, file_stem
from loopylatent.ui.shell.messages import escaped
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.widgets import texts

words = texts("lesson")
NUMBERS = ("r", "Lambda", "tau")
BUTTONS = ("first", "back", "play", "next", "last", "change", "reveal")
THRESHOLDS = ("slider_r", "r_snapped", "slider_Lambda", "slider_tau", "preset", "data", "method")
"""Widgets beside the lesson that compute it anew."""
DETAILS = {"fine": "every step", "coarse": "one step a ball or visit"}


# The link ----------------------------------------------------------------------------------


def read_link(s: Session, w: Walk) -> None:
    """Take from the address which lesson it asks for and where to begin."""
    params = st.query_params.to_dict()
    asked = params.get("lesson")
    names_data = "sample" in params and s.placed is None  # no page has shown anything before
    if asked is not None and asked in PRESETS:
        open_preset(s, w, asked)
        s.notice = None
        _take_thresholds(s, params)
    elif not s.why and not names_data and is_untouched(s):
        open_preset(s, w, OPENING)
    w.wanted = params.get("step")
    w.detail = "coarse" if params.get("detail") == "coarse" else "fine"
    w.projector = params.get("projector") == "1"


def _take_thresholds(s: Session, params: Mapping[str, str]) -> None:
    values = {}
    for name in NUMBERS:
        try:
            number = float(params[name])
        except (KeyError, ValueError):
            continue
        if math.isfinite(number):
            values[name] = number
    method = params.get("method")
    s.change(**values, **({"method": method} if method in get_args(Method) else {}))


def link_of(s: Session, w: Walk) -> dict[str, str]:
    """Return what the address says beside the data and thresholds of a bundled table."""
    params = {"step": w.place.anchor, "detail": w.detail}
    preset = preset_of(s)
    if preset is not None and PRESETS[preset].sample is None:
        params |= {"lesson": preset, **{name: repr(getattr(s.recipe, name)) for name in NUMBERS}}
        params |= {"method": s.recipe.method}
    return params | ({"projector": "1"} if w.projector else {})


def _write_link(s: Session, w: Walk) -> None:
    if w.playing:
        return
    for name, value in link_of(s, w).items():
        if st.query_params.get(name) != value:
            st.query_params[name] = value


# The head of the page ----------------------------------------------------------------------


def headline(s: Session, w: Walk, now: Present, lesson: Lesson) -> None:
    """Which lesson it is, and how it is shown."""
    with st.container(horizontal=True, vertical_alignment="center", key="lesson_head"):
        if w.projector:
            preset = preset_of(s)
            title = PRESETS[preset].title if preset is not None else now.source.title
            st.markdown(f"#### {escaped(title)}")
        else:
            _presets(s, w)
        with st.popover("For a class", icon=":material/school:"):
            _for_a_class(s, w, now, lesson)
    if not w.projector:
        preset = preset_of(s)
        about = PRESETS[preset].look_at if preset is not None else now.source.about
        if preset is not None and s.recipe.method != "quartet":
            about += " (Said of quartet votes; other methods may find something else.)"
        st.caption(escaped(about))


def _presets(s: Session, w: Walk) -> None:
    here = preset_of(s)

    def report(name: str | None) -> None:
        if name is not None and name != here:
            open_preset(s, w, name)

    tied = _following(w, "lesson_preset", here, report)
    titles = {name: preset.title for name, preset in PRESETS.items()}
    st.pills("Lesson", titles, format_func=titles.__getitem__, label_visibility="collapsed", **tied)


def _toggle(w: Walk, name: str, label: str, explanation: str) -> None:
    tied = bound(f"lesson_{name}", getattr(w, name), partial(setattr, w, name))
    st.toggle(label, help=explanation, **tied)


def _for_a_class(s: Session, w: Walk, now: Present, lesson: Lesson) -> None:
    _toggle(w, "projector", "Projector", "Large type and few controls.")
    _toggle(w, "asking", "Guess joins", "Before two nodes are joined, the class guesses which.")
    st.caption(words.export)
    st.download_button(
        "Lesson (HTML)",
        data=partial(to_page, lesson, provenance(now.result), title=now.source.title),
        file_name=f"lesson-{file_stem(s)}.html",
        mime="text/html",
        on_click="ignore",
        key="lesson_export",
        width="stretch",
    )
    st.caption(words.keys)


# Walking -----------------------------------------------------------------------------------


def transport(s: Session, w: Walk, lesson: Lesson) -> None:
    """Buttons, a scrubber over all steps, and what is chosen less often."""
    with _row("lesson_transport"):
        _buttons(w, lesson)
        _scrubber(w, lesson)
        at, n = w.at(lesson) + 1, lesson.n_steps(w.detail)
        st.html(f'<p class="lesson-step">{at} of {n}</p>', width="content")
    if not w.projector:
        with _row("lesson_choices"):
            _jump(w, lesson)
            _next_change(w, lesson)
            _detail(w, lesson)
            _speed(w)
    _write_link(s, w)


def _row(key: str) -> Any:
    return st.container(horizontal=True, gap="small", vertical_alignment="center", key=key)


def _buttons(w: Walk, lesson: Lesson) -> None:
    first, last = w.at(lesson) == 0, w.is_last(lesson)

    def button(icon: str, key: str, key_name: str, says: str, off: bool, action: Any) -> None:
        st.button(
            says, icon=f":material/{icon}:", key=f"lesson_{key}", help=f"{says} ({key_name})",
            shortcut=None if key_name.startswith("arrow") else key_name,  # counted elsewhere
            disabled=off, on_click=action, type="primary" if key == "play" else "secondary",
        )  # fmt: skip

    end = lesson.n_steps(w.detail)
    if not w.projector:
        button("first_page", "first", "Home", "First step", first, lambda: w.by(lesson, -end))
    button("chevron_left", "back", "arrow left", "Back", first, lambda: w.by(lesson, -1))
    icon, word = ("pause", "Pause") if w.playing else ("play_arrow", "Play")
    button(icon, "play", "P", word, False, lambda: w.play(lesson))
    button("chevron_right", "next", "arrow right", "Next", last, lambda: w.by(lesson, 1))
    if not w.projector:
        button(
            "last_page",
            "last",
            "End",
            "Last step",
            last,
            lambda: w.go(lesson, len(lesson.places) - 1),
        )


def _following(
    w: Walk, widget: str, value: Any, report: Callable[[Any], None]
) -> Mapping[str, Any]:
    """Tie a widget to the walk, which keys, buttons and play move as well."""
    follower = w.followers.setdefault(widget, Follower())
    thresholds = {name: st.session_state.get(name) for name in THRESHOLDS}

    def is_echo(wish: Any) -> bool:
        if any(st.session_state.get(name) != value for name, value in thresholds.items()):
            return True  # one hand moves one thing at a time
        keys = pressed_now(KEYS)
        if keys.counter and keys != w.pressed:
            return True
        if any(st.session_state.get(f"lesson_{name}") for name in BUTTONS):
            return True
        return w.moves_by_itself and follower.echoes(wish)

    return follows(follower, widget, value, report, is_echo)


def _scrubber(w: Walk, lesson: Lesson) -> None:
    level = lesson.indices(w.detail)

    def report(at: int) -> None:
        w.go(lesson, level[at - 1])

    tied = _following(w, "lesson_scrubber", w.at(lesson) + 1, report)
    st.slider("Step", 1, len(level), label_visibility="collapsed", format="%d", **tied)


def chapters(w: Walk, lesson: Lesson) -> None:
    """The five chapters; the present one is marked."""
    if w.projector:
        return

    def report(chapter: int | None) -> None:
        if chapter is not None:
            w.go(lesson, lesson.chapter_start(chapter))

    st.segmented_control(
        "Chapter",
        list(CHAPTERS),
        format_func=lambda chapter: f"{chapter} · {CHAPTERS[chapter]}",
        label_visibility="collapsed",
        width="stretch",
        **_following(w, "lesson_chapter", w.place.chapter, report),
    )


def _jump(w: Walk, lesson: Lesson) -> None:
    """Go to a ball in the chapter on balls, to a visit elsewhere."""
    phase = "ball" if w.place.chapter == 3 else "look"
    options = [k for k, place in enumerate(lesson.places) if place.phase == phase]
    at = w.place.node
    same = None if at is None else next((k for k in options if lesson.places[k].node == at), None)

    def named(k: int) -> str:
        place = lesson.places[k]
        name = shown_label(lesson.cast.labels[place.node or 0])
        return f"ball of {name}" if phase == "ball" else f"visit {place.visit}: {name}"

    def report(k: int | None) -> None:
        if k is not None:
            w.go(lesson, k)

    st.selectbox(
        "Go to",
        options,
        format_func=named,
        label_visibility="collapsed",
        placeholder=f"go to a {'ball' if phase == 'ball' else 'visit'}",
        index=None,
        **_following(w, f"lesson_jump_{phase}", same, report),
    )


def _next_change(w: Walk, lesson: Lesson) -> None:
    found = lesson.next_change(w.index)
    st.button(
        "Next change",
        icon=":material/fast_forward:",
        key="lesson_change",
        shortcut="N",
        disabled=found is None,
        on_click=partial(w.go, lesson, found or 0),
        help="On to the next ball or visit that changes the edges of the graph.",
    )


def _detail(w: Walk, lesson: Lesson) -> None:
    def report(detail: Any) -> None:
        if detail is not None:
            w.set_detail(lesson, detail)

    labels = {"fine": "Every step", "coarse": "Overview"}
    st.segmented_control(
        "Detail",
        list(DETAILS),
        format_func=labels.__getitem__,
        label_visibility="collapsed",
        help="  \n".join(f"**{name}**: {text}" for name, text in DETAILS.items()),
        **bound("lesson_detail", w.detail, report),
    )


def _speed(w: Walk) -> None:
    tied = bound("lesson_speed", w.speed, partial(setattr, w, "speed"))
    about = "How fast Play goes on."
    st.selectbox("Speed", list(SPEEDS), label_visibility="collapsed", help=about, width=110, **tied)
