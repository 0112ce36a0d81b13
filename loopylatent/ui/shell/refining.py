"""Refinement by likelihood in the background: the chosen goal, the search and its result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import get_args

from loopylatent.compute.values import Progress
from loopylatent.graph import LatentGraph
from loopylatent.learning.refinement import RefinedStep, Refinement, refine
from loopylatent.settings import Goal
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.results import RefinedKey, Source
from loopylatent.ui.shell.session import REFINE, Session

KIND, RUNNING = "refined", "refining"
GOALS: tuple[Goal, ...] = get_args(Goal)
PAUSES = 6 * (0.1,)
"""Seconds before a search starts that replaces another: while a threshold moves, none starts."""


@dataclass(slots=True)
class Search:
    """What a running search has found so far; its thread writes, pages read."""

    round: int = 1
    best: RefinedStep | None = None
    """The best graph so far; None in the first round."""
    scores: tuple[float, ...] = ()
    """The best score after each round."""
    n_tried: int = 0
    """Moves tried before this round."""
    is_enough: bool = False
    """Whether the search should end with the best graph so far; pages write this."""

    def follow(self, step: RefinedStep, n_tried: int) -> bool:
        """Record the end of a round; return whether to end there."""
        self.best, self.n_tried = step, n_tried
        self.scores += (step.score,)
        self.round += 1
        return self.is_enough

    def end(self) -> None:
        """End the search after this round."""
        self.is_enough = True


def goal_of(s: Session) -> Goal | None:
    """Return the goal of the refinement; None if it is switched off."""
    goal = s.view.get(REFINE)
    return goal if goal in GOALS else None


def refined_key(obs: Observations, graph: LatentGraph, goal: Goal) -> RefinedKey:
    """Return the key of the refinement of a graph, in the memo and of its job."""
    return RefinedKey(obs.digest, graph.digest, goal)


def refinement_of(s: Session, source: Source, graph: LatentGraph, goal: Goal) -> Refinement | None:
    """Return the refinement of a learned graph, if it is known."""
    obs = source.observations
    if obs is None:
        return None
    found: Refinement | None = s.memo.known(KIND, refined_key(obs, graph, goal))
    return found


def search_of(s: Session, job: Job) -> Search:
    """Return what a running search has found so far."""
    found: Search | None = s.memo.known(RUNNING, job.key)
    return found or Search()


def refining(s: Session, obs: Observations, graph: LatentGraph, goal: Goal) -> Job:
    """Return the search from a graph; start it unless it is the current one of this session."""
    key, memo, follows = refined_key(obs, graph, goal), s.memo, s.jobs.running(KIND) is not None

    def work(report: Progress) -> Refinement:
        search = Search()
        memo.keep(RUNNING, key, search)
        if follows:
            _pause(report)
        tried = 0

        def progress(done: int, total: int) -> None:
            nonlocal tried
            tried = done
            report(done - search.n_tried, total - search.n_tried)

        def on_round(step: RefinedStep) -> bool:
            return search.follow(step, tried)

        found = refine(graph, obs, goal, evidence=True, progress=progress, on_round=on_round)
        memo.keep(KIND, key, found)
        return found

    return s.jobs.get(KIND, key, work)


def _pause(report: Progress) -> None:
    """Wait a moment; raise if the search is replaced meanwhile."""
    for seconds in PAUSES:
        report(0, 0)
        time.sleep(seconds)
