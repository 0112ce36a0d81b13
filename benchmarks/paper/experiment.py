"""The paper's synthetic experiment with exact likelihoods, for docs/method/theory.md.

``python -m benchmarks.paper.experiment`` takes about five minutes on two cores, writes
docs/images/experiment.svg and prints the tables that docs/method/theory.md shows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.settings import FitSettings
from loopylatent.synthetic.experiment import (
    PAPER,
    STRONGER,
    TREE,
    TRUTH,
    Experiment,
    experiment_table,
    iter_experiment,
)
from loopylatent.synthetic.families import latent_cycle
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.tables.observations import Observations

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "experiment.svg"
ROWS = (500, 1000, 2000, 5000, 10_000, 20_000)
REPEATS = 2
SHADES = ("#9FD3F0", "#6DB9E4", "#3B9BD0", "#0072B2", "#00507E", "#002F4B")
LABELS = {TREE: "r_max", TRUTH: "true graph"}
PANEL, HEIGHT, LEFT, TOP, BOTTOM, GAP = 420, 400, 64, 64, 58, 44
"""Pixels: panel width, picture height, margins."""
TITLES = {PAPER: "the paper's potentials, 0.05 to 0.2", STRONGER: "stronger potentials, 0.6 to 1.0"}


def main() -> None:
    """Run and draw both experiments; report from how many rows on BIC prefers the cycle."""
    tables = {}
    for plan, title in TITLES.items():
        print(f"{title} ...", file=sys.stderr)
        chosen = replace(plan, rows=ROWS, n_repeats=REPEATS)
        tables[title] = experiment_table(list(iter_experiment(chosen, progress=_report)))
        print(f"\n{title}\n\n{_markdown(tables[title])}\n")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawing(tables), encoding="utf-8")
    for plan, title in TITLES.items():
        print(f"{title}: {gain_of_cycle(plan)}")


def _report(done: int, total: int) -> None:
    print(f"\r{done} of {total} graphs", end="", file=sys.stderr)


def _markdown(table: pd.DataFrame) -> str:
    wide = table.pivot_table(index="n", columns="where", values="bic", sort=False)
    counts = table.groupby("where", sort=False)[["hidden", "cycles"]]
    lines = ["| n | " + " | ".join(map(_place, wide.columns)) + " |"]
    lines.append("|" + "---|" * (len(wide.columns) + 1))
    lines += [f"| {n:,} | " + " | ".join(f"{v:.4f}" for v in row) + " |"
              for n, row in zip(wide.index, wide.to_numpy(), strict=True)]  # fmt: skip
    last = counts.last()
    for what in ("hidden", "cycles"):
        cells = " | ".join(f"{last.loc[where, what]:.1f}" for where in wide.columns)
        lines.append(f"| {what} at {wide.index[-1]:,} | {cells} |")
    return "\n".join(lines)


def _place(where: float | str) -> str:
    return LABELS[where] if isinstance(where, str) else f"r = {where:g}"


# The picture -------------------------------------------------------------------------------


def drawing(tables: dict[str, pd.DataFrame]) -> str:
    """Draw both panels as one SVG, with a line for each number of rows."""
    width = len(tables) * (LEFT + PANEL) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#1B2430">',
        f'<rect width="{width}" height="{HEIGHT}" fill="#FFFFFF"/>',
        *_legend(),
    ]
    for k, (title, table) in enumerate(tables.items()):
        parts += _panel(title, table, k * (LEFT + PANEL + GAP // 2))
    return "\n".join([*parts, "</svg>\n"])


def _legend() -> Iterator[str]:
    yield f'<text x="{LEFT}" y="20">normalised BIC of n new rows (higher is better), n =</text>'
    for k, (n, shade) in enumerate(zip(ROWS, SHADES, strict=True)):
        x = LEFT + 330 + 82 * k
        yield f'<path d="M{x} 16h18" stroke="{shade}" stroke-width="3"/>'
        yield f'<text x="{x + 23}" y="20">{n:,}</text>'


def _panel(title: str, table: pd.DataFrame, shift: int) -> Iterator[str]:
    places = list(dict.fromkeys(table["where"]))
    low, high = float(table["bic"].min()), float(table["bic"].max())
    room = 0.04 * (high - low)
    base, inside = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP

    def x(where: object) -> float:
        return round(shift + LEFT + (places.index(where) + 0.5) * PANEL / len(places), 1)

    def y(value: float) -> float:
        return round(base - (value - low + room) / (high - low + 2 * room) * inside, 1)

    yield f'<text x="{shift + LEFT}" y="{TOP - 16}" font-weight="600">{title}</text>'
    step = 10 ** math.floor(math.log10((high - low) / 2))
    for tick in np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step:
        yield f'<path d="M{shift + LEFT} {y(tick)}h{PANEL}" stroke="#E3E8EE"/>'
        text = f'x="{shift + LEFT - 6}" y="{y(tick) + 4}" text-anchor="end"'
        yield f"<text {text}>{tick:.{max(0, -math.floor(math.log10(step)))}f}</text>"
    for where in places:
        label = LABELS[where] if isinstance(where, str) else f"{where:g}"
        yield f'<text x="{x(where)}" y="{base + 18}" text-anchor="middle">{label}</text>'
    middle = shift + LEFT + PANEL * (len(places) - 2) / len(places) / 2
    yield f'<text x="{middle}" y="{base + 38}" text-anchor="middle">radius r</text>'
    for shade, n in zip(SHADES, ROWS, strict=True):
        rows = table[table["n"] == n]
        spots = [(x(w), y(v)) for w, v in zip(rows["where"], rows["bic"], strict=True)]
        line = "L".join(f"{a} {b}" for a, b in spots[:-1])
        yield f'<path d="M{line}" fill="none" stroke="{shade}" stroke-width="2"/>'
        yield from (f'<circle cx="{a}" cy="{b}" r="3.2" fill="{shade}"/>' for a, b in spots)


# The gain of a cycle -----------------------------------------------------------------------


def gain_of_cycle(plan: Experiment, girth: int = 6) -> str:
    """Report how much one edge of the ring adds to the expected log-likelihood of a row."""
    model = latent_cycle(girth, plan.leaves, potentials=plan.potentials, seed=plan.seed)
    every = _all_rows(model)
    p = model.graph.n_observed
    inner = np.flatnonzero((model.graph.edges >= p).all(axis=1))
    weakest = inner[int(model.graph.lengths[inner].argmax())]
    kept = np.arange(model.graph.n_edges) != weakest
    tree = LatentGraph.build(
        model.graph.names, model.graph.n_hidden, model.graph.edges[kept], model.graph.lengths[kept]
    )
    settings = FitSettings(max_steps=2000, tolerance=1e-9)
    fits = [fit_parameters(graph, every, settings) for graph in (model.graph, tree)]
    gain = (fits[0].train_log_likelihood - fits[1].train_log_likelihood) / every.n_samples
    rows = next((n for n in np.geomspace(10, 1e12, 1000) if n * gain > 0.5 * math.log(n)), math.inf)
    return (
        f"the weakest edge of the ring adds {gain:.2e} per row; BIC keeps it from {rows:.2g} rows"
    )


def _all_rows(model: SyntheticModel) -> Observations:
    """Return every possible row, weighted by its probability."""
    p = model.graph.n_observed
    rows = np.array(list(product([0.0, 1.0], repeat=p)))
    law = model.discrete
    nodes = model.graph.n_nodes
    hidden = np.array(list(product([-1, 1], repeat=nodes - p)))
    spins = 2 * rows - 1
    u, v = model.graph.edges.T
    leaf = u < p
    fields = np.zeros((len(rows), nodes - p))
    np.add.at(fields.T, v[leaf] - p, (law.couplings[leaf, None] * spins[:, u[leaf]].T))
    ring = (law.couplings[~leaf] * hidden[:, u[~leaf] - p] * hidden[:, v[~leaf] - p]).sum(axis=1)
    weights = np.exp(fields @ hidden.T + ring).sum(axis=1)
    # the weights add up to enough rows for the fit to stop by its gradient
    shares = weights / weights.sum() * 1e6
    return Observations.from_array(rows, list(model.graph.names)).with_weights(shares)


if __name__ == "__main__":
    main()
