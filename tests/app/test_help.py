"""The page Help: it opens, matches the program, and its links lead to its sections."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import AppTab, WatchedPage, visiting
from streamlit.testing.v1 import AppTest

from loopylatent.distances.strengths import correlation_noise_floor
from loopylatent.figures.network import THEMES
from loopylatent.lesson.cast import GLOSSARY
from loopylatent.ui.help import page as help_page
from loopylatent.ui.page import PAGES
from loopylatent.ui.shell.widgets import words

ROOT = Path(__file__).resolve().parents[2]
SCALE = ROOT / "loopylatent" / "analysis" / "stability" / "support_scale.json"
PARTS = {part.anchor: part for part in help_page.sections()}


def test_the_page_opens_cold_and_shows_every_section():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    page = app.switch_page("pages/7_Help.py").run()
    assert [error.value for error in page.exception] == []
    assert [one.value for one in page.header] == [part.title for part in PARTS.values()]
    said = "\n".join(one.value for one in page.markdown)
    for text in (words.radius, words.margin, words.min_length):
        assert text in said


def test_every_other_page_is_described():
    named = re.findall(r"^- \*\*(.+?)\*\*:", PARTS["pages"].text, flags=re.MULTILINE)
    assert named == [name for name in PAGES.values() if name != "Help"]


def test_every_page_of_the_app_is_listed():
    files = {"app.py"} | {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    assert set(PAGES) == files


def test_the_glossary_extends_that_of_the_lesson_in_alphabetical_order():
    glossary = help_page.glossary()
    assert GLOSSARY.items() <= glossary.items()
    assert not set(GLOSSARY) & set(help_page.MORE_WORDS)
    assert list(glossary) == sorted(glossary, key=str.casefold)
    assert glossary["⊥"] in help_page.glossary_html().replace("&#x27;", "'")


def test_the_glossary_explains_the_terms_of_the_app():
    terms = """minimum spanning tree, initial graph, connected component, quartet test, surrogate,
    held-out rows, cross-validation, bootstrap, support, binary, categorical, ordinal, continuous,
    synthetic, BIC, perplexity, girth"""
    assert {" ".join(term.split()) for term in terms.split(",")} <= set(help_page.glossary())


def test_the_references_are_those_of_the_docs():
    """Help lists every work of docs/references.md by its first author and year."""
    docs = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    works = re.findall(r"^- ([^,(]+?)(?=,| and | \().*?\((\d{4})\)", docs, flags=re.MULTILINE)
    assert len(works) >= 8
    for author, year in works:
        assert re.search(rf"{re.escape(author)}\b[^*]*\({year}\)", PARTS["references"].text)


@pytest.mark.parametrize("theme", THEMES)
def test_signs_have_the_colours_of_the_graph(theme):
    drawn = help_page.signs_html(theme)
    for colour in (THEMES[theme].observed, THEMES[theme].hidden, THEMES[theme].edge):
        assert colour in drawn
    assert drawn.count("<tr>") == len(help_page.signs(theme))


def test_the_numbers_in_the_text_are_those_of_the_program():
    """With a hundred rows the noise floor is at a correlation of 0.2; support by its scale."""
    limits = " ".join(PARTS["limits"].text.split())
    floor = re.search(r"with a hundred, a correlation below ([\d.]+) cannot", limits)
    assert floor is not None
    assert math.exp(-correlation_noise_floor(100)) == pytest.approx(float(floor.group(1)))
    assert "support above 0.7 were true and hardly any below 0.1" in limits
    for bins in json.loads(SCALE.read_text(encoding="utf-8")).values():
        (_, low, n_low, true_low), *_, (high, _, n_high, true_high) = bins
        assert (low, high) == (0.1, 0.7)
        assert true_low / n_low < 0.1
        assert true_high / n_high > 0.95


def test_the_keys_in_the_table_are_handled_by_the_program():
    graph = (ROOT / "loopylatent" / "ui" / "graph_view" / "graph_view.js").read_text(
        encoding="utf-8"
    )
    lesson = (ROOT / "loopylatent" / "ui" / "lesson" / "controls.py").read_text(encoding="utf-8")
    for key in ('"Arrow"', '"Escape"', '"+"', '"-"', '"0"'):
        assert key in graph
    for key in ('"Home"', '"End"', '"P"', '"N"'):
        assert key in lesson
        assert key.strip('"') in PARTS["keys"].text


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[AppTab]:
    yield from visiting(AppTab(app_page, app_address))


@pytest.mark.browser
@pytest.mark.parametrize(("size", "scheme"), [((1440, 900), "light"), ((1024, 768), "dark")])
def test_a_link_of_the_contents_goes_to_its_section(tab, size, scheme):
    tab.go("Help", size=size, scheme=scheme)
    sidebar = tab.page.locator("section[data-testid=stSidebar]")
    sidebar.get_by_role("link", name="Glossary").click()
    tab.watched.wait_until(
        """() => { const top = document.getElementById("glossary").getBoundingClientRect().top;
                   return top >= -5 && top < innerHeight - 40; }"""
    )
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.page.locator(".help-signs .dot, .help-signs .diamond").count() == 3
