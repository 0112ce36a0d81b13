"""The parts of the Explore page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import streamlit as st

from loopylatent.analysis.matching import nearest_on_graph, summaries
from loopylatent.analysis.stability.loop_test import Opening, opening_radius
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.charts import density_figure
from loopylatent.figures.layout import LONGEST_LABEL, shown_label
from loopylatent.figures.simplify import (
    SIMPLE_FROM,
    WHOLE_UP_TO,
    SimplifiedGraph,
    fold,
    neighbourhood,
    nothing_of,
)
from loopylatent.graph import LatentGraph, node_labels
from loopylatent.ui.explore.downloads import offer_code, offer_files
from loopylatent.ui.explore.fit import show_fit
from loopylatent.ui.explore.refine import (
    Shown,
    choose_refinement,
    show_refinement,
    show_strip,
)
from loopylatent.ui.explore.scene import (
    CHANGES,
    INITIAL,
    LEARNED,
    REFINED,
    Scene,
    choose_colours,
    describe_node,
    draw,
    drawn_ids,
    find_node,
    graph_of,
)
from loopylatent.ui.explore.stability import SUPPORT, choose_least, show_stability, support_of
from loopylatent.ui.graph_view import graph_view
from loopylatent.ui.open.dialog import say_curve_is_missing, wait_to_stop
from loopylatent.ui.page import Present, file_stem, summary_line, theme
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.results import DataKey, curve_job
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import (
    PARTS,
    chart,
    escaped,
    fitted_of,
    select_by_row,
    table,
    tabs,
    texts,
    viewed,
)

words = texts("explore")
NEAR_STEPS = 3
"""Edges around the selected node within which a very large graph is drawn."""
WHOLE = "whole_graph"
"""Key in the session's view: show all nodes of a large graph."""
TABLE_HEIGHT = 560
N_NAME_CANDIDATES = 8
"""Nearest columns that may give a folded node its name."""
GRAPH_HEIGHT = 680
HEAD_START = 0.02
"""Seconds of pause in which the graph is sent to the browser before the rest of the page is
computed; the graph appears earlier by more than that (benchmarks/slider_profile.py)."""
ROW_HEIGHT = 50
"""Height of the sentence above a large graph."""
TEST = "opening"
"""Job that runs the loop test on a table that was just opened."""


def is_large(graph: LatentGraph) -> bool:
    """Return whether the graph is simplified automatically."""
    return graph.n_observed > SIMPLE_FROM


def is_never_whole(graph: LatentGraph) -> bool:
    """Return whether the page opens on a table and only neighbourhoods are drawn."""
    return graph.n_observed > WHOLE_UP_TO


def part_of(s: Session, graph: LatentGraph, steps: int | None) -> SimplifiedGraph | None:
    """Return the part of a graph that is drawn; None for all of it.

    ``steps`` limits the drawing to that many edges around the selected node.
    """
    if not is_large(graph):
        return None
    selected = s.selected if s.selected is not None and s.selected < graph.n_nodes else None
    if is_never_whole(graph):
        if selected is None:
            return nothing_of(graph)
        return neighbourhood(graph, selected, steps or NEAR_STEPS)
    if steps is not None and selected is not None:
        return neighbourhood(graph, selected, steps)
    if s.view.get(WHOLE):
        return None
    folding = s.memo.get("folding", graph.digest, lambda: fold(graph))
    if s.searched is not None and s.searched < graph.n_nodes:
        s.opened |= folding.around(s.searched)
    s.searched = None
    return folding.show(s.opened, selected)


def captions(part: SimplifiedGraph, labels: tuple[str, ...]) -> Mapping[int, str]:
    """Return the labels of nodes with folded columns: a name and a count.

    A hidden node that the user has not named is labelled with its nearest folded column.
    """
    texts = {}
    for node, columns in part.counted.items():
        name, n_more = labels[node], len(columns)
        has_own_name = node < part.graph.n_observed or name != part.graph.labels[node]
        if not has_own_name and n_more > 1:
            near, inside = nearest_on_graph(part.graph, node, N_NAME_CANDIDATES), set(columns)
            name = next((labels[one.node] for one in near if one.node in inside), name)
            n_more -= name != labels[node]
        count = f" +{n_more}"
        texts[node] = shown_label(name, LONGEST_LABEL - len(count)) + count
    return texts


def toggle(s: Session, part: SimplifiedGraph, node: int) -> None:
    """Open a folded node, or close it if it is open and selected."""
    if node in s.opened and s.selected == node:
        s.opened -= {node}
    elif node in part.counted:
        s.opened |= {node}
        s.n_centred += 1


def subject_of(digest: str, part: SimplifiedGraph | None) -> str:
    """Identify the subject of a picture; when it changes, the view is reset to show all of it."""
    if part is None:
        return digest
    return f"{digest} simple" if part.centre is None else f"{digest} around {part.centre}"


