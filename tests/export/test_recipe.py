"""Recipes: checked when they come in; the script and the line they give are run."""

from __future__ import annotations

import ast
import io
import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers.hostile import hostile_frame
from helpers.recipes import RECIPES
from hypothesis import given, strategies as st

import loopylatent as ll
from loopylatent.cli import inputs as cli_input, main as cli
from loopylatent.distances.files import read_distances
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.exporting.graph_files import (
    LONGEST_COMMAND,
    escaped,
    to_command,
    to_python,
    unescaped,
)
from loopylatent.exporting.project.file import Recipe, digest_of

ROOT = Path(__file__).resolve().parents[2]
THRESHOLDS = {"r": 1.2, "Lambda": 0.1 + 0.2, "tau": 1e-5}
SAMPLE = Recipe(
    source="sample:bfi25", source_kind="sample", r=2.34, Lambda=1 / 90, tau=0.1, order="random",
    seed=3, metric="rank",
)  # fmt: skip
PLAIN = {"source": "answers.csv", "source_kind": "table", **THRESHOLDS}


def saved(frame: pd.DataFrame, kind: str) -> bytes:
    if kind == "csv":
        return frame.to_csv(index=False).encode()
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def hostile_recipe(name: str, content: bytes) -> Recipe:
    """A recipe that gives hostile names every role that a column can have."""
    left_out = ["weights\n$(id)", "constant"]
    names = ll.read_table(content, drop=left_out).names
    return Recipe(
        source=name,
        source_kind="table",
        data_digest=digest_of(content),
        drop=tuple(names[::3]),
        labels=tuple(names[1::6]),
        kinds=tuple((column, "continuous") for column in names),
        weights="weights\n$(id)",
        drop_degenerate=True,
        **THRESHOLDS,
    )


def hostile_table(kind: str) -> bytes:
    frame = hostile_frame()
    frame["weights\n$(id)"] = np.arange(len(frame)) % 3 + 1
    frame["constant"] = 1.0
    return saved(frame, kind)


def graph_of(recipe: Recipe, content: bytes | None = None) -> ll.LatentGraph:
    on_degenerate = "drop" if recipe.drop_degenerate else "error"
    if recipe.source_kind == "distances":
        D = read_distances(content, recipe.n_samples)
    else:
        obs = (
            ll.load_sample(recipe.sample_name).observations
            if recipe.source_kind == "sample"
            else ll.read_table(
                content, drop=recipe.drop, labels=recipe.labels, kinds=dict(recipe.kinds),
                weights=recipe.weights, on_degenerate=on_degenerate,
            )
        )  # fmt: skip
        D = ll.information_distances(obs, recipe.metric, on_degenerate=on_degenerate)
    thresholds = recipe.settings.thresholds
    result = ll.learn(
        D, thresholds.r, thresholds.Lambda, thresholds.tau, method=recipe.method,
        order=recipe.order, seed=recipe.seed,
    )  # fmt: skip
    return result.graph


def written_digest(folder: Path, name: str = "graph.graphml") -> str:
    return nx.read_graphml(folder / name).graph["graph_digest"]


def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE)


def run_both(recipe: Recipe, folder: Path, content: bytes | None = None) -> list[str]:
    """Run the script and the shell line, each in a folder; return the digests they wrote."""
    folders = [folder / "script", folder / "shell"]
    for one in folders:
        one.mkdir()
        if content is not None:
            (one / recipe.source).write_bytes(content)
    (folders[0] / "again.py").write_text(to_python(recipe), encoding="utf-8")
    line = to_command(recipe, program=f"{shlex.quote(sys.executable)} -m loopylatent")
    running = [
        start([sys.executable, "again.py"], folders[0]),
        start(["sh", "-c", line], folders[1]),
    ]
    for process in running:
        errors = process.communicate()[1]
        assert process.returncode == 0, errors.decode()
    expected = {"graph.graphml", "again.py", recipe.source}
    for one in folders:
        assert {path.name for path in one.iterdir()} <= expected  # and no file called pwned
    return [written_digest(one) for one in folders]


