"""Retake the screenshots in docs/images, all or those named: tools/pictures.py tune compare.

A screenshot is taken when nothing is running and two in a row are equal. The script stops if it
would show a notice, an error or the tour.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, TimeoutError as LateError, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.helpers.app_server import serving  # noqa: E402
from tests.helpers.browser import ARGUMENTS, EXECUTABLES, SIZE, AppTab, WatchedPage  # noqa: E402
from tests.helpers.large_tables import many_columns  # noqa: E402

IMAGES = ROOT / "docs" / "images"
TIMEOUT = 300.0
"""Seconds for one step on a busy machine."""
APART = 400
"""Milliseconds between two screenshots that must be equal."""
AT_WORK = (
    "[data-testid=stProgress], [data-testid=stSpinner], [data-testid=stSkeleton], "
    "[data-testid=stStatusWidget], [data-settled=false]"
)
UNWANTED = ".st-key-tour, .stAlert, .stException, [role=dialog], [data-testid=stToast]"
OUT_OF_THE_WAY = (SIZE[0] - 2, 2)


# Steps before a screenshot -----------------------------------------------------------------


def known_groups(tab: AppTab) -> None:
    """Colour the nodes by known groups."""
    tab.page.locator(".st-key-colours input").click()
    tab.page.get_by_role("option", name="colour: known groups").click()


def changes(tab: AppTab) -> None:
    """Show the changes by grouping."""
    tab.page.locator(".st-key-view").get_by_text("Changes", exact=True).click()


def refined(tab: AppTab) -> None:
    """Wait for the moves of the refinement, and show what they changed."""
    tab.page.locator(".st-key-refine_moves input").wait_for()
    changes(tab)


def support(tab: AppTab) -> None:
    """Resample; the page then switches to the view Support."""
    tab.turn_to("Stability")
    tab.page.get_by_role("button", name="Bootstrap", exact=True).click()
    tab.page.get_by_text("on average a resample agrees").wait_for()
    tab.page.locator(".stMain").evaluate("page => page.scrollTo(0, 0)")


def scrolled_to(selector: str) -> Callable[[AppTab], None]:
    """Scroll a part of the page to the bottom of the window."""

    def step(tab: AppTab) -> None:
        part = tab.page.locator(selector).first
        part.wait_for()
        tab.rests()
        part.evaluate("part => part.scrollIntoView({block: 'end'})")
        tab.page.locator(".stMain").evaluate("page => page.scrollBy(0, 16)")

    return step


def thousand_columns(tab: AppTab) -> None:
    """Open a synthetic table, and stop the background work."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a thousand columns.parquet"
        many_columns(1_000, n_rows=300).to_parquet(file)
        tab.page.get_by_role("button", name="Open file").click()
        dialog = tab.page.get_by_role("dialog")
        dialog.locator("input[type=file]").first.set_input_files(file)
        dialog.get_by_role("button", name="Use table").click()
        dialog.wait_for(state="detached")
    stop = tab.page.get_by_role("button", name="Stop", exact=True)
    close = tab.page.locator(".st-key-close_notice button").first

    def has_notice() -> bool:
        if stop.count():
            with suppress(LateError):  # it has ended
                stop.first.click(timeout=2000)
        return close.is_visible()

    tab.until(has_notice)
    close.click()
    close.wait_for(state="detached")


def suggestions(tab: AppTab) -> None:
    """Press Suggest thresholds and wait for the suggestions."""
    tab.page.locator(".st-key-tune_suggest button").click()
    tab.page.locator("[class*=st-key-tune_card_]").first.wait_for()


def tree_and_loops(tab: AppTab) -> None:
    """Pin the tree and the graph with loops."""
    tab.page.get_by_role("button", name="Compare with tree").click()


def quartets(tab: AppTab) -> None:
    """List the quartets below the picture."""
    tab.page.locator(".st-key-lesson_view").get_by_text("Quartets", exact=True).click()
    scrolled_to(".stDataFrame")(tab)


# The pictures ------------------------------------------------------------------------------

GRAPH = ".frame[data-settled=true]"
PLOT = ".js-plotly-plot .main-svg"
RING = {"sample": "latent_cycle", "r": "1.5", "tau": "0.1"}


@dataclass(frozen=True)
class Picture:
    """A link, the steps there, and the element that must be visible."""

    page: str
    link: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Callable[[AppTab], None]] = ()
    seen: str = GRAPH
    scheme: Any = "light"


