"""Saving a session as a project, and opening one.

Everything in a file is checked against its data before the session changes. So a project either
opens completely or leaves the session as it was.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np

from loopylatent.analysis.evaluation.contest import LDA_TOPICS, Evaluation, Kind
from loopylatent.analysis.stability.resampling import SCHEMES
from loopylatent.analysis.sweep.points import PointKey
from loopylatent.analysis.sweep.scores import ComparedScores, ScoreKey
from loopylatent.compute.limits import MEGABYTE, size
from loopylatent.errors import DataError
from loopylatent.exporting.project.file import MAX_RESULTS, Preference, Project, digest_of
from loopylatent.exporting.project.results import (
    Barcode,
    Compared,
    Places,
    Results,
    Scored,
    Supported,
    TestedLoops,
    within,
)
from loopylatent.figures.sweep import MEASURES
from loopylatent.inference.model import Model, SavedModel
from loopylatent.settings import FitSettings, Goal, Method
from loopylatent.tables.files import MAX_BYTES
from loopylatent.ui.shell.results import (
    AlongKey,
    ComparedKey,
    EvaluationKey,
    FitKey,
    LoopsKey,
    PlacesKey,
    Source,
    SplitKey,
    SupportKey,
    TableKey,
    digest_or_none,
)
from loopylatent.ui.shell.session import GROUPS, REFINE, Placed, Session
from loopylatent.ui.shell.widgets import PARTS, RUNS, Fitted

RESERVE = 2 * MEGABYTE
"""Bytes for the description of a project and the headers of the archive."""
RADII = "score radii "


def _is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _from(low: float, high: float) -> Callable[[Any], bool]:
    """Accept numbers of the type of the limits, within them."""
    return lambda value: type(value) is type(low) and low <= value <= high


def _one_of(options: Iterable[Any]) -> Callable[[Any], bool]:
    known = tuple(options)
    return lambda value: not isinstance(value, bool | tuple) and value in known


def _some_of(options: Iterable[Any]) -> Callable[[Any], bool]:
    fits = _one_of(options)
    return lambda value: isinstance(value, tuple) and all(map(fits, value))


VIEW: Mapping[str, Callable[[Any], bool]] = {
    "colours": _is_a(str),
    "view": _is_a(str),
    "part": _one_of(PARTS),
    "cycles": _is_a(bool),
    "whole_graph": _is_a(bool),
    "least_support": _from(0.0, 1.0),
    "sure_scheme": _one_of(SCHEMES),
    "sure_runs": _one_of(RUNS),
    "sure_share": _from(0.3, 0.95),
    "tune measure": _one_of(MEASURES),
    "compare_left": _is_a(str),
    "compare_right": _is_a(str),
    "compare_view": _is_a(str),
    "corpus": _is_a(str),
    "topic order": _is_a(str),
    "score split": _is_a(str),
    "score test": _is_a(str),
    "score seed": _from(0, 10**9),
    "score share": _from(10, 70),
    "score kinds": _some_of(get_args(Kind)),
    "score lda": _some_of(LDA_TOPICS),
    "score methods": _some_of(get_args(Method)),
    "score belief": _is_a(bool),
    REFINE: _one_of(get_args(Goal)),
}
"""The values that each preference can take."""


# Into a file -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Saving:
    """The project of this session, and what is too large for it."""

    project: Project | None
    """None if the data alone are too large."""
    left_out: str | None
    """One sentence about what is left out."""


def saving(s: Session, source: Source, most_bytes: int = 2**62) -> Saving:
    """Choose what fits into ``most_bytes``: the data first, then the data of pins, then results.

    Nothing is written, so the page can say next to the button what is left out.
    """
    room = most_bytes - RESERVE - sum(60 * one.profile.size for one in s.now.names)
    own = s.recipe.data_digest
    data = s.uploads.get(own) if own else None
    sizes = _sizes(s, room)
    used = sizes[str(own)] if data is not None else 0
    if used > room:
        return Saving(
            None,
            f"The data take {size(used)} in a project, but the app opens at most "
            f"{size(most_bytes)}. Use fewer rows or columns, at most {size(room)}.",
        )
    pinned, n_bytes, left_out = [], len(data or b""), 0
    for digest in dict.fromkeys(pin.recipe.data_digest for pin in s.pins):
        if digest is None or digest == own or digest not in s.uploads:
            continue
        content = s.uploads[digest]
        if n_bytes + len(content) <= MAX_BYTES and used + sizes[digest] <= room:
            n_bytes, used = n_bytes + len(content), used + sizes[digest]
            pinned.append(content)
        else:
            left_out += 1
    chosen = within(results_of(s, source), min(MAX_RESULTS, room - used))
    project = Project(
        recipe=s.recipe,
        data=data,
        names=s.now.names,
        view=_kept_view(s.view),
        title=source.title,
        pins=s.pins,
        pinned_data=tuple(pinned),
        groups=s.view.get(GROUPS, {}),
        results=chosen.kept,
    )
    missing = list(chosen.left_out.summary)
    if left_out:
        missing.append("the data of a pin" if left_out == 1 else f"the data of {left_out} pins")
    left_out_line = f"Too large for a project, left out: {', '.join(missing)}." if missing else None
    return Saving(project, left_out_line)


def _sizes(s: Session, room: int) -> dict[str, int]:
    """Return the sizes of the files in a project; they are compressed only if that can matter."""
    raw = {digest: len(content) for digest, content in s.uploads.items()}
    if sum(raw.values()) <= room - MAX_RESULTS:
        return raw
    return {
        digest: s.memo.get("packed size", digest, partial(_packed_size, content))
        for digest, content in s.uploads.items()
    }


def _packed_size(content: bytes) -> int:
    packer = zlib.compressobj()
    steps = range(0, len(content), MEGABYTE)
    packed = sum(len(packer.compress(content[start : start + MEGABYTE])) for start in steps)
    return packed + len(packer.flush())


def _kept_view(view: Mapping[str, Any]) -> dict[str, Preference]:
    hashable = {name: tuple(v) if isinstance(v, list) else v for name, v in view.items()}
    return {name: value for name, value in hashable.items() if _fits(name, value)}


def _fits(name: str, value: Any) -> bool:
    return VIEW[name](value) if name in VIEW else name.startswith(RADII) and isinstance(value, str)


def results_of(s: Session, source: Source) -> Results:
    """Return everything that was computed on the current data."""
    D, obs = source.distances, source.observations
    split = s.swept.get(TableKey.of(source))
    swept = s.swept.items()

    def of(kind: type[Any], items: Iterable[tuple[Any, Any]] = swept) -> list[tuple[Any, Any]]:
        return [one for one in items if isinstance(one[0], kind) and one[0].distances == D.digest]

    grouped, fit, placed = s.jobs.of("groups", D.digest), s.jobs.current("fit"), s.placed
    found: Fitted | None = None if fit is None else fit.found
    has_model = found is not None and obs is not None and found.model.data_digest == obs.digest
    rows = _chosen_digest(s, source) if s.scored.items() else None
    return Results(
        data=digest_or_none(obs) or "",
        distances=D.digest,
        places=None
        if placed is None
        else Places(placed.graph, placed.positions, tuple(sorted(s.opened)), s.selected),
        points=tuple(point for _, point in of(PointKey)),
        bars=tuple(Barcode(key.settings, bars) for key, bars in of(AlongKey)),
        loops=tuple(TestedLoops(key.r, test) for key, test in of(LoopsKey)),
        split=split or "",
        scores=tuple(
            scored
            for key, scored in swept
            if isinstance(key, ScoreKey) and key.split == split and key.fit == FitSettings()
        ),
        support=tuple(
            Supported(key.settings, key.n_runs, found)
            for key, found in of(SupportKey, s.memo.items("support"))
        ),
        groups=None
        if grouped is None or grouped.found is None
        else replace(grouped.found, together=None),
        models=(SavedModel.of(found.model),) if has_model and found is not None else (),
        evaluations=tuple(
            Scored(how.metric, how.column, how.test, how.share, how.seed, key.belief, entry)
            for key, entry in s.scored.items()
            if isinstance(key, EvaluationKey) and (how := key.split).data == rows
        ),
        comparisons=tuple(
            Compared(key.data, key.graph, key.settings, scores)
            for key, scores in s.memo.items("scores")
            if isinstance(key, ComparedKey) and isinstance(scores, ComparedScores) and key.data
        ),
    )


def _chosen_digest(s: Session, source: Source) -> str | None:
    """Return the digest of the rows, restricted to the columns that have distances."""
    obs, D = source.observations, source.distances
    if obs is None:
        return None
    key = TableKey(D.digest, obs.digest)
    return s.memo.get("chosen digest", key, lambda: obs.select(list(D.names)).digest)


# Out of a file -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A project that is consistent with its data."""

    project: Project
    source: Source
    results: Results | None
    """None if they belong to other data."""
    models: tuple[Model, ...]


