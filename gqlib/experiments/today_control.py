r"""Where it stands today, in control: fifteen learners on three tasks, each at step sizes that an equal search chose.

The protocol, written down before the first of its runs was made:

1. *Tasks*, by `gqlib.engine`: mountain car (100 episodes, cut off after 1000 steps, γ = 1), Acrobot (60 episodes, 500
   steps, γ = 1) and cart-pole (150 episodes, 500 steps, γ = 0.99). Behaviour ε-greedy with ε = 0.1, θ₀ = 0, the
   engine's own tiles: 8 tilings without a hash, so that there are no collisions and nothing to draw for each run.
2. *Rows*: `ROWS`. A learner that can be off-policy has the greedy target, except that the paper's GQ(σ, λ) gets both
   targets (the paper does not say which it used); at σ = 1 the target plays no part. Algorithm 1 as printed, with v of
   the step before, has the ε-greedy one.
3. *Grid*: 48 cells for every row. Three λ each, 0, 0.8 and 0.95. A learner with one step size has 16 α from 2⁻⁹ to
   2⁻³; one with two has four of them and four η from 2⁻⁹ to 1. QRC(λ) appears twice: with η = κ = 1, as its authors
   advise, and 16 α; and with four α and four ridges κ.
4. *Search*: 40 runs of each cell, seed `SEARCH_SEED`. The rule: the largest mean score; of equal ones the first.
   (The first protocol had 5, and a step of QRC(λ) that was not its authors'. With that put right all rows were
   searched with 40, after the fresh runs of the first choices had been seen, because five had turned out to be a
   lottery in `gqlib.experiments.search_drawn_tiles`; the rule, the grid and the seeds stayed as they were.)
5. *Results*: 100 fresh runs of the chosen cell, seed `today.SEED`. Runs of equal number share their random numbers, so
   that rows can be compared in pairs.
6. *Score* of a run: the mean return over all of its episodes, which is the area under its learning curve. From the
   episode of divergence on every return is the worst of the task: −1000, −500 and 0. Diverged runs are counted.
7. *Scale*: 0 is the mean score of the behaviour that chooses at random, 1 that of Sarsa(λ).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gqlib import _validate as check
from gqlib.control.setting import TargetPolicy
from gqlib.engine import EngineSetting, run_setting
from gqlib.experiments.search import ranked, written_down
from gqlib.experiments.today import SEED
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.setting import CheckedSetting, Setting
from gqlib.sweeps.store import Arrays
from gqlib.sweeps.sweep import Experiment

if TYPE_CHECKING:
    import xarray


__all__ = [
    "BASELINE",
    "FEW",
    "RANDOM",
    "ROWS",
    "SEARCH_SEED",
    "TASKS",
    "RowSetting",
    "cells_of",
    "chosen",
    "chosen_cells",
    "engine_setting",
    "today_control",
    "today_search",
]


class TaskNumbers(NamedTuple):
    """Episodes of a run, where an episode is cut off, γ, and the worst return."""

    episodes: int
    max_steps: int
    gamma: float
    worst: float


class Row(NamedTuple):
    """A learner of the engine, its target policy, σ, and what is searched beside α and λ: nothing, η or κ."""

    learner: str
    target: TargetPolicy = "greedy"
    sigma: float = 0.5
    second: str = ""


SOFT: Final = "epsilon-greedy"
TASKS = {
    "mountain_car": TaskNumbers(100, 1000, 1.0, -1000.0),
    "acrobot": TaskNumbers(60, 500, 1.0, -500.0),
    "cart_pole": TaskNumbers(150, 500, 0.99, 0.0),
}
ROWS = {
    "Sarsa(λ)": Row("sarsa", SOFT),
    "Expected Sarsa(λ)": Row("expected_sarsa", SOFT),
    "True online Sarsa(λ)": Row("true_online_sarsa", SOFT),
    "Watkins' Q(λ)": Row("watkins"),
    "Greedy-GQ(λ)": Row("greedy_gq", second="eta"),
    "QRC(λ)": Row("qrc"),
    "QRC(λ), κ searched": Row("qrc", second="kappa"),
    "GQ(0, λ) printed, greedy": Row("gq", sigma=0.0, second="eta"),
    "GQ(½, λ) printed, greedy": Row("gq", second="eta"),
    "GQ(0, λ) printed, ε-greedy": Row("gq", SOFT, 0.0, "eta"),
    "GQ(½, λ) printed, ε-greedy": Row("gq", SOFT, 0.5, "eta"),
    "GQ(1, λ) printed": Row("gq", SOFT, 1.0, "eta"),
    "GQ(½, λ) lagged, ε-greedy": Row("gq_lagged", SOFT, 0.5, "eta"),
    "GQ(½, λ) corrected": Row("corrected_gq", second="eta"),
    "GQ(½, λ) textbook": Row("textbook_gq", second="eta"),
}
BASELINE = "Sarsa(λ)"
RANDOM = "random"  # a row without learning, for the zero of the scale
SEARCH_SEED, SEARCH_RUNS, RUNS, VERSION = 2021, 40, 100, "3"
LAMS = (0.0, 0.8, 0.95)
MANY = tuple(float(f"{2.0 ** (-9 + 6 * k / 15):.4g}") for k in range(16))
FEW = MANY[::5]
SECOND = {"eta": tuple(2.0**k for k in (-9, -6, -3, 0)), "kappa": (0.01, 0.1, 1.0, 4.0)}
QUARTER = 4  # the last of so many parts of a run is its end

Cell = tuple[float, float, float]  # λ, α, and η or κ


def cells_of(row: str) -> tuple[Cell, ...]:
    """The cells of a row: λ, α, and η or κ (1 where a learner has none).

    Examples
    --------
    >>> {len(cells_of(row)) for row in ROWS}, cells_of("Sarsa(λ)")[0]
    ({48}, (0.0, 0.001953, 1.0))
    """
    second = ROWS[check.choice("row", row, tuple(ROWS))].second
    alphas, seconds = (FEW, SECOND[second]) if second else (MANY, (1.0,))
    return tuple(product(LAMS, alphas, seconds))


@dataclass(frozen=True)
class RowSetting(CheckedSetting):
    """A row on a task, at some of its cells side by side.

    Examples
    --------
    >>> RowSetting("acrobot", "QRC(λ)", ((0.8, 0.01, 1.0),)).cells
    ((0.8, 0.01, 1.0),)
    """

    task: str
    row: str
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("task", self.task, tuple(TASKS))
        check.choice("row", self.row, (*ROWS, RANDOM))


def engine_setting(task: str, row: str, cell: Cell) -> EngineSetting:
    """What the engine runs for a cell.

    Examples
    --------
    >>> engine_setting("cart_pole", "Greedy-GQ(λ)", (0.8, 0.01, 0.125)).eta
    0.125
    """
    numbers = TASKS[check.choice("task", task, tuple(TASKS))]
    row = check.choice("row", row, (*ROWS, RANDOM))
    lam, alpha, second = check.array("cell", cell, (3,)).tolist()
    given = Row("sarsa", SOFT) if row == RANDOM else ROWS[row]
    more: dict[str, Any] = {given.second: second} if given.second else {}
    return EngineSetting(
        task,
        given.learner,
        lam=lam,
        gamma=numbers.gamma,
        alpha=alpha,
        epsilon=1.0 if row == RANDOM else 0.1,
        target=given.target,
        episodes=numbers.episodes,
        max_steps=numbers.max_steps,
        sigma=given.sigma,
        **more,
    )


def control_runs(setting: RowSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Returns of every episode, worst from divergence on, and which runs diverged, cell by cell.

    Returns
    -------
    dict
        ``returns`` (runs, cells, episodes) in single precision and ``diverged`` (runs, cells).

    Examples
    --------
    >>> kept = control_runs(RowSetting("cart_pole", "Sarsa(λ)", ((0.8, 0.01, 1.0),)), 2, 0, first_run=0)
    >>> {name: array.shape for name, array in kept.items()}
    {'returns': (2, 1, 150), 'diverged': (2, 1)}
    """
    found = [
        run_setting(
            engine_setting(setting.task, setting.row, cell), runs, seed, first_run=first_run
        )
        for cell in setting.cells
    ]
    worst = TASKS[setting.task].worst
    returns = [np.where(np.isnan(one.returns), worst, one.returns) for one in found]
    return {
        "returns": np.stack(returns, axis=1).astype(np.float32),
        "diverged": np.stack([one.diverged for one in found], axis=1),
    }


