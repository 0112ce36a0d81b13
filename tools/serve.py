"""Serve the app to other computers on this network, after a notice of what that means.

``make serve`` runs this; ``make run`` listens on this computer only.
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
  * Anyone who can reach this computer and has this address can use the app.
    There is no password and no encryption. Use it on a network that you trust.
  * Visitors can open the bundled tables and their own files, and run computations on this
    computer. Each visitor has a separate session and sees nothing of the others.
  * Their files are kept in memory while their page is open. Nothing is written to disk or
    sent to anyone else.
  * They cannot see your files, or anything on this computer except the app.

For a class, send them to http://{address}:{port}/Step_by_step
Stop with Ctrl+C. "make run" listens on this computer only.
"""


def local_address() -> str:
    """Return the address of this computer on its network, without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(
                ("192.0.2.1", 9)
            )  # reserved for documentation; only the route is looked up
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


def command(address: str, port: int) -> list[str]:
    """Return the command that serves the app."""
    return [
        sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"),
        "--server.address=0.0.0.0", f"--server.port={port}",
        f"--browser.serverAddress={address}", "--server.headless=true",
    ]  # fmt: skip


def main() -> None:
    """Print the notice, then serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--address", default=None, help="address shown to the class")
    chosen = parser.parse_args()
    address = chosen.address or local_address()
    print(NOTICE.format(address=address, port=chosen.port), flush=True)
    os.chdir(ROOT)  # Streamlit reads its settings from here
    os.execv(sys.executable, command(address, chosen.port))


if __name__ == "__main__":
    main()
