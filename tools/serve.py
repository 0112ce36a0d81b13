"""Serve the app to other computers of this network, after saying in plain words what that means.

``make run`` listens on this computer alone; this is what ``make serve`` runs instead.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NOTICE = """
Opening the app to this network: http://{address}:{port}

What that means:
  * Everyone who can reach this computer on the network, and has this address, can use the app.
    There is no password, and what travels is not encrypted. Use it in a network that you trust.
  * They can look at the bundled tables, open files of their own, and let this computer work
    on them. Each visitor has a session of their own: nobody sees what another one opens.
  * What they open is kept in memory while their page is open. Nothing is written to disk,
    and nothing is sent on to anyone else.
  * They cannot see your files, or anything on this computer but the app.

For a class, send them to http://{address}:{port}/Step_by_step
Stop it with Ctrl+C. "make run" listens on this computer alone.
"""


def local_address() -> str:
    """Return the address of this computer on its network; nothing is sent to find it out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address that is nobody's, to ask for the way
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


def command(address: str, port: int) -> list[str]:
    """Return the command that serves the app; it looks nothing up outside."""
    return [
        sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"),
        "--server.address=0.0.0.0", f"--server.port={port}",
        f"--browser.serverAddress={address}", "--server.headless=true",
    ]  # fmt: skip


def main() -> None:
    """Say what is exposed, then serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--address", default=None, help="the address to give to the class")
    chosen = parser.parse_args()
    address = chosen.address or local_address()
    print(NOTICE.format(address=address, port=chosen.port), flush=True)
    os.chdir(ROOT)  # where the settings of the app are
    os.execv(sys.executable, command(address, chosen.port))


if __name__ == "__main__":
    main()
