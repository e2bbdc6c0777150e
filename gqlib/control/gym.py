"""An adapter for Gymnasium: features for an environment with discrete actions, and the loops that learn and watch.

Gymnasium is imported where it is needed (`pip install gqlib[gym]`); any object with its `reset` and `step` will do for
`play`. What Gymnasium calls *terminated* ends the return; *truncated* (a time limit) does not, and the last update
bootstraps.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib import seeds
from gqlib._objects import ByValue, html_table
from gqlib._validate import Array, Diverged
from gqlib.control._answers import first_state, fitting, kept, not_a_step, plain, single
from gqlib.control._budget import planned
from gqlib.control.agent import Agent
from gqlib.control.features import Coder, TableCoder, TileCoder
from gqlib.control.setting import TARGETS, TargetPolicy
from gqlib.fast._sound import finite
from gqlib.stats._told import told_mean
from gqlib.sweeps.progress import showing
from gqlib.sweeps.setting import Setting
from gqlib.sweeps.store import Arrays

__all__ = [
    "DivergedPlay",
    "GymSetting",
    "Interrupted",
    "Played",
    "evaluate",
    "features_of",
    "gym_runs",
    "play",
    "tile_coder",
]

POLICIES = ("greedy", "epsilon-greedy", "random")
_FLAT = "(gymnasium.wrappers.FlattenObservation makes one Box of many parts)"


@dataclass(frozen=True, eq=False, repr=False)
class Played(ByValue):
    """What happened, one entry per episode: undiscounted returns, lengths, and whether a time limit cut it off.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1", max_episode_steps=3)  # no pole falls in three steps
    >>> coder = tile_coder(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], size=512)
    >>> played = play(env, Agent(coder, np.random.default_rng(0)), 2, seed=0)
    >>> played.returns.tolist(), played.lengths.tolist(), played.truncated.tolist()
    ([3.0, 3.0], [3, 3], [True, True])
    >>> played
    Played(2 episodes, mean return 3, mean length 3, 2 cut off)
    """

    returns: Array
    lengths: NDArray[np.int64]
    truncated: NDArray[np.bool_]

    def _told(self) -> list[tuple[str, str]]:
        rows = [("episodes", str(len(self.returns)))]
        for name, values in (("mean return", self.returns), ("mean length", self.lengths)):
            if len(values):
                rows.append((name, f"{values.mean():.4g}"))
        return [*rows, ("cut off", str(int(self.truncated.sum())))]

    def __repr__(self) -> str:
        (_, count), *means, (_, cut) = self._told()
        episodes = "1 episode" if count == "1" else f"{count} episodes"
        return f"Played({episodes}, {''.join(f'{name} {value}, ' for name, value in means)}{cut} cut off)"

    def _repr_html_(self) -> str:
        first, *rest = [row for row in self._told() if row[0] != "mean return"]
        return html_table("Played", [first, *told_mean("mean return", self.returns), *rest])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in `play`; `played` holds the episodes that were finished, a list for agents side by side.

    Examples
    --------
    >>> Interrupted("", Played(np.array([9.0]), np.array([9]), np.array([False]))).played.returns.tolist()
    [9.0]
    """

    def __init__(self, text: str, played: Played | list[Played]) -> None:
        super().__init__(text)
        self.played: Any = played


class DivergedPlay(Diverged):
    """Weights that overflow in `play`; `played` holds the episodes that were finished, as in `Interrupted`.

    Examples
    --------
    >>> DivergedPlay("", Played(np.array([9.0]), np.array([9]), np.array([False]))).played.lengths.tolist()
    [9]
    """

    def __init__(self, text: str, played: Played | list[Played]) -> None:
        super().__init__(text)
        self.played: Any = played


def _spaces(env: Any) -> tuple[Any, int]:
    """The space of observations and the number of actions, of one environment where there are many."""
    with check.package("gymnasium", "gym"):
        from gymnasium.spaces import Discrete

    names = ("observation_space", "action_space")
    seen, actions = (getattr(env, f"single_{name}", getattr(env, name, None)) for name in names)
    if not isinstance(actions, Discrete) or actions.start != 0:
        raise ValueError(
            f"env has actions {check.brief(actions)}; they should be Discrete from 0 on"
        )
    return seen, int(actions.n)


