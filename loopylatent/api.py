"""The public calls: what the app, the command line and other people's scripts use.

The learner in the form of a scikit-learn estimator.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from loopylatent.analysis.stability.resampling import SHARE, Resampling, Scheme
from loopylatent.analysis.stability.runs import N_RESAMPLES, Stability, stability as run_stability
from loopylatent.compute.arrays import Progress
from loopylatent.compute.checks import not_wanted
from loopylatent.compute.cluster import Engine
from loopylatent.distances.matrix import DistanceMatrix, Metric, information_distances
from loopylatent.distances.sparse import Distances, SparseDistances
from loopylatent.errors import DataError, Remedy, ThresholdError
from loopylatent.exporting.base import NO_EXTRAS, Extras, Provenance
from loopylatent.exporting.graph_files import export as export_graph
from loopylatent.graph import LatentGraph
from loopylatent.inference.evidence import rows_like
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model, posterior_columns
from loopylatent.learning.learner import LearnResult, learn as run_learner
from loopylatent.learning.regularized import TAUS, learn_regularized
from loopylatent.learning.thresholds import default_thresholds
from loopylatent.settings import READS, LearnSettings, Method, Order, Thresholds
from loopylatent.tables.observations import Observations, check_observations


def settings_for(
    D: Distances,
    r: float | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    method: Method = "quartet",
    order: Order = "degree",
    seed: int = 0,
) -> LearnSettings:
    """Return complete settings; thresholds that are not given come from the default rule.

    Parameters
    ----------
    D : DistanceMatrix
    r, Lambda, tau : float, optional
    method, order, seed
        As in `learn`.

    Returns
    -------
    LearnSettings

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], n_samples=100)
    >>> settings_for(D, tau=0.2).thresholds
    Thresholds(r=2.4, Lambda=0.05, tau=0.2)
    """
    default = default_thresholds(D)
    thresholds = Thresholds(
        default.r if r is None else r,
        default.Lambda if Lambda is None else Lambda,
        default.tau if tau is None else tau,
    )
    return LearnSettings(thresholds, method, order, seed)


def learn(
    D: Distances,
    r: float | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    method: Method = "quartet",
    order: Order = "degree",
    seed: int = 0,
    start: LatentGraph | None = None,
    trace: bool = True,
    progress: Progress | None = None,
    obs: Observations | None = None,
    regularize: Literal["bic"] | None = None,
    max_hidden: int | None = None,
) -> LearnResult:
    """Learn a graph with hidden nodes and cycles from distances.

    Parameters
    ----------
    D : DistanceMatrix or SparseDistances
    r, Lambda, tau : float, optional
        The thresholds of the paper; those left out come from ``default_thresholds(D)``.
    method : {"quartet", "relaxed", "nj"}
        How the local latent tree of a neighbourhood is built: by quartet tests, by relaxed
        grouping (Lambda and tau play no part), or by neighbor joining (Lambda plays none).
    order : {"degree", "index", "random"}
        The order of the visits. On noisy data the result depends on it.
    seed : int
        For the random order, and for the random starts of relaxed grouping.
    start : LatentGraph, optional
        The initial graph at ``r``, where it is already known (``edge_density(D).graph_at(r)``).
    trace : bool
        Whether to keep a record of every step.
    progress : callable, optional
        Called with the visits done and the visits in all; with ``regularize`` with the
        replacements tried and those known to be tried.
    obs : Observations, optional
        The rows behind the distances; only ``regularize`` reads them.
    regularize : {"bic"}, optional
        Add hidden nodes only where the Bayesian information criterion of the fitted model pays
        for them. The result is a ``RegularizedResult``; tau, where it is not given, is chosen
        among 0.1, 0.2 and 0.4 by the same criterion.
    max_hidden : int, optional
        With ``regularize``, never more hidden nodes than this.

    Returns
    -------
    LearnResult

    Examples
    --------
    A star: three columns that are tied together by something unseen.

    >>> import numpy as np
    >>> D = DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], ["a", "b", "c"])
    >>> result = learn(D, r=3, Lambda=0, tau=0.1)
    >>> result.graph
    LatentGraph(3 observed, 1 hidden, 3 edges, 0 cycles)
    >>> result.graph.lengths.round(3).tolist()
    [0.9, 1.1, 1.3]
    """
    settings = settings_for(D, r, Lambda, tau, method=method, order=order, seed=seed)
    if regularize is None and max_hidden is not None:
        raise ThresholdError("max_hidden is for ", Remedy("bic"), "; add that, or leave it out.")
    if regularize is None:
        return run_learner(D, settings, start=start, trace=trace, progress=progress)
    if regularize != "bic":
        raise ThresholdError(f"regularize = {regularize!r} is unknown; use 'bic' or None.")
    if obs is None:
        raise DataError(
            Remedy("bic"),
            " weighs likelihoods and needs the rows behind the distances; ",
            Remedy("rows_for_bic"),
            ".",
        )
    check_observations(obs)
    if isinstance(D, SparseDistances):
        use = Remedy("call", "information_distances")
        raise DataError(Remedy("bic"), " needs all distances; use ", use, ".")
    taus = TAUS if tau is None and "tau" in READS[method] else None
    found = learn_regularized(D, obs, settings, max_hidden, progress, taus=taus, start=start)
    return found if trace else replace(found, trace=None)


def provenance(result: LearnResult) -> Provenance:
    """Return what an exported file says about where its graph came from."""
    settings = result.settings
    return Provenance.of(
        result.graph,
        settings={
            "metric": result.metric,
            "r": settings.thresholds.r,
            "Lambda": settings.thresholds.Lambda,
            "tau": settings.thresholds.tau,
            "method": settings.method,
            "order": settings.order,
            "seed": settings.seed,
        },
        data_digest=result.data_digest,
    )


def check_result(result: object) -> None:
    """Refuse what is no result of learning."""
    if not isinstance(result, LearnResult):
        raise DataError(*not_wanted("a LearnResult is", result, "learn(D)"))


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
        Its ending says the format: .graphml, .gexf, .json, .csv (edges), .nodes.csv, .html.
    format : str, optional
        One of these endings without the dot, where the path has another one.
    extras : Extras
        Positions, groups, signs and names of hidden nodes, to be written too.

    Returns
    -------
    Path
        The file.

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
    check_result(result)
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
    """Say how much of a learned graph comes back when the data are drawn again.

    Parameters
    ----------
    table : Observations or DistanceMatrix
    r, Lambda, tau : float, optional
        The thresholds; those left out come from ``default_thresholds``.
    method, order
        As in `learn`.
    metric : str
        As in `information_distances`.
    scheme : {"bootstrap", "blocks", "subsample", "noise", "orders"}, optional
        What is drawn again: rows, runs of rows in time order, a part of the rows, errors of the
        distances, or only the order of the visits. Rows where there are some.
    n_resamples, seed, progress, engine, scheduler
        As in `groups`; each run has its own generator, so threads and clusters change nothing.
    block : int, optional
        Rows in a block; the cube root of the number of rows where it is not given.
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


