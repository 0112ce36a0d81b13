"""Refinement by likelihood on Explore: the switch, the score over the moves, the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from loopylatent.analysis.refined_steps import (
    SUPPORTED,
    WITHOUT,
    StepChanges,
    changes_from,
    evidence_csv,
    evidence_frame,
    gains,
    has_short_cycles,
    hidden_labels,
    labels_by_id,
    move_csv,
    move_frame,
    supported_line,
    with_names,
)
from loopylatent.figures.layout import shown_label
from loopylatent.figures.refinement import rounds_figure, score_figure
from loopylatent.figures.simplify import SIMPLE_FROM
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.part_evidence import Evidence
from loopylatent.learning.refinement import RefinedResult, RefinedStep, Refinement, is_weak
from loopylatent.settings import Goal
from loopylatent.ui.page import Present, theme
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.refining import GOALS, KIND, goal_of, refinement_of, refining, search_of
from loopylatent.ui.shell.results import Source
from loopylatent.ui.shell.session import REFINE, HiddenIds, Session, bound
from loopylatent.ui.shell.widgets import (
    chart,
    escaped,
    job_bar,
    save_button,
    table,
    text_of,
    texts,
)

words = texts("explore")
AT = "refine_move"
"""Key in the session's view: the move whose graph is shown, of which refinement."""
COLUMNS = (1.2, 1)
"""Widths of the score over the moves and of the words next to it."""
LONGEST = 150
"""Characters of a move in the strip; the table has all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The graph that the page shows: the learned one, or a step of its refinement."""

    present: Present
    """Data and settings with the graph that is shown."""
    learned: LearnResult
    goal: Goal | None = None
    """None if refinement is switched off."""
    found: Refinement | None = None
    """None while the search runs, or if it failed."""
    step: RefinedStep | None = None
    """The step that is shown; None for the learned graph as it is."""
    at: int = 0
    """The number of moves that led to it, once the search is done."""
    job: Job | None = None
    """The running search."""
    problem: str | None = None
    """Why there is no refinement, as Markdown."""

    @property
    def graph(self) -> LatentGraph:
        return self.present.result.graph

    @property
    def names(self) -> dict[int, str]:
        """Of hidden nodes, the same in all steps; while the search runs, in all rounds."""
        return {} if self.step is None else self.names_of(self.step.hidden_ids)

    @property
    def ids(self) -> HiddenIds:
        """Of hidden nodes, numbers that they keep from the learned graph on."""
        graph = self.learned.graph
        own = graph.hidden_nodes if self.step is None else self.step.hidden_ids
        return HiddenIds(graph.digest, tuple(own))

    @property
    def change(self) -> StepChanges:
        """What refinement has changed in the learned graph so far."""
        assert self.step is not None, "a refined graph is shown"
        return changes_from(self.learned.graph, self.step)

    def names_of(self, hidden_ids: Sequence[int]) -> dict[int, str]:
        """Return the names of hidden nodes by their place after the columns."""
        p = self.graph.n_observed
        label = labels_by_id(self.graph.names, hidden_ids)
        if self.found is not None:
            label = hidden_labels(self.found)
        return {p + k: label[one] for k, one in enumerate(hidden_ids) if one in label}

    @property
    def is_done(self) -> bool:
        """Whether the graph after all moves is shown."""
        return self.found is not None and self.at == len(self.found.steps) - 1

    @property
    def evidence(self) -> tuple[Evidence, ...] | None:
        """For the parts of the graph that is shown; None if it is not the last one."""
        return self.found.evidence if self.found is not None and self.is_done else None


def refined(s: Session, now: Present) -> Shown:
    """Return the graph to show; start the search if it is switched on and not done yet."""
    goal, source, learned = goal_of(s), now.source, now.result
    if goal is None:
        return Shown(now, learned)
    problem = _problem(source)
    if problem is not None or source.observations is None:
        return Shown(now, learned, goal, problem=problem)
    if s.jobs.running("bic") is not None:
        return Shown(now, learned, goal, problem=words.refine_after_bic)
    found = refinement_of(s, source, learned.graph, goal)
    if found is not None:
        return _at_step(s, now, goal, found)
    job = refining(s, source.observations, learned.graph, goal)
    if job.failure:
        return Shown(now, learned, goal, problem=text_of(job.failure))
    best = search_of(s, job).best
    if best is None:
        return Shown(now, learned, goal, job=job)
    result = replace(learned, graph=best.graph)
    return Shown(replace(now, result=result), learned, goal, step=best, job=job)


