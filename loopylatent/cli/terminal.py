"""How the command line speaks: one line for what is wrong, in the words of its own options.

The streams of the command line: results to standard output, all else to standard error.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from loopylatent.compute.files import write_atomically
from loopylatent.errors import quoted

IN_OPTIONS: Mapping[str, str] = {
    **{f"role {role}": f"--{option}" for role, option in
       (("drop", "drop"), ("labels", "label"), ("kinds", "kind"), ("weights", "weights"))},
    **{f"setting {name}": f"{option} {{1}}" for name, option in (
        ("test_share", "--test-share"), ("block_rows", "--block-rows"), ("n", "-n"),
        ("n_resamples", "--resamples"), ("max_hidden", "--max-hidden"), ("n_states", "--states"),
    )},
    "drop_degenerate": ", or use --drop-degenerate",
    "no_limit": "leave it out",
    "few_rows": "--n-samples {0} is too few; give at least 3, or leave it out.",
    "no_inner_node": "--hidden-nodes and --inner are 0",
    "signs": "--signs",
    "potentials": "--theta {0} {1}:",
    "smallest_distance": "",
    "radius_of_a_tree": "r_max",
    "not_distances": "Of a table of observations leave out --from-distances.",
    "saved_distances": "of a file of distances, add --from-distances",
    "bic": "--regularize bic",
    "rows_for_bic": "give the table instead of its distances",
    "n_samples": "add --n-samples",
    "or_rows": ", or give the table instead of its distances",
    "rows_or_scheme": "give the table instead of them, or use --scheme noise or --scheme orders",
    "scheduler": "--scheduler is for --engine dask",
    "dask": "--engine dask",
    "metric rank": "--metric rank",
    "metric_for_blocks": "use --metric correlation or canonical, or leave out --blocks",
    "cutoff": "--cutoff {0}",
    "one_sort": "leave out the others with --drop, or read two-valued columns as numbers, as by "
    "--kind NAME=ordinal",
    "larger_radius": "use a larger --r",
    "command_line": "",
}  # fmt: skip
"""Remedies that are called otherwise on the command line than in Python."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses in one line, and names the option that was probably meant."""

    fill: Callable[[Parser], None] | None = None
    """Adds the options of a command, when it is asked for."""

    def filled(self) -> Parser:
        """Return the parser with its options."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is left over here, where the options of the command are known."""
        self.filled()
        options, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._unknown(left))
        if not hasattr(options, "defaults"):  # else the command has set its own
            options.defaults = {action.dest: action.default for action in self._actions}
        return options, left

    def error(self, message: str) -> NoReturn:
        """End with status 2 and one line, without the list of all options."""
        for pattern, words in PLAINER:
            message = re.sub(pattern, words, message)
        self.exit(2, f"{self.prog}: {message.rstrip('.')}; see {self.prog} --help\n")

    def _unknown(self, left: Sequence[str]) -> str:
        name = next((one.split("=")[0] for one in left if one.startswith("-")), None)
        if name is None:
            return f"{quoted(left[0])} is one argument too many (names with spaces go in quotes)"
        known = [option for option in self._option_string_actions if option.startswith("--")]
        small = [option.lower() for option in known]
        close = difflib.get_close_matches(name.lower(), small, n=1, cutoff=0.75)
        start = [option for option in known if name.lower().startswith(option.lower())]
        meant = [option for option in known if option.lower() in close] or start
        return f"{name} is no option here" + (f"; did you mean {meant[0]}?" if meant else "")


PLAINER = (
    (r"^argument (?:\S+/)?(\S+): invalid float value: (.*)$", r"\1 \2 is not a number"),
    (r"^argument (?:\S+/)?(\S+): invalid int value: (.*)$", r"\1 \2 is not a whole number"),
    (r"^argument (?:\S+/)?(\S+): invalid choice: (.*) \(choose from (.*)\)$",
     r"\1 \2 is unknown; choose one of \3"),
    (r"^argument (?:\S+/)?(\S+): expected (?:one|at least one) arguments?$", r"\1 needs a value"),
    (r"^argument (?:\S+/)?(\S+): expected (\d+) arguments$", r"\1 needs \2 values"),
    (r"^the following arguments are required: (?:-o/)?(.*)$", r"\1 is missing"),
)  # fmt: skip
"""What argparse says, and what is meant."""


def open_streams() -> None:
    """Send nowhere what is said to a stream that the caller has closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # print would take standard output in its place
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def speak_every_script() -> None:
    """Let no name break the output: a file gets UTF-8, a terminal escapes what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def leave_standard_output() -> None:
    """Send what is still to be written nowhere, so that the end of the program is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_text(text: str, output: Path | None) -> None:
    """Write a result to the named file, or to standard output where none is named."""
    if output is None:
        sys.stdout.write(text)
    else:
        say(f"wrote {write_atomically(output, text.encode())}")


def say(text: str) -> None:
    """Say what is no result."""
    print(text, file=sys.stderr)


def progress(what: str = "") -> Callable[[int, int], None] | None:
    """Return what shows on one line how much of the work is done, where somebody may look."""

    def show(done: int, total: int) -> None:
        if total == 0:
            return
        end = "\n" if done == total else ""
        share = f"{what}: {100 * done // total} %" if what else f"{done} of {total} done"
        print(f"\r{share}", end=end, file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else None
