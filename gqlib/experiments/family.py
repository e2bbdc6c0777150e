r"""The search for step sizes with drawn tiles, for the whole family: every σ, constant and dynamic, and every rival.

`gqlib.experiments.tuning` searched the whole family with one hash of tiles3; `gqlib.experiments.retuning` searched part
of it with tiles that are drawn for each run. Here the rest follows, and a second stage: where one run in seven is
stuck, the mean of five runs mostly counts stuck runs, and the smallest of many such means is a lottery. (That was shown
by a referee, on Sarsa(λ), while the first stage ran; none of its outcomes had been looked at.) The protocol, written
down before its runs:

1. *Rows*: GQ(σ, λ) for both target policies, three sizes p and σ = 0, 0.1, …, 1; the corrected GQ(σ, λ) for the greedy
   target and the same σ; semi-gradient Q(σ, λ), which is Sarsa(λ) at σ = 1 and Expected Sarsa(λ) at σ = 0 with the
   ε-greedy target, and otherwise the *twin* of GQ. At σ = 1 the target policy plays no part in GQ and in the
   semi-gradient learner, and one row serves both. A dynamic σ ~ N(m, 0.01²), m = 0.1, …, 0.9, takes the step sizes of
   its mean m: noise of 0.01 in σ changes which runs one gets and not how good they are.
2. *Ladders*: α and η have the values of `ALPHA_LADDER` and `ETA_LADDER`, which go far beyond any cell that was ever
   best; a learner with one step size has a finer ladder. Below η = 2⁻¹⁰ there is nothing to look for: the correction
   vanishes, and the limit is the semi-gradient row.
3. *First stage*: a row that was searched with drawn tiles begins with its 35 cells of then, any other with 15 cells,
   three α and five η (or 15 values of the one step size), around the choice of the search with one hash, which had
   covered the whole plane. If the best cell so far has a neighbour, one rung up or down either ladder, that was not
   searched, 15 cells around it are added; and so on until it has none. No optimum is left on an edge. Five runs of a
   cell, each with tiles of its own, on the seed of both searches before; best is the smallest mean number of steps over
   all episodes, a diverged run counted at the step limit from there on.
4. A σ inside whose best cell needed more than twice the steps of the better end is *given up*: it is not run again, and
   in the end has the p-value 1.
5. *Second stage*: the six best cells of every other row, 40 runs of each on a third seed; the smallest mean is chosen.
   A rival with one step size has ten cells. If the choice has a neighbour that no stage has seen, that joins this one,
   and so on. The twin has the σ inside at which GQ did best here; of the corrected GQ only the σ that did best in the
   first stage goes on, since it is slow.
6. *Results*: 100 fresh runs of every choice on a fourth seed, all paired.
7. *Families*: for each kind of σ, constant and dynamic, nine σ inside against both ends in six panels, Holm over 54;
   GQ at the σ inside that did best in the second stage against each rival.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from gqlib import _validate as check
from gqlib.control.grids import ControlGrid
from gqlib.control.setting import METHODS, TARGETS, ControlSetting, Method
from gqlib.experiments.mountain_car import TABLE_SIZES, control_experiment, dynamic_fields
from gqlib.experiments.retuning import MEMORY, retuned_grid, retuned_rows
from gqlib.experiments.tuning import SEARCH_RUNS, SEARCH_SEED, TENTHS, chosen, row_name
from gqlib.stats.ends import paired_p_values
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

__all__ = [
    "ALPHA_LADDER",
    "ETA_LADDER",
    "PLACES",
    "RIVAL_LADDER",
    "Outcome",
    "best_row",
    "control_family",
    "control_finals",
    "control_search_family",
    "family_p_values",
    "family_rows",
    "family_scores",
    "family_setting",
    "final_outcomes",
    "given_up",
    "neighbours",
    "outcomes",
    "panel_row",
    "row_windows",
    "search_outcomes",
    "window",
]

# fmt: off
ALPHA_LADDER = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
# fmt: on
ETA_LADDER = tuple(2.0**k for k in range(-10, 13, 2))
RIVAL_LADDER = tuple(
    float(f"{0.0005 * 80 ** (k / 34):.3g}") for k in range(-34, 69)
)  # with the 35 of `retuning`
WINDOW, RIVAL_WINDOW = (3, 5), (15, 1)  # values of α and η, 15 cells
PLACES = tuple(product(TARGETS, TABLE_SIZES))
HOPELESS = 2.0
FINALISTS = {"gradient": 6, "corrected": 6, "semi-gradient": 10}
FINAL_RUNS, FINAL_SEED, RESULT_SEED = 40, 5302, 3019

GradientMethod = Literal["gradient", "corrected"]
Row = dict[str, Any]  # fields of a setting, without step sizes
Cell = tuple[float, float]  # α and η


class Outcome(NamedTuple):
    """What the search found for a row.

    Parameters
    ----------
    path : tuple of (α, η)
        The best cell after each window of the first stage.
    lowest : float
        Steps per episode at the last of them.
    finalists : tuple of (α, η)
        The best cells of the first stage, best first, and neighbours that were added; none if the row goes no further.
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


