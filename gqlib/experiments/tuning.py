r"""The mountain car with tuned step sizes: α and η for every σ, and for its rivals, by the same rule.

The paper has a grid of η = β/α, 2⁰ … 2⁻¹⁰, and says nothing of how a value was chosen. The protocol, written down
before its runs were made:

1. *Rows*: GQ(σ, λ) as printed, for both target policies, three sizes p, σ = 0, 0.1, …, 1 constant and σ ~ N(m, 0.01²)
   with m = 0.1, …, 0.9; the corrected GQ(σ, λ) for the greedy target (for the other there is nothing to correct) and
   constant σ; semi-gradient Q(σ, λ), which is Sarsa(λ) at σ = 1 and Expected Sarsa(λ) at σ = 0.
2. *Grid*: the paper's α and η, and beyond: α down to 0.0005 and with 0.005 in the gap, η up to 4. Below 2⁻¹⁰ there is
   nothing to look for: as η falls to 0 the correction vanishes, and the limit is the semi-gradient row. Some rows with
   a greedy target and small σ, and of the corrected method, turned out to be best at the edge, with a small α and a
   large η; for all such rows the grid was widened, to α = 0.0001 and η = 256.
3. *Search* on `SEARCH_SEED`, every cell. Rule: the smallest mean number of steps per episode, over all episodes, a
   diverged run counted at the step limit from there on.
4. The same number of cells for every rival: a method with two step sizes has 6 × 13 of them, so Sarsa(λ) and Expected
   Sarsa(λ), which have one, get 78 values of α.
5. *Results* on the seed of Table 2, 100 fresh runs: the chosen cell of each row, beside it the best cell within the
   paper's own grid, and the best with η = 1.
6. The chosen cell of each row with constant σ once more with the RLtoolkit's coder, which draws its tiles for each
   run, so that no comparison rests on one hash. The step sizes stay those of step 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import METHODS, TARGETS, ControlSetting, Memory
from gqlib.experiments.mountain_car import ALPHAS as PAPER_ALPHAS
from gqlib.experiments.mountain_car import ETAS as PAPER_ETAS
from gqlib.experiments.mountain_car import (
    TABLE_SIZES,
    control_experiment,
    dynamic_fields,
    fixed_fields,
)
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = [
    "ALPHAS",
    "ETAS",
    "FINE_ALPHAS",
    "GRIDS",
    "RIVAL_ALPHAS",
    "SEARCH_SEED",
    "choices",
    "chosen",
    "control_search",
    "control_tuned",
    "control_tuned_rltoolkit",
    "control_wide",
    "row_grids",
    "row_name",
    "rows",
    "tuned_scores",
    "tuned_setting",
]

SEARCH_SEED = 5202  # apart from the seed of the results
SEARCH_RUNS = 5
ALPHAS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
ETAS = (4.0, 2.0, *PAPER_ETAS)
# Further cells, for GQ with a greedy target and σ up to `WIDE_SIGMA`, and for the corrected method.
WIDE_ALPHAS, WIDE_ETAS, WIDE_SIGMA = (
    (0.0001, 0.00025, 0.0005, 0.001),
    tuple(2.0**k for k in range(8, 0, -1)),
    0.4,
)
TENTHS = tuple(k / 10 for k in range(11))
# 13 step sizes for every semi-gradient row, and 65 between them for the two rivals that have a name.
RIVAL_ALPHAS = (
    0.00025,
    0.0005,
    0.001,
    0.002,
    0.003,
    0.005,
    0.007,
    0.01,
    0.014,
    0.02,
    0.03,
    0.05,
    0.1,
)
FINE_ALPHAS = tuple(float(f"{0.00026 * (0.095 / 0.00026) ** (k / 64):.3g}") for k in range(65))
# Which cells a choice may take: all, those of the paper's own grid, those with η = 1.
Grid = Literal["all", "paper", "eta 1"]
GRIDS = get_args(Grid)

Row = dict[str, Any]  # fields of a setting, without step sizes


def rows() -> Iterator[Row]:
    """Yield the rows: what is compared, each with step sizes of its own.

    Examples
    --------
    >>> len(list(rows())), next(rows())
    (219, {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0})
    """
    constant, dynamic = fixed_fields(*TENTHS), dynamic_fields(*TENTHS[1:-1])
    for method, targets, sigmas in (
        ("gradient", TARGETS, constant + dynamic),
        ("corrected", ("greedy",), constant),
        ("semi-gradient", TARGETS, constant),
    ):
        for target in targets:
            for p in TABLE_SIZES:
                yield from (
                    {"method": method, "target": target, "p": p, **sigma} for sigma in sigmas
                )


def _checked(row: Row) -> Row:
    if not isinstance(row, dict) or not {"method", "target", "p", "sigma"} <= set(row):
        raise ValueError(
            f"row is {check.brief(row)}; it should be a dict with method, target, p and sigma"
        )
    if unknown := set(row) - {field.name for field in fields(ControlGrid)}:
        raise ValueError(
            f"row has {sorted(map(str, unknown))}; its entries should be fields of a ControlGrid"
        )
    check.choice("row['method']", row["method"], METHODS)
    check.scalar("row['sigma']", row["sigma"], low=0.0, high=1.0)
    return row


def row_grids(row: Row) -> list[ControlGrid]:
    """The cells of a row, as settings of 13 cells each.

    Examples
    --------
    >>> len(row_grids(next(rows())))
    6
    """
    if _checked(row)["method"] != "semi-gradient":
        return [ControlGrid(**row, alphas=(alpha,), etas=ETAS) for alpha in ALPHAS]
    named = row["sigma"] == 0.0 or (row["sigma"] == 1.0 and row["target"] == "epsilon-greedy")
    alphas = (
        [RIVAL_ALPHAS, *(FINE_ALPHAS[k : k + 13] for k in range(0, 65, 13))]
        if named
        else [RIVAL_ALPHAS]
    )
    return [ControlGrid(**row, alphas=part, etas=(0.0,)) for part in alphas]


def _wide(row: Row) -> list[ControlGrid]:
    """The further cells of a row whose optimum was at the edge."""
    low = row["method"] == "gradient" and row["target"] == "greedy" and row["sigma"] <= WIDE_SIGMA
    at_edge = low or row["method"] == "corrected"
    return [ControlGrid(**row, alphas=WIDE_ALPHAS, etas=WIDE_ETAS)] if at_edge else []


def _named(part: str, row: Row) -> list[ControlGrid]:
    return row_grids(row) if part == "search" else _wide(row)


def control_wide() -> Experiment:
    """The further cells: smaller α and larger η for the corrected method, and for a greedy target and small σ.

    Examples
    --------
    >>> len(control_wide().settings), len(list(control_wide().settings[0].cells()))
    (60, 32)
    """
    return replace(
        control_search(),
        name="control-wide",
        title="Mountain car: the search for step sizes, widened",
        settings=tuple(grid for row in rows() for grid in _wide(row)),
    )


def control_search() -> Experiment:
    """Every cell of every row.

    Examples
    --------
    >>> len(control_search().settings)  # 120 and 33 rows of six settings, 66 rows of one, of which 9 have five more
    1029
    """
    from gqlib.fast import ENGINE_VERSION

    return Experiment(
        name="control-search",
        title="Mountain car: the search for step sizes",
        function="control grid",
        settings=tuple(grid for row in rows() for grid in row_grids(row)),
        runs=SEARCH_RUNS,
        seed=SEARCH_SEED,
        version=str(ENGINE_VERSION),
        runs_per_task=5,
        summary="control grid",
    )


def choices(
    search: xarray.Dataset, wide: xarray.Dataset
) -> dict[str, dict[str, tuple[float, float]]]:
    """Apply the rule to the search: name of a grid, then of a row, to (α, η).

    Examples
    --------
    Where all cells are equal, the first of a row is taken:

    >>> import numpy as np
    >>> import xarray
    >>> def level(plan):
    ...     shape = len(plan.settings), 1, len(list(plan.settings[0].cells()))
    ...     data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), np.ones(shape))})
    ...     return data.assign_coords(key=("setting", [setting.key for setting in plan.settings]))
    >>> choices(level(control_search()), level(control_wide()))["eta 1"]["gradient | greedy | 512 | 0"]
    (0.0005, 1.0)
    """
    score: dict[str, Any] = {}
    for name, dataset in (("search", search), ("wide", wide)):
        check.labelled(name, dataset, "key", "steps_total")
        if not {grid.key for row in rows() for grid in _named(name, row)} <= set(
            dataset["key"].values.tolist()
        ):
            raise ValueError(
                f"{name} lacks settings; it should be the whole result of control-{name}"
            )
        score |= dict(
            zip(
                dataset["key"].values.tolist(),
                dataset["steps_total"].mean("run").values,
                strict=True,
            )
        )
    found: dict[str, dict[str, tuple[float, float]]] = {grid: {} for grid in GRIDS}
    for row in rows():
        cells = [
            (float(value), cell)
            for grid in (*row_grids(row), *_wide(row))
            for value, cell in zip(score[grid.key], grid.cells(), strict=True)
        ]
        for grid in GRIDS:
            inside = [(value, cell) for value, cell in cells if _allowed(grid, cell)]
            best = min(inside, key=lambda pair: pair[0])[1]
            found[grid][row_name(row)] = (best.alpha, best.eta)
    return found


def _allowed(grid: Grid, cell: ControlSetting) -> bool:
    tuned = cell.method != "semi-gradient"
    if grid == "paper":
        return cell.alpha in PAPER_ALPHAS and (not tuned or cell.eta in PAPER_ETAS)
    return grid == "all" or not tuned or cell.eta == 1.0


def row_name(row: Row) -> str:
    """The name of a row.

    Examples
    --------
    >>> row_name(next(rows()))
    'gradient | greedy | 512 | 0'
    """
    noise = "~" if _checked(row).get("sigma_noise") else ""
    return f"{row['method']} | {row['target']} | {row['p']} | {noise}{row['sigma']:g}"


@cache
def chosen() -> dict[str, dict[str, tuple[float, float]]]:
    """Return what the search chose: `choices`, written down in ``tuning_chosen.json``.

    A test applies the rule to the committed search and compares.

    Examples
    --------
    >>> sorted(chosen()), len(chosen()["all"])
    (['all', 'eta 1', 'paper'], 219)
    """
    written = json.loads(
        files("gqlib.experiments").joinpath("tuning_chosen.json").read_text(encoding="utf-8")
    )
    return {
        grid: {name: (alpha, eta) for name, (alpha, eta) in rows.items()}
        for grid, rows in written.items()
    }


def tuned_setting(row: Row, grid: Grid = "all", memory: Memory = "int") -> ControlSetting:
    """A row with the step sizes that the search chose for it in one of `GRIDS`, on a coder of one kind.

    The search itself knows the hash of tiles3 alone.

    Examples
    --------
    >>> setting = tuned_setting(next(rows()), "paper")
    >>> setting.alpha in PAPER_ALPHAS, setting.eta in PAPER_ETAS
    (True, True)
    """
    found = chosen()[check.choice("grid", grid, GRIDS)]
    if row_name(row) not in found:
        raise ValueError(f"row is {check.brief(row)}; it should be one of `rows`")
    alpha, eta = found[row_name(row)]
    return ControlSetting(**row, alpha=alpha, eta=eta, memory=memory)


def control_tuned() -> Experiment:
    """Every row at its chosen step sizes, on fresh seeds.

    Examples
    --------
    >>> len(control_tuned().settings)  # 219 rows in three grids, whose choices partly agree
    489
    """
    settings = {
        setting.key: setting
        for grid in GRIDS
        for row in rows()
        for setting in [tuned_setting(row, grid)]
    }
    return control_experiment(
        "control-tuned",
        "Mountain car: every method at the step sizes chosen for it",
        tuple(settings.values()),
        summary="control in blocks",
    )


def control_tuned_rltoolkit() -> Experiment:
    """Every row with constant σ at the same step sizes, with the RLtoolkit's tiles, which are drawn for each run.

    Examples
    --------
    >>> len(control_tuned_rltoolkit().settings)  # 219 rows, 54 of them with a dynamic σ
    165
    """
    return control_experiment(
        "control-tuned-rltoolkit",
        "Mountain car: every method at the step sizes chosen for it, with the coder that the paper names",
        tuple(tuned_setting(row, memory="rltoolkit") for row in rows() if "sigma_noise" not in row),
        summary="control totals",
    )


def tuned_scores(
    dataset: xarray.Dataset,
    grid: Grid = "all",
    *,
    dynamic: bool = False,
    memory: Memory = "int",
    **fields: Any,
) -> Array:
    """Return the mean steps per episode of each run at the chosen step sizes, (σ, runs), from σ = 0 to σ = 1.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``control-tuned``, or of ``control-tuned-rltoolkit``, with scores
        (`gqlib.experiments.kept.with_scores`).
    grid : {"all", "paper", "eta 1"}
        Within which cells step sizes were chosen.
    dynamic : bool
        Whether σ between the ends is drawn from N(m, 0.01²).
    memory : str
        The kind of coder: ``"int"`` in the one result, ``"rltoolkit"`` in the other.
    **fields
        ``method``, ``target``, ``p``.

    Examples
    --------
    >>> import xarray
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((489, 4)))})
    >>> data = data.assign_coords(key=("setting", [setting.key for setting in control_tuned().settings]))
    >>> tuned_scores(data, method="gradient", target="greedy", p=512).shape
    (11, 4)
    """
    check.labelled("dataset", dataset, "key", "score")
    check.flag("dynamic", dynamic)
    missing = {"method", "target", "p"} ^ set(fields)
    if missing:
        raise ValueError(f"fields are {check.brief(fields)}; they should be method, target and p")
    check.choice("method", fields["method"], METHODS)
    check.choice("target", fields["target"], TARGETS)
    fields["p"] = check.integer("p", fields["p"], low=1)
    place = {str(key): i for i, key in enumerate(dataset["key"].values)}
    found = {
        row["sigma"]: place.get(tuned_setting(row, grid, memory).key, -1)
        for row in rows()
        if all(row[name] == value for name, value in fields.items())
        and (row["sigma"] in (0.0, 1.0) or ("sigma_noise" in row) == dynamic)
    }
    if not found or -1 in found.values():
        raise ValueError(f"fields are {check.brief(fields)}; some row should have these values")
    return np.asarray(dataset["score"].values[[found[sigma] for sigma in sorted(found)]])