def search_summary(arrays: Arrays) -> dict[str, Labelled]:
    """The mean return of each run at each cell, and how many runs diverged there.

    Examples
    --------
    >>> kept = search_summary({"returns": np.ones((2, 3, 4)), "diverged": np.zeros((2, 3), dtype=bool)})
    >>> kept["score"][0], kept["diverged"][1].tolist()
    (('run', 'cell'), [0, 0, 0])
    """
    scores = arrays["returns"].mean(axis=2, dtype=np.float64)
    diverged = arrays["diverged"].sum(axis=0).astype(np.int16)
    return {
        "score": (("run", "cell"), scores.astype(np.float32)),
        "diverged": (("cell",), diverged),
    }


def control_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Of runs of one cell: the mean return of each, over all episodes and over the last quarter, and which diverged.

    Examples
    --------
    >>> kept = control_summary({"returns": np.ones((2, 1, 8)), "diverged": np.zeros((2, 1), dtype=bool)})
    >>> kept["score"][1].tolist(), kept["final"][0]
    ([1.0, 1.0], ('run',))
    """
    returns = arrays["returns"][:, 0].astype(np.float64)
    last = returns[:, -(returns.shape[1] // QUARTER) :]
    return {
        "score": (("run",), returns.mean(axis=1).astype(np.float32)),
        "final": (("run",), last.mean(axis=1).astype(np.float32)),
        "diverged": (("run",), arrays["diverged"][:, 0]),
    }


def _experiment(name: str, title: str, settings: Iterable[Setting], **about: Any) -> Experiment:
    return Experiment(name, title, "control of today", tuple(settings), version=VERSION, **about)


def today_search() -> Experiment:
    """Every cell of every row on every task, on the seeds of the search.

    Examples
    --------
    >>> len(today_search().settings)
    45
    """
    return _experiment(
        "today-search",
        "Control today: the search for step sizes",
        [RowSetting(task, row, cells_of(row)) for task, row in product(TASKS, ROWS)],
        runs=SEARCH_RUNS,
        seed=SEARCH_SEED,
        runs_per_task=5,
        summary="search of today",
    )


def chosen_cells(search: xarray.Dataset) -> dict[str, list[Cell]]:
    """Apply the rule to the result of ``today-search``: for each row, its cell on each task.

    Examples
    --------
    Where all cells are equal, the first is taken:

    >>> import xarray
    >>> data = xarray.Dataset({"score": (("setting", "run", "cell"), np.ones((45, 1, 48)))})
    >>> data = data.assign_coords(key=("setting", [setting.key for setting in today_search().settings]))
    >>> chosen_cells(data)["Sarsa(λ)"][0]
    (0.0, 0.001953, 1.0)
    """
    check.labelled("search", search, "key", "score")
    if search["key"].values.tolist() != [setting.key for setting in today_search().settings]:
        raise ValueError("search lacks settings; it should be the whole result of today-search")
    found: dict[str, list[Cell]] = {row: [] for row in ROWS}
    scores = search["score"].values.astype(np.float64).mean(axis=1)
    for (_, row), each in zip(product(TASKS, ROWS), scores, strict=True):
        found[row].append(ranked(dict(zip(cells_of(row), -each, strict=True)))[0])
    return found


@cache
def chosen() -> dict[str, list[Cell]]:
    """What the search chose: `chosen_cells`, written down in ``today_control_chosen.json``; a test compares.

    Examples
    --------
    >>> set(chosen()) == set(ROWS)
    True
    """
    written = written_down("today_control")
    return {
        row: [(lam, alpha, second) for lam, alpha, second in cells]
        for row, cells in written.items()
    }


def today_control() -> Experiment:
    """Every row at its chosen cell on every task, and the behaviour at random, on fresh seeds.

    Examples
    --------
    >>> len(today_control().settings)
    48
    """
    settings = [
        RowSetting(task, row, (chosen()[row][k],))
        for (k, task), row in product(enumerate(TASKS), ROWS)
    ]
    settings += [RowSetting(task, RANDOM, ((0.0, 0.0, 1.0),)) for task in TASKS]
    return _experiment(
        "today-control",
        "Control today: every learner at its chosen step sizes",
        settings,
        runs=RUNS,
        seed=SEED,
        runs_per_task=RUNS,
        summary="control of today",
    )
