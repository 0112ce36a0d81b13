"""Opening files within limits, checks of column names, and safe text for CSV and XML."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

import pandas as pd
import pyarrow as pa

from loopylatent.compute.limits import LIMITS
from loopylatent.errors import DataError, Remedy, quoted

T = TypeVar("T")
FilePath = str | os.PathLike[str]
Source = FilePath | bytes | IO[Any]
"""A path, the bytes of a file, or an open file."""

MAX_BYTES = LIMITS.file_bytes
"""The largest accepted table, after decompression."""
LARGEST_GROWTH = 200
"""Largest accepted compression ratio; real tables have 3 to 100."""
SMALL = 16 * 2**20
"""Bytes up to which any compression ratio is accepted."""

GZIP_DAMAGED = "the gzip file is damaged; compress the table again."
FIRST_BYTES = 64
"""Read to determine the format of a file."""
SPARSE_ENDINGS = (".mtx", ".mtx.gz", ".npz")
"""Extensions of files with a sparse matrix."""

_CHUNK = 1 << 20
"""Bytes unpacked at once."""
_GZIP = b"\x1f\x8b"
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class File:
    """The content of a file and, for messages, its name."""

    name: str
    content: bytes

    def error(self, *problem: str | Remedy) -> DataError:
        return DataError(f"{quoted(self.name)}: ", *problem)

    def check_size(self, size: int, max_bytes: int) -> None:
        if size > max_bytes:
            raise self.error(
                f"the table is larger than {max_bytes / 2**20:g} MB; keep fewer rows or columns",
                Remedy("max_bytes"),
                ".",
            )

    def check_growth(self, packed: int, unpacked: int) -> None:
        """Raise if the compression ratio is far above that of tables."""
        if unpacked > max(SMALL, LARGEST_GROWTH * packed):
            raise self.error(
                f"it unpacks to more than {LARGEST_GROWTH} times its size, far more than a table "
                "should; unpack it yourself and open the result."
            )

    def check_members(self, members: Sequence[zipfile.ZipInfo], max_bytes: int) -> None:
        """Raise if the members of an archive, by their declared sizes, are too large."""
        unpacked = sum(member.file_size for member in members)
        self.check_size(unpacked, max_bytes)
        self.check_growth(len(self.content), unpacked)


@dataclass(frozen=True, slots=True)
class Part:
    """A file that is read in blocks of rows."""

    path: str
    names: tuple[str, ...] = field(repr=False)
    """Column names."""

    @property
    def shown(self) -> str:
        return quoted(Path(self.path).name)

    def error(self, problem: str) -> DataError:
        return DataError(f"{self.shown}: ", problem)


def opened(source: Source, name: str | None = None, max_bytes: int = MAX_BYTES) -> File:
    """Read a source, decompress it if gzipped, and raise if it is too large."""
    if isinstance(source, bytes):
        file = File(name or "table", source)
    elif isinstance(source, (str, os.PathLike)):
        file = _read_path(source, name, max_bytes)
    else:
        content = source.read(max_bytes + 1)
        raw = content.encode() if isinstance(content, str) else content
        file = File(name or str(getattr(source, "name", "table")), raw)
    file.check_size(len(file.content), max_bytes)
    return _unpacked(file, max_bytes) if file.content.startswith(_GZIP) else file


def _check_no_address(source: object) -> None:
    if isinstance(source, str) and _URL.match(source):
        raise DataError(f"{quoted(source)} is a web address. Download the file first.")


def _read_path(source: FilePath, name: str | None, max_bytes: int) -> File:
    _check_no_address(source)
    path = Path(source)
    try:
        if path.is_file():
            with path.open("rb") as stream:
                return File(name or path.name, stream.read(max_bytes + 1))
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise not_opened(source, error) from None
    if is_folder:
        raise DataError(f"{quoted(str(source))} is a folder. Choose a file in it.")
    raise _no_file(str(source), "Save its content to a file first" if is_there else None)


def not_opened(source: object, error: Exception) -> DataError:
    """Return the error for a path that the system cannot open."""
    reason = getattr(error, "strerror", None) or "invalid path"
    return DataError(f"Cannot open {quoted(str(source))}: {reason}. Check the path.")


def _no_file(path: str, remedy: str | None) -> DataError:
    """The error for a path without a file or, with a ``remedy``, for a pipe or device."""
    if remedy is None:
        return DataError(f"There is no file {quoted(path)}. Check the path.")
    return DataError(f"{quoted(path)} is a pipe or a device. {remedy}.")


def find_files(source: FilePath | Sequence[FilePath]) -> list[Path]:
    """Return the files at one or more paths; those of a folder in the order of their names."""
    sources = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    for one in sources:
        _check_no_address(one)
    try:
        found = [path for one in sources for path in _files(Path(one).absolute())]
    except OSError as error:
        raise not_opened(error.filename or sources[0], error) from None
    if not found:
        raise DataError("No files were named. Name at least one.")
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise _no_file(str(path), "Choose a file" if path.exists() else None)
    inside = [one for one in sorted(path.iterdir()) if one.is_file() and one.name[0] not in "._"]
    if not inside:
        raise DataError(f"The folder {quoted(str(path))} contains no files. Choose another one.")
    return inside


def _unpacked(file: File, max_bytes: int) -> File:
    """Decompress a gzip file and check its size after each chunk."""
    packed, unpacked = stream(file), bytearray()
    try:
        with gzip.GzipFile(fileobj=packed) as archive:
            while chunk := archive.read(_CHUNK):
                unpacked += chunk
                file.check_size(len(unpacked), max_bytes)
                file.check_growth(packed.tell(), len(unpacked))
    except (OSError, EOFError, zlib.error):
        raise file.error(GZIP_DAMAGED) from None
    if unpacked.startswith(_GZIP):
        raise file.error("it is gzipped twice; unpack it once and open the result.")
    return File(file.name, bytes(unpacked))


def read_by(path: str, read: Callable[[], T], damaged: str) -> T:
    """Call ``read`` and turn its errors into a `DataError`."""
    try:
        return read()
    except FileNotFoundError:
        damaged = "the file was removed, or a worker cannot find it at this path."
    except MemoryError:  # Arrow's is an ArrowException too; the file is not damaged
        raise
    except (OSError, EOFError, zlib.error, pa.ArrowException):
        pass
    raise DataError(f"{quoted(Path(path).name)}: {damaged}")


def stream(file: File) -> io.BytesIO:
    """Return the content as a binary stream."""
    return io.BytesIO(file.content)


def is_parquet(head: bytes) -> bool:
    """Whether a file starts like Parquet; a text table may have a first column called PAR1."""
    return head.startswith(b"PAR1") and _NO_TEXT.search(head[:FIRST_BYTES]) is not None


def is_sparse_file(path: FilePath) -> bool:
    """Return whether a file has an extension of sparse matrices."""
    return os.fspath(path).lower().endswith(SPARSE_ENDINGS)


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def check_names(names: Sequence[str]) -> None:
    """Raise if a column name is empty, too long, duplicated or not valid Unicode."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"Column {position} of {len(names)} has no name. Name it, or remove it if it only "
                "numbers the rows."
            )
        if len(name) > LIMITS.name_length:
            raise DataError(
                f"The name of column {position}, {quoted(name)}, has {len(name):,} characters. "
                f"Shorten it to at most {LIMITS.name_length:,}."
            )
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(
                f"The name of column {position} of {len(names)} is not valid Unicode. Rename it."
            ) from None
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise DataError(f"{count} columns are called {quoted(name)}. Column names must be unique.")


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name with as many leading underscores as make it unique."""
    while name in taken:
        name = "_" + name
    return name


def check_header(names: Sequence[str]) -> None:
    """Raise if the first row consists of numbers that look like data and not like names."""
    texts = [name for name in names if name]
    if len(texts) < 2 or not all(map(_NUMBER.fullmatch, texts)):
        return
    values = [float(name) for name in texts]
    steps = {before < after for before, after in itertools.pairwise(values)}
    are_whole = all(name.isdigit() for name in texts)
    if len(set(values)) == len(values) and (are_whole or len(steps) == 1):
        return
    raise DataError(
        f"The first row contains numbers ({quoted(texts[0])[1:-1]}, {quoted(texts[1])[1:-1]}, ...)"
        ", not column names. Add a header row."
    )


def named(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Set the column names; drop columns that have neither a name nor a value."""
    check_header(names)
    kept = [k for k, name in enumerate(names) if name or frame.iloc[:, k].notna().any()]
    check_names([names[k] for k in kept])
    used = frame if len(kept) == len(names) else frame.iloc[:, kept]
    return used.set_axis([names[k] for k in kept], axis="columns")


