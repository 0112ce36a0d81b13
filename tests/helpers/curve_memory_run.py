"""Computes the exact curve in a process with limited memory.

python curve_memory_run.py COLUMNS MEGABYTES: the limit is added to the memory after a small first
run. Prints the number of intervals.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

import loopylatent as ll
from helpers.memory_run import taken


def table(n_columns: int) -> ll.DistanceMatrix:
    return ll.information_distances(np.random.default_rng(0).normal(size=(60, n_columns)))


def main() -> None:
    n_columns, megabytes = map(int, sys.argv[1:])
    ll.edge_density(table(220))
    D = table(n_columns)
    limit = taken() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(len(ll.edge_density(D).intervals))


if __name__ == "__main__":
    main()
