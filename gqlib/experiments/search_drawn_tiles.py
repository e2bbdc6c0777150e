r"""The search for step sizes with tiles that are drawn for each run: every σ and every rival.

`gqlib.experiments.search_one_hash` searched the whole family with one hash of tiles3. A second
search began with 39 rows and the coder that the paper names; five runs turned out to be too few to
choose a cell by: where one run in seven is stuck, the mean of five runs mostly counts stuck runs,
and the smallest of many such means is a lottery. (That was shown by a referee, on Sarsa(λ), while
the first stage ran; none of its outcomes had been looked at.) So the other rows and a second stage
followed. The rule is that of `gqlib.experiments.search`; the protocol, written down before its runs:

1. *Rows*: GQ(σ, λ) for both target policies, three sizes p and σ = 0, 0.1, …, 1; the corrected
   GQ(σ, λ) for the greedy target and the same σ; semi-gradient Q(σ, λ), which is Sarsa(λ) at σ = 1
   and Expected Sarsa(λ) at σ = 0 with the ε-greedy target, and otherwise the *twin* of GQ. At σ = 1
   the target policy plays no part in GQ and in the semi-gradient learner, and one row serves both.
   A dynamic σ ~ N(m, 0.01²), m = 0.1, …, 0.9, takes the step sizes of its mean m: noise of 0.01 in
   σ changes which runs one gets and not how good they are.
2. *Ladders*: those of `LADDERS`, which go far beyond any cell that was ever best; a learner with one
   step size has a finer ladder. Below η = 2⁻¹⁰ there is nothing to look for: the correction
   vanishes, and the limit is the semi-gradient row.
3. *First stage*: the 39 rows began with 35 cells each, rivals included: five α and seven η, every
   other one of the search before, for the greedy target and σ = 0 smaller α and larger η, or 35
   values of the one step size. Any other row begins with 15 cells, three α and five η (or 15 values
   of the one step size), around the choice of the search with one hash, which had covered the whole
   plane. Five runs of a cell, each with tiles of its own, on the seed of the search before; the
   cost of a run is its mean number of steps per episode, a diverged run counted at the step limit
   from there on.
4. A σ inside whose best cell needed more than twice the steps of the better end is *given up*: it is
   not run again, and in the end has the p-value 1.
5. *Second stage*: the six best cells of every other row, 40 runs of each on a third seed. A rival
   with one step size has ten cells. The twin has the σ inside at which GQ did best here; of the
   corrected GQ only the σ that did best in the first stage goes on, since it is slow.
6. *Results*: 100 fresh runs of every choice on a fourth seed, all paired.
7. *Families*: for each kind of σ, constant and dynamic, nine σ inside against both ends in six
   panels, Holm over 54; GQ at the σ inside that did best in the second stage against each rival.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import METHODS, TARGETS, ControlSetting, Method
from gqlib.experiments.mountain_car import TABLE_SIZES, Fields, control_experiment, dynamic
from gqlib.experiments.search import (
    Cell,
    Ladders,
    Window,
    climb,
    last_stage,
    means,
    ranked,
    windows,
    written_down,
)
from gqlib.experiments.search_one_hash import SEARCH, TENTHS, chosen, row_name
from gqlib.stats.ends import paired_p_values
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = [
    "ALPHAS",
    "ETAS",
    "PLACES",
    "Outcome",
    "best_row",
    "control_family",
    "control_finals",
    "control_search_family",
    "control_search_rltoolkit",
    "final_outcomes",
    "first_rows",
    "given_up",
    "neighbours",
    "outcomes",
    "p_values",
    "panel_row",
    "row_windows",
    "rows",
    "scores",
    "search_outcomes",
]

MEMORY: Final = "rltoolkit"
PLACES = tuple(product(TARGETS, TABLE_SIZES))
# fmt: off
ALPHA_LADDER = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
# fmt: on
RIVAL_LADDER = tuple(float(f"{0.0005 * 80 ** (k / 34):.3g}") for k in range(-34, 69))
TWO = Ladders(ALPHA_LADDER, tuple(2.0**k for k in range(-10, 13, 2)), (3, 5))
LADDERS = {
    "gradient": TWO,
    "corrected": TWO,
    "semi-gradient": Ladders(RIVAL_LADDER, (0.0,), (15, 1)),
}
# Where the 39 rows began, which were searched first.
FIRST_SIGMAS = (0.6, 0.8)
ALPHAS, ETAS = (0.001, 0.002, 0.005, 0.01, 0.02), tuple(2.0**k for k in range(2, -11, -2))
SLOW = (0.0001, 0.00025, 0.0005, 0.001, 0.002), tuple(2.0**k for k in range(8, -5, -2))
RIVAL_ALPHAS = RIVAL_LADDER[34:69]  # 0.0005 to 0.04
HOPELESS = 2.0
FINALISTS = {"gradient": 6, "corrected": 6, "semi-gradient": 10}
FINAL_RUNS, FINAL_SEED, RESULT_SEED = 40, 5302, 3019


class Outcome(NamedTuple):
    """What the search found for a row.

    Parameters
    ----------
    path : tuple of (α, η)
        The best cell after each window of the first stage.
    lowest : float
        Steps per episode at the last of them.
    finalists : tuple of (α, η)
        The best cells of the first stage, best first, and neighbours that were added; none if the
        row goes no further.
    choice : (α, η)
        The best of them in the second stage, or the last of the path.
    steps : float
        Steps per episode at the choice, where it was chosen.

    Examples
    --------
    >>> Outcome(((0.01, 0.25),), 300.0).choice
    (nan, nan)
    """

    path: tuple[Cell, ...]
    lowest: float
    finalists: tuple[Cell, ...] = ()
    choice: Cell = (math.nan, math.nan)
    steps: float = math.nan


@cache
def outcomes() -> dict[str, Outcome]:
    """What the search found, by name of a row: `search_outcomes` and `final_outcomes`, written down.

    Examples
    --------
    >>> len(outcomes()) == len(rows())
    True
    """
    written = written_down("search_drawn_tiles")
    return {
        name: Outcome(tuple(map(tuple, path)), lowest, tuple(map(tuple, last)), tuple(best), steps)
        for name, (path, lowest, last, best, steps) in written.items()
    }


def panel_row(method: Method, place: tuple[str, int], sigma: float) -> Fields:
    """The row of a panel; at σ = 1 the target policy plays no part but in the corrected GQ.

    Examples
    --------
    >>> panel_row("semi-gradient", ("greedy", 512), 1.0)["target"]
    'epsilon-greedy'
    """
    check.choice("method", method, METHODS)
    sigma = check.scalar("sigma", sigma, low=0.0, high=1.0)
    target, p = _place(place)
    target = target if method == "corrected" or sigma < 1.0 else TARGETS[1]
    return {"method": method, "target": target, "p": p, "sigma": sigma}


def _place(place: tuple[str, int]) -> tuple[str, int]:
    if not isinstance(place, tuple) or place not in PLACES:
        raise ValueError(f"place is {check.brief(place)}; it should be one of {PLACES}")
    return place


def first_rows() -> Iterator[Fields]:
    """Yield the 39 rows that were searched first.

    Examples
    --------
    >>> len(list(first_rows())), next(first_rows())
    (39, {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0})
    """
    for method, greedy in (("gradient", (0.0, *FIRST_SIGMAS)), ("semi-gradient", FIRST_SIGMAS)):
        for p in TABLE_SIZES:
            for target, sigmas in zip(TARGETS, (greedy, (0.0, *FIRST_SIGMAS, 1.0)), strict=True):
                shared = {"method": method, "target": target, "p": p}
                yield from (shared | {"sigma": sigma} for sigma in sigmas)


def rows() -> list[Fields]:
    """All rows: those that were known beforehand, then the twins that were missing.

    Examples
    --------
    >>> len(rows()), rows()[0]
    (108, {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0})
    """
    known = [
        *(
            panel_row("gradient", place, sigma)
            for place, sigma in product(PLACES, TENTHS)
            if sigma < 1.0 or place[0] != "greedy"
        ),
        *(panel_row("corrected", place, sigma) for place, sigma in product(PLACES[:3], TENTHS)),
        *(panel_row("semi-gradient", place, end) for place, end in product(PLACES[3:], (0.0, 1.0))),
        *({**best_row("gradient", place), "method": "semi-gradient"} for place in PLACES),
    ]
    return list({row_name(row): row for row in known}.values())


def best_row(
    method: Literal["gradient", "corrected"],
    place: tuple[str, int],
    found: Mapping[str, Outcome] | None = None,
) -> Fields:
    """The row of a panel that did best: GQ with σ inside, or the corrected GQ at any σ.

    Parameters
    ----------
    method : {"gradient", "corrected"}
    place : tuple
        One of `PLACES`; the corrected method has the greedy target in any case.
    found : dict, optional
        What the search found, by default `outcomes`.

    Examples
    --------
    >>> best_row("gradient", ("greedy", 512))["method"]
    'gradient'
    """
    check.choice("method", method, ("gradient", "corrected"))
    target, p = _place(place)
    found = outcomes() if found is None else check.members("found", found)
    if method == "corrected":
        every = [panel_row(method, (TARGETS[0], p), sigma) for sigma in TENTHS]
        return min(every, key=lambda row: found[row_name(row)].lowest)
    inside = [panel_row(method, (target, p), sigma) for sigma in TENTHS[1:-1]]
    kept = [row for row in inside if not given_up(row, found)]
    return min(kept, key=lambda row: found[row_name(row)].steps)


def given_up(row: Fields, found: Mapping[str, Outcome] | None = None) -> bool:
    """Whether a σ inside needed more than twice the steps of the better end, in the first stage.

    Parameters
    ----------
    row : dict
        A row of GQ, constant or dynamic.
    found : dict, optional
        What the search found, by default `outcomes`.

    Examples
    --------
    >>> given_up({"method": "gradient", "target": "epsilon-greedy", "p": 512, "sigma": 0.8})
    False
    """
    found = outcomes() if found is None else check.members("found", found)
    steps = found[_known(row, found)].lowest
    ends = [panel_row("gradient", (row["target"], row["p"]), end) for end in (0.0, 1.0)]
    best = min(found[row_name(end)].lowest for end in ends)
    return 0.0 < row["sigma"] < 1.0 and steps > HOPELESS * best


def _known(row: Fields, found: Mapping[str, Outcome]) -> str:
    """The name of a row, or of the constant σ of a dynamic one, among those that were searched."""
    name = row_name(row).replace("~", "")
    if name not in found:
        raise ValueError(f"row is {check.brief(row)}; it should be one of `rows`")
    return name


def neighbours(row: Fields, cell: Cell) -> set[Cell]:
    """The cells one rung up or down either ladder of a row.

    Examples
    --------
    >>> sorted(neighbours(rows()[0], (0.005, 2.0**-10)))
    [(0.002, 0.0009765625), (0.005, 0.00390625), (0.01, 0.0009765625)]
    """
    row_name(row)
    alpha, eta = check.array("cell", cell, (2,)).tolist()
    return LADDERS[row["method"]].neighbours((alpha, eta))


def _grid(row: Fields, window: Window) -> ControlGrid:
    return ControlGrid(**row, memory=MEMORY, alphas=window[0], etas=window[1])


def _first_window(row: Fields) -> Window:
    if row not in list(first_rows()):
        return LADDERS[row["method"]].window(chosen()["all"][row_name(row)])
    if row["method"] == "semi-gradient":
        return RIVAL_ALPHAS, (0.0,)
    return SLOW if row["target"] == "greedy" and row["sigma"] == 0.0 else (ALPHAS, ETAS)


def row_windows(row: Fields, path: Sequence[Cell]) -> list[ControlGrid]:
    """The cells of a row, given the best cell after each of its windows.

    Examples
    --------
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.8}
    >>> len(row_windows(row, [(0.005, 1.0)])), len(row_windows(row, [(0.02, 1.0), (0.02, 1.0)]))
    (1, 2)
    """
    if row_name(row) not in chosen()["all"]:
        raise ValueError(f"row is {check.brief(row)}; it should be one of the search with one hash")
    check.instance("path", path, list, tuple)
    found = windows(_first_window(row), path, LADDERS[row["method"]])
    return [_grid(row, window) for window in found]


def control_search_rltoolkit() -> Experiment:
    """The first 39 rows, 35 cells each.

    Examples
    --------
    >>> {len(list(grid.cells())) for grid in control_search_rltoolkit().settings}
    {35}
    """
    return control_experiment(
        "control-search-rltoolkit",
        "Mountain car: the search for step sizes with the coder that the paper names",
        [_grid(row, _first_window(row)) for row in first_rows()],
        "control grid",
        **SEARCH | {"runs_per_task": 1},
    )


def control_search_family() -> Experiment:
    """The rest of the first stage: every other window of every row.

    Examples
    --------
    >>> {len(list(grid.cells())) for grid in control_search_family().settings}
    {15}
    """
    before = control_search_rltoolkit().settings
    every = [grid for row in rows() for grid in row_windows(row, outcomes()[row_name(row)].path)]
    return control_experiment(
        "control-search-family",
        "Mountain car: the search for step sizes with drawn tiles, first stage",
        [grid for grid in every if grid not in before],
        "control grid",
        **SEARCH,
    )


def search_outcomes(rows: Sequence[Fields], *searches: xarray.Dataset) -> dict[str, Outcome]:
    """Apply the rule to the first stage.

    Parameters
    ----------
    rows : sequence of dict
        Rows, as `rows` has them.
    *searches : xarray.Dataset
        The results of ``control-search-rltoolkit`` and ``control-search-family``.

    Examples
    --------
    >>> import xarray
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}
    >>> (grid,), steps = row_windows(row, []), np.full((1, 1, 15), 800)
    >>> steps[0, 0, 7] = 400  # the middle of the window is best
    >>> data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), steps)})
    >>> data = data.assign_coords(key=("setting", [grid.key]))
    >>> search_outcomes([row], data)[row_name(row)].lowest
    1.0
    """
    steps: dict[str, Array] = {}
    for dataset in searches:
        check.labelled("searches", dataset, "key", "steps_total")
        steps |= means(dataset, "steps_total")
    return {row_name(row): _first_stage(row, steps) for row in rows}


def _first_stage(row: Fields, steps: Mapping[str, Array]) -> Outcome:
    def look(window: Window) -> list[float]:
        grid = _grid(row, window)
        if grid.key not in steps:
            raise ValueError(f"searches lack {row_name(row)!r}; they should be whole results")
        costs: list[float] = (steps[grid.key] / grid.episodes).tolist()
        return costs

    path, costs = climb(_first_window(row), LADDERS[row["method"]], look)
    survivors = ranked(costs)[: FINALISTS[row["method"]]]
    return Outcome(tuple(path), costs[path[-1]], tuple(survivors))


def final_outcomes(found: Mapping[str, Outcome], finals: xarray.Dataset) -> dict[str, Outcome]:
    """Apply the rule to the second stage; rows without runs there go no further.

    Parameters
    ----------
    found : dict
        The outcomes of the first stage, by name of a row.
    finals : xarray.Dataset
        The result of ``control-finals``, with scores
        (`with_scores`).

    Examples
    --------
    >>> import xarray
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}
    >>> first = list(row_windows(row, [])[0].cells())[7]
    >>> cell = first.alpha, first.eta
    >>> data = xarray.Dataset({"score": (("setting", "run"), [[310.0, 330.0]])})
    >>> data = data.assign_coords(key=("setting", [first.key]))
    >>> final_outcomes({row_name(row): Outcome((cell,), 300.0, (cell,))}, data)[row_name(row)].steps
    320.0
    """
    check.members("found", found)
    check.labelled("finals", finals, "key", "score")
    score = {key: float(mean) for key, mean in means(finals, "score").items()}
    return {name: _second_stage(name, one, score) for name, one in found.items()}


def _second_stage(name: str, one: Outcome, score: Mapping[str, float]) -> Outcome:
    method, target, p, sigma = name.split(" | ")
    row = {"method": method, "target": target, "p": int(p), "sigma": float(sigma)}

    def look(cell: Cell) -> float:
        if _at(row, cell).key not in score:
            whole = "they should be the whole of control-finals"
            raise ValueError(f"finals lack {cell} of {name!r}; {whole}")
        return score[_at(row, cell).key]

    if not all(_at(row, cell).key in score for cell in one.finalists):
        return one._replace(finalists=(), choice=one.path[-1], steps=one.lowest)
    ladders = LADDERS[method]
    seen = {
        cell
        for window in windows(_first_window(row), one.path, ladders)
        for cell in product(*window)
    }
    costs = last_stage(one.finalists, seen, ladders, look)
    choice = ranked(costs)[0]
    return one._replace(finalists=tuple(costs), choice=choice, steps=costs[choice])


def _at(row: Fields, cell: Cell) -> ControlSetting:
    return ControlSetting(**row, alpha=cell[0], eta=cell[1], memory=MEMORY)


def control_finals() -> Experiment:
    """The second stage: the best cells of the first, with more runs, on another seed.

    Examples
    --------
    >>> control_finals().runs
    40
    """
    return control_experiment(
        "control-finals",
        "Mountain car: the search for step sizes with drawn tiles, second stage",
        [_at(row, cell) for row in rows() for cell in outcomes()[row_name(row)].finalists],
        runs=FINAL_RUNS,
        seed=FINAL_SEED,
    )


def _chosen(row: Fields) -> ControlSetting:
    """A row, or its dynamic counterpart, at the step sizes that the search chose for it."""
    return _at(row, outcomes()[_known(row, outcomes())].choice)


def _inside(place: tuple[str, int], *, moving: bool) -> list[Fields]:
    noise = dynamic(0.5)[0] if moving else {}
    return [{**noise, **panel_row("gradient", place, sigma)} for sigma in TENTHS[1:-1]]


def control_family() -> Experiment:
    """Every row that went through both stages, at its choice; and its dynamic counterpart.

    Examples
    --------
    >>> control_family().runs
    100
    """
    through = [row for row in rows() if outcomes()[row_name(row)].finalists]
    moving = [row for place in PLACES for row in _inside(place, moving=True) if not given_up(row)]
    return control_experiment(
        "control-family",
        "Mountain car: every method at the step sizes that the search with drawn tiles chose for it",
        [_chosen(row) for row in through + moving],
        seed=RESULT_SEED,
    )


def scores(dataset: xarray.Dataset, row: Fields) -> Array:
    """Mean steps per episode of each run of a row at its chosen step sizes, (runs,).

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``control-family``, with scores
        (`with_scores`).
    row : dict
        One of `rows`, or its dynamic counterpart, that is not given up.

    Examples
    --------
    >>> import xarray
    >>> keys = [setting.key for setting in control_family().settings]
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((len(keys), 4)))})
    >>> scores(data.assign_coords(key=("setting", keys)), rows()[0]).shape
    (4,)
    """
    check.labelled("dataset", dataset, "key", "score")
    key, keys = _chosen(row).key, dataset["key"].values.tolist()
    if key not in keys:
        raise ValueError(f"row is {check.brief(row)}; it should be one that the dataset holds")
    return np.asarray(dataset["score"].values[keys.index(key)])


def p_values(dataset: xarray.Dataset, *, dynamic: bool = False) -> Array:
    """The p-value of "better than both ends" for each panel and σ inside, (6, 9), not corrected.

    It is the larger of two one-sided paired ones, and 1 for a row that is given up.

    Parameters
    ----------
    dataset : xarray.Dataset
        As in `scores`.
    dynamic : bool
        Whether σ inside is drawn from N(m, 0.01²).

    Examples
    --------
    >>> import xarray
    >>> keys = [setting.key for setting in control_family().settings]
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((len(keys), 4)))})
    >>> p_values(data.assign_coords(key=("setting", keys))).shape
    (6, 9)
    """
    check.flag("dynamic", dynamic)
    found = np.ones((len(PLACES), len(TENTHS) - 2))
    for k, place in enumerate(PLACES):
        ends = [scores(dataset, panel_row("gradient", place, end)) for end in (0.0, 1.0)]
        for j, row in enumerate(_inside(place, moving=dynamic)):
            if not given_up(row):
                mine = scores(dataset, row)
                found[k, j] = max(float(paired_p_values(mine, end)) for end in ends)
    return found
