"""A project in one file: the recipe, the data, names, pins, results, and what the eye was on.

The file is a zip archive with ``project.json``, for an upload its bytes as they came, so that
reading them again by the same recipe gives the same table, and ``results.json``. Whatever is opened
may be damaged, foreign or hostile: number, names and sizes of the members are checked before
anything is unpacked, and every value before it is used.
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

import msgspec
import numpy as np

from loopylatent.analysis.matching import NamedNode
from loopylatent.compute.files import write_atomically
from loopylatent.errors import DataError, LoopyLatentError, listed, quoted
from loopylatent.exporting.project.recipe import Recipe, check_encodable, digest_of
from loopylatent.exporting.project.results import Results, encoded, in_short, read_results
from loopylatent.settings import __version__
from loopylatent.tables.files import MAX_BYTES

Plain = str | int | float | bool | None
Preference = Plain | tuple[Plain, ...]

VERSION = 3
"""Of the file format: raised where an older program could not read a newer file."""
FORMAT = "loopylatent project"
MAX_DESCRIPTION = MAX_RESULTS = 64 * 2**20
"""Bytes of ``project.json`` and of ``results.json``, unpacked."""
MAX_VALUES = 8_000_000
"""Numbers, texts and lists in one file of JSON."""
MAX_PREFERENCES = 200
MAX_LISTED = 100
"""Values of a preference that is a list."""
MAX_TEXT = 10_000
"""Characters of a title, and of a preference or its name."""
MOST_PINS = 8
LONGEST_PIN_NAME = 40

_DESCRIPTION, _DATA, _RESULTS = "project.json", "data", "results.json"
_PINNED_DATA = tuple(f"data{k}" for k in range(1, MOST_PINS + 1))


_MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: lambda values: (  # which had neither pins nor results
        values | {"version": 2, "pins": [], "pinned_data": [], "groups": {}, "results": None}
    ),
    2: lambda values: values | {"version": 3},  # its results repeat the names of columns
}
"""From a version to the next: what turns the description of the one into that of the other."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A setting that is kept to be compared, with a name."""

    name: str
    recipe: Recipe


