"""Which cycles of a graph join which groups of columns, such as the sectors of companies (6.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from loopylatent.graph import LatentGraph


@dataclass(frozen=True, slots=True)
class CycleGroups:
    """A cycle, the columns on it and beside it, and how many of these each group has.

    ``beside`` are columns next to a hidden node of the cycle: what that node stands for.
    """

    cycle: tuple[int, ...]
    columns: tuple[int, ...]
    beside: tuple[int, ...]
    groups: tuple[tuple[str, int], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The groups that meet."""
        return tuple(name for name, _ in self.groups)


def cycle_groups(graph: LatentGraph, groups: Mapping[str, str]) -> tuple[CycleGroups, ...]:
    """Return for each cycle of a minimum cycle basis the groups that meet on it.

    Columns without a group are left out of the count.

    Parameters
    ----------
    graph : LatentGraph
    groups : mapping from column to group

    Examples
    --------
    Columns a and b close a cycle with hidden nodes 5 and 6.

    >>> edges = [(0, 5), (1, 5), (2, 5), (0, 6), (1, 6), (3, 6), (3, 4)]
    >>> graph = LatentGraph.build(list("abcde"), 2, edges)
    >>> found, = cycle_groups(graph, {"a": "oil", "b": "banks", "c": "oil", "d": "oil"})
    >>> found.cycle, found.beside, found.groups
    ((0, 5, 1, 6), (2, 3), (('oil', 3), ('banks', 1)))
    """
    p = graph.n_observed
    found = []
    for cycle in graph.cycles:
        on = tuple(sorted(node for node in cycle if node < p))
        around = {
            other
            for node in cycle
            if node >= p
            for other in graph.neighbours(node)
            if other < p and other not in on
        }
        beside = tuple(sorted(around))
        counts = Counter(
            groups[graph.names[column]]
            for column in (*on, *beside)
            if graph.names[column] in groups
        )
        ordered = tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
        found.append(CycleGroups(cycle, on, beside, ordered))
    return tuple(found)


def joined_groups(found: tuple[CycleGroups, ...]) -> tuple[tuple[tuple[str, str], int], ...]:
    """Return every two groups that meet on a cycle, with on how many cycles, most first."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in found:
        names = sorted(one.names)
        counts.update((a, b) for k, a in enumerate(names) for b in names[k + 1 :])
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
