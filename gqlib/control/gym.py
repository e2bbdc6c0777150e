"""An adapter for Gymnasium: a tile coder for an environment with discrete actions, and the loop that learns.

Gymnasium is imported where it is needed (`pip install gqlib[gym]`); any object with its `reset` and `step` will do for
`play`. What Gymnasium calls *terminated* ends the return; *truncated* (a time limit) does not, and the last update
bootstraps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib import seeds
from gqlib._validate import Array, Diverged
from gqlib.control.agent import Agent, TileCoder
from gqlib.control.setting import TARGETS
from gqlib.sweeps.setting import Setting
from gqlib.sweeps.store import Arrays

__all__ = ["DivergedPlay", "GymSetting", "Interrupted", "Played", "gym_runs", "play", "tile_coder"]


@dataclass(frozen=True)
class Played:
    """What happened, one entry per episode: undiscounted returns, lengths, and whether a time limit cut it off.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1", max_episode_steps=3)  # no pole falls in three steps
    >>> coder = tile_coder(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], size=512)
    >>> played = play(env, Agent(coder, np.random.default_rng(0)), 2, seed=0)
    >>> played.returns.tolist(), played.lengths.tolist(), played.truncated.tolist()
    ([3.0, 3.0], [3, 3], [True, True])
    """

    returns: Array
    lengths: NDArray[np.int64]
    truncated: NDArray[np.bool_]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in `play`; `played` holds the episodes that were finished.

    Examples
    --------
    >>> Interrupted("", Played(np.array([9.0]), np.array([9]), np.array([False]))).played.returns.tolist()
    [9.0]
    """

    def __init__(self, text: str, played: Played) -> None:
        super().__init__(text)
        self.played = played


class DivergedPlay(Diverged):
    """Weights that overflow in `play`; `played` holds the episodes that were finished.

    Examples
    --------
    >>> DivergedPlay("", Played(np.array([9.0]), np.array([9]), np.array([False]))).played.lengths.tolist()
    [9]
    """

    def __init__(self, text: str, played: Played) -> None:
        super().__init__(text)
        self.played = played


def tile_coder(
    env: Any, *, low: ArrayLike | None = None, high: ArrayLike | None = None, **options: Any
) -> TileCoder:
    """A tile coder for the observation box of an environment, one block of tiles for each action.

    Parameters
    ----------
    env : gymnasium.Env
        With a flat Box of observations and Discrete actions.
    low, high : array_like, (n,), optional
        Corners of the box to tile; needed where the environment's own are infinite, advised where they are far apart.
    **options
        Those of `gqlib.control.agent.TileCoder`.

    Examples
    --------
    >>> import gymnasium
    >>> coder = tile_coder(gymnasium.make("MountainCar-v0"), size=2048)
    >>> coder.low.round(2).tolist(), coder.actions
    ([-1.2, -0.07], 3)
    """
    from gymnasium.spaces import Box, Discrete

    box, actions = (getattr(env, name, None) for name in ("observation_space", "action_space"))
    if not isinstance(box, Box) or len(box.shape) != 1:
        raise ValueError(f"env has observations {check.brief(box)}; they should be a Box with one dimension")
    if not isinstance(actions, Discrete) or actions.start != 0:
        raise ValueError(f"env has actions {check.brief(actions)}; they should be Discrete from 0 on")
    corners = []
    for name, given, own in (("low", low, box.low), ("high", high, box.high)):
        corner = check.reals(name, own if given is None else given)
        # Single-precision spaces also write "infinite" as 3.4e38.
        if (np.abs(corner) > 1e30).any():
            if given is not None:
                raise ValueError(f"{name} is {check.brief(given)}; every entry should be finite, at most 1e30 in size")
            raise ValueError(f"env has an infinite {name} {check.brief(own)}; {name} should be given, and finite")
        corners.append(corner)
    return TileCoder(corners[0], corners[1], int(actions.n), **options)


