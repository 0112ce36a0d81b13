"""What a report says, as sentences and rows of text; the page escapes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.export.base import edge_signs, xml_text
from loopylatent.export.page import count
from loopylatent.figures.network import node_labels
from loopylatent.inference import Model
from loopylatent.loops import LoopTest
from loopylatent.nodes import nearest_columns
from loopylatent.recipe import Recipe, to_command, to_python
from loopylatent.report import words
from loopylatent.report.findings import Findings, HeldOut, Skipped, sentence
from loopylatent.stability import Stability
from loopylatent.support_table import KINDS, edge_kind, scale
from loopylatent.thresholds import default_thresholds

MOST_NEAR = 10
SURE = 0.7
"""From this support on a part counts as found again."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with its name and what it means."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A hidden node and what is near it."""

    name: str
    near: tuple[tuple[str, str], ...]
    """Columns and the strengths of the paths to them, the nearest first."""
    n_neighbours: int
    support: float | None


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column of the table."""

    name: str
    kind: str
    missing: str
    nearest: str
    distance: str


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An edge of the graph."""

    ends: tuple[str, str]
    distance: str
    strength: str
    sign: str
    fitted: str
    support: float | None


@dataclass(frozen=True, slots=True)
class CycleRow:
    """A cycle, its nodes in their order."""

    nodes: tuple[str, ...]
    support: float | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of columns."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """Shares of parts that were true, at one range of support."""

    support: str
    shares: tuple[str, ...]


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
        f"Rows kept apart have a mean log-likelihood of {_signed(ours, 3)} "
        f"({_how(held.scores.method)}), {abs(ours - none):.3f} {better} than with independent "
        "columns."
    )


def _signed(value: float, digits: int) -> str:
    """A number with a minus that is as wide as a plus."""
    return f"{value:,.{digits}f}".replace("-", "−")


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


def column_rows(findings: Findings) -> list[ColumnRow]:
    """Return a row for each column: its kind, what is missing, and the nearest other column."""
    D, obs = findings.distances, findings.observations
    rows = []
    for node, name in enumerate(D.names):
        near = nearest_columns(D, node, 1)
        rows.append(
            ColumnRow(
                xml_text(name),
                "" if obs is None else obs.kinds[node],
                "" if obs is None else f"{obs.missing_share(name):.1%}",
                xml_text(D.names[near[0].node]) if near else "",
                f"{near[0].distance:.3f}" if near else "",
            )
        )
    return rows


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


# The graph ---------------------------------------------------------------------------------


def labels_of(findings: Findings, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return what each node is called, hidden ones by the names that were given."""
    return tuple(map(xml_text, node_labels(findings.graph, names)))


def topics(findings: Findings, labels: tuple[str, ...]) -> list[Topic]:
    """Return each hidden node with the columns that are nearest to it along the graph."""
    graph, found = findings.graph, findings.stability
    support = found.hidden.tolist() if isinstance(found, Stability) else [None] * graph.n_hidden
    return [
        Topic(
            labels[node],
            tuple(
                (labels[near.node], f"{near.strength:.2f}")
                for near in nearest_columns(graph, node, MOST_NEAR)
            ),
            int(graph.degrees[node]),
            share,
        )
        for node, share in zip(graph.hidden_nodes, support, strict=True)
    ]


def edge_rows(findings: Findings, labels: tuple[str, ...]) -> list[EdgeRow]:
    """Return a row for each edge, the strongest first."""
    graph, found, model = findings.graph, findings.stability, findings.model
    support = found.edges.tolist() if isinstance(found, Stability) else [None] * graph.n_edges
    fitted = model.edge_strengths.tolist() if isinstance(model, Model) else None
    signs = edge_signs(graph, findings.distances)
    rows = [
        EdgeRow(
            (labels[u], labels[v]),
            f"{length:.3f}",
            f"{math.exp(-length):.3f}",
            "" if signs is None or not signs[k] else ("+" if signs[k] > 0 else "−"),
            "" if fitted is None else _signed(fitted[k], 3),
            support[k],
        )
        for k, ((u, v), length) in enumerate(
            zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True)
        )
    ]
    return [rows[k] for k in sorted(range(len(rows)), key=lambda k: (graph.lengths[k], k))]


