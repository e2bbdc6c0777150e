"""What the paper prints: its numbered objects and its two tables, as data.

The source is L. Yang, Y. Zhang, Q. Zheng, P. Li and G. Pan, "Gradient Q(sigma, lambda): A Unified Algorithm
with Function Approximation for Reinforcement Learning" (2019, arXiv:1909.02877). Numbers are those of the
compiled paper. It has 44 numbered equation lines: a display of several lines gives a number to each line that
does not suppress it, so (15) is the line of b_sigma, (24) the last line of Proposition 1, and A_sigma before
(15) has no number. The percentages are facts that the book examines (see `gqlib.stats`), copied digit for
digit.
"""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CASES", "NUMBERED_ITEMS", "PAPER_TABLE_1", "PAPER_TABLE_2"]

EQUATIONS = 44
FIGURES = 7
TABLES = 2
ASSUMPTIONS = 3

NUMBERED_ITEMS: tuple[str, ...] = (
    *(f"Eq. ({number})" for number in range(1, EQUATIONS + 1)),
    *(f"Figure {number}" for number in range(1, FIGURES + 1)),
    *(f"Table {number}" for number in range(1, TABLES + 1)),
    "Algorithm 1",
    "Proposition 1",
    "Theorem 1",
    "Lemma 1",
    *(f"Assumption {number}" for number in range(1, ASSUMPTIONS + 1)),
    *(f"Appendix {letter}" for letter in "ABCDE"),
)
"""Every numbered object of the paper, named as the register of claims names it."""

CASES: tuple[str, str, str] = ("I", "II", "III")
"""Section 5.2: an interior sigma beats both ends (I), one of them (II), or neither (III)."""


def _column(*percentages: float) -> Mapping[str, float]:
    return MappingProxyType(dict(zip(CASES, percentages, strict=True)))


PAPER_TABLE_1: Mapping[str, float] = _column(42.2, 24.1, 33.7)
"""Table 1, "Overall data statistics": the percentage of values of sigma in each case."""

PAPER_TABLE_2: Mapping[tuple[float, int], Mapping[str, float]] = MappingProxyType(
    {
        (0.001, 512): _column(69.8, 14.1, 16.1),
        (0.001, 1024): _column(20.4, 36.7, 42.9),
        (0.001, 2048): _column(55.1, 20.4, 24.5),
        (0.002, 512): _column(53.1, 38.8, 8.1),
        (0.002, 1024): _column(6.1, 16.3, 77.6),
        (0.002, 2048): _column(49.0, 18.4, 32.6),
    }
)
"""Table 2, "Percentage under various parameters": (step size alpha, memory p) to the percentages by case."""
