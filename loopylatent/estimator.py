"""The learner in the form of a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from loopylatent.api import learn
from loopylatent.data import Observations
from loopylatent.distances import Metric, information_distances
from loopylatent.settings import Method, Order


class LocalCLGrouping(BaseEstimator):  # type: ignore[misc]
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
        self.distances_ = information_distances(X, self.metric)
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
