"""Scores of many models on the same held-out rows (section 6, Tables 1 and 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Literal

import numpy as np

from loopylatent.analysis.evaluation.lda import N_DRAWS, fit_lda
from loopylatent.analysis.evaluation.topics import topics
from loopylatent.analysis.sweep.scores import TEST_SHARE, Split
from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import Check, Progress
from loopylatent.compute.workers import as_they_finish
from loopylatent.distances.matrix import Metric, information_distances
from loopylatent.errors import DataError, LoopyLatentError, ThresholdError, did_you_mean, quoted
from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_estimate import BeliefEstimate, belief_estimate
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.learning.initial_graph import edge_density
from loopylatent.learning.learner import learn
from loopylatent.learning.refinement import refine_best, start_settings
from loopylatent.learning.regularized import learn_regularized
from loopylatent.settings import FitSettings, Goal, LearnSettings
from loopylatent.tables.observations import Observations

Kind = Literal[
    "independent", "tree", "local trees", "latent", "regularised", "refined structure",
    "refined prediction", "lda",
]  # fmt: skip
How = Literal["exact", "belief propagation", "sampling"]
REFINED: Mapping[Kind, Goal] = {
    "refined structure": "structure",
    "refined prediction": "prediction",
}
LDA_TOPICS = (10, 20, 30, 40)
SCORES = ("perp_ll", "perp_bic", "pred_perp_ll", "pred_perp_bic")


def split_by_share(
    obs: Observations, metric: Metric = "auto", share: float = TEST_SHARE, seed: int = 0
) -> Split:
    """Hold out a random share of the rows."""
    return Split.of(obs, information_distances(obs, metric), share, seed)


def split_by_column(
    obs: Observations, column: str, test: str = "test", metric: Metric = "auto", seed: int = 0
) -> Split:
    """Hold out the rows whose label ``column`` is ``test``; ``seed`` draws the predicted halves."""
    known = [str(name) for name in obs.labels.columns]
    if column not in known:
        remedy = did_you_mean(column, known) if known else "this table has none."
        raise DataError(f"There is no label column {quoted(column)}; {remedy}")
    chosen = (obs.labels[column].astype(str) == test).to_numpy(bool)
    if chosen.all() or not chosen.any():
        which = "Every" if chosen.all() else "No"
        raise DataError(
            f"{which} row has {quoted(test)} in {quoted(column)}; both training rows and held-out "
            "rows are needed."
        )
    train = obs.take(~chosen).usable()
    D = information_distances(train, metric)
    return Split(train, obs.take(chosen), D, edge_density(D), seed)


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model type to be scored, with its settings.

    Parameters
    ----------
    kind : str
        independent: no edges. tree: the minimum spanning tree, without hidden nodes (Chow-Liu by
        correlation). local trees: the initial graph, the union of the local minimum spanning
        trees. latent: the learned graph. regularised: learned with a BIC penalty on hidden nodes.
        refined structure, refined prediction: the best of six learned graphs, refined by
        likelihood for this goal, as by ``learn(refine=...)``. lda: latent Dirichlet allocation.
    settings : LearnSettings, optional
        For local trees, latent and regularised.
    n_topics : int, optional
        For LDA.
    """

    kind: Kind
    settings: LearnSettings | None = None
    n_topics: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "lda" and self.n_topics is None:
            raise ThresholdError("LDA needs a number of topics, such as 10.")
        if self.kind in ("local trees", "latent", "regularised") and self.settings is None:
            raise ThresholdError(f"Kind {self.kind!r} needs settings with thresholds.")

    @property
    def r(self) -> float:
        """The radius; NaN if there is none."""
        return math.nan if self.settings is None else self.settings.thresholds.r


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of one model: perplexities (lower is better) and the size of its graph.

    Errors and biases are 0 if the likelihood is exact. For LDA ``n_hidden`` counts topics.
    """

    contestant: Contestant
    title: str
    n_hidden: int
    n_edges: int
    n_cycles: int
    df: int
    perp_ll: float
    perp_bic: float
    pred_perp_ll: float
    pred_perp_bic: float
    method: How
    train_bic: float = math.nan
    perp_error: float = 0.0
    pred_error: float = 0.0
    perp_bias: float = 0.0
    pred_bias: float = 0.0
    top_columns: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    belief: BeliefEstimate | None = None
    graph: LatentGraph | None = field(default=None, repr=False)
    converged: bool = True
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A model that could not be scored."""

    contestant: Contestant
    reason: str


