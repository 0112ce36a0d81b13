"""Refinement by likelihood: recovery of known graphs, evidence against truth, held-out rows.

Writes the tables in docs/method/refinement.md between marks: all, or those named, as in
``python -m benchmarks.quality.refinement recovery held_out``. The newsgroup posts of the paper are
read from the folder named by LOOPYLATENT_REPLICATION.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from benchmarks import markdown_table
from benchmarks.results import put
from loopylatent.api import learn
from loopylatent.distances.matrix import information_distances
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.refinement import Refinement, refine, refine_best, start_settings
from loopylatent.synthetic.families import from_skeleton, latent_cycle, latent_tree
from loopylatent.synthetic.laboratory import FOUND, compare
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

PAGE = Path(__file__).resolve().parents[2] / "docs" / "method" / "refinement.md"
SEEDS = range(200, 208)
SIZES = (500, 2000, 8000)
WEAK = (0.4, 0.8)
SHORT = (0.6, 0.9)
FAMILIES: Mapping[str, Callable[[int], SyntheticModel]] = {
    "ring": lambda seed: latent_cycle(10, 2, seed=seed),
    "tree": lambda seed: latent_tree(8, 3, 2, seed=seed),
    "weak ring": lambda seed: latent_cycle(10, 2, seed=seed, lengths=WEAK),
    "weak tree": lambda seed: latent_tree(8, 3, 2, seed=seed, lengths=WEAK),
}
CAGES: Mapping[str, Callable[[int], SyntheticModel]] = {
    "Petersen": lambda seed: from_skeleton(nx.petersen_graph(), 2, seed=seed, lengths=SHORT),
    "Heawood": lambda seed: from_skeleton(nx.heawood_graph(), 2, seed=seed, lengths=SHORT),
}
SAMPLES = ("bfi25", "holzinger24", "irish_wind12", "ability16")
EVIDENCE = (-np.inf, 0.0, 2.0, 4.0, 8.0, 16.0, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A synthetic model, the best of six learned graphs, and the refined one."""

    truth: SyntheticModel
    start: LatentGraph
    quartet: LatentGraph
    refined: Refinement
    seconds: float

    def error(self, graph: LatentGraph) -> float:
        """Structure error over twice the true edges."""
        return compare(self.truth.graph, graph).error.value / (2 * self.truth.graph.n_edges)


@cache
def run(family: str, n: int, seed: int) -> Run:
    """Refine a sample of a synthetic model."""
    truth = (FAMILIES | CAGES)[family](seed)
    obs = truth.sample(n, seed=100 + seed)
    D = information_distances(obs)
    begun = time.process_time()
    graphs = [learn(D, r=one.thresholds.r, method=one.method, trace=False).graph
              for one in start_settings(D)]  # fmt: skip
    refined = refine_best(graphs, obs, evidence=n in SIZES[:2])
    seconds = time.process_time() - begun
    own = graphs[0 if "tree" in family else -3]
    return Run(truth, graphs[refined.start], own, refined, seconds)


def recovery() -> str:
    """Return the errors of the learner and after refinement."""
    rows = []
    for n in SIZES:
        for family in FAMILIES:
            runs = [run(family, n, seed) for seed in SEEDS]
            learned = [one.error(one.quartet) for one in runs]
            start = [one.error(one.start) for one in runs]
            refined = [one.error(one.refined.graph) for one in runs]
            free = sum(one.refined.price.free_hidden for one in runs)
            exact = sum(error == 0 for error in refined)
            seconds = np.mean([one.seconds for one in runs])
            means = [f"{np.mean(errors):.3f}" for errors in (learned, start, refined)]
            rows.append(
                [family, f"{n:,}", *means, f"{exact} of {len(runs)}", str(free), f"{seconds:.0f} s"]
            )
    head = (
        "graph", "rows", "quartet", "best of six", "refined", "exact", "score B", "processor time",
    )  # fmt: skip
    return markdown_table(head, rows)


def calibration() -> str:
    """Return how often parts with so much evidence were true."""
    counts: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for n in SIZES[:2]:
        for family in FAMILIES:
            for seed in SEEDS:
                one = run(family, n, seed)
                for part, nats, is_true in judged(one.truth.graph, one.refined):
                    counts[part, int(np.searchsorted(EVIDENCE, nats)) - 1].append(is_true)
    rows = []
    for k, (low, high) in enumerate(pairwise(EVIDENCE)):
        found = [counts[part, k] for part in ("edge", "hidden", "cycle")]
        cells = [f"{100 * np.mean(one):.0f} % of {len(one)}" if one else "none" for one in found]
        name = f"below {high:g}" if np.isinf(low) else f"{low:g} to {high:g}"
        rows.append([f"above {low:g}" if np.isinf(high) else name, *cells])
    return markdown_table(("evidence (nats)", "edges", "hidden nodes", "cycles"), rows)


