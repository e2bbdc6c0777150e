r"""A finite MDP of your own as a prediction domain: the exact problem, and a walk of the behaviour policy.

Where the MDP has terminal states, a walk is cut there: the last update of an episode sees φ = 0, which is what a value
of zero needs, the trace resets, and the next episode starts from `start`. Without them the walk goes on for ever; the
exact problem then has the stationary law, whatever the walk starts from.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib.domains.finite import SIGMA_READINGS, Chain, FiniteDomain, Reading, assemble
from gqlib.mdp import FiniteMDP, leaves_surely, stationary_distribution

__all__ = ["own_domain"]


def own_domain(
    mdp: FiniteMDP,
    mu: ArrayLike,
    pi: ArrayLike,
    features: ArrayLike,
    *,
    start: ArrayLike | None = None,
    theta0: ArrayLike | None = None,
    reading: Reading = "pairs",
    name: str = "own",
) -> FiniteDomain:
    """A prediction domain on any finite MDP, with or without terminal states.

    Parameters
    ----------
    mdp : FiniteMDP
    mu, pi : array_like, (S, A)
        Behaviour and target policy; π should be zero wherever μ is.
    features : array_like, (S·A, d) or (S, d)
        Of pairs, in the order s·A + a; or of states, in the other readings. Those of terminal states are not used.
    start : array_like, (S,), optional
        Where episodes start; needed where there are terminal states, otherwise the stationary law of μ.
    theta0 : array_like, (d,), optional
        The first weights; zero by default. Repeated for each block in the stacked reading.
    reading : {"pairs", "literal", "expected", "stacked"}
        What a learner sees of the features: see `gqlib.domains.finite`.
    name : str

    Returns
    -------
    FiniteDomain

    Examples
    --------
    Two states in a row, then the end; each step costs 1, and waiting takes as long as moving.

    >>> moves = [[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]], [[0, 0, 0], [0, 0, 0]]]
    >>> mdp = FiniteMDP(moves, -np.ones((3, 2)), 1.0, terminal=[2])
    >>> mu, pi = np.full((3, 2), 0.5), np.array([[1.0, 0.0]] * 3)
    >>> domain = own_domain(mdp, mu, pi, np.eye(6), start=[1, 0, 0])
    >>> domain.problem.fixed_point(0.0, 0.0).round(4).tolist()  # q of moving at once
    [-2.0, -3.0, -1.0, -2.0, 0.0, 0.0]
    >>> path = domain.trajectory(6, np.random.default_rng(3))
    >>> path.states.tolist(), path.actions.tolist(), path.rho.tolist(), path.ends.tolist()
    ([0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [2.0, 2.0, 2.0, 2.0, 0.0, 2.0], [False, True, False, True, False, False])
    """
    check.instance("mdp", mdp, FiniteMDP)
    check.instance("name", name, str)
    check.choice("reading", reading, ("pairs", *SIGMA_READINGS))
    behaviour, target = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
    alive = ~mdp.is_terminal
    if (target[alive] > 0.0)[behaviour[alive] == 0.0].any():
        raise ValueError(
            "mu never takes an action that pi takes; it should, in every state that is not terminal"
        )
    rows = mdp.n_states * mdp.n_actions if reading == "pairs" else mdp.n_states
    phi = check.array("features", features, (rows, None))
    phi[np.repeat(mdp.is_terminal, rows // mdp.n_states)] = 0.0
    moves = np.array(mdp.transitions)
    moves[mdp.is_terminal] = np.eye(mdp.n_states)[mdp.is_terminal][
        :, None, :
    ]  # never left, and never used
    if start is None:
        if mdp.terminal:
            raise ValueError(
                "start is None; where there are terminal states it should say where episodes start"
            )
        law = stationary_distribution(mdp.state_chain(behaviour))
    else:
        law = check.distributions("start", start, (mdp.n_states,))
        if law[mdp.is_terminal].any():
            raise ValueError(
                f"start is {check.brief(start)}; it should give no weight to a terminal state"
            )
    if mdp.terminal and not leaves_surely(
        mdp.surviving_state_chain(behaviour)[np.ix_(alive, alive)]
    ):
        raise ValueError("mu does not reach a terminal state surely; it should, from every state")
    first = (
        np.zeros(phi.shape[1]) if theta0 is None else check.array("theta0", theta0, (phi.shape[1],))
    )
    chain = Chain(moves, behaviour, law, np.array(mdp.is_terminal))
    rewards = np.where(mdp.is_terminal[:, None], 0.0, mdp.rewards)
    return assemble(
        name, chain, target, phi, rewards, mdp.gamma, first, reading, partial(mdp.q, target)
    )
