r"""GQ(σ, λ) in O(K) per step for sparse features, K of them active, whatever the number d of weights.

As printed, a step costs O(d), because the trace e is dense. Keep instead

    e = cE,        θ = T + gE,        ω = W + hE,        m = eᵀω,        n = ‖e‖².

*Decay* e ← γλe is c ← γλc. *Adding* φ to e is E_i ← E_i + φ_i/c on the K active indices, with T_i ← T_i − gφ_i/c and
W_i ← W_i − hφ_i/c to leave θ and ω alone. *The δ-terms* θ ← θ + αδe, ω ← ω + βδe are g ← g + αδc, h ← h + βδc. *The
rest*, −αγm{(σ−λ)φ_{k+1} + (1−σ)E_πφ} and −βφ(φᵀω), is sparse. The two scalars follow by

    m ← γλm + φᵀω,     n ← γ²λ²n + 2γλφᵀe_old + ‖φ‖²    (trace)
    m ← m + β(δn − (φᵀω)(φᵀe))                          (ω).

*Flush.* T ← T + gE, W ← W + hE, E ← cE, c = 1, g = h = 0 on the touched entries. θ_i = T_i + gE_i is a difference of
terms as large as gφ_i/c, so its error is about 10⁻¹⁶/c: cancellation calls for a flush at c near 10⁻⁴, long before c
underflows. A flush forgets entries of E below `NEGLIGIBLE`, whose effect on θ is far below rounding; that bounds the
number of touched entries by K·(20/4 + 1) times the steps between two flushes, so that the average cost stays O(K).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array

__all__ = ["SparseGQ"]

FLUSH_BELOW = 1e-4
# A trace entry this small moves a weight by less than a rounding error of any weight above 1e-4 times δ.
NEGLIGIBLE = 1e-20
Sparse = tuple[ArrayLike, ArrayLike]


class SparseGQ:
    """The state of a sparse GQ(σ, λ) learner.

    Parameters
    ----------
    theta : array_like, (d,)
        Initial weights; ω starts at zero.
    flush_below : float in (0, 1]
        Flush when c falls below this.

    Attributes
    ----------
    work : int
        Entries of T, W and E touched so far, flushes included: the cost, counted rather than timed.

    Examples
    --------
    >>> learner = SparseGQ([1.0, 0.0, 0.0])
    >>> learner.step(([0, 0], [0.5, 0.5]), 0.5, ([1], [2.0]), ([0], [3.0]),
    ...              sigma=0.5, lam=0.0, gamma=1.0, alpha=0.1, beta=0.1)
    1.0
    >>> learner.theta.round(4).tolist(), learner.trace.tolist()
    ([1.1, 0.0, 0.0], [1.0, 0.0, 0.0])
    >>> learner.reset_trace()
    >>> learner.omega.round(4).tolist(), learner.trace.tolist()
    ([0.1, 0.0, 0.0], [0.0, 0.0, 0.0])
    """

    def __init__(self, theta: ArrayLike, flush_below: float = FLUSH_BELOW) -> None:
        self._T = check.array("theta", theta, (None,))
        self._W, self._E = np.zeros_like(self._T), np.zeros_like(self._T)
        self._flush_below = check.scalar(
            "flush_below", flush_below, low=0.0, high=1.0, open_low=True
        )
        self._touched: set[int] = set()
        self._c, self._g, self._h = 1.0, 0.0, 0.0
        self._m, self._n = 0.0, 0.0
        self.work = 0

    @property
    def theta(self) -> Array:
        """θ, (d,), as a dense copy."""
        return np.asarray(self._T + self._g * self._E)

    @property
    def omega(self) -> Array:
        """ω, (d,), as a dense copy."""
        return np.asarray(self._W + self._h * self._E)

    @property
    def trace(self) -> Array:
        """e, (d,), as a dense copy."""
        return self._c * self._E

    def reset_trace(self) -> None:
        """Set e to zero, where an episode ends."""
        self._flush()
        self._E[list(self._touched)] = 0.0
        self._touched.clear()
        self._m = self._n = 0.0

    def step(
        self,
        phi: Sparse,
        reward: float,
        phi_next: Sparse,
        phi_next_expected: Sparse,
        *,
        sigma: float,
        lam: float,
        gamma: float,
        alpha: float,
        beta: float,
    ) -> float:
        """One step of Eqs. (25)–(26), with v of the same step; features are (indices, values), repeated indices add up.

        Returns
        -------
        float
            δ.
        """
        sigma, lam, gamma, alpha, beta, reward = check.numbers(
            sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, beta=beta, reward=reward
        )
        i, phi_i = self._features("phi", phi)
        j, phi_next_j = self._features("phi_next", phi_next)
        k, expected_k = self._features("phi_next_expected", phi_next_expected)
        # The trace: decay it, then add φ without moving θ or ω.
        decay = gamma * lam
        phi_trace = decay * _dot(phi_i, self._E[i]) * self._c  # φᵀe before φ is added
        phi_omega = _dot(phi_i, self._W[i] + self._h * self._E[i])
        phi_phi = _dot(phi_i, phi_i)
        self._c, self._m, self._n = decay * self._c, decay * self._m, decay * decay * self._n
        if self._c < self._flush_below:
            self._flush()
        share = phi_i / self._c
        self._E[i] += share
        self._T[i] -= self._g * share
        self._W[i] -= self._h * share
        self._touched.update(i.tolist())
        self._m += phi_omega
        self._n += 2.0 * phi_trace + phi_phi
        # δ, with θ as it was before the step.
        ahead = (1.0 - sigma) * self._value(k, expected_k) + sigma * self._value(j, phi_next_j)
        delta = reward + gamma * ahead - self._value(i, phi_i)
        # The updates: δ-terms along the whole trace by two scalars, the others on a few indices.
        self._g += alpha * delta * self._c
        self._h += beta * delta * self._c
        pull = alpha * gamma * self._m
        self._T[k] -= pull * (1.0 - sigma) * expected_k
        self._T[j] -= pull * (sigma - lam) * phi_next_j
        self._W[i] -= beta * phi_omega * phi_i
        self._m += beta * (delta * self._n - phi_omega * (phi_trace + phi_phi))
        self.work += 2 * len(i) + len(j) + len(k)
        moved = [self._g, self._h, self._m, *self._T[k], *self._T[j], *self._W[i]]
        check.finite(phi=self._n, reward=delta, theta=moved)
        return delta

    def _features(self, name: str, pair: Sparse) -> tuple[NDArray[np.intp], Array]:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(
                f"{name} is {check.brief(pair)}; it should be a pair: indices and values"
            )
        raw = np.asarray(pair[0])
        if raw.ndim != 1 or (raw.size and not np.issubdtype(raw.dtype, np.integer)):
            raise ValueError(
                f"{name} has indices {check.brief(pair[0])}; they should be a list of whole numbers"
            )
        p = len(self._T)
        if raw.size and (raw.min() < 0 or raw.max() >= p):
            raise ValueError(
                f"{name} has indices from {raw.min()} to {raw.max()}; they should be in [0, {p})"
            )
        values = check.reals(name, pair[1])
        if values.shape != raw.shape or not np.isfinite(values).all():
            raise ValueError(
                f"{name} has values {check.brief(pair[1])}; there should be a finite one for each index"
            )
        indices, where = np.unique(raw.astype(np.intp), return_inverse=True)
        return indices, np.bincount(where, weights=values, minlength=len(indices)).astype(
            np.float64
        )

    def _value(self, indices: NDArray[np.intp], values: Array) -> float:
        return _dot(values, self._T[indices] + self._g * self._E[indices])

    def _flush(self) -> None:
        touched = np.fromiter(self._touched, dtype=np.intp, count=len(self._touched))
        self._T[touched] += self._g * self._E[touched]
        self._W[touched] += self._h * self._E[touched]
        self._E[touched] *= self._c
        gone = touched[np.abs(self._E[touched]) < NEGLIGIBLE]
        self._E[gone] = 0.0
        self._touched.difference_update(gone.tolist())
        self._c, self._g, self._h = 1.0, 0.0, 0.0
        self.work += len(touched)


def _dot(left: Array, right: Array) -> float:
    """leftᵀright without BLAS, whose kernels round differently from machine to machine."""
    return float((left * right).sum())