def cycle_rows(findings: Findings, labels: tuple[str, ...]) -> list[CycleRow]:
    """Return the cycles of a minimum cycle basis, the best supported first."""
    graph, found = findings.graph, findings.stability
    cycles = graph.cycles
    support = found.cycles.tolist() if isinstance(found, Stability) else [None] * len(cycles)
    rows = [
        CycleRow(tuple(labels[node] for node in cycle), share)
        for cycle, share in zip(cycles, support, strict=True)
    ]
    return sorted(rows, key=lambda row: (-(row.support or 0.0), len(row.nodes)))


def group_name(group: int) -> str:
    """Return what a group is called that was found."""
    return f"group {group + 1}"


def group_rows(findings: Findings, labels: tuple[str, ...]) -> list[GroupRow]:
    """Return the groups of columns, the largest first."""
    members: dict[int, list[str]] = {}
    for node, group in enumerate(findings.groups.labels.tolist()):
        members.setdefault(group, []).append(labels[node])
    return [GroupRow(group_name(group), tuple(members[group])) for group in sorted(members)]


def group_sentences(findings: Findings) -> list[str]:
    """Say where the groups come from and how they agree with known ones."""
    found, known = findings.groups, findings.known_groups
    sentences = [words.GROUPS.format(n=found.n_resamples) if found.n_resamples else words.ONE_GRAPH]
    if known and len(set(known) & set(found.names)) > 1:
        sentences.append(words.AGREEMENT.format(value=found.agreement(known)))
    return sentences


# Scores and support ------------------------------------------------------------------------


def score_facts(model: Model) -> list[Fact]:
    """Return what the fit of this very graph says."""
    end = "Converged." if model.converged else "Not converged; more steps may raise the likelihood."
    note = f" {sentence(model.note)}." if model.note else ""
    per_row = model.train_log_likelihood / model.n_samples
    inference = _how("exact" if model.is_exact else "lbp")
    return [
        Fact("Inference", inference, f"{model.kind} model, treewidth at most {model.treewidth}"),
        Fact("Log-likelihood of a row", _signed(per_row, 4), "higher is better; on all rows"),
        Fact("BIC", _signed(model.train_bic, 1), "log-likelihood less the cost of the parameters"),
        Fact("Parameters", f"{model.df:,}", "degrees of freedom"),
        Fact("Fit", f"{len(model.history) - 1} steps", xml_text(end + note)),
    ]


def held_out_rows(held: HeldOut) -> list[tuple[str, str, str]]:
    """Return (measure, of the graph, of independent columns) on the rows kept apart."""
    pairs = (held.scores, held.independent)

    def row(name: str, values: Iterable[float]) -> tuple[str, str, str]:
        ours, none = (_signed(value, 4) for value in values)
        return name, ours, none

    return [
        row("Log-likelihood of a row (higher is better)",
            (one.log_likelihood / one.n_samples for one in pairs)),
        row("Perplexity (lower is better)", (one.perp_ll for one in pairs)),
        row("Perplexity with the cost of parameters", (one.perp_bic for one in pairs)),
        row("Perplexity of half of each row, given the other half",
            (one.pred_perp_ll for one in pairs)),
    ]  # fmt: skip


def scale_rows() -> list[ScaleRow]:
    """Return what share of the parts was true at which support, where truth was known."""
    steps = scale()
    return [
        ScaleRow(
            f"{step.low:.0%} to {step.high:.0%}",
            tuple(
                "–" if (share := steps[kind][k].share) is None else f"{share:.0%}" for kind in KINDS
            ),
        )
        for k, step in enumerate(steps["hidden"])
    ]


def support_by_kind(findings: Findings) -> list[tuple[str, int, int]]:
    """Return (kind of part, how many there are, how many of them came back)."""
    found = findings.stability
    if isinstance(found, Skipped):
        return []
    graph = found.graph
    parts: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for (u, v), share in zip(graph.edges.tolist(), found.edges.tolist(), strict=True):
        parts[edge_kind(graph, u, v)].append(share)
    parts["hidden"], parts["cycle"] = found.hidden.tolist(), found.cycles.tolist()
    return [
        (KINDS[kind], len(parts[kind]), sum(share >= SURE for share in parts[kind]))
        for kind in KINDS
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
