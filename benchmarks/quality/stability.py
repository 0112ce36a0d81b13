"""Calibration of support: on known graphs, and on the five groups of bfi25.

Writes the tables in docs/guide/stability.md between two marks, and the scale shown in the app,
loopylatent/analysis/stability/support_scale.json. A part of a learned graph is true if the true
graph has it, by the definitions of support.

Run: python -m benchmarks.quality.stability (a few minutes).
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks import markdown_table
from loopylatent.analysis.matching import cycle_columns
from loopylatent.analysis.stability.groups import groups
from loopylatent.analysis.stability.resampling import Resampling, bootstrapped_rows
from loopylatent.analysis.stability.runs import KINDS, Kind, Stability, edge_kind, stability
from loopylatent.analysis.stability.support import Reference, found_again
from loopylatent.distances.matrix import information_distances
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds, loop_radius
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.synthetic.families import latent_cycle, latent_tree
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

FloatArray = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "stability.md"
SCALE = ROOT / "loopylatent" / "analysis" / "stability" / "support_scale.json"
START, END = "<!-- tables: python -m benchmarks.quality.stability -->", "<!-- end of tables -->"
N_RESAMPLES = 50
BATCHES, BATCH = 5, 5
"""AUCs are computed per batch of seeds: a single graph has too few false parts."""
ROWS = (500, 2000)
CYCLE_SEEDS = 8
BOUNDS = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)
CHOSEN = {"hidden": 0.85, "inner": 0.82}
"""AUCs of the experiment that chose the definitions."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Support of parts of one type, and whether the true graph has them."""

    support: FloatArray
    true: NDArray[np.bool_]

    @property
    def auc(self) -> float | None:
        both = len(self.true) > 0 and 0 < self.true.mean() < 1
        return float(roc_auc_score(self.true, self.support)) if both else None


def models(seed: int) -> Iterator[tuple[str, SyntheticModel]]:
    """Rings and trees, with strong and with weak edges."""
    for words, lengths in (("", (0.2, 0.4)), (", weak edges", (0.4, 0.8))):
        ring = latent_cycle(girth=10, leaves=2, lengths=lengths, seed=seed)
        yield f"latent cycles{words}", ring
        tree = latent_tree(n_hidden=7, n_observed_inner=3, leaves=2, lengths=lengths, seed=seed)
        yield f"latent trees{words}", tree


def supported(model: SyntheticModel, n: int, seed: int) -> Stability:
    """Learn with loops if the true graph has some, otherwise as a tree."""
    obs = model.sample(n, seed=seed)
    D = information_distances(obs)
    default = default_thresholds(D)
    r = loop_radius(D) if model.graph.n_cycles else default.r
    settings = LearnSettings(Thresholds(r, default.Lambda, default.tau))
    return stability(obs, settings, Resampling(n_resamples=N_RESAMPLES, seed=seed))


def parts_of(found: Stability, truth: LatentGraph) -> dict[Kind, Parts]:
    graph = found.graph
    true = found_again(Reference.of(graph), truth)
    kind_of = np.array([edge_kind(graph, u, v) for u, v in graph.edges.tolist()])
    parts: dict[Kind, Parts] = {
        "hidden": Parts(found.hidden, true.hidden),
        "cycle": Parts(found.cycles, true.cycles),
    }
    for kind in ("columns", "column-hidden", "inner"):
        at = kind_of == kind
        parts[kind] = Parts(found.edges[at], true.edges[at])
    return parts


def pooled(parts: list[dict[Kind, Parts]], kind: Kind) -> Parts:
    return Parts(
        np.concatenate([one[kind].support for one in parts]),
        np.concatenate([one[kind].true for one in parts]),
    )


def measure() -> dict[tuple[str, int], list[dict[Kind, Parts]]]:
    """Return support and truth for every model and number of rows, by seed."""
    found: dict[tuple[str, int], list[dict[Kind, Parts]]] = {}
    for seed in range(BATCHES * BATCH):
        print(f"seed {seed + 1} of {BATCHES * BATCH} ...", file=sys.stderr)
        for name, model in models(seed):
            for n in ROWS:
                parts = parts_of(supported(model, n, seed), model.graph)
                found.setdefault((name, n), []).append(parts)
    return found


def auc_table(found: dict[tuple[str, int], list[dict[Kind, Parts]]]) -> str:
    head = ("known graphs, rows", *KINDS.values())
    body = []
    for (name, n), seeds in found.items():
        cells = []
        for kind in KINDS:
            batches = [seeds[k::BATCHES] for k in range(BATCHES)]
            aucs = [auc for batch in batches if (auc := pooled(batch, kind).auc) is not None]
            cells.append(f"{statistics.fmean(aucs):.2f} ± {statistics.pstdev(aucs):.2f}"
                         if aucs else "–")  # fmt: skip
        body.append([f"{name}, {n:,}", *cells])
    body.append(
        [
            "the experiment that chose these definitions",
            *(f"{CHOSEN[k]:.2f}" if k in CHOSEN else "–" for k in KINDS),
        ]
    )
    return markdown_table(head, body)


def scale_of(
    found: dict[tuple[str, int], list[dict[Kind, Parts]]],
) -> dict[Kind, list[list[float]]]:
    """For each type of part: lower and upper support, number of parts, number of true parts."""
    everything = [parts for seeds in found.values() for parts in seeds]
    scale: dict[Kind, list[list[float]]] = {}
    for kind in KINDS:
        parts = pooled(everything, kind)
        bins = np.clip(np.digitize(parts.support, BOUNDS) - 1, 0, len(BOUNDS) - 2)
        scale[kind] = [
            [BOUNDS[k], BOUNDS[k + 1], int((bins == k).sum()), int(parts.true[bins == k].sum())]
            for k in range(len(BOUNDS) - 1)
        ]
    return scale


