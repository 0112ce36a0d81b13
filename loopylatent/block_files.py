"""Which files make a long table, and what they say of themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from loopylatent.block_parquet import ParquetPart, read_footer
from loopylatent.block_text import TextHeader, TextPart, read_header
from loopylatent.errors import DataError, listed, quoted
from loopylatent.headers import check_names
from loopylatent.limits import LIMITS

FilePath = str | os.PathLike[str]
Part = ParquetPart | TextPart


def find_files(source: FilePath | Sequence[FilePath]) -> list[Path]:
    """Return the files of a path, of several, or of folders, in the order of their names."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
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
            mark = stream.read(4)
    except OSError as error:
        shown = quoted(str(path))
        raise DataError(f"{shown} cannot be opened: {error.strerror}; check the path.") from None
    if mark == b"PAR1":
        return read_footer(path)
    if mark in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise DataError(
            f"{quoted(path.name)}: workbooks cannot be read in blocks; save it as CSV or Parquet."
        )
    return read_header(path, delimiter)


def common_names(heads: Sequence[Part | TextHeader]) -> tuple[str, ...]:
    """Return the names of the columns, which all files have."""
    names = _names_of(heads[0])
    for head in heads[1:]:
        different = sorted(set(names) ^ set(_names_of(head)))
        if different:
            raise DataError(
                f"{quoted(Path(path_of(head)).name)} has other columns than "
                f"{quoted(Path(path_of(heads[0])).name)}: they differ in {listed(different)}."
            )
    if len(names) > LIMITS.columns:
        raise DataError(f"{len(names):,} columns are too many; keep at most {LIMITS.columns:,}.")
    check_names([name for name in names if name])
    return names


def _names_of(head: Part | TextHeader) -> tuple[str, ...]:
    return head.header.names if isinstance(head, TextPart) else head.names


def path_of(head: Part | TextHeader) -> str:
    """Return the path of a file."""
    return head.header.path if isinstance(head, TextPart) else head.path
