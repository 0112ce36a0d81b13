"""Take the pictures of docs/images: python tools/screenshots.py (needs requirements-dev.txt).

With words behind it only those whose names begin so: python tools/screenshots.py lesson
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the tests' own table
from tests.large_tables import many_columns  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PORT = 8599
HERE = f"http://127.0.0.1:{PORT}"


AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'


def settled(page: Page) -> None:
    """Wait until the page has stopped running and its graphs stand still."""
    page.locator(".st-key-pages a").first.wait_for(timeout=120_000, state="attached")
    page.wait_for_selector(AT_REST, timeout=120_000)
    page.wait_for_selector('[data-settled="false"]', state="detached", timeout=60_000)
    page.wait_for_selector('[data-testid="stStatusWidget"]', state="detached", timeout=60_000)
    page.wait_for_selector('[data-testid="stProgress"]', state="detached", timeout=300_000)
    page.wait_for_timeout(800)


def graph(page: Page) -> None:
    """Wait until a graph is drawn."""
    page.wait_for_selector('[data-settled="true"]', timeout=120_000, state="attached")


def skip_tour(page: Page) -> None:
    """Leave the tour."""
    graph(page)
    page.get_by_role("button", name="Skip").click()


def known_groups(page: Page) -> None:
    """Colour the nodes by the groups that are known."""
    page.locator(".st-key-colours input").click()
    page.get_by_text("colours: known groups").click()


def what_changed(page: Page) -> None:
    """Show what grouping did."""
    page.get_by_text("What changed", exact=True).click()


def density(page: Page) -> None:
    """Scroll to the curve."""
    page.get_by_text("How the local trees change").scroll_into_view_if_needed()
    page.mouse.move(800, 700)
    page.mouse.wheel(0, 900)


def two_pins(page: Page) -> None:
    """Compare the tree with the graph with loops, side by side."""
    page.locator(".st-key-pin_two button").first.click()
    graph(page)


def cards(page: Page) -> None:
    """Wait for the topics."""
    page.locator(".topic-card").first.wait_for(timeout=120_000)


def plots(page: Page) -> None:
    """Wait for the plots."""
    page.locator(".js-plotly-plot").first.wait_for(timeout=120_000)


def support(page: Page) -> None:
    """Ask how sure the graph is, and show it on the graph."""
    page.get_by_role("tab", name="How sure?").click()
    page.locator(".st-key-sure button").click()
    shown = page.locator(".st-key-view").get_by_role("radio", name="Support")
    shown.wait_for(timeout=300_000)
    settled(page)
    if shown.get_attribute("aria-checked") != "true":
        shown.click()
        settled(page)
    page.locator("[data-testid=stMain]").evaluate("page => page.scrollTo(0, 0)")


def many(page: Page) -> None:
    """Open a made-up table of a thousand columns."""
    skip = page.get_by_role("button", name="Skip")
    if skip.count():
        skip.click()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a thousand columns.parquet"
        many_columns(1_000, n_rows=300).to_parquet(file)
        page.get_by_role("button", name="Open a file").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("input[type=file]").first.set_input_files(file)
        dialog.get_by_role("button", name="Use this table").click(timeout=120_000)
        dialog.wait_for(state="detached", timeout=120_000)
    page.locator(".st-key-shown_part").wait_for(timeout=120_000)
    for job in ("curve", "opening"):
        stop = page.locator(f".st-key-cancel_{job} button")
        stop.wait_for(timeout=120_000)
        stop.click()
        stop.wait_for(state="detached", timeout=120_000)
    close = page.locator(".st-key-close_notice button")
    close.first.wait_for(timeout=120_000)
    settled(page)
    close.click()


def nothing(page: Page) -> None:
    """The page as it opens."""


def heatmap(page: Page) -> None:
    """Wait for the matrix of distances."""
    page.locator(".heatmaplayer").wait_for(timeout=60_000)


def quartets(page: Page) -> None:
    """Show the quartets of the neighbourhood."""
    page.locator(".st-key-lesson_view").get_by_text("Quartets", exact=True).click()
    page.mouse.move(1200, 700)
    page.mouse.wheel(0, 330)


RING = "/Step_by_step?sample=latent_cycle&r=1.5&tau=0.1&step="
PICTURES: dict[str, tuple[str, bool, Callable[[Page], None]]] = {
    "explore": ("/", False, skip_tour),
    "explore-dark": ("/?sample=bfi25", True, known_groups),
    "explore-changed": ("/?sample=bfi25", False, what_changed),
    "explore-support": ("/?sample=bfi25", False, support),
    "explore-many": ("/?sample=latent_cycle", False, many),
    "explore-density": ("/?sample=stocks_sp100_daily_2003_2007", False, density),
    "tune": ("/Tune?sample=bfi25", False, plots),
    "compare": ("/Compare?sample=bfi25", False, two_pins),
    "evaluate": ("/Evaluate?sample=newsgroups100_roweislike", False, cards),
    "laboratory": ("/Laboratory", False, graph),
    "help": ("/Help", False, nothing),
    "lesson-data": (RING + "truth", False, graph),
    "lesson-distance": (RING + "pair", False, graph),
    "lesson-matrix": (RING + "matrix", True, heatmap),
    "lesson-ball": (RING + "tree-4", False, graph),
    "lesson-union": (RING + "union", False, graph),
    "lesson-quartets": (RING + "visit-1-quartets", False, quartets),
    "lesson-join": (RING + "visit-1-join-2", False, graph),
    "lesson-replace": (RING + "visit-1-replace", True, graph),
    "lesson-result": ("/Step_by_step?lesson=noisy&step=compared", False, graph),
    "lesson-projector": (RING + "visit-3-look&projector=1", False, graph),
}


def main() -> None:
    """Start the app, take every picture, stop the app."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    IMAGES.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    server = subprocess.Popen(
        [*command, "--server.port", str(PORT)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    try:
        _wait_for_server()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=browser_path, args=["--no-sandbox"]
            )
            wanted = tuple(sys.argv[1:]) or ("",)
            pictures = {name: how for name, how in PICTURES.items() if name.startswith(wanted)}
            for name, (path, dark, act) in pictures.items():
                page = browser.new_page(
                    viewport={"width": 1440, "height": 900},
                    color_scheme="dark" if dark else "light",
                )
                page.goto(HERE + path)
                settled(page)
                act(page)
                settled(page)
                page.screenshot(path=IMAGES / f"{name}.png")
                _reduce(IMAGES / f"{name}.png")
                page.close()
            browser.close()
    finally:
        server.terminate()
        server.wait()


def _reduce(path: Path) -> None:
    """Keep 256 colours, the rare ones too: a third of the size, and no difference to see."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(
            256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
        )
    few.save(path, optimize=True)


def _wait_for_server() -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(f"{HERE}/_stcore/health") as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the app did not start")


if __name__ == "__main__":
    main()
