r"""Finite Markov decision processes, policies and their values.

An MDP has S states, A actions, P(s'|s, a), r(s, a) and a discount γ.
A policy ν(a|s) turns it into two chains, one on states and one on state–action pairs,

    P^ν[s, s'] = Σ_a ν(a|s) P(s'|s, a)        P^ν[(s,a), (s',a')] = P(s'|s, a) ν(a'|s'),

the second of which is what the paper's Eqs. (1)–(2) need:
q^ν = r + γ P^ν q^ν on pairs, where r(s, a) does not depend on the policy.
Pairs are numbered s·A + a.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from gqlib import _validate as check
from gqlib._objects import Fixed, html_table
from gqlib._validate import Array
from gqlib.rounding import refuse_resolvent

__all__ = ["FiniteMDP", "stationary_distribution"]


# An unnormalised law is scaled down beyond this, so that it never overflows.
_HUGE = 1e100
# Below this, products of probabilities might be rounded to zero.
_TINY = 1e-150


def leaves_surely(chain: Array) -> bool:
    """Whether a substochastic chain is left with probability one from every state.

    That is so exactly when every state has a path to a row that sums to less than one;
    then I − chain is invertible.
    """
    n = len(chain)
    leaks = chain.sum(axis=1) < 1.0 - check.PROBABILITY_TOLERANCE
    # Walk backwards from an outside node n, which every leaking row leads to.
    backwards = np.zeros((n + 1, n + 1))
    backwards[:n, :n] = (chain > 0).T
    backwards[n, :n] = leaks
    reached = breadth_first_order(csr_array(backwards), n, return_predecessors=False)
    return len(reached) == n + 1


def stationary_distribution(chain: ArrayLike) -> Array:
    """The unique stationary law of a finite chain.

    By the elimination of Grassmann, Taksar and Heyman, which subtracts nothing and so keeps full
    relative accuracy even where the law spans many orders of magnitude.

    Parameters
    ----------
    chain : array_like, (n, n)
        Transition matrix; rows sum to one. Transient states are allowed (their probability is zero),
        two recurrent classes are not.

    Returns
    -------
    ndarray, (n,)

    Notes
    -----
    Each entry above 1e-150 has a relative error of at most 2n³·eps, however close the chain is to decomposing: it
    is a quotient of sums of products of probabilities. The diagonal is not used, since the rest of a row determines
    it. Probabilities of leaving that fall below 1e-150 are refused.

    Examples
    --------
    >>> stationary_distribution([[0.5, 0.5], [1.0, 0.0]]).round(4).tolist()
    [0.6667, 0.3333]
    """
    p = check.array("chain", chain, (None, None))
    p = check.distributions("chain", p, (len(p), len(p)))
    count, label = connected_components(csr_array(p > 0), connection="strong")
    closed = [c for c in range(count) if not (p[np.ix_(label == c, label != c)] > 0).any()]
    if len(closed) != 1:
        raise ValueError(
            f"chain has {len(closed)} recurrent classes; it should have one, or its stationary law is not unique"
        )
    members = np.flatnonzero(label == closed[0])
    work = p[np.ix_(members, members)]
    for k in range(len(members) - 1, 0, -1):
        leaving = work[k, :k].sum()
        if leaving < _TINY:
            raise ValueError(
                f"chain leaves a set of states with probability {leaving:g}; it should be at least {_TINY:g}, or zero"
            )
        work[:k, k] /= leaving
        work[:k, :k] += np.outer(work[:k, k], work[k, :k])
    law = np.ones(len(members))
    for k in range(1, len(members)):
        law[k] = law[:k] @ work[:k, k]
        if law[k] > _HUGE:
            law[: k + 1] /= law[k]
    result = np.zeros(len(p))
    result[members] = law / law.sum()
    return result


def _outcomes(
    state: int, action: int, outcomes: Any, n_states: int
) -> Iterator[tuple[float, int, float, bool]]:
    """What may follow an action, as the table of an environment lists it."""
    where = f"of state {state} and action {action} in env"
    for outcome in outcomes if isinstance(outcomes, Sequence) else [outcomes]:
        if not isinstance(outcome, Sequence) or len(outcome) != 4:
            wanted = "(probability, next state, reward, terminated)"
            raise ValueError(f"an outcome {where} is {check.brief(outcome)}; it should be {wanted}")
        probability, after, reward, ended = outcome
        if not isinstance(ended, bool | np.bool_):
            check.integer(f"an end {where}", ended, low=0, high=1)
        yield (
            check.scalar(f"a probability {where}", probability),
            check.integer(f"a next state {where}", after, low=0, high=n_states - 1),
            check.scalar(f"a reward {where}", reward),
            bool(ended),
        )


class FiniteMDP(Fixed):
    """A finite MDP; it does not change, and is equal to another with the same numbers.

    Parameters
    ----------
    transitions : array_like, (S, A, S)
        P(s'|s, a). Rows of terminal states are not used; they may be zero.
    rewards : array_like, (S, A) or (S, A, S)
        r(s, a), or r(s, a, s'), which is averaged over s'.
    gamma : float in [0, 1]
        1 only where terminal states are reached with probability one.
    terminal : iterable of int
        States in which an episode ends: their value is zero.

    Examples
    --------
    One state, in which the episode ends with probability one half; reward 1 per step:

    >>> mdp = FiniteMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], 1.0, terminal=[1])
    >>> mdp.v([[1.0], [1.0]]).tolist()
    [2.0, 0.0]
    >>> only = [[1.0], [1.0]]
    >>> mdp.q(only).tolist(), mdp.state_chain(only).tolist(), mdp.surviving_state_chain(only).tolist()
    ([[2.0], [0.0]], [[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.0], [0.0, 0.0]])

    With a single action, a pair is a state:

    >>> mdp.policy(only).shape, bool((mdp.pair_chain(only) == mdp.state_chain(only)).all())
    ((2, 1), True)
    >>> mdp.surviving_pair_chain(only).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """

    def __init__(
        self, transitions: ArrayLike, rewards: ArrayLike, gamma: float, terminal: Iterable[int] = ()
    ) -> None:
        p = check.array("transitions", transitions, (None, None, None))
        n_states, n_actions = p.shape[:2]
        p = check.array("transitions", p, (n_states, n_actions, n_states))
        if not isinstance(terminal, Iterable) or getattr(terminal, "ndim", 1) == 0:
            raise ValueError(
                f"terminal is {check.brief(terminal)}; it should hold numbers of states"
            )
        self.terminal = tuple(
            sorted({check.integer("terminal", s, low=0, high=n_states - 1) for s in terminal})
        )
        self.is_terminal = np.zeros(n_states, dtype=bool)
        self.is_terminal[list(self.terminal)] = True
        check.distributions("transitions", p, p.shape, allow_less=True)
        used = np.where(self.is_terminal[:, None, None], 1.0 / n_states, p)
        check.distributions("transitions", used, p.shape)
        r = check.array(
            "rewards",
            rewards,
            (n_states, n_actions) + (n_states,) * (check.dimensions(rewards) == 3),
        )
        self.gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
        if self.gamma == 1.0 and not self.terminal:
            raise ValueError("gamma is 1.0; without terminal states it should be in [0, 1)")
        self.transitions = check.frozen(p)
        self.rewards = check.frozen((p * r).sum(axis=2) if r.ndim == 3 else r)
        check.frozen(self.is_terminal)
        self.n_states, self.n_actions = n_states, n_actions
        self._fix()

    def _held(self) -> Any:
        return self.transitions, self.rewards, self.gamma, self.terminal

    @classmethod
    def from_gym(cls, env: Any, gamma: float) -> Self:
        """The MDP of a Gymnasium environment that has a table of it, as FrozenLake, CliffWalking and Taxi have.

        Parameters
        ----------
        env : gymnasium.Env
            ``env.unwrapped.P[s][a]`` lists (probability, next state, reward, terminated), for states and actions from 0
            on. Episodes begin where ``initial_state_distrib`` says, or in any state in which none ends.
        gamma : float in [0, 1]

        Examples
        --------
        >>> import gymnasium
        >>> FiniteMDP.from_gym(gymnasium.make("FrozenLake-v1"), 0.99)
        FiniteMDP(16 states, 4 actions, gamma=0.99, terminal=(5, 7, 11, 12, 15))
        """
        table = getattr(getattr(env, "unwrapped", env), "P", None)
        if not isinstance(table, Mapping) or not table:
            raise ValueError(
                f"env is {check.brief(env)}; it should have a table of its transitions, env.unwrapped.P"
            )
        if not all(isinstance(by_action, Mapping) for by_action in table.values()):
            raise ValueError(
                f"env has the table {check.brief(table)}; it should have a mapping for each state"
            )
        n_states, n_actions = len(table), max(map(len, table.values()))
        check.room("env", env, n_states * n_actions * n_states)
        transitions = np.zeros((n_states, n_actions, n_states))
        rewards = np.zeros((n_states, n_actions))
        arrivals: list[dict[bool, set[int]]] = [
            {True: set(), False: set()} for _ in range(n_states)
        ]
        for state, by_action in table.items():
            for action, outcomes in by_action.items():
                check.integer("a state of env", state, low=0, high=n_states - 1)
                check.integer("an action of env", action, low=0, high=n_actions - 1)
                for probability, after, reward, terminated in _outcomes(
                    state, action, outcomes, n_states
                ):
                    transitions[state, action, after] += probability
                    rewards[state, action] += probability * reward
                    arrivals[state][terminated].add(after)
        anywhere = np.ones(n_states)
        anywhere[list(set().union(*(by_end[True] for by_end in arrivals)))] = 0.0
        law = getattr(getattr(env, "unwrapped", env), "initial_state_distrib", anywhere)
        waiting, reached = (
            np.flatnonzero(law).tolist(),
            {True: set(), False: set(np.flatnonzero(law).tolist())},
        )
        while (
            waiting
        ):  # walk on until an end; a table may have rows for states that no episode visits
            state = waiting.pop()
            waiting += arrivals[state][False] - reached[False]
            for ended in (True, False):
                reached[ended] |= arrivals[state][ended]
        unclear = reached[True] & reached[False]
        if unclear:
            raise ValueError(
                f"env ends only some of the episodes that reach state {min(unclear)}; it should end all"
            )
        return cls(transitions, rewards, gamma, terminal=reached[True])

    def policy(self, policy: ArrayLike, name: str = "policy") -> Array:
        """The policy as an (S, A) array, checked to be one of this MDP."""
        return check.distributions(name, policy, (self.n_states, self.n_actions))

    def pair_chain(self, policy: ArrayLike) -> Array:
        """P^ν on state–action pairs, (SA, SA), pair index s·A + a (corrects the paper's sizes at Eq. (2))."""
        nu = self.policy(policy)
        size = self.n_states * self.n_actions
        return np.asarray((self.transitions[:, :, :, None] * nu).reshape(size, size))

    def state_chain(self, policy: ArrayLike) -> Array:
        """P^ν on states, (S, S)."""
        return np.asarray(np.einsum("sa,sat->st", self.policy(policy), self.transitions))

    def surviving_pair_chain(self, policy: ArrayLike) -> Array:
        """P^ν on pairs with nothing leading into or out of a terminal state: rows may sum to less than one."""
        ends = np.repeat(self.is_terminal, self.n_actions)
        chain = self.pair_chain(policy)
        chain[ends] = 0.0
        chain[:, ends] = 0.0
        return chain

    def surviving_state_chain(self, policy: ArrayLike) -> Array:
        """P^ν on states with nothing leading into or out of a terminal state."""
        chain = self.state_chain(policy)
        chain[self.is_terminal] = 0.0
        chain[:, self.is_terminal] = 0.0
        return chain

    def q(self, policy: ArrayLike) -> Array:
        """q^ν, (S, A): the solution of q = r + γ P^ν q, Eqs. (1)–(2); zero in terminal states.

        Notes
        -----
        The largest error is at most `rounding.resolvent_error(P^ν, γ)` times the largest |q|; where that is above
        0.01 (γ within about 1e-12 of one and no terminal state near), a ValueError is raised.
        """
        chain = self.surviving_pair_chain(policy)
        if self.gamma == 1.0 and not leaves_surely(chain):
            raise ValueError(
                "gamma is 1.0; under this policy terminal states are not reached surely, so it should be below 1"
            )
        refuse_resolvent(
            "gamma", chain, self.gamma, "it should be further below 1, or an end be nearer"
        )
        rewards = np.where(self.is_terminal[:, None], 0.0, self.rewards)
        values = np.linalg.solve(np.eye(len(chain)) - self.gamma * chain, rewards.ravel())
        return np.asarray(values.reshape(self.n_states, self.n_actions))

    def v(self, policy: ArrayLike) -> Array:
        """v^ν(s) = Σ_a ν(a|s) q^ν(s, a), (S,)."""
        nu = self.policy(policy)
        return np.asarray((nu * self.q(nu)).sum(axis=1))

    def __repr__(self) -> str:
        ends = f", terminal={self.terminal}" if self.terminal else ""
        return f"FiniteMDP({self.n_states} states, {self.n_actions} actions, gamma={self.gamma:g}{ends})"

    def _repr_html_(self) -> str:
        counts = {"states": self.n_states, "actions": self.n_actions, "γ": f"{self.gamma:g}"}
        low, high = self.rewards.min(), self.rewards.max()
        more = {"terminal states": len(self.terminal), "rewards": f"from {low:.4g} to {high:.4g}"}
        return html_table("Finite MDP", (counts | more).items())
