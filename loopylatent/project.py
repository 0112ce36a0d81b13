"""A project in one file: the recipe, the data, the names of hidden nodes, what the eye was on.

The file is a zip archive with ``project.json`` and, for an upload, its bytes as they came, so that
reading them again by the same recipe gives the same table. Whatever is opened may be damaged,
foreign or hostile: sizes are checked before anything is unpacked and every value before it is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loopylatent._version import __version__
from loopylatent.errors import DataError, LoopyLatentError, listed, quoted
from loopylatent.export import write_atomically
from loopylatent.matching import NamedNode
from loopylatent.recipe import Recipe, check_encodable, digest_of
from loopylatent.tables import MAX_BYTES

Preference = str | int | float | bool | None

VERSION = 1
"""Of the file format: raised where an older program could not read a newer file."""
FORMAT = "loopylatent project"
ENDING = ".loopylatent"
MAX_DESCRIPTION = 64 * 2**20
"""Bytes of ``project.json``, unpacked."""
MAX_DIRECTORY = 1_000
"""Bytes of the list of members at the end of the archive; two of them take about 110."""
MAX_PREFERENCES = 200
MAX_TEXT = 10_000
"""Characters of a title, and of a preference or its name."""
LARGEST_WHOLE = 2**53

_DESCRIPTION, _DATA = "project.json", "data"
_DIRECTORY_END = b"PK\x05\x06"
_DIRECTORY_END_SIZE = 22
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From a version to the next: what turns the description of the one into that of the other."""
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "format": str,
    "version": int,
    "written_by": str,
    "title": str,
    "recipe": dict,
    "data": (dict, type(None)),
    "names": list,
    "view": dict,
}
_DATA_KEYS: Mapping[str, type] = {"bytes": int, "sha256": str}
_NAME_KEYS: Mapping[str, type] = {"name": str, "columns": list, "profile": list}
_DAMAGED = "it is damaged or cut off; save it again, or take another copy"


@dataclass(frozen=True, eq=False)
class Project:
    """What a project file holds.

    Parameters
    ----------
    recipe : Recipe
    data : bytes or None
        The uploaded file, as it came; its name is ``recipe.source``. None for bundled samples,
        and where only the digest of the data is kept.
    names : tuple of NamedNode
        Names of hidden nodes.
    view : mapping from str to str, int, float, bool or None
        Preferences, such as what colours mean.
    title : str
    version : int
        Of the file format.
    written_by : str
        The version of loopylatent that wrote the file.

    Examples
    --------
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> project = Project(recipe, title="Traits", view={"colour": "groups"})
    >>> open_project(save_project(project)).view["colour"]
    'groups'
    """

    recipe: Recipe
    data: bytes | None = field(default=None, repr=False)
    names: tuple[NamedNode, ...] = ()
    view: Mapping[str, Preference] = field(default_factory=dict)
    title: str = ""
    version: int = VERSION
    written_by: str = __version__

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise DataError(f"a project has version {VERSION} and not {self.version!r}.")
        for what in ("title", "written_by"):
            _check_text(what, getattr(self, what))
        for named in self.names:
            for text in (named.name, *named.columns):
                check_encodable("the name", text)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "view", _checked_view(self.view))
        self._check_data()

    def _check_data(self) -> None:
        if self.data is None:
            return
        if self.recipe.source_kind == "sample":
            raise DataError("a bundled sample brings its own data; leave the data out.")
        if self.recipe.data_digest != digest_of(self.data):
            raise DataError(
                f"the data is not the file {quoted(self.recipe.source)} of the recipe: "
                "its digest is another one."
            )


# Writing -----------------------------------------------------------------------------------


