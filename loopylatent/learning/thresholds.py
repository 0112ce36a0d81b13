"""Thresholds to start from, by a rule that sees the distances and the number of rows alone.

The rule was chosen on synthetic data with a known truth by how well hidden nodes come back:
r = r_max (a tree, the safe reference), Lambda = 0.5 / sqrt(n), tau = 0.2 times the median edge of
the global minimum spanning tree.
"""

from __future__ import annotations

import math

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray
from loopylatent.distances.sparse import Distances, SparseDistances, check_distances
from loopylatent.settings import LearnSettings, Method, Order, Thresholds


def default_thresholds(D: Distances) -> Thresholds:
    """Return thresholds for which no choice has to be made.

    Where the number of rows is unknown, Lambda is 0. Lists of near neighbours end before r_max;
    with them r is the radius at which 95 of 100 columns that have a neighbour have one.

    Parameters
    ----------
    D : DistanceMatrix

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 1, 5], [1, 0, 4], [5, 4, 0]], n_samples=100)
    >>> default_thresholds(D)
    Thresholds(r=5.0, Lambda=0.05, tau=0.5)
    """
    check_distances(D)
    Lambda = 0.0 if D.n_samples is None else 0.5 / math.sqrt(D.n_samples)
    r = float(np.quantile(D.nearest, 0.95)) if isinstance(D, SparseDistances) else D.r_max
    return Thresholds(r, Lambda, 0.2 * float(np.median(_spanning_lengths(D))))


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
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], n_samples=100)
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


def loop_radius(D: Distances) -> float:
    """Return the radius from which on, downwards, true loops appear.

    It is 1.5 times the longest edge of the global minimum spanning tree, inside [r_min, r_max].

    Parameters
    ----------
    D : DistanceMatrix

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
    >>> loop_radius(D)
    3.0
    """
    return float(np.clip(1.5 * _spanning_lengths(D).max(), D.r_min, D.r_max))


def _spanning_lengths(D: Distances) -> FloatArray:
    if isinstance(D, SparseDistances):
        return D.spanning_lengths
    return _kernels.spanning.spanning_lengths(D.values)
