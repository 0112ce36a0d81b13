"""Fifty thousand columns at default settings.

python -m benchmarks.speed.full_size 5000 uses fewer columns and writes nothing.
"""

from __future__ import annotations

import os
import sys
import time

import loopylatent as ll
from benchmarks.paper.words import topic_words
from benchmarks.processes import in_a_process, peak_megabytes
from benchmarks.results import put
from benchmarks.speed.scale import PAGE

COLUMNS = 50_000


def report() -> str:
    """Measure in a separate process and write the result to docs/development/scale.md."""
    text = in_a_process(measured, COLUMNS)
    put(PAGE, "full_size", text)
    return f"## Full size\n\n{text}"


def measured(n_columns: int) -> str:
    """Learn from synthetic documents, twice as many as words; report time and memory."""
    before = os.getloadavg()[0]
    ll.learn(ll.sparse_distances(topic_words(2_000, 300), on_degenerate="drop"), trace=False)
    table = topic_words(2 * n_columns, n_columns)
    obs = ll.Observations.from_array(table, on_degenerate="drop")
    begin, begin_cpu = time.perf_counter(), time.process_time()
    D = ll.sparse_distances(obs, on_degenerate="drop")
    middle, middle_cpu = time.perf_counter(), time.process_time()
    result = ll.learn(D, trace=False)
    end, end_cpu = time.perf_counter(), time.process_time()
    graph, peak = result.graph, peak_megabytes() / 1024
    return (
        f"{D.n_columns:,} columns, {obs.n_rows:,} rows, {table.nnz:,} entries. Cut-off "
        f"{D.cutoff:.3f} (the noise floor), {D.n_pairs:,} pairs kept, r = "
        f"{result.settings.thresholds.r:.3f}: {graph.n_hidden:,} hidden nodes, "
        f"{graph.n_edges:,} edges, {graph.n_cycles:,} cycles. Near pairs {middle - begin:.1f} s "
        f"({middle_cpu - begin_cpu:.1f} s CPU), thresholds, initial graph and "
        f"learning {end - middle:.1f} s ({end_cpu - middle_cpu:.1f} s CPU); peak memory "
        f"{peak:.2f} GB; load average {before:.1f} before and {os.getloadavg()[0]:.1f} after, "
        f"{os.cpu_count()} cores."
    )


if __name__ == "__main__":
    print(in_a_process(measured, int(sys.argv[1])) if sys.argv[1:] else report())
