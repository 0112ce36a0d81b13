"""Hypothesis strategies for realistic tables: small, mixed, with missing values and repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

WORDS = ["=1+1", "<b>", "a,b", "NA", "1", "x y", "'q'", '"', "\\", "\u202e", "a\nb", "\x00", "@x"]
NAMES = st.one_of(st.text(min_size=1, max_size=12), st.sampled_from(WORDS))
WEIGHTS = ("none", "zeros and ones", "many", "tiny")
USUAL = ("numbers", "scaled", "far", "ordinal", "binary", "flags", "words", "money", "shares")
UNUSUAL = ("constant", "rare", "extreme", "mixed", "texts")


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """A table of up to ten columns; one in four is hardly usable."""
    is_odd = draw(st.integers(0, 3)) == 0
    n = draw(st.integers(0, 8) if is_odd else st.integers(3, 60))
    p = draw(st.integers(1, 10) if is_odd else st.integers(3, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = USUAL + UNUSUAL if is_odd else USUAL
    columns = [draw(_columns(n, rng, kinds)) for _ in range(p)]
    if draw(st.integers(0, 5)) == 0:
        columns[-1] = list(columns[0])  # a repeated column
    if draw(st.integers(0, 3)) == 0:
        missing = rng.random((n, p)) < draw(st.sampled_from([0.02, 0.1, 0.3, 0.9]))
        columns = [
            [None if missing[i, j] else value for i, value in enumerate(column)]
            for j, column in enumerate(columns)
        ]
    if draw(st.integers(0, 3)) == 0 and n:
        rows = rng.integers(0, n, n)  # repeated rows
        columns = [[column[row] for row in rows] for column in columns]
    frame = pd.DataFrame(dict(enumerate(columns)), index=range(n)).infer_objects()
    frame.columns = pd.Index(_names(draw, p, are_simple=not is_odd))
    return frame


def _names(draw: st.DrawFn, p: int, *, are_simple: bool) -> list[str]:
    if not are_simple:
        return draw(st.lists(NAMES, min_size=p, max_size=p))
    words = draw(st.permutations(WORDS))[:p]
    return [f"{draw(st.sampled_from(['', 'x', 'é']))}{word}{k}" for k, word in enumerate(words)]


@st.composite
def _columns(
    draw: st.DrawFn, n: int, rng: np.random.Generator, kinds: tuple[str, ...]
) -> list[Any]:
    """A column that depends more or less on a shared variable."""
    shared = np.sin(np.arange(n) * draw(st.sampled_from([1.0, 2.5]))) * 1.5
    latent = draw(st.sampled_from([0.0, 0.7, 1.5, 50.0])) * shared + rng.normal(size=n)
    made: dict[str, Any] = {
        "numbers": latent,
        "scaled": latent * draw(st.sampled_from([1e-50, 1e-9, -1.0, 1e9, 1e50])),
        "far": latent + draw(st.sampled_from([1e6, -1e9, 1e12])),
        "ordinal": np.clip(np.rint(latent), -3, 3).astype(int),
        "binary": np.where(latent > 0, "yes", "no"),
        "flags": latent > 0.5,
        "words": np.array(["red", "green", "blue"])[np.abs(np.rint(latent)).astype(int) % 3],
        "money": [f"${1000 * abs(x):,.2f}" for x in latent],
        "shares": [f"{100 * x:.1f} %" for x in latent],
        "constant": np.full(n, draw(st.sampled_from([0, 1.5, -7]))),
        "rare": (np.arange(n) == 0).astype(int),
        "extreme": np.where(np.arange(n) == 0, draw(st.sampled_from([1e300, np.inf, 1e59])), 0.0),
        "mixed": [x if k % 3 else str(x) for k, x in enumerate(latent)],
        "texts": [f"t{k}" for k in range(n)],
    }
    return list(made[draw(st.sampled_from(kinds))])


def weights_of(frame: pd.DataFrame, how: str) -> Any:
    """Return row weights of a type in WEIGHTS."""
    n = len(frame)
    return {
        "none": None,
        "zeros and ones": np.arange(n) % 2,
        "many": np.full(n, 1e9),
        "tiny": np.full(n, 1e-3),
    }[how]
