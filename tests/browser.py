"""Chromium for tests: found on PATH, kept off the network, watched for errors.

A test module that wants it says ``pytest_plugins = ["browser"]`` and marks its tests with
``@pytest.mark.browser``. A page that logs an error or asks for anything that is not on this
machine fails its test.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

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
PATIENCE = 20.0  # seconds until a condition that does not come true fails the test


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

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self._note_request(request.url))
        self.page.on("websocket", lambda socket: self._note_request(socket.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note_message)

    def _note_request(self, address: str) -> None:
        if not is_local(address):
            self.requests.append(address)

    def _note_message(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

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

    def check(self) -> None:
        assert self.requests == [], "the page asked for something outside this machine"
        assert self.errors == [], "the page reported errors"


@pytest.fixture(scope="session")
def hostile_names() -> tuple[str, ...]:
    return HOSTILE_NAMES


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"no Chromium on PATH (looked for {', '.join(EXECUTABLES)}); install one.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield browser
        browser.close()


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
        opened.append(watched)
        watched.page.goto(address)
        return watched

    yield opener
    for watched in opened:
        watched.page.close()
    for watched in opened:
        watched.check()
