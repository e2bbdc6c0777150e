r"""Learn control on a problem of your own: a tile coder for boxes and a learner with `act` and `learn`.

The features of a state are one row for each action, φ(s, a), (A, d): those of `TileCoder`, or any function that returns
such an array. The behaviour is ε-greedy in θᵀφ(s, ·), the target greedy or the same ε-greedy. A step is Eqs. (25)–(26)
of the paper (`gqlib.learners.gq_step`) or, with `corrected`, the importance-weighted one of
`gqlib.learners.corrected`, where the sampled next action has weight π/μ and the trace's term its mean under μ.

    state = first state;  action = agent.act(state)
    repeat:  take action;  next_action = agent.act(next_state)
             agent.learn(state, action, reward, next_state, next_action, terminated=...)
             agent.end_episode() where the episode ends or is cut off

A step cut off by a time limit still bootstraps; one that `terminated` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.control.setting import TARGETS
from gqlib.learners import gq_step
from gqlib.learners.corrected import corrected_gq_step
from gqlib.rules import tied
from gqlib.tiles3 import IHT, tiles

__all__ = ["Agent", "TileCoder"]


class TileCoder:
    """Binary features of a point in a box, for each of a few actions, by `gqlib.tiles3`.

    Parameters
    ----------
    low, high : array_like, (n,)
        Corners of the box, finite; points outside are moved to its edge.
    actions : int
        Number of actions; they share no tile.
    tiles_per_side : int or array_like of int, (n,)
        How many tiles span the box along each dimension.
    tilings : int
        Number of tilings, and so of active features; a power of two that is at least 4n is advised.
    size : int
        Number of features d. Tiles are numbered as they are met; beyond `size` of them, they share (`overfull`).

    Examples
    --------
    >>> coder = TileCoder([0.0], [1.0], 2, tiles_per_side=4, tilings=2, size=16)
    >>> coder([0.3]).sum(axis=1).tolist(), coder.size, coder.overfull
    ([2.0, 2.0], 16, 0)
    >>> coder.active([0.3]).shape  # two actions, two tilings
    (2, 2)
    >>> coder.peek([0.3]).sum(axis=1).tolist(), coder.peek([0.9]).sum(axis=1).tolist()  # the second was never met
    ([2.0, 2.0], [0.0, 0.0])
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        actions: int,
        *,
        tiles_per_side: ArrayLike = 8,
        tilings: int = 8,
        size: int = 4096,
    ) -> None:
        self.low = check.array("low", low, (None,))
        self.high = check.array("high", high, self.low.shape)
        if not (self.low < self.high).all():
            raise ValueError(f"high is {check.brief(high)}; every entry should be above that of low")
        given = check.reals("tiles_per_side", tiles_per_side)
        shape = self.low.shape
        sides = check.array("tiles_per_side", np.broadcast_to(given, shape) if given.ndim == 0 else given, shape)
        if (sides < 1).any() or (sides != np.round(sides)).any():
            raise ValueError(f"tiles_per_side is {check.brief(tiles_per_side)}; it should be whole and at least 1")
        if not ((self.high - self.low) * check.LARGEST > 1.0).all():
            raise ValueError(f"high is {check.brief(high)}; it should be above low by more than 1e-50")
        self.scale = sides / (self.high - self.low)
        self.actions = check.integer("actions", actions, low=1)
        self.tilings = check.integer("tilings", tilings, low=1)
        size = check.integer("size", size, low=1)
        check.room("size", size, size)
        check.room("actions", self.actions, self.actions * size)
        check.room("tilings", self.tilings, self.actions * self.tilings)
        self._table = IHT(size)
        self._known: dict[tuple[int, ...], np.typing.NDArray[np.intp]] = {}

    @property
    def size(self) -> int:
        """The number of features, d."""
        return self._table.size

    @property
    def overfull(self) -> int:
        """How many look-ups of a tile were answered by a feature in use, because the memory was full."""
        return self._table.overfullCount

    def active(self, state: ArrayLike) -> np.typing.NDArray[np.intp]:
        """Indices of the active features, (A, tilings)."""
        scaled = self._scaled(state)
        cell = tuple(int(q) for q in np.floor(scaled * self.tilings))  # all points in a cell have the same tiles
        found = self._known.get(cell)
        if found is None:
            found = np.array([tiles(self._table, self.tilings, list(scaled), [a]) for a in range(self.actions)])
            self._known[cell] = found
        return found

    def peek(self, state: ArrayLike) -> Array:
        """φ(s, ·), taking no memory for tiles that were not met before: their features are zero, like their weights.

        Evaluation looks; only learning numbers tiles.
        """
        scaled = self._scaled(state)
        phi = np.zeros((self.actions, self.size))
        for action in range(self.actions):
            for tile in tiles(None, self.tilings, list(scaled), [action]):
                index = self._table.getindex(tuple(tile), readonly=True)
                if index is None and self._table.fullp():
                    index = hash(tuple(tile)) % self.size
                if index is not None:
                    phi[action, index] += 1.0
        return phi

    def _scaled(self, state: ArrayLike) -> Array:
        point = check.array("state", state, self.low.shape)
        return np.asarray((np.clip(point, self.low, self.high) - self.low) * self.scale)

    def __call__(self, state: ArrayLike) -> Array:
        """φ(s, a) for every action, (A, d); an index that two tilings share counts twice."""
        phi = np.zeros((self.actions, self.size))
        np.add.at(phi, (np.arange(self.actions)[:, None], self.active(state)), 1.0)
        return phi


