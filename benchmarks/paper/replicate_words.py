"""The paper's newsgroup tables: Tables 1, 2 and 3, the edge density, the first cycles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import markdown_table
from benchmarks.paper.paper_tables import (
    NEWSGROUP_RADII,
    TABLE_1,
    TABLE_1_LDA,
    TABLE_2,
    TABLE_3,
    Row,
)
from loopylatent.analysis.evaluation.coherence import (
    WordPairs,
    coherence,
    newspaper_pairs,
    pairs_in_rows,
)
from loopylatent.analysis.evaluation.contest import (
    Contestant,
    Entry,
    Evaluation,
    best_of,
    iter_evaluations,
)
from loopylatent.analysis.evaluation.lda import fit_lda
from loopylatent.analysis.evaluation.topics import shared_columns, topics
from loopylatent.analysis.sweep.scores import Split
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.scores import with_half_hidden
from loopylatent.learning.initial_graph import EdgeDensity
from loopylatent.learning.learner import learn
from loopylatent.settings import FitSettings, LearnSettings, Method, Thresholds

Log = Callable[[str], None]
TAU = 0.4
FIT = FitSettings(max_steps=300)
"""Large relaxed graphs would need a thousand steps for the fifth decimal."""
PAIRED = (("regularised", 13.0), ("regularised", 9.0), ("regularised", 7.0), ("regularised", 5.0),
          ("local trees", 5.0))  # fmt: skip
"""Graphs compared with LDA post by post."""
LBP_STEPS = 15
LBP_RADII = (13.0, 9.0, 7.0, 5.0)
SEEDS = 10


@dataclass(frozen=True, eq=False)
class Words:
    """Training and test posts."""

    title: str
    split: Split


def settings(r: float, method: Method = "quartet", seed: int = 0) -> LearnSettings:
    """Return the settings of the newsgroup tables: Lambda = 0, tau = 0.4."""
    return LearnSettings(Thresholds(r, 0.0, TAU), method, "degree", seed)


def word_report(words: Words, log: Log) -> str:
    """Compute all newsgroup tables."""
    split = words.split
    log(f"{words.title}: all models without BIC penalty")
    entries = evaluated(split, others(), log)
    log("BIC-penalised graphs; a smaller r takes longer")
    entries += evaluated(split, regularised(), log, belief=True)
    log("fits by belief propagation")
    fitted = belief_fits(split)
    log("topics of LDA")
    lda_topics = fit_lda(split.train, 10, seed=split.seed).top_words()
    log("graphs over all radii")
    D = split.D
    parts = [
        f"### Words: {words.title}\n\n{split.train.n_rows:,} training posts, "
        f"{split.test.n_rows:,} test posts, {D.n_columns} words. r_min = {D.r_min:.4f}, "
        f"r_max = {D.r_max:.4f}.",
        "#### Table 1, the paper's graphs\n\n" + table_1(split, entries),
        "#### Table 1, LDA\n\n" + table_1_lda(split, entries),
        "#### All models on the same posts\n\n" + all_models(split, entries),
        "#### Paired differences\n\n" + paired(split, entries),
        "#### Fitted by belief propagation, as in the paper\n\n" + fitted,
        "#### Table 2, topics at r = 9\n\n" + table_2(split, entries),
        "#### Table 3, topics of LDA\n\n" + table_3(split.D.names, lda_topics),
        "#### Edge density\n\n" + density(split),
        "#### Cycles and links\n\n" + links(split, entries),
        "#### Relaxed grouping over seeds\n\n" + seeds(split),
    ]
    return "\n\n".join(parts)


def regularised() -> tuple[Contestant, ...]:
    """The paper's graphs, the fastest first."""
    return tuple(Contestant("regularised", settings(r)) for r in reversed(NEWSGROUP_RADII))


def others() -> tuple[Contestant, ...]:
    """All other models of the tables."""
    radii = tuple(reversed(NEWSGROUP_RADII))
    reference = [Contestant("independent"), Contestant("tree")]
    initial = [Contestant("local trees", settings(r)) for r in radii[1:]]
    unpenalised = [Contestant("latent", settings(r)) for r in radii]
    relaxed = [Contestant("latent", settings(r, "relaxed")) for r in radii if r > 3]
    lda = [Contestant("lda", n_topics=k) for k in TABLE_1_LDA]
    return (*reference, *initial, *unpenalised, *relaxed, *lda)


