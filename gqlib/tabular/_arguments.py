"""The checks that every tabular learner makes on entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.episodes import Episode


def table_for(q: ArrayLike, episode: Episode) -> Array:
    """A new (S, A) table with the values of `q`, large enough for the episode."""
    table = check.array("q", q, (None, None))
    check.instance("episode", episode, Episode)
    for axis, name in enumerate(("states", "actions")):
        largest = int(np.max(getattr(episode, name)))
        if largest >= table.shape[axis]:
            raise ValueError(
                f"q has shape {table.shape}; for an episode with {name} up to {largest} it should have more {name}"
            )
    return table


def policy_for(name: str, policy: ArrayLike, table: Array) -> Array:
    """A policy of the same shape as the table."""
    return check.distributions(name, policy, (table.shape[0], table.shape[1]))


def discount(gamma: float) -> float:
    """γ in [0, 1]; 1 is for episodes that end."""
    return check.scalar("gamma", gamma, low=0.0, high=1.0)


def step_size(alpha: float) -> float:
    """α ≥ 0, finite."""
    return check.scalar("alpha", alpha, low=0.0)