def tile_coder(
    env: Any, *, low: ArrayLike | None = None, high: ArrayLike | None = None, **options: Any
) -> TileCoder:
    """A tile coder for the observation box of an environment, one block of tiles for each action.

    Parameters
    ----------
    env : gymnasium.Env or gymnasium.vector.VectorEnv
        With a flat Box of observations and Discrete actions.
    low, high : array_like, (n,), optional
        Corners of the box to tile; needed where the environment's own are infinite, advised where they are far apart.
    **options
        Those of `gqlib.control.features.TileCoder`.

    Examples
    --------
    >>> import gymnasium
    >>> coder = tile_coder(gymnasium.make("MountainCar-v0"), size=2048)
    >>> coder.low.round(2).tolist(), coder.actions
    ([-1.2, -0.07], 3)
    """
    with check.package("gymnasium", "gym"):
        from gymnasium.spaces import Box

    box, actions = _spaces(env)
    if not isinstance(box, Box) or len(box.shape) != 1:
        raise ValueError(
            f"env has observations {check.brief(box)}; they should be a Box with one dimension {_FLAT}"
        )
    corners = []
    for name, given, own in (("low", low, box.low), ("high", high, box.high)):
        corner = check.reals(name, own if given is None else given)
        # Single-precision spaces also write "infinite" as 3.4e38.
        if (np.abs(corner) > 1e30).any():
            if given is not None:
                raise ValueError(
                    f"{name} is {check.brief(given)}; every entry should be finite, at most 1e30 in size"
                )
            raise ValueError(
                f"env has an infinite {name} {check.brief(own)}; {name} should be given, and finite"
            )
        corners.append(corner)
    return TileCoder(corners[0], corners[1], actions, **options)


def features_of(env: Any, **options: Any) -> TileCoder | TableCoder:
    """Features for an environment with discrete actions: tiles for a box, a table for what can be numbered.

    Parameters
    ----------
    env : gymnasium.Env or gymnasium.vector.VectorEnv
        Its observations are a Box with one dimension, Discrete, MultiDiscrete, MultiBinary, or a Tuple of Discrete.
    **options
        Those of `tile_coder`; a table has none.

    Examples
    --------
    >>> import gymnasium
    >>> features_of(gymnasium.make("FrozenLake-v1")), features_of(gymnasium.make("Blackjack-v1"))
    (TableCoder(16 states, 4 actions), TableCoder(32×11×2 states, 2 actions))
    """
    with check.package("gymnasium", "gym"):
        from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Tuple

    space, actions = _spaces(env)
    if isinstance(space, Box):
        return tile_coder(env, **options)
    if options:
        raise ValueError(
            f"options are {', '.join(options)}; features of {check.brief(space)} should have none"
        )
    if isinstance(space, Discrete):
        return TableCoder(int(space.n), actions, first=int(space.start))
    if isinstance(space, MultiDiscrete):
        return TableCoder(
            np.ravel(space.nvec).tolist(), actions, first=np.ravel(space.start).tolist()
        )
    if isinstance(space, MultiBinary):
        return TableCoder([2] * int(np.prod(space.shape)), actions)
    if (
        isinstance(space, Tuple)
        and len(space)
        and all(isinstance(part, Discrete) for part in space)
    ):
        return TableCoder(
            [int(part.n) for part in space], actions, first=[int(part.start) for part in space]
        )
    raise ValueError(
        f"env has observations {check.brief(space)}; "
        f"they should be a Box with one dimension or numbers that count {_FLAT}"
    )


