"""Synthetic documents: most words are rare, and words of one topic are correlated."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

TOPIC_WORDS = 50
"""Words of one topic; words with lower numbers are more frequent."""
DOCUMENT = 60
"""Words of a document, with repeats: half from two topics, half from all words."""


def topic_words(n_rows: int, n_columns: int, seed: int = 0) -> Any:
    """Return a sparse binary (n, p) matrix of words in documents, about 50 per row."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, n_columns // TOPIC_WORDS, size=(n_rows, 2))
    often = np.cumsum(1 / np.arange(1, n_columns + 1) ** 0.9)
    rank = np.searchsorted(often / often[-1], rng.random((n_rows, DOCUMENT // 2)))
    anywhere = rng.permutation(n_columns)[np.minimum(rank, n_columns - 1)]
    inside = (TOPIC_WORDS * rng.random((n_rows, 2, DOCUMENT // 4)) ** 2).astype(np.int64)
    about = (topics[:, :, None] * TOPIC_WORDS + inside).reshape(n_rows, -1)
    columns = np.hstack([anywhere, about])
    rows = np.repeat(np.arange(n_rows), columns.shape[1])
    matrix = sparse.csr_array(
        (np.ones(columns.size), (rows, columns.ravel())), shape=(n_rows, n_columns)
    )
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix
