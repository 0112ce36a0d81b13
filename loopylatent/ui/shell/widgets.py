"""Pieces of which pages are made: words, tabs, tables, plots, preferences, files, running work."""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.compute.limits import APP, Estimate, check_time, duration, estimate
from loopylatent.compute.values import Progress
from loopylatent.errors import LimitError, in_words
from loopylatent.figures.charts import described
from loopylatent.figures.layout import shown_line
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.results import Source
from loopylatent.ui.shell.session import Session, bound

R = (
    "**r, the radius.** Around every column, the columns nearer than r form a ball, and each ball "
    "is joined by its shortest tree. A large r makes one tree of everything; a smaller r leaves "
    "the trees local, so that their union can close into loops."
)
LAMBDA = (
    "**Λ (Lambda), the margin.** Four columns vote on who belongs with whom. Λ says by how much a "
    "vote must win to count. Too small, and noise votes; too large, and nobody does. About "
    "0.5/√rows is a good start."
)
TAU = (
    "**τ (tau), the shortest edge.** A hidden node nearer than τ to a neighbour is merged with it. "
    "A larger τ leaves fewer hidden nodes."
)
DISTANCE = (
    "The information distance of two columns is −log of how strongly they go together: 0 when one "
    "determines the other, 0.7 at a correlation of 0.5, 2.3 at 0.1, infinite when they are "
    "independent."
)
MARKS = {
    "r min": "below this radius some column is alone in its ball",
    "r max": "the largest distance: from here on the graph is a tree",
    "noise": "the noise floor: a longer distance cannot be told from independence with this many "
    "rows",
}
BEYOND_NOISE = (
    "r lies beyond the noise floor ({floor:.2f}): balls of this size contain distances that {n:,} "
    "rows cannot tell from independence."
)
STUCK = (
    "In {stuck} of {visits} visits the votes contradicted each other and no pair could be joined. "
    "A larger Λ leaves fewer of those."
)
SNAP = (
    "Move r only to values at which the first graph changes. Between two of them nothing happens."
)
DENSITY = (
    "Counts of the local trees, before hidden nodes are added: edges, cycles, and components "
    "(pieces that are not joined). They are exact at every point. The upright line is the present "
    "r; beyond the noise floor, in the shade, distances cannot be told from chance."
)
PRESETS = {
    "Tree": "r = r max: one tree, no loops; the safe reference",
    "Few loops": "r = 1.5 times the longest link of the shortest tree: where true loops show first",
    "Dense": "the r at which the first graph has most edges",
}
BIC = (
    "A hidden node is kept only if it raises the likelihood by more than its parameters cost "
    "(Bayesian information criterion). That takes seconds to minutes; the plain graph is shown "
    "meanwhile. BIC is not held-out accuracy: with few rows the plain graph may predict better."
)
PARTS: dict[str, int | None] = {
    "all nodes": None,
    "within 1 step": 1,
    "within 2 steps": 2,
    "within 3 steps": 3,
}
RUNS = (25, 50, 100, 200)
"""How many resamples can be asked for."""
METHODS = {"quartet": "quartet votes", "relaxed": "relaxed families", "nj": "neighbor joining"}
METHOD = (
    "How the hidden nodes of a neighbourhood are found.  \n"
    "**Quartet votes** join two nodes where no vote of four separates them; this is the method "
    "with the guarantees.  \n"
    "**Relaxed families**, behind the paper's experiments, are nodes whose distances to the others "
    "differ by nearly a constant; the search for them has random starts.  \n"
    "**Neighbor joining** joins the pair that best fits a tree, again and again, and asks for no "
    "margin."
)
NO_PART = {
    "quartet": "",
    "relaxed": "Λ and τ play no part here: relaxed grouping merges what is nearer than "
    "0.105 (−log 0.9), always.",
    "nj": "Λ plays no part in neighbor joining.",
}
ORDER = {
    "degree": "the best connected columns first",
    "index": "in the order of the columns",
    "random": "at random, by the seed",
}
METRICS = {
    "auto": "by the kinds of the columns",
    "correlation": "correlation (numbers, yes/no)",
    "rank": "rank correlation (ordered answers, outliers)",
    "determinant": "determinant (letters over one alphabet)",
    "determinant-printed": "determinant as printed in the paper (does not add up along paths)",
    "canonical": "canonical correlation (any mixture of kinds)",
}
NOT_ADDITIVE = (
    "These distances do not add up along paths, as the method assumes; read lengths with care."
)
KINDS = {
    "binary": "two values",
    "categorical": "named values without order",
    "ordinal": "few ordered numbers",
    "continuous": "numbers",
}
VIEWS = {
    "Learned graph": "the result: observed and hidden nodes",
    "Local trees": "where it starts: the union of the shortest trees of all balls, no hidden nodes",
    "What changed": "edges that grouping took away and put in",
    "Support": "how often each part came back on resampled data; below the graph, How sure?",
}
TOUR = (
    (
        "What you see",
        "Each round dot is a column of the table. Columns that go together are joined. An orange "
        "diamond is a **hidden** variable that nobody measured: it explains why its neighbours go "
        "together.",
    ),
    (
        "Move a threshold",
        "In the sidebar, **r** is the one to play with: large gives a tree, smaller gives loops. "
        "**Λ** asks for surer votes, **τ** merges hidden nodes that are too near. The graph "
        "follows at once; **Undo** takes a step back.",
    ),
    (
        "Ask a node",
        "Click a node (or find it by name): beside the graph stands what it is, what is near it, "
        "and the loops it lies on. A hidden node can be given a name.",
    ),
    (
        "Use your own table",
        "**Open a file** takes CSV, Excel or Parquet with one row for each observation. Nothing "
        "leaves this computer. **Take it away** has the graph as a file, a picture, a link and a "
        "script.",
    ),
)


