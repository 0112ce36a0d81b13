"""The zip archive of a project file: a few members of known names, checked before unpacking."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping

from loopylatent.errors import DataError, LoopyLatentError, listed

ENDING = ".loopylatent"
DAMAGED = "it is damaged or cut off; save it again, or take another copy"
MAX_DIRECTORY = 1_000
"""Bytes of the list of members at the end of the archive; each of them takes about 60."""

_DIRECTORY_END = b"PK\x05\x06"
_DIRECTORY_END_SIZE = 22
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def packed(members: Mapping[str, bytes]) -> bytes:
    """Return the archive of some members; the same members give the same bytes.

    Examples
    --------
    >>> unpacked(packed({"a": b"1"}), {"a": 10}, "a", 10)
    {'a': b'1'}
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)  # dated 1980: the time of saving is not content
            entry.create_system = 3  # the same everywhere
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def unpacked(content: bytes, limits: Mapping[str, int], needed: str, most: int) -> dict[str, bytes]:
    """Return the members, by name, after their number, names and sizes were checked.

    ``limits`` holds every name that may occur, with the most bytes that it may take; ``most`` are
    the bytes that all of them may take.
    """
    if not content.startswith(b"PK\x03\x04"):
        raise DataError(f"it is not a project file; give a file whose name ends in {ENDING}")
    _check_directory(content, len(limits))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive.infolist(), limits, needed)
            check_size("content", sum(one.file_size for one in archive.infolist()), most)
            return {name: archive.read(name) for name in limits if name in archive.namelist()}
    except LoopyLatentError:
        raise
    except Exception:  # whatever a damaged archive makes the reader raise
        raise DataError(DAMAGED) from None


def check_size(what: str, size: int, most: int) -> None:
    """Refuse what is too large."""
    if size > most:
        raise DataError(
            f"the {what} takes {size / 2**20:,.0f} MB; at most {most / 2**20:,.0f} are allowed."
        )


def _check_directory(content: bytes, most: int) -> None:
    """Read how many members there are, so that an archive of millions is not looked through."""
    end = content[-_DIRECTORY_END_SIZE:]
    if not end.startswith(_DIRECTORY_END):
        raise DataError(DAMAGED)
    n_members, n_bytes = struct.unpack("<HI", end[10:16])
    if n_members > most or n_bytes > MAX_DIRECTORY:
        raise DataError("it is a zip archive of other files and not a project")


def _check_members(members: list[zipfile.ZipInfo], limits: Mapping[str, int], needed: str) -> None:
    names = [member.filename for member in members]
    strange = [name for name in names if name not in limits]
    if strange:
        raise DataError(f"it holds {listed(strange)}, which no project has")
    if needed not in names:
        raise DataError(f"it holds no {needed}, so it is not a project")
    if len(set(names)) < len(names):
        raise DataError("it holds one file twice, which no project does")
    for member in members:
        shown = member.filename.removesuffix(".json").rstrip("0123456789")
        check_size(_SHOWN.get(shown, shown), member.file_size, limits[member.filename])
        if member.flag_bits & 1 or member.compress_type not in _PACKINGS:
            raise DataError("it is encrypted or packed in a way that no project is")


_SHOWN = {"project": "description"}
