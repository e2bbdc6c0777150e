r"""Finite prediction domains: an MDP, two policies, state features, and a reading of what φ(s, a) means.

The paper's prediction domains have *state* features φ(s), whereas GQ(σ, λ) mixes φ(S_{k+1}, A_{k+1}) with
E_πφ(S_{k+1}, ·), the features of pairs. Three readings bridge the gap:

``literal``
    φ(s, a) = φ(s). Then E_πφ(S_{k+1}, ·) = φ(S_{k+1}): σ has no effect at all.
``expected``
    The expected next state: E_π[φ(S_{k+1}) | S_k] from the model, on the index set of states, which fits the
    paper's |S|×|S| matrices. Needs the model; the reward is still the sampled one.
``stacked``
    φ(s, a) holds φ(s) in the block of action a: a q-function on pairs, |A| times as many weights.

A user's own problem (`gqlib.domains.own`) may also have features of pairs from the start, ``pairs``.
One walk (S_k, A_k) serves all of them, so the readings differ only in what a learner sees.
How an episode ends: `ends_on` marks the states that end it on arrival (the update still sees their features, the trace
resets, and `start` is drawn afresh), `horizon` cuts it after this many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._objects import ByValue
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory
from gqlib.mdp import stationary_distribution
from gqlib.prediction import PredictionProblem

__all__ = ["Chain", "FiniteDomain", "Path", "Tables", "WeightedTrajectory", "build"]

SigmaReading = Literal["literal", "expected", "stacked"]
SIGMA_READINGS = get_args(SigmaReading)
Reading = Literal["pairs"] | SigmaReading
ON_PAIRS = ("stacked", "pairs")  # the readings whose features are those of pairs
Ints = NDArray[np.int64]
# A row of probabilities that falls this little short of one does reach one (rounding in a sum of a few terms).
_WHOLE = 1.0 - 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class WeightedTrajectory(Trajectory):
    """A trajectory that also carries ρ_k = π(A_k|S_k)/μ(A_k|S_k), (T,), for learners that weight by it.

    On a finite MDP it also says where it was: `states` and `actions`, (T,), the numbers of S_k and A_k.

    Examples
    --------
    >>> from gqlib.domains import baird_star
    >>> path = baird_star().trajectory(200, np.random.default_rng(0))
    >>> sorted(set(path.rho.round(4).tolist()))  # dashed 0/(6/7), solid 1/(1/7)
    [0.0, 7.0]
    >>> bool((path.rho == 7.0 * path.actions).all())
    True
    """

    rho: Array
    states: Ints | None = None
    actions: Ints | None = None


@dataclass(frozen=True, eq=False)
class Path(ByValue):
    """A walk of T steps: states and actions (T,), arrivals and the actions taken there (T,), ends (T,) of bool.

    Examples
    --------
    >>> path = Path(*np.array([[0, 0], [0, 0], [1, 1], [0, 0]]), ends=np.array([True, True]))  # two episodes of 0 → 1
    >>> path.states.tolist(), path.arrivals.tolist()
    ([0, 0], [1, 1])
    """

    states: Ints
    actions: Ints
    arrivals: Ints
    next_actions: Ints
    ends: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Chain(ByValue):
    """What a walk needs: P(s'|s,a) (S, A, S), μ (S, A), the start law (S,), where episodes end, and a horizon.

    `horizon` is 0 where no episode is cut.

    Examples
    --------
    Two states that lead to each other; an episode ends on arrival in the second, if so specified.

    >>> moves, only, first = np.array([[[0.0, 1.0]], [[1.0, 0.0]]]), np.ones((2, 1)), np.array([1.0, 0.0])
    >>> for ends_on in ([False, False], [False, True]):
    ...     chain = Chain(moves, only, first, np.array(ends_on))
    ...     chain.has_episodes, chain.walk(np.full((5, 3), 0.5)).states.tolist()
    (False, [0, 1, 0, 1])
    (True, [0, 0, 0, 0])
    """

    transitions: Array
    mu: Array
    start: Array
    ends_on: NDArray[np.bool_]
    horizon: int = 0
    cumulative: tuple[Array, Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sums = tuple(np.cumsum(law, axis=-1) for law in (self.start, self.mu, self.transitions))
        for table in sums:
            table[table > _WHOLE] = 1.0
        object.__setattr__(self, "cumulative", sums)

    @property
    def has_episodes(self) -> bool:
        """Whether walks end and start afresh."""
        return bool(self.ends_on.any()) or self.horizon > 0

    def walk(self, draws: Array) -> Path:
        """The path that (T + 1, 3) uniform numbers determine: arrival, action, and a new start where one is needed.

        `gqlib.fast.prediction` holds the compiled twin.
        """
        start, mu, after = self.cumulative
        steps = len(draws) - 1
        states, actions, arrivals, next_actions = np.empty((4, steps), dtype=np.int64)
        ends = np.empty(steps, dtype=bool)
        state = int(np.searchsorted(start, draws[0, 2], side="right"))
        action, age = int(np.searchsorted(mu[state], draws[0, 1], side="right")), 0
        for k in range(steps):
            states[k], actions[k] = state, action
            to_state, to_action, again = draws[k + 1]
            state = int(np.searchsorted(after[state, action], to_state, side="right"))
            action, age = int(np.searchsorted(mu[state], to_action, side="right")), age + 1
            arrivals[k], next_actions[k] = state, action
            ends[k] = self.ends_on[state] or age == self.horizon
            if ends[k]:
                state, age = int(np.searchsorted(start, again, side="right")), 0
                action = int(np.searchsorted(mu[state], to_action, side="right"))
        return Path(states, actions, arrivals, next_actions, ends)


@dataclass(frozen=True, eq=False)
class Tables(ByValue):
    """What a learner sees on a path: `phi` of each (state, action), what follows it, and ρ.

    phi : (S, A, d);  expected : (S, A, d) by departure, or (S, d) by arrival;  rewards : (S, A);  rho : (S, A).

    Examples
    --------
    >>> from gqlib.domains import baird_star
    >>> star = baird_star()
    >>> star.tables.phi.shape, star.tables.rho[0].round(4).tolist()
    ((7, 2, 8), [0.0, 7.0])
    >>> len(star.tables.trajectory(star.chain.walk(np.full((4, 3), 0.5))))
    3
    """

    phi: Array
    expected: Array
    rewards: Array
    rho: Array

    def trajectory(self, path: Path) -> WeightedTrajectory:
        """The rows of the tables along a path."""
        here = (path.states, path.actions)
        return WeightedTrajectory(
            phi=self.phi[here],
            reward=self.rewards[here],
            phi_next=self.phi[path.arrivals, path.next_actions],
            phi_next_expected=self.expected[here]
            if self.expected.ndim == 3
            else self.expected[path.arrivals],
            ends=path.ends,
            rho=self.rho[here],
            states=path.states,
            actions=path.actions,
        )


@dataclass(frozen=True, eq=False, repr=False)
class FiniteDomain(Domain):
    """A `Domain` on a finite MDP that knows its walk, its tables and its true values.

    Examples
    --------
    >>> from gqlib.domains import boyan_chain
    >>> boyan_chain(states=4, gamma=1.0).truth.tolist()  # −2(n − i)
    [-6.0, -4.0, -2.0, 0.0]
    """

    chain: Chain
    tables: Tables
    values: Callable[[], Array] = field(compare=False)
    reading: Reading

    @property
    def truth(self) -> Array:
        """v^π on states (or q^π on pairs, `stacked`), one entry per index of `problem`."""
        return self.values()


def fixed_order_product(matrix: Array, columns: Array) -> Array:
    """`matrix @ columns` summed in index order, so that its bits do not depend on a BLAS."""
    total = np.zeros((*matrix.shape[:-1], columns.shape[1]))
    for j in range(len(columns)):
        total += matrix[..., j, None] * columns[j]
    return total


def _tables(features: Array, chain: Chain, pi: Array, rewards: Array, reading: Reading) -> Tables:
    n_states, n_actions = chain.mu.shape
    if reading in ON_PAIRS:
        blocks = features
        if reading == "stacked":
            blocks = np.eye(n_actions)[None, :, :, None] * features[:, None, None, :]
        phi = blocks.reshape(n_states, n_actions, -1)
        expected = (pi[:, :, None] * phi).sum(axis=1)
    else:
        phi = np.repeat(features[:, None, :], n_actions, axis=1)
        expected = features
        if reading == "expected":
            under_pi = fixed_order_product(_state_chain(chain, pi), features)
            expected = np.repeat(under_pi[:, None, :], n_actions, axis=1)
    rho = np.divide(pi, chain.mu, out=np.zeros_like(pi), where=chain.mu > 0)
    return Tables(phi, expected, rewards, rho)


def _state_chain(chain: Chain, policy: Array) -> Array:
    return np.asarray((policy[:, :, None] * chain.transitions).sum(axis=1))


def _problem(
    features: Array, chain: Chain, pi: Array, rewards: Array, gamma: float, reading: Reading
) -> PredictionProblem:
    """The exact problem that walks of `chain` sample, on states or, stacked, on pairs s·A + a."""
    n_states, n_actions = chain.mu.shape
    p_mu: Array
    p_pi: Array
    p_trace: Array
    if reading in ON_PAIRS:
        size = n_states * n_actions
        p_mu, p_pi = (
            (chain.transitions[:, :, :, None] * policy).reshape(size, size)
            for policy in (chain.mu, pi)
        )
        rows = features
        if reading == "stacked":
            rows = np.einsum("ab,sd->sabd", np.eye(n_actions), features).reshape(size, -1)
        start, reward = (chain.start[:, None] * chain.mu).ravel(), rewards.ravel()
        ends = np.repeat(chain.ends_on, n_actions)
    else:
        p_mu = _state_chain(chain, chain.mu)
        p_pi = _state_chain(chain, pi) if reading == "expected" else p_mu
        rows, start, reward, ends = (
            features,
            chain.start,
            (chain.mu * rewards).sum(axis=1),
            chain.ends_on,
        )
    p_trace = p_mu
    if ends.any():
        p_trace = np.where(ends, 0.0, p_mu)
        p_mu, p_pi, p_trace = (np.where(ends[:, None], 0.0, p) for p in (p_mu, p_pi, p_trace))
    if chain.horizon:
        # The index becomes (age, index): ages 0..T−1 are visited, age T holds what the last update sees.
        later = np.eye(chain.horizon + 1, k=1)
        p_mu, p_pi = (np.asarray(np.kron(later, p), dtype=np.float64) for p in (p_mu, p_pi))
        rows = np.tile(rows, (chain.horizon + 1, 1))
        alive = np.eye(chain.horizon + 1, k=1)
        alive[-2] = 0.0
        p_trace = np.asarray(np.kron(alive, p_trace), dtype=np.float64)
        start = np.concatenate([start, np.zeros(len(p_mu) - len(start))])
        reward = np.tile(reward, chain.horizon + 1)
    if chain.has_episodes:
        visits = np.linalg.solve(np.eye(len(p_trace)) - p_trace.T, start)
        xi = np.clip(visits, 0.0, None) / visits.sum()
    else:
        xi = stationary_distribution(p_mu)
    return PredictionProblem(rows, p_mu, p_pi, reward, xi, gamma, p_trace=p_trace)


def build(
    name: str,
    chain: Chain,
    pi: Array,
    features: Array,
    rewards: Array,
    gamma: float,
    theta0: Array,
    reading: SigmaReading,
    values: Callable[[], Array],
) -> FiniteDomain:
    """A finite domain in one of the readings.

    Parameters
    ----------
    features : (S, d), rewards : (S, A)
    theta0 : (d,)
        Repeated for each block in the stacked reading.
    values : callable
        Returns q^π, (S, A): called only when `truth` is asked for (it need not exist at γ = 1).

    Examples
    --------
    One state and two actions, the second of which pays 1 and is always taken by π: q = (γ·2, 2) at γ = ½.

    >>> chain = Chain(np.ones((1, 2, 1)), np.array([[0.5, 0.5]]), np.ones(1), np.zeros(1, dtype=bool))
    >>> pays, q = np.array([[0.0, 1.0]]), np.array([[1.0, 2.0]])
    >>> coin = build("coin", chain, pays, np.ones((1, 1)), pays, 0.5, np.zeros(1), "stacked", lambda: q)
    >>> coin.problem.fixed_point(0.0, 0.0).round(4).tolist(), coin.truth.tolist()
    ([1.0, 2.0], [1.0, 2.0])
    """
    check.choice("reading", reading, SIGMA_READINGS)
    return assemble(name, chain, pi, features, rewards, gamma, theta0, reading, values)


def assemble(
    name: str,
    chain: Chain,
    pi: Array,
    features: Array,
    rewards: Array,
    gamma: float,
    theta0: Array,
    reading: Reading,
    values: Callable[[], Array],
) -> FiniteDomain:
    """What `build` does, also for features of pairs, (S·A, d)."""
    tables = _tables(features, chain, pi, rewards, reading)
    blocks = chain.mu.shape[1] if reading == "stacked" else 1

    return FiniteDomain(
        name=name,
        problem=_problem(features, chain, pi, rewards, gamma, reading),
        theta0=check.frozen(np.tile(theta0, blocks)),
        sampler=partial(_sample, chain, tables),
        chain=chain,
        tables=tables,
        values=partial(_truth, values, pi, reading, chain.horizon),
        reading=reading,
    )


def _truth(values: Callable[[], Array], pi: Array, reading: Reading, horizon: int) -> Array:
    q = values()
    per_index = q.ravel() if reading in ON_PAIRS else (pi * q).sum(axis=1)
    return np.asarray(np.tile(per_index, horizon + 1))


def _sample(
    chain: Chain, tables: Tables, steps: int, rng: np.random.Generator
) -> WeightedTrajectory:
    return tables.trajectory(chain.walk(rng.random((steps + 1, 3))))
