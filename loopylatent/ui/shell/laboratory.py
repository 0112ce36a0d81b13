"""What the pages Laboratory and Theory remember, and what they compute in the background."""

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
    LEARN: "Drawing rows and learning",
    CURVE_N: "Learning from fewer and more rows",
    CURVE_R: "Learning at other radii",
    PAPERS: "Learning and fitting",
}
FAMILIES: Mapping[str, str] = {
    "ring": "A ring of hidden nodes",
    "tree": "A tree",
    "cage": "A cage (many cycles)",
    "regular": "A random regular graph",
    "edges": "Edges of your own",
}
QUICK = 1.5
"""Seconds for which a page waits for a graph before it shows how far it is."""
EXACT = 0
ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, EXACT)
"""What the slider of rows offers; `EXACT` stands for exact distances."""
CURVE_ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000)
N_RADII = 13
MOST_CURVES = 24
EXPERIMENTS = {"The paper's potentials": PAPER, "Stronger potentials": STRONGER}
Which = Literal["n", "r"]


@dataclass(frozen=True, slots=True)
class Learning:
    """How the made-up model is learned back."""

    n: int | None = 3_000
    rule: Rule = "loops"
    r: float | None = None
    Lambda: float | None = None
    tau: float | None = None
    method: Method = "quartet"
    seed: int = 0

    @property
    def wanted(self) -> float | Rule:
        return self.rule if self.r is None else self.r


@dataclass(frozen=True, slots=True)
class EnsembleKey(Key):
    """The numbers of a model on which the guarantees depend."""

    model: str
    decay: float


@dataclass(frozen=True, slots=True)
class RecoveryKey(Key):
    """A graph learned back from the rows of a model."""

    model: str
    learning: Learning


@dataclass(frozen=True, slots=True)
class CurveKey(Key):
    """A curve against rows or radii."""

    model: str
    fixed: tuple[Any, ...]
    """What is the same along the curve."""
    radii: tuple[float, ...] | None
    """None along rows."""
    n_repeats: int


@dataclass(slots=True)
class Lab:
    """What one session remembers of the laboratory."""

    specification: Specification = field(default_factory=Specification)
    learning: Learning = field(default_factory=Learning)
    n_repeats: int = 5
    experiment: str = next(iter(EXPERIMENTS))
    points: dict[Name, list[Tried]] = field(default_factory=dict)
    """The curves, as far as they have come, by what they are of."""
    outcomes: dict[Experiment, list[Outcome]] = field(default_factory=dict)
    stopped: set[Name] = field(default_factory=set)
    """What was cancelled and is not learned again by itself."""
    n_begun: int = 0

    def change(self, **values: Any) -> None:
        self.specification = replace(self.specification, **values)

    def learn_with(self, **values: Any) -> None:
        self.learning = replace(self.learning, **values)


def lab() -> Lab:
    """Return what this browser tab remembers."""
    return remembered(KEY, Lab)


def model_of(s: Session, chosen: Specification) -> SyntheticModel:
    """Return the model of a specification, made once."""
    return s.memo.get("lab model", chosen.digest, chosen.build)


def ensemble_for(s: Session, chosen: Specification, decay: float) -> Ensemble:
    """Return the numbers of a model on which the guarantees depend."""
    key = EnsembleKey(chosen.digest, decay)
    return s.memo.get("ensemble", key, lambda: ensemble_of(model_of(s, chosen), decay))


# Work in the background --------------------------------------------------------------------


def _begin_anew(s: Session, lab: Lab, kind: str, key: Name, work: Work) -> None:
    """Start work, also where the same was done or cancelled before."""
    lab.n_begun += 1
    s.jobs.get(kind, Attempt(key, lab.n_begun), work)


def stop(lab: Lab, job: Job) -> None:
    """Cancel a job, and remember that."""
    job.cancelled.set()
    lab.stopped.add(job.key)


def learn_key(lab: Lab) -> RecoveryKey:
    """What is learned."""
    return RecoveryKey(lab.specification.digest, lab.learning)


