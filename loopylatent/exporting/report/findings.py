"""The content of a report on a learned graph: each result, or the reason why it is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import numpy as np

from loopylatent.analysis.stability.groups import Groups, communities, groups
from loopylatent.analysis.stability.loop_test import LoopTest, loop_test
from loopylatent.analysis.stability.resampling import Resampling
from loopylatent.analysis.stability.runs import N_RESAMPLES, Stability, stability
from loopylatent.analysis.sweep.scores import Split
from loopylatent.compute.values import Progress
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.exporting.project.file import Recipe
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.inference.scores import Scores
from loopylatent.learning.initial_graph import EdgeDensity, edge_density
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.learning.regularized import RegularizedResult
from loopylatent.tables.observations import Observations

T = TypeVar("T")

SHARES: Mapping[str, int] = {
    "fitting the model": 25,
    "scoring held-out rows": 25,
    "testing loops": 20,
    "grouping columns on resamples": 40,
    "computing support on resamples": 40,
}
"""Approximate relative time of each part, for the progress."""
FIT, HELD_OUT, LOOPS, GROUPS, SUPPORT = SHARES
TYPICAL_STEPS = 100
NO_ROWS = "The input has only distances and no rows, so no model can be fitted."


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part that is not in the report, with the reason as a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Scores on held-out rows."""

    scores: Scores
    """Of a graph learned and fitted with the same settings on the training rows."""
    independent: Scores
    """Of a graph without edges, fitted to the same rows."""
    n_train: int
    n_test: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Findings:
    """The content of a report on a graph.

    Parameters
    ----------
    recipe : Recipe
        Input of the script and the command.
    distances : DistanceMatrix
    result : LearnResult
    observations : Observations or None
    curve : EdgeDensity
    model, held_out, loops, groups, stability
        The result, or why it is missing.
    known_groups : mapping from column to group, optional
    max_hidden : int, optional
        The limit with which the graph was learned.
    """

    recipe: Recipe
    distances: DistanceMatrix
    result: LearnResult
    observations: Observations | None
    curve: EdgeDensity
    model: Model | Skipped
    held_out: HeldOut | Skipped
    loops: LoopTest | Skipped
    groups: Groups
    stability: Stability | Skipped
    known_groups: Mapping[str, str] | None = None
    max_hidden: int | None = None

    def __repr__(self) -> str:
        return f"Findings({self.result})"

    @property
    def graph(self) -> LatentGraph:
        return self.result.graph


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """Results that need not be recomputed."""

    curve: EdgeDensity | None = None
    model: Model | None = None
    groups: Groups | None = None
    stability: Stability | None = None


def examine(
    recipe: Recipe,
    D: DistanceMatrix,
    result: LearnResult,
    obs: Observations | None = None,
    *,
    known: Known | None = None,
    known_groups: Mapping[str, str] | None = None,
    n_resamples: int = N_RESAMPLES,
    max_hidden: int | None = None,
    progress: Progress | None = None,
) -> Findings:
    """Compute the content of a report.

    Parameters
    ----------
    recipe : Recipe
        The data and settings of the graph.
    D : DistanceMatrix
    result : LearnResult
    obs : Observations, optional
        The rows; without them there are no scores.
    known : Known, optional
        Results that were computed before, on this graph and these data.
    known_groups : mapping from column to group, optional
    n_resamples : int
        For the support of edges and hidden nodes; 0 skips it.
    max_hidden : int, optional
    progress : callable, optional
        Called with the work done and the total; may raise to stop.

    Returns
    -------
    Findings

    Examples
    --------
    >>> import loopylatent as ll
    >>> recipe = Recipe(source="sample:latent_cycle", source_kind="sample", r=4, Lambda=0, tau=0.1)
    >>> obs = ll.load_sample("latent_cycle").observations
    >>> D = ll.information_distances(obs)
    >>> findings = examine(recipe, D, learn(D, recipe.settings), obs, n_resamples=2)
    >>> findings.model.is_exact, findings.stability.n_used
    (True, 2)
    """
    if result.data_digest != D.digest:
        raise DataError("The graph was not learned from these distances. Learn it again.")
    if result.settings != recipe.settings:
        raise DataError(
            "The graph was learned with other settings than those of the recipe. Learn it again "
            "with the settings of the recipe."
        )
    known = known or Known()
    rows = None if obs is None else obs.select(list(D.names))
    work = _Work(recipe, D, result, rows, known, n_resamples, progress)
    findings = Findings(
        recipe=recipe,
        distances=D,
        result=result,
        observations=rows,
        curve=known.curve if known.curve is not None else edge_density(D),
        model=_or_reason(work.model),
        held_out=_or_reason(work.held_out),
        loops=_or_reason(work.loops),
        groups=work.groups(),
        stability=_or_reason(work.support),
        known_groups=known_groups,
        max_hidden=max_hidden,
    )
    if progress is not None:
        progress(sum(SHARES.values()), sum(SHARES.values()))
    return findings


