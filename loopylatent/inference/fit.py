"""Maximum likelihood estimates of the parameters on a given graph (section 6.1).

The paper uses EM with belief propagation; here the likelihood, nearly always exact, is maximised by
gradients.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import FloatArray, Progress
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph, check_graph
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.model import Model
from loopylatent.inference.optimise import Maximum, StepProgress, maximise
from loopylatent.inference.problems import Family, Problem, family_of
from loopylatent.settings import FitSettings
from loopylatent.tables.observations import Observations

SETTLED_TOTAL = 1e-3
"""A fit has converged if 20 steps raise the log-likelihood of all rows by less than this."""


def fit_parameters(
    graph: LatentGraph,
    obs: Observations,
    settings: FitSettings | None = None,
    progress: Progress | None = None,
) -> Model:
    """Fit the parameters of a model on a graph by maximum likelihood.

    Parameters
    ----------
    graph : LatentGraph
        Any graph on columns of ``obs``, with or without hidden nodes.
    obs : Observations
        Binary and categorical columns give a discrete model, continuous and ordinal columns a
        Gaussian one; the two cannot be mixed. Missing values are summed out; weights are used.
    settings : FitSettings, optional
    progress : callable, optional
        Called after each step; may raise to stop.

    Returns
    -------
    Model

    Examples
    --------
    >>> from loopylatent.synthetic import latent_tree
    >>> truth = latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=1)
    >>> model = fit_parameters(truth.graph, truth.sample(500))
    >>> model.kind, model.is_exact, model.converged, model.df
    ('binary', True, True, 15)
    >>> model.hidden_posteriors(truth.sample(40, seed=9)).shape
    (40, 2)
    """
    settings = settings or FitSettings()
    check_graph(graph)
    if graph.n_observed == 0:
        raise InferenceError("The graph has no columns, so there is nothing to fit.")
    with one_thread():
        family = family_of(obs, graph.names, settings)
        problem = family.problem(graph)
        if problem.total_weight <= 0:
            raise InferenceError("The table has no rows of positive weight to fit.")
        best = _best_of_starts(family, problem, settings, progress)
        return model_at(family, problem, best, obs)


def maximise_likelihood(
    problem: Problem,
    start: FloatArray,
    *,
    max_steps: int,
    tolerance: float,
    progress: StepProgress | None = None,
    give_up: Callable[[list[float]], bool] | None = None,
) -> Maximum:
    """Maximise the likelihood of a problem from a start."""
    settled = SETTLED_TOTAL / problem.total_weight
    return maximise(
        problem.evaluate, start, max_steps=max_steps, tolerance=tolerance, settled=settled,
        progress=progress, give_up=give_up,
    )  # fmt: skip


def model_at(family: Family, problem: Problem, end: Maximum, obs: Observations) -> Model:
    """Return the model at a maximum."""
    distribution, graph = family.model(problem, end.point), problem.graph
    exact_fit = not isinstance(problem, DiscreteProblem) or problem.method.is_exact
    chosen = obs if obs.names == graph.names else obs.select(list(graph.names))
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    return Model(
        graph, family.kind, distribution, end.history, end.converged, end.largest_slope,
        "exact" if exact_fit else "lbp", float(weights @ distribution.log_likelihood(chosen)),
        problem.total_weight, family.settings, obs.digest, family.note,
    )  # fmt: skip


def _best_of_starts(
    family: Family, problem: Problem, settings: FitSettings, progress: Progress | None
) -> Maximum:
    rng = np.random.default_rng(settings.seed)
    first = family.start(problem)
    best: Maximum | None = None
    most = settings.n_starts * settings.max_steps
    for k in range(settings.n_starts):
        start = first if k == 0 else family.perturbed(problem, first, rng)
        done = k * settings.max_steps

        def after_step(step: int, _: float, done: int = done) -> None:
            if progress is not None:
                progress(done + step, most)

        steps, tolerance = settings.max_steps, settings.tolerance
        found = maximise_likelihood(
            problem, start, max_steps=steps, tolerance=tolerance, progress=after_step
        )
        if best is None or found.value > best.value:
            best = found
    assert best is not None
    if progress is not None:
        progress(most, most)
    return best
