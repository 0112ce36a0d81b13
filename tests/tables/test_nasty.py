"""Every nasty file, by the package, by the command line and in the app: a graph or one line."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers.nasty import NASTY, Nasty, csv_of, numbers, streamed_bomb
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.cli.main import main
from loopylatent.compute.limits import MEMORY_VARIABLE
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.graph_files import WRITERS, provenance, render
from loopylatent.settings import Method

APP = Path(__file__).resolve().parents[2] / "app.py"
TIMEOUT = 180.0
LONGEST_MESSAGE = 320


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small machine: the ten thousand columns of one file do not fit, all others do."""
    monkeypatch.setenv(MEMORY_VARIABLE, "1000")


def expected(file: Nasty) -> str:
    return "use at most" if file.name == "wide.csv" else file.message


def is_one_clear_line(message: str) -> bool:
    return message.isprintable() and 10 < len(message) <= LONGEST_MESSAGE


def learned(content: bytes) -> ll.LearnResult:
    return ll.learn(ll.information_distances(ll.read_table(content)))


def assert_exports_read_back(result: ll.LearnResult) -> None:
    """Every format is written; those that hold everything give the same graph again."""
    graph = result.graph
    origin = provenance(result)
    files = {form: render(form, graph, origin) for form in WRITERS}
    wanted = {tuple(e): d for e, d in zip(graph.edges.tolist(), graph.lengths, strict=True)}
    read = nx.node_link_graph(json.loads(files["json"]), edges="edges")
    marked_up = nx.parse_graphml(files["graphml"].decode(), node_type=int)
    for found in (read, marked_up):
        edges = {(min(u, v), max(u, v)): d for u, v, d in found.edges(data="distance")}
        assert edges == pytest.approx(wanted, rel=1e-12)
    assert [read.nodes[k]["label"] for k in range(graph.n_nodes)] == list(graph.labels)


SLOW = ("wide.csv", "far columns.xlsx", "far cell.xlsx", "slow bomb.csv.gz", "laughs.xlsx")


def sorted_by_patience(*at_once: str) -> list[Any]:
    """All files; the slow ones are for make test-long, but for those that are named."""
    return [
        pytest.param(one, marks=pytest.mark.long)
        if one.name in SLOW and one.name not in at_once
        else one
        for one in NASTY
    ]


@pytest.mark.parametrize("file", sorted_by_patience("wide.csv"), ids=str)
def test_the_package_gives_a_graph_or_one_line(file: Nasty) -> None:
    content = file.content()
    if not expected(file):
        result = learned(content)
        assert result.graph.n_observed >= 3
        assert np.isfinite(result.graph.lengths).all()
        assert_exports_read_back(result)
        return
    with pytest.raises(LoopyLatentError) as caught:
        learned(content)
    assert expected(file) in str(caught.value)
    assert is_one_clear_line(str(caught.value))


