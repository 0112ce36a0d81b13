"""Refinement by likelihood on the Explore page, run without a browser."""

from __future__ import annotations

import io
import json
import threading
from functools import cache
from typing import Any

import pandas as pd
import pytest
from helpers.app import (
    RING,
    button,
    counts_of,
    counts_on,
    drawn,
    finished,
    link_of,
    opened,
    ran,
    session_of,
    stands_still,
    turn_to,
    used,
)
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.matching import name_node
from loopylatent.analysis.refined_steps import evidence_csv, move_csv
from loopylatent.exporting.graph_files import Extras, provenance, render
from loopylatent.exporting.project.file import Project, Recipe, digest_of
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame
from loopylatent.ui.open.project import checked, saving, take
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.refining import Search
from loopylatent.ui.shell.results import source_of
from loopylatent.ui.shell.session import REFINE, REFINE_OFF, UNKNOWN_GOAL

SWITCH, KIND = "Refine by likelihood", "refined"
TAU = 0.6
"""So large that the learned graph has no hidden node: refinement has to find them."""


@cache
def content() -> bytes:
    """A table of eight columns with two hidden nodes behind them."""
    truth = ll.synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=4, seed=1)
    return truth.sample(400).to_frame().to_csv(index=False).encode()


@cache
def table() -> Observations:
    return Observations.from_frame(read_frame(content(), name="small.csv"))


@cache
def result() -> ll.LearnResult:
    return ll.learn(ll.information_distances(table()), tau=TAU)


@cache
def refinement() -> ll.Refinement:
    return ll.refine(result().graph, table())


def recipe(**values: Any) -> Recipe:
    used = result().settings.thresholds
    settings = {"r": used.r, "Lambda": used.Lambda, "tau": TAU, **values}
    return Recipe(
        source="small.csv", source_kind="table", data_digest=digest_of(content()), **settings
    )


def with_table(page: AppTest) -> AppTest:
    session = session_of(page)
    session.keep_upload(digest_of(content()), content())
    session.open(recipe())
    return ran(page)


def switch(page: AppTest) -> Any:
    return next(one for one in page.toggle if one.label == SWITCH)


def refined(page: AppTest) -> AppTest:
    return finished(ran(switch(page).set_value(True)), KIND)


def slider(page: AppTest) -> Any:
    return next(one for one in page.slider if one.label == "Moves")


def said(page: AppTest) -> str:
    texts = [*page.markdown, *page.caption, *page.info]
    return " ".join(text.value for text in texts).replace("\\", "")


@pytest.fixture
def page() -> AppTest:
    return with_table(opened(sample=RING))


@pytest.fixture(scope="module")
def refined_page() -> AppTest:
    """Shared by tests that look at the result."""
    return refined(with_table(opened(sample=RING)))


def test_the_learned_graph_is_the_default(page):
    assert not switch(page).value
    assert counts_on(page) == counts_of(result().graph)
    assert REFINE not in link_of(page)
    assert session_of(page).jobs.current(KIND) is None


def test_the_switch_shows_the_refined_graph_and_back(page):
    page, found = refined(page), refinement()
    assert counts_on(page) == counts_of(found.graph)
    assert link_of(page)[REFINE] == "structure"
    n_moves, gain = len(found.steps) - 1, found.score_history[-1] - found.score_history[-2]
    assert f"Move {n_moves} of {n_moves}" in said(page)
    assert f"{found.steps[-1].words}, **{gain:+.1f}**" in said(page)
    assert f"½ log n = {found.price.parameter:.1f} nats" in said(page)
    job = session_of(page).jobs.current(KIND)
    page = ran(switch(page).set_value(False))
    assert counts_on(page) == counts_of(result().graph)
    assert REFINE not in link_of(page)
    page = ran(switch(page).set_value(True))
    assert counts_on(page) == counts_of(found.graph)
    assert session_of(page).jobs.current(KIND) is job  # from the cache


def test_the_slider_shows_the_graph_after_each_move_with_the_same_nodes(refined_page):
    page, found = refined_page, refinement()
    for at, step in enumerate(found.steps):
        page = ran(slider(page).set_value(at))
        assert counts_on(page) == counts_of(step.graph)
        names = {node["id"]: node["label"] for node in drawn(page)["nodes"]}
        assert set(names) == {*range(8), *step.hidden_ids}
        final = dict(zip(found.steps[-1].hidden_ids, found.graph.labels[8:], strict=True))
        assert {node: names[node] for node in step.hidden_ids if node in final} == {
            node: final[node] for node in step.hidden_ids if node in final
        }