def scale_table(scale: dict[Kind, list[list[float]]]) -> str:
    head = ("support", *KINDS.values())
    body = []
    for k, (low, high, *_) in enumerate(scale["hidden"]):
        cells = [
            f"{n_true / n:.0%} of {n:,.0f}" if n else "–"
            for _, _, n, n_true in (scale[kind][k] for kind in KINDS)
        ]
        body.append([f"{low:g} to {high:g}", *cells])
    return markdown_table(head, body)


def cycle_table() -> str:
    """Compare thresholds for the overlap of two cycles: true rings against other cycles."""
    overlaps: dict[bool, list[FloatArray]] = {True: [], False: []}
    for seed in range(CYCLE_SEEDS):
        for girth, n in product((8, 10), ROWS):
            model = latent_cycle(girth=girth, leaves=2, seed=seed)
            for is_true, best in cycle_overlaps(model, model.sample(n, seed=seed), seed):
                overlaps[is_true].append(best)
    body = []
    for least in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        shares = [[float((best >= least).mean()) for best in overlaps[k]] for k in (True, False)]
        truth = [True] * len(shares[0]) + [False] * len(shares[1])
        auc = roc_auc_score(truth, shares[0] + shares[1])
        means = (f"{statistics.fmean(share):.0%}" for share in shares)
        body.append([f"{least:.0%}", *means, f"{auc:.2f}"])
    n_true, n_false = len(overlaps[True]), len(overlaps[False])
    head = (
        "columns in common",
        f"support of {n_true} true rings",
        f"of {n_false} other cycles",
        "AUC",
    )
    return markdown_table(head, body)


def cycle_overlaps(
    model: SyntheticModel, obs: Observations, seed: int
) -> Iterator[tuple[bool, FloatArray]]:
    """Yield for each learned cycle whether it is the ring, and its best overlap in each resample.

    The radius is below that of first loops, so that there are false cycles too.
    """
    D = information_distances(obs)
    default = default_thresholds(D)
    settings = LearnSettings(Thresholds(0.85 * loop_radius(D), default.Lambda, default.tau))
    draw = bootstrapped_rows(obs, "auto")
    runs = [
        cycle_columns(learn(draw(np.random.default_rng([seed, k])), settings, trace=False).graph)
        for k in range(20)
    ]
    ring = {model.graph.names[k]: k // 2 for k in range(model.graph.n_observed)}
    for columns in cycle_columns(learn(D, settings, trace=False).graph):
        passed = len({ring[name] for name in columns}) / (model.graph.n_observed / 2)
        best = [
            max((len(columns & c) / len(columns | c) for c in run), default=0.0) for run in runs
        ]
        yield passed >= 0.9, np.array(best)


def bfi_table() -> str:
    """Return the support of the five known groups of bfi25, and of their edges."""
    sample = load_sample("bfi25")
    obs, known = sample.observations, sample.groups or {}
    together = groups(obs, n_resamples=N_RESAMPLES).together
    found = stability(obs, how=Resampling(n_resamples=N_RESAMPLES))
    assert together is not None
    body = []
    for group in sorted(set(known.values())):
        inside = np.array([known.get(name) == group for name in obs.names])
        within = together[np.ix_(inside, inside)][np.triu_indices(inside.sum(), 1)]
        outside = together[np.ix_(inside, ~inside)]
        edges = inside_edges(found, inside)
        body.append([
            group, str(inside.sum()), f"{within.mean():.2f}", f"{outside.mean():.2f}",
            f"{len(edges)}", f"{edges.mean():.2f}" if len(edges) else "–",
        ])  # fmt: skip
    return markdown_table(
        ("group of bfi25", "columns", "together, within", "together, across",
         "edges within", "their mean support"),
        body,
    )  # fmt: skip


def inside_edges(found: Stability, inside: NDArray[np.bool_]) -> FloatArray:
    """Return the support of the edges within a group.

    A hidden node is in the group if its three nearest columns are.
    """
    graph = found.graph
    lengths = graph.path_lengths()[:, : graph.n_observed]
    nearest = np.argsort(lengths, axis=1, kind="stable")[:, :3]
    belongs = inside[nearest].all(axis=1)
    belongs[: graph.n_observed] = inside
    return found.edges[belongs[graph.edges].all(axis=1)]


def main() -> None:
    """Measure; write the tables and the scale."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    found = measure()
    scale = scale_of(found)
    SCALE.write_text(json.dumps(scale) + "\n", encoding="utf-8")
    tables = "\n\n".join([
        "Area under the ROC curve (AUC) of support, true against false parts: mean and standard "
        f"deviation over {BATCHES} batches of {BATCH} seeds.",
        auc_table(found),
        "Share of true parts by support, over all of these graphs:",
        scale_table(scale),
        "Support of the cycles of learned rings, by the share of columns that a cycle of a "
        "resample must have in common; a ring is true if it passes nine in ten hidden nodes:",
        cycle_table(),
        "The five known groups of `bfi25`:",
        bfi_table(),
    ])  # fmt: skip
    PAGE.write_text(f"{before}{START}\n{tables}\n{END}{after}", encoding="utf-8")
    print(tables)


if __name__ == "__main__":
    main()
