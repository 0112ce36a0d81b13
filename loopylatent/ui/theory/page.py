"""The page Theory and its number format."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.figures.recovery import TITLES, bound_figure, distortion_figure, threshold_figure
from loopylatent.settings import Thresholds
from loopylatent.synthetic.laboratory import TrialPoint
from loopylatent.theory.assumptions import Distortion, conditions, distortion
from loopylatent.theory.ensemble import KAPPA, Ensemble, fewest_samples
from loopylatent.theory.tables import Axis, CurvePoint, along, applicable_girth, quantities
from loopylatent.ui.page import errors_shown, show_pages, theme
from loopylatent.ui.shell.background import Key
from loopylatent.ui.shell.laboratory import (
    CURVE_N,
    FAMILIES,
    TITLES as JOBS,
    Lab,
    begin_curve,
    curve_key,
    curve_time,
    ensemble_for,
    lab,
    learned_back,
    model_of,
    recovery_of,
    stop,
    sufficient_rows,
)
from loopylatent.ui.shell.results import source_of, title_of
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.widgets import (
    chart,
    escaped,
    job_bar,
    progress_line,
    remembered,
    start_button,
    style,
    table,
    text_of,
    texts,
)

KEY = "loopylatent theory"
MODEL, DATA, CUSTOM = "Laboratory model", "Explore data", "Custom values"
SOURCES = {MODEL: "the laboratory model", CUSTOM: "your values"}
FIRST = Ensemble(0.15, 0.15, 3, 4, girth=100, depth=2, n_observed=200, n_nodes=300)
words = texts("theory")
EVERY = 0.6


@dataclass(slots=True)
class Theory:
    """State of this page in one session."""

    source: str = MODEL
    custom: Ensemble = field(default_factory=lambda: FIRST)
    decay: float = 1.0
    kappa: float = KAPPA
    error: str | None = None

    def change(self, name: str, value: float) -> None:
        """Change one of the custom values; an invalid value sets ``error`` and changes nothing."""
        try:
            changed: Any = {name: value}
            self.custom = replace(self.custom, **changed)
            self.error = None
        except LoopyLatentError as error:
            self.error = str(error)


def theory() -> Theory:
    """Return the state of this session."""
    return remembered(KEY, Theory)


# The sidebar -------------------------------------------------------------------------------


def choose(s: Session) -> Theory:
    """Draw the sidebar and return the choices."""
    style("theory")
    here = theory()
    with st.sidebar:
        show_pages()
        tied = bound("theory_source", here.source, partial(setattr, here, "source"))
        st.radio("Source", [MODEL, DATA, CUSTOM], **tied)
        if here.source == MODEL:
            family = FAMILIES[lab().specification.family]
            st.caption(f"{family}; change it on the page *Laboratory*.")
        elif here.source == CUSTOM:
            _custom_values(here)
        else:
            st.caption(f"{escaped(title_of(s.memo, s.recipe))}, with the thresholds of *Explore*.")
        if here.source != DATA:
            _constants(here)
    return here


def _custom_values(here: Theory) -> None:
    e = here.custom
    rows: tuple[tuple[tuple[str, str, float, float], ...], ...] = (
        (("theta_min", "θ min", 0.001, 3.0), ("theta_max", "θ max", 0.001, 3.0)),
        (("degree_min", "Δ min", 1, 50), ("degree_max", "Δ max", 1, 50)),
        (("girth", "g, girth", 3, 5000), ("depth", "δ, depth", 1, 50)),
        (("n_observed", "p, columns", 2, 10**7), ("n_nodes", "m, nodes", 2, 10**7)),
    )
    for pair in rows:
        for column, (name, label, low, high) in zip(st.columns(2), pair, strict=True):
            whole, value = not name.startswith("theta"), getattr(e, name)
            change = partial(here.change, name)
            column.number_input(
                label,
                min_value=int(low) if whole else low,
                max_value=int(high) if whole else high,
                step=1 if whole else 0.01,
                format=None if whole else "%.3f",
                **bound(f"theory_{name}", int(value) if whole else float(value), change),
            )
    if here.error:
        st.error(text_of(here.error))


def _constants(here: Theory) -> None:
    left, right = st.columns(2)
    decay = bound("theory_decay", here.decay, partial(setattr, here, "decay"))
    kappa = bound("theory_kappa", here.kappa, partial(setattr, here, "kappa"))
    about = words.constants
    left.number_input("C", min_value=1e-3, max_value=1e3, step=0.5, help=about, **decay)
    right.number_input(
        "κ", min_value=0.001, max_value=0.5, step=0.01, format="%.3f", help=about, **kappa
    )


# The page ----------------------------------------------------------------------------------


def show(s: Session, here: Theory) -> None:
    """Conditions, thresholds and curves; or the checks on data."""
    if here.source == DATA:
        _on_data(s)
        return
    found = _numbers(s, here)
    if found is None:
        return
    e, yours = found
    st.markdown(words.about.format(source=SOURCES[here.source]))
    left, right = st.columns([1, 1.15], gap="medium")
    with left, st.container(key="theory_conditions"):
        _conditions(e, yours)
    with right:
        st.markdown(requirement(e, here.kappa))
        if here.source == MODEL:
            _practice(s, lab(), e)
        _curves(s, here, e)
    _table(e, yours, here.kappa)


def _numbers(s: Session, here: Theory) -> tuple[Ensemble, Thresholds] | None:
    """Return the ensemble and the thresholds to mark, or show why there are none."""
    recipe = s.recipe
    sliders = Thresholds(recipe.r, recipe.Lambda, recipe.tau)
    if here.source == CUSTOM:
        return replace(here.custom, decay_constant=here.decay), sliders
    room = lab()
    try:
        e = ensemble_for(s, room.specification, here.decay)
        learned_back(s, room, model_of(s, room.specification))
    except LoopyLatentError as error:
        st.error(text_of(error), icon=":material/error:")
        st.caption(
            "The theorems cover binary columns. Choose such a model on the page *Laboratory*."
        )
        return None
    found = recovery_of(s, room)
    return e, sliders if found is None else found.thresholds


def _conditions(e: Ensemble, yours: Thresholds) -> None:
    st.markdown("**Conditions**")
    for one in conditions(e, yours):
        icon, colour, verdict = words.verdicts[one.verdict]
        st.markdown(
            f":{colour}[{icon}] **{escaped(lowered(one.name))}** = {shown(one.value)} · "
            f":{colour}[{verdict}]  \n{escaped(one.sentence)}"
        )
    r = fewest_samples(e).r
    title = "Your thresholds and the theory's"
    st.markdown(f"**{title}**")
    figure = threshold_figure(e, yours, r if math.isfinite(r) else yours.r, theme=theme())
    chart(figure, title, "theory_thresholds", theme=None)
    inside = e.radius
    where = (
        "No r is admissible."
        if inside.is_empty
        else f"Admissible r are shaded: {shown(inside.low)} to {shown(inside.high)}."
    )
    st.caption(f"{where} The theory's Λ is at your r if that is admissible.")


def _practice(s: Session, room: Lab, e: Ensemble) -> None:
    """Recovery in simulation, for comparison with the theorems."""
    job = s.jobs.running(CURVE_N)

    @st.fragment(run_every=EVERY if job is not None else None)
    def stage() -> None:
        if s.jobs.running(CURVE_N) is not job:
            st.rerun()
        if job is not None:
            cancel = partial(stop, room, job)
            line = progress_line(JOBS[CURVE_N], job)
            job_bar(job, line, "theory_cancel", cancel=cancel, columns=(4, 1))
        else:
            _practised(s, room, e)

    stage()


def _practised(s: Session, room: Lab, e: Ensemble) -> None:
    points = [p for p in room.points.get(curve_key(room, "n"), []) if isinstance(p, TrialPoint)]
    if not points:
        st.caption("The theorems cover the worst case. A simulation shows this model:")
        model = model_of(s, room.specification)
        needed, work = curve_time(room, "n", model), (begin_curve, s, room, "n", model)
        with st.container(horizontal=True, vertical_alignment="center"):
            start_button("Simulate", needed, *work, key="theory_simulate")
        return
    enough, need = sufficient_rows(room), fewest_samples(e)
    if enough is not None:
        gap = f", {shown(need.n / enough)} times fewer" if math.isfinite(need.n) else ""
        st.success(
            f"In simulation, the graph was recovered in every repeat from **{enough:,} rows** "
            f"on{gap}. The theory is very conservative here.",
            icon=":material/science:",
        )
        return
    best = max(points, key=lambda p: (p.is_right, p.recall + p.precision))
    st.info(
        f"In simulation, up to {max(p.n or 0 for p in points):,} rows did not recover the graph in "
        f"every repeat; at best {best.recall:.0%} of its edges, with {best.n or 0:,} rows.",
        icon=":material/science:",
    )


@dataclass(frozen=True, slots=True)
class BoundsKey(Key):
    """The bounds on rows as a function of one parameter."""

    ensemble: Ensemble
    axis: Axis


def _curves(s: Session, here: Theory, e: Ensemble) -> None:
    axes: dict[str, Axis] = {"n against p": "p", "n against δ": "depth", "n against η": "eta"}
    found = sufficient_rows(lab()) if here.source == MODEL else None
    tabs = st.tabs(list(axes), key="theory_tab", on_change="rerun")
    for tab, axis in zip(tabs, axes.values(), strict=True):
        if not tab.open:
            continue
        with tab:
            points = s.memo.get("bounds", BoundsKey(e, axis), partial(_points, e, axis))
            mark = {"p": float(e.n_observed), "depth": e.depth, "eta": e.eta}[axis]
            if not math.isfinite(mark):
                st.caption(f"{TITLES[axis]} is infinite, so there is no plot.")
                continue
            figure = bound_figure(points, axis, mark=mark, found=found, theme=theme(), height=400)
            about = f"Rows that the theorems require, against {TITLES[axis]}"
            chart(figure, about, f"theory_chart_{axis}", theme=None)
            if any(one.girth != e.girth and one.theorem_2 is not None for one in points):
                st.caption(
                    "Where the girth is too small for Theorem 2, its line uses the smallest girth "
                    "at which it applies (hover to see it)."
                )


def _points(e: Ensemble, axis: Axis) -> tuple[CurvePoint, ...]:
    if axis == "p":
        high = max(1e4, 10 * e.n_observed)
        return along(e, axis, np.geomspace(10, high, 25).tolist())
    if axis == "depth":
        most = 8 if not math.isfinite(e.depth) else max(8, math.ceil(e.depth) + 2)
        return along(e, axis, [float(k) for k in range(1, most + 1)])
    return along(e, axis, np.linspace(1, max(3.0, e.eta * 1.2), 25).tolist())


def _table(e: Ensemble, yours: Thresholds, kappa: float) -> None:
    st.markdown("**Quantities of the theory**")
    rows = quantities(e, yours, kappa)
    frame = pd.DataFrame(
        {
            "symbol": [escaped(lowered(one.symbol)) for one in rows],
            "quantity": [escaped(lowered(one.name)) for one in rows],
            "value": [escaped(shown(one.value)) for one in rows],
            "meaning": [escaped(lowered(one.sentence)) for one in rows],
        }
    )
    with st.container(key="theory_numbers"):
        st.table(frame, hide_index=True)  # st.dataframe would truncate the sentences


# Data --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DistortionKey(Key):
    """Four-point distortion of distances."""

    distances: str
    r: float


def _on_data(s: Session) -> None:
    with errors_shown(s, history=False), st.spinner("Computing distances …"):
        source = source_of(s.memo, s.uploads, s.recipe)
    D, r = source.distances, s.recipe.r
    measured = s.memo.get("distortion", DistortionKey(D.digest, r), lambda: distortion(D, r))
    st.markdown(f"**{escaped(source.title)}**, with r = {shown(r)} as on the page *Explore*.")
    left, right = st.columns([1.6, 1], gap="medium")
    with left, st.container(key="theory_conditions"):
        st.markdown("**What can be checked**")
        for one in checks(D, r, measured):
            st.markdown(f"**{one.name}: {one.value}**  \n{one.sentence}")
    with right, st.container(key="theory_beyond"):
        st.markdown("**What cannot be checked**")
        st.markdown(words.cannot)
    if len(measured.columns):
        figure = distortion_figure(measured, D.names, theme=theme(), height=400)
        about = "Four-point distortion by column"
        chart(figure, about, "theory_distortion", theme=None)
        with st.expander("Distortion by column"):
            columns = {
                "column": [D.names[k] for k in measured.columns.tolist()],
                "columns in its ball": measured.sizes,
                "median distortion": measured.median,
                "largest distortion": measured.largest,
                "median inner path": measured.inner,
            }
            table(pd.DataFrame(columns))


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def lowered(text: str) -> str:
    """Write indices as subscripts.

    Examples
    --------
    >>> lowered("Δ_max tanh θ_min")
    'Δₘₐₓ tanh θₘᵢₙ'
    """
    return text.replace("_min", "ₘᵢₙ").replace("_max", "ₘₐₓ").replace("_ρ", "ᵨ")


def shown(value: float | None) -> str:
    """Format a number for reading.

    Examples
    --------
    >>> shown(3.14159), shown(42.0), shown(1234567.0), shown(2e-7), shown(None)
    ('3.14', '42', '1.23·10⁶', '2·10⁻⁷', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-3):
        power = math.floor(math.log10(abs(value)))
        return f"{value / 10**power:.3g}·10{str(power).translate(SUPERSCRIPTS)}".replace("-", "−")
    text = f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def requirement(e: Ensemble, kappa: float) -> str:
    """Return a sentence on the rows that Theorem 2 requires.

    Examples
    --------
    >>> e = Ensemble(0.3, 0.3, 3, 4, girth=10, depth=2, n_observed=20, n_nodes=30)
    >>> requirement(e, 0.05)[:48]
    '**Theorem 2 does not apply** at any girth: corre'
    """
    need = fewest_samples(e, kappa)
    if math.isfinite(need.n):
        return (
            f"**Theorem 2 requires {shown(need.n)} rows** (at r = {shown(need.r)}) to recover the "
            f"graph with probability {1 - kappa:g}."
        )
    girth = applicable_girth(e)
    if girth is None:
        return (
            f"**Theorem 2 does not apply** at any girth: correlations do not decay (α = "
            f"{shown(e.alpha)}), or a hidden node is too far from the columns."
        )
    return (
        f"**Theorem 2 does not apply**: cycles of {shown(e.girth)} edges are too short. It applies "
        f"from {girth} edges on."
    )