def thirty_of(files: Sequence[Nasty]) -> list[Nasty]:
    """Every front end reads through the package: a share of the files shows that it does."""
    quick = [one for one in files if one.name not in SLOW]
    return quick[:: max(1, len(quick) // 30)]


@pytest.mark.parametrize("file", thirty_of(NASTY), ids=str)
def test_the_command_line_gives_a_graph_or_one_line(
    file: Nasty, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, target = tmp_path / file.name, tmp_path / "out.graphml"
    table.write_bytes(file.content())
    status = main(["learn", str(table), "-o", str(target)])
    shown = capsys.readouterr()
    assert shown.out == ""
    said = shown.err.splitlines()
    error_lines = [line for line in said if line.startswith("loopylatent: ")]
    if not expected(file):
        assert (status, error_lines) == (0, [])
        assert nx.read_graphml(target).number_of_nodes() >= 3
        return
    assert status == 2
    assert error_lines == said[-1:]
    assert expected(file) in error_lines[0]
    assert is_one_clear_line(error_lines[0])
    assert not target.exists()


# The page ----------------------------------------------------------------------------------


def opened_page() -> AppTest:
    page = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    page.query_params["sample"] = "latent_cycle"
    page.query_params["tau"] = "0.123"
    page.run()
    return asked(page).run()


def asked(page: AppTest) -> AppTest:
    """Keep the dialog open in the next run: without a browser it closes after each."""
    next(one for one in page.button if one.label == "Open file").click()
    return page


def use_button(page: AppTest) -> list[object]:
    return [one for one in page.button if one.label == "Use table"]


@pytest.fixture(scope="module")
def page() -> AppTest:
    return opened_page()


IN_THE_APP = {
    "wide.csv": "10,000 columns are ",
    "longer header.csv": "more than the limit of",
}
"""What is said there alone."""
AT_ONCE = (
    *("empty.csv", "ragged.csv", "bomb.csv.gz", "lying bomb.xlsx", "formulas.xlsx"),
    *("list.parquet", "days.parquet", "euro.csv", "two currencies.csv", "markup.parquet"),
    *("longer header.csv", "stray cell.xlsx", "long number.csv"),
    *("control.parquet", "constant.csv", "pair.csv", "orthogonal.csv", "never together.csv"),
    *("tracking numbers.csv", "broken text.parquet", "types.parquet", "odd names.xlsx"),
    *("declared.csv", "no names.csv", "lone return.csv", "old mac cells.csv", "web page.xlsx"),
)
"""Files that are put into the page each time; make test-long puts in all of them."""


@pytest.mark.parametrize(
    "file",
    [one if one.name in AT_ONCE else pytest.param(one, marks=pytest.mark.long) for one in NASTY],
    ids=str,
)
def test_the_page_takes_a_file_or_rejects_it_in_one_line(page: AppTest, file: Nasty) -> None:
    before = page.session_state["loopylatent"].recipe
    asked(page).file_uploader[0].set_value((file.name, file.content(), "text/csv")).run()
    assert [one.value for one in page.exception] == []
    said = [one.value.replace("\\", "") for one in page.error]
    assert len(said) <= 1
    if use_button(page) and not said:
        asked(page)
        use_button(page)[0].click().run()  # type: ignore[attr-defined]
        assert [one.value for one in page.exception] == []
        said = [one.value.replace("\\", "") for one in page.error]
    recipe = page.session_state["loopylatent"].recipe
    if recipe == before:
        assert len(said) == 1, "rejected without a message"
        assert "\n" not in said[0]
        assert IN_THE_APP.get(file.name, expected(file)) in said[0]
    else:
        assert recipe.source == file.name
        next(one for one in page.button if one.label == "Undo").click().run()
        assert page.session_state["loopylatent"].recipe == before, "the settings are still there"
    asked(page).run()
    assert [one.value for one in page.exception] == []


# Thresholds and weights --------------------------------------------------------------------


@pytest.fixture(scope="module")
def distances() -> ll.DistanceMatrix:
    return ll.information_distances(numbers())


@pytest.mark.parametrize("name", ["r", "Lambda", "tau"])
@pytest.mark.parametrize(
    "value",
    [0.0, -0.0, -1.0, 1e-300, 1e-9, 0.5, 0.999999, 1.0, 1e9, 1e300, np.inf, -np.inf, np.nan],
)
def test_any_threshold_gives_a_graph_or_one_line(
    distances: ll.DistanceMatrix, name: str, value: float
) -> None:
    for method in get_args(Method):
        error_text = ""
        try:
            result = ll.learn(distances, **{name: value}, method=method)
        except LoopyLatentError as error:
            error_text = str(error)
        if error_text:
            assert is_one_clear_line(error_text)
        else:
            assert np.isfinite(result.graph.lengths).all()
            assert (result.graph.degrees[result.graph.n_observed :] >= 3).all()
            assert_exports_read_back(result)


@pytest.mark.parametrize("given", ["nan", "inf", "-inf", "1e400", "", "x", "-5", "0"])
def test_the_command_line_rejects_thresholds_in_one_line(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes(csv_of(numbers()))
    try:
        status = main(["learn", str(table), f"--r={given}"])
    except SystemExit as end:  # not a number
        status = int(str(end.code))
    lines = capsys.readouterr().err.splitlines()
    assert status == 2
    assert "Traceback" not in " ".join(lines)
    assert is_one_clear_line(lines[-1])


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([0.0] * 60, "sum to 0"),
        ([-1.0, *[1.0] * 59], "weight of data row 1 is -1"),
        ([*[1.0] * 59, np.nan], "weight of data row 60 is nan"),
        ([np.inf, *[1.0] * 59], "weight of data row 1 is inf"),
        (["many", *[1.0] * 59], "must be numbers"),
        ([1.0, 1.0, 1.0, *[0.0] * 57], ""),
        ([1e-9] * 60, "sum to"),
        ([1e12] * 60, ""),
    ],
)
def test_weights_count_or_are_rejected_in_one_line(weights: list[object], says: str) -> None:
    def graph() -> ll.LatentGraph:
        obs = ll.Observations.from_frame(numbers().assign(w=weights), weights="w")
        return ll.learn(ll.information_distances(obs)).graph

    if not says:
        assert np.isfinite(graph().lengths).all()
        return
    with pytest.raises(LoopyLatentError, match=says) as caught:
        graph()
    assert is_one_clear_line(str(caught.value))


def test_three_rows_and_three_columns_are_enough() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [2.5, 1, 4], "c": [0, 7, 2]})
    assert ll.learn(ll.information_distances(frame)).graph.n_observed == 3


# Bombs -------------------------------------------------------------------------------------


def peak_megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


@pytest.mark.long
def test_a_bomb_that_is_packed_as_well_as_can_be_takes_little_memory() -> None:
    content = streamed_bomb()
    before = peak_megabytes()
    with pytest.raises(LoopyLatentError, match="unpacks to more than"):
        ll.read_table(content)
    assert peak_megabytes() - before < 100


# Places ------------------------------------------------------------------------------------


@pytest.mark.parametrize("through", ["itself", "link"])
def test_no_command_writes_over_its_table(
    through: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes(csv_of(numbers()))
    place = table if through == "itself" else tmp_path / "link.csv"
    if through == "link":
        place.symlink_to(table)
    assert main(["learn", str(table), "-o", str(place)]) == 2
    assert "is the table itself. Use another file" in capsys.readouterr().err
    assert table.read_bytes() == csv_of(numbers())


def test_a_number_of_rows_for_a_table_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes(csv_of(numbers()))
    assert main(["learn", str(table), "--n-samples", "7"]) == 2
    assert "--n-samples" in capsys.readouterr().err.splitlines()[-1]
