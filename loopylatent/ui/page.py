"""The frame of every page: title line, sidebar, and the graph of the current settings."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.analysis.matching import name_node
from loopylatent.analysis.stability.resampling import SeedEffect, over_seeds
from loopylatent.compute.limits import estimate
from loopylatent.compute.values import Progress
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError, LimitError, LoopyLatentError
from loopylatent.figures.network import ThemeName
from loopylatent.figures.simplify import SIMPLE_FROM
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import EdgeDensity, default_thresholds, loop_radius
from loopylatent.learning.learner import LearnResult
from loopylatent.settings import READS
from loopylatent.tables.samples import sample_titles
from loopylatent.ui.open.dialog import follow_curve, open_columns, open_file
from loopylatent.ui.shell.background import upkeep, warm_up_once
from loopylatent.ui.shell.results import (
    DataKey,
    LearnedKey,
    Source,
    TableKey,
    bic_work,
    known_curve,
    learned,
    regularized_job,
    sample_recipe,
    source_of,
)
from loopylatent.ui.shell.session import (
    REFINE,
    Session,
    bound,
    offer_pin,
    params_of,
    pin_params,
    session,
)
from loopylatent.ui.shell.widgets import TimeNeeded, text_of, time_needed, wait_for, words

OWN = "own"


def choose_data(s: Session) -> None:
    """Choose a bundled sample or open a file."""
    titles: dict[str, str] = {}
    with suppress(LoopyLatentError):  # without the bundled tables, a file can still be opened
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
        help="Bundled example tables. Open file reads your own.",
        **bound("data", here, report),
    )
    left, right = st.columns(2)
    if left.button("Open file", width="stretch"):
        open_file(s)
    if right.button("Columns", width="stretch"):
        open_columns(s)


def choose_thresholds(
    s: Session, D: DistanceMatrix, scales: Scales, curve: EdgeDensity | None
) -> None:
    """Draw the presets and the three sliders; some parts need the density curve."""
    _presets(s, preset_radii(D, scales.few_loops, curve))
    _radius(s, D, scales.r, curve)
    _slider(s, "Lambda", "Margin Λ", scales.Lambda, words.margin)
    _slider(s, "tau", "Minimum edge length τ", scales.tau, words.min_length)
    note = st.container()  # always drawn: otherwise the expander below would close
    if words.unused[s.recipe.method]:
        note.caption(words.unused[s.recipe.method])


def choose_method(s: Session, D: DistanceMatrix, bic_time: TimeNeeded | None) -> None:
    """Draw the settings that are rarely changed."""

    def choice(label: str, name: str, texts: Mapping[str, str], tip: str) -> None:
        st.selectbox(
            label, list(texts), format_func=lambda one: texts[one], help=tip, **_setting(s, name)
        )

    with st.expander("Method"):
        if D.metric != "given":
            choice("Distance", "metric", words.metrics, words.distance)
            if not D.is_additive:
                st.caption(words.not_additive)
        choice("Grouping", "method", words.methods, words.method)
        tip = "On noisy data the graph depends on the order. Try another one to see how much."
        choice("Visiting order", "order", words.order, tip)
        without = s.recipe.regularize == "none"
        if bic_time is not None:

            def report(on: bool) -> None:
                s.change(regularize="bic" if on else "none")

            st.toggle(
                "Penalise hidden nodes (BIC)",
                help=words.bic,
                disabled=not bic_time.is_allowed and without,
                **bound("bic", s.recipe.regularize == "bic", report),
            )
            if without:
                st.caption(f"With it: {bic_time.words[:1].lower()}{bic_time.words[1:]}")
        if s.recipe.order == "random" or s.recipe.method == "relaxed":
            st.number_input(
                "Seed",
                min_value=0,
                max_value=10**9,
                step=1,
                help="Another seed shows how much of the graph is random.",
                **bound("seed", s.recipe.seed, lambda seed: s.change(seed=int(seed or 0))),
            )
            if without:
                show_seeds(s, D)


def _setting(
    s: Session, name: str, widget: str | None = None, limits: Any = None
) -> Mapping[str, Any]:
    """Bind a widget to one of the settings."""
    value = getattr(s.recipe, name)
    return bound(widget or name, value, lambda new: s.change(**{name: new}), limits=limits)


def step_through_history(s: Session) -> None:
    """Undo, redo, reset."""
    back, forward, reset = st.columns(3)
    back.button("Undo", on_click=s.step_back, disabled=not s.before, width="stretch")
    forward.button("Redo", on_click=s.step_forward, disabled=not s.after, width="stretch")
    tip = "Restores the settings with which these data were opened."
    reset.button("Reset", on_click=s.reset, width="stretch", help=tip)


def _presets(s: Session, radii: Mapping[str, float]) -> None:
    here = next((name for name, r in radii.items() if r == s.recipe.r), None)

    def report(name: str | None) -> None:
        if name is not None:
            s.change(r=radii[name])

    st.segmented_control(
        "Presets",
        list(radii),
        help="  \n".join(f"**{name}**: {words.presets[name]}" for name in radii),
        width="stretch",
        **bound("preset", here, report),
    )


def _radius(s: Session, D: DistanceMatrix, within: Range, curve: EdgeDensity | None) -> None:
    if s.snap and curve is not None:
        values = s.memo.get("radii", D.digest, lambda: [float(r) for r in curve.r])
        here = max((r for r in values if r <= s.recipe.r), default=values[0])
        st.select_slider(
            "Radius r",
            values,
            format_func=lambda r: f"{r:.4g}",
            help=words.radius,
            **bound("r_snapped", here, lambda r: s.change(r=r), limits=D.digest),
        )
    else:
        _slider(s, "r", "Radius r", within, words.radius)
        _marks(radius_marks(D, within.holding(s.recipe.r)))

    if curve is not None:
        binding = bound("snap", s.snap, partial(setattr, s, "snap"))
        st.toggle("Snap to changes", help=words.snap, **binding)


def _slider(s: Session, name: str, label: str, usual: Range, explanation: str) -> None:
    within = usual.holding(getattr(s.recipe, name))
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
    """Draw ticks under the slider of r, each with its name and a tooltip."""
    ticks = "".join(
        f'<span class="row{mark.row}" style="left:{100 * mark.share:.2f}%" '
        f'title="{mark.name} = {mark.value:.3f}: {words.marks[mark.name]}">{mark.name}</span>'
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
        """Return the range, extended to ``value`` if necessary."""
        return Range(min(self.low, value), max(self.high, value), self.step)

    def share(self, value: float) -> float:
        """Position of a value on the slider, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference value on the slider of r."""

    name: str
    value: float
    share: float
    row: int = 0
    """Labels that would overlap are written in rows below each other."""


@dataclass(frozen=True, slots=True)
class Scales:
    """What the sidebar needs to know about a table, independent of the settings."""

    r: Range
    Lambda: Range
    tau: Range
    few_loops: float
    """The radius of this preset."""
    bic: TimeNeeded | None
    """Time of the BIC search; None without rows."""


def scales_of(s: Session, source: Source) -> Scales:
    """Return the scales of a table, computed once."""
    D, obs = source.distances, source.observations

    def compute() -> Scales:
        ranges = (radius_range(D), margin_range(D), contraction_range(D))
        time = None if obs is None else time_needed(bic_work(obs), 1, "graph")
        return Scales(*ranges, loop_radius(D), time)

    return s.memo.get("scales", TableKey.of(source), compute)


def radius_range(D: DistanceMatrix) -> Range:
    """From the smallest distance to slightly above r_max."""
    spread = max(D.r_max - D.smallest, 1e-3)
    step = _step(spread / 400)
    return Range(math.ceil(D.smallest / step) * step, D.r_max + max(0.03 * spread, step), step)


def margin_range(D: DistanceMatrix) -> Range:
    """From 0 to a dozen times the default margin."""
    high = 0.2 if D.n_samples is None else min(0.5, max(0.02, 6 / math.sqrt(D.n_samples)))
    step = _step(high / 200)
    return Range(0.0, round(high / step) * step, step)


def contraction_range(D: DistanceMatrix) -> Range:
    """From 0 to 1.2 times the median edge of the minimum spanning tree."""
    typical = 5 * default_thresholds(D).tau
    step = _step(max(typical, 1e-3) / 100)
    return Range(0.0, max(math.ceil(1.2 * typical / step) * step, step), step)


def radius_marks(D: DistanceMatrix, within: Range) -> tuple[Mark, ...]:
    """Return the marks of r_min, r_max and the noise floor that lie on the slider."""
    named = {"r min": D.r_min, "noise": D.noise_floor, "r max": D.r_max}
    visible = sorted(
        (value, name)
        for name, value in named.items()
        if value is not None and within.low <= value <= within.high
    )
    marks: list[Mark] = []
    for value, name in visible:
        share = within.share(value)
        close = bool(marks) and share - marks[-1].share < CLOSE
        marks.append(Mark(name, value, share, (marks[-1].row + 1) % 3 if close else 0))
    return tuple(marks)


def preset_radii(
    D: DistanceMatrix, few_loops: float, curve: EdgeDensity | None
) -> dict[str, float]:
    """Return the radii of the presets by name; Dense needs the density curve."""
    radii = {"Tree": D.r_max, "Few loops": few_loops}
    if curve is not None:
        radii["Dense"] = max(float(curve.r[int(np.argmax(curve.n_edges))]), D.smallest)
    return radii


def decimals(step: float) -> int:
    """Return the number of decimals that a step needs."""
    return max(0, -math.floor(math.log10(step)))


def _step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten near ``about``."""
    power = 10.0 ** math.floor(math.log10(about))
    return float(min((1, 2, 5, 10), key=lambda k: abs(k * power - about)) * power)


