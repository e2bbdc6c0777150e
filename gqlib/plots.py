"""A quick figure of any result, `gq plot`, and the look that it shares with the figures of the book.

What is on the axes follows from the data. A variable with a dimension besides setting and run (episodes, checkpoints)
is drawn against it, a curve for each setting; one without is drawn against the field of the settings that has the most
values, as a rule σ. Fields that vary make the curves and the panels, unless another field determines them. Runs are
averaged, with 95% intervals; those that are not finite have diverged, and are left out and counted.
"""

from __future__ import annotations

import contextlib
import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

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
    "new",
    "plot_result",
]

Frame = Any  # a table of pandas

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
CYCLE = (
    (BLUE, "-"),
    (RED, "--"),
    (GREEN, "-."),
    (PINK, ":"),
    (ORANGE, (0, (5, 1, 1, 1))),
    (SKY, (0, (3, 2))),
)

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
    "legend.facecolor": "white",
    "legend.edgecolor": "none",
    "legend.framealpha": 0.8,
    "image.cmap": "cividis",
}

# What is drawn unless another variable is asked for: the first of these that a result has, or its first one that does
# not only say which runs diverged.
PREFERRED = ("mean", "score", "mspbe_mean", "mspbe", "size", "lengths", "values")
MOST_PANELS = 24
SPAN = 1000.0  # the ratio of the largest to the smallest value from which an axis is logarithmic


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
    with check.package("matplotlib", "plot"):
        import matplotlib
        from cycler import cycler  # type: ignore[import-untyped,unused-ignore]
        from matplotlib import pyplot

    matplotlib.rcParams.update(STYLE)
    colours, styles = zip(*CYCLE, strict=True)
    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=colours) + cycler(linestyle=styles)
    figure, axes = pyplot.subplots(rows, columns, **options)
    return figure, axes


def plot_result(dataset: xarray.Dataset, variable: str = "") -> Figure:
    """Draw one variable of a result; returns the figure.

    Parameters
    ----------
    dataset : xarray.Dataset
        A result of :func:`gqlib.sweeps.results.collect` or :func:`gqlib.sweeps.results.load_results`.
    variable : str
        What to draw; by default learning curves or scores, where there are any.

    Raises
    ------
    ValueError
        If there is no such variable, or too much of it for one figure; it says what to choose from.

    Examples
    --------
    >>> import xarray
    >>> from matplotlib import pyplot
    >>> data = xarray.Dataset({"score": (("setting", "run"), [[3.0, 5.0], [4.0, 6.0], [8.0, np.inf]])})
    >>> figure = plot_result(data.assign_coords(sigma=("setting", [0.0, 0.5, 1.0])))
    >>> (axes,) = figure.axes
    >>> axes.get_xlabel(), axes.lines[0].get_ydata().tolist(), figure.get_suptitle()
    ('sigma', [4.0, 5.0, 8.0], '1 of 6 values not finite, left out')
    >>> pyplot.close(figure)
    """
    from gqlib.experiments.mountain_car_results import with_scores

    check.labelled("dataset", dataset)
    check.instance("variable", variable, str)
    if {"steps_total", "steps_last", "episodes", "run"} <= {*dataset.variables, *dataset.sizes}:
        dataset = with_scores(dataset)
        if "mean" in dataset:
            dataset["mean"].attrs["long_name"] = "mean steps per episode"
    known = [str(name) for name, array in dataset.data_vars.items() if "setting" in array.dims]
    if variable or not known:
        return _figure(dataset, check.choice("variable", variable, known))
    *first, last = [name for name in PREFERRED if name in known] or sorted(
        known, key="diverged".__eq__
    )[:1]
    for name in first:
        with contextlib.suppress(
            ValueError
        ):  # too much for one figure: what comes next has fewer dimensions
            return _figure(dataset, name)
    return _figure(dataset, last)


def _figure(dataset: xarray.Dataset, variable: str) -> Figure:
    centre, half, lost = _averaged(dataset, variable)
    axis = [str(dim) for dim in centre.dims if dim != "setting"]
    if len(axis) > 1:
        chosen = f"choose values of all but one of these (in gq plot: --where {axis[0]}=0)"
        raise ValueError(f"variable is {variable!r}, by {' and '.join(axis)}; {chosen}")
    frame = centre.to_dataset(name="middle").assign(half=half).to_dataframe().reset_index()
    fields = _fields(dataset, frame)
    x = axis[0] if axis else fields.pop(0)
    figure: Figure = _drawn(
        frame, x, fields, variable, dataset[variable].attrs.get("long_name", variable)
    )
    figure.suptitle(lost, fontsize=10)
    return figure


def _averaged(
    dataset: xarray.Dataset, variable: str
) -> tuple[xarray.DataArray, xarray.DataArray, str]:
    """Mean over runs, half the width of its 95% interval (NaN where there is none), and how much was left out."""
    from scipy.stats import t

    single = [
        name for name, size in dataset.sizes.items() if size == 1 and name not in ("setting", "run")
    ]
    values = _with_levels(dataset)[variable].squeeze(
        [dim for dim in single if dim in dataset[variable].dims]
    )
    values = values.astype(float)
    told, runs = "", dataset.sizes.get("run", 0)
    if "run" in values.dims:
        finite: Any = np.isfinite(values)
        lost, runs = int((~finite).sum()), finite.sum("run")
        told = f"{lost} of {values.size} values not finite, left out" if lost else ""
        values = values.where(finite)
        mean, variance = values.mean("run"), values.var("run", ddof=1).where(runs > 1)
    else:
        by_episode = variable == "mean" and "episode" in values.dims and "variance" in dataset
        if by_episode and not set(dataset["variance"].dims) <= set(values.dims):
            raise ValueError(
                f"dataset has variance by {dataset['variance'].dims}; it should be by those of the mean"
            )
        mean, variance = values, dataset["variance"] if by_episode else np.nan * values
    half = t.ppf(0.975, np.maximum(runs - 1, 1)) * np.sqrt(variance / np.maximum(runs, 1))
    return mean, half, told


