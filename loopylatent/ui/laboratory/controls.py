"""The sidebar of the Laboratory: which model, how strong, how many rows, which thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import streamlit as st

from loopylatent.settings import Method
from loopylatent.synthetic.families import CAGES
from loopylatent.synthetic.laboratory import Specification
from loopylatent.ui.shell.laboratory import EXACT, FAMILIES, ROWS, Lab
from loopylatent.ui.shell.session import bound
from loopylatent.ui.shell.widgets import texts, words as shared

words = texts("laboratory")
EXAMPLE = "h1 h2\nh2 h3\nh3 h4\nh4 h1"
HIDDEN = "h1 h2 h3 h4"
PARAMETERS = {
    "ring": (("girth", "Ring", 3, 100), ("leaves", "Leaves", 1, 10), ("depth", "Depth", 1, 4)),
    "tree": (
        ("n_hidden", "Hidden", 0, 60), ("n_inner", "Inner", 0, 60), ("leaves", "Leaves", 0, 10),
    ),
    "regular": (
        ("n_nodes", "Nodes", 4, 300), ("degree", "Degree", 2, 8), ("girth", "Girth", 3, 100),
    ),
}  # fmt: skip
"""Whole numbers of a family beside each other: name, label and limits."""


def choose_model(lab: Lab) -> None:
    """Draw the controls of the model."""
    chosen = lab.specification

    def family(name: str) -> None:
        lab.change(family=name)
        if name == "edges" and not lab.specification.edges:
            lab.change(edges=EXAMPLE, hidden=HIDDEN)

    st.selectbox(
        "Model",
        list(FAMILIES),
        format_func=FAMILIES.__getitem__,
        **bound("lab_family", chosen.family, family),
    )
    if chosen.family == "cage":
        st.selectbox("Cage", list(CAGES), help=words.cages, **_tied(lab, "cage"))
    elif chosen.family == "edges":
        _edges(lab)
    else:
        rows = PARAMETERS[chosen.family]
        for place, row in zip(st.columns(len(rows)), rows, strict=True):
            with place:
                _field(lab, *row)
        st.caption(words.parameters[chosen.family])
    if chosen.family in ("cage", "regular"):
        _leaves_or_share(lab, chosen)
    _strength(lab, chosen)


def choose_learning(lab: Lab) -> None:
    """Draw the controls of rows and thresholds."""
    chosen = lab.learning
    st.select_slider(
        "Rows",
        ROWS,
        format_func=lambda n: "exact distances" if n == EXACT else f"{n:,}",
        help=words.rows,
        **bound("lab_rows", chosen.n or EXACT, lambda n: lab.learn_with(n=n or None)),
    )
    st.radio(
        "r by rule",
        list(words.rules),
        format_func=words.rules.get,
        help="The radius of the balls: 1.5 times the longest edge of the spanning tree, or r max.",
        horizontal=True,
        **bound("lab_rule", chosen.rule, lambda rule: lab.learn_with(rule=rule, r=None)),
    )
    with st.expander("Thresholds and method"):
        labels = {"r": "r, the radius", "Lambda": "Λ, the margin", "tau": "τ, the shortest edge"}
        for name, label in labels.items():
            st.number_input(
                label,
                min_value=0.0,
                max_value=0.99 if name == "Lambda" else None,
                step=0.01,
                format="%.3f",
                placeholder="by rule",
                **_learned_with(lab, name),
            )
        tied = _learned_with(lab, "method")
        st.selectbox("Grouping", get_args(Method), format_func=shared.methods.__getitem__, **tied)
        tied = bound("lab_row_seed", chosen.seed, lambda seed: lab.learn_with(seed=int(seed)))
        st.number_input("Seed of the rows", min_value=0, max_value=10**6, step=1, **tied)


def _tied(lab: Lab, name: str) -> Mapping[str, Any]:
    """Tie a widget to a field of the specification."""
    value = getattr(lab.specification, name)
    return bound(f"lab_{name}", value, lambda wish: lab.change(**{name: wish}))


def _learned_with(lab: Lab, name: str) -> Mapping[str, Any]:
    """Tie a widget to a setting of the learner."""
    value = getattr(lab.learning, name)
    return bound(f"lab_{name}", value, lambda wish: lab.learn_with(**{name: wish}))


def _field(lab: Lab, name: str, label: str, least: int, most: int, **more: Any) -> None:
    value = getattr(lab.specification, name)
    tied = bound(f"lab_{name}", value, lambda number: lab.change(**{name: int(number)}))
    st.number_input(label, min_value=least, max_value=most, step=1, **more, **tied)


def _leaves_or_share(lab: Lab, chosen: Specification) -> None:
    left, right = st.columns(2)
    with left:
        _field(lab, "leaves", "Leaves", 0, 10, help="Columns on every hidden node.")
    right.number_input(
        "Share seen",
        min_value=0.0,
        max_value=0.95,
        step=0.05,
        help=words.share,
        **bound("lab_share", chosen.share or 0.0, lambda v: lab.change(share=v or None)),
    )


def _edges(lab: Lab) -> None:
    st.text_area(
        "Edges, one a line",
        height=110,
        help="Two names a line. Names that are not hidden become columns.",
        **_tied(lab, "edges"),
    )
    left, right = st.columns([2, 1])
    left.text_input("Hidden nodes", **_tied(lab, "hidden"))
    with right:
        _field(lab, "leaves", "Leaves", 0, 10, help="Columns on every hidden node.")


def _strength(lab: Lab, chosen: Specification) -> None:
    st.selectbox(
        "Nodes are",
        list(words.kinds),
        format_func=words.kinds.get,
        **bound("lab_kind", chosen.kind, lambda kind: lab.change(kind=kind, potentials=None)),
    )
    if chosen.kind in ("symmetric", "tables"):
        if chosen.n_states == 2:
            lab.change(n_states=3)
        _field(lab, "n_states", "States", 2, 8)
    if chosen.potentials is not None and chosen.kind == "ising":
        _range(lab, "potentials", "Edge potentials θ", (0.02, 1.5), 0.01, words.potentials)
    else:
        _range(lab, "lengths", "Edge lengths", (0.05, 3.0), 0.05, words.lengths)
    with st.expander("More about the model"):
        if chosen.kind == "ising":
            _with_range(
                lab, "potentials", "Give potentials θ instead of lengths", "lab_by_potentials",
                (0.05, 0.2), words.potentials,
            )  # fmt: skip
            tilt = (-0.3, 0.3)
            _with_range(lab, "fields", "Node potentials", "lab_tilted", tilt, words.fields)
            if chosen.fields is not None:
                _range(lab, "fields", "Their range", (-1.5, 1.5), 0.05, words.fields)
        if chosen.kind in ("ising", "gaussian"):
            st.toggle(
                "Half of the edges negative",
                **bound("lab_signs", chosen.random_signs, lambda v: lab.change(random_signs=v)),
            )
        _field(lab, "seed", "Seed of the model", 0, 10**6)


def _with_range(
    lab: Lab, name: str, label: str, key: str, usual: tuple[float, float], about: str
) -> None:
    """A switch for something that is drawn from a range, or not there at all."""
    on = getattr(lab.specification, name) is not None
    tied = bound(key, on, lambda wanted: lab.change(**{name: usual if wanted else None}))
    st.toggle(label, help=about, **tied)


def _range(
    lab: Lab, name: str, label: str, limits: tuple[float, float], step: float, about: str
) -> None:
    low, high = limits
    value = getattr(lab.specification, name)
    shown = (max(low, float(value[0])), min(high, float(value[1])))

    def report(pair: tuple[float, float]) -> None:
        lab.change(**{name: (float(pair[0]), float(pair[1]))})

    tied = bound(f"lab_{name}", shown, report, limits=limits)
    st.slider(label, low, high, step=step, help=about, **tied)
