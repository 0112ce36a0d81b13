"""The learner with a BIC penalty on hidden nodes (the paper's RegLocalCLGrouping).

Every visited node proposes the local latent tree of its neighbourhood. While some proposal improves
the BIC of the *whole* refitted model, the best one is accepted. With few rows a better BIC need not
mean better predictions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import IntArray, Progress
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import InferenceError, Remedy, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.fit import maximise_likelihood, model_at
from loopylatent.inference.model import Model
from loopylatent.inference.problems import Family, Fitted, Problem, family_of
from loopylatent.inference.scores import bic
from loopylatent.inference.trials import TOLERANCE, Effort, climb
from loopylatent.learning.learner import LearnResult, start_graph, visit, visiting_order
from loopylatent.learning.trace import CleanUpStep, InitialStep, VisitStep
from loopylatent.learning.workspace import Workspace
from loopylatent.settings import FitSettings, LearnSettings
from loopylatent.tables.observations import Observations

T = TypeVar("T")
TAUS = (0.1, 0.2, 0.4)
"""Contraction thresholds to choose from by training BIC, if none is given."""
TRIAL_STEPS = 40
CONFIRM_STEPS = 100
LOG2_TABLE = 16.0
"""Proposals may need tables of 2^16 entries, or as many as the initial graph."""
FIRST_STEPS = LAST_STEPS = 1000
PULSE = 0.2
"""Seconds between two calls of ``progress`` while a fit goes on."""
Reason = Literal[
    "taken", "no gain", "no gain after refit", "too many hidden nodes", "too large a table"
]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A local latent tree proposed for a neighbourhood, accepted or rejected."""

    round: int
    """From 1; each round ends with the best proposal."""
    node: int
    """The visited column."""
    gain: float
    """In BIC of the whole model; minus infinity if it was not fitted."""
    accepted: bool
    reason: Reason
    n_hidden: int
    """Of the resulting graph."""
    n_edges: int
    """Of the resulting graph."""


@dataclass(frozen=True, eq=False, repr=False)
class RegularizedResult(LearnResult):
    """A learned graph with its model and every proposed replacement."""

    replacements: tuple[Replacement, ...] = ()
    """Every proposed replacement, with its gain in BIC."""
    model: Model | None = None
    """The graph with its parameters."""
    bic_by_tau: tuple[tuple[float, float], ...] = ()
    """The training BIC for each tau; the largest was chosen."""


def learn_regularized(
    D: DistanceMatrix,
    obs: Observations,
    settings: LearnSettings,
    max_hidden: int | None = None,
    progress: Progress | None = None,
    *,
    taus: Sequence[float] | None = None,
    start: LatentGraph | None = None,
) -> RegularizedResult:
    """Learn a graph whose hidden nodes improve the Bayesian information criterion (BIC).

    ``obs`` holds the rows behind the distances, with column types as for ``fit_parameters``; any
    grouping method can be used. ``progress`` is called with the number of proposals done and known
    so far, and may raise to stop. If ``taus`` is given, tau is chosen among them by training BIC.
    ``start`` is the initial graph at r, if known.

    Examples
    --------
    >>> import loopylatent as ll
    >>> tree = ll.synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=3)
    >>> rows = tree.sample(2000)
    >>> D = ll.information_distances(rows)
    >>> found = learn_regularized(D, rows, LearnSettings(ll.Thresholds(D.r_max, 0.02, 0.1)))
    >>> found.graph
    LatentGraph(6 observed, 2 hidden, 7 edges, 0 cycles)
    >>> [(one.node, one.gain > 0) for one in found.replacements if one.accepted][:1]
    [(3, True)]
    """
    if max_hidden is not None and max_hidden < 0:
        raise ThresholdError(
            Remedy("setting", "max_hidden", max_hidden),
            " is negative; ",
            Remedy("no_limit"),
            " for no limit.",
        )
    initial = start_graph(D, settings.thresholds.r, start)
    family = family_of(obs, D.names, FitSettings())
    report = _Report(progress)
    with one_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        problem = family.problem(initial)
        if isinstance(problem, DiscreteProblem) and not problem.method.is_exact:
            raise InferenceError(
                f"At r = {settings.thresholds.r:g} exact inference needs tables of "
                f"2^{_log2_table(problem):.0f} entries, but the BIC penalty allows at most 2^20; "
                "use a larger r."
            )
        job = pool.submit(climb, problem, family.start(problem), report.effort(FIRST_STEPS))
        first = report.result_of(job)
        runs = []
        for tau in (settings.thresholds.tau,) if taus is None else taus:
            chosen = replace(settings, thresholds=replace(settings.thresholds, tau=tau))
            run = _Run(D, family, chosen, max_hidden, pool, report)
            runs.append(run.go(initial, first))
        best = max(runs, key=lambda run: run.bic)
        return best.result(obs, tuple((run.settings.thresholds.tau, run.bic) for run in runs))


