"""A row of control settings that differ in their step sizes alone, as one setting: what a search for them needs.

A cell of a row is an ordinary `ControlSetting`, and its runs are those of `run_control`, to the bit. All cells share
their random numbers, so differences between them are paired. Of each run the results keep the number of steps in all
episodes, and of each cell how many runs diverged; a run that diverges counts every later episode at the step limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from gqlib import _validate as check
from gqlib.control.run import run_control
from gqlib.control.setting import ControlSetting, Memory, Method, TargetPolicy
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.setting import CheckedSetting, Count, Fraction, NonNegative
from gqlib.sweeps.store import Arrays

__all__ = ["ControlGrid", "control_grid_runs", "control_grid_summary"]


@dataclass(frozen=True)
class ControlGrid(CheckedSetting):
    """`ControlSetting` for every α of `alphas` and η of `etas`, η varying fastest.

    Parameters
    ----------
    alphas, etas : tuple of float
    method, target, p, memory, sigma, sigma_noise, episodes, max_steps
        As in `ControlSetting`.

    Examples
    --------
    >>> grid = ControlGrid(alphas=(0.001, 0.002), etas=(1.0, 0.5), p=64, episodes=2, max_steps=30)
    >>> [(cell.alpha, cell.eta) for cell in grid.cells()]
    [(0.001, 1.0), (0.001, 0.5), (0.002, 1.0), (0.002, 0.5)]
    """

    alphas: tuple[NonNegative, ...]
    etas: tuple[NonNegative, ...]
    method: Method = "gradient"
    target: TargetPolicy = "greedy"
    p: Count = 1024
    memory: Memory = "int"
    sigma: Fraction = 0.5
    sigma_noise: NonNegative = 0.0
    episodes: Count = 400
    max_steps: Count = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        next(self.cells())  # refuses what no cell could be

    def cells(self) -> Iterator[ControlSetting]:
        """The settings of the row, in the order of its results."""
        shared = vars(self).keys() & ControlSetting.__dataclass_fields__.keys()
        for alpha, eta in product(self.alphas, self.etas):
            yield ControlSetting(
                alpha=alpha, eta=eta, **{name: getattr(self, name) for name in shared}
            )


def control_grid_runs(setting: ControlGrid, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Steps in all episodes and whether the run diverged, for every cell: arrays of shape (runs, cells).

    Examples
    --------
    >>> grid = ControlGrid(alphas=(0.001,), etas=(1.0, 0.5), p=64, episodes=2, max_steps=30)
    >>> control_grid_runs(grid, 3, 0, first_run=0)["steps_total"].tolist()
    [[60, 60], [60, 60], [60, 60]]
    """
    check.instance("setting", setting, ControlGrid)
    results = [run_control(cell, runs, seed, first_run=first_run) for cell in setting.cells()]
    return {
        "steps_total": np.stack([result.steps.sum(axis=1) for result in results], axis=1).astype(
            np.int32
        ),
        "diverged": np.stack([result.diverged for result in results], axis=1),
    }


def control_grid_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Keep the steps of every run and the number of runs that diverged.

    Examples
    --------
    >>> kept = control_grid_summary({"steps_total": np.array([[60, 50]]), "diverged": np.array([[False, True]])})
    >>> kept["steps_total"][0], kept["diverged"][1].tolist()
    (('run', 'cell'), [0, 1])
    """
    check.runs("arrays", arrays, steps_total=2, diverged=2)
    return {
        "steps_total": (("run", "cell"), arrays["steps_total"]),
        "diverged": (("cell",), arrays["diverged"].sum(axis=0).astype(np.int16)),
    }
