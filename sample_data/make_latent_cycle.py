"""Write latent_cycle.csv.gz and latent_cycle_truth.json: a ring of hidden spins with leaves.

Ten hidden nodes form a cycle and each carries two observed leaves. The joint distribution is an
Ising model without fields: P(x) is proportional to exp(sum over edges of theta_uv x_u x_v). Run
`python sample_data/make_latent_cycle.py` to write the files; the result is always the same.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GIRTH, LEAVES, ROWS, SEED = 10, 2, 5000, 20130401
LETTERS = "abcdefgijk"  # without h, the letter of hidden nodes
FloatArray = NDArray[np.float64]


def sample_ring(strengths: FloatArray, rows: int, rng: np.random.Generator) -> FloatArray:
    """Draw exact samples of the spins on the ring, node by node.

    Edge k connects node k with node k + 1, the last edge returns to node 0; ``strengths`` are tanh
    of the potentials. An edge agrees (+1) or not (-1). The agreements are independent, except that
    their product must be +1. So each is drawn given the product so far and the probability that
    the remaining edges close the ring.
    """
    spins = np.empty((rows, len(strengths)))
    spins[:, 0] = rng.choice([-1.0, 1.0], size=rows)
    product = np.ones(rows)
    for k, strength in enumerate(strengths[:-1]):
        remaining = float(np.prod(strengths[k + 1 :]))
        agree = (1 + strength) * (1 + product * remaining)
        differ = (1 - strength) * (1 - product * remaining)
        step = np.where(rng.random(rows) * (agree + differ) < agree, 1.0, -1.0)
        product *= step
        spins[:, k + 1] = spins[:, k] * step
    return spins


def sample_leaves(spins: FloatArray, strengths: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw the leaves given their ring nodes; ``strengths`` has one row per node."""
    agree = rng.random((len(spins), *strengths.shape)) < (1 + strengths) / 2
    leaves = spins[:, :, None] * np.where(agree, 1.0, -1.0)
    return leaves.reshape(len(spins), -1)


def main(folder: Path) -> None:
    """Draw the potentials and the rows, and write both files to a folder."""
    rng = np.random.default_rng(SEED)
    ring = np.round(rng.uniform(0.6, 0.85, GIRTH), 3)
    legs = np.round(rng.uniform(0.6, 0.85, (GIRTH, LEAVES)), 3)
    table = (sample_leaves(sample_ring(ring, ROWS, rng), legs, rng) > 0).astype(int)
    names = [f"{letter}{leaf + 1}" for letter in LETTERS for leaf in range(LEAVES)]
    text = "\n".join([",".join(names), *(",".join(map(str, row)) for row in table.tolist()), ""])
    p = len(names)
    edges = [[p + k, p + (k + 1) % GIRTH] for k in range(GIRTH)]
    edges += [[k * LEAVES + leaf, p + k] for k in range(GIRTH) for leaf in range(LEAVES)]
    lengths = [round(float(-np.log(value)), 12) for value in [*ring, *legs.ravel()]]
    truth = {"names": names, "n_hidden": GIRTH, "edges": edges, "lengths": lengths}
    (folder / "latent_cycle.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / "latent_cycle_truth.json").write_text(json.dumps(truth) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).parent)
