"""The lesson in Chromium: steps, playback, keys, links, thresholds, export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import AppTab, WatchedPage, visiting
from helpers.hostile import hostile_frame
from playwright.sync_api import Locator, Page

import loopylatent as ll
from loopylatent.exporting.graph_files import provenance
from loopylatent.learning.learner import learn
from loopylatent.learning.refinement import refine
from loopylatent.lesson.cast import GLOSSARY
from loopylatent.lesson.lesson import Lesson, build, to_page
from loopylatent.lesson.material import IN_GRAPH
from loopylatent.lesson.presets import synthetic_data
from loopylatent.lesson.refinement_chapter import move_words

pytestmark = pytest.mark.browser

RING = {"sample": "latent_cycle", "r": "1.5", "tau": "0.1"}
WORDS = {"sample": "newsgroups100_roweislike", "r": "8.0", "tau": "0.4"}


@cache
def lesson(sample: str, r: str, tau: str, Lambda: str | None = None) -> Lesson:
    """Return the lesson of the package."""
    data = ll.load_sample(sample)
    D = ll.information_distances(data.observations)
    margin = None if Lambda is None else float(Lambda)
    result = ll.learn(D, r=float(r), Lambda=margin, tau=float(tau))
    return build(result, D, data.observations, data.truth)


class Tab(AppTab):
    def open(self, **params: str) -> None:
        self.go("Step_by_step", **params)
        self.page.locator(".lesson-caption").wait_for()
        self.frame.wait_for(state="attached")
        self.rests()

    @property
    def frame(self) -> Locator:
        return self.page.locator(".st-key-lesson_graph .frame[data-settled=true]")

    def ask(self, script: str) -> Any:
        return self.page.locator(".st-key-lesson_graph .root").evaluate(script)

    def drawn(self) -> list[str]:
        """Return the ids of all edges: layer and ends."""
        return sorted(self.ask("root => root.view.edges.get().map(edge => edge.id)"))

    def positions(self) -> dict[str, Any]:
        return self.ask("root => root.debug().positions")

    def caption(self) -> str:
        return self.page.locator(".lesson-caption").inner_text()

    def count(self) -> int:
        return int(self.page.locator(".lesson-step").inner_text().split(" ")[0])

    def step(self) -> str:
        return self.link()["step"]

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def click(self, key: str) -> None:
        self.page.locator(f".st-key-lesson_{key} button").first.click()

    def shows(self, course: Lesson, anchor: str) -> None:
        """Wait until picture, caption and link are those of a step."""
        from loopylatent.lesson.lesson import draw

        frame = course.frame(course.find(anchor))
        self.becomes(self.drawn, sorted(row["id"] for row in draw(course, frame).edges))
        self.becomes(self.caption, str(frame.caption))
        self.becomes(self.step, anchor)


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[Tab]:
    yield from visiting(Tab(app_page, app_address))


# Stepping ----------------------------------------------------------------------------------


def test_a_cold_start_opens_on_the_ring_and_buttons_step_through_it(tab):
    course = lesson(**RING)
    tab.open()
    tab.shows(course, "data")
    for button, anchor in (
        ("next", "truth"), ("back", "data"), ("last", "refine"), ("first", "data"),
        ("change", "tree-1"),
    ):  # fmt: skip
        tab.click(button)
        tab.shows(course, anchor)


def test_keys_work_wherever_the_focus_is_and_quick_ones_are_not_lost(tab):
    course = lesson(**RING)
    tab.open(**RING, step="visit-1-look")
    tab.shows(course, "visit-1-look")
    for _ in range(6):
        tab.press("ArrowRight")
    tab.shows(course, "visit-1-rest")
    tab.page.locator(".st-key-lesson_graph .stage").focus()
    tab.press("ArrowLeft")
    tab.shows(course, "visit-1-join-4")
    tab.rests()  # the scrubber is drawn after the graph
    tab.page.locator(".st-key-lesson_scrubber input[type=range]").focus()
    tab.press("ArrowRight")
    tab.shows(course, "visit-1-rest")
    tab.press("End")
    tab.becomes(tab.step, "refine")


def test_a_link_opens_its_step_and_playback_runs_until_paused(tab):
    course = lesson(**RING)
    tab.open(**RING, step="visit-3-contract-1")
    tab.shows(course, "visit-3-contract-1")
    first = tab.count()
    tab.page.locator(".st-key-lesson_speed input").click()
    tab.page.get_by_role("option", name="fast").click()
    tab.click("play")
    tab.becomes(lambda: tab.count() >= first + 3, True)
    tab.click("play")
    tab.page.get_by_role("button", name="Play").first.wait_for()
    tab.rests()
    here = tab.count()
    tab.shows(course, course.places[here - 1].anchor)
    for _ in range(10):  # longer than the time between two steps
        tab.page.wait_for_timeout(120)
        assert tab.count() == here
    tab.press("ArrowLeft")
    tab.shows(course, course.places[here - 2].anchor)


def test_a_moved_threshold_recomputes_and_keeps_the_place(tab):
    tab.open(**RING, step="visit-4-look")
    tab.shows(lesson(**RING), "visit-4-look")
    node = lesson(**RING).places[lesson(**RING).find("visit-4-look")].node
    slider = tab.page.locator(".st-key-slider_tau input[type=range]")
    slider.focus()
    for _ in range(20):
        tab.press("ArrowRight")  # moves the slider, not the lesson
    tab.becomes(lambda: abs(float(tab.link()["tau"]) - float(slider.input_value())) < 1e-6, True)
    tab.rests()
    now = tab.link()
    course = lesson(now["sample"], now["r"], now["tau"], now["Lambda"])
    place = course.places[course.find(tab.step())]
    assert (place.phase, place.node) == ("look", node)
    tab.shows(course, place.anchor)


def test_nothing_moves_from_step_to_step_at_100_variables(tab):
    course = lesson(**WORDS)
    tab.open(**WORDS, step="visit-1-quartets")
    tab.shows(course, "visit-1-quartets")
    before = tab.positions()
    scale = tab.ask("root => root.debug().scale")
    for _ in range(8):
        tab.press("ArrowRight")
    there = course.places[course.find("visit-1-quartets") + 8].anchor
    tab.shows(course, there)
    after = tab.positions()
    assert all(after[node] == place for node, place in before.items() if node in after)
    assert set(map(str, range(100))) <= set(after)
    assert tab.ask("root => root.debug().scale") == scale


def test_the_graph_is_hidden_while_distances_are_shown(tab):
    course = lesson(**RING)
    tab.open(**RING, step="truth")
    tab.shows(course, "truth")
    scale = tab.ask("root => root.debug().scale")
    tab.press("ArrowRight")
    tab.shows(course, "pair")
    tab.page.get_by_text("covariance", exact=False).first.wait_for()
    box = tab.page.locator(".st-key-lesson_picture").bounding_box()
    assert box is None or box["height"] < 2
    tab.press("ArrowRight")
    tab.page.locator(".st-key-lesson_matrix .heatmaplayer").wait_for()
    tab.press("ArrowRight")
    tab.shows(course, "ball-1")
    tab.becomes(
        lambda: tab.page.locator(".st-key-lesson_picture").bounding_box()["height"] > 300, True
    )
    assert tab.ask("root => root.debug().scale") == scale


# Terms and pictures ------------------------------------------------------------------------


def test_hovering_over_a_term_shows_its_definition(tab):
    tab.open(**RING, step="union")
    term = tab.page.locator(".lesson-caption .term").first
    term.hover()
    shown = term.evaluate("e => getComputedStyle(e, '::after').content")
    assert GLOSSARY["initial graph"] in shown
    assert tab.page.locator(".lesson-code [aria-current=step]").inner_text().startswith("G ←")


def test_the_class_guesses_and_the_projector_shows_large_type(tab):
    course = lesson(**RING)
    tab.open(**RING, step="visit-1-quartets")
    tab.page.get_by_role("button", name="For a class").click()
    tab.page.locator(".st-key-lesson_asking label").click()
    tab.press("Escape")
    tab.press("ArrowRight")
    tab.becomes(lambda: "Which two nodes" in tab.caption(), True)
    answer = course.guesses(course.find("visit-1-join-1")).answer
    tab.page.locator(".st-key-lesson_guess button").get_by_text(answer, exact=True).click()
    tab.click("reveal")
    tab.becomes(lambda: tab.caption().startswith("Right. 1 of 1"), True)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    before = tab.page.locator(".lesson-caption").evaluate(size)
    tab.page.get_by_role("button", name="For a class").click()
    tab.page.locator(".st-key-lesson_projector label").click()
    tab.page.locator(".stSidebar").wait_for(state="hidden")
    tab.rests()
    assert tab.page.locator(".lesson-caption").evaluate(size) > 1.4 * before
    tab.press("Escape")
    tab.press("ArrowLeft")
    tab.becomes(tab.step, "visit-1-quartets")
    tab.becomes(tab.drawn, sorted(f"0:{u}-{v}" for u, v in course.material.initial))


def test_origin_leads_from_explore_to_the_step_that_created_a_hidden_node(tab):
    tab.go(**RING)
    tab.page.locator(".st-key-graph .frame[data-settled=true]").wait_for()
    tab.page.locator(".st-key-find input").fill("h3")
    tab.page.get_by_role("option", name="h3", exact=True).click()
    tab.page.get_by_role("button", name="Origin").click()
    tab.page.locator(".st-key-origin_node button").click()
    tab.frame.wait_for(state="attached")
    course = lesson(**RING)
    tab.shows(course, course.places[course.why_node(22)].anchor)


def test_axe_finds_no_serious_violation(tab):
    tab.open(**RING, step="visit-1-join-2")
    tab.shows(lesson(**RING), "visit-1-join-2")
    found = Axe().run(tab.page, options={"rules": {"region": {"enabled": False}}})
    violations = [
        (fault["id"], [node["html"][:120] for node in fault["nodes"]])
        for fault in found.response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert violations == []


# The exported page -------------------------------------------------------------------------


@dataclass
class Player:
    """An exported lesson, opened from a file."""

    watched: WatchedPage

    @property
    def page(self) -> Page:
        return self.watched.page

    def drawn(self) -> set[tuple[int, int]]:
        script = "() => loopylatent.edges.get().map(edge => [edge.from, edge.to])"
        return {tuple(pair) for pair in self.page.evaluate(script)}

    def shows(self, course: Lesson, anchor: str, detail: Any = "fine") -> None:
        self.watched.wait_until(f"location.hash === '#{anchor}'")
        frame = course.frame(course.find(anchor), detail)
        assert self.page.locator("#caption").inner_text() == str(frame.caption)
        assert self.drawn() == {(edge.u, edge.v) for edge in frame.edges}
        line = self.page.locator("#code [aria-current]").evaluate(
            "e => [...e.parentElement.children].indexOf(e) + 1"
        )
        assert line == frame.line


@pytest.fixture
def exported(tab) -> Callable[[], Path]:
    def save() -> Path:
        tab.open(**RING, step="union")
        tab.page.get_by_role("button", name="For a class").click()
        with tab.page.expect_download() as coming:
            tab.page.locator(".st-key-lesson_export button").click()
        target = Path(coming.value.path()).with_suffix(".html")
        Path(coming.value.path()).rename(target)
        return target

    return save


def test_the_exported_lesson_plays_offline_with_the_same_steps_and_captions(exported, open_page):
    course = lesson(**RING)
    player = Player(open_page(f"{exported().as_uri()}#visit-1-look"))
    player.shows(course, "visit-1-look")
    for anchor in ("visit-1-quartets", "visit-1-join-1", "visit-1-join-2"):
        player.page.keyboard.press("ArrowRight")
        player.shows(course, anchor)
    player.page.keyboard.press("ArrowLeft")
    player.shows(course, "visit-1-join-1")
    player.page.keyboard.press("Home")
    player.shows(course, "data")
    player.page.click("#last")
    player.shows(course, "compared")
    graph = course.material.result.graph
    assert player.drawn() == set(map(tuple, graph.edges.tolist()))
    player.page.check("#overview")
    player.page.get_by_role("button", name="4 · Grouping").click()
    player.shows(course, "order", "coarse")
    player.page.click("#next")
    player.shows(course, "visit-1-replace", "coarse")
    player.page.select_option("#speed", "800")
    player.page.click("#play")
    player.watched.wait_until("location.hash === '#visit-2-replace'")
    player.page.click("#play")
    assert player.page.locator("#play").inner_text() == "Play"


def test_the_exported_lesson_asks_before_a_join_is_shown(open_page):
    course = lesson(**RING)
    result = course.material.result
    player = Player(open_page(to_page(course, provenance(result), title="Ring")))
    player.page.evaluate("location.hash = '#visit-1-join-1'")
    player.page.reload()
    player.shows(course, "visit-1-join-1")
    player.page.check("#guess")
    assert "Which two nodes" in player.page.locator("#caption").inner_text()
    before = course.frame(course.find("visit-1-quartets"))
    assert player.drawn() == {(e.u, e.v) for e in before.edges if e.mark in IN_GRAPH}
    player.page.click("#next")
    player.shows(course, "visit-1-join-1")


def test_the_exported_lesson_has_the_chapter_on_refinement_once_it_is_computed(open_page):
    data = synthetic_data("noisy")
    obs = ll.read_table(data.content)
    D = ll.information_distances(obs)
    result = learn(D, data.recipe.settings)
    found = refine(result.graph, obs, evidence=False)
    course = build(result, D, obs, data.truth, refinement=found)
    player = Player(open_page(to_page(course, provenance(result), title="Noisy")))
    player.page.get_by_role("button", name="6 · Refinement by likelihood").click()
    for anchor in [place.anchor for place in course.places if place.chapter == 6]:
        player.shows(course, anchor)
        assert "log L" in player.page.locator("#code li").first.inner_text()
        player.page.keyboard.press("ArrowRight")
    rows = player.page.locator("#details table tr").all_inner_texts()
    assert len(rows) == len(found.steps)
    gain = found.score_history[1] - found.score_history[0]
    assert rows[1].split("\t")[1:3] == [move_words(course.material, 1), f"{gain:.1f}"]
    player.page.keyboard.press("Home")
    player.shows(course, "data")
    assert "strength" in player.page.locator("#code li").first.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_names_are_not_executed_in_an_exported_lesson(open_page, scheme):
    D = ll.information_distances(ll.Observations.from_frame(hostile_frame()))
    result = ll.learn(D)
    course = build(result, D, None)
    html = to_page(course, provenance(result), title='</title><img src=x onerror="hacked=1">')
    watched = open_page(html, scheme=scheme)
    for _ in range(8):
        watched.page.keyboard.press("ArrowRight")
    watched.wait_until("location.hash !== '#data'")
    watched.page.click("#last")
    watched.wait_until(f"location.hash === '#{course.places[course.finished[-1]].anchor}'")
    assert not watched.page.evaluate("'hacked' in window")