ON_PAGES: Mapping[str, str] = {
    "setting Lambda": "Λ = {1}",
    "setting tau": "τ = {1}",
    "drop_degenerate": ", or tick the box that leaves such columns out (button Columns)",
    "few_rows": "{0} rows behind the distances are too few; give at least 3, or 0 if that is "
    "unknown.",
    "no_inner_node": "Hidden and Inner are both 0",
    "potentials": "θ min = {0}, θ max = {1}:",
    "smallest_distance": "",
    "radius_of_a_tree": "r max",
    "radius_from": "r min = {0}",
    "margin": "is not from 0 to below 1; try 0.5 / √n, where n is the number of rows",
    "not_distances": "If it is a table of observations, choose A table above.",
    "n_samples": "open the file again and say how many rows are behind the distances",
    "or_rows": ", or open the table itself",
    "metric": "the distance '{0}'",
    "metric_for_states": "the one by the kinds of the columns takes them",
    "metric_for_all": "The canonical correlation takes them",
    "one_sort": "press Columns and leave out those of other sorts, or make columns with two values "
    "ordinal there",
    "larger_radius": "use a larger r",
    "delimiter": "",
    "max_bytes": "",
    "ising": "",
}
"""Remedies that are called otherwise on pages than in Python: the buttons and fields for them."""


def said(error: object) -> str:
    """Return the Markdown in which a page shows a refusal, or the notice that holds one.

    Examples
    --------
    >>> print(said(ValueError("the name 'a*b' is given twice")))
    the name \\'a\\*b\\' is given twice
    """
    return escaped(in_words(error, ON_PAGES))


