"""The state of one browser session: a recipe, its history, pins, uploads and results.

Streamlit forgets the values of widgets when the page changes. So the session owns them: a widget
gets its value from the session before it is drawn and reports changes to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from typing import Any, get_args

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.matching import FollowedNames, NamedNode, follow_names
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import APP
from loopylatent.distances.matrix import METRICS
from loopylatent.errors import DataError, LoopyLatentError, Message, quoted
from loopylatent.exporting.project.file import (
    LONGEST_PIN_NAME,
    MOST_PINS,
    Pin,
    Recipe,
    check_encodable,
)
from loopylatent.figures.layout import positions
from loopylatent.figures.network import stretched
from loopylatent.figures.simplify import SimplifiedGraph
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import check_radius
from loopylatent.lesson.presets import synthetic_files
from loopylatent.settings import Goal
from loopylatent.tables.samples import sample_names
from loopylatent.ui.shell.background import Jobs
from loopylatent.ui.shell.results import (
    DataKey,
    Memo,
    PlacesKey,
    carried_nodes,
    sample_recipe,
    source_of,
)

FIRST_SAMPLE = "newsgroups100_roweislike"
MOST_STEPS_BACK = 200
MOST_UPLOADS = 4
ASPECT = 1.3
"""Width to height of the graph on the page."""
KEY = "loopylatent"
GROUPS = "uploaded_groups_of_columns"
"""Key in the view: groups of columns that the user uploaded."""
REFINE = "refine"
"""Key in the view and in links: the goal of the refinement by likelihood; absent if it is off."""
REFINE_OFF = "Refinement by likelihood was switched off: it belonged to the previous data."


_small_results = partial(ResultCache, most_bytes=APP.session_bytes // 4)
"""A cache for the many small results of a page."""


@dataclass(frozen=True, slots=True)
class HiddenIds:
    """Numbers that hidden nodes keep while a learned graph is refined."""

    of: str
    """The digest of the learned graph."""
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """The graph that was drawn last, with the positions of its nodes."""

    graph: LatentGraph
    positions: NDArray[np.float64]
    hidden: HiddenIds | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """One state in the undo history."""

    recipe: Recipe
    opened: Recipe
    """The same data with their initial settings."""
    names: tuple[NamedNode, ...] = ()


@dataclass(slots=True, weakref_slot=True)
class Session:
    """The state of a browser session."""

    now: Moment
    before: list[Moment] = field(default_factory=list)
    after: list[Moment] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    """Uploaded files by the digest of their content."""
    selected: int | None = None
    """A node of the graph that was drawn last."""
    snap: bool = False
    """Whether r moves only to values at which the initial graph changes."""
    opened: frozenset[int] = frozenset()
    """Nodes of the graph that was drawn last whose folded columns are shown."""
    untested: Recipe | None = None
    """Data and settings for which the loop test is pending."""
    placed: Placed | None = None
    searched: int | None = None
    """A node that was searched for, until its neighbourhood is in view."""
    n_centred: int = 0
    """Increases by one whenever a node is to be centred."""
    notice: str | None = None
    """A message at the top of the page."""
    tour: int | None = None
    why: tuple[int, ...] = ()
    """A node, or the two ends of an edge, whose origin the lesson is to show."""
    memo: Memo = field(default_factory=Memo)
    jobs: Jobs = field(default_factory=Jobs)
    pins: tuple[Pin, ...] = ()
    swept: ResultCache = field(default_factory=_small_results)
    """Results of the page Tune."""
    scored: ResultCache = field(default_factory=_small_results)
    """Results of the page Evaluate."""
    split: ResultCache = field(default_factory=lambda: ResultCache(most=1))
    """The last split of the rows. It copies the table, so results never contain one."""
    view: dict[str, Any] = field(default_factory=dict)
    """Preferences of the display; they change no result."""

    @property
    def recipe(self) -> Recipe:
        return self.now.recipe

    def change(self, **values: Any) -> None:
        """Change some settings; invalid values give a notice and change nothing."""
        try:
            self._go_to(replace(self.now, recipe=replace(self.recipe, **values)))
        except LoopyLatentError as error:
            self.notice = str(error)

    def open(self, recipe: Recipe, names: tuple[NamedNode, ...] = ()) -> None:
        """Open other data, without refinement; undo returns to the previous ones."""
        if DataKey.of(recipe) != DataKey.of(self.recipe) and REFINE in self.view:
            del self.view[REFINE]
            self.notice = REFINE_OFF
        self._go_to(Moment(recipe, recipe, names))
        self.selected = None
        self.searched = self.untested = None
        self.opened = frozenset()

    def reset(self) -> None:
        """Restore the settings with which the current data were opened."""
        self._go_to(replace(self.now, recipe=self.now.opened))

    def name(self, node: NamedNode | None, instead_of: str | None) -> None:
        """Name a hidden node; ``instead_of`` is its previous name."""
        kept = tuple(named for named in self.now.names if named.name != instead_of)
        self._go_to(replace(self.now, names=kept if node is None else (*kept, node)))

    def names_on(self, graph: LatentGraph) -> FollowedNames:
        """Match the names of hidden nodes to a graph."""
        return follow_names(self.now.names, graph) if self.now.names else FollowedNames({}, ())

    def step_back(self) -> None:
        if self.before:
            self.after.append(self.now)
            self.now = self.before.pop()

    def step_forward(self) -> None:
        if self.after:
            self.before.append(self.now)
            self.now = self.after.pop()

    def keep_upload(self, digest: str, content: bytes) -> None:
        """Keep an uploaded file; older ones are dropped."""
        others = [(key, one) for key, one in self.uploads.items() if key != digest]
        kept = [*others, (digest, content)][-MOST_UPLOADS:]
        while len(kept) > 1 and sum(len(one) for _, one in kept) > APP.session_bytes:
            del kept[0]
        self.uploads = dict(kept)

    def select(self, node: int | None, *, centre: bool = False) -> None:
        """Select a node of the graph that is drawn."""
        self.selected = node
        self.n_centred += centre
        if centre:
            self.searched = node

    def place(
        self, graph: LatentGraph, labels: tuple[str, ...], part: SimplifiedGraph | None = None
    ) -> NDArray[np.float64]:
        """Return positions of the nodes, as close as possible to the previous ones.

        Of a large graph only the nodes of ``part`` are placed; the other positions are 0. Call
        `follow` first in that case.
        """
        if part is None:
            self.follow(graph)
        assert self.placed is not None, "follow was called"
        place = np.zeros((graph.n_nodes, 2))
        nodes = list(range(graph.n_nodes) if part is None else part.nodes)
        if not nodes:
            return place
        before = self.placed.positions[nodes]
        reuse = np.isfinite(before[:, 0]).mean() > 0.5  # with fewer, a new layout is better
        found = self.memo.get(
            "positions",
            graph.digest if part is None else PlacesKey(graph.digest, part.nodes),
            lambda: positions(
                graph if part is None else part.part,
                start=before if reuse else None,
                labels=[labels[node] for node in nodes],
            ),
        )
        if graph == self.placed.graph:
            kept = np.full((graph.n_nodes, 2), np.nan)
            kept[nodes] = found
            self.placed = replace(self.placed, positions=kept)
        place[nodes] = stretched(found, ASPECT)
        return place

    def follow(self, graph: LatentGraph, hidden: HiddenIds | None = None) -> NDArray[np.float64]:
        """Transfer selection and open nodes to another graph; return the previous positions.

        Nodes that were not drawn have positions of NaN. Hidden nodes are the same by their numbers
        if both graphs come from one learned graph; otherwise they are matched.
        """
        before = self.placed
        if before is not None and before.graph == graph:
            return before.positions
        start = np.full((graph.n_nodes, 2), np.nan)
        if before is not None:
            carried = _carried(before, graph, hidden)
            self.selected = carried.get(self.selected) if self.selected is not None else None
            self.searched = None
            self.opened = frozenset(carried[node] for node in self.opened if node in carried)
            start[list(carried.values())] = before.positions[list(carried)]
        self.placed = Placed(graph, start, hidden)
        return start

    def _go_to(self, moment: Moment) -> None:
        if moment != self.now:
            self.before = [*self.before, self.now][-MOST_STEPS_BACK:]
            self.after = []
            self.now = moment


def _carried(before: Placed, graph: LatentGraph, hidden: HiddenIds | None) -> dict[int, int]:
    """Map the nodes of the graph that was drawn last to those of the next."""
    last = before.hidden
    if hidden is None or last is None or last.of != hidden.of:
        return carried_nodes(before.graph, graph)
    p = graph.n_observed
    node_of = {one: p + k for k, one in enumerate(hidden.ids)}
    same = {p + k: node_of[one] for k, one in enumerate(last.ids) if one in node_of}
    return {node: node for node in range(p)} | same


def session() -> Session:
    """Return the session of this browser tab; the first call creates it from the link."""
    if KEY not in st.session_state:
        memo = Memo()
        params = st.query_params.to_dict()
        opening = opening_of(params, FIRST_SAMPLE, memo)
        now = Moment(opening.recipe, opening.fresh)
        tour = None if params else 0  # a link is not a first visit
        pins = pins_of(params)
        uploads = synthetic_files(opening.recipe.data_digest)
        goal = params.get(REFINE)
        view = {REFINE: goal} if goal in get_args(Goal) else {}
        notice = opening.notice or (UNKNOWN_GOAL if goal is not None and not view else None)
        st.session_state[KEY] = Session(
            now, uploads=uploads, notice=notice, tour=tour, memo=memo, pins=pins, view=view
        )
    found: Session = st.session_state[KEY]
    return found


def bound(
    widget: str, value: Any, report: Callable[[Any], None], *, limits: Any = None
) -> Mapping[str, Any]:
    """Return the arguments that bind a widget to the session.

    The widget shows ``value``; changes by the user go to ``report`` before the page runs. For a
    slider, pass its ``limits``: while these and the value are unchanged, nothing is sent to the
    browser, where further keys may have been pressed meanwhile. The initial value is still passed,
    or a browser that has not drawn the slider yet would start at its lower end.
    """
    mark = f"{widget} limits"
    current = (st.session_state.get(widget), st.session_state.get(mark))
    initial: dict[str, Any] = {}
    if limits is None or current != (value, limits):
        st.session_state[widget], st.session_state[mark] = value, limits
    else:
        initial = {"value": value}

    def changed() -> None:
        report(st.session_state[widget])

    return {"key": widget, "on_change": changed} | initial


NUMBERS = ("r", "Lambda", "tau")
WORDS = ("method", "order", "metric", "regularize")
UNKNOWN_GOAL = "The link asks for an unknown refinement. The learned graph is shown."
NOT_BUNDLED = "The link names a table that is not bundled. A sample is shown instead."
READING = ("drop", "labels", "kinds", "weights", "drop_degenerate", "n_samples")
"""How a file is read; a link contains only values that differ from the defaults."""
LONGEST_READING = 2000
"""Characters; a longer link is not created."""
NOTHING = Recipe(source="no table", source_kind="table", r=0.0, Lambda=0.0, tau=0.0)
"""Used if not even a bundled table can be opened."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The recipe with which a session starts."""

    recipe: Recipe
    fresh: Recipe
    """The same data with their default settings."""
    notice: str | None = None


