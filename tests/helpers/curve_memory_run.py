"""Computes the exact curve in a process with limited memory.

python curve_memory_run.py VARIANT COLUMNS MEGABYTES: VARIANT is ``united`` (as in the package) or
``raw`` (all intervals of all balls are kept until the end). The limit is added to the memory after
a small first run. Prints the number of intervals.
"""

from __future__ import annotations

import importlib
import resource
import sys

import numpy as np

import loopylatent as ll
from helpers.memory_run import taken
from loopylatent.compute import _kernels

module = importlib.import_module("loopylatent.learning.initial_graph")
united = module._united


def raw(D: ll.DistanceMatrix) -> int:
    parts = module.over_centres(
        lambda centres: _kernels.graphs.local_tree_intervals(D.values, centres), D.n_columns
    )
    return len(united(np.concatenate(list(parts))))


def curve(D: ll.DistanceMatrix) -> int:
    return len(ll.edge_density(D).intervals)


def table(n_columns: int) -> ll.DistanceMatrix:
    return ll.information_distances(np.random.default_rng(0).normal(size=(60, n_columns)))


def main() -> None:
    variant = {"united": curve, "raw": raw}[sys.argv[1]]
    n_columns, megabytes = map(int, sys.argv[2:])
    variant(table(220))  # large enough to use threads
    D = table(n_columns)
    limit = taken() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(variant(D))


if __name__ == "__main__":
    main()