def _at_step(s: Session, now: Present, goal: Goal, found: Refinement) -> Shown:
    """Show the graph after the chosen move, by default after all moves."""
    last = len(found.steps) - 1
    name, at = s.view.get(AT, ("", last))
    at = at if name == _name(found) else last
    step = found.steps[at]
    result = RefinedResult.of(now.result, found).after(at)
    shown = Shown(replace(now, result=result), now.result, goal, found, step, at)
    own = {shown.names[node]: name for node, name in s.names_on(step.graph).by_node.items()}
    return replace(shown, found=with_names(found, own)) if own else shown


def _problem(source: Source) -> str | None:
    """Say why the data cannot be refined here, if so."""
    if source.observations is None:
        return str(words.refine_needs_rows)
    if source.distances.n_columns > SIMPLE_FROM:
        return str(words.refine_too_large.format(most=SIMPLE_FROM))
    return None


def choose_refinement(s: Session, shown: Shown) -> None:
    """Draw the switch and, if it is on, the goal."""
    problem = _problem(shown.present.source)

    def switch(on: bool) -> None:
        if on:
            s.view[REFINE] = GOALS[0]
        else:
            _switch_off(s)

    def aim(goal: Goal | None) -> None:
        s.view[REFINE] = goal or GOALS[0]

    on = shown.goal is not None and problem is None
    st.toggle(
        "Refine by likelihood",
        help=words.refine if problem is None else problem,
        disabled=problem is not None,
        **bound("refine_on", on, switch),
    )
    if on:
        st.selectbox(
            "Goal",
            GOALS,
            format_func=lambda goal: f"for {goal}",
            label_visibility="collapsed",
            width=140,
            help=words.goal,
            **bound("refine_goal", shown.goal, aim),
        )


def _switch_off(s: Session) -> None:
    """Show the learned graph again and stop the search."""
    s.view.pop(REFINE, None)
    job = s.jobs.running(KIND)
    if job is not None:
        job.cancelled.set()


def show_strip(s: Session, shown: Shown) -> None:
    """Draw the progress of the search, or its score over the moves with a slider."""
    if shown.goal is None:
        return
    if shown.problem is not None:
        st.caption(shown.problem)
        return
    with st.container(key="refine_strip", gap=None):
        if shown.found is not None:
            _moves(s, shown, shown.found)
        elif shown.job is not None:
            _wait(s, shown.job)


def _wait(s: Session, job: Job) -> None:
    """Draw the progress; draw the page again after each round that found a better graph."""
    drawn = search_of(s, job).best
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        figure = rounds_figure(search_of(s, job).scores, theme())
        chart(figure, "Best score after each round", "refine_rounds", theme=None)

    @st.fragment(run_every=0.5)
    def progress() -> None:
        search = search_of(s, job)
        better = search.best is not None and (drawn is None or search.best.graph != drawn.graph)
        if is_drawn and (better or job.finished.is_set()):
            st.rerun()
        line = words.refining.format(round=search.round, done=job.done, total=job.total)
        if search.is_enough:
            line = words.ending
        left, middle = st.columns((4, 1.3), vertical_alignment="center")
        with left:
            job_bar(job, line, "cancel_refine", cancel=partial(_switch_off, s), columns=(3, 1))
        middle.button(
            "Stop here",
            help=words.stop_here,
            on_click=search.end,
            disabled=search.best is None or search.is_enough,
            key="end_refine",
        )

    with right:
        is_drawn = False
        progress()
        is_drawn = True
        st.caption(words.best_so_far if drawn is not None else words.refining_first)


def _moves(s: Session, shown: Shown, found: Refinement) -> None:
    """Draw the score over the moves, the slider, and the words of the chosen move."""
    n_moves = len(found.steps) - 1
    if not n_moves:
        st.markdown(words.no_moves)
        _say_limits(shown, found)
        return

    def clicked() -> None:
        points = st.session_state["refine_score"].selection.points
        if points:
            _go_to(s, found, int(points[0]["x"]))

    left, right = st.columns(COLUMNS, gap="medium")
    with left, st.container(gap=None):
        figure = score_figure(found, shown.at, theme())
        about = "Score of the model after each move, relative to the learned graph"
        more = {"theme": None, "on_select": clicked, "selection_mode": "points"}
        chart(figure, about, "refine_score", **more)
        st.slider(
            "Moves",
            0,
            n_moves,
            label_visibility="collapsed",
            **bound(
                "refine_moves",
                shown.at,
                partial(_go_to, s, found),
                limits=(_name(found), n_moves),
            ),
        )
    with right:
        st.markdown(move_line(found, shown.at))
        _say_limits(shown, found)


