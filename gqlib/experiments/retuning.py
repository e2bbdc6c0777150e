r"""The search for step sizes once more, with the coder that the paper names, so that no choice hangs on one hash.

`gqlib.experiments.tuning` searched with one hash of tiles3 and judged with tiles that are drawn for each run. Is what
it found for the drawn tiles a matter of where it had searched? The protocol, written down before any of its runs was
made:

1. *Rows*: GQ(σ, λ) at both ends and at σ = 0.6 and 0.8 (between 0.7 and 0.9 lay the best σ of the first search,
   everywhere), both target policies, three sizes p; beside it the semi-gradient learner at the same σ inside, Sarsa(λ)
   and Expected Sarsa(λ). At σ = 1 the target policy plays no part, and there is one row for both.
2. *Grid*: 35 cells for every row, rivals included. GQ has five α and seven η, every other one of the first search; for
   the greedy target and σ = 0, whose optimum was elsewhere, smaller α and larger η. One step size gets 35 values.
3. *Search* on the seed of the first search and as many runs of a cell, five, each with a hash of its own. The rule is
   the same: the smallest mean number of steps over all episodes.
4. *Results*: 100 fresh runs on the seed of Table 2 at the chosen cell of each row, paired with each other and with the
   runs of ``control-tuned-rltoolkit`` at the former choice.
5. *Family*: two σ inside against both ends in six panels, Holm over the twelve; GQ at the σ inside that did better in
   this search against Sarsa(λ) and against its semi-gradient twin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import TARGETS, ControlSetting
from gqlib.experiments.mountain_car import TABLE_SIZES, control_experiment
from gqlib.experiments.tuning import SEARCH_RUNS, SEARCH_SEED, row_name
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = [
    "ALPHAS",
    "ETAS",
    "INSIDE",
    "control_retuned",
    "control_search_rltoolkit",
    "retuned",
    "retuned_choices",
    "retuned_grid",
    "retuned_rows",
    "retuned_scores",
    "retuned_setting",
]

INSIDE = (0.6, 0.8)
MEMORY = "rltoolkit"
ALPHAS, ETAS = (0.001, 0.002, 0.005, 0.01, 0.02), tuple(2.0**k for k in range(2, -11, -2))
# Greedy target, σ = 0: the other side of the plane of step sizes.
SLOW_ALPHAS, SLOW_ETAS = (0.0001, 0.00025, 0.0005, 0.001, 0.002), tuple(2.0**k for k in range(8, -5, -2))
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
                yield from ({"method": method, "target": target, "p": p, "sigma": sigma} for sigma in sigmas)


def retuned_grid(row: Row) -> ControlGrid:
    """The 35 cells of a row.

    Examples
    --------
    >>> len(list(retuned_grid(next(retuned_rows())).cells()))
    35
    """
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
        runs_per_task=1,
        summary="control grid",
    )


def retuned_choices(search: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """Apply the rule to the search: name of a row to (α, η).

    Examples
    --------
    Where all cells are equal, the first of a row is taken:

    >>> import xarray
    >>> data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), np.ones((39, 1, 35)))})
    >>> data = data.assign_coords(key=("setting", [setting.key for setting in control_search_rltoolkit().settings]))
    >>> retuned_choices(data)["gradient | greedy | 512 | 0"]
    (0.0001, 256.0)
    """
    check.labelled("search", search, "key", "steps_total")
    if search["key"].values.tolist() != [setting.key for setting in control_search_rltoolkit().settings]:
        raise ValueError("search lacks settings; it should be the whole result of control-search-rltoolkit")
    found = {}
    for row, steps in zip(retuned_rows(), search["steps_total"].values.mean(axis=1), strict=True):
        best = list(retuned_grid(row).cells())[int(steps.argmin())]
        found[row_name(row)] = (best.alpha, best.eta)
    return found


@cache
def retuned() -> dict[str, tuple[float, float]]:
    """Return what the search chose: `retuned_choices`, written down in ``retuning_chosen.json``.

    A test applies the rule to the committed search and compares.

    Examples
    --------
    >>> len(retuned())
    39
    """
    written = json.loads(files("gqlib.experiments").joinpath("retuning_chosen.json").read_text(encoding="utf-8"))
    return {name: (alpha, eta) for name, (alpha, eta) in written.items()}


def retuned_setting(row: Row) -> ControlSetting:
    """A row with the step sizes that the search chose for it.

    Examples
    --------
    >>> retuned_setting(next(retuned_rows())).memory
    'rltoolkit'
    """
    if row_name(row) not in retuned():
        raise ValueError(f"row is {check.brief(row)}; it should be one of `retuned_rows`")
    alpha, eta = retuned()[row_name(row)]
    return ControlSetting(**row, alpha=alpha, eta=eta, memory=MEMORY)


def control_retuned() -> Experiment:
    """Every row at its chosen step sizes, on fresh seeds.

    Examples
    --------
    >>> len(control_retuned().settings)
    39
    """
    return control_experiment(
        "control-retuned",
        "Mountain car: every method at the step sizes that a search with the paper's coder chose for it",
        tuple(retuned_setting(row) for row in retuned_rows()),
        summary="control totals",
    )


def retuned_scores(dataset: xarray.Dataset, *, method: str, target: str, p: int, sigma: float) -> Array:
    """Return the mean steps per episode of each run of a row at its chosen step sizes, (runs,).

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``control-retuned``, with scores (`gqlib.experiments.kept.with_scores`).
    method, target, p, sigma
        The row; at σ = 1 either target.

    Examples
    --------
    >>> import xarray
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((39, 4)))})
    >>> data = data.assign_coords(key=("setting", [setting.key for setting in control_retuned().settings]))
    >>> retuned_scores(data, method="gradient", target="greedy", p=512, sigma=1.0).shape
    (4,)
    """
    check.labelled("dataset", dataset, "key", "score")
    check.choice("target", target, TARGETS)
    sigma = check.scalar("sigma", sigma, low=0.0, high=1.0)
    row = {"method": method, "target": TARGETS[1] if sigma == 1.0 else target}
    key = retuned_setting(row | {"p": check.integer("p", p, low=1), "sigma": sigma}).key
    keys = dataset["key"].values.tolist()
    if key not in keys:
        raise ValueError("dataset lacks the row; it should be the whole result of control-retuned")
    return np.asarray(dataset["score"].values[keys.index(key)])
