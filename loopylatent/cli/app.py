"""``loopylatent app`` opens the app, ``loopylatent samples`` lists the bundled tables."""

from __future__ import annotations

import argparse
import os
import runpy
import socket
import sys
from pathlib import Path

from loopylatent.cli import opt
from loopylatent.cli.terminal import say
from loopylatent.errors import DataError, ThresholdError
from loopylatent.tables.samples import bundled, sample_titles

ADDRESS = "127.0.0.1"
PORT = 8501
PORTS = range(1024, 65536)
"""Ports that need no administrator rights."""


def _samples(_: argparse.Namespace) -> None:
    for name, title in sample_titles().items():
        sys.stdout.write(f"sample:{name}\t{title}\n")


def _app(options: argparse.Namespace) -> None:
    port = options.port
    script = app_script()
    check_port(port)
    say(f"loopylatent is running at http://{ADDRESS}:{port} (this computer only). Ctrl+C stops it.")
    sys.argv = [
        "streamlit", "run", str(script),
        f"--server.address={ADDRESS}", f"--server.port={port}",
        f"--server.headless={str(options.headless).lower()}", "--logger.hideWelcomeMessage=true",
    ]  # fmt: skip
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


def app_script() -> Path:
    """Return the path of app.py, in the folder with the pages and settings of the app."""
    folder = bundled("_app", ".", "app.py")
    if folder is None:
        raise DataError("The app is missing from the package. Reinstall the package.")
    return folder / "app.py"


def check_port(port: int) -> None:
    """Raise if the port is invalid or in use."""
    if port not in PORTS:
        raise ThresholdError(f"--port {port} must be between {PORTS[0]} and {PORTS[-1]}.")
    if not _is_free(port):
        raise ThresholdError(
            f"Port {port} is in use, perhaps by this app in another window "
            f"(http://{ADDRESS}:{port}). Use another one: loopylatent app --port {_free_port()}"
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        if os.name == "posix":  # elsewhere this would share a port that is in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    near = next((port for port in range(PORT, PORT + 20) if _is_free(port)), None)
    if near is not None:
        return near
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
    return port


COMMANDS = {
    "samples": opt.Command(
        "List the bundled tables: the name, which other commands accept in place of a file, a "
        "tab, and the title.",
        "Example: loopylatent samples; then: loopylatent learn sample:bfi25 -o bfi.html",
        {}, _samples,
    ),
    "app": opt.Command(
        "Open the app in the browser. It is reachable from this computer only, and your data stay "
        "on this computer. Ctrl+C stops it.",
        "Example: loopylatent app --port 8600",
        {"--port": opt.whole(f"port of the server (default: {PORT})", default=PORT),
         "--headless": opt.flag("do not open a browser")}, _app,
    ),
}  # fmt: skip
