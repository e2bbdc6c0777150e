"""The look of the book's figures, and the few plots that several chapters share: data in, axes out.

Figures are drawn on white; the book's style sheet inverts them in dark mode, keeping the hues.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gqlib._validate import Array
from gqlib.edition.drawn import drawn

__all__ = [
    "BLACK",
    "BLUE",
    "CYCLE",
    "GREEN",
    "ORANGE",
    "PINK",
    "RED",
    "SKY",
    "STYLE",
    "YELLOW",
    "band",
    "new",
    "panel",
    "show",
]

# Okabe & Ito (2008): eight colours that people with any common type of colour vision can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
# Line styles go with the colours, so that a figure can be read in grey as well.
CYCLE = ((BLUE, "-"), (RED, "--"), (GREEN, "-."), (PINK, ":"), (ORANGE, (0, (5, 1, 1, 1))), (SKY, (0, (3, 2))))

STYLE: dict[str, Any] = {
    "figure.figsize": (7.0, 3.6),
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "lines.linewidth": 2.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "image.cmap": "cividis",
}


def new(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes in the book's style; `options` go to `matplotlib.pyplot.subplots`.

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> figure, axes = new(1, 2)
    >>> len(axes), axes[0].plot([0, 1])[0].get_color() == BLUE
    (2, True)
    >>> pyplot.close(figure)
    """
    import matplotlib
    from cycler import cycler  # type: ignore[import-untyped,unused-ignore]
    from matplotlib import pyplot

    matplotlib.rcParams.update(STYLE)
    colours, styles = zip(*CYCLE, strict=True)
    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=colours) + cycler(linestyle=styles)
    figure, axes = pyplot.subplots(rows, columns, **options)
    return figure, axes


def show(figure: Any) -> None:
    """Hand the figure to the notebook as its only output (does nothing outside a notebook).

    Beside the picture goes a line of text that says what was drawn (`gqlib.edition.drawn`); records are compared by
    that line.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> from matplotlib import pyplot
    >>> figure, _ = new()
    >>> with redirect_stdout(StringIO()):
    ...     show(figure)
    >>> pyplot.fignum_exists(figure.number)  # it is closed, and not shown a second time
    False
    """
    from matplotlib import pyplot

    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return
    shell = get_ipython()  # type: ignore[no-untyped-call,unused-ignore]
    if shell is not None:
        pictures, about = shell.display_formatter.format(figure)
        display(pictures | {"text/plain": drawn(figure)}, metadata=about, raw=True)  # type: ignore[no-untyped-call,unused-ignore]
    pyplot.close(figure)


def band(axes: Any, x: ArrayLike, runs: ArrayLike, label: str, **options: Any) -> tuple[Any, Any]:
    """The mean over runs (rows) with its 95% interval as a band, by Student's t.

    Returns the mean and the half-width, so that a notebook can assert on what is plotted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> mean, half = band(axes, [0, 1], [[0.0, 2.0], [2.0, 4.0]], "two runs")
    >>> mean.tolist(), half.round(2).tolist()  # t = 12.71 with one degree of freedom, standard error 1
    ([1.0, 3.0], [12.71, 12.71])
    """
    mean, half = mean_and_half(runs)
    (line,) = axes.plot(x, mean, label=label, **options)
    axes.fill_between(x, mean - half, mean + half, alpha=0.25, color=line.get_color(), linewidth=0)
    return mean, half


def mean_and_half(runs: ArrayLike) -> tuple[Array, Array]:
    """The mean over runs (rows) and the half-width of its 95% interval, by Student's t."""
    from scipy import stats

    data = np.asarray(runs, dtype=float)
    half = stats.t.ppf(0.975, len(data) - 1) * data.std(axis=0, ddof=1) / np.sqrt(len(data))
    return np.asarray(data.mean(axis=0)), np.asarray(half)


def panel(axes: Any, text: str) -> None:
    """Name a panel in its upper right corner: captions belong to the book, and a figure has no title.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> panel(axes, "p = 512")
    >>> axes.texts[0].get_text(), axes.get_title()
    ('p = 512', '')
    """
    axes.annotate(text, (1.0, 1.0), (-2, 2), xycoords="axes fraction", textcoords="offset points", ha="right",
                  va="bottom", fontsize=8)  # fmt: skip
