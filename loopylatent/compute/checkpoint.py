"""Work that was interrupted goes on where it stopped: what is done so far, in a file."""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """A file that holds how far some work has come.

    Parameters
    ----------
    path : path
    key : str
        What the work depends on; a file with another key is refused.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Checkpoint(Path(folder) / "so_far.npz", "these data")
    ...     file.save(3, {"sums": np.ones(2)})
    ...     Checkpoint(file.path, "these data").load().done
    3
    """

    path: str | os.PathLike[str]
    key: str
    _saved_at: float = field(default_factory=time.monotonic)

    def load(self) -> Saved | None:
        """Return what the file holds; None where there is none."""
        shown = quoted(os.fspath(self.path))
        try:
            if not Path(self.path).exists():
                self._check_place()
                return None
            with np.load(self.path, allow_pickle=False) as content:
                arrays = dict(content)
            key, done = str(arrays.pop(_KEY)), int(arrays.pop(_DONE))
        except DataError:
            raise
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
        """Write the file under another name first, so that a whole one is always there."""
        content: dict[str, Any] = {_KEY: np.array(self.key), _DONE: np.array(done), **arrays}
        folder = Path(self.path).absolute().parent
        try:
            handle, name = tempfile.mkstemp(dir=folder, suffix=".npz")
            try:
                with os.fdopen(handle, "wb") as stream:
                    np.savez(stream, **content)
                Path(name).replace(self.path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise self._cannot_write(error) from None
        self._saved_at = time.monotonic()

    def _check_place(self) -> None:
        folder = Path(self.path).absolute().parent
        if not folder.is_dir():
            raise DataError(f"folder {quoted(str(folder))} does not exist; create it first.")

    def _cannot_write(self, error: OSError) -> DataError:
        return DataError(
            f"checkpoint {quoted(os.fspath(self.path))} cannot be written: "
            f"{error.strerror or type(error).__name__}; choose another place."
        )