def opening_of(params: Mapping[str, str], first_sample: str, memo: Memo) -> Opening:
    """Read a link; a notice says what could not be used."""
    name, notice = params.get("sample", first_sample), None
    try:
        if "digest" in params:
            recipe = _file_recipe(params)
            return Opening(recipe, recipe)
    except (LoopyLatentError, TypeError, KeyError):
        name, notice = first_sample, "The link is invalid. A sample is shown instead."
    try:
        if name not in sample_names():
            name, notice = first_sample, NOT_BUNDLED
        recipe = sample_recipe(memo, name)
    except LoopyLatentError:  # the bundled tables are missing
        return Opening(NOTHING, NOTHING)
    if notice is not None:
        return Opening(recipe, recipe, notice)
    try:
        linked = replace(recipe, **_values(params))
        check_radius(source_of(memo, {}, linked).distances, linked.r)
    except (LoopyLatentError, TypeError) as error:
        return Opening(recipe, recipe, Message("The link's settings are invalid: ", str(error)))
    return Opening(linked, recipe)


def params_of(recipe: Recipe) -> dict[str, str]:
    """Return the parameters of a link; empty if it would be too long or nothing is open."""
    if recipe.source_kind == "sample":
        params = {"sample": recipe.sample_name}
    else:
        params = _file_params(recipe)
        if not params:
            return {}
    params |= {name: repr(getattr(recipe, name)) for name in NUMBERS}
    params |= {name: getattr(recipe, name) for name in WORDS}
    return params | {"seed": str(recipe.seed)}


