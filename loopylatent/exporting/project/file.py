"""Recipe (everything that determines a graph) and project file (recipe, data, names, results).

Files can be damaged or malicious: sizes are checked before unpacking, and every value before use.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

import msgspec
import numpy as np
from msgspec import Meta

from loopylatent.analysis.matching import NamedNode
from loopylatent.compute.files import __version__, write_atomically
from loopylatent.distances.matrix import METRICS, Metric
from loopylatent.errors import DataError, LoopyLatentError, did_you_mean, listed, quoted
from loopylatent.exporting.project.results import Results, encoded, read_results, shortened
from loopylatent.settings import LearnSettings, Method, Order, Thresholds
from loopylatent.tables.files import MAX_BYTES
from loopylatent.tables.kinds import KINDS, Kind
from loopylatent.tables.samples import sample_names

SourceKind = Literal["sample", "table", "distances"]
Regularize = Literal["none", "bic"]

SAMPLE = "sample:"
LONGEST_FILE_NAME = 255
_FILE_NAME = re.compile(rf"(?!\.\.?\Z)[^/\0]{{1,{LONGEST_FILE_NAME}}}")
LARGEST_WHOLE = 2**63 - 1
SETTINGS = ("r", "Lambda", "tau", "method", "order", "seed")
READING = ("drop", "labels", "kinds", "weights")


def _choice(words: Sequence[str]) -> tuple[Any, str]:
    return Literal[*words], f"be one of {', '.join(words)}"


def _whole(least: int) -> tuple[Any, str]:
    kind = Annotated[int, Meta(ge=least, le=LARGEST_WHOLE)]
    return kind, f"be a whole number from {least} on"


_SOME_TEXT = (Annotated[str, Meta(pattern=r"\S")], "be some text")
_DIGEST = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
_NUMBER = Annotated[float, Meta(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
_FIELDS: Mapping[str, tuple[Any, str]] = {
    "source_kind": _choice(get_args(SourceKind)),
    "metric": _choice(METRICS),
    "method": _choice(get_args(Method)),
    "order": _choice(get_args(Order)),
    "regularize": _choice(get_args(Regularize)),
    "source": _SOME_TEXT,
    "weights": _SOME_TEXT,
    "n_samples": _whole(3),
    "seed": _whole(0),
    "drop_degenerate": (bool, "be true or false"),
    "data_digest": (_DIGEST, "be 16 hexadecimal digits"),
    **dict.fromkeys(("r", "Lambda", "tau"), (_NUMBER, "be a finite number")),
}
"""Type of each entry of a recipe, in code and in words. Entries with default None may be None."""
_UNUSED: Mapping[SourceKind, tuple[str, tuple[str, ...]]] = {
    "sample": ("a bundled sample", ("data_digest", *READING, "n_samples")),
    "table": ("a table", ("n_samples",)),
    "distances": ("precomputed distances", (*READING, "metric", "drop_degenerate", "regularize")),
}
"""Name of each type of source, and the entries that have no effect for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that determines a graph; the same recipe gives exactly the same graph.

    Parameters
    ----------
    source : str
        ``sample:NAME``, or the name of a file without its folder.
    source_kind : {"sample", "table", "distances"}
    r, Lambda, tau : float
    data_digest : str, optional
        `digest_of` the content of the file.
    drop, labels : tuple of str
        Dropped columns, and columns that only label rows; kept sorted.
    kinds : tuple of (column, kind), or a mapping
        Corrected column types; kept sorted.
    weights : str, optional
        Column with the weights of the rows.
    metric : str
    drop_degenerate : bool
        Whether constant and repeated columns are dropped.
    n_samples : int, optional
        Number of rows of precomputed distances.
    method, order, seed
        See `LearnSettings`.
    regularize : {"none", "bic"}
        Whether hidden nodes are penalised by BIC.

    Examples
    --------
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> recipe.settings.thresholds
    Thresholds(r=2.5, Lambda=0.0, tau=0.1)
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    source: str
    source_kind: SourceKind
    r: float
    Lambda: float
    tau: float
    data_digest: str | None = None
    drop: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    kinds: tuple[tuple[str, Kind], ...] = ()
    weights: str | None = None
    metric: Metric = "auto"
    drop_degenerate: bool = False
    n_samples: int | None = None
    method: Method = "quartet"
    order: Order = "degree"
    seed: int = 0
    regularize: Regularize = "none"

    def __post_init__(self) -> None:
        default = {one.name: one.default for one in fields(self)}
        for name, (kind, must) in _FIELDS.items():
            value = getattr(self, name)
            if value is not None or default[name] is not None:
                object.__setattr__(self, name, _checked(name, value, kind, must))
        for name in ("drop", "labels"):
            columns = _checked(name, getattr(self, name), list[Any], "be a list of column names")
            found = {_checked(f"a name in {name}", column, *_SOME_TEXT) for column in columns}
            object.__setattr__(self, name, tuple(sorted(found)))
        object.__setattr__(self, "kinds", _checked_kinds(self.kinds))
        self._check_source()
        _ = self.settings  # raises if a threshold is out of range

    @property
    def settings(self) -> LearnSettings:
        """Settings of the learner."""
        thresholds = Thresholds(self.r, self.Lambda, self.tau)
        return LearnSettings(thresholds, self.method, self.order, self.seed)

    @property
    def sample_name(self) -> str:
        """The name of the bundled sample."""
        if self.source_kind != "sample":
            raise DataError(f"{quoted(self.source)} is a file, not a bundled sample.")
        return self.source.removeprefix(SAMPLE)

    def to_dict(self) -> dict[str, Any]:
        """Return built-in values for JSON, with exact floats."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        columns = {"drop": list(self.drop), "labels": list(self.labels)}
        return values | columns | {"kinds": dict(self.kinds)}

    @classmethod
    def from_dict(cls, values: Any) -> Recipe:
        """Return a recipe from the values of a file or a link, after checking them.

        Raises
        ------
        LoopyLatentError
            One line that names the missing, unknown or invalid entry.

        Examples
        --------
        >>> Recipe.from_dict({"source": "sample:bfi25", "speed": 9})
        Traceback (most recent call last):
        loopylatent.errors.DataError: a recipe has no entry 'speed'; is it from a newer version?
        """
        if not isinstance(values, Mapping):
            raise DataError(f"a recipe must be a mapping, not a {type(values).__name__}.")
        known = {one.name: one for one in fields(cls)}
        unknown = [str(name) for name in values if name not in known]
        if unknown:
            shown = listed(unknown, 3)
            raise DataError(f"a recipe has no entry {shown}; is it from a newer version?")
        missing = [n for n, one in known.items() if n not in values and one.default is MISSING]
        if missing:
            raise DataError(f"the recipe has no entry {', '.join(missing)}; save it again.")
        return cls(**values)

    def _check_source(self) -> None:
        if self.source_kind == "sample":
            name, known = self.sample_name, sample_names()
            if not self.source.startswith(SAMPLE) or name not in known:
                close = did_you_mean(name[:99], known)
                raise DataError(f"there is no sample {quoted(name)}; {close}")
        elif not _FILE_NAME.fullmatch(self.source):
            raise DataError(
                f"{quoted(self.source)} is not a valid file name; give it without its folder, "
                f"at most {LONGEST_FILE_NAME} characters."
            )
        shown, unused = _UNUSED[self.source_kind]
        for one in fields(self):
            if one.name in unused and getattr(self, one.name) != one.default:
                raise DataError(f"{one.name} has no effect for {shown}; leave it out.")


def digest_of(content: bytes) -> str:
    """Return the digest of a file's content, as stored in a recipe."""
    return hashlib.sha256(content).hexdigest()[:16]


