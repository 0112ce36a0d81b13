"""What a session of Python shows of a result is one line, however many columns there are."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import loopylatent as ll
from loopylatent.exporting.project.file import Recipe

LONGEST = 130
COLUMNS = 100


def words() -> ll.Observations:
    rng = np.random.default_rng(0)
    topics = rng.random((400, 10)) < 0.5
    flips = rng.random((400, COLUMNS)) < 0.2
    return ll.Observations.from_array((topics[:, np.arange(COLUMNS) % 10] ^ flips).astype(float))


def everything() -> dict[str, object]:
    obs = words()
    D = ll.information_distances(obs)
    result = ll.learn(D)
    model = ll.fit_parameters(result.graph, obs)
    sweep = ll.sweep(D, r=[D.r_max])
    settings = result.settings
    thresholds = settings.thresholds
    recipe = Recipe(
        source="mine.csv", source_kind="table", data_digest="0" * 16,
        r=thresholds.r, Lambda=thresholds.Lambda, tau=thresholds.tau, drop=obs.names,
    )  # fmt: skip
    steps = list(ll.iter_steps(D, settings))
    return {
        "Observations": obs,
        "DistanceMatrix": D,
        "SparseDistances": ll.sparse_distances(sparse.csr_array(obs.values)),
        "LearnResult": result,
        "LatentGraph": result.graph,
        "EdgeDensity": ll.edge_density(D),
        "Groups": ll.communities(result.graph),
        "Model": model,
        "Scores": model.scores(obs),
        "Stability": ll.stability(D, n_resamples=2),
        "Sweep": sweep,
        "SweepPoint": sweep.points[0],
        "Bar": ll.barcode(sweep.points)[0],
        "Topic": ll.topics(result.graph)[0],
        "SeedEffect": ll.over_seeds(D, settings, 2),
        "Sample": ll.load_sample("bfi25"),
        "Project": ll.Project(recipe, title="Words"),
        "HiddenMatching": ll.match_hidden(result.graph, result.graph),
        "InitialStep": steps[0],
        "VisitStep": steps[1],
        "CleanUpStep": steps[-1],
    }


def test_every_result_is_one_short_line() -> None:
    for name, found in everything().items():
        shown = repr(found)
        assert shown.startswith(f"{name}("), shown
        assert len(shown) <= LONGEST, shown
        assert "\n" not in shown
