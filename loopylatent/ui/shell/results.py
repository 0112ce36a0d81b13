"""The stages of learning in the app; each result is computed once and kept by its key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any, TypeVar

import pandas as pd

from loopylatent.analysis.evaluation.contest import Contestant
from loopylatent.analysis.matching import match_hidden
from loopylatent.analysis.stability.resampling import Scheme
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import APP, Estimate, check_shape, check_time, estimate
from loopylatent.compute.values import Progress
from loopylatent.distances.files import read_distances
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, quoted
from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.figures.simplify import SIMPLE_FROM, WHOLE_UP_TO
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import (
    EdgeDensity,
    curve_with_progress,
    edge_density,
    initial_graph,
    settings_for,
)
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.learning.regularized import learn_regularized
from loopylatent.settings import Goal, LearnSettings, Thresholds
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame
from loopylatent.tables.samples import Sample, load_sample, sample_folder
from loopylatent.ui.shell.background import Job, Jobs, Key, Name

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept:
    kind: str
    key: Name
    result: Any
    seconds: float


class Memo:
    """A cache of results that counts how often each kind was computed.

    Results are dropped when the session exceeds its memory, except the last one of each kind. They
    are immutable, so sharing them is safe.
    """

    def __init__(self, most: int = 400, most_bytes: int = APP.session_bytes) -> None:
        self._cache = ResultCache(most, most_bytes)
        self._last: dict[str, _Kept] = {}
        self.computed: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        """Computation time of the result of each kind that was returned last."""

    def get(self, kind: str, key: Name, compute: Callable[[], T]) -> T:
        """Return the result for ``key``; compute and keep it if it is not known."""
        kept = self._find(kind, key)
        if kept is None:
            start = perf_counter()
            result = compute()
            self.keep(kind, key, result, perf_counter() - start)
            self.computed[kind] += 1
            kept = self._last[kind]
        self._last[kind] = kept
        self.seconds[kind] = kept.seconds
        found: T = kept.result
        return found

    def known(self, kind: str, key: Name) -> Any:
        """Return the result for ``key``, or None if it is not known."""
        kept = self._find(kind, key)
        return None if kept is None else kept.result

    def items(self, kind: str) -> list[tuple[Name, Any]]:
        """Return all known results of a kind, newest first."""
        last = self._last.get(kind)
        every = [*([] if last is None else [last]), *(one for _, one in self._cache.items())]
        return list({one.key: one.result for one in every if one.kind == kind}.items())

    def keep(self, kind: str, key: Name, result: Any, seconds: float = 0.0) -> None:
        """Store a result that was computed elsewhere; it replaces an older one."""
        self._last[kind] = kept = _Kept(kind, key, result, seconds)
        self._cache.put((kind, key), kept)

    def _find(self, kind: str, key: Name) -> _Kept | None:
        kept: _Kept | None = self._cache.get((kind, key))
        last = self._last.get(kind)
        return last if kept is None and last is not None and last.key == key else kept


@dataclass(frozen=True, slots=True)
class DataKey(Key):
    """The fields of a recipe on which the distances depend."""

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
class DistancesKey(Key):
    """The distances between the columns of a table."""

    data: str
    metric: str
    drop_degenerate: bool


@dataclass(frozen=True, slots=True)
class LearnedKey(Key):
    """A learned graph, or several learned in one job."""

    distances: str
    settings: LearnSettings


@dataclass(frozen=True, slots=True)
class PlacesKey(Key):
    """The layout of some nodes of a graph."""

    graph: str
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TwoGraphsKey(Key):
    """A comparison of two graphs."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class FitKey(Key):
    """A model fitted to a table on a graph."""

    data: str
    graph: str


@dataclass(frozen=True, slots=True)
class RefinedKey(Key):
    """A graph refined by likelihood, or the search for it."""

    data: str
    graph: str
    """The digest of the graph that the search starts from."""
    goal: Goal


@dataclass(frozen=True, slots=True)
class TableKey(Key):
    """A result that depends only on a table and its distances."""

    distances: str
    data: str | None

    @classmethod
    def of(cls, source: Source) -> TableKey:
        return cls(source.distances.digest, digest_or_none(source.observations))


@dataclass(frozen=True, slots=True)
class SupportKey(Key):
    """The bootstrap support of a graph."""

    data: str
    """The digest of the rows, or of the distances if there are no rows."""
    distances: str
    graph: str
    settings: LearnSettings
    scheme: Scheme
    n_runs: int


@dataclass(frozen=True, slots=True)
class ComparedKey(Key):
    """The scores of a graph on the page Compare."""

    data: str | None
    graph: str
    settings: LearnSettings


