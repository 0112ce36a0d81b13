"""Refinement by likelihood in Chromium: a real search on a small table, and its strip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import WatchedPage
from helpers.explore_page import Explore
from playwright.sync_api import BrowserContext

import loopylatent as ll
from loopylatent.exporting.project.file import Project, Recipe, digest_of, save_project
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame

pytestmark = pytest.mark.browser
TAU = 0.6
"""So large that the learned graph has no hidden node: refinement has to find them."""


@pytest.fixture(scope="module")
def content() -> bytes:
    truth = ll.synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=4, seed=1)
    return truth.sample(400).to_frame().to_csv(index=False).encode()


@pytest.fixture(scope="module")
def result(content: bytes) -> ll.LearnResult:
    rows = Observations.from_frame(read_frame(content, name="small.csv"))
    return ll.learn(ll.information_distances(rows), tau=TAU)


@pytest.fixture(scope="module")
def found(content: bytes, result: ll.LearnResult) -> ll.Refinement:
    return ll.refine(result.graph, Observations.from_frame(read_frame(content, name="small.csv")))


@pytest.fixture(scope="module")
def project(
    content: bytes, result: ll.LearnResult, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    used = result.settings.thresholds
    recipe = Recipe(
        source="small.csv", source_kind="table", data_digest=digest_of(content),
        r=used.r, Lambda=used.Lambda, tau=used.tau,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("refine") / "small.loopylatent"
    path.write_bytes(save_project(Project(recipe, data=content)))
    return path


@pytest.fixture
def tab(window: BrowserContext, app_address: str) -> Iterator[Explore]:
    tab = Explore(WatchedPage(window.new_page()), app_address)
    yield tab
    tab.page.close()
    tab.watched.check()


def drawn(step: ll.RefinedStep) -> list[list[int]]:
    """The edges of a step as the component numbers them."""
    ids = (*range(step.graph.n_observed), *step.hidden_ids)
    return sorted(sorted((ids[u], ids[v])) for u, v in step.graph.edges.tolist())


def test_a_search_ends_in_a_strip_that_can_be_scrubbed(tab, project, found, result):
    tab.open(sample="latent_cycle")
    dialog = tab.upload(project, "Project")
    dialog.get_by_role("button", name="Open project").click()
    dialog.wait_for(state="detached")
    tab.rests()
    learned = sorted(map(sorted, result.graph.edges.tolist()))
    assert tab.edges() == learned
    tab.page.get_by_text("Refine by likelihood").click()
    strip = tab.page.locator(".st-key-refine_strip")
    strip.locator(".st-key-refine_moves input").wait_for()
    tab.rests()
    assert tab.edges() == drawn(found.steps[-1])
    assert strip.locator(".st-key-refine_score .js-plotly-plot").count() == 1
    box = tab.stage.bounding_box()
    for place in tab.ask("root => Object.keys(root.debug().positions).map(root.debug().inWindow)"):
        assert 0 < place["x"] < box["width"]
        assert 0 < place["y"] < box["height"]
    for key, at in (("ArrowLeft", len(found.steps) - 2), ("Home", 0)):
        before = tab.revision
        strip.locator(".st-key-refine_moves input").focus()
        tab.page.keyboard.press(key)
        tab.until(lambda before=before: tab.revision != before)
        tab.rests()
        assert tab.edges() == drawn(found.steps[at])
        assert (found.steps[at].words or "the learned graph") in strip.inner_text()
    tab.page.get_by_text("Refine by likelihood").click()
    strip.wait_for(state="detached")
    tab.rests()
    assert tab.edges() == learned