def run_inside(recipe: Recipe, folder: Path, content: bytes, name: str = "graph.graphml") -> None:
    """The same without starting processes."""
    (folder / recipe.source).write_bytes(content)
    digest = graph_of(recipe, content).digest
    exec(compile(to_python(recipe), "again.py", "exec"), {"__name__": "again"})
    assert written_digest(folder, name) == digest
    (folder / name).unlink()
    assert cli.main(shlex.split(to_command(recipe, program=""))) == 0
    assert written_digest(folder, name) == digest


def test_script_and_command_learn_the_same_graph_from_a_sample(tmp_path):
    digest = graph_of(SAMPLE).digest
    assert run_both(SAMPLE, tmp_path) == [digest, digest]


@pytest.mark.parametrize("method", ["relaxed", "nj"])
def test_script_and_command_of_the_other_methods_learn_the_same_graph(
    method, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    content = saved(ll.load_sample("bfi25").observations.to_frame(), "csv")
    recipe = Recipe(
        source="bfi.csv", source_kind="table", r=2.0, Lambda=0.01, tau=0.1, method=method, seed=4
    )
    run_inside(recipe, tmp_path, content)
    assert graph_of(recipe, content) != graph_of(replace(recipe, method="quartet"), content)


def test_script_and_command_learn_the_same_graph_from_a_table_with_hostile_names(tmp_path):
    content = hostile_table("parquet")
    recipe = hostile_recipe("-it's $(touch pwned)\n.parquet", content)
    graph = graph_of(recipe, content)
    assert graph.n_observed > 10
    assert run_both(recipe, tmp_path, content) == [graph.digest, graph.digest]


@pytest.mark.parametrize("name", ["sample:bfi25", "--", "a\\nb.csv", "~", "x & y.csv"])
def test_file_names_are_never_misread_as_options(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    content = hostile_table("csv")
    run_inside(hostile_recipe(name, content), tmp_path, content)
    assert "LatentGraph(" in capfd.readouterr().out


def test_the_file_that_is_read_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = hostile_table("csv")
    recipe = hostile_recipe("graph.graphml", content)
    run_inside(recipe, tmp_path, content, name="learned.graphml")
    assert (tmp_path / "graph.graphml").read_bytes() == content


@pytest.mark.parametrize("n_samples", [None, 300])
def test_precomputed_distances_give_the_same_graph(n_samples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_bytes(saved(hostile_frame(), "csv"))
    assert cli.main(["distances", "table.csv", "-o", "d.csv"]) == 0
    recipe = Recipe(source="d.csv", source_kind="distances", n_samples=n_samples, **THRESHOLDS)
    run_inside(recipe, tmp_path, (tmp_path / "d.csv").read_bytes())


def test_a_corrected_type_of_a_column_with_an_equals_sign_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = hostile_frame()[["a=b", "a=binary", "-o", "@x", "+1"]]
    frame["a=b"] = frame["a=b"].round().clip(-1, 1)
    recipe = Recipe(**PLAIN | {"r": 9.0}, kinds=(("a=b", "categorical"),))
    assert "'--kind=a=b=categorical'" not in to_command(recipe)
    assert "--kind=a=b=categorical" in to_command(recipe)
    content = saved(frame, "csv")
    run_inside(recipe, tmp_path, content)
    unpenalised = Recipe(**PLAIN | {"r": 9.0})
    assert graph_of(recipe, content) != graph_of(unpenalised, content)


@given(RECIPES)
def test_recipes_survive_json(recipe):
    again = Recipe.from_dict(json.loads(json.dumps(recipe.to_dict(), allow_nan=False)))
    assert again == recipe
    assert hash(again) == hash(recipe)
    assert repr(again) == repr(recipe)


@given(RECIPES)
def test_the_command_has_the_settings_of_the_recipe(recipe):
    line = to_command(recipe, program="loopylatent")
    assert line.isprintable()  # one line, and nothing in it that a terminal would obey
    program, *arguments = shlex.split(line)
    options = cli._parser().parse_args(arguments)
    if options.escaped:
        cli_input.unescape(options)
    assert program == "loopylatent"
    assert options.table.removeprefix("./") == recipe.source
    assert (options.drop, options.label) == (list(recipe.drop), list(recipe.labels))
    assert dict(map(cli_input.column_kind, options.kind)) == dict(recipe.kinds)
    assert (options.r, options.Lambda, options.tau) == (recipe.r, recipe.Lambda, recipe.tau)
    assert (options.on_degenerate == "drop") == recipe.drop_degenerate
    for name in ("weights", "metric", "method", "order", "seed", "n_samples"):
        assert getattr(options, name) == getattr(recipe, name)


@given(RECIPES)
def test_the_script_contains_names_only_as_text(recipe):
    tree = ast.parse(to_python(recipe))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [ast.unparse(call.func) for call in calls] == [
        "ll.read_table", "ll.information_distances", "ll.learn", "print", "ll.export",
    ]  # fmt: skip
    assert ast.literal_eval(calls[0].args[0]) == recipe.source
    given_values = {key.arg: ast.literal_eval(key.value) for key in calls[0].keywords}
    assert given_values.get("drop", []) == list(recipe.drop)
    assert given_values.get("kinds", {}) == dict(recipe.kinds)
    learned = {key.arg: ast.literal_eval(key.value) for key in calls[2].keywords}
    assert learned == {name: getattr(recipe, name) for name in learned}
    assert {"r", "Lambda", "tau", "method", "order", "seed"} == set(learned)


@given(st.text())
def test_escapes_are_reversible(text):
    shown = escaped(text)
    assert unescaped(shown) == text
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["\\", "a\\b", "\\x1", "\\uD800\\", "\\U00110000", "\\'"])
def test_a_stray_backslash_raises(text, capsys):
    with pytest.raises(DataError, match="backslash"):
        unescaped(text)
    assert cli.main(["learn", text, "--escaped"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_columns_named_with_nul_survive_the_command():
    recipe = Recipe(**PLAIN, drop=("a\0b",))
    line = to_command(recipe)
    assert "--escaped '--drop=a\\x00b'" in line.replace("answers.csv ", "")


def test_a_command_too_long_for_a_shell_raises():
    recipe = Recipe(**PLAIN, drop=tuple(f"{k:0100}" for k in range(1_000)))
    with pytest.raises(DataError, match="Use the Python script"):
        to_command(recipe)
    assert len(to_python(recipe)) > LONGEST_COMMAND


def test_order_and_repeats_of_names_have_no_effect():
    one = Recipe(**PLAIN, drop=("b", "a", "b"), kinds={"y": "ordinal", "x": "binary"})
    other = Recipe(**PLAIN, drop=["a", "b"], kinds=(("x", "binary"), ("y", "ordinal")))
    assert one == other
    assert {one: 1}[other] == 1
    assert Recipe(**PLAIN | {"tau": -0.0}).to_dict() == Recipe(**PLAIN | {"tau": 0}).to_dict()


def test_settings_and_sample_name_are_properties():
    assert SAMPLE.sample_name == "bfi25"
    assert SAMPLE.settings.order == "random"
    assert SAMPLE.settings.thresholds == ll.Thresholds(2.34, 1 / 90, 0.1)
    with pytest.raises(DataError, match="not a bundled sample"):
        _ = Recipe(**PLAIN).sample_name


WRONG = [
    ("source", "../answers.csv", "without its folder"),
    ("source", "/etc/passwd", "without its folder"),
    ("source", "..", "without its folder"),
    ("source", "http://example.com/x.csv", "without its folder"),
    ("source", "x" * 256, "255"),
    ("source", "a\0b", "not a valid file name"),
    ("source", "", "some text"),
    ("source", 7, "source is 7"),
    ("source_kind", "pickle", "sample, table, distances"),
    ("source_kind", ["table"], "a list"),
    ("data_digest", "ABCDEF0123456789", "hexadecimal"),
    ("data_digest", "# \nimport os", "hexadecimal"),
    ("data_digest", 12, "hexadecimal"),
    ("drop", "id", "list of column names"),
    ("drop", {"id": 1}, "list of column names"),
    ("drop", ["a", None], "some text"),
    ("labels", [["a"]], "some text"),
    ("labels", ["\ud800"], "half a character"),
    ("kinds", "ab", "columns their types"),
    ("kinds", ["ab"], "columns their types"),
    ("kinds", {"a": "odd"}, "type of column 'a'"),
    ("kinds", {"a": 1}, "type of column 'a'"),
    ("kinds", [("a", "binary"), ("a", "ordinal")], "two types"),
    ("weights", 1, "some text"),
    ("metric", "given", "auto"),
    ("drop_degenerate", 1, "true or false"),
    ("n_samples", 100, "has no effect for a table"),
    ("n_samples", "100", "whole number"),
    ("r", "5", "finite number"),
    ("r", True, "finite number"),
    ("r", None, "finite number"),
    ("r", 10**400, "a huge number"),
    ("r", float("inf"), "finite"),
    ("r", float("nan"), "finite"),
    ("r", -1, "negative"),
    ("Lambda", 1, "outside"),
    ("tau", -1, "negative"),
    ("method", "magic" * 1_000, "quartet"),
    ("order", None, "degree"),
    ("seed", -1, "whole number"),
    ("seed", 1.0, "whole number"),
    ("seed", True, "whole number"),
    ("seed", 10**400, "whole number"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"), WRONG, ids=[f"{row[0]}-{k}" for k, row in enumerate(WRONG)]
)
def test_an_invalid_value_raises_in_one_line(name, value, message):
    with pytest.raises(LoopyLatentError, match=message) as caught:
        Recipe.from_dict({**PLAIN, name: value})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "NoneType"),
        ([], "list"),
        ({}, "no entry source, source_kind, r, Lambda, tau"),
        ({**PLAIN, "speed": 9}, "no entry 'speed'"),
        ({**PLAIN, "a\nb": 9, 7: 7}, r"'a\\nb', '7'"),
        ({**PLAIN, "source_kind": "sample", "source": "sample:bif25"}, "did you mean 'bfi25'"),
        ({**PLAIN, "source_kind": "sample", "source": "bfi25"}, "no sample"),
        ({**PLAIN, "source_kind": "sample", "source": "sample:../x"}, "no sample"),
    ],
)
def test_an_invalid_recipe_raises_in_one_line(values, message):
    with pytest.raises(DataError, match=message) as caught:
        Recipe.from_dict(values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "kind", "unused"),
    [
        ("sample:bfi25", "sample", {"drop": ["A1"]}),
        ("sample:bfi25", "sample", {"data_digest": "0123456789abcdef"}),
        ("d.csv", "distances", {"metric": "rank"}),
        ("d.csv", "distances", {"weights": "n"}),
    ],
)
def test_an_entry_without_effect_raises(source, kind, unused):
    with pytest.raises(DataError, match=f"{next(iter(unused))} has no effect"):
        Recipe.from_dict({**PLAIN, "source": source, "source_kind": kind, **unused})


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def recipe_or_error(values: dict[str, object]) -> Recipe | LoopyLatentError:
    try:
        return Recipe.from_dict(values)
    except LoopyLatentError as error:
        return error


@given(st.sampled_from(sorted(Recipe(**PLAIN).to_dict())), JSON)
def test_any_value_is_accepted_or_raises_in_one_line(name, value):
    found = recipe_or_error({**PLAIN, name: value})
    if isinstance(found, LoopyLatentError):
        assert "\n" not in str(found)
    else:
        ast.parse(to_python(found))
        assert to_command(found).isprintable()
