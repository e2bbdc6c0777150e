r"""The search for step sizes on the car with one hash of tiles3: α and η for every σ and every rival.

The paper has a grid of η = β/α, 2⁰ … 2⁻¹⁰, and says nothing of how a value was chosen. The rule is
that of `gqlib.experiments.search`; the protocol, written down before its runs were made:

1. *Rows*: GQ(σ, λ) as printed, for both target policies, three sizes p, σ = 0, 0.1, …, 1 constant
   and σ ~ N(m, 0.01²) with m = 0.1, …, 0.9; the corrected GQ(σ, λ) for the greedy target (for the
   other there is nothing to correct) and constant σ; semi-gradient Q(σ, λ), which is Sarsa(λ) at
   σ = 1 and Expected Sarsa(λ) at σ = 0.
2. *Candidates*: the paper's α and η, and beyond: α down to 0.0005 and with 0.005 in the gap, η up
   to 4. Below 2⁻¹⁰ there is nothing to look for: as η falls to 0 the correction vanishes, and the
   limit is the semi-gradient row. Some rows with a greedy target and small σ, and of the corrected
   method, turned out to be best at the edge, with a small α and a large η; for all such rows the
   grid was widened, to α = 0.0001 and η = 256. A method with two step sizes has 6 × 13 cells, so
   Sarsa(λ) and Expected Sarsa(λ), which have one, get 78 values of α.
3. *One stage*: five runs of every cell. The cost of a run is its mean number of steps per episode
   over all episodes, a diverged run counted at the step limit from there on.
4. *Results* on the seed of Table 2, 100 fresh runs: the chosen cell of each row, beside it the best
   cell within the paper's own grid, and the best with η = 1.
5. The chosen cell of each row with constant σ once more with the RLtoolkit's coder, which draws its
   tiles for each run, so that no comparison rests on one hash. The step sizes stay the same.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import METHODS, TARGETS, ControlSetting, Memory, Method, TargetPolicy
from gqlib.experiments.mountain_car import ALPHAS as PAPER_ALPHAS
from gqlib.experiments.mountain_car import ETAS as PAPER_ETAS
from gqlib.experiments.mountain_car import TABLE_SIZES, Fields, constant, control_experiment
from gqlib.experiments.mountain_car import dynamic as drawn
from gqlib.experiments.search import Cell, means, ranked, written_down
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = [
    "ETAS",
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

SEARCH = {"runs": 5, "seed": 5202, "runs_per_task": 5, "report": ""}  # apart from the results
TENTHS = tuple(k / 10 for k in range(11))
ALPHAS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
ETAS = (4.0, 2.0, *PAPER_ETAS)
# Further cells, for GQ with a greedy target and σ up to `WIDE_SIGMA`, and for the corrected method.
WIDE_ALPHAS, WIDE_SIGMA = (0.0001, 0.00025, 0.0005, 0.001), 0.4
WIDE_ETAS = tuple(2.0**k for k in range(8, 0, -1))
# 13 α for every semi-gradient row, and 65 between them for the two rivals that have a name.
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


def rows() -> list[Fields]:
    """The rows, as the fields of their settings without step sizes.

    Examples
    --------
    >>> len(rows()), rows()[0]
    (219, {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0})
    """
    fixed, every = constant(*TENTHS), constant(*TENTHS) + drawn(*TENTHS[1:-1])
    kinds = [("gradient", target, every) for target in TARGETS]
    kinds += [("corrected", "greedy", fixed)]
    kinds += [("semi-gradient", target, fixed) for target in TARGETS]
    return [
        {"method": method, "target": target, "p": p, **sigma}
        for method, target, sigmas in kinds
        for p in TABLE_SIZES
        for sigma in sigmas
    ]


def row_name(row: Fields) -> str:
    """The name of a row.

    Examples
    --------
    >>> row_name(rows()[0]), row_name(rows()[0] | {"sigma": 0.5, "sigma_noise": 0.01})
    ('gradient | greedy | 512 | 0', 'gradient | greedy | 512 | ~0.5')
    """
    if not isinstance(row, dict) or not {"method", "target", "p", "sigma"} <= set(row):
        raise ValueError(
            f"row is {check.brief(row)}; it should be a dict with method, target, p and sigma"
        )
    words, numbers = (row["method"], row["target"]), (row["p"], row["sigma"])
    known = all(isinstance(word, str) for word in words) and words in product(METHODS, TARGETS)
    if not known or not all(isinstance(number, int | float) for number in numbers):
        raise ValueError(
            f"row is {check.brief(row)}; it should have a method, a target, p and sigma of the search"
        )
    noise = "~" if row.get("sigma_noise") else ""
    return f"{row['method']} | {row['target']} | {row['p']} | {noise}{row['sigma']:g}"


def row_grids(row: Fields) -> list[ControlGrid]:
    """The cells of a row, as settings of 13 cells each.

    Examples
    --------
    >>> len(row_grids(rows()[0]))
    6
    """
    row_name(row)
    if row["method"] != "semi-gradient":
        return [ControlGrid(**row, alphas=(alpha,), etas=ETAS) for alpha in ALPHAS]
    rival = row["sigma"] == 0.0 or (row["sigma"] == 1.0 and row["target"] == "epsilon-greedy")
    fine = [FINE_ALPHAS[k : k + 13] for k in range(0, 65, 13)] if rival else []
    return [ControlGrid(**row, alphas=part, etas=(0.0,)) for part in (RIVAL_ALPHAS, *fine)]


def wide_grids(row: Fields) -> list[ControlGrid]:
    """The further cells of a row whose optimum was at the edge."""
    low = row["method"] == "gradient" and row["target"] == "greedy" and row["sigma"] <= WIDE_SIGMA
    at_edge = low or row["method"] == "corrected"
    return [ControlGrid(**row, alphas=WIDE_ALPHAS, etas=WIDE_ETAS)] if at_edge else []


def control_search() -> Experiment:
    """Every cell of every row.

    Examples
    --------
    >>> len(control_search().settings)  # 153 rows of six settings, 66 rows of one, 9 with five more
    1029
    """
    grids = [grid for row in rows() for grid in row_grids(row)]
    title = "Mountain car: the search for step sizes"
    return control_experiment("control-search", title, grids, "control grid", **SEARCH)


def control_wide() -> Experiment:
    """The further cells: smaller α and larger η for the rows that had their best cell at an edge.

    Examples
    --------
    >>> len(control_wide().settings), len(list(control_wide().settings[0].cells()))
    (60, 32)
    """
    grids = [grid for row in rows() for grid in wide_grids(row)]
    title = "Mountain car: the search for step sizes, widened"
    return control_experiment("control-wide", title, grids, "control grid", **SEARCH)


def choices(search: xarray.Dataset, wide: xarray.Dataset) -> dict[str, dict[str, Cell]]:
    """Apply the rule to the search: name of a grid, then of a row, to (α, η).

    Examples
    --------
    Where all cells are equal, the first of a row is taken:

    >>> import xarray
    >>> def level(plan):
    ...     shape = len(plan.settings), 1, len(list(plan.settings[0].cells()))
    ...     data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), np.ones(shape))})
    ...     return data.assign_coords(key=("setting", [setting.key for setting in plan.settings]))
    >>> choices(level(control_search()), level(control_wide()))["eta 1"][row_name(rows()[0])]
    (0.0005, 1.0)
    """
    steps: dict[str, Array] = {}
    for name, dataset, grids in (("search", search, row_grids), ("wide", wide, wide_grids)):
        check.labelled(name, dataset, "key", "steps_total")
        steps |= means(dataset, "steps_total")
        if not {grid.key for row in rows() for grid in grids(row)} <= set(steps):
            raise ValueError(f"{name} lacks settings; it should be the whole of control-{name}")
    found: dict[str, dict[str, Cell]] = {grid: {} for grid in GRIDS}
    for row in rows():
        costs: dict[ControlSetting, float] = {}
        for grid in (*row_grids(row), *wide_grids(row)):
            costs |= zip(grid.cells(), steps[grid.key].tolist(), strict=True)
        for name in GRIDS:
            best = ranked({one: cost for one, cost in costs.items() if _allowed(name, one)})[0]
            found[name][row_name(row)] = best.alpha, best.eta
    return found


def _allowed(grid: Grid, one: ControlSetting) -> bool:
    """Whether a choice within a grid may take this cell."""
    with_eta = one.method != "semi-gradient"
    if grid == "paper":
        return one.alpha in PAPER_ALPHAS and (not with_eta or one.eta in PAPER_ETAS)
    return grid == "all" or not with_eta or one.eta == 1.0


@cache
def chosen() -> dict[str, dict[str, Cell]]:
    """What the search chose: `choices`, written down.

    Examples
    --------
    >>> sorted(chosen()), len(chosen()["all"])
    (['all', 'eta 1', 'paper'], 219)
    """
    written = written_down("search_one_hash")
    return {
        grid: {name: tuple(one) for name, one in each.items()} for grid, each in written.items()
    }


def tuned_setting(row: Fields, grid: Grid = "all", memory: Memory = "int") -> ControlSetting:
    """A row with the step sizes that the search chose for it in one of three grids, on one coder.

    Parameters
    ----------
    row : dict
        One of `rows`.
    grid : {"all", "paper", "eta 1"}
        Within which cells step sizes were chosen.
    memory : str
        The kind of coder; the search itself knows the hash of tiles3 alone.

    Examples
    --------
    >>> tuned_setting(rows()[0], "paper").alpha
    0.001
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
    settings = [tuned_setting(row, grid) for grid in GRIDS for row in rows()]
    title = "Mountain car: every method at the step sizes chosen for it"
    return control_experiment("control-tuned", title, settings, "control in blocks")


