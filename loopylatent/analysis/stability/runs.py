"""How sure is a graph? What of it comes back on other tables of the same kind (not in the paper).

The learner is run again on resampled rows, on shaken distances, or in other visiting orders. The
support of an edge, of a hidden node or of a cycle is the share of the runs in which it is found
again, by the definitions of `support`. Support is no probability: docs/guide/stability.md says what
it meant on graphs whose truth is known.
"""

from __future__ import annotations

from collections import Counter as Occurrences, deque
from collections.abc import Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np

from loopylatent.analysis.stability.consensus import MAJORITY, Counter, Tally
from loopylatent.analysis.stability.resampling import (
    SHARE,
    Resampler,
    Scheme,
    block_bootstrapped_rows,
    bootstrapped_rows,
    check_scheme,
    same_distances,
    shaken_distances,
    subsampled_rows,
)
from loopylatent.analysis.stability.support import Found, Reference, edges_found, found_again
from loopylatent.compute.arrays import BoolArray, Check, FloatArray, Progress, frozen_array
from loopylatent.compute.cluster import Engine, runner
from loopylatent.compute.shown import Shown
from loopylatent.compute.threads import Runner, in_order, one_thread
from loopylatent.distances.matrix import DistanceMatrix, Metric, information_distances
from loopylatent.errors import DataError, LoopyLatentError, Remedy, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.learning.thresholds import default_thresholds
from loopylatent.settings import LearnSettings
from loopylatent.tables.observations import Observations

N_RESAMPLES = 50


@dataclass(frozen=True, slots=True)
class Failure:
    """A resample on which no graph could be learned."""

    number: int
    """Counted from 0."""
    reason: str


@dataclass(frozen=True, eq=False)
class Stability(Shown):
    """The support of every part of a graph.

    Parameters
    ----------
    graph, initial_graph : LatentGraph
        The graphs whose parts are supported.
    scheme : str
        What was done again: see `Scheme`.
    edges, hidden, cycles, initial_edges : float64 arrays
        Support from 0 to 1, in the order of ``graph.edges``, ``graph.hidden_nodes``,
        ``graph.cycles`` and ``initial_graph.edges``.
    instability : float
        1 minus the mean agreement of a run's graph with this one, where agreement is the edges
        found again as a share of the edges of either. 0: always the same; 1: nothing came back.
    n_used : int
        Runs that count.
    failures : tuple of Failure
        Runs that do not, each with its reason.
    n_asked : int
        Runs that were asked for; there are fewer where somebody stopped them.
    tally : Tally
        What the runs have in common, from which `consensus` makes a graph.
    """

    graph: LatentGraph
    initial_graph: LatentGraph
    scheme: Scheme
    edges: FloatArray = field(repr=False)
    hidden: FloatArray = field(repr=False)
    cycles: FloatArray = field(repr=False)
    initial_edges: FloatArray = field(repr=False)
    instability: float
    n_used: int
    failures: tuple[Failure, ...]
    n_asked: int
    tally: Tally = field(repr=False)

    @property
    def n_failed(self) -> int:
        return len(self.failures)

    @property
    def n_done(self) -> int:
        return self.n_used + self.n_failed

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason made a resample fail, the commonest first."""
        return dict(Occurrences(failure.reason for failure in self.failures).most_common())

    def consensus(self, share: float = MAJORITY) -> LatentGraph:
        """Return the graph of the edges that at least ``share`` of the runs have.

        It can hold what the graph itself lacks. Hidden nodes of the runs are the same where their
        profiles are; lengths are means over the runs that have the edge.
        """
        return self.tally.graph(share)

    def supported(self, least: float) -> LatentGraph:
        """Return the graph with its edges of at least this support; all nodes stay."""
        kept = self.edges >= least
        return LatentGraph.build(
            self.graph.names, self.graph.n_hidden, self.graph.edges[kept], self.graph.lengths[kept]
        )

    def __repr__(self) -> str:
        return (
            f"Stability({self.scheme}: {self.n_used} of {self.n_asked} runs, "
            f"instability {self.instability:.2f})"
        )


def stability(
    table: Observations | DistanceMatrix,
    settings: LearnSettings | None = None,
    *,
    metric: Metric = "auto",
    scheme: Scheme | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    block: int | None = None,
    share: float = SHARE,
    result: LearnResult | None = None,
    progress: Progress | None = None,
    n_threads: int | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> Stability:
    """Say how much of a learned graph comes back when the data are drawn again."""
    steps = iter_stability(
        table, settings, metric=metric, scheme=scheme, n_resamples=n_resamples, seed=seed,
        block=block, share=share, result=result, progress=progress, n_threads=n_threads,
        engine=engine, scheduler=scheduler,
    )  # fmt: skip
    (found,) = deque(steps, maxlen=1)  # it yields or raises
    return found


def iter_stability(
    table: Observations | DistanceMatrix,
    settings: LearnSettings | None = None,
    *,
    metric: Metric = "auto",
    scheme: Scheme | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    block: int | None = None,
    share: float = SHARE,
    result: LearnResult | None = None,
    progress: Progress | None = None,
    n_threads: int | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> Generator[Stability, None, None]:
    """Yield the support after each resample that could be learned.

    Whoever stops here keeps what was yielded last. Where no resample at all could be learned, the
    end is a `DataError` with the commonest reason.
    """
    if n_resamples < 2:
        raise ThresholdError(
            Remedy("setting", "n_resamples", n_resamples), " is too few; give at least 2, as 50."
        )
    if scheme is None:
        scheme = "bootstrap" if isinstance(table, Observations) else "noise"
    check_scheme(scheme, table)
    D = table if isinstance(table, DistanceMatrix) else information_distances(table, metric)
    chosen = LearnSettings(default_thresholds(D)) if settings is None else settings
    reference = learn(D, chosen, trace=False) if result is None else result
    draw = _resampler(table, D, metric, scheme, block, share)
    is_tree = chosen.thresholds.r >= D.r_max
    initial, known = reference.initial_graph, Reference.of(reference.graph)
    run = _Run(is_tree, chosen, scheme, draw, seed, initial, known)
    count = _Count(reference, scheme, n_resamples)
    return _iterate(run, count, n_resamples, progress, runner(engine, scheduler, n_threads))


def _iterate(
    run: _Run,
    count: _Count,
    n_resamples: int,
    progress: Progress | None,
    running: AbstractContextManager[Runner],
) -> Generator[Stability, None, None]:
    """Count the resamples in their order, whoever has learned them."""

    def report(*_: int) -> None:
        if progress is not None:
            progress(count.n_done, n_resamples)

    with running as on, one_thread():
        for outcome in in_order(on(_learn_again, run, range(n_resamples), report)):
            count.add(outcome)
            report()
            if count.n_used:
                yield count.so_far()
    if not count.n_used:
        reason = next(iter(Occurrences(f.reason for f in count.failures)))
        raise DataError(f"none of {n_resamples} resamples could be learned: ", reason)


def _resampler(
    table: Observations | DistanceMatrix,
    D: DistanceMatrix,
    metric: Metric,
    scheme: Scheme,
    block: int | None,
    share: float,
) -> Resampler:
    if scheme == "noise":
        return shaken_distances(D)
    if scheme == "orders" or not isinstance(table, Observations):
        return same_distances(D)
    obs = table if table.names == D.names else table.select(D.names)
    if scheme == "blocks":
        return block_bootstrapped_rows(obs, metric, block)
    if scheme == "subsample":
        return subsampled_rows(obs, metric, share)
    return bootstrapped_rows(obs, metric)


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """What one resample says."""

    graph: LatentGraph
    found: Found
    initial_edges: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What every resample reads: how it is drawn, learned, and compared with the reference."""

    is_tree: bool
    settings: LearnSettings
    scheme: Scheme
    draw: Resampler
    seed: int
    initial: LatentGraph
    reference: Reference

    def settings_for(self, D: DistanceMatrix, rng: np.random.Generator) -> LearnSettings:
        settings = self.settings
        if self.is_tree:
            r = max(settings.thresholds.r, D.r_max)
            settings = replace(settings, thresholds=replace(settings.thresholds, r=r))
        if self.scheme == "orders":
            settings = replace(settings, order="random", seed=int(rng.integers(2**31)))
        return settings


