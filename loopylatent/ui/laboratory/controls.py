"""The sidebar of the Laboratory: which model, how strong, how many rows, which thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from loopylatent.settings import Method
from loopylatent.synthetic.skeletons import CAGES
from loopylatent.synthetic.specification import Specification
from loopylatent.ui.laboratory import words
from loopylatent.ui.shell.laboratory import EXACT, FAMILIES, ROWS, Lab
from loopylatent.ui.shell.session import bound
from loopylatent.ui.shell.words import METHODS

EXAMPLE = "h1 h2\nh2 h3\nh3 h4\nh4 h1"
HIDDEN = "h1 h2 h3 h4"


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
        format_func=lambda name: FAMILIES[name],
        **bound("lab_family", chosen.family, family),
    )
    {"ring": _ring, "tree": _tree, "cage": _cage, "regular": _regular, "edges": _edges}[
        chosen.family
    ](lab, chosen)
    _strength(lab, chosen)


def choose_learning(lab: Lab) -> None:
    """Draw the controls of rows and thresholds."""
    chosen = lab.learning
    st.select_slider(
        "Rows",
        ROWS,
        format_func=lambda n: "exact distances" if n == EXACT else f"{n:,}",
        help=words.ROWS,
        **bound("lab_rows", chosen.n or EXACT, lambda n: lab.learn_with(n=n or None)),
    )
    st.radio(
        "r by rule",
        list(words.RULES),
        format_func=lambda rule: words.RULES[rule],
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
                **bound(f"lab_{name}", getattr(chosen, name), _reporter(lab, name)),
            )
        st.selectbox(
            "Grouping",
            get_args(Method),
            format_func=lambda method: METHODS[method],
            **bound("lab_method", chosen.method, lambda method: lab.learn_with(method=method)),
        )
        _number("Seed of the rows", "lab_row_seed", chosen.seed, 0, 10**6,
                lambda value: lab.learn_with(seed=value))  # fmt: skip


def _reporter(lab: Lab, name: str) -> Callable[[float | None], None]:
    return lambda value: lab.learn_with(**{name: value})


def _number(
    label: str,
    key: str,
    value: int,
    least: int,
    most: int,
    report: Callable[[int], None],
    help: str | None = None,  # noqa: A002
) -> None:
    st.number_input(
        label,
        min_value=least,
        max_value=most,
        step=1,
        help=help,
        **bound(key, value, lambda number: report(int(number))),
    )


def _field(lab: Lab, name: str, label: str, least: int, most: int, **more: Any) -> None:
    """A whole number of the specification."""
    value = getattr(lab.specification, name)
    _number(label, f"lab_{name}", value, least, most, lambda v: lab.change(**{name: v}), **more)


def _parameters(lab: Lab, family: str, *rows: tuple[str, str, int, int]) -> None:
    """Whole numbers beside each other: a name, a label and limits each; below, what they mean."""
    for place, row in zip(st.columns(len(rows)), rows, strict=True):
        with place:
            _field(lab, *row)
    st.caption(words.PARAMETERS[family])


def _ring(lab: Lab, _: Specification) -> None:
    _parameters(
        lab, "ring",
        ("girth", "Ring", 3, 100), ("leaves", "Leaves", 1, 10), ("depth", "Depth", 1, 4),
    )  # fmt: skip


def _tree(lab: Lab, _: Specification) -> None:
    _parameters(
        lab, "tree",
        ("n_hidden", "Hidden", 0, 60), ("n_inner", "Inner", 0, 60), ("leaves", "Leaves", 0, 10),
    )  # fmt: skip


def _cage(lab: Lab, chosen: Specification) -> None:
    st.selectbox(
        "Cage",
        list(CAGES),
        help="The smallest graphs in which all nodes have equally many neighbours and no cycle is "
        "short.",
        **bound("lab_cage", chosen.cage, lambda name: lab.change(cage=name)),
    )
    _leaves_or_share(lab, chosen)


def _regular(lab: Lab, chosen: Specification) -> None:
    _parameters(
        lab, "regular",
        ("n_nodes", "Nodes", 4, 300), ("degree", "Degree", 2, 8), ("girth", "Girth", 3, 100),
    )  # fmt: skip
    _leaves_or_share(lab, chosen)


def _leaves_or_share(lab: Lab, chosen: Specification) -> None:
    left, right = st.columns(2)
    with left:
        _field(lab, "leaves", "Leaves", 0, 10, help="Columns on every hidden node.")
    right.number_input(
        "Share seen",
        min_value=0.0,
        max_value=0.95,
        step=0.05,
        help=words.SHARE,
        **bound("lab_share", chosen.share or 0.0, lambda v: lab.change(share=v or None)),
    )


def _edges(lab: Lab, chosen: Specification) -> None:
    st.text_area(
        "Edges, one a line",
        height=110,
        help="Two names a line. Names that are not hidden become columns.",
        **bound("lab_edges", chosen.edges, lambda text: lab.change(edges=text)),
    )
    left, right = st.columns([2, 1])
    left.text_input(
        "Hidden nodes", **bound("lab_hidden", chosen.hidden, lambda t: lab.change(hidden=t))
    )
    with right:
        _field(lab, "leaves", "Leaves", 0, 10, help="Columns on every hidden node.")


def _strength(lab: Lab, chosen: Specification) -> None:
    st.selectbox(
        "Nodes are",
        list(words.KINDS),
        format_func=lambda kind: words.KINDS[kind],
        **bound("lab_kind", chosen.kind, lambda kind: lab.change(kind=kind, potentials=None)),
    )
    if chosen.kind in ("symmetric", "tables"):
        states = max(3, chosen.n_states) if chosen.n_states == 2 else chosen.n_states
        if states != chosen.n_states:
            lab.change(n_states=states)
        _field(lab, "n_states", "States", 2, 8)
    if chosen.potentials is not None and chosen.kind == "ising":
        _range(lab, "potentials", "Edge potentials θ", (0.02, 1.5), 0.01, words.POTENTIALS)
    else:
        _range(lab, "lengths", "Edge lengths", (0.05, 3.0), 0.05, words.LENGTHS)
    with st.expander("More about the model"):
        if chosen.kind == "ising":
            _by_potentials(lab, chosen)
            _tilted(lab, chosen)
        if chosen.kind in ("ising", "gaussian"):
            st.toggle(
                "Half of the edges negative",
                **bound("lab_signs", chosen.random_signs, lambda v: lab.change(random_signs=v)),
            )
        _field(lab, "seed", "Seed of the model", 0, 10**6)


def _by_potentials(lab: Lab, chosen: Specification) -> None:
    st.toggle(
        "Give potentials θ instead of lengths",
        help=words.POTENTIALS,
        **bound(
            "lab_by_potentials",
            chosen.potentials is not None,
            lambda on: lab.change(potentials=(0.05, 0.2) if on else None),
        ),
    )


def _tilted(lab: Lab, chosen: Specification) -> None:
    st.toggle(
        "Node potentials",
        help=words.FIELDS,
        **bound(
            "lab_tilted",
            chosen.fields is not None,
            lambda on: lab.change(fields=(-0.3, 0.3) if on else None),
        ),
    )
    if chosen.fields is not None:
        _range(lab, "fields", "Their range", (-1.5, 1.5), 0.05, words.FIELDS)


def _range(
    lab: Lab, name: str, label: str, limits: tuple[float, float], step: float, about: str
) -> None:
    low, high = limits
    value = getattr(lab.specification, name)
    shown = (max(low, float(value[0])), min(high, float(value[1])))
    st.slider(
        label,
        low,
        high,
        step=step,
        help=about,
        **bound(
            f"lab_{name}",
            shown,
            lambda pair: lab.change(**{name: (float(pair[0]), float(pair[1]))}),
            limits=limits,
        ),
    )
