r"""Live figures: one form for all, and the block that a chapter shows.

A chapter says ``live.show("two-state", "fig-phase")`` below a static figure. In the HTML edition `_static/live_figures.js`
draws the live figure of that name (declared in `kit.live_figures`) in its place, and the static one stays a click away.
Where no script runs (JupyterLab, print, a browser without JavaScript) the static figure is all there is. Records hold
only the two names: the numbers are made when the book is built (`_ext/live_figures.py`).

A figure is a small spreadsheet. Its *cells* are numbers or rows of numbers: formulas that sympy prints, tables that gqlib
fills, and what `live_figures.js` makes of other cells (`KINDS` there). Its panels draw columns of cells, and its
read-outs are sentences with cells in them. What a slider does not change is not computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gqlib import _validate as check

PLAIN = "In the HTML edition this figure is live where JavaScript runs."


def block(name: str, figure: str) -> str:
    """The HTML that the book's script turns into the live figure `name` in place of the static `figure`.

    Examples
    --------
    >>> print(block("bowl", "fig-hill"))
    <div class="gq-explorable" data-explorable="bowl" data-figure="fig-hill">
    <p class="gq-note">In the HTML edition this figure is live where JavaScript runs.</p>
    </div>
    """
    for what, given in (("name", name), ("figure", figure)):
        if not isinstance(given, str) or not given.replace("-", "").isalnum():
            raise ValueError(
                f"{what} is {check.brief(given)}; it should be words and hyphens, such as 'fig-phase'"
            )
    head = f'<div class="gq-explorable" data-explorable="{name}" data-figure="{figure}">'
    return f'{head}\n<p class="gq-note">{PLAIN}</p>\n</div>'


def show(name: str, figure: str) -> None:
    """Make the static `figure` of the page live; outside HTML, one sentence stands in for it.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()) as shown:
    ...     show("bowl", "fig-hill")
    >>> 'data-figure="fig-hill"' in shown.getvalue()
    True
    """
    html = block(name, figure)
    try:
        from IPython.display import display
    except ImportError:
        return
    display({"text/html": html, "text/plain": PLAIN}, raw=True)  # type: ignore[no-untyped-call,unused-ignore]


@dataclass(frozen=True)
class Slider:
    """A native range input; with `log`, it moves log₁₀ of what it shows; with `whole`, that is rounded."""

    name: str
    label: str
    low: float
    high: float
    value: float
    step: float = 0.01
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Preset:
    """A button that sets some sliders, to what they show, and perhaps the choice."""

    label: str
    values: Mapping[str, float]
    choice: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of this kind; `uses` are the cells and sliders that it reads, `binds` what it sets for them."""

    kind: str
    given: Mapping[str, Any]
    uses: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    source: str | Mapping[str, str] = ""


def formula(of: str, source: str | Mapping[str, str]) -> Cell:
    """A function in JavaScript, or one for each choice, of these cells and sliders."""
    names = tuple(of.split())
    uses = (*names, "choice") if isinstance(source, Mapping) else names
    return Cell("formula", {"of": names}, uses, source=source)


def constant(data: Any) -> Cell:
    """Numbers or rows that no slider changes."""
    return Cell("constant", {"data": data})


def table(axes: Mapping[str, Sequence[Any] | None], data: Any) -> Cell:
    """Data at the setting: nested lists by the nearest value of each axis, or by name where an axis has no values."""
    return Cell(
        "table", {"axes": [[name, grid] for name, grid in axes.items()], "data": data}, tuple(axes)
    )


def sweep(of: str, over: str, low: float, high: float | str, count: int, log: bool = False) -> Cell:
    """A row ``[x, …]`` of a cell for each x of a grid; `log` means that the ends are powers of ten."""
    given = {"of": of, "over": over, "low": low, "high": high, "count": count, "log": log}
    return Cell("sweep", given, (of, high) if isinstance(high, str) else (of,), (over,))


def put(of: str, **values: float) -> Cell:
    """A cell at another setting of some sliders."""
    return Cell("put", {"of": of, "values": values}, (of,), tuple(values))


def row(of: str, index: int | str) -> Cell:
    """One row of a cell, by number or by the first number of another cell."""
    return Cell("row", {"of": of, "index": index}, (of, index) if isinstance(index, str) else (of,))


def rows(of: str, width: int) -> Cell:
    """A list of numbers in rows."""
    return Cell("rows", {"of": of, "width": width}, (of,))


