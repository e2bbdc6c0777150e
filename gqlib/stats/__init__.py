"""Statistics for runs and for the paper's tables.

Intervals (:mod:`gqlib.stats.intervals`), comparisons between settings (:mod:`gqlib.stats.comparisons`), the
cases I-III of Tables 1 and 2 with their null distribution (:mod:`gqlib.stats.cases`), and the granularity
test of printed percentages (:mod:`gqlib.stats.granularity`). Every random draw comes from a
``numpy.random.Generator`` that is handed in.
"""

from gqlib.stats.cases import CaseCounts, CaseNull, case_counts, case_null
from gqlib.stats.comparisons import (
    Improvement,
    PairedDifference,
    PairedRatio,
    Profile,
    holm,
    paired_difference,
    paired_ratio,
    performance_profile,
    probability_of_improvement,
)
from gqlib.stats.granularity import grim, grim_counts
from gqlib.stats.intervals import (
    Interval,
    bootstrap_interval,
    bounded_interval,
    student_interval,
    tolerance_interval,
    variance_interval,
)

__all__ = [
    "CaseCounts",
    "CaseNull",
    "Improvement",
    "Interval",
    "PairedDifference",
    "PairedRatio",
    "Profile",
    "bootstrap_interval",
    "bounded_interval",
    "case_counts",
    "case_null",
    "grim",
    "grim_counts",
    "holm",
    "paired_difference",
    "paired_ratio",
    "performance_profile",
    "probability_of_improvement",
    "student_interval",
    "tolerance_interval",
    "variance_interval",
]
