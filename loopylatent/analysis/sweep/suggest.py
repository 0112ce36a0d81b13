"""Which thresholds to take: at most three settings, each with its reason and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loopylatent.analysis.sweep.points import MOST_RADII, SweepPoint
from loopylatent.analysis.sweep.scores import TEST_SHARE, PointScores, Scored
from loopylatent.analysis.sweep.table import sweep
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.values import Progress
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
    """Choose a tree, the best BIC, the best held-out likelihood; equal graphs are named once."""
    if not points:
        return ()
    scored = {one.settings: one for one in scores if isinstance(one, PointScores)}
    at = {point.settings: point for point in points}
    there = [scored[one] for one in at if one in scored]
    tree = max(points, key=lambda point: point.thresholds.r)
    if tree.thresholds.r < D.r_max:
        reason = f"The largest r of the {len(points)} settings: the reference for the others."
    elif tree.n_cycles == 0:
        reason = "Every ball holds all columns, so there is one tree and no loop: the safe start."
    else:
        reason = "Every ball holds all columns at a finite distance: the safe start."
    found: list[tuple[Name, str, LearnSettings, str]] = [
        ("tree", "Tree for reference", tree.settings, reason)
    ]
    if there:
        best = max(there, key=lambda one: (one.bic_row, one.settings.thresholds.r))
        reason = (
            f"The best BIC of {len(there)} settings, the paper's criterion: likelihood of the rows "
            f"learned from, less the price of {best.test.df} parameters."
        )
        found.append(("bic", "Best BIC", best.settings, reason))
        best = max(there, key=lambda one: (one.test_row, one.settings.thresholds.r))
        reason = (
            f"The best of {len(there)} settings at foretelling {best.test.n_samples:,.0f} rows "
            f"kept apart ({best.test_row:.3f} log-likelihood a row)."
        )
        found.append(("held-out", "Best on unseen rows", best.settings, reason))
    kept: dict[str, Suggestion] = {}  # equal graphs are named once, with all reasons
    for name, title, settings, reason in found:
        point = at[settings]
        first = kept.get(point.graph.digest)
        if first is None:
            sizes = (point.n_edges, point.n_hidden, point.n_cycles)
            seconds = scored[settings].seconds if settings in scored else None
            warning = beyond_noise(D, point.thresholds.r)
            one = Suggestion(name, title, settings, reason, *sizes, seconds, warning)
        else:
            both = f"{first.title}, and {title[0].lower()}{title[1:]}"
            one = replace(first, title=both, reason=f"{first.reason} {reason}")
        kept[point.graph.digest] = one
    return tuple(kept.values())


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
    r = None if obs is not None else D.r_max
    swept = sweep(
        D, r, Lambda, tau, most=most, obs=obs, test_share=test_share, seed=seed, known=known,
        progress=progress,
    )  # fmt: skip
    return choose(D, swept.points, swept.scores)
