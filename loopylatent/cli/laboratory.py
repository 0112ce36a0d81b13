"""``loopylatent synthetic`` samples synthetic tables, ``theory`` writes the paper's bounds."""

from __future__ import annotations

import argparse
import math
from dataclasses import fields
from typing import get_args

import pandas as pd

from loopylatent.cli import opt
from loopylatent.cli.inputs import check_graph_file, distances_as_csv
from loopylatent.cli.terminal import say, write_text
from loopylatent.compute.limits import LIMITS, check_shape
from loopylatent.errors import DataError, ThresholdError, quoted
from loopylatent.exporting.graph_files import Provenance, export as export_graph
from loopylatent.settings import Thresholds
from loopylatent.synthetic.families import CAGES
from loopylatent.synthetic.laboratory import Family, Rule, Specification, learn_back
from loopylatent.synthetic.model import Kind
from loopylatent.tables.files import name_to_csv
from loopylatent.theory.assumptions import conditions, ensemble_of
from loopylatent.theory.ensemble import KAPPA, Ensemble, fewest_samples
from loopylatent.theory.tables import quantities


def _specification(options: argparse.Namespace) -> Specification:
    parts = {part.name: getattr(options, part.name) for part in fields(Specification)}
    parts |= {name: tuple(value) for name, value in parts.items() if isinstance(value, list)}
    if options.edges is None:
        return Specification(**parts | {"edges": ""})
    try:
        edges = options.edges.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        name = quoted(str(options.edges))
        raise DataError(
            f"Cannot read {name} as text. Use a file with two names per line."
        ) from None
    return Specification(**parts | {"family": "edges", "edges": edges})


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
                f"rows by Gibbs sampling: R-hat {checks.r_hat:.3f} (should be below 1.05), "
                f"effective sample size {checks.n_effective:.0f}"
            )
        frame = drawn.observations.to_frame()
        text = frame.set_axis([name_to_csv(n) for n in frame.columns], axis=1).to_csv(index=False)
    if options.truth is not None:
        origin = Provenance({"synthetic": True}, "", model.graph.digest)
        say(f"wrote {export_graph(model.graph, options.truth, provenance=origin)}")
    if options.learn:
        n = None if options.distances else options.rows
        found = learn_back(model, n, r=rule, method=options.method, seed=options.row_seed)
        to, error = found.comparison, found.comparison.error
        value = f"{error.value}" if error.is_exact else f"{error.lower} to {error.upper}"
        say(
            f"learned from the rows at r {found.thresholds.r:.4g}: structure error {value}, "
            f"precision {to.precision:.3f}, recall {to.recall:.3f}, "
            f"{to.learned.n_hidden} hidden nodes of {to.truth.n_hidden}, "
            f"{to.learned.n_cycles} cycles of {to.truth.n_cycles}"
        )
    write_text(text, options.output)


def _rule(text: str) -> float | Rule:
    known: tuple[Rule, ...] = get_args(Rule)
    for rule in known:
        if text == rule:
            return rule
    try:
        return float(text)
    except ValueError:
        raise ThresholdError(f"--r {text!r} must be a number, tree or loops.") from None


def _theory(options: argparse.Namespace) -> None:
    if options.theta is None:
        e = ensemble_of(_specification(options).build(), options.decay)
    else:
        (low, high), (fewest, most) = options.theta, options.degrees
        e = Ensemble(
            low, high, fewest, most, options.girth, options.depth, options.columns,
            max(options.n_nodes, options.columns), decay_constant=options.decay,
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
        "Theorem 2 does not apply: no radius leaves any tolerance"
        if math.isinf(need)
        else f"Theorem 2 requires {need:.3g} rows"
    )
    write_text(pd.DataFrame(rows, columns=columns).to_csv(index=False), options.output)


DEFAULT = Specification()


def _part(name: str, about: str) -> opt.Option:
    value = getattr(DEFAULT, name)
    return opt.whole(f"{about} (default: {value})", default=value, dest=name)


