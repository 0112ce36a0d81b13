"""Work that was interrupted goes on where it stopped: what is done so far, in a file."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.files import check_place, replacing
from loopylatent.errors import DataError, quoted

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
        shown = quoted(os.fspath(self.path))
        if not os.path.exists(self.path):  # noqa: PTH110  (asks nothing of an odd path)
            check_place(self.path)
            return None
        try:
            with np.load(self.path, allow_pickle=False) as content:
                arrays = dict(content)
            key, done = str(arrays.pop(_KEY)), int(arrays.pop(_DONE))
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
            raise DataError(
                f"{shown} is no checkpoint, or it is damaged; remove it, or name another file."
            ) from None
        if key != self.key:
            raise DataError(
                f"{shown} is a checkpoint of other data or other settings; remove it to start "
                "again, or name another file."
            )
        return Saved(done, arrays)

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
