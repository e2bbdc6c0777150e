"""What a sweep says while it runs: how long it will take, and how far it is.

On a terminal and in a notebook there is a bar; a log gets a line now and then. All of it goes to stderr, apart from the
estimate, which the caller prints. What is over within seconds says nothing in a notebook or a log.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__: list[str] = []

LINE_EVERY = 30.0  # seconds between two lines of a log
NOTEBOOK_DELAY = 15.0  # seconds before a notebook shows a bar
WORTH_SAYING = 10.0  # seconds: a shorter estimate is not announced


def duration(seconds: float) -> str:
    """A time as a person would say it.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 42, 600, 6660, 200_000)]
    ['1 s', '42 s', '10 min', '1 h 51 min', '2 d 7 h']
    """
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def estimating(
    tasks: int,
    sample: int,
    announce: Callable[[str], Any],
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[], None]:
    """Return what to call after every task: at one of the first it announces how long the others will take.

    Time is taken from the first task that is done, because that one waited for workers to start and code to compile.

    Examples
    --------
    >>> ticks = iter([100.0, 102.0, 104.0])
    >>> done = estimating(1000, 2, print, lambda: next(ticks))
    >>> for _ in range(3):
    ...     done()
    about 33 min for the other 997 tasks, measured on the first 3
    """
    times: list[float] = []

    def done() -> None:
        if len(times) > sample:
            return
        times.append(clock())
        left = tasks - len(times)
        if len(times) == sample + 1:
            seconds = (times[-1] - times[0]) / sample * left
            if seconds >= WORTH_SAYING:
                announce(
                    f"about {duration(seconds)} for the other {left:,} tasks, measured on the first {len(times)}"
                )

    return done


@contextlib.contextmanager
def showing(
    name: str, done: int, total: int, progress: bool | None, unit: str = "runs"
) -> Iterator[Callable[[int], Any]]:
    """Yield what to call with the number of runs that were just finished; `progress` is that of `run_sweep`."""
    notebook = type(sys.stderr).__module__.startswith("ipykernel.")
    if progress is None and not sys.stderr.isatty() and not notebook:
        yield _lines(name, done, total, unit=unit)
        return
    from tqdm import tqdm

    wait = NOTEBOOK_DELAY if notebook and progress is None else 0.0
    with tqdm(
        total=total, initial=done, desc=name, unit=f" {unit}", disable=progress is False, delay=wait
    ) as bar:
        yield bar.update


def _lines(
    name: str,
    done: int,
    total: int,
    clock: Callable[[], float] = time.monotonic,
    unit: str = "runs",
) -> Callable[[int], None]:
    """What to call with the runs that were just finished; the first took as long as code takes to compile."""
    since: tuple[float, int] | None = None
    said = clock()

    def advance(runs: int) -> None:
        nonlocal done, since, said
        done += runs
        now = clock()
        if since is None:
            since = now, done
        elif now - said >= LINE_EVERY and now > since[0] and done < total:
            said = now
            rate = (done - since[1]) / (now - since[0])
            left = duration((total - done) / rate)
            print(
                f"{name}: {done:,} of {total:,} {unit}, {rate:.3g} a second, {left} to go",
                file=sys.stderr,
                flush=True,
            )

    return advance
