"""The report on the Explore page, run without a browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from helpers.app import TIMEOUT, button, learned, opened, press, ran, session_of
from streamlit.testing.v1 import AppTest

from loopylatent.analysis.matching import name_node
from loopylatent.exporting.report.findings import Findings
from loopylatent.exporting.report.page import to_report
from loopylatent.ui.explore import downloads as ui_report

SAMPLE = "ability16"
LABEL = "Create report"


def take_away(page: AppTest) -> AppTest:
    page.session_state["more"] = "Export"
    return ran(page)


def made(page: AppTest) -> AppTest:
    page = press(take_away(page), LABEL)
    job = session_of(page).jobs.current("report")
    assert job is not None
    assert job.finished.wait(TIMEOUT)
    assert job.error is None
    return ran(page)


def labels(page: AppTest) -> list[str]:
    return [one.label for one in page.get("download_button")]


@pytest.fixture(scope="module")
def page() -> AppTest:
    return made(opened(sample=SAMPLE))


def test_one_click_makes_the_report_of_the_shown_graph(page):
    assert "Save report" in labels(page)
    found = session_of(page).jobs.current("report").result
    assert isinstance(found, Findings)
    assert found.graph == learned(page).graph
    assert found.recipe == session_of(page).recipe
    assert found.known_groups


def test_a_name_is_in_the_file_without_new_computations(page, monkeypatch):
    offered: list[Callable[[], str]] = []

    def kept(make, *args, **options):
        made = partial(make, *args, **options)
        if make is to_report:
            offered.append(made)
        return made

    monkeypatch.setattr(ui_report, "partial", kept)
    s, graph = session_of(page), learned(page).graph
    job = s.jobs.current("report")
    s.name(name_node(graph, graph.n_observed, "<b>my</b> name"), None)
    again = ran(page)
    assert "Save report" in labels(again)
    assert s.jobs.current("report") is job
    text = offered[-1]()
    assert "&lt;b&gt;my&lt;/b&gt; name" in text
    assert "<b>my" not in text
    assert graph.digest in text


def test_other_thresholds_need_another_report_and_the_old_one_is_kept(page):
    s = session_of(page)
    tau = page.slider(key="slider_tau")
    other = ran(tau.set_value(tau.max))
    assert button(other, LABEL)
    assert "Save report" not in labels(other)
    s.step_back()
    assert "Save report" in labels(ran(other))


def test_it_can_be_cancelled_and_made_again():
    page = press(take_away(opened(sample=SAMPLE)), LABEL)
    job = session_of(page).jobs.current("report")
    job.cancelled.set()
    assert job.finished.wait(TIMEOUT)
    page = ran(page)
    if job.error == "stopped":  # it was quicker than the cancel otherwise
        page = made(page)
    assert "Save report" in labels(page)
