from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import sparse, stats
from sklearn.cross_decomposition import CCA

from loopylatent.distances.blocks import _held, _portions_together
from loopylatent.distances.files import read_distances, to_npz
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.distances.strengths import SumPlan
from loopylatent.errors import DataError, DistanceError, LoopyLatentError
from loopylatent.tables.observations import Observations


def chain(rng, n, p, noise=1.0):
    return np.cumsum(rng.normal(size=(n, p)) * noise, axis=1)


def off_diagonal(values):
    return values[~np.eye(len(values), dtype=bool)]


def test_numeric_columns_get_minus_log_of_absolute_pearson(rng):
    X = chain(rng, 400, 6)
    X[:, 3] *= -1
    D = information_distances(X)
    rho = np.corrcoef(X.T)
    assert np.allclose(off_diagonal(D.values), off_diagonal(-np.log(np.abs(rho))))
    assert (off_diagonal(D.signs) == off_diagonal(np.sign(rho))).all()
    assert (np.diag(D.values) == 0).all()


def test_binary_columns_get_the_same_by_correlation_determinant_and_canonical(rng):
    X = (chain(rng, 500, 5) > 0).astype(int)
    obs = Observations.from_array(X)
    by = {m: information_distances(obs, m).values for m in ("correlation", "canonical")}
    letters = pd.DataFrame(np.where(X == 1, "b", "a"), columns=list("vwxyz"))
    by["determinant"] = information_distances(letters, "determinant").values
    assert np.allclose(by["correlation"], by["canonical"])
    assert np.allclose(by["correlation"], by["determinant"])


def test_determinant_is_additive_on_a_markov_chain_and_the_printed_form_is_not():
    # exact joint tables of a chain a - b - c over three states, as integer-weighted rows
    T = np.array([[8, 1, 1], [2, 7, 1], [1, 2, 7]]) / 10
    U = np.array([[6, 3, 1], [1, 8, 1], [2, 2, 6]]) / 10
    start = np.array([0.5, 0.3, 0.2])
    rows, weights = [], []
    for a in range(3):
        for b in range(3):
            for c in range(3):
                rows.append(["xyz"[a], "xyz"[b], "xyz"[c]])
                weights.append(round(1000 * start[a] * T[a, b] * U[b, c]))
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    obs = Observations.from_frame(frame, weights=weights)
    d = information_distances(obs).values
    assert information_distances(obs).metric == "determinant"
    assert d[0, 1] + d[1, 2] == pytest.approx(d[0, 2], rel=1e-9)
    printed = information_distances(obs, "determinant-printed")
    assert not printed.is_additive
    assert abs(printed.values[0, 1] + printed.values[1, 2] - printed.values[0, 2]) > 1


def test_canonical_strength_equals_the_first_canonical_correlation(rng):
    z = rng.normal(size=600)
    group = np.digitize(z + rng.normal(size=600), [-0.7, 0.4])
    frame = pd.DataFrame(
        {
            "number": z + rng.normal(size=600),
            "kind": np.array(["red", "green", "blue"])[group],
            "flag": np.where(z + rng.normal(size=600) > 0, "yes", "no"),
        }
    )
    D = information_distances(frame)
    assert D.metric == "canonical"
    assert not D.is_additive
    indicators = pd.get_dummies(frame["kind"]).to_numpy(float)[:, 1:]
    for other, feature in (("number", frame["number"]), ("flag", frame["flag"] == "yes")):
        x = np.asarray(feature, dtype=float)[:, None]
        a, b = CCA(n_components=1, max_iter=5000).fit(indicators, x).transform(indicators, x)
        expected = abs(np.corrcoef(a[:, 0], b[:, 0])[0, 1])
        j = D.names.index(other)
        assert math.exp(-D.values[D.names.index("kind"), j]) == pytest.approx(expected, rel=1e-4)


def test_ranks_give_spearman_with_missing_values_left_out(rng):
    X = np.exp(chain(rng, 300, 4))
    D = information_distances(X, "rank")
    expected = np.abs(stats.spearmanr(X).statistic)
    assert np.allclose(np.exp(-D.values), expected)