def _file_params(recipe: Recipe) -> dict[str, str]:
    """Return parameters that identify a file and say how it is read."""
    values, defaults = recipe.to_dict(), NOTHING.to_dict()
    reading = {name: values[name] for name in READING if values[name] != defaults[name]}
    text = json.dumps(reading, separators=(",", ":"), ensure_ascii=False)
    if recipe.data_digest is None or len(text) > LONGEST_READING:
        return {}
    params = {"file": recipe.source, "kind": recipe.source_kind, "digest": recipe.data_digest}
    return params | ({"reading": text} if reading else {})


def _file_recipe(params: Mapping[str, str]) -> Recipe:
    """Return the recipe of a link to a file."""
    try:
        reading = json.loads(params.get("reading", "{}"))
    except (ValueError, RecursionError):
        reading = None
    if not isinstance(reading, dict) or not set(reading) <= set(READING):
        raise DataError("The link does not say how to read the file. Copy it again.")
    if params["kind"] not in ("table", "distances"):
        raise DataError(f"The link has the unknown file type {quoted(params['kind'])}.")
    return Recipe.from_dict(
        {"source": params["file"], "source_kind": params["kind"], "data_digest": params["digest"]}
        | reading
        | _values(params)
    )


def pin_params(pins: Sequence[Pin]) -> dict[str, str]:
    """Return the parameters of the pins, except those of uploaded data."""
    linked = [[pin.name, _short(pin.recipe)] for pin in pins if pin.recipe.source_kind == "sample"]
    return {"pins": json.dumps(linked, separators=(",", ":"))} if linked else {}


