"""The command line: ``loopylatent learn TABLE``, or ``python -m loopylatent learn TABLE``.

Results go to standard output or to the named file, everything else to standard error. The exit
status is 0, or 2 with one line that says what is wrong. Only the command that is asked for is
imported.
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
    "score": ("learn", "learn and fit on one part of a table, score on the other"),
    "sweep": ("runs", "see what the thresholds do: structure and scores along r, Lambda and tau"),
    "stability": ("runs", "say how much of the graph comes back when the data are drawn again"),
    "report": ("learn", "learn a graph and write everything about it to one page"),
    "synthetic": ("laboratory", "make a table whose graph is known"),
    "theory": ("laboratory", "see what the paper guarantees, for a model or for numbers"),
    "samples": ("app", "list the bundled tables"),
    "app": ("app", "open the app in the browser, on bundled data"),
}
"""The module whose ``COMMANDS`` describe each one, and what the list of commands says of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    terminal.open_streams()
    terminal.speak_every_script()
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
        say("loopylatent: there is too little memory; read the table in blocks, or choose less.")
        return 2
    except KeyboardInterrupt:
        say("loopylatent: stopped; no more is written.")
        return 130
    except BrokenPipeError:  # the reader of a pipe has had enough
        terminal.leave_standard_output()
    except OSError as error:  # files refuse in their own words; this is the output: a full disk
        terminal.leave_standard_output()
        say(f"loopylatent: the output cannot be written: {error.strerror}; make room, or use -o.")
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
"""Options that only another one reads; commands without that other one read them always."""
NOT_BESIDE = (
    *((name, "from_distances") for name in ("drop", "label", "kind", "weights", "metric")),
    ("test_share", "test"),
)
"""Options of which one makes the other idle."""


def _written(name: str) -> str:
    return "-o" if name == "output" else "--" + name.replace("_", "-")


def _check_together(options: argparse.Namespace) -> None:
    """Refuse an option that would play no part, before anything is read."""

    def given(name: str) -> bool:
        value = getattr(options, name, None)
        return value not in (None, False, "", []) and value != options.defaults.get(name)

    for name, other in NEEDS:
        if given(name) and hasattr(options, other) and not getattr(options, other):
            wanted = f"{_written(name)} is for {_written(other)}"
            raise DataError(f"{wanted}; add that, or leave it out.")
    for name, other in NOT_BESIDE:
        if given(name) and given(other):
            idle = f"{_written(name)} plays no part beside {_written(other)}"
            raise DataError(f"{idle}; leave one of them out.")
    for name, scheme in (("share", "subsample"), ("block", "blocks")):
        if hasattr(options, "scheme") and given(name) and options.scheme != scheme:
            raise DataError(f"--{name} is for --scheme {scheme}; add that, or leave it out.")


def _check_places(options: argparse.Namespace) -> None:
    """Refuse before long work what could not be written after it."""
    output: Path | None = getattr(options, "output", None)
    for place in (output, getattr(options, "report", None)):
        if place is not None:
            check_place(place)
            is_table = False
            with suppress(OSError, ValueError):  # most often there is nothing yet in that place
                is_table = place.samefile(str(getattr(options, "table", None)))
            if is_table:
                raise DataError(f"{quoted(str(place))} is the table itself; write to another file.")
    if getattr(options, "from_distances", True) is False and options.n_samples is not None:
        raise DataError("--n-samples is for --from-distances: a table has its rows; leave it out.")
    endings: tuple[str, ...] = getattr(options, "endings", ())
    if output is not None and endings and output.suffix.lower() not in endings:
        raise DataError(f"-o {quoted(str(output))} must end in {' or '.join(endings)}.")
