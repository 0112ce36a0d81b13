"""Fitted models: likelihoods, posteriors of hidden nodes, edge strengths (section 6.1)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.values import FloatArray, IntArray, Shown, frozen_array
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_propagation import Propagation
from loopylatent.inference.circuit import eliminate
from loopylatent.inference.discrete import DiscreteModel, layout_of
from loopylatent.inference.evidence import pick
from loopylatent.inference.gaussian import GaussianModel, Scale
from loopylatent.inference.problems import Kind
from loopylatent.inference.scores import How, Scores, bic, score
from loopylatent.settings import FitSettings
from loopylatent.tables.observations import Observations


@dataclass(frozen=True, slots=True)
class LbpError:
    """Belief propagation compared with the exact log Z or mean log-likelihood."""

    exact: float
    lbp: float
    residual: float
    """The largest change of a message in the last round."""
    converged: bool

    @property
    def error(self) -> float:
        return self.lbp - self.exact


@dataclass(frozen=True, slots=True, eq=False)
class ExtremeRows:
    """The rows with the largest and smallest posterior of a hidden node, most extreme first."""

    most: IntArray
    least: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Model(Shown):
    """A graph with fitted parameters.

    Parameters
    ----------
    graph : LatentGraph
    kind : {"binary", "discrete", "gaussian"}
    distribution : DiscreteModel or GaussianModel
        The parameters.
    history : (steps + 1,) float64 array
        The mean log-likelihood of a training row at the start and after each step; nondecreasing.
    converged : bool
    largest_slope : float
        The largest absolute entry of the gradient, per row, at the end of the fit.
    fitted_by : {"exact", "lbp"}
        Inference during the fit. Reported likelihoods are exact if feasible (``is_exact``), also
        after a fit by belief propagation.
    train_log_likelihood : float
        Log-likelihood of all training rows.
    n_samples : float
        The number of training rows, or the sum of their weights.
    settings : FitSettings
    data_digest : str
    note : str
        A remark for readers of the numbers, or empty.

    Examples
    --------
    >>> import loopylatent as ll
    >>> obs = ll.load_sample("latent_cycle").observations
    >>> chain = LatentGraph.build(obs.names[:3], 0, [(0, 1), (1, 2)])
    >>> ll.fit_parameters(chain, obs)
    Model(binary, LatentGraph(3 observed, 0 hidden, 2 edges, 0 cycles), 5000 rows, converged)
    """

    graph: LatentGraph
    kind: Kind
    distribution: DiscreteModel | GaussianModel
    history: FloatArray
    converged: bool
    largest_slope: float
    fitted_by: How
    train_log_likelihood: float
    n_samples: float
    settings: FitSettings
    data_digest: str = ""
    note: str = ""

    def __repr__(self) -> str:
        status = "converged" if self.converged else "not converged"
        return f"Model({self.kind}, {self.graph}, {self.n_samples:g} rows, {status})"

    @property
    def is_exact(self) -> bool:
        """Whether reported likelihoods are exact."""
        found = self.distribution
        return found.method.is_exact if isinstance(found, DiscreteModel) else True

    @property
    def treewidth(self) -> int:
        """An upper bound on the treewidth of the graph, from the elimination order."""
        found = self.distribution
        if isinstance(found, DiscreteModel):
            return found.method.elimination.treewidth
        return eliminate(self.graph).treewidth

    @property
    def df(self) -> int:
        """Degrees of freedom: nodes plus edges, more if nodes have more than two states."""
        found = self.distribution
        if isinstance(found, DiscreteModel):
            return found.layout.n_parameters
        return self.graph.n_nodes + self.graph.n_edges

    @property
    def train_bic(self) -> float:
        return bic(self.train_log_likelihood, self.df, self.n_samples)

    @property
    def edge_strengths(self) -> FloatArray:
        """(edges,) the correlation of the two ends of each edge under the model.

        With more than two states it is the largest canonical correlation, which has no sign.
        """
        return self.distribution.edge_strengths

    @cached_property
    def hidden_shares(self) -> FloatArray:
        """(hidden, K) the marginal probability of each state; not for Gaussian models."""
        found = self._discrete("shares of states")
        layout = found.layout
        return np.array([layout.node_table(found.marginals, h) for h in self.graph.hidden_nodes])

    @cached_property
    def uninformative(self) -> tuple[int, ...]:
        """Hidden nodes that explain no association.

        The largest correlation that they imply between two neighbours, the product of their two
        strongest edges, is within noise (2 / sqrt(n)); or fewer than two of their states are
        expected in at least one row.
        """
        noise, found = 2.0 / np.sqrt(self.n_samples), self.distribution
        flagged = []
        for h in self.graph.hidden_nodes:
            touching = (self.graph.edges == h).any(axis=1)
            strongest = np.sort(np.abs(self.edge_strengths[touching]))[-2:]
            weak = len(strongest) < 2 or strongest.prod() <= noise
            if not weak and isinstance(found, DiscreteModel):
                shares = found.layout.node_table(found.marginals, h)
                weak = int((shares * self.n_samples >= 1).sum()) < 2
            if weak:
                flagged.append(h)
        return tuple(flagged)

    def log_likelihood(self, obs: Observations) -> FloatArray:
        """(rows,) log P of each row, with hidden nodes and missing values summed out.

        For Gaussian models the log-density, in the units of the table.
        """
        return self.distribution.log_likelihood(obs)

    def hidden_posteriors(self, obs: Observations) -> FloatArray:
        """Return the posterior of each hidden node given each row.

        Binary hidden nodes: (rows, hidden), the probability of the second state, which correlates
        positively with the second state of the nearest column. More states: (rows, hidden, K).
        Gaussian models: (rows, hidden), the mean, on a scale with mean 0 and variance 1.
        """
        found = self.distribution
        if isinstance(found, GaussianModel):
            return found.hidden_means(obs)
        tables = found.posteriors(obs, np.array(self.graph.hidden_nodes, np.int64))
        if not tables:
            return np.zeros((obs.n_rows, 0))
        stacked = np.stack(tables, axis=1)
        return stacked[:, :, 1] if stacked.shape[2] == 2 else stacked

    def extreme_rows(self, obs: Observations, node: int, most: int = 5) -> ExtremeRows:
        """Return the rows with the largest and smallest posterior of a hidden node."""
        if node not in self.graph.hidden_nodes:
            p, n_nodes = self.graph.n_observed, self.graph.n_nodes
            raise InferenceError(
                f"Node {node} is not a hidden node; hidden nodes are {p} to {n_nodes - 1}."
            )
        posterior = self.hidden_posteriors(obs)[:, node - self.graph.n_observed]
        level = posterior if posterior.ndim == 1 else posterior.max(axis=1)
        order = np.argsort(level, kind="stable")
        return ExtremeRows(order[::-1][:most], order[:most])

    def scores(self, test_obs: Observations, seed: int = 0) -> Scores:
        """Score the model on held-out rows; see ``loopylatent.inference.scores``.

        Gaussian models are scored on columns standardised by training means and deviations, so
        that units do not matter.
        """
        found = self.distribution
        chosen = pick(test_obs, self.graph.names)

        def likelihood(rows: Observations) -> FloatArray:
            if isinstance(found, GaussianModel):
                return found.log_likelihood(rows, standard=True)
            return found.log_likelihood(rows)

        how: How = "exact" if self.is_exact else "lbp"
        train_bic = self.train_bic
        if isinstance(found, GaussianModel):
            train_bic += self.n_samples * float(np.log(found.scale.deviation).sum())
        return score(likelihood, chosen, df=self.df, train_bic=train_bic, method=how, seed=seed)

    def lbp_error(self, obs: Observations | None = None) -> LbpError:
        """Compare loopy belief propagation with the exact value.

        Without rows, log Z is compared. With rows, their mean log-likelihood is; sums over hidden
        values are exact on both sides, so the error is minus that of log Z.
        """
        found = self._discrete("belief propagation")
        if not self.is_exact:
            raise InferenceError(
                f"The exact value cannot be computed (treewidth {self.treewidth}), so the error of "
                "belief propagation is unknown."
            )
        run = Propagation(found.layout, found.method.elimination).evaluate(found.cells)
        if obs is None:
            return LbpError(found.log_partition, run.value, run.residual, run.converged)
        weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
        exact = float(np.average(self.log_likelihood(obs), weights=weights))
        shifted = exact + found.log_partition - run.value
        return LbpError(exact, shifted, run.residual, run.converged)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the graph and its parameters."""
        hasher = hashlib.sha256(f"{self.graph.digest} {self.kind}".encode())
        found = self.distribution
        if isinstance(found, DiscreteModel):
            hasher.update(repr([column.states for column in found.columns]).encode())
            hasher.update(found.cells.tobytes())
        else:
            for part in (found.scale.mean, found.scale.deviation, found.mean, found.precision):
                hasher.update(part.tobytes())
        return hasher.hexdigest()[:16]

    def _discrete(self, what: str) -> DiscreteModel:
        if isinstance(self.distribution, DiscreteModel):
            return self.distribution
        raise InferenceError(f"A Gaussian model has no {what}; its likelihood is exact.")


