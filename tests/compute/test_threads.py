"""Everything compiled, called from eight threads at once, gives what one thread gives."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

import loopylatent as ll
from loopylatent.analysis.stability.resampling import Resampling
from loopylatent.analysis.stability.runs import stability
from loopylatent.learning.initial_graph import loop_radius
from loopylatent.learning.learner import iter_steps
from loopylatent.learning.trace import replay
from loopylatent.settings import LearnSettings, Thresholds


@pytest.fixture(scope="module")
def calls():
    """Functions that return a text or bytes, each by its name."""
    truth = ll.synthetic.latent_cycle(5, 2, seed=3)
    rows = truth.sample(400, seed=1)
    D = ll.information_distances(rows)
    settings = LearnSettings(Thresholds(loop_radius(D), 0.01, 0.1))
    start = ll.learn(D, r=settings.thresholds.r)
    lists = ll.sparse_distances(sparse.csr_array(rows.values == 1, dtype=np.float64), 3.0)
    how = Resampling(n_resamples=6)
    return {
        "distances": lambda: ll.information_distances(rows).digest,
        "curve": lambda: ll.edge_density(D).r.tobytes(),
        "initial graph": lambda: ll.initial_graph(D, D.r_min).digest,
        **{
            method: lambda method=method: ll.learn(D, method=method).graph.digest
            for method in ("quartet", "relaxed", "nj")
        },
        "steps": lambda: replay(iter_steps(D, settings)).digest,
        "sparse": lambda: ll.learn(lists, method="relaxed").graph.digest,
        "sweep": lambda: repr(ll.sweep(D, r=[D.r_max, settings.thresholds.r])),
        "stability": lambda: stability(rows, settings, how).edges.tobytes(),
        "regularised": lambda: ll.learn(D, obs=rows, regularize="bic").graph.digest,
        "fit": lambda: ll.fit_parameters(start.graph, rows).log_likelihood(rows).tobytes(),
        "refine": lambda: ll.refine(start.graph, rows, evidence=False).graph.digest,
    }


def test_everything_called_from_eight_threads_at_once_gives_what_one_thread_gives(calls):
    alone = {name: call() for name, call in calls.items()}
    names = [*calls, *calls]
    random.Random(0).shuffle(names)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda name: calls[name](), names))
    assert [name for name, found in zip(names, together, strict=True) if found != alone[name]] == []
