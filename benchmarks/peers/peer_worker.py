"""Runs one other package on one table, in an environment of its own.

``python peer_worker.py PROGRAM TABLE.npz SECONDS`` prints a JSON object: what was found, and the
times. It stops after so many seconds of processor time. This project is not installed there, so
nothing is imported from it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

Table = Mapping[str, Any]


def pgmpy(table: Table) -> dict[str, Any]:
    """Return the parent and the conditional probabilities of each column of a Chow-Liu tree."""
    import pandas as pd
    from pgmpy.estimators import TreeSearch
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteBayesianEstimator

    columns = list(range(table["rows"].shape[1]))
    frame = pd.DataFrame(table["rows"].astype(int), columns=columns)
    search = TreeSearch(frame, root_node=0, n_jobs=1)
    tree = search.estimate(estimator_type="chow-liu", show_progress=False)
    model = DiscreteBayesianNetwork(tree.edges())
    states = {column: [0, 1] for column in columns}
    model.fit(frame, DiscreteBayesianEstimator(state_names=states, prior_type="BDeu"))
    tables = [model.get_cpds(column) for column in columns]
    parents = [one.variables[1] if len(one.variables) > 1 else None for one in tables]
    return {"parents": parents, "tables": [one.get_values().tolist() for one in tables]}


def corextopic(table: Table) -> list[int]:
    """Return the topic of each column."""
    from corextopic.corextopic import Corex
    from scipy import sparse

    model = Corex(n_hidden=int(table["n_groups"]), seed=0).fit(sparse.csr_matrix(table["rows"]))
    return [int(label) for label in model.clusters]


def gglasso(table: Table) -> dict[str, Any]:
    """Return an inverse covariance, sparse minus low-rank, with the package's own eBIC."""
    problem = _lasso(table["rows"])
    grid = {"lambda1_range": np.logspace(0, -3, 10), "mu1_range": np.logspace(1, -2, 10)}
    problem.model_selection(grid, method="eBIC")
    return _precision(problem)


def gglasso_cv(table: Table) -> dict[str, Any]:
    """Return the same with penalties by cross-validation in three parts."""
    rows = table["rows"]
    part = np.arange(len(rows)) % 3
    score: dict[tuple[float, float], float] = {}
    for held in range(3):
        problem, spread = _lasso(rows[part != held]), np.cov(rows[part == held].T, bias=True)
        for penalties in product(np.logspace(-0.5, -2.5, 7), np.logspace(1, -1, 7)):
            found = _solved(problem, penalties)["precision"]
            fit = np.linalg.slogdet(found)[1] - np.trace(found @ spread)
            score[penalties] = score.get(penalties, 0.0) + fit
    return _solved(_lasso(rows), max(score, key=lambda penalties: score[penalties]))


def _lasso(rows: np.ndarray) -> Any:
    from gglasso.problem import glasso_problem

    return glasso_problem(np.cov(rows.T, bias=True), len(rows), latent=True)


def _solved(problem: Any, penalties: tuple[float, float]) -> dict[str, Any]:
    problem.set_reg_params({"lambda1": penalties[0], "mu1": penalties[1]})
    problem.solve(tol=1e-6, rtol=1e-5)
    return _precision(problem)


def _precision(problem: Any) -> dict[str, Any]:
    low_rank = problem.solution.lowrank_
    rank = int(np.linalg.matrix_rank(low_rank, tol=1e-4))
    return {"precision": (problem.solution.precision_ - low_rank).tolist(), "rank": rank}


def rlcd(table: Table) -> dict[str, Any]:
    """Return the edges of a graph in which hidden nodes come after the columns."""
    from causallearn.search.HiddenCausal.RLCD import RLCD

    found = RLCD(table["rows"], maxk=1)
    adjacency = np.asarray(found.adjacency)
    return {"edges": np.argwhere(np.triu(adjacency != 0) | np.tril(adjacency != 0).T).tolist(),
            "n_nodes": len(adjacency)}  # fmt: skip


def gin(table: Table) -> list[list[int]]:
    """Return groups of columns with a common hidden cause."""
    from causallearn.search.HiddenCausal.GIN.GIN import GIN

    graph, _ = GIN(table["rows"], indep_test_method="hsic")
    hidden = [node for node in graph.get_nodes() if node.get_name().startswith("L")]
    names = [[one.get_name() for one in graph.get_children(node)] for node in hidden]
    return [[int(name[1:]) - 1 for name in group if name[0] == "X"] for group in names]


PROGRAMS = {one.__name__: one for one in (pgmpy, corextopic, gglasso, gglasso_cv, rlcd, gin)}


def main(program: str, path: str, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    with np.load(path, allow_pickle=False) as content:
        table = dict(content)
    start, start_cpu = time.perf_counter(), time.process_time()
    found = PROGRAMS[program](table)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps({"found": found, "seconds": seconds, "cpu": cpu}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