class Agent:
    """GQ(σ, λ) for control, as an object with state: weights, trace, generator.

    Parameters
    ----------
    features : callable
        Maps a state to φ(s, ·), (A, d).
    rng : numpy.random.Generator
        For exploration.
    sigma, lam, gamma : float
    alpha, eta : float
        Step size of θ, and that of ω divided by it. With tile coding, keep α well below 1 over the number of tilings.
    epsilon : float
        Share of random actions.
    target : {"greedy", "epsilon-greedy"}
        The policy whose value is learned.
    corrected : bool
        Weight the sampled next feature by π/μ (see `gqlib.learners.corrected`).

    Examples
    --------
    One state and two actions, of which the second pays.

    >>> agent = Agent(lambda state: np.eye(2), np.random.default_rng(0), gamma=0.0, lam=0.0, alpha=0.5, epsilon=0.5)
    >>> for _ in range(50):
    ...     action = agent.act(0)
    ...     delta = agent.learn(0, action, float(action), 0, agent.act(0), terminated=True)
    ...     agent.end_episode()
    >>> agent.greedy(0), agent.values(0).round(3).tolist()
    (1, [0.0, 1.0])
    >>> agent.theta.round(3).tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        features: Callable[[Any], Array],
        rng: np.random.Generator,
        *,
        sigma: float = 0.0,
        lam: float = 0.9,
        gamma: float = 0.99,
        alpha: float = 0.01,
        eta: float = 1.0,
        epsilon: float = 0.1,
        target: str = "epsilon-greedy",
        corrected: bool = False,
    ) -> None:
        if not callable(features):
            raise ValueError(f"features is {check.brief(features)}; it should be a function of a state")
        self.features, self.rng = features, check.generator("rng", rng)
        self.sigma = check.scalar("sigma", sigma, low=0.0, high=1.0)
        self.lam = check.scalar("lam", lam, low=0.0, high=1.0)
        self.gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
        self.alpha = check.scalar("alpha", alpha, low=0.0, open_low=True)
        self.eta = check.scalar("eta", eta, low=0.0)
        self.epsilon = check.scalar("epsilon", epsilon, low=0.0, high=1.0)
        self.target = check.choice("target", target, TARGETS)
        self.corrected = check.flag("corrected", corrected)
        self._weights: tuple[Array, Array, Array] | None = None  # θ, ω, e: sized when the first state is seen

    def _phi(self, state: Any, *, peek: bool = False) -> Array:
        look = getattr(self.features, "peek", self.features) if peek else self.features
        phi = check.reals("features of a state", look(state))
        if phi.ndim != 2 or (self._weights is not None and phi.shape[1] != len(self._weights[0])):
            size = "d" if self._weights is None else len(self._weights[0])
            raise ValueError(f"features returned shape {phi.shape}; it should be (actions, {size})")
        if self._weights is None:
            self._weights = (np.zeros(phi.shape[1]), np.zeros(phi.shape[1]), np.zeros(phi.shape[1]))
        return phi

    @property
    def theta(self) -> Array:
        """The weights, (d,); known after the first state."""
        if self._weights is None:
            raise ValueError("theta is not known; the agent should have seen a state before")
        return self._weights[0]

    def values(self, state: Any) -> Array:
        """θᵀφ(s, ·), (A,); to look changes nothing, not even the memory of a tile coder."""
        return self._valued(self._phi(state, peek=True))

    def _valued(self, phi: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(phi @ self.theta)
        check.finite(values=values)
        return values

    def greedy(self, state: Any) -> int:
        """The first action within 1e-10 of the best."""
        return int(tied(self.values(state))[0])

    def act(self, state: Any) -> int:
        """An ε-greedy action; one uniform number decides whether to explore and one which action to try."""
        values = self._valued(self._phi(state))
        explore, which = self.rng.random(2)
        return int(which * len(values)) if explore < self.epsilon else int(tied(values)[0])

    def _policies(self, values: Array) -> tuple[Array, Array]:
        """μ and π in a state with these values."""
        best = np.arange(len(values)) == tied(values)[0]
        mu = self.epsilon / len(values) + (1.0 - self.epsilon) * best
        return mu, (best.astype(np.float64) if self.target == "greedy" else mu)

    def learn(
        self, state: Any, action: int, reward: float, next_state: Any, next_action: int, *, terminated: bool
    ) -> float:
        """One step of GQ(σ, λ), or of the corrected method; returns δ. After termination the next value is zero."""
        phi = self._phi(state)
        assert self._weights is not None  # set by the line before
        theta, omega, trace = self._weights
        action = check.integer("action", action, low=0, high=len(phi) - 1)
        following = self._phi(next_state)
        next_action = check.integer("next_action", next_action, low=0, high=len(following) - 1)
        mu, pi = self._policies(self._valued(following))
        goes_on = 0.0 if check.flag("terminated", terminated) else 1.0
        phi_next, phi_next_expected = goes_on * following[next_action], goes_on * (pi @ following)
        rates = {"lam": self.lam, "gamma": self.gamma, "alpha": self.alpha, "beta": self.eta * self.alpha}
        if self.corrected:
            rho_next = float(pi[next_action] / mu[next_action]) if mu[next_action] > 0.0 else 0.0
            theta, omega, trace, delta = corrected_gq_step(
                theta, omega, trace, phi[action], reward, phi_next, phi_next_expected, rho_next=rho_next,
                sigma=self.sigma, phi_next_traced=goes_on * (mu @ following), **rates,
            )  # fmt: skip
        else:
            theta, omega, trace, delta = gq_step(
                theta, omega, trace, phi[action], reward, phi_next, phi_next_expected, sigma=self.sigma, **rates
            )
        self._weights = (theta, omega, trace)
        return delta

    def end_episode(self) -> None:
        """Forget the trace."""
        if self._weights is not None:
            self._weights = (self._weights[0], self._weights[1], np.zeros_like(self._weights[2]))
