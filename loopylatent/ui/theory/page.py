"""The parts of the Theory page, and how it writes numbers."""

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
from loopylatent.theory.tables import Axis, CurvePoint, along, quantities, speaking_girth
from loopylatent.ui.page import refusals, show_pages, theme
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
    rows_that_found_it,
    stop,
)
from loopylatent.ui.shell.results import source_of, title_of
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.widgets import (
    chart,
    escaped,
    job_bar,
    progress_line,
    remembered,
    said,
    start_button,
    style,
    table,
    texts,
)

KEY = "loopylatent theory"
MODEL, OWN, DATA = "The laboratory's model", "Numbers of my own", "The data on Explore"
FIRST = Ensemble(0.15, 0.15, 3, 4, girth=100, depth=2, n_observed=200, n_nodes=300)
words = texts("theory")
EVERY = 0.6


@dataclass(slots=True)
class Theory:
    """What one session remembers on this page."""

    source: str = MODEL
    own: Ensemble = field(default_factory=lambda: FIRST)
    decay: float = 1.0
    kappa: float = KAPPA
    refused: str | None = None

    def change(self, name: str, value: float) -> None:
        """Change one of the own numbers; a refusal is said and changes nothing."""
        try:
            changed: Any = {name: value}
            self.own = replace(self.own, **changed)
            self.refused = None
        except LoopyLatentError as error:
            self.refused = str(error)


def theory() -> Theory:
    """Return what this browser tab remembers."""
    return remembered(KEY, Theory)


# The sidebar -------------------------------------------------------------------------------


def choose(s: Session) -> Theory:
    """Draw the sidebar and return what was chosen."""
    style("theory")
    here = theory()
    with st.sidebar:
        show_pages()
        tied = bound("theory_source", here.source, partial(setattr, here, "source"))
        st.radio("The numbers are those of", [MODEL, OWN, DATA], **tied)
        if here.source == MODEL:
            family = FAMILIES[lab().specification.family]
            st.caption(f"{family}; change it on the page *Laboratory*.")
        elif here.source == OWN:
            _own_numbers(here)
        else:
            st.caption(f"{escaped(title_of(s.memo, s.recipe))}, with the thresholds of *Explore*.")
        if here.source != DATA:
            _constants(here)
    return here


def _own_numbers(here: Theory) -> None:
    e = here.own
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
    if here.refused:
        st.error(said(here.refused))


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
    """Conditions, thresholds and curves; or what can be checked on data."""
    if here.source == DATA:
        _on_data(s)
        return
    found = _numbers(s, here)
    if found is None:
        return
    e, yours, whose = found
    st.markdown(words.about.format(whose=whose.lower() if whose != OWN else "numbers of your own"))
    left, right = st.columns([1, 1.15], gap="medium")
    with left, st.container(key="theory_conditions"):
        _conditions(e, yours)
    with right:
        st.markdown(promise(e, here.kappa))
        if here.source == MODEL:
            _practice(s, lab(), e)
        _curves(s, here, e)
    _table(e, yours, here.kappa)


def _numbers(s: Session, here: Theory) -> tuple[Ensemble, Thresholds, str] | None:
    """Return the numbers and the thresholds to mark, or say why there are none."""
    recipe = s.recipe
    sliders = Thresholds(recipe.r, recipe.Lambda, recipe.tau)
    if here.source == OWN:
        return replace(here.own, decay_constant=here.decay), sliders, OWN
    room = lab()
    try:
        e = ensemble_for(s, room.specification, here.decay)
        learned_back(s, room, model_of(s, room.specification))
    except LoopyLatentError as error:
        st.error(said(error), icon=":material/error:")
        st.caption("The theorems are about yes/no columns; choose such a model in the Laboratory.")
        return None
    found = recovery_of(s, room)
    return e, sliders if found is None else found.thresholds, MODEL


