"""Hypothesis strategy for recipes."""

from __future__ import annotations

from hypothesis import strategies as st

from helpers.hostile import HOSTILE_NAMES
from loopylatent.exporting.project.file import Recipe
from loopylatent.tables.kinds import KINDS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


NAMES = st.lists(
    st.one_of(st.sampled_from(HOSTILE_NAMES), TEXT).filter(str.strip), max_size=6, unique=True
).map(tuple)


RECIPES = st.builds(
    Recipe,
    source=st.sampled_from(["answers.csv", *(n for n in HOSTILE_NAMES if "/" not in n)]).filter(
        lambda name: len(name) < 256
    ),
    source_kind=st.just("table"),
    r=st.floats(0, 1e6),
    Lambda=st.floats(0, 1, exclude_max=True),
    tau=st.floats(0, 1e6),
    data_digest=st.sampled_from([None, "0123456789abcdef"]),
    drop=NAMES,
    labels=NAMES,
    kinds=st.dictionaries(TEXT.filter(str.strip), st.sampled_from(KINDS), max_size=4),
    weights=st.one_of(st.none(), TEXT.filter(str.strip)),
    metric=st.sampled_from(["auto", "rank", "canonical"]),
    drop_degenerate=st.booleans(),
    method=st.sampled_from(["quartet", "relaxed", "nj"]),
    order=st.sampled_from(["degree", "index", "random"]),
    seed=st.integers(0, 2**63 - 1),
)