def say_what_is_drawn(s: Session, graph: LatentGraph, part: SimplifiedGraph | None) -> None:
    """Say what is shown of a large graph, with buttons to show more or less."""

    def button(label: str, key: str, action: Callable[[], None]) -> None:
        st.button(label, on_click=action, key=key, type="tertiary")

    def close_all() -> None:
        s.opened, s.selected = frozenset(), None

    def show_whole() -> None:
        s.view[WHOLE] = part is not None

    with st.container(key="shown_part"):
        left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(drawn_sentence(graph, part))
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        if is_never_whole(graph):
            if part is not None and part.nodes:
                button("Back to table", "to_table", partial(s.select, None))
            return
        if part is not None and part.centre is not None:
            button("Back to overview", "to_overview", partial(s.select, None))
            return
        if part is not None and s.opened:
            button("Close all", "close_all", close_all)
        button("Simplify" if part is None else "Show all", "show_whole", show_whole)


def drawn_sentence(graph: LatentGraph, part: SimplifiedGraph | None) -> str:
    """Say what is drawn of a large graph."""
    p = f"{graph.n_observed:,}"
    if part is None:
        return f"Showing all {p} columns."
    if not part.nodes:
        return (
            f"{p} columns are too many to draw at once. Select a hidden node in the table, or "
            "search for a column, to draw its neighbourhood."
        )
    if part.centre is not None:
        name = escaped(shown_label(graph.labels[part.centre]))
        return (
            f"Showing the {len(part.nodes):,} of {graph.n_nodes:,} nodes nearest to **{name}**. "
            "Click another node to go there."
        )
    n_folded = sum(map(len, part.counted.values()))
    text = f"Showing {len(part.drawn_columns):,} of {p} columns by name"
    if n_folded:
        text += (
            f"; {n_folded:,} are folded into {len(part.counted):,} numbered nodes (click to open "
            "or close)"
        )
    if part.not_shown:
        text += f". {len(part.not_shown):,} in weaker parts are not drawn; use the search"
    return text + ". Zoom in for more names."


def show_hidden_table(s: Session, graph: LatentGraph, labels: tuple[str, ...]) -> None:
    """Draw a table of all hidden nodes; a click on a row draws the node's neighbourhood."""
    found = s.memo.get("summaries", graph.digest, lambda: summaries(graph))
    frame = pd.DataFrame(
        {
            "hidden": [labels[one.node] for one in found],
            "nearest columns": [
                ", ".join(shown_label(labels[near.node]) for near in one.nearest) for one in found
            ],
            "adjacent columns": [one.n_columns for one in found],
            "cycles": [one.n_cycles for one in found],
        }
    )

    columns = {
        "hidden": st.column_config.TextColumn(width=120),
        "nearest columns": st.column_config.TextColumn(width="large"),
        "adjacent columns": st.column_config.NumberColumn(width=130),
        "cycles": st.column_config.NumberColumn(width=80),
    }
    nodes = [one.node for one in found]
    select_by_row(s, frame, nodes, "hidden_table", TABLE_HEIGHT, column_config=columns)


def follow_test(s: Session, D: DistanceMatrix) -> None:
    """Run the loop test of a new table when its density curve is known, and set r accordingly."""
    job = s.jobs.current(TEST)
    if s.untested is None or DataKey.of(s.untested) != DataKey.of(s.recipe):
        if job is not None:
            job.cancelled.set()
        return
    curve = curve_job(s.jobs, D)
    if curve is not None and curve.is_running:
        st.caption(words.later)
        return
    if job is None or job.key != D.digest:  # a stopped test is not restarted
        job = s.jobs.get(TEST, D.digest, lambda report: opening_radius(D, progress=report))
    if job.is_running:
        wait_to_stop(job, words.testing, "cancel_opening")
    else:
        _apply_test(s, job)
        st.rerun()


def _apply_test(s: Session, job: Job) -> None:
    """Set r to the result of the loop test unless the user has changed settings meanwhile."""
    opened, s.untested = s.untested, None
    s.jobs.drop(TEST)
    if job.error is not None:
        s.notice = words.stopped if job.error == "stopped" else job.error
        return
    found: Opening = job.result
    s.notice = found.reason
    if opened is None or found.r == opened.r:
        return
    if s.recipe == opened:
        s.change(r=found.r)
        s.notice += " Undo restores the tree."
    else:
        s.notice += f" Set r to {found.r:.3g} to see them."