MODEL = {"the model": {
    "--family": opt.text("type of graph (default: ring)", choices=get_args(Family),
                         default="ring"),
    "--girth": _part("girth", "hidden nodes on the ring; the shortest cycle of a regular graph"),
    "--leaves": _part("leaves", "columns per hidden node"),
    "--depth": _part("depth", "edges from the ring down to the columns"),
    "--hidden-nodes": _part("n_hidden", "hidden nodes of a tree"),
    "--inner": _part("n_inner", "observed inner nodes of a tree"),
    "--nodes": _part("n_nodes", "nodes of a regular graph"),
    "--degree": _part("degree", "neighbours of every node of a regular graph"),
    "--states": _part("n_states", "states per node, for --kind symmetric and tables"),
    "--seed": _part("seed", "seed for the model"),
    "--cage": opt.text(f"with --family cage: one of {', '.join(CAGES)}", choices=tuple(CAGES),
                       default="petersen", metavar="NAME"),
    "--share": opt.number("share of the nodes of a cage or regular graph that are observed",
                          metavar="S"),
    "--edges": opt.file("text file with two names per line; sets --family edges"),
    "--hide": opt.text("with --edges: names of the hidden nodes", default="", dest="hidden",
                       metavar="NAMES"),
    "--kind": opt.text("type of the variables: binary (ising, the default), categorical "
                       "(symmetric, tables) or continuous (gaussian)", choices=get_args(Kind),
                       default="ising"),
    "--lengths": opt.pair("range of the edge lengths (default: 0.2 0.4)", default=DEFAULT.lengths),
    "--potentials": opt.pair("range of Ising potentials, instead of lengths"),
    "--fields": opt.pair("range of node potentials"),
    "--signs": opt.flag("make half of the edges negative", dest="random_signs"),
}}  # fmt: skip
"""Each sets the field of `Specification` named by ``dest``, or by the option."""
COMMANDS = {
    "synthetic": opt.Command(
        "Create a model with hidden nodes, sample rows from it, and write them as CSV. Sampling is "
        "exact if possible, else by Gibbs sampling, with diagnostics on standard error.",
        "Example: loopylatent synthetic --family ring --girth 10 --leaves 2 "
        "-n 2000 --truth truth.graphml -o rows.csv",
        MODEL | {
            "-n --rows": opt.text("number of rows (default: 1000)", type=int, default=1000),
            "--row-seed": opt.seed("seed for the rows (default: 0)"),
            "--distances": opt.flag("write the exact distances instead of rows"),
            "--truth": opt.file("also write the true graph"),
            "--learn": opt.flag("learn a graph from the rows and compare it with the true graph"),
            "--r": opt.text("with --learn: a radius, or tree, or loops (default: loops)",
                            default="loops"),
            "--method": opt.method("with --learn: grouping method (default: quartet)"),
        } | opt.CSV,
        _synthetic, (".csv",),
    ),
    "theory": opt.Command(
        "Write the quantities and conditions of the paper's theory as CSV, each with an "
        "explanation. Without --theta they are computed for a synthetic model; with --theta, from "
        "the numbers --theta, --degrees, --girth, --depth, --columns and --nodes.",
        "Examples: loopylatent theory --family ring --potentials 0.05 0.2; "
        "loopylatent theory --theta 0.15 0.15 --degrees 3 4 --girth 100 --depth 2 "
        "--columns 200 --nodes 300",
        MODEL | {
            "numbers instead of a model": {
                "--theta": opt.pair("range of the edge potentials"),
                "--degrees": opt.pair("range of the degrees (default: 3 4)", type=int,
                                      default=(3, 4)),
                "--columns": opt.whole("number of observed variables (default: 100)", default=100,
                                       metavar="P"),
            },
            "--r": opt.number("radius (default: the one that requires the fewest rows)"),
            "--decay": opt.number("the constant of zeta(l) = C alpha^l (default: 1)", default=1.0,
                                  metavar="C"),
            "--kappa": opt.number(f"probability of failure (default: {KAPPA})", default=KAPPA,
                                  metavar="K"),
        } | opt.CSV,
        _theory, (".csv",),
    ),
}  # fmt: skip
