"""Everything that a report says about a learned graph, computed once.

Nothing in a report is worth losing the rest for: what cannot be computed for these data is
`Skipped`, with the reason in a sentence.

What a report says: every symbol and every number explained in plain words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from loopylatent.analysis.stability.groups import Groups, communities, groups
from loopylatent.analysis.stability.loop_test import LoopTest, loop_test
from loopylatent.analysis.stability.runs import N_RESAMPLES, Stability, stability
from loopylatent.analysis.sweep.scores import Split
from loopylatent.compute.arrays import Progress
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError, LoopyLatentError, Remedy
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.exporting.report import findings as words
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.inference.scores import Scores
from loopylatent.learning.initial_graph import EdgeDensity, edge_density
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.learning.regularized import RegularizedResult
from loopylatent.tables.observations import Observations

T = TypeVar("T")

SHARES: Mapping[str, int] = {"fit": 25, "held_out": 25, "loops": 20, "groups": 40, "stability": 40}
"""Roughly how long each part takes beside the others, for the progress."""

FITS = ("fit", "held_out")
TYPICAL_STEPS = 100


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that a report does not hold, and why, in a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How well rows are foretold that took no part in finding and fitting a graph."""

    scores: Scores
    """Of a graph learned with the same settings from the other rows."""
    independent: Scores
    """Of the columns without any edge, fitted to the same other rows."""
    n_train: int
    n_test: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Findings:
    """What is known of a graph.

    Parameters
    ----------
    recipe : Recipe
        From which script and command are written.
    distances : DistanceMatrix
    result : LearnResult
    observations : Observations or None
    curve : EdgeDensity
    model, held_out, loops, groups, stability
        What was computed, or why it was not.
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
    """What has been computed already and need not be computed again."""

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
    """Compute everything that a report says.

    Parameters
    ----------
    recipe : Recipe
        What the graph was learned with; its script is part of the report.
    D : DistanceMatrix
    result : LearnResult
    obs : Observations, optional
        The rows; without them there are no scores.
    known : Known, optional
        What is there already. It must belong to this graph and these data.
    known_groups : mapping from column to group, optional
    n_resamples : int
        For the support of edges and hidden nodes; 0 leaves it out.
    max_hidden : int, optional
    progress : callable, optional
        Called with the work done and in all, as shares; may raise to stop.

    Returns
    -------
    Findings

    Examples
    --------
    >>> from loopylatent.distances import information_distances
    >>> from loopylatent.samples import load_sample
    >>> recipe = Recipe(source="sample:latent_cycle", source_kind="sample", r=4, Lambda=0, tau=0.1)
    >>> obs = load_sample("latent_cycle").observations
    >>> D = information_distances(obs)
    >>> findings = examine(recipe, D, learn(D, recipe.settings), obs, n_resamples=2)
    >>> findings.model.is_exact, findings.stability.n_used
    (True, 2)
    """
    _check_graph(recipe, D, result)
    known = known or Known()
    rows = None if obs is None else obs.select(list(D.names))
    steps = _Progress(progress)
    curve = known.curve if known.curve is not None else edge_density(D)
    findings = Findings(
        recipe=recipe,
        distances=D,
        result=result,
        observations=rows,
        curve=curve,
        model=_or_reason(lambda: _model(result, rows, known, steps.part("fit"))),
        held_out=_or_reason(lambda: _held_out(recipe, D, rows, steps.part("held_out"))),
        loops=_or_reason(lambda: _loops(recipe, D, steps.part("loops"))),
        groups=_groups(recipe, D, result.graph, rows, known, steps.part("groups")),
        stability=_or_reason(
            lambda: _support(recipe, D, result, rows, known, n_resamples, steps.part("stability"))
        ),
        known_groups=known_groups,
        max_hidden=max_hidden,
    )
    steps.finish()
    return findings


def _check_graph(recipe: Recipe, D: DistanceMatrix, result: LearnResult) -> None:
    if result.data_digest != D.digest:
        raise DataError("the graph was not learned from these distances; learn it again.")
    if result.settings != recipe.settings:
        raise DataError(
            "the graph was learned with other settings than those of the recipe, whose script "
            "would give another graph; learn it with ",
            Remedy("call", "recipe.settings"),
            ".",
        )


def _or_reason(compute: Callable[[], T | Skipped]) -> T | Skipped:
    try:
        return compute()
    except LoopyLatentError as error:
        return Skipped(sentence(str(error)))


def sentence(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


def _model(
    result: LearnResult, obs: Observations | None, known: Known, progress: Progress
) -> Model | Skipped:
    if known.model is not None:
        return known.model
    if isinstance(result, RegularizedResult) and result.model is not None:
        return result.model
    if obs is None:
        return Skipped(words.NO_ROWS)
    return fit_parameters(result.graph, obs, progress=progress)


def _held_out(
    recipe: Recipe, D: DistanceMatrix, obs: Observations | None, progress: Progress
) -> HeldOut | Skipped:
    if obs is None:
        return Skipped(words.NO_ROWS)
    if recipe.regularize != "none":
        return Skipped(words.NO_HELD_OUT_BIC)
    split = Split.of(obs, D, seed=recipe.seed)
    graph = learn(split.D, recipe.settings, trace=False).graph
    model = fit_parameters(graph, split.train, progress=progress)
    no_edges = LatentGraph.build(graph.names, 0, np.zeros((0, 2), dtype=np.int64))
    return HeldOut(
        model.scores(split.test, seed=recipe.seed),
        fit_parameters(no_edges, split.train).scores(split.test, seed=recipe.seed),
        split.train.n_rows,
        split.test.n_rows,
    )


def _loops(recipe: Recipe, D: DistanceMatrix, progress: Progress) -> LoopTest | Skipped:
    if recipe.r >= D.r_max:
        return Skipped(words.TREE)
    return loop_test(D, recipe.r, seed=recipe.seed, progress=progress)


def _groups(
    recipe: Recipe,
    D: DistanceMatrix,
    graph: LatentGraph,
    obs: Observations | None,
    known: Known,
    progress: Progress,
) -> Groups:
    """Consensus groups, or those of this graph alone where resampling is not possible."""
    if known.groups is not None:
        return known.groups
    table = D if obs is None else obs
    try:
        return groups(table, metric=recipe.metric, seed=recipe.seed, progress=progress)
    except LoopyLatentError:
        return communities(graph, recipe.seed)


def _support(
    recipe: Recipe,
    D: DistanceMatrix,
    result: LearnResult,
    obs: Observations | None,
    known: Known,
    n_resamples: int,
    progress: Progress,
) -> Stability | Skipped:
    if known.stability is not None:
        return known.stability
    if n_resamples == 0:
        return Skipped(words.NOT_WANTED)
    if recipe.regularize != "none":
        return Skipped(words.NO_STABILITY_BIC)
    return stability(
        D if obs is None else obs,
        recipe.settings,
        metric=recipe.metric,
        n_resamples=n_resamples,
        seed=recipe.seed,
        result=result,
        progress=progress,
    )


def part_at(done: int) -> str:
    """Say in words which part of the work comes after ``done``, as reported to ``progress``.

    Examples
    --------
    >>> part_at(0), part_at(sum(SHARES.values()))
    ('fitting probabilities', 'learning again on resampled data')
    """
    name = "fit"
    for name, share in SHARES.items():  # noqa: B007
        if done < share:
            break
        done -= share
    return words.PARTS[name]


class _Progress:
    """One count over all parts, each of which counts for itself."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def part(self, name: str) -> Progress:
        names = list(SHARES)
        before = sum(SHARES[other] for other in names[: names.index(name)])

        def report(done: int, total: int) -> None:
            if self._progress is not None:
                # a fit mostly ends long before the most steps that it may take
                most = done + TYPICAL_STEPS if name in FITS else max(total, 1)
                inside = SHARES[name] * min(done, most) // most
                self._progress(before + inside, sum(SHARES.values()))

        report(0, 1)
        return report

    def finish(self) -> None:
        if self._progress is not None:
            self._progress(sum(SHARES.values()), sum(SHARES.values()))