# Tune --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlongKey(Key):
    """A sweep along r, or its barcode; the radius of its settings is 0."""

    distances: str
    settings: LearnSettings

    @classmethod
    def of(cls, distances: str, settings: LearnSettings) -> AlongKey:
        fixed = settings.thresholds
        line = replace(settings, thresholds=Thresholds(0.0, fixed.Lambda, fixed.tau))
        return cls(distances, line)


@dataclass(frozen=True, slots=True)
class CellsKey(Key):
    """A grid of thresholds."""

    distances: str
    cells: tuple[LearnSettings, ...]


@dataclass(frozen=True, slots=True)
class LoopsKey(Key):
    """A loop test."""

    distances: str
    r: float


# Evaluate ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SplitKey(Key):
    """A split into training and held-out rows, by a label column or at random."""

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
        """Ignore what has no effect: the share of a split by column, the value of a random one."""
        how = ("", share) if column is None else (test, 0.0)
        return cls(data, metric, seed, column, *how)


@dataclass(frozen=True, slots=True)
class EvaluationKey(Key):
    """The scores of one model on held-out rows."""

    split: SplitKey
    contestant: Contestant
    belief: bool

    @classmethod
    def of(cls, split: SplitKey, contestant: Contestant, belief: bool) -> EvaluationKey:
        return cls(split, contestant, belief and contestant.kind != "lda")


@dataclass(frozen=True, slots=True)
class Attempt(Key):
    """A job that can be restarted after it was stopped."""

    of: Name
    number: int


def digest_or_none(obs: Observations | None) -> str | None:
    """Return the digest of a table; None without one."""
    return None if obs is None else obs.digest


Uploads = Mapping[str, bytes]


@dataclass(frozen=True, eq=False)
class Source:
    """The data behind the graph."""

    title: str
    about: str
    distances: DistanceMatrix
    observations: Observations | None
    groups: Mapping[str, str] | None
    truth: LatentGraph | None

    @property
    def rows_digest(self) -> str:
        """The digest of the rows, or of the distances if there are no rows."""
        return (self.distances if self.observations is None else self.observations).digest


def source_of(memo: Memo, uploads: Uploads, recipe: Recipe) -> Source:
    """Return the data of a recipe with their distances."""

    def read() -> Source:
        if recipe.source_kind != "sample":
            return _uploaded_source(memo, _content(uploads, recipe), recipe)
        sample = sample_of(memo, recipe.sample_name)
        D = _distances(memo, sample.observations, recipe)
        about = (sample.title, sample.about)
        return Source(*about, D, sample.observations, sample.groups, sample.truth)

    return memo.get("source", DataKey.of(recipe), read)


def sample_of(memo: Memo, name: str) -> Sample:
    """Return a bundled table, read once."""
    return memo.get("sample", name, lambda: load_sample(name))


def title_of(memo: Memo, recipe: Recipe) -> str:
    """Return the title of the data of a recipe."""
    is_sample = recipe.source_kind == "sample"
    return sample_of(memo, recipe.sample_name).title if is_sample else recipe.source


def _content(uploads: Uploads, recipe: Recipe) -> bytes:
    if recipe.data_digest is None:
        sample_folder()  # raises if the bundled tables are missing, the reason why nothing is open
    if recipe.data_digest is None or recipe.data_digest not in uploads:
        raise DataError(
            f"The file {quoted(recipe.source)} is not loaded; a reload of the page drops files. "
            "Press Open file and choose it again to use the settings of this link, or choose "
            "other data."
        )
    return uploads[recipe.data_digest]


def _uploaded_source(memo: Memo, content: bytes, recipe: Recipe) -> Source:
    if recipe.source_kind == "distances":
        distances = _read_distances(memo, content, recipe)
        check_shape(distances.n_columns, distances.n_columns, APP)
        about = f"Precomputed distances of {distances.n_columns} columns."
        return Source(recipe.source, about, distances, None, None, None)
    obs = table_of(memo, content, recipe)
    about = f"{obs.n_rows:,} rows, {obs.n_columns} columns."
    return Source(recipe.source, about, _distances(memo, obs, recipe), obs, None, None)


def _read_distances(memo: Memo, content: bytes, recipe: Recipe) -> DistanceMatrix:
    """Read distances once; the number of rows behind them can be corrected later."""
    read = memo.get(
        "read distances",
        digest_of(content),
        lambda: read_distances(content, name=recipe.source, max_cells=APP.cells),
    )
    return DistanceMatrix.from_array(read.values, read.names, recipe.n_samples)


def frame_of(memo: Memo, content: bytes, name: str) -> pd.DataFrame:
    """Parse a file once; do not modify the returned table."""
    return memo.get(
        "frame",
        digest_of(content),
        lambda: read_frame(content, name=name, max_bytes=APP.file_bytes, max_cells=APP.cells),
    )