class LocalCLGrouping(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a graph with hidden nodes and cycles (the paper's LocalCLGrouping).

    Parameters
    ----------
    r, Lambda, tau : float, optional
        Thresholds; those left out come from ``default_thresholds``.
    method, order, seed :
        As in :func:`loopylatent.learn`.
    metric : str
        As in :func:`loopylatent.information_distances`.

    Attributes
    ----------
    graph_ : LatentGraph
    initial_graph_ : LatentGraph
    distances_ : DistanceMatrix
    result_ : LearnResult
    model_ : Model
        The graph with its parameters; fitted when it is first asked for.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(500, 1))
    >>> X = hidden + 0.5 * rng.normal(size=(500, 4))
    >>> LocalCLGrouping().fit(X).graph_.n_hidden
    1
    """

    def __init__(
        self,
        r: float | None = None,
        Lambda: float | None = None,
        tau: float | None = None,
        method: Method = "quartet",
        order: Order = "degree",
        seed: int = 0,
        metric: Metric = "auto",
    ) -> None:
        self.r = r
        self.Lambda = Lambda
        self.tau = tau
        self.method = method
        self.order = order
        self.seed = seed
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> LocalCLGrouping:  # noqa: ARG002
        """Learn the graph of the columns of X: an array, a DataFrame or Observations."""
        named = hasattr(X, "columns") or isinstance(X, Observations)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self._rows = _observations(X)
        self._model: Model | None = None
        self.distances_ = information_distances(self._rows, self.metric)
        self.result_ = learn(
            self.distances_,
            self.r,
            self.Lambda,
            self.tau,
            method=self.method,
            order=self.order,
            seed=self.seed,
        )
        self.graph_ = self.result_.graph
        self.initial_graph_ = self.result_.initial_graph
        self.n_features_in_ = self.distances_.n_columns
        if named:
            self.feature_names_in_ = np.array(self.distances_.names, dtype=object)
        return self

    @property
    def model_(self) -> Model:
        check_is_fitted(self, "graph_")
        if self._model is None:
            self._model = fit_parameters(self.graph_, self._rows)
        return self._model

    def transform(self, X: Any) -> NDArray[np.float64]:
        """(rows, hidden nodes) what each row says of each hidden node.

        The probability that it is on or, for numbers, its expectation; with K states one column
        for each state but the first. Missing values are NaN or None.
        """
        model = self.model_
        return posterior_columns(model.hidden_posteriors(rows_like(X, self._rows)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Names of the columns that ``transform`` gives: h1, h2, ..., as in the graph.

        With K states h1_1 to h1_(K-1), and so on.
        """
        hidden = self.model_.graph.labels[self.graph_.n_observed :]
        one = self._rows.take(np.arange(1))
        each = posterior_columns(self.model_.hidden_posteriors(one)).shape[1] // max(1, len(hidden))
        names = [f"{name}_{k + 1}" for name in hidden for k in range(each)]
        return np.array(list(hidden) if each == 1 else names, dtype=object)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Mean log-likelihood of the rows of X; higher is better, as model selection expects."""
        model = self.model_
        return float(np.mean(model.log_likelihood(rows_like(X, self._rows))))


def _observations(X: Any) -> Observations:
    if isinstance(X, Observations):
        return X
    try:
        return (
            Observations.from_frame(X)
            if isinstance(X, pd.DataFrame)
            else Observations.from_array(X)
        )
    except DataError as error:  # an estimator keeps its columns: it has no such setting
        left = (part for part in error.args if part != Remedy("drop_degenerate"))
        raise DataError(*left) from None
