"""``loopylatent app``: what it rejects, and what it would run; test_packaging.py starts it."""

from __future__ import annotations

import re
import runpy
import socket
import sys
from pathlib import Path

import pytest

from loopylatent.cli import app as cli_app
from loopylatent.cli.main import main
from loopylatent.errors import DataError, ThresholdError
from loopylatent.tables import samples

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def taken_port():
    with socket.socket() as other:
        other.bind((cli_app.ADDRESS, 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_taken_port_is_rejected_with_one_that_is_free(taken_port, capsys):
    assert main(["app", "--headless", "--port", str(taken_port)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"loopylatent: Port {taken_port} is in use")
    offered = int(re.search(r"--port (\d+)$", line).group(1))
    assert offered != taken_port
    cli_app.check_port(offered)


@pytest.mark.parametrize("port", [-1, 0, 80, 65536])
def test_a_port_out_of_range_is_rejected(port):
    with pytest.raises(ThresholdError, match=f"--port {port} must be between 1024 and 65535"):
        cli_app.check_port(port)


def test_the_app_of_the_checkout_is_found():
    assert cli_app.app_script() == ROOT / "app.py"


def test_the_app_inside_an_installed_package_comes_first(tmp_path, monkeypatch):
    package = tmp_path / "loopylatent"
    (package / "_app").mkdir(parents=True)
    for folder in (tmp_path, package / "_app"):
        (folder / "app.py").touch()
    monkeypatch.setattr(samples, "__file__", str(package / "tables" / "samples.py"))
    assert cli_app.app_script() == package / "_app" / "app.py"


def test_a_missing_app_is_rejected_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(
        samples, "__file__", str(tmp_path / "loopylatent" / "tables" / "samples.py")
    )
    with pytest.raises(DataError, match="The app is missing from the package"):
        cli_app.app_script()


def test_the_app_listens_on_this_computer_alone(monkeypatch, capsys):
    """Whatever the settings of the user say: the address is on the command line."""
    seen: list[list[str]] = []
    monkeypatch.setattr(sys, "argv", ["loopylatent"])
    monkeypatch.setattr(runpy, "run_module", lambda *_, **__: seen.append(sys.argv))
    port = cli_app._free_port()
    assert main(["app", "--headless", "--port", str(port)]) == 0
    (words,) = seen
    assert words[:3] == ["streamlit", "run", str(ROOT / "app.py")]
    assert {"--server.address=127.0.0.1", f"--server.port={port}"} <= set(words)
    assert "--server.headless=true" in words
    assert f"http://127.0.0.1:{port}" in capsys.readouterr().err