def judged(truth: LatentGraph, refined: Refinement) -> list[tuple[str, float, bool]]:
    """Return each part, its evidence, and whether it is true.

    A hidden node is true if at least three of its edges are, a cycle if all of its edges are.
    """
    found = compare(truth, refined.graph)
    in_both = [tuple(edge) for edge in found.both.edges[found.status == FOUND].tolist()]
    place = found.nodes

    def is_true(u: int, v: int) -> bool:
        a, b = sorted((int(place[u]), int(place[v])))
        return (a, b) in in_both

    judged = []
    for one in refined.evidence or ():
        if one.part == "hidden":
            around = refined.graph.neighbours(one.nodes[0])
            right = sum(is_true(one.nodes[0], other) for other in around) >= 3
        elif one.part == "edge":
            right = is_true(*one.nodes)
        else:
            ends = zip(one.nodes, (*one.nodes[1:], one.nodes[0]), strict=True)
            right = all(is_true(u, v) for u, v in ends)
        judged.append((one.part, one.nats, right))
    return judged


def short_cycles() -> str:
    """Return the errors on graphs of girth 5 and 6."""
    rows = []
    for n in (2000, 8000):
        for name in CAGES:
            runs = [run(name, n, seed) for seed in SEEDS[:4]]
            errors = (
                [one.error(one.start) for one in runs],
                [one.error(one.refined.graph) for one in runs],
            )
            rows.append([name, f"{n:,}", *(f"{np.mean(one):.3f}" for one in errors)])
    return markdown_table(("skeleton", "rows", "best of six", "refined"), rows)


def held_out() -> str:
    """Return the mean log-likelihood of held-out rows, half of each sample."""
    rows = []
    for name in SAMPLES:
        obs = load_sample(name).observations
        order = np.random.default_rng(0).permutation(obs.n_rows)
        train = obs.take(np.sort(order[: obs.n_rows // 2]))
        test = obs.take(np.sort(order[obs.n_rows // 2 :]))
        D = information_distances(train)
        graphs = {
            "plain": learn(D, trace=False).graph,
            "regularised": learn(D, obs=train, regularize="bic", trace=False).graph,
            "refined, structure": learn(D, obs=train, refine="structure", trace=False).graph,
            "refined, prediction": learn(D, obs=train, refine="prediction", trace=False).graph,
        }
        models = [fit_parameters(graph, train) for graph in graphs.values()]
        means = [float(np.mean(model.log_likelihood(test))) for model in models]
        rows.append([f"`{name}`", *(f"{one:.3f}" for one in means)])
    head = ("sample", "plain tree", "regularised", "refined, structure", "refined, prediction")
    return markdown_table(head, rows)


def newsgroups() -> str:
    """Return the perplexity of the test posts after each batch, from the regularised tree."""
    folder = Path(os.environ["LOOPYLATENT_REPLICATION"])
    frame = pd.read_csv(folder / "newsgroups_choi_split.csv.gz")
    train, test = (
        Observations.from_frame(
            frame[frame["choi_split"] == half]
            .drop(columns=["choi_split", "newsgroup"])
            .reset_index(drop=True)
        )
        for half in ("train", "test")
    )
    D = information_distances(train)
    tree = learn(D, obs=train, regularize="bic", trace=False).graph
    begun = time.perf_counter()
    passed: list[float] = []
    refined = refine(
        tree, train, "prediction", on_round=lambda _: passed.append(time.perf_counter() - begun)
    )
    below = [step.graph for step in refined.steps if step.graph.n_edges <= 300]
    rows = []
    for title, graph in (
        ("regularised tree", tree), ("refined, at most 300 edges", below[-1]),
        ("refined, to the end", refined.graph),
    ):  # fmt: skip
        model = fit_parameters(graph, train)
        perplexity = f"{model.scores(test).perp_ll:.5f}"
        exact = "exact" if model.is_exact else "belief propagation"
        rows.append([title, str(graph.n_hidden), str(graph.n_edges), perplexity, exact])
    head = ("graph", "hidden nodes", "edges", "Perp-LL of the test half", "inference")
    return f"{markdown_table(head, rows)}\n\nThe search took {passed[-1]:.0f} s."


SECTIONS = {
    "recovery": recovery, "calibration": calibration, "short_cycles": short_cycles,
    "held_out": held_out, "newsgroups": newsgroups,
}  # fmt: skip


def main(names: tuple[str, ...] = ()) -> None:
    """Measure the named sections, or all, and write their tables."""
    for name, section in SECTIONS.items():
        if not names or name in names:
            put(PAGE, name, section())


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