@dataclass(frozen=True, eq=False, repr=False)
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
    view : mapping from str to str, int, float, bool, None or a tuple of these
        Preferences, such as what colours mean.
    title : str
    version : int
        Of the file format.
    written_by : str
        The version of loopylatent that wrote the file.
    pins : tuple of Pin
        Settings that are kept to be compared.
    pinned_data : tuple of bytes
        Uploaded files that pins are of, beside ``data``.
    groups : mapping from str to str
        A grouping of the columns that was brought along.
    results : Results or None
        What was computed.

    Examples
    --------
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> project = Project(recipe, title="Traits", view={"colour": "groups"})
    >>> open_project(save_project(project)).view["colour"]
    'groups'
    >>> project
    Project('Traits', 'sample:bfi25', 0 names, 0 pins, without results)
    """

    recipe: Recipe
    data: bytes | None = None
    names: tuple[NamedNode, ...] = ()
    view: Mapping[str, Preference] = field(default_factory=dict)
    title: str = ""
    version: int = VERSION
    written_by: str = __version__
    pins: tuple[Pin, ...] = ()
    pinned_data: tuple[bytes, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    results: Results | None = None

    def __repr__(self) -> str:
        held = "without" if self.results is None else "with"
        return (
            f"Project({quoted(self.title)}, {quoted(self.recipe.source)}, {len(self.names)} names, "
            f"{len(self.pins)} pins, {held} results)"
        )

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
        object.__setattr__(self, "groups", _checked_groups(self.groups))
        if self.data is not None and self.recipe.source_kind == "sample":
            raise DataError("a bundled sample brings its own data; leave the data out.")
        if self.data is not None and self.recipe.data_digest != digest_of(self.data):
            raise DataError(
                f"the data is not the file {quoted(self.recipe.source)} of the recipe: "
                "its digest is another one."
            )
        self._check_pins()

    def _check_pins(self) -> None:
        names = [pin.name for pin in self.pins]
        if len(names) > MOST_PINS or len(set(names)) < len(names):
            raise DataError(f"pins are at most {MOST_PINS}, each with a name of its own.")
        for name in names:
            _check_text("name of a pin", name)
            if not name.strip() or len(name) > LONGEST_PIN_NAME:
                raise DataError(f"a pin has a name of 1 to {LONGEST_PIN_NAME} characters.")
        wanted = {pin.recipe.data_digest for pin in self.pins} - {self.recipe.data_digest, None}
        found = [digest_of(content) for content in self.pinned_data]
        if len(set(found)) < len(found) or not set(found) <= wanted:
            raise DataError("the pinned data is not what the pins are of: a digest is another one.")


def _check_text(what: str, text: Any) -> None:
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise DataError(f"the {what} must be text of at most {MAX_TEXT} characters.")
    check_encodable(f"the {what}", text)


def _checked_view(view: Any) -> Mapping[str, Preference]:
    """Return preferences in the order of their names, after checking each."""
    if not isinstance(view, Mapping) or len(view) > MAX_PREFERENCES:
        raise DataError(f"the view must be at most {MAX_PREFERENCES} named preferences.")
    for name, value in view.items():
        _check_text("name of a preference", name)
        if isinstance(value, tuple) and len(value) > MAX_LISTED:
            raise DataError(f"the preference {quoted(name)} lists more than {MAX_LISTED} values.")
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                _check_text(f"preference {quoted(name)}", one)
            elif one is not None and not _is_finite(one):
                raise DataError(
                    f"the preference {quoted(name)} must be text, a finite number, true, false "
                    "or none."
                )
    return MappingProxyType({name: view[name] for name in sorted(view)})


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) <= 2**53


def _checked_groups(groups: Any) -> Mapping[str, str]:
    if not isinstance(groups, Mapping):
        raise DataError("the groups must be columns, each with the name of its group.")
    for text in (*groups, *groups.values()):
        _check_text("name of a column or group", text)
    return MappingProxyType(dict(groups))


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise DataError(
            f"the {what} takes {size / 2**20:,.0f} MB; at most {most / 2**20:,.0f} are allowed."
        )


def _check_json(what: str, content: bytes, most: int) -> None:
    """Refuse what is too large, or so full of values that reading it would fill the memory."""
    _check_size(what, len(content), most)
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise DataError(f"the {what} holds more values than a project can have")


# Writing -----------------------------------------------------------------------------------


def save_project(project: Project) -> bytes:
    """Return the content of a project file; the same project gives the same bytes."""
    data = () if project.data is None else (project.data,)
    _check_size("data", sum(map(len, (*data, *project.pinned_data))), MAX_BYTES)
    results = None if project.results is None else encoded(project.results)
    described = _described(project, results)
    _check_json("description", described, MAX_DESCRIPTION)
    _check_json("results", results or b"", MAX_RESULTS)
    pinned = dict(zip(_PINNED_DATA, project.pinned_data, strict=False))
    members = {_DESCRIPTION: described, _DATA: project.data, **pinned, _RESULTS: results}
    return _packed({name: one for name, one in members.items() if one is not None})


def write_project(project: Project, path: str | os.PathLike[str]) -> Path:
    """Write a project file, whole or not at all.

    Parameters
    ----------
    project : Project
    path : path

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_project(Project(recipe), Path(folder) / "traits.loopylatent")
    ...     open_project(file).recipe == recipe
    True
    """
    return write_atomically(path, save_project(project))


class _Fingerprint(msgspec.Struct, forbid_unknown_fields=True):
    bytes: int
    sha256: str


class _Name(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    columns: tuple[str, ...]
    profile: list[float]


class _Pin(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    recipe: dict[str, Any]


class _Description(msgspec.Struct, forbid_unknown_fields=True):
    """What ``project.json`` holds."""

    format: str
    version: int
    written_by: str
    title: str
    recipe: dict[str, Any]
    data: _Fingerprint | None
    names: list[_Name]
    view: dict[str, Any]
    pins: list[_Pin]
    pinned_data: list[_Fingerprint | None]
    groups: dict[str, str]
    results: _Fingerprint | None


def _described(project: Project, results: bytes | None) -> bytes:
    described = _Description(
        FORMAT,
        project.version,
        project.written_by,
        project.title,
        project.recipe.to_dict(),
        _fingerprint(project.data),
        [_Name(one.name, one.columns, one.profile.tolist()) for one in project.names],
        dict(project.view),
        [_Pin(pin.name, pin.recipe.to_dict()) for pin in project.pins],
        [_fingerprint(content) for content in project.pinned_data],
        dict(project.groups),
        _fingerprint(results),
    )
    plain = msgspec.to_builtins(described)
    return json.dumps(plain, allow_nan=False, indent=1).encode("ascii")


def _fingerprint(content: bytes | None) -> _Fingerprint | None:
    if content is None:
        return None
    return _Fingerprint(len(content), hashlib.sha256(content).hexdigest())


# Opening -----------------------------------------------------------------------------------


def open_project(source: str | os.PathLike[str] | bytes, *, max_bytes: int = MAX_BYTES) -> Project:
    """Read and check a project file.

    Parameters
    ----------
    source : path or bytes
    max_bytes : int
        Projects with larger data are refused.

    Returns
    -------
    Project

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
        content = _content(source, max_bytes + MAX_DESCRIPTION + MAX_RESULTS)
        return _project(_unpacked(content, max_bytes))
    except LoopyLatentError as error:
        raise DataError(f"{shown} cannot be opened: {str(error).rstrip('.')}.") from None


