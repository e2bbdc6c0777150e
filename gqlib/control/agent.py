r"""Learn control on a problem of your own: a learner with `act` and `learn`.

The features of a state are one row for each action, φ(s, a), (A, d): those of a `TileCoder` or `TableCoder`
(`gqlib.control.features`), or any function that returns such an array. The behaviour is ε-greedy in θᵀφ(s, ·), the
target greedy or the same ε-greedy. A step is Eqs. (25)–(26) of the paper, that of another of `gqlib.learners.texts` or,
with `corrected`, the importance-weighted one of `gqlib.learners.corrected`, where the sampled next action has weight π/μ
and the trace's term its mean under μ.

    state = first state;  action = agent.act(state)
    repeat:  take action;  next_action = agent.act(next_state)
             agent.learn(state, action, reward, next_state, next_action, terminated=...)
             agent.end_episode() where the episode ends or is cut off

A step cut off by a time limit still bootstraps; one that `terminated` does not. On a coder a step costs O(K·A), with K
active features for each of A actions, however many weights there are; on a function it is the dense carrier's.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from gqlib import _validate as check
from gqlib._objects import html_table
from gqlib._validate import Array
from gqlib.control._weights import Dense, Numbers, Sparse
from gqlib.control.features import Coder, TableCoder, TileCoder
from gqlib.control.schedules import Anneal, Rate, at, checked
from gqlib.control.setting import TARGETS
from gqlib.learners.texts import LEARNERS
from gqlib.sweeps.store import DamagedFile, Refused, pack, read_file, write_file

__all__ = ["Agent", "TableCoder", "TileCoder"]

_FORMAT = "gqlib agent 1"
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_MOST_TILES = 2**20  # that are active in a state, over all actions, of an agent from a file
_ARRAYS = dict.fromkeys(("weights", "lazy", "theta", "omega", "trace"), "float64")
_ARRAYS |= dict.fromkeys(("touched", "tiles"), "int64")
_SETTINGS = ("sigma", "lam", "gamma", "alpha", "eta", "epsilon", "target", "corrected", "learner")
_LEARNERS = tuple(name for name, learner in LEARNERS.items() if not learner.late)


class Agent:
    """GQ(σ, λ) for control, as an object with state: weights, trace, generator.

    Parameters
    ----------
    features : TileCoder, TableCoder or callable
        Maps a state to φ(s, ·), (A, d).
    rng : numpy.random.Generator
        For exploration.
    sigma, lam, gamma : float
    alpha : float, Anneal or callable
        Step size of θ: a number, or one that changes (`gqlib.control.schedules`). With tile coding, keep α well below 1
        over the number of tilings.
    eta : float
        The step size of ω divided by that of θ.
    epsilon : float, Anneal or callable
        Share of random actions.
    target : {"greedy", "epsilon-greedy"}
        The policy whose value is learnt.
    corrected : bool
        Weight the sampled next feature by π/μ (see `gqlib.learners.corrected`); of GQ alone.
    learner : str
        One of `gqlib.learners.texts.LEARNERS`, but for ``"gq_lagged"``. Steps of an episode are to follow one another:
        ρ and π of an action are those of the moment when it was the next one.

    Attributes
    ----------
    steps, episodes : int
        How many steps were learnt from, and how many episodes ended.

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
    >>> agent.theta.round(3).tolist(), agent.trace.tolist()
    ([0.0, 1.0], [0.0, 0.0])
    >>> agent.steps, agent.episodes, agent.rate("epsilon")
    (50, 50, 0.5)
    """

    def __init__(
        self,
        features: Callable[[Any], Array],
        rng: np.random.Generator,
        *,
        sigma: float = 0.0,
        lam: float = 0.9,
        gamma: float = 0.99,
        alpha: Rate = 0.01,
        eta: float = 1.0,
        epsilon: Rate = 0.1,
        target: Literal["greedy", "epsilon-greedy"] = "epsilon-greedy",
        corrected: bool = False,
        learner: str = "gq",
    ) -> None:
        if not callable(features):
            raise ValueError(
                f"features is {check.brief(features)}; it should be a function of a state"
            )
        self.features, self.rng = features, check.generator("rng", rng)
        self.sigma, self.lam, self.gamma, self.alpha = sigma, lam, gamma, alpha
        self.eta, self.epsilon, self.target, self.corrected = eta, epsilon, target, corrected
        self.learner = learner
        self._check_settings()
        self.steps, self.episodes = 0, 0
        self._last_settings: tuple[Any, ...] = ()
        self._last_rates: Numbers
        self._weights: Dense | Sparse = (
            Sparse(features) if isinstance(features, Coder) else Dense(features)
        )

    def _check_settings(self) -> None:
        """Refuse settings that are none; they can be changed between steps, and are checked again when they are."""
        self.sigma = check.scalar("sigma", self.sigma, low=0.0, high=1.0)
        self.lam = check.scalar("lam", self.lam, low=0.0, high=1.0)
        self.gamma = check.scalar("gamma", self.gamma, low=0.0, high=1.0)
        self.alpha = checked(
            "alpha", self.alpha, low=0.0, open_low=not isinstance(self.alpha, Anneal)
        )
        self.eta = check.scalar("eta", self.eta, low=0.0)
        self.epsilon = checked("epsilon", self.epsilon, low=0.0, high=1.0)
        self.target = check.choice("target", self.target, TARGETS)
        self.corrected = check.flag("corrected", self.corrected)
        self.learner = check.choice("learner", self.learner, _LEARNERS)
        if self.corrected and self.learner != "gq":
            raise ValueError(
                f"corrected is True; of the learner {self.learner!r} it should be False"
            )
        self._sound = self._settings()

    def _settings(self) -> tuple[Any, ...]:
        return (
            self.sigma,
            self.lam,
            self.gamma,
            self.alpha,
            self.eta,
            self.epsilon,
            self.target,
            self.corrected,
            self.learner,
        )

    @property
    def theta(self) -> Array:
        """The weights, (d,); known after the first state."""
        return self._weights.theta

    @property
    def trace(self) -> Array:
        """The trace e, (d,)."""
        return self._weights.trace

    def rate(self, name: Literal["alpha", "epsilon"]) -> float:
        """α or ε as they are now."""
        if check.choice("name", name, ("alpha", "epsilon")) == "alpha":
            return self._alpha()
        return self._epsilon()

    def _alpha(self) -> float:
        return at("alpha", self.alpha, self.steps, self.episodes, low=0.0)

    def _epsilon(self) -> float:
        return at("epsilon", self.epsilon, self.steps, self.episodes, low=0.0, high=1.0)

    def values(self, state: Any) -> Array:
        """θᵀφ(s, ·), (A,); to look changes nothing, not even the memory of a tile coder."""
        return self._weights.values(state, peek=True)

    def greedy(self, state: Any) -> int:
        """The first action within 1e-10 of the best; to look changes nothing."""
        from gqlib.rules import tied

        return int(tied(self.values(state))[0])

    def act(self, state: Any) -> int:
        """An ε-greedy action; one uniform number decides whether to explore and one which action to try."""
        best, count = self._weights.best(state)
        explore, which = self.rng.random(2).tolist()
        return int(which * count) if explore < self._epsilon() else best

    def learn(
        self,
        state: Any,
        action: int,
        reward: float,
        next_state: Any,
        next_action: int,
        *,
        terminated: bool,
    ) -> float:
        """One step of the learner; returns δ. After termination the next value is zero.

        Raises
        ------
        Diverged
            (a ValueError) where numbers overflow; the weights are as they were before the step.
        """
        goes_on = not (
            terminated if type(terminated) is bool else check.flag("terminated", terminated)
        )
        numbers = (state, action, _finite(reward), next_state, next_action, goes_on, self._rates())
        delta = self._weights.learn(*numbers)
        self.steps += 1
        return delta

    def _rates(self) -> Numbers:
        settings = self._settings()
        if (
            settings == self._last_settings
        ):  # made once and not at every step, as long as they are numbers and the same
            return self._last_rates
        if settings != self._sound:
            self._check_settings()
            settings = self._sound
        alpha = self._alpha()
        rates = Numbers(
            self.sigma, self.lam, self.gamma, alpha, self.eta * alpha, self._epsilon(), self.target == "greedy",
            "expected_gq" if self.corrected else self.learner,
        )  # fmt: skip
        if isinstance(self.alpha, float) and isinstance(self.epsilon, float):
            self._last_settings, self._last_rates = settings, rates
        return rates

    def _advance(
        self, state: Any, action: int, reward: float, next_state: Any, *, terminated: bool
    ) -> int:
        """What `act` in the next state and then `learn` do, to the bit; returns the next action."""
        if type(self) is Agent and isinstance(self._weights, Sparse):
            rates, goes_on = self._rates(), not terminated
            next_action = self._weights.advance(
                state, action, _finite(reward), next_state, goes_on, self.rng, rates
            )
            self.steps += 1
            return next_action
        next_action = self.act(next_state)
        self.learn(state, action, reward, next_state, next_action, terminated=terminated)
        return next_action

    def end_episode(self) -> None:
        """Forget the trace, and count the episode."""
        self._weights.forget()
        self.episodes += 1

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all that the agent is to a file, from which it goes on to the bit; returns the path.

        The file is that of `gqlib.sweeps.store`: arrays and JSON with a digest, no pickle. A rate that is a function of
        your own cannot be written; features that are one are left out, and `load` takes them.

        Examples
        --------
        >>> import tempfile
        >>> agent = Agent(TableCoder(3, 2), np.random.default_rng(0))
        >>> delta = agent.learn(0, 1, 1.0, 2, agent.act(2), terminated=False)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     again = Agent.load(agent.save(f"{directory}/agent.npz"))
        >>> again, bool((again.theta == agent.theta).all()), again.act(0) == agent.act(0)
        (Agent(GQ(0, 0.9), TableCoder(3 states, 2 actions), 1 step), True, True)
        """
        header = {
            "format": _FORMAT,
            "settings": {name: _plain(name, getattr(self, name)) for name in _SETTINGS},
            "counts": [self.steps, self.episodes],
            "rng": _listed(self.rng.bit_generator.state),
            "features": _described(self.features),
        }
        tiles = {}
        if isinstance(self.features, TileCoder):
            header["overfull"], tiles["tiles"] = self.features.overfull, self.features.tiles_met
        path = check.path("path", path)
        write_file(path, pack(header, self._weights.state() | tiles, compact=True))
        return path

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], features: Callable[[Any], Array] | None = None
    ) -> Self:
        """The agent that `save` wrote.

        Parameters
        ----------
        path : path
        features : callable, optional
            The function that the agent had, where that was one of your own.

        Raises
        ------
        DamagedFile
            If the file is truncated, altered, or holds no agent.
        FileNotFoundError
            If there is none.
        """
        path = check.path("path", path)
        header, arrays = read_file(path, _expected)
        if (header.get("features") is None) != (features is not None):
            told = (
                "given: the agent had a function of its own"
                if features is None
                else "left out: the file has them"
            )
            raise ValueError(f"features is {check.brief(features)}; it should be {told}")
        try:
            return cls._restored(header, arrays, features)
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            IndexError,
            OverflowError,
        ) as error:
            raise DamagedFile(path, f"holds no agent: {error}", "agent") from error

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, Any], features: Any) -> Self:
        tiles = arrays.pop("tiles", None)
        if features is None:
            kind, options = header["features"]
            features = {"tiles": TileCoder, "table": TableCoder}[kind](**options)
            if isinstance(
                features, TileCoder
            ):  # they cost nothing in the file, and memory in the first step
                check.integer(
                    "the number of tiles of a state",
                    features.actions * features.tilings,
                    high=_MOST_TILES,
                )
            if features.size != len(arrays["weights"]):
                raise ValueError(
                    f"weights has {len(arrays['weights'])} rows; it should have {features.size}"
                )
            if isinstance(features, TileCoder):
                features._meet(tiles, overfull=header["overfull"])
                if arrays["weights"][features.used :].any():
                    raise ValueError(
                        "tiles are fewer than the weights; there should be one for each that is not zero"
                    )
        name = check.choice("rng", header["rng"]["bit_generator"], _GENERATORS)
        bits = getattr(np.random, name)()
        _check_places(header["rng"])
        bits.state = header["rng"]
        settings: dict[str, Any] = dict(header["settings"])
        settings |= {
            name: Anneal(**value) for name, value in settings.items() if isinstance(value, dict)
        }
        agent = cls(features, np.random.Generator(bits), **settings)
        agent.steps, agent.episodes = (
            check.integer("counts", count, low=0) for count in header["counts"]
        )
        agent._weights.restore(arrays)
        return agent

    def _name(self) -> str:
        return "corrected GQ" if self.corrected else self.learner.replace("gq", "GQ")

    def __repr__(self) -> str:
        told = (
            repr(self.features)
            if isinstance(self.features, Coder)
            else getattr(self.features, "__name__", type(self.features).__name__)
        )
        count = f"{self.steps:,} step{'s' * (self.steps != 1)}"
        return f"Agent({self._name()}({self.sigma:g}, {self.lam:g}), {told}, {count})"

    def _repr_html_(self) -> str:
        rows = {
            "method": self._name() + "(σ, λ)",
            "σ, λ, γ": f"{self.sigma:g}, {self.lam:g}, {self.gamma:g}",
            "α now": f"{self._alpha():g}",
            "η": f"{self.eta:g}",
            "ε now": f"{self._epsilon():g}",
            "target": self.target,
            "features": self.features,
            "steps learnt from": f"{self.steps:,}",
            "episodes ended": f"{self.episodes:,}",
        }
        return html_table("Agent", rows.items())


