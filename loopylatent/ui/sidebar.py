"""The sidebar, the same on every page: data, thresholds, the way back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from loopylatent.analysis.stability.seeds import SeedEffect, over_seeds
from loopylatent.compute.limits import estimate
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.learning.initial_graph import EdgeDensity
from loopylatent.learning.thresholds import default_thresholds, loop_radius
from loopylatent.settings import READS
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import sample_titles
from loopylatent.ui.open.dialog import open_columns, open_file
from loopylatent.ui.shell import words
from loopylatent.ui.shell.keys import LearnedKey
from loopylatent.ui.shell.messages import said, time_needed
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.stages import bic_work, sample_recipe
from loopylatent.ui.shell.widgets import wait_for

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

    def choice(label: str, name: str, texts: Mapping[str, str], tip: str) -> None:
        st.selectbox(
            label, list(texts), format_func=lambda one: texts[one], help=tip, **_setting(s, name)
        )

    with st.expander("Method and order"):
        if D.metric != "given":
            choice("Distance", "metric", words.METRICS, words.DISTANCE)
            if not D.is_additive:
                st.caption(words.NOT_ADDITIVE)
        choice("Grouping", "method", words.METHODS, words.METHOD)
        tip = "On noisy data the result depends on it: try another one to see how much."
        choice("Order of visits", "order", words.ORDER, tip)
        without = s.recipe.regularize == "none"
        if obs is not None:
            time = time_needed(bic_work(obs), 1, "graph")

            def report(on: bool) -> None:
                s.change(regularize="bic" if on else "none")

            st.toggle(
                "Hidden nodes must pay (BIC)",
                help=words.BIC,
                disabled=not time.is_allowed and without,
                **bound("bic", s.recipe.regularize == "bic", report),
            )
            if without:
                st.caption(f"With it: {time.words[:1].lower()}{time.words[1:]}")
        if s.recipe.order == "random" or s.recipe.method == "relaxed":
            st.number_input(
                "Seed",
                min_value=0,
                max_value=10**9,
                step=1,
                help="Another seed shows how far chance moves the result.",
                **bound("seed", s.recipe.seed, lambda seed: s.change(seed=int(seed or 0))),
            )
            if without:
                show_seeds(s, D)


def _setting(
    s: Session, name: str, widget: str | None = None, limits: Any = None
) -> Mapping[str, Any]:
    """Tie a widget to one of the settings."""
    value = getattr(s.recipe, name)
    return bound(widget or name, value, lambda new: s.change(**{name: new}), limits=limits)


def step_through_history(s: Session) -> None:
    """Undo, redo, reset."""
    back, forward, reset = st.columns(3)
    back.button("Undo", on_click=s.step_back, disabled=not s.before, width="stretch")
    forward.button("Redo", on_click=s.step_forward, disabled=not s.after, width="stretch")
    tip = "Back to the settings with which these data opened."
    reset.button("Reset", on_click=s.reset, width="stretch", help=tip)


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
    st.slider(
        label,
        min_value=within.low,
        max_value=within.high,
        step=within.step,
        format=f"%.{decimals(within.step)}f",
        help=explanation,
        disabled=name not in READS[s.recipe.method],
        **_setting(s, name, f"slider_{name}", within),
    )


def _marks(marks: tuple[Mark, ...]) -> None:
    """Small ticks under the slider of r, each with its name and a tooltip."""
    ticks = "".join(
        f'<span class="row{mark.row}" style="left:{100 * mark.share:.2f}%" '
        f'title="{mark.name} = {mark.value:.3f}: {words.MARKS[mark.name]}">{mark.name}</span>'
        for mark in marks
    )
    st.html(f'<div class="loopylatent-marks">{ticks}</div>')


CLOSE = 0.2
"""Marks nearer than this share of the slider would overlap."""


@dataclass(frozen=True, slots=True)
class Range:
    """A slider's limits and step."""

    low: float
    high: float
    step: float

    def holding(self, value: float) -> Range:
        """Return a range that also holds ``value``."""
        return Range(min(self.low, value), max(self.high, value), self.step)

    def share(self, value: float) -> float:
        """How far along the slider a value stands, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the slider of r that means something."""

    name: str
    value: float
    share: float
    row: int = 0
    """Marks that stand close together are written in rows below each other."""


