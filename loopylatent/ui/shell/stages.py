"""The stages of learning as the app calls them: each result is computed once and remembered.

A key holds the digest of what a stage starts from and the settings it reads, so a moved threshold
computes only what lies downstream of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from loopylatent.analysis.matching import match_hidden
from loopylatent.compute.arrays import Progress
from loopylatent.compute.limits import APP, Estimate, check_shape, check_time, estimate
from loopylatent.distances.files import read_distances
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, quoted
from loopylatent.exporting.project.recipe import Recipe, digest_of
from loopylatent.figures.simplify import SIMPLE_FROM, WHOLE_UP_TO
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import (
    EdgeDensity,
    edge_density,
    first_graph,
    followed_curve,
)
from loopylatent.learning.learner import LearnResult, learn
from loopylatent.learning.regularized import learn_regularized
from loopylatent.learning.thresholds import settings_for
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame
from loopylatent.tables.samples import Sample, load_sample, sample_folder
from loopylatent.ui.shell.background import Job, Jobs
from loopylatent.ui.shell.cache import Memo
from loopylatent.ui.shell.keys import DataKey, DistancesKey, LearnedKey

Uploads = Mapping[str, bytes]


@dataclass(frozen=True, eq=False)
class Source:
    """The data behind the graph, whatever it came from."""

    title: str
    about: str
    distances: DistanceMatrix
    observations: Observations | None
    groups: Mapping[str, str] | None
    truth: LatentGraph | None

    @property
    def rows_digest(self) -> str:
        """The digest of the rows, or of the distances where there are none."""
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
    """What the data of a recipe are called."""
    is_sample = recipe.source_kind == "sample"
    return sample_of(memo, recipe.sample_name).title if is_sample else recipe.source


def _content(uploads: Uploads, recipe: Recipe) -> bytes:
    if recipe.data_digest is None:
        sample_folder()  # nothing is open where the bundled tables are gone; it says so
    if recipe.data_digest is None or recipe.data_digest not in uploads:
        raise DataError(
            f"the file {quoted(recipe.source)} is not here: files are forgotten when a page is "
            "loaded again. Press Open a file and choose the same file: the settings of this link "
            "apply to it. Or open the saved project, or choose another table."
        )
    return uploads[recipe.data_digest]


def _uploaded_source(memo: Memo, content: bytes, recipe: Recipe) -> Source:
    if recipe.source_kind == "distances":
        distances = _read_distances(memo, content, recipe)
        check_shape(distances.n_columns, distances.n_columns, APP)
        about = f"Distances between {distances.n_columns} columns, as given."
        return Source(recipe.source, about, distances, None, None, None)
    obs = table_of(memo, content, recipe)
    about = f"{obs.n_rows:,} rows, {obs.n_columns} columns."
    return Source(recipe.source, about, _distances(memo, obs, recipe), obs, None, None)


def _read_distances(memo: Memo, content: bytes, recipe: Recipe) -> DistanceMatrix:
    """Read distances, once; how many rows are behind them may be corrected later."""
    read = memo.get(
        "read distances",
        digest_of(content),
        lambda: read_distances(content, name=recipe.source, max_cells=APP.cells),
    )
    return DistanceMatrix.from_array(read.values, read.names, recipe.n_samples)


def frame_of(memo: Memo, content: bytes, name: str) -> pd.DataFrame:
    """Return a file as a table that is not to be changed; it is parsed once."""
    return memo.get(
        "frame",
        digest_of(content),
        lambda: read_frame(content, name=name, max_bytes=APP.file_bytes, max_cells=APP.cells),
    )


def table_of(memo: Memo, content: bytes, recipe: Recipe) -> Observations:
    """Return an uploaded table with the roles and kinds that the recipe gives to its columns."""

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
    """Return the curve of a small table at once; of a large one when the background has it."""
    if D.n_columns <= SIMPLE_FROM:
        return curve_of(memo, D)
    known: EdgeDensity | None = memo.known("curve", D.digest)
    if known is None and D.n_columns <= WHOLE_UP_TO and curve_job(jobs, D) is None:
        begin_curve(jobs, memo, D)
    return known


def curve_job(jobs: Jobs, D: DistanceMatrix) -> Job | None:
    """Return the job that follows the local trees of these distances, if it was begun."""
    return jobs.of("curve", D.digest)


def begin_curve(jobs: Jobs, memo: Memo, D: DistanceMatrix) -> None:
    """Follow the local trees over all radii in the background."""

    def work(report: Progress) -> None:
        memo.keep("curve", D.digest, followed_curve(D, report))

    jobs.get("curve", D.digest, work)


def start_of(memo: Memo, D: DistanceMatrix, r: float) -> LatentGraph:
    """Return the initial graph at r, from the curve where that is known or quickly made."""
    if D.n_columns <= SIMPLE_FROM:
        return curve_of(memo, D).graph_at(r)
    known: EdgeDensity | None = memo.known("curve", D.digest)
    return first_graph(D, r) if known is None else known.graph_at(r)


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
    """What it takes to learn with the BIC."""
    return estimate("bic", obs.n_rows, obs.n_columns)


def check_bic(obs: Observations) -> None:
    """Refuse to learn with the BIC where that takes too long."""
    check_time(bic_work(obs), 1, "graph", APP)


def regularized_job(jobs: Jobs, memo: Memo, source: Source, recipe: Recipe) -> Job | None:
    """Return the job that learns with the BIC, where that is wanted and there are rows."""
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
    wanted = (sample.opening.get(one) for one in ("r", "Lambda", "tau"))
    found = settings_for(D, *wanted).thresholds
    return replace(recipe, r=found.r, Lambda=found.Lambda, tau=found.tau)


def carried_nodes(before: LatentGraph, graph: LatentGraph) -> dict[int, int]:
    """Which node of the graph before is which of the new one; hidden nodes by their profiles."""
    if set(before.names) != set(graph.names):
        return {}
    number = {name: node for node, name in enumerate(graph.names)}
    carried = {node: number[name] for node, name in enumerate(before.names)}
    pairs = match_hidden(before, graph, threshold=0.5).pairs
    return carried | {pair.left: pair.right for pair in pairs}
