r"""Comparisons between settings: paired differences, probability of improvement, profiles, many tests.

With *common random numbers* run i of every setting shares its seed, so differences within a run have the
variance :math:`\mathrm{Var}(X) + \mathrm{Var}(Y) - 2\,\mathrm{Cov}(X, Y)`: what the seed does to both
cancels. :func:`paired_difference` uses that pairing. *Probability of improvement* is P(X better than Y) plus
half the probability of a tie: the Mann-Whitney statistic over the number of pairs. A *performance profile* is
the share of runs that reach a threshold, for every threshold: the empirical distribution function, with the
band of Dvoretzky, Kiefer and Wolfowitz (constant by Massart, 1990), which holds simultaneously at all thresholds.
*Holm's* step-down correction (1979) bounds the probability of any false finding among m tests, whatever their
dependence: the k-th smallest p-value is multiplied by m - k + 1, and the products are made increasing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from gqlib._validate import (
    Array,
    array,
    brief,
    choice,
    flag,
    fraction,
    generator,
    integer,
    reals,
    room,
)
from gqlib.stats._checks import LARGEST_SCORE, sample_of_runs
from gqlib.stats.intervals import Bootstrap, Interval, bootstrap_interval

__all__ = [
    "Improvement",
    "PairedDifference",
    "PairedRatio",
    "Profile",
    "holm",
    "paired_difference",
    "paired_ratio",
    "performance_profile",
    "probability_of_improvement",
]

IntervalMethod = Literal["student", Bootstrap]
_METHODS: dict[str, IntervalMethod] = {word.lower(): word for word in get_args(IntervalMethod)}


@dataclass(frozen=True)
class PairedDifference:
    """The mean of first - second over runs that share their random numbers, with interval and tests.

    Examples
    --------
    >>> result = paired_difference([2.0, 4.0, 7.0], [1.0, 3.0, 6.0])  # the first is worse by 1 in every run
    >>> result.interval, result.p_value, result.variance_ratio, result.runs
    (Interval(low=1.0, high=1.0), 0.0, 0.0, 3)
    """

    mean: float
    low: float
    high: float
    p_value: float
    """Two-sided paired t-test of a mean difference of zero."""
    p_signed_rank: float
    """Two-sided Wilcoxon signed-rank test; zero differences keep their ranks (Pratt)."""
    variance_ratio: float
    """Variance of the difference over the sum of the two variances: below 1 where pairing helps."""
    runs: int

    @property
    def interval(self) -> Interval:
        """The confidence interval of the mean difference."""
        return Interval(self.low, self.high)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    confidence: float = 0.95,
    method: IntervalMethod | None = None,
    resamples: int = 9999,
) -> PairedDifference:
    """Compare two settings run by run.

    Parameters
    ----------
    first, second : array_like, shape (runs,)
        Scores; run i of both used the same random numbers.
    rng : numpy.random.Generator, optional
        Needed only for the bootstrap.
    confidence : float
        Level of the interval.
    method : {"student", "BCa", "percentile", "basic"}, optional
        How the interval is made; by default Student's without `rng`, BCa with it.
    resamples : int
        Number of bootstrap resamples.

    Returns
    -------
    PairedDifference
        With ``mean`` (first minus second: negative where the first is lower), ``low``, ``high``, ``p_value``
        and more. If all differences are equal, the interval is that point and the p-values are 1 (if it is zero) or 0.

    Examples
    --------
    >>> result = paired_difference([3.0, 5.0, 4.0, 6.0], [2.0, 3.0, 3.0, 4.0])
    >>> result.mean, round(result.low, 3), round(result.high, 3), round(result.p_value, 4)
    (1.5, 0.581, 2.419, 0.0138)
    """
    x = array("first", first, (None,), largest=LARGEST_SCORE)
    y = array("second", second, x.shape, largest=LARGEST_SCORE)
    confidence, resamples = (
        fraction("confidence", confidence),
        integer("resamples", resamples, low=1),
    )
    difference = sample_of_runs("first", x - y)
    if method is None:
        method = "student" if rng is None else "BCa"
    kind = _METHODS[choice("method", str(method).lower(), tuple(_METHODS))]
    mean = float(np.mean(difference))
    spread = float(np.var(x, ddof=1) + np.var(y, ddof=1))
    ratio = float(np.var(difference, ddof=1)) / spread if spread > 0 else np.nan
    if np.ptp(difference) == 0:
        p_value = p_signed_rank = float(mean == 0)
        interval = Interval(mean, mean)
    else:
        test = stats.ttest_rel(x, y)
        p_value = float(test.pvalue)
        p_signed_rank = float(stats.wilcoxon(difference, zero_method="pratt").pvalue)
        interval = Interval(*map(float, test.confidence_interval(confidence)))
        if kind != "student":
            interval = bootstrap_interval(
                difference,
                generator("rng", rng),
                confidence=confidence,
                method=kind,
                resamples=resamples,
            )
    return PairedDifference(
        mean, interval.low, interval.high, p_value, p_signed_rank, ratio, difference.size
    )


class PairedRatio(NamedTuple):
    """The mean of the first over the mean of the second, with its interval: numbers, or arrays for many at once.

    Examples
    --------
    >>> low, high = PairedRatio(0.5, 0.4, 0.6)[1:]
    >>> low, high
    (0.4, 0.6)
    """

    ratio: Any
    low: Any
    high: Any


def paired_ratio(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> PairedRatio:
    r"""Ratio of two means over runs that share their random numbers: by which factor is the first lower?

    For scores that differ by orders of magnitude a factor says more than a difference. By the delta method the
    logarithm of the ratio has the standard error of the mean of :math:`x_i/\bar x - y_i/\bar y`; the interval is
    Student's on that scale.

    Parameters
    ----------
    first, second : array_like, shapes (..., runs), broadcast against each other
        Positive scores; run i of both used the same random numbers.
    confidence : float
        Level of each interval. For k intervals that should all hold, 1 - (1 - level)/k.

    Examples
    --------
    >>> result = paired_ratio([1.0, 2.0, 4.0], [2.0, 4.0, 8.0])  # half, in every run
    >>> result.ratio, result.low, result.high
    (0.5, 0.5, 0.5)
    """
    x, y = reals("first", first), reals("second", second)
    for name, values in (("first", x), ("second", y)):
        if (
            values.ndim == 0
            or values.shape[-1] < 2
            or not ((values > 0) & (values <= LARGEST_SCORE)).all()
        ):
            raise ValueError(
                f"{name} is {brief(values)}; it should hold positive, finite scores of at least 2 runs"
            )
    try:
        x, y = np.broadcast_arrays(x, y)
    except ValueError:
        raise ValueError(
            f"second has shape {y.shape}; it should go with first, {x.shape}"
        ) from None
    means = x.mean(axis=-1, keepdims=True), y.mean(axis=-1, keepdims=True)
    spread = (x / means[0] - y / means[1]).std(axis=-1, ddof=1)
    quantile = stats.t.ppf((1 + fraction("confidence", confidence)) / 2, x.shape[-1] - 1)
    ratio, factor = (means[0] / means[1])[..., 0], np.exp(quantile * spread / np.sqrt(x.shape[-1]))
    found = ratio, ratio / factor, ratio * factor
    return PairedRatio(*(map(float, found) if ratio.ndim == 0 else found))


class Improvement(NamedTuple):
    """Probability that a run of the first setting beats a run of the second, with its interval.

    Examples
    --------
    >>> probability_of_improvement([1.0, 2.0], [3.0, 4.0], np.random.default_rng(0))
    Improvement(probability=1.0, low=1.0, high=1.0)
    """

    probability: float
    low: float
    high: float


def probability_of_improvement(
    first: ArrayLike,
    second: ArrayLike,
    rng: np.random.Generator,
    *,
    lower_is_better: bool = True,
    paired: bool = False,
    confidence: float = 0.95,
    resamples: int = 9999,
) -> Improvement:
    """Estimate the probability that `first` does better than `second`, ties counted half.

    Parameters
    ----------
    first, second : array_like, shapes (n,) and (m,)
        Scores of single runs.
    rng : numpy.random.Generator
        Source of the bootstrap (percentile interval).
    lower_is_better : bool
        True for steps or errors, False for returns.
    paired : bool
        False: any run of the first against any of the second (the Mann-Whitney statistic). True: run i
        against run i, for runs with common random numbers.
    confidence, resamples
        Level of the interval and number of resamples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probability_of_improvement([1.0, 2.0, 3.0], [2.0, 4.0], rng).probability
    0.75
    """
    flag("lower_is_better", lower_is_better)
    flag("paired", paired)
    x = sample_of_runs("first", array("first", first, (None,), largest=LARGEST_SCORE))
    y = sample_of_runs("second", array("second", second, (None,), largest=LARGEST_SCORE))
    resamples = integer("resamples", resamples, low=1)
    room("resamples", resamples, resamples)
    better, worse = (x, y) if lower_is_better else (-x, -y)
    if paired and x.size != y.size:
        raise ValueError(
            f"second holds {y.size} runs; it should hold {x.size}, like first, to be paired"
        )

    def share(one: Array, two: Array, axis: int = -1) -> Any:
        if paired:
            return np.mean((one < two) + 0.5 * (one == two), axis=axis)
        n, m = one.shape[axis], two.shape[axis]
        ranks = stats.rankdata(np.concatenate([one, two], axis=axis), axis=axis)
        of_two = np.take(ranks, np.arange(n, n + m), axis=axis).sum(axis=axis)
        return (of_two - m * (m + 1) / 2) / (n * m)

    result = stats.bootstrap(
        (better, worse),
        share,
        paired=paired,
        n_resamples=resamples,
        confidence_level=fraction("confidence", confidence),
        method="percentile",
        rng=generator("rng", rng),
    )
    return Improvement(float(share(better, worse)), *map(float, result.confidence_interval))


class Profile(NamedTuple):
    """Share of runs that reach each threshold, with a band that holds simultaneously at all thresholds.

    Examples
    --------
    >>> profile = performance_profile([1.0, 2.0], [1.5])
    >>> profile.share.tolist(), profile.low.tolist(), profile.high.tolist()  # two runs say next to nothing
    ([0.5], [0.0], [1.0])
    """

    thresholds: Array
    share: Array
    low: Array
    high: Array


def performance_profile(
    scores: ArrayLike,
    thresholds: ArrayLike,
    *,
    lower_is_better: bool = True,
    confidence: float = 0.95,
) -> Profile:
    """Return the share of runs with a score at least as good as each threshold.

    Parameters
    ----------
    scores : array_like, shape (runs,)
        Scores of single runs; a diverged run may be given as whichever infinity is worst.
    thresholds : array_like, shape (k,)
        Values to be reached.
    lower_is_better : bool
        True: score <= threshold counts (steps, errors). False: score >= threshold (returns).
    confidence : float
        Level of the band, +- sqrt(log(2 / (1 - confidence)) / (2 runs)), cut at 0 and 1.

    Examples
    --------
    >>> performance_profile([110.0, 130.0, 150.0, 900.0], [100.0, 130.0, 200.0]).share
    array([0.  , 0.5 , 0.75])
    """
    values = reals("scores", scores)
    flag("lower_is_better", lower_is_better)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"scores has shape {values.shape}; it should have shape (runs,)")
    if np.isnan(values).any():
        raise ValueError(
            "scores is nan somewhere; it should hold numbers, infinity for a run that diverged"
        )
    levels = array("thresholds", thresholds, (None,), largest=np.inf)
    reached = values <= levels[:, None] if lower_is_better else values >= levels[:, None]
    share = np.mean(reached, axis=1)
    half = np.sqrt(np.log(2 / (1 - fraction("confidence", confidence))) / (2 * values.size))
    return Profile(levels, share, np.maximum(share - half, 0.0), np.minimum(share + half, 1.0))


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted by Holm's method, in the order given.

    Rejecting where the adjusted value is at most alpha keeps the probability of any false rejection at or
    below alpha.

    Parameters
    ----------
    p_values : array_like, shape (m,)
        Between 0 and 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005])
    array([0.03, 0.06, 0.06, 0.02])
    """
    p = array("p_values", p_values, (None,))
    if (p < 0).any() or (p > 1).any():
        raise ValueError(
            f"p_values range from {p.min():g} to {p.max():g}; they should lie in [0, 1]"
        )
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
