"""The streams of the command line: results to standard output, all else to standard error."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

from loopylatent.export import write_atomically


def open_streams() -> None:
    """Send nowhere what is said to a stream that the caller has closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # print would take standard output in its place
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def speak_every_script() -> None:
    """Let no name break the output: a file gets UTF-8, a terminal escapes what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def leave_standard_output() -> None:
    """Send what is still to be written nowhere, so that the end of the program is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_text(text: str, output: Path | None) -> None:
    """Write a result to the named file, or to standard output where none is named."""
    if output is None:
        sys.stdout.write(text)
    else:
        say(f"wrote {write_atomically(output, text.encode())}")


def show_progress(done: int, total: int, what: str = "learning") -> None:
    """Show on one line how much of the work is done."""
    with suppress(ZeroDivisionError):
        end = "\n" if done == total else ""
        print(f"\r{what}: {100 * done // total} %", end=end, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Say what is no result."""
    print(text, file=sys.stderr)
