"""How long something takes when nothing else interferes: the shortest of a few measurements."""

from __future__ import annotations

import time
from collections.abc import Callable


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