def _go_to(s: Session, found: Refinement, at: int) -> None:
    """Show the graph after so many moves."""
    s.view[AT] = (_name(found), at)


def _name(found: Refinement) -> str:
    """Identify a refinement."""
    return f"{found.goal} {found.steps[0].graph.digest} {found.graph.digest}"


def move_line(found: Refinement, at: int) -> str:
    """Say which move led to a step."""
    n_moves = len(found.steps) - 1
    rise = found.score_history[at] - found.score_history[0]
    if at == 0:
        return f"**Start of {n_moves} moves**: the learned graph, fitted"
    gain = f"{gains(found)[at - 1]:+.1f}"
    change = escaped(shown_label(found.steps[at].words, LONGEST))
    return f"**Move {at} of {n_moves}**: {change}, **{gain}** (score {rise:+.1f} in all)"


def _say_limits(shown: Shown, found: Refinement) -> None:
    """Say how much is supported, and where refinement is known to fail."""
    lines = [words.evidence_at_end]
    if not found.is_complete:
        st.caption(words.ended_early)
    if shown.evidence:
        price = f"{found.price.parameter:.1f}"
        lines = [words.supported.format(parts=supported_line(shown.evidence), price=price)]
    source = shown.present.source
    if found.price.free_hidden or is_weak(source.distances, found.model.n_samples):
        lines.append(words.weak_rows)
    if has_short_cycles(shown.graph):
        lines.append(words.short_cycles)
    st.caption(" ".join(lines))


def describe_evidence(shown: Shown, node: int, labels: tuple[str, ...]) -> None:
    """Draw the evidence for a node, its edges and the cycles through it."""
    if shown.evidence is None or shown.found is None:
        return
    frame = evidence_frame(shown.evidence, labels, node)
    st.caption(words.evidence_here.format(price=f"{shown.found.price.parameter:.1f}"))
    columns = _columns() | {"nodes": st.column_config.TextColumn(width=88)}
    order = ["nodes", "nats", SUPPORTED, WITHOUT]
    table(frame, 212, column_config=columns, column_order=order)


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "part": config.TextColumn(width=80),
        "nats": config.NumberColumn(format="%.1f", width=50),
        SUPPORTED: config.CheckboxColumn("supported", width=76),
    }


PART_NAMES = {"edges": "edge", "hidden nodes": "hidden node", "cycles": "cycle"}


def show_refinement(s: Session, shown: Shown, labels: tuple[str, ...], stem: str) -> None:
    """Draw the tab: evidence for every part, and the moves."""
    st.markdown(words.refinement)
    if shown.problem is not None:
        st.caption(shown.problem)
    if shown.found is None:
        problem = _problem(shown.present.source)
        st.caption(
            words.refine_running if shown.job is not None else problem or words.refine_is_off
        )
        return
    left, right = st.columns([1.3, 1], gap="medium")
    with left:
        _evidence_table(shown, shown.found, labels, stem)
    with right:
        _move_table(s, shown.found, stem)


def _move_table(s: Session, found: Refinement, stem: str) -> None:
    """Draw the moves that were taken; a click on a row shows the graph after the move."""

    def chosen() -> None:
        picked = st.session_state["move_table"].selection.rows
        if picked:
            _go_to(s, found, int(picked[0]) + 1)

    st.markdown(f"**Moves** ({len(found.moves):,} tried)", help=words.move_table)
    config = st.column_config
    columns = {
        "move": config.NumberColumn(width=60),
        "gain": config.NumberColumn(format="%.1f", width=70),
        "score": None,
    }
    how: dict[str, Any] = {"on_select": chosen, "selection_mode": "single-row", "key": "move_table"}
    table(move_frame(found), height=320, column_config=columns, **how)
    save_button("Moves as CSV", partial(move_csv, found), f"{stem}-moves.csv", "file_moves")


def _evidence_table(shown: Shown, found: Refinement, labels: tuple[str, ...], stem: str) -> None:
    st.markdown("**Evidence**", help=words.evidence.format(price=f"{found.price.parameter:.1f}"))
    if shown.evidence is None:
        st.caption(words.evidence_at_end)
        return
    chosen = st.pills(
        "Parts",
        list(PART_NAMES),
        default="edges",
        key="evidence_parts",
        label_visibility="collapsed",
    )
    frame = evidence_frame(shown.evidence, labels)
    columns = _columns()
    if chosen:
        frame = frame[frame["part"] == PART_NAMES[chosen]]
        columns["part"] = None
    table(frame, height=268, column_config=columns)
    make = partial(evidence_csv, shown.evidence, labels)
    save_button("Evidence as CSV", make, f"{stem}-evidence.csv", "file_evidence")
