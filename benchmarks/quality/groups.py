"""Agreement of detected with known groups of columns, compared with methods given their number.

Writes the tables in docs/guide/groups.md between two marks.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.decomposition import FactorAnalysis
from sklearn.metrics import adjusted_rand_score

from benchmarks import markdown_table
from loopylatent.analysis.stability.groups import Groups, agreed, communities, groups
from loopylatent.analysis.sweep.suggest import Name, suggest
from loopylatent.api import learn
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import Sample, load_sample

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

SAMPLES = (
    "bfi25",
    "holzinger24",
    "ability16",
    "mammals47_dna",
    "stocks20_monthly_1990_2007",
    "stocks_sp100_daily_2003_2007",
)
SEEDS = range(5)
N_RESAMPLES = 200
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "groups.md"
START, END = "<!-- tables: python -m benchmarks.quality.groups -->", "<!-- end of tables -->"

SUGGESTED, SUGGESTED_END = "<!-- suggestions -->", "<!-- end of suggestions -->"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Adjusted Rand index and number of detected groups, for each seed."""

    scores: tuple[float, ...]
    n_groups: tuple[int, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores)

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {statistics.pstdev(self.scores):.2f}"

    @property
    def found(self) -> str:
        low, high = min(self.n_groups), max(self.n_groups)
        return str(low) if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Row:
    """All figures of one sample."""

    name: str
    n_columns: int
    n_known: int
    consensus: Agreement
    single: Agreement
    trees: Agreement
    average: float
    ward: float
    ward_dissimilarity: float
    factors: float | None

    @property
    def scores(self) -> tuple[float | None, ...]:
        ours = (self.consensus.mean, self.single.mean, self.trees.mean)
        return (*ours, self.average, self.ward, self.ward_dissimilarity, self.factors)


def over_seeds(find: Callable[[int], Groups], known: Mapping[str, str]) -> Agreement:
    found = [find(seed) for seed in SEEDS]
    return Agreement(
        tuple(one.agreement(known) for one in found), tuple(one.n_groups for one in found)
    )


def consensus_of_trees(obs: Observations, seed: int) -> Groups:
    """The consensus of ``groups`` without hidden nodes: each resample gives its MST."""
    rng = np.random.default_rng(seed)
    share = np.full(obs.n_rows, 1 / obs.n_rows)
    together = np.zeros((obs.n_columns, obs.n_columns))
    for _ in range(N_RESAMPLES):
        weights = rng.multinomial(obs.n_rows, share).astype(np.float64)
        D = information_distances(obs.with_weights(weights))
        labels = communities(initial_graph(D, D.r_max), seed).labels
        together += labels[:, None] == labels
    return Groups(obs.names, agreed(together / N_RESAMPLES))


def linked(dissimilarity: FloatArray, method: str, n_groups: int) -> IntArray:
    condensed = squareform(dissimilarity, checks=False)
    return fcluster(linkage(condensed, method), n_groups, "maxclust").astype(np.int64)


def rotated_factors(obs: Observations, n_groups: int) -> IntArray:
    """Assign each column to the factor of its largest loading; replace missing values by means."""
    values = obs.dense()
    mean = np.nanmean(values, axis=0)
    filled = np.where(np.isnan(values), mean, values)
    scores = (filled - mean) / filled.std(axis=0)
    loadings = FactorAnalysis(n_groups, rotation="varimax").fit(scores).components_
    labels: IntArray = np.abs(loadings).argmax(axis=0)
    return labels


def measure(sample: Sample) -> Row:
    obs, known = sample.observations, sample.groups or {}
    D = information_distances(obs)
    graph = learn(D, trace=False).graph
    n_known = len(set(known.values()))
    columns = [k for k, name in enumerate(obs.names) if name in known]
    labels_known = [known[obs.names[k]] for k in columns]

    def score(labels: IntArray) -> float:
        return float(adjusted_rand_score(labels_known, labels[columns]))

    finite = bounded(D)
    numeric = "categorical" not in obs.kinds
    return Row(
        sample.name,
        obs.n_columns,
        n_known,
        over_seeds(lambda seed: groups(obs, seed=seed, n_resamples=N_RESAMPLES), known),
        over_seeds(lambda seed: communities(graph, seed), known),
        over_seeds(lambda seed: consensus_of_trees(obs, seed), known),
        score(linked(finite, "average", n_known)),
        score(linked(finite, "ward", n_known)),
        score(linked(1 - np.exp(-finite), "ward", n_known)),
        score(rotated_factors(obs, n_known)) if numeric else None,
    )


def bounded(D: DistanceMatrix) -> FloatArray:
    """Replace infinite distances, which linkage does not accept, by long ones."""
    return np.where(np.isfinite(D.values), D.values, 2 * D.r_max)


def tables(rows: list[Row]) -> str:
    """Return the tables of agreement and of the numbers of groups."""
    body = [
        [
            f"`{row.name}`", str(row.consensus), str(row.single), str(row.trees),
            *(f"{x:.2f}" for x in (row.average, row.ward, row.ward_dissimilarity)),
            "none" if row.factors is None else f"{row.factors:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    body += [
        mean_row("mean of six", rows),
        mean_row("mean without `mammals47_dna`", [row for row in rows if row.factors is not None]),
    ]
    head = (
        "sample", "`groups`", "`communities`", "consensus of spanning trees", "average linkage",
        "Ward, d", "Ward, 1 − e^−d", "factors, varimax",
    )  # fmt: skip
    counts = [
        [f"`{row.name}`", str(row.n_columns), str(row.n_known), row.consensus.found,
         row.single.found, row.trees.found]
        for row in rows
    ]  # fmt: skip
    count_head = ("sample", "columns", "known groups", *head[1:4])
    return f"{markdown_table(head, body)}\n\n{markdown_table(count_head, counts)}"


def mean_row(title: str, rows: list[Row]) -> list[str]:
    columns = zip(*(row.scores for row in rows), strict=True)
    means = ("none" if None in column else f"{statistics.fmean(column):.2f}" for column in columns)
    return [title, *means]


def suggested(samples: list[Sample]) -> str:
    """Return the agreement of `groups` at each suggested setting, for one seed."""
    names: tuple[Name, ...] = ("tree", "bic", "held-out")
    body = []
    for sample in samples:
        obs, known = sample.observations, sample.groups or {}
        row = {one.name: one for one in suggest(information_distances(obs), obs, most=30)}
        cells = []
        for name in names:
            one = row.get(name)
            if one is None:  # the same graph as one to its left
                cells.append("the same")
                continue
            agreement = groups(obs, thresholds=one.thresholds).agreement(known)
            cells.append(f"{agreement:.2f} (r = {one.thresholds.r:.2f})")
        body.append([f"`{sample.name}`", *cells])
    return markdown_table(("sample", "tree", "best BIC", "best on held-out rows"), body)


def main() -> None:
    """Measure all samples and write the tables."""
    samples = [load_sample(name) for name in SAMPLES]
    put(START, END, tables([measure(sample) for sample in samples]))
    put(SUGGESTED, SUGGESTED_END, suggested(samples))


def put(start: str, end: str, found: str) -> None:
    """Replace the text between two marks of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(start)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{start}\n{found}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
