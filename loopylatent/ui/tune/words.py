"""What the page Tune says."""

from __future__ import annotations

from collections.abc import Mapping

from loopylatent.analysis.stability.loop_test import LoopTest
from loopylatent.analysis.sweep.points import SweepPoint

ALONG = "The learned graph at every r that matters. **Click** a place to go there."
SOME = (
    "The learned graph at {n} radii, spread over those where the local trees change. **Click** a "
    "place to go there."
)
FIGURES = {
    "along": "The learned graph along the radius r",
    "over": "The learned graph over the margin Λ and the shortest edge τ",
    "bars": "From which r to which r each cycle and each hidden node is there",
}
"""For those who do not see the plots."""
GRID = (
    "All pairs of Λ and τ at the present r = {r:.3g}. **Click** a cell to go there; the framed "
    "one is where you are."
)
BARS = (
    "From which r to which r each cycle and each hidden node is there: the long-lived ones do not "
    "hang on your choice. Full colour: there at the present r. **Click** a bar to go to its middle."
)
SUGGEST = (
    "Learns and fits at each of the {n} radii on {share:.0%} of the rows, and tests on the others."
)
NO_ROWS = "Distances alone cannot be scored; open the table behind them."
PLAIN = "The sweep shows plain graphs, without *Hidden nodes must pay (BIC)*."
UNREAD = "The chosen grouping does not read {names}, so the cells do not differ in it."
LOOPS = (
    "Noise alone can close loops. The test simulates 39 tables from the learned tree and counts "
    "their loops at the same r."
)
SPARSE = "Rare yes/no columns are noisier than the test assumes; do not trust it on sparse data."
DEFAULTS = "Loops are counted with the default Λ and τ."

COLUMNS: Mapping[str, tuple[str, str | None, str | None]] = {
    "r": ("r", "%.3f", "the radius"),
    "Lambda": ("Λ", "%.4f", "the margin of a vote"),
    "tau": ("τ", "%.3f", "the shortest edge"),
    "girth": ("shortest cycle", "%.0f", "the number of its edges"),
    "components": ("pieces", None, None),
    "stuck": ("stuck", None, "visits in which no pair could be joined"),
    "initial_edges": ("edges of the local trees", None, "before grouping"),
    "train_log_likelihood": ("log-likelihood, learned", "%.2f", "of the rows learned from"),
    "train_bic": ("BIC, learned", "%.2f", "of the rows learned from"),
    "test_log_likelihood": ("log-likelihood, kept apart", "%.2f", "of the rows kept apart"),
    "test_bic": ("BIC, kept apart", "%.2f", "of the rows kept apart"),
    "perp_ll": ("Perp-LL", "%.4f", "lower is better; explained on Evaluate"),
    "perp_bic": ("Perp-BIC", "%.4f", "lower is better; explained on Evaluate"),
    "pred_perp_ll": ("Pred-Perp-LL", "%.4f", "lower is better; explained on Evaluate"),
    "pred_perp_bic": ("Pred-Perp-BIC", "%.4f", "lower is better; explained on Evaluate"),
    "df": ("parameters", None, None),
    "fitted_edges": ("edges, fitted", None, "of the graph of the rows learned from"),
    "fitted_hidden": ("hidden, fitted", None, "of the graph of the rows learned from"),
    "seconds": ("seconds", "%.1f", None),
}
"""Of the table: what a column is called there, its digits, and what it is."""


def loops_sentence(test: LoopTest) -> str:
    """Say what the loop test found.

    Examples
    --------
    >>> print(loops_sentence(LoopTest(11, 0.0, 0.025, 39, 0)))
    **11 loops**; noise on a tree would make 0.0 on average (39 simulated tables, p = 0.025). \
A tree does not explain them.
    >>> print(loops_sentence(LoopTest(0, 1.5, 1.0, 39, 0)))
    **No loops** at this r, so there is nothing to test.
    """
    if test.n_loops == 0:
        return "**No loops** at this r, so there is nothing to test."
    loops = "1 loop" if test.n_loops == 1 else f"{test.n_loops} loops"
    verdict = "A tree does not explain them." if test.is_real else "Noise can explain them."
    failed = f", {test.n_failed} of them failed" if test.n_failed else ""
    return (
        f"**{loops}**; noise on a tree would make {test.mean_by_noise:.1f} on average "
        f"({test.n_simulations} simulated tables{failed}, p = {test.p_value:.3g}). {verdict}"
    )


def gone_to(point: SweepPoint | None, what: str) -> str:
    """Say where a click has led."""
    if point is None:
        return f"Now at {what}."
    cycles = "1 cycle" if point.n_cycles == 1 else f"{point.n_cycles} cycles"
    return (
        f"Now at {what}: {point.n_edges} edges, {point.n_hidden} hidden nodes, {cycles}. "
        "Undo in the sidebar goes back."
    )
