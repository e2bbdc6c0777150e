r"""Intervals for the results of runs: bootstrap, Student, bounded and tolerance intervals.

Four questions, four intervals. *Where is the mean (or the variance, or the median) over all seeds?* A confidence
interval: the bootstrap resamples runs and needs no model; its percentile form takes quantiles of the resampled
statistic, BCa shifts those quantiles for bias and skewness (B. Efron, "Better bootstrap confidence intervals", 1987).
*And if only means and variances are kept?* Student's interval, :math:`\bar x \pm t_{n-1} s/\sqrt n`. *And if a few
rare runs carry the mean, and perhaps none of them is in the sample?* If scores are bounded, a run at the bound is
added to the sample, and runs are weighted at random (N. Gaffke, "Three test statistics for a nonparametric one-sided
hypothesis on the mean of a nonnegative variable", 2005). *Where will most single runs be?* A tolerance interval:
between the order statistics :math:`x_{(r)}` and :math:`x_{(n+1-r)}` lies a share of the population with the law
Beta(n + 1 - 2r, 2r), whatever the continuous law of the runs (S. Wilks, 1941). *And how far do runs scatter?* An
interval for the variance, from sums of powers.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable
from functools import wraps
from operator import index
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from gqlib._validate import (
    ROOM,
    Array,
    array,
    brief,
    choice,
    dimensions,
    fraction,
    function,
    generator,
    integer,
    reals,
    room,
    scalar,
)
from gqlib.stats._checks import LARGEST_SCORE, sample_of_runs

__all__ = [
    "Interval",
    "bootstrap_interval",
    "bounded_interval",
    "student_interval",
    "tolerance_interval",
    "variance_interval",
]

Bootstrap = Literal["BCa", "percentile", "basic"]
_IN_LOWER_CASE = tuple(word.lower() for word in get_args(Bootstrap))
# Numbers resampled at a time: 32 MB of float64, so that long learning curves fit into memory.
BATCH_NUMBERS = 2**22


class Interval(NamedTuple):
    """Lower and upper end: numbers, or arrays for a curve. Unpacks as ``low, high``.

    Examples
    --------
    >>> interval = Interval(1.0, 3.0)
    >>> low, high = interval
    >>> low, high, interval.width
    (1.0, 3.0, 2.0)
    """

    low: Any
    high: Any

    @property
    def width(self) -> Any:
        """Upper minus lower end."""
        return self.high - self.low


def bootstrap_interval(
    sample: ArrayLike,
    rng: np.random.Generator,
    *,
    statistic: Callable[..., Any] = np.mean,
    confidence: float = 0.95,
    method: Bootstrap = "BCa",
    resamples: int = 9999,
    axis: int = 0,
) -> Interval:
    """Bootstrap confidence interval for a statistic over runs, by :func:`scipy.stats.bootstrap`.

    Parameters
    ----------
    sample : array_like, shape (runs, ...)
        Finite scores; every further axis (episodes, settings) gets its own interval from the same resampled
        runs.
    rng : numpy.random.Generator
        Source of the resampling.
    statistic : callable
        ``np.mean``, ``np.median``, ``np.var`` and the like; one that takes ``axis`` is faster.
    confidence : float
        Level, strictly between 0 and 1.
    method : {"BCa", "percentile", "basic"}
        BCa is the default. It does not exist where no single run changes the statistic (a minimum reached
        twice), and then a ValueError is raised.
    resamples : int
        Number of resamples.
    axis : int
        The axis of the runs.

    Returns
    -------
    Interval
        ``(low, high)``, floats for one axis, otherwise arrays of the remaining shape. Where all runs are
        equal, the interval is that single point.

    Notes
    -----
    The level is nominal. For 100 runs and a mean, simulations put the coverage of a 95% interval between 0.93
    and 0.96, even for skewed scores, and for the variance of exponential scores at 0.89 (both are tested).

    Examples
    --------
    >>> scores = [12.0, 15.0, 11.0, 19.0, 14.0, 13.0, 16.0, 12.0]
    >>> low, high = bootstrap_interval(scores, np.random.default_rng(0))
    >>> 12.0 < low < 14.0 < high < 17.0
    True
    """
    generator("rng", rng)
    confidence, resamples = (
        fraction("confidence", confidence),
        integer("resamples", resamples, low=1),
    )
    room("resamples", resamples, resamples)
    function("statistic", statistic)
    kind = choice("method", str(method).lower(), _IN_LOWER_CASE)
    values = sample_of_runs("sample", sample, axis=axis)
    refusal = ValueError(f"statistic is {statistic!r}; it should return one number for a sample")

    @wraps(statistic)  # scipy looks for `axis` in the signature, and does not take integers
    def number(*runs: Any, **options: Any) -> Array:
        return np.asarray(statistic(*runs, **options), dtype=float)

    try:
        low = np.asarray(np.apply_along_axis(number, 0, values))
    except (TypeError, ValueError, IndexError):
        raise refusal from None
    if low.shape != values.shape[1:]:
        raise refusal
    high = low.copy()
    varying = np.ptp(values, axis=0) > 0
    if varying.any():
        part = values[:, varying]
        with warnings.catch_warnings():
            # What these warn about, an interval that does not exist, is refused below.
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            warnings.filterwarnings(
                "ignore", message="invalid value|divide by zero", category=RuntimeWarning
            )
            result = stats.bootstrap(
                (part,),
                number,
                n_resamples=resamples,
                batch=max(1, BATCH_NUMBERS // part.size),
                confidence_level=confidence,
                method=kind,
                rng=rng,
            )
        low[varying], high[varying] = result.confidence_interval
    if np.isnan([low, high]).any():
        raise ValueError(
            f"method is {method!r}, which has no interval here; it should be 'percentile'"
        )
    return _interval(low, high)


def student_interval(
    mean: ArrayLike, variance: ArrayLike, runs: int, *, confidence: float = 0.95
) -> Interval:
    """Student's confidence interval for a mean over runs, from stored means and variances.

    Parameters
    ----------
    mean, variance : array_like
        Mean and variance over runs (with ``ddof=1``), of one shape.
    runs : int
        Number of runs behind them, at least 2.
    confidence : float
        Level, strictly between 0 and 1.

    Examples
    --------
    >>> low, high = student_interval(10.0, 4.0, 16)
    >>> round(low, 4), round(high, 4)
    (8.9343, 11.0657)
    """
    centre = array("mean", mean, (None,) * dimensions(mean), largest=LARGEST_SCORE)
    spread = array("variance", variance, centre.shape, largest=LARGEST_SCORE)
    if (spread < 0).any():
        raise ValueError(f"variance is {spread.min():g} somewhere; it should not be negative")
    count = integer("runs", runs, low=2, high=ROOM)
    quantile = stats.t.ppf((1 + fraction("confidence", confidence)) / 2, count - 1)
    half = quantile * np.sqrt(spread / count)
    return _interval(centre - half, centre + half)


def bounded_interval(
    sample: ArrayLike,
    rng: np.random.Generator,
    *,
    low: float,
    high: float,
    confidence: float = 0.95,
    resamples: int = 9999,
    axis: int = 0,
) -> Interval:
    r"""Gaffke's confidence interval for the mean of scores that cannot leave an interval.

    The upper end is a quantile of :math:`\sum_i D_i x_i + D_{n+1} b`, where b is the upper bound and D is uniform on
    the simplex; the lower end the same with the lower bound. For scores that are all 0 or 1 it is the interval of
    Clopper and Pearson, and if nothing rare is missing it is close to Student's.

    Parameters
    ----------
    sample : array_like, shape (runs, ...)
        Scores between `low` and `high`; every further axis gets its own interval, from the same weights.
    rng : numpy.random.Generator
        Source of the weights.
    low, high : float
        Bounds that no score can leave, whatever the sample says.
    confidence : float
        Level, strictly between 0 and 1.
    resamples : int
        Number of draws of the weights.
    axis : int
        The axis of the runs.

    Notes
    -----
    That it covers the mean at least as often as it says is proved for scores of two values and has no known exception;
    it is not proved in general.

    Examples
    --------
    Ten runs without a failure do not show that there are none:

    >>> low, high = bounded_interval([0.0] * 10, np.random.default_rng(0), low=0.0, high=1.0)
    >>> low, round(high, 1)  # 1 - 0.025 ** (1 / 10) is 0.31
    (0.0, 0.3)
    """
    generator("rng", rng)
    confidence, resamples = (
        fraction("confidence", confidence),
        integer("resamples", resamples, low=1),
    )
    values = sample_of_runs("sample", sample, axis=axis, at_least=1)
    bottom, top = (
        scalar(name, bound, low=-LARGEST_SCORE, high=LARGEST_SCORE)
        for name, bound in (("low", low), ("high", high))
    )
    if not (bottom < top and bottom <= values.min() and values.max() <= top):
        given = f"low is {bottom:g}, high {top:g}, and the sample lies between {values.min():g} and {values.max():g}"
        raise ValueError(
            f"{given}; the sample should lie between low and high, which should differ"
        )
    room("resamples", resamples, resamples * (len(values) + 1))
    weights = rng.standard_exponential((resamples, len(values) + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    means, spare = (
        np.tensordot(weights[:, :-1], values, axes=1),
        weights[:, -1].reshape(-1, *[1] * (values.ndim - 1)),
    )
    tail = (1.0 - confidence) / 2.0
    ends = (
        np.quantile(means + bound * spare, level, axis=0)
        for bound, level in ((bottom, tail), (top, 1.0 - tail))
    )
    return _interval(*(np.asarray(end) for end in ends))


def tolerance_interval(
    sample: ArrayLike, coverage: float = 0.9, confidence: float = 0.95, *, axis: int = 0
) -> Interval:
    """Interval that holds a share `coverage` of all single runs, with the given confidence; model-free.

    Parameters
    ----------
    sample : array_like, shape (runs, ...)
        Finite scores from a continuous law (with ties the interval covers more).
    coverage : float
        Share of the population to be covered.
    confidence : float
        Probability, over samples, that this share is covered.
    axis : int
        The axis of the runs.

    Returns
    -------
    Interval
        The r-th smallest and the r-th largest run, r as large as the confidence allows.

    Raises
    ------
    ValueError
        If even the smallest and the largest run are not far enough apart: 93 runs are needed for coverage and
        confidence 0.95, and 46 for the default.

    Examples
    --------
    >>> tolerance_interval(np.arange(1.0, 101.0), 0.8, 0.95)
    Interval(low=7.0, high=94.0)
    """
    ordered = np.sort(sample_of_runs("sample", sample, axis=axis), axis=0)
    count = ordered.shape[0]
    ranks = np.arange(1, count // 2 + 1)
    coverage, confidence = fraction("coverage", coverage), fraction("confidence", confidence)
    enough = _tolerance_confidence(count, ranks, coverage) >= confidence
    if not enough.any():
        raise ValueError(
            f"sample holds {count} runs; it should hold at least {_runs_needed(count, coverage, confidence)} "
            f"for coverage {coverage:g} with confidence {confidence:g}"
        )
    rank = int(ranks[enough][-1])
    return _interval(ordered[rank - 1], ordered[count - rank])


def variance_interval(
    sums: ArrayLike, runs: int, *, confidence: float = 0.95
) -> tuple[Array, Array, Array]:
    r"""Sample variance and its interval from sums of the first four powers.

    The sample variance has variance :math:`(\mu_4 - \sigma^4 (n - 3)/(n - 1))/n` for any law with a fourth moment; the
    interval is symmetric on the logarithmic scale, with Student's quantile: positive, and wider upwards. Like every
    interval for a variance, it is too optimistic where rare runs carry most of the fourth moment.

    Parameters
    ----------
    sums : array_like, shape (4, ...)
        Sums over runs of x, x², x³ and x⁴; integers keep the central moments exact until the last division.
    runs : int
        Number of runs.
    confidence : float
        Level.

    Returns
    -------
    variance, low, high : ndarray, shape (...)

    Examples
    --------
    >>> x = np.array([1, 2, 3, 4, 10])
    >>> variance, low, high = variance_interval([(x**k).sum() for k in (1, 2, 3, 4)], 5)
    >>> float(variance), bool(low < variance < high)
    (12.5, True)
    """
    floats = reals("sums", sums)
    n = integer("runs", runs, low=4, high=ROOM)
    if floats.ndim == 0 or len(floats) != 4:
        raise ValueError(
            f"sums has shape {floats.shape}; its first axis should hold the sums of four powers"
        )
    if not (np.abs(floats) <= LARGEST_SCORE).all():
        raise ValueError(f"sums is {brief(sums)}; it should hold finite sums of powers")
    try:
        s1, s2, s3, s4 = np.frompyfunc(index, 1, 1)(
            np.asarray(sums, dtype=object)
        )  # Python's integers do not overflow
    except TypeError:
        s1, s2, s3, s4 = floats.astype(object)
    noise = 1e-9 * np.abs(floats) / n
    refusal = ValueError(f"sums is {brief(sums)}; no sample of {n} runs has such sums of powers")
    second = np.asarray((n * s2 - s1**2) / n**2, dtype=float)
    if (second < -noise[1]).any():  # this also bounds the powers of s1 below
        raise refusal
    fourth = np.asarray(
        (n**3 * s4 - 4 * n**2 * s1 * s3 + 6 * n * s1**2 * s2 - 3 * s1**4) / n**4, dtype=float
    )
    if (fourth > n * second**2 + noise[3]).any():
        raise refusal
    variance = np.maximum(second, 0.0) * n / (n - 1)
    spread = np.maximum(fourth - second**2 * (n - 3) / (n - 1), 0.0) / n
    relative = np.divide(np.sqrt(spread), variance, out=np.zeros_like(spread), where=variance > 0)
    with np.errstate(
        over="ignore"
    ):  # floats that cancel leave a rounding-error variance, anywhere from 0 to infinity
        factor = np.exp(stats.t.ppf((1 + fraction("confidence", confidence)) / 2, n - 1) * relative)
    return variance, variance / factor, variance * factor


def _tolerance_confidence(count: int, rank: Any, coverage: float) -> Any:
    """Probability that the rank-th smallest and rank-th largest of `count` runs cover at least this share."""
    return stats.beta.sf(coverage, count + 1 - 2 * rank, 2 * rank)


def _runs_needed(count: int, coverage: float, confidence: float) -> int:
    """The fewest runs whose smallest and largest are far enough apart, where `count` runs are not enough."""
    enough = count
    while _tolerance_confidence(enough, 1, coverage) < confidence:
        enough *= 2
    return bisect_left(
        range(enough),
        confidence,
        lo=count,
        key=lambda runs: _tolerance_confidence(runs, 1, coverage),
    )


def _interval(low: Array, high: Array) -> Interval:
    return Interval(float(low), float(high)) if np.ndim(low) == 0 else Interval(low, high)
