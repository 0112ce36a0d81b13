"""Look up known weaknesses of the locked dependencies; where that cannot be done, say so.

The exit status is 1 where a weakness is known, and 0 where none is or nothing could be looked up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
PATIENCE = 300


def main() -> int:
    """Look up what both lock files name."""
    return max(audit(ROOT / name) for name in LOCKS)


def audit(lock: Path) -> int:
    """Look up what a lock file names and say what came of it."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--format=json"]
    try:
        done = subprocess.run(
            [*command, "-r", str(lock)], capture_output=True, text=True, timeout=PATIENCE
        )
        found = json.loads(done.stdout)["dependencies"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return say(f"{lock.name}: skipped, the advisories cannot be reached ({reason(error)})", 0)
    return verdict(lock.name, found)


def verdict(name: str, found: list[dict[str, Any]]) -> int:
    """Say what is known of each dependency.

    Examples
    --------
    >>> verdict("a.lock", [{"name": "b", "version": "1", "vulns": []}])
    audit of a.lock: 1 looked up, no weakness is known
    0
    """
    looked_up = [one for one in found if "skip_reason" not in one]
    if not looked_up:
        return say(f"{name}: skipped, the advisories know none of the {len(found)} packages", 0)
    for one in found:
        if "skip_reason" in one:
            say(f"{name}: {one['name']} was not looked up: {one['skip_reason']}", 0)
    weak = [(one, hole) for one in looked_up for hole in one["vulns"]]
    for one, hole in weak:
        better = ", ".join(hole["fix_versions"]) or "no version yet"
        say(f"{name}: {one['name']} {one['version']} has {hole['id']}; mended in {better}", 1)
    if weak:
        return 1
    return say(f"{name}: {len(looked_up)} looked up, no weakness is known", 0)


def reason(error: Exception) -> str:
    """Return why it failed, in a few words."""
    if isinstance(error, ValueError):
        return "no answer"
    return type(error).__name__


def say(text: str, status: int) -> int:
    """Print a line and return a status."""
    print(f"audit of {text}")
    return status


if __name__ == "__main__":
    sys.exit(main())
