r"""Is an interior σ better than both ends? What Tables 1 and 2 of the paper ask, asked so that an answer can be wrong.

A *cell* is one column of Table 2 (a step size and a memory size, under one target policy): n interior values of σ and
the two ends σ = 0 and σ = 1, each with one score per run, lower is better. Run i of all of them shares its random
numbers. The paper's *procedure* takes means over runs, counts the cases I, II and III (:mod:`gqlib.stats.cases`) and
stops. Three things are added here.

*Tests.* "Better than both ends" is one hypothesis against two: it is shown only if both one-sided paired t-tests show
it, so its p-value is the larger of the two (an intersection-union test, of exact level without any correction for the
pair). The n p-values of a cell are then corrected by Holm's method. The same goes for "worse than both", and for
"between the ends", better than one and worse than the other: that can happen in two ways, so twice the smaller p-value.

Scores with heavy tails, or with runs that diverged, are judged by two tests besides: by signed ranks and by signs,
which take infinite scores (`better_than_both`).

*Repetitions.* The procedure is repeated on runs drawn with replacement from those at hand, each run for all σ
together, or on disjoint blocks of them. Sums of integer scores are exact, so winners and counts do not depend on a
machine's order of summation.

*Confirmation.* The best of n noisy means looks better than it is. The σ that wins on the even runs is tested on the odd
runs, which had no say in choosing it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from gqlib import _validate as check
from gqlib._validate import ROOM, Array, brief, fraction, generator, integer, labelled, reals, room
from gqlib.stats._checks import LARGEST_SCORE
from gqlib.stats.cases import CaseCounts, case_counts
from gqlib.stats.comparisons import holm, paired_difference

if TYPE_CHECKING:
    import xarray

__all__ = [
    "BEST",
    "BETWEEN",
    "OPEN",
    "WORST",
    "Confirmation",
    "EndComparison",
    "Repetitions",
    "better_than_both",
    "block_repetitions",
    "cell",
    "compare_with_ends",
    "confirm_winner",
    "paired_p_values",
    "repeat_procedure",
    "sign_p_values",
    "signed_rank_p_values",
    "verdict",
]

LARGEST_WHOLE = 2**31  # bound on a score: sums over any number of runs fit into 64 bits
BEST, BETWEEN, WORST, OPEN = (
    "better than both",
    "between the ends",
    "worse than both",
    "not decided",
)


def cell(dataset: xarray.Dataset, **fields: Any) -> xarray.Dataset:
    """Return the settings of `dataset` whose coordinates have these values, in the order of σ.

    Parameters
    ----------
    dataset : xarray.Dataset
        A control result, with a dimension ``setting``.
    **fields
        Coordinate and value, for example ``target="greedy", alpha=0.001, p=512``.

    Raises
    ------
    ValueError
        If no setting matches.

    Examples
    --------
    >>> import xarray
    >>> labels = {"p": ("setting", [512, 512, 1024]), "sigma": ("setting", [1.0, 0.0, 0.5])}
    >>> data = xarray.Dataset({"score": ("setting", [30, 10, 20])}, labels)
    >>> cell(data, p=512)["score"].values.tolist()
    [10, 30]
    """
    labelled("dataset", dataset, "sigma", *fields)
    chosen = np.ones(dataset.sizes["setting"], dtype=bool)
    for name, value in fields.items():
        if not isinstance(value, str | bool | int | float | np.generic):
            raise ValueError(f"{name} is {brief(value)}; it should be one value of that coordinate")
        chosen &= dataset[name].values == value
    if not chosen.any():
        raise ValueError(
            f"fields are {brief(fields)}; some setting of the result should have these values"
        )
    index = np.flatnonzero(chosen)
    return dataset.isel(setting=index[np.argsort(dataset["sigma"].values[index], kind="stable")])


def paired_p_values(first: ArrayLike, second: ArrayLike) -> Array:
    """One-sided p-values of paired t-tests: the mean of `first` is lower than that of `second`.

    Parameters
    ----------
    first, second : array_like, shapes (..., runs), broadcast against each other
        Scores; run i of both used the same random numbers.

    Returns
    -------
    ndarray, shape (...)
        Where all differences are equal there is nothing to estimate: 0 if they are negative, otherwise 1.

    Examples
    --------
    >>> round(float(paired_p_values([1.0, 2.0, 4.0], [2.0, 4.0, 5.0])), 4)
    0.0286
    """
    pair = reals("first", first), reals("second", second)
    try:
        difference = np.asarray(pair[0] - pair[1])
    except ValueError:
        raise ValueError(
            f"second has shape {pair[1].shape}; it should go with first, {pair[0].shape}"
        ) from None
    if difference.ndim == 0 or not (np.abs(difference) <= LARGEST_SCORE).all():
        raise ValueError(
            f"first is {brief(first)}, second {brief(second)}; they should hold finite scores of runs"
        )
    runs = difference.shape[-1]
    if runs < 2:
        raise ValueError(f"first holds {runs} runs; it should hold at least 2")
    # In units of a power of 2, which changes nothing except that squares of tiny differences do not underflow.
    difference = np.ldexp(difference, -np.frexp(np.abs(difference).max(axis=-1, keepdims=True))[1])
    mean = difference.mean(axis=-1)
    error = difference.std(axis=-1, ddof=1) / np.sqrt(runs)
    constant = np.ptp(difference, axis=-1) == 0
    statistic = mean / np.where(constant, 1.0, error)
    return np.asarray(
        np.where(constant, np.where(mean < 0, 0.0, 1.0), stats.t.cdf(statistic, runs - 1))
    )


def _difference(first: ArrayLike, second: ArrayLike) -> Array:
    """First minus second, (..., runs), 0 where both diverged; infinite where one did."""
    pair = reals("first", first), reals("second", second)
    for name, given in zip(("first", "second"), pair, strict=True):
        if given.ndim == 0 or np.isnan(given).any() or (given == -np.inf).any():
            raise ValueError(
                f"{name} is {brief(given)}; it should hold scores of runs, infinity for one that diverged"
            )
    try:
        one, two = np.broadcast_arrays(*pair)
    except ValueError:
        raise ValueError(
            f"second has shape {pair[1].shape}; it should go with first, {pair[0].shape}"
        ) from None
    equal = one == two
    return np.where(equal, 0.0, np.where(equal, 0.0, one) - np.where(equal, 0.0, two))


def signed_rank_p_values(first: ArrayLike, second: ArrayLike) -> Array:
    """One-sided p-values of Wilcoxon's signed-rank test: `first` tends to be lower than `second`, run by run.

    Parameters
    ----------
    first, second : array_like, shapes (..., runs), broadcast against each other
        Scores; run i of both used the same random numbers. A run that diverged is infinite: its difference from one
        that did not has the highest rank. Equal scores keep their ranks, half on either side; p is by the normal law.

    Examples
    --------
    >>> first = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> second = [2.0, 4.0, 6.0, 8.0, 10.0, np.inf]  # lower in all six
    >>> round(float(signed_rank_p_values(first, second)), 4), float(signed_rank_p_values(first, first))
    (0.0139, 1.0)
    """
    difference = _difference(first, second)
    ranks = stats.rankdata(np.abs(difference), axis=-1)
    lower = (ranks * ((difference < 0) + 0.5 * (difference == 0))).sum(axis=-1)
    runs = difference.shape[-1]
    spread = np.sqrt((ranks**2 * (difference != 0)).sum(axis=-1)) / 2
    excess = lower - runs * (runs + 1) / 4
    moved = spread > 0
    return np.asarray(np.where(moved, stats.norm.sf(excess / np.where(moved, spread, 1.0)), 1.0))


def sign_p_values(first: ArrayLike, second: ArrayLike) -> Array:
    """One-sided p-values of the sign test: `first` is lower than `second` in more than half of the runs that differ.

    Parameters
    ----------
    first, second : array_like, shapes (..., runs), broadcast against each other
        As in :func:`signed_rank_p_values`.

    Examples
    --------
    >>> float(sign_p_values([1.0, 1.0, 1.0], [2.0, np.inf, 2.0])), float(sign_p_values([1.0, 1.0], [1.0, 1.0]))
    (0.125, 1.0)
    """
    difference = _difference(first, second)
    lower, differ = (difference < 0).sum(axis=-1), (difference != 0).sum(axis=-1)
    return np.asarray(stats.binom.sf(lower - 1, differ, 0.5))


def _goes_with(one: Array, other: Array) -> bool:
    try:
        np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        return False
    return bool(one.shape[-1] == other.shape[-1])


Test = Literal["t", "signed rank", "sign"]
_TESTS = dict(
    zip(get_args(Test), (paired_p_values, signed_rank_p_values, sign_p_values), strict=True)
)


def better_than_both(
    middle: ArrayLike, at_zero: ArrayLike, at_one: ArrayLike, *, test: Test = "t"
) -> Array:
    """P-values of "lower than both ends": the larger of the two one-sided paired ones, without further correction.

    Parameters
    ----------
    middle, at_zero, at_one : array_like, shapes (..., runs), broadcast against each other
        Scores, lower is better; runs are paired.
    test : {"t", "signed rank", "sign"}
        By means, which should be finite; by ranks; or by signs.

    Examples
    --------
    >>> middle, zero, one = [1.0, 2.0, 4.0], [2.0, 4.0, 5.0], [3.0, 4.0, 9.0]
    >>> [round(float(better_than_both(middle, zero, one, test=test)), 4) for test in ("t", "sign")]
    [0.0477, 0.125]
    """
    p_values = _TESTS[check.choice("test", test, tuple(_TESTS))]
    largest = LARGEST_SCORE if test == "t" else np.inf
    for name, given in (("middle", middle), ("at_zero", at_zero), ("at_one", at_one)):
        scores = reals(name, given)
        if (
            scores.ndim == 0
            or scores.shape[-1] < 2
            or not ((scores > -np.inf) & (scores <= largest)).all()
        ):
            raise ValueError(
                f"{name} is {brief(given)}; it should hold scores of at least 2 runs, finite for test 't'"
            )
        if name != "middle" and not _goes_with(scores, reals("middle", middle)):
            raise ValueError(
                f"{name} has shape {scores.shape}; it should go with middle, {np.shape(middle)}"
            )
    return np.asarray(np.maximum(p_values(middle, at_zero), p_values(middle, at_one)))


@dataclass(frozen=True)
class EndComparison:
    """The interior σ of a cell against both ends; made by :func:`compare_with_ends`.

    Examples
    --------
    >>> result = compare_with_ends([[2.0, 4.0], [1.0, 3.0], [4.0, 6.0]])  # better than both ends by 1 or more, always
    >>> tuple(result.counts), tuple(result.shown()), result.difference.tolist(), result.error.tolist()
    ((1, 0, 0), (1, 0, 0), [-1.0], [0.0])
    """

    counts: CaseCounts
    """Cases by the means alone: the paper's procedure."""
    p_better: Array
    """For each interior σ, Holm-corrected p-value of "better than both ends"."""
    p_worse: Array
    """The same of "worse than both ends"."""
    difference: Array
    """Interior minus the better end (lower mean), mean over runs."""
    error: Array
    """Standard error of that difference, paired."""
    p_between: Array
    """For each interior σ, Holm-corrected p-value of "better than one end and worse than the other"."""

    def shown(self, level: float = 0.05) -> CaseCounts:
        """How many interior σ are shown to be better than both ends, how many are neither, how many worse than both.

        Those in the middle are not all undecided: `p_between` says which of them are shown to lie between the ends.
        """
        level = fraction("level", level)
        better, worse = int((self.p_better <= level).sum()), int((self.p_worse <= level).sum())
        return CaseCounts(better, self.p_better.size - better - worse, worse)


