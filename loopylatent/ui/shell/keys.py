"""What results are known by: each key names the data and the settings that a result is of."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

from loopylatent.analysis.evaluation.contest import Contestant
from loopylatent.analysis.stability.resampling import Scheme
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.graph import LatentGraph
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.observations import Observations


@dataclass(frozen=True, slots=True)
class DataKey:
    """The part of a recipe on which the distances depend."""

    source_kind: str
    source: str
    data_digest: str | None
    drop: tuple[str, ...]
    labels: tuple[str, ...]
    kinds: tuple[tuple[str, Any], ...]
    weights: str | None
    metric: str
    drop_degenerate: bool
    n_samples: int | None

    @classmethod
    def of(cls, recipe: Recipe) -> DataKey:
        return cls(*(getattr(recipe, field.name) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class DistancesKey:
    """The distances between the columns of a table."""

    data: str
    metric: str
    drop_degenerate: bool


@dataclass(frozen=True, slots=True)
class LearnedKey:
    """A graph, or several graphs learned in one go."""

    distances: str
    settings: LearnSettings


@dataclass(frozen=True, slots=True)
class PlacesKey:
    """The layout of some nodes of a graph."""

    graph: str
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FitKey:
    """A model of a table on a graph."""

    data: str
    graph: str

    @classmethod
    def of(cls, obs: Observations, graph: LatentGraph) -> FitKey:
        return cls(obs.digest, graph.digest)


@dataclass(frozen=True, slots=True)
class SupportKey:
    """The bootstrap support of a graph."""

    data: str
    """The digest of the rows, or of the distances where there are none."""
    distances: str
    graph: str
    settings: LearnSettings
    scheme: Scheme
    n_runs: int


@dataclass(frozen=True, slots=True)
class ReportKey:
    """A report; names, places and colours can change without new computations."""

    distances: str
    data: str | None
    graph: str
    recipe: Recipe
    support: tuple[Scheme, int] | None
    """The scheme and the number of runs."""


@dataclass(frozen=True, slots=True)
class ComparedKey:
    """The scores of a graph on the page Compare."""

    data: str | None
    graph: str
    settings: LearnSettings


# Tune --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlongKey:
    """A sweep along r; the radius of its settings is 0."""

    distances: str
    settings: LearnSettings

    @classmethod
    def of(cls, distances: str, settings: LearnSettings) -> AlongKey:
        fixed = settings.thresholds
        line = replace(settings, thresholds=Thresholds(0.0, fixed.Lambda, fixed.tau))
        return cls(distances, line)


@dataclass(frozen=True, slots=True)
class BarsKey:
    """A barcode."""

    along: AlongKey


@dataclass(frozen=True, slots=True)
class CellsKey:
    """A grid of thresholds."""

    distances: str
    cells: tuple[LearnSettings, ...]


@dataclass(frozen=True, slots=True)
class LoopsKey:
    """A test of the loops."""

    distances: str
    r: float


@dataclass(frozen=True, slots=True)
class SweepSplitKey:
    """The rows that a sweep learns from and holds out; their digest is known under it too."""

    distances: str
    data: str | None


# Evaluate ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SplitKey:
    """Rows to learn from and held-out rows: by a label column, or a share of them at random."""

    data: str
    metric: str
    seed: int
    column: str | None
    test: str
    share: float

    @classmethod
    def of(
        cls, data: str, metric: str, seed: int, column: str | None, test: str, share: float
    ) -> SplitKey:
        """Leave out what has no effect: the share of a split by a column, the value of another."""
        how = ("", share) if column is None else (test, 0.0)
        return cls(data, metric, seed, column, *how)


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """The scores of one model on held-out rows."""

    split: SplitKey
    contestant: Contestant
    belief: bool

    @classmethod
    def of(cls, split: SplitKey, contestant: Contestant, belief: bool) -> EvaluationKey:
        return cls(split, contestant, belief and contestant.kind != "lda")


# Laboratory --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecoveryKey:
    """A graph learned back from the rows of a model."""

    model: str
    learning: Hashable


@dataclass(frozen=True, slots=True)
class CurveKey:
    """A curve against rows or radii."""

    model: str
    fixed: Hashable
    """What is the same along the curve."""
    radii: tuple[float, ...] | None
    """None along rows."""
    n_repeats: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A job that can be begun again after it was stopped."""

    of: Hashable
    number: int


def digest_or_none(obs: Observations | None) -> str | None:
    """Return the digest of a table, where there is one."""
    return None if obs is None else obs.digest
