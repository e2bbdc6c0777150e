"""Agents in Gymnasium's environments: beside the environment alone, a plain loop in Python, and a peer's loop.

A step is everything that happens in one: the environment, the features, the choice and the learning. All use eight
tilings of the same box. The plain loop is `plain.gymnasium_steps`, Sarsa(λ) with tiles3; the peer is MushroomRL, whose
true online Sarsa(λ) runs in the loop of its own mountain car example, where that library is installed. Its trace is
dense, so it is measured where it is shown: with hundreds of features, not with tens of thousands.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from gqlib import _validate as check
from gqlib.bench.plain import gymnasium_steps
from gqlib.control.agent import Agent
from gqlib.control.gym import features_of, play

STEPS, FEW_STEPS = 4000, 400  # of what is compiled, and of what is not
TILINGS, MEMORY, ALPHA = 8, 32768, 0.05


class Place(NamedTuple):
    """An environment of Gymnasium: its name there, the box to tile (its own if empty) and the tiles per side."""

    name: str
    box: tuple[tuple[float, ...], ...] = ()
    sides: int = 8


PLACES = {
    "CartPole": Place("CartPole-v1", ((-2.4, -3.0, -0.21, -3.5), (2.4, 3.0, 0.21, 3.5))),
    "MountainCar": Place("MountainCar-v0"),
    "Acrobot": Place("Acrobot-v1", sides=4),
}


def _made(place: Place) -> Any:
    with check.package("gymnasium", "gym"):
        import gymnasium

    return gymnasium.make(place.name)


def environment_alone(place: Place, steps: int = STEPS, seed: int = 0) -> Callable[[], int]:
    """The environment with actions drawn beforehand, and nothing else.

    Examples
    --------
    >>> environment_alone(PLACES["CartPole"], 50)()
    50
    """
    env = _made(place)
    actions = np.random.default_rng(seed).integers(env.action_space.n, size=steps).tolist()

    def work() -> int:
        env.reset(seed=seed)
        for action in actions:
            _, _, ended, cut, _ = env.step(action)
            if ended or cut:
                env.reset()
        return steps

    return work


def agent_in(place: Place, steps: int = STEPS, seed: int = 0) -> Callable[[], int]:
    """An `Agent`, GQ(½, 0.9), in `play`; it goes on learning with every call.

    Examples
    --------
    >>> agent_in(PLACES["CartPole"], 50)()
    50
    """
    env = _made(place)
    corners = dict(zip(("low", "high"), place.box, strict=True)) if place.box else {}
    coder = features_of(env, tiles_per_side=place.sides, tilings=TILINGS, size=MEMORY, **corners)
    agent = Agent(coder, np.random.default_rng(seed), sigma=0.5, lam=0.9, alpha=ALPHA / TILINGS, eta=0.01)

    def work() -> int:
        before = agent.steps
        play(env, agent, steps=steps, seed=seed, progress=False)
        return agent.steps - before

    return work


def plain_loop(place: Place, steps: int = FEW_STEPS) -> Callable[[], int]:
    """Sarsa(λ) as one writes it in an hour.

    Examples
    --------
    >>> plain_loop(PLACES["Acrobot"], 20)()
    20
    """
    return lambda: gymnasium_steps(steps, place.name, box=place.box, sides=place.sides, alpha=ALPHA)


def peer_loop(steps: int = FEW_STEPS) -> Callable[[], int] | None:
    """True online Sarsa(λ) of MushroomRL, in its own loop on MountainCar; None where that is not installed.

    The loop is that of its versions 1; where another is installed a warning says so, and nothing is measured.

    Examples
    --------
    >>> loop = peer_loop(20)
    >>> loop is None or loop() == 20
    True
    """
    if find_spec("mushroom_rl") is None:
        return None
    try:
        return _mushroom_loop(steps)
    except (ImportError, TypeError, AttributeError) as error:
        warnings.warn(f"MushroomRL is left out, its version has other names than versions 1: {error}", stacklevel=2)
        return None


def _mushroom_loop(steps: int) -> Callable[[], int]:
    from mushroom_rl.algorithms.value import TrueOnlineSARSALambda
    from mushroom_rl.core import Core, Environment, MDPInfo
    from mushroom_rl.features import Features
    from mushroom_rl.features.tiles import Tiles
    from mushroom_rl.policy import EpsGreedy
    from mushroom_rl.utils import spaces
    from mushroom_rl.utils.parameters import Parameter

    place = PLACES["MountainCar"]
    env = _made(place)
    count, low, high = int(env.action_space.n), env.observation_space.low, env.observation_space.high

    class Adapted(Environment):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(MDPInfo(spaces.Box(low, high), spaces.Discrete(count), 1.0, 10_000))

        def reset(self, state: Any = None) -> Any:
            return env.reset()[0]

        def step(self, action: Any) -> Any:
            seen, reward, ended, cut, _ = env.step(int(action[0]))
            return seen, reward, ended or cut, {}

    features = Features(tilings=Tiles.generate(TILINGS, [place.sides] * len(low), low, high))
    shapes = {"input_shape": (features.size,), "output_shape": (count,), "n_actions": count}
    car = Adapted()
    agent = TrueOnlineSARSALambda(
        car.info, EpsGreedy(epsilon=Parameter(0.1)), Parameter(ALPHA / TILINGS), 0.9, features=features,
        approximator_params=shapes,
    )  # fmt: skip
    core = Core(agent, car)

    def work() -> int:
        core.learn(n_steps=steps, n_steps_per_fit=1, quiet=True)
        return steps

    return work
