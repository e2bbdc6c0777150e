r"""A ridge κ on the auxiliary weights, ω += β(δe − φφᵀω − κω): TDRC and QRC (Ghiassian et al. 2020), where η = 1.

The mean of (θ, ω) is linear with

    J_κ(η) = [[A, −(M + Aᵀ)], [ηA, −η(M + κI)]],
    det(J_κ − sI) = det(s²I + s(ηM + ηκI − A) + ηA(Aᵀ − κI)),

and fixed point (θ*, 0), as for κ = 0, unless κ is an eigenvalue of A. Hence:

*An upper bound.* det J_κ = η^d det(A) det(Aᵀ − κI) changes sign where κ passes a real eigenvalue of A: where an odd
number of positive ones (counted with multiplicity) are smaller than κ, J_κ has a positive eigenvalue, whatever η is.
As κ → ∞, d eigenvalues tend to those of A: the method becomes TD, for better and for worse.

*One feature.* A = a > 0: stable exactly when κ < a and η > a/(m + κ). A = a < 0: always stable.

*Sufficient.* η > λ_max(M⁻¹(A + Aᵀ)/2), as for κ = 0, and AAᵀ − κ(A + Aᵀ)/2 positive definite (`safe_kappa`).

A and M are those of `gqlib.timescales.mean_matrices`, which are on the row space of the features.
"""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.rounding import EPS
from gqlib.stability import (
    ROUNDING,
    bialternate,
    joint,
    numerical_abscissa,
    pencil_roots,
    sign_changes,
)

__all__ = ["kappa_crossings", "kappa_windows", "ridge_joint", "ridge_pencil", "safe_kappa"]

# Values of κ tried besides the exact candidates, as multiples of the size of A.
GRID = np.geomspace(1e-6, 1e4, 256)


def _blocks(a: ArrayLike, m: ArrayLike) -> tuple[Array, Array]:
    a = check.array("a", a, (None, None))
    a = check.array("a", a, (len(a), len(a)))
    return a, check.array("m", m, a.shape)


def ridge_joint(a: ArrayLike, m: ArrayLike, eta: float, kappa: float) -> Array:
    """J_κ(η) = [[A, −(M + Aᵀ)], [ηA, −η(M + κI)]], (2d, 2d), from A and M, both (d, d).

    Examples
    --------
    >>> ridge_joint([[1.0]], [[2.0]], 10.0, 0.5).tolist()
    [[1.0, -3.0], [10.0, -25.0]]
    """
    a, m = _blocks(a, m)
    eta, kappa = check.scalar("eta", eta, low=0.0), check.scalar("kappa", kappa, low=0.0)
    return joint(a, m + kappa * np.eye(len(a)), m + a.T, eta)


def ridge_pencil(
    a: ArrayLike, m: ArrayLike, eta: float, kappa: float, s: complex
) -> NDArray[np.complex128]:
    """s²I + s(ηM + ηκI − A) + ηA(Aᵀ − κI), whose determinant is det(J_κ(η) − sI).

    Examples
    --------
    >>> a, m = [[1.0]], [[2.0]]
    >>> float(ridge_pencil(a, m, 10.0, 0.5, 1.0)[0, 0].real)
    30.0
    >>> round(float(np.linalg.det(ridge_joint(a, m, 10.0, 0.5) - np.eye(2))), 9)
    30.0
    """
    a, m = _blocks(a, m)
    eta, kappa = check.scalar("eta", eta, low=0.0), check.scalar("kappa", kappa, low=0.0)
    s, eye = complex(check.scalar("s", np.real(s)), check.scalar("s", np.imag(s))), np.eye(len(a))
    pencil = s**2 * eye + s * (eta * (m + kappa * eye) - a) + eta * a @ (a.T - kappa * eye)
    return np.asarray(pencil, dtype=np.complex128)


