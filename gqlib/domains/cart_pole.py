r"""Linearised cart-pole balancing (Section 5.1; after Dann, Neumann and Peters 2014), in closed form.

State s = (angle, angular velocity, cart position, cart velocity); s' = F s + G a + noise on the cart's velocity.
Reward −100 s_1² − s_3² − 0.1 a². Policies are N(a | Kᵀs, variance) with the gain K of the Riccati equation.

Both policies share K, so the state is the same stable Gaussian autoregression under either, with C = GGᵀ·variance + W:

    s' = S s + noise,   S = F + G Kᵀ,   Cov(noise) = C,   stationary covariance Σ = SΣSᵀ + C.

On the basis f = (1, s_i s_j for i ≤ j) everything is a finite matrix: E[f(s')|s] = f(s) P with
E[s'_i s'_j | s] = (Ss)_i (Ss)_j + C_ij, the Gram matrix Ξ = E[f fᵀ] by Isserlis' theorem, and the value of a policy
the quadratic v = f·(I − γP)⁻¹r. So the same algebra as for finite chains gives A_σ, b and M exactly.

F and G are those of the public code of Dann et al., with its three slips in the textbook linearisation (no g in the
angle's row, friction with the wrong sign there, no time step in −4b/k), since the paper follows that code.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib._objects import ByValue
from gqlib._validate import Array
from gqlib.domains.base import Domain
from gqlib.domains.finite import WeightedTrajectory
from gqlib.prediction import LinearPrediction

__all__ = ["PAIRS", "CartPole", "F", "G", "cart_pole", "riccati_gain"]

POLE_MASS, CART_MASS, LENGTH, FRICTION, GRAVITY, TIME_STEP = 0.5, 0.5, 0.6, 0.1, 9.81, 0.1
_K = 4.0 * CART_MASS - POLE_MASS
F = np.array(
    [
        [1.0, TIME_STEP, 0.0, 0.0],
        [
            TIME_STEP * 3 * (CART_MASS + POLE_MASS) / _K / LENGTH,
            1 + TIME_STEP * 3 * FRICTION / _K,
            0.0,
            0.0,
        ],
        [0.0, 0.0, 1.0, TIME_STEP],
        [TIME_STEP * 3 * POLE_MASS * GRAVITY / _K, -4 * FRICTION / _K, 0.0, 1.0],
    ]
)
G = np.array([0.0, -3 * TIME_STEP / LENGTH / _K, 0.0, 4 * TIME_STEP / _K])
STATE_COST, ACTION_COST = np.array([100.0, 0.0, 1.0, 0.0]), 0.1
NOISE_VARIANCE = 0.01  # on the cart's velocity alone
NOISE_DEVIATION = 0.1
START = np.array([1e-4, 0.0, 0.0, 0.0])
# The Riccati solution at γ = 0.95, written out because its last bits differ between linear-algebra libraries and walks
# must not; a test holds it to scipy's solver.
PUBLIC_GAMMA = 0.95
SMALLEST_GAMMA = 1e-9  # below it, scipy's solver loses every digit
PUBLIC_GAIN = (24.90161760625667, 5.524317360423918, 0.8576217323293819, 1.7219036089723017)
BEHAVIOUR_VARIANCE, TARGET_VARIANCE = 0.01, 0.001
Features = Literal["printed", "squares", "public"]
Policy = Literal["off", "on"]
Reading = Literal["literal", "expected"]
Start = Literal["public", "stationary"]
FEATURES, POLICIES, CART_READINGS = get_args(Features), get_args(Policy), get_args(Reading)
PAIRS = tuple((i, j) for i in range(4) for j in range(i, 4))
WARM_UP = 400  # S has spectral radius 0.945: after 400 steps the start is forgotten to ten digits
# ln 2, and the same in two parts, the first with few bits, so that multiples of it are exact (Cody and Waite).
_LN2, _LN2_HIGH, _LN2_LOW = 0.6931471805599453, 0.693145751953125, 1.4286068203094172e-06
_SCALE_DIGITS = (
    6  # scales are rounded, so that walks do not depend on the last bits of a Lyapunov solver
)


def riccati_gain(gamma: float) -> Array:
    """The optimal gain K, a = Kᵀs, at discount γ, by scipy's Riccati solver.

    Examples
    --------
    >>> riccati_gain(0.95).round(4).tolist()
    [24.9016, 5.5243, 0.8576, 1.7219]
    """
    from scipy.linalg import solve_discrete_are

    gamma = check.scalar("gamma", gamma, low=SMALLEST_GAMMA, high=1.0, open_high=True)
    root, column = sqrt(gamma), G[:, None]
    cost = solve_discrete_are(
        root * F, root * column, np.diag(STATE_COST), np.array([[ACTION_COST]])
    )
    gain = -np.linalg.solve(
        ACTION_COST + gamma * column.T @ cost @ column, gamma * column.T @ cost @ F
    )
    return np.asarray(gain[0])


@dataclass(frozen=True, eq=False)
class Walker(ByValue):
    """A walk and what a learner sees of it, in plain numbers and in a fixed order of operations.

    ρ = ratio[0]·exp(−ratio[1]·z²) for the standardised noise z of an action; `scale` (d,) is what the constant (if
    any) and the squares are divided by; `spread` (4,) is the diagonal of C under the target policy.
    `gqlib.fast.prediction` holds the compiled twin.
    """

    gain: Array
    action_deviation: float
    ratio: tuple[float, float]
    scale: Array
    spread: Array
    expected: bool
    warm_up: int

    @property
    def closed_loop(self) -> Array:
        """S = F + G Kᵀ, (4, 4), entry by entry."""
        return np.asarray(F + G[:, None] * self.gain)

    def walk(self, normals: Array) -> tuple[Array, Array, Array]:
        """States (T + 1, 4), the means S s they came from (T, 4) and rewards (T,), from (T, 2) standard normals."""
        loop, steps = self.closed_loop, len(normals)
        states, means, rewards = np.empty((steps + 1, 4)), np.empty((steps, 4)), np.empty(steps)
        states[0] = START
        for k, (z, w) in enumerate(normals):
            s = states[k]
            means[k] = loop[:, 0] * s[0] + loop[:, 1] * s[1] + loop[:, 2] * s[2] + loop[:, 3] * s[3]
            noise = self.action_deviation * z
            action = (
                self.gain[0] * s[0]
                + self.gain[1] * s[1]
                + self.gain[2] * s[2]
                + self.gain[3] * s[3]
                + noise
            )
            cost = (
                STATE_COST[0] * s[0] * s[0]
                + STATE_COST[2] * s[2] * s[2]
                + ACTION_COST * action * action
            )
            rewards[k] = -cost
            states[k + 1] = means[k] + G * noise
            states[k + 1, 3] += NOISE_DEVIATION * w
        return states, means, rewards

    def features(self, squares: Array) -> Array:
        """(T, d) features of (T, 4) squares."""
        constant = len(self.scale) - 4
        return np.column_stack([np.ones((len(squares), constant)), squares / self.scale[constant:]])

    def see(self, normals: Array, walked: tuple[Array, Array, Array]) -> WeightedTrajectory:
        """What a learner sees of a walk on (warm_up + T, 2) standard normals."""
        states, means, rewards = (part[self.warm_up :] for part in walked)
        phi = self.features(states * states)
        z = normals[self.warm_up :, 0]
        return WeightedTrajectory(
            phi=phi[:-1],
            reward=rewards,
            phi_next=phi[1:],
            phi_next_expected=self.features(means * means + self.spread)
            if self.expected
            else phi[1:],
            ends=np.zeros(len(rewards), dtype=bool),
            rho=self.ratio[0] * exp_of_negative(-self.ratio[1] * z * z),
        )

    def sample(self, steps: int, rng: np.random.Generator) -> WeightedTrajectory:
        """The trajectory that a generator determines."""
        normals = rng.standard_normal((self.warm_up + steps, 2))
        return self.see(normals, self.walk(normals))


def exp_of_negative(x: Array) -> Array:
    """exp(x) for x ≤ 0 to about 1e-15, by halvings and a fixed series: the same bits on every machine."""
    halvings = np.floor(0.5 - x / _LN2)
    rest = (x + halvings * _LN2_HIGH) + halvings * _LN2_LOW
    total = np.ones_like(x)
    for order in range(17, 0, -1):
        total = 1.0 + total * rest / order
    return np.asarray(np.ldexp(total, -halvings.astype(np.int64)))


@dataclass(frozen=True, eq=False, repr=False)
class CartPole(Domain):
    """The cart-pole `Domain`; `truth` holds the coefficients of v^π on the basis (1, s_i s_j).

    Examples
    --------
    >>> pole = cart_pole()
    >>> len(pole.truth), round(float(abs(np.linalg.eigvals(pole.walker.closed_loop)).max()), 3)
    (11, 0.945)
    """

    walker: Walker
    truth: Array
    reading: Reading


def covariance(closed_loop: Array, action_variance: float) -> tuple[Array, Array]:
    """C, the covariance of one step's noise, and Σ, that of the stationary state."""
    from scipy.linalg import solve_discrete_lyapunov

    step = action_variance * np.outer(G, G)
    step[3, 3] += NOISE_VARIANCE
    return step, np.asarray(solve_discrete_lyapunov(closed_loop, step))


