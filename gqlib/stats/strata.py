r"""Scores of several tasks at once: the interquartile mean, with an interval from runs resampled within each task.

The mean over all runs of all tasks is carried by a few bad ones, the median forgets nearly all of them. The mean of the
middle half is the compromise that R. Agarwal et al. ("Deep reinforcement learning at the edge of the statistical
precipice", 2021) recommend, with a *stratified* bootstrap: runs are drawn anew within each task, never across tasks,
because tasks were chosen and runs were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from gqlib._validate import Array, fraction, generator, instance, integer, room
from gqlib.stats._checks import sample_of_runs
from gqlib.stats.intervals import Interval

__all__ = ["interquartile_mean", "stratified_interval"]

TAIL = 0.25  # cut off on either side


def interquartile_mean(strata: Sequence[ArrayLike]) -> float:
    """Return the mean of the middle half of all runs of all tasks.

    Parameters
    ----------
    strata : sequence of array_like, (runs,)
        Scores of the runs of each task, on a scale that tasks share.

    Examples
    --------
    >>> interquartile_mean([[0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 100.0]])
    1.5
    """
    return float(_trimmed(np.concatenate(_samples(strata))))


def stratified_interval(
    strata: Sequence[ArrayLike],
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """Return a percentile interval for `interquartile_mean`, with runs resampled within each task.

    Parameters
    ----------
    strata : sequence of array_like, (runs,)
    rng : numpy.random.Generator
    confidence : float
    resamples : int

    Examples
    --------
    Tasks that differ make no interval; runs that differ do.

    >>> rng = np.random.default_rng(0)
    >>> stratified_interval([[0.0] * 10, [1.0] * 10], rng).width
    0.0
    >>> 0.0 < stratified_interval([rng.random(10), rng.random(10)], rng).width < 0.5
    True
    """
    generator("rng", rng)
    confidence, resamples = (
        fraction("confidence", confidence),
        integer("resamples", resamples, low=1),
    )
    samples = _samples(strata)
    room("resamples", resamples, resamples * sum(len(one) for one in samples))
    middle = interquartile_mean(strata)
    if all(np.ptp(one) == 0.0 for one in samples):
        return Interval(middle, middle)

    def statistic(*drawn: Array, axis: int) -> Any:
        return _trimmed(np.concatenate(drawn, axis=axis), axis)

    found = stats.bootstrap(
        samples,
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        rng=rng,
    ).confidence_interval
    return Interval(float(found.low), float(found.high))


def _samples(strata: Sequence[ArrayLike]) -> list[Array]:
    instance("strata", strata, list, tuple)
    if not strata:
        raise ValueError("strata is empty; it should hold the scores of at least one task")
    found = [sample_of_runs("strata", one) for one in strata]
    for one in found:
        if one.ndim != 1:
            raise ValueError(
                f"strata holds an array of shape {one.shape}; it should hold arrays of shape (runs,)"
            )
    return found


def _trimmed(scores: Array, axis: int = 0) -> Any:
    return stats.trim_mean(scores, TAIL, axis=axis)