def _conditions(e: Ensemble, yours: Thresholds) -> None:
    st.markdown("**Conditions**")
    for one in conditions(e, yours):
        icon, colour, verdict = words.verdicts[one.verdict]
        st.markdown(
            f":{colour}[{icon}] **{escaped(lowered(one.name))}** = {shown(one.value)} · "
            f":{colour}[{verdict}]  \n{escaped(one.sentence)}"
        )
    r = fewest_samples(e).r
    st.markdown("**Your thresholds beside those of the theory**")
    figure = threshold_figure(e, yours, r if math.isfinite(r) else yours.r, theme=theme())
    chart(figure, "Your thresholds beside those of the theory", "theory_thresholds", theme=None)
    inside = e.radius
    where = (
        "No r is admissible, so none is shaded."
        if inside.is_empty
        else f"Admissible r are shaded: {shown(inside.low)} to {shown(inside.high)}."
    )
    st.caption(f"{where} Λ of the theory is taken at your r where it is admissible.")


def _practice(s: Session, room: Lab, e: Ensemble) -> None:
    """What the laboratory found, beside what is promised."""
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
        st.caption("Proofs are for the worst case. What happens on this very model can be tried:")
        model = model_of(s, room.specification)
        needed, work = curve_time(room, "n", model), (begin_curve, s, room, "n", model)
        with st.container(horizontal=True, vertical_alignment="center"):
            start_button("Ask the laboratory", needed, *work, key="theory_ask")
        return
    enough, need = rows_that_found_it(room), fewest_samples(e)
    if enough is not None:
        gap = f", {shown(need.n / enough)} times fewer" if math.isfinite(need.n) else ""
        st.success(
            f"The laboratory found this very graph in every repeat from **{enough:,} rows** "
            f"on{gap}. The theory is very conservative here.",
            icon=":material/science:",
        )
        return
    best = max(points, key=lambda p: (p.is_right, p.recall + p.precision))
    st.info(
        f"The laboratory did not find the graph in every repeat with up to "
        f"{max(p.n or 0 for p in points):,} rows; at best {best.recall:.0%} of its edges, with "
        f"{best.n or 0:,} rows.",
        icon=":material/science:",
    )


@dataclass(frozen=True, slots=True)
class BoundsKey(Key):
    """The bounds on rows along one number."""

    ensemble: Ensemble
    axis: Axis


