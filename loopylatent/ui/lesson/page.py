"""The parts of the Step by step page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from loopylatent.analysis.matching import follow_names
from loopylatent.lesson.captions import Caption, caption_html, code_html, pseudocode
from loopylatent.lesson.drawing import draw
from loopylatent.lesson.frames import CHAPTERS, Frame, Phase
from loopylatent.lesson.lesson import Lesson, build
from loopylatent.lesson.presets import PRESETS, made_up
from loopylatent.ui.graph_view import Picture, graph_view
from loopylatent.ui.lesson.controls import chapters, headline, link_of, read_link, transport
from loopylatent.ui.lesson.details import show_details, show_distance
from loopylatent.ui.lesson.walk import KEYS, SPEEDS, Walk, arrow_keys, preset_of, walk
from loopylatent.ui.page import Present, file_stem, say_notices
from loopylatent.ui.shell.messages import escaped
from loopylatent.ui.shell.session import Session, bound

__all__ = ["begin", "headline", "lesson_of", "link_of", "say_notices", "show"]

UNSEEN = "<style>.st-key-lesson_picture { max-height: 0; overflow: hidden; }</style>"
HEIGHT = 490
PROJECTOR_HEIGHT = 600
SHADED = 26
"""Pixels around the graph, for the ground under its nodes."""
PROJECTOR_SCALE = 1.6


def begin(s: Session) -> Walk:
    """Read the link, and open the first lesson where nothing has been chosen yet."""
    w = walk()
    if not w.begun:
        w.begun = True
        read_link(s, w)
    css = "".join(
        Path(__file__).with_name(name).read_text(encoding="utf-8")
        for name in ("style.css", "projector.css")[: 1 + w.projector]
    )
    st.html(f"<style>{css}</style>")
    return w


def lesson_of(s: Session, w: Walk, now: Present) -> Lesson:
    """Return the lesson on the present graph, at the corresponding place."""
    graph = now.result.graph
    names = follow_names(s.now.names, graph).by_node
    labels = tuple(names.get(node, label) for node, label in enumerate(graph.labels))
    places = s.place(graph, labels)
    preset = preset_of(s)
    truth = now.source.truth
    if truth is None and preset is not None and PRESETS[preset].sample is None:
        truth = made_up(preset).truth
    D = now.source.distances
    named = tuple(sorted(names.items()))
    settings, n_visits = now.result.settings, now.result.n_visits
    key = (D.digest, graph.digest, settings, n_visits, named, places.tobytes())
    lesson = s.memo.get(
        "lesson",
        key,
        lambda: build(
            now.result, D, now.source.observations, truth, places=places, hidden_names=names
        ),
    )
    w.enter(lesson, key, s.why)
    s.why = ()
    return lesson


def show(s: Session, w: Walk, lesson: Lesson) -> None:
    """The stage: what happens, what is said, which line it is. While it plays it runs by itself."""
    every = SPEEDS[w.speed] if w.playing else None

    @st.fragment(run_every=every)
    def stage() -> None:
        w.press(lesson, arrow_keys(key=KEYS))
        w.tick(lesson)
        if (SPEEDS[w.speed] if w.playing else None) != every:
            st.rerun()
        chapters(w, lesson)
        _show_step(s, w, lesson)

    stage()


def _show_step(s: Session, w: Walk, lesson: Lesson) -> None:
    hides = w.hides(lesson)
    frame = lesson.frame(w.index, w.detail)
    if frame.place.phase == "pair" and w.pair is not None:
        names = lesson.material.D.names
        frame = lesson.pair(names.index(w.pair[0]), names.index(w.pair[1]))
    shown = lesson.frame(w.index - 1, w.detail) if hides else frame
    left, right = st.columns([1.7, 1] if not w.projector else [1.45, 1], gap="medium")
    with left:
        _picture(s, w, lesson, shown)
        transport(s, w, lesson)
    with right:
        _say(w, lesson, frame)
        method = lesson.material.result.settings.method
        st.html(f'<div class="lesson-code">{code_html(frame.line, method)}</div>')
        meaning = pseudocode(method)[frame.line - 1].meaning
        st.html(f'<p class="lesson-meaning">{meaning}</p>')
    if not w.projector:
        show_details(w, lesson, shown)


def _picture(s: Session, w: Walk, lesson: Lesson, frame: Frame) -> None:
    """The graph; in the chapter on distances the numbers take its place, and it waits unseen."""
    chapter = frame.place.chapter
    height = PROJECTOR_HEIGHT if w.projector else HEIGHT
    st.html(UNSEEN if chapter == 2 else "<style></style>")
    with st.container(key="lesson_picture"):
        drawing = draw(lesson, frame, PROJECTOR_SCALE if w.projector else 1.0)
        graph_view(
            Picture(
                drawing.nodes, drawing.edges, drawing.looks, drawing.description, drawing.shade
            ),
            key="lesson_graph",
            subject=f"{lesson.material.D.digest} {w.projector}",
            on_click=lambda node: _clicked(w, lesson, node),
            height=height,
            file_name=f"{file_stem(s)}-{frame.place.anchor}",
            arrow_keys=False,
            margin=SHADED,
        )
    if chapter == 2:
        with st.container(key="lesson_numbers", height=height, border=True):
            show_distance(s, w, lesson, frame, height - 36)


def _clicked(w: Walk, lesson: Lesson, node: int | None) -> None:
    """A click on a column leads to its ball, or to its visit."""
    if node is None or lesson.cast.is_hidden(node):
        return
    phases: dict[int, Phase] = {3: "ball", 4: "look"}
    phase = phases.get(w.place.chapter)
    found = None if phase is None else lesson.first(phase, node)
    if found is not None:
        w.go(lesson, found)


def _say(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """What is happening, in a sentence or two; or the question to the class."""
    if not w.hides(lesson):
        _caption(w, frame.caption, _verdict(w, lesson) if w.revealed else "")
        return
    asked = lesson.guesses(w.index)
    _caption(w, asked.question)

    here = w.guess if w.guess in asked.options else None
    tied = bound("lesson_guess", here, partial(setattr, w, "guess"))
    more: dict[str, Any] = {"label_visibility": "collapsed", "wrap": True}
    st.pills("Your guess", asked.options, format_func=escaped, **more, **tied)
    st.button("Reveal", type="primary", on_click=w.reveal, args=(lesson,), key="lesson_reveal")


def _verdict(w: Walk, lesson: Lesson) -> str:
    if w.guess is None:
        return ""
    word = "Right." if w.guess == lesson.guesses(w.index).answer else "Not this time."
    return f"{word} {w.right} of {w.asked} guesses right so far. "


def _caption(w: Walk, caption: Caption, note: str = "") -> None:
    chapter = w.place.chapter
    over = f'<p class="chapter">{chapter} · {CHAPTERS[chapter]}</p>' if w.projector else ""
    said = f"<b>{note}</b>" if note else ""
    st.html(f'<div class="lesson-caption" role="status">{over}{said}{caption_html(caption)}</div>')
