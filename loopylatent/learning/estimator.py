"""The learner as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from loopylatent.distances.matrix import Metric, information_distances
from loopylatent.errors import DataError, Remedy
from loopylatent.inference.evidence import rows_like
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model, posterior_columns
from loopylatent.learning.initial_graph import settings_for
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.learning.refinement import RefinedResult, refine_best, start_settings
from loopylatent.settings import Goal, Method, Order
from loopylatent.tables.observations import Observations


class LocalCLGrouping(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a graph with hidden nodes and cycles (the paper's LocalCLGrouping).

    Parameters
    ----------
    r, Lambda, tau : float, optional
        Thresholds; by default those of ``default_thresholds``.
    method, order, seed :
        As in :func:`loopylatent.learn`.
    metric : str
        As in :func:`loopylatent.information_distances`.
    refine : {"structure", "prediction"}, optional
        Improve the learned graph by moves that raise the likelihood, as in
        :func:`loopylatent.learn`; without a method and r all methods and two radii are tried.

    Attributes
    ----------
    graph_ : LatentGraph
    initial_graph_ : LatentGraph
    distances_ : DistanceMatrix
    result_ : LearnResult
    model_ : Model
        The graph with its parameters; fitted at first access.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X has column names.

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
        method: Method | None = None,
        order: Order = "degree",
        seed: int = 0,
        metric: Metric = "auto",
        refine: Goal | None = None,
    ) -> None:
        self.r = r
        self.Lambda = Lambda
        self.tau = tau
        self.method = method
        self.order = order
        self.seed = seed
        self.metric = metric
        self.refine = refine

    def fit(self, X: Any, y: Any = None) -> LocalCLGrouping:  # noqa: ARG002
        """Learn the graph of the columns of X: an array, a DataFrame or Observations."""
        named = hasattr(X, "columns") or isinstance(X, Observations)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self._rows = _observations(X)
        self._model: Model | None = None
        self.distances_ = information_distances(self._rows, self.metric)
        how: dict[str, Any] = {"method": self.method, "order": self.order, "seed": self.seed}
        given = self.distances_, self.r, self.Lambda, self.tau
        if self.refine is None:
            how["method"] = self.method or "quartet"
            self.result_: LearnResult = learn(self.distances_, settings_for(*given, **how))
        else:
            learned = [learn(self.distances_, one) for one in start_settings(*given, **how)]
            refined = refine_best([one.graph for one in learned], self._rows, self.refine)
            self.result_ = RefinedResult.of(learned[refined.start], refined)
            self._model = refined.model
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
        """(rows, hidden nodes) the posterior of each hidden node given each row.

        The probability of the second state or, for Gaussian models, the mean; with K states one
        column for each state except the first. Missing values are NaN or None.
        """
        model = self.model_
        return posterior_columns(model.hidden_posteriors(rows_like(X, self._rows)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Names of the columns of ``transform``: h1, h2, ..., as in the graph.

        With K states h1_1 to h1_(K-1), and so on.
        """
        hidden = self.model_.graph.labels[self.graph_.n_observed :]
        one = self._rows.take(np.arange(1))
        each = posterior_columns(self.model_.hidden_posteriors(one)).shape[1] // max(1, len(hidden))
        names = [f"{name}_{k + 1}" for name in hidden for k in range(each)]
        return np.array(list(hidden) if each == 1 else names, dtype=object)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Mean log-likelihood of the rows of X; higher is better."""
        model = self.model_
        return float(np.mean(model.log_likelihood(rows_like(X, self._rows))))


def _observations(X: Any) -> Observations:
    if isinstance(X, Observations):
        return X
    try:
        is_frame = isinstance(X, pd.DataFrame)
        return Observations.from_frame(X) if is_frame else Observations.from_array(X)
    except DataError as error:  # an estimator has no setting on_degenerate
        parts = (part for part in error.args if part != Remedy("drop_degenerate"))
        raise DataError(*parts) from None