def play(env: Any, agent: Agent, episodes: int, *, seed: int, learn: bool = True) -> Played:
    """Episodes of an agent in an environment; with `learn` False it follows its greedy policy and does not change.

    Parameters
    ----------
    env : gymnasium.Env
    agent : Agent
    episodes : int
    seed : int
        For the environment's first reset.

    Raises
    ------
    Interrupted
        On Ctrl-C (it is a KeyboardInterrupt), with the episodes that were finished; the agent has ended its episode.
    DivergedPlay
        If the weights overflow (it is a ValueError), likewise.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1")
    >>> coder = tile_coder(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], size=512)
    >>> played = play(env, Agent(coder, np.random.default_rng(0)), 2, seed=0)
    >>> bool((played.returns == played.lengths).all())
    True
    """
    needed = ("act", "learn", "end_episode") if check.flag("learn", learn) else ("greedy",)
    if not all(hasattr(agent, name) for name in needed):
        raise ValueError(f"agent is {check.brief(agent)}; it should have {', '.join(needed)}, as an Agent has")
    if not hasattr(env, "reset") or not hasattr(env, "step"):
        raise ValueError(f"env is {check.brief(env)}; it should have reset and step, like a gymnasium.Env")
    check.integer("seed", seed, low=0)
    count = check.integer("episodes", episodes, low=1)
    check.room("episodes", episodes, episodes)
    returns, lengths, truncated = np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
    choose, episode = agent.act if learn else agent.greedy, 0
    try:
        for episode in range(count):
            state, _ = env.reset(seed=int(seed) if episode == 0 else None)
            action, ended, cut = choose(state), False, False
            while not (ended or cut):
                next_state, reward, ended, cut, _ = env.step(action)
                next_action = choose(next_state)
                if learn:
                    agent.learn(state, action, float(reward), next_state, next_action, terminated=bool(ended))
                returns[episode] += float(reward)
                lengths[episode] += 1
                state, action = next_state, next_action
            truncated[episode] = cut and not ended
            if learn:
                agent.end_episode()
    except (KeyboardInterrupt, Diverged) as error:
        if learn:
            agent.end_episode()
        whole = Played(returns[:episode], lengths[:episode], truncated[:episode])
        raise (Interrupted if isinstance(error, KeyboardInterrupt) else DivergedPlay)(str(error), whole) from error
    return Played(returns, lengths, truncated)


@dataclass(frozen=True)
class GymSetting(Setting):
    """A control experiment in a Gymnasium environment, as data for `gqlib.sweeps.sweep`.

    Parameters
    ----------
    env : str
        The name by which Gymnasium knows it.
    options : str
        Arguments of `gymnasium.make` as JSON.
    low, high, tiles_per_side, tilings, size
        For the tile coder; empty corners stand for the environment's own.
    sigma, lam, gamma, alpha, eta, epsilon, target, corrected
        As in `gqlib.control.agent.Agent`.
    episodes, max_steps : int

    Examples
    --------
    >>> GymSetting("CartPole-v1").key == GymSetting("CartPole-v1", sigma=0.0).key
    True
    >>> GymSetting("my_module:Env-v0").imported
    ('my_module:Env-v0',)
    """

    env: str
    options: str = "{}"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    tiles_per_side: int | tuple[int, ...] = 8
    tilings: int = 8
    size: int = 2048
    sigma: float = 0.0
    lam: float = 0.9
    gamma: float = 0.99
    alpha: float = 0.01
    eta: float = 1.0
    epsilon: float = 0.1
    target: str = "epsilon-greedy"
    corrected: bool = False
    episodes: int = 100
    max_steps: int = 200

    def __post_init__(self) -> None:
        check.instance("env", self.env, str)
        check.instance("options", self.options, str)
        try:
            options = json.loads(self.options)
        except ValueError:
            options = None
        if not isinstance(options, dict):
            raise ValueError(f"options is {self.options!r}; it should be a JSON object")
        for name in ("low", "high"):
            corner = getattr(self, name)
            if not isinstance(corner, list | tuple):
                raise ValueError(f"{name} is {check.brief(corner)}; it should be a tuple of numbers, or empty")
            object.__setattr__(self, name, tuple(check.scalar(name, number) for number in corner))
        checked: dict[str, Any] = {
            "alpha": check.scalar("alpha", self.alpha, low=0.0, open_low=True),
            "eta": check.scalar("eta", self.eta, low=0.0),
            "target": check.choice("target", self.target, TARGETS),
            "corrected": check.flag("corrected", self.corrected),
        }
        for name in ("tilings", "size", "episodes", "max_steps"):
            checked[name] = check.integer(name, getattr(self, name), low=1)
            check.room(name, checked[name], checked[name])
        for name in ("sigma", "lam", "gamma", "epsilon"):
            checked[name] = check.scalar(name, getattr(self, name), low=0.0, high=1.0)
        many = isinstance(self.tiles_per_side, list | tuple)
        given: Any = self.tiles_per_side if many else [self.tiles_per_side]
        sides = tuple(check.integer("tiles_per_side", number, low=1) for number in given)
        checked["tiles_per_side"] = sides if many else sides[0]
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def imported(self) -> tuple[str, ...]:
        """The environment's name where Gymnasium would import a module for it, ``module:name``."""
        return (self.env,) if ":" in self.env else ()