Entry = Evaluation | NotEvaluated


def contestants(
    settings: Sequence[LearnSettings],
    *,
    kinds: Sequence[Kind] = ("independent", "tree", "local trees", "latent"),
    n_topics: Sequence[int] = (),
) -> tuple[Contestant, ...]:
    """Return the models of a table of scores.

    Parameters
    ----------
    settings : sequence of LearnSettings
        One model for each of them and each kind that needs settings.
    kinds : sequence of str
        Model types; see `Contestant`.
    n_topics : sequence of int
        One LDA model for each of these numbers of topics.

    Examples
    --------
    >>> from loopylatent.settings import Thresholds
    >>> two = [LearnSettings(Thresholds(r, 0.0, 0.1)) for r in (5, 9)]
    >>> [one.kind for one in contestants(two, n_topics=[10])]
    ['independent', 'tree', 'local trees', 'local trees', 'latent', 'latent', 'lda']
    """
    found: list[Contestant] = []
    for kind in kinds:
        if kind in ("independent", "tree", *REFINED):
            found.append(Contestant(kind))
        elif kind == "local trees":
            same_r = {one.thresholds.r: one for one in reversed(settings)}
            found += [Contestant(kind, one) for _, one in sorted(same_r.items())]
        elif kind != "lda":
            found += [Contestant(kind, one) for one in settings]
    found += [Contestant("lda", None, count) for count in n_topics]
    return tuple(dict.fromkeys(found))