def _expected(header: dict[str, Any], likes: dict[str, Any]) -> None:
    """Refuse what is no agent, before its arrays are unpacked: narrower numbers would become eight times as many bytes."""
    if header.get("format") != _FORMAT:
        raise Refused("format", "holds no agent")
    for name, like in likes.items():
        wanted = _ARRAYS.get(name, "left out")
        if str(like.dtype) != wanted:
            raise Refused(
                "agent", f"holds no agent: {name} is of {like.dtype}; it should be {wanted}"
            )


def _finite(reward: float) -> float:
    if type(reward) is float and math.isfinite(reward):
        return reward
    return check.scalar("reward", reward, largest=np.inf)


def _plain(name: str, value: Any) -> Any:
    """A setting as JSON holds it."""
    if isinstance(value, Anneal):
        return dataclasses.asdict(value)
    if callable(value):
        raise ValueError(
            f"{name} is {check.brief(value)}; to be saved it should be a number or an Anneal"
        )
    return value


def _listed(state: Any) -> Any:
    """The state of a generator with lists in place of arrays."""
    if isinstance(state, dict):
        return {name: _listed(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _check_places(state: Any) -> None:
    """Refuse places in a generator's own memory that are outside it: NumPy would read there."""
    inside = {
        "MT19937": (state["state"].get("pos", 0), 624),
        "Philox": (state.get("buffer_pos", 0), 4),
    }
    if state["bit_generator"] in inside:
        place, last = inside[state["bit_generator"]]
        check.integer("the place in rng", place, low=0, high=last)


def _described(features: Any) -> tuple[str, dict[str, Any]] | None:
    """What makes a coder again; None for a function of the user's own."""
    if isinstance(features, TileCoder):
        corners = {
            name: getattr(features, name).tolist() for name in ("low", "high", "tiles_per_side")
        }
        return "tiles", corners | {
            name: getattr(features, name) for name in ("actions", "tilings", "size")
        }
    if isinstance(features, TableCoder):
        return "table", {name: getattr(features, name) for name in ("sizes", "actions", "first")}
    return None