N_SEEDS = 10


def show_seeds(s: Session, D: DistanceMatrix) -> None:
    """Offer to learn with other seeds, and say how well the graphs agree."""
    settings = replace(s.recipe.settings, seed=0)
    key = LearnedKey(D.digest, settings)
    job = s.jobs.of("seeds", key)

    def begin() -> None:
        s.jobs.get("seeds", key, lambda report: over_seeds(D, settings, N_SEEDS, progress=report))

    if job is None or job.error == "stopped":
        time = time_needed(estimate("learn", 0, D.n_columns) * N_SEEDS, 1, "graph")
        st.button(
            "Compare seeds",
            key="seeds",
            width="stretch",
            help=f"Learns with {N_SEEDS} seeds in the background and compares the graphs.",
            on_click=begin,
            disabled=not time.is_allowed,
        )
        st.caption(time.words)
    elif job.is_running:
        wait_for(job, lambda: f"{job.done} of {N_SEEDS} seeds", key="cancel_seeds", columns=None)
    else:
        st.caption(text_of(job.error) if job.error else seeds_sentence(job.result))


def seeds_sentence(effect: SeedEffect) -> str:
    """Say how the graphs of different seeds differ."""
    if effect.n_different == 1:
        return f"{len(effect.seeds)} seeds give the same graph: the seed has no effect here."
    return f"{effect}. Do not interpret parts that other seeds do not find."