def evaluated(
    split: Split, chosen: Sequence[Contestant], log: Log, *, belief: bool = False
) -> list[Entry]:
    """Score all models and report each.

    On one thread: the BIC-penalised learner is mostly Python, and two threads would wait for each
    other.
    """
    found: dict[int, Entry] = {}
    for k, entry in iter_evaluations(split, chosen, fit=FIT, belief=belief, threads=1):
        found[k] = entry
        at = f"{len(found):2} of {len(chosen)}"
        if isinstance(entry, Evaluation):
            r = "" if math.isnan(entry.contestant.r) else f", r = {entry.contestant.r:g}"
            log(f"{at}  {entry.title}{r}: {entry.perp_ll:.4f}, {entry.seconds:.0f} s")
        else:
            log(f"{at}  {entry.contestant.kind}: {entry.reason}")
    return [found[k] for k in sorted(found)]


def scored(entries: Sequence[Entry], kind: str, method: Method = "quartet") -> list[Evaluation]:
    """Return the scores of one model type, by descending r or ascending topics."""
    chosen = [
        one
        for one in entries
        if isinstance(one, Evaluation)
        and one.contestant.kind == kind
        and (one.contestant.settings is None or one.contestant.settings.method == method)
    ]
    return sorted(chosen, key=lambda one: (-one.contestant.r, one.n_hidden))


def corpora(split: Split) -> tuple[WordPairs, WordPairs]:
    """Return the newspaper and the test posts as corpora, for the words of the table."""
    names = split.D.names
    return newspaper_pairs().among(names), pairs_in_rows(split.test, "test posts")


TABLE_HEAD = (
    "model", "r", "hidden", "edges", "PMI", "Perp-LL", "Perp-BIC", "Pred-Perp-LL", "Pred-Perp-BIC"
)  # fmt: skip


def _four(values: Sequence[float | None]) -> list[str]:
    return ["" if value is None or math.isnan(value) else f"{value:.4f}" for value in values]


def paper_cells(title: str, where: str, row: Row) -> list[str]:
    scores = _four([row.pmi, row.perp_ll, row.perp_bic, row.pred_perp_ll, row.pred_perp_bic])
    return [title, where, str(row.hidden), "" if row.edges is None else str(row.edges), *scores]


def our_cells(title: str, where: str, one: Evaluation, pmi: float) -> list[str]:
    scores = _four([pmi, one.perp_ll, one.perp_bic, one.pred_perp_ll, one.pred_perp_bic])
    edges = "" if one.contestant.kind == "lda" else str(one.n_edges)
    return [title, where, str(one.n_hidden), edges, *scores]


def table_1(split: Split, entries: Sequence[Entry]) -> str:
    """Ours and the paper's for each r: exact, and by the paper's estimate."""
    paper, _ = corpora(split)
    rows = []
    for one in scored(entries, "regularised"):
        r = one.contestant.r
        pmi = coherence(one.top_columns, paper).mean
        rows.append(paper_cells("paper", f"{r:g}", TABLE_1[r]))
        rows.append(our_cells("ours, exact", f"{r:g}", one, pmi))
        if one.belief is not None:
            penalty = 0.5 * one.df * math.log(split.test.n_rows) / split.test.n_rows / 100
            values = [one.belief.perp_ll, one.belief.pred_perp_ll]
            with_bic = [value * math.exp(penalty) for value in values]
            cells = _four([values[0], with_bic[0], values[1], with_bic[1]])
            rows.append(["the same, by belief propagation", f"{r:g}", "", "", "", *cells])
    return markdown_table(TABLE_HEAD, rows)


def table_1_lda(split: Split, entries: Sequence[Entry]) -> str:
    """LDA: the paper's scores, and ours with standard error and bias."""
    paper, _ = corpora(split)
    rows = []
    for one in scored(entries, "lda"):
        rows.append(paper_cells("paper", f"{one.n_hidden} topics", TABLE_1_LDA[one.n_hidden]))
        pmi = coherence(one.top_columns, paper).mean
        rows.append(our_cells("ours, by sampling", f"{one.n_hidden} topics", one, pmi))
        errors = [f"± {one.perp_error:.5f}, bias about +{one.perp_bias:.5f}", ""]
        errors += [f"± {one.pred_error:.5f}, bias about +{one.pred_bias:.5f}", ""]
        rows.append(["error of ours", f"{one.n_hidden} topics", "", "", "", *errors])
    return markdown_table(TABLE_HEAD, rows)