def _curves(s: Session, here: Theory, e: Ensemble) -> None:
    axes: dict[str, Axis] = {"n against p": "p", "n against δ": "depth", "n against η": "eta"}
    found = rows_that_found_it(lab()) if here.source == MODEL else None
    tabs = st.tabs(list(axes), key="theory_tab", on_change="rerun")
    for tab, axis in zip(tabs, axes.values(), strict=True):
        if not tab.open:
            continue
        with tab:
            points = s.memo.get("bounds", BoundsKey(e, axis), partial(_points, e, axis))
            mark = {"p": float(e.n_observed), "depth": e.depth, "eta": e.eta}[axis]
            if not math.isfinite(mark):
                st.caption(f"{TITLES[axis]} is infinite here, so there is nothing to draw.")
                continue
            figure = bound_figure(points, axis, mark=mark, found=found, theme=theme(), height=400)
            about = f"Rows that the theorems ask for, against {TITLES[axis]}"
            chart(figure, about, f"theory_chart_{axis}", theme=None)
            if any(one.girth != e.girth and one.theorem_2 is not None for one in points):
                st.caption(
                    "Where the shortest cycle is too short for Theorem 2, its line is that of the "
                    "smallest girth at which it speaks (point at the line to see it)."
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
    st.markdown("**Every number of the theory**")
    rows = quantities(e, yours, kappa)
    frame = pd.DataFrame(
        {
            "symbol": [escaped(lowered(one.symbol)) for one in rows],
            "what it is": [escaped(lowered(one.name)) for one in rows],
            "value": [escaped(shown(one.value)) for one in rows],
            "in plain words": [escaped(lowered(one.sentence)) for one in rows],
        }
    )
    with st.container(key="theory_numbers"):
        st.table(frame, hide_index=True)  # not a grid, which would cut its sentences


# Data --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DistortionKey(Key):
    """How far distances are from those of a tree."""

    distances: str
    r: float


def _on_data(s: Session) -> None:
    with refusals(s, history=False), st.spinner("Distances between all columns …"):
        source = source_of(s.memo, s.uploads, s.recipe)
    D, r = source.distances, s.recipe.r
    bent = s.memo.get("distortion", DistortionKey(D.digest, r), lambda: distortion(D, r))
    st.markdown(f"**{escaped(source.title)}**, with r = {shown(r)} as on the page *Explore*.")
    left, right = st.columns([1.6, 1], gap="medium")
    with left, st.container(key="theory_conditions"):
        st.markdown("**What can be checked**")
        for one in checks(D, r, bent):
            st.markdown(f"**{one.name}: {one.value}**  \n{one.sentence}")
    with right, st.container(key="theory_beyond"):
        st.markdown("**What cannot be checked**")
        st.markdown(words.cannot)
    if len(bent.columns):
        figure = distortion_figure(bent, D.names, theme=theme(), height=400)
        about = "How far distances are from those of a tree, by column"
        chart(figure, about, "theory_distortion", theme=None)
        with st.expander("Distortion around every column"):
            columns = {
                "column": [D.names[k] for k in bent.columns.tolist()],
                "columns in its ball": bent.sizes,
                "typical distortion": bent.median,
                "largest distortion": bent.largest,
                "typical inner path": bent.inner,
            }
            table(pd.DataFrame(columns))


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def lowered(text: str) -> str:
    """Write indices below the line, as in print.

    Examples
    --------
    >>> lowered("Δ_max tanh θ_min")
    'Δₘₐₓ tanh θₘᵢₙ'
    """
    return text.replace("_min", "ₘᵢₙ").replace("_max", "ₘₐₓ").replace("_ρ", "ᵨ")


def shown(value: float | None) -> str:
    """Return a number as a person writes it.

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


def promise(e: Ensemble, kappa: float) -> str:
    """Say what Theorem 2 asks for.

    Examples
    --------
    >>> e = Ensemble(0.3, 0.3, 3, 4, girth=10, depth=2, n_observed=20, n_nodes=30)
    >>> promise(e, 0.05)[:48]
    '**Theorem 2 is silent** at any girth: influence '
    """
    need = fewest_samples(e, kappa)
    if math.isfinite(need.n):
        return (
            f"**Theorem 2 asks for {shown(need.n)} rows** (at r = {shown(need.r)}) to find the "
            f"graph with probability {1 - kappa:g}."
        )
    girth = speaking_girth(e)
    if girth is None:
        return (
            f"**Theorem 2 is silent** at any girth: influence does not die out (α = "
            f"{shown(e.alpha)}), or a hidden node is out of reach of the columns."
        )
    return (
        f"**Theorem 2 is silent**: cycles of {shown(e.girth)} edges are too short for it. It "
        f"speaks from {girth} edges on."
    )


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that data can show."""

    name: str
    value: str
    sentence: str


def checks(D: DistanceMatrix, r: float, bent: Distortion) -> tuple[Check, ...]:
    """Return what can be checked on data."""
    finite = D.values[D.values < math.inf]
    floor = D.noise_floor
    found = [
        Check(
            "Distances",
            f"{shown(D.smallest)} to {shown(D.r_max)}",
            "The nearest and the farthest two columns; the theory speaks of these distances.",
        ),
        Check(
            "Additive metric",
            "yes" if D.is_additive else "no",
            "The theorems need distances that add up along the paths of a tree."
            if D.is_additive
            else "These do not add up along the paths of a tree, so no theorem applies.",
        ),
    ]
    if floor is None:
        found.append(Check("Noise floor", "–", "How many rows there are is not known."))
    else:
        share = float((finite > floor).mean())
        inside = "inside" if r <= floor else "beyond"
        found.append(
            Check(
                "Noise floor",
                shown(floor),
                f"{share:.0%} of the distances are longer and cannot be told from independence; "
                f"your r = {shown(r)} lies {inside} it.",
            )
        )
    found.append(_bending(r, bent))
    return tuple(found)


def _bending(r: float, bent: Distortion) -> Check:
    name = "Four-point distortion"
    if len(bent.columns) == 0:
        return Check(name, "–", f"No ball of radius {shown(r)} holds four columns.")
    ratio = bent.typical / bent.typical_inner if bent.typical_inner > 0 else math.inf
    verdict = (
        "small beside it: neighbourhoods look like trees"
        if ratio < 0.5
        else "not small beside it: noise or short cycles bend the neighbourhoods"
    )
    return Check(
        name,
        shown(bent.typical),
        f"In {len(bent.columns)} balls of radius {shown(r)} ({bent.n_quartets:,} quartets) a "
        f"typical quartet is this far from a tree; its inner path is {shown(bent.typical_inner)} "
        f"long. It is {verdict}.",
    )
