r"""The mixed-sampling operator as a matrix, its fixed point, and where it contracts. It is that of Eq. (9).

On state–action pairs, with P^μ and P^π cut off at terminal states and ν_σ = (1−σ)π + σμ,

    B q = q + E_μ[Σ_t (γλ)^t δ^{π,σ}_t | S_0 = s, A_0 = a]                          (9)
        = q + (I − γλP^μ)⁻¹ (r + γ P^{ν_σ} q − q)  =  L q + c,
    L   = γ (I − γλP^μ)⁻¹ [(1−σ)P^π + (σ−λ)P^μ],     c = (I − γλP^μ)⁻¹ r.

Because (1−σ)P^π + σP^μ = P^{ν_σ}, the fixed point is q^{ν_σ} for every λ: the value of the mixture policy, which is q^π
only for σ = 0 or μ = π. Let ε = max_s ‖π(·|s) − μ(·|s)‖₁. Then in the maximum norm, without terminal states,

    λ ≤ σ:  ‖L‖ = γ(1−λ)/(1−γλ) ≤ γ                       (L has no negative entry)
    λ > σ:  ‖L‖ ≤ γ[1−λ + (λ−σ)ε]/(1−γλ),                 a bound below 1 exactly when λ < σ + (1−γ)/(γε),

which at σ = 0 is the condition of Harutyunyan et al. (2016) for Q^π(λ).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP, leaves_surely

__all__ = [
    "contraction_limit",
    "mixed_fixed_point",
    "mixed_operator",
    "mixture_policy",
    "policy_distance",
]


def mixture_policy(pi: ArrayLike, mu: ArrayLike, sigma: float) -> Array:
    """ν_σ = (1−σ)π + σμ, a policy for σ in [0, 1].

    Examples
    --------
    >>> mixture_policy([[1.0, 0.0]], [[0.5, 0.5]], 0.5).tolist()
    [[0.75, 0.25]]
    """
    target = check.distributions("pi", pi, (None, None))
    behaviour = check.distributions("mu", mu, target.shape)
    return np.asarray(
        target + check.scalar("sigma", sigma, low=0.0, high=1.0) * (behaviour - target)
    )


def policy_distance(pi: ArrayLike, mu: ArrayLike) -> float:
    """ε = max_s Σ_a |π(a|s) − μ(a|s)|, from 0 to 2.

    Examples
    --------
    >>> policy_distance([[1.0, 0.0]], [[0.5, 0.5]])
    1.0
    """
    target = check.distributions("pi", pi, (None, None))
    behaviour = check.distributions("mu", mu, target.shape)
    return float(np.abs(target - behaviour).sum(axis=1).max())


def mixed_operator(
    mdp: FiniteMDP, pi: ArrayLike, mu: ArrayLike, sigma: float, lam: float
) -> tuple[Array, Array]:
    """L, (SA, SA), and c, (SA,), of B q = L q + c, Eq. (9). Any finite σ is allowed.

    Examples
    --------
    One state, one action, reward 1: every return leads to 1/(1−γ).

    >>> matrix, offset = mixed_operator(FiniteMDP([[[1.0]]], [[1.0]], 0.5), [[1.0]], [[1.0]], 1.0, 0.5)
    >>> matrix.round(4).tolist(), offset.round(4).tolist()
    ([[0.3333]], [1.3333])
    """
    check.instance("mdp", mdp, FiniteMDP)
    sigma, lam = check.scalar("sigma", sigma), check.scalar("lam", lam, low=0.0, high=1.0)
    target, behaviour = (
        mdp.surviving_pair_chain(mdp.policy(p, name)) for p, name in ((pi, "pi"), (mu, "mu"))
    )
    if mdp.gamma * lam == 1.0 and not leaves_surely(behaviour):
        raise ValueError(
            "lam is 1.0 with gamma 1.0; mu does not end episodes surely, so lam·gamma should be below 1"
        )
    rewards = np.where(mdp.is_terminal[:, None], 0.0, mdp.rewards).ravel()
    following = mdp.gamma * ((1.0 - sigma) * target + (sigma - lam) * behaviour)
    resolvent = np.eye(len(rewards)) - mdp.gamma * lam * behaviour
    both = np.linalg.solve(resolvent, np.column_stack([following, rewards]))
    return both[:, :-1], both[:, -1]


def mixed_fixed_point(mdp: FiniteMDP, pi: ArrayLike, mu: ArrayLike, sigma: float) -> Array:
    """The q with B q = q, (S, A): the value of the mixture policy ν_σ, for every λ.

    Examples
    --------
    >>> mdp = FiniteMDP([[[1.0], [1.0]]], [[1.0, 0.0]], 0.5)
    >>> mixed_fixed_point(mdp, [[1.0, 0.0]], [[0.0, 1.0]], 0.5).tolist()
    [[1.5, 0.5]]
    """
    check.instance("mdp", mdp, FiniteMDP)
    return mdp.q(mixture_policy(mdp.policy(pi, "pi"), mdp.policy(mu, "mu"), sigma))


def contraction_limit(gamma: float, sigma: float, distance: float) -> float:
    """σ + (1−γ)/(γε): below this λ the operator contracts in the maximum norm; infinite where ε or γ is 0.

    Examples
    --------
    >>> round(contraction_limit(0.9, 0.25, 1.0), 4)
    0.3611
    """
    gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
    sigma = check.scalar("sigma", sigma)
    distance = check.scalar("distance", distance, low=0.0, high=2.0)
    if gamma * distance == 0.0:
        return float("inf")
    return sigma + (1.0 - gamma) / (gamma * distance)
