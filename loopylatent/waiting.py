"""The initial graph and its curve for somebody who waits: early, with progress, to be stopped.

The results are those of ``initial_graph`` and ``edge_density``.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.spanning import local_tree_intervals
from loopylatent.distances import DistanceMatrix
from loopylatent.graph import LatentGraph
from loopylatent.initial_graph import EdgeDensity, check_radius, curve_of_balls, graph_from_balls
from loopylatent.pool import Progress

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def first_graph(D: DistanceMatrix, r: float) -> LatentGraph:
    """Return the initial graph at r; balls that hold the same columns share one tree.

    Near r_max that is one ball for all columns, or one for each piece.

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    >>> first_graph(D, 3.0).edges.tolist()
    [[0, 1], [1, 2]]
    """
    check_radius(D, r)
    return graph_from_balls(D, r, _distinct_balls(D.values <= r))


def followed_curve(D: DistanceMatrix, progress: Progress) -> EdgeDensity:
    """Return the curve of the initial graph over all r.

    ``progress`` is called with the balls done and the balls in all; it may raise to stop.

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    >>> followed_curve(D, lambda done, total: print(done, total)).r.tolist()
    0 3
    3 3
    [1.0, 2.5]
    """
    done = 0
    lock = Lock()

    def work(centres: IntArray) -> FloatArray:
        nonlocal done
        with lock:
            progress(done, D.n_columns)
        found = local_tree_intervals(D.values, centres)
        with lock:
            done += len(centres)
        return found

    curve = curve_of_balls(D, work)
    progress(D.n_columns, D.n_columns)
    return curve


def _distinct_balls(inside: NDArray[np.bool_]) -> IntArray:
    """One centre for each set of columns that is a ball."""
    first: dict[bytes, int] = {}
    for centre, row in enumerate(np.packbits(inside, axis=1)):
        first.setdefault(row.tobytes(), centre)
    return np.array(list(first.values()), dtype=np.int64)
