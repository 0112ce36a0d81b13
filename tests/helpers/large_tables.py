"""Tables of many columns for tests of large graphs."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd


def many_columns(p: int, n_rows: int = 80, seed: int = 0) -> pd.DataFrame:
    """Return columns in groups of unequal size; the hidden variables of the groups form a tree."""
    rng = np.random.default_rng(seed)
    n_groups = max(6, p // 12)
    hidden = np.zeros((n_rows, n_groups))
    hidden[:, 0] = rng.normal(size=n_rows)
    for group in range(1, n_groups):
        parent = int(rng.integers(max(0, group // 3 - 1), group))
        hidden[:, group] = 0.8 * hidden[:, parent] + 0.6 * rng.normal(size=n_rows)
    group_of = rng.integers(0, n_groups, p)
    values = hidden[:, group_of] * rng.uniform(0.6, 0.9, p) + 0.5 * rng.normal(size=(n_rows, p))
    return pd.DataFrame(values.round(4), columns=[f"column {k}" for k in range(p)])


def packed(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()
