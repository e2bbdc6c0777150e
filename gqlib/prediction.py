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

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._linear import LinearPrediction
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP, leaves_surely, stationary_distribution
from gqlib.rounding import TOLERATED, resolvent_error

__all__ = ["LinearPrediction", "PredictionProblem"]


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
            raise ValueError(f"xi is {check.brief(xi)}; weights of visits should be ≥ 0 and not all zero")
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

        Without terminal states ξ is the stationary law of P^μ. With them `start`, a law on states, is needed:
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
            raise ValueError(f"start is {check.brief(start)}; without terminal states it should be left out")
        return stationary_distribution(chain)
    if law is None:
        raise ValueError("start is None; with terminal states it should be a law on states, where episodes begin")
    if not leaves_surely(chain):
        raise ValueError("mu never ends some episodes; terminal states should be reached surely")
    begin = np.where(mdp.is_terminal, 0.0, law)
    if begin.sum() <= 0:
        raise ValueError(f"start is {check.brief(start)}; it should give weight to a state that is not terminal")
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