def _learn_again(run: _Run, number: int, check: Check) -> _Learned | str:
    """Return what the resample says, or why it says nothing."""
    rng = np.random.default_rng([run.seed, number])
    try:
        D = run.draw(rng)
        learned = learn(D, run.settings_for(D, rng), trace=False, progress=check)
        return _Learned(
            learned.graph,
            found_again(run.reference, learned.graph),
            edges_found(run.initial, learned.initial_graph),
        )
    except LoopyLatentError as error:
        return str(error)


class _Count:
    """Sums over the resamples so far."""

    def __init__(self, reference: LearnResult, scheme: Scheme, n_asked: int) -> None:
        self._reference = reference
        self._scheme = scheme
        self._n_asked = n_asked
        graph = reference.graph
        self._edges = np.zeros(graph.n_edges)
        self._hidden = np.zeros(graph.n_hidden)
        self._cycles = np.zeros(len(graph.cycles))
        self._initial = np.zeros(reference.initial_graph.n_edges)
        self._agreement = 0.0
        self._counter = Counter(graph.names)
        self.n_used = 0
        self.failures: list[Failure] = []

    @property
    def n_done(self) -> int:
        return self.n_used + len(self.failures)

    def add(self, outcome: _Learned | str) -> None:
        if isinstance(outcome, str):
            self.failures.append(Failure(self.n_done, outcome))
            return
        self._edges += outcome.found.edges
        self._hidden += outcome.found.hidden
        self._cycles += outcome.found.cycles
        self._initial += outcome.initial_edges
        self._agreement += outcome.found.agreement
        self._counter.add(outcome.graph)
        self.n_used += 1

    def so_far(self) -> Stability:
        return Stability(
            graph=self._reference.graph,
            initial_graph=self._reference.initial_graph,
            scheme=self._scheme,
            edges=self._share(self._edges),
            hidden=self._share(self._hidden),
            cycles=self._share(self._cycles),
            initial_edges=self._share(self._initial),
            instability=1 - self._agreement / self.n_used,
            n_used=self.n_used,
            failures=tuple(self.failures),
            n_asked=self._n_asked,
            tally=self._counter.tally(),
        )

    def _share(self, total: FloatArray) -> FloatArray:
        return frozen_array(total / self.n_used, np.float64)
