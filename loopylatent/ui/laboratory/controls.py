"""The sidebar of the Laboratory: model, edge strengths, rows and thresholds."""

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
"""Integer parameters of a family, shown in one row: name, label and limits."""


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
        st.selectbox("Cage", list(CAGES), help=words.cages, **_specified(lab, "cage"))
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
    """Draw the controls of rows, thresholds and grouping."""
    chosen = lab.learning
    st.select_slider(
        "Rows",
        ROWS,
        format_func=lambda n: "exact distances" if n == EXACT else f"{n:,}",
        help=words.rows,
        **bound("lab_rows", chosen.n or EXACT, lambda n: lab.learn_with(n=n or None)),
    )
    st.radio(
        "Rule for r",
        list(words.rules),
        format_func=words.rules.get,
        help="With loops: 1.5 × the longest edge of the minimum spanning tree. Tree: r max.",
        horizontal=True,
        **bound("lab_rule", chosen.rule, lambda rule: lab.learn_with(rule=rule, r=None)),
    )
    with st.expander("Thresholds and method"):
        labels = {"r": "Radius r", "Lambda": "Margin Λ", "tau": "Minimum edge length τ"}
        for name, label in labels.items():
            st.number_input(
                label,
                min_value=0.0,
                max_value=0.99 if name == "Lambda" else None,
                step=0.01,
                format="%.3f",
                placeholder="by rule",
                **_learning(lab, name),
            )
        tied = _learning(lab, "method")
        st.selectbox("Grouping", get_args(Method), format_func=shared.methods.__getitem__, **tied)
        tied = bound("lab_row_seed", chosen.seed, lambda seed: lab.learn_with(seed=int(seed)))
        st.number_input("Row seed", min_value=0, max_value=10**6, step=1, **tied)


def _specified(lab: Lab, name: str) -> Mapping[str, Any]:
    """Bind a widget to a field of the specification."""
    value = getattr(lab.specification, name)
    return bound(f"lab_{name}", value, lambda value: lab.change(**{name: value}))


def _learning(lab: Lab, name: str) -> Mapping[str, Any]:
    """Bind a widget to a setting of the learner."""
    value = getattr(lab.learning, name)
    return bound(f"lab_{name}", value, lambda value: lab.learn_with(**{name: value}))


def _field(lab: Lab, name: str, label: str, least: int, most: int, **more: Any) -> None:
    value = getattr(lab.specification, name)
    tied = bound(f"lab_{name}", value, lambda number: lab.change(**{name: int(number)}))
    st.number_input(label, min_value=least, max_value=most, step=1, **more, **tied)


def _leaves_or_share(lab: Lab, chosen: Specification) -> None:
    left, right = st.columns(2)
    with left:
        _field(lab, "leaves", "Leaves", 0, 10, help="Columns attached to every hidden node.")
    right.number_input(
        "Observed share",
        min_value=0.0,
        max_value=0.95,
        step=0.05,
        help=words.share,
        **bound("lab_share", chosen.share or 0.0, lambda v: lab.change(share=v or None)),
    )


def _edges(lab: Lab) -> None:
    st.text_area(
        "Edges, one per line",
        height=110,
        help="Two node names per line. Nodes that are not hidden become columns.",
        **_specified(lab, "edges"),
    )
    left, right = st.columns([2, 1])
    left.text_input("Hidden nodes", **_specified(lab, "hidden"))
    with right:
        _field(lab, "leaves", "Leaves", 0, 10, help="Columns attached to every hidden node.")


def _strength(lab: Lab, chosen: Specification) -> None:
    st.selectbox(
        "Variables",
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
    with st.expander("Model options"):
        if chosen.kind == "ising":
            _with_range(
                lab, "potentials", "Use potentials θ instead of lengths", "lab_by_potentials",
                (0.05, 0.2), words.potentials,
            )  # fmt: skip
            default = (-0.3, 0.3)
            _with_range(lab, "fields", "Node potentials", "lab_fields_on", default, words.fields)
            if chosen.fields is not None:
                _range(lab, "fields", "Range of node potentials", (-1.5, 1.5), 0.05, words.fields)
        if chosen.kind in ("ising", "gaussian"):
            st.toggle(
                "Random edge signs",
                **bound("lab_signs", chosen.random_signs, lambda v: lab.change(random_signs=v)),
            )
        _field(lab, "seed", "Model seed", 0, 10**6)


def _with_range(
    lab: Lab, name: str, label: str, key: str, default: tuple[float, float], about: str
) -> None:
    """Draw a switch for a parameter that is either absent or drawn from a range."""
    on = getattr(lab.specification, name) is not None
    tied = bound(key, on, lambda chosen: lab.change(**{name: default if chosen else None}))
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
