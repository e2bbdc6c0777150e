r"""λ-returns and eligibility traces: Sarsa(λ), Q^π(λ) and Q(σ, λ).

Backward view, one step (the paper's Eqs. (6)–(7), with Q_t on the right of (7)):

    e(s, a) ← γλ e(s, a) + 1{(S_t, A_t) = (s, a)}                                               (6)
    Q_{t+1}(s, a) = Q_t(s, a) + α δ^σ_t e(s, a)                                                 (7), corrected
    δ^σ_t = R_{t+1} + γ [σ Q_t(S_{t+1}, A_{t+1}) + (1−σ) Σ_a π(a|S_{t+1}) Q_t(S_{t+1}, a)] − Q_t(S_t, A_t)

σ = 1 is Sarsa(λ) with accumulating traces, σ = 0 is Q^π(λ) of Harutyunyan et al. (2016).

Forward view with the table held fixed, where G_t^{t+n} = Σ_{i=0}^n γ^i R_{t+i+1} + γ^{n+1} Q(S_{t+n+1}, A_{t+n+1}):

    G_t^λ = (1−λ) Σ_n λ^n G_t^{t+n} = Q(S_t, A_t) + Σ_{l≥t} (γλ)^{l−t} δ^S_l                    (3)–(4), corrected

where an episode that ends at T gives the remaining weight λ^{T−t−1} to its last return. The off-line
update adds up α δ_t e_t of a whole episode before it changes the table; for each pair it is the sum of
α (G_t − Q(s, a)) over the visits t of (s, a), of which the paper's Eq. (8) shows the first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.episodes import Episode
from gqlib.tabular._along import along
from gqlib.tabular._arguments import discount, policy_for, step_size, table_for

__all__ = [
    "lambda_return",
    "q_pi_lambda",
    "q_sigma_lambda",
    "q_sigma_lambda_offline",
    "sarsa_lambda",
    "td_error_return",
    "td_errors",
]


def _decay(lam: float) -> float:
    return check.scalar("lam", lam, low=0.0, high=1.0)


def sarsa_lambda(
    q: ArrayLike, episode: Episode, *, lam: float, gamma: float, alpha: float
) -> Array:
    """Sarsa(λ) with accumulating traces along an episode.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> sarsa_lambda(np.zeros((3, 2)), episode, lam=0.5, gamma=1.0, alpha=0.5).tolist()
    [[0.75, 0.0], [0.0, 0.5], [0.0, 0.0]]
    """
    return along("sarsa", q, episode, lam=lam, gamma=gamma, alpha=alpha)


def q_pi_lambda(
    q: ArrayLike, episode: Episode, pi: ArrayLike, *, lam: float, gamma: float, alpha: float
) -> Array:
    """Q^π(λ) of Harutyunyan et al. (2016): expected errors, full traces and no ratio.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> q_pi_lambda(table, episode, [[0.5, 0.5]] * 3, lam=0.5, gamma=1.0, alpha=0.5).tolist()
    [[1.25, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    return along("expected_sarsa", q, episode, pi, lam=lam, gamma=gamma, alpha=alpha)


def q_sigma_lambda(
    q: ArrayLike,
    episode: Episode,
    pi: ArrayLike,
    *,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
) -> Array:
    """Tabular Q(σ, λ), Eqs. (6)–(7), with Q_t on the right of (7). Any finite σ is allowed.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> q_sigma_lambda(table, episode, [[0.5, 0.5]] * 3, sigma=0.5, lam=0.5, gamma=1.0, alpha=0.5).tolist()
    [[1.5, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    return along("q_sigma", q, episode, pi, sigma=sigma, lam=lam, gamma=gamma, alpha=alpha)


def td_errors(
    q: ArrayLike, episode: Episode, pi: ArrayLike, *, sigma: float, gamma: float
) -> Array:
    """δ^{π,σ}_t of Eq. (5) for every step of an episode, all from the same table, (T,).

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> td_errors([[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]], episode, [[0.5, 0.5]] * 3, sigma=1.0, gamma=1.0).tolist()
    [5.0, -3.0]
    """
    table, gamma, sigma = table_for(q, episode), discount(gamma), check.scalar("sigma", sigma)
    target = policy_for("pi", pi, table)
    sampled = table[episode.states, episode.actions]
    expected = (target * table).sum(axis=1)[episode.states]
    following = sigma * sampled + (1.0 - sigma) * expected
    if episode.ended:
        following[-1] = 0.0
    return np.asarray(episode.rewards + gamma * following[1:] - sampled[:-1])


def td_error_return(
    q: ArrayLike, episode: Episode, pi: ArrayLike, t: int, *, sigma: float, lam: float, gamma: float
) -> float:
    """Q(S_t, A_t) + Σ_{l≥t} (γλ)^{l−t} δ^{π,σ}_l: Eqs. (4) and (8) with t on both sides.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table, half = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]], [[0.5, 0.5]] * 3
    >>> td_error_return(table, episode, half, 0, sigma=1.0, lam=0.5, gamma=1.0)
    3.5
    """
    errors = td_errors(q, episode, pi, sigma=sigma, gamma=gamma)
    t, decay = check.integer("t", t, low=0, high=len(episode) - 1), discount(gamma) * _decay(lam)
    start = np.asarray(q, dtype=float)[episode.states[t], episode.actions[t]]
    return float(start + errors[t:] @ decay ** np.arange(len(episode) - t))


def lambda_return(q: ArrayLike, episode: Episode, t: int, *, lam: float, gamma: float) -> float:
    """G_t^λ of Sarsa(λ), Eq. (3), as the average of n-step returns; the last one takes the remaining weight.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> lambda_return([[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]], episode, 0, lam=0.5, gamma=1.0)
    3.5
    """
    table, gamma, lam = table_for(q, episode), discount(gamma), _decay(lam)
    t = check.integer("t", t, low=0, high=len(episode) - 1)
    count = len(episode) - t
    powers = gamma ** np.arange(count + 1)
    bootstrap = table[episode.states, episode.actions][t + 1 :]
    if episode.ended:
        bootstrap[-1] = 0.0
    returns = np.cumsum(powers[:-1] * episode.rewards[t:]) + powers[1:] * bootstrap
    weights = (1.0 - lam) * lam ** np.arange(count)
    weights[-1] = lam ** (count - 1)
    return float(weights @ returns)


def q_sigma_lambda_offline(
    q: ArrayLike,
    episode: Episode,
    pi: ArrayLike,
    *,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
) -> Array:
    """Q(σ, λ) that changes the table only after the episode: q + α Σ_t δ_t e_t with every δ_t from the same q.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [0, 1, 0], [1.0, 1.0], ended=True)
    >>> table = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> q_sigma_lambda_offline(table, episode, [[0.5, 0.5]] * 3, sigma=1.0, lam=0.5, gamma=1.0, alpha=0.5).tolist()
    [[1.75, 0.0], [2.0, 2.5], [0.0, 0.0]]
    """
    table, gamma, alpha, lam = table_for(q, episode), discount(gamma), step_size(alpha), _decay(lam)
    errors = td_errors(table, episode, pi, sigma=sigma, gamma=gamma)
    trace, total = np.zeros_like(table), np.zeros_like(table)
    for (s, a, *_), delta in zip(episode, errors, strict=True):
        trace *= gamma * lam
        trace[s, a] += 1.0
        total += delta * trace
    return np.asarray(table + alpha * total)