def _panel(place: tuple[str, int]) -> tuple[str, int]:
    if not isinstance(place, tuple) or place not in PLACES:
        raise ValueError(f"place is {check.brief(place)}; it should be one of {PLACES}")
    return place


def panel_row(method: Method, place: tuple[str, int], sigma: float) -> Row:
    """Return the row of a panel; at σ = 1 the target policy plays no part in GQ and in the semi-gradient learner.

    Examples
    --------
    >>> panel_row("semi-gradient", ("greedy", 512), 1.0)["target"]
    'epsilon-greedy'
    """
    check.choice("method", method, METHODS)
    _panel(place)
    sigma = check.scalar("sigma", sigma, low=0.0, high=1.0)
    target = place[0] if method == "corrected" or sigma < 1.0 else TARGETS[1]
    return {"method": method, "target": target, "p": place[1], "sigma": sigma}


def _first_rows() -> Iterator[Row]:
    """The rows that are known beforehand."""
    for place, sigma in product(PLACES, TENTHS):
        if sigma < 1.0 or place[0] != "greedy":
            yield panel_row("gradient", place, sigma)
    yield from (
        panel_row("corrected", ("greedy", p), sigma) for p, sigma in product(TABLE_SIZES, TENTHS)
    )
    yield from (
        panel_row("semi-gradient", (TARGETS[1], p), sigma)
        for p, sigma in product(TABLE_SIZES, (0.0, 1.0))
    )


def family_rows() -> list[Row]:
    """Return the rows that were searched: those known beforehand, then the twins that were missing.

    Examples
    --------
    >>> family_rows()[0]
    {'method': 'gradient', 'target': 'greedy', 'p': 512, 'sigma': 0.0}
    """
    rows = list(_first_rows())
    return rows + [row for row in map(_twin, PLACES) if row not in rows]


def _twin(place: tuple[str, int]) -> Row:
    return {**best_row("gradient", place), "method": "semi-gradient"}