def compare_with_ends(scores: ArrayLike) -> EndComparison:
    """Test every interior σ against both ends.

    Parameters
    ----------
    scores : array_like, shape (n + 2, runs)
        Lower is better; rows in order of σ, the ends first and last; runs are paired.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal([[5.0], [0.0], [5.0], [9.0], [5.0]], 1.0, (5, 50))
    >>> tuple(compare_with_ends(scores).shown())
    (1, 1, 1)
    """
    values = _cell_scores(scores)
    interior, ends = values[1:-1], (values[0], values[-1])
    lower = [paired_p_values(interior, end) for end in ends]
    higher = [paired_p_values(end, interior) for end in ends]
    better, worse = np.maximum(*lower), np.maximum(*higher)
    between = 2.0 * np.minimum(np.maximum(lower[0], higher[1]), np.maximum(higher[0], lower[1]))
    best_end = min(ends, key=lambda end: float(end.mean()))
    gap = np.asarray(interior - best_end, dtype=float)
    return EndComparison(
        counts=case_counts(values.sum(axis=1)),
        p_better=holm(better),
        p_worse=holm(worse),
        difference=gap.mean(axis=1),
        error=gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1]),
        p_between=holm(np.minimum(between, 1.0)),
    )


class Repetitions(NamedTuple):
    """The paper's procedure, repeated: one row per repetition.

    Examples
    --------
    >>> twice = Repetitions(counts=np.array([[2, 1, 0], [1, 1, 1]]), winner=np.array([1, 0]))
    >>> twice.leading.tolist(), twice.disagreement
    ([0, -1], 1.0)
    """

    counts: NDArray[np.int64]
    """Cases I, II, III, shape (repetitions, 3)."""
    winner: NDArray[np.int64]
    """Row of the lowest mean: 0 and n + 1 are the ends."""

    @property
    def leading(self) -> NDArray[np.int64]:
        """Which case has the most members, 0 for I, 1 for II, 2 for III, -1 for a tie; shape (repetitions,)."""
        most = self.counts.max(axis=1)
        tied = (self.counts == most[:, None]).sum(axis=1) > 1
        return np.where(tied, -1, self.counts.argmax(axis=1))

    @property
    def disagreement(self) -> float:
        """Probability that two independent repetitions have different winners, estimated without bias."""
        number = len(self.winner)
        times = np.bincount(self.winner)
        return float(1 - (times * (times - 1)).sum() / (number * (number - 1)))


