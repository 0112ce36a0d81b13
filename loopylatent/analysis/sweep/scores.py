"""Predictive accuracy of graphs on held-out rows (section 6.1)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from loopylatent.analysis.sweep.points import halving_order, iter_points
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import Check, Progress, check_share
from loopylatent.compute.workers import OnThreads, Runner
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.scores import Scores
from loopylatent.learning.initial_graph import EdgeDensity, edge_density
from loopylatent.learning.learner import learn
from loopylatent.learning.refinement import refine
from loopylatent.learning.regularized import learn_regularized
from loopylatent.settings import FitSettings, Goal, LearnSettings
from loopylatent.tables.observations import Observations

TEST_SHARE = 0.3
"""Default share of held-out rows."""


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows with their distances, and held-out rows."""

    train: Observations = field(repr=False)
    test: Observations = field(repr=False)
    D: DistanceMatrix = field(repr=False)
    curve: EdgeDensity = field(repr=False)
    seed: int

    @classmethod
    def of(
        cls, obs: Observations, D: DistanceMatrix, test_share: float = TEST_SHARE, seed: int = 0
    ) -> Split:
        """Split the rows behind ``D`` at random."""
        if D.metric == "given":
            raise DataError(
                "Held-out scores need distances computed from the table; these are precomputed."
            )
        check_share("test_share", test_share, f"; such as {TEST_SHARE}")
        n_test = round(test_share * obs.n_rows)
        if n_test in (0, obs.n_rows):
            raise DataError(
                f"A share of {test_share:g} of {obs.n_rows} rows leaves none to "
                f"{'score on' if n_test == 0 else 'learn from'}; choose another share."
            )
        chosen = obs.select(list(D.names))
        order = np.random.default_rng(seed).permutation(obs.n_rows)
        train = chosen.take(np.sort(order[n_test:])).usable()
        own = information_distances(train, D.metric)
        return cls(train, chosen.take(np.sort(order[:n_test])), own, edge_density(own), seed)

    @property
    def digest(self) -> str:
        """Identifies everything that scores depend on except the settings."""
        return f"{self.train.digest} {self.test.digest} {self.D.digest} {self.seed}"

    @property
    def n_train(self) -> float:
        """The number of training rows, or the sum of their weights."""
        weights = self.train.weights
        return float(self.train.n_rows if weights is None else weights.sum())


@dataclass(frozen=True, slots=True, repr=False)
class PointScores:
    """Scores of a graph on training and held-out rows.

    Higher is better, except for the perplexities in ``test``. Gaussian models are scored on
    standardised columns.
    """

    settings: LearnSettings
    """Settings of the learner."""
    graph: LatentGraph
    """The graph learned from the training rows."""
    test: Scores
    """Scores on the held-out rows."""
    n_train: float
    """The number of training rows, or the sum of their weights."""
    converged: bool
    """Whether the fit converged."""
    seconds: float = field(compare=False)
    """Time of fit and scoring."""

    def __repr__(self) -> str:
        short = self.settings.thresholds.in_short
        return f"PointScores({short}, train {self.train_row:.4g}, test {self.test_row:.4g} a row)"

    @property
    def is_exact(self) -> bool:
        return self.test.method == "exact"

    @property
    def train_log_likelihood(self) -> float:
        """The log-likelihood of all training rows."""
        return self.test.train_bic + 0.5 * self.test.df * math.log(self.n_train)

    @property
    def train_row(self) -> float:
        """The mean log-likelihood of a training row."""
        return self.train_log_likelihood / self.n_train

    @property
    def bic_row(self) -> float:
        """BIC on the training rows, per row."""
        return self.test.train_bic / self.n_train

    @property
    def test_row(self) -> float:
        """The mean log-likelihood of a held-out row."""
        return self.test.log_likelihood / self.test.n_samples


@dataclass(frozen=True, slots=True)
class Failed:
    """A setting that could not be scored."""

    settings: LearnSettings
    reason: str


Scored = PointScores | Failed


@dataclass(frozen=True, slots=True)
class ScoreKey:
    """Cache key of the scores of a setting."""

    split: str
    """Digest."""
    settings: LearnSettings
    fit: FitSettings = FitSettings()  # noqa: RUF009  (frozen)


