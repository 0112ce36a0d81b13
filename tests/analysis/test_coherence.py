"""Topic coherence, by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from loopylatent.analysis.evaluation.coherence import (
    WordPairs,
    coherence,
    newspaper_pairs,
    pairs_in_rows,
    pairs_in_table,
)
from loopylatent.errors import DataError
from loopylatent.tables.observations import Observations

LOG2 = math.log(2)
POSTS = pd.DataFrame(
    {
        "moon": [1, 1, 0, 0, 0, 0, 1, 0],
        "space": [1, 1, 1, 0, 0, 0, 0, 0],
        "god": [0, 0, 0, 1, 1, 0, 0, 0],
    }
)


def test_pmi_of_rows_by_hand():
    found = pairs_in_rows(Observations.from_frame(POSTS)).pmi
    # 8 posts: moon 3, space 3, both 2; moon and god never together, which counts as half a post
    assert found[0, 1] == pytest.approx(math.log(2 * 8 / (3 * 3)))
    assert found[0, 2] == pytest.approx(math.log(0.5 * 8 / (3 * 2)))
    assert np.isnan(np.diag(found)).all()
    np.testing.assert_array_equal(found, found.T)


def test_weights_count_as_repeated_rows():
    weights = [2, 1, 3, 1, 1, 2, 1, 1]
    weighted = Observations.from_frame(POSTS, weights=weights)
    repeated = Observations.from_frame(POSTS.loc[np.repeat(np.arange(8), weights)])
    np.testing.assert_allclose(pairs_in_rows(weighted).pmi, pairs_in_rows(repeated).pmi)


def test_a_pair_is_counted_where_both_are_known():
    frame = POSTS.astype(float)
    frame.loc[0, "moon"] = np.nan
    found = pairs_in_rows(Observations.from_frame(frame)).pmi
    rest = pairs_in_rows(Observations.from_frame(POSTS.iloc[1:])).pmi
    assert found[0, 1] == pytest.approx(rest[0, 1])
    assert found[1, 2] == pytest.approx(pairs_in_rows(Observations.from_frame(POSTS)).pmi[1, 2])


def test_coherence_needs_binary_columns():
    obs = Observations.from_array([[0.5, 1.2, 3], [1.5, 2.2, 1], [0.1, 0.2, 0.4]], list("abc"))
    with pytest.raises(DataError, match="needs binary columns"):
        pairs_in_rows(obs)


def test_the_papers_mean_over_topics():
    values = np.full((4, 4), np.nan)
    for (i, j), pmi in {(0, 1): 1.0, (0, 2): 2.0, (1, 2): 3.0, (0, 3): -4.0, (1, 3): 0.5}.items():
        values[i, j] = values[j, i] = pmi
    pairs = WordPairs("synthetic", tuple("abcd"), values)
    found = coherence([(0, 1, 2), (2, 0, 3)], pairs)
    # the first topic has pairs 1, 2, 3; of the second (0,2), (2,3), (0,3) only 2 and -4 are known
    assert found.by_topic == (2.0, -1.0)
    assert found.mean == pytest.approx(0.5)
    assert found.with_zeros == pytest.approx((2.0 + (2.0 - 4.0) / 3) / 2)
    assert (found.n_pairs, found.n_covered) == (6, 5)


def test_with_every_pair_covered_the_two_conventions_agree():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(12, 12))
    values = values + values.T
    np.fill_diagonal(values, np.nan)
    pairs = WordPairs("synthetic", tuple("abcdefghijkl"), values)
    chosen = [tuple(rng.permutation(12)[:10].tolist()) for _ in range(5)]
    found = coherence(chosen, pairs)
    # the paper: the sum over all pairs of all topics divided by 45 |H|
    total = sum(values[i, j] for topic in chosen for i in topic for j in topic if i < j)
    assert found.mean == pytest.approx(total / (45 * 5))
    assert found.with_zeros == pytest.approx(found.mean)


def test_topics_without_a_covered_pair_are_left_out_and_none_gives_nothing():
    pairs = WordPairs("synthetic", tuple("abc"), np.full((3, 3), np.nan))
    found = coherence([(0, 1), (1, 2)], pairs)
    assert math.isnan(found.mean)
    assert found.with_zeros == 0.0
    assert math.isnan(coherence([], pairs).mean)


def test_the_newspaper_covers_seventy_words_and_all_pairs_of_them():
    pairs = newspaper_pairs()
    assert len(pairs.covered) == 70
    assert "baseball" in pairs.covered
    assert "nasa" not in pairs.covered
    among = pairs.among(pairs.covered).pmi
    assert np.isfinite(among[~np.eye(70, dtype=bool)]).all()


def test_words_are_found_whatever_their_case_and_unknown_ones_have_nothing():
    found = newspaper_pairs().among(["Baseball", " league ", "zebra"])
    direct = newspaper_pairs().among(["baseball", "league"]).pmi[0, 1]
    assert found.pmi[0, 1] == direct
    assert np.isnan(found.pmi[2]).all()


def test_a_table_of_texts_and_the_square_of_its_pmi_say_the_same():
    texts = pairs_in_table(POSTS, "texts", ["moon", "space"])
    np.testing.assert_allclose(texts.pmi, pairs_in_rows(Observations.from_frame(POSTS)).pmi)
    square = pd.DataFrame(texts.pmi, columns=texts.names)
    square.insert(0, "word", texts.names)
    np.testing.assert_allclose(pairs_in_table(square, "square", ["moon", "god"]).pmi, texts.pmi)


def test_counts_count_as_there_and_words_that_never_occur_are_not_covered():
    frame = POSTS.assign(moon=POSTS["moon"] * 7, never=0, title="text")
    found = pairs_in_table(frame, "texts", ["moon", "space"])
    assert found.covered == ("moon", "space", "god")
    assert found.among(["moon", "space"]).pmi[0, 1] == pytest.approx(math.log(16 / 9))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"zebra": [1, 0], "lion": [1, 1]}), "Fewer than two"),
        (pd.DataFrame({"moon": ["a", "b"], "space": ["c", "d"]}), "one row per text"),
        (
            pd.DataFrame({"w": ["moon", "god"], "moon": [0.0, 1.0], "god": [2.0, 0.0]}),
            "not symmetric",
        ),
    ],
)
def test_an_unusable_table_is_rejected_in_one_line(frame, message):
    with pytest.raises(DataError, match=message):
        pairs_in_table(frame, "mine.csv", ["moon", "space", "god"])
