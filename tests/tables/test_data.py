"""Observations: from frames, arrays and files, and what is rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from loopylatent.errors import DataError
from loopylatent.tables.kinds import NA_WORDS
from loopylatent.tables.observations import Dropped, Observations, read_table

NASTY_NAMES = ["<script>alert(1)</script>", 'say "hi"', "two\nlines", "=cmd|'/c calc'!A0", "🙂"]


@pytest.fixture
def mixed() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [11, 12, 13, 14, 15, 16],
            "vote": ["y", "n", None, "y", "n", "n"],
            "base": ["A", "C", "G", "A", "C", "G"],
            "mood": [1, 2, 5, 3, 2, 4],
            "height": [1.71, 1.65, np.nan, 1.81, 1.77, 1.6],
            "count": [1, 0, 2, 3, 1, 1],
        }
    )


def error_text(df: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        Observations.from_frame(df, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_a_frame_becomes_typed_columns_labels_and_weights(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(mixed, labels=["id"], weights="count")
    assert obs.names == ("vote", "base", "mood", "height")
    assert obs.kinds == ("binary", "categorical", "ordinal", "continuous")
    assert obs.columns[1].states == ("A", "C", "G")
    assert obs.labels["id"].tolist() == [11, 12, 13, 14, 15, 16]
    assert obs.dropped == (Dropped("id", "label"), Dropped("count", "weights"))
    assert (obs.n_rows, obs.n_columns, obs.n_samples) == (6, 4, 8)
    assert obs.has_missing
    assert obs.missing_share("vote") == pytest.approx(1 / 6)
    assert obs.missing_share("mood") == 0


def test_values_are_read_only_c_ordered_doubles(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(mixed, drop=["id"])
    for table in (obs, obs.take([0, 1]), obs.select(["mood", "vote"]), obs.with_weights([1] * 6)):
        assert table.dense().dtype == np.float64
        assert table.dense().flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            table.dense()[0, 0] = 7


def test_the_source_array_may_change_without_effect() -> None:
    X = np.arange(12.0).reshape(4, 3)
    weights = np.ones(4)
    obs = Observations.from_array(X, weights=weights)
    X[:] = 0
    weights[:] = 0
    assert obs.dense()[3, 2] == 11
    assert obs.n_samples == 4


def test_wanted_kinds_replace_found_ones(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(
        mixed, drop=["id"], kinds={"mood": "categorical", "count": "continuous"}
    )
    assert obs.columns[2].states == ("1", "2", "3", "4", "5")
    assert obs.kinds[-1] == "continuous"


def test_a_single_name_may_stand_without_a_list(mixed: pd.DataFrame) -> None:
    assert "id" not in Observations.from_frame(mixed, drop="id").names


def test_names_that_are_not_text_become_text() -> None:
    obs = Observations.from_frame(pd.DataFrame(np.eye(4)), drop=[0])  # type: ignore[list-item]
    assert obs.names == ("1", "2", "3")


def test_nasty_names_are_kept_and_shown_on_one_line() -> None:
    frame = pd.DataFrame(np.eye(5), columns=NASTY_NAMES)
    assert Observations.from_frame(frame).names == tuple(NASTY_NAMES)
    for name in NASTY_NAMES:
        assert "constant" in error_text(frame.assign(**{name: 1}))


@pytest.mark.parametrize("role", ["drop", "labels"])
def test_an_unknown_name_is_rejected_with_close_ones(mixed: pd.DataFrame, role: str) -> None:
    assert f"{role}: there is no column 'hight'" in error_text(mixed, **{role: ["hight"]})
    assert "did you mean 'height'?" in error_text(mixed, **{role: ["hight"]})
    assert "known names: 'id', 'vote'" in error_text(mixed, **{role: ["zzz"]})


def test_an_unknown_name_of_kind_or_weights_is_rejected(mixed: pd.DataFrame) -> None:
    assert "kinds: there is no column" in error_text(mixed, kinds={"vot": "binary"})
    assert "weights: there is no column" in error_text(mixed, weights="cuont")


def test_constant_and_empty_columns_are_rejected_or_dropped(mixed: pd.DataFrame) -> None:
    frame = mixed.drop(columns="id").assign(same="x", none=None, one=[np.nan] * 5 + [3.0])
    message = error_text(frame)
    assert "'same' (constant), 'none' (no values), 'one' (constant)" in message
    assert "on_degenerate='drop'" in message
    obs = Observations.from_frame(frame, on_degenerate="drop")
    assert obs.names == ("vote", "base", "mood", "height", "count")
    assert obs.dropped == (
        Dropped("same", "constant"), Dropped("none", "no values"), Dropped("one", "constant"),
    )  # fmt: skip
    assert "on_degenerate = 'keep'" in error_text(mixed, on_degenerate="keep")


def test_a_column_constant_in_the_rows_that_count_is_rejected() -> None:
    frame = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 0, 1], "w": [2, 2, 0]})
    assert "'a' is constant" in error_text(frame, weights="w")


def test_too_few_columns_or_rows_are_rejected(mixed: pd.DataFrame) -> None:
    assert "found 2" in error_text(mixed[["mood", "vote"]])
    assert "found 0" in error_text(mixed[[]])
    assert "There are 2 rows" in error_text(mixed.head(2))
    assert "There are 0 rows" in error_text(mixed.head(0))
    assert "sum to 2 rows" in error_text(mixed, weights=[1, 1, 0, 0, 0, 0])


def test_repeated_and_empty_names_are_rejected(mixed: pd.DataFrame) -> None:
    twice = mixed.set_axis(["a", "a", "b", "c", "d", "e"], axis=1)
    assert "2 columns are called 'a'" in error_text(twice)
    for empty in ("", " ", None, np.nan):
        nameless = mixed.set_axis(["a", empty, "b", "c", "d", "e"], axis=1)
        assert "Column 2 of 6 has no name" in error_text(nameless)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 1, 1, 1, 1, -1], "data row 6 is -1"),
        ([1, np.nan, 1, 1, 1, 1], "data row 2 is nan"),
        ([1, np.inf, 1, 1, 1, 1], "data row 2 is inf"),
        ([1, 1], "2 weights for 6 rows"),
        (["many"] * 6, "must be numbers"),
    ],
)
def test_bad_weights_are_rejected(mixed: pd.DataFrame, weights: Any, expected: str) -> None:
    assert expected in error_text(mixed, weights=weights)


def test_a_value_that_is_not_a_table_is_rejected() -> None:
    assert "is not a DataFrame" in error_text([[1, 2, 3]])
    for wrong in (np.ones(3), np.ones((2, 2, 2)), [[1, 2], [1]]):
        with pytest.raises(DataError):
            Observations.from_array(wrong)
    with pytest.raises(DataError, match="2 names for 3 columns"):
        Observations.from_array(np.eye(3), names=["a", "b"])


def test_rows_without_any_value_are_kept() -> None:
    frame = pd.DataFrame({"a": [0, 1, np.nan], "b": [1, 0, np.nan], "c": [0, 1, np.nan]})
    assert Observations.from_frame(frame).n_rows == 3


def test_taking_rows_keeps_columns_weights_and_labels_in_step(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(mixed, labels=["id"], weights="count")
    taken = obs.take([3, 3, 0])
    assert taken.columns == obs.columns
    assert taken.labels["id"].tolist() == [14, 14, 11]
    assert taken.n_samples == 7
    mask = np.array([True, False, False, True, False, False])
    np.testing.assert_array_equal(obs.take(mask).dense(), obs.dense()[mask])
    assert obs.take([]).n_rows == 0
    for wrong in ([6], [-1], [0.5], [True], [[0, 1]]):
        with pytest.raises(DataError):
            obs.take(wrong)


def test_selecting_columns_keeps_the_given_order(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(mixed, labels=["id"])
    chosen = obs.select(["height", "vote"])
    assert chosen.names == ("height", "vote")
    np.testing.assert_array_equal(chosen.dense()[:, 0], obs.dense()[:, 3])
    assert chosen.labels.equals(obs.labels)
    with pytest.raises(DataError, match="did you mean 'vote'"):
        obs.select(["vot"])


def test_the_digest_tells_tables_apart_and_equal_ones_not(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(mixed, drop=["id"])
    same = Observations.from_frame(mixed.drop(columns="id"))
    assert obs.digest == same.digest
    assert len(obs.digest) == 16
    others = [
        obs.take([0, 1, 2, 3, 5, 4]),
        obs.select(obs.names[::-1]),
        obs.with_weights(np.ones(6)),
        Observations.from_frame(mixed.drop(columns="id").rename(columns={"mood": "mode"})),
        Observations.from_frame(mixed.drop(columns="id"), kinds={"mood": "continuous"}),
    ]
    assert len({obs.digest, *(other.digest for other in others)}) == 1 + len(others)
    assert obs.with_weights(np.ones(6)).with_weights(None).digest == obs.digest


def test_signs_of_zero_do_not_change_the_digest() -> None:
    X = np.array([[0.0, 1.5, 2.5], [1.0, 0.0, 3.5], [2.5, 1.0, 0.0], [3.0, 4.0, 9.0]])
    negated = np.where(X == 0, -0.0, X)
    assert Observations.from_array(X).digest == Observations.from_array(negated).digest


@pytest.fixture
def counts() -> sparse.csr_array:
    dense = [[0, 5, 0, 2.5], [1, 0, 2, 0], [0, 0, 1, -1], [1, 5, 0, 0], [0, 0, 1, 0]]
    return sparse.csr_array(np.array(dense))


def test_a_sparse_matrix_stays_sparse(counts: sparse.csr_array) -> None:
    obs = Observations.from_array(counts, names=["w1", "w2", "w3", "w4"])
    assert obs.kinds == ("binary", "binary", "ordinal", "continuous")
    assert obs.columns[1].states == ("0", "5")
    for table in (obs, obs.take([4, 0, 0, 1]), obs.select(["w3", "w1"])):
        assert isinstance(table.values, sparse.csr_array)
        assert table.is_sparse
        assert not table.has_missing
    np.testing.assert_array_equal(obs.dense()[:, 1], [1, 0, 0, 1, 0])
    np.testing.assert_array_equal(obs.to_frame().to_numpy(), counts.toarray())
    gram = sparse.csr_array(obs.values).T @ sparse.csr_array(obs.values)
    np.testing.assert_array_equal(gram.toarray(), obs.dense().T @ obs.dense())
    with pytest.raises(ValueError, match="read-only"):
        sparse.csr_array(obs.values, copy=False).data[0] = 3


def test_sparse_columns_can_be_labels_weights_or_left_out(counts: sparse.csr_array) -> None:
    wide = sparse.hstack([counts, counts, sparse.csr_array(np.ones((5, 1)))])
    obs = Observations.from_array(
        wide, names=list("abcdefghi"), labels=["d"], drop=["g", "h"], weights="i"
    )
    assert obs.names == ("a", "b", "c", "e", "f")
    assert obs.labels["d"].tolist() == [2.5, 0, -1, 0, 0]
    assert obs.n_samples == 5


def test_sparse_and_dense_reading_agree_on_kinds(counts: sparse.csr_array) -> None:
    dense = Observations.from_array(counts.toarray())
    assert Observations.from_array(counts).columns == dense.columns


def test_an_unusable_sparse_matrix_is_rejected(counts: sparse.csr_array) -> None:
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (counts * np.nan, {}, "NaN or infinity"),
        (counts, {"kinds": {"x1": "categorical"}}, "cannot be categorical"),
        (counts, {"kinds": {"x3": "binary"}}, "cannot be binary"),
        (counts * 0, {}, "constant"),
        (counts[:2], {}, "There are 2 rows"),
    ]
    for matrix, options, expected in cases:
        with pytest.raises(DataError, match=expected):
            Observations.from_array(matrix, **options)


def test_a_sparse_pair_of_nonzero_values_is_continuous() -> None:
    matrix = sparse.csr_array(np.array([[1.0, 1, 0], [2, 0, 1], [1, 1, 1]]))
    assert Observations.from_array(matrix).kinds == ("continuous", "binary", "binary")


def test_parts_that_do_not_fit_are_rejected(mixed: pd.DataFrame) -> None:
    obs = Observations.from_frame(mixed, labels=["id"])
    with pytest.raises(DataError, match="There are"):
        obs.with_values(np.zeros((6, 2)))
    with pytest.raises(DataError, match="of labels"):
        obs.with_values(np.zeros((3, 5)))


def test_a_file_is_read_with_all_options(tmp_path: Path, mixed: pd.DataFrame) -> None:
    path = tmp_path / "answers.csv"
    mixed.assign(same=1).to_csv(path, index=False, sep="|")
    obs = read_table(
        path,
        drop=["base"],
        labels=["id"],
        kinds={"mood": "continuous"},
        weights="count",
        delimiter="|",
        on_degenerate="drop",
    )
    assert obs.names == ("vote", "mood", "height")
    assert obs.kinds == ("binary", "continuous", "continuous")
    assert [one.name for one in obs.dropped] == ["id", "base", "count", "same"]


STATES = st.text(min_size=1, max_size=8).filter(
    lambda text: text == text.strip() and text not in NA_WORDS and text.isprintable()
)
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
        lambda name: name == name.strip()
    ),
    min_size=3,
    max_size=5,
    unique=True,
)


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Frames with one continuous, one ordinal, one text column and perhaps more numbers."""
    names = draw(NAMES)
    n_rows = draw(st.integers(8, 20))
    numbers = st.floats(-1e50, 1e50, allow_infinity=False) | st.just(float("nan"))
    columns: dict[str, Any] = {}
    for name in names[2:]:
        columns[name] = [0.25, 1e-300, 3.0, *draw(st.lists(numbers, min_size=5, max_size=5))]
    words = draw(st.lists(STATES.map(lambda text: "s" + text), min_size=3, max_size=3, unique=True))
    columns[names[0]] = [*words, *draw(st.lists(st.sampled_from([*words, None]), min_size=5,
                                                max_size=5))]  # fmt: skip
    columns[names[1]] = [1, 2, 3, *draw(st.lists(st.integers(1, 6), min_size=5, max_size=5))]
    frame = pd.DataFrame(columns)
    return frame.iloc[[*range(8), *draw(st.lists(st.integers(0, 7), max_size=n_rows - 8))]]