def uploads_with(s: Session, project: Project) -> dict[str, bytes]:
    """Return the files of the session and the project by digest; the project's data come last."""
    own = () if project.data is None else (project.data,)
    return s.uploads | {digest_of(one): one for one in (*project.pinned_data, *own)}


def checked(project: Project, source: Source) -> Opened:
    """Check a project against its data, without changing the session."""
    results, obs = project.results, source.observations
    data = "" if obs is None else obs.digest
    if results is None or (results.data, results.distances) != (data, source.distances.digest):
        return Opened(project, source, None, ())
    if not results.columns <= {source.distances.names}:
        raise DataError("The results of the project belong to other columns than its data.")
    n_columns = source.distances.n_columns
    for one in results.evaluations:
        if isinstance(one.entry, Evaluation):
            columns = [column for topic in one.entry.top_columns for column in topic]
            if not all(0 <= column < n_columns for column in columns):
                raise DataError("The scores of the project name columns that its data lack.")
    models = [one for one in results.models if one.settings == FitSettings()]
    fitted = () if obs is None else tuple(one.on(obs) for one in models)
    return Opened(project, source, results, fitted)


def take(s: Session, opened: Opened) -> None:
    """Restore a project: data, settings, pins, preferences and results."""
    project = opened.project
    for digest, content in uploads_with(s, project).items():
        if digest not in s.uploads or digest == project.recipe.data_digest:
            s.keep_upload(digest, content)
    s.view.pop(REFINE, None)
    s.open(project.recipe, project.names)
    s.pins = project.pins
    s.view |= {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in project.view.items()
        if _fits(name, value)
    }
    s.view[GROUPS] = dict(project.groups)
    if opened.results is not None:
        if opened.results.places is not None:
            _take_places(s, opened.results.places)
        _take_sweep(s, opened.source, opened.results)
        _take_scores(s, opened.source, opened.results)
        _take_jobs(s, opened)


