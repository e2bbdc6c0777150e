r"""Granularity: which fractions k/n can a printed percentage be?

Of n values of sigma, k fall in a case, so the percentage printed with d decimals is 100 k/n, rounded. For
small n, few numbers can be printed: 49 values give 50 different percentages out of 1001, and a cell that is
none of them was not obtained by counting 49 values and rounding. This is the GRIM test of N. Brown and J.
Heathers ("The GRIM test", Social Psychological and Personality Science, 2017) for percentages. The arithmetic
is exact: a printed number is a decimal, not a float.

A test of single cells can fail for a harmless reason: a cell may have been set to 100 minus the others, so that
the column adds up. :func:`grim_counts` therefore looks at a whole column, with or without one such cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any, Literal

from gqlib._validate import brief, choice, integer

__all__ = ["grim", "grim_counts"]

Rounding = Literal["nearest", "half-up", "half-even", "down"]

_HALF = Fraction(1, 2)
MOST_ITEMS = 10**6  # on so fine a grid every share fits
MOST_DECIMALS = 30  # nobody prints more
# Each convention maps an exact number to the integers that it may be printed as.
_CONVENTIONS: dict[str, Callable[[Fraction], set[int]]] = {
    "nearest": lambda x: {floor(x + _HALF), ceil(x - _HALF)},
    "half-up": lambda x: {floor(x + _HALF)},
    "half-even": lambda x: {round(x)},
    "down": lambda x: {floor(x)},
}


def grim(
    percentage: float | str,
    denominators: int | Iterable[int],
    decimals: int = 1,
    *,
    rounding: Rounding = "nearest",
) -> dict[int, tuple[int, ...]]:
    """Return the denominators n, with the numerators k, for which 100 k/n is printed as `percentage`.

    Parameters
    ----------
    percentage : float or str
        The printed percentage, from 0 to 100. It is read as the decimal that it shows: 42.2 is 422/10.
    denominators : int or iterable of int
        The candidates for n, for example 49 or ``range(40, 60)``.
    decimals : int
        Decimals in print.
    rounding : {"nearest", "half-up", "half-even", "down"}
        How 100 k/n was rounded. "nearest" allows a tie to have gone either way; "down" drops the rest.

    Returns
    -------
    dict
        Maps each n that fits to the tuple of its possible numerators. Empty, hence false, if none
        fits.

    Examples
    --------
    >>> grim(20.4, [49, 50, 51])        # 10/49 = 20.408...
    {49: (10,)}
    >>> grim(49.0, [49, 50, 51])        # 24/49 and 25/51
    {49: (24,), 51: (25,)}
    >>> bool(grim(69.8, 49))
    False
    """
    choice("rounding", rounding, tuple(_CONVENTIONS))
    decimals = integer("decimals", decimals, low=0, high=MOST_DECIMALS)
    printed = _in_last_digits(percentage, decimals)
    try:
        given: list[Any] = (
            list(denominators) if isinstance(denominators, Iterable) else [denominators]
        )
    except TypeError:  # an array without axes, which says that it has entries
        given = [denominators]
    candidates = [integer("denominators", n, low=1, high=MOST_ITEMS) for n in given]
    fits = {n: _numerators(printed, n, decimals, rounding) for n in candidates}
    return {n: numerators for n, numerators in fits.items() if numerators}


def grim_counts(
    percentages: Sequence[float | str],
    denominator: int,
    decimals: int = 1,
    *,
    rounding: Rounding = "nearest",
    remainder: int | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Return every list of counts that adds up to `denominator` and is printed as the column `percentages`.

    Parameters
    ----------
    percentages : sequence of float or str
        The cells of a column that shares out `denominator` items.
    denominator, decimals, rounding
        As in :func:`grim`.
    remainder : int, optional
        Index of a cell that was not rounded but printed as 100 minus the other printed cells. Its count is
        then what the others leave, and the cell has to be that difference.

    Examples
    --------
    >>> grim_counts([53.1, 38.8, 8.1], 49)                  # 26 + 19 + 4 = 49, but 4/49 = 8.16...
    ()
    >>> grim_counts([53.1, 38.8, 8.1], 49, remainder=2)
    ((26, 19, 4),)
    """
    if isinstance(percentages, str) or not isinstance(percentages, Sequence):
        raise ValueError(
            f"percentages is {brief(percentages)}; it should be a sequence of printed numbers"
        )
    denominator = integer("denominator", denominator, low=1, high=MOST_ITEMS)
    decimals = integer("decimals", decimals, low=0, high=MOST_DECIMALS)
    choices: list[Sequence[int]] = [
        grim(cell, denominator, decimals, rounding=rounding).get(denominator, ())
        for cell in percentages
    ]
    if remainder is not None:
        remainder = integer("remainder", remainder, low=0, high=len(percentages) - 1)
        if sum(_in_last_digits(cell, decimals) for cell in percentages) != 100 * 10**decimals:
            return ()
        choices[remainder] = range(denominator + 1)
    return tuple(counts for counts in product(*choices) if sum(counts) == denominator)


def _in_last_digits(percentage: float | str, decimals: int) -> int:
    """The printed number in units of its last digit: 42.2 with one decimal is 422."""
    refusal = ValueError(
        f"percentage is {percentage!r}; it should be from 0 to 100 with {decimals} decimals"
    )
    try:
        units = Fraction(str(percentage)) * 10**decimals
    except (ValueError, ZeroDivisionError):
        raise refusal from None
    if units.denominator != 1 or not 0 <= units <= 100 * 10**decimals:
        raise refusal
    return int(units)


def _numerators(printed: int, n: int, decimals: int, rounding: str) -> tuple[int, ...]:
    scale = 100 * 10**decimals
    lowest, highest = (
        floor(Fraction((printed - 1) * n, scale)),
        ceil(Fraction((printed + 1) * n, scale)),
    )
    return tuple(
        k
        for k in range(max(0, lowest), min(n, highest) + 1)
        if printed in _CONVENTIONS[rounding](Fraction(k * scale, n))
    )
