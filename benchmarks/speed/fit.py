"""Fit of a loopy model compared with LDA on the same rows; likelihoods and posteriors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from benchmarks import TIMING_HEAD, markdown_table, time_variants, timing_rows
from loopylatent.api import learn
from loopylatent.distances.matrix import information_distances
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

TOPICS = PASSES = 20


@dataclass(frozen=True, slots=True)
class Posts:
    """The rows of a newsgroup table and its title."""

    title: str
    rows: Observations


def newsgroup_posts() -> Posts:
    """Return the training half of the paper's data if available, otherwise the bundled sample."""
    folder = os.environ.get("LOOPYLATENT_REPLICATION")
    path = Path(folder or ".") / "newsgroups_choi_split.csv.gz"
    if folder and path.exists():
        frame = pd.read_csv(path)
        half = frame[frame["choi_split"] == "train"]
        rows = Observations.from_frame(half, labels=["choi_split", "newsgroup"])
        return Posts("the training half of the paper's newsgroup posts", rows)
    return Posts("the newsgroup sample", load_sample("newsgroups100_roweislike").observations)


def lda(rows: Observations) -> LatentDirichletAllocation:
    """Fit scikit-learn's batch LDA with 20 topics and exactly 20 passes."""
    model = LatentDirichletAllocation(TOPICS, max_iter=PASSES, evaluate_every=-1, random_state=0)
    return model.fit(rows.dense())


def compare_fits(posts: Posts, graph: LatentGraph, repeats: int = 3) -> str:
    """Compare a fit of the graph to convergence with LDA, on one thread each."""
    model = fit_parameters(graph, posts.rows)
    with threadpool_limits(1):
        timings = time_variants(
            {
                "fit_parameters": lambda: fit_parameters(graph, posts.rows),
                f"LDA, {TOPICS} topics, {PASSES} passes": lambda: lda(posts.rows),
            },
            repeats,
        )
    state = "converged" if model.converged else "not converged"
    return (
        f"{posts.title.capitalize()}, {posts.rows.n_rows:,} rows, {posts.rows.n_columns} columns; "
        f"the graph learned at r = 9, Λ = 0, τ = 0.4 has {graph.n_hidden} hidden nodes, "
        f"{graph.n_edges} edges, treewidth {model.treewidth}; exact likelihood, "
        f"{len(model.history) - 1} steps, {state}; {repeats} repeats.\n\n"
        + markdown_table(TIMING_HEAD, timing_rows(timings, "fit_parameters"))
    )


def compare_scores(posts: Posts, graph: LatentGraph, repeats: int = 3) -> str:
    """Time likelihoods, scores and hidden states of all rows."""
    model = fit_parameters(graph, posts.rows)
    timings = time_variants(
        {
            "log-likelihood of all rows": lambda: model.log_likelihood(posts.rows),
            "the four scores": lambda: model.scores(posts.rows),
            "hidden states of all rows": lambda: model.hidden_posteriors(posts.rows),
        },
        repeats,
    )
    return "The fitted model on the same rows.\n\n" + markdown_table(
        TIMING_HEAD, timing_rows(timings, "log-likelihood of all rows")
    )


def report() -> str:
    posts = newsgroup_posts()
    D = information_distances(posts.rows)
    graph = learn(D, r=9.0, Lambda=0.0, tau=0.4, trace=False).graph
    return "\n\n".join(
        [
            "## Fit",
            compare_fits(posts, graph),
            "## Likelihoods and hidden states",
            compare_scores(posts, graph),
        ]
    )


if __name__ == "__main__":
    print(report())