PAGES = {
    "app.py": "Explore",
    "pages/1_Step_by_step.py": "Step by step",
    "pages/2_Tune.py": "Tune",
    "pages/3_Compare.py": "Compare",
    "pages/4_Evaluate.py": "Evaluate",
    "pages/5_Laboratory.py": "Laboratory",
    "pages/6_Theory.py": "Theory",
    "pages/7_Help.py": "Help",
}
SLOW_FROM = 200
"""Columns from which learning shows its progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """The current data and settings with the graph learned from them."""

    session: Session
    source: Source
    curve: EdgeDensity | None
    """None until it is computed; for large tables that happens in the background."""
    result: LearnResult


def setup(title: str) -> Session:
    """Set up a page and draw its title line; every page calls this first."""
    st.set_page_config(
        page_title=f"{title} · loopylatent",
        page_icon=_icon(),
        layout="wide",
        initial_sidebar_state="expanded",
    )
    st.html(Path(__file__).with_name("style.css"))
    st.html(f'<div class="loopylatent-title"><h1>{title}</h1> <p>{words.pages[title]}</p></div>')
    upkeep().set()
    warm_up_once()
    return session()


@cache
def _icon() -> str:
    """Return the icon as a data URL; as a file it would flicker at every rerun."""
    picture = Path(__file__).with_name("icon.png").read_bytes()
    return "data:image/png;base64," + b64encode(picture).decode()


def theme() -> ThemeName:
    """Return the theme that the browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"


