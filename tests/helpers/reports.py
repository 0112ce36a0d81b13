"""Findings for tests of reports."""

from __future__ import annotations

import loopylatent as ll
from loopylatent.exporting.project.file import Recipe
from loopylatent.exporting.report.findings import Findings, examine
from loopylatent.learning.learner import learn


def findings_of(obs: ll.Observations, source: str, r: float | None) -> Findings:
    D = ll.information_distances(obs)
    chosen = ll.settings_for(D, r).thresholds
    kind = "sample" if source.startswith("sample:") else "table"
    recipe = Recipe(
        source=source, source_kind=kind, r=chosen.r, Lambda=chosen.Lambda, tau=chosen.tau
    )
    return examine(recipe, D, learn(D, recipe.settings), obs, n_resamples=4)