def _basis_chain(closed_loop: Array, step: Array) -> Array:
    """P with E[f(s')|s] = f(s) P, (11, 11)."""
    chain = np.zeros((len(PAIRS) + 1, len(PAIRS) + 1))
    chain[0, 0] = 1.0
    for column, (i, j) in enumerate(PAIRS, start=1):
        chain[0, column] = step[i, j]
        product = np.outer(closed_loop[i], closed_loop[j])
        for row, (k, m) in enumerate(PAIRS, start=1):
            chain[row, column] = product[k, m] + (product[m, k] if k != m else 0.0)
    return chain


def _gram(sigma: Array) -> Array:
    """Ξ = E[f fᵀ] for s ~ N(0, Σ), (11, 11): E[s_i s_j s_k s_m] = Σ_ij Σ_km + Σ_ik Σ_jm + Σ_im Σ_jk."""
    first, second = np.array(PAIRS).T
    means = np.concatenate([[1.0], sigma[first, second]])
    gram = np.outer(means, means)
    i, j, k, m = first[:, None], second[:, None], first[None], second[None]
    gram[1:, 1:] += sigma[i, k] * sigma[j, m] + sigma[i, m] * sigma[j, k]
    return gram


def _reward(gain: Array, action_variance: float) -> Array:
    """Coefficients of E[r|s] on the basis, (11,)."""
    quadratic = np.diag(STATE_COST) + ACTION_COST * np.outer(gain, gain)
    entries = [quadratic[i, j] * (1.0 if i == j else 2.0) for i, j in PAIRS]
    return -np.array([ACTION_COST * action_variance, *entries])