@pytest.mark.parametrize("metric", ["correlation", "canonical"])
def test_missing_values_use_the_rows_in_which_both_are_present(rng, metric):
    X = chain(rng, 200, 5)
    X[rng.random(X.shape) < 0.2] = np.nan
    D = information_distances(X, metric)
    expected = pd.DataFrame(X).corr().abs().to_numpy()
    assert np.allclose(np.exp(-D.values), expected)
    both = ~np.isnan(X[:, 1]) & ~np.isnan(X[:, 3])
    assert D.pair_counts[1, 3] == both.sum()


@pytest.mark.parametrize("metric", ["correlation", "canonical"])
def test_a_column_that_is_constant_where_another_is_present_is_infinitely_far(rng, metric):
    x = np.round(rng.normal(size=(200, 4)) + rng.normal(size=(200, 1)), 2) + 5
    x[:100, 0] = 7.3
    x[100:, 1] = np.nan
    D = information_distances(x, metric)
    assert D.values[0, 1] == np.inf
    assert D.r_max < 10


def test_missing_letters_use_the_rows_in_which_both_are_present(rng):
    codes = np.digitize(chain(rng, 400, 3), [-0.5, 0.5])
    frame = pd.DataFrame(np.array(list("abc"))[codes], columns=["u", "v", "w"])
    frame.iloc[:50, 0] = None
    D = information_distances(frame, "determinant")
    complete = information_distances(frame.iloc[50:].reset_index(drop=True), "determinant")
    assert D.values[0, 1] == pytest.approx(complete.values[0, 1])
    assert D.pair_counts[0, 1] == 350


@pytest.mark.parametrize("metric", ["correlation", "rank", "canonical"])
def test_a_row_of_weight_three_counts_as_three_rows(rng, metric):
    X = chain(rng, 60, 4)
    weights = rng.integers(1, 4, size=60)
    weighted = information_distances(Observations.from_array(X, weights=weights), metric)
    repeated = information_distances(np.repeat(X, weights, axis=0), metric)
    assert np.allclose(weighted.values, repeated.values)
    assert weighted.n_samples == weights.sum() == repeated.n_samples


def test_sparse_input_stays_sparse_and_equals_dense(rng):
    X = (rng.random((300, 8)) < 0.2).astype(float)
    X[:, 1] = np.maximum(X[:, 1], X[:, 0] * (rng.random(300) < 0.7))
    obs = Observations.from_array(sparse.csr_array(X))
    assert obs.is_sparse
    assert np.allclose(information_distances(obs).values, information_distances(X).values)


def test_rows_in_blocks_give_the_same_as_rows_at_once(rng, monkeypatch):
    X = chain(rng, 500, 6)
    X[rng.random(X.shape) < 0.1] = np.nan
    whole = information_distances(X).values
    monkeypatch.setattr("loopylatent.compute.limits.BLOCK_CELLS", 6 * 37)
    assert np.allclose(information_distances(X).values, whole, rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_shifting_scaling_and_flipping_a_column_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    X = chain(rng, 40, 4)
    changed = X * np.array([1, -3, 0.01, 1e6]) + np.array([0, 1e3, -7, 5])
    assert np.allclose(
        information_distances(X).values, information_distances(changed).values, atol=1e-6
    )


def test_exact_independence_is_an_infinite_distance():
    D = information_distances(np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 0]]))
    assert D.values[0, 1] == np.inf
    assert np.isfinite(D.values[0, 2])


def test_columns_that_all_look_independent_are_rejected():
    table = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    with pytest.raises(DistanceError, match="look independent"):
        information_distances(table)


def test_a_repeated_column_is_named_and_can_be_dropped(rng):
    X = pd.DataFrame(chain(rng, 50, 4), columns=list("abcd"))
    X["copy"] = -2 * X["b"] + 1
    with pytest.raises(DistanceError, match=r"'b' and 'copy'.*on_degenerate='drop'"):
        information_distances(X)
    assert information_distances(X, on_degenerate="drop").names == ("a", "b", "c", "d")


