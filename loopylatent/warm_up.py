"""Every compiled function run once on a tiny table, so that nobody waits for the compiler later.

Compiled functions are kept on disk: a process after the first only has to load them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
from scipy import sparse

from loopylatent._kernels.quartets import declares
from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix, information_distances
from loopylatent.graph import LatentGraph
from loopylatent.grouping.quartet import quartets
from loopylatent.inference import fit_parameters
from loopylatent.initial_graph import edge_density
from loopylatent.layout import positions
from loopylatent.learn import learn
from loopylatent.settings import FitSettings, LearnSettings, Method, Thresholds
from loopylatent.sparse_distances import sparse_distances
from loopylatent.synthetic.discrete import DiscreteLaw
from loopylatent.synthetic.gibbs import gibbs
from loopylatent.thresholds import default_thresholds, loop_radius
from loopylatent.waiting import first_graph

_ROWS, _GROUPS, _EACH = 60, 4, 4


def warm_up() -> None:
    """Run the learner, the curve, the layout and the fits once."""
    for _ in warm_up_steps():
        pass


def warm_up_steps() -> Iterator[str]:
    """Do the same step by step, what the first page needs first; yield what was done."""
    numbers = _numbers()
    D = information_distances(_as_table(numbers))
    edge_density(D)
    yield "curve"
    graph = _learned(D, "quartet")
    yield "quartet"
    positions(graph, start=positions(graph))
    yield "layout"
    first_graph(D, loop_radius(D))
    yield "first graph"
    for method in get_args(Method):
        _learned(D, method)
        yield method
    for kind, table in _tables(numbers).items():
        _fit(table)
        yield f"fit of {kind}"
    near = D.values[:_EACH, :_EACH]
    quartets(near, 0.0)
    declares(np.exp(-near), 0.0, 0, 1, 2, 3)
    yield "votes one by one"
    law = DiscreteLaw.ising(_ring(D.names), np.full(_ring(D.names).n_edges, 0.3))
    gibbs(law, n=8, rng=np.random.default_rng(0), burn_in=2, thinning=1)
    yield "made-up rows"
    lists = sparse_distances(sparse.csr_array(numbers.to_numpy() > 1, dtype=np.float64))
    for method in get_args(Method):
        learn(lists, replace(LearnSettings(default_thresholds(lists)), method=method))
    yield "very many columns"


def _numbers() -> pd.DataFrame:
    """Groups of columns, each around a hidden number; the groups stand in a ring."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(_ROWS, _GROUPS))
    hidden = steps + np.roll(steps, 1, axis=1)
    values = np.repeat(hidden, _EACH, axis=1) + 0.7 * rng.normal(size=(_ROWS, _GROUPS * _EACH))
    return pd.DataFrame(values, columns=[f"c{k}" for k in range(_GROUPS * _EACH)])


def _tables(numbers: pd.DataFrame) -> dict[str, Observations]:
    yes_no = (numbers > 0).astype(int)
    gaps = np.arange(numbers.size).reshape(numbers.shape) % 17 == 3
    named = pd.DataFrame(
        {name: pd.cut(numbers[name], 3, labels=["few", "some", "many"]) for name in numbers},
        dtype="object",
    )
    return {
        "numbers": _as_table(numbers),
        "yes and no": _as_table(yes_no),
        "numbers with gaps": _as_table(numbers.mask(gaps)),
        "yes and no with gaps": _as_table(yes_no.astype(float).mask(gaps)),
        "names": _as_table(named),
    }


def _as_table(frame: pd.DataFrame) -> Observations:
    return Observations.from_frame(frame)


def _learned(D: DistanceMatrix, method: Method) -> LatentGraph:
    default = default_thresholds(D)
    thresholds = Thresholds(loop_radius(D), default.Lambda, default.tau)
    return learn(D, replace(LearnSettings(thresholds), method=method)).graph


def _fit(table: Observations) -> None:
    """Fit a graph with a loop and one without, and ask the models what pages ask."""
    D = information_distances(table)
    for graph in (_learned(D, "nj"), _ring(D.names)):
        model = fit_parameters(graph, table, FitSettings(max_steps=3))
        model.log_likelihood(table)
        model.hidden_posteriors(table)
        if model.is_exact and model.kind != "gaussian":
            model.lbp_error()


def _ring(names: tuple[str, ...]) -> LatentGraph:
    """Hidden nodes in a ring, so that hidden parts hold a loop of their own."""
    p = len(names)
    edges = [(k, p + k // _EACH) for k in range(p)]
    edges += [(p + k, p + (k + 1) % _GROUPS) for k in range(_GROUPS)]
    return LatentGraph.build(names, _GROUPS, edges, np.full(len(edges), 0.5))
