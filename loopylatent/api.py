"""The public functions that choose defaults: learn, export, stability."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from loopylatent.analysis.stability.resampling import SHARE, Resampling, Scheme
from loopylatent.analysis.stability.runs import N_RESAMPLES, Stability, stability as run_stability
from loopylatent.compute.values import Progress, check_choice, wrong_type
from loopylatent.compute.workers import Engine
from loopylatent.distances.matrix import DistanceMatrix, Metric, information_distances
from loopylatent.distances.sparse import Distances, SparseDistances
from loopylatent.errors import DataError, Remedy, ThresholdError
from loopylatent.exporting.graph_files import (
    NO_EXTRAS,
    Extras,
    export as export_graph,
    provenance,
)
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import settings_for
from loopylatent.learning.learner import LearnResult, learn as run_learner
from loopylatent.learning.refinement import OnRound, RefinedResult, refine_best, start_settings
from loopylatent.learning.regularized import TAUS, learn_regularized
from loopylatent.settings import READS, Goal, Method, Order
from loopylatent.tables.observations import Observations, check_observations


def learn(
    D: Distances,
    r: float | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    method: Method | None = None,
    order: Order = "degree",
    seed: int = 0,
    start: LatentGraph | None = None,
    trace: bool = True,
    progress: Progress | None = None,
    obs: Observations | None = None,
    regularize: Literal["bic"] | None = None,
    max_hidden: int | None = None,
    refine: Goal | None = None,
    on_round: OnRound | None = None,
) -> LearnResult:
    """Learn a graph with hidden nodes and cycles from distances.

    Parameters
    ----------
    D : DistanceMatrix or SparseDistances
    r, Lambda, tau : float, optional
        The thresholds of the paper; omitted ones come from ``default_thresholds(D)``.
    method : {"quartet", "relaxed", "nj"}, optional
        How the local latent tree of a neighbourhood is built: by quartet tests (the default), by
        relaxed grouping (ignores Lambda and tau), or by neighbor joining (ignores Lambda).
    order : {"degree", "index", "random"}
        The order of the visits. On noisy data the result depends on it.
    seed : int
        For the random order and the random starts of relaxed grouping.
    start : LatentGraph, optional
        The initial graph at ``r``, if already computed (``edge_density(D).graph_at(r)``).
    trace : bool
        Whether to record every step.
    progress : callable, optional
        Called with the number of visits done and in total; with ``regularize``, of replacements
        tried and known.
    obs : Observations, optional
        The rows behind the distances; used only with ``regularize`` and ``refine``.
    regularize : {"bic"}, optional
        Keep a hidden node only if it improves the BIC (Bayesian information criterion) of the
        fitted model. The result is a ``RegularizedResult``; an omitted tau is chosen among 0.1,
        0.2 and 0.4 by the same criterion.
    max_hidden : int, optional
        With ``regularize``, the maximum number of hidden nodes.
    refine : {"structure", "prediction"}, optional
        Improve the learned graph by moves that raise the likelihood of the whole model, as in
        `refine`. The result is a ``RefinedResult``. Unless r is given, graphs are learned at r_max
        and at the loop radius; unless a method is given, with all three; the search starts from
        the one with the best score.
    on_round : callable, optional
        With ``refine``, called after each round of the search with the best graph so far.

    Returns
    -------
    LearnResult

    Examples
    --------
    A star: three columns with one hidden common cause.

    >>> import numpy as np
    >>> D = DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], ["a", "b", "c"])
    >>> result = learn(D, r=3, Lambda=0, tau=0.1)
    >>> result.graph
    LatentGraph(3 observed, 1 hidden, 3 edges, 0 cycles)
    >>> result.graph.lengths.round(3).tolist()
    [0.9, 1.1, 1.3]
    """
    if regularize not in (None, "bic"):
        raise ThresholdError(f"Unknown regularize = {regularize!r}. Use 'bic' or None.")
    if regularize is None and max_hidden is not None:
        raise ThresholdError("max_hidden needs ", Remedy("bic"), ". Add it, or omit max_hidden.")
    if refine is not None:
        check_choice("refine", refine, get_args(Goal))
    how: dict[str, Any] = {"order": order, "seed": seed}
    settings = settings_for(D, r, Lambda, tau, method=method or "quartet", **how)
    if regularize is not None:
        rows = _rows_for(Remedy("bic"), Remedy("rows_for_bic"), obs)
        taus = TAUS if tau is None and "tau" in READS[settings.method] else None
        dense = _all_distances(Remedy("bic"), D)
        found: LearnResult = learn_regularized(
            dense, rows, settings, max_hidden, progress, taus=taus, start=start
        )
        learned = [found if trace else replace(found, trace=None)]
    elif refine is None:
        return run_learner(D, settings, start=start, trace=trace, progress=progress)
    else:
        rows = _rows_for(Remedy("refine"), Remedy("rows_for_refine"), obs)
        dense = _all_distances(Remedy("refine"), D)
        starts = start_settings(dense, r, Lambda, tau, method=method, **how)
        learned = [run_learner(dense, one, start=start, trace=trace) for one in starts]
    if refine is None:
        return learned[0]
    refined = refine_best(
        [one.graph for one in learned], rows, refine, progress=progress, on_round=on_round
    )
    return RefinedResult.of(learned[refined.start], refined)


def _rows_for(what: Remedy, remedy: Remedy, obs: Observations | None) -> Observations:
    if obs is None:
        raise DataError(what, " needs the rows behind the distances; ", remedy, ".")
    check_observations(obs)
    return obs


def _all_distances(what: Remedy, D: Distances) -> DistanceMatrix:
    if isinstance(D, SparseDistances):
        use = Remedy("call", "information_distances")
        raise DataError(what, " needs all distances; use ", use, ".")
    return D


def export(
    result: LearnResult,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    extras: Extras = NO_EXTRAS,
) -> Path:
    """Write a learned graph to a file, with version, settings and data digest in it.

    Parameters
    ----------
    result : LearnResult
    path : path
        Its extension sets the format: .graphml, .gexf, .json, .csv (edges), .nodes.csv, .html.
    format : str, optional
        The format (an extension without the dot), if the path has another extension.
    extras : Extras
        Positions, groups, signs and names of hidden nodes to be written.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> D = DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], ["a", "b", "c"])
    >>> result = learn(D, r=3, Lambda=0, tau=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = export(result, Path(folder) / "graph.csv")
    ...     for line in file.read_text(encoding="utf-8").splitlines():
    ...         print(*line.split(",")[2:4])
    "source_name" "target_name"
    "a" "h1"
    "b" "h1"
    "c" "h1"
    """
    if not isinstance(result, LearnResult):
        raise DataError(*wrong_type("a LearnResult", result, "learn(D)"))
    if isinstance(result, RefinedResult) and extras.evidence is None:
        extras = replace(extras, evidence=result.evidence)
    return export_graph(
        result.graph, path, provenance=provenance(result), format=format, extras=extras
    )


def stability(
    table: Observations | DistanceMatrix,
    r: float | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    method: Method = "quartet",
    order: Order = "degree",
    metric: Metric = "auto",
    scheme: Scheme | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    block: int | None = None,
    share: float = SHARE,
    progress: Progress | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> Stability:
    """Estimate how stable a learned graph is under resampling.

    Parameters
    ----------
    table : Observations or DistanceMatrix
    r, Lambda, tau : float, optional
        The thresholds; omitted ones come from ``default_thresholds``.
    method, order
        As in `learn`.
    metric : str
        As in `information_distances`.
    scheme : {"bootstrap", "blocks", "subsample", "noise", "orders"}, optional
        What is resampled: rows, blocks of rows in time order, a part of the rows without
        replacement, the sampling error of the distances, or only the order of the visits.
        Default: rows if ``table`` has them, else the distances.
    n_resamples, seed, progress, engine, scheduler
        As in `groups`; the result does not depend on the number of threads or workers.
    block : int, optional
        Rows per block; default: the cube root of the number of rows.
    share : float
        Share of the rows in a subsample.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from loopylatent.synthetic import latent_cycle
    >>> found = stability(latent_cycle(girth=8, seed=1).sample(1000), n_resamples=5)
    >>> found.n_used, found.edges.shape == (found.graph.n_edges,)
    (5, True)
    """
    D = table if isinstance(table, DistanceMatrix) else information_distances(table, metric)
    settings = settings_for(D, r, Lambda, tau, method=method, order=order, seed=seed)
    how = Resampling(metric, scheme, n_resamples, seed, block, share, engine, scheduler)
    return run_stability(table, settings, how, progress=progress)
