"""What the app says: every symbol and number explained in plain words."""

from __future__ import annotations

R = (
    "**r, the radius.** Around every column, the columns nearer than r form a ball, and each ball "
    "is joined by its shortest tree. A large r makes one tree of everything; a smaller r leaves "
    "the trees local, so that their union can close into loops."
)
LAMBDA = (
    "**Λ (Lambda), the margin.** Four columns vote on who belongs with whom. Λ says by how much a "
    "vote must win to count. Too small, and noise votes; too large, and nobody does. About "
    "0.5/√rows is a good start."
)
TAU = (
    "**τ (tau), the shortest edge.** A hidden node nearer than τ to a neighbour is merged with it. "
    "A larger τ leaves fewer hidden nodes."
)
DISTANCE = (
    "The information distance of two columns is −log of how strongly they go together: 0 when one "
    "determines the other, 0.7 at a correlation of 0.5, 2.3 at 0.1, infinite when they are "
    "independent."
)
MARKS = {
    "r min": "below this radius some column is alone in its ball",
    "r max": "the largest distance: from here on the graph is a tree",
    "noise": "the noise floor: a longer distance cannot be told from independence with this many "
    "rows",
}
BEYOND_NOISE = (
    "r lies beyond the noise floor ({floor:.2f}): balls of this size contain distances that {n:,} "
    "rows cannot tell from independence."
)
STUCK = (
    "In {stuck} of {visits} visits the votes contradicted each other and no pair could be joined. "
    "A larger Λ leaves fewer of those."
)
SNAP = (
    "Move r only to values at which the first graph changes. Between two of them nothing happens."
)
DENSITY = (
    "Counts of the local trees, before hidden nodes are added: edges, cycles, and components "
    "(pieces that are not joined). They are exact at every point. The upright line is the present "
    "r; beyond the noise floor, in the shade, distances cannot be told from chance."
)
PRESETS = {
    "Tree": "r = r max: one tree, no loops; the safe reference",
    "Few loops": "r = 1.5 times the longest link of the shortest tree: where true loops show first",
    "Dense": "the r at which the first graph has most edges",
}
BIC = (
    "A hidden node is kept only if it raises the likelihood by more than its parameters cost "
    "(Bayesian information criterion). That takes seconds to minutes; the plain graph is shown "
    "meanwhile. BIC is not held-out accuracy: with few rows the plain graph may predict better."
)
PARTS: dict[str, int | None] = {
    "all nodes": None,
    "within 1 step": 1,
    "within 2 steps": 2,
    "within 3 steps": 3,
}
RUNS = (25, 50, 100, 200)
"""How many resamples can be asked for."""
METHODS = {"quartet": "quartet votes", "relaxed": "relaxed families", "nj": "neighbor joining"}
METHOD = (
    "How the hidden nodes of a neighbourhood are found.  \n"
    "**Quartet votes** join two nodes where no vote of four separates them; this is the method "
    "with the guarantees.  \n"
    "**Relaxed families**, behind the paper's experiments, are nodes whose distances to the others "
    "differ by nearly a constant; the search for them has random starts.  \n"
    "**Neighbor joining** joins the pair that best fits a tree, again and again, and asks for no "
    "margin."
)
NO_PART = {
    "quartet": "",
    "relaxed": "Λ and τ play no part here: relaxed grouping merges what is nearer than "
    "0.105 (−log 0.9), always.",
    "nj": "Λ plays no part in neighbor joining.",
}
ORDER = {
    "degree": "the best connected columns first",
    "index": "in the order of the columns",
    "random": "at random, by the seed",
}
METRICS = {
    "auto": "by the kinds of the columns",
    "correlation": "correlation (numbers, yes/no)",
    "rank": "rank correlation (ordered answers, outliers)",
    "determinant": "determinant (letters over one alphabet)",
    "determinant-printed": "determinant as printed in the paper (does not add up along paths)",
    "canonical": "canonical correlation (any mixture of kinds)",
}
NOT_ADDITIVE = (
    "These distances do not add up along paths, as the method assumes; read lengths with care."
)
KINDS = {
    "binary": "two values",
    "categorical": "named values without order",
    "ordinal": "few ordered numbers",
    "continuous": "numbers",
}
VIEWS = {
    "Learned graph": "the result: observed and hidden nodes",
    "Local trees": "where it starts: the union of the shortest trees of all balls, no hidden nodes",
    "What changed": "edges that grouping took away and put in",
    "Support": "how often each part came back on resampled data; below the graph, How sure?",
}
TOUR = (
    (
        "What you see",
        "Each round dot is a column of the table. Columns that go together are joined. An orange "
        "diamond is a **hidden** variable that nobody measured: it explains why its neighbours go "
        "together.",
    ),
    (
        "Move a threshold",
        "In the sidebar, **r** is the one to play with: large gives a tree, smaller gives loops. "
        "**Λ** asks for surer votes, **τ** merges hidden nodes that are too near. The graph "
        "follows at once; **Undo** takes a step back.",
    ),
    (
        "Ask a node",
        "Click a node (or find it by name): beside the graph stands what it is, what is near it, "
        "and the loops it lies on. A hidden node can be given a name.",
    ),
    (
        "Use your own table",
        "**Open a file** takes CSV, Excel or Parquet with one row for each observation. Nothing "
        "leaves this computer. **Take it away** has the graph as a file, a picture, a link and a "
        "script.",
    ),
)
