"""Values of the paper for distances, and for graphs without BIC penalty."""

from __future__ import annotations

import pytest

from loopylatent.analysis.stability.resampling import over_seeds
from loopylatent.distances.matrix import information_distances
from loopylatent.learning.initial_graph import edge_density, initial_graph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.observations import Observations


@pytest.fixture(scope="module")
def words(newsgroup_train):
    return information_distances(newsgroup_train)


@pytest.fixture(scope="module")
def stocks(stock_returns):
    return information_distances(stock_returns)


def test_newsgroup_training_half_has_the_papers_r_min_and_r_max(words):
    assert words.n_samples == 8121
    assert words.r_min == pytest.approx(2.3678, abs=5e-5)
    assert words.r_max == pytest.approx(12.2692, abs=5e-5)
    assert words.noise_floor == pytest.approx(3.81, abs=5e-3)


def test_newsgroup_extremes_are_at_the_named_words(words):
    frame = words.to_frame()
    assert frame.loc["question", "solar"] == words.r_max
    nearest = frame.where(frame > 0).min()
    assert nearest.idxmax() == "water"


def test_all_newsgroup_rows_have_known_r_min_and_r_max(newsgroup_frame):
    D = information_distances(
        Observations.from_frame(newsgroup_frame, labels=["choi_split", "newsgroup"])
    )
    assert D.r_min == pytest.approx(2.4909, abs=5e-5)
    assert D.r_max == pytest.approx(10.9927, abs=5e-5)


def test_stocks_have_the_papers_r_min_and_r_max(stocks):
    assert stocks.n_columns == 85
    assert stocks.r_min == pytest.approx(1.0337, abs=5e-5)
    assert stocks.r_max == pytest.approx(8.1172, abs=5e-5)
    frame = stocks.to_frame()
    assert frame.where(frame > 0).min().idxmax() == "FDX"
    assert (stocks.signs < 0).sum() / 2 == 88


@pytest.mark.parametrize(("r", "edges"), [(8.2, 84), (7.7, 89), (6.7, 90), (5.0, 113)])
def test_stock_initial_graphs(stocks, r, edges):
    assert initial_graph(stocks, r).n_edges == edges
    assert edge_density(stocks).at(r) == edges


@pytest.mark.parametrize(
    ("r", "hidden", "edges"), [(13, 27, 126), (9, 26, 130), (7, 37, 166), (5, 45, 192)]
)
def test_newsgroup_quartet_structures(words, r, hidden, edges):
    graph = learn(words, LearnSettings(Thresholds(r, 0.0, 0.4))).graph
    assert (graph.n_hidden, graph.n_edges) == (hidden, edges)


def test_the_stock_hub_gets_stuck_at_Lambda_0(stocks):
    result = learn(stocks, LearnSettings(Thresholds(8.2, 0.0, 0.1)))
    assert result.n_stuck > 0


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("r", "hidden", "edges"), [(8.2, 26, 110), (7.7, 26, 111), (6.7, 26, 111)])
def test_stocks_by_relaxed_grouping_are_the_papers_table_4(stocks, r, hidden, edges, seed):
    settings = LearnSettings(Thresholds(r, 0.0, 0.0), "relaxed", seed=seed)
    graph = learn(stocks, settings).graph
    assert (graph.n_hidden, graph.n_edges) == (hidden, edges)


def test_newsgroup_by_relaxed_grouping_varies_with_the_seed(words):
    effect = over_seeds(words, LearnSettings(Thresholds(5.0, 0.0, 0.0), "relaxed"), 10)
    assert len(set(effect.n_hidden)) > 2
    assert 59 <= min(effect.n_hidden) <= 65
    assert 68 <= max(effect.n_hidden) <= 69
