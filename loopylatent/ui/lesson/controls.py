"""Walking through a lesson: chapters, steps, play, links, and what is chosen beside them."""

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
from loopylatent.lesson.presets import PRESETS, made_up
from loopylatent.settings import Method
from loopylatent.ui.page import Present, file_stem
from loopylatent.ui.shell.results import sample_recipe
from loopylatent.ui.shell.session import FIRST_SAMPLE, Session, bound
from loopylatent.ui.shell.widgets import escaped, remembered, texts


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


def _read(sent: Any) -> Pressed:
    return Pressed() if sent is None else Pressed(str(sent["counter"]), int(sent["count"]))


@cache
def _component() -> Any:
    script = (files("loopylatent.ui.lesson") / "keys.js").read_text(encoding="utf-8")
    return st.components.v2.component(
        "loopylatent_lesson_keys", html='<div class="keys"></div>\n', js=script
    )


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


KEY = "loopylatent_lesson"
KEYS = "lesson_keys"

OPENING = "cycle"
SPEEDS: Mapping[str, float] = {"slow": 4.0, "normal": 2.0, "fast": 0.8}
"""Seconds between two steps."""
EARLY = 0.7
"""A run that comes after this share of the time between two steps is the next tick."""


@dataclass(slots=True)
class Walk:
    """The place in the lesson, and how it is shown."""

    index: int = 0
    place: Place = field(default_factory=lambda: Place("data"))
    lesson_key: Any = None
    columns: tuple[str, ...] = ()
    wanted: str | None = None
    """A step that a link asks for, until the lesson is there."""
    detail: Detail = "fine"
    playing: bool = False
    speed: str = "normal"
    ticked: float = 0.0
    """When the last step was taken by itself."""
    entered: float = 0.0
    """When this lesson was taken, or computed anew."""
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
    """Which table stands below the picture."""
    four: tuple[str, ...] = ()
    """The four columns of the quartet inspector."""
    pressed: Pressed = field(default_factory=Pressed)
    """The arrow keys, as far as they were heeded."""
    followers: dict[str, Follower] = field(default_factory=dict)
    begun: bool = False
    """Whether the link with which the page was opened has been read."""

    # Walking -------------------------------------------------------------------------------

    def enter(self, lesson: Lesson, key: Any, why: tuple[int, ...] = ()) -> None:
        """Take a lesson: the same one as before, a recomputed one, or one on other data."""
        if key == self.lesson_key and not why and self.wanted is None:
            return
        names = lesson.material.D.names
        if why:
            found = lesson.why_node(why[0]) if len(why) == 1 else lesson.why_edge(*why)
            self.detail = "fine"
            self.go(lesson, found or 0)
        elif self.wanted is not None and lesson.has(self.wanted):
            self.go(lesson, lesson.find(self.wanted))
        elif names == self.columns:
            self.go(lesson, lesson.nearest(self.place))
        else:
            self.pair, self.four = None, ()
            self.go(lesson, 0)
        self.wanted = None
        self.lesson_key, self.columns = key, names
        self.entered = time.monotonic()

    def go(self, lesson: Lesson, index: int) -> None:
        """Go to a step; in the coarse lesson to the end of the ball or visit it is in."""
        steps = lesson.indices(self.detail)
        self.index = steps[lesson.at(index, self.detail)]
        self.place = lesson.places[self.index]
        self.revealed, self.guess = False, None

    def at(self, lesson: Lesson) -> int:
        """How many steps of the present level lie before this one."""
        return lesson.at(self.index, self.detail)

    def by(self, lesson: Lesson, steps: int) -> None:
        """Go on or back; a join that is being guessed is shown first."""
        if steps > 0 and self.hides(lesson):
            self.reveal(lesson)
            return
        level = lesson.indices(self.detail)
        self.go(lesson, level[min(max(self.at(lesson) + steps, 0), len(level) - 1)])

    def press(self, lesson: Lesson, pressed: Pressed) -> None:
        """Heed the arrow keys, each of them."""
        heeded = self.pressed.count if pressed.counter == self.pressed.counter else 0
        missing = pressed.count - heeded
        self.pressed = pressed
        for _ in range(abs(missing)):
            self.by(lesson, 1 if missing > 0 else -1)

    def is_last(self, lesson: Lesson) -> bool:
        return self.at(lesson) == lesson.n_steps(self.detail) - 1 and not self.hides(lesson)

    def set_detail(self, lesson: Lesson, detail: Detail) -> None:
        self.detail = detail
        self.go(lesson, self.index)

    # Playing -------------------------------------------------------------------------------

    def play(self, lesson: Lesson) -> None:
        """Start or stop; from the last step it starts again."""
        if not self.playing and self.is_last(lesson):
            self.go(lesson, 0)
        self.playing = not self.playing
        self.ticked = time.monotonic()

    def tick(self, lesson: Lesson) -> None:
        """Go on by one step if it is time."""
        if not self.playing:
            return
        now = time.monotonic()
        if now - self.ticked >= EARLY * SPEEDS[self.speed]:
            self.by(lesson, 1)
            self.ticked = now
        if self.is_last(lesson):
            self.playing = False

    @property
    def moves_by_itself(self) -> bool:
        """Whether widgets that show the place have just been moved by something else."""
        return self.playing or time.monotonic() - self.entered < GRACE

    # Guessing ------------------------------------------------------------------------------

    def hides(self, lesson: Lesson) -> bool:
        """Whether the present step is a join that the class is still to guess."""
        is_join = lesson.places[self.index].phase == "join"
        return self.asking and is_join and not self.revealed

    def reveal(self, lesson: Lesson) -> None:
        """Show the join; a guess that was made is counted."""
        self.revealed = True
        if self.guess is not None:
            self.asked += 1
            self.right += self.guess == lesson.guesses(self.index).answer


