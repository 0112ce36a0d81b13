"""The sidebar, the same on every page: data, thresholds, the way back."""

from __future__ import annotations

from contextlib import suppress
from typing import get_args

import streamlit as st

from loopylatent.data import Observations
from loopylatent.distances import METRICS, DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.initial_graph import EdgeDensity
from loopylatent.samples import sample_titles
from loopylatent.settings import READS, Method, Order
from loopylatent.ui import words
from loopylatent.ui.chance import show_chance
from loopylatent.ui.open_data import open_columns, open_file
from loopylatent.ui.patience import patience_for
from loopylatent.ui.ranges import (
    Mark,
    Range,
    contraction_range,
    decimals,
    margin_range,
    preset_radii,
    radius_marks,
    radius_range,
)
from loopylatent.ui.stages import bic_work, sample_recipe
from loopylatent.ui.state import Session, bound

OWN = "own"


def choose_data(s: Session) -> None:
    """Choose a bundled sample or open a file."""
    titles: dict[str, str] = {}
    with suppress(LoopyLatentError):  # without the bundled tables one of your own can be opened
        titles = sample_titles()
    options = list(titles)
    here = s.recipe.sample_name if s.recipe.source_kind == "sample" else OWN
    if here == OWN:
        options = [OWN, *options]

    def report(name: str) -> None:
        if name == OWN:
            return
        try:
            s.open(sample_recipe(s.memo, name))
        except LoopyLatentError as error:
            s.notice = str(error)

    st.selectbox(
        "Data",
        options,
        format_func=lambda name: titles.get(name, s.recipe.source),
        help="Bundled tables to try things on, each with something to see.",
        **bound("data", here, report),
    )
    left, right = st.columns(2)
    if left.button("Open a file", width="stretch"):
        open_file(s)
    if right.button("Columns", width="stretch"):
        open_columns(s)


def choose_thresholds(s: Session, D: DistanceMatrix, curve: EdgeDensity | None) -> None:
    """Draw the three sliders with their presets; what needs the curve comes with it."""
    _presets(s, D, curve)
    _radius(s, D, curve)
    margin = margin_range(D).holding(s.recipe.Lambda)
    _slider(s, "Lambda", "Λ, the margin", margin, words.LAMBDA)
    _slider(s, "tau", "τ, the shortest edge", contraction_range(D).holding(s.recipe.tau), words.TAU)
    note = st.container()  # always there, or what is open below would close
    if words.NO_PART[s.recipe.method]:
        note.caption(words.NO_PART[s.recipe.method])


def choose_method(s: Session, D: DistanceMatrix, obs: Observations | None) -> None:
    """Draw what is seldom changed: distance, method, order."""
    with st.expander("Method and order"):
        if D.metric != "given":
            st.selectbox(
                "Distance",
                METRICS,
                format_func=lambda metric: words.METRICS[metric],
                help=words.DISTANCE,
                **bound("metric", s.recipe.metric, lambda metric: s.change(metric=metric)),
            )
            if not D.is_additive:
                st.caption(words.NOT_ADDITIVE)
        st.selectbox(
            "Grouping",
            get_args(Method),
            format_func=lambda method: words.METHODS[method],
            help=words.METHOD,
            **bound("method", s.recipe.method, lambda method: s.change(method=method)),
        )
        st.selectbox(
            "Order of visits",
            get_args(Order),
            format_func=lambda order: words.ORDER[order],
            help="On noisy data the result depends on it: try another one to see how much.",
            **bound("order", s.recipe.order, lambda order: s.change(order=order)),
        )
        if obs is not None:
            patience = patience_for(bic_work(obs), 1, "graph")
            st.toggle(
                "Hidden nodes must pay (BIC)",
                help=words.BIC,
                disabled=not patience.is_enough and s.recipe.regularize == "none",
                **bound(
                    "bic",
                    s.recipe.regularize == "bic",
                    lambda on: s.change(regularize="bic" if on else "none"),
                ),
            )
            if s.recipe.regularize == "none":
                st.caption(f"With it: {patience.words[:1].lower()}{patience.words[1:]}")
        if s.recipe.order == "random" or s.recipe.method == "relaxed":
            st.number_input(
                "Seed",
                min_value=0,
                max_value=10**9,
                step=1,
                help="Another seed shows how far chance moves the result.",
                **bound("seed", s.recipe.seed, lambda seed: s.change(seed=int(seed or 0))),
            )
            if s.recipe.regularize == "none":
                show_chance(s, D)


def step_through_history(s: Session) -> None:
    """Undo, redo, reset."""
    back, forward, reset = st.columns(3)
    back.button(
        "Undo",
        on_click=s.step_back,
        disabled=not s.before,
        width="stretch",
    )
    forward.button(
        "Redo",
        on_click=s.step_forward,
        disabled=not s.after,
        width="stretch",
    )
    reset.button(
        "Reset",
        on_click=s.reset,
        width="stretch",
        help="Back to the settings with which these data opened.",
    )


def _presets(s: Session, D: DistanceMatrix, curve: EdgeDensity | None) -> None:
    radii = preset_radii(D, curve)
    here = next((name for name, r in radii.items() if r == s.recipe.r), None)

    def report(name: str | None) -> None:
        if name is not None:
            s.change(r=radii[name])

    st.segmented_control(
        "Start from",
        list(radii),
        help="  \n".join(f"**{name}**: {words.PRESETS[name]}" for name in radii),
        width="stretch",
        **bound("preset", here, report),
    )


def _radius(s: Session, D: DistanceMatrix, curve: EdgeDensity | None) -> None:
    within = radius_range(D).holding(s.recipe.r)
    if s.snap and curve is not None:
        values = s.memo.get("radii", D.digest, lambda: [float(r) for r in curve.r])
        here = max((r for r in values if r <= s.recipe.r), default=values[0])
        st.select_slider(
            "r, the radius",
            values,
            format_func=lambda r: f"{r:.4g}",
            help=words.R,
            **bound("r_snapped", here, lambda r: s.change(r=r), limits=D.digest),
        )
        within = Range(values[0], values[-1], within.step)
    else:
        _slider(s, "r", "r, the radius", within, words.R)
        _marks(radius_marks(D, within))

    def report(on: bool) -> None:
        s.snap = on

    if curve is not None:
        st.toggle("only where it changes", help=words.SNAP, **bound("snap", s.snap, report))


def _slider(s: Session, name: str, label: str, within: Range, explanation: str) -> None:
    def report(value: float) -> None:
        s.change(**{name: value})

    st.slider(
        label,
        min_value=within.low,
        max_value=within.high,
        step=within.step,
        format=f"%.{decimals(within.step)}f",
        help=explanation,
        disabled=name not in READS[s.recipe.method],
        **bound(f"slider_{name}", getattr(s.recipe, name), report, limits=within),
    )


def _marks(marks: tuple[Mark, ...]) -> None:
    """Small ticks under the slider of r, each with its name and a tooltip."""
    ticks = "".join(
        f'<span class="row{mark.row}" style="left:{100 * mark.share:.2f}%" '
        f'title="{mark.name} = {mark.value:.3f}: {words.MARKS[mark.name]}">{mark.name}</span>'
        for mark in marks
    )
    st.html(f'<div class="loopylatent-marks">{ticks}</div>')