def control_tuned_rltoolkit() -> Experiment:
    """Every row with constant σ at the same step sizes, with tiles that are drawn for each run.

    Examples
    --------
    >>> len(control_tuned_rltoolkit().settings)  # 219 rows, 54 of them with a dynamic σ
    165
    """
    fixed = [row for row in rows() if "sigma_noise" not in row]
    return control_experiment(
        "control-tuned-rltoolkit",
        "Mountain car: every method at the step sizes chosen for it, with the coder that the paper names",
        [tuned_setting(row, memory="rltoolkit") for row in fixed],
    )


def tuned_scores(
    dataset: xarray.Dataset,
    grid: Grid = "all",
    *,
    dynamic: bool = False,
    memory: Memory = "int",
    method: Method,
    target: TargetPolicy,
    p: int,
) -> Array:
    """Mean steps per episode of each run at the chosen step sizes, (σ, runs), from σ = 0 to σ = 1.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``control-tuned``, or of ``control-tuned-rltoolkit``, with scores
        (`with_scores`).
    grid : {"all", "paper", "eta 1"}
        Within which cells step sizes were chosen.
    dynamic : bool
        Whether σ between the ends is drawn from N(m, 0.01²).
    memory : str
        The kind of coder: ``"int"`` in the one result, ``"rltoolkit"`` in the other.
    method, target, p
        What the rows have in common.

    Examples
    --------
    >>> import xarray
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((489, 4)))})
    >>> data = data.assign_coords(key=("setting", [one.key for one in control_tuned().settings]))
    >>> tuned_scores(data, method="gradient", target="greedy", p=512).shape
    (11, 4)
    """
    check.labelled("dataset", dataset, "key", "score")
    check.flag("dynamic", dynamic)
    check.choice("method", method, METHODS)
    check.choice("target", target, TARGETS)
    p = check.integer("p", p, low=1)
    inside = (drawn if dynamic else constant)(*TENTHS[1:-1])
    keys = dataset["key"].values.tolist()
    wanted = [
        tuned_setting({"method": method, "target": target, "p": p, **sigma}, grid, memory).key
        for sigma in (*constant(0.0), *inside, *constant(1.0))
    ]
    if not set(wanted) <= set(keys):
        raise ValueError(
            f"dataset is {check.brief(dataset)}; it should hold {method}, {target}, {p} on {memory!r}"
        )
    return np.asarray(dataset["score"].values[[keys.index(key) for key in wanted]])