def table_of(memo: Memo, content: bytes, recipe: Recipe) -> Observations:
    """Return an uploaded table with the column roles and types of the recipe."""

    def read() -> Observations:
        return Observations.from_frame(
            frame_of(memo, content, recipe.source),
            drop=recipe.drop,
            labels=recipe.labels,
            kinds=dict(recipe.kinds),
            weights=recipe.weights,
            on_degenerate="drop" if recipe.drop_degenerate else "error",
        )

    return memo.get("table", DataKey.of(recipe), read)


def _distances(memo: Memo, obs: Observations, recipe: Recipe) -> DistanceMatrix:
    def compute() -> DistanceMatrix:
        return information_distances(
            obs, recipe.metric, on_degenerate="drop" if recipe.drop_degenerate else "error"
        )

    return memo.get(
        "distances", DistancesKey(obs.digest, recipe.metric, recipe.drop_degenerate), compute
    )


def curve_of(memo: Memo, D: DistanceMatrix) -> EdgeDensity:
    """Return the initial graph as a function of r."""
    return memo.get("curve", D.digest, lambda: edge_density(D))


def known_curve(jobs: Jobs, memo: Memo, D: DistanceMatrix) -> EdgeDensity | None:
    """Return the density curve: computed now for a small table, in the background otherwise."""
    if D.n_columns <= SIMPLE_FROM:
        return curve_of(memo, D)
    known: EdgeDensity | None = memo.known("curve", D.digest)
    if known is None and D.n_columns <= WHOLE_UP_TO and curve_job(jobs, D) is None:
        begin_curve(jobs, memo, D)
    return known


def curve_job(jobs: Jobs, D: DistanceMatrix) -> Job | None:
    """Return the job that computes the density curve, if it was started."""
    return jobs.of("curve", D.digest)


def begin_curve(jobs: Jobs, memo: Memo, D: DistanceMatrix) -> None:
    """Compute the density curve in the background."""

    def work(report: Progress) -> None:
        memo.keep("curve", D.digest, curve_with_progress(D, report))

    jobs.get("curve", D.digest, work)


def start_of(memo: Memo, D: DistanceMatrix, r: float) -> LatentGraph:
    """Return the initial graph at r, from the density curve if that is known or quick."""
    if D.n_columns <= SIMPLE_FROM:
        return curve_of(memo, D).graph_at(r)
    known: EdgeDensity | None = memo.known("curve", D.digest)
    return initial_graph(D, r) if known is None else known.graph_at(r)


def learned(
    memo: Memo, D: DistanceMatrix, recipe: Recipe, progress: Progress | None = None
) -> LearnResult:
    """Return the graph of a recipe."""
    settings = recipe.settings

    def compute() -> LearnResult:
        start = start_of(memo, D, settings.thresholds.r)
        return learn(D, settings, start=start, progress=progress)

    return memo.get("learned", LearnedKey(D.digest, settings), compute)


def bic_work(obs: Observations) -> Estimate:
    """Estimate the time to learn with BIC penalty."""
    return estimate("bic", obs.n_rows, obs.n_columns)


def check_bic(obs: Observations) -> None:
    """Raise if learning with BIC penalty takes too long."""
    check_time(bic_work(obs), 1, "graph", APP)


def regularized_job(jobs: Jobs, memo: Memo, source: Source, recipe: Recipe) -> Job | None:
    """Return the job that learns with BIC penalty; None if it is off or there are no rows."""
    obs, D, settings = source.observations, source.distances, recipe.settings
    if recipe.regularize == "none" or obs is None:
        return None
    check_bic(obs)
    start = start_of(memo, D, settings.thresholds.r)

    def work(report: Progress) -> LearnResult:
        return learn_regularized(D, obs, settings, progress=report, start=start)

    return jobs.get("bic", LearnedKey(D.digest, settings), work)


def sample_recipe(memo: Memo, name: str) -> Recipe:
    """Return the recipe with which a bundled sample opens."""
    sample = sample_of(memo, name)
    recipe = Recipe(source=f"sample:{name}", source_kind="sample", r=0.0, Lambda=0.0, tau=0.0)
    D = _distances(memo, sample.observations, recipe)
    initial = (sample.opening.get(one) for one in ("r", "Lambda", "tau"))
    found = settings_for(D, *initial).thresholds
    return replace(recipe, r=found.r, Lambda=found.Lambda, tau=found.tau)


def carried_nodes(before: LatentGraph, graph: LatentGraph) -> dict[int, int]:
    """Map the nodes of a graph to those of the next; hidden nodes are matched by profile."""
    if set(before.names) != set(graph.names):
        return {}
    number = {name: node for node, name in enumerate(graph.names)}
    carried = {node: number[name] for node, name in enumerate(before.names)}
    pairs = match_hidden(before, graph, threshold=0.5).pairs
    return carried | {pair.left: pair.right for pair in pairs}
