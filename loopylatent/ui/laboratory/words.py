"""What the page Laboratory says."""

from __future__ import annotations

from collections.abc import Mapping

from loopylatent.synthetic.experiment import PAPER, STRONGER, Experiment
from loopylatent.synthetic.laboratory import Recovery
from loopylatent.synthetic.model import SyntheticModel

KINDS: Mapping[str, str] = {
    "ising": "yes/no (an Ising model)",
    "symmetric": "several states, evenly mixed",
    "tables": "several states, uneven",
    "gaussian": "numbers (Gaussian)",
}
RULES: Mapping[str, str] = {"loops": "with loops", "tree": "a tree"}
LENGTHS = (
    "Each edge gets a length drawn from this range; e to the minus length is how strongly its two "
    "ends go together. 0.3 is strong (0.74), 2 is weak (0.14)."
)
POTENTIALS = (
    "Each edge gets an Ising potential θ drawn from this range; its ends then have the correlation "
    "tanh θ. The paper takes 0.05 to 0.2, which is weak."
)
FIELDS = "Tilt every node towards yes or no by a number drawn from this range."
SHARE = (
    "Instead of leaves: every node is seen with this probability, the others are hidden. 0 hides "
    "all nodes and gives each of them leaves."
)
PARAMETERS: Mapping[str, str] = {
    "ring": "Hidden nodes on the ring; columns on each of the lowest hidden nodes; edges from the "
    "ring down to them.",
    "tree": "Hidden and observed inner nodes; columns on every hidden node, at least.",
    "cage": "Columns on every hidden node.",
    "regular": "Edges are removed until no cycle is shorter than the girth.",
}
ROWS = (
    "How many rows are drawn. *Exact distances* are those of infinitely many rows, so that only "
    "the method itself can err."
)
COMPARED = (
    "Hidden nodes have no names: they are matched so that the two graphs differ least. "
    "**Structure error** counts differing entries of the adjacency matrices, two for every edge."
)
AGAINST_N = (
    "The same model, learned from fewer and more rows with the chosen rule for r. Lines are means "
    "over the repeats, bands go from the worst to the best; the dashed line is the chosen number "
    "of rows."
)
AGAINST_R = (
    "The same rows, learned at {k} radii from r min to r max with the default Λ and τ. "
    "Lines are means over the repeats, bands go from the worst to the best; the dashed line is the "
    "r that is chosen."
)
CURVES = (
    "**Recall** is the share of the true edges that were learned, **precision** the share of the "
    "learned edges that are true, **exactly right** the share of repeats without any mistake."
)
EXPERIMENT = (
    "The choices on the left play no part here. A ring of 10 hidden nodes of degree 4 is sampled, "
    "learned at each radius, fitted, and scored on as many fresh rows: the normalised BIC, "
    "log-likelihood less a price for every parameter, for each value of the table. Likelihoods are "
    "exact (the paper's are by belief propagation)."
)
NOTES: Mapping[Experiment, str] = {
    PAPER: (
        "The paper sees three things: BIC improves with n; the smallest r overfits; where r makes "
        "a tree, BIC drops. The first two are here. The third is not: at these potentials one edge "
        "of the ring adds a millionth to the log-likelihood of a row, so that the BIC pays for a "
        "cycle from some millions of rows on, and a tree costs nothing before."
    ),
    STRONGER: (
        "With edges this strong all three are here from a few thousand rows on: BIC improves with "
        "n, radii that break the ring or close false loops lose, and where r makes a tree, BIC "
        "drops because the cycle is gone."
    ),
}
SOURCES = {
    "exact": "exact distances of the model, as from infinitely many rows",
    "paths": "path lengths (exact distances of a graph with so many cycles are out of reach)",
}


def headline(model: SyntheticModel, title: str) -> str:
    """Say what was made."""
    graph = model.graph
    girth = f" (shortest: {graph.girth:.0f} edges)" if graph.n_cycles else ""
    cycles = "no cycles" if graph.n_cycles == 0 else f"**{graph.n_cycles}** cycles"
    cycles = "**1** cycle" if graph.n_cycles == 1 else cycles
    return (
        f"**{title}** &nbsp; **{graph.n_observed}** columns · **{graph.n_hidden}** hidden · "
        f"**{graph.n_edges}** edges · {cycles}{girth}"
    )


def learned_from(found: Recovery) -> str:
    """Say what the learned graph was learned from, and how well its rows are drawn."""
    there = found.thresholds
    settings = f"r = {there.r:.3g}, Λ = {there.Lambda:.3g}, τ = {there.tau:.3g}"
    if found.drawn is None:
        return f"Learned from {SOURCES[found.source]}, at {settings}."
    rows = f"{found.drawn.observations.n_rows:,} rows"
    how = "exact and independent"
    checks = found.drawn.diagnostics
    if checks is not None:
        trust = "good" if checks.is_good else "**not to be trusted**"
        how = (
            f"by Gibbs sampling, {trust}: R-hat {checks.r_hat:.3f}, worth "
            f"{checks.n_effective:,.0f} independent ones"
        )
    return f"Learned from {rows} ({how}), at {settings}."