def best_row(
    method: GradientMethod, place: tuple[str, int], found: Mapping[str, Outcome] | None = None
) -> Row:
    """Return the row of a panel that did best in the search: GQ with σ inside, or corrected GQ at any σ.

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
    check.choice("method", method, get_args(GradientMethod))
    target, p = _panel(place)
    found = outcomes() if found is None else found
    if method == "corrected":
        rows = [panel_row("corrected", (TARGETS[0], p), sigma) for sigma in TENTHS]
        return min(rows, key=lambda row: found[row_name(row)].lowest)
    rows = [panel_row("gradient", (target, p), sigma) for sigma in TENTHS[1:-1]]
    return min(
        (row for row in rows if not given_up(row, found)),
        key=lambda row: found[row_name(row)].steps,
    )


def _ladders(row: Row) -> tuple[Sequence[float], Sequence[float]]:
    return (
        (RIVAL_LADDER, (0.0,)) if row["method"] == "semi-gradient" else (ALPHA_LADDER, ETA_LADDER)
    )


def _rung(ladder: Sequence[float], value: float) -> int:
    """The rung next to a value, by ratio; the upper of two that are equally near."""
    if len(ladder) == 1:
        return 0
    return min(
        range(len(ladder)), key=lambda k: (round(abs(math.log(ladder[k] / value)), 6), -ladder[k])
    )


def _around(ladder: Sequence[float], value: float, width: int) -> tuple[float, ...]:
    first = min(max(_rung(ladder, value) - width // 2, 0), len(ladder) - width)
    return tuple(ladder[first : first + width])


def window(row: Row, cell: Cell) -> ControlGrid:
    """The 15 cells around one, as far as the ladders reach.

    Examples
    --------
    >>> window(family_rows()[0], (0.005, 0.001)).etas
    (0.0009765625, 0.00390625, 0.015625, 0.0625, 0.25)
    """
    row_name(row)
    widths = RIVAL_WINDOW if row["method"] == "semi-gradient" else WINDOW
    parts = zip(_ladders(row), _positive(row, cell), widths, strict=True)
    alphas, etas = (_around(ladder, value, width) for ladder, value, width in parts)
    return ControlGrid(**row, memory=MEMORY, alphas=alphas, etas=etas)


def _positive(row: Row, cell: Cell) -> Cell:
    alpha, eta = check.array("cell", cell, (2,)).tolist()
    check.scalar("cell[0]", alpha, low=0.0, open_low=True)
    check.scalar("cell[1]", eta, low=0.0, open_low=row["method"] != "semi-gradient")
    return alpha, eta


def neighbours(row: Row, cell: Cell) -> set[Cell]:
    """The cells one rung up or down either ladder.

    Examples
    --------
    >>> sorted(neighbours(family_rows()[0], (0.005, ETA_LADDER[0])))
    [(0.002, 0.0009765625), (0.005, 0.00390625), (0.01, 0.0009765625)]
    """
    row_name(row)
    alphas, etas = _ladders(row)
    i, j = (
        _rung(ladder, value)
        for ladder, value in zip((alphas, etas), _positive(row, cell), strict=True)
    )
    near = ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
    return {(alphas[a], etas[b]) for a, b in near if 0 <= a < len(alphas) and 0 <= b < len(etas)}


def _first_window(row: Row) -> ControlGrid:
    """Where the search of a row begins: its 35 cells of the second search, or a window around the first choice."""
    return (
        retuned_grid(row)
        if row in list(retuned_rows())
        else window(row, chosen()["all"][row_name(row)])
    )


def row_windows(row: Row, path: Sequence[Cell]) -> list[ControlGrid]:
    """The cells of a row, given the best cell after each of its windows: one more wherever that had an edge.

    Examples
    --------
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.8}
    >>> len(row_windows(row, [(0.005, 1.0)])), len(row_windows(row, [(0.02, 1.0), (0.02, 1.0)]))
    (1, 2)
    """
    if row_name(row) not in chosen()["all"]:
        raise ValueError(
            f"row is {check.brief(row)}; it should be one of `gqlib.experiments.tuning.rows`"
        )
    check.instance("path", path, list, tuple)
    grids = [_first_window(row)]
    for cell in path:
        searched = {(one.alpha, one.eta) for grid in grids for one in grid.cells()}
        if not neighbours(row, cell) <= searched:
            grids.append(window(row, cell))
    return grids


@cache
def outcomes() -> dict[str, Outcome]:
    """Return what the search found, by name of a row, as written down in ``family_chosen.json``.

    A test applies the rules (`search_outcomes`, `final_outcomes`) to the committed searches and compares.

    Examples
    --------
    >>> len(outcomes()) == len(family_rows())
    True
    """
    written = json.loads(
        files("gqlib.experiments").joinpath("family_chosen.json").read_text(encoding="utf-8")
    )
    pairs = {
        name: [tuple(map(tuple, part)) for part in (path, ten)]
        for name, (path, _, ten, *_) in written.items()
    }
    return {
        name: Outcome(pairs[name][0], lowest, pairs[name][1], tuple(choice), steps)
        for name, (_, lowest, _, choice, steps) in written.items()
    }


def control_search_family() -> Experiment:
    """The first stage: every window of every row, but for those of the search before.

    Examples
    --------
    >>> {len(list(grid.cells())) for grid in control_search_family().settings}
    {15}
    """
    from gqlib.fast import ENGINE_VERSION

    before = {retuned_grid(row).key for row in retuned_rows()}
    grids = [
        grid for row in family_rows() for grid in row_windows(row, outcomes()[row_name(row)].path)
    ]
    return Experiment(
        name="control-search-family",
        title="Mountain car: the search for step sizes with drawn tiles, first stage",
        function="control grid",
        settings=tuple(grid for grid in grids if grid.key not in before),
        runs=SEARCH_RUNS,
        seed=SEARCH_SEED,
        version=str(ENGINE_VERSION),
        runs_per_task=5,
        summary="control grid",
    )


def search_outcomes(rows: Sequence[Row], *searches: xarray.Dataset) -> dict[str, Outcome]:
    """Apply the rules of the first stage.

    Parameters
    ----------
    rows : sequence of dict
        Rows, e.g. `family_rows`.
    *searches : xarray.Dataset
        The results of ``control-search-rltoolkit`` and ``control-search-family``.

    Examples
    --------
    >>> import xarray
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}
    >>> (grid,), steps = row_windows(row, []), np.full((1, 1, 15), 800)
    >>> steps[0, 0, 7] = 400  # the middle of the window is best
    >>> data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), steps)})
    >>> search_outcomes([row], data.assign_coords(key=("setting", [grid.key])))[row_name(row)].lowest
    1.0
    """
    steps: dict[str, Array] = {}
    for dataset in searches:
        check.labelled("searches", dataset, "key", "steps_total")
        means = dataset["steps_total"].values.mean(axis=1)
        steps |= dict(zip(dataset["key"].values.tolist(), means, strict=True))
    return {row_name(row): _followed(row, steps) for row in rows}


def _followed(row: Row, steps: Mapping[str, Array]) -> Outcome:
    path: list[Cell] = []
    score: dict[Cell, float] = {}
    while len(grids := row_windows(row, path)) > len(path):
        if grids[-1].key not in steps:
            raise ValueError(f"searches lack {row_name(row)!r}; they should be whole results")
        cells = [(cell.alpha, cell.eta) for cell in grids[-1].cells()]
        score |= dict(zip(cells, (steps[grids[-1].key] / grids[0].episodes).tolist(), strict=True))
        path.append(min(score, key=lambda cell: score[cell]))
    best = tuple(sorted(score, key=lambda cell: score[cell])[: FINALISTS[row["method"]]])
    return Outcome(tuple(path), score[path[-1]], best)


def final_outcomes(found: Mapping[str, Outcome], finals: xarray.Dataset) -> dict[str, Outcome]:
    """Apply the rule of the second stage to what the first found; rows without runs there go no further.

    Parameters
    ----------
    found : dict
        The outcomes of the first stage, by name of a row.
    finals : xarray.Dataset
        The result of ``control-finals``, with scores (`gqlib.experiments.kept.with_scores`).

    Examples
    --------
    >>> import xarray
    >>> row = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}
    >>> cell = list(row_windows(row, [])[0].cells())[7]
    >>> found = {row_name(row): Outcome(((cell.alpha, cell.eta),), 300.0, ((cell.alpha, cell.eta),))}
    >>> data = xarray.Dataset({"score": (("setting", "run"), [[310.0, 330.0]])})
    >>> final_outcomes(found, data.assign_coords(key=("setting", [cell.key])))[row_name(row)].steps
    320.0
    """
    check.instance("found", found, Mapping)
    check.labelled("finals", finals, "key", "score")
    score = dict(
        zip(
            finals["key"].values.tolist(), finals["score"].values.mean(axis=1).tolist(), strict=True
        )
    )
    rows = {row_name(row): row for row in (*_first_rows(), *(_semi(row) for row in _first_rows()))}
    for name, one in found.items():
        if name not in rows or not isinstance(one, Outcome):
            raise ValueError(
                f"found has {check.brief(name)}; it should hold an Outcome for each row, by its name"
            )
    return {name: _finished(rows[name], one, score) for name, one in found.items()}


def _finished(row: Row, one: Outcome, score: Mapping[str, float]) -> Outcome:
    steps = {cell: score.get(_at(row, cell).key, math.nan) for cell in one.finalists}
    if not np.isfinite(list(steps.values())).all():
        return one._replace(finalists=(), choice=one.path[-1], steps=one.lowest)
    searched = {
        (cell.alpha, cell.eta) for grid in row_windows(row, one.path) for cell in grid.cells()
    }
    while new := sorted(neighbours(row, min(steps, key=steps.__getitem__)) - searched - set(steps)):
        for cell in new:
            if _at(row, cell).key not in score:
                raise ValueError(
                    f"finals lack {cell} of {row_name(row)!r}; they should be the whole of control-finals"
                )
            steps[cell] = score[_at(row, cell).key]
    choice = min(steps, key=steps.__getitem__)
    return one._replace(finalists=tuple(steps), choice=choice, steps=steps[choice])


def _semi(row: Row) -> Row:
    return {**row, "method": "semi-gradient"}


def _at(row: Row, cell: Cell) -> ControlSetting:
    return ControlSetting(**row, alpha=cell[0], eta=cell[1], memory=MEMORY)


def control_finals() -> Experiment:
    """The second stage: the best cells of the first, with more runs, on another seed.

    Examples
    --------
    >>> control_finals().runs
    40
    """
    settings = [
        _at(row, cell) for row in family_rows() for cell in outcomes()[row_name(row)].finalists
    ]
    return control_experiment(
        "control-finals",
        "Mountain car: the search for step sizes with drawn tiles, second stage",
        tuple(settings),
        summary="control totals",
        runs=FINAL_RUNS,
        seed=FINAL_SEED,
    )


def given_up(row: Row, found: Mapping[str, Outcome] | None = None) -> bool:
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
    check.instance("row", row, dict)
    found = outcomes() if found is None else found
    check.instance("found", found, Mapping)
    name = row_name(_constant(row))
    if name not in found or row["method"] != "gradient":
        raise ValueError(f"row is {check.brief(row)}; it should be one of GQ among `family_rows`")
    ends = [
        found[row_name(panel_row("gradient", (row["target"], row["p"]), end))].lowest
        for end in (0.0, 1.0)
    ]
    return 0.0 < row["sigma"] < 1.0 and found[name].lowest > HOPELESS * min(ends)


def _constant(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "sigma_noise"}


def family_setting(row: Row) -> ControlSetting:
    """A row, or its dynamic counterpart, at the step sizes that the search chose for it.

    Examples
    --------
    >>> family_setting(family_rows()[0]).memory
    'rltoolkit'
    """
    name = row_name(_constant(row)) if isinstance(row, dict) else ""
    if name not in outcomes():
        raise ValueError(
            f"row is {check.brief(row)}; it should be one of `family_rows`, or that with sigma_noise"
        )
    return _at(row, outcomes()[name].choice)


def _inside(place: tuple[str, int], *, dynamic: bool) -> list[Row]:
    noise = dynamic_fields(0.5)[0] if dynamic else {}
    return [{**noise, **panel_row("gradient", place, sigma)} for sigma in TENTHS[1:-1]]


def control_family() -> Experiment:
    """Every row that went through both stages, at its choice, on fresh seeds; and its dynamic counterpart.

    Examples
    --------
    >>> control_family().runs
    100
    """
    rows = [row for row in family_rows() if outcomes()[row_name(row)].finalists]
    rows += [row for place in PLACES for row in _inside(place, dynamic=True) if not given_up(row)]
    return control_experiment(
        "control-family",
        "Mountain car: every method at the step sizes that the search with drawn tiles chose for it",
        tuple(map(family_setting, rows)),
        summary="control totals",
        seed=RESULT_SEED,
    )


def family_scores(dataset: xarray.Dataset, row: Row) -> Array:
    """Return the mean steps per episode of each run of a row at its chosen step sizes, (runs,).

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of ``control-family``, with scores (`gqlib.experiments.kept.with_scores`).
    row : dict
        One of `family_rows`, or its dynamic counterpart, that is not given up.

    Examples
    --------
    >>> import xarray
    >>> keys = [setting.key for setting in control_family().settings]
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((len(keys), 4)))})
    >>> family_scores(data.assign_coords(key=("setting", keys)), family_rows()[0]).shape
    (4,)
    """
    check.labelled("dataset", dataset, "key", "score")
    key, keys = family_setting(row).key, dataset["key"].values.tolist()
    if key not in keys:
        raise ValueError(
            f"row is {check.brief(row)}; it should be one that control-family holds, and dataset its result"
        )
    return np.asarray(dataset["score"].values[keys.index(key)])


def family_p_values(dataset: xarray.Dataset, *, dynamic: bool = False) -> Array:
    """Return the p-value of "better than both ends" for each panel and σ inside, (6, 9), not corrected.

    It is the larger of two one-sided paired ones, and 1 for a row that is given up.

    Parameters
    ----------
    dataset : xarray.Dataset
        As in `family_scores`.
    dynamic : bool
        Whether σ inside is drawn from N(m, 0.01²).

    Examples
    --------
    >>> import xarray
    >>> keys = [setting.key for setting in control_family().settings]
    >>> data = xarray.Dataset({"score": (("setting", "run"), np.zeros((len(keys), 4)))})
    >>> family_p_values(data.assign_coords(key=("setting", keys))).shape
    (6, 9)
    """
    check.flag("dynamic", dynamic)
    found = np.ones((len(PLACES), len(TENTHS) - 2))
    for k, place in enumerate(PLACES):
        ends = [family_scores(dataset, panel_row("gradient", place, end)) for end in (0.0, 1.0)]
        for j, row in enumerate(_inside(place, dynamic=dynamic)):
            if not given_up(row):
                scores = family_scores(dataset, row)
                found[k, j] = max(float(paired_p_values(scores, end)) for end in ends)
    return found
