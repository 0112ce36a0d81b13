"""The pages Laboratory and Theory run without a browser: what they compute, show and store."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.laboratory_page import LABORATORY, THEORY, TIMEOUT, lab_of, opened, ran
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.figures.recovery import FALSE_EDGE, MISSED_EDGE
from loopylatent.synthetic.experiment import Experiment
from loopylatent.synthetic.laboratory import learn_back
from loopylatent.theory.assumptions import conditions, distortion, ensemble_of
from loopylatent.theory.tables import quantities
from loopylatent.ui.laboratory.page import OVER_N, OVER_R, PAPER, RECOVERY
from loopylatent.ui.shell import laboratory as lab_state
from loopylatent.ui.shell.laboratory import CURVE_N, CURVE_R, LEARN, PAPERS
from loopylatent.ui.theory import page as theory_page
from loopylatent.ui.theory.page import lowered, shown


def session_of(page: AppTest) -> Any:
    return page.session_state["loopylatent"]


def said(page: AppTest) -> str:
    return " ".join(
        text.value for text in [*page.markdown, *page.caption, *page.success, *page.info]
    )


def metrics(page: AppTest) -> dict[str, str]:
    return {one.label: one.value for one in page.metric}


def finished(page: AppTest, kind: str) -> AppTest:
    """Wait for work in the background, then run the page again."""
    job = session_of(page).jobs.current(kind)
    assert job is not None
    assert job.finished.wait(TIMEOUT)
    return ran(page)


def on_tab(page: AppTest, name: str) -> AppTest:
    page.session_state["lab_tab"] = name
    return ran(page)


def pictures(page: AppTest) -> dict[str, Any]:
    """What the two graphs draw, by the key of the component."""
    found = {}
    for one in page.get("bidi_component"):
        if one.proto.json:
            data = json.loads(one.proto.json)
            if "nodes" in data:
                found[data["file_name"]] = data
    return found


def with_rows(page: AppTest, n: int | None) -> AppTest:
    return finished(ran(page.select_slider(key="lab_rows").set_value(n or lab_state.EXACT)), LEARN)


# Laboratory --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first() -> AppTest:
    return finished(opened(LABORATORY), LEARN)


def test_the_page_opens_with_a_ring_learned_back(first):
    found = learn_back(ll.synthetic.latent_cycle(10, 2), 3000).comparison
    shown_numbers = metrics(first)
    assert shown_numbers["Precision"] == f"{found.precision:.0%}"
    assert shown_numbers["Recall"] == f"{found.recall:.0%}"
    assert shown_numbers["Hidden nodes"] == f"{found.learned.n_hidden} of 10"
    assert (
        "**20** columns · **10** hidden · **30** edges · **1** cycle (shortest: 10 edges)"
        in said(first)
    )


def test_false_and_missed_edges_are_coloured_on_one_layout(first):
    page = with_rows(first, 100)
    found = learn_back(ll.synthetic.latent_cycle(10, 2), 100).comparison
    assert found.n_false > 0
    assert found.n_missed > 0
    drawn = pictures(page)
    truth, learned = drawn["laboratory-truth"], drawn["laboratory-learned"]

    def painted(data: Any, paint: str) -> int:
        return sum(edge.get("color", {}).get("color") == paint for edge in data["edges"]
                   if isinstance(edge.get("color"), dict))  # fmt: skip

    assert (len(truth["edges"]), len(learned["edges"])) == (30, found.learned.n_edges)
    assert painted(truth, MISSED_EDGE) == found.n_missed
    assert painted(learned, FALSE_EDGE) == found.n_false
    place = {node["id"]: (node["x"], node["y"]) for node in truth["nodes"]}
    there = {node["id"]: (node["x"], node["y"]) for node in learned["nodes"]}
    common = set(place) & set(there)
    assert set(range(20)) <= common
    assert all(place[node] == there[node] for node in common)
    with_rows(first, 3000)


def test_exact_distances_need_no_rows(first):
    page = with_rows(first, None)
    assert "exact distances of the model" in said(page)
    assert metrics(page)["Structure error"] == "0"
    with_rows(first, 3000)


@pytest.mark.parametrize(
    ("family", "columns"),
    [("tree", 15), ("cage", 20), ("regular", 40), ("edges", 8)],
)
def test_every_family_is_built_and_learned(family, columns):
    page = opened(LABORATORY)
    page = finished(ran(page.selectbox(key="lab_family").set_value(family)), LEARN)
    assert [one.value for one in page.error] == []
    assert f"**{columns}** columns" in said(page)


@pytest.mark.parametrize("kind", ["symmetric", "tables", "gaussian"])
def test_every_type_of_model_is_built_and_learned(kind):
    page = opened(LABORATORY)
    page = finished(ran(page.selectbox(key="lab_kind").set_value(kind)), LEARN)
    assert [one.value for one in page.error] == []
    assert lab_of(page).specification.kind == kind
    assert "Precision" in metrics(page)


def test_a_model_that_cannot_be_built_is_rejected_in_one_line():
    page = opened(LABORATORY)
    page = ran(page.number_input(key="lab_depth").set_value(4))
    page = ran(page.number_input(key="lab_leaves").set_value(9))
    assert len(page.error) == 1
    assert "columns" in page.error[0].value
    page = finished(ran(page.number_input(key="lab_depth").set_value(1)), LEARN)
    assert [one.value for one in page.error] == []


def test_an_error_in_an_edge_list_names_the_line():
    page = ran(opened(LABORATORY).selectbox(key="lab_family").set_value("edges"))
    page = ran(page.text_area(key="lab_edges").set_value("a b\nb c\nc <b>x</b> d"))
    assert "Line 3" in page.error[0].value


def test_custom_thresholds_replace_the_rule():
    page = opened(LABORATORY)
    page = finished(ran(page.number_input(key="lab_r").set_value(2.0)), LEARN)
    assert "at r = 2," in said(page)


def test_a_curve_over_rows_runs_in_the_background_and_is_kept():
    page = on_tab(opened(LABORATORY), OVER_N)
    page = ran(page.number_input(key=f"lab_repeats {CURVE_N}").set_value(1))
    page = ran(page.button(key=f"run {CURVE_N}").click())
    page = finished(page, CURVE_N)
    (points,) = lab_of(page).points.values()
    assert sorted({one.n for one in points}) == list(lab_state.CURVE_ROWS)
    assert [one.label for one in page.button if one.key == f"run {CURVE_N}"] == ["Run again"]
    assert page.dataframe[0].value["n"].tolist() == list(lab_state.CURVE_ROWS)
    page = on_tab(page, RECOVERY)
    page = on_tab(page, OVER_N)
    assert len(page.dataframe) == 1


def test_a_curve_over_r_goes_from_r_min_to_r_max():
    page = on_tab(finished(opened(LABORATORY), LEARN), OVER_R)
    page = ran(page.number_input(key=f"lab_repeats {CURVE_R}").set_value(1))
    page = finished(ran(page.button(key=f"run {CURVE_R}").click()), CURVE_R)
    D = learn_back(ll.synthetic.latent_cycle(10, 2), 3000).distances
    radii = page.dataframe[0].value["r"].tolist()
    assert radii[0] == pytest.approx(D.r_min, rel=1e-3)
    assert radii[-1] == pytest.approx(D.r_max, rel=1e-3)


def test_work_can_be_cancelled_and_resumed():
    page = on_tab(opened(LABORATORY), OVER_N)
    page = ran(page.number_input(key=f"lab_repeats {CURVE_N}").set_value(50))
    page = ran(page.button(key=f"run {CURVE_N}").click())
    job = session_of(page).jobs.current(CURVE_N)
    lab_state.stop(lab_of(page), job)
    assert job.finished.wait(TIMEOUT)
    assert job.error == "stopped"
    page = ran(page)
    assert not page.button(key=f"run {CURVE_N}").disabled
    page = ran(page.number_input(key=f"lab_repeats {CURVE_N}").set_value(1))
    page = finished(ran(page.button(key=f"run {CURVE_N}").click()), CURVE_N)
    assert session_of(page).jobs.current(CURVE_N).error is None


def test_learning_that_takes_long_shows_its_progress_and_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(lab_state, "QUICK", 0.01)
    page = ran(opened(LABORATORY).selectbox(key="lab_family").set_value("cage"))
    page = ran(page.selectbox(key="lab_cage").set_value("tutte 12"))
    page = ran(page.select_slider(key="lab_rows").set_value(300_000))
    job = session_of(page).jobs.current(LEARN)
    assert not job.finished.is_set()
    page = ran(page.button(key=f"cancel {LEARN}").click())
    assert job.finished.wait(TIMEOUT)
    assert job.error == "stopped"
    assert "Cancelled before a graph was learned" in said(ran(page))
    page = ran(page.select_slider(key="lab_rows").set_value(100))
    page = finished(page, LEARN)
    assert "by Gibbs sampling" in said(page)


def test_the_paper_s_experiment_is_one_click(monkeypatch):
    small = Experiment(girth=4, rows=(300,), radii=(4.0, 5.0), n_repeats=1)
    monkeypatch.setitem(lab_state.EXPERIMENTS, "The paper's potentials", small)
    page = on_tab(opened(LABORATORY), PAPER)
    page = finished(ran(page.button(key="run lab experiment").click()), PAPERS)
    assert len(lab_of(page).outcomes[small]) == 4
    assert "The paper reports three findings" in said(page)


def test_the_synthetic_table_opens_on_explore_with_its_thresholds():
    page = finished(opened(LABORATORY), LEARN)
    page = ran(page.button(key="lab_take").click())
    recipe = session_of(page).recipe
    found = learn_back(ll.synthetic.latent_cycle(10, 2), 3000)
    assert (recipe.source_kind, recipe.source) == ("table", "synthetic ring.csv")
    assert (recipe.r, recipe.Lambda, recipe.tau) == (
        found.thresholds.r, found.thresholds.Lambda, found.thresholds.tau,
    )  # fmt: skip
    content = session_of(page).uploads[recipe.data_digest]
    D = ll.information_distances(ll.read_table(content))
    assert ll.learn(D, recipe.r, recipe.Lambda, recipe.tau).graph == found.result.graph


def test_exact_distances_open_on_explore_as_distances():
    page = with_rows(opened(LABORATORY), None)
    page = ran(page.button(key="lab_take").click())
    recipe = session_of(page).recipe
    assert recipe.source_kind == "distances"
    D = ll.read_distances(session_of(page).uploads[recipe.data_digest])
    exact = ll.synthetic.latent_cycle(10, 2).exact_distances()
    assert (abs(D.values - exact.values) < 1e-9).all()


# Theory ------------------------------------------------------------------------------------


def test_every_condition_and_quantity_of_the_model_is_shown():
    page = opened(THEORY)
    e = ensemble_of(ll.synthetic.latent_cycle(10, 2))
    yours = learn_back(ll.synthetic.latent_cycle(10, 2), 3000).thresholds
    text = said(page).replace("\\", "")
    for one in conditions(e, yours):
        assert f"**{lowered(one.name)}** = {shown(one.value)}" in text
        assert one.sentence in text
    table = page.table[0].value.map(lambda cell: cell.replace("\\", ""))
    rows = quantities(e, yours)
    assert table["value"].tolist() == [shown(one.value) for one in rows]
    assert table["meaning"].tolist() == [lowered(one.sentence) for one in rows]
    assert "Theorem 2 does not apply" in text


def test_custom_values_are_checked_and_invalid_ones_rejected():
    page = ran(opened(THEORY).radio(key="theory_source").set_value(theory_page.CUSTOM))
    assert "Theorem 2 requires 1.12·10⁸ rows" in said(page)
    page = ran(page.number_input(key="theory_girth").set_value(10))
    assert "Theorem 2 does not apply" in said(page)
    page = ran(page.number_input(key="theory_theta_max").set_value(0.05))
    assert "the smaller one first" in page.error[0].value.replace("\\", "")
    assert page.session_state[theory_page.KEY].custom.theta_max == 0.15
    page = ran(page.number_input(key="theory_theta_max").set_value(0.2))
    assert len(page.error) == 0


@pytest.mark.parametrize("tab", ["n against p", "n against δ", "n against η"])
def test_every_curve_is_drawn(tab):
    page = ran(opened(THEORY).radio(key="theory_source").set_value(theory_page.CUSTOM))
    page.session_state["theory_tab"] = tab
    page = ran(page)
    names = [one["name"] for chart in page.get("plotly_chart")
             for one in json.loads(chart.proto.spec)["data"]]  # fmt: skip
    assert "Theorem 2" in names


def test_the_simulation_is_shown_next_to_the_theorems():
    page = opened(THEORY)
    lab_of(page).n_repeats = 2
    page = finished(ran(page.button(key="theory_simulate").click()), CURVE_N)
    enough = lab_state.sufficient_rows(lab_of(page))
    assert enough is not None
    assert f"in every repeat from **{enough:,} rows**" in said(page)
    assert "very conservative" in said(page)


def test_a_model_without_potentials_has_no_guarantees():
    page = ran(opened(LABORATORY).selectbox(key="lab_kind").set_value("gaussian"))
    page = ran(page.switch_page(THEORY))
    assert "has no Ising potentials" in page.error[0].value.replace("\\", "")


def test_the_page_says_what_can_be_checked_on_data_and_what_cannot():
    page = opened(THEORY)
    page = ran(page.radio(key="theory_source").set_value(theory_page.DATA))
    recipe = session_of(page).recipe
    D = ll.information_distances(ll.load_sample(recipe.sample_name).observations)
    text = said(page)
    assert f"**Noise floor: {shown(D.noise_floor)}**" in text
    measured = distortion(D, recipe.r)
    assert f"**Four-point distortion: {shown(measured.typical)}**" in text
    assert "What cannot be checked" in text
    assert page.dataframe[0].value["column"].tolist() == list(D.names)


@pytest.mark.parametrize("page", [LABORATORY, THEORY])
def test_the_pages_are_linked_from_the_sidebar(page):
    found = opened(page)
    labels = [one.proto.label for one in found.get("page_link")]
    assert {"Explore", "Laboratory", "Theory"} <= set(labels)