def _checked(what: str, value: Any, kind: Any, must: str) -> Any:
    """Return the value converted to the type; otherwise raise with a short one-line message."""
    try:
        found = msgspec.convert(value.item() if isinstance(value, np.generic) else value, kind)
    except msgspec.ValidationError:
        is_short = value is None or isinstance(value, bool | int | float)
        shown = repr(value) if is_short else f"a {type(value).__name__}"
        if isinstance(value, str):
            shown = quoted(value)
        elif isinstance(value, int) and abs(value) > LARGEST_WHOLE:
            shown = "a huge number"
        raise DataError(f"{what} is {shown}; it must {must}.") from None
    if isinstance(found, str):
        check_encodable(what, found)
    return found + 0.0 if isinstance(found, float) else found  # -0.0 becomes 0.0


def _checked_kinds(values: Any) -> tuple[tuple[str, Kind], ...]:
    pairs = list(values.items()) if isinstance(values, Mapping) else values
    found: dict[str, Kind] = {}
    for column, kind in _checked("kinds", pairs, list[tuple[Any, Any]], "give columns their types"):
        name = _checked("a name in kinds", column, *_SOME_TEXT)
        _checked(f"the type of column {quoted(name)}", kind, *_choice(KINDS))
        if found.setdefault(name, kind) != kind:
            raise DataError(f"column {quoted(name)} has two types; give it one.")
    return tuple(sorted(found.items()))


