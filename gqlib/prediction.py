r"""A linear prediction problem and everything about it that has a closed form.

The problem has an index set of n pairs (or states), features Φ (n × d), behaviour and target chains P^μ, P^π,
rewards r, visiting weights ξ (Ξ = diag ξ) and γ. With the next feature mixed as σ·(sampled) + (1−σ)·(expected),

    A_σ = Φᵀ Ξ (I − γλ P^μ)⁻¹ (γ[(1−σ)P^π + σP^μ] − I) Φ          (before Eq. (15))
    b   = Φᵀ Ξ (I − γλ P^μ)⁻¹ r                                    (Eq. (15), corrected: free of σ)
    M   = Φᵀ Ξ Φ                                                   (after Eq. (19))
    MSPBE(θ) = ½ ‖A_σ θ + b‖²_{M⁻¹}                                (Eq. (19))

Everything follows from the trace weights X = (I − γλ P^μᵀ)⁻¹ Ξ Φ, whose row i is ξ_i E[e_k | pair_k = i]:
one linear solve with d right-hand sides, never an inverse.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._objects import Fixed, html_table
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP, leaves_surely, stationary_distribution
from gqlib.rounding import EPS, TOLERATED, Rounding, refuse_resolvent, resolvent_error, unit

__all__ = ["LinearPrediction", "PredictionProblem"]

_SHOWN_SIGMAS, _SHOWN_LAMBDAS = (0.0, 0.5, 1.0), (0.0, 0.9)  # of the table in a notebook


class LinearPrediction(Fixed):
    """The algebra that finite chains and closed-form moments share; it does not check that chains are chains.

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
        features: ArrayLike,
        p_mu: ArrayLike,
        p_pi: ArrayLike,
        rewards: ArrayLike,
        gram: ArrayLike,
        gamma: float,
        p_trace: ArrayLike,
        rewards_pi: ArrayLike | None,
    ) -> None:
        self.features = check.frozen(check.array("features", features, (None, None)))
        self.n, self.d = self.features.shape
        self.p_mu = check.array("p_mu", p_mu, (self.n, self.n))
        self.p_pi = self.p_mu if p_pi is p_mu else check.array("p_pi", p_pi, (self.n, self.n))
        self.p_trace = (
            self.p_mu if p_trace is p_mu else check.array("p_trace", p_trace, (self.n, self.n))
        )
        self.rewards = check.array("rewards", rewards, (self.n,))
        self.rewards_pi = (
            None if rewards_pi is None else check.array("rewards_pi", rewards_pi, (self.n,))
        )
        self.xi = check.array("gram", gram, (self.n,) * max(1, check.dimensions(gram)))
        self.gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
        self._next_mu = self.p_mu @ self.features
        self._next_pi = self._next_mu if self.p_pi is self.p_mu else self.p_pi @ self.features
        self._carried: dict[str, tuple[float, Array]] = {}
        self._fix()

    def _held(self) -> Any:
        return (
            self.features, self.p_mu, self.p_pi, self.p_trace, self.rewards, self.rewards_pi, self.xi, self.gamma
        )  # fmt: skip

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
        return (
            check.frozen(scale[kept]),
            check.frozen(basis[kept]),
            check.frozen(root.T @ (q @ left[:, kept])),
        )

    @property
    def _regular_range(self) -> tuple[Array, Array, Array]:
        """`_range`, or a refusal where float64 cannot tell whether M is regular or singular."""
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
        the column; where that is above 0.01, a ValueError is raised, here and in everything computed from X.
        """
        return self._carry("X", lam)

    def _carry(self, name: str, lam: float) -> Array:
        """(I − γλ P_traceᵀ)⁻¹ applied to ΞΦ, or to Ξ^½U for the whitened twin Y; kept for the last λ."""
        lam = check.scalar("lam", lam, low=0.0, high=1.0)
        if name not in self._carried or self._carried[name][0] != lam:
            weights, decay = (
                self._weigh(self.features) if name == "X" else self._regular_range[2],
                self.gamma * lam,
            )
            if decay > 0.0:
                self._check_decay(decay)
                system = np.eye(self.n) - decay * self.p_trace.T
                weights = np.asarray(np.linalg.solve(system, weights), dtype=np.float64)
            self._carried[name] = (lam, check.frozen(weights))
        return self._carried[name][1]

    def _check_decay(self, decay: float) -> None:
        """Refuse a trace that never dies out, or does so too slowly for float64."""
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
        No entry is further from its exact value than the entry of `rounding(sigma, lam).A` says.
        """
        return np.asarray(self.trace_weights(lam).T @ self._change(sigma))

    def b(self, sigma: float, lam: float) -> Array:
        """b_σ = E[R e_k], (d,): Eq. (15), corrected. σ matters only where rewards are averaged too.

        Notes
        -----
        No entry is further from its exact value than the entry of `rounding(sigma, lam).b` says.
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
        """The SVD of M^{-½}A_σ on the row space, and which of its values are more than a rounded zero."""
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
            (a ValueError) where no solution exists, or where A_σ is so close to singular that rounding may have taken
            all but two digits.

        Notes
        -----
        The Euclidean error is at most `rounding(sigma, lam).fixed_point(...)`, which grows like κ_M² and like
        1/(1 − γ); where that is above 0.01·‖θ‖ the result is refused, unless |Φ| times it is below 1e-8 of the largest
        reward (so that a fixed point of zero can be found). Solved as M^{-½}(Aθ + b) = 0.
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
        5·n·eps·κ_M > 0.01 is refused, up to 1/(n·eps), beyond which M counts as singular; likewise in MSPBE and its
        gradient.
        """
        vector = check.array("vector", vector, (self.d,), largest=check.LARGEST**3)
        scale, basis, _ = self._regular_range
        return np.asarray(basis.T @ ((basis @ vector) / scale**2))

    def _error(self, theta: ArrayLike, sigma: float) -> Array:
        """E[δ_k | index], (n,)."""
        return np.asarray(
            self._change(sigma) @ check.array("theta", theta, (self.d,)) + self._reward(sigma)
        )

    def mspbe(self, theta: ArrayLike, sigma: float, lam: float) -> float:
        """½ ‖A_σ θ + b‖² in M⁻¹, Eq. (19); where M is singular, on the row space of Ξ^½Φ, in which Aθ + b lies.

        Notes
        -----
        The error of √(2·MSPBE) is at most `rounding(sigma, lam).residual(theta)`.
        """
        white = self._carry("Y", lam).T @ self._error(theta, sigma)
        return float(0.5 * white @ white)

    def mspbe_gradient(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """A_σᵀ M⁺ (A_σ θ + b), (d,): the gradient of `mspbe`, which already includes the ½ (Eqs. (20)–(21)).

        Notes
        -----
        No entry is further from its exact value than the entry of `rounding(sigma, lam).gradient(theta)` says.
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, d={self.d}, gamma={self.gamma:g})"

    def _repr_html_(self) -> str:
        sizes = {
            "indices n": self.n,
            "features d": self.d,
            "γ": f"{self.gamma:g}",
            "rank of M": self.rank_M,
        }
        rows: list[tuple[object, ...]] = [(name, value, "", "") for name, value in sizes.items()]
        for name, told in (("rank of A", self._rank_told), ("mean of TD", self._stability_told)):
            for lam in _SHOWN_LAMBDAS:
                rows.append(
                    (f"{name}, λ = {lam:g}", *(told(sigma, lam) for sigma in _SHOWN_SIGMAS))
                )
        return html_table(
            type(self).__name__, rows, ("", *(f"σ = {sigma:g}" for sigma in _SHOWN_SIGMAS))
        )

    def _rank_told(self, sigma: float, lam: float) -> str:
        try:
            return str(self.rank_A(sigma, lam))
        except ValueError:
            return "not known"

    def _stability_told(self, sigma: float, lam: float) -> str:
        """Whether θ += α(Aθ + b) converges for a small α, on the rows that A maps into."""
        try:
            drift = self.row_basis @ self.A(sigma, lam) @ self.row_basis.T
        except ValueError:
            return "not known"
        top = float(np.linalg.eigvals(drift).real.max(initial=-np.inf))
        size = (self.n + self.d) * EPS * float(np.linalg.norm(drift))
        return "stable" if top < -size else "unstable" if top > size else "on the border"


class PredictionProblem(LinearPrediction):
    """A linear prediction problem on a finite index set.

    Parameters
    ----------
    features : array_like, (n, d)
        Φ.
    p_mu, p_pi : array_like, (n, n)
        Behaviour and target chains. Rows may sum to less than one: what is missing has value zero.
    rewards : array_like, (n,)
        Expected reward of each index.
    xi : array_like, (n,)
        Weights of the visits; they need not be stationary.
    gamma : float in [0, 1]
    p_trace : array_like, (n, n), optional
        What carries the trace from one index to the next, by default `p_mu`; a row is all zero where an episode
        ends and the trace resets, even if the update bootstraps through the end.
    rewards_pi : array_like, (n,), optional
        If given, the reward is averaged too: σ·rewards + (1−σ)·rewards_pi.

    Examples
    --------
    Two pairs that lead to each other, one feature:

    >>> p = PredictionProblem([[1.0], [2.0]], [[0, 1], [1, 0]], [[0, 1], [1, 0]], [1, 0], [0.5, 0.5], 0.5)
    >>> p.A(0.5, 0.0).tolist(), p.M.tolist(), p.fixed_point(0.5, 0.0).round(4).tolist()
    ([[-1.5]], [[2.5]], [0.3333])
    >>> p.b(0.5, 0.0).tolist(), p.td_step([0.0], 0.5, 0.0).tolist(), round(p.mspbe([0.0], 0.5, 0.0), 4), p.rank_M
    ([0.5], [0.5], 0.05, 1)
    >>> [step([0.0], 0.5, 0.0).round(4).tolist() for step in (p.prop1_step, p.mspbe_gradient)]
    [[0.3], [-0.3]]
    >>> p.trace_weights(0.0).tolist(), p.next_features(0.5).tolist(), p.gamma_v(0.5, 0.0).tolist(), p.rank_A(0.5, 0.0)
    ([[0.5], [1.0]], [[2.0], [1.0]], [[1.0]], 1)
    >>> p.solve_M(np.array([5.0])).round(4).tolist(), p.row_basis.shape, bool(p.rounding(0.5, 0.0).b < 1e-13)
    ([2.0], (1, 1), True)
    >>> p.p_walk.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    def __init__(
        self,
        features: ArrayLike,
        p_mu: ArrayLike,
        p_pi: ArrayLike,
        rewards: ArrayLike,
        xi: ArrayLike,
        gamma: float,
        *,
        p_trace: ArrayLike | None = None,
        rewards_pi: ArrayLike | None = None,
    ) -> None:
        phi = check.array("features", features, (None, None))
        n = len(phi)
        chain_mu = check.distributions("p_mu", p_mu, (n, n), allow_less=True)
        chain_pi = check.distributions("p_pi", p_pi, (n, n), allow_less=True)
        trace = chain_mu
        if p_trace is not None:
            trace = check.distributions("p_trace", p_trace, (n, n), allow_less=True)
        weights = check.array("xi", xi, (n,))
        if (weights < 0).any() or weights.sum() <= 0:
            raise ValueError(
                f"xi is {check.brief(xi)}; weights of visits should be ≥ 0 and not all zero"
            )
        super().__init__(phi, chain_mu, chain_pi, rewards, weights, gamma, trace, rewards_pi)

    _walked: Array | None = None  # set by views that bootstrap from another chain in place of p_mu

    def _held(self) -> Any:
        return (*super()._held(), self._walked)

    @property
    def p_walk(self) -> Array:
        """The chain that walks follow, (n, n): `p_mu`, or, in a view, the `p_mu` of the problem viewed."""
        return self.p_mu if self._walked is None else self._walked

    def _check_decay(self, decay: float) -> None:
        if decay == 1.0 and not leaves_surely(self.p_trace):
            raise ValueError(
                "lam is 1.0 with gamma 1.0; the trace never resets surely, so lam·gamma should be below 1"
            )
        super()._check_decay(decay)

    @classmethod
    def on_pairs(
        cls,
        mdp: FiniteMDP,
        mu: ArrayLike,
        pi: ArrayLike,
        features: ArrayLike,
        *,
        start: ArrayLike | None = None,
    ) -> PredictionProblem:
        """The problem on state–action pairs: Ξ = diag(d_μ(s) μ(a|s)), reward r(s, a).

        Without terminal states ξ is the stationary law of P^μ. With them, `start`, a law on states, is needed:
        ξ is then the share of visits per episode, and a terminal state has weight and value zero.

        Examples
        --------
        One state, two actions; the second pays 1, and π always takes it: q = (γ·2, 2).

        >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)
        >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[0.0, 1.0]], np.eye(2))
        >>> p.fixed_point(0.0, 0.0).round(4).tolist()
        [1.0, 2.0]
        """
        check.instance("mdp", mdp, FiniteMDP)
        mu, pi = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
        chain = mdp.surviving_pair_chain(mu)
        xi = _visits(mdp, chain, start, mu)
        features = check.array("features", features, (len(chain), None))
        return cls(
            features, chain, mdp.surviving_pair_chain(pi), mdp.rewards.ravel(), xi, mdp.gamma
        )

    @classmethod
    def on_states(
        cls,
        mdp: FiniteMDP,
        mu: ArrayLike,
        pi: ArrayLike,
        features: ArrayLike,
        *,
        start: ArrayLike | None = None,
        average_rewards: bool = False,
    ) -> PredictionProblem:
        """The problem on states, the *expected next state* reading of the paper's |S|×|S| matrices.

        The sampled successor follows μ, the expected one E_π[φ(S_{k+1}) | S_k] comes from the model, and the
        reward is that of μ; with `average_rewards` it is σ·r^μ + (1−σ)·r^π, as Eq. (15) is printed.

        Examples
        --------
        >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)
        >>> for average in (False, True):  # the reward of μ, ½, or at σ = 0 that of π, 1
        ...     p = PredictionProblem.on_states(mdp, [[0.5, 0.5]], [[0.0, 1.0]], [[1.0]], average_rewards=average)
        ...     p.fixed_point(0.0, 0.0).round(4).tolist()
        [1.0]
        [2.0]
        """
        check.instance("mdp", mdp, FiniteMDP)
        check.flag("average_rewards", average_rewards)
        mu, pi = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
        chain = mdp.surviving_state_chain(mu)
        xi = _visits(mdp, chain, start, None)
        features = check.array("features", features, (len(chain), None))
        r_mu, r_pi = (mu * mdp.rewards).sum(axis=1), (pi * mdp.rewards).sum(axis=1)
        return cls(
            features,
            chain,
            mdp.surviving_state_chain(pi),
            r_mu,
            xi,
            mdp.gamma,
            rewards_pi=r_pi if average_rewards else None,
        )


def _visits(mdp: FiniteMDP, chain: Array, start: ArrayLike | None, mu: Array | None) -> Array:
    """Stationary law of a continuing chain, or the share of visits per episode from a start law; `mu` is for pairs."""
    law = None if start is None else check.distributions("start", start, (mdp.n_states,))
    if not mdp.terminal:
        if start is not None:
            raise ValueError(
                f"start is {check.brief(start)}; without terminal states it should be left out"
            )
        return stationary_distribution(chain)
    if law is None:
        raise ValueError(
            "start is None; with terminal states it should be a law on states, where episodes begin"
        )
    if not leaves_surely(chain):
        raise ValueError("mu never ends some episodes; terminal states should be reached surely")
    begin = np.where(mdp.is_terminal, 0.0, law)
    if begin.sum() <= 0:
        raise ValueError(
            f"start is {check.brief(start)}; it should give weight to a state that is not terminal"
        )
    error = resolvent_error(chain, 1.0)
    if not error <= TOLERATED:
        raise ValueError(
            f"mu ends episodes so late that rounding may take all visits (bound {error:.1e} > {TOLERATED}); "
            "it should end them sooner"
        )
    if mu is not None:
        begin = (begin[:, None] * mu).ravel()
    visits = np.linalg.solve(np.eye(len(chain)) - chain.T, begin)
    return np.asarray(visits / visits.sum())


def _root(gram: Array) -> Array:
    """A matrix R with RᵀR = gram, for a symmetric positive semi-definite gram."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T)
