"""Files written whole or not at all, and the version of the program that they name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from loopylatent.errors import DataError

__version__ = "0.1.0"


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written, before there is anything to write."""
    with _refusing(path):
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise DataError(f"folder {str(target.parent)!r} does not exist; create it first.")
        if target.is_dir():
            raise DataError(f"{os.fspath(path)!r} is a folder; give the name of a file in it.")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file at once; no reader ever sees half of it."""
    with replacing(path) as file:
        file.write(content)
    return Path(path)


@contextmanager
def replacing(path: str | os.PathLike[str], what: str = "") -> Iterator[BinaryIO]:
    """Write a file under another name first; it takes its place when it is whole."""
    check_place(path)
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".loopylatent-{secrets.token_hex(8)}.tmp")
    with _refusing(path, what):
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def _refusing(path: str | os.PathLike[str], what: str = "") -> Iterator[None]:
    """Say in one line what the system refuses."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        shown = f"{what}{os.fspath(path)!r}"
        raise DataError(f"{shown} cannot be written: {reason}; choose another place.") from None
