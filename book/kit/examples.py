r"""The small examples that chapters share with their live figures.

*Bias and variance*: with ν_σ = (1−σ)π + σμ the fixed point is q^{ν_σ} (after Eq. (16)), so

    bias²    = Σ_i ξ_i (q^{ν_σ}_i − q^π_i)²,
    variance = Σ_i ξ_i Var(δ | i) / (1 − γ²λ²),    Var(δ | i) = γ² Var[σq(S', A') + (1−σ)Σ_a π(a|S') q(S', a) | i],

the second being that of one λ-return, Eq. (11): at the fixed point its errors δ_k have mean zero given the past, and
ξ is stationary, so their variances add up with weights (γλ)^{2k}.

*The machine with few weights* (Eq. (16)): with a table the resting point is q^{ν_σ}, whatever λ is; with fewer weights it
is Φθ_*, where A_σθ_* + b = 0 and Φ holds the features of the six pairs:

    three weights   a constant; *is it a repair?*; how worn the machine is when it runs (0, ½, 1)
    two weights     *does it run?*; *is it a repair?*
    one weight      2 where the plan would do the same, 1 elsewhere

*The repair*: with a small step size α the weights stray around their fixed point θ_σ, and the mean squared error against
q^π is, to first order in α,

    Σ_i ξ_i (φ_iᵀθ_σ − q^π_i)² + α tr(MΣ),        JΣ + ΣJᵀ + Γ = 0,

with the long-run covariance Γ of `gqlib.long_run` and J = J(η) of (θ, ω) at η = 4. The first part is the bias, squared.
For the repaired method (`gqlib.learners.corrected`) it is free of σ, and the second part is a parabola in σ.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import sympy as sp

from gqlib import _validate as check
from gqlib import symbolic
from gqlib._validate import Array
from gqlib.domains import random_mdp, random_policy
from gqlib.domains.machine import CREW, PLAN, machine, machine_mdp
from gqlib.domains.random_problems import domain_on_pairs
from gqlib.domains.two_state import two_state
from gqlib.learners.corrected import CorrectedProblem, variant_tables
from gqlib.long_run import joint_noise, long_run_covariance, stationary_error
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem
from gqlib.stability import joint_matrix
from gqlib.symbolic import GAMMA, LAM, SIGMA

# ---------------------------------------------------------------- bias and variance of a return

COIN = ((0.5, 0.5), (0.5, 0.5))
KEEP = ((1.0, 0.0), (1.0, 0.0))


def small_mdp(gamma: float = 0.9) -> FiniteMDP:
    """Two states, two actions: *keep* stays with probability ¾, *toss* lands in either state with probability ½.

    Keeping pays 0 in state 1 and 1 in state 2, tossing the other way round: keeping (the target policy) makes
    the two states as different as they can be, and choosing by a coin (the behaviour) makes them alike.

    Examples
    --------
    >>> small_mdp().q(KEEP).round(4).tolist()
    [[4.0909, 5.5], [5.9091, 4.5]]
    """
    transitions = [[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]]
    return FiniteMDP(transitions, [[0.0, 1.0], [1.0, 0.0]], gamma)


@cache
def bias_and_variance() -> tuple[sp.Expr, sp.Expr, sp.ImmutableMatrix]:
    """bias² and variance of the λ-return of `small_mdp` as functions of σ, λ and γ, and q^{ν_σ}; μ = COIN, π = KEEP.

    Examples
    --------
    >>> bias, variance, _ = bias_and_variance()
    >>> bias.subs(SIGMA, 0), sp.cancel(variance.subs(SIGMA, 0)) == 0  # at σ = 0 no bias, but S' is still random
    (0, False)
    """
    table = [[float(i == j) for j in range(4)] for i in range(4)]
    twin = symbolic.twin(PredictionProblem.on_pairs(small_mdp(0.5), COIN, KEEP, table))

    def q(sigma: Any) -> sp.Matrix:
        mixed = twin.p_pi + sigma * (twin.p_mu - twin.p_pi)
        return symbolic.solve(sp.eye(4) - GAMMA * mixed, twin.rewards)

    value = q(SIGMA)
    bias = (value - q(sp.Integer(0))).applyfunc(sp.factor)
    # What stands in for the next pair (s', a') in δ: σq(s', a') + (1−σ)Σ_a π(a|s') q(s', a), and π always keeps.
    target = sp.Matrix([SIGMA * value[i] + (1 - SIGMA) * value[i - i % 2] for i in range(4)])
    mean = twin.p_mu * target
    spread = sum(
        twin.xi[i] * twin.p_mu[i, j] * sp.factor(target[j] - mean[i]) ** 2
        for i in range(4)
        for j in range(4)
    )
    squared = sum(twin.xi[i] * bias[i] ** 2 for i in range(4))
    variance = GAMMA**2 * sp.factor(spread) / (1 - GAMMA**2 * LAM**2)
    return sp.factor(squared), variance, sp.ImmutableMatrix(value.applyfunc(sp.factor))


# ---------------------------------------------------------------- the machine with few weights

FLAGS = ((1.0, 0.0), (0.0, 1.0)) * 3
_WEAR = (
    (1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0),
    (1.0, 0.0, 0.5),
    (1.0, 1.0, 0.0),
    (1.0, 0.0, 1.0),
    (1.0, 1.0, 0.0),
)
_ALIKE = tuple((2.0,) if planned else (1.0,) for planned in PLAN.ravel())
Weights = Literal["table", "three weights", "two weights", "one weight"]
WEIGHTS = get_args(Weights)
_FEATURES = dict(zip(WEIGHTS, (np.eye(6).tolist(), _WEAR, FLAGS, _ALIKE), strict=True))
Bowl = Literal["machine, run and repair", "machine, 1 and repair", "two states"]
BOWLS = get_args(Bowl)
_LEANING = ((1.0, 0.0), (1.0, 1.0)) * 3


def machine_weights(weights: Weights, gamma: float = 0.95) -> PredictionProblem:
    """The machine with a table, or with three, two weights or one.

    Parameters
    ----------
    weights : {"table", "three weights", "two weights", "one weight"}
    gamma : float in [0, 1)

    Examples
    --------
    The guess for running a new machine, where the plan's value is 45.03:

    >>> for weights in WEIGHTS:
    ...     problem = machine_weights(weights)
    ...     print(weights, (problem.features @ problem.fixed_point(0.0, 0.0))[0].round(2))
    table 45.03
    three weights 44.27
    two weights 22.99
    one weight -16.93
    """
    kind = check.choice("weights", weights, WEIGHTS)
    return PredictionProblem.on_pairs(machine_mdp(gamma), CREW, PLAN, _FEATURES[kind])


def bowl_problem(name: Bowl, gamma: float = 0.95) -> PredictionProblem:
    """One of the three problems with two weights.

    Parameters
    ----------
    name : {"machine, run and repair", "machine, 1 and repair", "two states"}
    gamma : float in [0, 1)

    Examples
    --------
    >>> for name in BOWLS:
    ...     print(name, round(bowl_problem(name).mspbe([2.0, 1.0], 0.0, 0.0), 3))
    machine, run and repair 1.097
    machine, 1 and repair 3.289
    two states 0.061
    """
    kind = check.choice("name", name, BOWLS)
    if kind == "two states":
        problem = two_state(gamma).problem
        assert isinstance(
            problem, PredictionProblem
        )  # on a finite index set, unlike the problem of a general domain
        return problem
    features = FLAGS if kind == BOWLS[0] else _LEANING
    return PredictionProblem.on_pairs(machine_mdp(gamma), CREW, PLAN, features)


# ---------------------------------------------------------------- two logbooks of sixty steps

WALK = "lrlrrrlrrrrllrrrlrrrrlrrrrllrrlrrrlrrrrlllllllrrrrlllllrrlrlr"
"""The actions of the fixed walk of the two-state example; the last one is looked at and not taken."""
Logbook = Literal["two states", "machine"]
LOGBOOKS = get_args(Logbook)
STARTS = {"two states": (2.0, 0.0), "machine": (10.0, 20.0)}
_STEPS, _SEED = 60, 1


def logbook(name: Logbook) -> Array:
    """Sixty lines of φ (two numbers), R, φ' (two) and E_πφ(S', ·) (two).

    Parameters
    ----------
    name : {"two states", "machine"}

    Examples
    --------
    >>> logbook("two states")[0].tolist()  # in state 1: left, −½; then right
    [0.0, 1.0, -0.5, 1.0, 0.0, 1.0, 0.0]
    """
    if check.choice("name", name, LOGBOOKS) == "machine":
        domain = domain_on_pairs(machine_mdp(), CREW, PLAN, FLAGS)
        log = domain.trajectory(_STEPS, np.random.default_rng(_SEED))
        return np.column_stack([log.phi, log.reward, log.phi_next, log.phi_next_expected])
    lines, state = [], 1
    for action, following in itertools.pairwise(WALK):
        after, reward = (2, 1.0) if action == "r" else (1, -0.5)
        pairs = ((state, action), (after, following))
        here, there = ([float(s), 0.0] if a == "r" else [0.0, float(s)] for s, a in pairs)
        lines.append([*here, reward, *there, float(after), 0.0])
        state = after
    return np.array(lines)


# ---------------------------------------------------------------- the repair: bias, and noise by step size

ETA = 4.0
SIGMAS = tuple(k / 20 for k in range(21))
LAMS = tuple(k / 10 for k in range(10))
CaseName = Literal["machine, table", "machine, three features", "random, three features"]
Compared = Literal["paper", "corrected"]
CASES, COMPARED = get_args(CaseName), get_args(Compared)


@dataclass(frozen=True)
class Case:
    """An MDP, its two policies, and the problem on pairs with its features.

    Examples
    --------
    >>> case("machine, table").problem.d
    6
    """

    mdp: FiniteMDP
    mu: Array
    pi: Array
    problem: PredictionProblem


def case(name: CaseName) -> Case:
    """One of the three cases of the figure.

    The random one has four states, two actions and three features; μ takes no action with a probability below 0.1.

    Parameters
    ----------
    name : str
        One of `CASES`.

    Examples
    --------
    >>> round(float(case("random, three features").mu.min()), 2) >= 0.1
    True
    """
    return _case(check.choice("name", name, CASES))


@cache
def _case(chosen: CaseName) -> Case:
    if chosen == CASES[2]:
        rng = np.random.default_rng(8)
        mdp = random_mdp(rng, 4, 2, 0.9, concentration=0.3)
        mu, pi = 0.1 + 0.8 * random_policy(rng, 4, 2), random_policy(rng, 4, 2, concentration=0.3)
        phi = rng.standard_normal((8, 3))
    else:
        mdp, mu, pi = machine_mdp(), CREW, PLAN
        phi = np.asarray(
            machine(features="table" if chosen == CASES[0] else "wear").problem.features
        )
    return Case(mdp, mu, pi, PredictionProblem.on_pairs(mdp, mu, pi, phi))


def errors(name: CaseName, variant: Compared, sigma: float, lam: float) -> tuple[float, float]:
    """Squared bias against q^π, and variance over α, of one method; both averaged over the visits of μ.

    Parameters
    ----------
    name : str
        One of `CASES`.
    variant : {"paper", "corrected"}
    sigma, lam : float

    Examples
    --------
    In a table the repaired method has no bias, and σ = 1 is far noisier than σ = 0.

    >>> [[round(x, 2) + 0.0 for x in errors("machine, table", "corrected", s, 0.0)] for s in (0.0, 1.0)]
    [[0.0, 0.53], [0.0, 840.41]]
    """
    chosen = case(name)
    variant = check.choice("variant", variant, COMPARED)
    problem, phi = chosen.problem, chosen.problem.features
    mean = CorrectedProblem.of(problem) if variant == "corrected" else problem
    theta = mean.fixed_point(sigma, lam)
    u = variant_tables(chosen.mdp, chosen.mu, chosen.pi, phi, sigma, variant).u
    gamma = long_run_covariance(problem, u, theta, lam)
    variance = stationary_error(
        problem, joint_matrix(mean, sigma, lam, ETA), joint_noise(gamma, ETA)
    )
    return float(problem.xi @ (phi @ theta - chosen.mdp.q(chosen.pi).ravel()) ** 2), variance


def parabola(name: CaseName, lam: float) -> tuple[float, float, float]:
    """The variance of the repaired method over α as c0 + c1 σ + c2 σ², from its values at σ = 0, ½ and 1.

    Parameters
    ----------
    name : str
        One of `CASES`.
    lam : float

    Examples
    --------
    >>> c0, c1, c2 = parabola("random, three features", 0.9)
    >>> round(-c1 / (2 * c2), 2)  # the σ of least noise
    0.49
    """
    low, middle, high = (errors(name, "corrected", sigma, lam)[1] for sigma in (0.0, 0.5, 1.0))
    c2 = 2.0 * (high - 2.0 * middle + low)
    return low, high - low - c2, c2