def safe_kappa(a: ArrayLike) -> float:
    """sup{κ : AAᵀ − κ(A + Aᵀ)/2 ≻ 0}: with η > λ_max(M⁻¹(A + Aᵀ)/2), every smaller κ keeps J_κ(η) Hurwitz.

    It is 1/w(A⁻¹), w the numerical abscissa, because A⁻¹(A + Aᵀ)A⁻ᵀ = A⁻¹ + A⁻ᵀ; infinite where w(A⁻¹) ≤ 0, that is
    where A + Aᵀ is negative semi-definite. Never above the least positive eigenvalue of A.

    Examples
    --------
    >>> safe_kappa([[0.5]]), safe_kappa([[-0.5]])
    (0.5, inf)
    """
    a, _ = _blocks(a, a)
    with np.errstate(all="ignore"), contextlib.suppress(np.linalg.LinAlgError):
        inverse = np.linalg.inv(a)
        if np.abs(inverse).max() <= check.LARGEST:
            top = numerical_abscissa(inverse)
            return 1.0 / top if top > 0.0 else float(np.inf)
    raise ValueError(f"a is {check.brief(a)}, singular to rounding; it should be regular")


def _abscissa(matrix: Array) -> float:
    return float(np.linalg.eigvals(matrix).real.max())


def _family(a: ArrayLike, m: ArrayLike, eta: float) -> tuple[Array, Array, Array]:
    """A, and J_κ(η) = constant + κ·slope as (constant, slope)."""
    a, m = _blocks(a, m)
    eta = check.scalar("eta", eta, low=0.0, open_low=True)
    constant = ridge_joint(a, m, eta, 0.0)
    return (
        a,
        constant,
        ridge_joint(a, np.zeros_like(a), eta, 1.0) - ridge_joint(a, np.zeros_like(a), eta, 0.0),
    )


def _noise(constant: Array, slope: Array, kappa: ArrayLike) -> Array:
    """Closer to zero than this, an eigenvalue of constant + κ·slope has no sign."""
    size = np.linalg.norm(constant, 2) + np.asarray(kappa) * np.linalg.norm(slope, 2)
    return np.asarray(ROUNDING * EPS * len(constant) * size)


def kappa_crossings(a: ArrayLike, m: ArrayLike, eta: float) -> Array:
    """Every κ > 0 at which the spectral abscissa of J_κ(η) changes sign, sorted; possibly empty.

    J_κ is linear in κ: candidates are the κ with det J_κ = 0, the positive real eigenvalues of A, and those with a
    singular bialternate sum, where two eigenvalues sum to zero; a grid of 256 values guards against rounding.

    Examples
    --------
    >>> kappa_crossings([[1.0]], [[0.5]], 1.0).round(6).tolist()  # stable from a − m to a
    [0.5, 1.0]
    """
    a, constant, slope = _family(a, m, eta)
    roots = np.linalg.eigvals(a)
    # As in gqlib.timescales, the grid remains where QZ fails; a root that overflows does not count.
    with contextlib.suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
        roots = np.concatenate([roots, pencil_roots(bialternate(constant), bialternate(slope))])
    roots = roots[np.isfinite(roots)]
    real = (np.abs(roots.imag) < np.sqrt(EPS) * np.abs(roots)) & (roots.real > 0.0)
    knots = np.unique(np.concatenate([np.linalg.norm(a, 2) * GRID, roots.real[real]]))
    # One point inside each piece between neighbours and one beyond the last: there the sign is constant.
    points = np.concatenate([[0.0], np.sqrt(knots[1:]) * np.sqrt(knots[:-1]), 2.0 * knots[-1:]])
    return sign_changes(
        lambda kappa: _abscissa(constant + kappa * slope), points, _noise(constant, slope, points)
    )


def kappa_windows(a: ArrayLike, m: ArrayLike, eta: float) -> list[tuple[float, float]]:
    """The intervals of κ ≥ 0 on which J_κ(η) is Hurwitz, sorted; the last may be unbounded.

    Examples
    --------
    >>> kappa_windows([[-1.0]], [[0.5]], 1.0)
    [(0.0, inf)]
    >>> [(round(low, 6), round(high, 6)) for low, high in kappa_windows([[1.0]], [[0.5]], 1.0)]
    [(0.5, 1.0)]
    """
    a, constant, slope = _family(a, m, eta)
    ends = [0.0, *kappa_crossings(a, m, eta).tolist(), float(np.inf)]
    windows = []
    for low, high in itertools.pairwise(ends):
        inside = (
            (low + high) / 2.0 if np.isfinite(high) else 2.0 * low + float(np.linalg.norm(a, 2))
        )
        if _abscissa(constant + inside * slope) < -_noise(constant, slope, inside):
            windows.append((low, high))
    return windows
