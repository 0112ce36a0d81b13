"""The app on a port of its own, for tests in a browser.

A test module that wants it says ``pytest_plugins = ["app_server"]``. One server serves all tests
of a worker; it has a home folder of its own, so nothing of the user's settings is read or written.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds until a server that does not answer fails the tests
ATTEMPTS = 3  # another program may take the port between our look and the start


@contextmanager
def serving(script: Path, home: Path) -> Iterator[str]:
    """Serve a Streamlit script on 127.0.0.1 and give its address; stop the server at the end."""
    for attempt in range(1, ATTEMPTS + 1):
        port = _free_port()
        with (home / "server.log").open("wb") as log:
            process = _start(script, port, home, log)
        try:
            if _answers(process, port):
                yield f"http://127.0.0.1:{port}"
                return
        finally:
            _stop(process)
        if attempt == ATTEMPTS:
            said = (home / "server.log").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the app did not start:\n{said[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _start(script: Path, port: int, home: Path, log: object) -> subprocess.Popen[bytes]:
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")}
    options = {
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script)]
        + [f"--{name}={value}" for name, value in options.items()],
        cwd=ROOT,
        env=surroundings | {"HOME": str(home), "USERPROFILE": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=log,  # type: ignore[arg-type]
        stderr=subprocess.STDOUT,
    )


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server says that it is well; False when it has ended instead."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as r:
                return r.status == 200
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)  # between two looks, not instead of one
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def app_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app."""
    with serving(ROOT / "app.py", tmp_path_factory.mktemp("home")) as address:
        yield address
