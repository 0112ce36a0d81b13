"""Probabilities on the Explore page, run without a browser."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.app import (
    BINARY,
    TIMEOUT,
    button,
    drawn,
    finished,
    fitted,
    learned,
    opened,
    press,
    probabilities,
    ran,
    session_of,
)
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.exporting.project.file import digest_of
from loopylatent.ui.explore.fit import table_with_hidden
from loopylatent.ui.shell.widgets import Fitted


@cache
def rows(sample: str) -> ll.Observations:
    return ll.load_sample(sample).observations


def said(page: AppTest) -> str:
    return " ".join(text.value for text in [*page.markdown, *page.caption])


def frames(page: AppTest) -> list[pd.DataFrame]:
    return [table.value for table in page.dataframe]


def frame_with(page: AppTest, column: str) -> pd.DataFrame:
    return next(frame for frame in frames(page) if column in frame.columns)


@pytest.fixture(scope="module")
def page() -> AppTest:
    return fitted(sample=BINARY)


@pytest.fixture(scope="module")
def model(page: AppTest) -> ll.Model:
    return ll.fit_parameters(learned(page).graph, rows(BINARY))


def test_the_numbers_are_those_of_the_package_and_say_exact(page, model):
    text = said(page)
    assert f"**{model.train_log_likelihood / model.n_samples:.4f}** log-likelihood" in text
    assert "(exact)" in text
    assert f"**{model.train_bic:,.0f}** BIC" in text
    assert f"belief propagation: {abs(model.lbp_error().error):.4f}" in text


def test_edges_show_fitted_strength_and_sign(page, model):
    shown = frame_with(page, "fitted correlation")
    np.testing.assert_allclose(shown["fitted correlation"], model.edge_strengths, atol=1e-9)
    edges = {(edge["from"], edge["to"]): edge for edge in drawn(page)["edges"]}
    widths, negative = zip(
        *(
            (edges[u, v]["width"], bool(edges[u, v].get("dashes")))
            for u, v in model.graph.edges.tolist()
        ),
        strict=True,
    )
    order = np.argsort(np.abs(model.edge_strengths))
    assert (np.diff(np.array(widths)[order]) >= 0).all()
    assert list(negative) == (model.edge_strengths < 0).tolist()


def test_a_hidden_node_tells_which_rows_express_it(model):
    page = fitted(sample=BINARY)
    node = model.graph.n_observed
    page = ran(page.selectbox(key="find").set_value(node))
    level = model.hidden_posteriors(rows(BINARY))[:, 0]
    assert f"on in {np.mean(level > 0.5):.0%} of the rows" in said(page)
    shown = frame_with(page, "neighbour")
    assert set(shown["neighbour"]) == {
        model.graph.labels[end] for end in model.graph.neighbours(node)
    }
    most, least = (frame for frame in frames(page) if "level" in frame.columns)
    np.testing.assert_allclose(most["level"], np.sort(level)[::-1][: len(most)], atol=1e-6)
    np.testing.assert_allclose(np.sort(least["level"]), np.sort(level)[: len(least)], atol=1e-6)


def test_the_table_with_hidden_columns_is_the_posterior(page, model):
    assert any("hidden columns" in one.label for one in page.get("download_button"))
    found = session_of(page).jobs.current("fit").result
    text = table_with_hidden(found, rows(BINARY), found.model.graph.labels)
    table = pd.read_csv(io.StringIO(text))
    hidden = table[[name for name in table.columns if name.startswith("hidden ")]]
    np.testing.assert_allclose(hidden, model.hidden_posteriors(rows(BINARY)), atol=1e-6)
    assert list(table.columns[: model.graph.n_observed]) == list(model.graph.names)


def two_factors(*names: str) -> ll.Observations:
    """Six columns that two hidden variables are behind."""
    rng = np.random.default_rng(0)
    hidden = np.cumsum(rng.normal(size=(200, 2)), axis=1)
    values = np.repeat(hidden, 3, axis=1) + 0.5 * rng.normal(size=(200, 6))
    return ll.Observations.from_frame(pd.DataFrame(values.round(3), columns=list(names)))


def test_a_column_may_be_called_like_what_is_put_beside_it():
    obs = two_factors("level", "hidden h1", *"cdef")
    content = obs.to_frame().to_csv(index=False).encode()
    digest, rule = digest_of(content), ll.default_thresholds(ll.information_distances(obs))
    page = opened(sample="latent_cycle")
    s = session_of(page)
    s.keep_upload(digest, content)
    s.open(
        ll.Recipe(source="t.csv", source_kind="table", data_digest=digest,
                  r=rule.r, Lambda=rule.Lambda, tau=rule.tau)
    )  # fmt: skip
    page = finished(press(probabilities(ran(page)), "Fit model"), "fit")
    page = ran(page.selectbox(key="find").set_value(6))
    assert frame_with(page, "_level").columns.tolist() == ["_level", *obs.names]
    found = s.jobs.current("fit").result
    text = table_with_hidden(found, obs, found.model.graph.labels)
    table = pd.read_csv(io.StringIO(text))
    assert table.columns.tolist()[:7] == [*obs.names, "_hidden h1"]
    np.testing.assert_allclose(table[list(obs.names)], obs.values)


def test_cells_of_the_table_run_nothing_in_a_spreadsheet():
    rng = np.random.default_rng(0)
    shared = rng.random(300) < 0.5
    flip = rng.random((300, 3)) < 0.2
    texts = np.where(shared[:, None] ^ flip, "=cmd()", "no")
    obs = ll.Observations.from_frame(pd.DataFrame(texts, columns=["a", "=b()", "c"]))
    graph = ll.LatentGraph.build(obs.names, 1, [(0, 3), (1, 3), (2, 3)], [0.5, 0.5, 0.5])
    model = ll.fit_parameters(graph, obs)
    text = table_with_hidden(Fitted(model, model.hidden_posteriors(obs)), obs, graph.labels)
    cells = [cell for line in text.splitlines() for cell in line.split(",")]
    assert not [cell for cell in cells if cell.startswith("=")]
    assert "'=cmd()" in cells


def test_numbers_are_fitted_as_gaussian():
    other = fitted(sample="irish_wind12")
    result = learned(other)
    model = ll.fit_parameters(result.graph, rows("irish_wind12"))
    assert f"**{model.train_bic:,.0f}** BIC" in said(other)
    assert "(exact)" in said(other)


def test_a_moved_threshold_asks_for_a_new_fit_and_the_old_one_is_not_shown():
    page = fitted(sample=BINARY)
    tau = page.slider(key="slider_tau")
    page = ran(tau.set_value(tau.max))
    assert button(page, "Fit model")
    assert "log-likelihood per row" not in said(page)


def test_a_fit_can_be_cancelled_and_begun_again():
    page = press(probabilities(opened(sample="newsgroups100_roweislike")), "Fit model")
    job = session_of(page).jobs.current("fit")
    job.cancelled.set()
    assert job.finished.wait(TIMEOUT)
    page = ran(page)
    if job.error == "stopped":  # it was quicker than the cancel otherwise
        page = finished(press(page, "Fit model"), "fit")
    assert "log-likelihood per row" in said(page)


def test_the_bic_switch_shows_the_regularised_graph():
    page = opened(sample=BINARY)
    params = {name: str(value) for name, value in page.query_params.items()}
    page = finished(ran(page.toggle(key="bic").set_value(True)), "bic")
    D = ll.information_distances(rows(BINARY))
    numbers = {name: float(params[name]) for name in ("r", "Lambda", "tau")}
    expected = ll.learn(D, obs=rows(BINARY), regularize="bic", **numbers).graph
    shown = {tuple(sorted((edge["from"], edge["to"]))) for edge in drawn(page)["edges"]}
    assert shown == {tuple(edge) for edge in expected.edges.tolist()}