def repeat_procedure(
    scores: ArrayLike, runs: int, repetitions: int, rng: np.random.Generator
) -> Repetitions:
    """Repeat the paper's procedure on `runs` runs drawn with replacement from those of `scores`.

    The runs at hand stand for all possible seeds. A draw takes a run for all σ together, which keeps the pairing.

    Parameters
    ----------
    scores : array_like, shape (n + 2, all runs)
        As in :func:`compare_with_ends`. Integers (total steps) make the repetitions exact.
    runs, repetitions : int
        Runs in each repetition (the paper: 100) and number of repetitions.
    rng : numpy.random.Generator
        Source of the draws.

    Examples
    --------
    >>> scores = np.array([[3, 3, 3], [1, 1, 1], [2, 2, 2]])
    >>> repeat_procedure(scores, 2, 4, np.random.default_rng(0)).winner.tolist()
    [1, 1, 1, 1]
    """
    values = _cell_scores(scores)
    available = values.shape[1]
    runs, repetitions = (
        integer("runs", runs, low=1, high=ROOM),
        integer("repetitions", repetitions, low=2),
    )
    room("repetitions", repetitions, available * repetitions)
    often = generator("rng", rng).multinomial(runs, np.full(available, 1 / available), repetitions)
    return _apply_procedure(often @ values.T)


