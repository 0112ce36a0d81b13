"""The fitted parameters of a model without the rows, to be put on the same rows again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.arrays import frozen_array
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteModel, layout_of
from loopylatent.inference.evidence import pick
from loopylatent.inference.gaussian import GaussianModel, Scale
from loopylatent.inference.model import Model
from loopylatent.inference.problems import Kind
from loopylatent.inference.scores import How
from loopylatent.settings import FitSettings
from loopylatent.tables.observations import Observations


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a fit has found.

    Parameters
    ----------
    graph : LatentGraph
    kind : {"binary", "discrete", "gaussian"}
    values : float64 array
        Discrete: the log-potentials of nodes and edges. Gaussian: the means of the columns, the
        diagonal of the precision matrix and its entries on the edges.
    history : float64 array
    converged : bool
    largest_slope : float
    fitted_by : {"exact", "lbp"}
    train_log_likelihood, n_samples : float
    settings : FitSettings
    data_digest : str
        Of the rows.
    note : str

    Examples
    --------
    >>> from loopylatent.inference import fit_parameters
    >>> from loopylatent.synthetic import latent_tree
    >>> truth = latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=1)
    >>> obs = truth.sample(300)
    >>> model = fit_parameters(truth.graph, obs)
    >>> again = SavedModel.of(model).on(obs)
    >>> bool((again.edge_strengths == model.edge_strengths).all())
    True
    """

    graph: LatentGraph
    kind: Kind
    values: NDArray[np.float64] = field(repr=False)
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
        """Take the parameters out of a model."""
        return cls(
            model.graph,
            model.kind,
            _values(model),
            model.history,
            model.converged,
            model.largest_slope,
            model.fitted_by,
            model.train_log_likelihood,
            model.n_samples,
            model.settings,
            model.data_digest,
            model.note,
        )

    def on(self, obs: Observations) -> Model:
        """Return the model on the rows that it was fitted to; nothing is fitted."""
        if obs.digest != self.data_digest:
            raise InferenceError("the parameters were fitted to other rows; fit them again.")
        if not np.isfinite(self.values).all():
            raise InferenceError("the fitted parameters are not finite; fit them again.")
        return Model(
            self.graph,
            self.kind,
            self._gaussian(obs) if self.kind == "gaussian" else self._discrete(obs),
            self.history,
            self.converged,
            self.largest_slope,
            self.fitted_by,
            self.train_log_likelihood,
            self.n_samples,
            self.settings,
            self.data_digest,
            self.note,
        )

    def _discrete(self, obs: Observations) -> DiscreteModel:
        columns = pick(obs, self.graph.names).columns
        if any(column.kind in ("ordinal", "continuous") for column in columns):
            raise InferenceError("the parameters were fitted to other kinds of columns.")
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
            raise InferenceError("the fitted parameters are of no distribution; fit them again.")
        return GaussianModel(
            graph,
            chosen.columns,
            Scale.of(chosen),
            frozen_array(mean, np.float64),
            frozen_array(precision, np.float64),
        )

    def _check_size(self, wanted: int) -> None:
        if self.values.shape != (wanted,):
            raise InferenceError("the fitted parameters do not belong to this graph.")


def _values(model: Model) -> NDArray[np.float64]:
    found = model.distribution
    if isinstance(found, DiscreteModel):
        return found.cells
    u, v = model.graph.edges.T
    parts = [found.mean, np.diag(found.precision), found.precision[u, v]]
    return frozen_array(np.concatenate(parts), np.float64)
