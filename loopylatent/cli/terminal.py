"""Error wording, argument parser and output streams of the command line."""

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
    "no_limit": "omit it",
    "few_rows": "--n-samples {0} is too small; use at least 3, or omit it.",
    "no_inner_node": "--hidden-nodes and --inner are 0",
    "signs": "--signs",
    "potentials": "--theta {0} {1}:",
    "smallest_distance": "",
    "radius_of_a_tree": "r_max",
    "not_distances": "For a table of observations, omit --from-distances.",
    "saved_distances": "to read distances, add --from-distances",
    "bic": "--regularize bic",
    "rows_for_bic": "use the table instead of its distances",
    "refine": "--refine",
    "rows_for_refine": "use the table instead of its distances",
    "n_samples": "add --n-samples",
    "or_rows": ", or use the table instead of its distances",
    "rows_or_scheme": "use the table instead, or use --scheme noise or --scheme orders",
    "scheduler": "--scheduler needs --engine dask",
    "dask": "--engine dask",
    "metric rank": "--metric rank",
    "metric_for_blocks": "use --metric correlation or canonical, or omit --blocks",
    "cutoff": "--cutoff {0}",
    "one_sort": "drop the others with --drop, or read binary columns as ordinal with "
    "--kind NAME=ordinal",
    "larger_radius": "use a larger --r",
    "command_line": "",
}  # fmt: skip
"""Remedies that are worded differently on the command line than in Python."""


class Parser(argparse.ArgumentParser):
    """A parser with error messages of one line, which suggest the likely option."""

    fill: Callable[[Parser], None] | None = None
    """Adds the options of a command on demand."""

    def filled(self) -> Parser:
        """Return the parser with its options."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Report unknown arguments here, where the options of the command are known."""
        self.filled()
        options, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._unknown(left))
        if not hasattr(options, "defaults"):  # else the command has set its own
            options.defaults = {action.dest: action.default for action in self._actions}
        return options, left

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and a message of one line, without the usage."""
        for pattern, words in MESSAGES:
            message = re.sub(pattern, words, message)
        self.exit(2, f"{self.prog}: {message.rstrip('.')}. See {self.prog} --help.\n")

    def _unknown(self, left: Sequence[str]) -> str:
        name = next((one.split("=")[0] for one in left if one.startswith("-")), None)
        if name is None:
            return f"Unexpected argument {quoted(left[0])} (quote names with spaces)"
        known = [option for option in self._option_string_actions if option.startswith("--")]
        small = [option.lower() for option in known]
        close = difflib.get_close_matches(name.lower(), small, n=1, cutoff=0.75)
        start = [option for option in known if name.lower().startswith(option.lower())]
        meant = [option for option in known if option.lower() in close] or start
        return f"Unknown option {name}" + (f"; did you mean {meant[0]}?" if meant else "")


MESSAGES = (
    (r"^argument (?:\S+/)?(\S+): invalid float value: (.*)$", r"\1 \2 is not a number"),
    (r"^argument (?:\S+/)?(\S+): invalid int value: (.*)$", r"\1 \2 is not a whole number"),
    (r"^argument (?:\S+/)?(\S+): invalid choice: (.*) \(choose from (.*)\)$",
     r"Unknown \1 \2. Choose one of \3"),
    (r"^argument (?:\S+/)?(\S+): expected (?:one|at least one) arguments?$", r"\1 needs a value"),
    (r"^argument (?:\S+/)?(\S+): expected (\d+) arguments$", r"\1 needs \2 values"),
    (r"^the following arguments are required: (?:-o/)?(.*)$", r"\1 is missing"),
)  # fmt: skip
"""Messages of argparse, and their replacements."""


def open_streams() -> None:
    """Replace streams that the caller has closed by the null device."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # print would use standard output instead
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def set_encodings() -> None:
    """Write UTF-8 to files; on a terminal, escape characters that it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def leave_standard_output() -> None:
    """Discard buffered output, so that the program exits without another error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_text(text: str, output: Path | None) -> None:
    """Write a result to a file, or to standard output if none is named."""
    if output is None:
        sys.stdout.write(text)
    else:
        say(f"wrote {write_atomically(output, text.encode())}")


def say(text: str) -> None:
    """Print a message to standard error."""
    print(text, file=sys.stderr)


def progress(what: str = "") -> Callable[[int, int], None] | None:
    """Return a function that shows progress on one line, or None if not on a terminal."""

    def show(done: int, total: int) -> None:
        if total == 0:
            return
        end = "\n" if done == total else ""
        share = f"{what}: {100 * done // total} %" if what else f"{done} of {total} done"
        print(f"\r{share}", end=end, file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else None
