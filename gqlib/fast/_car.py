"""The compiled car: its dynamics, its row in the table of tiles, and the choice of an action."""

from __future__ import annotations

from typing import Any

import numpy as np

from gqlib.domains import mountain_car
from gqlib.fast import COMPILE
from gqlib.fast._jit import COMPILED, njit
from gqlib.fast._lowered import likely
from gqlib.fast._rng import next_bits, uniform
from gqlib.rules import TIE

GOAL = mountain_car.GOAL
CONSTANTS = mountain_car.CONSTANTS

cosine = njit(forceinline=True, **COMPILE)(mountain_car.cosine)
advance = njit(forceinline=True, **COMPILE)(mountain_car.advance)
start = njit(forceinline=True, **COMPILE)(mountain_car.start)
anywhere = njit(forceinline=True, **COMPILE)(mountain_car.anywhere)
BOTTOM = mountain_car.BOTTOM

# Where episodes start, as the kernel knows it.
STARTS = {"valley": 0, "bottom": 1, "anywhere": 2}
AT_BOTTOM, ANYWHERE = 1, 2


@njit(**COMPILE)
def in_memory(numbers: Any) -> Any:
    """Constants of a loop as an array, of which the compiler cannot know what is there.

    It reads a number where it needs one, then, in the instruction that computes with it. Numbers that it knows it names
    by an instruction of their own at every use, and numbers that it was handed it carries from register to register
    all around the loop. In plain Python a tuple is faster.
    """
    return np.array(numbers) if COMPILED else numbers


@njit(**COMPILE)
def begin(law: Any, state: Any) -> Any:
    """Position and velocity at the start of an episode."""
    if law == ANYWHERE:
        u = uniform(state)
        return anywhere(u, uniform(state))
    return (BOTTOM if law == AT_BOTTOM else start(uniform(state))), 0.0


@njit(forceinline=True, **COMPILE)
def natural(n: Any) -> Any:
    """The same number, in a form that tells the compiler it is not negative: no check for negative indices."""
    return np.int64(np.uint32(n))


@njit(forceinline=True, **COMPILE)
def find_row(x: Any, v: Any, edges_x: Any, edges_v: Any, grid: Any, width: Any) -> Any:
    """First entry of a state's row in the flat table: a guess of the cell, corrected by the exact edges."""
    # Branches, since the guess is nearly always right: the processor carries on without waiting for the edges.
    i = natural(np.int64(x * grid[0] + grid[1]))
    if x < edges_x[i]:
        i -= 1
    elif x >= edges_x[i + 1]:
        i += 1
    j = natural(np.int64(v * grid[2] + grid[3]))
    if v < edges_v[j]:
        j -= 1
    elif v >= edges_v[j + 1]:
        j += 1
    return natural((i * (edges_v.size - 1) + j) * width)


@njit(forceinline=True, **COMPILE)
def greedy_action(q0: Any, q1: Any, q2: Any) -> Any:
    """First action whose value is within `TIE` of the largest."""
    # Branches, since the processor guesses them well: the car can drive on before the values are there.
    bar = max(q0, max(q1, q2)) - TIE
    if likely(q0 >= bar):
        return 0
    if likely(q1 >= bar):
        return 1
    return 2


@njit(forceinline=True, **COMPILE)
def greedy_at_random(q0: Any, q1: Any, q2: Any, state: Any) -> Any:
    """One of the actions whose value is within `TIE` of the largest; a uniform number decides, if there are several."""
    bar = max(q0, max(q1, q2)) - TIE
    tied0, tied1, tied2 = np.int64(q0 >= bar), np.int64(q1 >= bar), np.int64(q2 >= bar)
    tied = tied0 + tied1 + tied2
    number = np.int64(uniform(state) * tied) if tied > 1 else 0
    if tied0 > number:
        return 0
    return 1 if tied0 + tied1 > number else 2


@njit(forceinline=True, **COMPILE)
def bar(probability: Any) -> Any:
    """The least of the whole numbers 0..2**53 that `next_bits` must reach for `uniform` to reach a probability."""
    return np.int64(np.ceil(2.0**53 * probability))  # a power of two: the product is exact


@njit(forceinline=True, **COMPILE)
def bars_of(epsilon: Any) -> Any:
    """What `behave` compares with: epsilon and its thirds, as whole numbers."""
    third = epsilon / 3.0
    return bar(epsilon), bar(third), bar(2.0 * third)


@njit(forceinline=True, **COMPILE)
def behave(greedy: Any, bars: Any, state: Any) -> Any:
    """Epsilon-greedy choice; one uniform number decides both whether to explore and where."""
    # As whole numbers, which compare as the doubles would, without turning one into the other first.
    bits = next_bits(state)
    if bits >= bars[0]:
        return greedy
    return np.int64(bits >= bars[1]) + np.int64(bits >= bars[2])


@njit(forceinline=True, **COMPILE)
def pick(action: Any, of0: Any, of1: Any, of2: Any) -> Any:
    """Of three numbers, the one that belongs to the chosen action."""
    return of0 if action == 0 else (of1 if action == 1 else of2)
