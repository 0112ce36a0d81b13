"""The distance beyond which a pair of columns cannot be told from pure noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from loopylatent.distances.moments import total_weight
from loopylatent.distances.strengths import SMALLEST_STRENGTH, Measure, table_strengths
from loopylatent.tables.blocks.portions import block_rows
from loopylatent.tables.observations import Observations

NULL_TAIL = float(erfc(math.sqrt(2.0)))
"""Share of pure-noise correlations beyond 2/sqrt(n): both tails of the normal beyond 2."""
NULL_PAIRS = 2_000
FEWEST_NULL_ROWS = 1_000


def correlation_noise_floor(n_samples: float) -> float:
    """Return -log(2/sqrt(n)): the distance at which a correlation is two standard errors."""
    return math.log(math.sqrt(n_samples) / 2)


def permutation_noise_floor(rows: Observations, metric: Measure, weight: float, seed: int) -> float:
    """Return the distance beyond which NULL_TAIL of the pairs of shuffled columns do not come.

    A long table, whose rows count as ``weight``, is represented by some of them; strengths of pure
    noise fall with the root of the number of rows, those of determinants with that root once for
    each state but one.
    """
    rng = np.random.default_rng(seed)
    upper = np.triu_indices(rows.n_columns, 1)
    draws = []
    for _ in range(math.ceil(NULL_PAIRS / len(upper[0]))):
        shuffled = rows.with_values(rng.permuted(rows.dense(), axis=0))
        draws.append(table_strengths(shuffled, metric).values[upper])
    cut = float(np.quantile(np.concatenate(draws), 1 - NULL_TAIL))
    powers = 1 if metric == "canonical" else len(rows.columns[0].states) - 1
    fewer = 0.5 * powers * math.log(weight / weight_of(rows))
    return fewer - math.log(max(cut, SMALLEST_STRENGTH))


def null_rows(n_rows: int, n_columns: int, seed: int) -> NDArray[np.int64] | None:
    """Return the rows that represent a long table in permutations: one block; None for all."""
    most = max(block_rows(n_columns), FEWEST_NULL_ROWS)
    if n_rows <= most:
        return None
    return np.sort(np.random.default_rng([seed, 1]).choice(n_rows, most, replace=False))


def weight_of(obs: Observations) -> float:
    """Return how many rows the rows of a table count as."""
    return total_weight(obs.n_rows, obs.n_columns, obs.weights)