def test_noise_floor_is_two_standard_errors():
    D = DistanceMatrix.from_array(np.ones((3, 3)) - np.eye(3), n_samples=8121)
    assert D.noise_floor == pytest.approx(-math.log(2 / math.sqrt(8121)))
    assert D.noise_floor == pytest.approx(3.81, abs=0.005)


def test_permutation_noise_floor_agrees_with_the_formula_for_binary_columns(rng):
    X = (chain(rng, 1000, 30) > 0).astype(int)
    floor = information_distances(X, "canonical").noise_floor
    assert floor == pytest.approx(-math.log(2 / math.sqrt(1000)), abs=0.1)
    assert information_distances(X, "canonical").noise_floor == floor


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 4)), "square"),
        ([[0, 1, 2], [1, 0, 3], [2.5, 3, 0]], "not symmetric"),
        (
            [[0, 1, 1e308], [1, 0, 3], [1e308, 3, 0]],
            r"'x1' and 'x3' is 1e\+308; the limit is 1e\+60",
        ),
        ([[0, -1, 2], [-1, 0, 3], [2, 3, 0]], "at least 0"),
        ([[1, 1, 2], [1, 0, 3], [2, 3, 0]], "to itself"),
        ([[0, np.nan, 2], [np.nan, 0, 3], [2, 3, 0]], "missing"),
        ([[0, 1], [1, 0]], "at least 3 are needed"),
        ([["a", 1], [1, 0]], "not a number"),
        (np.where(np.eye(3) == 1, 0, np.inf), "All distances are infinite"),
    ],
)
def test_an_invalid_distance_matrix_is_rejected_with_a_reason(values, message):
    with pytest.raises(DistanceError, match=message) as caught:
        DistanceMatrix.from_array(values)
    assert "\n" not in str(caught.value)


def test_r_min_and_r_max_skip_infinite_distances():
    inf = np.inf
    values = [[0, 1, inf, inf], [1, 0, 4, inf], [inf, 4, 0, inf], [inf, inf, inf, 0]]
    D = DistanceMatrix.from_array(values)
    assert (D.r_min, D.r_max, D.smallest) == (4, 4, 1)


@pytest.mark.parametrize("metric", ["nonsense", "given"])
def test_unknown_metric_lists_the_known_ones(rng, metric):
    with pytest.raises(DistanceError, match="Choose one of auto, correlation"):
        information_distances(chain(rng, 20, 3), metric)


def test_correlation_of_letters_and_determinant_of_mixed_states_are_rejected():
    frame = pd.DataFrame({"a": list("xyzx") * 3, "b": list("xxyz") * 3, "c": list("ppqr") * 3})
    with pytest.raises(DistanceError, match="needs numbers"):
        information_distances(frame, "correlation")
    with pytest.raises(DistanceError, match="same states"):
        information_distances(frame, "determinant")


def test_digest_follows_values_and_names(rng):
    X = chain(rng, 50, 3)
    D = information_distances(X)
    assert D.digest == information_distances(X.copy()).digest
    assert D.digest != information_distances(X[:-1]).digest
    assert not D.values.flags.writeable


# Files -------------------------------------------------------------------------------------

THREE = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]], list("abc"), 50)


def packed_with(path, **arrays):
    """A file of distances, packed, with other or further arrays in it."""
    with np.load(io.BytesIO(to_npz(THREE))) as content:
        np.savez_compressed(path, **(dict(content) | arrays))
    return path


def test_a_file_of_distances_gives_them_back_or_with_another_number_of_rows(tmp_path):
    path = packed_with(tmp_path / "d.npz")
    assert read_distances(path).digest == THREE.digest
    assert read_distances(path, n_samples=30).n_samples == 30


@pytest.mark.parametrize("n_samples", [-5, 0, 2])
def test_too_few_rows_are_rejected_for_every_file(tmp_path, n_samples):
    path = packed_with(tmp_path / "d.npz")
    for source in (path, b"a,b,c\n0,1,1\n1,0,1\n1,1,0\n"):
        with pytest.raises(DistanceError, match="too small; use at least 3"):
            read_distances(source, n_samples=n_samples)


