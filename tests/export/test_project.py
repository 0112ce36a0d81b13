"""Project files: what was saved comes back, and nothing else gets in."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from helpers.recipes import RECIPES
from hypothesis import given, strategies as st

import loopylatent as ll
from loopylatent.analysis.matching import NamedNode, follow_names, name_node
from loopylatent.errors import DataError
from loopylatent.exporting.project import file as projects
from loopylatent.exporting.project.file import (
    Pin,
    Project,
    Recipe,
    digest_of,
    open_project,
    save_project,
    write_project,
)

SAMPLE = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0.01, tau=0.1)
TABLE = b"a,b,c\n1,2,3\n"
UPLOAD = Recipe(
    source="t.csv", source_kind="table", data_digest=digest_of(TABLE), r=2.5, Lambda=0.01, tau=0.1
)
MOOD = NamedNode("mood", ("a", "b", "c"), [0.5, 0.25, 0.0])
PROJECT = Project(UPLOAD, TABLE, (MOOD,), {"colour": "groups", "zoom": 1.5, "dark": True}, "Mine")


def packed(**members: bytes | str) -> bytes:
    """A zip archive; ``project`` is its description."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr("project.json" if name == "project" else name, content)
    return buffer.getvalue()


def description(project: Project = PROJECT) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(save_project(project))) as archive:
        return json.loads(archive.read("project.json"))


def changed(**values: Any) -> bytes:
    """The project file with other entries in its description."""
    return packed(project=json.dumps(description() | values), data=TABLE)


