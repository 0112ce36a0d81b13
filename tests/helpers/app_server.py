"""A server of the app for browser tests.

Test modules use its fixtures (`conftest.py`). One server serves all tests of a worker. It has its
own home folder, so that the user's settings are neither read nor written.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import loopylatent as ll
from loopylatent.analysis.sweep.scores import Split, iter_scores
from loopylatent.figures.layout import positions
from loopylatent.synthetic.families import latent_cycle

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 180.0  # seconds until tests fail if the server does not answer
ATTEMPTS = 3  # another program may take the port before the server starts


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        _stop(self.process)

    def kill(self) -> None:
        """Kill the server without a clean shutdown."""
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(script: Path, home: Path) -> Iterator[str]:
    """Serve a Streamlit script on 127.0.0.1 and yield its address; stop the server at the end."""
    server = started(script, home)
    try:
        yield server.address
    finally:
        server.stop()


def started(script: Path, home: Path, port: int | None = None, **settings: object) -> Server:
    """Start a server on the given port, or a free one, and wait until it answers."""
    for _ in range(ATTEMPTS):
        chosen = port or _free_port()
        with (home / "server.log").open("ab") as log:
            process = _start(script, chosen, home, log, settings)
        if _answers(process, chosen):
            return Server(process, chosen)
        _stop(process)
    log_text = (home / "server.log").read_text(encoding="utf-8", errors="replace")
    raise RuntimeError(f"the app did not start:\n{log_text[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _start(
    script: Path, port: int, home: Path, log: object, settings: Mapping[str, object]
) -> subprocess.Popen[bytes]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")}
    options = {
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        **{f"server.{name}": value for name, value in settings.items()},
    }
    return subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script)]
        + [f"--{name}={value}" for name, value in options.items()],
        cwd=ROOT,
        env=environment | {"HOME": str(home), "USERPROFILE": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=log,  # type: ignore[arg-type]
        stderr=subprocess.STDOUT,
    )


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server is healthy; return False if it has ended."""
    deadline = time.monotonic() + TIMEOUT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as r:
                return r.status == 200
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _compile() -> None:
    """Compile the kernels that pages use most, so that no test waits for it."""
    for kind in ("ising", "gaussian"):
        obs = latent_cycle(4, 2, kind=kind).sample(200)
        D = ll.information_distances(obs)
        result = ll.learn(D)
        positions(result.graph)
        list(iter_scores(Split.of(obs, D), [result.settings]))


@pytest.fixture(scope="session")
def app_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app."""
    _compile()
    with serving(ROOT / "app.py", tmp_path_factory.mktemp("home")) as address:
        yield address
