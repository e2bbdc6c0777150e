"""Other libraries' own loops on the mountain car, where they are installed: ``--peers FILE`` writes them.

None is needed by this one, so each is measured if it can be imported, and named with the reason if it cannot.

``MushroomRL``   true online Sarsa(λ) on eight tilings of 8 × 8 tiles, in the loop of its own mountain car example, on
                 Gymnasium's car: its trace is dense. Beside it: an `Agent` on the same car and tiles.
``gymnax``       Gymnasium's car in JAX, compiled, with actions at random: no features, no choice, no learning. It has
                 no linear learner; what it offers is the environment. Beside it: the engine without learning, which
                 also finds tiles, compares actions and explores.

Their times are relative to those beside them in one run on one machine, and say nothing of any other setting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import general
from benchmarks.agents import (
    ALPHA,
    FEW_STEPS,
    PLACES,
    TILINGS,
    agent_in,
    environment_alone,
    plain_loop,
)
from benchmarks.timing import Tell, side_by_side
from gqlib import _validate as check

MANY_STEPS = 20_000  # of what is compiled
CAR = "MountainCar"


class Peer(NamedTuple):
    """A library's loop: its name on the package index, what a step does, and what makes the loop of so many steps."""

    package: str
    step: str
    loop: Callable[[int], Callable[[], int]]
    steps: int


def _mushroom(steps: int) -> Callable[[], int]:
    import gymnasium
    from mushroom_rl.algorithms.value import TrueOnlineSARSALambda
    from mushroom_rl.core import Core, Environment, MDPInfo
    from mushroom_rl.features import Features
    from mushroom_rl.features.tiles import Tiles
    from mushroom_rl.policy import EpsGreedy
    from mushroom_rl.utils import spaces
    from mushroom_rl.utils.parameters import Parameter

    place = PLACES[CAR]
    env = gymnasium.make(place.name)
    count, low, high = (
        int(env.action_space.n),
        env.observation_space.low,
        env.observation_space.high,
    )

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


def _gymnax(steps: int) -> Callable[[], int]:
    import gymnax
    import jax

    env, numbers = gymnax.make(PLACES[CAR].name)
    count = env.num_actions

    def one(state: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        _, after, *_ = env.step(second, state, jax.random.randint(first, (), 0, count), numbers)
        return after, None

    scan = jax.jit(lambda state, key: jax.lax.scan(one, state, jax.random.split(key, steps))[0])
    _, begun = env.reset(jax.random.PRNGKey(0), numbers)

    def work() -> int:
        jax.block_until_ready(scan(begun, jax.random.PRNGKey(1)))
        return steps

    return work


PEERS = {
    "MushroomRL": Peer(
        "mushroom-rl",
        "Gymnasium's car, tiles, a choice, true online Sarsa(λ)",
        _mushroom,
        FEW_STEPS,
    ),
    "gymnax": Peer("gymnax", "the car alone, in JAX, actions at random", _gymnax, MANY_STEPS),
}


def loop_of(name: str, steps: int | None = None) -> tuple[Callable[[], int] | None, str]:
    """A peer's loop and its version; or None, and why there is none.

    Examples
    --------
    >>> loop, told = loop_of("gymnax", 20)
    >>> loop() == 20 if loop else "not installed" in told or "left out" in told
    True
    """
    peer = PEERS[check.choice("name", name, tuple(PEERS))]
    try:
        known = version(peer.package)
        return peer.loop(peer.steps if steps is None else steps), known
    except PackageNotFoundError:
        return None, f"not installed (pip install {peer.package})"
    except (ImportError, TypeError, AttributeError) as error:
        return (
            None,
            f"left out, its version has other names than the one that was measured: {error}",
        )


def peers(repeats: int, tell: Tell = lambda *row: None) -> dict[str, Any]:
    """Nanoseconds per step on the mountain car, ours and theirs measured in turn, and their versions."""
    place, sarsa = PLACES[CAR], general.SARSA
    works = {
        "engine, Sarsa(λ)": general.general(sarsa),
        "engine, without learning": general.without_learning(sarsa),
        "Gymnasium's car alone": environment_alone(place),
        "agent": agent_in(place),
        "plain sparse Sarsa(λ) loop": plain_loop(place),
    }
    versions: dict[str, str] = {}
    for name in PEERS:
        loop, versions[name] = loop_of(name)
        if loop is None:
            tell("absent", f"{name}: {versions[name]}", 0.0)
        else:
            works[name] = loop
    times = side_by_side(works, repeats)
    for name, value in times.items():
        tell("time", name, value)
    return {"nanoseconds": times, "versions": versions}


def write_peers(path: Path, repeats: int, tell: Tell = lambda *row: None) -> Path:
    """Measure, and write what was found, times to two digits relative to the engine's step, and the month."""
    path = check.path("path", path)
    found = peers(repeats, tell)
    unit = found["nanoseconds"]["engine, Sarsa(λ)"]
    relative = {name: float(f"{value / unit:.2g}") for name, value in found["nanoseconds"].items()}
    steps = {name: peer.step for name, peer in PEERS.items()}
    said = {
        "measured": time.strftime("%Y-%m"),
        "versions": found["versions"],
        "steps": steps,
        "relative": relative,
    }
    path.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