R = (
    "The radius. The columns nearer than r to a column form its ball, and each ball is joined by "
    "its shortest tree. From r max on that is one tree of everything; a smaller r leaves the "
    "trees local, so that their union can close into loops."
)
LAMBDA = (
    "The margin. Four columns vote on who belongs with whom; Λ says by how much a vote must win to "
    "count."
)
TAU = "The shortest edge. A hidden node nearer than τ to a neighbour was merged with it."
NO_PART = "It plays no part in this method."
OWN_TAU = "This method has a shortest edge of its own, 0.105, in its place."
METHODS: Mapping[str, str] = {
    "quartet": "Columns are joined by votes of four (quartet tests).",
    "relaxed": "Columns are joined into families whose distances to the others differ alike.",
    "nj": "Columns are joined by neighbor joining.",
}
ORDERS: Mapping[str, str] = {
    "degree": "The best connected columns were visited first.",
    "index": "Columns were visited in their order in the table.",
    "random": "Columns were visited at random, by the seed.",
}
SEED = "The beginning of all random numbers; the same seed gives the same graph."
BIC = (
    "A hidden node was kept only where it raised the likelihood by more than its parameters cost "
    "(Bayesian information criterion)."
)
NO_BIC = "Hidden nodes did not have to pay for their parameters."
METRICS: Mapping[str, str] = {
    "correlation": "−log |correlation| of two columns.",
    "rank": "−log |rank correlation| of two columns.",
    "determinant": "−log of the normalised determinant of the joint table of two columns.",
    "determinant-printed": "−log of the determinant of the joint table, as printed in the paper.",
    "canonical": "−log of the largest canonical correlation of two columns.",
    "given": "The distances were given; they were not estimated from rows.",
}
DISTANCE = (
    "0 where one column determines the other, 0.7 at a correlation of 0.5, 2.3 at 0.1, infinite "
    "where two columns look independent."
)
NOT_ADDITIVE = (
    "These distances do not add up along paths, as the method assumes: read lengths with care."
)
R_MIN = "Below this radius some column is alone in its ball."
R_MAX = "The largest distance; from here on the graph is a tree."
NOISE_FLOOR = "A longer distance cannot be told from independence with so many rows."
BEYOND_NOISE = (
    "r = {r:.3g} lies beyond the noise floor ({floor:.3g}): balls of this size hold distances that "
    "{n:,} rows cannot tell from independence."
)
STUCK = (
    "In {stuck} of {visits} visits the votes contradicted each other and no pair could be joined; "
    "a larger Λ leaves fewer of those."
)
CAPPED = "In {n} visits only the nearest outsiders were asked."
STRENGTH = "Strength is e to the −distance: 1 is the same, 0 is independent."

