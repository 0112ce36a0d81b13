"""Which thresholds to take: at most three settings, each with its reason and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loopylatent.analysis.sweep.points import MOST_RADII, SweepPoint
from loopylatent.analysis.sweep.scores import TEST_SHARE, PointScores, Scored
from loopylatent.analysis.sweep.table import sweep
from loopylatent.compute.arrays import Progress
from loopylatent.compute.cache import ResultCache
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.observations import Observations

Name = Literal["tree", "bic", "held-out"]


@dataclass(frozen=True, slots=True, repr=False)
class Suggestion:
    """Thresholds, why to take them, and what they cost."""

    name: Name
    """What it is best at."""
    title: str
    """The same in words."""
    settings: LearnSettings
    """To learn with."""
    reason: str
    """One sentence."""
    n_edges: int
    """Of its graph."""
    n_hidden: int
    """Of its graph."""
    n_cycles: int
    """Of its graph."""
    seconds: float | None
    """How long its fit took; None where it was not fitted."""
    warning: str
    """What to beware of, in one sentence; empty where there is nothing."""

    def __repr__(self) -> str:
        return f"Suggestion({self.name!r}, {self.thresholds.in_short}: {self.cost})"

    @property
    def thresholds(self) -> Thresholds:
        return self.settings.thresholds

    @property
    def cost(self) -> str:
        """What is bought, in numbers."""
        parts = [
            f"{self.n_edges:,} edges",
            f"{self.n_hidden:,} hidden",
            f"{self.n_cycles:,} {'cycle' if self.n_cycles == 1 else 'cycles'}",
        ]
        if self.seconds is not None:
            parts.append(f"fit {self.seconds:.1f} s")
        return ", ".join(parts)


def beyond_noise(D: DistanceMatrix, r: float) -> str:
    """Say what it means that r lies beyond the noise floor; empty where it does not."""
    if D.noise_floor is None or D.n_samples is None or r <= D.noise_floor:
        return ""
    return (
        f"r = {r:.3g} lies beyond the noise floor, {D.noise_floor:.3g}: its balls hold distances "
        f"that {D.n_samples:,} rows cannot tell from independence."
    )


def choose(
    D: DistanceMatrix, points: Sequence[SweepPoint], scores: Iterable[Scored | None]
) -> tuple[Suggestion, ...]:
    """Choose among the points of a sweep: a tree, the best BIC, the best held-out likelihood.

    Each has at most one of the points; where two reasons lead to one graph it is named once,
    with both. ``scores`` may be those of some of the points only; without any the tree is left.
    """
    if not points:
        return ()
    scored = {one.settings: one for one in scores if isinstance(one, PointScores)}
    at = {point.settings: point for point in points}
    there = [scored[one] for one in at if one in scored]
    tree = max(points, key=lambda point: point.thresholds.r)
    found = [_tree(D, tree, scored.get(tree.settings), len(points))]
    if there:
        best_bic = max(there, key=lambda one: (one.bic_row, one.settings.thresholds.r))
        best_test = max(there, key=lambda one: (one.test_row, one.settings.thresholds.r))
        found.append(_by_bic(D, at[best_bic.settings], best_bic, len(there)))
        found.append(_by_test(D, at[best_test.settings], best_test, there))
    return _merged(found, at)


def _merged(
    found: Sequence[Suggestion], at: dict[LearnSettings, SweepPoint]
) -> tuple[Suggestion, ...]:
    """Name equal graphs once, with all reasons."""
    kept: dict[str, Suggestion] = {}
    for one in found:
        digest = at[one.settings].graph.digest
        first = kept.get(digest)
        if first is None:
            kept[digest] = one
        else:
            title = f"{first.title}, and {one.title[0].lower()}{one.title[1:]}"
            kept[digest] = replace(first, title=title, reason=f"{first.reason} {one.reason}")
    return tuple(kept.values())


def _tree(D: DistanceMatrix, point: SweepPoint, scored: PointScores | None, n: int) -> Suggestion:
    if point.thresholds.r < D.r_max:
        reason = f"The largest r of the {n} settings: the reference for the others."
    elif point.n_cycles == 0:
        reason = "Every ball holds all columns, so there is one tree and no loop: the safe start."
    else:
        reason = "Every ball holds all columns at a finite distance: the safe start."
    return _suggestion("tree", "Tree for reference", D, point, scored, reason)


def _by_bic(D: DistanceMatrix, point: SweepPoint, scored: PointScores, n: int) -> Suggestion:
    reason = (
        f"The best BIC of {n} settings, the paper's criterion: likelihood of the rows learned "
        f"from, less the price of {scored.test.df} parameters."
    )
    return _suggestion("bic", "Best BIC", D, point, scored, reason)


def _by_test(
    D: DistanceMatrix, point: SweepPoint, scored: PointScores, there: Sequence[PointScores]
) -> Suggestion:
    reason = (
        f"The best of {len(there)} settings at foretelling {scored.test.n_samples:,.0f} rows kept "
        f"apart ({scored.test_row:.3f} log-likelihood a row)."
    )
    return _suggestion("held-out", "Best on unseen rows", D, point, scored, reason)


def _suggestion(
    name: Name,
    title: str,
    D: DistanceMatrix,
    point: SweepPoint,
    scored: PointScores | None,
    reason: str,
) -> Suggestion:
    return Suggestion(
        name,
        title,
        point.settings,
        reason,
        point.n_edges,
        point.n_hidden,
        point.n_cycles,
        None if scored is None else scored.seconds,
        beyond_noise(D, point.thresholds.r),
    )


def suggest(
    D: DistanceMatrix,
    obs: Observations | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    most: int = MOST_RADII,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    known: ResultCache | None = None,
    progress: Progress | None = None,
) -> tuple[Suggestion, ...]:
    """Suggest at most three settings: a tree, the best BIC, the best on rows kept apart.

    Parameters
    ----------
    D : DistanceMatrix
    obs : Observations, optional
        The rows behind the distances; without them only the tree can be suggested.
    Lambda, tau : float, optional
        By default those of the default rule; r is what is looked for.
    most : int
        Radii to try at most.
    test_share, seed
        Which rows are kept apart.
    known : ResultCache, optional
        A memory to share with sweeps.
    progress : callable, optional

    Returns
    -------
    tuple of Suggestion
        The tree first. Settings that are best in two ways stand there once.

    Examples
    --------
    >>> from loopylatent.distances.matrix import information_distances
    >>> from loopylatent.synthetic import latent_cycle
    >>> obs = latent_cycle(girth=8, seed=1).sample(2000, seed=1)
    >>> found = suggest(information_distances(obs), obs, most=6)
    >>> found[0].name, found[0].n_cycles, len(found) <= 3
    ('tree', 0, True)
    """
    swept = sweep(
        D,
        None if obs is not None else D.r_max,
        Lambda,
        tau,
        most=most,
        obs=obs,
        test_share=test_share,
        seed=seed,
        known=known,
        progress=progress,
    )
    return choose(D, swept.points, swept.scores)
