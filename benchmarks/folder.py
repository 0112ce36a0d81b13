"""Where other people's programs and texts are kept between two runs."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "LOOPYLATENT_PEERS"


def peers_folder() -> Path:
    """Return the folder that the environment names, else one among the caches of this user."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get(VARIABLE) or Path(caches) / "loopylatent-peers")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
