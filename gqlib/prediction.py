r"""A linear prediction problem and everything about it that has a closed form.

An index set of n pairs (or states), features Φ (n × d), behaviour and target chains P^μ, P^π, rewards r,
visiting weights ξ (Ξ = diag ξ) and γ. With the next feature mixed as σ·(sampled) + (1−σ)·(expected),

    A_σ = Φᵀ Ξ (I − γλ P^μ)⁻¹ (γ[(1−σ)P^π + σP^μ] − I) Φ          (before Eq. (15))
    b   = Φᵀ Ξ (I − γλ P^μ)⁻¹ r                                    (Eq. (15), corrected: free of σ)
    M   = Φᵀ Ξ Φ                                                   (after Eq. (19))
    MSPBE(θ) = ½ ‖A_σ θ + b‖²_{M⁻¹}                                (Eq. (19))

Everything follows from the trace weights X = (I − γλ P^μᵀ)⁻¹ Ξ Φ, whose row i is ξ_i E[e_k | pair_k = i]:
one linear solve with d right-hand sides, never an inverse.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP, leaves_surely, stationary_distribution


class LinearPrediction:
    """The algebra that finite chains and closed-form moments share; no argument is checked here.

    `gram` is Ξ: diag(ξ) as a vector for a finite chain, a symmetric positive semi-definite matrix where the
    "index set" is a basis of functions.
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
        self._cached_trace: tuple[float, Array] | None = None

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        """Scale and basis with M = basisᵀ diag(scale²) basis: the pseudo-inverse acts there and nowhere else.

        From the triangular factor of Ξ^½Φ rather than from M, whose small singular values are rounded away.
        """
        gram = self.xi
        root = np.sqrt(gram)[:, None] * self.features if gram.ndim == 1 else _root(gram) @ self.features
        _, scale, basis = np.linalg.svd(np.linalg.qr(root, mode="r"), full_matrices=False)
        kept = scale > scale.max(initial=0.0) * max(root.shape) * np.finfo(float).eps
        return check.frozen(scale[kept]), check.frozen(basis[kept])

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
        """X = (I − γλ P_traceᵀ)⁻¹ Ξ Φ, (n, d): row i is ξ_i E[e_k | index i at k] once k is large."""
        lam = check.scalar("lam", lam, low=0.0, high=1.0)
        if self._cached_trace is None or self._cached_trace[0] != lam:
            weights, decay = self._weigh(self.features), self.gamma * lam
            if decay > 0.0:
                self._check_decay(decay)
                system = np.eye(self.n) - decay * self.p_trace.T
                weights = np.asarray(np.linalg.solve(system, weights), dtype=np.float64)
            self._cached_trace = (lam, check.frozen(weights))
        return self._cached_trace[1]

    def _check_decay(self, decay: float) -> None:
        """Refuse a trace that never dies out."""

    def next_features(self, sigma: float) -> Array:
        """E[σφ_{k+1} + (1−σ)E_πφ(S_{k+1}, ·) | index], (n, d), written so that σ drops out where both agree."""
        sigma = check.scalar("sigma", sigma)
        return np.asarray(self._next_pi + sigma * (self._next_mu - self._next_pi))

    def A(self, sigma: float, lam: float) -> Array:
        """A_σ = E[e_k Δ_kᵀ] = E[Â_k], (d, d): the line before Eq. (15), and Appendix C."""
        return np.asarray(self.trace_weights(lam).T @ (self.gamma * self.next_features(sigma) - self.features))

    def b(self, sigma: float, lam: float) -> Array:
        """b_σ = E[R e_k], (d,): Eq. (15), corrected. σ matters only where rewards are averaged too."""
        sigma = check.scalar("sigma", sigma)
        reward = self.rewards
        if self.rewards_pi is not None:
            reward = self.rewards_pi + sigma * (self.rewards - self.rewards_pi)
        return np.asarray(self.trace_weights(lam).T @ reward)

    def gamma_v(self, sigma: float, lam: float) -> Array:
        """γ E[v_σ], (d, d), from the definition (23): γ E[{(1−σ)E_πφ' + (σ−λ)φ'} e_kᵀ].

        Equals M + A_σᵀ where the trace follows the sampled chain, which is what Proposition 1 uses.
        """
        sigma, lam = check.scalar("sigma", sigma), check.scalar("lam", lam, low=0.0, high=1.0)
        mixed = (1.0 - sigma) * self._next_pi + (sigma - lam) * self._next_mu
        return np.asarray(self.gamma * mixed.T @ self.trace_weights(lam))

    def rank_A(self, sigma: float, lam: float) -> int:
        """The numerical rank of A_σ."""
        values = np.linalg.svd(self.A(sigma, lam), compute_uv=False)
        return int((values > self._noise(sigma, lam)).sum())

    def _noise(self, sigma: float, lam: float) -> float:
        """What rounding can leave in an entry of A_σ that is exactly zero, with a margin of the size n + d."""
        difference = self.gamma * self.next_features(sigma) - self.features
        size = np.linalg.norm(self.trace_weights(lam)) * np.linalg.norm(difference)
        return float((self.n + self.d) * np.finfo(float).eps * size)

    def fixed_point(self, sigma: float, lam: float) -> Array:
        """The least-norm θ with A_σ θ + b = 0, Eqs. (16) and (40).

        Unique on the whole of ℝ^d only if `rank_A` is d; where it is less, the solutions differ by null vectors
        of A_σ.

        Raises
        ------
        numpy.linalg.LinAlgError
            (a ValueError) where no solution exists.
        """
        a, b = self.A(sigma, lam), self.b(sigma, lam)
        left, values, right = np.linalg.svd(a)
        keep = values > self._noise(sigma, lam)
        theta = -right[keep].T @ ((left[:, keep].T @ b) / values[keep])
        if keep.all():
            return np.asarray(-np.linalg.solve(a, b))
        missed = np.linalg.norm(left[:, ~keep].T @ b)
        if missed > np.sqrt(np.finfo(float).eps) * np.linalg.norm(b):
            raise np.linalg.LinAlgError(
                f"sigma is {sigma:g} and lam is {lam:g}; there A has rank {int(keep.sum())} of {self.d} "
                "and A theta + b = 0 has no solution"
            )
        return np.asarray(theta)

    def _residual(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        return self.td_step(theta, sigma, lam)

    def solve_M(self, vector: Array) -> Array:
        """M⁺ g: the inverse where M is regular, on the range of M where it is singular (see `rank_M`)."""
        scale, basis = self._range
        return np.asarray(basis.T @ ((basis @ vector) / scale**2))

    def mspbe(self, theta: ArrayLike, sigma: float, lam: float) -> float:
        """½ ‖A_σ θ + b‖² in M⁻¹, Eq. (19); on the row space of Ξ^½Φ where M is singular, where Aθ + b lies."""
        scale, basis = self._range
        scaled = (basis @ self._residual(theta, sigma, lam)) / scale
        return float(0.5 * scaled @ scaled)

    def mspbe_gradient(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """A_σᵀ M⁺ (A_σ θ + b), (d,): the gradient of `mspbe`, which holds its ½ already (Eqs. (20)–(21))."""
        return np.asarray(self.A(sigma, lam).T @ self.solve_M(self._residual(theta, sigma, lam)))

    def td_step(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """E[δ_k e_k] = A_σ θ + b, (d,): the expected semi-gradient direction of Eq. (12), without α."""
        weights = check.array("theta", theta, (self.d,))
        return np.asarray(self.A(sigma, lam) @ weights + self.b(sigma, lam))

    def prop1_step(self, theta: ArrayLike, sigma: float, lam: float) -> Array:
        """E[δ_k e_k] − γE[v_σ] ω(θ), (d,): the last line of Proposition 1, Eq. (24), without α.

        γE[v] is summed from its definition (23), so that equality with −`mspbe_gradient` is a result.
        """
        expected = self._residual(theta, sigma, lam)
        return np.asarray(expected - self.gamma_v(sigma, lam) @ self.solve_M(expected))


def _root(gram: Array) -> Array:
    """A matrix R with RᵀR = gram, for a symmetric positive semi-definite gram."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T)


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
        What carries the trace from one index to the next, by default `p_mu`: an all-zero row where an episode
        ends and the trace resets, even if the update bootstraps through the end.
    rewards_pi : array_like, (n,), optional
        With it the reward is averaged too: σ·rewards + (1−σ)·rewards_pi.

    Examples
    --------
    Two pairs that lead to each other, one feature:

    >>> p = PredictionProblem([[1.0], [2.0]], [[0, 1], [1, 0]], [[0, 1], [1, 0]], [1, 0], [0.5, 0.5], 0.5)
    >>> p.A(0.5, 0.0).tolist(), p.M.tolist(), p.fixed_point(0.5, 0.0).tolist()
    ([[-1.5]], [[2.5]], [0.3333333333333333])
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
            raise ValueError(f"xi is {check.brief(weights)}; weights of visits should be ≥ 0 and not all zero")
        super().__init__(
            phi,
            chain_mu,
            chain_pi,
            check.array("rewards", rewards, (n,)),
            weights,
            check.scalar("gamma", gamma, low=0.0, high=1.0),
            trace,
            None if rewards_pi is None else check.array("rewards_pi", rewards_pi, (n,)),
        )

    def _check_decay(self, decay: float) -> None:
        if decay == 1.0 and not leaves_surely(self.p_trace):
            raise ValueError(
                "lam is 1.0 with gamma 1.0; the trace never resets surely, so lam·gamma should be below 1"
            )

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

        Without terminal states ξ is the stationary law of P^μ. With them `start`, a law on states, is needed:
        ξ is then the share of visits per episode, and a terminal state has weight and value zero.
        """
        mu, pi = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
        chain = mdp.surviving_pair_chain(mu)
        begin = None if start is None else (check.distributions("start", start, (mdp.n_states,))[:, None] * mu).ravel()
        xi = _visits(mdp, chain, begin, np.repeat(mdp.is_terminal, mdp.n_actions))
        return cls(features, chain, mdp.surviving_pair_chain(pi), mdp.rewards.ravel(), xi, mdp.gamma)

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
        """
        mu, pi = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
        chain = mdp.surviving_state_chain(mu)
        begin = None if start is None else check.distributions("start", start, (mdp.n_states,))
        xi = _visits(mdp, chain, begin, mdp.is_terminal)
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


def _visits(mdp: FiniteMDP, chain: Array, start: Array | None, ends: Array) -> Array:
    """Stationary law of a continuing chain, or the share of visits per episode from a start law."""
    if not mdp.terminal:
        if start is not None:
            raise ValueError(f"start is {check.brief(start)}; without terminal states it should be left out")
        return stationary_distribution(chain)
    if start is None:
        raise ValueError("start is None; with terminal states it should be a law on states, where episodes begin")
    if not leaves_surely(chain):
        raise ValueError("mu never ends some episodes; terminal states should be reached surely")
    begin = np.where(ends, 0.0, start)
    if begin.sum() <= 0:
        raise ValueError(f"start is {check.brief(start)}; it should give weight to a state that is not terminal")
    visits = np.linalg.solve(np.eye(len(chain)) - chain.T, begin)
    return np.asarray(visits / visits.sum())