def walk() -> Walk:
    """Return the walk of this browser session."""
    return remembered(KEY, Walk)


def open_preset(s: Session, w: Walk, name: str) -> None:
    """Open the data of a preset, as a choice that can be undone."""
    sample = PRESETS[name].sample
    w.place, w.columns = Place("data"), ()
    if sample is not None:
        try:
            s.open(sample_recipe(s.memo, sample))
        except LoopyLatentError as error:
            s.notice = str(error)
        return
    data = made_up(name)  # among the uploads, in front: the first to go when they are many
    s.uploads = {str(data.recipe.data_digest): data.content} | s.uploads
    s.open(data.recipe)


def is_untouched(s: Session) -> bool:
    """Whether the visitor has not chosen anything yet."""
    first = s.recipe.source == f"sample:{FIRST_SAMPLE}"
    return first and not s.before and not s.after and s.recipe == s.now.opened


def preset_of(s: Session) -> str | None:
    """Return the preset whose data are open, if it is one."""
    recipe = s.recipe
    for name, preset in PRESETS.items():
        own = preset.sample is None and recipe.data_digest == made_up(name).recipe.data_digest
        if own or recipe.source == f"sample:{preset.sample}":
            return name
    return None


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
    values: dict[str, Any] = {}
    for name in NUMBERS:
        with suppress(KeyError, ValueError):
            values[name] = float(params[name])
    finite = {name: number for name, number in values.items() if math.isfinite(number)}
    method = params.get("method")
    s.change(**finite, **({"method": method} if method in get_args(Method) else {}))


def link_of(s: Session, w: Walk) -> dict[str, str]:
    """Return what the address says beside the data and thresholds of a bundled table."""
    params = {"step": w.place.anchor, "detail": w.detail}
    preset = preset_of(s)
    if preset is not None and PRESETS[preset].sample is None:
        params |= {"lesson": preset, **{name: repr(getattr(s.recipe, name)) for name in NUMBERS}}
        params |= {"method": s.recipe.method}
    return params | ({"projector": "1"} if w.projector else {})


# The head of the page ----------------------------------------------------------------------


def headline(s: Session, w: Walk, now: Present, lesson: Lesson) -> None:
    """Which lesson it is, and how it is shown."""
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
        data=lambda: to_page(lesson, provenance(now.result), title=now.source.title),
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
            tied = bound("lesson_speed", w.speed, partial(setattr, w, "speed"))
            more: dict[str, Any] = {"help": "How fast Play goes on.", "width": 110, **tied}
            st.selectbox("Speed", list(SPEEDS), label_visibility="collapsed", **more)
    link = {} if w.playing else link_of(s, w)
    for name, value in link.items():
        if st.query_params.get(name) != value:
            st.query_params[name] = value


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
        to_end = partial(w.go, lesson, len(lesson.places) - 1)
        button("last_page", "last", "End", "Last step", last, to_end)


def _following(
    w: Walk, widget: str, value: Any, report: Callable[[Any], None]
) -> Mapping[str, Any]:
    """Tie a widget to the walk, which keys, buttons and play move as well."""
    follower = w.followers.setdefault(widget, Follower())
    thresholds = {name: st.session_state.get(name) for name in THRESHOLDS}

    def is_echo(wish: Any) -> bool:
        if any(st.session_state.get(name) != value for name, value in thresholds.items()):
            return True  # one hand moves one thing at a time
        keys = _read(getattr(st.session_state.get(KEYS), "pressed", None))  # just sent
        if keys.counter and keys != w.pressed:
            return True
        if any(st.session_state.get(f"lesson_{name}") for name in BUTTONS):
            return True
        return w.moves_by_itself and follower.echoes(wish)

    return follows(follower, widget, value, report, is_echo)


def _if_chosen(action: Callable[[Any], None]) -> Callable[[Any], None]:
    """Leave things as they are where the chosen option was clicked away."""
    return lambda option: None if option is None else action(option)


def _scrubber(w: Walk, lesson: Lesson) -> None:
    level, at = lesson.indices(w.detail), w.at(lesson) + 1
    tied = _following(w, "lesson_scrubber", at, lambda at: w.go(lesson, level[at - 1]))
    st.slider("Step", 1, len(level), label_visibility="collapsed", format="%d", **tied)


def chapters(w: Walk, lesson: Lesson) -> None:
    """The five chapters; the present one is marked."""
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
    """Go to a ball in the chapter on balls, to a visit elsewhere."""
    phase = "ball" if w.place.chapter == 3 else "look"
    options = [k for k, place in enumerate(lesson.places) if place.phase == phase]
    at = w.place.node
    same = None if at is None else next((k for k in options if lesson.places[k].node == at), None)

    def named(k: int) -> str:
        place = lesson.places[k]
        name = shown_label(lesson.cast.labels[place.node or 0])
        return f"ball of {name}" if phase == "ball" else f"visit {place.visit}: {name}"

    st.selectbox(
        "Go to",
        options,
        format_func=named,
        label_visibility="collapsed",
        placeholder=f"go to a {'ball' if phase == 'ball' else 'visit'}",
        index=None,
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
        help="On to the next ball or visit that changes the edges of the graph.",
    )


def _detail(w: Walk, lesson: Lesson) -> None:
    labels = {"fine": "Every step", "coarse": "Overview"}
    st.segmented_control(
        "Detail",
        list(DETAILS),
        format_func=labels.__getitem__,
        label_visibility="collapsed",
        help="  \n".join(f"**{name}**: {text}" for name, text in DETAILS.items()),
        **bound("lesson_detail", w.detail, _if_chosen(partial(w.set_detail, lesson))),
    )