def gym_runs(setting: GymSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Run a setting: returns, lengths and truncated, (runs, episodes); ‖θ‖ at the end and whether it diverged, (runs,).

    A run that diverges is data: its episodes from then on have the return NaN and the length 0.

    Run number r is determined by (seed, r) and the setting: environment and exploration have their own streams, shared
    by settings, so that differences between settings are paired.

    Examples
    --------
    >>> box = {"low": (-2.4, -3.0, -0.21, -3.0), "high": (2.4, 3.0, 0.21, 3.0)}
    >>> gym_runs(GymSetting("CartPole-v1", **box, episodes=2, max_steps=3), 1, 0, first_run=0)["returns"].tolist()
    [[3.0, 3.0]]
    """
    check.instance("setting", setting, GymSetting)
    with check.package("gymnasium", "gym"):
        import gymnasium

    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.room("runs", runs, runs * setting.episodes)
    options = json.loads(setting.options)
    kept: dict[str, list[Any]] = {"returns": [], "lengths": [], "truncated": [], "theta_norm": [], "diverged": []}
    for run in range(first_run, first_run + runs):
        env = gymnasium.make(setting.env, max_episode_steps=setting.max_steps, **options)
        coder = tile_coder(
            env,
            low=setting.low or None,
            high=setting.high or None,
            tiles_per_side=setting.tiles_per_side,
            tilings=setting.tilings,
            size=setting.size,
        )
        rng = seeds.generator(seed, run, seeds.GYM_EXPLORATION)
        world = seeds.sequence(seed, run, seeds.GYM_ENVIRONMENT)
        names = ("sigma", "lam", "gamma", "alpha", "eta", "epsilon", "target", "corrected")
        agent = Agent(coder, rng, **{name: getattr(setting, name) for name in names})
        try:
            played, diverged = play(env, agent, setting.episodes, seed=int(world.generate_state(1)[0])), False
        except DivergedPlay as error:
            played, diverged = error.played, True
        env.close()
        left = setting.episodes - len(played.returns)
        kept["returns"].append(np.append(played.returns, np.full(left, np.nan)))
        kept["lengths"].append(np.append(played.lengths, np.zeros(left, dtype=np.int64)))
        kept["truncated"].append(np.append(played.truncated, np.zeros(left, dtype=bool)))
        kept["theta_norm"].append(np.inf if diverged else np.linalg.norm(agent.theta))
        kept["diverged"].append(diverged)
    return {name: np.array(rows) for name, rows in kept.items()}
