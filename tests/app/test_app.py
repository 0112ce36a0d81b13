"""The Explore page run without a browser: what it computes, shows and remembers."""

from __future__ import annotations

import io
import json
import re
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.app import (
    RING,
    TIMEOUT,
    button,
    counts_of,
    counts_on,
    distances,
    drawn,
    drawn_edges,
    learned,
    link_of,
    opened,
    press,
    ran,
    session_of,
    turn_to,
)
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.matching import follow_names
from loopylatent.exporting.project.file import digest_of
from loopylatent.figures.overlays import difference
from loopylatent.ui.explore.scene import CHANGES, DETECTED, INITIAL, KNOWN, STAYED, UPLOADED
from loopylatent.ui.shell.results import Memo
from loopylatent.ui.shell.session import FIRST_SAMPLE, MOST_UPLOADS


def labels_on(page: AppTest) -> list[str]:
    """The names of all nodes, as they can be searched."""
    return page.selectbox(key="find").options


def table_with(page: AppTest, column: str) -> pd.DataFrame:
    return next(table.value for table in page.dataframe if column in table.value.columns)


def shows(page: AppTest, graph: ll.LatentGraph) -> None:
    """The summary line and the drawing are those of this graph."""
    assert counts_on(page) == counts_of(graph)
    assert [node["id"] for node in drawn(page)["nodes"]] == list(range(graph.n_nodes))
    assert drawn_edges(page) == set(map(tuple, graph.edges.tolist()))
    assert len(labels_on(page)) == graph.n_nodes


# Data and thresholds -----------------------------------------------------------------------


@pytest.mark.parametrize("sample", ll.sample_names())
def test_every_sample_opens_cold_with_the_graph_of_the_package(sample):
    page = opened(sample=sample)
    shows(page, learned(page).graph)
    assert session_of(page).notice is None
    assert link_of(page)["sample"] == sample


def test_the_first_visit_opens_the_first_sample():
    assert link_of(opened())["sample"] == FIRST_SAMPLE


def test_another_sample_is_chosen_in_the_sidebar():
    page = opened(sample=RING)
    page = ran(page.selectbox(key="data").set_value("bfi25"))
    assert link_of(page)["sample"] == "bfi25"
    shows(page, learned(page).graph)
    shows(press(page, "Undo"), learned(page).graph)
    assert link_of(page)["sample"] == RING


@pytest.mark.parametrize(
    ("slider", "values"),
    [("r", (7.0, 4.0, 10.0)), ("Lambda", (0.0, 0.02)), ("tau", (0.1, 0.8, 0.0))],
)
def test_a_slider_changes_the_graph_to_that_of_the_package(slider, values):
    page = opened()
    seen = [learned(page).graph.digest]
    for value in values:
        page = ran(page.slider(key=f"slider_{slider}").set_value(value))
        assert float(link_of(page)[slider]) == value
        graph = learned(page).graph
        shows(page, graph)
        seen.append(graph.digest)
    assert len(set(seen)) == len(seen), "every one of these values should show another graph"


@pytest.mark.parametrize("sample", [RING, "irish_wind12", FIRST_SAMPLE])
@pytest.mark.parametrize("slider", ["r", "Lambda", "tau"])
def test_the_ends_of_the_sliders_work(sample, slider):
    page = opened(sample=sample)
    control = page.slider(key=f"slider_{slider}")
    for value in (control.min, control.max):
        page = ran(page.slider(key=f"slider_{slider}").set_value(value))
        shows(page, learned(page).graph)


