"""Parameters of an Ising model in the paper's guarantees, and the resulting bounds.

Symbols are the paper's; `assumptions` lists its corrected lines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loopylatent.errors import Remedy, ThresholdError

KAPPA = 0.05
"""Default probability of failure in sample sizes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An open interval."""

    low: float
    high: float

    @property
    def is_empty(self) -> bool:
        return not self.low < self.high

    def __contains__(self, value: float) -> bool:
        return self.low < value < self.high


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The parameters on which the guarantees for an Ising model depend.

    Parameters
    ----------
    theta_min, theta_max : float
        Bounds on the absolute edge potentials.
    degree_min, degree_max : int
        Smallest degree of a hidden node; largest degree of any node.
    girth : float
        Edges on the shortest cycle; infinite for a tree.
    depth : float
        Distance, in edges, of hidden nodes from the columns that reveal them (see `depth`).
    n_observed, n_nodes : int
        Columns (p) and all nodes (m).
    field_max : float
        Largest atanh of a mean in the attractive counterpart; 0 without node potentials.
    decay_constant : float
        C of zeta(l) = C alpha^l, the correlation decay.

    Examples
    --------
    >>> e = Ensemble(0.15, 0.15, 3, 4, girth=100, depth=2, n_observed=200, n_nodes=300)
    >>> round(e.alpha, 3), round(e.d_min, 3), e.eta
    (0.596, 1.905, 1.0)
    >>> [round(end, 2) for end in (e.radius.low, e.radius.high)]
    [7.62, 47.61]
    """

    theta_min: float
    theta_max: float
    degree_min: int
    degree_max: int
    girth: float
    depth: float
    n_observed: int
    n_nodes: int
    field_max: float = 0.0
    decay_constant: float = 1.0

    n_states = 2

    def __post_init__(self) -> None:
        if not 0 < self.theta_min <= self.theta_max:
            raise ThresholdError(
                Remedy("potentials", f"{self.theta_min:g}", f"{self.theta_max:g}"),
                " potentials must be positive, the smaller one first.",
            )
        if not 1 <= self.degree_min <= self.degree_max:
            raise ThresholdError(
                f"Degrees {self.degree_min} to {self.degree_max} are not a range. Give numbers of "
                "at least 1, the smaller one first."
            )
        if self.girth < 3 or self.depth < 1:
            raise ThresholdError(
                f"girth = {self.girth:g}, depth = {self.depth:g}: the girth must be at least 3, "
                "the depth at least 1."
            )
        if not 2 <= self.n_observed <= self.n_nodes:
            raise ThresholdError(
                f"{self.n_observed} columns, {self.n_nodes} nodes: give at least 2 columns and at "
                "least as many nodes."
            )
        if self.field_max < 0 or self.decay_constant <= 0:
            raise ThresholdError(
                f"field_max = {self.field_max:g}, decay_constant = {self.decay_constant:g}: the "
                "first must be at least 0, the second positive."
            )

    @property
    def critical_potential(self) -> float:
        """atanh(1/degree_max): below this potential, correlations decay."""
        return math.inf if self.degree_max == 1 else math.atanh(1 / self.degree_max)

    @property
    def alpha(self) -> float:
        """degree_max tanh(theta_max): correlations decay if it is below 1."""
        return self.degree_max * math.tanh(self.theta_max)

    @property
    def d_min(self) -> float:
        """Length of the strongest edge: largest potential, largest node potentials."""
        return pair_distance(self.theta_max, self.field_max)

    @property
    def d_max(self) -> float:
        """Length of the weakest edge: smallest potential, no node potentials."""
        return pair_distance(self.theta_min, 0.0)

    @property
    def eta(self) -> float:
        """d_max / d_min; 1 if all edges are equal."""
        return self.d_max / self.d_min

    def zeta(self, steps: float) -> float:
        """Effect of the graph beyond ``steps`` edges on the distribution of a pair of columns."""
        if steps == math.inf:
            return 0.0 if self.alpha < 1 else math.inf
        return float(self.decay_constant * self.alpha**steps)

    @property
    def decay(self) -> float:
        """(A3) alpha^(g/2) / theta_min^(eta(eta+1)+2), which must tend to 0 in large graphs."""
        if self.girth == math.inf:
            return 0.0 if self.alpha < 1 else math.inf
        eta = self.eta
        log = self.girth / 2 * math.log(self.alpha)
        return bounded_exp(log - (eta * (eta + 1) + 2) * math.log(self.theta_min))

    @property
    def slack(self) -> float:
        """(A4) g/4 - depth eta (eta+1), which must grow in large graphs."""
        return self.girth / 4 - self.depth * self.eta * (self.eta + 1)

    @property
    def radius(self) -> Interval:
        """(A4), (B3): admissible radii, depth (eta+1) d_max < r < (g/4) d_min."""
        return Interval(self.depth * (self.eta + 1) * self.d_max, self.girth / 4 * self.d_min)

    def upsilon(self, r: float) -> float:
        """(B3) Tolerated error of a distance at this radius, without distortion by cycles."""
        inside = self.radius
        return min(
            self.d_min,
            0.5 * math.exp(-r) * math.expm1(self.d_min),
            self.margin(r),
            inside.high - r,
            r - inside.low,
        )

    def margin(self, r: float) -> float:
        """(B4) Lambda = exp(-d_max/2 (r/d_min + 2))."""
        return math.exp(-self.d_max / 2 * (r / self.d_min + 2))

    @property
    def shortest_edge(self) -> float:
        """(B5) tau = d_min/2 - |X|^2 zeta(g/2 - 1); no guarantee unless positive."""
        return self.d_min / 2 - self.n_states**2 * self.zeta(self.girth / 2 - 1)

    def tolerance(self, r: float) -> float:
        """(B3) upsilon minus the distortion by cycles; no guarantee unless positive."""
        beyond = self.girth / 2 - r / self.d_min - 1
        return self.upsilon(r) - self.n_states**2 * self.zeta(beyond)

    def samples(self, r: float, kappa: float = KAPPA) -> float:
        """Theorem 2: rows that suffice to recover the graph with probability 1 - kappa.

        Infinite if the tolerance at this radius is not positive.
        """
        if not 0 < kappa < 1:
            raise ThresholdError(f"kappa = {kappa:g} is not between 0 and 1. Give a probability.")
        left = self.tolerance(r)
        if left <= 0:
            return math.inf
        logs = 4 * math.log(self.n_observed) + self.n_states * math.log(2) - math.log(kappa / 7)
        return bounded_exp(math.log(2 * self.n_states**2 * logs) - 2 * math.log(left))

    @property
    def growth(self) -> float:
        """Theorem 1: theta_min^(-depth eta (eta+1) - 2) log p, up to a constant."""
        power = self.depth * self.eta * (self.eta + 1) + 2
        return bounded_exp(-power * math.log(self.theta_min)) * math.log(self.n_observed)

    @property
    def best_radius(self) -> float:
        """The radius that requires the fewest rows; the middle of an empty interval."""
        inside = self.radius
        return (inside.low + inside.high) / 2 if inside.is_empty else fewest_samples(self).r


