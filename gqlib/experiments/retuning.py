r"""The search for step sizes once more, with the coder that the paper names: the first 39 rows.

`gqlib.experiments.tuning` searched with one hash of tiles3. This search has tiles that are drawn for each run. Its
protocol, written down before any of its runs was made:

1. *Rows*: GQ(σ, λ) at both ends and at σ = 0.6 and 0.8 (between 0.7 and 0.9 lay the best σ of the first search,
   everywhere), both target policies, three sizes p; beside it the semi-gradient learner at the same σ inside, Sarsa(λ)
   and Expected Sarsa(λ). At σ = 1 the target policy plays no part, and there is one row for both.
2. *Grid*: 35 cells for every row, rivals included. GQ has five α and seven η, every other one of the first search; for
   the greedy target and σ = 0, whose optimum was elsewhere, smaller α and larger η. One step size gets 35 values.
3. *Search* on the seed of the first search and as many runs of a cell, five, each with a hash of its own.

Five runs turned out to be too few to choose a cell by. `gqlib.experiments.family` adds the other rows and a second
stage, and makes the choices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import TARGETS
from gqlib.experiments.mountain_car import TABLE_SIZES
from gqlib.experiments.tuning import SEARCH_RUNS, SEARCH_SEED, row_name
from gqlib.sweeps.sweep import Experiment

__all__ = [
    "ALPHAS",
    "ETAS",
    "INSIDE",
    "control_search_rltoolkit",
    "retuned_grid",
    "retuned_rows",
]

INSIDE = (0.6, 0.8)
MEMORY: Final = "rltoolkit"
ALPHAS, ETAS = (0.001, 0.002, 0.005, 0.01, 0.02), tuple(2.0**k for k in range(2, -11, -2))
# Greedy target, σ = 0: the other side of the plane of step sizes.
SLOW_ALPHAS, SLOW_ETAS = (
    (0.0001, 0.00025, 0.0005, 0.001, 0.002),
    tuple(2.0**k for k in range(8, -5, -2)),
)
RIVAL_ALPHAS = tuple(float(f"{0.0005 * 80 ** (k / 34):.3g}") for k in range(35))  # 0.0005 to 0.04

Row = dict[str, Any]  # fields of a setting, without step sizes


def retuned_rows() -> Iterator[Row]:
    """Yield the rows.

    Examples
    --------
    >>> len(list(retuned_rows())), next(retuned_rows())
    (39, {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0})
    """
    for method, greedy in (("gradient", (0.0, *INSIDE)), ("semi-gradient", INSIDE)):
        for p in TABLE_SIZES:
            for target, sigmas in zip(TARGETS, (greedy, (0.0, *INSIDE, 1.0)), strict=True):
                yield from (
                    {"method": method, "target": target, "p": p, "sigma": sigma} for sigma in sigmas
                )


def retuned_grid(row: Row) -> ControlGrid:
    """The 35 cells of a row.

    Examples
    --------
    >>> len(list(retuned_grid(next(retuned_rows())).cells()))
    35
    """
    if row_name(row) not in map(row_name, retuned_rows()):
        raise ValueError(f"row is {check.brief(row)}; it should be one of `retuned_rows`")
    if row["method"] == "semi-gradient":
        return ControlGrid(**row, memory=MEMORY, alphas=RIVAL_ALPHAS, etas=(0.0,))
    slow = row["target"] == "greedy" and row["sigma"] == 0.0
    alphas, etas = (SLOW_ALPHAS, SLOW_ETAS) if slow else (ALPHAS, ETAS)
    return ControlGrid(**row, memory=MEMORY, alphas=alphas, etas=etas)


def control_search_rltoolkit() -> Experiment:
    """Every cell of every row.

    Examples
    --------
    >>> settings = control_search_rltoolkit().settings
    >>> len(settings), {len(list(grid.cells())) for grid in settings}
    (39, {35})
    """
    from gqlib.fast import ENGINE_VERSION

    return Experiment(
        name="control-search-rltoolkit",
        title="Mountain car: the search for step sizes with the coder that the paper names",
        function="control grid",
        settings=tuple(retuned_grid(row) for row in retuned_rows()),
        runs=SEARCH_RUNS,
        seed=SEARCH_SEED,
        version=str(ENGINE_VERSION),
        summary="control grid",
    )
