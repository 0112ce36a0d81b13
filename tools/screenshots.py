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

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PORT = 8599
HERE = f"http://127.0.0.1:{PORT}"


def settled(page: Page) -> None:
    """Wait until the graph stands still and the page has stopped running."""
    page.wait_for_selector('[data-settled="true"]', timeout=120_000, state="attached")
    page.wait_for_selector('[data-testid="stStatusWidget"]', state="detached", timeout=60_000)
    page.wait_for_timeout(800)


def skip_tour(page: Page) -> None:
    """Leave the tour."""
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
    "explore-density": ("/?sample=stocks_sp100_daily_2003_2007", False, density),
    "lesson-data": (RING + "truth", False, nothing),
    "lesson-distance": (RING + "pair", False, nothing),
    "lesson-matrix": (RING + "matrix", True, heatmap),
    "lesson-ball": (RING + "tree-4", False, nothing),
    "lesson-union": (RING + "union", False, nothing),
    "lesson-quartets": (RING + "visit-1-quartets", False, quartets),
    "lesson-join": (RING + "visit-1-join-2", False, nothing),
    "lesson-replace": (RING + "visit-1-replace", True, nothing),
    "lesson-result": ("/Step_by_step?lesson=noisy&step=compared", False, nothing),
    "lesson-projector": (RING + "visit-3-look&projector=1", False, nothing),
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
                page.close()
            browser.close()
    finally:
        server.terminate()
        server.wait()


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