def posterior_columns(posteriors: FloatArray) -> FloatArray:
    """(rows, features) posteriors as a matrix; with K states, K - 1 columns for each node."""
    if posteriors.ndim == 2:
        return frozen_array(posteriors, np.float64)
    return frozen_array(posteriors[:, :, 1:].reshape(len(posteriors), -1), np.float64)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted model without what can be recomputed from its rows."""

    graph: LatentGraph
    kind: Kind
    values: NDArray[np.float64] = field(repr=False)
    """Discrete: the log-potentials of nodes and edges. Gaussian: the means of the columns, the
    diagonal of the precision matrix and its entries on the edges."""
    history: NDArray[np.float64] = field(repr=False)
    converged: bool
    largest_slope: float
    fitted_by: How
    train_log_likelihood: float
    n_samples: float
    settings: FitSettings
    data_digest: str
    note: str

    @classmethod
    def of(cls, model: Model) -> SavedModel:
        """Extract the parameters of a model."""
        return cls(values=_values(model), **_shared(model))

    def on(self, obs: Observations) -> Model:
        """Restore the model from its training rows, without fitting."""
        if obs.digest != self.data_digest:
            raise InferenceError("The saved parameters belong to other rows; fit again.")
        if not np.isfinite(self.values).all():
            raise InferenceError("The saved parameters are not finite; fit again.")
        found = self._gaussian(obs) if self.kind == "gaussian" else self._discrete(obs)
        return Model(distribution=found, **_shared(self))

    def _discrete(self, obs: Observations) -> DiscreteModel:
        columns = pick(obs, self.graph.names).columns
        if any(column.kind in ("ordinal", "continuous") for column in columns):
            raise InferenceError("The saved parameters belong to other column types; fit again.")
        layout = layout_of(self.graph, columns)
        self._check_size(layout.n_cells)
        return DiscreteModel(layout, columns, self.values, self.settings.largest_table)

    def _gaussian(self, obs: Observations) -> GaussianModel:
        graph, chosen = self.graph, pick(obs, self.graph.names)
        self._check_size(graph.n_observed + graph.n_nodes + graph.n_edges)
        mean, diagonal, between = np.split(
            self.values, np.cumsum([graph.n_observed, graph.n_nodes])
        )
        precision = np.diag(diagonal)
        u, v = graph.edges.T
        precision[u, v] = precision[v, u] = between
        if not np.linalg.eigvalsh(precision)[0] > 0:
            raise InferenceError("The saved precision matrix is not positive definite; fit again.")
        values = (frozen_array(one, np.float64) for one in (mean, precision))
        return GaussianModel(graph, chosen.columns, Scale.of(chosen), *values)

    def _check_size(self, expected: int) -> None:
        if self.values.shape != (expected,):
            raise InferenceError("The saved parameters do not belong to this graph; fit again.")


def _shared(one: Model | SavedModel) -> dict[str, Any]:
    names = (part.name for part in fields(SavedModel) if part.name != "values")
    return {name: getattr(one, name) for name in names}


def _values(model: Model) -> NDArray[np.float64]:
    found = model.distribution
    if isinstance(found, DiscreteModel):
        return found.cells
    u, v = model.graph.edges.T
    parts = [found.mean, np.diag(found.precision), found.precision[u, v]]
    return frozen_array(np.concatenate(parts), np.float64)
