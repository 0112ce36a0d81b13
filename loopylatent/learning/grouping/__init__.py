"""From one neighbourhood to one local latent tree (Algorithm 2), by one of several methods."""

from __future__ import annotations

from collections.abc import Callable

from loopylatent.learning.grouping.base import LocalTree, Neighbourhood
from loopylatent.learning.grouping.neighbor_joining import group as group_by_neighbor_joining
from loopylatent.learning.grouping.quartet import group as group_by_quartet
from loopylatent.learning.grouping.relaxed import group as group_relaxed
from loopylatent.settings import LearnSettings, Method

__all__ = ["BY_SURROGATES", "METHODS", "LocalTree", "Neighbourhood", "group"]

METHODS: dict[Method, Callable[[Neighbourhood, LearnSettings], LocalTree]] = {
    "quartet": group_by_quartet,
    "relaxed": group_relaxed,
    "nj": group_by_neighbor_joining,
}
BY_SURROGATES: frozenset[Method] = frozenset({"relaxed"})
"""Methods that take the distances of the columns that stand for hidden nodes."""


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by the method of the settings."""
    return METHODS[settings.method](neighbourhood, settings)