class _Log:
    """The episodes of one environment as they end."""

    def __init__(self) -> None:
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self.truncated: list[bool] = []
        self.total, self.length = 0.0, 0

    def step(self, reward: float) -> None:
        self.total += reward
        self.length += 1

    def end(self, cut: bool) -> tuple[int, float, int]:
        """Number, return and length of the episode that ends here."""
        told = (len(self.returns), self.total, self.length)
        self.returns.append(self.total)
        self.lengths.append(self.length)
        self.truncated.append(cut)
        self.total, self.length = 0.0, 0
        return told

    def played(self) -> Played:
        return Played(
            np.array(self.returns, dtype=np.float64),
            np.array(self.lengths, dtype=np.int64),
            np.array(self.truncated, dtype=bool),
        )


def _able(agent: Any, needed: Sequence[str]) -> None:
    if not all(hasattr(agent, name) for name in needed):
        raise ValueError(
            f"agent is {check.brief(agent)}; it should have {', '.join(needed)}, as an Agent has"
        )


def play(
    env: Any,
    agent: Agent,
    episodes: int | None = None,
    *,
    seed: int,
    learn: bool = True,
    steps: int | None = None,
    callback: Callable[[int, float, int], object] | None = None,
    progress: bool | None = None,
) -> Played:
    """Episodes of an agent in an environment; with `learn` False it follows its greedy policy and does not change.

    Parameters
    ----------
    env : gymnasium.Env
        For a gymnasium.vector.VectorEnv see `gqlib.control.vector`.
    agent : Agent
    episodes : int, optional
        Stop after this many episodes.
    seed : int
        For the environment's first reset.
    learn : bool
        If False, the agent is not changed, and follows its greedy policy.
    steps : int, optional
        Stop after this many steps; an episode that is then under way has been learnt from, and is not counted.
    callback : callable, optional
        Called after each episode with its number (from 0), return and length; if it returns True, that was the last.
    progress : bool, optional
        Show a bar. By default, on a terminal and in a notebook, and a line now and then in a log.

    Raises
    ------
    Interrupted
        On Ctrl-C (it is a KeyboardInterrupt), with the episodes that were finished; the agent has ended its episode.
    DivergedPlay
        If the weights overflow (it is a ValueError), likewise.
    ValueError
        Also if the environment returns a state or a reward that is no finite number, with the episode and the step.

    Whatever else the environment or the callback raises has `played`, too.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1")
    >>> coder = tile_coder(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], size=512)
    >>> played = play(env, Agent(coder, np.random.default_rng(0)), 2, seed=0)
    >>> bool((played.returns == played.lengths).all())
    True
    >>> agent = Agent(coder, np.random.default_rng(0))
    >>> len(play(env, agent, steps=90, seed=0).lengths) > 1, agent.steps
    (True, 90)
    """
    check.flag("learn", learn)
    _able(agent, ("act", "learn", "end_episode") if learn else ("greedy",))
    single(env)
    return _played(env, agent if learn else None, agent.act if learn else agent.greedy, episodes, seed, steps,
                   callback, progress, fitting(env, agent))  # fmt: skip


def evaluate(
    env: Any,
    agent: Agent | None,
    episodes: int,
    *,
    seed: int,
    policy: Literal["greedy", "epsilon-greedy", "random"] | Callable[[Any], int] = "greedy",
    progress: bool | None = None,
) -> Played:
    """Episodes under a fixed policy, from which nothing is learnt and by which nothing changes.

    Parameters
    ----------
    env : gymnasium.Env
    agent : Agent or None
        Whose values decide; None where `policy` needs none.
    episodes : int
    seed : int
        For the environment's first reset, and for the policy's own choices.
    policy : {"greedy", "epsilon-greedy", "random"} or callable
        What to follow: the agent's greedy policy, its behaviour with the ε of now, any action with the same
        probability, or a function from a state to an action.
    progress : bool, optional
        As in `play`.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1")
    >>> evaluate(env, None, 3, seed=0, policy=lambda state: int(state[2] + state[3] > 0)).returns.min() > 100
    np.True_
    """
    check.integer("seed", seed, low=0)
    single(env)
    choose: Callable[[Any], int]
    rng = np.random.default_rng(
        np.random.SeedSequence(int(seed), spawn_key=(seeds.GYM_EXPLORATION,))
    )
    if callable(policy):
        own, top = policy, getattr(getattr(env, "action_space", None), "n", None)

        def choose(state: Any) -> int:
            return check.integer(
                "what policy returns", own(state), low=0, high=None if top is None else int(top) - 1
            )
    elif check.choice("policy", policy, POLICIES) == "random":
        count = _spaces(env)[1]

        def choose(state: Any) -> int:
            return int(rng.random() * count)
    else:
        _able(agent, ("greedy", "values", "rate"))
        assert agent is not None  # it has these
        epsilon = agent.rate("epsilon") if policy == "epsilon-greedy" else 0.0

        def choose(state: Any) -> int:
            explore, which = rng.random(2).tolist() if epsilon else (1.0, 0.0)
            return (
                int(which * len(agent.values(state))) if explore < epsilon else agent.greedy(state)
            )

    return _played(env, None, choose, episodes, seed, None, None, progress,
                   fitting(env, agent if isinstance(policy, str) else None))  # fmt: skip