def choose(s: Session, linked: Mapping[str, str] | None = None) -> Present:
    """Draw the sidebar and learn the graph; an error ends the page with one line.

    ``linked`` holds parameters that a page adds to its link.
    """
    source, curve = _sidebar(s)
    slow = source.distances.n_columns > SIMPLE_FROM
    with (
        errors_shown(s, history=False),
        st.spinner("Computing the initial graph …") if slow else nullcontext(),
    ):
        result = learned(s.memo, source.distances, s.recipe, _progress(source))
    result = _regularized(s, source, result)
    _set_link(s, linked)
    return Present(s, source, curve, result)


@contextmanager
def chosen_first(s: Session) -> Iterator[Present]:
    """Let a page draw before the sidebar if the graph is quickly available.

    The sidebar takes Streamlit and the browser longer than the graph, and after a slider moves
    users watch the graph. Otherwise this is `choose`.
    """
    now = _quickly_known(s)
    if now is None:
        yield choose(s)
        return
    _set_link(s, None)
    yield now
    _sidebar(s)


def _quickly_known(s: Session) -> Present | None:
    """Return the current graph if that is quick; None otherwise, and on errors."""
    source: Source | None = s.memo.known("source", DataKey.of(s.recipe))
    if source is None or s.recipe.regularize != "none" or source.distances.n_columns >= SLOW_FROM:
        return None
    curve: EdgeDensity | None = s.memo.known("curve", source.distances.digest)
    if curve is None:
        return None
    with suppress(LoopyLatentError):
        return Present(s, source, curve, learned(s.memo, source.distances, s.recipe))
    return None


def _sidebar(s: Session) -> tuple[Source, EdgeDensity | None]:
    """Draw the sidebar; return the data and the density curve."""
    with st.sidebar:
        show_pages()
        choose_data(s)
        with errors_shown(s):
            with st.spinner("Computing distances …"):
                source = source_of(s.memo, s.uploads, s.recipe)
            with st.spinner("Computing the initial graphs over all r …"):
                curve = known_curve(s.jobs, s.memo, source.distances)
            scales = scales_of(s, source)
            choose_thresholds(s, source.distances, scales, curve)
            if curve is None:
                follow_curve(s, source.distances)
            choose_method(s, source.distances, scales.bic)
        step_through_history(s)
        offer_pin(s)
    return source, curve


def _set_link(s: Session, linked: Mapping[str, str] | None) -> None:
    params = params_of(s.recipe)
    if params and REFINE in s.view:
        params[REFINE] = str(s.view[REFINE])
    st.query_params.from_dict(params | pin_params(s.pins) | dict(linked or {}))


def show_pages(key: str = "pages") -> None:
    """Draw links to the pages; Streamlit's own list would name the first page after its file."""
    with st.container(horizontal=True, gap="small", key=key):
        for path, label in PAGES.items():
            st.page_link(path, label=label)