def check_encodable(what: str, text: str) -> None:
    """Raise if a text cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{what} {quoted(text)} contains half a character; correct it.") from None


# Projects ----------------------------------------------------------------------------------

Plain = str | int | float | bool | None
Preference = Plain | tuple[Plain, ...]

VERSION = 3
"""Version of the file format, raised with each incompatible change."""
FORMAT = "loopylatent project"
MAX_DESCRIPTION = MAX_RESULTS = 64 * 2**20
"""Largest unpacked size of ``project.json`` and of ``results.json``, in bytes."""
MAX_VALUES = 8_000_000
"""Largest number of values in one JSON file."""
MAX_PREFERENCES = 200
MAX_LISTED = 100
"""Largest number of values of a preference."""
MAX_TEXT = 10_000
"""Largest number of characters of a title, and of a preference or its name."""
MOST_PINS = 8
LONGEST_PIN_NAME = 40
MAX_DIRECTORY = 1_000
"""Largest size of the archive's directory in bytes; a member takes about 60."""
ENDING = ".loopylatent"
DAMAGED = "it is damaged or truncated; save it again, or use another copy"

_DESCRIPTION, _DATA, _RESULTS = "project.json", "data", "results.json"
_PINNED_DATA = tuple(f"data{k}" for k in range(1, MOST_PINS + 1))

_MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: lambda values: (  # had neither pins nor results
        values | {"version": 2, "pins": [], "pinned_data": [], "groups": {}, "results": None}
    ),
    2: lambda values: values | {"version": 3},  # its results repeat column names
}
"""For each older version, the conversion of a description to the next version."""


@dataclass(frozen=True, slots=True)
class Pin:
    """Named settings, saved for comparison."""

    name: str
    recipe: Recipe