def test_changes_are_those_against_the_learned_graph(refined_page):
    session_of(refined_page).view["view"] = "Changes"
    page = ran(slider(refined_page).set_value(len(refinement().steps) - 1))
    ids = (*range(8), *refinement().steps[-1].hidden_ids)
    new = {(ids[u], ids[v]) for u, v in refinement().graph.edges.tolist()}
    old = {(u, v) for u, v in result().graph.edges.tolist()}
    edges = drawn(page)["edges"]
    ends = [tuple(sorted((edge["from"], edge["to"]))) for edge in edges]
    dashed = {pair for pair, edge in zip(ends, edges, strict=True) if edge["dashes"]}
    assert set(ends) == new | old
    assert dashed == old - new
    assert {n["id"] for n in drawn(page)["nodes"] if n["group"] == "only 1"} == set(ids[8:])


def test_evidence_is_shown_for_the_selected_node_in_the_tab_and_in_files(refined_page):
    page, found = refined_page, refinement()
    page = ran(slider(page).set_value(len(found.steps) - 1))
    session_of(page).select(8)
    session_of(page).view["view"] = "Refined graph"
    page = turn_to(page, "Refinement")
    here, every = (one.value for one in page.dataframe if "nats" in one.value.columns)
    at_node = sorted((one.nats for one in found.evidence if 8 in one.nodes), reverse=True)
    assert here["nats"].tolist() == pytest.approx(at_node, abs=1e-6)
    edges = [one for one in found.evidence if one.part == "edge"]
    assert sorted(every["nats"]) == pytest.approx(sorted(one.nats for one in edges), abs=1e-6)
    assert every["supported by likelihood"].sum() == sum(one.supported for one in edges)
    told = [edge["title"].splitlines()[-1] for edge in drawn(page)["edges"]]
    assert sorted(told) == sorted(
        f"evidence {one.nats:.1f} nats, {'' if one.supported else 'not '}supported" for one in edges
    )
    moves = next(one.value for one in page.dataframe if "change" in one.value.columns)
    assert moves["change"].tolist() == [step.words for step in found.steps[1:]]
    rows = pd.read_csv(io.StringIO(evidence_csv(found.evidence, found.graph.labels)))
    assert len(rows) == len(found.evidence)
    tried = pd.read_csv(io.StringIO(move_csv(found)))
    assert (len(tried), tried["taken"].sum()) == (len(found.moves), len(found.steps) - 1)


