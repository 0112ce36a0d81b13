"""What a file is, its bytes read within limits, names of columns, and cells for other programs."""

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
"""The largest table that is read, counted after decompression."""
LARGEST_GROWTH = 200
"""Times its packed size that a file may take unpacked; tables to learn from take 3 to 100."""
SMALL = 16 * 2**20
"""Bytes up to which growth does not matter."""

GZIP_DAMAGED = "the gzip file is damaged; compress the table again."
FIRST_BYTES = 64
"""That tell what a file is."""
SPARSE_ENDINGS = (".mtx", ".mtx.gz", ".npz")
"""Of the names of files that hold a sparse matrix."""

_PIECE = 1 << 20
"""Bytes that are unpacked at once."""
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
        """Refuse what unpacks to far more than a table could."""
        if unpacked > max(SMALL, LARGEST_GROWTH * packed):
            raise self.error(
                f"it unpacks to more than {LARGEST_GROWTH} times its size, as no table does; "
                "unpack it yourself and give what is in it."
            )

    def check_members(self, members: Sequence[zipfile.ZipInfo], max_bytes: int) -> None:
        """Refuse an archive by the sizes that it declares; no member gives more than that."""
        unpacked = sum(member.file_size for member in members)
        self.check_size(unpacked, max_bytes)
        self.check_growth(len(self.content), unpacked)


@dataclass(frozen=True, slots=True)
class Part:
    """A file of which some rows are read at a time."""

    path: str
    names: tuple[str, ...] = field(repr=False)
    """Of its columns."""

    @property
    def shown(self) -> str:
        return quoted(Path(self.path).name)

    def error(self, problem: str) -> DataError:
        return DataError(f"{self.shown}: ", problem)


def opened(source: Source, name: str | None = None, max_bytes: int = MAX_BYTES) -> File:
    """Read a source, unpacked where it is gzipped; refuse one that is too large."""
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
        raise DataError(f"{quoted(source)} is a web address; download the file and give its path.")


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
        raise DataError(f"{quoted(str(source))} is a folder; give the path of one file.")
    raise _no_file(str(source), "write its content to a file, give that" if is_there else None)


def not_opened(source: object, error: Exception) -> DataError:
    """Return the error of a path that the system refuses."""
    reason = getattr(error, "strerror", None) or "it is no path"
    return DataError(f"{quoted(str(source))} cannot be opened: {reason}; check the path.")


def _no_file(path: str, remedy: str | None) -> DataError:
    """The error of a path where there is no file or, with a ``remedy``, something else."""
    if remedy is None:
        return DataError(f"there is no file {quoted(path)}; check the path.")
    return DataError(f"{quoted(path)} is a pipe or a device; {remedy}.")


def find_files(source: FilePath | Sequence[FilePath]) -> list[Path]:
    """Return the files of a path, of several, or of folders, in the order of their names."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    for one in given:
        _check_no_address(one)
    try:
        found = [path for one in given for path in _files(Path(one).absolute())]
    except OSError as error:
        raise not_opened(error.filename or given[0], error) from None
    if not found:
        raise DataError("no files are given; give at least one path.")
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise _no_file(str(path), "give a file" if path.exists() else None)
    inside = [one for one in sorted(path.iterdir()) if one.is_file() and one.name[0] not in "._"]
    if not inside:
        raise DataError(f"folder {quoted(str(path))} holds no files; give one with a table in it.")
    return inside


def _unpacked(file: File, max_bytes: int) -> File:
    """Unpack a gzip file, looking at the size after each piece."""
    packed, unpacked = stream(file), bytearray()
    try:
        with gzip.GzipFile(fileobj=packed) as pieces:
            while piece := pieces.read(_PIECE):
                unpacked += piece
                file.check_size(len(unpacked), max_bytes)
                file.check_growth(packed.tell(), len(unpacked))
    except (OSError, EOFError, zlib.error):
        raise file.error(GZIP_DAMAGED) from None
    if unpacked.startswith(_GZIP):
        raise file.error("it is gzipped twice; unpack it once and give what is in it.")
    return File(file.name, bytes(unpacked))


def read_by(path: str, read: Callable[[], T], damaged: str) -> T:
    """Call what reads a file, and say in one line where that fails."""
    try:
        return read()
    except FileNotFoundError:
        damaged = "the file is gone, or not every worker sees it at this path."
    except MemoryError:  # Arrow's is an ArrowException too; the file is in order
        raise
    except (OSError, EOFError, zlib.error, pa.ArrowException):
        pass
    raise DataError(f"{quoted(Path(path).name)}: {damaged}")


def stream(file: File) -> io.BytesIO:
    """Return the content as an open file."""
    return io.BytesIO(file.content)


def is_parquet(head: bytes) -> bool:
    """Whether a file begins as Parquet does; a table may have a first column called PAR1."""
    return head.startswith(b"PAR1") and _NO_TEXT.search(head[:FIRST_BYTES]) is not None


def is_sparse_file(path: FilePath) -> bool:
    """Return whether the name of a file says that it holds a sparse matrix."""
    return os.fspath(path).lower().endswith(SPARSE_ENDINGS)


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that are empty, used twice or half a character."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"column {position} of {len(names)} has no name; give it one, "
                "or remove it if it only numbers the rows."
            )
        if len(name) > LIMITS.name_length:
            raise DataError(
                f"the name of column {position}, {quoted(name)}, has {len(name):,} characters; "
                f"give it at most {LIMITS.name_length:,}."
            )
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(
                f"the name of column {position} of {len(names)} holds half a character; "
                "give it another."
            ) from None
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise DataError(f"{count} columns are called {quoted(name)}; give each its own name.")


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the given one, after as many underscores as that needs."""
    while name in taken:
        name = "_" + name
    return name


