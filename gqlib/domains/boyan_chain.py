r"""Boyan's chain (Appendix E, Figures 6–7 of the paper; Boyan 2002): one action, n states in a row.

s_i leads to s_{i+1} or s_{i+2} with probability 1/2 each and reward −3; s_{n−1} leads to s_n with reward −2; s_n has
reward 0. Features are four triangles over the states,

    φ_j(s_i) = max(0, 1 − |i − (1 + (n−1)j/3)|·3/(n−1)),   j = 0..3,

with n = 14 in the paper and in the public code of Dann, Neumann and Peters (2014), n = 13 (spaced by 4) in Boyan
(2002). As γ → 1 the value is −2(n − i): linear, *rising* with i, and in the span of the features.

As printed, s_n is absorbing, so the only stationary law puts all its weight on s_n. What happens there is a choice:

    restart   arriving at s_n ends the episode: the update sees φ(s_n), the trace resets, s_1 follows (main reading)
    jump      s_n is a state like the others and leads to s_1 with reward 0: one ergodic chain, traces continue
    absorb    s_n stays where it is for ever, or, with `episode_steps` = 20, until the episode is cut as in that code
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.finite import Chain, FiniteDomain, SigmaReading, build
from gqlib.mdp import FiniteMDP

__all__ = ["boyan_chain", "triangles"]

End = Literal["restart", "jump", "absorb"]
TerminalFeatures = Literal["printed", "zero"]
ENDS, TERMINAL_FEATURES = get_args(End), get_args(TerminalFeatures)
STEP_REWARD, LAST_REWARD = -3.0, -2.0
FEATURE_COUNT = 4


def triangles(states: int) -> Array:
    """Four triangular features over `states` states, (states, 4): Figure 7.

    Examples
    --------
    >>> triangles(7)[:3].tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    n = check.integer("states", states, low=FEATURE_COUNT)
    check.room("states", states, FEATURE_COUNT * n)
    intervals = FEATURE_COUNT - 1
    # Whole numbers before the single division, so that multiples of 1/(n−1) come out correctly rounded.
    distance = np.abs(intervals * np.arange(n)[:, None] - (n - 1) * np.arange(FEATURE_COUNT))
    return np.asarray(np.maximum(0, (n - 1) - distance) / (n - 1))


def boyan_chain(
    *,
    states: int = 14,
    gamma: float = 0.99,
    reading: SigmaReading = "literal",
    end: End = "restart",
    terminal_features: TerminalFeatures = "printed",
    episode_steps: int | None = None,
) -> FiniteDomain:
    """Boyan's chain as exact matrices and as a sampler.

    Parameters
    ----------
    states : int
        14 in the paper, 13 in Boyan (2002).
    gamma : float in [0, 1]
        0.99 in the paper, 0.95 in the public code of Dann et al., 1 in Boyan (2002).
    reading : {"literal", "expected", "stacked"}
        With one action, "stacked" is the same as "literal", and σ has no effect in either. In "expected", σ weighs
        φ(S_{k+1}) against its mean given S_k: the same expectation, a different variance.
    end : {"restart", "jump", "absorb"}
        What happens at the last state; see the module.
    terminal_features : {"printed", "zero"}
        φ(s_n): (0, 0, 0, 1), as in the triangles and the public code, or 0. With "restart", the first
        bootstraps from a value that nothing ties to zero, the second gives the end the value zero.
    episode_steps : int, optional
        Only with "absorb": cut episodes after this many steps (20 in the public code). Otherwise the walk stays put.

    Returns
    -------
    Domain
        Walks begin in s_1; `theta0` is zero.

    Examples
    --------
    >>> chain = boyan_chain(terminal_features="zero")
    >>> float(chain.problem.fixed_point(0.5, 0.0)[0].round(1)), float(chain.truth[0].round(4))
    (-25.0, -25.0104)
    """
    n = check.integer("states", states, low=FEATURE_COUNT)
    check.room("states", states, n**2)
    gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
    end = check.choice("end", end, ENDS)
    terminal_features = check.choice("terminal_features", terminal_features, TERMINAL_FEATURES)
    if episode_steps is not None:
        if end != "absorb":
            raise ValueError(
                f"episode_steps is {episode_steps!r}; it should be None unless end is 'absorb'"
            )
        episode_steps = check.integer("episode_steps", episode_steps, low=1)
        check.room("episode_steps", episode_steps, (n * (episode_steps + 1)) ** 2)
    transitions = np.zeros((n, 1, n))
    for i in range(n - 2):
        transitions[i, 0, i + 1] = transitions[i, 0, i + 2] = 0.5
    transitions[n - 2, 0, n - 1] = 1.0
    transitions[n - 1, 0, 0 if end == "jump" else n - 1] = 1.0
    rewards = np.full((n, 1), STEP_REWARD)
    rewards[n - 2], rewards[n - 1] = LAST_REWARD, 0.0
    phi = triangles(n)
    if terminal_features == "zero":
        phi[n - 1] = 0.0
    only, last = np.ones((n, 1)), np.arange(n) == n - 1
    chain = Chain(
        transitions,
        only,
        start=np.eye(n)[0],
        ends_on=last & (end == "restart"),
        horizon=episode_steps or 0,
    )
    name = f"boyan_chain({n} states, {end}, {terminal_features} end, {reading}, gamma={gamma:g})"
    values = partial(_values, transitions, rewards, gamma, () if end == "jump" else (n - 1,))
    return build(name, chain, only, phi, rewards, gamma, np.zeros(FEATURE_COUNT), reading, values)


def _values(transitions: Array, rewards: Array, gamma: float, terminal: tuple[int, ...]) -> Array:
    """The q of the only policy there is, (n, 1); built when it is asked for, since at γ = 1 it may not exist."""
    return FiniteMDP(transitions, rewards, gamma, terminal=terminal).q(np.ones((len(rewards), 1)))
