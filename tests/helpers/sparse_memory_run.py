"""Learns from very many columns in a process with limited memory.

python sparse_memory_run.py VARIANT ROWS COLUMNS MEGABYTES: VARIANT is ``near`` (learn from near
pairs) or ``all`` (all distances). The limit is added to the memory with the table and after a small
first run. Prints observed and hidden nodes.
"""

from __future__ import annotations

import resource
import sys

import loopylatent as ll
from benchmarks.paper.words import topic_words
from helpers.memory_run import taken

CUTOFF, RADIUS = 3.5, 2.0


def near(obs: ll.Observations) -> str:
    D = ll.sparse_distances(obs, CUTOFF, on_degenerate="drop")
    graph = ll.learn(D, RADIUS, trace=False).graph
    return f"{graph.n_observed} {graph.n_hidden}"


def whole(obs: ll.Observations) -> str:
    return str(ll.information_distances(obs, on_degenerate="drop").n_columns)


def table(n_rows: int, n_columns: int) -> ll.Observations:
    return ll.Observations.from_array(topic_words(n_rows, n_columns), on_degenerate="drop")


def main() -> None:
    variant = {"near": near, "all": whole}[sys.argv[1]]
    n_rows, n_columns, megabytes = map(int, sys.argv[2:])
    variant(table(2_000, 300))
    obs = table(n_rows, n_columns)
    limit = taken() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(variant(obs))


if __name__ == "__main__":
    main()