def lesson(step: str, scheme: str = "light", **others: Any) -> Picture:
    """Return a step of the lesson on the ring."""
    return Picture("Step_by_step", RING | {"step": step}, scheme=scheme, **others)


PERSONALITY = {"sample": "bfi25"}
PICTURES = {
    "explore": Picture("", {"sample": "newsgroups100_roweislike"}),
    "explore-changed": Picture("", PERSONALITY, [changes]),
    "explore-dark": Picture("", PERSONALITY, [known_groups], scheme="dark"),
    "explore-density": Picture("", {"sample": "stocks_sp100_daily_2003_2007"}, [scrolled_to(PLOT)]),
    "explore-refined": Picture("", {"sample": "holzinger24", "refine": "structure"}, [refined]),
    "explore-support": Picture("", PERSONALITY, [support]),
    "explore-many": Picture("", {"sample": "latent_cycle"}, [thousand_columns]),
    "tune": Picture("Tune", PERSONALITY, [suggestions], PLOT),
    "compare": Picture("Compare", PERSONALITY, [tree_and_loops], f".st-key-compare_1 {GRAPH}"),
    "evaluate": Picture("Evaluate", {"sample": "newsgroups100_roweislike"}, seen=".topic-card"),
    "laboratory": Picture("Laboratory"),
    "help": Picture("Help", seen="text=The method"),
    "lesson-data": lesson("truth"),
    "lesson-distance": lesson("pair", seen=".lesson-caption"),
    "lesson-matrix": lesson("matrix", "dark", seen=".st-key-lesson_matrix .heatmaplayer"),
    "lesson-ball": lesson("tree-4"),
    "lesson-union": lesson("union"),
    "lesson-quartets": lesson("visit-1-quartets", steps=[quartets]),
    "lesson-join": lesson("visit-1-join-2"),
    "lesson-replace": lesson("visit-1-replace", "dark"),
    "lesson-result": Picture("Step_by_step", {"lesson": "noisy", "step": "compared"}),
    "lesson-projector": Picture("Step_by_step", RING | {"step": "visit-3-look", "projector": "1"}),
}


def take(browser: Browser, address: str, name: str) -> None:
    """Open a new window, do the steps, and save the screenshot."""
    picture = PICTURES[name]
    window = browser.new_context(color_scheme=picture.scheme)
    window.set_default_timeout(1000 * TIMEOUT)
    tab = AppTab(WatchedPage(window.new_page()), address)
    tab.go(picture.page, scheme=picture.scheme, **picture.link)
    for step in picture.steps:
        step(tab)
    tab.page.locator(picture.seen).first.wait_for()
    tab.page.evaluate("document.activeElement.blur()")
    tab.page.mouse.move(*OUT_OF_THE_WAY)
    shot = settled(tab)
    for part in tab.page.locator(UNWANTED).filter(visible=True).all():
        box = part.bounding_box()
        if box and -box["height"] < box["y"] < SIZE[1]:
            raise SystemExit(f"{name}: the screenshot would show: {part.inner_text()}")
    with Image.open(io.BytesIO(shot)) as seen:
        few_colours(seen).save(IMAGES / f"{name}.png", optimize=True)
    window.close()
    print(f"docs/images/{name}.png", flush=True)


def settled(tab: AppTab) -> bytes:
    """Return a screenshot once nothing is running and two in a row are equal."""
    seen = [b"", b"nothing yet"]

    def still() -> bool:
        tab.page.locator(AT_WORK).first.wait_for(state="detached")
        tab.rests()
        tab.page.wait_for_timeout(APART)
        seen.append(tab.page.screenshot())
        return seen[-1] == seen[-2] and tab.page.locator(AT_WORK).count() == 0

    tab.until(still)
    return seen[-1]


def few_colours(picture: Image.Image) -> Image.Image:
    """Reduce to 256 colours: a third of the size, without a visible difference."""
    return picture.convert("RGB").quantize(
        256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
    )


def main() -> None:
    """Start the app and take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if unknown := [name for name in names if name not in PICTURES]:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(PICTURES)}")
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        parser.error(f"no Chromium on PATH (looked for {', '.join(EXECUTABLES)}); install one")
    with (
        TemporaryDirectory() as home,
        serving(ROOT / "app.py", Path(home)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        for name in names:
            take(browser, address, name)
        browser.close()


if __name__ == "__main__":
    main()
