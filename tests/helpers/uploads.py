"""Uploads in the dialog that opens data."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from helpers.app import asked
from loopylatent.ui.open.dialog import DISTANCES, PROJECT, TABLE

RING = "latent_cycle"


BUTTONS = {
    TABLE: "Use table", DISTANCES: "Use distances", PROJECT: "Open project"
}  # fmt: skip


def shown(page: AppTest, kind: str, name: str, content: bytes) -> AppTest:
    """Upload a file in the dialog."""
    asked(page).run()
    asked(page).session_state["open_kind"] = kind
    page.run()
    asked(page).file_uploader[0].set_value((name, content, "text/csv"))
    return page.run()


def pressed(page: AppTest, label: str) -> AppTest:
    asked(page)
    next(one for one in page.button if one.label == label).click()
    return page.run()
