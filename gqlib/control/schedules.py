r"""Rates that change while an agent learns: a step size that falls, exploration that fades.

Wherever `gqlib.control.agent.Agent` takes α or ε it takes a number, an `Anneal`, or a function of the number of steps
taken so far. An `Anneal` goes from one value to another and stays there,

    linear:     x_k = first + (last − first)·min(k/over, 1)
    geometric:  x_k = first·(last/first)^min(k/over, 1),

with k steps or k episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gqlib import _validate as check

__all__ = ["Anneal", "Rate"]

SHAPES, CLOCKS = ("linear", "geometric"), ("step", "episode")


@dataclass(frozen=True)
class Anneal:
    """A rate that goes from `first` to `last` and stays there.

    Parameters
    ----------
    first, last : float
        Both above zero where the shape is geometric.
    over : int
        How many steps, or episodes, it takes.
    shape : {"linear", "geometric"}
    by : {"step", "episode"}
        What is counted.

    Examples
    --------
    >>> [Anneal(1.0, 0.0, 4)(k) for k in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    >>> [round(Anneal(1.0, 0.01, 2, shape="geometric")(k), 4) for k in (0, 1, 2)]
    [1.0, 0.1, 0.01]
    """

    first: float
    last: float
    over: int
    shape: Literal["linear", "geometric"] = "linear"
    by: Literal["step", "episode"] = "step"

    def __post_init__(self) -> None:
        positive = check.choice("shape", self.shape, SHAPES) == "geometric"
        for name in ("first", "last"):
            object.__setattr__(
                self, name, check.scalar(name, getattr(self, name), low=0.0, open_low=positive)
            )
        object.__setattr__(self, "over", check.integer("over", self.over, low=1))
        check.choice("by", self.by, CLOCKS)

    def __call__(self, count: int) -> float:
        """The rate after so many steps, or episodes."""
        share = min(check.integer("count", count, low=0), self.over) / self.over
        if self.shape == "geometric":
            return self.first * float((self.last / self.first) ** share)
        return self.first + (self.last - self.first) * share


Rate = float | Anneal | Callable[[int], float]


def checked(name: str, rate: Rate, **limits: float | bool) -> Rate:
    """A rate, of which the numbers that are known are within limits."""
    if isinstance(rate, Anneal):
        for value in (rate.first, rate.last):
            check.scalar(name, value, **limits)  # type: ignore[arg-type]
        return rate
    return rate if callable(rate) else check.scalar(name, rate, **limits)  # type: ignore[arg-type]


def at(name: str, rate: Any, steps: int, episodes: int, **limits: Any) -> float:
    """A rate after so many steps and episodes."""
    if isinstance(rate, float):
        return rate
    if isinstance(rate, Anneal):
        return rate(steps if rate.by == "step" else episodes)
    if not callable(rate):  # a whole number, which an attribute can be given
        return check.scalar(name, rate, **limits)
    return check.scalar(f"{name} after {steps} steps", rate(steps), **limits)