def iter_scores(
    split: Split,
    settings: Sequence[LearnSettings],
    *,
    fit: FitSettings | None = None,
    known: ResultCache | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    run: Runner | None = None,
) -> Iterator[Scored]:
    """Yield the scores of each setting when computed; equal graphs are fitted once."""
    # by bisection, so that the first few already show the curve
    fit = fit or FitSettings()
    known = ResultCache() if known is None else known
    possible = []
    for one in dict.fromkeys(settings):
        scored = known.get(ScoreKey(split.digest, one, fit))
        if scored is not None:
            yield scored
        elif one.thresholds.r >= split.D.smallest:
            possible.append(one)
        else:
            reason = (
                f"r = {one.thresholds.r:.4g} is below the smallest distance in the training rows, "
                f"{split.D.smallest:.4g}"
            )
            yield _kept(known, split, fit, Failed(one, reason))
    pulse = None if progress is None else lambda *_: progress(0, len(possible))
    points = iter_points(
        split.D, possible, curve=split.curve, known=known, progress=pulse, threads=threads, run=run
    )
    graphs = {point.settings: point.graph for point in points}
    sharing: dict[LatentGraph, list[LearnSettings]] = {}
    for k in halving_order(len(possible)):
        sharing.setdefault(graphs[possible[k]], []).append(possible[k])
    new_graphs = []
    for graph, same in sharing.items():
        scored = known.get(_fitted_key(split, graph, fit))
        if scored is None:
            new_graphs.append(graph)
            continue
        for one in same:
            yield _kept(known, split, fit, replace(scored, settings=one))
    tasks = [(graph, sharing[graph][0]) for graph in new_graphs]
    rows = _Rows(split.train, split.test, split.n_train, split.seed, fit)
    with one_thread():
        for k, first in (run or OnThreads(threads))(_scored, rows, tasks, progress):
            known.put(_fitted_key(split, new_graphs[k], fit), first)
            for one in sharing[new_graphs[k]]:
                yield _kept(known, split, fit, replace(first, settings=one))


def _fitted_key(split: Split, graph: LatentGraph, fit: FitSettings) -> tuple[Hashable, ...]:
    return ("fitted", split.digest, graph.digest, fit)


def _kept(known: ResultCache, split: Split, fit: FitSettings, scored: Scored) -> Scored:
    known.put(ScoreKey(split.digest, scored.settings, fit), scored)
    return scored


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    train: Observations
    test: Observations
    n_train: float
    seed: int
    fit: FitSettings


def _scored(rows: _Rows, task: tuple[LatentGraph, LearnSettings], check: Check) -> Scored:
    began = perf_counter()
    graph, settings = task
    try:
        model = fit_parameters(graph, rows.train, rows.fit, check)
        check(0, 0)
        test = model.scores(rows.test, seed=rows.seed)
    except LoopyLatentError as error:
        return Failed(settings, str(error))
    seconds = perf_counter() - began
    return PointScores(settings, graph, test, rows.n_train, model.converged, seconds)


def refined_scores(
    split: Split,
    settings: LearnSettings,
    goal: Goal = "structure",
    *,
    progress: Progress | None = None,
) -> Scored:
    """Learn a graph from the training rows, refine it by likelihood, and score it.

    ``progress`` is called with the moves tried and known so far, and may raise to stop.
    """
    began = perf_counter()
    try:
        start = split.curve.graph_at(settings.thresholds.r)
        graph = learn(split.D, settings, start=start, trace=False, progress=progress).graph
        model = refine(graph, split.train, goal, evidence=False, progress=progress).model
        test = model.scores(split.test, seed=split.seed)
    except LoopyLatentError as error:
        return Failed(settings, str(error))
    seconds = perf_counter() - began
    return PointScores(settings, model.graph, test, split.n_train, model.converged, seconds)


@dataclass(frozen=True, slots=True)
class ComparedScores:
    """Scores per row, higher is better; ``held_out`` on held-out rows, the others on all rows."""

    log_likelihood: float
    bic: float
    df: int
    is_exact: bool
    held_out: float
    n_held_out: int


def compared_scores(
    graph: LatentGraph,
    obs: Observations,
    D: DistanceMatrix,
    settings: LearnSettings,
    *,
    regularize: bool = False,
    split: Split | None = None,
    progress: Progress | None = None,
) -> ComparedScores | str:
    """Score a graph and its setting; return the reason as text if that fails."""
    try:
        rows = obs.select(list(D.names))
        model = fit_parameters(graph, rows, progress=progress)
        parts = Split.of(obs, D) if split is None else split
        own = parts.train
        if regularize:
            again = learn_regularized(parts.D, own, settings, progress=progress).graph
        else:
            again = learn(parts.D, settings, trace=False, progress=progress).graph
        held_out = fit_parameters(again, own, progress=progress)
        test = held_out.scores(parts.test, seed=parts.seed)
    except LoopyLatentError as error:
        return str(error)
    return ComparedScores(
        model.train_log_likelihood / model.n_samples,
        model.train_bic / model.n_samples,
        model.df,
        model.is_exact and held_out.is_exact,
        test.log_likelihood / test.n_samples,
        round(test.n_samples),
    )