def block_repetitions(scores: ArrayLike, runs: int) -> Repetitions:
    """Apply the paper's procedure to disjoint blocks of `runs` runs: as many genuine repetitions as the runs allow.

    Examples
    --------
    >>> block_repetitions(np.array([[3, 3, 1, 1], [1, 1, 3, 3], [2, 2, 2, 2]]), 2).winner.tolist()
    [1, 0]
    """
    values = _cell_scores(scores)
    size = integer("runs", runs, low=1, high=values.shape[1])
    blocks = values.shape[1] // size
    return _apply_procedure(
        values[:, : blocks * size].reshape(len(values), blocks, size).sum(axis=2).T
    )


def _apply_procedure(totals: NDArray[Any]) -> Repetitions:
    counts = case_counts(totals)
    return Repetitions(
        np.stack([np.asarray(case) for case in counts], axis=-1), totals.argmin(axis=1)
    )


class Confirmation(NamedTuple):
    """An interior σ chosen on half of the runs, judged on the other half.

    Examples
    --------
    The interior row wins on the even runs, by luck:

    >>> confirm_winner([[2.0, 2.0, 2.0, 2.0], [0.0, 3.0, 0.0, 3.0], [2.0, 2.0, 2.0, 2.0]])
    Confirmation(row=1, chosen=-2.0, confirmed=1.0, p_value=1.0)
    """

    row: int
    """Row of the chosen σ."""
    chosen: float
    """Its mean minus that of the better end, on the runs that chose it: flattered by the choice."""
    confirmed: float
    """The same on the other runs: unbiased for that pair of rows."""
    p_value: float
    """One-sided, "better than both ends", on the other runs; no correction needed."""