def _or_reason(compute: Callable[[], T | Skipped]) -> T | Skipped:
    try:
        return compute()
    except LoopyLatentError as error:
        return Skipped(sentence(str(error)))


def sentence(text: str) -> str:
    """Capitalise the first letter."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The parts of `examine`, with a common progress."""

    recipe: Recipe
    D: DistanceMatrix
    result: LearnResult
    obs: Observations | None
    known: Known
    n_resamples: int
    progress: Progress | None

    def part(self, name: str) -> Progress:
        names, total = list(SHARES), sum(SHARES.values())
        before = sum(SHARES[other] for other in names[: names.index(name)])

        def report(done: int, count: int) -> None:
            if self.progress is not None:
                # a fit usually converges long before its maximum number of steps
                most = done + TYPICAL_STEPS if name in (FIT, HELD_OUT) else max(count, 1)
                self.progress(before + SHARES[name] * min(done, most) // most, total)

        report(0, 1)
        return report

    def model(self) -> Model | Skipped:
        progress, found = self.part(FIT), self.known.model
        if found is None and isinstance(self.result, RegularizedResult):
            found = self.result.model
        if found is not None:
            return found
        if self.obs is None:
            return Skipped(NO_ROWS)
        return fit_parameters(self.result.graph, self.obs, progress=progress)

    def held_out(self) -> HeldOut | Skipped:
        progress, seed = self.part(HELD_OUT), self.recipe.seed
        if self.obs is None:
            return Skipped(NO_ROWS)
        if self.recipe.regularize != "none":
            return Skipped(
                "Held-out scores were not computed: with a BIC penalty they would repeat the whole "
                "search for hidden nodes. The command “score” does that."
            )
        split = Split.of(self.obs, self.D, seed=seed)
        graph = learn(split.D, self.recipe.settings, trace=False).graph
        no_edges = LatentGraph.build(graph.names, 0, np.zeros((0, 2), dtype=np.int64))
        return HeldOut(
            fit_parameters(graph, split.train, progress=progress).scores(split.test, seed=seed),
            fit_parameters(no_edges, split.train).scores(split.test, seed=seed),
            split.train.n_rows,
            split.test.n_rows,
        )

    def loops(self) -> LoopTest | Skipped:
        progress = self.part(LOOPS)
        if self.recipe.r >= self.D.r_max:
            return Skipped("At r max the graph is a tree, so there are no loops to test.")
        return loop_test(self.D, self.recipe.r, seed=self.recipe.seed, progress=progress)

    def groups(self) -> Groups:
        """Groups over resamples, or those of this graph if resampling is not possible."""
        progress, recipe = self.part(GROUPS), self.recipe
        if self.known.groups is not None:
            return self.known.groups
        table = self.D if self.obs is None else self.obs
        try:
            return groups(table, metric=recipe.metric, seed=recipe.seed, progress=progress)
        except LoopyLatentError:
            return communities(self.result.graph, recipe.seed)

    def support(self) -> Stability | Skipped:
        progress, recipe = self.part(SUPPORT), self.recipe
        if self.known.stability is not None:
            return self.known.stability
        if self.n_resamples == 0:
            return Skipped("Support was not requested.")
        if recipe.regularize != "none":
            return Skipped(
                "Support was not computed: with a BIC penalty it would repeat the whole search for "
                "hidden nodes on every resample."
            )
        how = Resampling(recipe.metric, n_resamples=self.n_resamples, seed=recipe.seed)
        table = self.D if self.obs is None else self.obs
        return stability(table, recipe.settings, how, result=self.result, progress=progress)


def part_at(done: int) -> str:
    """Return the current part, from the ``done`` reported to ``progress``."""
    ends = zip(SHARES, accumulate(SHARES.values()), strict=True)
    return next((name for name, end in ends if done < end), SUPPORT)
