r"""Mountain car (Sutton and Barto 2018, Example 10.1): an underpowered car that has to swing out of a valley.

State: position x in [-1.2, 0.5] and velocity v in [-0.07, 0.07]. Actions: 0 reverse, 1 coast, 2 forward.

.. math::
   v' &= \operatorname{clip}(v + 0.001\,(a - 1) - 0.0025 \cos 3x,\ \pm 0.07), \\
   x' &= \operatorname{clip}(x + v',\ -1.2,\ 0.5), \qquad v' = 0 \text{ at the left wall.}

The reward is -1 for every step; an episode starts at rest with x uniform in [-0.6, -0.4) and ends at x = 0.5.

Differences from Gymnasium's ``MountainCar-v0``, which plays the same game up to the goal: there x may reach 0.6
in the last step, the goal also requires v >= 0 (true of every car that arrives), states are returned in
single precision, and episodes are cut after 200 steps; here the step limit belongs to the experiment.

The cosine is a fixed polynomial, accurate to rounding, because that of the C library may differ in its last
bit from machine to machine, and a last bit in x grows until a tile flips. With :math:`t = |3x| - \pi/2` it is
:math:`-\sin t`, and :math:`|t| < 2.04` on the whole road: there the Taylor series of the sine up to
:math:`t^{25}` leaves less than 1e-18.

>>> position, velocity, reward, done = step(-0.5, 0.0, 2)
>>> round(position, 6), round(velocity, 6), reward, done
(-0.499177, 0.000823, -1.0, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np

from gqlib import _validate as check

__all__ = [
    "ACTIONS",
    "GOAL",
    "POSITION_MAX",
    "POSITION_MIN",
    "START_MAX",
    "START_MIN",
    "VELOCITY_MAX",
    "reset",
    "step",
]

POSITION_MIN, POSITION_MAX = -1.2, 0.5
VELOCITY_MAX = 0.07
GOAL = 0.5
START_MIN, START_MAX = -0.6, -0.4
BOTTOM = -0.5  # the middle of these, near the lowest point
ACTIONS = 3
FORCE = 0.001
GRAVITY = 0.0025

# pi/2 as the sum of two doubles, so that t keeps its relative accuracy where the cosine is near zero; the coefficients
# of t^2, t^4, ..., t^24 in sin(t)/t; and what the road and the car can do.
CONSTANTS = (
    1.5707963267948966,
    6.123233995736766e-17,
    *(float((-1) ** k) / factorial(2 * k + 1) for k in range(1, 13)),
    *(FORCE, GRAVITY, VELOCITY_MAX, POSITION_MAX, POSITION_MIN),
)


def cosine(y: float, c: Sequence[float] = CONSTANTS) -> float:
    """cos(y) for y in [-3.6, 3.6], from additions and multiplications alone."""
    t = (abs(y) - c[0]) - c[1]
    z = t * t
    z2 = z * z
    z4 = z2 * z2
    low = (c[2] + c[3] * z) + (c[4] + c[5] * z) * z2
    middle = (c[6] + c[7] * z) + (c[8] + c[9] * z) * z2
    high = (c[10] + c[11] * z) + (c[12] + c[13] * z) * z2
    return -(t + (t * z) * (low + (middle + high * z4) * z4))


def advance(
    position: float, velocity: float, push: float, cosine_3x: float, c: Sequence[float] = CONSTANTS
) -> tuple[float, float]:
    """Next position and velocity, unchecked; `push` is action - 1. The kernels compile this same function."""
    force, gravity, fastest, right, left = c[14], c[15], c[16], c[17], c[18]
    velocity = velocity + force * push - gravity * cosine_3x
    if velocity > fastest:
        velocity = fastest
    elif velocity < -fastest:
        velocity = -fastest
    position = position + velocity
    if position > right:
        position = right
    elif position <= left:
        position = left
        velocity = 0.0
    return position, velocity


def step(position: float, velocity: float, action: int) -> tuple[float, float, float, bool]:
    """One step of the car.

    Parameters
    ----------
    position, velocity : float
        State before the step, inside the box.
    action : int
        0 reverse, 1 coast, 2 forward.

    Returns
    -------
    position, velocity, reward, done : float, float, float, bool
        State after the step, the reward -1, and whether the goal is reached.

    Examples
    --------
    >>> step(-1.2, -0.07, 0)[:2]
    (-1.2, 0.0)
    """
    x = check.scalar("position", position, low=POSITION_MIN, high=POSITION_MAX)
    v = check.scalar("velocity", velocity, low=-VELOCITY_MAX, high=VELOCITY_MAX)
    a = check.integer("action", action, low=0, high=ACTIONS - 1)
    x, v = advance(x, v, float(a - 1), cosine(3.0 * x))
    return x, v, -1.0, x >= GOAL


def start(u: float) -> float:
    """Start position for a uniform number `u` in [0, 1)."""
    return START_MIN + (START_MAX - START_MIN) * u


def anywhere(u: float, w: float) -> tuple[float, float]:
    """Start left of the goal at any position and velocity, for two uniform numbers in [0, 1).

    Examples
    --------
    >>> anywhere(0.0, 0.5)
    (-1.2, 0.0)
    """
    return POSITION_MIN + (GOAL - POSITION_MIN) * u, -VELOCITY_MAX + (
        VELOCITY_MAX + VELOCITY_MAX
    ) * w


def reset(rng: np.random.Generator) -> tuple[float, float]:
    """Start of an episode: a position uniform in [-0.6, -0.4), at rest.

    Examples
    --------
    >>> position, velocity = reset(np.random.default_rng(1))
    >>> -0.6 <= position < -0.4, velocity
    (True, 0.0)
    """
    return start(check.generator("rng", rng).random()), 0.0
