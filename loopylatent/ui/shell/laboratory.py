"""State and background work of the pages Laboratory and Theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from loopylatent.compute.limits import Estimate, recovery, rerun
from loopylatent.compute.values import Progress
from loopylatent.errors import LoopyLatentError
from loopylatent.settings import Method
from loopylatent.synthetic.experiment import PAPER, STRONGER, Experiment, Outcome, iter_experiment
from loopylatent.synthetic.laboratory import (
    Recovery,
    Rule,
    Specification,
    Trial,
    TrialPoint,
    Tried,
    against_n,
    against_r,
    iter_trials,
    learn_back,
)
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.theory.assumptions import ensemble_of
from loopylatent.theory.ensemble import Ensemble
from loopylatent.ui.shell.background import Job, Key, Name, Work
from loopylatent.ui.shell.results import Attempt
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import TimeNeeded, remembered, time_needed

KEY = "loopylatent laboratory"
LEARN, CURVE_N, CURVE_R, PAPERS = "lab learn", "lab curve n", "lab curve r", "lab experiment"
TITLES = {
    LEARN: "Sampling rows and learning",
    CURVE_N: "Learning from different numbers of rows",
    CURVE_R: "Learning at different radii",
    PAPERS: "Learning and fitting",
}
FAMILIES: Mapping[str, str] = {
    "ring": "Ring of hidden nodes",
    "tree": "Tree",
    "cage": "Cage (many cycles)",
    "regular": "Random regular graph",
    "edges": "Custom edges",
}
QUICK = 1.5
"""Seconds that a page waits for a graph before it shows a progress bar."""
EXACT = 0
ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, EXACT)
"""Options of the slider of rows; `EXACT` means exact distances."""
CURVE_ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000)
N_RADII = 13
MOST_CURVES = 24
EXPERIMENTS = {"The paper's potentials": PAPER, "Stronger potentials": STRONGER}
Which = Literal["n", "r"]


@dataclass(frozen=True, slots=True)
class Learning:
    """How the graph is learned from synthetic data."""

    n: int | None = 3_000
    rule: Rule = "loops"
    r: float | None = None
    Lambda: float | None = None
    tau: float | None = None
    method: Method = "quartet"
    seed: int = 0

    @property
    def radius(self) -> float | Rule:
        return self.rule if self.r is None else self.r


@dataclass(frozen=True, slots=True)
class EnsembleKey(Key):
    """Identifies the quantities of a model on which the guarantees depend."""

    model: str
    decay: float


@dataclass(frozen=True, slots=True)
class RecoveryKey(Key):
    """Identifies a graph learned from the rows of a model."""

    model: str
    learning: Learning


@dataclass(frozen=True, slots=True)
class CurveKey(Key):
    """Identifies a curve over rows or radii."""

    model: str
    fixed: tuple[Any, ...]
    """Settings that are constant along the curve."""
    radii: tuple[float, ...] | None
    """None for a curve over rows."""
    n_repeats: int


@dataclass(slots=True)
class Lab:
    """The state of the laboratory in one session."""

    specification: Specification = field(default_factory=Specification)
    learning: Learning = field(default_factory=Learning)
    n_repeats: int = 5
    experiment: str = next(iter(EXPERIMENTS))
    points: dict[Name, list[Tried]] = field(default_factory=dict)
    """The points of each curve computed so far."""
    outcomes: dict[Experiment, list[Outcome]] = field(default_factory=dict)
    stopped: set[Name] = field(default_factory=set)
    """Cancelled work; it is not restarted automatically."""
    n_begun: int = 0

    def change(self, **values: Any) -> None:
        self.specification = replace(self.specification, **values)

    def learn_with(self, **values: Any) -> None:
        self.learning = replace(self.learning, **values)


def lab() -> Lab:
    """Return the laboratory of this browser tab."""
    return remembered(KEY, Lab)


def model_of(s: Session, chosen: Specification) -> SyntheticModel:
    """Return the model of a specification, built once."""
    return s.memo.get("lab model", chosen.digest, chosen.build)


def ensemble_for(s: Session, chosen: Specification, decay: float) -> Ensemble:
    """Return the quantities of a model on which the guarantees depend."""
    key = EnsembleKey(chosen.digest, decay)
    return s.memo.get("ensemble", key, lambda: ensemble_of(model_of(s, chosen), decay))


# Work in the background --------------------------------------------------------------------


def _begin_anew(s: Session, lab: Lab, kind: str, key: Name, work: Work) -> None:
    """Start work even if the same work was done or cancelled before."""
    lab.n_begun += 1
    s.jobs.get(kind, Attempt(key, lab.n_begun), work)


def stop(lab: Lab, job: Job) -> None:
    """Cancel a job and do not restart it automatically."""
    job.cancelled.set()
    lab.stopped.add(job.key)


def learn_key(lab: Lab) -> RecoveryKey:
    """Return the key of the current graph."""
    return RecoveryKey(lab.specification.digest, lab.learning)


def learned_back(s: Session, lab: Lab, model: SyntheticModel) -> Job | None:
    """Return the job that learns the graph; None if it was cancelled or takes too long."""
    key, chosen = learn_key(lab), lab.learning
    if key in lab.stopped or not learning_time(lab, model).is_allowed:
        return None

    def work(report: Progress) -> Recovery:
        return learn_back(
            model, chosen.n, r=chosen.radius, Lambda=chosen.Lambda, tau=chosen.tau,
            method=chosen.method, seed=chosen.seed, progress=report,
        )  # fmt: skip

    job = s.jobs.get(LEARN, key, work)
    job.finished.wait(QUICK)
    return job


def recovery_of(s: Session, lab: Lab) -> Recovery | None:
    """Return the graph learned with the current settings, if it is ready."""
    job = s.jobs.current(LEARN)
    if job is None or job.key != learn_key(lab) or not job.finished.is_set():
        return None
    found: Recovery | None = job.result
    return found


def curve_key(lab: Lab, which: Which, radii: Sequence[float] = ()) -> CurveKey:
    """Return the key of a curve."""
    chosen = lab.learning
    fixed = (chosen.radius if which == "n" else chosen.n, chosen.method, chosen.seed)
    along = None if which == "n" else tuple(radii)
    return CurveKey(lab.specification.digest, fixed, along, lab.n_repeats)


def radii_of(found: Recovery) -> tuple[float, ...]:
    """Return evenly spaced radii from r_min to r_max."""
    D = found.distances
    values = np.linspace(D.r_min, D.r_max, N_RADII)
    return tuple(float(f"{value:.4g}") for value in values)


def learning_time(lab: Lab, model: SyntheticModel) -> TimeNeeded:
    """Estimate the time to learn the graph."""
    return time_needed(recovery(lab.learning.n or 0, model.graph.n_nodes), 1, "graph")


def curve_time(lab: Lab, which: Which, model: SyntheticModel, n_radii: int = 0) -> TimeNeeded:
    """Estimate the time of a curve."""
    n, p = lab.learning.n, model.graph.n_nodes
    if which == "n":
        once = sum((recovery(rows, p) for rows in CURVE_ROWS), Estimate(0.0))
        return time_needed(once * lab.n_repeats, lab.n_repeats, "repeats")
    n_repeats = 1 if n is None else lab.n_repeats
    return time_needed(recovery(n or 0, p, n_radii) * n_repeats, n_repeats, "repeats")


def experiment_time(plan: Experiment) -> TimeNeeded:
    """Estimate the time of the paper's experiment."""
    p, n_graphs = plan.girth * plan.leaves, len(plan.radii) + 2
    tables = (rerun(n, p, n_graphs, fit=True) for n in plan.rows)
    return time_needed(sum(tables, Estimate(0.0)) * plan.n_repeats, 1, "experiment")


