r"""How fast ω must be: the step ratio η = β/α of GQ(σ, λ), Theorem 1 and Lemma 1.

The mean of the updates (25)–(26) is linear in (θ, ω) with

    J(η) = [[A, −(M + Aᵀ)], [ηA, −ηM]],        det(J − sI) = det(s²I + s(ηM − A) + ηAAᵀ).

*Sufficient.* Let s be an eigenvalue and x, ‖x‖ = 1, a null vector of the pencil: s² + s(p + iq) + η‖Aᵀx‖² = 0 with
p = x*(ηM − (A + Aᵀ)/2)x. The product of the two roots is positive, so their real parts have the same sign, and they
sum to −p. Hence J is Hurwitz if A is regular and

    η > λ_max(M⁻¹(A + Aᵀ)/2).                                                       (sufficient_eta)

*Necessary.* The eigenvalues of J sum to tr A − η tr M, so a stable J has

    η > tr A / tr M.                                                                (necessary_eta)

For one feature the two coincide. *Limits.* As η → 0 the eigenvalues of J tend to those of A and to η times those of A:
GQ is stable exactly where semi-gradient TD is. As η → ∞ they tend to −η times those of M and to those of −AᵀM⁻¹A,
all negative. Where Φ is rank-deficient, everything is to be read on its row space.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP
from gqlib.prediction import LinearPrediction, PredictionProblem
from gqlib.rounding import EPS
from gqlib.stability import (
    ROUNDING,
    bialternate,
    joint,
    pencil_roots,
    sign_changes,
    spectral_abscissa,
)

__all__ = [
    "eta_crossings",
    "eta_star",
    "mean_matrices",
    "necessary_eta",
    "pencil",
    "rare_action_problem",
    "search_rare_action",
    "sufficient_eta",
]

# Step ratios tried besides the exact candidates, as multiples of the size of A relative to M.
GRID = np.geomspace(1e-6, 1e3, 256)


def mean_matrices(
    problem: LinearPrediction, sigma: float, lam: float
) -> tuple[Array, Array, Array]:
    """A_σ, M and γE[v_σ] on the row space of Ξ^½Φ, in orthonormal coordinates.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> a, m, v = mean_matrices(two_state(0.9).problem, 0.0, 0.0)
    >>> bool(np.allclose(v, m + a.T))
    True
    """
    check.instance("problem", problem, LinearPrediction)
    rows = problem.row_basis
    if not len(rows):
        raise ValueError(
            "problem has no feature but zero where xi is positive; it should have some, or no η matters"
        )
    whole = (problem.A(sigma, lam), problem.M, problem.gamma_v(sigma, lam))
    a, m, v = (np.asarray(rows @ matrix @ rows.T) for matrix in whole)
    return a, m, v


def pencil(a: ArrayLike, m: ArrayLike, eta: float, s: complex) -> NDArray[np.complex128]:
    """s²I + s(ηM − A) + ηAAᵀ, whose determinant is det(J(η) − sI).

    Examples
    --------
    >>> a, m = np.array([[1.0]]), np.array([[2.0]])
    >>> float(pencil(a, m, 3.0, 1.0)[0, 0].real), round(float(np.linalg.det(joint(a, m, m + a.T, 3.0) - np.eye(2))), 9)
    (9.0, 9.0)
    """
    a = check.array("a", a, (None, None))
    a, m = check.array("a", a, (len(a), len(a))), check.array("m", m, (len(a), len(a)))
    eta, s = (
        check.scalar("eta", eta),
        complex(check.scalar("s", np.real(s)), check.scalar("s", np.imag(s))),
    )
    return np.asarray(
        s**2 * np.eye(len(a)) + s * (eta * m - a) + eta * a @ a.T, dtype=np.complex128
    )


def _needs_proposition_1(a: Array, m: Array, v: Array) -> None:
    gap = float(np.abs(v - m - a.T).max())
    if gap > np.sqrt(EPS) * float(np.abs(v).max(initial=1.0)):
        raise ValueError(
            f"problem has a γE[v] that differs from M + Aᵀ by {gap:.3g}; it should be equal (the trace is cut "
            "where the update goes on), or the bound does not apply"
        )


def sufficient_eta(problem: LinearPrediction, sigma: float, lam: float) -> float:
    """max(0, λ_max(M⁻¹(A + Aᵀ)/2)): every larger η makes J(η) Hurwitz, if A is regular on the row space.

    Raises
    ------
    ValueError
        If γE[v] ≠ M + Aᵀ, so that the mean update is not a gradient.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> round(sufficient_eta(two_state(0.99).problem, 0.0, 0.0), 4)
    0.2581
    """
    a, m, v = mean_matrices(problem, sigma, lam)
    _needs_proposition_1(a, m, v)
    return max(0.0, float(eigh((a + a.T) / 2.0, m, eigvals_only=True)[-1]))


def necessary_eta(problem: LinearPrediction, sigma: float, lam: float) -> float:
    """max(0, tr A / tr M): at or below it J(η) is not Hurwitz (zero says nothing).

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> necessary_eta(two_state(0.99).problem, 0.0, 0.0)
    0.0
    """
    a, m, _ = mean_matrices(problem, sigma, lam)
    return max(0.0, float(np.trace(a) / np.trace(m)))


def eta_crossings(problem: LinearPrediction, sigma: float, lam: float) -> Array:
    """Every η > 0 at which the spectral abscissa of J(η) changes sign, sorted; possibly empty.

    J(η) is linear in η, and det J(η) = η^r det(A)² does not vanish, so eigenvalues cross in pairs ±iw: there the
    bialternate sum of J(η) is singular, a generalised eigenvalue problem in η. A grid of 256 step ratios guards
    against its rounding.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> eta_crossings(two_state(0.99).problem, 0.0, 0.0).round(4).tolist()
    [0.1392]
    >>> eta_crossings(two_state(0.99).problem, 1.0, 0.99).tolist()
    []
    """
    a, m, v = mean_matrices(problem, sigma, lam)
    constant = joint(a, m, v, 0.0)
    slope = joint(a, m, v, 1.0) - constant

    def abscissa(eta: float) -> float:
        return spectral_abscissa(constant + eta * slope)

    grid = np.linalg.norm(a, 2) / np.linalg.norm(m, 2) * GRID
    knots = np.unique(np.concatenate([grid, _pair_candidates(constant, slope)]))
    # One point inside each piece between neighbours, and one beyond either end: there the sign is constant.
    points = np.concatenate([knots[:1] / 2.0, np.sqrt(knots[1:] * knots[:-1]), 2.0 * knots[-1:]])
    size = np.linalg.norm(constant, 2) + points * np.linalg.norm(slope, 2)
    return sign_changes(abscissa, points, ROUNDING * EPS * len(constant) * size)


def _pair_candidates(constant: Array, slope: Array) -> Array:
    """Every η > 0 at which two eigenvalues of constant + η·slope sum to zero, up to rounding, and some others."""
    try:
        roots = pencil_roots(bialternate(constant), bialternate(slope))
    except (
        np.linalg.LinAlgError
    ):  # symmetric problems (Baird's star) can defeat the QZ iteration: the grid remains
        return np.empty(0)
    real = (np.abs(roots.imag) < np.sqrt(EPS) * np.abs(roots)) & (roots.real > 0.0)
    return np.asarray(roots.real[real])


def eta_star(problem: LinearPrediction, sigma: float, lam: float) -> float:
    """The smallest η* such that J(η) is Hurwitz for every η > η*; infinite if no step ratio is large enough.

    Zero where GQ(σ, λ) is stable for every η > 0. Infinite where A_σ is singular on the row space, or where γE[v] is
    not M + Aᵀ and the mean update need not descend.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> round(eta_star(two_state(0.99).problem, 0.0, 0.0), 4)
    0.1392
    """
    a, m, v = mean_matrices(problem, sigma, lam)
    slow = -(v - m) @ np.linalg.solve(m, a)  # −AᵀM⁻¹A by Proposition 1: θ's own motion as η → ∞
    descends = spectral_abscissa(slow) < -ROUNDING * EPS * len(a) * np.linalg.norm(slow, 2)
    if not descends or problem.rank_A(sigma, lam) < problem.rank_M:
        return np.inf
    crossings = eta_crossings(problem, sigma, lam)
    return float(crossings[-1]) if len(crossings) else 0.0


def rare_action_problem(
    far: ArrayLike, *, near: float = 0.2, epsilon: float = 0.01, gamma: float = 0.99
) -> PredictionProblem:
    """Two states that every action swaps; the target always takes an action that the behaviour takes rarely.

    φ(1, usual) = (1, 0), φ(2, usual) = (0, near), φ(s, rare) = far[s]; μ(rare) = ε, π(rare) = 1, rewards zero.
    Since the rare pairs carry little weight in M but are what A bootstraps from, `far` sets A almost freely.

    Examples
    --------
    >>> rare_action_problem([[1.25, 1.5], [0.75, -0.25]]).A(0.0, 0.0).shape
    (2, 2)
    """
    rare = check.array("far", far, (2, 2))
    swap = np.zeros((2, 2, 2))
    swap[0, :, 1] = swap[1, :, 0] = 1.0
    features = np.array([[1.0, 0.0], rare[0], [0.0, check.scalar("near", near)], rare[1]])
    epsilon = check.scalar("epsilon", epsilon, low=0.0, high=1.0, open_low=True, open_high=True)
    mdp = FiniteMDP(swap, np.zeros((2, 2)), gamma)
    return PredictionProblem.on_pairs(
        mdp, [[1.0 - epsilon, epsilon]] * 2, [[0.0, 1.0]] * 2, features
    )


def search_rare_action(values: ArrayLike, eta: float) -> tuple[Array, float, int]:
    """Try every `far` with entries from `values`, seeking one on which semi-gradient TD is stable and GQ(0, 0) is not.

    Returns
    -------
    far, gap, hits
        The (2, 2) features with the largest min(−s(A), s(J(η))) / ‖A‖, that gap, and how many had a positive one.

    Examples
    --------
    >>> far, gap, hits = search_rare_action([0.75, 1.25, 1.5, -0.25], 0.5)
    >>> far.tolist(), round(gap, 4), hits
    ([[1.25, 1.5], [0.75, -0.25]], 0.0316, 2)
    """
    entries = check.array("values", values, (None,))
    eta = check.scalar("eta", eta, low=0.0, open_low=True)
    # A is a quadratic form of the features: gather its terms once, instead of building a problem for each candidate.
    frame = rare_action_problem(np.ones((2, 2)))
    grid = np.stack(np.meshgrid(*[entries] * 4, indexing="ij"), axis=-1).reshape(-1, 2, 2)
    phi = np.broadcast_to(frame.features, (len(grid), 4, 2)).copy()
    phi[:, 1], phi[:, 3] = grid[:, 0], grid[:, 1]
    left = (frame.xi[:, None] * phi).transpose(0, 2, 1)
    a, m = left @ (frame.gamma * frame.p_pi @ phi - phi), left @ phi
    joints = joint(a, m, m + a.transpose(0, 2, 1), eta)
    td, gq = (np.linalg.eigvals(stack).real.max(axis=-1) for stack in (a, joints))
    gap = np.minimum(-td, gq) / np.linalg.norm(a, axis=(1, 2))
    best = int(np.argmax(gap))
    return np.asarray(grid[best]), float(gap[best]), int((gap > np.sqrt(EPS)).sum())
