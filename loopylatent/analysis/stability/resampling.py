"""Resampling schemes for tables and distances, and the effect of the seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from loopylatent.analysis.overlay import overlay
from loopylatent.compute import _kernels
from loopylatent.compute.limits import MEGABYTE
from loopylatent.compute.values import (
    Check,
    FloatArray,
    Progress,
    check_choice,
    check_share,
    frozen_array,
)
from loopylatent.compute.workers import Engine, as_they_finish
from loopylatent.distances.matrix import DistanceMatrix, Metric, information_distances
from loopylatent.distances.resampled import BATCH, Outcome, Weighted, Weights, weighted_distances
from loopylatent.errors import DataError, LoopyLatentError, Remedy, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings
from loopylatent.tables.observations import Observations

Scheme = Literal["bootstrap", "blocks", "subsample", "noise", "orders"]
"""Bootstrap of rows or blocks, subsample of rows, perturbed distances, random visiting orders."""

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
NEEDS_ROWS = ("bootstrap", "blocks", "subsample")
SHARE = 0.5
"""Default share of the rows in a subsample."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Scheme, number of resamples, and where they are computed."""

    metric: Metric = "auto"
    scheme: Scheme | None = None
    """By default ``bootstrap`` for a table, ``noise`` for distances."""
    n_resamples: int = 50
    seed: int = 0
    block: int | None = None
    share: float = SHARE
    engine: Engine = "threads"
    scheduler: str | None = None
    n_threads: int | None = None

    def scheme_for(self, table: Observations | DistanceMatrix) -> Scheme:
        """Return the scheme; raise an error if it is unknown or needs rows that are missing."""
        if self.scheme is None:
            return "bootstrap" if isinstance(table, Observations) else "noise"
        check_choice("scheme", self.scheme, SCHEMES)
        if self.scheme in NEEDS_ROWS and not isinstance(table, Observations):
            raise DataError(
                f"Scheme {self.scheme!r} resamples rows, but only distances are given; ",
                Remedy("rows_or_scheme"),
                ".",
            )
        return self.scheme

    def resampler(self, table: Observations | DistanceMatrix, D: DistanceMatrix) -> Resampler:
        scheme = self.scheme_for(table)
        if scheme == "noise":
            return perturbed_distances(D)
        if scheme == "orders" or not isinstance(table, Observations):
            draw = partial(_draw_each, _nothing)
            return Resampler(draw, partial(_each, partial(_unchanged, D)))
        obs = table if table.names == D.names else table.select(D.names)
        if scheme == "blocks":
            return block_bootstrapped_rows(obs, self.metric, self.block)
        if scheme == "subsample":
            return subsampled_rows(obs, self.metric, self.share)
        return bootstrapped_rows(obs, self.metric)


def default_block(n_rows: int) -> int:
    """Return the block length for rows in time order: the cube root of their number, rounded up."""
    root = round(math.cbrt(n_rows))
    return max(2, root if root**3 >= n_rows else root + 1)


MOST_BYTES = 256 * MEGABYTE
"""Of the distances that `Resamples` keeps."""


@dataclass(frozen=True, eq=False)
class Resamples:
    """The distances of all resamples of one table.

    Those that fit are kept, so that other settings need no more than to learn again.
    """

    D: DistanceMatrix
    scheme: Scheme
    draw: Resampler
    seed: int
    n_resamples: int
    kept: dict[int, list[Outcome]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        table: Observations | DistanceMatrix,
        how: Resampling,
        D: DistanceMatrix | None = None,
    ) -> Resamples:
        """Prepare the resamples of a table; ``D`` are its distances, if they are known."""
        scheme = how.scheme_for(table)
        if isinstance(table, DistanceMatrix):
            D = table
        elif D is None:
            D = information_distances(table, how.metric)
        return cls(D, scheme, how.resampler(table, D), how.seed, how.n_resamples)

    @property
    def batches(self) -> list[range]:
        """The resamples whose distances are computed at once."""
        numbers = range(self.n_resamples)
        return [numbers[first : first + BATCH] for first in numbers[::BATCH]]

    def distances(self, numbers: range, check: Check) -> list[Outcome]:
        """Return the distances of a batch, or why a resample has none."""
        known = self.kept.get(numbers.start)
        if known is None:
            drawn = self.draw.draw([self.generator(number) for number in numbers])
            known = self.draw.distances(drawn, check)
            if (numbers.stop + BATCH) * self.D.values.nbytes <= MOST_BYTES:
                self.kept[numbers.start] = known
        return known

    def generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, number])

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"kept": {}}  # what is kept does not travel


