"""Atomic writing of files, and the version number they contain."""

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
    """Raise if no file can be written at the path."""
    with _reporting(path):
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise DataError(f"The folder {str(target.parent)!r} does not exist. Create it first.")
        if target.is_dir():
            raise DataError(f"{os.fspath(path)!r} is a folder. Name a file in it.")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file; readers see the old content or the new, never a part."""
    with replacing(path) as file:
        file.write(content)
    return Path(path)


@contextmanager
def replacing(path: str | os.PathLike[str], what: str = "") -> Iterator[BinaryIO]:
    """Write to a temporary file that replaces the target when complete."""
    check_place(path)
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".loopylatent-{secrets.token_hex(8)}.tmp")
    with _reporting(path, what):
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def _reporting(path: str | os.PathLike[str], what: str = "") -> Iterator[None]:
    """Raise a `DataError` in place of an `OSError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        shown = f"{what}{os.fspath(path)!r}"
        raise DataError(f"Cannot write {shown}: {reason}. Choose another place.") from None