def begin_curve(
    s: Session, lab: Lab, which: Which, model: SyntheticModel, radii: Sequence[float] = ()
) -> None:
    """Start the computation of a curve; its points are shown as they are computed."""
    key, chosen = curve_key(lab, which, radii), lab.learning
    trials: tuple[Trial, ...] = (
        against_n(CURVE_ROWS, lab.n_repeats, chosen.radius)
        if which == "n"
        else against_r(radii, chosen.n, lab.n_repeats)
    )
    found: list[Tried] = []
    lab.points = dict([*lab.points.items(), (key, found)][-MOST_CURVES:])

    def work(report: Progress) -> None:
        runs = iter_trials(
            model, trials, method=chosen.method, seed=chosen.seed + 1, progress=report
        )
        for points in runs:
            found.extend(points)

    _begin_anew(s, lab, CURVE_N if which == "n" else CURVE_R, key, work)


def begin_experiment(s: Session, lab: Lab) -> None:
    """Start the paper's experiment; its points are shown as they are computed."""
    plan = EXPERIMENTS[lab.experiment]
    found = lab.outcomes[plan] = []

    def work(report: Progress) -> None:
        for outcome in iter_experiment(plan, progress=report):
            found.append(outcome)  # noqa: PERF402  (the page reads the list as it grows)

    _begin_anew(s, lab, PAPERS, lab.experiment, work)


def sufficient_rows(lab: Lab) -> int | None:
    """Return the smallest number of rows from which on every repeat recovered the graph."""
    points = lab.points.get(curve_key(lab, "n"), [])
    right: dict[int, list[bool]] = {}
    for one in points:
        if one.n is not None:
            good = isinstance(one, TrialPoint) and one.is_right
            right.setdefault(one.n, []).append(good)
    enough = None
    for n in sorted(right, reverse=True):
        if not all(right[n]):
            break
        enough = n
    return enough


def model_error(s: Session, chosen: Specification) -> str | None:
    """Return why the model cannot be built, in one line; None if it can."""
    try:
        model_of(s, chosen)
    except LoopyLatentError as error:
        return str(error)
    return None