def _content(source: str | os.PathLike[str] | bytes, most: int) -> bytes:
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


def _description(content: bytes) -> _Description:
    """Read the description and bring it to the present version, whatever it was written in."""
    _check_json("description", content, MAX_DESCRIPTION)
    try:
        values = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        raise DataError("its description is no valid JSON; save it again") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"its {_DESCRIPTION} does not describe a project")
    version = values.get("version")
    if type(version) is not int or version < 1:
        raise DataError("its version is not a whole number from 1 on")
    if version > VERSION:
        writer = quoted(str(values.get("written_by")))
        raise DataError(
            f"it has project version {version}, written by loopylatent {writer}, and this "
            f"loopylatent {__version__} reads up to version {VERSION}; install a newer one"
        )
    for older in range(version, VERSION):
        values = _MIGRATIONS[older](values)
    try:
        return msgspec.convert(values, _Description)
    except msgspec.ValidationError as error:
        raise DataError(f"its description does not fit: {in_short(error)}") from None


def _project(members: Mapping[str, bytes]) -> Project:
    values = _description(members[_DESCRIPTION])
    pinned_data = [members[name] for name in _PINNED_DATA if name in members]
    _check_fingerprint("data", values.data, members.get(_DATA))
    _check_fingerprint("results", values.results, members.get(_RESULTS))
    if values.pinned_data != [_fingerprint(content) for content in pinned_data]:
        raise DataError("the data of its pins has been changed since it was saved")
    results = members.get(_RESULTS)
    if results is not None:
        _check_json("results", results, MAX_RESULTS)
    return Project(
        Recipe.from_dict(values.recipe),
        members.get(_DATA),
        tuple(NamedNode(one.name, one.columns, np.array(one.profile)) for one in values.names),
        {name: tuple(v) if isinstance(v, list) else v for name, v in values.view.items()},
        values.title,
        values.version,
        values.written_by,
        tuple(Pin(one.name, Recipe.from_dict(one.recipe)) for one in values.pins),
        tuple(pinned_data),
        values.groups,
        None if results is None else read_results(results),
    )


def _check_fingerprint(what: str, described: _Fingerprint | None, content: bytes | None) -> None:
    if (described is None) != (content is None):
        missing = f"its {what} is missing" if content is None else f"it holds unnamed {what}"
        raise DataError(f"{missing}; save it again")
    if described != _fingerprint(content):
        raise DataError(
            f"its {what} has been changed since it was saved: the digest is another one"
        )


# The archive -------------------------------------------------------------------------------

ENDING = ".loopylatent"
DAMAGED = "it is damaged or cut off; save it again, or take another copy"
MAX_DIRECTORY = 1_000
"""Bytes of the list of members at the end of the archive; each of them takes about 60."""


def _packed(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)  # dated 1980: the time of saving is not content
            entry.create_system = 3  # the same everywhere
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _unpacked(content: bytes, max_bytes: int) -> dict[str, bytes]:
    """Return the members, by name, after their number, names and sizes were checked."""
    limits = {_DESCRIPTION: MAX_DESCRIPTION, _RESULTS: MAX_RESULTS}
    limits |= dict.fromkeys((_DATA, *_PINNED_DATA), max_bytes)
    if not content.startswith(b"PK\x03\x04"):
        raise DataError(f"it is not a project file; give a file whose name ends in {ENDING}")
    end = content[-22:]  # it says how many members there are: millions are not looked through
    if not end.startswith(b"PK\x05\x06"):
        raise DataError(DAMAGED)
    n_members, n_bytes = struct.unpack("<HI", end[10:16])
    if n_members > len(limits) or n_bytes > MAX_DIRECTORY:
        raise DataError("it is a zip archive of other files and not a project")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive.infolist(), limits)
            total = sum(one.file_size for one in archive.infolist())
            _check_size("content", total, max_bytes + MAX_DESCRIPTION + MAX_RESULTS)
            return {name: archive.read(name) for name in archive.namelist()}
    except LoopyLatentError:
        raise
    except Exception:  # whatever a damaged archive makes the reader raise
        raise DataError(DAMAGED) from None


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
        shown = {_DESCRIPTION: "description", _RESULTS: "results"}.get(member.filename, "data")
        _check_size(shown, member.file_size, limits[member.filename])
        if member.flag_bits & 1 or member.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise DataError("it is encrypted or packed in a way that no project is")
