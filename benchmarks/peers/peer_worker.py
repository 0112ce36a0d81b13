"""Runs other packages on one file of rows, in an environment of their own.

python peer_worker.py ROWS.npz REPEATS prints a JSON object with one entry per package. This project
is not installed there, so nothing is imported from it.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import numpy as np
import pandas as pd
from scipy import sparse

TOPICS = 20


def chow_liu(rows: np.ndarray, names: list[str]) -> list[list[str]]:
    from pgmpy.estimators import TreeSearch

    frame = pd.DataFrame(rows.astype(np.int8), columns=names)
    tree = TreeSearch(frame, root_node=names[0], n_jobs=1).estimate(
        estimator_type="chow-liu", show_progress=False
    )
    return [sorted(edge) for edge in tree.edges]


def corex(rows: np.ndarray, names: list[str]) -> list[list[str]]:
    from corextopic.corextopic import Corex

    model = Corex(n_hidden=TOPICS, seed=0).fit(sparse.csr_matrix(rows), words=names)
    return [[str(word[0]) for word in topic] for topic in model.get_topics(n_words=5)]


PROGRAMS = {"pgmpy": chow_liu, "corextopic": corex}


def measure(name: str, rows: np.ndarray, names: list[str], repeats: int) -> dict:
    """Time one package and return its result."""
    seconds, cpu, found = [], [], []
    for _ in range(repeats):
        start, start_cpu = time.perf_counter(), time.process_time()
        found = PROGRAMS[name](rows, names)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return {"seconds": seconds, "cpu": cpu, "found": found}


def main() -> None:
    with np.load(sys.argv[1], allow_pickle=False) as content:
        rows, names = content["rows"], [str(name) for name in content["names"]]
    results = {}
    for name in PROGRAMS:
        try:
            results[name] = measure(name, rows, names, int(sys.argv[2]))
        except Exception as error:
            results[name] = {"error": f"{type(error).__name__}: {error}"}
        results[name]["version"] = version(name)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
