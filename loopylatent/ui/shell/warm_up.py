"""Compilation ahead of use: every kernel is run once on a small table.

Compiling holds the interpreter lock, so a process of its own does it and leaves the compiled
functions on disk, from where this process loads them. Pages interpret meanwhile (`jit.Kernel`).
Where nothing can be kept on disk, a thread compiles.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
from scipy import sparse

from loopylatent.analysis.stability.resampling import Resampling
from loopylatent.analysis.stability.runs import stability
from loopylatent.compute._kernels import jit
from loopylatent.compute._kernels.grouping import declares
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.distances.sparse import sparse_distances
from loopylatent.graph import LatentGraph, minimum_cycle_basis
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.problems import family_of
from loopylatent.inference.trials import Effort, climb, gradients_at, node_marginals_at
from loopylatent.learning.grouping import criterion, finite_parts, quartets
from loopylatent.learning.initial_graph import (
    default_thresholds,
    edge_density,
    initial_graph,
    loop_radius,
)
from loopylatent.learning.learner import iter_steps, learn
from loopylatent.learning.workspace import Workspace
from loopylatent.settings import FitSettings, LearnSettings, Method
from loopylatent.synthetic.discrete import DiscreteLaw, gibbs
from loopylatent.tables.observations import Observations


def warm_up() -> None:
    """Compile every kernel that is not on disk in another process, and load all of them."""
    with jit.compiling() as look_again:
        steps = warm_up_steps()
        if not jit.ALWAYS and jit.Kernel.can_be_kept() and not jit.Kernel.are_kept():
            for _ in _compiled_by_another_process():
                look_again()
                next(steps, None)
        for _ in steps:  # those that the other process did not reach
            look_again()


def _compiled_by_another_process() -> Iterator[str]:
    """Yield the name of each step when its functions are on disk."""
    command = [sys.executable, "-m", __name__]
    surroundings = dict(os.environ) | {"LOOPYLATENT_COMPILE": "always"}
    with (
        contextlib.suppress(OSError),
        subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True) as process,
    ):
        yield from process.stdout or ()


def main() -> None:
    """Compile with low priority, and print each step that is done."""
    if hasattr(os, "nice"):
        os.nice(10)
    with contextlib.suppress(BrokenPipeError):  # the app has ended
        for step in warm_up_steps():
            print(step, flush=True)


_ROWS, _GROUPS, _EACH = 60, 4, 4


def warm_up_steps() -> Iterator[str]:
    """Run them step by step, those of the first page first; yield the name of each step."""
    numbers = _numbers()
    D = information_distances(Observations.from_frame(numbers))
    edge_density(D)
    yield "curve"
    graph = _learned(D, "quartet")
    yield "quartet"
    minimum_cycle_basis(graph.n_nodes, graph.edges)
    yield "cycles"
    initial_graph(D, D.r_min)
    yield "initial graph"
    for method in get_args(Method):
        _learned(D, method)
        yield method
    for table in (numbers, (numbers > 2).astype(int)):
        stability(Observations.from_frame(table), how=Resampling(n_resamples=2))
    yield "support"
    for kind, table in _tables(numbers).items():
        _fit(Observations.from_frame(table))
        yield f"fit of {kind}"
    near = D.values[:_EACH, :_EACH]
    quartets(near, 0.0)
    criterion(finite_parts(near)[0].distances, 1)
    declares(np.exp(-near), 0.0, 0, 1, 2, 3)
    yield "single quartet tests"
    law = DiscreteLaw.ising(_ring(D.names), np.full(_ring(D.names).n_edges, 0.3))
    gibbs(law, n=8, rng=np.random.default_rng(0), burn_in=2, thinning=1)
    yield "synthetic rows"
    lists = sparse_distances(sparse.csr_array(numbers.to_numpy() > 1, dtype=np.float64))
    for method in get_args(Method):
        learn(lists, LearnSettings(default_thresholds(lists), method))
    yield "very many columns"


def _numbers() -> pd.DataFrame:
    """Return groups of columns, each with a hidden variable; the hidden variables form a ring."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(_ROWS, _GROUPS))
    hidden = np.repeat(steps + np.roll(steps, 1, axis=1), _EACH, axis=1)
    values = hidden + 0.7 * rng.normal(size=hidden.shape)
    return pd.DataFrame(values).add_prefix("c")


def _tables(numbers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    binary = (numbers > 0).astype(int)
    missing = np.arange(numbers.size).reshape(numbers.shape) % 17 == 3
    return {
        "continuous": numbers,
        "binary": binary,
        "continuous, missing values": numbers.mask(missing),
        "binary, missing values": binary.astype(float).mask(missing),
        "categorical": numbers.apply(pd.cut, bins=3, labels=["few", "some", "many"]).astype(
            "object"
        ),
    }


def _learned(D: DistanceMatrix, method: Method) -> LatentGraph:
    settings = LearnSettings(replace(default_thresholds(D), r=loop_radius(D)), method)
    result = learn(D, settings)
    for _ in iter_steps(D, settings):  # some visits at a time, as with many columns
        pass
    Workspace(result.initial_graph, D).graph()
    return result.graph


def _fit(table: Observations) -> None:
    """Fit a graph with a loop and one without, and call what the pages call."""
    D = information_distances(table)
    for graph in (_learned(D, "nj"), _ring(D.names)):
        model = fit_parameters(graph, table, FitSettings(max_steps=3))
        model.log_likelihood(table)
        model.hidden_posteriors(table)
        if model.is_exact and model.kind != "gaussian":
            model.lbp_error()
        family = family_of(table, graph.names, FitSettings())
        problem = family.problem(graph)
        found = climb(problem, family.start(problem), Effort(2))
        if isinstance(problem, DiscreteProblem):
            gradients_at(problem, found.point[None])
            node_marginals_at(problem, found.point[None])


def _ring(names: tuple[str, ...]) -> LatentGraph:
    """Return a ring of hidden nodes, so that the hidden part contains a loop."""
    p = len(names)
    edges = [(k, p + k // _EACH) for k in range(p)]
    edges += [(p + k, p + (k + 1) % _GROUPS) for k in range(_GROUPS)]
    return LatentGraph.build(names, _GROUPS, edges, np.full(len(edges), 0.5))


if __name__ == "__main__":
    main()