def all_models(split: Split, entries: Sequence[Entry]) -> str:
    """Every model by ascending Perp-LL."""
    paper, held = corpora(split)
    chosen = [one for one in entries if isinstance(one, Evaluation)]
    rows = []
    for one in sorted(chosen, key=lambda one: (one.perp_ll, one.title)):
        where = "" if math.isnan(one.contestant.r) else f"{one.contestant.r:g}"
        news = coherence(one.top_columns, paper).mean
        posts = coherence(one.top_columns, held).mean
        scores = [one.perp_ll, one.perp_bic, one.pred_perp_ll, one.pred_perp_bic]
        edges = "" if one.contestant.kind == "lda" else f"{one.n_edges}"
        shape = [f"{one.n_hidden}", edges, f"{one.df}"]
        rows.append([one.title, where, *shape, *_four([*scores, news, posts]), one.method])
    head = ("model", "r", "hidden", "edges", "df", "Perp-LL", "Perp-BIC", "Pred-Perp-LL",
            "Pred-Perp-BIC", "PMI, newspaper", "PMI, test posts", "likelihood")  # fmt: skip
    failed = [one for one in entries if not isinstance(one, Evaluation)]
    lines = [f"Not scored: {one.contestant.kind}, {one.reason}" for one in failed]
    first = best_of(chosen)
    text = ", ".join(
        f"{label}: {chosen[first[name]].title}"
        + ("" if math.isnan(chosen[first[name]].contestant.r)
           else f" at r = {chosen[first[name]].contestant.r:g}")
        for name, label in (("perp_ll", "Perp-LL"), ("perp_bic", "Perp-BIC"),
                            ("pred_perp_ll", "Pred-Perp-LL"), ("pred_perp_bic", "Pred-Perp-BIC"))
    )  # fmt: skip
    return "\n\n".join([markdown_table(head, rows), f"Lowest {text}.", *lines])


def paired(split: Split, entries: Sequence[Entry]) -> str:
    """Compare some graphs with LDA of ten topics post by post, with standard errors."""
    half = with_half_hidden(split.test, split.seed)
    lda = fit_lda(split.train, 10, seed=split.seed)
    base = lda.log_likelihood(split.test, seed=split.seed).values
    base_half = base - lda.log_likelihood(half, seed=split.seed).values
    rows = []
    for kind, r in PAIRED:
        one = next(one for one in scored(entries, kind) if one.contestant.r == r)
        assert one.graph is not None
        model = fit_parameters(one.graph, split.train)
        whole = model.log_likelihood(split.test)
        rest = whole - model.log_likelihood(half)
        bic = f"{model.train_bic:,.0f}"
        rows.append([one.title, f"{r:g}", bic, _off(whole - base), _off(rest - base_half)])
    head = ("model", "r", "training BIC", "log-likelihood per post minus LDA",
            "predicted half minus LDA")  # fmt: skip
    return (
        "Compared with LDA with 10 topics; ± is the standard error over test posts.\n\n"
        + markdown_table(head, rows)
    )


def _off(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1) / math.sqrt(len(values)):.3f}"


def belief_fits(split: Split) -> str:
    """Fit graphs by belief propagation; compare the claimed with the exact scores."""
    rows = []
    for r in LBP_RADII:
        graph = learn(split.D, settings(r), trace=False).graph
        exact = fit_parameters(graph, split.train).scores(split.test, seed=split.seed)
        by_beliefs = FitSettings(inference="lbp", max_steps=LBP_STEPS)
        model = fit_parameters(graph, split.train, by_beliefs)
        gap = model.lbp_error(split.test)
        claimed, true = (math.exp(-value / split.D.n_columns) for value in (gap.lbp, gap.exact))
        rows.append([f"{r:g}", f"{claimed:.4f}", f"{true:.4f}", f"{exact.perp_ll:.4f}"])
    head = ("r", f"claimed after {LBP_STEPS} steps", "exact, same model", "exact fit")  # fmt: skip
    return markdown_table(head, rows)


def table_2(split: Split, entries: Sequence[Entry]) -> str:
    """For each topic of the paper, ours with most words in common."""
    at_nine = [one for one in scored(entries, "regularised") if one.contestant.r == 9.0]
    return (
        most_similar(split.D.names, at_nine[0].top_columns, TABLE_2) if at_nine else "Not learned."
    )


def table_3(names: Sequence[str], found: Sequence[Sequence[int]]) -> str:
    """For each topic of the paper's LDA, ours with most words in common."""
    return most_similar(names, found, TABLE_3)


