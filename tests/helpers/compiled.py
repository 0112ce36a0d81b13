"""Kernels compiled in this process, and results to compare, for tests that run in another one."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from hashlib import sha256

import numpy as np
from scipy import sparse

import loopylatent.compute._kernels
from loopylatent.analysis.stability.resampling import Resampling
from loopylatent.analysis.stability.runs import stability
from loopylatent.compute._kernels.jit import Kernel
from loopylatent.distances.matrix import information_distances
from loopylatent.distances.sparse import sparse_distances
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.initial_graph import (
    default_thresholds,
    edge_density,
    initial_graph,
    loop_radius,
)
from loopylatent.learning.learner import learn
from loopylatent.settings import FitSettings, LearnSettings, Thresholds
from loopylatent.synthetic.families import latent_cycle
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

SAMPLES = ("latent_cycle", "bfi25", "irish_wind12", "ability16")


def kernels() -> dict[str, Kernel]:
    """All compiled functions by name."""
    found = {}
    for module in pkgutil.iter_modules(loopylatent.compute._kernels.__path__):
        content = vars(importlib.import_module(f"loopylatent.compute._kernels.{module.name}"))
        found |= {
            f"{module.name}.{name}": value
            for name, value in content.items()
            if isinstance(value, Kernel) and value.py_func.__module__.endswith(module.name)
        }
    return found


def signatures() -> dict[str, set[str]]:
    """Return the compiled signatures of each function called from Python."""
    return {name: set(map(str, one.signatures)) for name, one in kernels().items()}


def n_compiled() -> int:
    """Return the number of compilations in this process, without those loaded from disk."""
    return sum(sum(one.stats.cache_misses.values()) for one in kernels().values())


def use_sparse() -> None:
    """Do the same for sparse tables, with and without weights."""
    rng = np.random.default_rng(0)
    obs = Observations.from_array(sparse.csr_array((rng.random((90, 12)) < 0.4).astype(float)))
    for weights in (None, rng.random(90)):
        lists = sparse_distances(obs.with_weights(weights), cutoff=3.0)
        for method in ("quartet", "relaxed", "nj"):
            learn(lists, LearnSettings(default_thresholds(lists), method=method))


def use(name: str) -> None:
    """Do what the pages do first: curve, graph by each method, layout, fit."""
    obs: Observations = load_sample(name).observations
    D = information_distances(obs)
    edge_density(D)
    default = default_thresholds(D)
    for r in (D.r_max, loop_radius(D)):
        for method in ("quartet", "relaxed", "nj"):
            thresholds = Thresholds(r, default.Lambda, default.tau)
            graph = learn(D, LearnSettings(thresholds, method=method)).graph
    model = fit_parameters(graph, obs, FitSettings(max_steps=2))
    model.hidden_posteriors(obs)
    model.log_likelihood(obs)


def results() -> dict[str, str]:
    """Return digests of a curve, graphs by each method and their support, of small tables."""
    found = {}
    for name in ("latent_cycle", "irish_wind12", "bfi25"):
        obs = load_sample(name).observations
        D = information_distances(obs)
        r = loop_radius(D)
        found[f"{name}, curve"] = sha256(edge_density(D).intervals.tobytes()).hexdigest()
        found[f"{name}, initial graph"] = initial_graph(D, r).digest
        for method in ("quartet", "relaxed", "nj"):
            thresholds = replace(default_thresholds(D), r=r)
            result = learn(D, LearnSettings(thresholds, method=method))
            found[f"{name}, {method}"] = result.graph.digest
    rows = latent_cycle(4, 3, kind="ising").sample(200)
    support = stability(rows, how=Resampling(n_resamples=3))
    found["support"] = repr([support.edges.tolist(), support.cycles.tolist()])
    return found