def offer_tour(s: Session) -> None:
    """Draw the current step of the tour."""
    if s.tour is None:
        return
    title, text = list(words.tour.items())[s.tour]
    last = s.tour == len(words.tour) - 1
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="tour"):
        st.markdown(f"**{title}** ({s.tour + 1} of {len(words.tour)}). {text}", width="stretch")
        st.button(
            "Done" if last else "Next",
            on_click=partial(setattr, s, "tour", None if last else s.tour + 1),
            type="primary",
        )
        if s.tour:
            st.button("Back", on_click=partial(setattr, s, "tour", s.tour - 1))
        if not last:
            st.button("Skip", on_click=partial(setattr, s, "tour", None), type="tertiary")


def headline(s: Session, shown: Shown) -> None:
    """Draw the title of the data and the counts of the graph."""
    now = shown.present
    line = f"**{escaped(now.source.title)}** &nbsp; {summary_line(now.result)}"
    support = None if shown.step is not None else support_of(s, now.source, shown.graph)
    line += "" if support is None else f" · instability **{support.instability:.2f}**"
    line += f" · {1000 * s.memo.seconds['learned']:.0f} ms"
    st.markdown(line, help=escaped(now.source.about))


def offer_tour_again(s: Session) -> None:
    """Draw the button that restarts the tour at the end of the sidebar."""
    if s.tour is None:
        with st.sidebar:
            st.button("Start tour", on_click=partial(setattr, s, "tour", 0), type="tertiary")


def warnings(now: Present) -> None:
    """Warn if r is above the noise floor or visits were stuck."""
    D, result = now.source.distances, now.result
    lines = []
    if D.noise_floor is not None and now.session.recipe.r > D.noise_floor:
        lines.append(words.beyond_noise.format(floor=D.noise_floor, n=D.n_samples))
    if result.n_stuck:
        lines.append(words.stuck.format(stuck=result.n_stuck, visits=result.n_visits))
    if lines:
        st.caption("  \n".join(lines))


def show_graph(s: Session, shown: Shown) -> Scene:
    """Draw the view controls, the graph, and the panel of the selected node."""
    now, graph = shown.present, shown.graph
    named = s.names_on(graph)
    names = shown.names | dict(named.by_node)
    labels = node_labels(graph, names)
    s.follow(graph, shown.ids)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="controls"):
        support = support_of(s, now.source, graph) if shown.step is None else None
        view = _choose_view(s, has_support=support is not None, is_refined=shown.step is not None)
        find_node(s, labels)
        colouring = choose_colours(s, now.source, graph)
        with st.popover("Show"):
            marked = _choose_cycles(s)
            steps = _choose_steps(s)
        least = choose_least(s) if view == SUPPORT else 0.0
        choose_refinement(s, shown)
    show_strip(s, shown)
    fitted = fitted_of(s, now.source, graph)
    part = part_of(s, graph_of(view, now.result), steps)
    added = {} if part is None else captions(part, labels)
    drawn = graph if part is None else part.graph
    with_counts = tuple(added.get(node, label) for node, label in enumerate(labels))
    places = s.place(drawn, with_counts, part)
    scene = Scene(
        now.source,
        now.result,
        places,
        colouring,
        names,
        cycles=marked,
        around=_around(s, graph, steps) if part is None else None,
        model=None if fitted is None else fitted.model,
        support=support,
        least=least,
        part=part,
        captions=added,
        refined=shown if shown.step is not None else None,
    )
    if is_large(graph):
        say_what_is_drawn(s, graph, part)
    if part is not None and not part.nodes:
        show_hidden_table(s, graph, labels)
        return scene
    with st.container(key="stage_row"):
        left, right = st.columns([3.7, 1], gap="small")
    with left:
        ids = drawn_ids(view, scene)
        node_of = {drawn: node for node, drawn in enumerate(ids[: graph.n_nodes])}
        graph_view(
            draw(view, scene),
            key="graph",
            subject=subject_of(now.source.distances.digest, part),
            on_click=lambda drawn: s.select(None if drawn is None else node_of.get(drawn)),
            on_open=None if part is None else lambda node: toggle(s, part, node),
            height=GRAPH_HEIGHT - (ROW_HEIGHT if is_large(graph) else 0),
            selected=None if s.selected is None or s.selected >= len(ids) else ids[s.selected],
            n_centred=s.n_centred if part is None or part.centre is None else 0,
            file_name=file_stem(s),
            uncut=shown.goal is not None,
        )
    time.sleep(HEAD_START)
    with right, st.container(height=GRAPH_HEIGHT, border=False, key="node_panel"):
        describe_node(s, shown, labels, theme())
    if scene.model is not None and view != SUPPORT:
        st.caption("Edges show fitted correlations: width is strength, dashed is negative.")
    if colouring.line:
        st.caption(colouring.line)
    if colouring.job is not None:
        _wait_for_groups(colouring.job)
    if named.unmatched:
        gone = ", ".join(named.unmatched)
        st.caption(f"Not in this graph: {escaped(gone)}. Names return with their nodes.")
    return scene