def test_a_moved_slider_draws_the_graph_before_the_sidebar(monkeypatch):
    order: list[str] = []

    def watch(place: str, name: str, word: str) -> None:
        module = import_module(place)
        plain = getattr(module, name)

        def watched(*given: Any, **named: Any) -> Any:
            order.append(word)
            return plain(*given, **named)

        monkeypatch.setattr(module, name, watched)

    watch("loopylatent.ui.page", "_sidebar", "sidebar")
    watch("loopylatent.ui.explore.page", "graph_view", "graph")
    page = opened(sample=RING)
    assert order == ["sidebar", "graph"], "at first there is something to wait for"
    order.clear()
    page = ran(page.slider(key="slider_r").set_value(1.7))
    assert order == ["graph", "sidebar"]
    order.clear()
    session_of(page).change(r=0.001)
    page = ran(page)
    assert order == ["sidebar"], "the error is shown next to the sliders"
    assert "below the smallest distance" in page.error[0].value


def test_distances_are_computed_once_over_twenty_moves():
    page = opened()
    computed = session_of(page).memo.computed
    moves = [("r", r) for r in np.linspace(3, 10, 10).round(2)]
    moves += [("Lambda", margin) for margin in (0.001, 0.002, 0.004, 0.008, 0.016)]
    moves += [("tau", length) for length in (0.0, 0.1, 0.2, 0.5, 1.0)]
    assert len(moves) == 20
    for slider, value in moves:
        page = ran(page.slider(key=f"slider_{slider}").set_value(float(value)))
    shows(page, learned(page).graph)
    assert session_of(page).memo.computed is computed
    assert computed["distances"] == 1
    assert computed["curve"] == 1
    assert computed["learned"] == 21


def test_going_back_computes_nothing():
    page = opened(sample=RING)
    for r in (1.8, 2.0):
        page = ran(page.slider(key="slider_r").set_value(r))
    before = dict(session_of(page).memo.computed)
    page = press(press(page, "Undo"), "Undo")
    assert dict(session_of(page).memo.computed) == before


def test_methods_orders_and_distances():
    page = opened(sample="bfi25")
    page = ran(page.selectbox(key="order").set_value("random"))
    page = ran(page.number_input(key="seed").set_value(7))
    assert (link_of(page)["order"], link_of(page)["seed"]) == ("random", "7")
    shows(page, learned(page).graph)
    page = ran(page.selectbox(key="metric").set_value("rank"))
    shows(page, learned(page).graph)
    assert page.slider(key="slider_r").value == session_of(page).recipe.r
    assert session_of(page).memo.computed["distances"] == 2


def test_a_distance_that_does_not_fit_the_data_is_rejected_in_one_line():
    page = opened(sample="irish_wind12")
    page = ran(page.selectbox(key="metric").set_value("determinant"))
    assert len(page.error) + len(page.info) == 1
    page = press(page, "Undo")
    shows(page, learned(page).graph)
    assert not page.error


def test_presets():
    page = opened(sample=RING)
    D = distances(RING)
    for name, r in (("Tree", D.r_max), ("Few loops", ll.loop_radius(D))):
        page = ran(page.button_group(key="preset").set_value(name))
        assert session_of(page).recipe.r == r
        shows(page, learned(page).graph)
    page = ran(page.button_group(key="preset").set_value("Dense"))
    most = ll.edge_density(D).n_edges.max()
    assert ll.edge_density(D).at(session_of(page).recipe.r) == most
    page = ran(page.slider(key="slider_r").set_value(1.7))
    assert page.button_group(key="preset").value is None


