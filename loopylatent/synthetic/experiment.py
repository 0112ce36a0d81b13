"""The paper's synthetic experiment (section 6): normalised BIC over r, for several n.

The paper scores by belief propagation; here every likelihood is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from loopylatent.compute.values import Check, Progress, Range
from loopylatent.compute.workers import as_they_finish
from loopylatent.distances.matrix import information_distances
from loopylatent.errors import LoopyLatentError
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.learner import learn
from loopylatent.settings import FitSettings, LearnSettings, Method
from loopylatent.synthetic.families import latent_cycle
from loopylatent.synthetic.laboratory import FailedTrial, thresholds_of
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.tables.observations import Observations

TREE, TRUTH = "r_max", "true graph"
"""Labels in place of r: at r_max the initial graph is a tree; the true graph has no r."""
FIT = FitSettings(max_steps=100)


@dataclass(frozen=True, slots=True)
class Experiment:
    """The ring to sample and the radii to learn at, besides r_max and the true graph."""

    girth: int = 10
    leaves: int = 2
    potentials: Range = (0.05, 0.2)
    radii: tuple[float, ...] = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    rows: tuple[int, ...] = (500, 1000, 2000, 5000)
    n_repeats: int = 2
    method: Method = "quartet"
    seed: int = 0


PAPER = Experiment()
"""The paper's settings; it gives no numbers of rows, these are ours."""
STRONGER = Experiment(potentials=(0.6, 1.0), radii=(1.3, 1.6, 2.0, 2.5, 3.0))
"""The same ring with edges strong enough to be detected in a few thousand rows."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of one graph."""

    n: int
    repeat: int
    wanted: float | str
    """The radius, or `TREE`, or `TRUTH`."""
    r: float
    bic: float
    """(log-likelihood of n new rows - df/2 log n) / (n p)"""
    n_hidden: int
    n_edges: int
    n_cycles: int
    is_exact: bool


Outcome = Scored | FailedTrial


def iter_experiment(
    plan: Experiment = PAPER, *, threads: int | None = None, progress: Progress | None = None
) -> Iterator[Outcome]:
    """Run the experiment in threads; yield each score when it is ready."""
    places: tuple[float | str, ...] = (*plan.radii, TREE, TRUTH)
    sources = {}
    for n, k in product(plan.rows, range(plan.n_repeats)):
        seed = plan.seed + k
        model = latent_cycle(plan.girth, plan.leaves, potentials=plan.potentials, seed=seed)
        sources[n, k] = (model, model.sample(n, 2 * seed), model.sample(n, 2 * seed + 1))
    # the longest fits first, so that no core is idle at the end
    order = sorted(product(plan.rows, range(plan.n_repeats), places), key=lambda one: -one[0])
    tasks = [partial(_outcome, plan.method, *sources[n, k], k, where) for n, k, where in order]
    for _, found in as_they_finish(tasks, progress, threads):
        yield found


def _outcome(
    method: Method,
    source: SyntheticModel,
    train: Observations,
    test: Observations,
    repeat: int,
    where: float | str,
    check: Check,
) -> Outcome:
    check(0, 1)
    n, graph, r = train.n_rows, source.graph, math.nan
    try:
        if where != TRUTH:
            D = information_distances(train)
            thresholds = thresholds_of(D, "tree" if isinstance(where, str) else where)
            found = learn(D, LearnSettings(thresholds, method), trace=False)
            graph, r = found.graph, thresholds.r
        model = fit_parameters(graph, train, FIT, progress=check)
        log_likelihood = float(model.log_likelihood(test).sum())
    except LoopyLatentError as error:
        return FailedTrial(n, repeat, where, str(error))
    bic = (log_likelihood - 0.5 * model.df * math.log(n)) / (n * graph.n_observed)
    counts = graph.n_hidden, graph.n_edges, graph.n_cycles
    return Scored(n, repeat, where, r, bic, *counts, model.is_exact)


def experiment_table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return means over the repeats, one row per n and radius or label."""
    scored = [one for one in outcomes if isinstance(one, Scored)]
    rows = [
        (one.n, one.wanted, _rank(one.wanted), one.bic, one.n_hidden, one.n_edges, one.n_cycles)
        for one in scored
    ]
    sizes = ["hidden", "edges", "cycles"]
    groups = pd.DataFrame(rows, columns=["n", "where", "rank", "bic", *sizes]).groupby(
        ["n", "rank"]
    )
    table = groups[["bic", *sizes]].mean().reset_index()
    table["where"] = groups["where"].first().to_numpy()
    table["bic min"], table["bic max"] = (
        groups["bic"].agg(how).to_numpy() for how in ("min", "max")
    )
    table["repeats"] = groups.size().to_numpy()
    return table[["n", "where", "bic", "bic min", "bic max", *sizes, "repeats"]]


def _rank(where: float | str) -> float:
    """Sort key: radii, then r_max, then the true graph."""
    return where if isinstance(where, float) else {TREE: np.finfo(float).max}.get(where, math.inf)
