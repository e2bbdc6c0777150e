r"""One-step temporal-difference learners, and σ as the dial between two of them.

All four move Q(S_t, A_t) by α δ_t along an episode; they differ in what stands in for the value of S_{t+1}:

    δ^S_t  = R_{t+1} + γ Q(S_{t+1}, A_{t+1}) − Q(S_t, A_t)                   Sarsa: the sampled action
    δ^ES_t = R_{t+1} + γ Σ_a π(a|S_{t+1}) Q(S_{t+1}, a) − Q(S_t, A_t)        Expected Sarsa: the mean under π
    δ^Q_t  = R_{t+1} + γ max_a Q(S_{t+1}, a) − Q(S_t, A_t)                   Q-learning: the mean under a greedy π
    δ^σ_t  = σ δ^S_t + (1−σ) δ^ES_t                                          Q(σ), Eq. (5)

(The paper's δ^ES, printed under Eq. (5), lacks its γ.) The value of a terminal state is zero.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from gqlib._validate import Array
from gqlib.domains.episodes import Episode
from gqlib.tabular._along import along
from gqlib.tabular._arguments import discount, step_size, table_for

__all__ = ["expected_sarsa", "q_learning", "q_sigma", "sarsa"]


def sarsa(q: ArrayLike, episode: Episode, *, gamma: float, alpha: float) -> Array:
    """One-step Sarsa along an episode; returns the new table.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> sarsa([[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]], episode, gamma=1.0, alpha=0.5).tolist()
    [[2.5, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    return along("sarsa", q, episode, gamma=gamma, alpha=alpha)


def expected_sarsa(
    q: ArrayLike, episode: Episode, pi: ArrayLike, *, gamma: float, alpha: float
) -> Array:
    """One-step Expected Sarsa for the target policy π; A_{t+1} is not used.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> half = [[0.5, 0.5]] * 3
    >>> expected_sarsa([[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]], episode, half, gamma=1.0, alpha=0.5).tolist()
    [[2.0, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    return along("expected_sarsa", q, episode, pi, gamma=gamma, alpha=alpha)


def q_learning(q: ArrayLike, episode: Episode, *, gamma: float, alpha: float) -> Array:
    """One-step Q-learning; A_{t+1} is not used.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 0, 0], [1.0, 1.0], ended=True)
    >>> q_learning([[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]], episode, gamma=1.0, alpha=0.5).tolist()
    [[2.5, 0.0], [1.5, 4.0], [0.0, 0.0]]
    """
    table, gamma, alpha = table_for(q, episode), discount(gamma), step_size(alpha)
    for s, a, reward, s_next, _, ends in episode:
        bootstrap = 0.0 if ends else table[s_next].max()
        table[s, a] += alpha * (reward + gamma * bootstrap - table[s, a])
    return table


def q_sigma(
    q: ArrayLike, episode: Episode, pi: ArrayLike, *, sigma: float, gamma: float, alpha: float
) -> Array:
    """One-step Q(σ), Eq. (5), with γ in δ^ES. Any finite σ is allowed; 0 is Expected Sarsa and 1 is Sarsa.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> q_sigma(table, episode, [[0.5, 0.5]] * 3, sigma=0.5, gamma=1.0, alpha=0.5).tolist()
    [[2.25, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    return along("q_sigma", q, episode, pi, sigma=sigma, gamma=gamma, alpha=alpha)
