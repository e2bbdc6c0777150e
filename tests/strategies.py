"""Hypothesis strategies that the tests share: small random problems, rates, and one deterministic way to run them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gqlib import PredictionProblem
from gqlib.domains import random_mdp, random_policy


def few(examples: int) -> Any:
    """The same examples in every run, so that a failure can be met again and a pass means the same tomorrow."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


seeds = st.integers(0, 2**32 - 1)
# Shares at and between their ends; eighths, so that sums and differences of them are exact.
shares = st.integers(0, 8).map(lambda k: k / 8)
lams = st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0])
gammas = st.sampled_from([0.0, 0.5, 0.9, 0.99])


@st.composite
def problems(draw: Any, *, on_policy: bool = False, gamma: Any = gammas) -> SimpleNamespace:
    """A random ergodic MDP, two policies, features of full rank, and the problem on pairs that they make."""
    rng = np.random.default_rng(draw(seeds))
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    concentration = draw(st.sampled_from([0.3, 1.0, 5.0]))
    mdp = random_mdp(rng, states, actions, draw(gamma), concentration=concentration)
    mu = random_policy(rng, states, actions)
    pi = mu if on_policy else random_policy(rng, states, actions, concentration=concentration)
    features = rng.standard_normal(
        (states * actions, draw(st.integers(1, min(4, states * actions))))
    )
    problem = PredictionProblem.on_pairs(mdp, mu, pi, features)
    return SimpleNamespace(mdp=mdp, mu=mu, pi=pi, features=features, problem=problem, rng=rng)
