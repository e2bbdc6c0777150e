"""How long something takes when nothing else interferes: the shortest of a few measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

Tell = Callable[[str, str, float], Any]  # called with the kind of a row, its name and its value


def least_seconds(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
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


def side_by_side(works: dict[str, Callable[[], int]], repeats: int) -> dict[str, float]:
    """Nanoseconds per step of each, the lowest of several measurements, taken in turn.

    Examples
    --------
    >>> sorted(side_by_side({"one": lambda: 1, "two": lambda: 2}, 1))
    ['one', 'two']
    """
    for work in works.values():
        work()  # fills the caches
    least = dict.fromkeys(works, math.inf)
    for _ in range(repeats):
        for name, work in works.items():
            begin = time.process_time()
            steps = work()
            least[name] = min(least[name], (time.process_time() - begin) / steps)
    return {name: 1e9 * value for name, value in least.items()}
