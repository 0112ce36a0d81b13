"""Cache folder for other packages and their texts."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "LOOPYLATENT_PEERS"


def peers_folder() -> Path:
    """Return ``$LOOPYLATENT_PEERS``, or a folder in the user's cache."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get(VARIABLE) or Path(caches) / "loopylatent-peers")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
