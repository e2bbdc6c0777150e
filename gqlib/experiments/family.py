r"""The search for step sizes with drawn tiles, for the whole family: every σ, constant and dynamic, and every rival.

`gqlib.experiments.tuning` searched the whole family with one hash of tiles3; `gqlib.experiments.retuning` searched part
of it with tiles that are drawn for each run. Here the rest follows. The protocol, written down before its runs:

1. *Rows*: GQ(σ, λ) for both target policies, three sizes p and σ = 0, 0.1, …, 1; the corrected GQ(σ, λ) for the greedy
   target; semi-gradient Q(σ, λ), which is Sarsa(λ) at σ = 1 and Expected Sarsa(λ) at σ = 0 with the ε-greedy target.
   At σ = 1 the target policy plays no part in GQ and in the semi-gradient learner, and one row serves both. A dynamic
   σ ~ N(m, 0.01²), m = 0.1, …, 0.9, takes the step sizes of its mean m: noise of 0.01 in σ changes which runs one gets
   and not how good they are, and with five runs of a cell a search of its own would mostly add luck.
2. *Ladders*: α and η have the values of `ALPHA_LADDER` and `ETA_LADDER`, which go far beyond any cell that was ever
   best; a learner with one step size has a finer ladder. Below η = 2⁻¹⁰ there is nothing to look for: the correction
   vanishes, and the limit is the semi-gradient row.
3. *Windows*: a row that was searched with drawn tiles begins with its 35 cells of then, any other with 15 cells, three
   α and five η (or 15 values of the one step size), around the choice of the search with one hash, which had covered
   the whole plane. If the best cell so far has a neighbour, one rung up or down either ladder, that was not searched,
   15 cells around it are added; and so on until it has none. No optimum is left on an edge.
4. *Search* on the seed of both searches before, five runs of a cell, each with tiles of its own. The rule is the same:
   the smallest mean number of steps over all episodes, a diverged run counted at the step limit from there on.
5. *Results*: 100 fresh runs on the seed of Table 2 at the chosen cell, all paired. A σ inside whose best cell needed
   more than twice the steps of the better end, in the search, is given up: it is not run, and has the p-value 1.
   Beside GQ the rivals: Sarsa(λ), Expected Sarsa(λ), and for each panel the *twin*, the semi-gradient learner at the
   σ inside that did best in the search, and the corrected GQ at the σ that did best in its own.
6. *Families*: for each kind of σ, constant and dynamic, nine σ inside against both ends in six panels, Holm over 54;
   GQ at the σ inside that did best in the search against each rival.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.experiments.mountain_car import TABLE_SIZES, control_experiment
from gqlib.experiments.retuning import MEMORY, retuned_grid, retuned_rows
from gqlib.experiments.tuning import SEARCH_RUNS, SEARCH_SEED, TENTHS, chosen, row_name
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = [
    "ALPHA_LADDER",
    "ETA_LADDER",
    "RIVAL_LADDER",
    "control_search_family",
    "family_paths",
    "family_rows",
    "neighbours",
    "row_windows",
    "search_paths",
    "window",
]

# fmt: off
ALPHA_LADDER = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
# fmt: on
ETA_LADDER = tuple(2.0**k for k in range(-10, 13, 2))
RIVAL_LADDER = tuple(float(f"{0.0005 * 80 ** (k / 34):.3g}") for k in range(-34, 69))  # with the 35 of `retuning`
WIDE_ALPHAS, WIDE_ETAS, RIVALS = 3, 5, 15  # cells of a window

Row = dict[str, Any]  # fields of a setting, without step sizes
Cell = tuple[float, float]  # α and η


def family_rows() -> Iterator[Row]:
    """Yield the rows.

    Examples
    --------
    >>> len(list(family_rows())), next(family_rows())
    (159, {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0})
    """
    for method, targets in (("gradient", TARGETS), ("corrected", TARGETS[:1]), ("semi-gradient", TARGETS)):
        for target, p, sigma in product(targets, TABLE_SIZES, TENTHS):
            if method == "corrected" or sigma < 1.0 or target != "greedy":
                yield {"method": method, "target": target, "p": p, "sigma": sigma}


def _ladders(row: Row) -> tuple[Sequence[float], Sequence[float]]:
    return (RIVAL_LADDER, (0.0,)) if row["method"] == "semi-gradient" else (ALPHA_LADDER, ETA_LADDER)


def _rung(ladder: Sequence[float], value: float) -> int:
    """The rung next to a value, by ratio; the upper of two that are equally near."""
    if len(ladder) == 1:
        return 0
    return min(range(len(ladder)), key=lambda k: (round(abs(math.log(ladder[k] / value)), 6), -ladder[k]))


def _around(ladder: Sequence[float], value: float, width: int) -> tuple[float, ...]:
    first = min(max(_rung(ladder, value) - width // 2, 0), len(ladder) - width)
    return tuple(ladder[first : first + width])


def window(row: Row, cell: Cell) -> ControlGrid:
    """The 15 cells around one, as far as the ladders reach.

    Examples
    --------
    >>> window(next(family_rows()), (0.005, 0.001)).etas
    (0.0009765625, 0.00390625, 0.015625, 0.0625, 0.25)
    """
    alphas, etas = _ladders(row)
    widths = (RIVALS, 1) if row["method"] == "semi-gradient" else (WIDE_ALPHAS, WIDE_ETAS)
    around = {"alphas": _around(alphas, cell[0], widths[0]), "etas": _around(etas, cell[1], widths[1])}
    return ControlGrid(**row, memory=MEMORY, **around)


def neighbours(row: Row, cell: Cell) -> set[Cell]:
    """The cells one rung up or down either ladder.

    Examples
    --------
    >>> sorted(neighbours(next(family_rows()), (0.005, ETA_LADDER[0])))
    [(0.002, 0.0009765625), (0.005, 0.00390625), (0.01, 0.0009765625)]
    """
    alphas, etas = _ladders(row)
    i, j = _rung(alphas, cell[0]), _rung(etas, cell[1])
    near = ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
    return {(alphas[a], etas[b]) for a, b in near if 0 <= a < len(alphas) and 0 <= b < len(etas)}


def _first(row: Row) -> ControlGrid:
    """Where the search of a row begins: its 35 cells of the second search, or a window around the first choice."""
    if row in list(retuned_rows()):
        return retuned_grid(row)
    return window(row, chosen()["all"][row_name(row)])


def row_windows(row: Row, path: Sequence[Cell]) -> list[ControlGrid]:
    """The cells of a row, given the best cell after each of its windows: a further window where that had an edge.

    Examples
    --------
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.8}
    >>> len(row_windows(row, [(0.005, 1.0)])), len(row_windows(row, [(0.02, 1.0), (0.02, 1.0)]))
    (1, 2)
    """
    grids = [_first(row)]
    for cell in path:
        searched = {(one.alpha, one.eta) for grid in grids for one in grid.cells()}
        if not neighbours(row, cell) <= searched:
            grids.append(window(row, cell))
    return grids


@cache
def family_paths() -> dict[str, list[Cell]]:
    """Return the best cell of each row after each of its windows, as written down in ``family_chosen.json``.

    A test applies the rule (`search_paths`) to the committed searches and compares.
    """
    written = json.loads(files("gqlib.experiments").joinpath("family_chosen.json").read_text(encoding="utf-8"))
    return {name: [(alpha, eta) for alpha, eta in path] for name, path in written.items()}


def control_search_family() -> Experiment:
    """Every window of every row, but for those of the search before."""
    from gqlib.fast import ENGINE_VERSION

    before = {retuned_grid(row).key for row in retuned_rows()}
    grids = [grid for row in family_rows() for grid in row_windows(row, family_paths().get(row_name(row), []))]
    return Experiment(
        name="control-search-family",
        title="Mountain car: the search for step sizes with drawn tiles, for the whole family",
        function="control grid",
        settings=tuple(grid for grid in grids if grid.key not in before),
        runs=SEARCH_RUNS,
        seed=SEARCH_SEED,
        version=str(ENGINE_VERSION),
        runs_per_task=5,
        summary="control grid",
    )


def search_paths(*searches: xarray.Dataset) -> dict[str, list[Cell]]:
    """Apply the rule: name of a row to its best cell after each window, as far as the searches go."""
    steps: dict[str, Array] = {}
    for dataset in searches:
        check.labelled("searches", dataset, "key", "steps_total")
        steps |= dict(zip(dataset["key"].values.tolist(), dataset["steps_total"].values.mean(axis=1), strict=True))
    found: dict[str, list[Cell]] = {}
    for row in family_rows():
        path: list[Cell] = found.setdefault(row_name(row), [])
        score: dict[Cell, float] = {}
        while len(grids := row_windows(row, path)) > len(path) and grids[-1].key in steps:
            cells = [(cell.alpha, cell.eta) for cell in grids[-1].cells()]
            score |= dict(zip(cells, steps[grids[-1].key].tolist(), strict=True))
            path.append(min(score, key=lambda cell: score[cell]))
    return found
