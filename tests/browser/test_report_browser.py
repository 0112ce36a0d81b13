"""The report in Chromium: opened from disk, drawn, printed, without requests.

Set LOOPYLATENT_PICTURES to a folder to keep the pictures and the PDF.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import pytest
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from helpers.reports import findings_of

import loopylatent as ll
from loopylatent.exporting.graph_files import Extras
from loopylatent.exporting.report.page import to_report

pytestmark = pytest.mark.browser
DRAWN = "document.getElementById('stage').dataset.drawn"
A4 = (595, 842)
"""Points."""


def report_of(obs: ll.Observations, source: str, r: float | None = None, **extras) -> str:
    findings = findings_of(obs, source, r)
    return to_report(findings, Extras(**extras), title="A report", created="2026-01-02")


@pytest.fixture(scope="module")
def report() -> str:
    return report_of(ll.load_sample("ability16").observations, "sample:ability16", 1.9)


@pytest.fixture
def pictures(tmp_path) -> Path:
    folder = Path(os.environ.get("LOOPYLATENT_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (400, 800)])
def test_it_opens_from_disk_and_draws_the_graph(report, open_page, pictures, scheme, size):
    watched = open_page(report, scheme=scheme, size=size)
    asked: list[str] = []
    watched.page.on("request", lambda request: asked.append(request.url))
    assert watched.wait_until(DRAWN) == scheme
    assert painted(watched) > 500, "nothing is drawn"
    page = watched.page
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".still").is_hidden()
    page.screenshot(path=pictures / f"report-{scheme}-{size[0]}.png", full_page=True)
    assert asked == []


def painted(watched) -> int:
    """Pixels of the drawing that are not transparent."""
    return watched.page.evaluate("""() => {
        const canvas = document.querySelector("#stage canvas");
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        let n = 0;
        for (let k = 3; k < pixels.length; k += 4) n += pixels[k] > 0;
        return n;
    }""")


def test_the_wheel_scrolls_the_page_until_the_graph_is_clicked(report, open_page):
    watched = open_page(report)
    watched.wait_until(DRAWN)
    page = watched.page
    page.locator("#stage").scroll_into_view_if_needed()
    box = page.locator("#stage").bounding_box()
    x, y = box["x"] + 12, box["y"] + 200
    page.mouse.move(x, y)
    scale = page.evaluate("loopylatent.network.getScale()")
    top = page.evaluate("window.scrollY")
    page.mouse.wheel(0, 90)
    watched.wait_until(f"window.scrollY > {top}")
    assert page.evaluate("loopylatent.network.getScale()") == scale
    page.mouse.wheel(0, -90)
    watched.wait_until(f"window.scrollY === {top}")
    page.mouse.click(x, y)
    page.mouse.wheel(0, -90)
    watched.wait_until(f"loopylatent.network.getScale() > {scale}")
    assert page.evaluate("window.scrollY") == top


def test_the_links_lead_to_the_sections(report, open_page):
    page = open_page(report).page
    targets = page.eval_on_selector_all("nav a", "links => links.map(a => a.getAttribute('href'))")
    assert len(targets) == page.locator("h2").count()
    assert all(page.locator(f"h2{target}").count() == 1 for target in targets)


def test_without_scripts_the_static_picture_is_shown(report, chromium, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(report, encoding="utf-8")
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator(".still svg").is_visible()
    assert page.locator("#stage").is_hidden()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_print_it_is_light_and_shows_the_static_picture(report, open_page, pictures, scheme):
    watched = open_page(report, scheme=scheme, size=(680, 1000))
    watched.wait_until(DRAWN)
    page = watched.page
    page.emulate_media(media="print", color_scheme=scheme)
    assert page.locator(".still svg").is_visible()
    for hidden in ("#stage", ".tools", "nav"):
        assert page.locator(hidden).is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "cut off"
    rows = page.eval_on_selector_all(
        "tr", "rows => rows.map(row => getComputedStyle(row).breakInside)"
    )
    assert set(rows) == {"avoid"}
    page.screenshot(path=pictures / f"report-print-{scheme}.png", full_page=True)


def test_it_prints_on_a4(report, open_page, pictures):
    watched = open_page(report)
    watched.wait_until(DRAWN)
    file = pictures / "report.pdf"
    content = watched.page.pdf(path=file, prefer_css_page_size=True, tagged=False)
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", content)
    assert boxes
    assert all((round(float(w)), round(float(h))) == A4 for w, h in boxes)
    assert 3 <= len(boxes) <= 12
    assert len(_streams(content)) > 20_000, "the pages are empty"


def _streams(content: bytes) -> bytes:
    """Return the decompressed streams of a PDF."""
    found = b""
    for part in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        try:
            found += zlib.decompress(part)
        except zlib.error:
            continue
    return found


def test_hostile_names_are_not_executed(open_page, pictures):
    obs = ll.Observations.from_frame(hostile_frame())
    names = {len(HOSTILE_NAMES): HOSTILE_NAMES[0], len(HOSTILE_NAMES) + 1: HOSTILE_NAMES[1]}
    watched = open_page(report_of(obs, "a.csv", hidden_names=names))
    watched.wait_until(DRAWN)
    page = watched.page
    page.locator("details").evaluate_all("parts => parts.forEach(part => { part.open = true; })")
    page.mouse.move(400, 400)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b:text-is('bold')").count() == 0
    shown = page.eval_on_selector_all(
        "#columns tbody tr", "rows => rows.map(row => row.cells[0].textContent)"
    )
    assert len(shown) == len(HOSTILE_NAMES)
    assert shown[0] == HOSTILE_NAMES[0]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.screenshot(path=pictures / "report-hostile.png", full_page=True)