def test_a_file_of_distances_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(DistanceError, match="There is no file"):
        read_distances(tmp_path / "d.npz")


def test_a_file_of_distances_with_a_changed_byte_is_rejected_or_read(tmp_path):
    whole = packed_with(tmp_path / "d.npz", values=np.add.outer(np.arange(9.0), np.arange(9.0)))
    content = whole.read_bytes()
    damaged = tmp_path / "e.npz"
    for place in range(len(content)):
        damaged.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with contextlib.suppress(LoopyLatentError):
            read_distances(damaged)


def test_arrays_that_are_no_part_of_distances_are_not_read(tmp_path):
    path = packed_with(tmp_path / "d.npz", more=np.array([{}], dtype=object))
    assert read_distances(path).digest == THREE.digest


def test_a_file_of_distances_with_an_extreme_compression_ratio_is_rejected(tmp_path):
    path = packed_with(tmp_path / "d.npz", values=np.zeros((2000, 2000)))
    assert path.stat().st_size < 50_000
    with pytest.raises(DataError, match="unpacks to more than"):
        read_distances(path)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (
            b"0,1,2,3\n1,0,4,5\n2,4,0,6\n3,5,6,0\n",
            "The first row contains distances, not column names",
        ),
        (b"n,a,b,c\nb,0,1,2\na,1,0,3\nc,2,3,0\n", "column has 'b' instead of the name 'a'"),
        (b"a,b,c,d\n1,0,1,2\n2,1,0,3\n3,2,3,0\n", "4 columns and 3 rows are not a square matrix"),
        (b"a,b,c\n0,1,2\n1,0,3\n", "3 columns and 2 rows are not a square matrix"),
    ],
)
def test_a_first_column_without_names_is_rejected(table: bytes, says: str) -> None:
    with pytest.raises(DistanceError, match=re.escape(says)):
        read_distances(table)


@pytest.mark.parametrize("names", ["abc", ("1", "2.50", "7"), ("NA", "True", "x y")])
def test_a_first_column_may_repeat_the_names(names: tuple[str, ...]) -> None:
    values = ("0,1,2", "1,0,3", "2,3,0")
    rows = [f"{name},{row}" for name, row in zip(names, values, strict=True)]
    text = "\n".join([",".join(["of", *names]), *rows])
    assert read_distances(text.encode()).names == tuple(names)


@pytest.mark.parametrize("path", ["a.csv", Path("a.csv"), b"a,b,c"])
def test_a_path_in_the_place_of_a_table_is_sent_to_read_table(path: object) -> None:
    with pytest.raises(DataError, match=r"is not a table; use read_table\(path\)\.$"):
        information_distances(path)


def test_the_words_for_a_matrix_are_one_short_line_however_many_columns_it_has() -> None:
    x = np.random.default_rng(0).normal(size=(50, 200))
    shown = repr(information_distances(x))
    assert shown == "DistanceMatrix(200 columns, 50 rows, metric correlation, noise floor 1.26)"


def test_the_column_with_the_most_states_says_how_much_memory_is_needed(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(
        "loopylatent.distances.matrix.check_memory", lambda p, width: asked.append((p, width))
    )
    states = np.random.default_rng(0).integers(0, [2, 4, 3], (60, 3))
    frame = pd.DataFrame(np.array(list("stuv"))[states], columns=list("abc"))
    information_distances(frame, "canonical")
    assert asked == [(3, 4)]


@pytest.mark.parametrize("states", [2, 30])
def test_tasks_of_a_long_table_fit_into_memory_together(monkeypatch, states: int) -> None:
    """Each holds the sums of its portions, and its block as features, several times."""
    free, p, rows = 2**40, 50, 200
    monkeypatch.setattr("loopylatent.distances.blocks.free_bytes", lambda: free)
    plan = SumPlan("joint", np.zeros(p), (states,) * p, np.ones(p, dtype=bool))
    held = _held(SimpleNamespace(table=SimpleNamespace(n_columns=p, rows_a_block=rows), plan=plan))
    sums = _portions_together(plan) * (states * p) ** 2
    task = 8 * (sums + 8 * rows * states * p)
    assert 0.4 * free < held * task < free
