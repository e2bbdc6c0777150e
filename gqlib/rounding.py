r"""How far rounding can move a float64 result, and when a result is refused.

Elimination solves with S = I − γλP as an exact solver would with S + δS, where ‖δS‖_∞ ≤ u‖S‖_∞, u = 5·n·eps: S is
diagonally dominant or nearly so, and no pivot grows. With κ the condition number of S, to first order in u,

    X = S⁻ᵀΞΦ:              |δX_j|₁ ≤ 2uκ|X_j|₁
    A = XᵀD = ΦᵀΞS⁻¹D:      |δA_ij| ≤ u·|X_i|₁·(‖S‖|W_j| + 4|φ_j|),        D = (γP^ν − I)Φ, W = S⁻¹D
    b = Xᵀr:                |δb_i| ≤ u·|X_i|₁·(‖S‖|S⁻¹r| + 4|r|)

with |·|₁ the sum and |·| the largest of absolute values: a column of X loses what κ says, A only what W says, which
stays small on-policy as λ → 1. Where M = ΦᵀΞΦ enters, everything is done with Y = S⁻ᵀΞ^½U, where U is orthonormal and
Ξ^½Φ = U·diag(scale)·basis. Column i of U is known to within u·spread_i, spread_i = max(scale)/scale_i, so it is the
condition number κ_M of Ξ^½Φ, the largest spread, that enters, and not its square, as it would through M.

The bounds hold while uκ and uκ_M are small. Where one of them, or the bound on a fixed point relative to its length,
exceeds `TOLERATED`, the result is refused (a fixed point of zero is not: see `LinearPrediction.fixed_point`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array

__all__ = ["TOLERATED", "Rounding", "resolvent_error"]

EPS = float(np.finfo(float).eps)
# A result is refused where rounding may have taken all but two digits of it.
TOLERATED = 0.01
# Up to this norm of γλP the Neumann series bounds the condition number well enough, at no cost.
_EASY = 0.99


def unit(n: int) -> float:
    """The u of this module, 5·n·eps: the backward error of a solve with n unknowns relative to its matrix.

    Examples
    --------
    >>> unit(20) < 1e-13
    True
    """
    return 5.0 * n * EPS


def resolvent_error(chain: ArrayLike, decay: float) -> float:
    """A bound 2uκ on the relative error of solving (I − decay·chain)x = y, in the maximum norm.

    It also bounds solves with the transpose, in the norm of sums. Below `TOLERATED` it holds; above, the result may
    mean nothing. For a chain of probabilities κ ≤ (1 + decay)/(1 − decay).

    Examples
    --------
    >>> resolvent_error(np.eye(2), 0.9) < 1e-12, resolvent_error(np.eye(2), 1.0)
    (True, inf)
    """
    p = check.array("chain", chain, (None, None))
    p = check.array("chain", p, (len(p), len(p)))
    decay = check.scalar("decay", decay, low=0.0, high=1.0)
    size = decay * float(np.abs(p).sum(axis=1).max())
    if size <= _EASY:
        return 2.0 * unit(len(p)) * (1.0 + size) / (1.0 - size)
    return 2.0 * unit(len(p)) * float(np.linalg.cond(np.eye(len(p)) - decay * p, np.inf))


def refuse_resolvent(name: str, chain: Array, decay: float, remedy: str) -> None:
    """Raise a ValueError where I − decay·chain is too close to singular for float64.

    Examples
    --------
    >>> refuse_resolvent("gamma", np.eye(2), 1.0 - 1e-6, "it should be smaller")
    >>> refuse_resolvent("gamma", np.eye(2), 1.0, "it should be smaller")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: gamma is 1.0; ...
    """
    error = resolvent_error(chain, decay)
    if not error <= TOLERATED:
        raise ValueError(
            f"{name} is {decay!r}; I - {name}·P is so near to singular that rounding may take the whole result "
            f"(bound {error:.1e} > {TOLERATED}); {remedy}"
        )


@dataclass(frozen=True)
class Rounding:
    """Bounds on the errors of A_σ, b, MSPBE, its gradient and the fixed point; the symbols are those of the module.

    Made by `PredictionProblem.rounding`.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> bound = two_state(0.99).problem.rounding(0.5, 0.9)
    >>> bool((bound.A < 1e-11).all()), bool((bound.b < 1e-11).all())
    (True, True)
    >>> bound.residual([1.0, 1.0]) < 1e-11, bool((bound.gradient([1.0, 1.0]) < 1e-11).all())
    (True, True)
    >>> bound.fixed_point(np.ones(2), np.eye(2)) < 1e-10
    True
    """

    system: Array
    x: Array
    y: Array
    features: Array
    change: Array
    reward: Array
    spread: Array
    mass: float

    @property
    def _unit(self) -> float:
        return unit(len(self.system))

    @cached_property
    def _norm(self) -> float:
        return float(np.abs(self.system).sum(axis=1).max())

    def _seen(self, columns: Array, sizes: Array) -> Array:
        """u·(‖S‖|S⁻¹ column| + 4·size) for each column."""
        ahead = np.linalg.solve(self.system, columns)
        return np.asarray(self._unit * (self._norm * np.abs(ahead).max(axis=0) + 4.0 * sizes))

    @cached_property
    def _changes(self) -> Array:
        return self._seen(self.change, np.abs(self.features).max(axis=0))

    @cached_property
    def _gain(self) -> Array:
        return self._seen(self.reward[:, None], np.abs(self.reward).max(keepdims=True))

    @property
    def A(self) -> Array:
        """Bound on each entry of A_σ, (d, d)."""
        return np.outer(np.abs(self.x).sum(axis=0), self._changes)

    @property
    def b(self) -> Array:
        """Bound on each entry of b, (d,)."""
        return np.asarray(np.abs(self.x).sum(axis=0) * self._gain)

    @cached_property
    def _white(self) -> float:
        """|Y|₁ over all columns, plus what is not known of U."""
        return float(
            np.linalg.norm(np.abs(self.y).sum(axis=0)) + self.mass * np.linalg.norm(self.spread)
        )

    def residual(self, theta: ArrayLike) -> float:
        """Bound on the error of √(2·MSPBE(θ)): |√(2·computed) − √(2·exact)| is at most this."""
        sizes = np.abs(check.array("theta", theta, self._changes.shape))
        return self._white * float(self._gain[0] + sizes @ self._changes)

    def gradient(self, theta: ArrayLike) -> Array:
        """Bound on each entry of the gradient of MSPBE, (d,)."""
        slopes = self.y.T @ self.change
        weights = check.array("theta", theta, self._changes.shape)
        size = np.linalg.norm(slopes @ weights + self.y.T @ self.reward)
        return np.asarray(
            self._white * self._changes * size
            + np.linalg.norm(slopes, axis=0) * self.residual(theta)
        )

    def fixed_point(self, theta: Array, inverse: Array) -> float:
        """Bound on the Euclidean error of the fixed point θ = −inverse·Yᵀr, where inverse, (d, r), is that of YᵀD.

        With z = r + Dθ, δθ = inverse·(YᵀδS S⁻¹z + δUᵀΞ^½S⁻¹z + what products and the SVD of YᵀD leave).
        """
        sizes = np.abs(self.reward).max() + np.abs(theta) @ np.abs(self.features).max(axis=0)
        seen = self._seen((self.reward + self.change @ theta)[:, None], np.array([sizes]))[0]
        paths = np.linalg.norm(np.abs(inverse @ self.y.T).sum(axis=1))
        products = 4.0 * sizes * np.linalg.norm(np.abs(self.y).sum(axis=0))
        products += np.linalg.norm(self.y.T @ self.change) * np.linalg.norm(theta)
        return float(
            seen * (paths + self.mass * np.linalg.norm(inverse * self.spread))
            + self._unit * products * np.linalg.norm(inverse)
        )