@st.fragment(run_every=0.7)
def _wait_for_groups(job: Job) -> None:
    """Show the progress of the consensus groups; rerun the page when they are ready."""
    if job.finished.is_set():
        st.rerun()
    done = f" ({job.done} of {job.total})" if job.total else ""
    st.caption(f"Groups of this graph; computing the consensus over resamples{done} …")


def _choose_view(s: Session, *, has_support: bool, is_refined: bool) -> str:
    """Choose the view; Support is offered once it is known, for the learned graph."""
    first = REFINED if is_refined else LEARNED
    views = [first, INITIAL, CHANGES] + [SUPPORT] * has_support
    about = words.refined_views if is_refined else words.views
    chosen = st.segmented_control(
        "View",
        views,
        label_visibility="collapsed",
        help="  \n".join(f"**{name}**: {text}" for name, text in about.items()),
        **viewed(s, "view", first, views),
    )
    return chosen or first


def _choose_cycles(s: Session) -> bool:
    tip = "Highlights edges on cycles."
    return st.toggle("Cycles", help=tip, **viewed(s, "cycles", False))


def _choose_steps(s: Session) -> int | None:
    """Return the number of edges around the selected node to draw; None for all nodes."""
    tip = "All nodes, or those within 1, 2 or 3 edges of the selected node."
    binding = viewed(s, "part", "all nodes")
    return PARTS[st.selectbox("Part of the graph", list(PARTS), help=tip, **binding)]


def _around(s: Session, graph: LatentGraph, steps: int | None) -> tuple[int, ...] | None:
    """Return the nodes near the selected one; None for all nodes."""
    if steps is None or s.selected is None or s.selected >= graph.n_nodes:
        return None
    return graph.neighbourhood(s.selected, steps)


def show_density(s: Session, now: Present) -> None:
    """Draw edges, cycles and connected components against r; a click on the curve sets r."""
    if now.curve is None:
        say_curve_is_missing(s, now.source.distances)
        return
    # the help icon can be focused with Tab; without such an element the tab searches for one at
    # every change inside it
    st.caption("Density of the initial graph. Click a point to set r.", help=words.density)
    figure = density_figure(now.curve, r=s.recipe.r, D=now.source.distances, theme=theme())

    def clicked() -> None:
        points = st.session_state["density"].selection.points
        if points:
            s.change(r=max(float(points[0]["x"]), now.source.distances.smallest))

    about = "Density of the initial graph at every radius r"
    more = {"theme": None, "on_select": clicked, "selection_mode": "points"}
    chart(figure, about, "density", **more)


def show_tables(now: Present, scene: Scene) -> None:
    """Draw a table of nodes and a table of edges."""
    graph = now.result.graph
    labels = node_labels(graph, scene.names)
    nodes = pd.DataFrame(
        {
            "node": labels,
            "type": ["hidden" if k >= graph.n_observed else "observed" for k in range(len(labels))],
            "degree": graph.degrees,
            "neighbours": [
                ", ".join(labels[end] for end in graph.neighbours(k)) for k in range(len(labels))
            ],
        }
    )
    edges = pd.DataFrame(
        {
            "from": [labels[u] for u, _ in graph.edges.tolist()],
            "to": [labels[v] for _, v in graph.edges.tolist()],
            "length": graph.lengths,
            "on a cycle": graph.on_cycle,
        }
    )
    left, right = st.columns(2)
    with left:
        table(nodes, height=360)
    with right:
        number = st.column_config.NumberColumn(format="%.3f")
        table(edges, height=360, column_config={"length": number})


def _stability(s: Session, shown: Shown, scene: Scene, labels: tuple[str, ...]) -> None:
    """Draw the stability of the learned graph; resamples are not refined."""
    if shown.step is not None:
        st.caption(words.stability_of_learned)
        return
    now = shown.present
    show_stability(s, now.source, now.result, labels, scene.whole_positions)


def show_more(s: Session, shown: Shown, scene: Scene) -> None:
    """Draw the tabs below the graph; only the open one is computed."""
    now = shown.present
    labels = node_labels(shown.graph, scene.names)
    contents: dict[str, Callable[[], None]] = {
        "Density curve": lambda: show_density(s, now),
        "Model fit": lambda: show_fit(s, now.source, now.result, labels),
        "Refinement": lambda: show_refinement(s, shown, labels, file_stem(s)),
        "Stability": lambda: _stability(s, shown, scene, labels),
        "Tables": lambda: show_tables(now, scene),
        "Export": lambda: offer_files(s, scene),
        "Code": lambda: offer_code(s, shown),
    }
    tabs(contents, key="more")