def _take_places(s: Session, places: Places) -> None:
    s.placed = Placed(places.graph, places.positions)
    s.opened, s.selected = frozenset(places.opened), places.selected
    drawn = np.isfinite(places.positions[:, 0])
    if drawn.all():
        s.memo.keep("positions", places.graph.digest, places.positions)
    else:
        nodes = tuple(np.flatnonzero(drawn).tolist())
        s.memo.keep("positions", PlacesKey(places.graph.digest, nodes), places.positions[drawn])


def _take_sweep(s: Session, source: Source, results: Results) -> None:
    D, obs = source.distances, source.observations
    for point in reversed(results.points):
        s.swept.put(PointKey(D.digest, point.settings), point)
    for one in results.bars:
        s.swept.put(AlongKey.of(D.digest, one.settings), one.bars)
    for tested in results.loops:
        s.swept.put(LoopsKey(D.digest, tested.r), tested.test)
    if obs is not None and results.split:
        s.swept.put(TableKey.of(source), results.split)
        for scored in reversed(results.scores):
            s.swept.put(ScoreKey(results.split, scored.settings), scored)
    for kept in reversed(results.support):
        graph, scheme = kept.found.graph.digest, kept.found.scheme
        key = SupportKey(source.rows_digest, D.digest, graph, kept.settings, scheme, kept.n_runs)
        s.memo.keep("support", key, kept.found)


def _take_scores(s: Session, source: Source, results: Results) -> None:
    obs = source.observations
    if obs is None:
        return
    chosen = obs.select(list(source.distances.names))
    for one in reversed(results.evaluations):
        how = (one.seed, one.column, one.test, one.share)
        split = SplitKey.of(chosen.digest, one.metric, *how)
        s.scored.put(EvaluationKey.of(split, one.entry.contestant, one.belief), one.entry)
    for compared in reversed(results.comparisons):
        scored = ComparedKey(compared.data, compared.graph, compared.settings)
        s.memo.keep("scores", scored, compared.scores)


def _take_jobs(s: Session, opened: Opened) -> None:
    results, obs = opened.results, opened.source.observations
    if results is not None and results.groups is not None:
        s.jobs.again("groups", opened.source.distances.digest, lambda _: results.groups)
    if obs is not None and opened.models:
        model = opened.models[0]
        key = FitKey(obs.digest, model.graph.digest)
        s.jobs.again("fit", key, lambda _: Fitted(model, model.hidden_posteriors(obs)))
