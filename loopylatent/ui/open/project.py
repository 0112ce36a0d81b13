"""What a session puts into a project file, and what it takes out of one.

Everything in a file is checked against the data that it brings before the session changes; from
then on nothing can fail. So a file either opens as a whole or leaves the session as it was.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np

from loopylatent.analysis.evaluation.contest import LDA_TOPICS, Evaluation, Kind
from loopylatent.analysis.stability.groups import Groups
from loopylatent.analysis.stability.resampling import SCHEMES
from loopylatent.analysis.sweep.points import PointKey
from loopylatent.analysis.sweep.scores import ComparedScores, ScoreKey
from loopylatent.compute.limits import MEGABYTE, size
from loopylatent.errors import DataError
from loopylatent.exporting.project.file import MAX_RESULTS, Preference, Project
from loopylatent.exporting.project.recipe import digest_of
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
from loopylatent.inference.model import Model
from loopylatent.inference.saved import SavedModel
from loopylatent.settings import FitSettings, Method
from loopylatent.tables.files import MAX_BYTES
from loopylatent.ui.shell import words
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.fits import Fitted
from loopylatent.ui.shell.keys import (
    BarsKey,
    ComparedKey,
    EvaluationKey,
    FitKey,
    LoopsKey,
    PlacesKey,
    SplitDigestKey,
    SplitKey,
    SupportKey,
    digest_or_none,
)
from loopylatent.ui.shell.session import Placed, Session
from loopylatent.ui.shell.stages import Source

RESERVE = 2 * MEGABYTE
"""For the description and the seams of a file."""
RADII = "score radii "
BROUGHT = "brought"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_yes_or_no(value: Any) -> bool:
    return isinstance(value, bool)


def _whole_from(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _number_from(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) is float and low <= value <= high


def _one_of(options: Any) -> Callable[[Any], bool]:
    known = tuple(options)
    return lambda value: not isinstance(value, bool | tuple) and value in known


def _some_of(options: Any) -> Callable[[Any], bool]:
    fits = _one_of(options)
    return lambda value: isinstance(value, tuple) and all(map(fits, value))


VIEW: Mapping[str, Callable[[Any], bool]] = {
    "colours": _is_text,
    "view": _is_text,
    "part": _one_of(words.PARTS),
    "cycles": _is_yes_or_no,
    "whole_graph": _is_yes_or_no,
    "least_support": _number_from(0.0, 1.0),
    "sure_scheme": _one_of(SCHEMES),
    "sure_runs": _one_of(words.RUNS),
    "sure_share": _number_from(0.3, 0.95),
    "tune measure": _one_of(MEASURES),
    "compare_left": _is_text,
    "compare_right": _is_text,
    "compare_view": _is_text,
    "corpus": _is_text,
    "topic order": _is_text,
    "score split": _is_text,
    "score test": _is_text,
    "score seed": _whole_from(0, 10**9),
    "score share": _whole_from(10, 70),
    "score kinds": _some_of(get_args(Kind)),
    "score lda": _some_of(LDA_TOPICS),
    "score methods": _some_of(get_args(Method)),
    "score belief": _is_yes_or_no,
}
"""What may be seen how: the values that each preference can take."""


# Into a file -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Saving:
    """What a project file of this session holds, and what has no room in it."""

    project: Project | None
    """None where the data alone have no room."""
    said: str | None
    """What is left out, in one line."""


def project_of(s: Session, source: Source) -> Project:
    """Everything of this session that belongs to the present data, and all pins."""
    found = saving(s, source).project
    assert found is not None, "without a limit everything has room"
    return found


def saving(s: Session, source: Source, most_bytes: int = 2**62) -> Saving:
    """Say what goes into a file of at most so many bytes: data first, then those of pins, results.

    Nothing is written: what is said here can stand beside the button.
    """
    room = most_bytes - RESERVE - sum(60 * one.profile.size for one in s.now.names)
    own = s.recipe.data_digest
    data = s.uploads.get(own) if own else None
    sizes = _sizes(s, room)
    used = 0 if data is None or own is None else sizes[own]
    if used > room:
        return Saving(
            None,
            f"the data take {size(used)} in a project and a file that this app opens again at "
            f"most {size(most_bytes)}; save a table of at most {size(room)}: fewer rows or "
            "columns.",
        )
    pinned = _pinned_data(s, 0 if data is None else len(data), sizes, room - used)
    used += sum(sizes[digest_of(one)] for one in pinned)
    chosen = within(results_of(s, source), min(MAX_RESULTS, room - used))
    project = Project(
        recipe=s.recipe,
        data=data,
        names=s.now.names,
        view=_kept_view(s.view),
        title=source.title,
        pins=s.pins,
        pinned_data=pinned,
        groups=s.view.get(BROUGHT, {}),
        results=chosen.kept,
    )
    left_out = [*chosen.left_out.words]
    n_files = len(_pinned_digests(s)) - len(pinned)
    if n_files:
        left_out.append("the data of a pin" if n_files == 1 else f"the data of {n_files} pins")
    said = f"A project has no room for all; left out: {', '.join(left_out)}." if left_out else None
    return Saving(project, said)


def _sizes(s: Session, room: int) -> dict[str, int]:
    """What the files take in a project; they are packed to see it only where that can matter."""
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
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in view.items()}
    return {name: value for name, value in plain.items() if _fits(name, value)}


def _fits(name: str, value: Any) -> bool:
    return VIEW[name](value) if name in VIEW else name.startswith(RADII) and _is_text(value)


def _pinned_digests(s: Session) -> list[str]:
    """The other files that pins are of."""
    wanted = dict.fromkeys(pin.recipe.data_digest for pin in s.pins)
    others = [one for one in wanted if one is not None and one != s.recipe.data_digest]
    return [one for one in others if one in s.uploads]


def _pinned_data(
    s: Session, n_bytes: int, sizes: Mapping[str, int], room: int
) -> tuple[bytes, ...]:
    """The files that pins are of, as far as a project has room for them."""
    kept = []
    for digest in _pinned_digests(s):
        content = s.uploads[digest]
        if n_bytes + len(content) <= MAX_BYTES and sizes[digest] <= room:
            n_bytes, room = n_bytes + len(content), room - sizes[digest]
            kept.append(content)
    return tuple(kept)


def results_of(s: Session, source: Source) -> Results:
    """Everything that was computed on the present data."""
    D, obs = source.distances, source.observations
    split = s.swept.get(SplitDigestKey(D.digest, digest_or_none(obs)))
    swept = s.swept.items()

    return Results(
        data=digest_or_none(obs) or "",
        distances=D.digest,
        places=_places(s),
        points=tuple(
            point for key, point in swept if isinstance(key, PointKey) and key.distances == D.digest
        ),
        bars=tuple(
            Barcode(key.along.settings, bars)
            for key, bars in swept
            if isinstance(key, BarsKey) and key.along.distances == D.digest
        ),
        loops=tuple(
            TestedLoops(key.r, test)
            for key, test in swept
            if isinstance(key, LoopsKey) and key.distances == D.digest
        ),
        split=split or "",
        scores=tuple(
            scored
            for key, scored in swept
            if isinstance(key, ScoreKey) and key.split == split and key.fit == FitSettings()
        ),
        support=tuple(
            Supported(key.settings, key.n_runs, found)
            for key, found in s.memo.items("support")
            if isinstance(key, SupportKey) and key.distances == D.digest
        ),
        groups=_groups(s.jobs.current("groups"), D.digest),
        models=_models(s.jobs.current("fit"), source),
        evaluations=_evaluations(s, source),
        comparisons=tuple(
            Compared(key.data, key.graph, key.settings, scores)
            for key, scores in s.memo.items("scores")
            if isinstance(key, ComparedKey) and isinstance(scores, ComparedScores) and key.data
        ),
    )


def _places(s: Session) -> Places | None:
    if s.placed is None:
        return None
    opened, selected = tuple(sorted(s.opened)), s.selected
    return Places(s.placed.graph, s.placed.positions, opened, selected)


def _finished(job: Job | None) -> bool:
    return job is not None and job.finished.is_set() and job.error is None


def _groups(job: Job | None, distances: str) -> Groups | None:
    if job is None or not _finished(job) or job.key != distances:
        return None
    found: Groups = replace(job.result, together=None)
    return found


def _models(job: Job | None, source: Source) -> tuple[SavedModel, ...]:
    obs = source.observations
    if job is None or obs is None or not _finished(job):
        return ()
    fitted: Fitted = job.result
    return (SavedModel.of(fitted.model),) if fitted.model.data_digest == obs.digest else ()


def _evaluations(s: Session, source: Source) -> tuple[Scored, ...]:
    if not s.scored.items():
        return ()
    chosen = _chosen_digest(s, source)
    return tuple(
        Scored(split.metric, split.column, split.test, split.share, split.seed, key.belief, entry)
        for key, entry in s.scored.items()
        if isinstance(key, EvaluationKey) and (split := key.split).data == chosen
    )


def _chosen_digest(s: Session, source: Source) -> str | None:
    """The digest of the rows on the columns that have distances."""
    obs, D = source.observations, source.distances
    if obs is None:
        return None
    key = (obs.digest, D.digest)
    return s.memo.get("chosen digest", key, lambda: obs.select(list(D.names)).digest)


# Out of a file -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A project that fits the data that it brings."""

    project: Project
    source: Source
    results: Results | None
    """None where they are of other data."""
    models: tuple[Model, ...]


