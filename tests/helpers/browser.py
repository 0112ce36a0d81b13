"""Chromium for tests: found on PATH, without network, watched for errors.

Test modules use its fixtures and mark their tests with ``@pytest.mark.browser``; such tests run one
after the other in one worker. A test fails if its page logs an error or requests anything that is
not on this machine.

Tests of the app share one window per worker, so that static files are fetched once, and one page
per test file. `AppTab.go` opens a link in it, which starts a new session. A test waits for a
condition, never for a time.
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
"""Column names are data; none of these may be executed or break anything."""

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
TIMEOUT = 180.0  # seconds until a test fails if its condition does not become true
SIZE = (1440, 900)
CHECKS = 4  # consecutive checks in which the app must be idle
IDLE = """() => {
  const app = document.querySelector("[data-test-script-state]");
  return app !== null && app.dataset.testScriptState === "notRunning"
    && app.dataset.testConnectionState === "CONNECTED";
}"""
PROBED = ("_stcore/health", "_stcore/host-config")
"""Streamlit requests these next to a page that is opened directly, before it finds the server."""


def is_local(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in (
        "127.0.0.1",
        "localhost",
    )


@dataclass
class WatchedPage:
    """A page, with its errors and unwanted requests."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Addresses on this machine that were not found."""

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

        Unlike Playwright's ``wait_for_function`` this works under a content security policy that
        forbids ``eval``.
        """
        deadline = time.monotonic() + TIMEOUT
        while not (value := self.page.evaluate(expression)):
            assert time.monotonic() < deadline, f"never became true: {expression}"
            self.page.wait_for_timeout(20)
        return value

    def forget(self) -> None:
        for noted in (self.requests, self.errors, self.missing):
            noted.clear()

    def check(self) -> None:
        assert self.requests == [], "the page requested something outside this machine"
        assert self.errors == [], "the page reported errors"


@dataclass
class AppTab:
    """A page of the app in a tab, with functions that all browser tests use."""

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
        """Open a link, which starts a new session, and wait until the app is idle."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme=scheme)
        self.page.goto(f"{self.address}/{path}?{urlencode(params)}")
        self.rests()

    def rests(self) -> None:
        """Wait until the script has ended and does not start again."""
        checks = 0

        def quiet() -> bool:
            nonlocal checks
            checks = checks + 1 if self.page.evaluate(IDLE) else 0
            return checks >= CHECKS

        self.until(quiet)

    def until(self, holds: Callable[[], Any]) -> Any:
        """Return what ``holds`` returns as soon as it is true."""
        deadline = time.monotonic() + TIMEOUT
        while not (value := holds()):
            assert time.monotonic() < deadline, "the condition never became true"
            self.page.wait_for_timeout(30)
        return value

    def becomes(self, read: Callable[[], Any], expected: Any) -> None:
        """Wait until ``read()`` equals ``expected``; on timeout, show the difference."""
        deadline = time.monotonic() + TIMEOUT
        while read() != expected and time.monotonic() < deadline:
            self.page.wait_for_timeout(30)
        assert read() == expected

    def steady(self, element: Locator) -> Any:
        """Return the box of an element once it exists and does not move."""
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
        """Check that there were no errors, except Streamlit's search for its server."""
        seen = self.watched
        missing = [url for url in seen.missing if "/media/" not in url]  # the icon of a closed page
        assert [url for url in missing if not url.endswith(PROBED)] == []
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
    expect.set_options(timeout=1000 * TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    """One window for all tests of the app."""
    viewport: Any = {"width": SIZE[0], "height": SIZE[1]}
    context = chromium.new_context(viewport=viewport, accept_downloads=True)
    context.set_default_timeout(1000 * TIMEOUT)
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
    """Yield a tab for one test, then close its page and check it."""
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
        watched.page.set_default_timeout(1000 * TIMEOUT)
        opened.append(watched)
        watched.page.goto(address)
        return watched

    yield opener
    for watched in opened:
        watched.page.close()
    for watched in opened:
        watched.check()
