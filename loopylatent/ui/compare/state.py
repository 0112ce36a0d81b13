"""What the page Compare lays side by side: pins with their data and graphs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from loopylatent.analysis.overlay import Overlay, overlay
from loopylatent.compute.arrays import Progress
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.project.file import Pin
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.regularized import learn_regularized
from loopylatent.learning.thresholds import loop_radius
from loopylatent.ui.page import Present
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.pins import add_pin
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.stages import Source, check_bic, learned, source_of, start_of
from loopylatent.ui.sidebar import preset_radius

PRESENT = "the present setting"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One setting to be compared, its data and its graph."""

    name: str
    recipe: Recipe
    source: Source
    result: LearnResult
    waiting: Job | None = None
    """The BIC that is still at work; the graph is the plain one until it is done."""

    @property
    def graph(self) -> LatentGraph:
        return self.result.graph


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """All settings that can be compared, and those that cannot, each with the reason."""

    sides: tuple[Side, ...]
    refused: tuple[tuple[str, str], ...]

    @property
    def by_name(self) -> dict[str, Side]:
        return {side.name: side for side in self.sides}


def sides_of(s: Session, now: Present) -> Sides:
    """Return every pin with its graph, and what is shown now where it is not pinned."""
    pins = list(s.pins)
    if all(pin.recipe != s.recipe for pin in pins):
        pins.append(Pin(_present_name(s), s.recipe))
    found, refused = [], []
    for pin in pins:
        try:
            found.append(_side(s, now, pin))
        except LoopyLatentError as error:
            refused.append((pin.name, str(error)))
    return Sides(tuple(found), tuple(refused))


def _present_name(s: Session) -> str:
    taken = {pin.name for pin in s.pins}
    return PRESENT if PRESENT not in taken else f"{PRESENT} (now)"


def _side(s: Session, now: Present, pin: Pin) -> Side:
    if pin.recipe == s.recipe:
        return Side(pin.name, pin.recipe, now.source, now.result)
    source = source_of(s.memo, s.uploads, pin.recipe)
    result = learned(s.memo, source.distances, pin.recipe)
    if pin.recipe.regularize == "none" or source.observations is None:
        return Side(pin.name, pin.recipe, source, result)
    return _paying_side(s, pin, source, result)


def _paying_side(s: Session, pin: Pin, source: Source, plain: LearnResult) -> Side:
    """The graph that the BIC pays for, from a job of its own."""
    key: Hashable = (source.distances.digest, pin.recipe.settings)
    known: LearnResult | None = s.memo.known("bic", key)
    if known is not None:
        return Side(pin.name, pin.recipe, source, known)
    obs, D, settings = source.observations, source.distances, pin.recipe.settings
    assert obs is not None, "the BIC is for rows"
    check_bic(obs)
    start = start_of(s.memo, D, pin.recipe.r)

    def work(report: Progress) -> LearnResult:
        return learn_regularized(D, obs, settings, progress=report, start=start)

    job = s.jobs.get(f"bic {key}", key, work)
    if not job.finished.is_set():
        return Side(pin.name, pin.recipe, source, plain, job)
    if job.error is not None:
        return Side(pin.name, pin.recipe, source, plain)
    s.memo.keep("bic", key, job.result)
    s.jobs.drop(f"bic {key}")  # kept once; jobs have no bound
    return Side(pin.name, pin.recipe, source, job.result)


def overlay_of(s: Session, left: Side, right: Side) -> Overlay:
    """Lay two graphs on top of each other, once."""
    graphs = (left.graph, right.graph)
    return s.memo.get("overlay", tuple(g.digest for g in graphs), lambda: overlay(graphs))


def pin_two(s: Session, now: Present) -> None:
    """Pin a tree and a graph with loops of the present data."""
    D = now.source.distances
    r = loop_radius(D)
    if (
        r >= D.r_max and now.curve is not None
    ):  # the distances are too alike for that radius to differ
        r = preset_radius("Dense", D, now.curve)
    add_pin(s, replace(s.recipe, r=D.r_max, regularize="none"), "tree")
    add_pin(s, replace(s.recipe, r=r, regularize="none"), "with loops")
