r"""The algebra of A_σ, b, M, the fixed point and MSPBE, for anything that is linear in its features.

The formulas stand at the top of `gqlib.prediction`, the bounds on rounding in `gqlib.rounding`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.rounding import EPS, TOLERATED, Rounding, refuse_resolvent, unit


class LinearPrediction:
    """The algebra that finite chains and closed-form moments share; what it is made from is not checked here.

    `gram` is Ξ: diag(ξ) as a vector for a finite chain, a symmetric positive semi-definite matrix where the
    "index set" is a basis of functions.

    Examples
    --------
    >>> chain = np.diag([1.0, 0.5])  # on the functions 1 and s, for s' = s/2 + noise with E s = 0 and E s² = 1
    >>> p = LinearPrediction(np.array([[0.0], [1.0]]), chain, chain, np.array([0.0, 1.0]), np.eye(2), 0.5, chain, None)
    >>> p.fixed_point(0.5, 0.9).round(4).tolist()  # v(s) = s/(1 − ½·½)
    [1.3333]
    """

    def __init__(
        self,
        features: Array,
        p_mu: Array,
        p_pi: Array,
        rewards: Array,
        gram: Array,
        gamma: float,
        p_trace: Array,
        rewards_pi: Array | None,
    ) -> None:
        self.features = check.frozen(features)
        self.p_mu, self.p_pi, self.p_trace = p_mu, p_pi, p_trace
        self.rewards, self.rewards_pi = rewards, rewards_pi
        self.xi, self.gamma = gram, gamma
        self.n, self.d = features.shape
        self._next_mu = p_mu @ features
        self._next_pi = self._next_mu if p_pi is p_mu else p_pi @ features
        self._carried: dict[str, tuple[float, Array]] = {}

    @cached_property
    def _range(self) -> tuple[Array, Array, Array]:
        """Scale and basis with M = basisᵀ diag(scale²) basis, on which the pseudo-inverse acts, and Ξ^½U.

        From Ξ^½Φ = U diag(scale) basis rather than from M, whose small singular values are rounded away.
        """
        root = np.diag(np.sqrt(self.xi)) if self.xi.ndim == 1 else _root(self.xi)
        weighed = root @ self.features
        q, r = np.linalg.qr(weighed)
        left, scale, basis = np.linalg.svd(r, full_matrices=False)
        kept = scale > scale.max(initial=0.0) * max(weighed.shape) * EPS
        return check.frozen(scale[kept]), check.frozen(basis[kept]), check.frozen(root.T @ (q @ left[:, kept]))

    @property
    def _regular_range(self) -> tuple[Array, Array, Array]:
        """`_range`, or a refusal where M is neither regular nor singular as far as float64 can tell."""
        scale = self._range[0]
        if len(scale) and unit(self.n) * scale[0] > TOLERATED * scale[-1]:
            raise ValueError(
                f"features are nearly collinear: the condition number of Ξ^½Φ is {scale[0] / scale[-1]:.1e}; it "
                f"should be below {TOLERATED / unit(self.n):.1e}, or so large that M is singular to rounding"
            )
        return self._range

    @property
    def rank_M(self) -> int:
        """The numerical rank of M, that of Ξ^½Φ."""
        return len(self._range[0])

    @property
    def row_basis(self) -> Array:
        """Orthonormal rows that span the row space of Ξ^½Φ, (rank_M, d): A_σ and M map into it, b lies in it."""
        return self._range[1]

    @property
    def M(self) -> Array:
        """M = Φᵀ Ξ Φ, (d, d)."""
        return np.asarray(self.features.T @ self._weigh(self.features))

    def _weigh(self, columns: Array) -> Array:
        return np.asarray(self.xi[:, None] * columns if self.xi.ndim == 1 else self.xi @ columns)

    def trace_weights(self, lam: float) -> Array:
        """X = (I − γλ P_traceᵀ)⁻¹ Ξ Φ, (n, d): row i is ξ_i E[e_k | index i at k] once k is large.

        Notes
        -----
        The error of a column, as a sum of absolute values, is at most `rounding.resolvent_error(p_trace, γλ)` times
        the column; where that is above 0.01, a ValueError says so, here and in everything that is made from X.
        """
        return self._carry("X", lam)

    def _carry(self, name: str, lam: float) -> Array:
        """(I − γλ P_traceᵀ)⁻¹ applied to ΞΦ, or to Ξ^½U for the whitened twin Y; kept for the last λ."""
        lam = check.scalar("lam", lam, low=0.0, high=1.0)
        if name not in self._carried or self._carried[name][0] != lam:
            weights, decay = self._weigh(self.features) if name == "X" else self._regular_range[2], self.gamma * lam
            if decay > 0.0:
                self._check_decay(decay)
                system = np.eye(self.n) - decay * self.p_trace.T
                weights = np.asarray(np.linalg.solve(system, weights), dtype=np.float64)
            self._carried[name] = (lam, check.frozen(weights))
        return self._carried[name][1]

    def _check_decay(self, decay: float) -> None:
        """Refuse a trace that never dies out, or too late for float64."""
        refuse_resolvent("gamma·lam", self.p_trace, decay, "it should be further below 1")

    def next_features(self, sigma: float) -> Array:
        """E[σφ_{k+1} + (1−σ)E_πφ(S_{k+1}, ·) | index], (n, d), written so that σ drops out where both agree."""
        sigma = check.scalar("sigma", sigma)
        return np.asarray(self._next_pi + sigma * (self._next_mu - self._next_pi))

    def _change(self, sigma: float) -> Array:
        """D = (γP^ν − I)Φ, (n, d)."""
        return np.asarray(self.gamma * self.next_features(sigma) - self.features)

    def _reward(self, sigma: float) -> Array:
        sigma = check.scalar("sigma", sigma)
        if self.rewards_pi is None:
            return self.rewards
        return np.asarray(self.rewards_pi + sigma * (self.rewards - self.rewards_pi))

    def A(self, sigma: float, lam: float) -> Array:
        """A_σ = E[e_k Δ_kᵀ] = E[Â_k], (d, d): the line before Eq. (15), and Appendix C.

        Notes
        -----
        No entry is further from the exact one than that of `rounding(sigma, lam).A`.
        """
        return np.asarray(self.trace_weights(lam).T @ self._change(sigma))

    def b(self, sigma: float, lam: float) -> Array:
        """b_σ = E[R e_k], (d,): Eq. (15), corrected. σ matters only where rewards are averaged too.

        Notes
        -----
        No entry is further from the exact one than that of `rounding(sigma, lam).b`.
        """
        reward = self._reward(sigma)
        return np.asarray(self.trace_weights(lam).T @ reward)

    def gamma_v(self, sigma: float, lam: float) -> Array:
        """γ E[v_σ], (d, d), from the definition (23): γ E[{(1−σ)E_πφ' + (σ−λ)φ'} e_kᵀ].

        Equals M + A_σᵀ where the trace follows the sampled chain, which is what Proposition 1 uses.
        """
        sigma, lam = check.scalar("sigma", sigma), check.scalar("lam", lam, low=0.0, high=1.0)
        mixed = (1.0 - sigma) * self._next_pi + (sigma - lam) * self._next_mu
        return np.asarray(self.gamma * mixed.T @ self.trace_weights(lam))

    def _white(self, sigma: float, lam: float) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """The SVD of M^{-½}A_σ on the row space, and which of its values are more than rounding of zero."""
        y, change = self._carry("Y", lam), self._change(sigma)
        left, values, right = np.linalg.svd(y.T @ change @ self.row_basis.T)
        size = np.linalg.norm(y) * (np.linalg.norm(change) + np.linalg.norm(self.features))
        return left, values, right, values > (self.n + self.d) * EPS * size

    def rank_A(self, sigma: float, lam: float) -> int:
        """The numerical rank of A_σ."""
        return int(self._white(sigma, lam)[3].sum())

    def rounding(self, sigma: float, lam: float) -> Rounding:
        """Bounds on what rounding does to A_σ, b, MSPBE, its gradient and the fixed point."""
        sigma, lam = check.scalar("sigma", sigma), check.scalar("lam", lam, low=0.0, high=1.0)
        scale = self._range[0]
        return Rounding(
            system=np.eye(self.n) - self.gamma * lam * self.p_trace,
            x=self._carry("X", lam),
            y=self._carry("Y", lam),
            features=self.features,
            change=self._change(sigma),
            reward=self._reward(sigma),
            spread=scale.max(initial=0.0) / scale,
            mass=float(np.sqrt(self.xi.sum() if self.xi.ndim == 1 else np.trace(self.xi))),
        )

    def fixed_point(self, sigma: float, lam: float) -> Array:
        """The least-norm θ with A_σ θ + b = 0, Eqs. (16) and (40).

        Unique on the whole of ℝ^d only if `rank_A` is d; where it is less, the solutions differ by null vectors
        of A_σ.

        Raises
        ------
        numpy.linalg.LinAlgError
            (a ValueError) where no solution exists, or where A_σ is so near to singular that rounding may have taken
            all but two digits.

        Notes
        -----
        The Euclidean error is at most `rounding(sigma, lam).fixed_point(...)`, which grows like κ_M² and like
        1/(1 − γ); where that is above 0.01·‖θ‖ the result is refused, unless |Φ| times it is below 1e-8 of the largest
        reward (so that zero can be found). Solved as M^{-½}(Aθ + b) = 0.
        """
        sigma, lam = check.scalar("sigma", sigma), check.scalar("lam", lam, low=0.0, high=1.0)
        left, values, right, keep = self._white(sigma, lam)
        b = self._carry("Y", lam).T @ self._reward(sigma)
        where = f"sigma is {sigma:g} and lam is {lam:g}; there"
        if np.linalg.norm(left[:, ~keep].T @ b) > np.sqrt(EPS) * np.linalg.norm(b):
            raise np.linalg.LinAlgError(
                f"{where} A has rank {int(keep.sum())} of {self.d} and A theta + b = 0 has no solution"
            )
        inverse = (self.row_basis.T @ right[keep].T / values[keep]) @ left[:, keep].T
        theta = np.asarray(0.0 - inverse @ b)
        error = self.rounding(sigma, lam).fixed_point(theta, inverse)
        size = max(float(np.linalg.norm(theta)), float(np.finfo(float).tiny))
        # A fixed point of zero has no digits to lose: its values need only be exact on the scale of the rewards.
        off = error * np.abs(self.features).max() > np.sqrt(EPS) * np.abs(self._reward(sigma)).max()
        if off and error > TOLERATED * size:
            raise np.linalg.LinAlgError(
                f"{where} A is so near to singular that rounding may take the whole fixed point "
                f"(bound {error / size:.1e} > {TOLERATED} of its length)"
            )
        return theta

    def solve_M(self, vector: Array) -> Array:
        """M⁺ g: the inverse where M is regular, on the range of M where it is singular (see `rank_M`).

        Notes
        -----
        With κ_M the condition number of Ξ^½Φ, the error is at most 20·n·eps·κ_M·‖M⁺‖·‖g‖. A κ_M for which
        5·n·eps·κ_M > 0.01 is refused, until from 1/(n·eps) on M counts as singular; so in MSPBE and its gradient.
        """
        vector = check.array("vector", vector, (self.d,), largest=check.LARGEST**3)
        scale, basis, _ = self._regular_range
        return np.asarray(basis.T @ ((basis @ vector) / scale**2))

    def _error(self, theta: ArrayLike, sigma: float) -> Array:
        """E[δ_k | index], (n,)."""
        return np.asarray(self._change(sigma) @ check.array("theta", theta, (self.d,)) + self._reward(sigma))

    def mspbe(self, theta: ArrayLike, sigma: float, lam: float) -> float:
        """½ ‖A_σ θ + b‖² in M⁻¹, Eq. (19); on the row space of Ξ^½Φ where M is singular, where Aθ + b lies.

        Notes
        -----
        The error of √(2·MSPBE) is at most `rounding(sigma, lam).residual(theta)`.
        """
        white = self._carry("Y", lam).T @ self._error(theta, sigma)
        return float(0.5 * white @ white)

    def mspbe_gradient(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """A_σᵀ M⁺ (A_σ θ + b), (d,): the gradient of `mspbe`, which holds its ½ already (Eqs. (20)–(21)).

        Notes
        -----
        No entry is further from the exact one than that of `rounding(sigma, lam).gradient(theta)`.
        """
        y = self._carry("Y", lam)
        return np.asarray((y.T @ self._change(sigma)).T @ (y.T @ self._error(theta, sigma)))

    def td_step(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """E[δ_k e_k] = A_σ θ + b, (d,): the expected semi-gradient direction of Eq. (12), without α."""
        weights = check.array("theta", theta, (self.d,))
        return np.asarray(self.A(sigma, lam) @ weights + self.b(sigma, lam))

    def prop1_step(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """E[δ_k e_k] − γE[v_σ] ω(θ), (d,): the last line of Proposition 1, Eq. (24), without α.

        γE[v] is summed from its definition (23), so that equality with −`mspbe_gradient` is a result.
        """
        expected = self.td_step(theta, sigma, lam)
        return np.asarray(expected - self.gamma_v(sigma, lam) @ self.solve_M(expected))


def _root(gram: Array) -> Array:
    """A matrix R with RᵀR = gram, for a symmetric positive semi-definite gram."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T)