class _Report:
    """Progress over all values of tau: proposals done, proposals known."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._stop = np.zeros(1, np.bool_)
        self.done = self.known = 0

    def pulse(self) -> None:
        """Call ``progress``, which may raise; then the fits under way stop as well."""
        if self._progress is not None:
            try:
                self._progress(self.done, max(self.known, self.done, 1))
            except BaseException:
                self._stop[0] = True
                raise

    def effort(self, steps: int, target: float = -np.inf) -> Effort:
        return Effort(steps, target, self._stop)

    def result_of(self, job: Future[T]) -> T:
        """Wait for a job, with a pulse now and then."""
        while not wait([job], timeout=PULSE).done:
            self.pulse()
        return job.result()


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """A proposal with the resulting workspace and fit."""

    proposal: Replacement
    workspace: Workspace
    graph: LatentGraph
    step: VisitStep
    fitted: Fitted | None


class _Run:
    """The greedy search for one tau."""

    def __init__(
        self, D: DistanceMatrix, family: Family, settings: LearnSettings, max_hidden: int | None,
        pool: ThreadPoolExecutor, report: _Report,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._D, self._family, self._pool, self._report = D, family, pool, report
        self._max_hidden = np.inf if max_hidden is None else max_hidden
        self._records: list[Replacement] = []
        self._round = 0

    @property
    def bic(self) -> float:
        return _bic(self._fitted)

    def go(self, initial: LatentGraph, fitted: Fitted) -> _Run:
        """Accept the best proposal until none improves the BIC."""
        self._graph, self._fitted = initial, fitted
        self._log2_limit = max(LOG2_TABLE, _log2_table(fitted.problem))
        self._workspace = Workspace(initial, self._D)
        self._initial = InitialStep(initial)
        self._visits: list[VisitStep] = []
        self._pending = list(visiting_order(initial, self.settings))
        self._proposals: dict[int, Replacement] = {}
        self._stale = set(self._pending)
        while self._pending:
            self._round += 1
            self._score([node for node in self._pending if node in self._stale])
            accepted = self._accept_best()
            if accepted is None:
                break
            self._pending.remove(accepted.node)
            self._proposals.pop(accepted.node)
            self._stale = self._touched(accepted, self._pending)
        return self

    def result(
        self, obs: Observations, bic_by_tau: tuple[tuple[float, float], ...]
    ) -> RegularizedResult:
        fitted, visits, D = self._fitted, self._visits, self._D
        job = self._pool.submit(
            climb, fitted.problem, fitted.point, self._report.effort(LAST_STEPS)
        )
        last = maximise_likelihood(
            fitted.problem, self._report.result_of(job).point, max_steps=LAST_STEPS,
            tolerance=TOLERANCE,
        )  # fmt: skip
        model = model_at(self._family, fitted.problem, last, obs)
        clean_up = CleanUpStep((), (), (), self._workspace.hidden_ids)
        n_stuck, n_capped = sum(step.stuck for step in visits), sum(step.capped for step in visits)
        return RegularizedResult(
            self._graph, self._initial.graph, self.settings, D.metric, D.digest, len(visits),
            n_stuck, n_capped, (self._initial, *visits, clean_up), tuple(self._records), model,
            bic_by_tau,
        )  # fmt: skip

    def _score(self, nodes: Sequence[int]) -> None:
        """Compute the proposals of ``nodes`` on the current graph."""
        self._report.known += len(nodes)
        jobs = [self._pool.submit(self._propose, node) for node in nodes]
        try:
            for node, job in zip(nodes, jobs, strict=True):
                proposal = self._report.result_of(job)
                self._report.done += 1
                self._report.pulse()
                self._proposals.pop(node, None)
                if proposal is not None:
                    self._proposals[node] = proposal
                    if proposal.gain <= 0:
                        self._records.append(proposal)
        finally:
            for job in jobs:
                job.cancel()

    def _accept_best(self) -> VisitStep | None:
        """Accept the best proposal whose gain survives a longer refit on the current graph."""
        while True:
            best = max(self._proposals.values(), key=lambda one: one.gain, default=None)
            if best is None or best.gain <= 0:
                return None
            step = self._confirm(best.node)
            if step is not None:
                return step

    def _confirm(self, node: int) -> VisitStep | None:
        """Refit a proposal for longer; accept it if it still gains."""
        change = self._report.result_of(self._pool.submit(self._change, node, CONFIRM_STEPS))
        if change is None:
            del self._proposals[node]
            return None
        proposal = change.proposal
        if change.fitted is not None and proposal.gain > 0:
            self._records.append(replace(proposal, accepted=True, reason="taken"))
            self._workspace, self._graph = change.workspace, change.graph
            self._fitted = change.fitted
            self._visits.append(change.step)
            return change.step
        self._proposals[node] = proposal
        refitted = change.fitted is not None
        self._records.append(
            replace(proposal, reason="no gain after refit") if refitted else proposal
        )
        return None

    def _propose(self, node: int) -> Replacement | None:
        change = self._change(node, TRIAL_STEPS)
        return None if change is None else change.proposal  # workspaces would take much memory

    def _change(self, node: int, steps: int) -> _Change | None:
        """Replace the neighbourhood of a node in a copy; None if nothing changes."""
        workspace = self._workspace.copy()
        if len(workspace.neighbours[node]) < 2:
            return None
        rng = np.random.default_rng([self.settings.seed, node])
        step = _tidied(visit(workspace, node, self._D.n_samples, rng, self.settings), workspace)
        if not step.changes_graph:
            return None
        graph = workspace.graph()
        problem = self._family.problem(graph)
        gain, fitted, reason = -np.inf, None, self._exceeds_limits(graph, problem)
        if reason is None:
            fitted = self._refitted(problem, _origin(self._workspace, workspace), steps)
            gain, reason = _bic(fitted) - self.bic, "no gain"
        sizes = (graph.n_hidden, graph.n_edges)
        proposal = Replacement(self._round, node, gain, False, reason, *sizes)
        return _Change(proposal, workspace, graph, step, fitted)

    def _refitted(self, problem: Problem, origin: IntArray, steps: int) -> Fitted:
        """Fit a changed graph from the current parameters; stop early if it cannot gain."""
        n = problem.total_weight
        target = (self.bic - bic(0.0, problem.df, n)) / n  # the mean log-likelihood to reach
        start = self._family.continued(self._fitted, problem, origin)
        return climb(problem, start, self._report.effort(steps, target))

    def _exceeds_limits(self, graph: LatentGraph, problem: Problem) -> Reason | None:
        if graph.n_hidden > self._max_hidden:
            return "too many hidden nodes"
        return "too large a table" if _log2_table(problem) > self._log2_limit else None

    def _touched(self, step: VisitStep, pending: Iterable[int]) -> set[int]:
        """Return the pending nodes whose proposal an accepted one may have changed."""
        around, is_hidden = self._workspace.neighbours, self._workspace.is_hidden
        ends = {end for edge in step.added for end in (edge.u, edge.v)}
        moved = {node for node in ends.union(step.neighbourhood) if node in around}
        queue = [node for node in moved if is_hidden(node)]
        while queue:
            for end in around[queue.pop()]:
                if is_hidden(end) and end not in moved:
                    queue.append(end)
                moved.add(end)
        return {node for node in pending if node in moved or not moved.isdisjoint(around[node])}


def _bic(fitted: Fitted) -> float:
    n = fitted.problem.total_weight
    return bic(n * fitted.value, fitted.problem.df, n)


def _log2_table(problem: Problem) -> float:
    """Return log2 of the size of the largest table; 0 for Gaussian models, which have none."""
    if isinstance(problem, DiscreteProblem):
        return problem.method.elimination.log2_largest
    return 0.0


def _origin(before: Workspace, after: Workspace) -> IntArray:
    """(nodes after,) their numbers in the graph before, -1 for new nodes."""
    old = {node: before.n_observed + k for k, node in enumerate(before.hidden_ids)}
    hidden = [old.get(node, -1) for node in after.hidden_ids]
    return np.array([*range(before.n_observed), *hidden], np.int64)


def _tidied(step: VisitStep, workspace: Workspace) -> VisitStep:
    """Drop hidden nodes of low degree, and merge both changes into one step."""
    more = workspace.drop_low_degree_hidden()
    removed = {(edge.u, edge.v): edge for edge in step.removed}
    added = {(edge.u, edge.v): edge for edge in step.added}
    for edge in more.removed:
        if added.pop((edge.u, edge.v), None) is None:
            removed[edge.u, edge.v] = edge
    for edge in more.added:
        added[edge.u, edge.v] = edge
    for ends in [ends for ends, edge in added.items() if removed.get(ends) == edge]:
        del added[ends], removed[ends]
    before, after = (tuple(edges[ends] for ends in sorted(edges)) for edges in (removed, added))
    return replace(step, removed=before, added=after)
