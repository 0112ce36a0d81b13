"""Projects with results, saved and reopened."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import loopylatent as ll
from loopylatent.analysis.stability.groups import groups
from loopylatent.analysis.stability.loop_test import loop_test
from loopylatent.analysis.stability.resampling import Resampling
from loopylatent.analysis.stability.runs import stability
from loopylatent.analysis.sweep.barcode import barcode
from loopylatent.analysis.sweep.points import along_r, iter_points, radii
from loopylatent.analysis.sweep.scores import Split, compared_scores, iter_scores
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.project.file import Pin, Project, Recipe, digest_of, open_project
from loopylatent.synthetic.families import latent_cycle
from loopylatent.ui.evaluate.scores import Choice, Scoreboard, begin_scores
from loopylatent.ui.open.project import checked, saving, take, uploads_with
from loopylatent.ui.shell.results import (
    AlongKey,
    ComparedKey,
    FitKey,
    LoopsKey,
    Source,
    SupportKey,
    TableKey,
    curve_of,
    learned,
    source_of,
)
from loopylatent.ui.shell.session import GROUPS, Moment, Session
from loopylatent.ui.shell.widgets import Fitted

ROOT = Path(__file__).resolve().parents[2]


N_RUNS = 25


def table(kind: str, seed: int = 1) -> bytes:
    frame = latent_cycle(girth=4, leaves=2, kind=kind, seed=seed).sample(300, seed=seed).to_frame()
    return frame.to_csv(index=False).encode()


def recipe_of(content: bytes, r: float) -> Recipe:
    return Recipe(
        source="ring.csv", source_kind="table", data_digest=digest_of(content), r=r, Lambda=0.02,
        tau=0.05,
    )  # fmt: skip


def session_with(content: bytes) -> tuple[Session, Source]:
    """Return a session on an uploaded file, at a radius with loops."""
    recipe = recipe_of(content, 9.0)
    s = Session(Moment(recipe, recipe), uploads={digest_of(content): content})
    source = source_of(s.memo, s.uploads, recipe)
    recipe = dataclasses.replace(recipe, r=float(source.distances.r_min))
    s.now = Moment(recipe, recipe)
    return s, source


def work(s: Session, source: Source) -> None:
    """Compute one result of every type, as the pages would."""
    D, obs, here = source.distances, source.observations, s.recipe.settings
    assert obs is not None
    result = learned(s.memo, D, s.recipe)
    s.place(result.graph, result.graph.labels)
    curve = curve_of(s.memo, D)
    along = along_r(here, radii(curve))
    points = list(iter_points(D, along, curve=curve, known=s.swept))
    s.swept.put(AlongKey.of(D.digest, here), barcode(points, D.r_max))
    s.swept.put(LoopsKey(D.digest, here.thresholds.r), loop_test(D, D.r_min, n_simulations=2))
    split = Split.of(obs, D)
    s.swept.put(TableKey(D.digest, obs.digest), split.digest)
    list(iter_scores(split, along[-2:], known=s.swept))
    found = stability(obs, here, Resampling(n_resamples=3), result=result)
    graph = result.graph.digest
    key = SupportKey(source.rows_digest, D.digest, graph, here, "bootstrap", N_RUNS)
    s.memo.keep("support", key, found)
    s.view |= {"sure_runs": N_RUNS, "score kinds": ["tree"], "least_support": 0.5, "cycles": True}
    model = ll.fit_parameters(result.graph, obs)
    fitted = Fitted(model, model.hidden_posteriors(obs))
    s.jobs.again("fit", FitKey(obs.digest, result.graph.digest), lambda _: fitted).finished.wait()
    grouped = groups(obs, n_resamples=3)
    s.jobs.again("groups", D.digest, lambda _: grouped).finished.wait()
    scores = compared_scores(result.graph, obs, D, here)
    s.memo.keep("scores", ComparedKey(obs.digest, result.graph.digest, here), scores)
    begin_scores(s, board_of(s), obs, CHOICE)
    job = s.jobs.current("evaluate")
    assert job is not None
    job.finished.wait()
    assert job.error is None


CHOICE = Choice(radii=(9.0,), kinds=("independent", "tree"), share=0.3)


def board_of(s: Session) -> Scoreboard:
    return Scoreboard(s.scored)


def project_of(s: Session, source: Source) -> Project:
    """Return everything of this session for the current data, and all pins."""
    found = saving(s, source).project
    assert found is not None, "nothing is left out without a limit"
    return found


@cache
def worked(kind: str) -> tuple[Session, Source]:
    """Return a session with one result of every type; do not modify it."""
    s, source = session_with(table(kind))
    work(s, source)
    other = table(kind, seed=2)
    s.keep_upload(digest_of(other), other)
    s.pins = (Pin("here", s.recipe), Pin("other <b>", recipe_of(other, 9.0)))
    s.view[GROUPS] = {source.distances.names[0]: "one", source.distances.names[1]: "two"}
    return s, source


def opened_again(content: bytes, s: Session) -> Source:
    """Open a project file in a session like the dialog."""
    project = open_project(content)
    source = source_of(s.memo, uploads_with(s, project), project.recipe)
    take(s, checked(project, source))
    return source


def blank() -> Session:
    recipe = Recipe(source="sample:bfi25", source_kind="sample", r=9.0, Lambda=0.0, tau=0.1)
    return Session(Moment(recipe, recipe))


def tried(do: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return the result, or the one-line error message."""
    try:
        return do(), None
    except LoopyLatentError as error:
        return None, one_line(error)


def one_line(error: LoopyLatentError) -> str:
    assert "\n" not in str(error)
    return str(error)
