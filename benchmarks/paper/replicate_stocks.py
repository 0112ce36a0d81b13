"""The paper's stock tables: Table 4, unchanged graphs, the companies on cycles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import markdown_table
from benchmarks.paper.paper_tables import STOCK_RADII, TABLE_4, sector
from loopylatent.analysis.evaluation.contest import (
    Contestant,
    Evaluation,
    contestants,
    iter_evaluations,
    split_by_share,
)
from loopylatent.analysis.evaluation.topics import cycle_groups, joined_groups
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.initial_graph import edge_density
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Method, Thresholds
from loopylatent.tables.observations import Observations

Log = Callable[[str], None]
SEEDS = 10
INTERVALS = ((5.9, 6.7), (6.8, 7.7))


@dataclass(frozen=True, eq=False)
class Stocks:
    """Monthly returns and the industry code of each company."""

    returns: Observations
    codes: Mapping[str, int]


def settings(r: float, method: Method = "relaxed", seed: int = 0) -> LearnSettings:
    return LearnSettings(Thresholds(r, 0.0, 0.1), method, "degree", seed)


def stock_report(stocks: Stocks, log: Log) -> str:
    """Compute all stock tables."""
    obs = stocks.returns
    D = information_distances(obs)
    log("stocks: Table 4")
    groups = {name: sector(code) for name, code in stocks.codes.items()}
    first = table_4(D, obs)
    log("stocks: held-out months")
    second = held_out(obs)
    log("stocks: cycles")
    return "\n\n".join(
        [
            f"### Stocks\n\n{obs.n_rows} months, {obs.n_columns} columns. r_min = {D.r_min:.4f}, "
            f"r_max = {D.r_max:.4f}.",
            f"#### Table 4\n\n{first}",
            f"#### Held-out months\n\n{second}",
            f"#### Edge density\n\n{density(D)}",
            f"#### Unchanged graphs\n\n{unchanged(D)}",
            f"#### Cycles\n\n{cycles(D, groups)}",
        ]
    )


def table_4(D: DistanceMatrix, obs: Observations, radii: Sequence[float] = STOCK_RADII) -> str:
    """Ours and the paper's: hidden nodes, edges, ranges over seeds, scores on all months."""
    rows = []
    p, n = obs.n_columns, obs.n_rows
    for r in sorted(radii, reverse=True):
        graphs = [learn(D, settings(r, seed=seed), trace=False).graph for seed in range(SEEDS)]
        paper = TABLE_4[r]
        scores = fit_parameters(graphs[0], obs).scores(obs)
        constant = math.log(2 * math.pi) / 2
        hidden, edges = ([getattr(g, what) for g in graphs] for what in ("n_hidden", "n_edges"))
        paper_df = 2 * math.log(paper.perp_bic / paper.perp_ll) * n * p / math.log(n)
        rows.append(
            [
                f"{r:g}", f"{paper.hidden}", f"{graphs[0].n_hidden}", spread(hidden),
                f"{paper.edges}", f"{graphs[0].n_edges}", spread(edges),
                f"{paper.perp_ll:.4f}", f"{scores.perp_ll:.4f}",
                f"{scores.perp_ll * math.exp(-constant):.4f}",
                f"{paper.perp_bic:.4f}", f"{scores.perp_bic:.4f}",
                f"{paper_df:.0f}", f"{scores.df}",
            ]
        )  # fmt: skip
    head = ("r", "hidden, paper", "ours", f"{SEEDS} seeds", "edges, paper", "ours",
            f"{SEEDS} seeds", "Perp-LL, paper", "ours", "ours without √2π", "Perp-BIC, paper",
            "ours", "df, paper (derived)", "ours")  # fmt: skip
    return markdown_table(head, rows)