def cart_pole(
    *,
    gamma: float = PUBLIC_GAMMA,
    features: Features = "printed",
    policy: Policy = "off",
    reading: Reading = "literal",
    start: Start = "public",
) -> CartPole:
    """Linearised cart-pole as exact moments and as a sampler.

    Parameters
    ----------
    gamma : float in (0, 1)
        0.95 in the public code; the paper gives none for this domain. The gain is optimal for it.
    features : {"printed", "squares", "public"}
        (1, s_1², …, s_4²) as the paper prints; the squares alone; or the squares divided by their standard deviations
        under the behaviour, which is what the public code uses.
    policy : {"off", "on"}
        Off: action variance 0.01 for the behaviour, 0.001 for the target. On: no action noise in either.
    reading : {"literal", "expected"}
        σ has no effect, or weighs φ(S_{k+1}) against E_π[φ(S_{k+1}) | S_k] from the model. Actions are continuous,
        so there is no block for each. In "expected", the reward is still that of the behaviour.
    start : {"public", "stationary"}
        Walks begin at (1e-4, 0, 0, 0), or after a warm-up of 400 steps.

    Returns
    -------
    Domain
        `problem` acts on the basis (1, s_i s_j), with a Gram matrix in place of diag(ξ); `truth` holds the
        coefficients of v^π on it; `theta0` is zero.

    Examples
    --------
    >>> pole = cart_pole()
    >>> pole.problem.fixed_point(1.0, 0.0).round(3).tolist()
    [-1.017, -911.674, 13.068, -14.829, -8.089]
    """
    features = check.choice("features", features, FEATURES)
    policy, reading = (
        check.choice("policy", policy, POLICIES),
        check.choice("reading", reading, CART_READINGS),
    )
    start = check.choice("start", start, get_args(Start))
    gamma = check.scalar("gamma", gamma, low=SMALLEST_GAMMA, high=1.0, open_high=True)
    gain = np.array(PUBLIC_GAIN) if gamma == PUBLIC_GAMMA else riccati_gain(gamma)
    behaviour, target = (BEHAVIOUR_VARIANCE, TARGET_VARIANCE) if policy == "off" else (0.0, 0.0)
    closed_loop = F + G[:, None] * gain
    step_mu, stationary = covariance(closed_loop, behaviour)
    step_pi, _ = covariance(closed_loop, target)
    p_mu = _basis_chain(closed_loop, step_mu)
    p_target = _basis_chain(closed_loop, step_pi)
    phi, scale = _features(features, stationary)
    problem = LinearPrediction(
        features=phi,
        p_mu=p_mu,
        p_pi=p_target if reading == "expected" else p_mu,
        rewards=_reward(gain, behaviour),
        gram=_gram(stationary),
        gamma=gamma,
        p_trace=p_mu,
        rewards_pi=None,
    )
    truth: Array = np.asarray(
        np.linalg.solve(np.eye(len(p_mu)) - gamma * p_target, _reward(gain, target))
    )
    walker = Walker(
        gain=check.frozen(gain),
        action_deviation=sqrt(behaviour),
        ratio=(sqrt(behaviour / target), 0.5 * (behaviour / target - 1.0))
        if target
        else (1.0, 0.0),
        scale=check.frozen(scale),
        spread=check.frozen(np.diag(step_pi).copy()),
        expected=reading == "expected",
        warm_up=0 if start == "public" else WARM_UP,
    )
    name = f"cart_pole({features}, {policy}-policy, {reading}, gamma={gamma:g})"
    theta0 = check.frozen(np.zeros(problem.d))
    return CartPole(name, problem, theta0, walker.sample, walker, check.frozen(truth), reading)


def _features(features: Features, stationary: Array) -> tuple[Array, Array]:
    """Φ on the basis, (11, d), and what each feature is divided by, (d,)."""
    squares = [1 + PAIRS.index((i, i)) for i in range(4)]
    columns = ([0] if features == "printed" else []) + squares
    scale = np.ones(len(columns))
    if features == "public":
        # The variance of s_i² is 2Σ_ii²; the public code estimates its root from samples.
        scale = np.array(
            [float(f"{sqrt(2.0) * stationary[i, i]:.{_SCALE_DIGITS}g}") for i in range(4)]
        )
    phi = np.zeros((len(PAIRS) + 1, len(columns)))
    phi[columns, np.arange(len(columns))] = 1.0 / scale
    return phi, scale
