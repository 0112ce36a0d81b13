"""Pins: settings kept under a name, to be compared with others."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from loopylatent.exporting.project.file import LONGEST_PIN_NAME, MOST_PINS, Pin
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.ui.shell.session import Session

HELP = "Keep the present data and settings under a name; the page Compare lays them side by side."
FULL = f"There are {MOST_PINS} pins, and no room for more; remove one on the page Compare."


def offer_pin(s: Session) -> None:
    """In the sidebar of every page: pin what is shown now."""
    pinned = next((pin for pin in s.pins if pin.recipe == s.recipe), None)
    with st.container(horizontal=True, vertical_alignment="center", key="pinning"):
        st.button(
            "Pin" if pinned is None else "Pinned",
            icon=":material/keep:",
            on_click=pin_present,
            args=(s,),
            disabled=pinned is not None or len(s.pins) >= MOST_PINS,
            help=HELP if len(s.pins) < MOST_PINS else FULL,
            key="pin",
        )
        if s.pins:
            st.caption("1 pin" if len(s.pins) == 1 else f"{len(s.pins)} pins")


def pin_present(s: Session) -> None:
    """Keep what is shown now."""
    add_pin(s, s.recipe)


def add_pin(s: Session, recipe: Recipe, name: str | None = None) -> None:
    """Keep a setting, once, under a name that no other pin has."""
    if len(s.pins) < MOST_PINS and all(pin.recipe != recipe for pin in s.pins):
        s.pins = (*s.pins, Pin(_free_name(s.pins, name or usual_name(recipe)), recipe))


def remove_pin(s: Session, name: str) -> None:
    """Let go of a pin."""
    s.pins = tuple(pin for pin in s.pins if pin.name != name)


def rename_pin(s: Session, name: str, text: str) -> None:
    """Give a pin another name; an empty one changes nothing."""
    wanted = " ".join(text.split())[:LONGEST_PIN_NAME]
    if wanted and wanted != name:
        others = tuple(pin for pin in s.pins if pin.name != name)
        free = _free_name(others, wanted)
        s.pins = tuple(Pin(free, pin.recipe) if pin.name == name else pin for pin in s.pins)


def usual_name(recipe: Recipe) -> str:
    """What a pin is called as long as nobody calls it otherwise.

    Examples
    --------
    >>> usual_name(Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1))
    'bfi25 r 2.5 Λ 0 τ 0.1'
    """
    source = recipe.source.removeprefix("sample:").rsplit(".", 1)[0]
    short = source.split("_")[0][:14]
    method = "" if recipe.method == "quartet" else f" {recipe.method}"
    bic = " BIC" if recipe.regularize == "bic" else ""
    return (f"{short} r {recipe.r:.3g} Λ {recipe.Lambda:.2g} τ {recipe.tau:.2g}{method}{bic}")[
        :LONGEST_PIN_NAME
    ]


def _free_name(pins: Sequence[Pin], wanted: str) -> str:
    taken = {pin.name for pin in pins}
    name, number = wanted, 2
    while name in taken:
        end = f" ({number})"
        name, number = wanted[: LONGEST_PIN_NAME - len(end)] + end, number + 1
    return name