def message_of(content: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        open_project(content, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    assert message.endswith(".")
    return message


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COLUMNS = st.lists(st.one_of(st.sampled_from(HOSTILE_NAMES), TEXT), unique=True, max_size=4)
NAMED = COLUMNS.flatmap(
    lambda columns: st.builds(
        NamedNode,
        TEXT.filter(str.strip),
        st.just(tuple(columns)),
        st.lists(st.floats(0, 1), min_size=len(columns), max_size=len(columns)),
    )
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)


PINS = st.builds(Pin, TEXT.filter(str.strip), RECIPES)


@st.composite
def any_project(draw: st.DrawFn) -> Project:
    data = draw(st.one_of(st.none(), st.binary(max_size=60)))
    recipe = draw(RECIPES).to_dict()
    if data is not None:
        recipe["data_digest"] = digest_of(data)
    names = tuple(draw(st.lists(NAMED, max_size=3)))
    preferences = st.one_of(VALUES, st.lists(VALUES, max_size=3).map(tuple))
    return Project(
        Recipe.from_dict(recipe),
        data,
        names,
        draw(st.dictionaries(TEXT, preferences, max_size=4)),
        draw(TEXT),
        pins=tuple(draw(st.lists(PINS, max_size=3, unique_by=lambda pin: pin.name))),
        groups=draw(st.dictionaries(TEXT, TEXT, max_size=3)),
    )


@given(any_project())
def test_a_saved_project_opens_equal_and_is_saved_equally(project):
    content = save_project(project)
    again = open_project(content)
    assert save_project(again) == content
    assert (again.recipe, again.data, again.title) == (project.recipe, project.data, project.title)
    assert dict(again.view) == dict(project.view)
    assert (again.pins, dict(again.groups)) == (project.pins, dict(project.groups))
    assert [type(value) for value in again.view.values()] == list(map(type, project.view.values()))
    for old, new in zip(project.names, again.names, strict=True):
        assert (old.name, old.columns) == (new.name, new.columns)
        np.testing.assert_array_equal(old.profile, new.profile)


def test_an_upload_with_hostile_names_learns_the_same_graph_after_opening(tmp_path):
    data = hostile_frame().to_csv(index=False).encode()
    recipe = Recipe(
        source="<b>$(touch pwned).csv", source_kind="table", data_digest=digest_of(data),
        drop=HOSTILE_NAMES[:3], r=1.0, Lambda=0.02, tau=0.05,
    )  # fmt: skip

    def learned(recipe: Recipe, data: bytes) -> ll.LatentGraph:
        D = ll.information_distances(ll.read_table(data, drop=recipe.drop))
        return ll.learn(D, recipe.r, recipe.Lambda, recipe.tau).graph

    graph = learned(recipe, data)
    names = tuple(name_node(graph, node, f"{node} <i>") for node in graph.hidden_nodes)
    file = write_project(Project(recipe, data, names), tmp_path / "mine.loopylatent")
    again = open_project(file)
    assert learned(again.recipe, again.data) == graph
    assert follow_names(again.names, graph).unmatched == ()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.loopylatent"]


def test_a_project_can_store_only_the_digest_of_its_data():
    project = open_project(save_project(Project(UPLOAD)))
    assert project.data is None
    assert project.recipe.data_digest == digest_of(TABLE)


def test_the_archive_has_no_trace_of_time_place_or_file_name():
    with zipfile.ZipFile(io.BytesIO(save_project(PROJECT))) as archive:
        members = archive.infolist()
    assert [member.filename for member in members] == ["project.json", "data"]
    assert {member.date_time for member in members} == {(1980, 1, 1, 0, 0, 0)}


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_project(PROJECT, tmp_path / "mine.loopylatent")

    def full_disk(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DataError, match="No space left"):
        write_project(Project(SAMPLE), path)
    assert open_project(path).title == "Mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.loopylatent"]


def test_every_truncated_file_raises():
    content = save_project(PROJECT)
    messages = {message_of(content[:size]) for size in range(len(content))}
    assert len(messages) == 2  # not a project file; damaged or cut off


def test_a_file_with_one_changed_bit_raises_or_opens_equal():
    content = save_project(PROJECT)
    rng = random.Random(0)
    rejected = 0
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.randrange(8)
        try:
            assert save_project(open_project(bytes(damaged))) == content
        except DataError:
            rejected += 1
    assert rejected > len(content) / 2


@given(st.binary(max_size=200))
def test_other_files_raise(content):
    message_of(content)
    message_of(b"PK\x03\x04" + content)
    message_of(packed(project=content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a project file"),
        (b"a,b,c\n1,2,3\n", "not a project file"),
        (packed(), "not a project file"),
        (packed(hello="world"), "'hello', which is not part of a project"),
        (packed(data=TABLE), "no project.json"),
        (packed(project="{}", **{"../evil": "x"}), "'../evil', which is not part of a project"),
        (packed(project="{}", **{"/etc/passwd": "x"}), "not part of a project"),
        (packed(project="{}", data="x", third="x"), "'third', which is not part of a project"),
        (packed(project="{}", **{f"x{k}": "x" for k in range(11)}), "zip archive of other files"),
        (packed(project="{}"), "does not describe a project"),
        (packed(project="[]"), "does not describe a project"),
        (packed(project='{"format": "other"}'), "does not describe a project"),
        (packed(project="{"), "not valid JSON"),
        (packed(project=b"\xff\xfe"), "not valid JSON"),
        (packed(project="[" * 100_000), "not valid JSON"),
        (packed(project="9" * 5_000), "not valid JSON"),
        (packed(project='{"format": 1, "format": 2}'), "does not describe a project"),
        (save_project(PROJECT) + b" and more", "damaged"),
    ],
    ids=range(18),
)
def test_an_invalid_file_raises(content, message):
    assert message in message_of(content)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"version": 4, "wings": 4}, "project version 4, written by loopylatent '0.1.0'"),
        ({"version": 0}, "positive integer"),
        ({"version": True}, "positive integer"),
        ({"version": "1"}, "positive integer"),
        ({"speed": 9}, "unknown field `speed`"),
        ({"recipe": None}, "Expected `object`, got `null` - at `$.recipe`"),
        ({"recipe": UPLOAD.to_dict() | {"speed": 9}}, "no entry 'speed'"),
        ({"recipe": UPLOAD.to_dict() | {"r": "5"}}, "finite number"),
        ({"recipe": UPLOAD.to_dict() | {"r": float("nan")}}, "not valid JSON"),
        ({"recipe": UPLOAD.to_dict() | {"r": float("inf")}}, "not valid JSON"),
        ({"recipe": UPLOAD.to_dict() | {"Lambda": 1}}, "outside [0, 1)"),
        ({"recipe": UPLOAD.to_dict() | {"source": "../t.csv"}}, "without its folder"),
        ({"recipe": UPLOAD.to_dict() | {"data_digest": "0" * 16}}, "digests differ"),
        ({"recipe": SAMPLE.to_dict()}, "has its own data"),
        ({"data": None}, "undeclared data"),
        ({"data": {"bytes": 12}}, "missing required field `sha256` - at `$.data`"),
        ({"data": {"bytes": 12, "sha256": "0" * 64}}, "changed after saving"),
        ({"data": {"bytes": 12, "sha256": "0" * 64, "path": "x"}}, "unknown field `path`"),
        ({"names": {}}, "Expected `array`, got `object` - at `$.names`"),
        ({"names": ["mood"]}, "Expected `object`, got `str` - at `$.names[0]`"),
        ({"names": [{"name": "mood"}]}, "missing required field `columns`"),
        ({"names": [{"name": " ", "columns": [], "profile": []}]}, "non-empty"),
        ({"names": [{"name": "m", "columns": [1], "profile": [1]}]}, "Expected `str`"),
        ({"names": [{"name": "m", "columns": ["a", "a"], "profile": [1, 1]}]}, "must differ"),
        ({"names": [{"name": "m", "columns": ["a"], "profile": ["1"]}]}, "got `str`"),
        ({"names": [{"name": "m", "columns": ["a"], "profile": [True]}]}, "got `bool`"),
        ({"names": [{"name": "m", "columns": ["a"], "profile": [2]}]}, "from 0 to 1"),
        ({"names": [{"name": "m", "columns": ["a"], "profile": []}]}, "from 0 to 1"),
        ({"names": [{"name": "\ud800", "columns": [], "profile": []}]}, "not valid JSON"),
        ({"title": None}, "got `null` - at `$.title`"),
        ({"title": "x" * 10_001}, "at most 10000"),
        ({"title": "\ud800"}, "not valid JSON"),
        ({"written_by": 1}, "got `int` - at `$.written_by`"),
        ({"view": {"a": [[]]}}, "preference 'a'"),
        ({"view": {"a": {}}}, "preference 'a'"),
        ({"pins": {}}, "Expected `array`"),
        ({"pins": [{"name": "a"}]}, "missing required field `recipe` - at `$.pins[0]`"),
        ({"pins": [{"name": "a", "recipe": {}}]}, "recipe"),
        ({"pins": [{"name": "", "recipe": SAMPLE.to_dict()}]}, "1 to 40"),
        ({"pinned_data": [None]}, "data of its pins"),
        ({"groups": {"a": 1}}, "Expected `str`, got `int` - at `$.groups[...]`"),
        ({"results": {"bytes": 1, "sha256": ""}}, "its results is missing"),
        ({"view": {"a": 10**300}}, "preference 'a'"),
        ({"view": {str(k): k for k in range(201)}}, "at most 200"),
    ],
    ids=range(44),
)
def test_an_invalid_description_raises(values, message):
    assert message in message_of(changed(**values))


