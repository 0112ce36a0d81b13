"""Reproduction of the paper's tables: python -m benchmarks.paper.replicate_paper.

If LOOPYLATENT_REPLICATION names the folder of the paper's data, all tables are computed; otherwise
only the newsgroup tables, on the bundled sample. They are printed and written to
docs/method/replication.md, between the marks there.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks import machine
from benchmarks.paper.replicate_stocks import Stocks, stock_report
from benchmarks.paper.replicate_words import Words, word_report
from benchmarks.speed.density_figure import density_svg
from loopylatent.analysis.evaluation.contest import split_by_column
from loopylatent.distances.matrix import information_distances
from loopylatent.learning.initial_graph import edge_density
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "method" / "replication.md"
PICTURE = DOCS / "images" / "replication-density.svg"


@dataclass(frozen=True, slots=True)
class Data:
    """The data sets available."""

    name: str
    words: Words
    stocks: Stocks | None


def available_data() -> Data:
    """Return the paper's data if LOOPYLATENT_REPLICATION is set, otherwise the bundled posts."""
    folder = os.environ.get("LOOPYLATENT_REPLICATION")
    if not folder:
        posts = load_sample("newsgroups100_roweislike").observations
        return Data("sample", Words("the bundled posts", split_by_column(posts, "split")), None)
    here = Path(folder)
    frame = pd.read_csv(here / "newsgroups_choi_split.csv.gz")
    posts = Observations.from_frame(frame, labels=["choi_split", "newsgroup"])
    words = Words("the paper's posts", split_by_column(posts, "choi_split"))
    returns = pd.read_csv(here / "sp100_monthly_returns_1990_2007.csv.gz", index_col=0)
    codes = pd.read_csv(here / "sp100_tickers_sic.csv")
    stocks = Stocks(
        Observations.from_frame(returns.select_dtypes("number")),
        dict(zip(codes["ticker"], codes["sic"].astype(int), strict=True)),
    )
    return Data("paper", words, stocks)


class Log:
    """Progress on standard error, with the elapsed time."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self, what: str) -> None:
        print(f"{time.perf_counter() - self._start:6.0f} s  {what}", file=sys.stderr, flush=True)


def put(name: str, text: str, page: Path = PAGE) -> None:
    """Write the tables between the marks of their section."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = page.read_text(encoding="utf-8")
    if begin not in old or end not in old:
        raise SystemExit(f"{page.name} lacks the marks {begin} and {end}.")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    fresh = f"{begin}\n{text.strip()}\n{end}"
    page.write_text(pattern.sub(lambda _: fresh, old), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute all tables and write them to the page."""
    load_before = os.getloadavg()[0]
    log = Log()
    data = available_data()
    parts = list(_parts(data, log))
    text = "\n\n".join([*parts, machine(load_before)])
    print(text)
    if "--print" not in (sys.argv[1:] if arguments is None else arguments):
        put(data.name, text)
        if data.stocks is not None:
            PICTURE.write_text(density_of(data.words, data.stocks), encoding="utf-8")


def density_of(words: Words, stocks: Stocks) -> str:
    """Draw the edge densities of both data sets."""
    returns = edge_density(information_distances(stocks.returns))
    return density_svg({"Newsgroup posts": words.split.curve, "Stocks": returns})


def _parts(data: Data, log: Callable[[str], None]) -> Iterator[str]:
    yield word_report(data.words, log)
    if data.stocks is not None:
        yield stock_report(data.stocks, log)


if __name__ == "__main__":
    main()
