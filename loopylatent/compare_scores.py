"""How well compared settings explain the rows that they were learned from, and rows kept apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.inference import fit_parameters
from loopylatent.learn import learn
from loopylatent.regularize import learn_regularized
from loopylatent.settings import LearnSettings
from loopylatent.sweep_scores import Split

Progress = Callable[[int, int], None]
"""Called now and then while a model is fitted; may raise to stop."""


@dataclass(frozen=True, slots=True)
class ComparedScores:
    """Scores of one setting; log-likelihoods are for one row, higher is better.

    Parameters
    ----------
    log_likelihood, bic : float
        Of the graph as it is shown, fitted to all rows; BIC divided by the number of rows.
    df : int
    is_exact : bool
        Whether likelihoods are exact, or by loopy belief propagation.
    held_out : float
        Of rows kept apart, after learning and fitting at this setting on the others.
    n_held_out : int
    """

    log_likelihood: float
    bic: float
    df: int
    is_exact: bool
    held_out: float
    n_held_out: int


def compared_scores(
    graph: LatentGraph,
    obs: Observations,
    D: DistanceMatrix,
    settings: LearnSettings,
    *,
    regularize: bool = False,
    split: Split | None = None,
    progress: Progress | None = None,
) -> ComparedScores | str:
    """Score a graph and the setting that gave it; a text says why that cannot be done.

    Examples
    --------
    >>> from loopylatent.distances import information_distances
    >>> from loopylatent.settings import LearnSettings
    >>> from loopylatent.synthetic import latent_cycle
    >>> from loopylatent.thresholds import default_thresholds
    >>> obs = latent_cycle(girth=6, seed=1).sample(500)
    >>> D = information_distances(obs)
    >>> settings = LearnSettings(default_thresholds(D))
    >>> scores = compared_scores(learn(D, settings).graph, obs, D, settings)
    >>> scores.is_exact, scores.n_held_out, scores.held_out < 0
    (True, 150, True)
    """
    try:
        rows = obs.select(list(D.names))
        model = fit_parameters(graph, rows, progress=progress)
        parts = Split.of(obs, D) if split is None else split
        own = parts.train
        if regularize:
            again = learn_regularized(parts.D, own, settings, progress=progress).graph
        else:
            again = learn(parts.D, settings, trace=False, progress=progress).graph
        foretelling = fit_parameters(again, own, progress=progress)
        test = foretelling.scores(parts.test, seed=parts.seed)
    except LoopyLatentError as error:
        return str(error)
    return ComparedScores(
        model.train_log_likelihood / model.n_samples,
        model.train_bic / model.n_samples,
        model.df,
        model.is_exact and foretelling.is_exact,
        test.log_likelihood / test.n_samples,
        round(test.n_samples),
    )