Draw = Callable[[Sequence[np.random.Generator]], Sequence[Weights]]


@dataclass(frozen=True, slots=True, eq=False)
class Resampler:
    """Maps random generators to the distances of resamples; can be pickled."""

    draw: Draw
    """The random parts of some resamples: weights of the rows, or noise."""
    distances: Weighted
    """The distances, given the random parts of some resamples, at most BATCH."""

    def __call__(self, rng: np.random.Generator) -> DistanceMatrix:
        (found,) = self.distances(self.draw([rng]), lambda *_: None)
        if isinstance(found, LoopyLatentError):
            raise found
        return found


def bootstrapped_rows(obs: Observations, metric: Metric) -> Resampler:
    """Bootstrap: the weight of a row is the number of times it was drawn."""
    n = obs.n_samples
    if obs.weights is None:
        return Resampler(EqualRows.of(n), weighted_distances(obs, metric))
    share = obs.weights / n
    draw = partial(_draw_each, partial(_times_drawn, n, share / share.sum()))
    return Resampler(draw, weighted_distances(obs, metric))


def block_bootstrapped_rows(
    obs: Observations, metric: Metric, block: int | None = None
) -> Resampler:
    """Circular block bootstrap: ``block`` consecutive rows are drawn together.

    This keeps the dependence of neighbouring rows, which would otherwise inflate the support.
    """
    n = obs.n_rows
    length = default_block(n) if block is None else block
    if not 1 <= length <= n:
        raise ThresholdError(f"block = {length} is out of range; use 1 to {n}, the number of rows.")
    own = np.ones(n) if obs.weights is None else obs.weights
    draw = partial(_draw_each, partial(_blocks_drawn, length, own))
    return Resampler(draw, weighted_distances(obs, metric))


def subsampled_rows(obs: Observations, metric: Metric, share: float = SHARE) -> Resampler:
    """Draw a share of the rows without replacement; a row of integer weight k counts as k rows."""
    check_share("share", share)
    own = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    whole = bool((own == np.rint(own)).all())
    n = round(own.sum()) if whole else obs.n_rows
    n_kept = round(share * n)
    if n_kept < 3:
        raise ThresholdError(
            f"share = {share:g} of {n} rows leaves {n_kept}; at least 3 are needed."
        )
    keep = _counts_kept if whole else _rows_kept
    draw = partial(_draw_each, partial(keep, n_kept, own))
    return Resampler(draw, weighted_distances(obs, metric))


def perturbed_distances(D: DistanceMatrix) -> Resampler:
    """Add N(0, (1 - rho^2)^2 / n) to every correlation."""
    if D.n_samples is None:
        raise DataError(
            "Resampling distances needs the number of rows; ",
            Remedy("n_samples"),
            Remedy("or_rows"),
            ".",
        )
    draw = partial(_draw_each, partial(_noise, D.n_columns))
    return Resampler(draw, partial(_each, partial(_perturbed, D)))


def _each(
    one: Callable[[FloatArray], DistanceMatrix], drawn: Sequence[FloatArray], _: Check
) -> list[Outcome]:
    return [one(own) for own in drawn]


def _draw_each(
    one: Callable[[np.random.Generator], FloatArray], rngs: Sequence[np.random.Generator]
) -> list[FloatArray]:
    return [one(rng) for rng in rngs]