def save_project(project: Project) -> bytes:
    """Return the content of a project file; the same project gives the same bytes.

    Examples
    --------
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> save_project(Project(recipe)) == save_project(Project(recipe))
    True
    """
    text = json.dumps(_described(project), allow_nan=False, indent=1)
    members = {_DESCRIPTION: text.encode("ascii")}
    _check_size("description", len(members[_DESCRIPTION]), MAX_DESCRIPTION)
    if project.data is not None:
        _check_size("data", len(project.data), MAX_BYTES)
        members[_DATA] = project.data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)  # dated 1980: the time of saving is not content
            entry.create_system = 3  # the same everywhere
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_project(project: Project, path: str | os.PathLike[str]) -> Path:
    """Write a project file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_project(Project(recipe), Path(folder) / f"traits{ENDING}")
    ...     open_project(file).recipe == recipe
    True
    """
    return write_atomically(path, save_project(project))


def _described(project: Project) -> dict[str, Any]:
    data = project.data
    return {
        "format": FORMAT,
        "version": project.version,
        "written_by": project.written_by,
        "title": project.title,
        "recipe": project.recipe.to_dict(),
        "data": None if data is None else {"bytes": len(data), "sha256": _sha256(data)},
        "names": [
            {"name": one.name, "columns": list(one.columns), "profile": one.profile.tolist()}
            for one in project.names
        ],
        "view": dict(project.view),
    }


# Opening -----------------------------------------------------------------------------------


def open_project(source: str | os.PathLike[str] | bytes, *, max_bytes: int = MAX_BYTES) -> Project:
    """Read and check a project file.

    Parameters
    ----------
    source : path or bytes
    max_bytes : int
        Projects with larger data are refused.

    Raises
    ------
    DataError
        One line that says what is wrong with the file.

    Examples
    --------
    >>> open_project(b"PK and then nothing")
    Traceback (most recent call last):
    loopylatent.errors.DataError: the project cannot be opened: it is not a project file; give a \
file whose name ends in .loopylatent.
    """
    shown = "the project" if isinstance(source, bytes) else quoted(os.fspath(source))
    try:
        members = _unpacked(_content(source, max_bytes), max_bytes)
        return _project(_parsed(members[_DESCRIPTION]), members.get(_DATA))
    except LoopyLatentError as error:
        raise DataError(f"{shown} cannot be opened: {str(error).rstrip('.')}.") from None


def _content(source: str | os.PathLike[str] | bytes, max_bytes: int) -> bytes:
    most = max_bytes + MAX_DESCRIPTION
    if isinstance(source, bytes):
        content = source
    else:
        try:
            with Path(source).open("rb") as stream:
                content = stream.read(most + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no file can have this name"
            raise DataError(f"{reason}; check the path") from None
    _check_size("file", len(content), most)
    return content


def _unpacked(content: bytes, max_bytes: int) -> dict[str, bytes]:
    """Return the members, by name, after their number, names and sizes were checked."""
    if not content.startswith(b"PK\x03\x04"):
        raise DataError(f"it is not a project file; give a file whose name ends in {ENDING}")
    _check_directory(content)
    limits = {_DESCRIPTION: MAX_DESCRIPTION, _DATA: max_bytes}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive.infolist(), limits)
            return {name: archive.read(name) for name in limits if name in archive.namelist()}
    except LoopyLatentError:
        raise
    except Exception:  # whatever a damaged archive makes the reader raise
        raise DataError(_DAMAGED) from None


def _check_directory(content: bytes) -> None:
    """Read how many members there are, so that an archive of millions is not looked through."""
    end = content[-_DIRECTORY_END_SIZE:]
    if not end.startswith(_DIRECTORY_END):
        raise DataError(_DAMAGED)
    n_members, n_bytes = struct.unpack("<HI", end[10:16])
    if n_members > 2 or n_bytes > MAX_DIRECTORY:
        raise DataError("it is a zip archive of other files and not a project")


def _check_members(members: list[zipfile.ZipInfo], limits: Mapping[str, int]) -> None:
    names = [member.filename for member in members]
    strange = [name for name in names if name not in limits]
    if strange:
        raise DataError(f"it holds {listed(strange)}, which no project has")
    if _DESCRIPTION not in names:
        raise DataError(f"it holds no {_DESCRIPTION}, so it is not a project")
    if len(set(names)) < len(names):
        raise DataError("it holds one file twice, which no project does")
    for member in members:
        shown = "description" if member.filename == _DESCRIPTION else "data"
        _check_size(shown, member.file_size, limits[member.filename])
        if member.flag_bits & 1 or member.compress_type not in _PACKINGS:
            raise DataError("it is encrypted or packed in a way that no project is")


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise DataError(
            f"the {what} takes {size / 2**20:,.0f} MB; at most {most / 2**20:,.0f} are allowed."
        )


