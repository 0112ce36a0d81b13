"""Reload, lost connection and killed server in Chromium: everything is restored."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers.app_server import ROOT, Server, started
from helpers.browser import WatchedPage
from helpers.explore_page import Explore, learned
from helpers.sessions import GO_ON, answers
from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.long]

LINK = {"sample": "latent_cycle", "r": "1.5", "Lambda": "0.01", "tau": "0.1"}
CONNECTED = "[data-test-connection-state={}]"


class OwnServer:
    """A server that can be killed and restarted at the same address."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.now: Server = started(ROOT / "app.py", home)

    def kill(self) -> None:
        self.now.kill()

    def restart(self) -> None:
        self.now = started(ROOT / "app.py", self.home, self.now.port)


class Relay:
    """A proxy between browser and server whose connections can be cut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._ends: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections; new ones are accepted."""
        ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._door.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):  # the socket is closed
            while True:
                near, _ = self._door.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._ends += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(65536):
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(server: OwnServer) -> Iterator[Relay]:
    wire = Relay(server.now.port)
    yield wire
    wire.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnServer]:
    own = OwnServer(tmp_path)
    yield own
    own.now.stop()


@pytest.fixture
def tab(chromium: Browser, server: OwnServer) -> Iterator[Explore]:
    viewport: Any = {"width": 1440, "height": 900}
    context = chromium.new_context(viewport=viewport)
    context.set_default_timeout(180_000)
    yield Explore(WatchedPage(context.new_page()), server.now.address)
    context.close()


def is_lost(tab: Explore) -> None:
    """Wait until the page has noticed that the server is gone."""
    tab.until(lambda: tab.page.locator(CONNECTED.format("CONNECTED")).count() == 0)


def wakes(tab: Explore, link: dict[str, str]) -> bool:
    """Press a key; the first one after a restart only restores the session from the link."""
    tab.slider("r").focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.rests()
    return tab.link() != link


def test_reload_lost_connection_and_killed_server_lose_nothing(tab, server):
    tab.open(**LINK)
    graph = tab.move("r", "ArrowLeft", "ArrowLeft")
    tab.shows(graph)
    link = tab.link()

    tab.page.reload()
    tab.shows(graph)
    assert tab.link() == link

    server.kill()
    is_lost(tab)
    server.restart()
    tab.page.locator(CONNECTED.format("CONNECTED")).wait_for()
    tab.shows(graph)
    assert tab.link() == link
    tab.until(lambda: wakes(tab, link))
    tab.shows(learned(tab.link()).graph)


def test_a_lost_connection_keeps_the_session_with_its_file(tab, relay, tmp_path):
    file = tmp_path / "answers.csv"
    file.write_bytes(answers(1))
    lines: list[Any] = []
    tab.page.on("websocket", lambda line: lines.append(line))
    tab.address = f"http://127.0.0.1:{relay.port}"
    tab.open(**LINK)
    tab.use(file)
    counts, link = tab.counts(), tab.link()
    relay.cut()
    tab.until(lambda: len(lines) > 1)
    tab.rests()
    tab.slider("r").focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.until(lambda: tab.link() != link)
    tab.rests()
    assert tab.page.locator("[data-testid=stAlert]").filter(has_text="not here").count() == 0
    assert tab.counts()["observed"] == counts["observed"]


def test_after_a_restart_the_same_file_restores_its_graph(tab, server, tmp_path):
    file = tmp_path / "answers.csv"
    file.write_bytes(answers(1))
    tab.open(**LINK)
    tab.use(file)
    link = tab.link()
    tab.slider("r").focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.until(lambda: tab.link() != link)
    tab.rests()
    link, edges, counts = tab.link(), tab.edges(), tab.counts()
    project = tmp_path / "mine.loopylatent"
    project.write_bytes(tab.download("project").read_bytes())

    server.kill()
    is_lost(tab)
    server.restart()
    tab.page.locator(CONNECTED.format("CONNECTED")).wait_for()
    tab.slider("r").focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.page.get_by_text("'answers.csv' is not loaded").wait_for()
    assert tab.link() == link
    dialog = tab.upload(file)
    dialog.get_by_role("button", name=GO_ON).click()
    dialog.wait_for(state="detached")
    tab.becomes(tab.edges, edges)
    assert (tab.link(), tab.counts()) == (link, counts)

    tab.page.goto(f"{server.now.address}/?sample=bfi25")
    tab.rests()
    dialog = tab.upload(project, "Project")
    dialog.get_by_role("button", name="Open project").click()
    dialog.wait_for(state="detached")
    tab.becomes(tab.edges, edges)
    assert tab.counts() == counts
