"""Which files make a long table, and what they say of themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from loopylatent.compute.limits import LIMITS
from loopylatent.errors import DataError, listed, quoted
from loopylatent.tables.files import check_no_address
from loopylatent.tables.headers import check_header, check_names
from loopylatent.tables.parquet import HEAD_BYTES, ParquetPart, is_parquet, read_footer
from loopylatent.tables.text import TextHeader, TextPart, read_header

FilePath = str | os.PathLike[str]
Part = ParquetPart | TextPart


def find_files(source: FilePath | Sequence[FilePath]) -> list[Path]:
    """Return the files of a path, of several, or of folders, in the order of their names."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    for one in given:
        check_no_address(one)
    try:
        found = [path for one in given for path in _files(Path(one).absolute())]
    except OSError as error:
        shown = quoted(str(error.filename or given[0]))
        raise DataError(f"{shown} cannot be opened: {error.strerror}; check the path.") from None
    if not found:
        raise DataError("no files are given; give at least one path.")
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir() and path.exists():
        raise DataError(f"{quoted(str(path))} is a pipe or a device; give a file.")
    if not path.is_dir():
        raise DataError(f"there is no file {quoted(str(path))}; check the path.")
    inside = [
        one
        for one in sorted(path.iterdir())
        if one.is_file() and not one.name.startswith((".", "_"))
    ]
    if not inside:
        raise DataError(f"folder {quoted(str(path))} holds no files; give one with a table in it.")
    yield from inside


def read_head(path: Path, delimiter: str | None) -> Part | TextHeader:
    """Return what the beginning or the end of a file says of it."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError as error:
        shown = quoted(str(path))
        raise DataError(f"{shown} cannot be opened: {error.strerror}; check the path.") from None
    if is_parquet(head):
        return read_footer(path)
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise DataError(
            f"{quoted(path.name)}: workbooks and archives cannot be read in blocks; "
            "save the table as CSV or Parquet."
        )
    return read_header(path, delimiter)


def common_names(heads: Sequence[Part | TextHeader]) -> tuple[str, ...]:
    """Return the names of the columns, which all files have."""
    names = _names_of(heads[0])
    if len(names) > LIMITS.columns:
        raise DataError(f"{len(names):,} columns are too many; keep at most {LIMITS.columns:,}.")
    _check_own(heads[0])
    for head in heads[1:]:
        others, shown = _names_of(head), quoted(Path(path_of(head)).name)
        different = sorted((set(names) ^ set(others)) - {""})
        if different:
            raise DataError(
                f"{shown} has other columns than {quoted(Path(path_of(heads[0])).name)}: "
                f"they differ in {listed(different)}."
            )
        try:
            _check_own(head)
        except DataError as error:
            raise DataError(f"{shown}: ", str(error)) from None
        if others.count("") != names.count(""):
            raise DataError(
                f"{shown} has {others.count('')} columns without a name, "
                f"{quoted(Path(path_of(heads[0])).name)} has {names.count('')}; "
                "remove them, or give them names."
            )
    return names


def _check_own(head: Part | TextHeader) -> None:
    """Check the names of one file; in text a column without a name may be empty and then passes."""
    is_text = isinstance(head, TextHeader)
    if is_text:
        check_header(_names_of(head))
    check_names([name for name in _names_of(head) if name or not is_text])


def _names_of(head: Part | TextHeader) -> tuple[str, ...]:
    return head.header.names if isinstance(head, TextPart) else head.names


def stamps(parts: Sequence[Part | TextHeader]) -> list[list[int]]:
    """Return size and time of each file: what tells that it is the same as before."""
    try:
        found = [Path(path_of(part)).stat() for part in parts]
    except OSError as error:
        shown = quoted(Path(error.filename).name)
        raise DataError(f"{shown}: the file is gone; put it back, or scan again.") from None
    return [[one.st_size, one.st_mtime_ns] for one in found]


def path_of(head: Part | TextHeader) -> str:
    """Return the path of a file."""
    return head.header.path if isinstance(head, TextPart) else head.path