def _with_levels(dataset: xarray.Dataset) -> xarray.Dataset:
    """Label a dimension such as ``sigma`` where all settings have the same list of ``sigmas``."""
    for dim, size in dataset.sizes.items():
        if dim in dataset.coords or f"{dim}s" not in dataset.coords:
            continue
        lists = set(map(str, dataset[f"{dim}s"].values))
        levels = json.loads(lists.pop()) if len(lists) == 1 else []
        if isinstance(levels, list) and len(levels) == size:
            dataset = dataset.assign_coords({dim: levels})
    return dataset


def _fields(dataset: xarray.Dataset, frame: Frame) -> list[str]:
    """Fields that tell the settings apart, numbers with many values first; without any, the position."""
    names = [
        str(name)
        for name, array in dataset.coords.items()
        if array.dims == ("setting",) and name != "key"
    ]
    values = frame[names].nunique()
    names = [
        name
        for name in sorted(names, key=lambda name: (-values[name], name != "sigma"))
        if values[name] > 1
    ]
    numbers = [name for name in names if frame[name].dtype.kind in "iuf"]
    chosen: list[str] = []
    for name in dict.fromkeys([*numbers[:1], *names]):
        told_apart = len(frame[chosen].drop_duplicates()) if chosen else 1
        if len(frame[[*chosen, name]].drop_duplicates()) > told_apart:
            chosen.append(name)
    return chosen or ["setting"]


def _groups(frame: Frame, names: list[str]) -> list[tuple[tuple[Any, ...], Frame]]:
    return list(frame.groupby(names, sort=False)) if names else [((), frame)]


def _drawn(frame: Frame, x: str, fields: list[str], variable: str, label: str) -> Any:
    """The first field makes the curves, the others the panels."""
    lines, rest = fields[:1], fields[1:]
    panels = _groups(frame, rest)
    if len(panels) > MOST_PANELS:
        example = f"{rest[0]}={frame[rest[0]].iloc[0]}"
        raise ValueError(
            f"variable is {variable!r}, in {len(panels)} panels, one for each {', '.join(rest)}; "
            f"choose some, for example {example} (in gq plot: --where {example})"
        )
    across = min(len(panels), 4)
    down = -(-len(panels) // across)
    size = (7.0, 3.6) if len(panels) == 1 else (3.0 * across + 1.0, 2.4 * down + 0.4)
    figure, axes = new(down, across, figsize=size, squeeze=False, sharex=True, sharey=True)
    style = _style(frame, lines)
    for ax, (values, part) in zip(axes.flat, panels, strict=False):
        for value, curve in _groups(part, lines):
            ordered = curve.sort_values(x)
            middle, half = ordered["middle"], ordered["half"]
            (line,) = ax.plot(ordered[x], middle, **style(value))
            ax.fill_between(
                ordered[x],
                middle - half,
                middle + half,
                color=line.get_color(),
                alpha=0.15,
                linewidth=0,
            )
        ax.set_title(_title(rest, values), fontsize=8)
    positive = frame["middle"][np.isfinite(frame["middle"])]
    if len(positive) and positive.min() > 0 and positive.max() > SPAN * positive.min():
        axes.flat[0].set_yscale("log")
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes.flat[max(0, len(panels) - across) : len(panels)]:
        ax.set_xlabel(x)
        ax.xaxis.set_tick_params(labelbottom=True)
    for ax in axes[:, 0]:
        ax.set_ylabel(label)
    if lines:
        _explained(figure, axes, frame[lines[0]], lines[0])
    return figure


def _title(names: list[str], values: tuple[Any, ...]) -> str:
    """Fields and values, without the brackets of JSON, in lines that a panel has room for."""
    text = ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
    plain = re.sub(r'[\[\]{}"]', "", text).replace(",", ", ").replace(",  ", ", ")
    return "\n".join(textwrap.wrap(plain, 40))


def _style(frame: Frame, lines: list[str]) -> Any:
    """How a curve looks, by the value of its field: the book's styles for a few, shades for many numbers."""
    from matplotlib import colormaps

    levels = frame[lines[0]].unique().tolist() if lines else []
    if len(levels) > len(CYCLE) and not isinstance(levels[0], str):
        low, high = float(min(levels)), float(max(levels))
        shades = colormaps["cividis"]
        return lambda value: {
            "color": shades((value[0] - low) / (high - low)),
            "linestyle": "-",
            "linewidth": 1.2,
        }
    cycle = [*CYCLE, *((colour, ":") for colour, _ in CYCLE)]
    looks = {level: cycle[i % len(cycle)] for i, level in enumerate(levels)}
    default = CYCLE[0]

    def style(value: tuple[Any, ...]) -> dict[str, Any]:
        colour, dashes = looks[value[0]] if value else default
        return {"color": colour, "linestyle": dashes, "label": str(value[0]) if value else None}

    return style


def _explained(figure: Any, axes: Any, values: Any, name: str) -> None:
    """A legend for a few curves, a scale of colours for many."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    handles, labels = axes.flat[0].get_legend_handles_labels()
    if labels:
        columns = -(-len(labels) // 14)
        figure.legend(
            handles, labels, title=name, loc="outside right center", fontsize=8, ncols=columns
        )
        return
    scale = ScalarMappable(Normalize(float(values.min()), float(values.max())), "cividis")
    figure.colorbar(scale, ax=axes, label=name)