# Safe text for other programs ------------------------------------------------------------------

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Replace characters that XML 1.0 does not allow by U+FFFD."""
    return _NOT_XML.sub("\ufffd", text)


_STARTS = tuple("=+-@＝＋－＠'")
_BREAKS = re.compile("([;\t\r\n])")
_CONTROL = re.compile("[\x7f-\x9f]")
"""Control characters that XML allows but that a terminal would interpret."""


def name_to_csv(name: str) -> str:
    """Put a quote before text that a spreadsheet would run as a formula, and before a quote.

    Depending on its locale, a spreadsheet splits a name at semicolons, tabs and line ends, so the
    text after these is treated in the same way. Other control characters become U+FFFD.
    """
    text = _CONTROL.sub("\ufffd", xml_text(name))
    first, *others = _BREAKS.split(text)
    begins = first.lstrip().startswith(_STARTS) or text.lstrip(" ").startswith(("\t", "\r", "\n"))
    safe = [f"'{part}" if part.lstrip().startswith(_STARTS) else part for part in others]
    return "".join([f"'{first}" if begins else first, *safe])


def table_to_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV without formulas in names and texts."""
    safe = frame.rename(columns=name_to_csv)
    for name in safe.columns[[not pd.api.types.is_numeric_dtype(one) for one in safe.dtypes]]:
        cells = [name_to_csv(cell) if isinstance(cell, str) else cell for cell in safe[name]]
        safe[name] = pd.Series(cells, safe.index, dtype=object)
    return safe.to_csv(index=False)


def name_from_csv(cell: str) -> str:
    """Reverse `name_to_csv`."""
    first, *others = _BREAKS.split(cell)
    parts = [part[_is_quoted(part) :] for part in others]
    return "".join([first.removeprefix("'"), *parts])


def _is_quoted(part: str) -> bool:
    return part.startswith("'") and part[1:].lstrip().startswith(_STARTS)
