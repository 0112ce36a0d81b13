"""A model with a known graph: exact distances and sampled rows.

An edge of length l has, taken alone, the strength e^-l: |tanh(theta)| for Ising potentials theta,
the normalised determinant of the joint table for more states, |correlation| if continuous.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from loopylatent.compute.values import (
    FloatArray,
    IntArray,
    Progress,
    StateArray,
    count,
    frozen_array,
)
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.strengths import SMALLEST_STRENGTH
from loopylatent.errors import InferenceError, Remedy
from loopylatent.graph import LatentGraph
from loopylatent.synthetic.closed_forms import GaussianLaw, Parts, sample_spins
from loopylatent.synthetic.discrete import Diagnostics, DiscreteLaw, gibbs
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations

Kind = Literal["ising", "symmetric", "tables", "gaussian"]
LETTERS = string.ascii_lowercase
"""Names of states, if there are more than two."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Rows of a model, and how they were sampled."""

    observations: Observations
    diagnostics: Diagnostics | None
    """None if the rows are exact and independent."""

    @property
    def is_exact(self) -> bool:
        return self.diagnostics is None


@dataclass(frozen=True, eq=False)
class SyntheticModel:
    """A graph with edge lengths, and a distribution with these lengths.

    Parameters
    ----------
    graph : LatentGraph
        The true graph; an edge of length l has, taken alone, the correlation e^-l up to its sign.
        With node potentials or random tables, its length is the distance of its ends.
    signs : (m,) int64 array
        1 or -1 for each edge, in the order of ``graph.edges``.
    kind : {"ising", "symmetric", "tables", "gaussian"}
    law : DiscreteLaw, GaussianLaw or None
        The distribution; None for an Ising model without node potentials, which the graph and
        the signs determine.

    Examples
    --------
    >>> from loopylatent.synthetic import latent_cycle
    >>> model = latent_cycle(girth=6, leaves=1, seed=1)
    >>> model.graph
    LatentGraph(6 observed, 6 hidden, 12 edges, 1 cycles)
    >>> model.sample(100, seed=2).n_rows
    100
    """

    graph: LatentGraph
    signs: IntArray = field(repr=False)
    kind: Kind = "ising"
    law: DiscreteLaw | GaussianLaw | None = field(default=None, repr=False)

    @cached_property
    def edge_correlations(self) -> FloatArray:
        """(m,) the correlation of each edge taken alone, tanh(theta)."""
        return frozen_array(self.signs * np.exp(-self.graph.lengths), np.float64)

    @property
    def n_states(self) -> int:
        """States of every node; 0 if continuous."""
        if isinstance(self.law, GaussianLaw):
            return 0
        return 2 if self.law is None else self.law.n_states

    @property
    def has_closed_form(self) -> bool:
        """Whether there is a formula: no node potentials, two states, at most one cycle."""
        return self.law is None and self.graph.n_cycles <= 1

    @property
    def is_exact(self) -> bool:
        """Whether rows are sampled exactly; else they come from Gibbs sampling."""
        always = self.has_closed_form or isinstance(self.law, GaussianLaw)
        return always or self.discrete.is_exact

    @cached_property
    def discrete(self) -> DiscreteLaw:
        """The tables of the model; not for Gaussian models."""
        if isinstance(self.law, GaussianLaw):
            raise InferenceError("A Gaussian model has no tables; choose a discrete model.")
        if self.law is not None:
            return self.law
        return DiscreteLaw.ising(self.graph, np.arctanh(self.edge_correlations))

    @cached_property
    def potentials(self) -> FloatArray:
        """(m,) the Ising potentials of the edges; `InferenceError` if the model has none."""
        if self.kind != "ising":
            raise InferenceError(
                f"A model of kind {self.kind!r} has no Ising potentials", Remedy("ising"), "."
            )
        if self.law is None:
            return frozen_array(self.signs * np.arctanh(np.exp(-self.graph.lengths)), np.float64)
        return self.discrete.couplings

    def distances(self) -> DistanceMatrix:
        """Return the shortest path lengths between the columns: ideal input for the learner."""
        p = self.graph.n_observed
        values = self.graph.path_lengths(range(p))[:, :p]
        return DistanceMatrix.from_array(values, self.graph.names)

    def exact_distances(self, progress: Progress | None = None) -> DistanceMatrix:
        """Return the distances of the columns from infinitely many rows.

        On a forest these are the path lengths. On a ring both arcs contribute, so distances are
        shorter if all signs are positive. Raises `InferenceError` if infeasible.
        """
        strengths = self._strengths(progress)
        values = np.full_like(strengths, np.inf)
        seen = strengths > (0.0 if self.has_closed_form else SMALLEST_STRENGTH)
        values[seen] = -np.log(strengths[seen])
        np.fill_diagonal(values, 0.0)
        return DistanceMatrix.from_array(np.maximum(values, 0.0), self.graph.names)

    def ising_distances(self) -> DistanceMatrix:
        """Return -log|correlation| of the columns; an alias of `exact_distances`."""
        return self.exact_distances()

    def _strengths(self, progress: Progress | None) -> FloatArray:
        """(columns, columns) e^-distance of every two columns."""
        if self.n_states <= 2:
            return np.abs(self.correlations(progress))
        tables = self.discrete.pair_tables(progress).transpose(0, 2, 1, 3)
        shares = np.stack([np.diag(tables[i, i]) for i in range(len(tables))]).prod(axis=1)
        found: FloatArray = np.abs(np.linalg.det(tables)) / np.sqrt(np.outer(shares, shares))
        return found

    def correlations(self, progress: Progress | None = None) -> FloatArray:
        """Return the exact (columns, columns) correlations.

        Raises `InferenceError` if infeasible, or if columns have more than two states.
        """
        if self.has_closed_form:
            parts = Parts.of(self.graph, self.edge_correlations)
            return parts.column_correlations(self.graph.n_observed)
        if isinstance(self.law, GaussianLaw):
            return self.law.correlations()
        if self.n_states > 2:
            raise InferenceError(
                f"Columns with {self.n_states} states have no correlation; use ",
                Remedy("call", "exact_distances()"),
                ".",
            )
        tables = self.discrete.pair_tables(progress)
        on = np.diagonal(tables[:, 1, :, 1])
        spread = np.sqrt(on * (1 - on))
        found: FloatArray = (tables[:, 1, :, 1] - np.outer(on, on)) / np.outer(spread, spread)
        np.fill_diagonal(found, 1.0)
        return found

    def sample(self, n: int, seed: int = 0) -> Observations:
        """Sample ``n`` rows of the columns; `draw` also returns diagnostics."""
        return self.draw(n, seed).observations

    def draw(self, n: int, seed: int = 0, progress: Progress | None = None) -> Drawn:
        """Sample ``n`` rows: exact and independent if possible, else by Gibbs sampling.

        Binary columns have the values 0 and 1, categorical ones the letters a, b, c, ...
        ``progress`` is called during long work, and may raise to stop it.
        """
        rows, rng = count("n", n, 1), np.random.default_rng(count("seed", seed, 0))
        p, names = self.graph.n_observed, list(self.graph.names)
        if isinstance(self.law, GaussianLaw):
            frame = pd.DataFrame(self.law.draw(rows, rng), columns=names)
            return Drawn(Observations.from_frame(frame), None)
        if self.has_closed_form:
            spins = sample_spins(Parts.of(self.graph, self.edge_correlations), rows, rng)
            frame = pd.DataFrame(((spins[:p] + 1) // 2).T, columns=names)
            return Drawn(Observations.from_frame(frame), None)
        law = self.discrete
        if law.is_exact:
            return Drawn(self._coded(law.draw(rows, rng, progress)[:, :p]), None)
        run = gibbs(law, rows, rng, progress=progress)
        return Drawn(self._coded(run.states[:, :p]), run.diagnostics)

    def _coded(self, states: StateArray) -> Observations:
        """Return states as a table whose columns list all possible states."""
        size = self.n_states
        values = tuple("01" if size == 2 else LETTERS[:size])
        kind: Literal["binary", "categorical"] = "binary" if size == 2 else "categorical"
        columns = tuple(Column(name, kind, values) for name in self.graph.names)
        return Observations(states.astype(np.float64), columns).usable()