def spread(values: list[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def held_out(obs: Observations) -> str:
    """Score graphs on held-out months."""
    split = split_by_share(obs, share=0.5, seed=0)
    radii = [r for r in STOCK_RADII if r >= split.D.smallest]
    chosen = contestants([settings(r) for r in radii])
    chosen += tuple(Contestant("latent", settings(r, "quartet")) for r in radii)
    found = dict(iter_evaluations(split, chosen))
    rows = []
    for k in sorted(found, key=lambda k: _order(found[k])):
        one = found[k]
        if not isinstance(one, Evaluation):
            rows.append([one.contestant.kind, f"{one.contestant.r:g}", one.reason])
            continue
        r = "" if math.isnan(one.contestant.r) else f"{one.contestant.r:g}"
        rows.append(
            [one.title, r, f"{one.n_hidden}", f"{one.n_edges}", f"{one.perp_ll:.4f}",
             f"{one.perp_bic:.4f}", f"{one.pred_perp_ll:.4f}", f"{one.pred_perp_bic:.4f}"]
        )  # fmt: skip
    head = ("model", "r", "hidden", "edges", "Perp-LL", "Perp-BIC", "Pred-Perp-LL", "Pred-Perp-BIC")
    return (
        f"{split.train.n_rows} training months and {split.test.n_rows} test months, at random."
        f"\n\n{markdown_table(head, rows)}"
    )


def _order(one: object) -> tuple[float, str]:
    if isinstance(one, Evaluation):
        return one.perp_ll, one.title
    return math.inf, ""


def density(D: DistanceMatrix) -> str:
    curve = edge_density(D)
    radii = np.arange(1.5, 8.51, 0.5)
    peak = int(np.argmax(curve.n_edges))
    until = float(curve.r[peak + 1]) if peak + 1 < len(curve.r) else math.inf
    row = ["edges", *(f"{curve.at(float(r))}" for r in radii)]
    return (
        f"Maximum {curve.n_edges[peak]} edges at r = {curve.r[peak]:.3f} to {until:.3f}.\n\n"
        + markdown_table(("r", *(f"{r:g}" for r in radii)), [row])
    )


def unchanged(D: DistanceMatrix) -> str:
    """Learn at every r of the two intervals where the initial graph changes."""
    curve = edge_density(D)
    lines = []
    for low, high in INTERVALS:
        inside = curve.r[(curve.r > low) & (curve.r <= high)]
        radii = [low, *inside.tolist(), high]
        graphs = [learn(D, settings(float(r)), trace=False).graph for r in radii]
        different = {graph.digest for graph in graphs}
        first = graphs[0]
        lines.append(
            f"- [{low:g}, {high:g}]: {len(different)} different graph"
            f"{'s' * (len(different) > 1)} over {len(radii)} radii; {first.n_hidden} hidden, "
            f"{first.n_edges} edges."
        )
    return "\n".join(lines)


def cycles(D: DistanceMatrix, groups: Mapping[str, str]) -> str:
    """Describe the first cycle, and the cycles of Boeing, Honeywell and Dow at r = 5."""
    lines = []
    for r in (7.7, 6.7):
        graph = learn(D, settings(r), trace=False).graph
        lines.extend(
            f"- r = {r:g}, the only cycle: {_named(graph, one.cycle)}; adjacent to its hidden "
            f"nodes: {_named(graph, one.adjacent)}. Sectors: "
            + ", ".join(f"{name} ({count})" for name, count in one.groups)
            for one in cycle_groups(graph, groups)
        )
    graph = learn(D, settings(5.0), trace=False).graph
    found = cycle_groups(graph, groups)
    at = {name: graph.names.index(name) for name in ("BA", "HON", "DOW")}
    both = [one for one in found if at["BA"] in one.cycle + one.adjacent
            and at["HON"] in one.cycle + one.adjacent]  # fmt: skip
    lines.append(
        f"- r = 5: {len(found)} cycles. Boeing (BA) and Honeywell (HON) share {len(both)}"
        + "".join(
            f"; {_named(graph, one.cycle)}, adjacent to it {_named(graph, one.adjacent)}"
            for one in both
        )
        + f". Neighbours of HON: {_named(graph, graph.neighbours(at['HON']))}; of BA: "
        f"{_named(graph, graph.neighbours(at['BA']))}; of DOW: "
        f"{_named(graph, graph.neighbours(at['DOW']))}."
    )
    pairs = joined_groups(found)[:8]
    text = ", ".join(f"{a} with {b} ({count})" for (a, b), count in pairs)
    lines.append(f"- r = 5, pairs of sectors on most cycles: {text}.")
    return "\n".join(lines)


def _named(graph: LatentGraph, nodes: tuple[int, ...]) -> str:
    return " ".join(graph.labels[node] for node in nodes) or "none"
