"""What one browser session has chosen: one recipe, its history, and what is kept beside it.

Widgets lose their values when the page changes. So the session owns the choice; before a widget
is drawn it is given the session's value, and when it changes it reports to the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.matching import NamedNode
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import APP
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.project.file import Pin
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.figures.layout import filling, positions
from loopylatent.figures.simplify import SimplifiedGraph
from loopylatent.graph import LatentGraph
from loopylatent.lesson.presets import made_up_files
from loopylatent.ui.shell import link
from loopylatent.ui.shell.background import Jobs
from loopylatent.ui.shell.cache import Memo
from loopylatent.ui.shell.keys import PlacesKey
from loopylatent.ui.shell.stages import carried_nodes

FIRST_SAMPLE = "newsgroups100_roweislike"
MOST_STEPS_BACK = 200
MOST_UPLOADS = 4
ASPECT = 1.3
"""Width to height of the graph on the page."""
KEY = "loopylatent"


def _small_results() -> ResultCache:
    """Room for the many small results of a page, within its part of the memory."""
    return ResultCache(most_bytes=APP.session_bytes // 4)


@dataclass(frozen=True, slots=True)
class Placed:
    """The graph that was drawn last, and where its nodes were."""

    graph: LatentGraph
    positions: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moment:
    """What undo brings back."""

    recipe: Recipe
    opened: Recipe
    """The same data with the settings with which they were opened."""
    names: tuple[NamedNode, ...] = ()


@dataclass(slots=True, weakref_slot=True)
class Session:
    """Everything that a browser session remembers."""

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
    """Nodes of the graph that was drawn last whose folded nodes are taken out."""
    untested: Recipe | None = None
    """An opening whose loops are still to be tested."""
    placed: Placed | None = None
    sought: int | None = None
    """A node that was searched, until its surroundings are in view."""
    n_centred: int = 0
    """Each time a node is to be brought to the middle this goes up by one."""
    notice: str | None = None
    """Something to be said once, at the top of the page."""
    tour: int | None = None
    why: tuple[int, ...] = ()
    """A question to the lesson: what made this node, or the edge between these two?"""
    memo: Memo = field(default_factory=Memo)
    jobs: Jobs = field(default_factory=Jobs)
    pins: tuple[Pin, ...] = ()
    """Settings that are kept to be compared."""
    swept: ResultCache = field(default_factory=_small_results)
    """What the page Tune has learned and scored."""
    scored: ResultCache = field(default_factory=_small_results)
    """What the page Evaluate has scored."""
    split: ResultCache = field(default_factory=lambda: ResultCache(most=1))
    """The rows that were split last: a copy of the table, so results never hold one."""
    view: dict[str, Any] = field(default_factory=dict)
    """What is shown and how: small plain values that change no result."""

    @property
    def recipe(self) -> Recipe:
        return self.now.recipe

    def change(self, **values: Any) -> None:
        """Change some settings; a refusal is said and changes nothing."""
        try:
            self._go_to(replace(self.now, recipe=replace(self.recipe, **values)))
        except LoopyLatentError as error:
            self.notice = str(error)

    def open(self, recipe: Recipe, names: tuple[NamedNode, ...] = ()) -> None:
        """Take other data; what belonged to the data before goes, the way back stays."""
        self._go_to(Moment(recipe, recipe, names))
        self.selected = None
        self.sought = self.untested = None
        self.opened = frozenset()

    def reset(self) -> None:
        """Go back to the settings with which the present data were opened."""
        self._go_to(replace(self.now, recipe=self.now.opened))

    def name(self, node: NamedNode | None, instead_of: str | None) -> None:
        """Name a hidden node; ``instead_of`` is the name that it had."""
        kept = tuple(named for named in self.now.names if named.name != instead_of)
        self._go_to(replace(self.now, names=kept if node is None else (*kept, node)))

    def step_back(self) -> None:
        if self.before:
            self.after.append(self.now)
            self.now = self.before.pop()

    def step_forward(self) -> None:
        if self.after:
            self.before.append(self.now)
            self.now = self.after.pop()

    def keep_upload(self, digest: str, content: bytes) -> None:
        """Keep an uploaded file for this session, the last few of them."""
        others = [(key, one) for key, one in self.uploads.items() if key != digest]
        kept = [*others, (digest, content)][-MOST_UPLOADS:]
        while len(kept) > 1 and sum(len(one) for _, one in kept) > APP.session_bytes:
            del kept[0]
        self.uploads = dict(kept)

    def select(self, node: int | None, *, centre: bool = False) -> None:
        """Select a node of the graph that is drawn; ``centre`` brings it to the middle."""
        self.selected = node
        self.n_centred += centre
        if centre:
            self.sought = node

    def place(
        self, graph: LatentGraph, labels: tuple[str, ...], part: SimplifiedGraph | None = None
    ) -> NDArray[np.float64]:
        """Return where the nodes stand; those that were there before stay as near as may be.

        Of a large graph that was followed, or of another one on its first nodes, only the nodes of
        a part are placed; the others are at the origin.
        """
        if part is None:
            self.follow(graph)
        assert self.placed is not None, "follow comes first"
        place = np.zeros((graph.n_nodes, 2))
        nodes = list(range(graph.n_nodes) if part is None else part.nodes)
        if not nodes:
            return place
        before = self.placed.positions[nodes]
        most_were_there = np.isfinite(before[:, 0]).mean() > 0.5  # else a fresh layout is better
        found = self.memo.get(
            "positions",
            graph.digest if part is None else PlacesKey(graph.digest, part.nodes),
            lambda: positions(
                graph if part is None else part.part,
                start=before if most_were_there else None,
                labels=[labels[node] for node in nodes],
            ),
        )
        if graph == self.placed.graph:
            kept = np.full((graph.n_nodes, 2), np.nan)
            kept[nodes] = found
            self.placed = Placed(graph, kept)
        place[nodes] = filling(found, ASPECT)
        return place

    def follow(self, graph: LatentGraph) -> NDArray[np.float64]:
        """Carry selection and open nodes over to another graph; return where its nodes were.

        Nodes that were not drawn have rows of NaN.
        """
        before = self.placed
        if before is not None and before.graph == graph:
            return before.positions
        start = np.full((graph.n_nodes, 2), np.nan)
        if before is not None:
            carried = carried_nodes(before.graph, graph)
            self.selected = carried.get(self.selected) if self.selected is not None else None
            self.sought = None
            self.opened = frozenset(carried[node] for node in self.opened if node in carried)
            start[list(carried.values())] = before.positions[list(carried)]
        self.placed = Placed(graph, start)
        return start

    def _go_to(self, moment: Moment) -> None:
        if moment != self.now:
            self.before = [*self.before, self.now][-MOST_STEPS_BACK:]
            self.after = []
            self.now = moment


def session() -> Session:
    """Return the session of this browser tab, made from the link at the first call."""
    if KEY not in st.session_state:
        memo = Memo()
        params = st.query_params.to_dict()
        opening = link.opening_of(params, FIRST_SAMPLE, memo)
        now = Moment(opening.recipe, opening.fresh)
        tour = None if params else 0  # whoever comes by a link knows the place
        pins = link.pins_of(params)
        uploads = made_up_files(opening.recipe.data_digest)
        st.session_state[KEY] = Session(
            now, uploads=uploads, notice=opening.notice, tour=tour, memo=memo, pins=pins
        )
    found: Session = st.session_state[KEY]
    return found


def bound(
    widget: str, value: Any, report: Callable[[Any], None], *, limits: Any = None
) -> Mapping[str, Any]:
    """Return the arguments that tie a widget to the session.

    ``value`` is shown; a change made by the user goes to ``report`` before the page runs. A
    slider names its ``limits``: while they and the value are those that it has, nothing is sent
    back to the browser, where further keys may have been pressed since. It is still told where to
    begin: a browser that had not drawn it before the page ran again would begin at its lower end.
    """
    mark = f"{widget} limits"
    here = (st.session_state.get(widget), st.session_state.get(mark))
    begin: dict[str, Any] = {}
    if limits is None or here != (value, limits):
        st.session_state[widget], st.session_state[mark] = value, limits
    else:
        begin = {"value": value}

    def changed() -> None:
        report(st.session_state[widget])

    return {"key": widget, "on_change": changed} | begin