def most_similar(
    names: Sequence[str], found: Sequence[Sequence[int]], paper: dict[str, str]
) -> str:
    rows = []
    for number, text in paper.items():
        words = text.split()
        ours = [[names[k] for k in columns] for columns in found]
        best = max(ours, key=lambda topic: len(set(topic) & set(words)))
        shared = [word for word in best if word in words]
        marked = " ".join(f"**{word}**" if word in words else word for word in best)
        rows.append([f"{number}: {text}", marked, f"{len(shared)}"])
    table = markdown_table(("paper's topic", "ours (shared words in bold)", "shared"), rows)
    return table.replace("| ---: |", "| --- |", 1).replace("---: | ---:", "--- | ---:")


def density(split: Split) -> str:
    """Edges of the initial graph at round radii, and their maximum."""
    curve = split.curve
    radii = [r for r in np.arange(2.5, 13.01, 0.5) if r >= split.D.r_min]
    row = ["edges", *(f"{curve.at(float(r))}" for r in radii)]
    peak = int(np.argmax(curve.n_edges))
    until = float(curve.r[peak + 1]) if peak + 1 < len(curve.r) else math.inf
    return (
        f"Edges of the initial graph. Maximum {curve.n_edges[peak]} at "
        f"r = {curve.r[peak]:.3f} to {until:.3f} (paper: maximum at r = 5).\n\n"
        + markdown_table(("r", *(f"{r:g}" for r in radii)), [row])
    )


def links(split: Split, entries: Sequence[Entry]) -> str:
    """Check in our graphs what the paper says about single words and cycles."""
    names, curve = split.D.names, split.curve
    lines = []
    loops = np.flatnonzero(curve.n_cycles > 0)
    lines.append(f"- The initial graph has cycles for r below {_above(curve, loops):.3f}.")
    for one in scored(entries, "regularised"):
        graph = one.graph
        assert graph is not None
        longest = max((len(cycle) for cycle in graph.cycles), default=0)
        several = [shared for shared in shared_columns(graph, topics(graph)) if shared.n_cycles > 0]
        text = ", ".join(names[shared.column] for shared in several[:8])
        lines.append(
            f"- r = {one.contestant.r:g}: {graph.n_cycles} cycles; longest in a minimum cycle "
            f"basis: {longest} edges. {linked(graph, 'computer', 'software')} "
            + (f"Words of several topics on cycles: {text}." if text else "No word on a cycle.")
        )
    lines.extend(f"- {word}: {where_word(entries, word)}" for word in ("program", "earth"))
    return "\n".join(lines)


def _above(curve: EdgeDensity, loops: np.ndarray) -> float:
    """The first radius above those of ``loops``."""
    last = int(loops[-1])
    return float(curve.r[last + 1]) if last + 1 < len(curve.r) else math.inf


def linked(graph: LatentGraph, one: str, other: str) -> str:
    """Report whether two columns are adjacent, or how many steps apart they are."""
    if one not in graph.names or other not in graph.names:
        return ""
    a, b = graph.names.index(one), graph.names.index(other)
    if b in graph.neighbours(a):
        return f"{one}–{other}: an edge."
    steps = next(k for k in range(2, graph.n_nodes) if b in graph.neighbourhood(a, k))
    common = set(graph.neighbours(a)) & set(graph.neighbours(b))
    through = " through one hidden node" if any(k >= graph.n_observed for k in common) else ""
    return f"{one}–{other}: no edge, {steps} steps apart{through}."


def where_word(entries: Sequence[Entry], word: str) -> str:
    """Report at which r a word lies on a cycle, and with which words."""
    places = []
    for one in scored(entries, "regularised"):
        graph = one.graph
        assert graph is not None
        if word not in graph.names:
            return "not in this table."
        column = graph.names.index(word)
        cycles = [cycle for cycle in graph.cycles if column in cycle]
        if cycles:
            others = sorted({graph.labels[k] for k in cycles[0] if k < graph.n_observed} - {word})
            places.append(f"r = {one.contestant.r:g} ({len(cycles)}; with {', '.join(others)})")
    return "on cycles at " + "; ".join(places) + "." if places else "on no cycle."


def seeds(split: Split) -> str:
    """Hidden nodes and edges of relaxed grouping over ten seeds."""
    rows = []
    for r in reversed(NEWSGROUP_RADII):
        graphs = [
            learn(split.D, settings(r, "relaxed", seed), trace=False).graph for seed in range(SEEDS)
        ]
        hidden = [graph.n_hidden for graph in graphs]
        edges = [graph.n_edges for graph in graphs]
        rows.append([f"{r:g}", f"{min(hidden)} to {max(hidden)}", f"{min(edges)} to {max(edges)}"])
    return markdown_table(("r", f"hidden, {SEEDS} seeds", "edges"), rows)
