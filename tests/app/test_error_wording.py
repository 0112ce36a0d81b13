"""Error messages on a page name buttons and fields, never Python."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import laboratory_page as laboratory
from helpers.app import button, finished, opened, probabilities, ran
from helpers.nasty import csv_of, numbers
from helpers.uploads import BUTTONS, RING, pressed, shown
from streamlit.testing.v1 import AppTest

from loopylatent.cli.terminal import IN_OPTIONS
from loopylatent.errors import IN_PYTHON, DataError, Remedy, in_words
from loopylatent.ui.open.dialog import DISTANCES, TABLE
from loopylatent.ui.shell.widgets import words
from loopylatent.ui.theory.page import CUSTOM

PACKAGE = Path(__file__).resolve().parents[2] / "loopylatent"
ADVICE = re.compile(
    r"""
    \w\(                                # a call
    | \w=[\w'"{\[(]                     # a keyword
    | \b[A-Z]\w*\.[a-z]\w+             # an attribute
    | \bll\. | \b[Pp]ass\ | \bin\ Python\b
    """,
    re.VERBOSE,
)
"""What only a program can follow: it belongs into a remedy."""
PYTHON = re.compile(
    ADVICE.pattern
    + r"""
    | \b[A-Za-z]+_\w+                   # a name in code
    | \bNone\b
    | \b(?:[Uu]se|[Gg]ive|choose|or)\ ' # a value in quotes
    """,
    re.VERBOSE,
)
"""What only a program can follow, or a person who reads one."""
NOT_ON_PAGES = {
    "setting": "fields and lists offer no value out of range; names that they do offer have words",
    "role": "the columns of a page are those of its table",
    "call": "pages call with what is wanted",
    "no_limit": "no page limits hidden nodes",
    "signs": "the box is not there for states",
    "saved_distances": "pages open no sparse matrices",
    "bic": "a page learns with a penalty where there are rows",
    "rows_for_bic": "a page learns with a penalty where there are rows",
    "rows_for_refine": "a page refines where there are rows",
    "rows_or_scheme": "the list offers what the data can serve",
    "scheduler": "pages work on this machine",
    "dask": "pages work on this machine",
    "metric_for_blocks": "pages read no blocks",
    "cutoff": "pages keep all distances",
}
NOT_IN_COMMANDS = {
    "setting": "options have their names where these differ",
    "role": "every role has its option",
    "call": "commands call with what is wanted",
    "radius_from": "what the summary calls it too",
    "margin": "a formula",
    "metric_for_states": "the choices of --metric",
    "metric_for_all": "the choices of --metric",
    "delimiter": "what no option does, Python does",
    "max_bytes": "what no option does, Python does",
    "ising": "the choice of --kind",
}


# All texts of the package ------------------------------------------------------------------


def outside_remedies(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a syntax tree, without those of remedies."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) in ("Remedy", "wrong_type")):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from outside_remedies(child)


def strings(node: ast.AST) -> Iterator[str]:
    """Texts in a syntax tree; formatted values are replaced by 7."""
    for part in outside_remedies(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        if isinstance(part, ast.JoinedStr):
            values = part.values
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "7" for p in values)


def error_texts(tree: ast.AST) -> Iterator[str]:
    """What is raised, what functions that return errors say, and the parts that these name."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        gives_error = function.returns is not None and "Error" in ast.unparse(function.returns)
        ends = ast.Raise | ast.Return if gives_error else ast.Raise
        raised = [node for node in ast.walk(function) if isinstance(node, ends)]
        parts = [part for node in raised for part in outside_remedies(node)]
        named = {part.id for part in parts if isinstance(part, ast.Name)}
        assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
        used = [one.value for one in assigned if named & {ast.unparse(t) for t in one.targets}]
        for node in (*raised, *used):
            yield from strings(node)


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_advice_for_python_is_only_in_remedies() -> None:
    others = [(path, tree) for path, tree in trees() if path.parent.name != "cli"]
    texts = {text: path for path, tree in others for text in error_texts(tree)}
    assert len(texts) > 200
    found = {text: str(path) for text, path in texts.items() if ADVICE.search(text)}
    assert found == {}, "put it into a Remedy, which every front end words in its own way"


def used_kinds() -> set[str]:
    calls = [call for _, tree in trees() for call in ast.walk(tree) if isinstance(call, ast.Call)]
    remedies = [call for call in calls if ast.unparse(call.func) == "Remedy"]
    return {ast.literal_eval(call.args[0]) for call in remedies}


def test_every_kind_of_remedy_is_used_and_has_words_in_python() -> None:
    assert used_kinds() == set(IN_PYTHON)


@pytest.mark.parametrize(("words", "out_of_reach"), [
    (words.on_pages, NOT_ON_PAGES), (IN_OPTIONS, NOT_IN_COMMANDS),
], ids=["pages", "commands"])  # fmt: skip
def test_every_kind_of_remedy_has_words_or_is_out_of_reach(
    words: Mapping[str, str], out_of_reach: Mapping[str, str]
) -> None:
    for kind, in_python in IN_PYTHON.items():
        own = [text for key, text in words.items() if key == kind]
        assert own or kind in out_of_reach or not PYTHON.search(in_python), kind
    assert {key.split()[0] for key in words} <= set(IN_PYTHON)
    assert not set(words) & set(out_of_reach)
    for text in words.values():
        advised = text.replace("NAME=ordinal", "").replace("r_max", "")
        assert not PYTHON.search(advised.replace("{", "")), text


def test_no_page_shows_an_error_without_the_table() -> None:
    bare = re.compile(r"\bescaped\((?:str\()?[\w.\[\]]*(?:error|reason|notice)\w*\b")
    for path in sorted((PACKAGE / "ui").rglob("*.py")):
        assert not bare.search(path.read_text(encoding="utf-8")), path.name


def test_a_message_keeps_its_remedies_wherever_it_is_kept() -> None:
    inner = DataError("column 'Lambda = x' is constant", Remedy("drop_degenerate"), ".")
    outer = DataError("none could be learned: ", str(inner))
    for kept in (outer, str(outer), pickle.loads(pickle.dumps(outer)), deepcopy(str(outer))):
        assert str(kept).endswith("'Lambda = x' is constant, or pass on_degenerate='drop'.")
        assert in_words(kept, IN_OPTIONS).endswith("is constant, or use --drop-degenerate.")
    assert in_words("plain text", words.on_pages) == "plain text"


# On the pages ------------------------------------------------------------------------------


def table(**more: list[str]) -> bytes:
    return csv_of(numbers().assign(**more))


def letters(n: int = 3) -> list[str]:
    return list(np.array(["a", "b", "c"][:n])[np.arange(len(numbers())) ** 2 % 7 % n])


def used(content: bytes) -> AppTest:
    page = shown(opened(sample=RING), TABLE, "mine.csv", content)
    return pressed(page, BUTTONS[TABLE])


def mixed_columns() -> AppTest:
    page = probabilities(ran(used(table(yes=letters(2)))))
    return finished(ran(button(page, "Fit model").click()), "fit")


def repeated_column() -> AppTest:
    frame = numbers()
    content = csv_of(frame.assign(again=frame.iloc[:, 0]))
    page = shown(opened(sample=RING), TABLE, "mine.csv", content)
    next(one for one in page.button if one.label == "Open file").click()
    next(one for one in page.checkbox if one.label.startswith("Drop columns")).uncheck()
    page.run()
    return pressed(page, BUTTONS[TABLE])


def another_distance(metric: str) -> Callable[[], AppTest]:
    def page() -> AppTest:
        found = ran(used(table(letter=letters())))
        return ran(next(one for one in found.selectbox if one.label == "Distance").select(metric))

    return page


def two_rows_behind() -> AppTest:
    square = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    content = csv_of(pd.DataFrame(square, columns=list("abcd")))
    page = shown(opened(sample=RING), DISTANCES, "d.csv", content)
    next(one for one in page.button if one.label == "Open file").click()
    next(one for one in page.number_input if one.label.startswith("Rows behind")).set_value(2)
    return page.run()


def table_for_distances() -> AppTest:
    return shown(opened(sample=RING), DISTANCES, "d.csv", table())


def other_mark() -> AppTest:
    return shown(opened(sample=RING), TABLE, "t.csv", b"a~b~c\n1~2~3\n3~2~1\n2~1~3\n")


def link(**params: str) -> Callable[[], AppTest]:
    return lambda: opened(sample=RING, **params)


def custom_values() -> AppTest:
    page = laboratory.opened(laboratory.THEORY)
    page = ran(next(o for o in page.radio if o.label == "Source").set_value(CUSTOM))
    return ran(next(one for one in page.number_input if one.label == "θ min").set_value(3.0))


def model_of_numbers() -> AppTest:
    page = laboratory.opened(laboratory.LABORATORY)
    laboratory.lab_of(page).change(kind="gaussian")
    return ran(page.switch_page(laboratory.THEORY))


def tree_without_inside() -> AppTest:
    page = laboratory.opened(laboratory.LABORATORY)
    laboratory.lab_of(page).change(family="tree", n_inner=0)
    return ran(next(one for one in ran(page).number_input if one.label == "Hidden").set_value(0))


SAID: list[tuple[Callable[[], AppTest], str]] = [
    (mixed_columns, "press Columns and drop the other column types, or set binary columns to"),
    (repeated_column, "or tick the box that drops such columns (button Columns)"),
    (another_distance("rank"), "states; choose the distance by column type."),
    (another_distance("determinant"), "Choose canonical correlation."),
    (two_rows_behind, "2 rows are too few; enter at least 3, or 0 if the number is"),
    (table_for_distances, "If the file is a table of observations, choose Table above."),
    (other_mark, "put commas between the columns."),
    (link(r="-1"), "r = -1 is negative; use at least the smallest distance."),
    (link(r="0.001"), "use at least r min = "),
    (link(Lambda="2"), "Λ = 2 is outside [0, 1); try 0.5 / √n"),
    (link(tau="-1"), "τ = -1 is negative"),
    (custom_values, "θ min = 3, θ max = "),
    (model_of_numbers, "has no Ising potentials."),
    (tree_without_inside, "Hidden and Inner are both 0; a tree needs an inner node."),
]


@pytest.mark.parametrize(("page", "says"), SAID, ids=[says[:24] for _, says in SAID])
def test_an_error_on_a_page_names_its_widgets(page: Callable[[], AppTest], says: str) -> None:
    found = page()
    assert [one.value for one in found.exception] == []
    texts = [one.value.replace("\\", "") for one in [*found.error, *found.info, *found.warning]]
    shown = [text for text in texts if says in text]
    assert shown, texts
    assert not PYTHON.search(shown[0].replace(".csv", ""))
