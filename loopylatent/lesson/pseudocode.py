"""The algorithm in fifteen lines of our own words (Algorithms 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
        "ij|kl is declared when (s_ij − Λ)(s_kl − Λ) is above (s_ik + Λ)(s_jl + Λ) and above "
        "(s_il + Λ)(s_jk + Λ); otherwise ⊥.",
    ),
    CodeLine(
        1,
        "while some pair is not separated:",
        "Pairs for which a quartet speaks come first, then the closest.",
    ),
    CodeLine(
        2,
        "join it under a new hidden node",
        "The new node h takes the place of i and j. d(i,h) = ½ (d_ij + mean over the others k of "
        "d_ik − d_jk), and d(j,h) = d_ij − d(i,h).",
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