@dataclass(frozen=True, slots=True)
class Need:
    """The fewest rows that Theorem 2 requires, and their radius."""

    r: float
    n: float
    """Infinite if no radius has a positive tolerance."""


def fewest_samples(e: Ensemble, kappa: float = KAPPA) -> Need:
    """Return the radius at which Theorem 2 requires the fewest rows, and that number."""
    inside = e.radius
    if inside.is_empty:
        return Need(e.best_radius if math.isfinite(inside.low) else math.nan, math.inf)
    high = inside.high if math.isfinite(inside.high) else inside.low + 4 * e.d_max
    # Geometric grid: upsilon = r - low near the lower end, but other terms soon take over.
    r = inside.low + (high - inside.low) * np.geomspace(1e-13, 1, 1200)[:-1]
    margin = np.exp(-e.d_max / 2 * (r / e.d_min + 2))
    near = 0.5 * np.exp(-r) * math.expm1(e.d_min)
    upsilon = np.minimum.reduce([margin, near, inside.high - r, r - inside.low]).clip(max=e.d_min)
    with np.errstate(over="ignore"):
        beyond = e.girth / 2 - r / e.d_min - 1
        decay = e.decay_constant * e.alpha**beyond if e.girth < math.inf else e.zeta(math.inf)
    left = upsilon - e.n_states**2 * decay
    best = int(np.argmax(left))
    if not left[best] > 0:
        return Need(float(r[len(r) // 2]), math.inf)
    return Need(float(r[best]), e.samples(float(r[best]), kappa))


def pair_distance(theta: float, field: float = 0.0) -> float:
    """Return -log|correlation| of two nodes, given edge potential and equal node potentials.

    Examples
    --------
    >>> round(pair_distance(0.2), 4) == round(-math.log(math.tanh(0.2)), 4)
    True
    >>> pair_distance(0.2, field=1.0) > pair_distance(0.2)
    True
    """
    equal_up, equal_down, unequal = (
        math.exp(theta + 2 * field), math.exp(theta - 2 * field), math.exp(-theta),
    )  # fmt: skip
    total = equal_up + equal_down + 2 * unequal
    up = (equal_up + unequal) / total
    covariance = equal_up / total - up**2
    return -math.log(abs(covariance) / (up * (1 - up)))


@dataclass(frozen=True, slots=True)
class DepthBound:
    """Lemma 1: the depth is below `depth` with at least this probability."""

    depth: float
    probability: float


def sampled_depth(
    n_nodes: int,
    share: float,
    degree_min: int,
    degree_max: int,
    girth: float,
    epsilon: float | None = None,
) -> DepthBound:
    """Lemma 1: depth if every node is observed with probability ``share``.

    ``epsilon`` is between 0 and max(0, epsilon_0), by default the largest value up to 1.

    Examples
    --------
    >>> sampled_depth(1000, 0.5, 3, 3, girth=20).depth < sampled_depth(1000, 0.1, 3, 3, 20).depth
    True
    """
    if not 0 < share < 1 or degree_min < 3 or degree_max < degree_min or n_nodes < 2:
        raise ThresholdError(
            "Lemma 1 requires a share between 0 and 1, degrees of at least 3 and two nodes; got "
            f"{share:g}, {degree_min} to {degree_max}, {n_nodes}."
        )
    decline = abs(math.log1p(-share))
    reached = (degree_min - 1) ** (girth / 2) if girth < 2000 else math.inf
    largest = (reached * decline - math.log(4 * n_nodes * degree_max)) / math.log(n_nodes)
    chosen = min(1.0, max(0.0, largest)) if epsilon is None else epsilon
    if not 0 <= chosen <= max(0.0, largest):
        raise ThresholdError(f"epsilon = {chosen:g} is not between 0 and {max(0.0, largest):g}.")
    log = math.log(4 * degree_max) + (1 + chosen) * math.log(n_nodes)
    found = math.log(log / decline) / math.log(degree_min - 1)
    return DepthBound(found, 1 - n_nodes**-chosen)


def sampled_growth(n_observed: int, share: float, degree_min: int, degree_max: int) -> float:
    """Rows required under uniform sampling in the best case, up to a constant.

    Delta_max^2 (log p / |log(1-share)|)^(2 log Delta_max / log(Delta_min - 1)) log p; for equal
    degrees close to Delta^2 share^-2 (log p)^3. The paper prints the exponent 4.
    """
    if not 0 < share < 1 or degree_min < 3 or n_observed < 2:
        raise ThresholdError(
            "Uniform sampling requires a share between 0 and 1, degrees of at least 3 and two "
            f"columns; got {share:g}, {degree_min} and {n_observed}."
        )
    power = 2 * math.log(degree_max) / math.log(degree_min - 1)
    logs = math.log(n_observed)
    return degree_max**2 * bounded_exp(power * math.log(logs / abs(math.log1p(-share)))) * logs


def failure_bound(
    n: float,
    n_nodes: int,
    n_observed: int,
    degree_min: int,
    degree_max: int,
    girth: float,
    epsilon: float = 0.0,
    n_states: int = 2,
) -> float:
    """Theorem 3: lower bound on the probability that *any* learner errs by over epsilon m entries.

    From `necessary_samples` rows on it is 0, a trivial bound.
    """
    logs = _log_graphs(n_nodes, degree_min, degree_max, girth, epsilon)
    log_ratio = n * n_observed * math.log(n_states) - logs
    return max(0.0, -math.expm1(min(log_ratio, 0.0)))


def necessary_samples(
    n_nodes: int,
    n_observed: int,
    degree_min: int,
    degree_max: int,
    girth: float,
    epsilon: float = 0.0,
    n_states: int = 2,
) -> float:
    """Theorem 3: with fewer rows, every learner fails on some graph.

    Examples
    --------
    >>> n = necessary_samples(10_000, 100, 3, 3, girth=5)
    >>> failure_bound(n / 2, 10_000, 100, 3, 3, 5) > 0.99, failure_bound(n, 10_000, 100, 3, 3, 5)
    (True, 0.0)
    """
    logs = _log_graphs(n_nodes, degree_min, degree_max, girth, epsilon)
    return max(0.0, logs / (n_observed * math.log(n_states)))


def _log_graphs(m: int, degree_min: int, degree_max: int, girth: float, epsilon: float) -> float:
    """log of the number of graphs, minus that of graphs within epsilon m of one of them."""
    if girth * bounded_exp(girth * math.log(degree_max)) >= m:
        raise ThresholdError(
            f"Theorem 3 requires more than g Δ_max^g nodes; {m} are too few for girth {girth:g} "
            f"and degree {degree_max}."
        )
    rest = math.log(m - girth * degree_max**girth)
    graphs = 0.5 * degree_min * m * (math.log(m) + rest)
    return graphs - (2 * epsilon + 1) * m * math.log(m) - epsilon * m * math.log(3)


def bounded_exp(log: float) -> float:
    """Return e^log, or infinity instead of an overflow."""
    return math.inf if log > 700 else math.exp(log)
