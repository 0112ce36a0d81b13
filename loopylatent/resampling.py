"""Other tables that the same source could have given: what `groups` and `stability` learn from.

A resampler takes a random generator and returns the distances of one such table. Rows are drawn
again where they are there; distances alone are shaken by the standard error of a correlation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix, Metric, information_distances
from loopylatent.errors import DataError, ThresholdError
from loopylatent.graph import frozen_array

FloatArray = NDArray[np.float64]
Resampler = Callable[[np.random.Generator], DistanceMatrix]
Scheme = Literal["bootstrap", "blocks", "subsample", "noise", "orders"]
"""Rows drawn again one by one or in blocks, a part of the rows, shaken distances, other orders."""

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
NEEDS_ROWS = ("bootstrap", "blocks", "subsample")
SHARE = 0.5
"""Share of the rows in a subsample, unless another one is asked for."""


def check_scheme(scheme: str, table: Observations | DistanceMatrix) -> None:
    """Refuse a scheme that does not exist or that these data cannot serve."""
    if scheme not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise ThresholdError(f"scheme = {scheme!r} is unknown; choose one of {known}.")
    if scheme in NEEDS_ROWS and not isinstance(table, Observations):
        raise DataError(
            f"scheme {scheme!r} draws rows, and only distances are given; pass the observations, "
            "or use 'noise' or 'orders'."
        )


def default_block(n_rows: int) -> int:
    """Return the length of a block of rows in time order: the cube root of their number.

    Examples
    --------
    >>> default_block(1000), default_block(1001)
    (10, 11)
    """
    root = round(math.cbrt(n_rows))
    return max(2, root if root**3 >= n_rows else root + 1)


def bootstrapped_rows(obs: Observations, metric: Metric) -> Resampler:
    """Bootstrap: each row gets the number of times it was drawn as its weight."""
    n = obs.n_samples
    share = np.full(obs.n_rows, 1 / obs.n_rows) if obs.weights is None else obs.weights / n

    def draw(rng: np.random.Generator) -> DistanceMatrix:
        counts = rng.multinomial(n, share / share.sum()).astype(np.float64)
        return information_distances(obs.with_weights(counts), metric)

    return draw


def block_bootstrapped_rows(
    obs: Observations, metric: Metric, block: int | None = None
) -> Resampler:
    """Bootstrap for rows in time order: runs of ``block`` rows are drawn; the end meets the start.

    Neighbouring rows stay together, so that what they share is not mistaken for precision.
    """
    n = obs.n_rows
    length = default_block(n) if block is None else block
    if not 1 <= length <= n:
        raise ThresholdError(f"block = {length} is no run of {n} rows; give 1 to {n}.")
    own = np.ones(n) if obs.weights is None else obs.weights

    def draw(rng: np.random.Generator) -> DistanceMatrix:
        starts = rng.integers(n, size=math.ceil(n / length))
        rows = ((starts[:, None] + np.arange(length)) % n).ravel()[:n]
        counts = np.bincount(rows, minlength=n)
        return information_distances(obs.with_weights(own * counts), metric)

    return draw


def subsampled_rows(obs: Observations, metric: Metric, share: float = SHARE) -> Resampler:
    """Keep a share of the rows, none of them twice; a row that counts k times is k rows."""
    if not 0 < share < 1:
        raise ThresholdError(f"share = {share:g} is not between 0 and 1.")
    own = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    whole = bool((own == np.rint(own)).all())
    n = round(own.sum()) if whole else obs.n_rows
    n_kept = round(share * n)
    if n_kept < 3:
        raise ThresholdError(f"share = {share:g} of {n} rows leaves {n_kept}; keep at least 3.")

    def draw(rng: np.random.Generator) -> DistanceMatrix:
        if whole:
            kept = rng.multivariate_hypergeometric(
                own.astype(np.int64), n_kept, method="marginals"
            ).astype(np.float64)
        else:
            kept = np.zeros(n)
            chosen = rng.choice(n, n_kept, replace=False)
            kept[chosen] = own[chosen]
        return information_distances(obs.with_weights(kept), metric)

    return draw


def shaken_distances(D: DistanceMatrix) -> Resampler:
    """Add N(0, (1 - rho^2)^2 / n) to every correlation."""
    if D.n_samples is None:
        raise DataError(
            "resampling needs to know how precise the distances are; give n_samples to "
            "DistanceMatrix.from_array, or pass the observations."
        )
    strength = np.exp(-D.values)
    spread = (1 - strength**2) / np.sqrt(D.n_samples)

    def draw(rng: np.random.Generator) -> DistanceMatrix:
        noise = np.triu(rng.normal(size=strength.shape) * spread, 1)
        shaken = np.clip(np.abs(strength + noise + noise.T), 1e-12, 1.0)
        values = -np.log(shaken)
        np.fill_diagonal(values, 0.0)
        return replace(D, values=frozen_array(values, np.float64))

    return draw
