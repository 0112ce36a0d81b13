"""What a report says, as sentences and named values; the page escapes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from loopylatent.analysis.stability.loop_test import LoopTest
from loopylatent.analysis.stability.runs import Stability
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.page import count
from loopylatent.exporting.project.recipe import Recipe, to_command, to_python
from loopylatent.exporting.report import findings as words
from loopylatent.exporting.report.findings import Findings, HeldOut, Skipped, sentence
from loopylatent.exporting.report.rows import SURE, signed
from loopylatent.inference.model import Model
from loopylatent.learning.thresholds import default_thresholds
from loopylatent.tables.observations import Observations
from loopylatent.tables.spreadsheet import xml_text


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with its name and what it means."""

    name: str
    value: str
    meaning: str = ""


# In short ----------------------------------------------------------------------------------


def in_short(findings: Findings) -> list[str]:
    """Return the findings in a few sentences."""
    graph = findings.graph
    pieces = f", in {count(graph.n_components, 'piece')}" if graph.n_components > 1 else ""
    found = (
        f"{count(graph.n_observed, 'column')} and {count(graph.n_hidden, 'hidden node')} are "
        f"joined by {count(graph.n_edges, 'edge')}{pieces}; the columns fall into "
        f"{count(findings.groups.n_groups, 'group')}."
    )
    short = [found, loop_sentence(findings)]
    if isinstance(findings.stability, Stability):
        short.append(_support_sentence(findings.stability))
    if isinstance(findings.held_out, HeldOut):
        short.append(_held_out_sentence(findings.held_out))
    return short


def loop_sentence(findings: Findings) -> str:
    """Say how many loops there are and whether noise explains them."""
    n, test = findings.graph.n_cycles, findings.loops
    if isinstance(test, Skipped):
        return f"The graph has {count(n, 'loop')}. {test.reason}" if n else test.reason
    if test.n_loops == 0:
        return (
            f"With Λ and τ by the default rule there are no loops at r = {findings.recipe.r:.3g}."
        )
    verdict = "The loops are more than noise." if test.is_real else "Noise can explain the loops."
    return f"{_comparison(test)} {verdict}"


def _comparison(test: LoopTest) -> str:
    mean = "unknown" if math.isnan(test.mean_by_noise) else f"{test.mean_by_noise:.1f}"
    return (
        f"{count(test.n_loops, 'loop')}; noise on a tree would make {mean} on average: "
        f"{test.n_as_many} of {test.n_simulations} tables simulated from a tree had as many "
        f"(p\u00a0=\u00a0{test.p_value:.3g})."
    )


def _support_sentence(found: Stability) -> str:
    hidden, edges = int((found.hidden >= SURE).sum()), int((found.edges >= SURE).sum())
    return (
        f"In {found.n_used} runs ({words.SCHEMES[found.scheme]}) {hidden} of "
        f"{count(len(found.hidden), 'hidden node')} and {edges} of "
        f"{count(len(found.edges), 'edge')} came back at least {SURE:.0%} of the time."
    )


def _held_out_sentence(held: HeldOut) -> str:
    ours, none = (one.log_likelihood / one.n_samples for one in (held.scores, held.independent))
    better = "better" if ours > none else "worse"
    return (
        f"Rows kept apart have a mean log-likelihood of {signed(ours, 3)} "
        f"({_how(held.scores.method)}), {abs(ours - none):.3f} {better} than with independent "
        "columns."
    )


def _how(method: str) -> str:
    return words.EXACT if method == "exact" else words.APPROXIMATE


def warnings(findings: Findings) -> list[str]:
    """Return what a reader of the graph should know about it."""
    D, result, r = findings.distances, findings.result, findings.recipe.r
    found = []
    if D.noise_floor is not None and r > D.noise_floor:
        n = 0 if D.n_samples is None else D.n_samples
        found.append(words.BEYOND_NOISE.format(r=r, floor=D.noise_floor, n=n))
    if not D.is_additive:
        found.append(words.NOT_ADDITIVE)
    if result.n_stuck:
        found.append(words.STUCK.format(stuck=result.n_stuck, visits=result.n_visits))
    if result.n_capped:
        found.append(words.CAPPED.format(n=result.n_capped))
    return found


# Data and settings -------------------------------------------------------------------------


def data_facts(findings: Findings) -> list[Fact]:
    """Return what the data are."""
    D, obs, recipe = findings.distances, findings.observations, findings.recipe
    source = recipe.sample_name if recipe.source_kind == "sample" else recipe.source
    facts = [Fact("Source", xml_text(source), "a bundled table" if source != recipe.source else "")]
    if obs is None:
        rows = "unknown" if D.n_samples is None else f"{D.n_samples:,}"
        facts.append(Fact("Rows", rows, "behind the given distances"))
        facts.append(Fact("Columns", f"{D.n_columns:,}"))
    else:
        facts += _table_facts(obs)
    floor = "unknown" if D.noise_floor is None else f"{D.noise_floor:.4g}"
    return [
        *facts,
        Fact("Distance", D.metric, f"{words.METRICS[D.metric]} {words.DISTANCE}"),
        Fact("r min", f"{D.r_min:.4g}", words.R_MIN),
        Fact("r max", f"{D.r_max:.4g}", words.R_MAX),
        Fact("Noise floor", floor, words.NOISE_FLOOR),
    ]


