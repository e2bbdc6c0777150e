r"""n-step learners: Sarsa, Tree Backup, and Q(σ) of De Asis et al. (2018) between them.

Write Q_k for the table once time k is reached, T for the end of the episode and h = min(t + n, T). The n-step targets
for Q(S_t, A_t) are, with v_k = Σ_a π(a|S_k) Q_{k−1}(S_k, a), q_k = Q_{k−1}(S_k, A_k), both zero in a terminal state,

    Sarsa        G = R_{t+1} + γR_{t+2} + … + γ^{h−t−1} R_h + γ^{h−t} q_h
    Tree Backup  G_{t:h} = R_{t+1} + γ [v_{t+1} + π(A_{t+1}|S_{t+1}) (G_{t+1:h} − q_{t+1})],    G_{h−1:h} = R_h + γ v_h
    Q(σ)         G = q_t + Σ_{k=t}^{h−1} δ^σ_k Π_{i=t+1}^{k} γ [(1−σ) π(A_i|S_i) + σ]
                 δ^σ_k = R_{k+1} + γ [σ q_{k+1} + (1−σ) v_{k+1}] − q_k

and Q(S_t, A_t) moves by αρ (G − Q(S_t, A_t)) at time h, where, off-policy, the ratio of Q(σ) is

    ρ = Π_{k=t+1}^{min(t+n−1, T−1)} [σ π(A_k|S_k)/μ(A_k|S_k) + 1 − σ].

The last action that a sampled bootstrap uses, A_{t+n}, has no factor in this product, so for σ > 0 the learner does not
aim at q^π off-policy; `correct_bootstrap` takes the product up to min(t+n, T−1), which for σ = 1 puts this right.
Values are those recorded when S_k was reached, so that the sums telescope exactly although the table keeps changing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.episodes import Episode
from gqlib.tabular._arguments import discount, policy_for, step_size, table_for

__all__ = ["n_step_q_sigma", "n_step_sarsa", "n_step_tree_backup"]


class _Records:
    """q_k, v_k and π(A_k|S_k), recorded when time k is reached: q_k and v_k are zero in a terminal state."""

    def __init__(self, episode: Episode, pi: Array | None) -> None:
        self.episode, self.pi, self.noted = episode, pi, 0
        self.sampled = np.zeros(len(episode) + 1)
        self.expected = np.zeros(len(episode) + 1)
        self.probability = np.zeros(len(episode) + 1)

    def reach(self, table: Array, time: int) -> None:
        """Record what the table says at every time up to `time` that is not yet recorded."""
        while self.noted < min(time + 1, len(self.sampled) - self.episode.ended):
            k = self.noted
            s, a = self.episode.states[k], self.episode.actions[k]
            self.sampled[k] = table[s, a]
            if self.pi is not None:
                self.expected[k] = self.pi[s] @ table[s]
                self.probability[k] = self.pi[s, a]
            self.noted += 1


def _times(length: int, n: int) -> list[tuple[int, int]]:
    """(time reached, time then updated), in order: t is updated when min(t + n, length) is reached."""
    return sorted((min(t + n, length), t) for t in range(length))


def n_step_sarsa(q: ArrayLike, episode: Episode, *, n: int, gamma: float, alpha: float) -> Array:
    """On-policy n-step Sarsa: n rewards and then the value of the sampled pair.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> n_step_sarsa(table, episode, n=2, gamma=1.0, alpha=0.5).tolist()
    [[1.0, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    table, gamma, alpha = table_for(q, episode), discount(gamma), step_size(alpha)
    records = _Records(episode, None)
    for h, t in _times(len(episode), check.integer("n", n, low=1)):
        records.reach(table, h)
        rewards = episode.rewards[t:h]
        target = rewards @ gamma ** np.arange(h - t) + gamma ** (h - t) * records.sampled[h]
        s, a = episode.states[t], episode.actions[t]
        table[s, a] += alpha * (target - table[s, a])
    return table


def n_step_tree_backup(
    q: ArrayLike, episode: Episode, pi: ArrayLike, *, n: int, gamma: float, alpha: float
) -> Array:
    """n-step Tree Backup for the target policy π, by its recursion; no ratio is needed off-policy.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> n_step_tree_backup(table, episode, [[0.5, 0.5]] * 3, n=2, gamma=1.0, alpha=0.5).tolist()
    [[1.25, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    table, gamma, alpha = table_for(q, episode), discount(gamma), step_size(alpha)
    records = _Records(episode, policy_for("pi", pi, table))
    for h, t in _times(len(episode), check.integer("n", n, low=1)):
        records.reach(table, h)
        target = episode.rewards[h - 1] + gamma * records.expected[h]
        for k in range(h - 1, t, -1):
            beyond = records.expected[k] + records.probability[k] * (target - records.sampled[k])
            target = episode.rewards[k - 1] + gamma * beyond
        s, a = episode.states[t], episode.actions[t]
        table[s, a] += alpha * (target - table[s, a])
    return table


def n_step_q_sigma(
    q: ArrayLike,
    episode: Episode,
    pi: ArrayLike,
    mu: ArrayLike | None = None,
    *,
    n: int,
    sigma: float,
    gamma: float,
    alpha: float,
    correct_bootstrap: bool = False,
) -> Array:
    """n-step Q(σ) of De Asis et al. (2018); on-policy without `mu`, with its importance sampling ratio otherwise.

    σ = 1 is n-step Sarsa (on-policy), σ = 0 is n-step Tree Backup, n = 1 is Q(σ) of Eq. (5).

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> n_step_q_sigma(table, episode, [[0.5, 0.5]] * 3, n=2, sigma=0.5, gamma=1.0, alpha=0.5).tolist()
    [[1.125, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    check.flag("correct_bootstrap", correct_bootstrap)
    table, gamma, alpha = table_for(q, episode), discount(gamma), step_size(alpha)
    n, sigma, target_policy = (
        check.integer("n", n, low=1),
        check.scalar("sigma", sigma),
        policy_for("pi", pi, table),
    )
    length, records = len(episode), _Records(episode, target_policy)
    weights = _ratios(episode, target_policy, mu, sigma)
    for h, t in _times(length, n):
        records.reach(table, h)
        target, decay = records.sampled[t], 1.0
        for k in range(t, h):
            bootstrap = sigma * records.sampled[k + 1] + (1.0 - sigma) * records.expected[k + 1]
            target += decay * (episode.rewards[k] + gamma * bootstrap - records.sampled[k])
            decay *= gamma * ((1.0 - sigma) * records.probability[k + 1] + sigma)
        last = min(t + n if correct_bootstrap else t + n - 1, length - episode.ended)
        rho = np.prod(weights[t + 1 : last + 1])
        s, a = episode.states[t], episode.actions[t]
        table[s, a] += alpha * rho * (target - table[s, a])
    return table


def _ratios(episode: Episode, pi: Array, mu: ArrayLike | None, sigma: float) -> Array:
    """σ π(A_k|S_k)/μ(A_k|S_k) + 1 − σ for every k of the episode; ones on-policy."""
    if mu is None:
        return np.ones(len(episode) + 1)
    behaviour = policy_for("mu", mu, pi)
    taken = behaviour[episode.states, episode.actions]
    steps = slice(0, len(episode) + (not episode.ended))
    if (taken[steps] <= 0).any():
        raise ValueError(
            "mu gives probability 0 to an action of the episode; it should be the policy that acted"
        )
    ratio = np.divide(
        pi[episode.states, episode.actions], taken, out=np.ones_like(taken), where=taken > 0
    )
    return np.asarray(sigma * ratio + 1.0 - sigma)
