"""The fitted parameters of a model without the rows, to be put on the same rows again."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

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
    """What a fit has found: all of a model but what comes from its rows."""

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
        """Take the parameters out of a model."""
        return cls(values=_values(model), **_shared(model))

    def on(self, obs: Observations) -> Model:
        """Return the model on the rows that it was fitted to; nothing is fitted."""
        if obs.digest != self.data_digest:
            raise InferenceError("the parameters were fitted to other rows; fit them again.")
        if not np.isfinite(self.values).all():
            raise InferenceError("the fitted parameters are not finite; fit them again.")
        found = self._gaussian(obs) if self.kind == "gaussian" else self._discrete(obs)
        return Model(distribution=found, **_shared(self))

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