def _table_facts(obs: Observations) -> list[Fact]:
    kinds = Counter(obs.kinds)
    n_values = obs.n_rows * obs.n_columns
    weighted = "" if obs.weights is None else f"; with their weights {obs.n_samples:,}"
    share = f"{obs.n_missing / n_values:.1%} of all" if n_values else ""
    facts = [
        Fact("Rows", f"{obs.n_rows:,}{weighted}"),
        Fact(
            "Columns", f"{obs.n_columns:,}", ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        ),
        Fact("Missing values", f"{obs.n_missing:,}", share if obs.n_missing else ""),
    ]
    left_out = [f"{one.name}: {one.reason}" for one in obs.dropped]
    if left_out:
        facts.append(Fact("Left out", f"{len(left_out)}", xml_text("; ".join(left_out))))
    return facts


def setting_facts(findings: Findings) -> list[Fact]:
    """Return the settings, each with what it does."""
    recipe = findings.recipe
    facts = [
        *_threshold_facts(findings.distances, recipe),
        Fact("Method", recipe.method, words.METHODS.get(recipe.method, "")),
        Fact("Order of visits", recipe.order, words.ORDERS.get(recipe.order, "")),
        Fact("Seed", f"{recipe.seed}", words.SEED),
    ]
    if recipe.regularize == "bic":
        facts.append(Fact("Penalty", "BIC", words.BIC))
    else:
        facts.append(Fact("Penalty", "none", words.NO_BIC))
    if findings.max_hidden is not None:
        facts.append(Fact("Most hidden nodes", f"{findings.max_hidden}"))
    return facts + [Fact(name, xml_text(value)) for name, value in _reading_of(recipe)]


def _threshold_facts(D: DistanceMatrix, recipe: Recipe) -> list[Fact]:
    default = default_thresholds(D)
    meanings = {"r": words.R, "Lambda": words.LAMBDA, "tau": words.TAU}
    if recipe.method in ("relaxed", "nj"):
        meanings["Lambda"] += f" {words.NO_PART}"
    if recipe.method == "relaxed":
        meanings["tau"] += f" {words.OWN_TAU}"
    facts = []
    for field, symbol in (("r", "r"), ("Lambda", "Λ (Lambda)"), ("tau", "τ (tau)")):
        value, rule = getattr(recipe, field), getattr(default, field)
        origin = "This is the default." if value == rule else f"The default would be {rule:.4g}."
        facts.append(Fact(symbol, f"{value:.6g}", f"{meanings[field]} {origin}"))
    return facts


def _reading_of(recipe: Recipe) -> Iterable[tuple[str, str]]:
    """How the table was read, where that was chosen."""
    if recipe.drop:
        yield "Columns left out", ", ".join(recipe.drop)
    if recipe.labels:
        yield "Columns that describe rows", ", ".join(recipe.labels)
    if recipe.kinds:
        yield "Corrected kinds", ", ".join(f"{name}: {kind}" for name, kind in recipe.kinds)
    if recipe.weights is not None:
        yield "Weights", recipe.weights
    if recipe.drop_degenerate:
        yield "Constant and repeated columns", "left out"


# Groups and scores -------------------------------------------------------------------------


def group_sentences(findings: Findings) -> list[str]:
    """Say where the groups come from and how they agree with known ones."""
    found, known = findings.groups, findings.known_groups
    sentences = [words.GROUPS.format(n=found.n_resamples) if found.n_resamples else words.ONE_GRAPH]
    if known and len(set(known) & set(found.names)) > 1:
        sentences.append(words.AGREEMENT.format(value=found.agreement(known)))
    return sentences


def score_facts(model: Model) -> list[Fact]:
    """Return what the fit of this very graph says."""
    end = "Converged." if model.converged else "Not converged; more steps may raise the likelihood."
    note = f" {sentence(model.note)}." if model.note else ""
    per_row = model.train_log_likelihood / model.n_samples
    inference = _how("exact" if model.is_exact else "lbp")
    return [
        Fact("Inference", inference, f"{model.kind} model, treewidth at most {model.treewidth}"),
        Fact("Log-likelihood of a row", signed(per_row, 4), "higher is better; on all rows"),
        Fact("BIC", signed(model.train_bic, 1), "log-likelihood less the cost of the parameters"),
        Fact("Parameters", f"{model.df:,}", "degrees of freedom"),
        Fact("Fit", f"{len(model.history) - 1} steps", xml_text(end + note)),
    ]


# Again -------------------------------------------------------------------------------------


def script_of(findings: Findings) -> str:
    """Return the script that gives the same graph."""
    return to_python(findings.recipe, max_hidden=findings.max_hidden)


def command_of(findings: Findings) -> str | Skipped:
    """Return the command that gives the same graph, or why there is none."""
    try:
        return to_command(findings.recipe, max_hidden=findings.max_hidden)
    except LoopyLatentError as error:
        return Skipped(sentence(str(error)))
