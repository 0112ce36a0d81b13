"""Check the locked dependencies for known vulnerabilities.

The exit status is 1 if there is one, and 0 if there is none or the database is not reachable.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
TIMEOUT = 300


def main() -> int:
    """Check both lock files."""
    return max(audit(ROOT / name) for name in LOCKS)


def audit(lock: Path) -> int:
    """Check one lock file and print the result."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--format=json"]
    try:
        done = subprocess.run(
            [*command, "-r", str(lock)], capture_output=True, text=True, timeout=TIMEOUT
        )
        found = json.loads(done.stdout)["dependencies"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return say(f"{lock.name}: skipped, the database is not reachable ({reason(error)})", 0)
    return verdict(lock.name, found)


def verdict(name: str, found: list[dict[str, Any]]) -> int:
    """Print the known vulnerabilities of each dependency.

    Examples
    --------
    >>> verdict("a.lock", [{"name": "b", "version": "1", "vulns": []}])
    audit of a.lock: 1 package checked, no known vulnerability
    0
    """
    checked = [one for one in found if "skip_reason" not in one]
    if not checked:
        return say(f"{name}: skipped, none of the {len(found)} packages is in the database", 0)
    for one in found:
        if "skip_reason" in one:
            say(f"{name}: {one['name']} was not checked: {one['skip_reason']}", 0)
    known = [(one, vulnerability) for one in checked for vulnerability in one["vulns"]]
    for one, vulnerability in known:
        fixed = ", ".join(vulnerability["fix_versions"]) or "no version yet"
        say(
            f"{name}: {one['name']} {one['version']} has {vulnerability['id']}; fixed in {fixed}", 1
        )
    if known:
        return 1
    packages = "package" if len(checked) == 1 else "packages"
    return say(f"{name}: {len(checked)} {packages} checked, no known vulnerability", 0)


def reason(error: Exception) -> str:
    """Return the reason of a failure in a few words."""
    if isinstance(error, ValueError):
        return "no answer"
    return type(error).__name__


def say(text: str, status: int) -> int:
    """Print a line and return a status."""
    print(f"audit of {text}")
    return status


if __name__ == "__main__":
    sys.exit(main())