NO_ROWS = "There are only distances and no rows, so probabilities cannot be fitted."
NO_HELD_OUT_BIC = (
    "Scores on rows kept apart would repeat the whole search for hidden nodes that pay; "
    "the command “score” does that."
)
NO_STABILITY_BIC = (
    "Support was not computed: it would repeat the whole search for hidden nodes that pay on "
    "every resample."
)
NOT_WANTED = "Not asked for."
TREE = "The graph was learned at r max, where it is a tree; there are no loops to test."
SPARSE = "The test draws Gaussian tables; do not trust it on columns that are rarely on."
LOOP_SETTINGS = "All graphs of the test are learned with Λ and τ by the default rule."

SCHEMES: Mapping[str, str] = {
    "bootstrap": "rows drawn again with replacement",
    "blocks": "runs of neighbouring rows drawn again",
    "subsample": "random parts of the rows",
    "noise": "correlations shaken by their standard error",
    "orders": "the same data visited in random orders",
}
SUPPORT = (
    "Support is the share of the runs in which a part is found again. It is no probability: the "
    "table says how much of what had such a support was true on graphs whose truth is known."
)
INSTABILITY = (
    "Instability is 1 minus the mean share of edges that a run and this graph have in common: 0 is "
    "always the same, 1 is nothing in common."
)
GROUPS = "Columns that stay together when the graph is learned again on {n} resamples."
ONE_GRAPH = "Communities of this graph alone, which move with every resample."
AGREEMENT = "Agreement with the known groups: {value:.2f} (1 is equal, 0 is chance)."
TOPICS = (
    "A hidden node is a variable that nobody measured. It is known by the columns nearest to it "
    "along the graph; the number behind each is the strength of the path."
)
SAME_GRAPH = (
    "The script gives the graph of this report, bit for bit; its digest is {digest}. It reads the "
    "data from the folder in which it runs."
)
PARTS: Mapping[str, str] = {
    "fit": "fitting probabilities",
    "held_out": "scoring rows kept apart",
    "loops": "testing the loops",
    "groups": "grouping on resampled data",
    "stability": "learning again on resampled data",
}
EXACT = "exact"
APPROXIMATE = "approximate, by loopy belief propagation"