def test_the_code_reproduces_what_is_shown(refined_page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_bytes(content())
    page = turn_to(refined_page, "Code")
    assert "--refine=structure" in page.code[1].value
    for at in (len(refinement().steps) - 1, 2):
        page = ran(slider(page).set_value(at))
        names: dict[str, Any] = {}
        exec(page.code[0].value, names)
        assert names["result"].graph == refinement().steps[at].graph
    assert names["result"].evidence is None  # it belongs to the graph after all moves


def test_another_threshold_refines_anew_and_shows_no_stale_graph(page):
    page = refined(page)
    session_of(page).change(tau=0.05)
    page = ran(page)
    small = ll.learn(ll.information_distances(table()), tau=0.05)
    job = session_of(page).jobs.current(KIND)
    assert job.key.graph == small.graph.digest
    page = finished(page, KIND)
    assert counts_on(page) == counts_of(ll.refine(small.graph, table()).graph)
    session_of(page).step_back()
    assert counts_on(ran(page)) == counts_of(refinement().graph)


def test_other_data_switch_it_off_with_a_sentence(page):
    page = refined(page)
    page = ran(next(one for one in page.selectbox if one.label == "Data").select(RING))
    assert not switch(page).value
    assert REFINE_OFF in said(page)
    assert REFINE not in link_of(page)


def test_an_opened_file_switches_it_off_with_a_sentence(page):
    page = refined(page)
    page = used(page, "other.csv", content().replace(b"x1", b"y1", 1))
    assert not switch(page).value
    assert REFINE_OFF in said(page)


def test_cancel_returns_to_the_learned_graph(page, monkeypatch):
    monkeypatch.setattr(Job, "report", stands_still)
    page = ran(switch(page).set_value(True))
    job = session_of(page).jobs.current(KIND)
    assert job.is_running
    assert counts_on(page) == counts_of(result().graph)
    button(page, "Cancel").click()
    page = ran(page)
    assert job.finished.wait(60)
    page = ran(page)
    assert not switch(page).value
    assert counts_on(page) == counts_of(result().graph)
    assert REFINE not in link_of(page)


def test_stop_here_keeps_the_best_graph_so_far(page, monkeypatch):
    reached, released, follow = threading.Event(), threading.Event(), Search.follow

    def held(search: Search, *about: Any) -> bool:
        follow(search, *about)
        reached.set()
        assert released.wait(60)
        return search.is_enough

    monkeypatch.setattr(Search, "follow", held)
    page = ran(switch(page).set_value(True))
    assert reached.wait(60)
    page = ran(page)
    button(page, "Stop here").click()
    page = ran(page)
    released.set()
    page = finished(page, KIND)
    assert "stopped early" in said(page)
    whole = refinement().score_history
    found = session_of(page).memo.known(KIND, session_of(page).jobs.current(KIND).key)
    assert not found.is_complete
    assert whole[0] < found.score_history[-1] < whole[-1]
    assert counts_on(page) == counts_of(found.graph)


def test_a_link_switches_it_on_and_an_unknown_goal_is_named(monkeypatch):
    monkeypatch.setattr(Job, "report", stands_still)
    page = opened(sample=RING, refine="prediction")
    assert switch(page).value
    job = session_of(page).jobs.current(KIND)
    assert job.key.goal == "prediction"
    job.cancelled.set()
    page = opened(sample=RING, refine="beauty")
    assert not switch(page).value
    assert UNKNOWN_GOAL in said(page)


def test_the_page_says_where_refinement_is_known_to_fail(refined_page, monkeypatch):
    weak = "Few rows for correlations this weak"
    assert weak not in said(ran(refined_page))
    monkeypatch.setattr("loopylatent.learning.refinement.WEAK", 1e9)
    assert weak in said(ran(refined_page))
    short = next(k for k, one in enumerate(refinement().steps) if one.graph.girth <= 5)
    assert "five edges or fewer" in said(ran(slider(refined_page).set_value(short)))
    assert "five edges or fewer" not in said(ran(slider(refined_page).set_value(0)))


def test_moves_are_told_with_the_names_of_hidden_nodes(page):
    page, at = refined(page), 4
    assert "moved x3 from x1 to h2" in said(ran(slider(page).set_value(at)))
    node = 8 + refinement().steps[at].hidden_ids.index(refinement().steps[-1].hidden_ids[1])
    session_of(page).name(name_node(refinement().steps[at].graph, node, "Verbal"), None)
    assert "moved x3 from x1 to Verbal" in said(ran(page))


def test_it_survives_another_page(refined_page):
    page, job = refined_page, session_of(refined_page).jobs.current(KIND)
    page = ran(page.switch_page("pages/7_Help.py"))
    page = ran(page.switch_page("app.py"))
    page = ran(slider(page).set_value(len(refinement().steps) - 1))
    assert switch(page).value
    assert counts_on(page) == counts_of(refinement().graph)
    assert session_of(page).jobs.current(KIND) is job


def test_a_project_keeps_the_switch(page):
    page = refined(page)
    session = session_of(page)
    source = source_of(session.memo, session.uploads, session.recipe)
    project: Project = saving(session, source).project
    assert project.view[REFINE] == "structure"
    again = opened(sample=RING)
    take(session_of(again), checked(project, source))
    again = finished(ran(again), KIND)
    assert counts_on(again) == counts_of(refinement().graph)


def test_distances_without_rows_disable_the_switch():
    D = ll.information_distances(table())
    file = pd.DataFrame(D.values, columns=list(D.names)).to_csv(index=False).encode()
    page = opened(sample=RING)
    session = session_of(page)
    session.keep_upload(digest_of(file), file)
    how = {"source": "d.csv", "source_kind": "distances", "data_digest": digest_of(file)}
    session.open(Recipe(**how, r=D.r_max, Lambda=0.1, tau=0.1))
    session.view[REFINE] = "structure"
    page = ran(page)
    assert switch(page).disabled
    assert "Open the table instead of its distances" in switch(page).help
    assert "Refinement needs rows" in said(page)
    assert session.jobs.current(KIND) is None


def test_a_graph_with_too_large_tables_gives_one_line(page, monkeypatch):
    monkeypatch.setattr("loopylatent.learning.refinement.LOG2_TABLE", 0.5)
    page = refined(page)
    assert "use a graph with fewer cycles (a larger r)" in said(page)
    assert counts_on(page) == counts_of(result().graph)


def test_exported_files_hold_the_evidence_and_the_goal():
    learned = ll.RefinedResult.of(result(), refinement())
    extras = Extras(evidence=refinement().evidence)
    file = json.loads(render("json", learned.graph, provenance(learned), extras))
    assert file["graph"]["settings"]["refine"] == "structure"
    assert all("evidence" in edge for edge in file["edges"])
    early = provenance(learned.after(2))
    assert early.settings["moves"] == 2
