"""Sparse tables from files: the same rows as in memory, or one line that says what is wrong."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers.hostile import HOSTILE_NAMES
from hypothesis import given, settings, strategies as st
from scipy import io as scipy_io, sparse

import loopylatent as ll
from loopylatent.cli.main import main
from loopylatent.errors import DataError, LoopyLatentError

FORMS = ("csr", "csc", "coo")


def words(n=400, p=30, seed=0):
    """Which words are in which documents: every five columns go with one topic."""
    rng = np.random.default_rng(seed)
    topics = rng.random((n, p // 5 + 1)) < 0.3
    chance = np.where(np.repeat(topics, 5, axis=1)[:, :p], 0.5, 0.05)
    return sparse.csr_array((rng.random((n, p)) < chance).astype(float))


def as_mtx(matrix, **options) -> bytes:
    target = io.BytesIO()
    scipy_io.mmwrite(target, matrix, **options)
    return target.getvalue()


def as_npz(matrix) -> bytes:
    target = io.BytesIO()
    sparse.save_npz(target, matrix)
    return target.getvalue()


def npz_of(**arrays) -> bytes:
    target = io.BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()


def csr_parts(**changes):
    matrix = words(6, 5)
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape),
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
    }
    return {**parts, **changes}


def mtx_of(head: str, body: str, kind: str = "coordinate integer general") -> bytes:
    return f"%%MatrixMarket matrix {kind}\n{head}\n{body}".encode()


# Entries of one cell ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float64])
def test_entries_of_one_cell_are_added_whatever_their_type(kind):
    rows, columns = np.repeat([0, 1, 2, 3], [300, 10, 5, 1]), np.zeros(316, dtype=int)
    columns[-9:] = [1, 2, 1, 2, 0, 1, 2, 1, 2]
    many = sparse.coo_array((np.ones(316, kind), (rows, columns)), shape=(4, 3))
    expected = many.astype(float).toarray()
    for obs in (ll.Observations.from_array(many), ll.read_sparse(as_npz(many))):
        assert np.array_equal(obs.to_frame().to_numpy(), expected)


def test_places_that_a_pattern_names_twice_are_there_once():
    text = mtx_of("4 3 6", "1 1\n1 1\n2 2\n3 3\n4 1\n4 2\n", "coordinate pattern general")
    obs = ll.read_sparse(text)
    assert obs.kinds == ("binary",) * 3
    assert obs.dense()[0, 0] == 1.0


# Files that are read -----------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whole", [np.int32, np.int64])
def test_a_saved_matrix_is_the_table_in_memory(form, whole, tmp_path):
    path = tmp_path / "words.npz"
    matrix = words().asformat(form)
    if form != "coo":
        matrix.indices, matrix.indptr = matrix.indices.astype(whole), matrix.indptr.astype(whole)
    path.write_bytes(as_npz(matrix))
    obs = ll.read_sparse(path)
    assert obs.is_sparse
    assert obs.digest == ll.Observations.from_array(words()).digest


@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_matrix_market_file_is_the_table_in_memory(field, pack, tmp_path):
    path = tmp_path / "words.mtx.gz"
    path.write_bytes(pack(as_mtx(words(), field=field)))
    assert ll.read_sparse(path).digest == ll.Observations.from_array(words()).digest


def test_entries_given_twice_are_added():
    twice = mtx_of("4 3 6", "1 1 2\n1 1 3\n2 2 1\n3 3 1\n4 2 1\n4 1 1\n")
    assert ll.read_sparse(twice).dense().tolist() == [[5, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]


def test_names_come_from_a_list_or_from_a_file(tmp_path):
    names = [f"word {k}" for k in range(30)]
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_bytes("\ufeff{}\r\n".format("\r\n".join(names)).encode())
    content = as_npz(words())
    assert ll.read_sparse(content, vocabulary).names == tuple(names)
    assert ll.read_sparse(content, str(vocabulary)).names == tuple(names)
    assert ll.read_sparse(content, names).names == tuple(names)
    assert ll.read_sparse(content).names[:2] == ("x1", "x2")


def test_columns_can_be_left_out_or_weigh_rows():
    rows = words()
    weighted = sparse.hstack([rows, sparse.csr_array(np.full((400, 1), 2.0))])
    obs = ll.read_sparse(as_npz(weighted), drop=["x1"], weights="x31")
    assert obs.n_columns == 29
    assert obs.n_samples == 800


# Files that are rejected --------------------------------------------------------------------

PICKLED = npz_of(**csr_parts(data=np.array([{}], dtype=object)))
REJECTED = {
    "nothing": (b"", "neither"),
    "a table": (b"a,b,c\n1,2,3\n", "neither"),
    "another archive": (npz_of(values=np.eye(3)), "does not contain a sparse matrix"),
    "a pickle": (PICKLED, "cannot be read"),
    "an index beyond the columns": (
        npz_of(**csr_parts(indices=csr_parts()["indices"] + 100)),
        "cannot be read",
    ),
    "a negative index": (npz_of(**csr_parts(indices=csr_parts()["indices"] - 3)), "cannot be read"),
    "rows that go backwards": (
        npz_of(**csr_parts(indptr=csr_parts()["indptr"][[0, 3, 2, 1, 4, 5, 6]])),
        "cannot be read",
    ),
    "a form of its own": (npz_of(**csr_parts(format=np.array(b"spy"))), "cannot be read"),
    "blocks": (as_npz(sparse.bsr_array(np.eye(4))), "formats csr, csc, coo"),
    "complex numbers": (as_npz(words(6, 5) * 1j), "complex"),
    "complex text": (as_mtx(words(6, 5) * 1j), "complex"),
    "every cell": (as_mtx(np.eye(4)), "is a dense matrix"),
    "half a file": (as_mtx(words())[:1500], "save the matrix again"),
    "half an archive": (as_npz(words())[:-300], "cannot be read"),
    "a row too many": (mtx_of("3 3 1", "4 1 1\n"), "cannot be read"),
    "a word": (mtx_of("3 3 1", "1 1 one\n"), "cannot be read"),
    "part of a place": (mtx_of("3 3 1", "1.5 1 1\n"), "not a whole number"),
    "a place below 1": (mtx_of("3 3 1", "0 1 1\n"), "cannot be read"),
    "a number too many": (mtx_of("3 3 1", "1 1 1 1\n"), "4 numbers on a line"),
    "a symmetric matrix": (
        mtx_of("3 3 1", "1 1 1\n", "coordinate real symmetric"),
        "'real symmetric'",
    ),
    "a short promise": (mtx_of("3 3 900000000000", "1 1 1\n"), "too many"),
    "a promise within limits": (
        mtx_of("3 3 100000000", "1 1 1\n"),
        "1 entries but declares 100,000,000",
    ),
    "very many columns": (mtx_of("3 2000000000 1", "1 1 1\n"), "columns are more than the limit"),
    "very many rows": (mtx_of("2000000000 3 1", "1 1 1\n"), "rows are too many"),
    "no header": (mtx_of("three", "1 1 1\n"), "cannot be read"),
    "nothing but 0": (mtx_of("4 3 1", "1 1 0\n"), "columns are constant"),
    "not a number": (as_npz(words(6, 5) * np.nan), "NaN"),
    "two rows": (as_npz(words(2, 5)), "There are 2 rows"),
    "one row of cells": (as_npz(sparse.coo_array(np.ones(4))), "formats csr, csc, coo"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_a_bad_file_is_rejected_with_one_line(case, tmp_path):
    content, says = REJECTED[case]
    path = tmp_path / "bad.mtx"
    path.write_bytes(content)
    with pytest.raises(LoopyLatentError) as caught:
        ll.read_sparse(path)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert len(message) < 300


class Harmful:
    """Writes a file when it is unpickled."""

    def __reduce__(self):
        return open, ("pwned", "w")


def test_nothing_in_a_file_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in csr_parts().items():
            if name == "data":
                archive.writestr("data.npy", pickle.dumps(Harmful()))
                continue
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(f"{name}.npy", member.getvalue())
    with pytest.raises(DataError, match="cannot be read"):
        ll.read_sparse(content.getvalue())
    assert not list(tmp_path.iterdir())


def test_an_archive_that_unpacks_to_far_more_is_rejected():
    target = io.BytesIO()
    np.savez_compressed(target, **csr_parts(data=np.zeros(4_000_000)))
    with pytest.raises(DataError, match="unpacks to more than"):
        ll.read_sparse(target.getvalue())


@given(data=st.data(), content=st.sampled_from([as_npz(words(20, 6)), as_mtx(words(20, 6))]))
@settings(max_examples=150)
def test_a_damaged_file_is_a_table_or_one_line(data, content):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        obs = ll.read_sparse(bytes(damaged), on_degenerate="drop")
    except LoopyLatentError as error:
        said = str(error)
    else:
        said = repr(obs)
        assert obs.values.indices.max(initial=0) < obs.n_columns
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("one\ntwo\n", "2 names for 30 columns"),
        ("\n".join(["same"] * 30), "30 columns are called 'same'"),
        ("\n".join(["a", "", *"bcdefghijklmnopqrstuvwxyzABC"]), "Column 2 of 30 has no name"),
        ("\x00" * 30, "not a text file"),
    ],
)
def test_names_that_do_not_fit_are_rejected(text, says, tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        ll.read_sparse(as_npz(words()), path)


# The command line --------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """The same words as a sparse file with a vocabulary, and as a table."""
    matrix, names = words(), [f"w{k}" for k in range(30)]
    (tmp_path / "words.mtx").write_bytes(as_mtx(matrix, field="integer"))
    (tmp_path / "vocabulary.txt").write_text("\n".join(names))
    pd.DataFrame(matrix.toarray().astype(int), columns=names).to_csv(
        tmp_path / "words.csv", index=False
    )
    return tmp_path


def edges_of(path):
    graph = nx.read_graphml(path)
    label = nx.get_node_attributes(graph, "label")
    return {frozenset((label.get(u, u), label.get(v, v))) for u, v in graph.edges}


def test_a_sparse_file_gives_the_graph_of_the_table(files, capsys):
    sparse_file, table = str(files / "words.mtx"), str(files / "words.csv")
    thresholds = ["--r", "2", "--Lambda", "0.05", "--tau", "0.2"]
    near = ["--columns", str(files / "vocabulary.txt"), "--cutoff", "2.2"]
    ours, theirs = str(files / "near.graphml"), str(files / "all.graphml")
    assert main(["learn", sparse_file, *near, *thresholds, "-o", ours]) == 0
    said = capsys.readouterr().err
    assert "400 rows, 30 columns" in said
    assert "pairs within 2.2000" in said
    assert main(["learn", table, *thresholds, "-o", theirs]) == 0
    assert edges_of(ours) == edges_of(theirs)
    assert any("h" in name for edge in edges_of(ours) for name in edge)


def test_distances_of_a_sparse_file_are_its_near_pairs(files, capsys):
    command = ["distances", str(files / "words.mtx"), "--cutoff", "1.5"]
    assert main([*command, "-o", str(files / "pairs.csv")]) == 0
    frame = pd.read_csv(files / "pairs.csv")
    D = ll.information_distances(words())
    near = np.argwhere(np.triu(D.values <= 1.5, 1))
    assert f"{len(near)} pairs" in capsys.readouterr().err
    assert list(zip(frame["column_1"], frame["column_2"], strict=True)) == [
        (D.names[u], D.names[v]) for u, v in near
    ]
    assert frame["distance"].to_numpy() == pytest.approx(D.values[tuple(near.T)], abs=1e-12)
    assert main(command) == 0
    assert capsys.readouterr().out == (files / "pairs.csv").read_text()


def test_other_commands_read_a_sparse_file_too(files, capsys):
    command = ["score", str(files / "words.mtx"), "--columns", str(files / "vocabulary.txt")]
    assert main([*command, "--r", "2", "--tau", "0.5"]) == 0, capsys.readouterr().err
    assert "perp_ll," in capsys.readouterr().out


def test_repeated_and_constant_columns_are_counted_where_they_are_left_out(tmp_path, capsys):
    matrix = sparse.hstack([words(), words()[:, [0, 1]], sparse.csr_array((400, 3))])
    path = tmp_path / "words.npz"
    path.write_bytes(as_npz(matrix))
    assert main(["learn", str(path), "--drop-degenerate", "-o", str(tmp_path / "g.json")]) == 0
    said = capsys.readouterr().err
    assert "not variables: 3 columns (constant)" in said
    assert "dropped 2 columns: equal to another" in said
    assert main(["learn", str(path)]) == 2
    assert "constant" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["words.mtx", "--regularize", "bic"], "--regularize needs all distances"),
        (["words.mtx", "--report", "r.html"], "--report needs all distances"),
        (["words.mtx", "--metric", "rank"], "--metric rank"),
        (["words.mtx", "--cutoff", "-1"], "cutoff"),
        (["words.mtx", "--cutoff", "2", "--r", "3"], "beyond the cut-off"),
        (["words.mtx", "--columns", "none.txt"], "no file"),
        (["words.csv", "--columns", "vocabulary.txt"], "--columns needs a sparse file"),
        (["words.csv", "--cutoff", "3"], "--cutoff needs a sparse file"),
        (["none.mtx"], "no file"),
    ],
)
def test_what_does_not_go_together_is_rejected(options, says, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert main(["learn", *options]) == 2
    said = capsys.readouterr().err.splitlines()
    assert says in said[-1]


def test_a_file_that_near_pairs_are_not_written_to_is_rejected_first(files, monkeypatch, capsys):
    monkeypatch.setattr("loopylatent.cli.inputs.read_sparse", lambda *_: pytest.fail("read"))
    command = ["distances", str(files / "words.mtx"), "-o", str(files / "pairs.npz")]
    assert main(command) == 2
    assert "only be written as .csv" in capsys.readouterr().err


# Names that try to run ---------------------------------------------------------------------

NASTY_LINES = [name.replace("\n", " ").replace("\r", " ").strip() for name in HOSTILE_NAMES]


@pytest.mark.parametrize("ending", ["graphml", "json", "csv", "nodes.csv", "gexf", "html"])
def test_hostile_names_are_exported_as_names(ending, tmp_path):
    (tmp_path / "words.npz").write_bytes(as_npz(words(500, len(NASTY_LINES))))
    (tmp_path / "vocabulary.txt").write_text("\n".join(NASTY_LINES), encoding="utf-8", newline="")
    target = tmp_path / f"graph.{ending}"
    names = ["--columns", str(tmp_path / "vocabulary.txt")]
    assert main(["learn", str(tmp_path / "words.npz"), *names, "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    if ending == "json":
        labels = {node["label"] for node in json.loads(text)["nodes"]}
        assert set(NASTY_LINES) <= labels
    elif ending == "graphml":
        assert nx.read_graphml(target).number_of_nodes() >= len(NASTY_LINES)
    elif ending == "html":
        assert "<script>window.hacked" not in text
    else:
        assert "window.hacked" in text
