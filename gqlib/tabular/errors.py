r"""How wrong learnt tables are: root mean square errors, and their two parts.

For tables Q_1, …, Q_N of N independent runs and exact values q, averaged over the pairs,

    E ‖Q − q‖² = ‖E Q − q‖² + E ‖Q − E Q‖²        (squared bias + variance);

with the sample mean in place of E Q, the first part is too large by variance/N, which is subtracted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array

__all__ = ["bias_variance", "bias_variance_interval", "rms_error"]


def rms_error(tables: ArrayLike, exact: ArrayLike, *, ceiling: float) -> Array:
    """Root mean square error over the last two axes, at most `ceiling`, which is what a run that diverged counts as.

    Examples
    --------
    >>> rms_error([[[3.0, 0.0]], [[np.inf, 0.0]]], [[0.0, 4.0]], ceiling=9.0).round(4).tolist()
    [3.5355, 9.0]
    """
    values, target = check.reals("tables", tables), check.array("exact", exact, (None, None))
    ceiling = check.scalar("ceiling", ceiling, low=0.0)
    if values.shape[-2:] != target.shape:
        raise ValueError(f"tables has shape {values.shape}; its last axes should be {target.shape}")
    with np.errstate(all="ignore"):
        errors = np.sqrt(((values - target) ** 2).mean(axis=(-2, -1)))
    return np.asarray(np.where(errors < ceiling, errors, ceiling))


def bias_variance(tables: ArrayLike, exact: ArrayLike) -> tuple[float, float]:
    """Squared bias (estimated without bias) and variance of the tables of N runs, (N, S, A), averaged over pairs.

    Examples
    --------
    >>> bias_variance([[[0.0]], [[2.0]]], [[0.0]])
    (0.0, 2.0)
    """
    target = check.array("exact", exact, (None, None))
    values = check.array("tables", tables, (None, *target.shape))
    if len(values) < 2:
        raise ValueError(f"tables has shape {values.shape}; it should hold at least two runs")
    variance = values.var(axis=0, ddof=1)
    squared_bias = (values.mean(axis=0) - target) ** 2 - variance / len(values)
    return float(squared_bias.mean()), float(variance.mean())


def bias_variance_interval(
    tables: ArrayLike, exact: ArrayLike, rng: np.random.Generator, *, resamples: int = 300
) -> Array:
    """Percentile bootstrap over runs: the rows are squared bias and variance, the columns 2.5%, estimate and 97.5%.

    Examples
    --------
    Three runs that agree on 1 where 0 is right: all bias, no variance.

    >>> bias_variance_interval([[[1.0]]] * 3, [[0.0]], np.random.default_rng(0)).tolist()
    [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    check.generator("rng", rng)
    exact = check.reals("exact", exact)
    values = check.array("tables", tables, (None, *exact.shape))
    resamples = check.integer("resamples", resamples, low=2)
    check.room("resamples", resamples, resamples)
    drawn = np.array(
        [
            bias_variance(values[rng.integers(len(values), size=len(values))], exact)
            for _ in range(resamples)
        ]
    )
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return np.column_stack([low, bias_variance(values, exact), high])
