"""What an environment answers in `gqlib.control.gym`: the parts of a reset and a step, or what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gqlib import _validate as check


def first_state(answer: Any) -> Any:
    """The first state, of what `reset` returned."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], Mapping):
        wanted = "the first state and a dict, as gymnasium.Env.reset does"
        raise ValueError(f"env.reset returned {check.brief(answer)}; it should return {wanted}")
    return answer[0]


def plain(reward: Any, *flags: Any) -> tuple[float, bool, bool]:
    """A reward and two flags of other kinds than Python's own; a text, or NaN, would count as True."""
    ended, cut = (flag if isinstance(flag, bool | np.bool_) else _one("flag", flag) for flag in flags)
    if not {ended, cut} <= {0.0, 1.0}:
        raise ValueError
    return _one("reward", reward), bool(ended), bool(cut)


def _one(name: str, value: Any) -> float:
    """A number, or an array that holds one."""
    if isinstance(value, list | tuple):
        raise TypeError
    return float(value) if isinstance(value, float | np.floating) else float(check.reals(name, value).item())


def not_a_step(answer: Any) -> ValueError:
    """What is wrong with what `step` returned."""
    wanted = "state, reward (a number), terminated and truncated (True or False), and a dict"
    wanted = f"five things as gymnasium.Env.step does: {wanted}"
    return ValueError(f"env.step returned {check.brief(answer)}; it should return {wanted}")
