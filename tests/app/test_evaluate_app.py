"""The Evaluate page, run without a browser."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.hostile import hostile_frame
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.evaluation.coherence import (
    Coherence,
    coherence,
    newspaper_pairs,
    pairs_in_rows,
)
from loopylatent.analysis.evaluation.contest import split_by_share
from loopylatent.analysis.evaluation.topics import cycle_groups, topics
from loopylatent.errors import ThresholdError
from loopylatent.exporting.project.file import digest_of
from loopylatent.inference.fit import fit_parameters
from loopylatent.synthetic.families import latent_tree
from loopylatent.tables.observations import Observations
from loopylatent.ui.evaluate.page import OVERLAPS, SCORES
from loopylatent.ui.evaluate.scores import KEY, read_radii
from loopylatent.ui.evaluate.topics import (
    TRAINING,
    Card,
    cards_html,
    coherence_line,
    expressive_rows,
)
from loopylatent.ui.shell.session import GROUPS, Session

ROOT = Path(__file__).resolve().parents[2]
PAGE = "pages/4_Evaluate.py"
TIMEOUT = 180.0  # seconds for one run of the page, and for work in the background
WORDS, SHARES, SMALL = "newsgroups100_roweislike", "stocks20_monthly_1990_2007", "latent_cycle"


def opened(**params: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    for name, value in params.items():
        page.query_params[name] = value
    return ran(page.switch_page(PAGE))


def ran(page: Any) -> AppTest:
    page = page.run()
    assert [error.value for error in page.exception] == []
    return page


def turn_to(page: AppTest, tab: str) -> AppTest:
    page.session_state["evaluate_tab"] = tab
    return ran(page)


def session_of(page: AppTest) -> Session:
    return page.session_state["loopylatent"]


def finished(page: AppTest, kind: str) -> AppTest:
    job = session_of(page).jobs.current(kind)
    assert job is not None
    assert job.finished.wait(TIMEOUT)
    assert job.error in (None, "stopped")
    return ran(page)


def said(page: AppTest) -> str:
    return " ".join(text.value for text in [*page.markdown, *page.caption])


def table_with(page: AppTest, column: str) -> pd.DataFrame:
    return next(table.value for table in page.dataframe if column in table.value.columns)


@cache
def sample(name: str) -> Observations:
    return ll.load_sample(name).observations


def graph_of(page: AppTest) -> ll.LatentGraph:
    recipe = session_of(page).recipe
    D = ll.information_distances(sample(recipe.sample_name))
    return ll.learn(D, r=recipe.r, Lambda=recipe.Lambda, tau=recipe.tau).graph


def cards_on(page: AppTest) -> dict[int, list[str]]:
    """The words of each card, by its hidden node."""
    text = next(one.proto.body for one in page.get("html") if "topic-cards" in one.proto.body
                and "<article" in one.proto.body)  # fmt: skip
    found = {}
    for node, card in re.findall(r'data-node="(\d+)">(.*?)</article>', text, re.DOTALL):
        found[int(node)] = re.findall(r'title="(.*?):', card)
    return found


# Topics ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [WORDS, SHARES, SMALL])
def test_every_hidden_node_has_a_card_with_its_nearest_columns(name):
    page = opened(sample=name)
    graph = graph_of(page)
    expected = {
        topic.node: [graph.names[column] for column in topic.columns] for topic in topics(graph)
    }
    assert cards_on(page) == expected
    assert len(expected) == graph.n_hidden > 0


def test_coherence_is_that_of_the_package_in_every_corpus():
    page = opened(sample=WORDS)
    graph = graph_of(page)
    columns = [topic.columns for topic in topics(graph)]
    paper = coherence(columns, newspaper_pairs().among(graph.names))
    assert f"Mean PMI **{paper.mean:.3f}**" in said(page)
    assert f"{paper.n_covered:,} of {paper.n_pairs:,} pairs" in said(page)
    page = ran(page.selectbox(key="corpus").set_value(TRAINING))
    own = coherence(columns, pairs_in_rows(sample(WORDS)))
    assert f"Mean PMI **{own.mean:.3f}**" in said(page)
    assert session_of(page).memo.computed["topics"] == 1


def test_continuous_columns_have_topics_and_no_coherence():
    page = opened(sample=SHARES)
    assert "Mean PMI" not in said(page)
    assert not [box for box in page.selectbox if box.key == "corpus"]


def test_a_fit_brings_signs_and_the_rows_that_express_a_topic():
    page = opened(sample=SMALL)
    assert "correlation" not in [name for t in page.dataframe for name in t.value.columns]
    page = finished(ran(page.button(key="evaluate_fit").click()), "fit")
    graph = graph_of(page)
    model = fit_parameters(graph, sample(SMALL))
    node = page.selectbox(key="topic").value
    chosen = next(topic for topic in topics(graph, model) if topic.node == node)
    shown = table_with(page, "correlation")
    np.testing.assert_allclose(
        shown["correlation"], [word.strength for word in chosen.words], atol=1e-6
    )
    level = model.hidden_posteriors(sample(SMALL))[:, node - graph.n_observed]
    rows = table_with(page, "level")
    np.testing.assert_allclose(rows["level"], np.sort(level)[::-1][: len(rows)], atol=1e-6)


@pytest.mark.parametrize("is_binary", [True, False])
def test_columns_and_labels_may_have_the_names_of_added_columns(is_binary):
    values = np.arange(20.0).reshape(5, 4) % 3
    values = values > 0 if is_binary else values / 7
    frame = pd.DataFrame(values, columns=["_level", "b", "c", "d"])
    frame["level"], frame["has"] = list("vwxyz"), list("stuvw")
    obs = Observations.from_frame(frame, labels=["level", "has"])
    (topic,) = topics(ll.LatentGraph.build(obs.names, 1, [(k, 4) for k in range(4)]))
    shown = expressive_rows(obs, topic, np.array([4, 0]), np.linspace(0, 1, 5))
    assert shown["level"].tolist() == ["z", "v"]
    assert shown["__level"].tolist() == [1.0, 0.0]
    assert shown.columns.is_unique
    assert len(shown.columns) == (4 if is_binary else 7)


def test_a_name_given_here_is_shown_on_the_card():
    page = opened(sample=SMALL)
    node = page.selectbox(key="topic").value
    page = ran(page.text_input(key=f"name_{node}").set_value("<b>mine</b>"))
    text = " ".join(one.proto.body for one in page.get("html"))
    assert "&lt;b&gt;mine&lt;/b&gt;" in text
    assert "<b>mine</b>" not in text


@pytest.mark.parametrize(("mean", "n_covered"), [(0.5, 45), (0.5, 90), (float("nan"), 0)])
def test_the_file_name_of_texts_is_escaped(mean, n_covered):
    found = Coherence(mean, 0.25, (0.5,), 90, n_covered, "![x](http://evil.example/a.png).csv")
    assert "![x](" not in coherence_line(found, 7, 10)
    assert r"evil\.example" in coherence_line(found, 7, 10)


def test_names_are_escaped_on_cards():
    frame = hostile_frame()
    graph = ll.LatentGraph.build(
        list(frame.columns), 1, [(k, frame.shape[1]) for k in range(frame.shape[1])]
    )
    (topic,) = topics(graph, most=frame.shape[1])
    text = cards_html([Card(topic, graph.names[0], "", False)], graph.names, [0])
    assert "<img" not in text
    assert "<script" not in text
    assert "<b>bold" not in text
    assert text.count("<span") == frame.shape[1]
    assert not re.search(r'title="[^"]*"[^>]*onerror', text)


def test_a_graph_without_hidden_nodes_says_so():
    page = opened(sample=SMALL, r="1.2", tau="9")
    assert "no topics" in page.info[0].value


# Overlaps ----------------------------------------------------------------------------------


def test_cycles_of_shares_name_the_sectors_they_connect():
    page = turn_to(opened(sample="stocks_sp100_daily_2003_2007"), OVERLAPS)
    graph = graph_of(page)
    found = cycle_groups(graph, ll.load_sample("stocks_sp100_daily_2003_2007").groups)
    shown = table_with(page, "cycle")
    assert len(shown) == graph.n_cycles == len(found) > 0
    for text, one in zip(shown["groups"], found, strict=True):
        assert all(name in text for name in one.names)


def test_words_on_cycles_are_listed_and_groups_can_be_uploaded():
    page = turn_to(opened(sample=WORDS), OVERLAPS)
    graph = graph_of(page)
    shown = table_with(page, "on cycles")
    assert (shown["on cycles"] > 0).all()
    assert set(shown["column"]) <= set(graph.names)
    assert "no known groups" in said(page)
    session_of(page).view[GROUPS] = dict.fromkeys(graph.names, "words")
    page = ran(page)
    assert set(table_with(page, "cycle")["groups"].str.replace(r" \(.*", "", regex=True)) == {
        "words"
    }


# Scores ------------------------------------------------------------------------------------


def scored(page: AppTest) -> AppTest:
    return finished(ran(page.button(key="score_begin").click()), "evaluate")


def small_scores(**params: str) -> AppTest:
    page = turn_to(opened(sample=SMALL, **params), SCORES)
    page = ran(page.button_group(key="score_lda").set_value([]))
    return ran(page.text_input(key="score_radii").set_value("2.5"))


def test_scores_are_those_of_the_package():
    page = scored(small_scores())
    shown = table_with(page, "Perp-LL").set_index("model")
    split = split_by_share(sample(SMALL))
    recipe = session_of(page).recipe
    graph = ll.learn(split.D, r=2.5, Lambda=recipe.Lambda, tau=recipe.tau).graph
    expected = fit_parameters(graph, split.train).scores(split.test, seed=0)
    latent = next(row for title, row in shown.iterrows() if "latent" in title)
    assert latent["Perp-LL"] == pytest.approx(expected.perp_ll)
    assert latent["Pred-Perp-BIC"] == pytest.approx(expected.pred_perp_bic)
    assert (latent["hidden"], latent["edges"]) == (graph.n_hidden, graph.n_edges)
    assert shown["Perp-LL"].is_monotonic_increasing
    assert set(shown["likelihood"]) == {"exact"}
    [said] = [text.value for text in page.markdown if text.value.startswith("Best (lowest)")]
    assert said.startswith(f"Best (lowest): **{shown.index[0]}** at r = 2.50")


def test_refined_graphs_are_scored_next_to_plain_ones():
    rows = latent_tree(2, 0, 3, seed=1).sample(200, seed=2)
    content = pd.DataFrame(rows.dense().astype(int), columns=list(rows.names)).to_csv(index=False)
    page = opened(sample=SMALL)
    take_file(page, content.encode(), source="mine.csv", source_kind="table")
    page = turn_to(page, SCORES)
    page = ran(page.button_group(key="score_lda").set_value([]))
    page = ran(page.text_input(key="score_radii").set_value("2.5"))
    kinds = ["tree", "latent", "refined structure", "refined prediction"]
    page = scored(ran(page.button_group(key="score_kinds").set_value(kinds)))
    shown = table_with(page, "Perp-LL").set_index("model")
    split = split_by_share(ll.read_table(content.encode()))
    for goal in ("structure", "prediction"):
        model = ll.learn(split.D, obs=split.train, refine=goal).model
        row = shown.loc[f"refined ({goal})"]
        assert row["Perp-LL"] == pytest.approx(model.scores(split.test, seed=0).perp_ll)
        assert (row["hidden"], row["edges"]) == (model.graph.n_hidden, model.graph.n_edges)
    assert len(shown) == 4
    assert "their structure can still be wrong" in said(page)


def test_known_scores_are_reused_and_a_new_radius_is_added():
    page = scored(small_scores())
    known = page.session_state[KEY].known
    before = len(known._kept)
    page = ran(page.text_input(key="score_radii").set_value("2.5, 2.0"))
    shown = table_with(page, "Perp-LL")
    page = scored(page)
    assert len(table_with(page, "Perp-LL")) == len(shown) + 2
    assert len(known._kept) == before + 2


def test_the_papers_estimate_is_shown_next_to_the_exact_one():
    page = small_scores()
    page = scored(ran(page.toggle(key="score_belief").set_value(True)))
    shown = table_with(page, "paper's Perp-LL").set_index("model")
    tree = shown.loc["tree without hidden nodes"]
    assert tree["paper's Perp-LL"] == pytest.approx(tree["Perp-LL"], abs=1e-7)


def test_another_share_and_seed_give_other_rows():
    page = small_scores()
    page = ran(page.slider(key="score_share").set_value(50))
    page = scored(ran(page.number_input(key="score_seed").set_value(3)))
    split = split_by_share(sample(SMALL), share=0.5, seed=3)
    empty = ll.LatentGraph.build(split.D.names, 0, [])
    expected = fit_parameters(empty, split.train).scores(split.test, seed=3)
    shown = table_with(page, "Perp-LL").set_index("model")
    assert shown.loc["independent columns", "Perp-LL"] == pytest.approx(expected.perp_ll)


def test_a_split_column_is_offered_and_used():
    page = turn_to(opened(sample=WORDS), SCORES)
    assert page.selectbox(key="score_split").value == "split"
    assert page.selectbox(key="score_test").value == "test"
    page = ran(page.button_group(key="score_lda").set_value([]))
    page = scored(ran(page.button_group(key="score_kinds").set_value(["independent"])))
    labels = sample(WORDS).labels["split"]
    counts = (
        f"Learned from {(labels == 'train').sum():,} rows, scored on {(labels == 'test').sum():,}"
    )
    assert counts in said(page)


def test_shares_are_scored_without_lda():
    page = turn_to(opened(sample=SHARES), SCORES)
    assert "it is left out here" in said(page)
    shown = table_with(scored(page), "Perp-LL")
    assert not shown["model"].str.contains("LDA").any()
    assert "±" not in shown.columns
    assert shown["model"].str.contains("latent").any()


def test_scoring_can_be_cancelled_and_what_is_there_stays():
    page = small_scores()
    page = ran(page.button(key="score_begin").click())
    job = session_of(page).jobs.current("evaluate")
    job.cancelled.set()
    assert job.finished.wait(TIMEOUT)
    page = ran(page)
    assert page.button(key="score_begin")
    page = scored(page)
    assert len(table_with(page, "Perp-LL")) == 4


def test_an_invalid_radius_is_reported_in_one_line():
    page = turn_to(opened(sample=SMALL), SCORES)
    page = ran(page.text_input(key="score_radii").set_value("2, two"))
    assert "not a radius" in page.error[0].value.replace("\\", "")
    with pytest.raises(ThresholdError, match="at least one"):
        read_radii(" , ")
    with pytest.raises(ThresholdError, match="negative"):
        read_radii("-3")


def take_file(page: AppTest, content: bytes, **parts: Any) -> None:
    """Open a file with the current thresholds, as the dialog does."""
    s = session_of(page)
    digest = digest_of(content)
    s.keep_upload(digest, content)
    s.open(replace(s.recipe, data_digest=digest, **parts))


def test_distances_alone_have_topics_and_no_scores():
    D = ll.information_distances(sample(SMALL))
    content = pd.DataFrame(D.values, columns=list(D.names)).to_csv(index=False).encode()
    page = opened(sample=SMALL)
    take_file(page, content, source="mine.csv", source_kind="distances", n_samples=5000)
    page = ran(page)
    assert cards_on(page)
    page = turn_to(page, SCORES)
    assert "Open the table" in page.info[0].value


def test_a_table_with_hostile_names_opens_on_every_tab():
    content = io.BytesIO()
    hostile_frame().to_parquet(content)
    page = opened(sample=SMALL)
    take_file(page, content.getvalue(), source="bad.parquet", source_kind="table")
    page = ran(page)
    text = " ".join(one.proto.body for one in page.get("html"))
    assert "<img src=x" not in text
    for tab in (OVERLAPS, SCORES):
        page = turn_to(page, tab)
