"""How far chance moves a learned graph: the same settings with other seeds.

Relaxed grouping starts its search for families at random, and a random order of visits is drawn;
both hang on the seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from loopylatent.analysis.overlay import overlay
from loopylatent.compute.arrays import Progress
from loopylatent.compute.threads import as_they_finish
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings


@dataclass(frozen=True, eq=False)
class SeedEffect:
    """The graphs of several seeds."""

    seeds: tuple[int, ...]
    """0, 1, ..."""
    graphs: tuple[LatentGraph, ...] = field(repr=False)
    """The graph of each seed."""
    agreement: float
    """Edges that two graphs share, of those that either has: the mean over all pairs of graphs.

    Hidden nodes are the same where `matching` says so.
    """

    @property
    def n_hidden(self) -> tuple[int, ...]:
        return tuple(graph.n_hidden for graph in self.graphs)

    @property
    def n_edges(self) -> tuple[int, ...]:
        return tuple(graph.n_edges for graph in self.graphs)

    @property
    def n_different(self) -> int:
        """How many different graphs there are."""
        return len({graph.digest for graph in self.graphs})

    def __str__(self) -> str:
        return (
            f"{len(self.seeds)} seeds, {self.n_different} graph{'s' * (self.n_different != 1)}: "
            f"{_span(self.n_hidden)} hidden nodes, {_span(self.n_edges)} edges; "
            f"two of them share {self.agreement:.0%} of their edges"
        )


def over_seeds(
    D: DistanceMatrix,
    settings: LearnSettings,
    n_seeds: int = 10,
    *,
    progress: Progress | None = None,
    threads: int | None = None,
) -> SeedEffect:
    """Learn with seeds 0, 1, ... and say how far the graphs agree.

    Parameters
    ----------
    D : DistanceMatrix
    settings : LearnSettings
        Their seed plays no part.
    n_seeds : int
    progress : callable, optional
        Called with the seeds done and all of them.
    threads : int, optional
        By default one for each core.

    Returns
    -------
    SeedEffect

    Examples
    --------
    >>> from loopylatent.tables.samples import load_sample
    >>> from loopylatent.distances.matrix import information_distances
    >>> from loopylatent.settings import Thresholds
    >>> D = information_distances(load_sample("latent_cycle").observations)
    >>> print(over_seeds(D, LearnSettings(Thresholds(1.5, 0.007, 0.1)), 3))
    3 seeds, 1 graph: 10 hidden nodes, 30 edges; two of them share 100% of their edges
    """
    if n_seeds < 2:
        raise ThresholdError(f"n_seeds = {n_seeds} leaves nothing to compare; use at least 2.")
    start = initial_graph(D, settings.thresholds.r)

    def one(seed: int) -> LatentGraph:
        return learn(D, replace(settings, seed=seed), start=start, trace=False).graph

    tasks = [lambda check, seed=seed: (check(0, 1), one(seed))[1] for seed in range(n_seeds)]
    found = dict(as_they_finish(tasks, progress, threads))
    graphs = tuple(found[seed] for seed in range(n_seeds))
    return SeedEffect(tuple(range(n_seeds)), graphs, _agreement(graphs))


def _agreement(graphs: tuple[LatentGraph, ...]) -> float:
    shares = []
    inside = overlay(graphs).edges_in
    for k in range(len(graphs)):
        others = inside[:, k + 1 :]
        both = (inside[:, [k]] & others).sum(axis=0)
        either = (inside[:, [k]] | others).sum(axis=0)
        shares += np.where(either > 0, both / np.maximum(either, 1), 1.0).tolist()
    return float(np.mean(shares))


def _span(numbers: tuple[int, ...]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
