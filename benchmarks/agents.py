"""Agents in Gymnasium's environments: beside the environment alone and a plain loop in Python.

A step is everything that happens in one: the environment, the features, the choice and the learning. All use eight
tilings of the same box. The plain loop is `plain.gymnasium_steps`, Sarsa(λ) with tiles3; for others' loops see
`benchmarks.peers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.plain import gymnasium_steps
from gqlib import _validate as check
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
    agent = Agent(
        coder, np.random.default_rng(seed), sigma=0.5, lam=0.9, alpha=ALPHA / TILINGS, eta=0.01
    )

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
