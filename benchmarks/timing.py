"""How long something takes when nothing else interferes: the shortest of a few measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

SPELL = 0.1  # seconds of a work for each repeat: some hundred measurements of the kernels in seven repeats
Tell = Callable[[str, str, float], Any]  # called with the kind of a row, its name and its value


def least_seconds(
    work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The shortest of `repeats` timings of `work`, in seconds.

    Examples
    --------
    >>> ticks = iter([0.0, 5.0, 7.0, 9.0])
    >>> least_seconds(lambda: None, 2, lambda: next(ticks))
    2.0
    """
    seconds = []
    for _ in range(repeats):
        begin = clock()
        work()
        seconds.append(clock() - begin)
    return min(seconds)


def side_by_side(
    works: dict[str, Callable[[], int]], repeats: int, spell: float = SPELL
) -> dict[str, float]:
    """Nanoseconds per step of each, the lowest of several measurements, taken in turn.

    A machine is disturbed for longer than a short work takes. There are as many rounds as asked for, hence, and then
    as many more as fit into `spell` seconds of each work for each of them.

    Examples
    --------
    >>> sorted(side_by_side({"one": lambda: 1, "two": lambda: 2}, 1, 0.0))
    ['one', 'two']
    """
    for work in works.values():
        work()  # fills the caches
    least = dict.fromkeys(works, math.inf)
    spent, rounds = 0.0, 0
    while rounds < repeats or spent < repeats * len(works) * spell:
        for name, work in works.items():
            begin = time.process_time()
            steps = work()
            seconds = time.process_time() - begin
            least[name] = min(least[name], seconds / steps)
            spent += seconds
        rounds += 1
    return {name: 1e9 * value for name, value in least.items()}