def _regularized(s: Session, source: Source, meanwhile: LearnResult) -> LearnResult:
    """Return the graph with BIC penalty; without it until that is ready, or if it fails."""
    try:
        job = regularized_job(s.jobs, s.memo, source, s.recipe)
    except LimitError as error:
        st.warning(f"Shown without BIC penalty: {text_of(error)}")
        return meanwhile
    if job is None:
        return meanwhile
    if job.is_running:

        def cancel() -> None:
            job.cancelled.set()
            s.change(regularize="none")

        def line() -> str:
            return f"Graph without BIC penalty; {job.done} of {job.total} replacements tried"

        wait_for(job, line, key="cancel_bic", every=0.7, cancel=cancel)
    elif job.error is not None:
        st.warning(f"Shown without BIC penalty: {text_of(job.error)}")
    return job.found or meanwhile


def _progress(source: Source) -> Progress | None:
    """Return a progress bar for slow learning; drawing it lets a newer setting interrupt it."""
    if source.distances.n_columns < SLOW_FROM:
        return None
    bar = st.empty()

    def report(done: int, total: int) -> None:
        if done == total:
            bar.empty()
        elif done % max(1, total // 50) == 0:
            bar.progress(done / total, f"Learning: visit {done} of {total}")

    return report


@contextmanager
def errors_shown(s: Session, *, history: bool = True) -> Iterator[None]:
    """Show an error in one line and end the page there.

    ``history`` says whether Undo, Redo and Reset have still to be drawn.
    """
    try:
        yield
    except LoopyLatentError as error:
        if history:
            with st.sidebar:
                step_through_history(s)
        back = " Undo restores the previous settings." if s.before else ""
        st.error(text_of(error) + back, icon=":material/error:")
        st.stop()


def say_notices(s: Session) -> None:
    """Show a notice until it is closed."""
    if s.notice is not None:
        left, right = st.columns([20, 1], vertical_alignment="center")
        left.info(text_of(s.notice), icon=":material/info:")

        more: dict[str, Any] = {"key": "close_notice", "help": "Close", "type": "tertiary"}
        right.button(":material/close:", on_click=partial(setattr, s, "notice", None), **more)


# What several pages show ---------------------------------------------------------------------


def summary_line(result: LearnResult) -> str:
    """Return the counts of the learned graph in one line."""
    g = result.graph
    girth = "" if math.isinf(g.girth) else f" (shortest: {g.girth:.0f} edges)"
    parts = [
        f"**{g.n_observed}** observed",
        f"**{g.n_hidden}** hidden",
        f"**{g.n_edges}** edges",
        f"**{g.n_cycles}** {'cycle' if g.n_cycles == 1 else 'cycles'}{girth}",
        f"**{g.n_components}** {'component' if g.n_components == 1 else 'components'}",
    ]
    if result.n_stuck:
        parts.append(f"**{result.n_stuck}** of {result.n_visits} visits stuck")
    return " · ".join(parts)


def file_stem(s: Session) -> str:
    """Return a safe file name with the data and r."""
    source = s.recipe.source.removeprefix("sample:").rsplit(".", 1)[0]
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in source)
    return f"{kept[:40].strip('-') or 'graph'}-r{s.recipe.r:.3g}"


def name_field(s: Session, result: LearnResult, node: int, label: str) -> None:
    """Draw the field for the name of a hidden node."""
    own = label if label in {named.name for named in s.now.names} else None

    def report(text: str) -> None:
        try:
            s.name(name_node(result.graph, node, text.strip()) if text.strip() else None, own)
        except LoopyLatentError as error:
            s.notice = str(error)

    st.text_input(
        "Name",
        placeholder="what do its neighbours share?",
        max_chars=60,
        help="The name follows the node while thresholds change, as long as the node is matched.",
        **bound(f"name_{node}", own or "", report),
    )


def read_groups(frame: pd.DataFrame, graph: LatentGraph) -> dict[str, str]:
    """Read groups of columns from a table with two columns, name and group."""
    if len(frame.columns) != 2:
        raise DataError(f"Groups need two columns, name and group; this has {frame.shape[1]}.")
    pairs: pd.DataFrame = frame.dropna().astype(str)
    found = dict(zip(pairs.iloc[:, 0], pairs.iloc[:, 1], strict=True))
    if not set(found) & set(graph.names):
        raise DataError("No name in the first column is a column of the data. Check the spelling.")
    return found
