"""Suggested thresholds: at most three settings, each with its reason and its cost."""

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

Name = Literal["tree", "bic", "held-out", "refined"]


@dataclass(frozen=True, slots=True, repr=False)
class Suggestion:
    """Suggested thresholds, with reason and cost."""

    name: Name
    """The criterion."""
    title: str
    """The criterion in words."""
    settings: LearnSettings
    """Settings for `learn`."""
    reason: str
    """Why, in one sentence."""
    n_edges: int
    """Edges of the graph."""
    n_hidden: int
    """Hidden nodes of the graph."""
    n_cycles: int
    """Independent cycles of the graph."""
    seconds: float | None
    """Time of the fit; None if it was not fitted."""
    warning: str
    """One sentence, or empty."""

    def __repr__(self) -> str:
        return f"Suggestion({self.name!r}, {self.thresholds.in_short}: {self.cost})"

    @property
    def thresholds(self) -> Thresholds:
        return self.settings.thresholds

    @property
    def cost(self) -> str:
        """The size of the graph and the time of the fit, as text."""
        parts = [
            f"{self.n_edges:,} edges",
            f"{self.n_hidden:,} hidden",
            f"{self.n_cycles:,} {'cycle' if self.n_cycles == 1 else 'cycles'}",
        ]
        if self.seconds is not None:
            parts.append(f"fit {self.seconds:.1f} s")
        return ", ".join(parts)


def beyond_noise(D: DistanceMatrix, r: float) -> str:
    """Return a warning if r is beyond the noise floor, else an empty text."""
    if D.noise_floor is None or D.n_samples is None or r <= D.noise_floor:
        return ""
    return (
        f"r = {r:.3g} is beyond the noise floor, {D.noise_floor:.3g}: with {D.n_samples:,} rows, "
        "longer distances cannot be distinguished from independence."
    )


def choose(
    D: DistanceMatrix, points: Sequence[SweepPoint], scores: Iterable[Scored | None]
) -> tuple[Suggestion, ...]:
    """Choose a tree, the best BIC and the best held-out likelihood; merge equal graphs."""
    if not points:
        return ()
    scored = {one.settings: one for one in scores if isinstance(one, PointScores)}
    at = {point.settings: point for point in points}
    there = [scored[one] for one in at if one in scored]
    tree = max(points, key=lambda point: point.thresholds.r)
    if tree.thresholds.r < D.r_max:
        reason = f"The largest r of the {len(points)} settings, for comparison."
    elif tree.n_cycles == 0:
        reason = "Every ball contains all columns, so the graph is a tree: a safe start."
    else:
        reason = "Every ball contains all columns at a finite distance: a safe start."
    found: list[tuple[Name, str, LearnSettings, str]] = [
        ("tree", "Tree for reference", tree.settings, reason)
    ]
    if there:
        best = max(there, key=lambda one: (one.bic_row, one.settings.thresholds.r))
        reason = (
            f"The best BIC of {len(there)} settings, the paper's criterion: log-likelihood of the "
            f"training rows minus the penalty for {best.test.df} parameters."
        )
        found.append(("bic", "Best BIC", best.settings, reason))
        best = max(there, key=_on_held_out)
        reason = (
            f"The best of {len(there)} settings on {best.test.n_samples:,.0f} held-out rows "
            f"(log-likelihood {best.test_row:.3f} per row)."
        )
        found.append(("held-out", "Best on held-out rows", best.settings, reason))
    kept: dict[str, Suggestion] = {}  # equal graphs become one suggestion with all reasons
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


def best_held_out(scores: Iterable[Scored | None]) -> PointScores | None:
    """Return the best scores on the held-out rows; of equal ones, those at the larger r."""
    there = [one for one in scores if isinstance(one, PointScores)]
    return max(there, key=_on_held_out, default=None)


def _on_held_out(one: PointScores) -> tuple[float, float]:
    return (one.test_row, one.settings.thresholds.r)


def refined_suggestion(D: DistanceMatrix, before: PointScores, after: PointScores) -> Suggestion:
    """Describe the scores of a refined graph, next to those of the graph that it started from."""
    gain = after.test_row - before.test_row
    reason = (
        f"From the graph at this r, by moves that raise the likelihood of the training rows: "
        f"log-likelihood {after.test_row:.3f} per held-out row, {abs(gain):.3f} "
        f"{'better' if gain > 0 else 'worse'} than before."
    )
    graph, settings = after.graph, after.settings
    sizes = (graph.n_edges, graph.n_hidden, graph.n_cycles)
    warning = beyond_noise(D, settings.thresholds.r)
    title = "Refined by likelihood"
    return Suggestion("refined", title, settings, reason, *sizes, after.seconds, warning)


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
    """Suggest at most three settings: a tree, the best BIC, the best on held-out rows.

    Parameters
    ----------
    D : DistanceMatrix
    obs : Observations, optional
        The rows behind the distances; without them only the tree is suggested.
    Lambda, tau : float, optional
        By default those of the default rule; the search is over r.
    most : int
        Largest number of radii to try.
    test_share, seed
        Share and random choice of the held-out rows.
    known : ResultCache, optional
        A cache to share with sweeps.
    progress : callable, optional

    Returns
    -------
    tuple of Suggestion
        The tree first. Equal graphs are one suggestion.

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
