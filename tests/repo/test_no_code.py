"""Names and cells are data: nothing in the package executes them."""

from __future__ import annotations

import ast
import io
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from hypothesis import given, strategies as st
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.cli.main import main
from loopylatent.exporting.project.file import digest_of
from loopylatent.tables.files import name_from_csv, name_to_csv, table_to_csv, xml_text
from loopylatent.ui.explore.fit import table_with_hidden
from loopylatent.ui.page import file_stem
from loopylatent.ui.shell.widgets import Fitted

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("loopylatent", "pages", "tools", "benchmarks")
SOURCES = sorted(
    [ROOT / "app.py", *(one for name in FOLDERS for one in ROOT.glob(f"{name}/**/*.py"))]
)
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]
TIMEOUT = 180.0


# Code execution ----------------------------------------------------------------------------


RUNNERS = frozenset(
    (
        *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "pty.spawn"),
        *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads"),
        *("shelve.open", "dill.load", "dill.loads", "joblib.load", "cloudpickle.loads"),
        *("pd.read_pickle", "pandas.read_pickle", "pd.eval", "pandas.eval", "yaml.load"),
        *("jsonpickle.decode", "ET.XMLParser", "numexpr.evaluate", "runpy.run_path"),
    )
)
MODULES = frozenset(
    ("pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "yaml", "joblib")
)


def dangers(source: str) -> Iterator[str]:
    """Yield the calls in a module that execute or unpickle their argument."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    keywords = {one.arg: ast.unparse(one.value) for one in node.keywords if one.arg}
    if name in RUNNERS or name.endswith((".query", ".eval")):
        yield name
    if name in ("np.load", "numpy.load") and keywords.get("allow_pickle") != "False":
        yield f"{name} without allow_pickle=False"
    if keywords.get("allow_pickle") == "True" or keywords.get("shell") == "True":
        yield f"{name} with {keywords}"
    unsafe = ("unsafe_allow_html", "unsafe_allow_javascript")
    if any(keywords.get(one) == "True" for one in unsafe):
        yield f"{name} with markup"


def test_no_module_executes_or_unpickles_data() -> None:
    found = {path: list(dangers(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert not {path: dangerous for path, dangerous in found.items() if dangerous}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "eval(text)",
        "frame.query(text)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
        "st.markdown(name, unsafe_allow_html=True)",
    ],
)
def test_the_check_finds_each_dangerous_call(source: str) -> None:
    assert list(dangers(source))


# Spreadsheets ------------------------------------------------------------------------------


FORMULA = tuple("=+-@\t\r＝＋－＠")


def cells_of(text: str) -> Iterator[str]:
    frame = pd.read_csv(io.StringIO(text), header=None, dtype=str, keep_default_na=False)
    yield from frame.to_numpy().ravel()


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def assert_is_safe(text: str) -> None:
    """Check that no cell is a formula; numbers may start with a sign."""
    wrong = [c for c in cells_of(text) if c.lstrip(" ").startswith(FORMULA) and not is_number(c)]
    assert wrong == []
    assert [part for part in parts_of(text) if part.lstrip().startswith(FORMULA[:4])] == []


def parts_of(text: str) -> Iterator[str]:
    """Yield the cells as a spreadsheet with semicolons as separators would split them."""
    for cell in cells_of(text):
        yield from re.split("[;\t\r\n]", cell)[1:]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "hostile.parquet"
    hostile_frame().to_parquet(path)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["learn"],
        ["distances"],
        ["stability", "--resamples", "2"],
        ["sweep", "--most", "3"],
        ["score", "--test-share", "0.3"],
    ],
    ids=lambda command: command[0],
)
def test_no_command_writes_a_formula(
    command: list[str], table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(table), *command[1:]]) == 0
    text = capsys.readouterr().out
    assert len(text) > 100
    assert_is_safe(text)
    control = [char for char in text if unicodedata.category(char) == "Cc" and char not in "\t\r\n"]
    assert control == [], "no control characters reach the terminal"


@pytest.mark.parametrize(
    "command",
    [["synthetic", "-n", "20"], ["synthetic", "--distances"], ["theory"]],
    ids=["rows", "distances", "theory"],
)
def test_no_command_for_synthetic_data_writes_a_formula(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("=cmd() h\n+1 h\n@x h\n-o h\n", encoding="utf-8")
    assert main([*command, "--edges", str(edges), "--hide", "h"]) == 0
    text = capsys.readouterr().out
    assert len(text) > 100
    assert_is_safe(text)


def test_written_distances_are_read_with_the_same_names(table: Path, tmp_path: Path) -> None:
    target = tmp_path / "distances.csv"
    assert main(["distances", str(table), "-o", str(target)]) == 0
    shown = [name.strip() for name in HOSTILE_NAMES]
    read = ll.read_distances(target).names
    printable = [k for k, name in enumerate(HOSTILE_NAMES) if name.isprintable()]
    assert [read[k] for k in printable] == [shown[k] for k in printable]


@pytest.mark.parametrize("texts_too", [False, True])
def test_the_table_with_hidden_columns_has_no_formula(texts_too: bool) -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=300)
    frame = pd.DataFrame({name: shared + rng.normal(size=300) for name in ("=a", "+b", "c", "@d")})
    words = pd.DataFrame({name: np.where(frame[name] > 0, "=cmd()", "-x") for name in frame})
    obs = ll.Observations.from_frame(words if texts_too else frame)
    graph = ll.learn(ll.information_distances(obs)).graph
    model = ll.fit_parameters(graph, obs)
    text = table_with_hidden(Fitted(model, model.hidden_posteriors(obs)), obs, graph.labels)
    assert_is_safe(text)
    read = pd.read_csv(io.StringIO(text))
    n_numbers = len(read.select_dtypes("number").columns)
    assert n_numbers == graph.n_hidden + (0 if texts_too else 4), "numbers stay numbers"


def test_a_table_of_scores_from_a_project_has_no_formula() -> None:
    frame = pd.DataFrame(
        {"model": ["=cmd()", "tree"], "r": [-1.5, np.nan], "edges": [None, 3], "@x": [-1, 2]}
    )
    text = table_to_csv(frame)
    assert_is_safe(text)
    numeric = frame.columns[1:3]
    assert pd.read_csv(io.StringIO(text))[numeric].equals(frame[numeric].astype(float))


def test_no_download_calls_to_csv_directly() -> None:
    """Downloads are written by the functions that quote formulas."""
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCES]
    calls = [one for tree in trees for one in ast.walk(tree) if isinstance(one, ast.Call)]
    offers = [one for one in calls if ast.unparse(one.func).endswith("download_button")]
    given = [ast.unparse(part.value) for one in offers for part in one.keywords]
    assert offers
    assert [text for text in given if ".to_csv(" in text] == []


def test_a_name_survives_writing_and_reading_a_cell() -> None:
    for name in HOSTILE_NAMES:
        assert name_from_csv(name_to_csv(name)) == re.sub("[\x7f-\x9f]", "\ufffd", xml_text(name))


@given(st.text(st.sampled_from("=+-@＝'ab;,\t\r\n \u00a0\u3000\""), max_size=8))
def test_no_part_of_a_name_is_a_formula_if_a_spreadsheet_splits_it(name: str) -> None:
    cell = name_to_csv(name)
    assert name_from_csv(cell) == name
    assert not cell.startswith(("\t", "\r", "\n"))
    parts = re.split("[;\t\r\n]", cell)
    assert [part for part in parts if part.lstrip().startswith(tuple("=+-@＝"))] == []


@pytest.mark.parametrize("cell", ["a;'b'", "it's; 'tis", "a\n'"])
def test_other_quotes_in_a_cell_are_kept(cell: str) -> None:
    assert name_from_csv(cell) == cell


# File names --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\nb", "$(x)", "<b>.csv", "con.csv", "é"])
def test_the_name_of_a_download_is_harmless(name: str) -> None:
    class Stub:
        recipe = type("R", (), {"source": name, "r": 1.5})()

    stem = file_stem(Stub())  # type: ignore[arg-type]
    assert stem.isascii()
    assert all(c.isalnum() or c in "-_." for c in stem)
    assert not stem.startswith((".", "-"))


# Pages -------------------------------------------------------------------------------------


RAW = (
    *('<img src=x onerror="', "</script><script>", "<b>bold</b> *bold*", "[link](javascript"),
    *("`touch pwned`", "{{ 7 * 7 }}", "://evil", "www.evil", "a@evil", ":streamlit:", "x <= y"),
)
"""Unescaped parts of hostile names."""


def texts(node: Any) -> Iterator[tuple[str, str]]:
    """Yield all texts of a page that Streamlit renders as Markdown or HTML."""
    for one in getattr(node, "children", {}).values():
        yield from texts(one)
    proto = getattr(node, "proto", None)
    for field in ("body", "label", "help", "text", "title"):
        text = getattr(proto, field, None)
        if isinstance(text, str) and text and node.type not in ("code", "text_input", "text_area"):
            yield f"{node.type} {field}", text
    if node.type in ("button_group", "radio"):
        for option in proto.options:
            yield f"{node.type} option", getattr(option, "content", option)


def hostile_page(path: Path) -> AppTest:
    content = io.BytesIO()
    hostile_frame().to_parquet(content)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    page.query_params["sample"] = "latent_cycle"
    page.run()
    session = page.session_state["loopylatent"]
    digest = digest_of(content.getvalue())
    session.keep_upload(digest, content.getvalue())
    D = ll.information_distances(ll.read_table(content.getvalue()))
    thresholds = ll.default_thresholds(D)
    session.open(
        ll.Recipe(
            source="<img src=x onerror=\"\"> *x*.parquet", source_kind="table", data_digest=digest,
            r=thresholds.r, Lambda=thresholds.Lambda, tau=thresholds.tau,
        )
    )  # fmt: skip
    if path.parent.name == "pages":
        page.switch_page(f"pages/{path.name}")
    return page.run()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_page_renders_a_name_as_markup(path: Path) -> None:
    page = hostile_page(path)
    assert [one.value for one in page.exception] == []
    found = list(texts(page._tree))
    assert found
    wrong = [
        (where, raw)
        for where, text in found
        for raw in RAW
        if raw in text and (raw.startswith("<") or not where.startswith("html "))
    ]
    assert wrong == []


def test_the_texts_of_a_page_are_found() -> None:
    found = [text for _, text in texts(hostile_page(ROOT / "app.py")._tree)]
    assert any("onerror" in text for text in found), "the headline has the file name"
    assert any(text.startswith("Stability") or "Radius" in text or "Λ" in text for text in found)