def _played(
    env: Any,
    learner: Agent | None,
    choose: Callable[[Any], int],
    episodes: int | None,
    seed: int,
    steps: int | None,
    callback: Any,
    progress: bool | None,
    actions: float,
) -> Played:
    """The loop: what `choose` does, one of so many actions, is learnt from where there is a learner."""
    seed = check.integer("seed", seed, low=0)
    if progress is not None:
        check.flag("progress", progress)
    budget, total = planned(episodes, steps, callback)
    log, taken, counts_steps, under_way = _Log(), 0, budget.steps <= budget.episodes, False
    step, advanced, limited = env.step, getattr(learner, "_advance", None), actions < float("inf")
    coded = isinstance(
        getattr(learner, "features", None), Coder
    )  # and a coder refuses a state, at no cost
    next_state: Any = 0  # none yet
    try:
        with showing(
            "play", 0, total, progress, "steps" if counts_steps else "episodes"
        ) as advance:
            while not budget.over(len(log.returns), taken):
                state = kept(first_state(env.reset(seed=None if log.returns else seed)))
                _hold(env, state, 0.0, log)
                under_way = True
                action, ended, cut = choose(state), False, False
                while not (ended or cut) and taken < budget.steps:
                    if limited and action >= actions:
                        raise ValueError(
                            f"features have a row for action {action}; env has actions below {actions}"
                        )
                    answer = step(action)
                    try:
                        next_state, reward, ended, cut, _ = answer
                        if (
                            type(reward) is not float
                            or type(ended) is not bool
                            or type(cut) is not bool
                        ):
                            reward, ended, cut = plain(reward, ended, cut)
                    except (TypeError, ValueError):
                        raise not_a_step(answer) from None
                    if not (coded and reward - reward == 0.0):
                        _hold(env, next_state, reward, log, 1)
                    next_state = kept(next_state)
                    if advanced is not None:
                        next_action = advanced(
                            state, action, reward, next_state, terminated=bool(ended)
                        )
                    else:
                        next_action = choose(next_state)
                        if learner is not None:
                            learner.learn(
                                state,
                                action,
                                reward,
                                next_state,
                                next_action,
                                terminated=bool(ended),
                            )
                    log.step(reward)
                    taken += 1
                    state, action = next_state, next_action
                under_way = False
                if learner is not None:
                    learner.end_episode()
                advance(log.length if counts_steps else 1)
                if (ended or cut) and budget.told(log.end(bool(cut and not ended))):
                    break
    except BaseException as error:
        if learner is not None and under_way:
            learner.end_episode()
        told = _with_episodes(error, log.played())
        if coded and isinstance(error, ValueError) and not isinstance(error, Diverged):
            try:
                _hold(env, next_state, 0.0, log, 1)
            except ValueError as clearer:
                told = _with_episodes(clearer, log.played())
        if told is error:
            raise
        raise told from error
    return log.played()


