"""What the Evaluate page remembers: which models are to be scored, and the scores so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loopylatent.analysis.evaluation.contest import (
    Contestant,
    Entry,
    Kind,
    contestants,
    iter_evaluations,
    split_by_column,
    split_by_share,
)
from loopylatent.analysis.sweep.scores import TEST_SHARE, Split
from loopylatent.compute.arrays import Progress
from loopylatent.compute.cache import ResultCache
from loopylatent.errors import ThresholdError
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.settings import Method, Thresholds
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.keys import EvaluationKey, SplitKey
from loopylatent.ui.shell.session import Session, session
from loopylatent.ui.shell.widgets import is_waited_for, remembered

KEY = "loopylatent evaluate"
JOB = "evaluate"
MOST_RADII = 20


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be scored, and on which rows."""

    column: str | None = None
    """The label column that splits the rows; None for a split at random."""
    test: str = "test"
    share: float = TEST_SHARE
    seed: int = 0
    radii: tuple[float, ...] = ()
    methods: tuple[Method, ...] = ("quartet",)
    kinds: tuple[Kind, ...] = ("independent", "tree", "local trees", "latent")
    n_topics: tuple[int, ...] = ()
    belief: bool = False

    def contestants(self, recipe: Recipe) -> tuple[Contestant, ...]:
        """Return the models of the table; margin, length and order are the present ones."""
        here = recipe.settings
        settings = [
            replace(here, thresholds=replace(here.thresholds, r=r), method=method)
            for method in self.methods
            for r in self.radii
        ]
        return contestants(settings, kinds=self.kinds, n_topics=self.n_topics)

    def split_key(self, obs: Observations, metric: str) -> SplitKey:
        """Under which the split of a table is known."""
        how = (self.seed, self.column, self.test, self.share)
        return SplitKey.of(obs.digest, metric, *how)


@dataclass(slots=True)
class Scoreboard:
    """What one session has scored."""

    known: ResultCache = field(default_factory=ResultCache)
    choice: Choice | None = None


def scoreboard() -> Scoreboard:
    """Return the scores of this browser tab."""
    return remembered(KEY, lambda: Scoreboard(session().scored))


def entries_of(
    board: Scoreboard, split: SplitKey, chosen: Sequence[Contestant], belief: bool
) -> list[Entry]:
    """Return the scores that are there, in the order of the models."""
    found = [board.known.get(EvaluationKey.of(split, one, belief)) for one in chosen]
    return [one for one in found if one is not None]


def begin_scores(s: Session, board: Scoreboard, obs: Observations, choice: Choice) -> None:
    """Start to score what is not known yet."""
    recipe, last = s.recipe, s.split
    key = choice.split_key(obs, recipe.metric)
    chosen = choice.contestants(recipe)
    missing = [
        one for one in chosen if board.known.get(EvaluationKey.of(key, one, choice.belief)) is None
    ]

    def work(report: Progress) -> int:
        report(0, len(missing))
        split = split_of(last, obs, recipe, choice)
        found = iter_evaluations(split, missing, belief=choice.belief, progress=report)
        for place, entry in found:
            board.known.put(EvaluationKey.of(key, missing[place], choice.belief), entry)
        return len(missing)

    s.jobs.again(JOB, (key, chosen, choice.belief), work)


def split_of(last: ResultCache, obs: Observations, recipe: Recipe, choice: Choice) -> Split:
    """Return the rows split as chosen; only the split of the last choice is remembered."""
    key = choice.split_key(obs, recipe.metric)
    found: Split | None = last.get(key)
    if found is None:
        metric, seed = recipe.metric, choice.seed
        if choice.column is None:
            found = split_by_share(obs, metric, choice.share, seed)
        else:
            found = split_by_column(obs, choice.column, choice.test, metric, seed)
        last.put(key, found)
    return found


def running_job(s: Session) -> Job | None:
    """Return the job that scores, while somebody waits for it."""
    job = s.jobs.current(JOB)
    return job if is_waited_for(job) else None


def read_radii(text: str) -> tuple[float, ...]:
    """Read radii from a line, separated by commas or spaces.

    Examples
    --------
    >>> read_radii("13, 9 7;5")
    (13.0, 9.0, 7.0, 5.0)
    """
    parts = text.replace(",", " ").replace(";", " ").split()
    found = []
    for part in parts:
        try:
            number = float(part)
        except ValueError:
            raise ThresholdError(
                f"{part!r} is not a radius; write numbers with commas between, such as 9, 7, 5."
            ) from None
        found.append(Thresholds(number, 0.0, 0.0).r)
    if not found:
        raise ThresholdError("give at least one radius r, such as 9, 7, 5.")
    if len(found) > MOST_RADII:
        raise ThresholdError(f"{len(found)} radii are too many; give at most {MOST_RADII}.")
    return tuple(dict.fromkeys(found))
