"""One table of scores for many models."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import loopylatent as ll
from loopylatent.analysis.evaluation.contest import (
    Contestant,
    Evaluation,
    NotEvaluated,
    best_of,
    contestants,
    iter_evaluations,
    split_by_column,
    split_by_share,
    title_of,
)
from loopylatent.analysis.evaluation.lda import fit_lda
from loopylatent.analysis.evaluation.topics import topics
from loopylatent.distances.matrix import information_distances
from loopylatent.errors import DataError, ThresholdError
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.scores import perplexity
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.observations import Observations

NAMES = [f"w{k}" for k in range(8)]


def synthetic_frame(n: int = 900) -> pd.DataFrame:
    """Two themes of four words each, with a label that says which rows to keep apart."""
    rng = np.random.default_rng(5)
    theme = rng.normal(size=(n, 2)) + 0.6 * rng.normal(size=(n, 1))
    values = theme[:, [0, 0, 0, 0, 1, 1, 1, 1]] + 0.8 * rng.normal(size=(n, 8))
    frame = pd.DataFrame((values > 0.5).astype(int), columns=NAMES)
    return frame.assign(part=np.where(rng.random(n) < 0.3, "test", "train"))


@pytest.fixture(scope="module")
def obs() -> Observations:
    return Observations.from_frame(synthetic_frame(), labels=["part"])


@pytest.fixture(scope="module")
def split(obs):
    return split_by_column(obs, "part", seed=2)


def graph_settings(r: float, **more) -> LearnSettings:
    return LearnSettings(Thresholds(r, 0.02, 0.1), **more)


@pytest.fixture(scope="module")
def chosen(split):
    radii = [graph_settings(r) for r in (split.D.r_max, 1.5 * split.D.r_min)]
    kinds = (
        "independent", "tree", "local trees", "latent", "regularised", "refined structure",
        "refined prediction",
    )  # fmt: skip
    return contestants(radii, kinds=kinds, n_topics=[2])


@pytest.fixture(scope="module")
def found(split, chosen):
    return dict(iter_evaluations(split, chosen, belief=True, n_draws=64))


def one_of(found, chosen, kind: str) -> Evaluation:
    return next(found[k] for k, one in enumerate(chosen) if one.kind == kind)


def test_every_contestant_gets_a_row(found, chosen):
    assert sorted(found) == list(range(len(chosen)))
    assert all(isinstance(one, Evaluation) for one in found.values())
    assert [found[k].contestant for k in sorted(found)] == list(chosen)


def test_independent_columns_by_hand(split, found, chosen):
    share = split.train.dense().mean(axis=0)
    values = split.test.dense()
    total = (values * np.log(share) + (1 - values) * np.log(1 - share)).sum()
    mine = one_of(found, chosen, "independent")
    assert mine.perp_ll == pytest.approx(perplexity(total, values.size), abs=1e-6)
    assert (mine.df, mine.n_hidden, mine.n_edges) == (8, 0, 0)
    # independent columns do not predict each other: half of the values, half of the sum
    assert math.log(mine.pred_perp_ll) == pytest.approx(math.log(mine.perp_ll) / 2, rel=0.05)


@pytest.mark.parametrize("kind", ["tree", "local trees", "latent"])
def test_graphs_score_as_when_each_step_is_done_by_hand(split, found, chosen, kind):
    mine = one_of(found, chosen, kind)
    if kind == "tree":
        graph = split.curve.graph_at(split.D.r_max)
        assert graph.n_edges == split.D.n_columns - 1
    elif kind == "local trees":
        graph = split.curve.graph_at(mine.contestant.r)
    else:
        graph = learn(split.D, mine.contestant.settings).graph
    expected = fit_parameters(graph, split.train).scores(split.test, seed=split.seed)
    assert mine.graph == graph
    for name in ("perp_ll", "perp_bic", "pred_perp_ll", "pred_perp_bic", "df", "train_bic"):
        assert getattr(mine, name) == getattr(expected, name)
    assert mine.method == "exact"
    assert mine.perp_error == 0.0
    assert mine.top_columns == tuple(topic.columns for topic in topics(graph))


@pytest.mark.parametrize("goal", ["structure", "prediction"])
def test_refined_graphs_see_only_the_training_rows(split, found, chosen, goal):
    mine = one_of(found, chosen, f"refined {goal}")
    result = ll.learn(split.D, obs=split.train, refine=goal)
    expected = result.model.scores(split.test, seed=split.seed)
    assert mine.title == f"refined ({goal})"
    assert mine.graph == result.model.graph
    for name in ("perp_ll", "perp_bic", "pred_perp_ll", "pred_perp_bic", "df", "train_bic"):
        assert getattr(mine, name) == getattr(expected, name)


def test_lda_scores_as_when_fitted_by_hand(split, found, chosen):
    mine = one_of(found, chosen, "lda")
    model = fit_lda(split.train, 2, seed=split.seed)
    expected = model.scores(split.test, n_draws=64, seed=split.seed)
    assert (mine.perp_ll, mine.pred_perp_ll) == (expected.perp_ll, expected.pred_perp_ll)
    assert (mine.perp_error, mine.perp_bias) == (expected.perp_error, expected.perp_bias)
    assert mine.method == "sampling"
    assert mine.perp_error > 0
    assert mine.top_columns == model.top_words()


def test_the_papers_estimate_is_exact_on_trees_and_given_for_every_graph(found, chosen):
    tree = one_of(found, chosen, "tree")
    assert tree.belief.perp_ll == pytest.approx(tree.perp_ll, abs=1e-7)
    assert tree.belief.pred_perp_ll == pytest.approx(tree.pred_perp_ll, abs=1e-7)
    graphs = [one for one in found.values() if one.contestant.kind != "lda"]
    assert all(one.belief is not None for one in graphs)


def test_structure_helps_where_there_is_some(found, chosen):
    alone = one_of(found, chosen, "independent")
    for kind in ("tree", "local trees", "latent", "regularised", "refined structure", "lda"):
        assert one_of(found, chosen, kind).perp_ll < alone.perp_ll


def test_threads_change_nothing(split, chosen, found):
    quick = [k for k, one in enumerate(chosen) if one.kind in ("independent", "tree", "latent")]
    again = dict(iter_evaluations(split, [chosen[k] for k in quick], belief=True, threads=1))
    assert [again[place] for place in sorted(again)] == [found[k] for k in quick]


def test_continuous_columns_are_scored_and_lda_is_rejected_in_one_line():
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(200, 1))
    values = factor + rng.normal(size=(200, 5))
    split = split_by_share(Observations.from_array(values), share=0.5, seed=3)
    chosen = contestants([graph_settings(split.D.r_max)], n_topics=[2])
    found = dict(iter_evaluations(split, chosen, belief=True))
    failed = one_of(found, chosen, "lda")
    assert isinstance(failed, NotEvaluated)
    assert "score without LDA" in failed.reason
    latent, alone = one_of(found, chosen, "latent"), one_of(found, chosen, "independent")
    assert latent.perp_ll < alone.perp_ll
    assert latent.belief is None


def test_a_radius_below_every_distance_stops_only_itself(split):
    chosen = [Contestant("latent", graph_settings(1e-6)), Contestant("tree")]
    found = dict(iter_evaluations(split, chosen))
    assert isinstance(found[0], NotEvaluated)
    assert isinstance(found[1], Evaluation)


def test_it_can_be_stopped(split, chosen):
    def stop(done: int, total: int) -> None:
        assert 0 <= done <= total == len(chosen)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(iter_evaluations(split, chosen, progress=stop))


def test_a_split_by_column_takes_the_rows_that_it_names(obs, split):
    there = obs.labels["part"].to_numpy() == "test"
    np.testing.assert_array_equal(split.test.dense(), obs.dense()[there])
    np.testing.assert_array_equal(split.train.dense(), obs.dense()[~there])
    own = information_distances(split.train)
    np.testing.assert_array_equal(split.D.values, own.values)


@pytest.mark.parametrize(
    ("column", "test", "message"),
    [("prat", "test", "part"), ("part", "nobody", "No row"), ("part", "", "No row")],
)
def test_an_unusable_split_column_is_rejected(obs, column, test, message):
    with pytest.raises(DataError, match=message):
        split_by_column(obs, column, test)


def test_holding_out_every_row_is_rejected():
    frame = synthetic_frame(50).assign(part="test")
    with pytest.raises(DataError, match="Every row"):
        split_by_column(Observations.from_frame(frame, labels=["part"]), "part")


def test_models_require_their_settings():
    with pytest.raises(ThresholdError, match="topics"):
        Contestant("lda")
    with pytest.raises(ThresholdError, match="settings"):
        Contestant("latent")
    two = [graph_settings(5.0), graph_settings(5.0, method="nj")]
    chosen = contestants(two, kinds=("local trees", "latent"))
    assert [one.kind for one in chosen] == ["local trees", "latent", "latent"]
    assert title_of(chosen[2]) == "latent graph, neighbor joining"


def test_the_best_of_each_score(found):
    rows = [found[k] for k in sorted(found)]
    best = best_of([NotEvaluated(Contestant("tree"), "no"), *rows])
    for name, place in best.items():
        bias = "perp_bias" if name.startswith("perp") else "pred_bias"
        lowest = min(getattr(one, name) - getattr(one, bias) for one in rows)
        mine = rows[place - 1]
        assert getattr(mine, name) - getattr(mine, bias) == lowest
    assert best_of([]) == {}