def pins_of(params: Mapping[str, str]) -> tuple[Pin, ...]:
    """Read the pins of a link; invalid ones are skipped."""
    try:
        read = json.loads(params.get("pins", "[]"))
    except (ValueError, RecursionError):
        return ()
    found: dict[str, Pin] = {}
    for entry in read[:MOST_PINS] if isinstance(read, list) else []:
        pin = _pin(entry)
        if pin is not None:
            found.setdefault(pin.name, pin)
    return tuple(found.values())


def _pin(entry: Any) -> Pin | None:
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], dict):
        return None
    name, settings = entry
    if not isinstance(name, str) or not name.strip():
        return None
    params = {str(key): str(value) for key, value in settings.items()}
    try:
        check_encodable("the name", name)
        values = _values(params)
        recipe = Recipe(source=f"sample:{params['sample']}", source_kind="sample", **values)
    except (LoopyLatentError, TypeError, KeyError):
        return None
    return Pin(name.strip()[:LONGEST_PIN_NAME], recipe)


def _short(recipe: Recipe) -> dict[str, str]:
    """Return the parameters of a recipe that differ from the defaults."""
    defaults = {"method": "quartet", "order": "degree", "metric": "auto", "regularize": "none"}
    defaults |= {"seed": "0"}
    return {key: value for key, value in params_of(recipe).items() if defaults.get(key) != value}


def _values(params: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {n: _number(n, params[n]) for n in NUMBERS if n in params}
    values |= {name: params[name] for name in WORDS if name in params}
    if values.get("metric", "auto") not in METRICS:
        raise DataError(f"The metric {params['metric'][:20]!r} is unknown.")
    if "seed" in params:
        number = _number("seed", params["seed"])
        if number != int(number):
            raise DataError(f"The seed {params['seed'][:20]!r} is not an integer.")
        values["seed"] = int(number)
    return values


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{name} = {text[:20]!r} is not a finite number.")
    return number


HELP = "Saves the current data and settings under a name for the page Compare."
FULL = f"The maximum of {MOST_PINS} pins is reached. Remove one on the page Compare."


def offer_pin(s: Session) -> None:
    """Draw the button Pin."""
    pinned = next((pin for pin in s.pins if pin.recipe == s.recipe), None)
    with st.container(horizontal=True, vertical_alignment="center", key="pinning"):
        st.button(
            "Pin" if pinned is None else "Pinned",
            icon=":material/keep:",
            on_click=add_pin,
            args=(s, s.recipe),
            disabled=pinned is not None or len(s.pins) >= MOST_PINS,
            help=HELP if len(s.pins) < MOST_PINS else FULL,
            key="pin",
        )
        if s.pins:
            st.caption("1 pin" if len(s.pins) == 1 else f"{len(s.pins)} pins")


def add_pin(s: Session, recipe: Recipe, name: str | None = None) -> None:
    """Pin a recipe, once, under a unique name."""
    if len(s.pins) < MOST_PINS and all(pin.recipe != recipe for pin in s.pins):
        s.pins = (*s.pins, Pin(_free_name(s.pins, name or default_name(recipe)), recipe))


def remove_pin(s: Session, name: str) -> None:
    """Remove a pin."""
    s.pins = tuple(pin for pin in s.pins if pin.name != name)


def rename_pin(s: Session, name: str, text: str) -> None:
    """Rename a pin; an empty name changes nothing."""
    new = " ".join(text.split())[:LONGEST_PIN_NAME]
    if new and new != name:
        others = tuple(pin for pin in s.pins if pin.name != name)
        free = _free_name(others, new)
        s.pins = tuple(Pin(free, pin.recipe) if pin.name == name else pin for pin in s.pins)


def default_name(recipe: Recipe) -> str:
    """Return the default name of a pin.

    Examples
    --------
    >>> default_name(Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1))
    'bfi25 r 2.5 Λ 0 τ 0.1'
    """
    source = recipe.source.removeprefix("sample:").rsplit(".", 1)[0]
    short = source.split("_")[0][:14]
    method = "" if recipe.method == "quartet" else f" {recipe.method}"
    bic = " BIC" if recipe.regularize == "bic" else ""
    numbers = f"r {recipe.r:.3g} Λ {recipe.Lambda:.2g} τ {recipe.tau:.2g}"
    return f"{short} {numbers}{method}{bic}"[:LONGEST_PIN_NAME]


def _free_name(pins: Sequence[Pin], requested: str) -> str:
    taken = {pin.name for pin in pins}
    ends = chain([""], (f" ({number})" for number in count(2)))
    names = (requested[: LONGEST_PIN_NAME - len(end)] + end for end in ends)
    return next(name for name in names if name not in taken)