def radius_range(D: DistanceMatrix) -> Range:
    """From just above the smallest distance to a little beyond r_max."""
    spread = max(D.r_max - D.smallest, 1e-3)
    step = _step(spread / 400)
    return Range(math.ceil(D.smallest / step) * step, D.r_max + max(0.03 * spread, step), step)


def margin_range(D: DistanceMatrix) -> Range:
    """From 0 to a dozen times the default margin."""
    high = 0.2 if D.n_samples is None else min(0.5, max(0.02, 6 / math.sqrt(D.n_samples)))
    step = _step(high / 200)
    return Range(0.0, round(high / step) * step, step)


def contraction_range(D: DistanceMatrix) -> Range:
    """From 0 to somewhat more than the median edge of the shortest tree."""
    typical = 5 * default_thresholds(D).tau
    step = _step(max(typical, 1e-3) / 100)
    return Range(0.0, max(math.ceil(1.2 * typical / step) * step, step), step)


def radius_marks(D: DistanceMatrix, within: Range) -> tuple[Mark, ...]:
    """Where r_min, r_max and the noise floor stand, as far as they lie on the slider."""
    named = {"r min": D.r_min, "noise": D.noise_floor, "r max": D.r_max}
    there = sorted(
        (value, name)
        for name, value in named.items()
        if value is not None and within.low <= value <= within.high
    )
    marks: list[Mark] = []
    for value, name in there:
        share = within.share(value)
        close = bool(marks) and share - marks[-1].share < CLOSE
        marks.append(Mark(name, value, share, (marks[-1].row + 1) % 3 if close else 0))
    return tuple(marks)


def preset_radius(name: str, D: DistanceMatrix, curve: EdgeDensity | None) -> float:
    """Return r for "Tree", "Few loops" or, from the curve, "Dense"."""
    if name == "Tree":
        return D.r_max
    if name == "Few loops":
        return loop_radius(D)
    assert curve is not None, "only the curve knows where it is densest"
    return max(float(curve.r[int(np.argmax(curve.n_edges))]), D.smallest)


def preset_radii(D: DistanceMatrix, curve: EdgeDensity | None) -> dict[str, float]:
    """Return the radii to start from by name; the densest one is known with the curve."""
    names = ("Tree", "Few loops") if curve is None else ("Tree", "Few loops", "Dense")
    return {name: preset_radius(name, D, curve) for name in names}


def decimals(step: float) -> int:
    """How many decimals show every step."""
    return max(0, -math.floor(math.log10(step)))


def _step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten near ``about``."""
    power = 10.0 ** math.floor(math.log10(about))
    return float(min((1, 2, 5, 10), key=lambda k: abs(k * power - about)) * power)


N_SEEDS = 10


def show_seeds(s: Session, D: DistanceMatrix) -> None:
    """Offer to learn with other seeds, and say how far the graphs agree."""
    settings = replace(s.recipe.settings, seed=0)
    key = LearnedKey(D.digest, settings)
    job = s.jobs.of("seeds", key)

    def begin() -> None:
        s.jobs.get("seeds", key, lambda report: over_seeds(D, settings, N_SEEDS, progress=report))

    if job is None or job.error == "stopped":
        time = time_needed(estimate("learn", 0, D.n_columns) * N_SEEDS, 1, "graph")
        st.button(
            "How far does the seed move it?",
            key="chance",
            width="stretch",
            help=f"Learns with {N_SEEDS} seeds, in the background, and compares the graphs.",
            on_click=begin,
            disabled=not time.is_allowed,
        )
        st.caption(time.words)
    elif job.is_running:
        wait_for(job, lambda: f"{job.done} of {N_SEEDS} seeds", key="chance_cancel", widths=None)
    else:
        st.caption(said(job.error) if job.error else sentence(job.result))


def sentence(effect: SeedEffect) -> str:
    """Say what the seeds did."""
    if effect.n_different == 1:
        return f"{len(effect.seeds)} seeds give one and the same graph: here chance plays no part."
    return f"{effect}. What other seeds do not find again is not to be read as a finding."