def _parsed(content: bytes) -> dict[str, Any]:
    """Read the description as JSON of the present version, whatever it was written in."""
    try:
        values = json.loads(
            content.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise DataError(f"its {_DESCRIPTION} is no valid JSON; save it again") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"its {_DESCRIPTION} does not describe a project")
    version = values.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError("its version is not a whole number from 1 on")
    if version > VERSION:
        writer = quoted(str(values.get("written_by")))
        raise DataError(
            f"it has project version {version}, written by loopylatent {writer}, and this "
            f"loopylatent {__version__} reads up to version {VERSION}; install a newer one"
        )
    current: dict[str, Any] = values
    for older in range(version, VERSION):
        current = _MIGRATIONS[older](current)
    return current


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key is given twice")
    return values


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _project(values: dict[str, Any], data: bytes | None) -> Project:
    _check_entries("its description", values, _KEYS)
    _check_bytes(values["data"], data)
    return Project(
        Recipe.from_dict(values["recipe"]),
        data,
        tuple(_named_node(one) for one in values["names"]),
        values["view"],
        values["title"],
        values["version"],
        values["written_by"],
    )


def _check_bytes(described: dict[str, Any] | None, data: bytes | None) -> None:
    if (described is None) != (data is None):
        missing = "its data is missing" if data is None else "it holds data that it does not name"
        raise DataError(f"{missing}; save it again")
    if described is None or data is None:
        return
    _check_entries("its data", described, _DATA_KEYS)
    if described != {"bytes": len(data), "sha256": _sha256(data)}:
        raise DataError("its data has been changed since it was saved: the digest is another one")


def _named_node(values: Any) -> NamedNode:
    _check_entries("a name in it", values, _NAME_KEYS)
    columns, profile = values["columns"], values["profile"]
    if not all(isinstance(column, str) for column in columns):
        raise DataError("a column of a name is not text; save it again")
    if not all(_is_number(value) for value in profile):
        raise DataError("a profile of a name holds something else than numbers; save it again")
    return NamedNode(values["name"], tuple(columns), profile)


def _check_entries(what: str, values: Any, wanted: Mapping[str, type | tuple[type, ...]]) -> None:
    """Refuse entries that are unknown, missing or of the wrong type."""
    if not isinstance(values, dict):
        raise DataError(f"{what} is not a set of named values")
    unknown = [name for name in values if name not in wanted]
    if unknown:
        raise DataError(f"{what} has the unknown entry {listed(unknown, 3)}")
    missing = [name for name in wanted if name not in values]
    if missing:
        raise DataError(f"{what} lacks the entry {listed(missing, 3)}")
    for name, kinds in wanted.items():
        if not isinstance(values[name], kinds) or isinstance(values[name], bool):
            raise DataError(f"the entry {name!r} of {what} has the wrong type")


# Checks ------------------------------------------------------------------------------------


def _check_text(what: str, text: Any) -> None:
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise DataError(f"the {what} must be text of at most {MAX_TEXT} characters.")
    check_encodable(f"the {what}", text)


def _checked_view(view: Any) -> Mapping[str, Preference]:
    if not isinstance(view, Mapping) or len(view) > MAX_PREFERENCES:
        raise DataError(f"the view must be at most {MAX_PREFERENCES} named preferences.")
    for name, value in view.items():
        _check_text("name of a preference", name)
        if isinstance(value, str):
            _check_text(f"preference {quoted(name)}", value)
        elif not (value is None or isinstance(value, bool) or _is_number(value)):
            raise DataError(
                f"the preference {quoted(name)} must be text, a finite number, true, false or none."
            )
    return MappingProxyType({name: view[name] for name in sorted(view)})


def _is_number(value: Any) -> bool:
    """Whether this is a finite number of a moderate size, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST_WHOLE


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