def test_snapping_moves_r_only_to_where_the_initial_graph_changes():
    page = opened(sample=RING)
    curve = ll.edge_density(distances(RING))
    before = learned(page).graph
    page = ran(page.toggle(key="snap").set_value(True))
    shows(page, before)
    options = page.select_slider(key="r_snapped").options
    assert len(options) == len(curve.r)
    for place in (0, len(curve.r) // 2, len(curve.r) - 1):
        page = ran(page.select_slider(key="r_snapped").set_value(float(curve.r[place])))
        assert session_of(page).recipe.r == curve.r[place]
        shows(page, learned(page).graph)
    page = ran(page.toggle(key="snap").set_value(False))
    assert page.slider(key="slider_r").value == curve.r[-1]


# The way back ------------------------------------------------------------------------------


def test_undo_redo_reset():
    page = opened(sample=RING)
    start = session_of(page).recipe
    assert button(page, "Undo").disabled
    assert button(page, "Redo").disabled
    page = ran(page.slider(key="slider_r").set_value(1.9))
    page = ran(page.slider(key="slider_tau").set_value(0.2))
    end = session_of(page).recipe
    page = press(page, "Undo")
    assert (session_of(page).recipe.r, session_of(page).recipe.tau) == (1.9, start.tau)
    assert page.slider(key="slider_tau").value == start.tau
    page = press(page, "Undo")
    assert session_of(page).recipe == start
    assert button(page, "Undo").disabled
    page = press(press(page, "Redo"), "Redo")
    assert session_of(page).recipe == end
    assert button(page, "Redo").disabled
    page = press(page, "Reset")
    assert session_of(page).recipe == start
    page = press(page, "Undo")
    assert session_of(page).recipe == end, "reset can be taken back"
    shows(page, learned(page).graph)


def test_a_change_after_undo_forgets_the_way_forward():
    page = opened(sample=RING)
    page = ran(page.slider(key="slider_r").set_value(1.9))
    page = press(page, "Undo")
    page = ran(page.slider(key="slider_r").set_value(2.1))
    assert button(page, "Redo").disabled


def test_reset_after_a_link_goes_to_the_settings_of_the_sample():
    page = opened(sample=RING, r="2.5")
    page = press(page, "Reset")
    assert session_of(page).recipe == session_of(opened(sample=RING)).recipe


# Links -------------------------------------------------------------------------------------


def test_a_link_restores_data_and_settings():
    page = opened(sample="bfi25")
    page = ran(page.slider(key="slider_r").set_value(2.1))
    page = ran(page.slider(key="slider_Lambda").set_value(0.02))
    page = ran(page.selectbox(key="order").set_value("random"))
    page = ran(page.number_input(key="seed").set_value(3))
    page = ran(page.button_group(key="preset").set_value("Few loops"))
    again = opened(**link_of(page))
    assert session_of(again).recipe == session_of(page).recipe
    assert drawn_edges(again) == drawn_edges(page)
    assert not again.info


BAD_LINKS: dict[str, dict[str, str]] = {
    "unknown sample": {"sample": "passwords"},
    "a path": {"sample": "../../etc/passwd"},
    "an empty name": {"sample": ""},
    "r is not a number": {"r": "nan"},
    "r is infinite": {"r": "inf"},
    "r is text": {"r": "many"},
    "r is negative": {"r": "-1"},
    "r is huge": {"r": "1e300"},
    "margin too large": {"Lambda": "1"},
    "margin is negative": {"Lambda": "-0.1"},
    "tau is negative": {"tau": "-1"},
    "nonsense method": {"method": "nonsense"},
    "nonsense order": {"order": "<b>up</b>"},
    "nonsense metric": {"metric": "__import__"},
    "a metric for other data": {"sample": "bfi25", "metric": "determinant"},
    "seed is negative": {"seed": "-1"},
    "seed is huge": {"seed": "9" * 400},
}


@pytest.mark.parametrize("link", BAD_LINKS.values(), ids=BAD_LINKS)
def test_a_bad_link_gets_one_line_and_a_working_page(link):
    page = opened(**{"sample": RING} | link)
    assert len(page.info) == 1
    assert "\n" not in page.info[0].value
    assert not page.error
    shows(page, learned(page).graph)
    page = ran(page.button(key="close_notice").click())
    assert not page.info


# The graph ---------------------------------------------------------------------------------


def test_three_views_on_one_layout():
    page = opened()
    result = learned(page)
    place = {node["id"]: (node["x"], node["y"]) for node in drawn(page)["nodes"]}
    page = ran(page.button_group(key="view").set_value(INITIAL))
    initial = ll.initial_graph(distances(FIRST_SAMPLE), session_of(page).recipe.r)
    assert result.initial_graph == initial
    assert drawn_edges(page) == set(map(tuple, initial.edges.tolist()))
    assert {n["id"]: (n["x"], n["y"]) for n in drawn(page)["nodes"]} == {
        node: at for node, at in place.items() if node < initial.n_observed
    }
    page = ran(page.button_group(key="view").set_value(CHANGES))
    legend = [item["text"] for item in drawn(page)["looks"]["dark"]["legend"]]
    assert legend[-3:] == [STAYED, "added by grouping", "removed by grouping"]
    both = difference(initial, result.graph)
    assert drawn_edges(page) == set(map(tuple, both.graph.edges.tolist()))
    assert {n["id"]: (n["x"], n["y"]) for n in drawn(page)["nodes"]} == place
    counts = counts_on(page)
    assert counts == counts_of(result.graph), "the summary stays that of the learned graph"


def test_the_tables_are_the_graph_in_words():
    page = turn_to(opened(), "Tables")
    graph = learned(page).graph
    nodes, edges = table_with(page, "neighbours"), table_with(page, "to")
    assert nodes["node"].tolist() == list(graph.labels)
    assert nodes["degree"].tolist() == graph.degrees.tolist()
    assert (nodes["type"] == "hidden").sum() == graph.n_hidden
    ends = [[graph.labels[u], graph.labels[v]] for u, v in graph.edges.tolist()]
    assert edges[["from", "to"]].to_numpy().tolist() == ends
    assert edges["length"].tolist() == graph.lengths.tolist()
    assert edges["on a cycle"].tolist() == graph.on_cycle.tolist()
    page = ran(page.slider(key="slider_r").set_value(6.0))
    assert len(table_with(page, "neighbours")) == learned(page).graph.n_nodes


def test_cycles_stand_out():
    page = opened()
    graph = learned(page).graph
    plain = {edge["id"]: edge for edge in drawn(page)["edges"]}
    page = ran(page.toggle(key="cycles").set_value(True))
    marked = {edge["id"]: edge for edge in drawn(page)["edges"]}
    assert plain.keys() == marked.keys()
    looks = {True: set(), False: set()}
    for edge, on_cycle in zip(drawn(page)["edges"], graph.on_cycle, strict=True):
        looks[bool(on_cycle)].add(json.dumps(edge.get("color")))
    assert looks[True].isdisjoint(looks[False])


def test_detected_groups_come_from_the_background():
    page = opened(sample="bfi25")
    page = ran(page.selectbox(key="colours").set_value(DETECTED))
    job = session_of(page).jobs._current["groups"]
    assert job.finished.wait(TIMEOUT)
    assert job.error is None
    page = ran(page)
    sample = ll.load_sample("bfi25")
    groups = ll.groups(sample.observations, seed=0)
    line = next(text.value for text in page.caption if "resamples" in text.value)
    assert f"{groups.n_groups} consensus groups" in line
    assert f"{groups.agreement(sample.groups):.2f}" in line
    colours = {node["id"]: node["group"] for node in drawn(page)["nodes"]}
    together = [
        (u, v)
        for u in range(25)
        for v in range(u)
        if (colours[u] == colours[v]) != (groups.labels[u] == groups.labels[v])
    ]
    assert together == []


def test_known_groups():
    page = opened(sample="bfi25")
    page = ran(page.selectbox(key="colours").set_value(KNOWN))
    known = ll.load_sample("bfi25").groups
    assert known is not None
    legend = [item["text"] for item in drawn(page)["looks"]["light"]["legend"]]
    assert set(known.values()) <= set(legend)
    line = next(text.value for text in page.caption if "Agreement" in text.value)
    agreement = ll.communities(learned(page).graph).agreement(known)
    assert f"{agreement:.2f}" in line
    page = ran(page.selectbox(key="data").set_value("irish_wind12"))
    assert KNOWN not in page.selectbox(key="colours").options


def test_uploaded_groups():
    page = opened(sample=RING)
    page = ran(page.selectbox(key="colours").set_value(UPLOADED))
    names = learned(page).graph.names
    lines = ["name,group", *(f"{name},{'<b>even</b>' if k % 2 else 'odd'}"
                             for k, name in enumerate(names))]  # fmt: skip
    upload = partial(page.file_uploader(key="uploaded_groups").set_value)
    page = ran(upload(("groups.csv", "\n".join(lines).encode(), "text/csv")))
    legend = [item["text"] for item in drawn(page)["looks"]["light"]["legend"]]
    assert {"odd", "<b>even</b>"} <= set(legend)
    upload = page.file_uploader(key="uploaded_groups").set_value
    page = ran(upload(("bad.csv", b"a,b,c\n1,2,3\n", "text/csv")))
    assert len(page.error) == 1
    shows(page, learned(page).graph)


def test_search_selects_a_column_and_says_what_it_is():
    page = opened(sample=RING)
    graph = learned(page).graph
    page = ran(page.selectbox(key="find").set_value(3))
    name = graph.names[3]
    assert drawn(page)["selected"] == 3
    assert drawn(page)["centre"] == {"node": 3, "request": 1}
    assert any(text.value.startswith(f"**{name}**") for text in page.markdown)
    near = [table.value for table in page.dataframe if "strength" in table.value.columns]
    neighbours = [labels_on(page)[node] for node in graph.neighbours(3)]
    assert sorted(near[0]["name"]) == sorted(neighbours)
    row = distances(RING).values[3].copy()
    row[3] = np.inf
    assert near[1]["name"].iloc[0] == graph.names[int(row.argmin())]
    assert near[1]["distance"].iloc[0] == row.min()


def test_a_hidden_node_is_described():
    page = opened()
    result = learned(page)
    node = result.graph.hidden_nodes[0]
    page = ran(page.selectbox(key="find").set_value(node))
    near = [table.value for table in page.dataframe if "strength" in table.value.columns]
    assert len(near[0]) == result.graph.degrees[node]
    assert len(near[1]) == 10
    assert any("visit" in text.value for text in page.text)
    assert page.text_input(key=f"name_{node}").value == ""


def test_the_selection_follows_its_column_and_ends_with_the_data():
    page = opened(sample=RING)
    page = ran(page.selectbox(key="find").set_value(3))
    page = ran(page.slider(key="slider_r").set_value(2.0))
    assert drawn(page)["selected"] == 3
    page = ran(page.selectbox(key="data").set_value("irish_wind12"))
    assert drawn(page)["selected"] is None
    assert page.selectbox(key="find").value is None


@pytest.mark.parametrize(("part", "steps"), [("within 1 step", 1), ("within 3 steps", 3)])
def test_part_of_the_graph(part, steps):
    page = opened()
    graph = learned(page).graph
    page = ran(page.selectbox(key="part").set_value(part))
    assert len(drawn(page)["nodes"]) == graph.n_nodes, "nothing is selected yet"
    page = ran(page.selectbox(key="find").set_value(0))
    near = set(graph.neighbourhood(0, steps))
    assert {node["id"] for node in drawn(page)["nodes"]} == near
    assert drawn_edges(page) == {(u, v) for u, v in graph.edges.tolist() if u in near and v in near}


def test_positions_stay_while_the_graph_stays():
    page = opened()

    def place() -> list[tuple[int, int]]:
        return [(node["x"], node["y"]) for node in drawn(page)["nodes"]]

    before = place()
    page = ran(page.selectbox(key="find").set_value(5))
    page = ran(page.selectbox(key="colours").set_value(DETECTED))
    page = ran(page.toggle(key="cycles").set_value(True))
    assert place() == before
    page = ran(page.slider(key="slider_r").set_value(7.9))
    page = press(page, "Undo")
    assert place() == before


def test_names_follow_their_node():
    page = opened()
    result = learned(page)
    node = result.graph.hidden_nodes[2]
    page = ran(page.selectbox(key="find").set_value(node))
    page = ran(page.text_input(key=f"name_{node}").set_value("  space *flight* <b> "))
    assert labels_on(page)[node] == "space *flight* <b>"
    assert drawn(page)["nodes"][node]["label"] == "space *flight* <b>"
    for slider, value in (("r", 7.8), ("tau", 0.38), ("Lambda", 0.005)):
        page = ran(page.slider(key=f"slider_{slider}").set_value(value))
        graph = learned(page).graph
        followed = follow_names(session_of(page).now.names, graph).by_node
        assert list(followed.values()) == ["space *flight* <b>"]
        for there, name in followed.items():
            assert labels_on(page)[there] == name
            assert drawn(page)["nodes"][there]["label"] == name
    for _ in range(4):
        page = press(page, "Undo")
    assert "space *flight* <b>" not in labels_on(page)


def test_a_name_whose_node_is_gone_is_said_and_comes_back():
    page = opened(sample=RING)
    node = learned(page).graph.hidden_nodes[0]
    page = ran(page.selectbox(key="find").set_value(node))
    page = ran(page.text_input(key=f"name_{node}").set_value("lost"))
    page = ran(page.slider(key="slider_tau").set_value(page.slider(key="slider_tau").max))
    page = ran(page.slider(key="slider_Lambda").set_value(page.slider(key="slider_Lambda").max))
    assert "lost" not in labels_on(page)
    assert any("lost" in text.value for text in page.caption)
    page = press(press(page, "Undo"), "Undo")
    assert labels_on(page)[node] == "lost"


def test_a_name_can_be_taken_away():
    page = opened(sample=RING)
    node = learned(page).graph.hidden_nodes[0]
    page = ran(page.selectbox(key="find").set_value(node))
    page = ran(page.text_input(key=f"name_{node}").set_value("first"))
    page = ran(page.text_input(key=f"name_{node}").set_value("second"))
    assert labels_on(page)[node] == "second"
    page = ran(page.text_input(key=f"name_{node}").set_value(" "))
    assert labels_on(page)[node] == learned(page).graph.labels[node]


def test_the_tour_can_be_taken_skipped_and_called_back():
    page = opened()
    for _ in range(3):
        page = press(page, "Next")
    page = press(page, "Back")
    page = press(press(page, "Next"), "Done")
    assert not any(one.label == "Done" for one in page.button)
    page = press(press(page, "Start tour"), "Skip")
    assert not any(one.label == "Skip" for one in page.button)
    shows(page, learned(page).graph)


def test_without_hidden_nodes_and_without_edges_the_page_says_so():
    page = opened(sample=RING, r="1.5", tau="1000")
    shows(page, learned(page).graph)
    assert learned(page).graph.n_hidden == 0
    assert any("No hidden nodes" in text.value for text in page.caption)


# Data of one's own -------------------------------------------------------------------------


def upload(page: AppTest, name: str, content: bytes, **values: Any) -> AppTest:
    """Open a table as the dialog does once its button is pressed."""
    obs = ll.read_table(content, **values)
    default = ll.default_thresholds(ll.information_distances(obs))
    digest = digest_of(content)
    session = session_of(page)
    session.keep_upload(digest, content)
    session.open(
        ll.Recipe(
            source=name,
            source_kind="table",
            data_digest=digest,
            r=default.r,
            Lambda=default.Lambda,
            tau=default.tau,
            **values,
        )
    )
    return ran(page)


def packed(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def hostile_upload() -> bytes:
    return packed(hostile_frame())


MARKUP = re.compile(r"(?<!\\)<(img|script|b)\b|(?<!\\)\[link|(?<!\\)\*bold")
"""What a name would have become, had it been taken for Markdown."""


def test_hostile_names_break_nothing(hostile_upload):
    page = upload(opened(sample=RING), "$(touch pwned) <b>.parquet", hostile_upload)
    graph = ll.learn(ll.information_distances(ll.read_table(hostile_upload))).graph
    shows(page, graph)
    page = turn_to(page, "Tables")
    assert table_with(page, "neighbours")["node"].tolist() == list(graph.labels)
    assert graph.names == HOSTILE_NAMES
    link = link_of(page)
    assert link["digest"], "a link knows uploaded data by their fingerprint"
    assert not {*HOSTILE_NAMES} & {*link.values()}, "and carries nothing of them"
    for node in range(graph.n_observed):
        page = ran(page.selectbox(key="find").set_value(node))
        assert drawn(page)["selected"] == node
        said = [text.value for kind in (page.markdown, page.caption, page.info) for text in kind]
        assert [text for text in said if MARKUP.search(text)] == []
        assert not any(text.proto.allow_html for text in page.markdown)
    for tab in page.tabs:
        page = turn_to(page, tab.label)
    for view in (INITIAL, CHANGES):
        page = ran(page.button_group(key="view").set_value(view))
    page = ran(page.selectbox(key="colours").set_value(DETECTED))
    assert session_of(page).jobs._current["groups"].finished.wait(TIMEOUT)
    page = ran(page)
    page = ran(page.slider(key="slider_tau").set_value(0.0))
    assert counts_on(page)["observed"] == len(HOSTILE_NAMES)


def test_hostile_names_in_code_stay_text(hostile_upload):
    drop = HOSTILE_NAMES[:2] + HOSTILE_NAMES[19:26]
    page = upload(opened(sample=RING), "-o $(touch pwned).parquet", hostile_upload, drop=drop)
    page = turn_to(page, "Code")
    script, command = (code.value for code in page.code)
    compile(script, "script", "exec")
    assert "\n" not in command
    assert counts_on(page)["observed"] == len(HOSTILE_NAMES) - len(drop)


def test_an_upload_that_is_no_longer_kept_is_said_in_one_line(rng):
    page = opened(sample=RING)
    for _ in range(MOST_UPLOADS + 1):
        table = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
        page = upload(page, "mine.parquet", packed(table))
    session_of(page).memo = Memo()
    for _ in range(MOST_UPLOADS):
        page = press(page, "Undo")
    assert len(page.error) == 1
    assert "mine.parquet" in page.error[0].value.replace("\\", "")
    page = press(page, "Redo")
    assert not page.error
    assert counts_on(page)["observed"] == 4


def test_undo_brings_back_the_data_before(hostile_upload):
    page = opened(sample=RING)
    before = learned(page).graph
    page = upload(page, "mine.parquet", hostile_upload)
    page = press(page, "Undo")
    shows(page, before)
    page = press(page, "Redo")
    assert counts_on(page)["observed"] == len(HOSTILE_NAMES)


def test_given_distances():
    page = opened(sample=RING)
    D = distances("irish_wind12")
    content = pd.DataFrame(D.values, columns=list(D.names)).to_csv(index=False).encode()
    digest = digest_of(content)
    session = session_of(page)
    session.keep_upload(digest, content)
    default = ll.default_thresholds(D)
    session.open(
        ll.Recipe(
            source="wind.csv", source_kind="distances", data_digest=digest,
            r=default.r, Lambda=default.Lambda, tau=default.tau, n_samples=D.n_samples,
        )
    )  # fmt: skip
    page = ran(page)
    shows(page, ll.learn(D).graph)
    page = ran(page.selectbox(key="find").set_value(0))
    assert any(text.value.startswith(f"**{D.names[0]}**") for text in page.markdown)
    page = ran(page.selectbox(key="colours").set_value(DETECTED))
    assert session_of(page).jobs._current["groups"].finished.wait(TIMEOUT)
    ran(page)


def test_two_pages_do_not_share_anything():
    one, other = opened(sample=RING), opened(sample=RING)
    one = ran(one.slider(key="slider_r").set_value(2.0))
    other = ran(other)
    assert session_of(other).recipe.r != 2.0
    assert session_of(one).memo is not session_of(other).memo


@pytest.mark.parametrize("r", ["0", "0.0001"])
def test_a_radius_below_all_distances_in_a_link_gets_one_line(r):
    page = opened(sample=RING, r=r)
    assert len(page.info) == 1
    shows(page, learned(page).graph)