@dataclass(frozen=True, slots=True, eq=False)
class EqualRows:
    """Draws as many of n rows as there are, with replacement; the counts are numpy's."""

    n: int
    share: float
    chance: FloatArray

    @classmethod
    def of(cls, n: int) -> EqualRows:
        share = float(1 / n / np.full(n, 1 / n).sum())
        return cls(n, share, _kernels.draws.chances(n, share))

    def __call__(self, rngs: Sequence[np.random.Generator]) -> list[NDArray[np.int32]]:
        """(rows,) how often each row is drawn, for each resample."""
        counts, n_most = np.empty((self.n, len(rngs)), np.int32), self.n - 1
        uniform = np.stack([rng.random(n_most) for rng in rngs])
        used = _kernels.draws.draw_rows(uniform, self.chance, counts)
        for k, (rng, n_used) in enumerate(zip(rngs, used.tolist(), strict=True)):
            if n_used < n_most:
                assert isinstance(rng.bit_generator, np.random.PCG64)
                rng.bit_generator.advance(max(n_used, 0) - n_most)
            if n_used < 0:
                counts[:, k] = rng.multinomial(self.n, np.full(self.n, self.share))
        return list(counts.T)


def _times_drawn(n: int, share: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.multinomial(n, share).astype(np.float64)


def _blocks_drawn(length: int, own: FloatArray, rng: np.random.Generator) -> FloatArray:
    n = len(own)
    starts = rng.integers(n, size=math.ceil(n / length))
    rows = ((starts[:, None] + np.arange(length)) % n).ravel()[:n]
    drawn: FloatArray = own * np.bincount(rows, minlength=n)
    return drawn


def _counts_kept(n_kept: int, own: FloatArray, rng: np.random.Generator) -> FloatArray:
    counts = own.astype(np.int64)
    kept = rng.multivariate_hypergeometric(counts, n_kept, method="marginals")
    return kept.astype(np.float64)


def _rows_kept(n_kept: int, own: FloatArray, rng: np.random.Generator) -> FloatArray:
    kept = np.zeros(len(own))
    chosen = rng.choice(len(own), n_kept, replace=False)
    kept[chosen] = own[chosen]
    return kept


def _noise(n_columns: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(size=(n_columns, n_columns))


def _perturbed(D: DistanceMatrix, noise: FloatArray) -> DistanceMatrix:
    strength = np.exp(-D.values)
    spread = (1 - strength**2) / np.sqrt(D.n_samples or 1)
    error = np.triu(noise * spread, 1)
    perturbed = np.clip(np.abs(strength + error + error.T), 1e-12, 1.0)
    values = -np.log(perturbed)
    np.fill_diagonal(values, 0.0)
    return replace(D, values=frozen_array(values, np.float64))


def _nothing(_: np.random.Generator) -> FloatArray:
    return np.empty(0)


def _unchanged(D: DistanceMatrix, _: FloatArray) -> DistanceMatrix:
    return D


@dataclass(frozen=True, eq=False)
class SeedEffect:
    """The graphs of several seeds."""

    seeds: tuple[int, ...]
    """0, 1, ..."""
    graphs: tuple[LatentGraph, ...] = field(repr=False)
    """The graph of each seed."""
    agreement: float
    """Jaccard index of the edges, averaged over all pairs of graphs (see `match_hidden`)."""

    @property
    def n_hidden(self) -> tuple[int, ...]:
        return tuple(graph.n_hidden for graph in self.graphs)

    @property
    def n_edges(self) -> tuple[int, ...]:
        return tuple(graph.n_edges for graph in self.graphs)

    @property
    def n_different(self) -> int:
        """The number of different graphs."""
        return len({graph.digest for graph in self.graphs})

    def __str__(self) -> str:
        return (
            f"{len(self.seeds)} seeds, {self.n_different} graph{'s' * (self.n_different != 1)}: "
            f"{_span(self.n_hidden)} hidden nodes, {_span(self.n_edges)} edges; "
            f"pairs share {self.agreement:.0%} of their edges on average"
        )


def over_seeds(
    D: DistanceMatrix,
    settings: LearnSettings,
    n_seeds: int = 10,
    *,
    progress: Progress | None = None,
    threads: int | None = None,
) -> SeedEffect:
    """Learn with seeds 0, 1, ... and compare the graphs.

    Parameters
    ----------
    D : DistanceMatrix
    settings : LearnSettings
        Their seed is ignored.
    n_seeds : int
    progress : callable, optional
        Called with the number of seeds done and the total.
    threads : int, optional
        By default one per core.

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
    3 seeds, 1 graph: 10 hidden nodes, 30 edges; pairs share 100% of their edges on average
    """
    if n_seeds < 2:
        raise ThresholdError(f"n_seeds = {n_seeds} is too few to compare; use at least 2.")
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