def assert_same(frame: pd.DataFrame, back: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(
        back, frame.reset_index(drop=True), check_dtype=False, check_exact=True
    )


@settings(max_examples=50)
@given(tables())
def test_a_frame_comes_back_from_observations(frame: pd.DataFrame) -> None:
    assert_same(frame, Observations.from_frame(frame).to_frame())


@settings(max_examples=50)
@given(tables(), st.sampled_from(",;\t|"))
def test_a_frame_comes_back_from_a_file(frame: pd.DataFrame, sep: str) -> None:
    written = frame.to_csv(index=False, sep=sep).encode()
    obs = read_table(written, delimiter=sep)
    assert_same(frame, obs.to_frame())
    assert obs.digest == Observations.from_frame(frame).digest


def test_masked_cells_of_an_array_are_missing() -> None:
    values = np.random.default_rng(0).normal(size=(60, 4))
    masked = np.ma.masked_greater(values, 1.0)
    obs = Observations.from_array(masked)
    np.testing.assert_array_equal(np.isnan(obs.values), values > 1.0)
    np.testing.assert_array_equal(obs.values[values <= 1.0], values[values <= 1.0])


def test_dates_and_complex_numbers_are_no_weights() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, 5], "b": [2, 1, 4, 4], "c": [0, 1, 1, 3]})
    for weights in (pd.date_range("2020-01-01", periods=4), [1j, 1, 1, 1]):
        with pytest.raises(DataError, match="The weights must be numbers"):
            Observations.from_frame(frame, weights=weights)


def test_kinds_are_a_mapping_and_nothing_to_drop_is_nothing() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, 5], "b": [2, 1, 4, 4], "c": [0, 1, 1, 3]})
    with pytest.raises(DataError, match="kinds must be a dict"):
        Observations.from_frame(frame, kinds=["a"])  # type: ignore[arg-type]
    assert Observations.from_frame(frame, drop=None).n_columns == 3  # type: ignore[arg-type]