def uploads_with(s: Session, project: Project) -> dict[str, bytes]:
    """The files of this session and of the project, by their digests; its own comes last."""
    own = () if project.data is None else (project.data,)
    return s.uploads | {digest_of(one): one for one in (*project.pinned_data, *own)}


def checked(project: Project, source: Source) -> Opened:
    """Check what a project says of its data; the session does not change."""
    results, obs = project.results, source.observations
    data = "" if obs is None else obs.digest
    if results is None or (results.data, results.distances) != (data, source.distances.digest):
        return Opened(project, source, None, ())
    if not results.columns <= {source.distances.names}:
        raise DataError("the results of the project are of other columns than its data.")
    n_columns = source.distances.n_columns
    for one in results.evaluations:
        if isinstance(one.entry, Evaluation):
            columns = [column for topic in one.entry.top_columns for column in topic]
            if not all(0 <= column < n_columns for column in columns):
                raise DataError("the scores of the project name columns that there are not.")
    models = [one for one in results.models if one.settings == FitSettings()]
    fitted = () if obs is None else tuple(one.on(obs) for one in models)
    return Opened(project, source, results, fitted)


def take(s: Session, opened: Opened) -> None:
    """Bring back the data, the settings and all that was kept beside them."""
    project = opened.project
    for digest, content in uploads_with(s, project).items():
        if digest not in s.uploads or digest == project.recipe.data_digest:
            s.keep_upload(digest, content)
    s.open(project.recipe, project.names)
    s.pins = project.pins
    s.view |= {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in project.view.items()
        if _fits(name, value)
    }
    s.view[BROUGHT] = dict(project.groups)
    if opened.results is not None:
        _take_places(s, opened.results.places)
        _take_sweep(s, opened.source, opened.results)
        _take_scores(s, opened.source, opened.results)
        _take_jobs(s, opened)


def _take_places(s: Session, places: Places | None) -> None:
    if places is None:
        return
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
        s.swept.put(BarsKey.of(D.digest, one.settings), one.bars)
    for tested in results.loops:
        s.swept.put(LoopsKey(D.digest, tested.r), tested.test)
    if obs is not None and results.split:
        s.swept.put(SplitDigestKey(D.digest, obs.digest), results.split)
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
        key = FitKey.of(obs, model.graph)
        s.jobs.again("fit", key, lambda _: Fitted(model, model.hidden_posteriors(obs)))
