"""What an environment answers in `gqlib.control.gym`: the parts of a reset and a step, or what is wrong with them.

Also whether it is one, and whether an agent fits it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib.control.agent import Agent
from gqlib.control.features import Coder


def first_state(answer: Any) -> Any:
    """The first state, of what `reset` returned."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], Mapping):
        wanted = "the first state and a dict, as gymnasium.Env.reset does"
        raise ValueError(f"env.reset returned {check.brief(answer)}; it should return {wanted}")
    return answer[0]


def kept(state: Any) -> Any:
    """The state as it is now, for a learner that needs it a step later: an environment may change it in place."""
    if isinstance(state, np.ndarray):
        return state.copy() if state.dtype.kind != "O" else copy.deepcopy(state)
    return copy.deepcopy(state) if isinstance(state, dict | list | tuple) else state


def plain(reward: Any, *flags: Any) -> tuple[float, bool, bool]:
    """A reward and two flags of other kinds than Python's own; a text, or NaN, would count as True."""
    ended, cut = (
        flag if isinstance(flag, bool | np.bool_) else _one("flag", flag) for flag in flags
    )
    if not {ended, cut} <= {0.0, 1.0}:
        raise ValueError
    return _one("reward", reward), bool(ended), bool(cut)


def _one(name: str, value: Any) -> float:
    """A number, or an array that holds one."""
    if isinstance(value, list | tuple):
        raise TypeError
    return (
        float(value)
        if isinstance(value, float | np.floating)
        else float(check.reals(name, value).item())
    )


def not_a_step(answer: Any) -> ValueError:
    """What is wrong with what `step` returned."""
    wanted = "state, reward (a number), terminated and truncated (True or False), and a dict"
    wanted = f"five things as gymnasium.Env.step does: {wanted}"
    return ValueError(f"env.step returned {check.brief(answer)}; it should return {wanted}")


def fitting(env: Any, agent: Any) -> float:
    """The number of actions of an environment, which those of an agent have to be among; infinite where unknown."""
    space = getattr(env, "single_action_space", getattr(env, "action_space", None))
    count, first = getattr(space, "n", None), getattr(space, "start", 0)
    if count is None or not isinstance(agent, Agent):
        return math.inf
    if first != 0:
        raise ValueError(f"env has actions {check.brief(space)}; they should be Discrete from 0 on")
    if isinstance(agent.features, Coder) and agent.features.actions > count:
        raise ValueError(
            f"agent has features for {agent.features.actions} actions; env has {count} of them"
        )
    return int(count)


def single(env: Any) -> None:
    """Refuse what is no environment, and many at once."""
    if not hasattr(env, "reset") or not hasattr(env, "step"):
        raise ValueError(
            f"env is {check.brief(env)}; it should have reset and step, like a gymnasium.Env"
        )
    if hasattr(env, "single_action_space"):
        side = "gqlib.control.vector.play_side_by_side takes many"
        raise ValueError(f"env is {check.brief(env)}; it should be one environment ({side})")
