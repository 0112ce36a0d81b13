"""Navigation in a lesson: chapters, steps, playback, links and presets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import Any, get_args

import streamlit as st

from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.graph_files import provenance
from loopylatent.figures.layout import shown_label
from loopylatent.lesson.lesson import Lesson, to_page
from loopylatent.lesson.material import CHAPTERS, Detail, Place
from loopylatent.lesson.presets import PRESETS, synthetic_data
from loopylatent.lesson.refinement_chapter import LAST_CHAPTER, move_words
from loopylatent.settings import Method
from loopylatent.ui.page import Present, file_stem
from loopylatent.ui.shell.results import sample_recipe
from loopylatent.ui.shell.session import FIRST_SAMPLE, Session, bound
from loopylatent.ui.shell.widgets import escaped, remembered, texts


@dataclass(frozen=True, slots=True)
class Pressed:
    """Number of presses of the right arrow key minus those of the left one."""

    counter: str = ""
    """Id of the counter; a new one starts at 0 each time the page is rebuilt."""
    count: int = 0


def arrow_keys(*, key: str) -> Pressed:
    """Listen to the arrow keys."""
    # Changed arguments would create a new component and lose the count.
    found = _component()(key=key, default={"pressed": None}, on_pressed_change=lambda: None)
    return _read(found.pressed)


def _read(sent: Any) -> Pressed:
    return Pressed() if sent is None else Pressed(str(sent["counter"]), int(sent["count"]))


@cache
def _component() -> Any:
    script = (files("loopylatent.ui.lesson") / "keys.js").read_text(encoding="utf-8")
    return st.components.v2.component(
        "loopylatent_lesson_keys", html='<div class="keys"></div>\n', js=script
    )


GRACE = 1.5
"""Seconds in which an old value reported by a widget is treated as an echo."""
_NOTHING = object()


@dataclass(slots=True)
class Follower:
    """The value of a widget and its recent values."""

    shown: Any = _NOTHING
    left: dict[Any, float] = field(default_factory=dict)

    def show(self, value: Any) -> None:
        """Record a value that was set by something other than this widget."""
        now = time.monotonic()
        if self.shown is not _NOTHING and value != self.shown:
            self.left[self.shown] = now
        self.shown = value
        self.left = {old: at for old, at in self.left.items() if now - at < GRACE}

    def echoes(self, value: Any) -> bool:
        """Whether a value was shown a moment ago."""
        return value in self.left and time.monotonic() - self.left[value] < GRACE

    def take(self, value: Any) -> None:
        """Record a value that the user chose."""
        self.shown, self.left = value, {}


def follows(
    follower: Follower,
    widget: str,
    value: Any,
    report: Callable[[Any], None],
    is_echo: Callable[[Any], bool],
) -> Mapping[str, Any]:
    """Return the arguments that bind a widget to the walk, ignoring echoes."""
    follower.show(value)
    st.session_state[widget] = value

    def changed() -> None:
        value = st.session_state[widget]
        if not is_echo(value):
            follower.take(value)
            report(value)

    return {"key": widget, "on_change": changed}


KEY = "loopylatent_lesson"
KEYS = "lesson_keys"

OPENING = "cycle"
SPEEDS: Mapping[str, float] = {"slow": 4.0, "normal": 2.0, "fast": 0.8}
"""Seconds between two steps."""
EARLY = 0.7
"""A rerun after this share of the interval counts as the next tick."""


@dataclass(slots=True)
class Walk:
    """Position in the lesson and display options."""

    index: int = 0
    place: Place = field(default_factory=lambda: Place("data"))
    lesson_key: Any = None
    columns: tuple[str, ...] = ()
    requested: str | None = None
    """Step requested by a link, until the lesson is built."""
    detail: Detail = "fine"
    playing: bool = False
    speed: str = "normal"
    ticked: float = 0.0
    """Time of the last automatic step."""
    entered: float = 0.0
    """Time at which this lesson was opened or recomputed."""
    projector: bool = False
    asking: bool = False
    """Whether the class guesses before a join is shown."""
    revealed: bool = False
    guess: str | None = None
    right: int = 0
    asked: int = 0
    pair: tuple[str, str] | None = None
    """The two columns of chapter 2, by name."""
    view: str = ""
    """Name of the table below the picture."""
    four: tuple[str, ...] = ()
    """The four columns of the quartet inspector."""
    pressed: Pressed = field(default_factory=Pressed)
    """Presses of the arrow keys already handled."""
    followers: dict[str, Follower] = field(default_factory=dict)
    link_read: bool = False
    """Whether the link of the page has been read."""

    # Navigation ----------------------------------------------------------------------------

    def enter(self, lesson: Lesson, key: Any, why: tuple[int, ...] = ()) -> None:
        """Enter a lesson: the current one, a recomputed one, or one on other data."""
        if key == self.lesson_key and not why and self.requested is None:
            return
        names = lesson.material.D.names
        if why:
            found = lesson.why_node(why[0]) if len(why) == 1 else lesson.why_edge(*why)
            self.detail = "fine"
            self.go(lesson, found or 0)
        elif self.requested is not None and lesson.has(self.requested):
            self.go(lesson, lesson.find(self.requested))
        elif names == self.columns:
            self.go(lesson, lesson.nearest(self.place))
        else:
            self.pair, self.four = None, ()
            self.go(lesson, 0)
        self.requested = None
        self.lesson_key, self.columns = key, names
        self.entered = time.monotonic()

    def go(self, lesson: Lesson, index: int) -> None:
        """Go to a step; in the coarse lesson, to the end of its ball or visit."""
        steps = lesson.indices(self.detail)
        self.index = steps[lesson.at(index, self.detail)]
        self.place = lesson.places[self.index]
        self.revealed, self.guess = False, None

    def at(self, lesson: Lesson) -> int:
        """Number of steps before this one in the current level of detail."""
        return lesson.at(self.index, self.detail)

    def by(self, lesson: Lesson, steps: int) -> None:
        """Go forward or back; a join that is being guessed is revealed first."""
        if steps > 0 and self.hides(lesson):
            self.reveal(lesson)
            return
        level = lesson.indices(self.detail)
        self.go(lesson, level[min(max(self.at(lesson) + steps, 0), len(level) - 1)])

    def press(self, lesson: Lesson, pressed: Pressed) -> None:
        """Handle every press of the arrow keys."""
        handled = self.pressed.count if pressed.counter == self.pressed.counter else 0
        new = pressed.count - handled
        self.pressed = pressed
        for _ in range(abs(new)):
            self.by(lesson, 1 if new > 0 else -1)

    def is_last(self, lesson: Lesson) -> bool:
        return self.at(lesson) == lesson.n_steps(self.detail) - 1 and not self.hides(lesson)

    def set_detail(self, lesson: Lesson, detail: Detail) -> None:
        self.detail = detail
        self.go(lesson, self.index)

    # Playing -------------------------------------------------------------------------------

    def play(self, lesson: Lesson) -> None:
        """Start or stop; at the last step, restart from the first."""
        if not self.playing and self.is_last(lesson):
            self.go(lesson, 0)
        self.playing = not self.playing
        self.ticked = time.monotonic()

    def tick(self, lesson: Lesson) -> None:
        """Advance by one step if the interval has passed."""
        if not self.playing:
            return
        now = time.monotonic()
        if now - self.ticked >= EARLY * SPEEDS[self.speed]:
            self.by(lesson, 1)
            self.ticked = now
        if self.is_last(lesson):
            self.playing = False

    @property
    def moves_automatically(self) -> bool:
        """Whether widgets that show the position were just moved by the program."""
        return self.playing or time.monotonic() - self.entered < GRACE

    # Guessing ------------------------------------------------------------------------------

    def hides(self, lesson: Lesson) -> bool:
        """Whether the current step is a join that has not been guessed yet."""
        is_join = lesson.places[self.index].phase == "join"
        return self.asking and is_join and not self.revealed

    def reveal(self, lesson: Lesson) -> None:
        """Show the join and count the guess, if there is one."""
        self.revealed = True
        if self.guess is not None:
            self.asked += 1
            self.right += self.guess == lesson.guesses(self.index).answer


def walk() -> Walk:
    """Return the walk of this session."""
    return remembered(KEY, Walk)


def open_preset(s: Session, w: Walk, name: str) -> None:
    """Open the data of a preset; this can be undone."""
    sample = PRESETS[name].sample
    w.place, w.columns = Place("data"), ()
    if sample is not None:
        try:
            s.open(sample_recipe(s.memo, sample))
        except LoopyLatentError as error:
            s.notice = str(error)
        return
    data = synthetic_data(name)  # first among the uploads, so it is evicted first
    s.uploads = {str(data.recipe.data_digest): data.content} | s.uploads
    s.open(data.recipe)


def is_untouched(s: Session) -> bool:
    """Whether the user has not chosen anything yet."""
    first = s.recipe.source == f"sample:{FIRST_SAMPLE}"
    return first and not s.before and not s.after and s.recipe == s.now.opened


def preset_of(s: Session) -> str | None:
    """Return the preset whose data are open, if any."""
    recipe = s.recipe
    for name, preset in PRESETS.items():
        own = (
            preset.sample is None and recipe.data_digest == synthetic_data(name).recipe.data_digest
        )
        if own or recipe.source == f"sample:{preset.sample}":
            return name
    return None


words = texts("lesson")
NUMBERS = ("r", "Lambda", "tau")
BUTTONS = ("first", "back", "play", "next", "last", "change", "reveal")
THRESHOLDS = ("slider_r", "r_snapped", "slider_Lambda", "slider_tau", "preset", "data", "method")
"""Widgets outside the lesson that recompute it."""
DETAILS = {"fine": "Every step", "coarse": "Overview"}


# The link ----------------------------------------------------------------------------------


def read_link(s: Session, w: Walk) -> None:
    """Open the lesson and step of the link."""
    params = st.query_params.to_dict()
    preset = params.get("lesson")
    names_data = "sample" in params and s.placed is None  # first page of this session
    if preset is not None and preset in PRESETS:
        open_preset(s, w, preset)
        s.notice = None
        _take_thresholds(s, params)
    elif not s.why and not names_data and is_untouched(s):
        open_preset(s, w, OPENING)
    w.requested = params.get("step")
    w.detail = "coarse" if params.get("detail") == "coarse" else "fine"
    w.projector = params.get("projector") == "1"


def _take_thresholds(s: Session, params: Mapping[str, str]) -> None:
    values: dict[str, Any] = {}
    for name in NUMBERS:
        with suppress(KeyError, ValueError):
            values[name] = float(params[name])
    finite = {name: number for name, number in values.items() if math.isfinite(number)}
    method = params.get("method")
    s.change(**finite, **({"method": method} if method in get_args(Method) else {}))


def link_of(s: Session, w: Walk) -> dict[str, str]:
    """Return the link parameters other than the data and thresholds of a bundled table."""
    params = {"step": w.place.anchor, "detail": w.detail}
    preset = preset_of(s)
    if preset is not None and PRESETS[preset].sample is None:
        params |= {"lesson": preset, **{name: repr(getattr(s.recipe, name)) for name in NUMBERS}}
        params |= {"method": s.recipe.method}
    return params | ({"projector": "1"} if w.projector else {})


# The head of the page ----------------------------------------------------------------------


def headline(s: Session, w: Walk, now: Present, lesson: Lesson) -> None:
    """The choice of lesson and the options for a class."""
    preset = PRESETS.get(preset_of(s) or "")
    with st.container(horizontal=True, vertical_alignment="center", key="lesson_head"):
        if w.projector:
            st.markdown(f"#### {escaped(now.source.title if preset is None else preset.title)}")
        else:
            _presets(s, w)
        with st.popover("For a class", icon=":material/school:"):
            _for_a_class(s, w, now, lesson)
    if not w.projector:
        about = now.source.about if preset is None else preset.look_at
        if preset is not None and s.recipe.method != "quartet":
            about += " (This describes quartet grouping; other methods can differ.)"
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
    _toggle(w, "asking", "Guess joins", "The class guesses each join before it is shown.")
    st.caption(words.export)
    st.download_button(
        "Lesson (HTML)",
        data=lambda: to_page(lesson, provenance(now.result), title=now.source.title),
        file_name=f"lesson-{file_stem(s)}.html",
        mime="text/html",
        on_click="ignore",
        key="lesson_export",
        width="stretch",
    )
    st.caption(words.keys)


# Navigation --------------------------------------------------------------------------------


def transport(s: Session, w: Walk, lesson: Lesson) -> None:
    """Buttons, a slider over all steps, and further options."""
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
            tied = bound("lesson_speed", w.speed, partial(setattr, w, "speed"))
            more: dict[str, Any] = {"help": "Playback speed", "width": 110, **tied}
            st.selectbox("Speed", list(SPEEDS), label_visibility="collapsed", **more)
    link = {} if w.playing else link_of(s, w)
    for name, value in link.items():
        if st.query_params.get(name) != value:
            st.query_params[name] = value


def _row(key: str) -> Any:
    return st.container(horizontal=True, gap="small", vertical_alignment="center", key=key)


def _buttons(w: Walk, lesson: Lesson) -> None:
    first, last = w.at(lesson) == 0, w.is_last(lesson)

    def button(icon: str, key: str, key_name: str, label: str, off: bool, action: Any) -> None:
        st.button(
            label, icon=f":material/{icon}:", key=f"lesson_{key}", help=f"{label} ({key_name})",
            shortcut=None if key_name.startswith("arrow") else key_name,  # counted by keys.js
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
        to_end = partial(w.go, lesson, len(lesson.places) - 1)
        button("last_page", "last", "End", "Last step", last, to_end)


def _following(
    w: Walk, widget: str, value: Any, report: Callable[[Any], None]
) -> Mapping[str, Any]:
    """Bind a widget to the walk, which keys, buttons and playback also move."""
    follower = w.followers.setdefault(widget, Follower())
    thresholds = {name: st.session_state.get(name) for name in THRESHOLDS}

    def is_echo(reported: Any) -> bool:
        if any(st.session_state.get(name) != value for name, value in thresholds.items()):
            return True  # a user moves one widget at a time
        keys = _read(getattr(st.session_state.get(KEYS), "pressed", None))  # just sent
        if keys.counter and keys != w.pressed:
            return True
        if any(st.session_state.get(f"lesson_{name}") for name in BUTTONS):
            return True
        return w.moves_automatically and follower.echoes(reported)

    return follows(follower, widget, value, report, is_echo)


def _if_chosen(action: Callable[[Any], None]) -> Callable[[Any], None]:
    """Ignore a deselected option."""
    return lambda option: None if option is None else action(option)


def _scrubber(w: Walk, lesson: Lesson) -> None:
    level, at = lesson.indices(w.detail), w.at(lesson) + 1
    tied = _following(w, "lesson_scrubber", at, lambda at: w.go(lesson, level[at - 1]))
    st.slider("Step", 1, len(level), label_visibility="collapsed", format="%d", **tied)


def chapters(w: Walk, lesson: Lesson) -> None:
    """The chapters, with the current one marked."""
    if w.projector:
        return
    to_start = _if_chosen(lambda chapter: w.go(lesson, lesson.chapter_start(chapter)))
    st.segmented_control(
        "Chapter",
        list(CHAPTERS),
        format_func=lambda chapter: f"{chapter} · {CHAPTERS[chapter]}",
        label_visibility="collapsed",
        width="stretch",
        **_following(w, "lesson_chapter", w.place.chapter, to_start),
    )


def _jump(w: Walk, lesson: Lesson) -> None:
    """Go to a ball in chapter 3, to a move in the last chapter, elsewhere to a visit."""
    phase = {3: "ball", LAST_CHAPTER: "move"}.get(w.place.chapter, "look")
    thing = {"ball": "ball", "move": "move", "look": "visit"}[phase]
    options = [k for k, place in enumerate(lesson.places) if place.phase == phase]
    at = w.place.node
    same = None if at is None else next((k for k in options if lesson.places[k].node == at), None)
    if w.place.phase == "move":
        same = w.index

    def named(k: int) -> str:
        place = lesson.places[k]
        if phase == "move":
            return f"move {place.part}: {move_words(lesson.material, place.part)}"
        name = shown_label(lesson.cast.labels[place.node or 0])
        return f"ball of {name}" if phase == "ball" else f"visit {place.visit}: {name}"

    st.selectbox(
        "Go to",
        options,
        format_func=named,
        label_visibility="collapsed",
        placeholder=f"go to a {thing}",
        index=None,
        disabled=not options,
        **_following(w, f"lesson_jump_{phase}", same, _if_chosen(partial(w.go, lesson))),
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
        help="Go to the next ball or visit that adds or removes edges",
    )


def _detail(w: Walk, lesson: Lesson) -> None:
    st.segmented_control(
        "Detail",
        list(DETAILS),
        format_func=DETAILS.__getitem__,
        label_visibility="collapsed",
        help="**Overview** has one step per ball or visit.",
        **bound("lesson_detail", w.detail, _if_chosen(partial(w.set_detail, lesson))),
    )
