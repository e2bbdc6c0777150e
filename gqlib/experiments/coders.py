"""Table 2 and Figures 4 and 5 once more, with the coder that the paper names and with another hash for every run.

The paper's footnote names the RLtoolkit's tile coder, which draws a table of random numbers when it is loaded; the
first edition used tiles3, whose hash is a fixed function, so that all runs of a setting met the same collisions. Here
every run draws its own: from the RLtoolkit's coder (``rltoolkit``), for all 51 ways to set σ, and from tiles3 with a
random salt (``salted``), for eleven of them. Everything else is as in `gqlib.experiments.mountain_car`. All settings
share the seed, run i of both coders the same starts and exploration, and run i of one coder the same tiles, whatever
σ, so differences are paired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.experiments.mountain_car import (
    FEW_MEANS,
    FIXED_SIGMAS,
    SIZES,
    TABLE_ALPHAS,
    TABLE_SIZES,
    TEN_MEANS,
    control_experiment,
    control_grid,
    dynamic_fields,
    fixed_fields,
    paper_sigmas,
)
from gqlib.stats.ends import cell
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

__all__ = ["CODERS", "both_coders", "table_totals"]

CODERS = ("rltoolkit", "salted")


def both_coders() -> Experiment:
    """Every setting of Table 2 and of Figures 4 and 5, for both coders; for the salted one Table 2 at eleven σ.

    Examples
    --------
    >>> len(both_coders().settings)  # 612 and 132 of Table 2, 112 of other sizes, 24 and 40 of Figure 4
    920
    """
    common = {"target": TARGETS, "alpha": TABLE_ALPHAS}
    eleven = [*fixed_fields(0.0), *dynamic_fields(*TEN_MEANS), *fixed_fields(1.0)]
    seven = [*fixed_fields(0.0), *dynamic_fields(*FEW_MEANS), *fixed_fields(1.0)]
    small = tuple(size for size in SIZES if size not in TABLE_SIZES)
    settings: tuple[ControlSetting, ...] = (
        *control_grid(paper_sigmas(), memory=("rltoolkit",), **common, p=TABLE_SIZES),
        *control_grid(eleven, memory=("salted",), **common, p=TABLE_SIZES),
        *control_grid(seven, memory=CODERS, **common, p=small),
        *control_grid(fixed_fields(*FIXED_SIGMAS[1:-1]), memory=CODERS, **common),
        *control_grid(
            fixed_fields(*FIXED_SIGMAS), memory=CODERS, method=("semi-gradient",), **common
        ),
    )
    return control_experiment(
        "coders",
        "Table 2 and Figures 4 and 5 with tiles that are drawn for each run",
        settings,
        summary="control in blocks",
    )


def table_totals(dataset: xarray.Dataset, **fields: Any) -> tuple[Array, NDArray[np.int64]]:
    """Return the σ of one cell, (n,), and the steps of each run in all its episodes, (n, runs).

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``table2`` or of ``coders``.
    **fields
        What the cell is: ``target``, ``alpha``, ``p`` and, for ``coders``, ``memory``.

    Returns
    -------
    sigmas : array
        0, the means of the dynamic σ, and 1.
    totals : array of int64
        Integers, so that sums over runs are exact.

    Examples
    --------
    Two ends, a dynamic σ and a constant one, which the table does not have:

    >>> import xarray
    >>> data = xarray.Dataset({"steps_total": (("setting", "run"), [[9], [7], [5], [8]])})
    >>> fields = {"sigma": [1.0, 0.5, 0.5, 0.0], "sigma_noise": [0.0, 0.01, 0.0, 0.0], "method": ["gradient"] * 4}
    >>> data = data.assign_coords({name: ("setting", values) for name, values in fields.items()})
    >>> [part.tolist() for part in table_totals(data)]
    [[0.0, 0.5, 1.0], [[8], [7], [9]]]
    """
    check.labelled("dataset", dataset, "steps_total", "sigma", "sigma_noise", "method")
    rows = cell(dataset, method="gradient", **fields)
    sigmas = rows["sigma"].values
    kept = np.flatnonzero((rows["sigma_noise"].values > 0.0) | np.isin(sigmas, (0.0, 1.0)))
    if len(kept) != len(np.unique(sigmas[kept])):
        raise ValueError(
            f"fields are {check.brief(fields)}; they should leave one setting for each sigma"
        )
    return sigmas[kept], rows["steps_total"].values[kept].astype(np.int64)
