"""What a report says: every symbol and every number explained in plain words."""

from __future__ import annotations

from collections.abc import Mapping

R = (
    "The radius. The columns nearer than r to a column form its ball, and each ball is joined by "
    "its shortest tree. From r max on that is one tree of everything; a smaller r leaves the "
    "trees local, so that their union can close into loops."
)
LAMBDA = (
    "The margin. Four columns vote on who belongs with whom; Λ says by how much a vote must win to "
    "count."
)
TAU = "The shortest edge. A hidden node nearer than τ to a neighbour was merged with it."
NO_PART = "It plays no part in this method."
OWN_TAU = "This method has a shortest edge of its own, 0.105, in its place."
METHODS: Mapping[str, str] = {
    "quartet": "Columns are joined by votes of four (quartet tests).",
    "relaxed": "Columns are joined into families whose distances to the others differ alike.",
    "nj": "Columns are joined by neighbor joining.",
}
ORDERS: Mapping[str, str] = {
    "degree": "The best connected columns were visited first.",
    "index": "Columns were visited in their order in the table.",
    "random": "Columns were visited at random, by the seed.",
}
SEED = "The beginning of all random numbers; the same seed gives the same graph."
BIC = (
    "A hidden node was kept only where it raised the likelihood by more than its parameters cost "
    "(Bayesian information criterion)."
)
NO_BIC = "Hidden nodes did not have to pay for their parameters."
METRICS: Mapping[str, str] = {
    "correlation": "−log |correlation| of two columns.",
    "rank": "−log |rank correlation| of two columns.",
    "determinant": "−log of the normalised determinant of the joint table of two columns.",
    "determinant-printed": "−log of the determinant of the joint table, as printed in the paper.",
    "canonical": "−log of the largest canonical correlation of two columns.",
    "given": "The distances were given; they were not estimated from rows.",
}
DISTANCE = (
    "0 where one column determines the other, 0.7 at a correlation of 0.5, 2.3 at 0.1, infinite "
    "where two columns look independent."
)
NOT_ADDITIVE = (
    "These distances do not add up along paths, as the method assumes: read lengths with care."
)
R_MIN = "Below this radius some column is alone in its ball."
R_MAX = "The largest distance; from here on the graph is a tree."
NOISE_FLOOR = "A longer distance cannot be told from independence with so many rows."
BEYOND_NOISE = (
    "r = {r:.3g} lies beyond the noise floor ({floor:.3g}): balls of this size hold distances that "
    "{n:,} rows cannot tell from independence."
)
STUCK = (
    "In {stuck} of {visits} visits the votes contradicted each other and no pair could be joined; "
    "a larger Λ leaves fewer of those."
)
CAPPED = "In {n} visits only the nearest outsiders were asked."
STRENGTH = "Strength is e to the −distance: 1 is the same, 0 is independent."

NO_ROWS = "There are only distances and no rows, so probabilities cannot be fitted."
NO_HELD_OUT_BIC = (
    "Scores on rows kept apart would repeat the whole search for hidden nodes that pay; "
    "the command “score” does that."
)
NO_STABILITY_BIC = (
    "Support was not computed: it would repeat the whole search for hidden nodes that pay on "
    "every resample."
)
NOT_WANTED = "Not asked for."
TREE = "The graph was learned at r max, where it is a tree; there are no loops to test."
SPARSE = "The test draws Gaussian tables; do not trust it on columns that are rarely on."
LOOP_SETTINGS = "All graphs of the test are learned with Λ and τ by the default rule."

SCHEMES: Mapping[str, str] = {
    "bootstrap": "rows drawn again with replacement",
    "blocks": "runs of neighbouring rows drawn again",
    "subsample": "random parts of the rows",
    "noise": "correlations shaken by their standard error",
    "orders": "the same data visited in random orders",
}
SUPPORT = (
    "Support is the share of the runs in which a part is found again. It is no probability: the "
    "table says how much of what had such a support was true on graphs whose truth is known."
)
INSTABILITY = (
    "Instability is 1 minus the mean share of edges that a run and this graph have in common: 0 is "
    "always the same, 1 is nothing in common."
)
GROUPS = "Columns that stay together when the graph is learned again on {n} resamples."
ONE_GRAPH = "Communities of this graph alone, which move with every resample."
AGREEMENT = "Agreement with the known groups: {value:.2f} (1 is equal, 0 is chance)."
TOPICS = (
    "A hidden node is a variable that nobody measured. It is known by the columns nearest to it "
    "along the graph; the number behind each is the strength of the path."
)
SAME_GRAPH = (
    "The script gives the graph of this report, bit for bit; its digest is {digest}. It reads the "
    "data from the folder in which it runs."
)
PARTS: Mapping[str, str] = {
    "fit": "fitting probabilities",
    "held_out": "scoring rows kept apart",
    "loops": "testing the loops",
    "groups": "grouping on resampled data",
    "stability": "learning again on resampled data",
}
EXACT = "exact"
APPROXIMATE = "approximate, by loopy belief propagation"
