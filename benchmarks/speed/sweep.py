"""A sweep along r compared with separate calls of learn."""

from __future__ import annotations

import numpy as np

from benchmarks import TIMING_HEAD, markdown_table, time_variants, timing_rows
from loopylatent.analysis.sweep.points import along_r, radii
from loopylatent.analysis.sweep.table import sweep
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.learning.initial_graph import default_thresholds, edge_density, initial_graph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings
from loopylatent.tables.samples import load_sample

N = 60


def compare_radii(D: DistanceMatrix, values: list[float], what: str, repeats: int = 5) -> str:
    """Compare a sweep over radii with learning at each of them."""
    settings = along_r(LearnSettings(default_thresholds(D)), values)

    def one_by_one() -> list[object]:
        return [learn(D, one, trace=False) for one in settings]

    found = sweep(D, values)
    single = [learn(D, one, trace=False).graph for one in settings]
    agree = [point.graph for point in found.points] == single
    different = len({initial_graph(D, r) for r in values})
    timings = time_variants(
        {
            "sweep": lambda: sweep(D, values),
            "sweep, one thread": lambda: sweep(D, values, threads=1),
            f"{len(values)} calls of learn": one_by_one,
        },
        repeats,
    )
    verdict = "equal graphs everywhere" if agree else "**the graphs differ**"
    return (
        f"{len(values)} values of r, {what}, {different} different initial graphs, {verdict}; "
        f"{repeats} repeats.\n\n" + markdown_table(TIMING_HEAD, timing_rows(timings, "sweep"))
    )


def report() -> str:
    D = information_distances(load_sample("newsgroups100_roweislike").observations)
    chosen = radii(edge_density(D), N).tolist()
    even = np.linspace(D.r_min, D.r_max, N).tolist()
    fine = np.linspace(0.9 * D.r_max, 1.1 * D.r_max, N).tolist()
    return "\n\n".join(
        [
            "## Sweep along r",
            "Newsgroup sample.",
            compare_radii(D, chosen, "the radii that a sweep chooses"),
            compare_radii(D, even, "evenly from r_min to r_max"),
            compare_radii(D, fine, "evenly around r_max"),
        ]
    )


if __name__ == "__main__":
    print(report())