def check_header(names: Sequence[str]) -> None:
    """Refuse a first row of numbers that cannot be names: one twice, or fractions at random."""
    given = [name for name in names if name]
    if len(given) < 2 or not all(map(_NUMBER.fullmatch, given)):
        return
    values = [float(name) for name in given]
    steps = {before < after for before, after in itertools.pairwise(values)}
    are_plain = all(name.isdigit() for name in given)
    if len(set(values)) == len(values) and (are_plain or len(steps) == 1):
        return
    raise DataError(
        f"the first row holds numbers ({quoted(given[0])[1:-1]}, {quoted(given[1])[1:-1]}, ...) "
        "and no names of columns; put a row with the names above it."
    )


def named(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Give the columns their names; one with neither a name nor a value is left out."""
    check_header(names)
    kept = [k for k, name in enumerate(names) if name or frame.iloc[:, k].notna().any()]
    check_names([names[k] for k in kept])
    used = frame if len(kept) == len(names) else frame.iloc[:, kept]
    return used.set_axis([names[k] for k in kept], axis="columns")


# Texts that others open ----------------------------------------------------------------------

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Replace what XML 1.0 cannot hold, so that it is seen and the file stays readable."""
    return _NOT_XML.sub("\ufffd", text)


_STARTS = tuple("=+-@＝＋－＠'")
_BREAKS = re.compile("([;\t\r\n])")
_OBEYED = re.compile("[\x7f-\x9f]")
"""Control characters that XML allows and that a terminal obeys, where CSV is often looked at."""


def name_to_csv(name: str) -> str:
    """Put a quote before what a spreadsheet would run, and before a quote, to tell them apart.

    Where the separator of lists is a semicolon, a spreadsheet that opens the file also breaks a
    name at semicolons, tabs and ends of lines; so what follows these is treated alike. Control
    characters other than these are written as U+FFFD.
    """
    text = _OBEYED.sub("\ufffd", xml_text(name))
    first, *others = _BREAKS.split(text)
    begins = first.lstrip().startswith(_STARTS) or text.lstrip(" ").startswith(("\t", "\r", "\n"))
    safe = [f"'{part}" if part.lstrip().startswith(_STARTS) else part for part in others]
    return "".join([f"'{first}" if begins else first, *safe])


def table_to_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV in which neither a name nor a text is a formula."""
    safe = frame.rename(columns=name_to_csv)
    for name in safe.columns[[not pd.api.types.is_numeric_dtype(one) for one in safe.dtypes]]:
        cells = [name_to_csv(cell) if isinstance(cell, str) else cell for cell in safe[name]]
        safe[name] = pd.Series(cells, safe.index, dtype=object)
    return safe.to_csv(index=False)


def name_from_csv(cell: str) -> str:
    """Return the name that an exported CSV cell stands for."""
    first, *others = _BREAKS.split(cell)
    parts = [part[_is_quoted(part) :] for part in others]
    return "".join([first.removeprefix("'"), *parts])


def _is_quoted(part: str) -> bool:
    return part.startswith("'") and part[1:].lstrip().startswith(_STARTS)
