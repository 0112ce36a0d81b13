"""Files written whole or not at all, and work that goes on where it was interrupted."""

from __future__ import annotations

import os
import secrets
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from loopylatent.errors import DataError, quoted


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


Arrays = Mapping[str, NDArray[Any]]
SECONDS = 5.0
"""Between two times that the file is written."""
_KEY, _DONE = "key", "done"


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """How much was done, and what came of it."""

    done: int
    arrays: Arrays


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A file that holds how far some work has come; one with another key is refused."""

    path: str | os.PathLike[str]
    key: str
    """What the work depends on."""
    _saved_at: float = field(default_factory=time.monotonic)

    def load(self) -> Saved | None:
        """Return what the file holds; None where there is none."""
        if not os.path.exists(self.path):  # noqa: PTH110  (asks nothing of an odd path)
            check_place(self.path)
            return None
        try:
            with np.load(self.path, allow_pickle=False) as content:
                arrays = dict(content)
            key, done = str(arrays.pop(_KEY)), int(arrays.pop(_DONE))
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
            problem = "is no checkpoint, or it is damaged; remove it, or name another file."
        else:
            if key == self.key:
                return Saved(done, arrays)
            problem = (
                "is a checkpoint of other data or other settings; remove it to start again, "
                "or name another file."
            )
        raise DataError(f"{quoted(os.fspath(self.path))} {problem}")

    def save_now_and_then(self, done: int, arrays: Callable[[], Arrays]) -> None:
        """Write the file where it has not been written for a while."""
        if time.monotonic() - self._saved_at >= SECONDS:
            self.save(done, arrays())

    def save(self, done: int, arrays: Arrays) -> None:
        """Write the file; until it is whole, the one before stays."""
        content: dict[str, Any] = {_KEY: np.array(self.key), _DONE: np.array(done), **arrays}
        with replacing(self.path, "checkpoint ") as stream:
            np.savez(stream, **content)
        self._saved_at = time.monotonic()
