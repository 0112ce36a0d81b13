"""Where a browser session is in its lesson, and how it walks through it.

Arrow keys are counted in the browser, so that quick ones are not lost. Widgets follow the walk and
can be moved by hand. While steps follow each other quickly, the browser may send along what such a
widget showed a moment ago: that is no wish to go back, and is passed over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st

from loopylatent.errors import LoopyLatentError
from loopylatent.lesson.frames import Detail, Place
from loopylatent.lesson.lesson import Lesson
from loopylatent.lesson.presets import PRESETS, MadeUp, made_up
from loopylatent.ui.shell.session import FIRST_SAMPLE, Session
from loopylatent.ui.shell.stages import sample_recipe
from loopylatent.ui.shell.widgets import remembered


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
    data = made_up(name)
    keep_made_up(s, data)
    s.open(data.recipe)


def keep_made_up(s: Session, data: MadeUp) -> None:
    """Put a made-up file among the uploads, in front: it is the first to go when they are many."""
    s.uploads = {str(data.recipe.data_digest): data.content} | s.uploads


def is_untouched(s: Session) -> bool:
    """Whether the visitor has not chosen anything yet."""
    first = s.recipe.source == f"sample:{FIRST_SAMPLE}"
    return first and not s.before and not s.after and s.recipe == s.now.opened


def preset_of(s: Session) -> str | None:
    """Return the preset whose data are open, if it is one."""
    recipe = s.recipe
    for name, preset in PRESETS.items():
        if preset.sample is not None:
            if recipe.source == f"sample:{preset.sample}":
                return name
        elif recipe.data_digest == made_up(name).recipe.data_digest:
            return name
    return None