JOINER = "\u2060"
"""Has no width and no meaning; text that holds it is found by no pattern."""
_FOUND_AFTER_ESCAPES = re.compile(
    r"""
    (?<=:)(?=//|streamlit:)             # addresses; the mark of Streamlit
    | (?<=www)(?=\.)
    | (?<=[\w+.-])(?=@)                 # of e-mail
    | (?<=\s[<~>-])(?=[=>-]>?(?:\s|$))    # arrows, dashes, signs of order
    | (?<=^[<~>-])(?=[=>-]>?(?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def escaped(text: str) -> str:
    """Return Markdown that shows ``text`` as it is, on one line, and makes no link of it.

    Addresses, and signs such as an arrow of two characters, are looked for after escapes were
    resolved: an invisible joiner keeps them from being found. What would turn the rest of the line
    around is shown as U+FFFD.

    Examples
    --------
    >>> print(escaped("a*b <i>"))
    a\\*b \\<i\\>
    >>> escaped("www.a.b") == f"www{JOINER}\\\\.a\\\\.b"
    True
    """
    line = _FOUND_AFTER_ESCAPES.sub(JOINER, shown_line(text))
    return "".join(f"\\{c}" if c in string.punctuation else c for c in line)


@dataclass(frozen=True, slots=True)
class TimeNeeded:
    """Whether work may begin, and what is to be said of its time."""

    is_allowed: bool
    words: str
    """Markdown."""


def time_needed(work: Estimate, times: int, what: str) -> TimeNeeded:
    """Say how long ``times`` of ``what`` take, or why that is too long and what would fit.

    Examples
    --------
    >>> time_needed(Estimate(40.0), 25, "runs").words
    'Takes about 40\xa0s.'
    >>> time_needed(Estimate(7200.0), 100, "runs").is_allowed
    False
    """
    try:
        check_time(work, times, what, APP)
    except LimitError as error:
        return TimeNeeded(False, said(error))
    return TimeNeeded(True, f"Takes {_unbroken(work.words)}.")


def _unbroken(words: str) -> str:
    """Keep a number and its unit on one line."""
    head, _, unit = words.rpartition(" ")
    return f"{head}\u00a0{unit}" if head[-1:].isdigit() else words


def progress_line(title: str, job: Job) -> str:
    """Say how far a job is: done, left, and how long that will take at the pace so far."""
    if job.total == 0:
        return f"{title} …"
    line = f"{title}: {job.done} of {job.total} done, {job.total - job.done} left"
    if 1 < job.done < job.total:  # the first one may have had to be compiled
        line += f", about {duration((monotonic() - job.began) / job.done * (job.total - job.done))}"
    return line


T = TypeVar("T")
UI = Path(__file__).parents[1]
ROW, HEAD = 35, 37
"""Pixels of a row of a table, and of its head."""


@cache
def texts(page: str) -> SimpleNamespace:
    """Return what a page says, from ``words.toml`` in its folder."""
    return SimpleNamespace(**tomllib.loads((UI / page / "words.toml").read_text("utf-8")))


def style(page: str) -> None:
    """Send the style sheet in the folder of a page."""
    st.html(UI / page / "style.css")


def remembered(key: str, make: Callable[[], T]) -> T:
    """Return what this browser tab remembers under a key."""
    if key not in st.session_state:
        st.session_state[key] = make()
    found: T = st.session_state[key]
    return found


def viewed(
    s: Session,
    key: str,
    usual: Any,
    options: Collection[Any] | None = None,
    name: str = "",
    limits: Any = None,
) -> Mapping[str, Any]:
    """Tie a widget to what the session remembers of its view, if that is still to be had.

    Where the widget is left empty the usual is remembered.
    """
    here = s.view.get(name or key, usual)

    def report(chosen: Any) -> None:
        s.view[name or key] = usual if chosen is None else chosen

    shown = here if options is None or here in options else usual
    return bound(key, shown, report, limits=limits)


def tabs(contents: Mapping[str, Callable[[], None]], key: str) -> None:
    """Draw tabs, and what is in the open one."""
    found = st.tabs(list(contents), key=key, on_change="rerun")
    for tab, draw in zip(found, contents.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def table(frame: Any, most: int | None = None, **more: Any) -> None:
    """Draw a table as wide as its place and as high as its rows, up to ``most`` pixels."""
    if most is not None:
        more["height"] = min(HEAD + ROW * len(frame), most)
    st.dataframe(frame, hide_index=True, width="stretch", **more)


def share_column(**more: Any) -> Any:
    """Describe a column of shares, each drawn as a bar."""
    return st.column_config.ProgressColumn(
        format="%.2f", min_value=0, max_value=1, width="small", **more
    )


def chart(figure: Any, about: str, key: str, **more: Any) -> None:
    """Draw a plot, described for those who do not see it."""
    quiet = {"displayModeBar": False}
    st.plotly_chart(figure, key=key, config=quiet, alt=described(figure, about), **more)


def start_button(
    label: str, needed: TimeNeeded, action: Callable[..., None], *args: Any, **more: Any
) -> None:
    """A button that begins work, which it does not where that takes too long; and how long."""
    blocked = more.pop("disabled", False) or not needed.is_allowed
    st.button(label, on_click=action, args=args, disabled=blocked, **more)
    st.caption(needed.words, width="content")


def share_done(job: Job) -> float:
    """Return how much of a job is done, from 0 to 1."""
    return min(1.0, job.done / job.total) if job.total else 0.0


def job_bar(
    job: Job,
    line: str,
    key: str,
    *,
    label: str = "Cancel",
    cancel: Callable[[], None] | None = None,
    columns: Sequence[float] | None = (6, 1),
    **more: Any,
) -> None:
    """Show how far a job is, with a way to stop it."""
    left: Any = st
    right: Any = st
    if columns is not None:
        left, right = st.columns(columns, vertical_alignment="center")
    left.progress(share_done(job), line)
    stop, stopping = cancel or job.cancelled.set, job.cancelled.is_set()
    right.button(label, on_click=stop, key=key, disabled=stopping, **more)


def wait_for(job: Job, line: Callable[[], str], key: str, every: float = 0.5, **more: Any) -> None:
    """Draw the bar of a job; when it is done the page runs once more."""
    is_drawn = False

    @st.fragment(run_every=every)
    def progress() -> None:
        if is_drawn and job.finished.is_set():
            st.rerun()
        job_bar(job, line(), key, **more)

    progress()
    is_drawn = True


def save_button(
    label: str, data: Any, file_name: str, key: str, mime: str = "text/csv", **more: Any
) -> None:
    """Offer a file, which is made when it is asked for where ``data`` is a function."""
    st.download_button(
        label, data=data, file_name=file_name, mime=mime, on_click="ignore", key=key, **more
    )


def select_by_row(
    s: Session, frame: pd.DataFrame, nodes: Sequence[int], key: str, most: int, **more: Any
) -> None:
    """Draw a table with a row for each of the nodes; a click on a row selects its node."""

    def chosen() -> None:
        picked = st.session_state[key].selection.rows
        if picked:
            s.select(nodes[int(picked[0])], centre=True)

    height = min(HEAD + ROW * max(len(frame), 1), most)
    table(frame, height=height, on_select=chosen, selection_mode="single-row", key=key, **more)


ABOUT_FIT = (
    "Fitting gives every edge a strength and a sign, and says for every row which hidden variables "
    "are on. The likelihood is computed exactly wherever that is possible, and says so."
)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model with what each row says of each hidden node."""

    model: Model
    posteriors: NDArray[np.float64]

    def level(self, node: int) -> NDArray[np.float64]:
        """(rows,) how strongly each row expresses a hidden node."""
        one = self.posteriors[:, node - self.model.graph.n_observed]
        level: NDArray[np.float64] = one if one.ndim == 1 else one.max(axis=1)
        return level


def fit_job(s: Session, source: Source, graph: LatentGraph) -> Job | None:
    """Return the job that fits this very graph to these data, whatever came of it."""
    obs = source.observations
    return None if obs is None else s.jobs.of("fit", (obs.digest, graph.digest))


def fitted_of(s: Session, source: Source, graph: LatentGraph) -> Fitted | None:
    """Return the fit of this very graph on these data, if there is one."""
    job = fit_job(s, source, graph)
    found: Fitted | None = None if job is None else job.found
    return found


def fit_time(obs: Observations) -> TimeNeeded:
    """Say how long a fit takes, or why that is too long."""
    return time_needed(estimate("fit", obs.n_rows, obs.n_columns), 1, "fit")


def begin_fit(s: Session, obs: Observations, graph: LatentGraph) -> None:
    """Start the fit of a graph, unless it is the current one."""

    def work(report: Progress) -> Fitted:
        model = fit_parameters(graph, obs, progress=report)
        return Fitted(model, model.hidden_posteriors(obs))

    s.jobs.get("fit", (obs.digest, graph.digest), work)


def wait_for_fit(job: Job) -> None:
    """Draw how far a fit is, with a way to stop it."""

    def line() -> str:
        return f"Step {job.done:,} of at most {job.total:,}; it ends earlier when nothing improves"

    wait_for(job, line, key="cancel_fit", columns=(5, 1))
