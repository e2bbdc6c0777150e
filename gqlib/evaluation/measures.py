r"""Measures of a prediction: MSPBE, exact and from data; errors of values; and LSTD.

The paper (Section 5.1) measures the *empirical* MSPBE. As printed it is ½‖b̂ − Âθ‖²; with its own convention, in which
the fixed point solves Aθ + b = 0, it must be

    ½ ‖b̂_σ + Â_σ θ‖²  in M̂⁺,    Â = mean of e_k(γ mix_k − φ_k)ᵀ,  b̂ = mean of R e_k,  M̂ = mean of φ_k φ_kᵀ

(Eqs. (13)–(14) summed over a trajectory, in the backward view). Beside it are the exact MSPBE of `LinearPrediction` and
two errors of values: to v^π (or q^π), the question that was asked, and to the solution of
v = r + γ[(1−σ)P^π + σP^μ]v, the question that σ answers. A smaller MSPBE means a smaller error only for the latter,
and only up to what the features can represent.
LSTD, θ = −Â⁺b̂, uses all the data together: a floor for learners that see each step once.

Weights are the same to the bit everywhere; these measures are not: matrix products and solutions of equations come from
a linear-algebra library, whose kernels are chosen for the processor. Kernels for processors of 2004 and 2011 changed
the MSPBE of the cart-pole by up to 1.5e-12 of its value, that of Boyan's chain by 5e-16: compare stored measures to
eleven digits, or as `evaluation.grids` stores those of single runs, to 16 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Trajectory
from gqlib.prediction import LinearPrediction

__all__ = [
    "discounted_traces",
    "empirical_moments",
    "empirical_mspbe",
    "exact_mspbe",
    "lstd",
    "mixture_value",
    "value_error",
]


def exact_mspbe(problem: LinearPrediction, theta: ArrayLike, sigma: float, lam: float) -> Array:
    """`problem.mspbe` for weights along the last axis.

    Examples
    --------
    >>> from gqlib.prediction import PredictionProblem
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [1.0], [1.0], 0.5)  # A = −½, b = 1, M = 1
    >>> exact_mspbe(p, [[0.0], [2.0]], 0.5, 0.0).round(4).tolist()
    [0.5, 0.0]
    """
    check.instance("problem", problem, LinearPrediction)
    return half_square(problem.A(sigma, lam), problem.b(sigma, lam), inverse_of_m(problem), theta)


def inverse_of_m(problem: LinearPrediction) -> Array:
    """M⁺, (d, d), column by column through the problem's own solver."""
    return np.column_stack([problem.solve_M(column) for column in np.eye(problem.d)])


def half_square(a: Array, b: Array, inverse: Array, theta: ArrayLike) -> Array:
    """½ gᵀ M⁺ g for g = Aθ + b, for weights along the last axis."""
    residual = _rows("theta", theta, len(b)) @ a.T + b
    return np.asarray(0.5 * ((residual @ inverse) * residual).sum(axis=-1))


def _rows(name: str, weights: ArrayLike, size: int) -> Array:
    """Weights along the last axis; NaN, left by a run that diverged, is passed on."""
    rows = check.reals(name, weights)
    if rows.ndim == 0 or rows.shape[-1] != size or (np.abs(rows) > check.LARGEST).any():
        raise ValueError(
            f"{name} is {check.brief(weights)}; its last axis should hold {size} weights of at most 1e50"
        )
    return rows


def value_error(problem: LinearPrediction, theta: ArrayLike, target: ArrayLike) -> Array:
    """√(‖Φθ − target‖² in Ξ), for weights along the last axis.

    Examples
    --------
    >>> from gqlib.prediction import PredictionProblem
    >>> p = PredictionProblem([[1.0], [1.0]], np.eye(2), np.eye(2), [0.0, 0.0], [0.5, 0.5], 0.5)
    >>> value_error(p, [[0.0], [3.0]], [3.0, -3.0]).round(4).tolist()  # √(½·9 + ½·9), √(½·0 + ½·36)
    [3.0, 4.2426]
    """
    check.instance("problem", problem, LinearPrediction)
    goal = check.array("target", target, (problem.n,))
    gap = _rows("theta", theta, problem.d) @ problem.features.T - goal
    weighed = gap * problem.xi if problem.xi.ndim == 1 else gap @ problem.xi
    return np.asarray(np.sqrt(np.maximum((weighed * gap).sum(axis=-1) / _total(problem), 0.0)))


def _total(problem: LinearPrediction) -> float:
    return float(problem.xi.sum()) if problem.xi.ndim == 1 else 1.0


