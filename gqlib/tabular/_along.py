"""A table is linear in one-hot features: the text of a learner (`gqlib.learners.texts`) along an episode."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.episodes import Episode
from gqlib.learners import dense
from gqlib.learners.texts import LEARNERS
from gqlib.tabular._arguments import discount, policy_for, step_size, table_for


def along(
    learner: str,
    q: ArrayLike,
    episode: Episode,
    pi: ArrayLike | None = None,
    *,
    gamma: float,
    alpha: float,
    lam: float = 0.0,
    sigma: float = 0.0,
) -> Array:
    """The new table; without π, for a learner that expects nothing."""
    table, sigma = table_for(q, episode), check.scalar("sigma", sigma)
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    rates = dense.rates(lam=lam, gamma=discount(gamma), alpha=step_size(alpha))
    steps, states, eye = len(episode), episode.states, np.eye(table.size)
    visits = eye[states * table.shape[1] + episode.actions]
    mean = np.zeros((steps, *table.shape))
    if pi is not None:
        mean[np.arange(steps), states[1:]] = policy_for("pi", pi, table)[states[1:]]
    mean = mean.reshape(steps, -1)
    if episode.ended:
        visits[-1], mean[-1] = 0.0, 0.0
    ones = np.ones(steps)
    numbers = (episode.rewards, sigma * ones, ones, ones, ones, ones)
    kept, _ = dense.loop_of(LEARNERS[learner])(
        visits[:-1], visits[1:], mean, numbers, ones < 0.0, table.ravel(), rates, steps, np.inf
    )
    return np.asarray(kept[-1].reshape(table.shape))
