"""``loopylatent synthetic`` and ``theory``: made-up tables, and what is guaranteed."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import get_args

import pandas as pd

from loopylatent.cli.inputs import add, check_graph_file, distances_as_csv
from loopylatent.cli.terminal import Parser, say, write_text
from loopylatent.compute.limits import LIMITS, check_shape
from loopylatent.errors import DataError, ThresholdError, quoted
from loopylatent.exporting.base import Provenance
from loopylatent.exporting.graph_files import export as export_graph
from loopylatent.settings import Thresholds
from loopylatent.synthetic.laboratory import Comparison, Rule, learn_back
from loopylatent.synthetic.model import Kind
from loopylatent.synthetic.skeletons import CAGES
from loopylatent.synthetic.specification import Family, Specification
from loopylatent.tables.spreadsheet import name_to_csv
from loopylatent.theory.assumptions import conditions, ensemble_of
from loopylatent.theory.ensemble import KAPPA, Ensemble
from loopylatent.theory.tables import fewest_samples, quantities

RULES: tuple[Rule, ...] = get_args(Rule)

LEARN_HELP = "learn the model back from these rows and say how much of its graph was found"
SHARE_HELP = "share of the nodes of a cage or regular graph that is seen"
METHOD_HELP = "with --learn: how hidden nodes are found (default: quartet)"
RULE_HELP = "with --learn: a radius, or tree, or loops (default: loops)"


def add_synthetic(command: Parser) -> None:
    """Describe ``synthetic``."""
    command.description = (
        "Make a model with hidden nodes, draw rows from it, and write them as CSV. Rows are exact "
        "and independent where that is possible, else by Gibbs sampling, with its diagnostics on "
        "standard error."
    )
    command.epilog = (
        "Example: loopylatent synthetic --family ring --girth 10 --leaves 2 "
        "-n 2000 --truth truth.graphml -o rows.csv"
    )
    _add_model(command)
    command.add_argument("-n", "--rows", type=int, default=1000, help="rows (default: 1000)")
    command.add_argument("--row-seed", type=int, default=0, help="for the rows (default: 0)")
    command.add_argument(
        "--distances", action="store_true", help="write the exact distances instead of rows"
    )
    command.add_argument("--truth", type=Path, metavar="FILE", help="write the true graph too")
    command.add_argument("--learn", action="store_true", help=LEARN_HELP)
    command.add_argument("--r", default="loops", help=RULE_HELP)
    add(command, ["--method"], help=METHOD_HELP)
    add(command, ["-o --output"])
    command.set_defaults(endings=(".csv",), run=_synthetic)


def add_theory(command: Parser) -> None:
    """Describe ``theory``."""
    command.description = (
        "Write every quantity and condition of the theory, each with a sentence. Without --theta "
        "they are those of the made-up model that the other options describe; with --theta those "
        "of the numbers given by --theta, --degrees, --girth, --depth, --columns and --nodes."
    )
    command.epilog = (
        "Examples: loopylatent theory --family ring --potentials 0.05 0.2; "
        "loopylatent theory --theta 0.15 0.15 --degrees 3 4 --girth 100 --depth 2 "
        "--columns 200 --nodes 300"
    )
    _add_model(command)
    numbers = command.add_argument_group("numbers instead of a model")
    numbers.add_argument("--theta", type=float, nargs=2, metavar=("LOW", "HIGH"),
                         help="edge potentials")  # fmt: skip
    numbers.add_argument("--degrees", type=int, nargs=2, metavar=("LOW", "HIGH"), default=(3, 4),
                         help="neighbours of a node (default: 3 4)")  # fmt: skip
    numbers.add_argument("--columns", type=int, default=100, metavar="P",
                         help="how many variables are seen (default: 100)")  # fmt: skip
    command.add_argument("--r", type=float, help="radius (default: the best one)")
    command.add_argument("--decay", type=float, default=1.0, metavar="C",
                         help="the constant of zeta(l) = C alpha^l (default: 1)")  # fmt: skip
    command.add_argument("--kappa", type=float, default=KAPPA, metavar="K",
                         help=f"chance of failure (default: {KAPPA})")  # fmt: skip
    add(command, ["-o --output"])
    command.set_defaults(endings=(".csv",), run=_theory)


def _add_model(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("the model")
    default = Specification()
    group.add_argument("--family", choices=get_args(Family), default="ring",
                       help="which graph is made (default: ring)")  # fmt: skip
    whole = {
        "girth": "hidden nodes on the ring; the shortest cycle of a regular graph",
        "leaves": "columns on every hidden node",
        "depth": "edges from the ring down to the columns",
        "hidden-nodes": "hidden nodes of a tree",
        "inner": "observed inner nodes of a tree",
        "nodes": "nodes of a regular graph",
        "degree": "neighbours of every node of a regular graph",
        "states": "states of a node, for symmetric and tables",
        "seed": "for the model",
    }
    for name, about in whole.items():
        value = getattr(default, FIELDS.get(name, name))
        group.add_argument(
            f"--{name}", type=int, default=value, metavar="N", help=f"{about} (default: {value})"
        )
    group.add_argument("--cage", choices=tuple(CAGES), default="petersen", metavar="NAME",
                       help=f"one of {', '.join(CAGES)}")  # fmt: skip
    group.add_argument("--share", type=float, metavar="S", help=SHARE_HELP)
    group.add_argument("--edges", type=Path, metavar="FILE", help="two names a line; family edges")
    group.add_argument("--hide", default="", metavar="NAMES", help="hidden nodes of --edges")
    group.add_argument("--kind", choices=get_args(Kind), default="ising",
                       help="what the variables are: spins (ising, the default), states, or "
                       "numbers (gaussian)")  # fmt: skip
    ranges = {
        "lengths": "range of the edge lengths (default: 0.2 0.4)",
        "potentials": "range of Ising potentials, instead of lengths",
        "fields": "range of node potentials",
    }
    for name, about in ranges.items():
        group.add_argument(f"--{name}", type=float, nargs=2, metavar=("LOW", "HIGH"), help=about)
    group.add_argument("--signs", action="store_true", help="half of the edges negative")


FIELDS = {"hidden-nodes": "n_hidden", "inner": "n_inner", "nodes": "n_nodes", "states": "n_states"}
"""Options that are called otherwise than the part of the specification that they set."""


def _specification(options: argparse.Namespace) -> Specification:
    edges = ""
    if options.edges is not None:
        try:
            edges = options.edges.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            name = quoted(str(options.edges))
            raise DataError(
                f"{name} cannot be read as text; give a file with two names a line."
            ) from None
    return Specification(
        family=options.family if options.edges is None else "edges",
        girth=options.girth,
        leaves=options.leaves,
        depth=options.depth,
        n_hidden=options.hidden_nodes,
        n_inner=options.inner,
        cage=options.cage,
        n_nodes=options.nodes,
        degree=options.degree,
        share=options.share,
        edges=edges,
        hidden=options.hide,
        kind=options.kind,
        n_states=options.states,
        lengths=tuple(options.lengths or Specification().lengths),
        potentials=None if options.potentials is None else tuple(options.potentials),
        fields=None if options.fields is None else tuple(options.fields),
        random_signs=options.signs,
        seed=options.seed,
    )


def _synthetic(options: argparse.Namespace) -> None:
    check_graph_file(options.truth)
    rule = _rule(options.r)
    model = _specification(options).build()
    if not options.distances:
        check_shape(options.rows, model.graph.n_observed, LIMITS)
    say(f"made {model.graph!r}")
    if options.distances:
        text = distances_as_csv(model.exact_distances())
    else:
        drawn = model.draw(options.rows, options.row_seed)
        if drawn.diagnostics is not None:
            checks = drawn.diagnostics
            say(
                f"rows by Gibbs sampling: R-hat {checks.r_hat:.3f} (1 is best, above 1.05 they are "
                f"not to be trusted), worth {checks.n_effective:.0f} independent ones"
            )
        frame = drawn.observations.to_frame()
        text = frame.set_axis([name_to_csv(n) for n in frame.columns], axis=1).to_csv(index=False)
    if options.truth is not None:
        origin = Provenance.of(model.graph, settings={"made up": True}, data_digest="")
        say(f"wrote {export_graph(model.graph, options.truth, provenance=origin)}")
    if options.learn:
        n = None if options.distances else options.rows
        found = learn_back(model, n, r=rule, method=options.method, seed=options.row_seed)
        say(f"learned back at r {found.thresholds.r:.4g}: {_compared(found.comparison)}")
    write_text(text, options.output)


def _rule(text: str) -> float | Rule:
    for rule in RULES:
        if text == rule:
            return rule
    try:
        return float(text)
    except ValueError:
        raise ThresholdError(f"--r {text!r} is neither a radius, nor tree or loops.") from None


def _compared(found: Comparison) -> str:
    error = found.error
    value = f"{error.value}" if error.is_exact else f"{error.lower} to {error.upper}"
    return (
        f"structure error {value}, precision {found.precision:.3f}, recall {found.recall:.3f}, "
        f"{found.learned.n_hidden} hidden nodes of {found.truth.n_hidden}, "
        f"{found.learned.n_cycles} cycles of {found.truth.n_cycles}"
    )


def _theory(options: argparse.Namespace) -> None:
    if options.theta is None:
        e = ensemble_of(_specification(options).build(), options.decay)
    else:
        (low, high), (fewest, most) = options.theta, options.degrees
        e = Ensemble(
            low, high, fewest, most, options.girth, options.depth, options.columns,
            max(options.nodes, options.columns), decay_constant=options.decay,
        )  # fmt: skip
    thresholds = None if options.r is None else Thresholds(options.r, 0.0, 0.0)
    rows = [
        ("quantity", one.symbol, one.name, one.value, "", one.sentence)
        for one in quantities(e, thresholds, options.kappa)
    ]
    rows += [
        ("condition", "", one.name, one.value, one.verdict, one.sentence)
        for one in conditions(e, thresholds)
    ]
    columns = ["sort", "symbol", "name", "value", "verdict", "sentence"]
    need = fewest_samples(e, options.kappa).n
    say(
        "Theorem 2 is silent here: no radius leaves any tolerance"
        if math.isinf(need)
        else f"Theorem 2 asks for {need:.3g} rows"
    )
    write_text(pd.DataFrame(rows, columns=columns).to_csv(index=False), options.output)
