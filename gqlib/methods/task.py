r"""What every method is asked: the value of π from steps of μ, with state values or action values, on one chain.

A chain of pairs (S_k, A_k) under μ serves both kinds. Index i stands for a pair, ξ_i for the share of visits, ρ_i for
π(a|s)/μ(a|s), P_ij for the probability that j follows i within an episode; what a row of P lacks ends the episode, with
value zero, and the start law begins another. A method sees φ_i, the reward r_i and, of what comes next,

    on states     φ_i = φ(s),       u_j = φ(s'),            weights the error of a step by ρ_i,
    on pairs      φ_i = φ(s, a),    u_j = E_πφ(s', ·),      and needs no weight: the first action is given.

So everything that has to be enumerated is a sum over pairs i → j, whatever is learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib.domains.finite import FiniteDomain
from gqlib.learners.corrected import importance_ratios
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem

__all__ = ["Task", "Walks"]

Kind = Literal["states", "pairs"]
KINDS = get_args(Kind)


@dataclass(frozen=True)
class Walks:
    """Indices visited, (steps + 1, runs), and whether an episode ended after a step, (steps, runs).

    Examples
    --------
    >>> mdp = FiniteMDP([[[0.0, 1.0]], [[0.0, 1.0]]], [[2.0], [0.0]], 1.0, terminal=[1])
    >>> walks = Task("one step", mdp, [[1.0]] * 2, [[1.0]] * 2, [[1.0], [0.0]], start=[1.0, 0.0]).walks(
    ...     2, 3, np.random.default_rng(0))
    >>> walks.index.tolist(), walks.ends.all().item()
    ([[0, 0], [0, 0], [0, 0], [0, 0]], True)
    """

    index: NDArray[np.intp]
    ends: NDArray[np.bool_]


class Task:
    """A prediction task for `gqlib.methods`, on state values or on action values.

    Parameters
    ----------
    name : str
    mdp : FiniteMDP
    mu, pi : array_like, (S, A)
        μ should be positive wherever π is.
    features : array_like, (S, d) or (SA, d)
        Of states or of pairs, as `on` says; zero in terminal states.
    on : {"states", "pairs"}
    start : array_like, (S,), optional
        Where episodes begin; left out where there are no terminal states.
    theta0 : array_like, (d,), optional
        Zero by default.

    Examples
    --------
    One state, two actions; the second pays 1, and π always takes it: v = 2 at γ = ½.

    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)
    >>> task = Task("coin", mdp, [[0.5, 0.5]], [[0.0, 1.0]], [[1.0]])
    >>> task.truth.tolist(), task.rho.tolist(), task.error([2.0]), task.d
    ([2.0, 2.0], [0.0, 2.0], 0.0, 1)
    >>> task.basis.tolist(), task.M.tolist()
    ([[1.0]], [[1.0]])
    """

    def __init__(
        self,
        name: str,
        mdp: FiniteMDP,
        mu: ArrayLike,
        pi: ArrayLike,
        features: ArrayLike,
        *,
        on: Kind = "states",
        start: ArrayLike | None = None,
        theta0: ArrayLike | None = None,
    ) -> None:
        check.instance("name", name, str)
        check.instance("mdp", mdp, FiniteMDP)
        self.name, self.mdp, self.on = name, mdp, check.choice("on", on, KINDS)
        self.mu, self.pi = check.frozen(mdp.policy(mu, "mu")), check.frozen(mdp.policy(pi, "pi"))
        actions, pairs = mdp.n_actions, mdp.n_states * mdp.n_actions
        rows = check.array("features", features, (mdp.n_states if on == "states" else pairs, None))
        per_pair = np.repeat(rows, actions, axis=0) if on == "states" else rows
        if per_pair[np.repeat(mdp.is_terminal, actions)].any():
            raise ValueError("features are not zero in a terminal state; there they should be")
        problem = PredictionProblem.on_pairs(mdp, self.mu, self.pi, per_pair, start=start)
        self.problem = problem
        self.rho = check.frozen(importance_ratios(self.mu, self.pi).ravel())
        self.chain, self.xi, self.phi, self.gamma = (
            problem.p_mu,
            problem.xi,
            problem.features,
            problem.gamma,
        )
        self.n, self.d, self.basis, self.M = (
            problem.n,
            problem.d,
            problem.row_basis,
            check.frozen(problem.M),
        )
        self.rewards = check.frozen(
            np.where(np.repeat(mdp.is_terminal, actions), 0.0, mdp.rewards.ravel())
        )
        per_state = self.phi.reshape(mdp.n_states, actions, -1)
        expected = np.repeat(np.einsum("sa,sad->sd", self.pi, per_state), actions, axis=0)
        self.u = self.phi if on == "states" else check.frozen(expected)
        q = mdp.q(self.pi)
        values = np.repeat((self.pi * q).sum(axis=1), actions) if on == "states" else q.ravel()
        self.truth = check.frozen(values)
        begin = (
            np.zeros(mdp.n_states)
            if start is None
            else check.distributions("start", start, (mdp.n_states,))
        )
        self.start = check.frozen(
            (np.where(mdp.is_terminal, 0.0, begin)[:, None] * self.mu).ravel()
        )
        if self.start.any():
            self.start = check.frozen(self.start / self.start.sum())
        self.theta0 = check.frozen(
            np.zeros(self.d) if theta0 is None else check.array("theta0", theta0, (self.d,))
        )

    @classmethod
    def of(cls, domain: FiniteDomain, *, on: Kind = "states") -> Task:
        """The task of a finite domain: on states as it is, on pairs with its features stacked, one block per action.

        Examples
        --------
        >>> from gqlib.domains import five_state_walk
        >>> Task.of(five_state_walk("dependent")).phi.shape, Task.of(five_state_walk("dependent"), on="pairs").phi.shape
        ((14, 3), (14, 6))
        """
        check.instance("domain", domain, FiniteDomain)
        on = check.choice("on", on, KINDS)
        if domain.reading != "literal" or domain.chain.horizon:
            raise ValueError(
                f"domain is {domain.name}; it should be in the literal reading, without a horizon"
            )
        chain, rewards = domain.chain, domain.tables.rewards
        ends = np.flatnonzero(chain.ends_on)
        mdp = FiniteMDP(chain.transitions, rewards, domain.problem.gamma, terminal=ends.tolist())
        pi = domain.tables.rho * chain.mu
        phi, theta0 = domain.tables.phi[:, 0], domain.theta0
        if on == "pairs":
            actions = mdp.n_actions
            phi = np.einsum("ab,sd->sabd", np.eye(actions), phi).reshape(mdp.n_states * actions, -1)
            theta0 = np.tile(theta0, actions)
        begin = chain.start if len(ends) else None
        return cls(domain.name, mdp, chain.mu, pi, phi, on=on, start=begin, theta0=theta0)

    def error(self, theta: ArrayLike) -> float:
        """‖Φθ − v‖ weighed by the visits: the root mean square value error."""
        off = self.phi @ check.array("theta", theta, (self.d,)) - self.truth
        return float(np.sqrt(self.xi @ off**2))

    def walks(self, runs: int, steps: int, rng: np.random.Generator) -> Walks:
        """Walks of μ, all at once: from the start law, or from the stationary law where there are no episodes.

        Two uniform numbers are drawn per run and step, so that walks depend on the generator alone.

        Examples
        --------
        >>> from gqlib.domains import collision
        >>> walks = Task.of(collision()).walks(3, 100, np.random.default_rng(0))
        >>> walks.index.shape, bool((walks.index[0] < 8).all())  # one of the first four states, two actions each
        ((101, 3), True)
        """
        runs, steps = check.integer("runs", runs, low=1), check.integer("steps", steps, low=1)
        check.room("steps", steps, 3 * runs * (steps + 1))
        return self.follow(check.generator("rng", rng).random((steps + 1, 2, runs)))

    def follow(self, draws: ArrayLike) -> Walks:
        """The walks that uniform numbers in [0, 1), (steps + 1, 2, runs), determine.

        Examples
        --------
        >>> from gqlib.domains import collision
        >>> Task.of(collision()).follow(np.full((5, 2, 1), 0.9)).index[:, 0].tolist()  # state 4, then 5 and turn
        [6, 9, 6, 9, 6]
        """
        draws = check.array("draws", draws, (None, 2, None))
        if len(draws) < 2 or draws.min() < 0.0 or draws.max() >= 1.0:
            raise ValueError(
                f"draws is {check.brief(draws)}; it should hold numbers in [0, 1) for at least one step"
            )
        steps, runs = len(draws) - 1, draws.shape[2]
        rows = np.cumsum(self.chain, axis=1)
        episodic = bool(self.start.any())
        begin = np.cumsum(self.start if episodic else self.xi)
        begin /= begin[-1]
        if not episodic:
            rows /= rows[:, -1:]
        index, ends = (
            np.empty((steps + 1, runs), dtype=np.intp),
            np.zeros((steps, runs), dtype=bool),
        )
        index[0] = np.searchsorted(begin, draws[0, 0], side="right")
        for k in range(steps):
            after = (draws[k + 1, 0, :, None] >= rows[index[k]]).sum(axis=1)
            ends[k] = after >= self.n
            again = np.searchsorted(begin, draws[k + 1, 1], side="right")
            index[k + 1] = np.where(ends[k], again, after)
        return Walks(index, ends)
