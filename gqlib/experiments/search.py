r"""One rule for every search for step sizes: candidates in stages, survivors, one choice, fresh runs.

A *row* is what is tuned, for example a method at one σ on one task; a *cell* is a pair (α, η) of
its step sizes. Which rows there are, which cells a row begins with, how many runs a cell gets and
on which seed is data, beside each experiment. The rule is the same everywhere:

1. *Candidates* are the cells of a grid. Where a search follows its optimum, α and η have *ladders*
   of values. If the best cell so far has a neighbour, one rung up or down either ladder, that was
   not tried, the window of cells around it is added; and so on until it has none. No optimum is
   left on an edge.
2. *Statistic*: the mean of a cost over the runs of a cell. A run that diverges costs the most that
   a run can, or takes its cell out. The smallest mean is best; of equal ones the first that was
   tried.
3. *Survivors*: the few best cells of a stage go on to the next, with more runs, on another seed.
   There, too, a best cell with a neighbour that no stage has seen gives it a place.
4. *Choice*: the best cell of the last stage. Choices are written down in ``NAME_chosen.json``
   beside this module, so that settings do not depend on results; tests apply the rule to the
   committed searches and compare.
5. *Results* come from fresh runs of the choices, on a seed that no stage has used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import xarray

    from gqlib._validate import Array

Cell = tuple[float, float]  # α and η
Window = tuple[tuple[float, ...], tuple[float, ...]]  # values of α and of η
Candidate = TypeVar("Candidate")


def ranked(costs: Mapping[Candidate, float]) -> list[Candidate]:
    """The candidates with a finite cost, the smallest first, of equal ones that tried first.

    Examples
    --------
    >>> ranked({"a": 3.0, "b": 1.0, "c": math.inf, "d": 1.0})
    ['b', 'd', 'a']
    """
    return sorted((one for one in costs if math.isfinite(costs[one])), key=costs.__getitem__)


def means(dataset: xarray.Dataset, name: str) -> dict[str, Array]:
    """The mean over runs of an array of a result, by the key of a setting."""
    values = dataset[name].values.mean(axis=dataset[name].get_axis_num("run"))
    return dict(zip(dataset["key"].values.tolist(), values, strict=True))


def written_down(name: str) -> Any:
    """What the searches of an experiment chose."""
    path = files("gqlib.experiments").joinpath(f"{name}_chosen.json")
    return json.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Ladders:
    """Rising values of α and η, and how many of each there are in a window.

    Examples
    --------
    >>> both = Ladders((0.01, 0.02, 0.04, 0.08), (0.25, 1.0, 4.0), (3, 1))
    >>> both.window((0.08, 0.9)), sorted(both.neighbours((0.01, 1.0)))
    (((0.02, 0.04, 0.08), (1.0,)), [(0.01, 0.25), (0.01, 4.0), (0.02, 1.0)])
    """

    alphas: tuple[float, ...]
    etas: tuple[float, ...]
    width: tuple[int, int]

    def rungs(self, cell: Cell) -> tuple[int, int]:
        """The rungs next to a cell, by ratio; the upper of two that are equally near."""
        alpha, eta = (
            min(
                range(len(ladder)),
                key=lambda k: (len(ladder) > 1 and round(abs(math.log(ladder[k] / value)), 6), -k),
            )
            for ladder, value in zip((self.alphas, self.etas), cell, strict=True)
        )
        return alpha, eta

    def window(self, cell: Cell) -> Window:
        """The values around a cell, as far as the ladders reach."""
        alphas, etas = (
            ladder[(first := min(max(at - wide // 2, 0), len(ladder) - wide)) : first + wide]
            for ladder, at, wide in zip(
                (self.alphas, self.etas), self.rungs(cell), self.width, strict=True
            )
        )
        return alphas, etas

    def neighbours(self, cell: Cell) -> set[Cell]:
        """The cells one rung up or down either ladder."""
        i, j = self.rungs(cell)
        return {
            (self.alphas[a], self.etas[b])
            for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
            if 0 <= a < len(self.alphas) and 0 <= b < len(self.etas)
        }


def windows(first: Window, path: Sequence[Cell], ladders: Ladders) -> list[Window]:
    """The windows of a row, given the best cell after each: one more wherever that had an edge."""
    found = [first]
    for cell in path:
        if not ladders.neighbours(cell) <= {one for each in found for one in product(*each)}:
            found.append(ladders.window(cell))
    return found


def climb(
    first: Window, ladders: Ladders, look: Callable[[Window], Sequence[float]]
) -> tuple[list[Cell], dict[Cell, float]]:
    """The best cell after each window, as far as the search goes, and the cost of each cell.

    Examples
    --------
    >>> line = Ladders((1.0, 2.0, 4.0, 8.0, 16.0), (0.0,), (3, 1))
    >>> climb(((1.0, 2.0, 4.0), (0.0,)), line, lambda window: [abs(a - 9.0) for a in window[0]])[0]
    [(4.0, 0.0), (8.0, 0.0), (8.0, 0.0)]
    """
    path: list[Cell] = []
    costs: dict[Cell, float] = {}
    while len(found := windows(first, path, ladders)) > len(path):
        costs |= zip(product(*found[-1]), look(found[-1]), strict=True)
        path.append(ranked(costs)[0])
    return path, costs


def last_stage(
    cells: Sequence[Cell], seen: set[Cell], ladders: Ladders, look: Callable[[Cell], float]
) -> dict[Cell, float]:
    """The costs of the survivors, and of neighbours of the best that no stage had seen."""
    costs = {cell: look(cell) for cell in cells}
    while new := sorted(ladders.neighbours(ranked(costs)[0]) - seen - set(costs)):
        costs |= {cell: look(cell) for cell in new}
    return costs