@dataclass(frozen=True, eq=False, repr=False)
class Project:
    """The content of a project file.

    Parameters
    ----------
    recipe : Recipe
    data : bytes or None
        The uploaded file, unchanged; its name is ``recipe.source``. None for bundled samples,
        or if only the digest of the data is stored.
    names : tuple of NamedNode
        Names of hidden nodes.
    view : mapping from str to str, int, float, bool, None or a tuple of these
        Preferences, such as the colouring.
    title : str
    version : int
        Version of the file format.
    written_by : str
        The version of loopylatent that wrote the file.
    pins : tuple of Pin
        Settings saved for comparison.
    pinned_data : tuple of bytes
        Uploaded files of pins, other than ``data``.
    groups : mapping from str to str
        Uploaded groups of the columns.
    results : Results or None

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
            raise DataError(f"the project version must be {VERSION}, not {self.version!r}.")
        for what in ("title", "written_by"):
            _check_text(what, getattr(self, what))
        for named in self.names:
            for text in (named.name, *named.columns):
                check_encodable("the name", text)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "view", _checked_view(self.view))
        if not isinstance(self.groups, Mapping):
            raise DataError("the groups must map each column to the name of its group.")
        for text in (*self.groups, *self.groups.values()):
            _check_text("name of a column or group", text)
        object.__setattr__(self, "groups", MappingProxyType(dict(self.groups)))
        if self.data is not None and self.recipe.source_kind == "sample":
            raise DataError("a bundled sample has its own data; leave the data out.")
        if self.data is not None and self.recipe.data_digest != digest_of(self.data):
            raise DataError(
                f"the data is not the file {quoted(self.recipe.source)} of the recipe: the digests "
                "differ."
            )
        names = [pin.name for pin in self.pins]
        if len(names) > MOST_PINS or len(set(names)) < len(names):
            raise DataError(f"a project can have at most {MOST_PINS} pins, with unique names.")
        for name in names:
            _check_text("name of a pin", name)
            if not name.strip() or len(name) > LONGEST_PIN_NAME:
                raise DataError(f"the name of a pin must have 1 to {LONGEST_PIN_NAME} characters.")
        needed = {pin.recipe.data_digest for pin in self.pins} - {self.recipe.data_digest, None}
        found = [digest_of(content) for content in self.pinned_data]
        if len(set(found)) < len(found) or not set(found) <= needed:
            raise DataError("the pinned data is not that of the pins: the digests differ.")


def _check_text(what: str, text: Any) -> None:
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise DataError(f"the {what} must be text of at most {MAX_TEXT} characters.")
    check_encodable(f"the {what}", text)


def _checked_view(view: Any) -> Mapping[str, Preference]:
    if not isinstance(view, Mapping) or len(view) > MAX_PREFERENCES:
        raise DataError(f"the view must be at most {MAX_PREFERENCES} named preferences.")
    for name, value in view.items():
        _check_text("name of a preference", name)
        shown, values = quoted(name), value if isinstance(value, tuple) else (value,)
        if len(values) > MAX_LISTED:
            raise DataError(f"the preference {shown} lists more than {MAX_LISTED} values.")
        for one in values:
            if isinstance(one, str):
                _check_text(f"preference {shown}", one)
            elif not (
                one is None
                or (isinstance(one, float) and math.isfinite(one))
                or (isinstance(one, int) and abs(one) <= 2**53)
            ):
                must = "text, a finite number, true, false or none"
                raise DataError(f"the preference {shown} must be {must}.")
    return MappingProxyType({name: view[name] for name in sorted(view)})


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        taken, allowed = (f"{n / 2**20:,.0f}" for n in (size, most))
        raise DataError(f"the size of the {what} is {taken} MB; at most {allowed} MB are allowed.")


def _check_json(what: str, content: bytes, most: int) -> None:
    """Raise if the JSON is too large, or has too many values to fit into memory."""
    _check_size(what, len(content), most)
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise DataError(f"the {what} contains more values than a project can have")


# The file ----------------------------------------------------------------------------------


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
    """The content of ``project.json``."""

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


def _fingerprint(content: bytes | None) -> _Fingerprint | None:
    if content is None:
        return None
    return _Fingerprint(len(content), hashlib.sha256(content).hexdigest())


def save_project(project: Project) -> bytes:
    """Return the content of a project file; the same project gives the same bytes."""
    data = () if project.data is None else (project.data,)
    _check_size("data", sum(map(len, (*data, *project.pinned_data))), MAX_BYTES)
    results = None if project.results is None else encoded(project.results)
    description = _Description(
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
    values = msgspec.to_builtins(description)
    json_text = json.dumps(values, allow_nan=False, indent=1).encode("ascii")
    _check_json("description", json_text, MAX_DESCRIPTION)
    _check_json("results", results or b"", MAX_RESULTS)
    pinned = dict(zip(_PINNED_DATA, project.pinned_data, strict=False))
    members = {_DESCRIPTION: json_text, _DATA: project.data, **pinned, _RESULTS: results}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if content is None:
                continue
            entry = zipfile.ZipInfo(name)  # dated 1980, so that equal projects give equal bytes
            entry.create_system = 3  # the same on all systems
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_project(project: Project, path: str | os.PathLike[str]) -> Path:
    """Write a project file atomically.

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


def open_project(source: str | os.PathLike[str] | bytes, *, max_bytes: int = MAX_BYTES) -> Project:
    """Read and check a project file.

    Parameters
    ----------
    source : path or bytes
    max_bytes : int
        Projects with larger data raise an error.

    Returns
    -------
    Project

    Raises
    ------
    DataError
        One line that says what is wrong.

    Examples
    --------
    >>> open_project(b"PK and then nothing")
    Traceback (most recent call last):
    loopylatent.errors.DataError: the project cannot be opened: it is not a project file; choose a \
file ending in .loopylatent.
    """
    most = max_bytes + MAX_DESCRIPTION + MAX_RESULTS
    try:
        content = source if isinstance(source, bytes) else _first_bytes(source, most + 1)
        _check_size("file", len(content), most)
        return _project(_unpacked(content, max_bytes))
    except LoopyLatentError as error:
        shown = "the project" if isinstance(source, bytes) else quoted(os.fspath(source))
        raise DataError(f"{shown} cannot be opened: {str(error).rstrip('.')}.") from None


