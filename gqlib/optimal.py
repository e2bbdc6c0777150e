r"""Optimal values and policies of a finite MDP: what control is after, computed exactly.

    q*(s, a) = r(s, a) + γ Σ_s' P(s'|s, a) max_a' q*(s', a'),        v*(s) = max_a q*(s, a)

*Policy iteration* evaluates a policy exactly and takes the greedy one, until that is no better: each policy is at least
as good as the one before, so that it ends. *Value iteration* applies the right-hand side until q no longer moves; with
‖·‖ the largest entry, ‖q_k − q*‖ ≤ γ/(1−γ)·‖q_k − q_{k−1}‖, by which it knows when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gqlib import _validate as check
from gqlib._objects import ByValue, html_table
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP, leaves_surely

__all__ = ["Optimum", "policy_iteration", "value_iteration"]

# An action is better only if it is so by more than this share of the largest value: below it is rounding.
_BETTER = 1e-10
_TOLERANCE = 1e-8  # of value iteration, where nothing else is asked for
_SHOWN = 20  # states in the table of a notebook


@dataclass(frozen=True, eq=False)
class Optimum(ByValue):
    """The best that can be done: q (S, A), v (S,) and a policy (S, A) that does it, after so many iterations.

    `bound` is how far an entry of q may be from the exact one; zero stands for rounding alone.

    Examples
    --------
    >>> Optimum(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), 2, 0.0).v.tolist()
    [1.0]
    """

    q: Array
    v: Array
    policy: Array
    iterations: int
    bound: float

    def __repr__(self) -> str:
        values = f"v from {self.v.min():.4g} to {self.v.max():.4g}"
        return f"Optimum({len(self.v)} states, {self.iterations} iterations, {values})"

    def _repr_html_(self) -> str:
        actions = self.policy.argmax(axis=1).tolist()
        told = [(s, f"{v:.4g}", a) for s, (v, a) in enumerate(zip(self.v, actions, strict=True))]
        rows = (
            told
            if len(told) <= _SHOWN
            else [*told[: _SHOWN - 1], ("…", f"{len(told)} states in all", "")]
        )
        return html_table("Optimum", rows, ("state", "value", "best action"))


def _greedy(mdp: FiniteMDP, q: Array) -> Array:
    """The deterministic policy that takes the first of the best actions, (S, A)."""
    slack = _BETTER * max(1.0, float(np.abs(q).max()))
    first = np.argmax(q >= q.max(axis=1, keepdims=True) - slack, axis=1)
    return np.asarray(np.eye(mdp.n_actions)[first])


def policy_iteration(mdp: FiniteMDP) -> Optimum:
    """Optimal values and policy, by policy iteration from the policy that takes each action with the same probability.

    With γ = 1 that policy has to reach an end surely, and so do all that follow: where going round for ever pays
    without end, a ValueError says so.

    Examples
    --------
    A state in which stopping pays 1, and going on pays 0.4 and ends with probability one half:

    >>> moves = [[[0.0, 1.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]
    >>> best = policy_iteration(FiniteMDP(moves, [[1.0, 0.4], [0.0, 0.0]], 1.0, terminal=[1]))
    >>> best.v.tolist(), best.q.tolist(), best.policy[0].tolist()
    ([1.0, 0.0], [[1.0, 0.9], [0.0, 0.0]], [1.0, 0.0])
    """
    check.instance("mdp", mdp, FiniteMDP)
    policy = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    iterations = 0
    while True:
        if mdp.gamma == 1.0 and not leaves_surely(mdp.surviving_pair_chain(policy)):
            raise ValueError(
                "mdp has gamma 1.0 and a policy that never ends; every policy tried should end surely"
            )
        q, iterations = mdp.q(policy), iterations + 1
        now = (policy * q).sum(axis=1)
        slack = _BETTER * max(1.0, float(np.abs(q).max()))
        better = q.max(axis=1) > now + slack
        if iterations > 1 and not better.any():
            return Optimum(q, q.max(axis=1), policy, iterations, 0.0)
        # Where nothing is better the action stays, so that ties cannot go in circles.
        policy = np.where((better | (iterations == 1))[:, None], _greedy(mdp, q), policy)


def value_iteration(mdp: FiniteMDP, tolerance: float | None = None) -> Optimum:
    """Optimal values and policy, by value iteration; no entry of q is further than `tolerance` from the exact one.

    By default that is 1e-8, or what rounding leaves where that is more: `bound` of the result says.

    For γ below 1; at γ = 1 the bound says nothing, and `policy_iteration` is exact.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)  # pays 1 for ever
    >>> best = value_iteration(mdp)
    >>> best.v.round(4).tolist(), best.policy.tolist(), best.bound <= 1e-8
    ([2.0], [[0.0, 1.0]], True)
    """
    check.instance("mdp", mdp, FiniteMDP)
    if mdp.gamma == 1.0:
        raise ValueError(
            "mdp has gamma 1.0; for value iteration it should be below 1 (policy_iteration takes it)"
        )
    rewards = np.where(mdp.is_terminal[:, None], 0.0, mdp.rewards)
    transitions = np.where(mdp.is_terminal[:, None, None], 0.0, mdp.transitions)
    # Each iteration rounds by about eps·|q|, and such errors add up to 1/(1 − γ) times as much.
    largest = float(np.abs(rewards).max()) / (1.0 - mdp.gamma)
    least = 4.0 * (mdp.n_states + 2) * float(np.finfo(float).eps) * largest / (1.0 - mdp.gamma)
    if tolerance is None:
        tolerance = max(_TOLERANCE, 2.0 * least)
    tolerance = check.scalar("tolerance", tolerance, low=0.0, open_low=True)
    if tolerance < least:
        raise ValueError(
            f"tolerance is {tolerance:g}; rounding asks for at least {least:.1e}, so it should be larger"
        )
    q, factor, iterations = np.zeros_like(rewards), mdp.gamma / (1.0 - mdp.gamma), 0
    while True:
        new = rewards + mdp.gamma * (transitions @ q.max(axis=1))
        bound, q, iterations = factor * float(np.abs(new - q).max()), new, iterations + 1
        if bound <= tolerance - least / 2:
            return Optimum(q, q.max(axis=1), _greedy(mdp, q), iterations, bound + least / 2)
