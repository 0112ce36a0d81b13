"""The script that reproduces the paper's tables: the values copied from it, and our texts."""

from __future__ import annotations

import math

import pytest

from benchmarks.paper.paper_tables import (
    TABLE_1,
    TABLE_1_LDA,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    sector,
)
from benchmarks.paper.replicate_paper import put
from benchmarks.paper.replicate_stocks import cycles, table_4, unchanged
from benchmarks.paper.replicate_words import linked, most_similar
from loopylatent.distances.matrix import information_distances
from loopylatent.graph import LatentGraph

POSTS, WORDS, MONTHS, COLUMNS = 8121, 100, 216, 85


def df_between(perp_ll: float, perp_bic: float, n: int, p: int) -> float:
    return 2 * math.log(perp_bic / perp_ll) * n * p / math.log(n)


def rounding(perp: float, n: int, p: int) -> float:
    """Error of the degrees of freedom from rounding both perplexities to four decimals."""
    return 2 * (1e-4 / perp) * n * p / math.log(n)


@pytest.mark.parametrize("r", TABLE_1)
def test_the_two_columns_of_table_1_give_its_degrees_of_freedom(r):
    row = TABLE_1[r]
    df = WORDS + row.hidden + row.edges
    found = df_between(row.perp_ll, row.perp_bic, POSTS, WORDS)
    assert found == pytest.approx(df, abs=rounding(row.perp_ll, POSTS, WORDS))
    found = df_between(row.pred_perp_ll, row.pred_perp_bic, POSTS, WORDS)
    assert found == pytest.approx(df, abs=rounding(row.pred_perp_ll, POSTS, WORDS))


@pytest.mark.parametrize("topics", TABLE_1_LDA)
def test_the_two_columns_of_lda_give_p_topics_minus_one(topics):
    row = TABLE_1_LDA[topics]
    found = df_between(row.perp_ll, row.perp_bic, POSTS, WORDS)
    assert found == pytest.approx(WORDS * topics - 1, abs=rounding(row.perp_ll, POSTS, WORDS))


@pytest.mark.parametrize("r", TABLE_4)
def test_the_two_columns_of_table_4_give_its_degrees_of_freedom(r):
    row = TABLE_4[r]
    found = df_between(row.perp_ll, row.perp_bic, MONTHS, COLUMNS)
    assert found == pytest.approx(COLUMNS + row.hidden + row.edges, abs=1.2)


def test_topics_of_the_paper_have_ten_different_words():
    for text in [*TABLE_2.values(), *TABLE_3.values()]:
        assert len(set(text.split())) == 10


def test_tables_replace_only_the_text_between_their_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# a\n<!-- paper: begin -->\nold\n<!-- paper: end -->\nb \\1 c\n")
    put("paper", r"new \1 table", page)
    expected = "# a\n<!-- paper: begin -->\nnew \\1 table\n<!-- paper: end -->\nb \\1 c\n"
    assert page.read_text() == expected
    with pytest.raises(SystemExit, match="lacks the marks"):
        put("sample", "x", page)


def test_the_most_similar_of_our_topics_is_compared_with_the_papers():
    table = most_similar(list("abcdef"), [(0, 1, 2), (3, 4, 5)], {"7": "d e x"})
    assert "**d** **e** f" in table
    assert "| 2 |" in table


def test_links_are_reported_as_edges_or_steps():
    graph = LatentGraph.build(["computer", "software", "pc"], 1, [(0, 3), (1, 3), (2, 3)])
    assert "2 steps apart through one hidden node" in linked(graph, "computer", "software")
    path = LatentGraph.build(["computer", "software", "pc"], 0, [(0, 1), (1, 2)])
    assert "an edge" in linked(path, "computer", "software")
    assert linked(path, "computer", "zebra") == ""


def test_oil_field_machinery_counts_as_oil():
    assert {sector(code) for code in (1311, 1389, 2911, 3533)} == {"oil and gas"}
    assert sector(0) == "index"
    assert sector(9999) == "other"


@pytest.fixture(scope="module")
def stocks(stock_returns):
    return information_distances(stock_returns)


def test_stock_graphs_do_not_change_on_the_papers_intervals(stocks):
    for line in unchanged(stocks).splitlines():
        assert ": 1 different graph over" in line
        assert "26 hidden, 111 edges" in line


def test_the_first_cycle_connects_oil_companies(stocks):
    groups = dict.fromkeys(("CVX", "BHI", "XOM", "COP", "OXY", "SLB", "HAL"), "oil and gas")
    first = cycles(stocks, groups).splitlines()[0]
    assert "CVX" in first
    assert "BHI" in first
    assert "oil and gas" in first


def test_table_4_has_the_papers_counts_in_its_rows(stocks, stock_returns):
    lines = table_4(stocks, stock_returns, radii=(8.2,)).splitlines()[2:]
    (cells,) = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[:7] == ["8.2", "26", "26", "26", "110", "110", "110"]