def _with_episodes(error: BaseException, played: Played | list[Played]) -> BaseException:
    """What to raise instead of `error`, so that the episodes that were finished are not lost."""
    if isinstance(error, Diverged):
        return DivergedPlay(str(error), played)
    if isinstance(error, KeyboardInterrupt):
        counts = [len(one.returns) for one in (played if isinstance(played, list) else [played])]
        told = f"{sum(counts)} episode{'s' * (sum(counts) != 1)} finished; they are in the exception's `played`"
        return Interrupted(told, played)
    with contextlib.suppress(AttributeError, TypeError):  # an exception with slots has no room
        error.played = played  # type: ignore[attr-defined]
    return error


def _hold(env: Any, state: Any, reward: float, log: _Log, more: int = 0) -> None:
    """Refuse a state or a reward that is no number: an error of the environment, where divergence is the learner's."""
    for name, value in (("state", state), ("reward", reward)):
        if not finite(value):
            known = getattr(getattr(env, "spec", None), "id", None) or type(env).__name__
            where = f"in episode {len(log.returns)} (from 0), after {log.length + more} steps"
            raise ValueError(
                f"env {known} returned the {name} {check.brief(value)} {where}; it should be finite"
            )


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
        For the tile coder; empty corners stand for the environment's own. States that can be numbered need none.
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
    target: TargetPolicy = "epsilon-greedy"
    corrected: bool = False
    episodes: int = 100
    max_steps: int = 200

    def __post_init__(self) -> None:
        check.instance("env", self.env, str)
        check.instance("options", self.options, str)
        try:
            options = json.loads(self.options)
        except (ValueError, RecursionError):
            options = None
        if not isinstance(options, dict):
            raise ValueError(f"options is {check.brief(self.options)}; it should be a JSON object")
        for name in ("low", "high"):
            corner = getattr(self, name)
            if not isinstance(corner, list | tuple):
                raise ValueError(
                    f"{name} is {check.brief(corner)}; it should be a tuple of numbers, or empty"
                )
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
        """What Gymnasium may import a module for, ``module:name``: the environment's name, and texts in its options."""
        return tuple(text for text in (self.env, *_texts(json.loads(self.options))) if ":" in text)


def _texts(value: Any) -> Iterator[str]:
    """The texts in what JSON holds: an environment that stands for another takes that one's name as an option."""
    if isinstance(value, str):
        yield value
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(part)


def _made(setting: GymSetting) -> Any:
    """The environment of a setting."""
    with check.package("gymnasium", "gym"):
        import gymnasium

    try:
        return gymnasium.make(
            setting.env, max_episode_steps=setting.max_steps, **json.loads(setting.options)
        )
    except (gymnasium.error.Error, TypeError) as error:
        raise ValueError(
            f"env is {setting.env!r}, and options {setting.options}; Gymnasium says: {error}"
        ) from error


def _coder(env: Any, setting: GymSetting) -> TileCoder | TableCoder:
    if (
        len(getattr(env.observation_space, "shape", None) or ()) != 1
        or env.observation_space.dtype.kind != "f"
    ):
        return features_of(env)
    names = ("tiles_per_side", "tilings", "size")
    corners = {name: getattr(setting, name) or None for name in ("low", "high")}
    return tile_coder(env, **corners, **{name: getattr(setting, name) for name in names})


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
    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.room("runs", runs, runs * setting.episodes)
    kept: dict[str, list[Any]] = {
        "returns": [],
        "lengths": [],
        "truncated": [],
        "theta_norm": [],
        "diverged": [],
    }
    for run in range(first_run, first_run + runs):
        env = _made(setting)
        coder = _coder(env, setting)
        rng = seeds.generator(seed, run, seeds.GYM_EXPLORATION)
        world = seeds.sequence(seed, run, seeds.GYM_ENVIRONMENT)
        names = ("sigma", "lam", "gamma", "alpha", "eta", "epsilon", "target", "corrected")
        agent = Agent(coder, rng, **{name: getattr(setting, name) for name in names})
        begin = int(world.generate_state(1)[0])
        try:
            played, diverged = play(env, agent, setting.episodes, seed=begin, progress=False), False
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
