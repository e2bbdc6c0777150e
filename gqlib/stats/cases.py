r"""Cases I, II and III of Section 5.2 (Tables 1 and 2), and what chance alone would give.

Of ``n`` interior values of sigma, each with its score, let C1 beat both ends (sigma = 0 and sigma = 1), C2
one of them and C3 neither. If sigma had no effect, the n + 2 scores would be exchangeable: every order of
them is equally likely. C1 = a, C2 = b and C3 = c says that the two ends take places a + 1 and a + b + 2
in the order from best to worst. Each of the (n + 2 choose 2) pairs of places is equally likely, and each
corresponds to exactly one composition a + b + c = n, so

.. math:: P(C_1 = a, C_2 = b, C_3 = c) = 1 \Big/ \binom{n + 2}{2}:

the counts are *uniform* over all compositions, the Dirichlet-multinomial law with parameters (1, 1, 1). Each
count on its own is beta-binomial(n, 1, 2), with P(C = a) = (n - a + 1) / (n + 2 choose 2), P(C >= a) = (n - a
+ 2 choose 2) / (n + 2 choose 2), mean n/3 and variance n(n + 3)/18. For n = 49 a share has mean 1/3 and
standard deviation 0.24, against 0.07 for 49 independent trials: all of them meet the same two ends, so an
unlucky end moves every count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from gqlib._validate import brief, choice, flag, fraction, generator, integer, reals, room

__all__ = ["CaseCounts", "CaseNull", "case_counts", "case_null"]

Alternative = Literal["greater", "less", "two-sided"]


class CaseCounts(NamedTuple):
    """How many interior values of sigma fall in each case; a plain tuple (I, II, III) with names.

    Each entry is an integer, or an array of integers where the scores have more than one axis.

    Examples
    --------
    >>> counts = CaseCounts(better=2, between=1, worse=1)
    >>> counts.total, counts.percentages.tolist()
    (4, [50.0, 25.0, 25.0])
    """

    better: int | NDArray[np.int64]
    """Case I: better than both ends."""
    between: int | NDArray[np.int64]
    """Case II: better than one end, or equal to an end."""
    worse: int | NDArray[np.int64]
    """Case III: worse than both ends."""

    @property
    def total(self) -> int | NDArray[np.int64]:
        """The number of interior values."""
        return self.better + self.between + self.worse

    @property
    def percentages(self) -> NDArray[np.float64]:
        """The three shares in per cent, as Tables 1 and 2 print them (cases along the first axis)."""
        return 100.0 * np.asarray(tuple(self), dtype=float) / self.total


def case_counts(
    scores: ArrayLike,
    score_at_0: ArrayLike | None = None,
    score_at_1: ArrayLike | None = None,
    *,
    lower_is_better: bool = True,
) -> CaseCounts:
    """Count the interior values of sigma in cases I, II and III of Section 5.2 (Tables 1 and 2).

    Parameters
    ----------
    scores : array_like, shape (..., n)
        One score for each interior sigma, along the last axis. Without `score_at_0` and `score_at_1`, the
        scores of all values of sigma in order: the first is sigma = 0, the last is sigma = 1, and those in
        between are the interior.
    score_at_0, score_at_1 : array_like, shape (...), optional
        Scores of the two ends; give both or neither.
    lower_is_better : bool
        True for steps per episode or an error (the default), False for a return.

    Returns
    -------
    CaseCounts
        (I, II, III), adding up to n. I and III are strict: a score equal to an end is neither better nor
        worse than it, and counts as II (the paper leaves ties open). A diverged run may be given as
        whichever infinity is worst.

    Examples
    --------
    >>> case_counts([150.0, 170.0, 190.0, 140.0], 160.0, 180.0)
    CaseCounts(better=2, between=1, worse=1)
    >>> tuple(case_counts([160.0, 150.0, 170.0, 190.0, 140.0, 180.0]))
    (2, 1, 1)
    >>> tuple(case_counts([150.0, 170.0, 190.0, 140.0], 160.0, 180.0, lower_is_better=False))
    (1, 1, 2)
    """
    values = reals("scores", scores)
    flag("lower_is_better", lower_is_better)
    if values.ndim == 0:
        raise ValueError(
            f"scores is {brief(scores)}; it should be an array, sigma along its last axis"
        )
    if (score_at_0 is None) != (score_at_1 is None):
        raise ValueError(
            f"score_at_0 is {brief(score_at_0)} and score_at_1 {brief(score_at_1)}; both or neither should be given"
        )
    if score_at_0 is None or score_at_1 is None:
        if values.shape[-1] < 3:
            raise ValueError(
                f"scores has shape {values.shape}; it should hold two ends and an interior value"
            )
        first, interior, last = values[..., 0], values[..., 1:-1], values[..., -1]
    else:
        first, last = reals("score_at_0", score_at_0), reals("score_at_1", score_at_1)
        interior = values
        if not first.shape == last.shape == interior.shape[:-1]:
            raise ValueError(
                f"score_at_0 has shape {first.shape} and score_at_1 {last.shape}; "
                f"they should be {interior.shape[:-1]}, the shape of scores without its last axis"
            )
        if interior.shape[-1] == 0:
            raise ValueError(
                f"scores has shape {interior.shape}; it should hold at least one interior value"
            )
    if np.isnan(interior).any() or np.isnan(first).any() or np.isnan(last).any():
        raise ValueError(
            "scores is nan somewhere; it should hold numbers, infinity for a run that diverged"
        )
    if not lower_is_better:
        first, interior, last = -first, -interior, -last
    better = np.sum(interior < np.minimum(first, last)[..., None], axis=-1)
    worse = np.sum(interior > np.maximum(first, last)[..., None], axis=-1)
    between = interior.shape[-1] - better - worse
    if np.ndim(better) == 0:
        return CaseCounts(int(better), int(between), int(worse))
    return CaseCounts(better, between, worse)


@dataclass(frozen=True)
class CaseNull:
    """The counts of cases I, II, III when sigma has no effect; made by :func:`case_null`.

    With ``cells`` > 1 a count is the sum over that many independent cells of ``n`` interior values each.

    Examples
    --------
    With one interior value, its place among three scores is first, second or third with probability 1/3 each:

    >>> null = CaseNull(n=1)
    >>> null.support.tolist(), null.probabilities.round(4).tolist(), round(null.mean, 4), round(null.variance, 4)
    ([0, 1], [0.6667, 0.3333], 0.3333, 0.2222)
    >>> [round(p, 4) for p in (null.pmf(1), null.joint_pmf(0, 1, 0), null.p_value(1), null.sd)], null.interval()
    ([0.3333, 0.3333, 0.3333, 0.4714], (0, 1))
    >>> round(CaseNull(49).share_mean, 4), round(CaseNull(49).share_sd, 4)
    (0.3333, 0.2428)
    >>> CaseNull(49, cells=6).total, null.simulate(4, np.random.default_rng(0)).sum(axis=1).tolist()
    (294, [1, 1, 1, 1])
    """

    n: int
    cells: int = 1

    def __post_init__(self) -> None:
        n, cells = integer("n", self.n, low=1), integer("cells", self.cells, low=1)
        room("n", n, n)
        room("cells", cells, n * cells)
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "cells", cells)

    @property
    def total(self) -> int:
        """Interior values in all cells together."""
        return self.n * self.cells

    @property
    def support(self) -> NDArray[np.int64]:
        """Possible counts of one case: 0, ..., total."""
        return np.arange(self.total + 1)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Law of one count over :attr:`support`: beta-binomial(n, 1, 2), convolved over the cells."""
        single = stats.betabinom.pmf(np.arange(self.n + 1), self.n, 1, 2)
        return np.asarray(reduce(np.convolve, [single] * self.cells))

    @property
    def mean(self) -> float:
        """Mean of one count, total/3."""
        return self.total / 3

    @property
    def variance(self) -> float:
        """Variance of one count, cells * n(n + 3)/18."""
        return self.cells * self.n * (self.n + 3) / 18

    @property
    def sd(self) -> float:
        """Standard deviation of one count."""
        return float(np.sqrt(self.variance))

    @property
    def share_mean(self) -> float:
        """Mean of one case's share: 1/3."""
        return self.mean / self.total

    @property
    def share_sd(self) -> float:
        """Standard deviation of one case's share."""
        return self.sd / self.total

    def pmf(self, count: ArrayLike) -> NDArray[np.float64] | float:
        """Probability that one case (any of the three) has exactly this count; 0 outside the support."""
        wanted = reals("count", count)
        inside = (wanted >= 0) & (wanted <= self.total) & (wanted == np.floor(wanted))
        index = np.where(inside, wanted, 0).astype(int)
        result = np.where(inside, self.probabilities[index], 0.0)
        return result if result.ndim else float(result)

    def joint_pmf(self, better: int, between: int, worse: int) -> float:
        """Probability of the three counts together, uniform over compositions; for a single cell."""
        if self.cells != 1:
            raise ValueError(f"cells is {self.cells}; it should be 1 for the joint law")
        counts = tuple(
            integer(n, v) for n, v in (("better", better), ("between", between), ("worse", worse))
        )
        if sum(counts) != self.n or min(counts) < 0:
            return 0.0
        return float(stats.dirichlet_multinomial.pmf(counts, [1, 1, 1], self.n))

    def p_value(self, count: int, alternative: Alternative = "greater") -> float:
        """Probability, if sigma has no effect, of a count of one case at least as extreme as `count`.

        Parameters
        ----------
        count : int
            The observed count of one case, summed over the cells.
        alternative : {"greater", "less", "two-sided"}
            Two-sided is twice the smaller tail, at most 1.
        """
        observed = integer("count", count, low=0, high=self.total)
        tails = {
            "greater": float(self.probabilities[observed:].sum()),
            "less": float(self.probabilities[: observed + 1].sum()),
        }
        tails["two-sided"] = 2.0 * min(tails.values())
        return min(1.0, tails[choice("alternative", alternative, tuple(tails))])

    def interval(self, confidence: float = 0.95) -> tuple[int, int]:
        """Counts between which one case falls with at least this probability, with equal tails."""
        tail = (1 - fraction("confidence", confidence)) / 2
        cumulative = np.cumsum(self.probabilities)
        low, high = np.searchsorted(cumulative, [tail, 1 - tail])
        return int(low), int(high)

    def simulate(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw exchangeable scores and count: array (size, 3) of cases I, II, III summed over the cells.

        It goes through :func:`case_counts`, not through the exact law, so that each checks the other.
        """
        shape = (integer("size", size, low=1), self.cells, self.n + 2)
        room("size", size, shape[0] * shape[1] * shape[2])
        draws = generator("rng", rng).random(shape)
        counts = np.stack([np.asarray(case) for case in case_counts(draws)], axis=-1)
        return np.asarray(counts.sum(axis=1))


def case_null(n: int = 49, cells: int = 1) -> CaseNull:
    """Return the exact law of the counts of cases I, II, III when sigma has no effect.

    Parameters
    ----------
    n : int
        Interior values of sigma in a cell; the paper's are the 49 values 0.02, 0.04, ..., 0.98.
    cells : int
        Independent cells that are pooled; Table 1 pools the six of Table 2. Cells that share random numbers
        are not independent, and their pooled counts spread more widely than this law says.

    Returns
    -------
    CaseNull
        With ``pmf``, ``joint_pmf``, ``mean``, ``sd``, ``share_sd``, ``p_value``, ``interval`` and
        ``simulate``.

    Examples
    --------
    >>> null = case_null(49)
    >>> round(null.share_mean, 4), round(null.share_sd, 4)
    (0.3333, 0.2428)
    >>> round(null.p_value(27), 4)      # at least 27 of 49 beat both ends by chance alone
    0.2165
    """
    return CaseNull(n, cells)