def _first_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(most)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise DataError(f"{reason}; check the path") from None


def _description(content: bytes) -> _Description:
    """Read the description and migrate it to the current version."""
    _check_json("description", content, MAX_DESCRIPTION)
    try:
        values = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        raise DataError("its description is not valid JSON; save it again") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"its {_DESCRIPTION} does not describe a project")
    version = values.get("version")
    if type(version) is not int or version < 1:
        raise DataError("its version is not a positive integer")
    if version > VERSION:
        writer = quoted(str(values.get("written_by")))
        raise DataError(
            f"it has project version {version}, written by loopylatent {writer}, but loopylatent "
            f"{__version__} reads up to version {VERSION}; install a newer loopylatent"
        )
    for older in range(version, VERSION):
        values = _MIGRATIONS[older](values)
    try:
        return msgspec.convert(values, _Description)
    except msgspec.ValidationError as error:
        raise DataError(f"its description is invalid: {shortened(error)}") from None


def _project(members: Mapping[str, bytes]) -> Project:
    values = _description(members[_DESCRIPTION])
    pinned_data = [members[name] for name in _PINNED_DATA if name in members]
    _check_fingerprint("data", values.data, members.get(_DATA))
    _check_fingerprint("results", values.results, members.get(_RESULTS))
    if values.pinned_data != [_fingerprint(content) for content in pinned_data]:
        raise DataError("the data of its pins was changed after saving")
    results = members.get(_RESULTS)
    _check_json("results", results or b"", MAX_RESULTS)
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


def _check_fingerprint(what: str, expected: _Fingerprint | None, content: bytes | None) -> None:
    if (expected is None) != (content is None):
        missing = f"its {what} is missing" if content is None else f"there is undeclared {what}"
        raise DataError(f"{missing}; save it again")
    if expected != _fingerprint(content):
        raise DataError(f"its {what} was changed after saving: the digests differ")


def _unpacked(content: bytes, max_bytes: int) -> dict[str, bytes]:
    limits = {_DESCRIPTION: MAX_DESCRIPTION, _RESULTS: MAX_RESULTS}
    limits |= dict.fromkeys((_DATA, *_PINNED_DATA), max_bytes)
    if not content.startswith(b"PK\x03\x04"):
        raise DataError(f"it is not a project file; choose a file ending in {ENDING}")
    end = content[-22:]  # the number of members, checked before they are listed
    if not end.startswith(b"PK\x05\x06"):
        raise DataError(DAMAGED)
    n_members, n_bytes = struct.unpack("<HI", end[10:16])
    if n_members > len(limits) or n_bytes > MAX_DIRECTORY:
        raise DataError("it is a zip archive of other files, not a project")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive.infolist(), limits)
            total = sum(one.file_size for one in archive.infolist())
            _check_size("content", total, max_bytes + MAX_DESCRIPTION + MAX_RESULTS)
            return {name: archive.read(name) for name in archive.namelist()}
    except LoopyLatentError:
        raise
    except Exception:  # a damaged archive can raise anything
        raise DataError(DAMAGED) from None


def _check_members(members: list[zipfile.ZipInfo], limits: Mapping[str, int]) -> None:
    names = [member.filename for member in members]
    unknown = [name for name in names if name not in limits]
    if unknown:
        raise DataError(f"it contains {listed(unknown)}, which is not part of a project")
    if _DESCRIPTION not in names:
        raise DataError(f"it contains no {_DESCRIPTION}, so it is not a project")
    if len(set(names)) < len(names):
        raise DataError("it contains a file twice")
    for member in members:
        shown = {_DESCRIPTION: "description", _RESULTS: "results"}.get(member.filename, "data")
        _check_size(shown, member.file_size, limits[member.filename])
        usual = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if member.flag_bits & 1 or not usual:
            raise DataError("it is encrypted or uses an unsupported compression")