def learned_back(s: Session, lab: Lab, model: SyntheticModel) -> Job | None:
    """Return the job that learns the model back; None where it was cancelled or takes too long."""
    key, chosen = learn_key(lab), lab.learning
    if key in lab.stopped or not learning_time(lab, model).is_allowed:
        return None

    def work(report: Progress) -> Recovery:
        return learn_back(
            model, chosen.n, r=chosen.wanted, Lambda=chosen.Lambda, tau=chosen.tau,
            method=chosen.method, seed=chosen.seed, progress=report,
        )  # fmt: skip

    job = s.jobs.get(LEARN, key, work)
    job.finished.wait(QUICK)
    return job


def recovery_of(s: Session, lab: Lab) -> Recovery | None:
    """Return the graph that was learned back with the present choice, if it is there."""
    job = s.jobs.current(LEARN)
    if job is None or job.key != learn_key(lab) or not job.finished.is_set():
        return None
    found: Recovery | None = job.result
    return found


def curve_key(lab: Lab, which: Which, radii: Sequence[float] = ()) -> CurveKey:
    """What a curve is of."""
    chosen = lab.learning
    fixed = (chosen.wanted if which == "n" else chosen.n, chosen.method, chosen.seed)
    along = None if which == "n" else tuple(radii)
    return CurveKey(lab.specification.digest, fixed, along, lab.n_repeats)


def radii_of(found: Recovery) -> tuple[float, ...]:
    """Radii for a curve: evenly from the smallest useful to the largest."""
    D = found.distances
    values = np.linspace(D.r_min, D.r_max, N_RADII)
    return tuple(float(f"{value:.4g}") for value in values)


def learning_time(lab: Lab, model: SyntheticModel) -> TimeNeeded:
    """Say how long it takes to learn the model back, or why that is too long."""
    return time_needed(recovery(lab.learning.n or 0, model.graph.n_nodes), 1, "graph")


def curve_time(lab: Lab, which: Which, model: SyntheticModel, n_radii: int = 0) -> TimeNeeded:
    """Say how long a curve takes, or how many repeats would not be too long."""
    n, p = lab.learning.n, model.graph.n_nodes
    if which == "n":
        once = sum((recovery(rows, p) for rows in CURVE_ROWS), Estimate(0.0))
        return time_needed(once * lab.n_repeats, lab.n_repeats, "repeats")
    n_repeats = 1 if n is None else lab.n_repeats
    return time_needed(recovery(n or 0, p, n_radii) * n_repeats, n_repeats, "repeats")


def experiment_time(plan: Experiment) -> TimeNeeded:
    """Say how long the paper's experiment takes."""
    p, n_graphs = plan.girth * plan.leaves, len(plan.radii) + 2
    tables = (rerun(n, p, n_graphs, fit=True) for n in plan.rows)
    return time_needed(sum(tables, Estimate(0.0)) * plan.n_repeats, 1, "experiment")


def begin_curve(
    s: Session, lab: Lab, which: Which, model: SyntheticModel, radii: Sequence[float] = ()
) -> None:
    """Learn the points of a curve; they can be seen as they come."""
    key, chosen = curve_key(lab, which, radii), lab.learning
    trials: tuple[Trial, ...] = (
        against_n(CURVE_ROWS, lab.n_repeats, chosen.wanted)
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
    """Run the paper's experiment; its points can be seen as they come."""
    plan = EXPERIMENTS[lab.experiment]
    found = lab.outcomes[plan] = []

    def work(report: Progress) -> None:
        for outcome in iter_experiment(plan, progress=report):
            found.append(outcome)  # noqa: PERF402  (the page looks at the list as it grows)

    _begin_anew(s, lab, PAPERS, lab.experiment, work)


def rows_that_found_it(lab: Lab) -> int | None:
    """Return the fewest rows from which on the laboratory found the graph in every repeat."""
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


def refusal_of(s: Session, chosen: Specification) -> str | None:
    """Return why there is no such model, in one line; None where there is one."""
    try:
        model_of(s, chosen)
    except LoopyLatentError as error:
        return str(error)
    return None
