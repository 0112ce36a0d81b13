"""Chromium for tests: found on PATH, kept off the network, watched for errors.

A test module that wants it uses its fixtures and marks its tests with
``@pytest.mark.browser``; such tests run one after the other in one worker. A page that logs an
error or asks for anything that is not on this machine fails its test.

For tests of the app there is one window a worker, so that what never changes is fetched once, and
one page a file. `AppTab.go` opens a link in it: the app then knows nothing of what was done before.
A test waits for a condition, never for a time.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

HOSTILE_NAMES = (
    '<img src=x onerror="window.hacked=1">',
    "</script><script>window.hacked=1</script>",
    "<b>bold</b> *bold* _i_ `code`",
    'href="javascript:window.hacked=1"',
    "\"double\" and 'single' \\ back",
    "two\nlines\r\nand a\ttab\rreturn",
    "🦊 漢字 שלום",
    "\u202eoverride \u2028 separator",
    '=HYPERLINK("http://example.com")',
    "+1",
    "-1",
    "@sum",
    "\t=1",
    "'=quoted",
    "control \x00\x01\x0b\x1f\x7f",
    "",
    "   ",
    "NA",
    "007",
    "&lt;b&gt; &amp; ]]> <!-- -->",
    "{{ 7 * 7 }}{% raw %}",
    "lone \ud800 surrogate",
    "a,b;c # d",
    "__proto__",
    "x" * 300,
)
"""Column names are data; none of these may run or break anything."""

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
PATIENCE = 180.0  # seconds until a condition that does not come true fails the test
SIZE = (1440, 900)
LOOKS = 4  # at which the app has to be at rest, one after the other
AT_REST = """() => {
  const app = document.querySelector("[data-test-script-state]");
  return app !== null && app.dataset.testScriptState === "notRunning"
    && app.dataset.testConnectionState === "CONNECTED";
}"""
LOOKED_FOR = ("_stcore/health", "_stcore/host-config")
"""Streamlit looks for these beside a page that is opened directly, before it finds them above."""


def is_local(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in (
        "127.0.0.1",
        "localhost",
    )


@dataclass
class WatchedPage:
    """A page, and what it did that it should not have done."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Addresses on this machine that were not answered."""

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self._note_request(request.url))
        self.page.on("websocket", lambda socket: self._note_request(socket.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note_message)
        self.page.on("response", self._note_response)

    def _note_request(self, address: str) -> None:
        if not is_local(address):
            self.requests.append(address)

    def _note_message(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _note_response(self, response: Any) -> None:
        if response.status >= 400:
            self.missing.append(response.url)

    def wait_until(self, expression: str) -> Any:
        """Return the value of a JavaScript expression as soon as it is true.

        Unlike Playwright's own way this needs no ``eval`` in the page, which a content security
        policy forbids.
        """
        deadline = time.monotonic() + PATIENCE
        while not (value := self.page.evaluate(expression)):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            self.page.wait_for_timeout(20)
        return value

    def forget(self) -> None:
        for noted in (self.requests, self.errors, self.missing):
            noted.clear()

    def check(self) -> None:
        assert self.requests == [], "the page asked for something outside this machine"
        assert self.errors == [], "the page reported errors"


@dataclass
class AppTab:
    """A page of the app in a tab, and the questions that all tests of pages ask it."""

    watched: WatchedPage
    address: str

    @property
    def page(self) -> Page:
        return self.watched.page

    def go(
        self,
        path: str = "",
        *,
        size: tuple[int, int] = SIZE,
        scheme: Any = "light",
        **params: str,
    ) -> None:
        """Open a link, which begins a session of its own, and wait until the app rests."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme=scheme)
        self.page.goto(f"{self.address}/{path}?{urlencode(params)}")
        self.rests()

    def rests(self) -> None:
        """Wait until the script has ended and does not begin again."""
        looks = 0

        def quiet() -> bool:
            nonlocal looks
            looks = looks + 1 if self.page.evaluate(AT_REST) else 0
            return looks >= LOOKS

        self.until(quiet)

    def until(self, holds: Callable[[], Any]) -> Any:
        """Return what ``holds`` returns as soon as it is true."""
        deadline = time.monotonic() + PATIENCE
        while not (value := holds()):
            assert time.monotonic() < deadline, "what the test waits for never came true"
            self.page.wait_for_timeout(30)
        return value

    def becomes(self, read: Callable[[], Any], wanted: Any) -> None:
        """Wait until ``read()`` is ``wanted``; where that does not happen, show the difference."""
        deadline = time.monotonic() + PATIENCE
        while read() != wanted and time.monotonic() < deadline:
            self.page.wait_for_timeout(30)
        assert read() == wanted

    def steady(self, element: Locator) -> Any:
        """Return the box of an element, once it is there and does not move."""
        seen: list[Any] = [None]

        def stands() -> bool:
            seen.append(element.bounding_box())
            return seen[-1] is not None and seen[-1] == seen[-2]

        self.until(stands)
        return seen[-1]

    def link(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.page.url).query).items()}

    def turn_to(self, tab: str) -> None:
        self.page.get_by_role("tab", name=tab, exact=True).click()
        self.page.get_by_role("tab", name=tab, exact=True, selected=True).wait_for()
        self.rests()

    def check(self) -> None:
        """See that nothing went wrong; Streamlit's own search for its server does not count."""
        seen = self.watched
        missing = [url for url in seen.missing if "/media/" not in url]  # the icon of a closed page
        assert [url for url in missing if not url.endswith(LOOKED_FOR)] == []
        errors = [error for error in seen.errors if "404" not in error]
        assert len(seen.errors) - len(errors) <= len(seen.missing)
        seen.errors[:] = errors
        seen.check()


@pytest.fixture(scope="session")
def hostile_names() -> tuple[str, ...]:
    return HOSTILE_NAMES


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"no Chromium on PATH (looked for {', '.join(EXECUTABLES)}); install one.")
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    """One window for all tests of the app."""
    viewport: Any = {"width": SIZE[0], "height": SIZE[1]}
    context = chromium.new_context(viewport=viewport, accept_downloads=True)
    context.set_default_timeout(1000 * PATIENCE)
    yield context
    context.close()


@pytest.fixture(scope="module")
def app_page(window: BrowserContext) -> Iterator[WatchedPage]:
    """The page that all tests of a file share."""
    watched = WatchedPage(window.new_page())
    yield watched
    watched.page.close()


SomeTab = TypeVar("SomeTab", bound=AppTab)


def visiting(tab: SomeTab) -> Iterator[SomeTab]:
    """What a fixture yields for one test: a tab that is left, and then checked, at the end."""
    tab.watched.forget()
    yield tab
    tab.page.goto("about:blank")
    tab.check()


OpenPage = Callable[..., WatchedPage]


@pytest.fixture
def open_page(chromium: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Open HTML text or an address in a new window; every window is checked at the end."""
    opened: list[WatchedPage] = []

    def opener(
        html_or_address: str, *, size: tuple[int, int] = (1440, 900), scheme: Any = "light"
    ) -> WatchedPage:
        address = html_or_address
        if html_or_address.lstrip().startswith("<"):
            file = tmp_path / f"page{len(opened)}.html"
            file.write_text(html_or_address, encoding="utf-8")
            address = file.as_uri()
        viewport: Any = {"width": size[0], "height": size[1]}
        watched = WatchedPage(chromium.new_page(viewport=viewport, color_scheme=scheme))
        watched.page.set_default_timeout(1000 * PATIENCE)
        opened.append(watched)
        watched.page.goto(address)
        return watched

    yield opener
    for watched in opened:
        watched.page.close()
    for watched in opened:
        watched.check()