def test_huge_numbers_raise():
    text = json.dumps(description())
    for number in ("2.5", "1.5", "0.25"):
        content = packed(project=text.replace(number, "1e999"), data=TABLE)
        assert "not valid JSON" in message_of(content)


def test_missing_or_changed_data_raise():
    text = json.dumps(description())
    assert "data is missing" in message_of(packed(project=text))
    assert "changed after" in message_of(packed(project=text, data=TABLE + b" "))


def test_a_zip_bomb_raises_before_it_is_unpacked(monkeypatch):
    bomb = packed(project=b"0" * (projects.MAX_DESCRIPTION + 1))
    large = packed(project=json.dumps(description()), data=b"0" * 2**20)
    results = packed(project="{}", **{"results.json": b"0" * (projects.MAX_RESULTS + 1)})
    pinned = packed(project="{}", data=b"0" * 2**20, data1=b"0" * 2**20)
    many = packed(**{str(k): "" for k in range(1_000)})

    def unpack(*_arguments: Any) -> bytes:
        raise AssertionError("nothing may be unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "read", unpack)
    assert len(bomb) < 10**6
    assert "the size of the description is 64 MB" in message_of(bomb)
    assert "the size of the data is 1 MB; at most 0 MB are" in message_of(large, max_bytes=1_000)
    assert "the size of the results is 64 MB" in message_of(results)
    monkeypatch.setattr(projects, "MAX_DESCRIPTION", 1_000)
    monkeypatch.setattr(projects, "MAX_RESULTS", 1_000)
    assert "the size of the content is 2 MB; at most 1 MB are" in message_of(
        pinned, max_bytes=2**20
    )
    monkeypatch.setattr(zipfile, "ZipFile", unpack)
    assert "other files" in message_of(many)
    hidden = bytearray(many)
    hidden[-14:-10] = b"\x01\0\x01\0"  # claims to have one member
    assert "other files" in message_of(bytes(hidden))
    assert "the size of the file is 2 MB" in message_of(
        b"PK\x03\x04" + bytes(2**21), max_bytes=1_000
    )


def test_more_values_than_fit_into_memory_raise(monkeypatch):
    monkeypatch.setattr("loopylatent.exporting.project.file.MAX_VALUES", 1_000)
    monkeypatch.setattr(msgspec.json, "decode", lambda *_: pytest.fail("nothing may be read"))
    assert "more values" in message_of(packed(project=b"[" + b"[]," * 1_000 + b"0]"))


def test_a_member_larger_than_declared_raises():
    content = bytearray(packed(project=json.dumps(description()), data=b"0" * 2**20))
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = len(TABLE).to_bytes(4, "little")
    assert "damaged" in message_of(bytes(content))


def test_an_encrypted_or_unusually_compressed_member_raises():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("project.json", "{}")
    assert "unsupported compression" in message_of(buffer.getvalue())
    content = bytearray(packed(project="{}"))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in message_of(bytes(content))


def test_a_repeated_member_raises():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("project.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("project.json", "{}")
    assert "twice" in message_of(buffer.getvalue())


def test_a_missing_path_is_named(tmp_path):
    assert "'nowhere.loopylatent' cannot be opened: No such file" in message_of(
        "nowhere.loopylatent"
    )
    assert "check the path" in message_of(tmp_path)
    assert "invalid file name" in message_of("a\0b")


def first_version(project: Project) -> bytes:
    """The file that version 1 of the format wrote."""
    entries = ("format", "written_by", "title", "recipe", "data", "names", "view")
    values = {name: value for name, value in description(project).items() if name in entries}
    members: dict[str, Any] = {"project": json.dumps({"version": 1} | values, indent=1)}
    if project.data is not None:
        members["data"] = project.data
    return packed(**members)


@pytest.mark.parametrize("project", [PROJECT, Project(SAMPLE), Project(UPLOAD)], ids=range(3))
def test_version_1_still_opens(project):
    again = open_project(first_version(project))
    assert again.version == projects.VERSION
    assert save_project(again) == save_project(project)


def test_version_1_ignores_pins_and_must_have_names():
    values = description(Project(UPLOAD, TABLE, pins=(Pin("a", SAMPLE),))) | {"version": 1}
    assert open_project(packed(project=json.dumps(values), data=TABLE)).pins == ()
    del values["names"]
    assert "missing required field `names`" in message_of(
        packed(project=json.dumps(values), data=TABLE)
    )


def test_older_versions_are_migrated_step_by_step(monkeypatch):
    old = first_version(PROJECT)

    def rename(values: dict[str, Any]) -> dict[str, Any]:
        return values | {"version": 4, "title": values["title"].upper()}

    monkeypatch.setattr(projects, "VERSION", 4)
    monkeypatch.setattr(projects, "_MIGRATIONS", {**projects._MIGRATIONS, 3: rename})
    project = open_project(old)
    assert (project.version, project.title, project.pins) == (4, "MINE", ())


def test_every_older_version_has_a_migration():
    assert sorted(projects._MIGRATIONS) == list(range(1, projects.VERSION))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"recipe": SAMPLE, "data": TABLE}, "has its own data"),
        ({"recipe": UPLOAD, "data": TABLE + b" "}, "digests differ"),
        ({"recipe": SAMPLE, "version": 1}, "version must be 3, not 1"),
        ({"recipe": SAMPLE, "view": {"a": ([],)}}, "text, a finite number"),
        ({"recipe": SAMPLE, "view": {"a": (1,) * 101}}, "more than 100"),
        ({"recipe": SAMPLE, "groups": {"a": 1}}, "must be text"),
        ({"recipe": SAMPLE, "groups": ["a"]}, "each column to the name"),
        ({"recipe": SAMPLE, "pins": (Pin(" ", SAMPLE),)}, "1 to 40 characters"),
        ({"recipe": SAMPLE, "pins": (Pin("x" * 41, SAMPLE),)}, "1 to 40 characters"),
        ({"recipe": SAMPLE, "pins": (Pin("x", SAMPLE),) * 2}, "unique names"),
        ({"recipe": SAMPLE, "pins": tuple(Pin(str(k), SAMPLE) for k in range(9))}, "at most 8"),
        ({"recipe": SAMPLE, "pinned_data": (TABLE,)}, "not that of the pins"),
        ({"recipe": SAMPLE, "view": {"a": float("nan")}}, "finite"),
        ({"recipe": SAMPLE, "view": {1: "a"}}, "text"),
        ({"recipe": SAMPLE, "view": []}, "named preferences"),
    ],
)
def test_an_invalid_project_cannot_be_created(arguments, message):
    with pytest.raises(DataError, match=message):
        Project(**arguments)


def test_a_project_too_large_to_open_is_not_saved(monkeypatch):
    monkeypatch.setattr(projects, "MAX_BYTES", 3)
    with pytest.raises(DataError, match="the size of the data"):
        save_project(PROJECT)


def test_the_content_of_a_project_is_immutable():
    view = {"a": 1}
    project = Project(SAMPLE, view=view)
    view["a"] = 2
    assert project.view["a"] == 1
    with pytest.raises(TypeError):
        project.view["a"] = 3
    with pytest.raises(ValueError, match="read-only"):
        MOOD.profile[0] = 1.0