def least(of: str, column: int) -> Cell:
    """The row of a cell in which this column is least."""
    return Cell("least", {"of": of, "column": column}, (of,))


def eigenvalues(of: str) -> dict[str, Cell]:
    """Cells with the characteristic polynomial of a matrix, by rows, and its eigenvalues as pairs, the largest first."""
    characteristic = Cell("characteristic", {"of": of}, (of,))
    return {f"{of}_polynomial": characteristic, f"{of}_eigenvalues": roots(f"{of}_polynomial")}


def roots(of: str) -> Cell:
    """The roots, as pairs, of the polynomial with these coefficients after a leading 1."""
    return Cell("roots", {"of": of}, (of,))


def flow(of: str, start: str, time: str = "t") -> Cell:
    """``exp(tA) x`` of a matrix, by rows, and a vector."""
    return Cell("flow", {"of": of, "start": start, "time": time}, (of, start, time))


def fold(of: str, start: str, lines: str) -> Cell:
    """Rows ``[k, state]``: `of` makes the next state of *state* and *line*."""
    given = {"of": of, "start": start, "lines": lines}
    return Cell("fold", given, (of, start, lines), ("state", "line"))


def summed(of: str, times: str) -> Cell:
    """Rows ``[share in %, P, P(as much or more)]`` of a sum of independent counts; the second column has one's law."""
    return Cell("summed", {"of": of, "times": times}, (of, times))


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, or such that it holds the columns `fit` of cells and what to `include`.

    With `trim` the outermost share of the data on either side is left out; nothing beyond ±`most` is shown.
    """

    label: str
    low: float | str = 0.0
    high: float | str = 1.0
    ticks: tuple[float, ...] | None = None
    kind: str = ""
    knee: float = 1.0
    fit: tuple[tuple[str, int], ...] = ()
    include: tuple[float, ...] = ()
    margin: float = 0.1
    most: float = 1e300
    trim: float = 0.0


@dataclass(frozen=True)
class Mark:
    """What is drawn of a cell: columns `x` and `y` of its rows, or `points` of numbers, sliders and ``cell.index``."""

    kind: str
    of: str = ""
    x: int = 0
    y: int = 1
    colour: str = ""
    dashes: str = ""
    size: float = 0.0
    points: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Handle:
    """A point at ``(x, y)`` that one can move; it sets the sliders `along`."""

    label: str
    along: tuple[str, ...]
    point: tuple[Any, Any]


@dataclass(frozen=True)
class Panel:
    """Axes with marks; the key lists ``(colour, dashes, label)``."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    key: tuple[tuple[str, str, str], ...] = ()
    handle: Handle | None = None


@dataclass(frozen=True)
class Figure:
    """One live figure; in sentences ``{cell.2}`` is a number of a cell, ``{cell.0:a|b|c}`` a word by its sign.

    The caption says what the live figure shows; it replaces that of the static one, which goes where that goes. With a
    `pick`, the cell *map* is shown as a table whose rows can be picked by name.
    """

    name: str
    label: str
    sliders: tuple[Slider, ...]
    cells: Mapping[str, Cell]
    panels: tuple[Panel, ...]
    verdict: str
    numbers: tuple[tuple[str, str, str], ...]
    caption: str
    note: str = ""
    choices: tuple[str, ...] = ()
    choice_label: str = ""
    presets: tuple[Preset, ...] = ()
    pick: str = ""

    def inputs(self, name: str) -> set[str]:
        """The sliders and the like on which a cell, or what is no cell, depends."""
        if name not in self.cells:
            return {name}
        cell = self.cells[name]
        return set[str]().union(*map(self.inputs, cell.uses)) - set(cell.binds)

    def script(self) -> str:
        """The figure in JavaScript."""
        cells = {
            name: {"kind": cell.kind, "inputs": sorted(self.inputs(name)), **cell.given}
            for name, cell in self.cells.items()
        }
        told = asdict(self) | {"cells": cells}
        formulas = ",\n".join(
            f"{json.dumps(name)}: {_literal(cell.source)}"
            for name, cell in self.cells.items()
            if cell.source
        )
        settings = json.dumps(told, ensure_ascii=False)
        return (
            f'(window.gqFigures = window.gqFigures || {{}})["{self.name}"] = '
            f'{settings[:-1]},\n"formulas": {{\n{formulas}}}}};\n'
        )


def _literal(source: str | Mapping[str, str]) -> str:
    if isinstance(source, str):
        return source
    return "{" + ",\n".join(f"{json.dumps(key)}: {one}" for key, one in source.items()) + "}"
