"""The command line: ``loopylatent learn TABLE``, or ``python -m loopylatent learn TABLE``.

Results go to standard output or to a file, messages to standard error. The exit status is 0, or 2
with an error message of one line. Only the requested command is imported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from loopylatent.cli import terminal
from loopylatent.cli.terminal import IN_OPTIONS, Parser, say
from loopylatent.compute.files import __version__, check_place
from loopylatent.errors import DataError, LoopyLatentError, in_words, quoted

COMMANDS = {
    "learn": ("learn", "learn a graph and write it to a file"),
    "distances": ("learn", "estimate the information distances between all columns"),
    "score": ("learn", "learn and fit on training rows, score on test rows"),
    "sweep": ("runs", "learn at many thresholds and write structure and scores of each graph"),
    "stability": ("runs", "estimate the support of edges and hidden nodes by resampling"),
    "report": ("learn", "learn a graph and write an HTML report on it"),
    "synthetic": ("laboratory", "sample a table from a known graph"),
    "theory": ("laboratory", "compute the paper's conditions and bounds"),
    "samples": ("app", "list the bundled tables"),
    "app": ("app", "open the app in the browser"),
}
"""The module whose ``COMMANDS`` define each command, and its line in --help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    terminal.open_streams()
    terminal.set_encodings()
    options = _parser().parse_args(arguments)
    try:
        if getattr(options, "escaped", False):
            from loopylatent.cli.inputs import unescape

            unescape(options)
        _check_together(options)
        _check_places(options)
        options.run(options)
        sys.stdout.flush()
    except LoopyLatentError as error:
        say(f"loopylatent: {in_words(error, IN_OPTIONS)}")
        return 2
    except MemoryError:
        say("loopylatent: Out of memory. Use --blocks or fewer columns.")
        return 2
    except KeyboardInterrupt:
        say("loopylatent: Interrupted.")
        return 130
    except BrokenPipeError:  # the reader closed the pipe
        terminal.leave_standard_output()
    except OSError as error:  # from standard output, such as a full disk; files raise DataError
        terminal.leave_standard_output()
        say(f"loopylatent: Cannot write to standard output: {error.strerror}. Use -o FILE.")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="loopylatent",
        description="Learn a graph with hidden variables and cycles from a table.",
        epilog="Start with: loopylatent app; or: loopylatent learn sample:bfi25 -o bfi.html",
    )
    parser.add_argument("--version", action="version", version=f"loopylatent {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (module, about) in COMMANDS.items():
        commands.add_parser(name, help=about).fill = partial(_fill, module, name)
    return parser


def _fill(module: str, name: str, command: Parser) -> None:
    import_module(f"loopylatent.cli.{module}").COMMANDS[name].fill(command)


NEEDS = (
    ("format", "output"), ("max_hidden", "regularize"), ("n_samples", "from_distances"),
    ("title", "report"), ("names", "report"), ("resamples", "report"),
    ("r", "learn"), ("method", "learn"),
)  # fmt: skip
"""Options that have an effect only with another one, in commands that have both."""
EXCLUSIVE = (
    *((name, "from_distances") for name in ("drop", "label", "kind", "weights", "metric")),
    ("test_share", "test"),
)
"""Options that have no effect with another one."""


def _written(name: str) -> str:
    return "-o" if name == "output" else "--" + name.replace("_", "-")


def _check_together(options: argparse.Namespace) -> None:
    """Raise if an option would have no effect."""

    def is_set(name: str) -> bool:
        value = getattr(options, name, None)
        return value not in (None, False, "", []) and value != options.defaults.get(name)

    for name, other in NEEDS:
        if is_set(name) and hasattr(options, other) and not getattr(options, other):
            raise _missing(_written(name), _written(other))
    for name, other in EXCLUSIVE:
        if is_set(name) and is_set(other):
            both = f"{_written(name)} has no effect with {_written(other)}"
            raise DataError(f"{both}. Omit one of them.")
    for name, scheme in (("share", "subsample"), ("block", "blocks")):
        if hasattr(options, "scheme") and is_set(name) and options.scheme != scheme:
            raise _missing(f"--{name}", f"--scheme {scheme}")


def _missing(option: str, other: str) -> DataError:
    return DataError(f"{option} needs {other}. Add it, or omit {option}.")


def _check_places(options: argparse.Namespace) -> None:
    """Raise before the computation if its output could not be written."""
    output: Path | None = getattr(options, "output", None)
    for place in (output, getattr(options, "report", None)):
        if place is not None:
            check_place(place)
            is_table = False
            with suppress(OSError, ValueError):  # the file need not exist yet
                is_table = place.samefile(str(getattr(options, "table", None)))
            if is_table:
                raise DataError(f"{quoted(str(place))} is the table itself. Use another file.")
    if getattr(options, "from_distances", True) is False and options.n_samples is not None:
        raise _missing("--n-samples", "--from-distances")
    endings: tuple[str, ...] = getattr(options, "endings", ())
    if output is not None and endings and output.suffix.lower() not in endings:
        raise DataError(f"-o {quoted(str(output))} must have the extension {' or '.join(endings)}.")