def confirm_winner(scores: ArrayLike) -> Confirmation:
    """Choose the interior σ with the lowest mean on the even runs; test it against both ends on the odd runs.

    Which end counts as the better one is settled on the even runs too; the p-value is against both.

    Examples
    --------
    >>> result = confirm_winner([[3, 4, 5, 6], [1, 2, 3, 4], [2, 3, 4, 5], [4, 5, 6, 7]])
    >>> result.row, result.confirmed, result.p_value  # better by 2 than the better end, in every run
    (1, -2.0, 0.0)
    """
    values = _cell_scores(scores).astype(float)
    if values.shape[1] < 4:
        raise ValueError(
            f"scores holds {values.shape[1]} runs; it should hold at least 4 to be split"
        )
    choosing, judging = values[:, ::2], values[:, 1::2]
    means = choosing.mean(axis=1)
    row = 1 + int(means[1:-1].argmin())
    end = 0 if means[0] <= means[-1] else len(values) - 1
    p_value = max(float(paired_p_values(judging[row], judging[other])) for other in (0, -1))
    judged = judging.mean(axis=1)
    return Confirmation(
        row, float(means[row] - means[end]), float(judged[row] - judged[end]), p_value
    )


def _cell_scores(scores: ArrayLike) -> NDArray[Any]:
    """The scores as integers, whose sums are exact, if given as such; otherwise as floating-point numbers."""
    values: NDArray[Any] = reals("scores", scores)
    if np.asarray(scores).dtype.kind in "iu" and (np.abs(values) <= LARGEST_WHOLE).all():
        values = values.astype(np.int64)
    if values.ndim != 2 or values.shape[0] < 3 or values.shape[1] < 1:
        raise ValueError(
            f"scores has shape {values.shape}; it should be (n + 2, runs) with n at least 1"
        )
    if not (np.abs(values) <= LARGEST_SCORE).all():
        raise ValueError(
            "scores is not finite (or beyond 1e100); a run that diverged should count at the step limit"
        )
    return values


def verdict(dynamic: ArrayLike, at_zero: ArrayLike, at_one: ArrayLike) -> str:
    """Whether dynamic σ is better (lower) than both ends, by paired 95% intervals, one for each end.

    A run that diverged is worse than any that did not; two such runs are not compared. Equal scores are not a win.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> low, middle, high = (level + rng.normal(size=50) for level in (0.0, 3.0, 6.0))
    >>> verdict(low, middle, high), verdict(middle, low, high), verdict(high, low, middle), verdict(low, low, high)
    ('better than both', 'between the ends', 'worse than both', 'not decided')
    """
    runs = np.shape(check.reals("at_zero", at_zero))
    for name, given in (("dynamic", dynamic), ("at_zero", at_zero), ("at_one", at_one)):
        scores = check.reals(name, given)
        if len(runs) != 1 or scores.shape != runs or np.isnan(scores).any() or _is_huge(scores):
            raise ValueError(
                f"{name} is {check.brief(given)}; it should hold one score for every run, as at_zero does"
            )
    signs = [_sign(dynamic, end) for end in (at_zero, at_one)]
    if 0 in signs:
        return OPEN
    return {-2: BEST, 0: BETWEEN, 2: WORST}[sum(signs)]


def _is_huge(scores: Array) -> bool:
    return bool((np.isfinite(scores) & (np.abs(scores) > LARGEST_SCORE)).any())


def _sign(first: ArrayLike, second: ArrayLike) -> int:
    """−1 where the first is lower, +1 where it is higher, 0 where the interval contains zero."""
    x = np.asarray(first, dtype=float)
    y = np.asarray(second, dtype=float)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return int(np.sign(int(np.isinf(x).sum()) - int(np.isinf(y).sum())))
    difference = paired_difference(x, y)
    return int(difference.low > 0) - int(difference.high < 0)