def iter_evaluations(
    split: Split,
    chosen: Sequence[Contestant],
    *,
    fit: FitSettings | None = None,
    belief: bool = False,
    n_draws: int = N_DRAWS,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Iterator[tuple[int, Entry]]:
    """Yield (position in ``chosen``, scores) as soon as each model is scored.

    Parameters
    ----------
    split : Split
    chosen : sequence of Contestant
    fit : FitSettings, optional
    belief : bool
        Whether to add the paper's own estimate, for discrete models; this takes longer.
    n_draws : int
        Importance samples per row for LDA's likelihood.
    progress : callable, optional
        Called with the number of models done and the total, several times a second; may raise to
        stop.
    threads : int, optional
        All cores by default. The scores do not depend on it.

    Examples
    --------
    >>> from loopylatent.settings import Thresholds
    >>> from loopylatent.synthetic import latent_cycle
    >>> split = split_by_share(latent_cycle(girth=6, seed=1).sample(500))
    >>> graphs = [LearnSettings(Thresholds(split.D.r_max, 0.05, 0.1))]
    >>> found = dict(iter_evaluations(split, contestants(graphs)))
    >>> [(found[k].title, found[k].method) for k in sorted(found)][:2]
    [('independent columns', 'exact'), ('tree without hidden nodes', 'exact')]
    """
    how = _How(split, fit or FitSettings(), belief, n_draws)
    with one_thread():
        yield from as_they_finish([partial(_entry, how, one) for one in chosen], progress, threads)


@dataclass(frozen=True, slots=True)
class _How:
    split: Split
    fit: FitSettings
    belief: bool
    n_draws: int


def _entry(how: _How, contestant: Contestant, check: Check) -> Entry:
    began = perf_counter()
    try:
        found = (_lda if contestant.kind == "lda" else _graph)(how, contestant, check)
    except LoopyLatentError as error:
        return NotEvaluated(contestant, str(error))
    return replace(found, seconds=perf_counter() - began)


def _graph(how: _How, contestant: Contestant, check: Check) -> Evaluation:
    model = _fitted(how, contestant, check)
    graph, split = model.graph, how.split
    check(0, 0)
    found = model.scores(split.test, seed=split.seed)
    estimate = None
    if how.belief and model.kind != "gaussian":
        estimate = belief_estimate(model, split.test, split.seed, check)
    return Evaluation(
        contestant, title_of(contestant, graph), graph.n_hidden, graph.n_edges, graph.n_cycles,
        **{name: getattr(found, name) for name in ("df", "train_bic", *SCORES)},
        method="exact" if found.method == "exact" else "belief propagation",
        top_columns=tuple(topic.columns for topic in topics(graph)),
        belief=estimate, graph=graph, converged=model.converged,
    )  # fmt: skip


def _fitted(how: _How, contestant: Contestant, check: Check) -> Model:
    split, settings = how.split, contestant.settings
    D, train = split.D, split.train
    if contestant.kind == "independent":
        return fit_parameters(LatentGraph.build(D.names, 0, []), train, how.fit, check)
    if contestant.kind in REFINED:
        graphs = [
            learn(
                D, one, start=split.curve.graph_at(one.thresholds.r), trace=False, progress=check
            ).graph
            for one in start_settings(D)
        ]
        goal = REFINED[contestant.kind]
        return refine_best(graphs, train, goal, evidence=False, progress=check).model
    if settings is None:
        return fit_parameters(split.curve.graph_at(D.r_max), train, how.fit, check)
    start = split.curve.graph_at(settings.thresholds.r)
    if contestant.kind == "local trees":
        return fit_parameters(start, train, how.fit, check)
    if contestant.kind == "regularised":
        found = learn_regularized(D, train, settings, progress=check, start=start)
        assert found.model is not None
        return found.model
    graph = learn(D, settings, start=start, trace=False, progress=check).graph
    return fit_parameters(graph, train, how.fit, check)


def _lda(how: _How, contestant: Contestant, check: Check) -> Evaluation:
    assert contestant.n_topics is not None
    split = how.split
    model = fit_lda(split.train, contestant.n_topics, seed=split.seed, progress=check)
    found = model.scores(split.test, n_draws=how.n_draws, seed=split.seed, progress=check)
    named = ("df", *SCORES, "perp_error", "pred_error", "perp_bias", "pred_bias")
    return Evaluation(
        contestant, title_of(contestant), model.n_topics, 0, 0, method="sampling",
        top_columns=model.top_words(), **{name: getattr(found, name) for name in named},
    )  # fmt: skip


def title_of(contestant: Contestant, graph: LatentGraph | None = None) -> str:
    """Return the name of a model for tables."""
    kind, settings = contestant.kind, contestant.settings
    if kind in TITLES:
        return TITLES[kind].format(contestant.n_topics)
    assert settings is not None
    shape = "latent graph"
    if graph is not None:
        shape = "loopy latent graph" if graph.n_cycles else "latent tree"
    method = "" if settings.method == "quartet" else f", {METHODS[settings.method]}"
    return f"{shape}{method}" + (", BIC penalty" if kind == "regularised" else "")


TITLES: Mapping[Kind, str] = {
    "independent": "independent columns",
    "tree": "tree without hidden nodes",
    "local trees": "initial graph",
    "refined structure": "refined (structure)",
    "refined prediction": "refined (prediction)",
    "lda": "LDA, {} topics",
}
METHODS = {"relaxed": "relaxed grouping", "nj": "neighbor joining"}


def best_of(found: Sequence[Entry]) -> dict[str, int]:
    """Return the position of the lowest of each score, corrected for bias."""
    rows = [k for k, one in enumerate(found) if isinstance(one, Evaluation)]
    return {name: min(rows, key=lambda k: (_value(found[k], name), k)) for name in SCORES if rows}


def _value(entry: Entry, name: str) -> float:
    value = float(getattr(entry, name))
    bias = float(getattr(entry, "perp_bias" if name.startswith("perp") else "pred_bias"))
    return value - bias if np.isfinite(value) else math.inf
