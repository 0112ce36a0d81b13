"""The algorithm in fifteen lines of our own words (Algorithms 1 to 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loopylatent.settings import Method

Line = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line: how far it is indented, what it says, and a longer word about it."""

    indent: int
    text: str
    meaning: str


PSEUDOCODE: tuple[CodeLine, ...] = (
    CodeLine(
        0,
        "d ← −log strength, for every pair",
        "The strength is the absolute correlation, or what takes its place for letters and mixed "
        "kinds.",
    ),
    CodeLine(0, "for every column v:", "One ball and one tree for each column."),
    CodeLine(
        1,
        "B ← { u : d(u,v) ≤ r }",
        "The ball of v. A larger r makes larger balls, and fewer loops.",
    ),
    CodeLine(
        1,
        "T(v) ← shortest tree on B",
        "The minimum spanning tree; ties are broken in one way for all balls.",
    ),
    CodeLine(0, "G ← union of all T(v)", "Loops can close here, where trees disagree."),
    CodeLine(
        0,
        "for every column v that is no leaf:",
        "Visited in an order that was fixed before: the best connected first, unless another "
        "order is chosen.",
    ),
    CodeLine(
        1,
        "A ← v and its neighbours in G",
        "In G as it is now, with the hidden nodes that earlier visits put in.",
    ),
    CodeLine(
        1,
        "ask all quartets of A (margin Λ)",
        "ij|kl is declared when (s(i,j) − Λ)(s(k,l) − Λ) is above (s(i,k) + Λ)(s(j,l) + Λ) and "
        "above (s(i,l) + Λ)(s(j,k) + Λ); s is the strength; otherwise ⊥.",
    ),
    CodeLine(
        1,
        "while some pair is not separated:",
        "Pairs for which a quartet speaks come first, then the closest.",
    ),
    CodeLine(
        2,
        "join it under a new hidden node",
        "The new node h takes the place of i and j. d(i,h) = ½ (d(i,j) + mean over the others k of "
        "d(i,k) − d(j,k)), and d(j,h) = d(i,j) − d(i,h).",
    ),
    CodeLine(
        1,
        "connect what is left",
        "Two nodes by an edge; more than two, where no pair can be joined, by their shortest tree.",
    ),
    CodeLine(
        1,
        "contract edges shorter than τ",
        "Only edges with a hidden end, the shortest first. The observed end stays, else the older "
        "hidden node.",
    ),
    CodeLine(
        1,
        "put this tree into G",
        "It replaces the edges inside A; those that lead out of A stay where they are.",
    ),
    CodeLine(
        0,
        "drop hidden nodes with < 3 edges",
        "One with two edges is bridged: its neighbours are joined directly.",
    ),
    CodeLine(0, "return G", "Observed and hidden nodes, and edges with lengths."),
)
_RELAXED: Mapping[int, CodeLine] = {
    8: CodeLine(
        1,
        "while more than two nodes are left:",
        "At first these are the nodes of A; a hidden one is represented by a column, its stand-in.",
    ),
    9: CodeLine(
        2,
        "split them into families by spread",
        "The spread of i and j is the largest less the smallest d(i,k) − d(j,k) over the other "
        "nodes k. Many splits are tried; the best mean silhouette wins, if it exceeds log 2 / "
        "largest spread.",
    ),
    10: CodeLine(
        2,
        "give each family a parent",
        "A member that fits, or else a new hidden node. From then on the parent stands for the "
        "family.",
    ),
    11: CodeLine(
        1,
        "connect the last two",
        "Where one node is left, all are connected already.",
    ),
    12: CodeLine(
        1,
        "contract edges shorter than −log 0.9",
        "This method brings its own limit, 0.105; Λ and τ play no part in it. The observed end "
        "stays, else the older hidden node.",
    ),
    14: CodeLine(
        0,
        "contract; drop hidden with < 3 edges",
        "Once more edges below −log 0.9, then hidden nodes that explain nothing: one with two "
        "edges is bridged.",
    ),
}
_NEIGHBOR_JOINING: Mapping[int, CodeLine] = {
    8: CodeLine(
        1,
        "while more than two nodes are left:",
        "At first these are the nodes of A. Λ plays no part in this method.",
    ),
    9: CodeLine(
        2,
        "Q ← (a − 2) d(i,j) − R(i) − R(j)",
        "For every pair of the a nodes that are left; R(i) is the sum of the distances from i to "
        "all of them.",
    ),
    10: CodeLine(
        2,
        "join the pair of smallest Q",
        "Under a new hidden node h: d(i,h) = ½ (d(i,j) + (R(i) − R(j))/(a − 2)), and "
        "d(h,k) = ½ (d(i,k) + d(j,k) − d(i,j)) to every other node k.",
    ),
    11: CodeLine(1, "connect the last two", "By an edge of their distance."),
}


def pseudocode(method: Method) -> tuple[CodeLine, ...]:
    """Return the fifteen lines of a method; they differ in how a neighbourhood is grouped.

    Examples
    --------
    >>> pseudocode("nj")[9].text
    'join the pair of smallest Q'
    >>> len(pseudocode("relaxed")) == len(pseudocode("quartet"))
    True
    """
    own: Mapping[int, CodeLine] = {"relaxed": _RELAXED, "nj": _NEIGHBOR_JOINING}.get(method, {})
    return tuple(own.get(number, line) for number, line in enumerate(PSEUDOCODE, start=1))