@dataclass(frozen=True, slots=True)
class Check:
    """A property that can be checked on data."""

    name: str
    value: str
    sentence: str


def checks(D: DistanceMatrix, r: float, measured: Distortion) -> tuple[Check, ...]:
    """Return the properties that can be checked on data."""
    finite = D.values[D.values < math.inf]
    floor = D.noise_floor
    found = [
        Check(
            "Distances",
            f"{shown(D.smallest)} to {shown(D.r_max)}",
            "Smallest and largest finite distance of two columns.",
        ),
        Check(
            "Additive metric",
            "yes" if D.is_additive else "no",
            "Distances add up along the paths of a tree, as the theorems require."
            if D.is_additive
            else "Distances do not add up along the paths of a tree, so no theorem applies.",
        ),
    ]
    if floor is None:
        found.append(Check("Noise floor", "–", "The number of rows is unknown."))
    else:
        share = float((finite > floor).mean())
        inside = "below" if r <= floor else "above"
        found.append(
            Check(
                "Noise floor",
                shown(floor),
                f"{share:.0%} of the distances are longer and cannot be distinguished from "
                f"independence; your r = {shown(r)} is {inside} it.",
            )
        )
    found.append(_four_point_check(r, measured))
    return tuple(found)


def _four_point_check(r: float, measured: Distortion) -> Check:
    name = "Four-point distortion"
    if len(measured.columns) == 0:
        return Check(name, "–", f"No ball of radius {shown(r)} contains four columns.")
    ratio = measured.typical / measured.typical_inner if measured.typical_inner > 0 else math.inf
    verdict = (
        "small in comparison: the balls are nearly trees"
        if ratio < 0.5
        else "not small in comparison: noise or short cycles distort the distances"
    )
    return Check(
        name,
        shown(measured.typical),
        f"Median distance of a quartet from a tree, in {len(measured.columns)} balls of radius "
        f"{shown(r)} ({measured.n_quartets:,} quartets). The median inner path has length "
        f"{shown(measured.typical_inner)}. The distortion is {verdict}.",
    )
