"""A mean as the table of a result shows it: with its interval over runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib.stats.intervals import student_interval


def told_mean(name: str, values: ArrayLike) -> list[tuple[str, str]]:
    """Rows of a table: the mean and, of two values or more that are all finite, its 95% interval.

    Examples
    --------
    >>> told_mean("mean return", [1.0, 2.0, 3.0])
    [('mean return', '2'), ('its 95% interval', '-0.4841 to 4.484')]
    >>> told_mean("mean return", [1.0, np.nan]), told_mean("mean return", [])
    ([('mean return', 'nan')], [])
    """
    found = np.asarray(values, dtype=np.float64)
    if found.size == 0:
        return []
    rows = [(name, f"{found.mean():.4g}")]
    if found.size > 1 and np.isfinite(found).all():
        low, high = student_interval(found.mean(), found.var(ddof=1), found.size)
        rows.append(("its 95% interval", f"{low:.4g} to {high:.4g}"))
    return rows
