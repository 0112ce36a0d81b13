"""Sweeps: structure and scores along r, or over Lambda and tau (section 6.1)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.analysis.sweep.points import MOST_RADII, SweepPoint, iter_points, radii
from loopylatent.analysis.sweep.scores import (
    TEST_SHARE,
    Failed,
    PointScores,
    Scored,
    Split,
    iter_scores,
)
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.values import Progress, Shown
from loopylatent.compute.workers import Engine, runner
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.learning.initial_graph import default_thresholds, edge_density
from loopylatent.settings import FitSettings, LearnSettings, Method, Order, Thresholds
from loopylatent.tables.observations import Observations

Values = float | Sequence[float] | NDArray[np.float64]
OnResult = Callable[[SweepPoint | Scored], None]
"""Called with each point, and later with its scores, as soon as they are computed."""


@dataclass(frozen=True, eq=False)
class Sweep(Shown):
    """Points ordered by (r, Lambda, tau), with scores if requested.

    Parameters
    ----------
    points : tuple of SweepPoint
    scores : tuple of PointScores, Failed or None
        One for each point; None if scores were not requested.
    """

    points: tuple[SweepPoint, ...] = field(repr=False)
    scores: tuple[Scored | None, ...] = field(repr=False)

    def __repr__(self) -> str:
        scored = sum(isinstance(one, PointScores) for one in self.scores)
        return f"Sweep({len(self.points)} points, {scored} of them scored)"

    def to_frame(self) -> pd.DataFrame:
        """A row for each point; the girth of a graph without cycles is infinite."""
        rows = [
            point_row(point) | score_row(scored)
            for point, scored in zip(self.points, self.scores, strict=True)
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> str:
        """The same as JSON, a list of objects; infinite and missing values are null."""
        rows = [
            {name: _finite(value) for name, value in row.items()}
            for row in self.to_frame().to_dict("records")
        ]
        return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def point_row(point: SweepPoint) -> dict[str, Any]:
    """Return the structure of a point as Python scalars."""
    return asdict(point.thresholds) | {
        "edges": point.n_edges,
        "hidden": point.n_hidden,
        "cycles": point.n_cycles,
        "girth": point.girth,
        "components": point.n_components,
        "visits": point.n_visits,
        "stuck": point.n_stuck,
        "initial_edges": point.n_initial_edges,
        "graph": point.graph.digest,
    }


def score_row(scored: Scored | None) -> dict[str, Any]:
    """Return the scores as Python scalars; empty if there are none."""
    if scored is None:
        return {}
    if isinstance(scored, Failed):
        return {"failure": scored.reason}
    test = scored.test
    names = ("perp_ll", "perp_bic", "pred_perp_ll", "pred_perp_bic", "df")
    return {
        "train_log_likelihood": scored.train_log_likelihood,
        "train_bic": test.train_bic,
        "test_log_likelihood": test.log_likelihood,
        "test_bic": test.bic,
        **{name: getattr(test, name) for name in names},
        "inference": test.method,
        "converged": scored.converged,
        "fitted_edges": scored.graph.n_edges,
        "fitted_hidden": scored.graph.n_hidden,
        "seconds": round(scored.seconds, 3),
        "failure": "",
    }


def sweep(
    D: DistanceMatrix,
    r: Values | None = None,
    Lambda: Values | None = None,
    tau: Values | None = None,
    *,
    method: Method = "quartet",
    order: Order = "degree",
    seed: int = 0,
    most: int = MOST_RADII,
    obs: Observations | None = None,
    test_share: float = TEST_SHARE,
    fit: FitSettings | None = None,
    known: ResultCache | None = None,
    progress: Progress | None = None,
    on_result: OnResult | None = None,
    threads: int | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> Sweep:
    """Learn at many thresholds; with ``obs``, also score on held-out rows.

    Every point equals ``learn`` at its thresholds; equal initial graphs are learned once, equal
    graphs fitted once. For the scores, a graph is learned and fitted on the training rows alone, at
    the same thresholds, and scored on the held-out rows.

    Parameters
    ----------
    D : DistanceMatrix
    r : float or sequence, optional
        By default at most ``most`` radii from r_min to r_max at which the initial graph changes.
    Lambda, tau : float or sequence, optional
        By default those of the default rule. With sequences, every combination is a point.
    method, order, seed
        As for ``learn``; ``seed`` also chooses the held-out rows.
    most : int
    obs : Observations, optional
        The rows behind the distances. If given, every point is scored.
    test_share : float
        Share of held-out rows.
    fit : FitSettings, optional
    known : ResultCache, optional
        A cache to share between sweeps.
    progress : callable, optional
        Called with the number done and the total, first for the graphs, then for the fits; may
        raise to stop. Results computed before that are in ``known``.
    on_result : callable, optional
        Called with every point and all scores as soon as they are computed.
    threads : int, optional
    engine, scheduler
        Threads of this machine or a Dask cluster; see `information_distances`. They do not affect
        the points.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> from loopylatent.distances.matrix import information_distances
    >>> from loopylatent.synthetic import latent_cycle
    >>> truth = latent_cycle(girth=8, seed=1)
    >>> D = information_distances(truth.sample(4000, seed=1))
    >>> found = sweep(D, r=[1.2, 1.6, D.r_max])
    >>> found.to_frame()[["edges", "hidden", "cycles"]].shape
    (3, 3)
    """
    known = ResultCache() if known is None else known
    curve = edge_density(D)
    default = default_thresholds(D)
    axes = (
        radii(curve, most) if r is None else _values(r),
        _values(default.Lambda if Lambda is None else Lambda),
        _values(default.tau if tau is None else tau),
    )
    requested = list(
        dict.fromkeys(
            LearnSettings(Thresholds(*one), method, order, seed) for one in product(*axes)
        )
    )
    split = None if obs is None else Split.of(obs, D, test_share, seed)
    with runner(engine, scheduler, threads) as run:
        common: dict[str, Any] = {"known": known, "progress": progress, "run": run}
        points = _collected(iter_points(D, requested, curve=curve, **common), on_result)
        if split is None:
            return Sweep(tuple(points[one] for one in requested), (None,) * len(requested))
        scores = _collected(iter_scores(split, requested, fit=fit, **common), on_result)
    return Sweep(tuple(points[one] for one in requested), tuple(scores[one] for one in requested))


def _collected(results: Iterable[Any], on_result: OnResult | None) -> dict[LearnSettings, Any]:
    found = {}
    for result in results:
        found[result.settings] = result
        if on_result is not None:
            on_result(result)
    return found


def _values(threshold: Values) -> list[float]:
    try:
        values = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    except (TypeError, ValueError):
        raise ThresholdError(f"{threshold!r} is not a number or a list of numbers.") from None
    if values.ndim != 1 or len(values) == 0:
        raise ThresholdError("A sweep needs at least one value of each threshold, in one list.")
    return sorted(set(values.tolist()))


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