def mixture_value(problem: LinearPrediction, sigma: float) -> Array:
    """The solution of v = r + γ[(1−σ)P^π + σP^μ]v on the index set, (n,): what the fixed point of σ approximates.

    On pairs it is q of the mixture policy (1−σ)π + σμ; on states with the sampled reward it is not the value of
    any policy unless r^μ = r^π.

    Examples
    --------
    One state and two actions, of which the second pays 1; at σ = ½ the mixture takes it three times in four, so
    v = ¾/(1 − ½).

    >>> from gqlib import FiniteMDP, PredictionProblem
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)
    >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[0.0, 1.0]], np.eye(2))
    >>> mixture_value(p, 0.5).round(4).tolist()
    [0.75, 1.75]
    """
    check.instance("problem", problem, LinearPrediction)
    sigma = check.scalar("sigma", sigma)
    chain = problem.p_pi + sigma * (problem.p_mu - problem.p_pi)
    reward = problem.rewards
    if problem.rewards_pi is not None:
        reward = problem.rewards_pi + sigma * (reward - problem.rewards_pi)
    try:
        return np.asarray(np.linalg.solve(np.eye(problem.n) - problem.gamma * chain, reward))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"sigma is {sigma:g}; there the mixture has no value, the matrix is singular"
        ) from None


Moments = tuple[Array, Array, Array]


def empirical_moments(path: Trajectory, sigma: ArrayLike, lam: float, gamma: float) -> Moments:
    """Â_σ, b̂, M̂ of a trajectory: means of e_k(γ mix_k − φ_k)ᵀ, R e_k and φ_k φ_kᵀ, Eqs. (13)–(14).

    Examples
    --------
    One step from φ = 1 with reward 2 to φ' = 0 or, expected, 1: Â = γ·½ − 1, b̂ = 2, M̂ = 1.

    >>> path = Trajectory(np.ones((1, 1)), np.array([2.0]), np.zeros((1, 1)), np.ones((1, 1)), np.array([False]))
    >>> [moment.ravel().tolist() for moment in empirical_moments(path, 0.5, 0.0, 0.5)]
    [[-0.75], [2.0], [1.0]]
    """
    check.instance("path", path, Trajectory)
    lam, gamma = (
        check.scalar("lam", lam, low=0.0, high=1.0),
        check.scalar("gamma", gamma, low=0.0, high=1.0),
    )
    given = check.reals("sigma", sigma)
    weights = check.array(
        "sigma", np.full(path.reward.shape, given) if given.ndim == 0 else given, path.reward.shape
    )
    mixed = path.phi_next_expected + weights[:, None] * (path.phi_next - path.phi_next_expected)
    traces = discounted_traces(path.phi, path.ends, gamma * lam)
    count = len(path)
    a = traces.T @ (gamma * mixed - path.phi) / count
    return a, traces.T @ path.reward / count, path.phi.T @ path.phi / count


def _moments(moments: Moments) -> Moments:
    if not isinstance(moments, tuple) or len(moments) != 3:
        raise ValueError(
            f"moments is {check.brief(moments)}; it should be the three arrays of empirical_moments"
        )
    size = len(check.array("moments", moments[1], (None,)))
    shapes = ((size, size), (size,), (size, size))
    a, b, m = (
        check.array("moments", part, shape) for part, shape in zip(moments, shapes, strict=True)
    )
    return a, b, m


def discounted_traces(phi: Array, ends: NDArray[np.bool_], decay: float) -> Array:
    """e_k = decay·e_{k−1} + φ_k, (T, d), from zero at the start and after every end.

    Examples
    --------
    >>> discounted_traces(np.ones((3, 1)), np.array([False, True, False]), 0.5).ravel().tolist()
    [1.0, 1.5, 1.0]
    """
    from scipy.signal import lfilter

    phi, decay = check.array("phi", phi, (None, None)), check.scalar("decay", decay)
    cuts = np.flatnonzero(check.array("ends", ends, (len(phi),))[:-1]) + 1
    return np.concatenate(
        [lfilter([1.0], [1.0, -decay], part, axis=0) for part in np.split(phi, cuts)]
    )


def empirical_mspbe(moments: Moments, theta: ArrayLike) -> Array:
    """½‖b̂ + Âθ‖² in M̂⁺, for weights along the last axis (the paper's measure; it prints b̂ − Âθ).

    Examples
    --------
    >>> moments = np.array([[-0.75]]), np.array([2.0]), np.array([[1.0]])
    >>> empirical_mspbe(moments, [[0.0], [4.0]]).tolist()  # ½·2², ½·(2 − 3)²
    [2.0, 0.5]
    """
    a, b, m = _moments(moments)
    return half_square(a, b, np.asarray(np.linalg.pinv(m, hermitian=True), dtype=np.float64), theta)


def lstd(moments: Moments) -> Array:
    """θ = −Â⁺ b̂, the least-norm weights with Âθ + b̂ = 0 (in the least-squares sense where there are none).

    Examples
    --------
    >>> lstd((np.array([[-0.75]]), np.array([2.0]), np.array([[1.0]]))).round(4).tolist()
    [2.6667]
    """
    a, b, _ = _moments(moments)
    return np.asarray(-np.linalg.lstsq(a, b, rcond=None)[0])
