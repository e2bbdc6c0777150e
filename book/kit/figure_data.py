"""What a figure shows, as numbers: one table for a whole figure, read from what was drawn.

The table is made from the artists themselves, when the figure is drawn, and travels inside the picture
(`kit.figures.png`): a figure cannot show one thing and its table say another. A row is a point, and says to
which axes, kind of artist and series it belongs:

    line      a point (x, y) of a curve
    points    a mark at (x, y); value is its colour value, where it has one
    band      a lower end y and an upper end y2 at x (or, for an upright band, x and x2 at y)
    segment   from (x, y) to (x2, y2), as in an error bar
    outline   a point (x, y) of a filled shape; value is its colour value, such as the level of a contour
    bar       a rectangle with the corners (x, y) and (x2, y2)
    mesh      a cell of a map, by its centre, and its value
    arrow     at (x, y), with the components x2 and y2
    text      words at (x, y)

Coordinates are those of the axes' scales, wherever an artist was placed by other means; numbers have seven digits.
Bundles of many long curves, such as single runs of a thousand steps, would make a figure heavier than the book: where
the long lines of a figure have more than 20,000 points, every k-th is given, and the last; `stride` says k.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import numpy as np

from gqlib._validate import Array

__all__ = ["COLUMNS", "axes_of", "stride", "table"]

COLUMNS = ("axes", "kind", "series", "label", "x", "y", "x2", "y2", "value")
_Point = dict[str, Any]
_LONG, _MANY = (
    200,
    20_000,
)  # points of a line that may be thinned out, and of all such lines of a figure
_NOISE = 1e-12  # of the width of the axes: what the way to the screen and back adds to a zero


def table(figure: Any) -> str:
    """The figure as a table in CSV, with a row for each point that was drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> _ = figure.subplots().plot([0, 1], [0.5, 2.0], label="growth")
    >>> print(table(figure))
    axes,kind,series,label,x,y,x2,y2,value
    1,line,1,growth,0,0.5,,,
    1,line,1,growth,1,2,,,
    <BLANKLINE>
    """
    figure.draw_without_rendering()  # limits and positions are settled by drawing
    written = StringIO()
    rows = csv.DictWriter(written, COLUMNS, lineterminator="\n")
    rows.writeheader()
    every = stride(figure)
    for number, axes in enumerate(figure.axes, 1):
        series: dict[str, int] = {}
        for kind, label, points in _of_axes(axes, every):
            series[kind] = series.get(kind, 0) + 1
            for point in points:
                shown = {name: _number(value) for name, value in point.items()}
                rows.writerow(
                    {"axes": number, "kind": kind, "series": series[kind], "label": label, **shown}
                )
    return written.getvalue()


def stride(figure: Any) -> int:
    """How many points of a long line go for one in the table.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> for _ in range(5):
    ...     _ = axes.plot(range(10_000))
    >>> stride(figure), table(figure).count("line")
    (3, 16670)
    """
    lengths = [len(line.get_xydata()) for axes in figure.axes for line in axes.lines]
    return max(1, -(-sum(length for length in lengths if length > _LONG) // _MANY))


def axes_of(figure: Any) -> str:
    """What the axes of the figure are called, as JSON: their labels and scales, and the stride of the table.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> _ = figure.subplots().set(xlabel="σ", yscale="log")
    >>> axes_of(figure)
    '{"every": 1, "axes": [{"x": "σ", "y": "", "title": "", "xscale": "linear", "yscale": "log"}]}'
    """
    names = ("xlabel", "ylabel", "title", "xscale", "yscale")
    keys = ("x", "y", "title", "xscale", "yscale")
    listed = [
        dict(zip(keys, (getattr(axes, f"get_{name}")() for name in names), strict=True))
        for axes in figure.axes
    ]
    return json.dumps({"every": stride(figure), "axes": listed}, ensure_ascii=False)


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return value
    number = float(value)
    return (
        f"{number + 0.0:.7g}"
        if np.isfinite(number)
        else {np.inf: "inf", -np.inf: "-inf"}.get(number, "nan")
    )


def _of_axes(axes: Any, every: int) -> Iterator[tuple[str, str, list[_Point]]]:
    from matplotlib.collections import (
        FillBetweenPolyCollection,
        LineCollection,
        PathCollection,
        QuadMesh,
    )
    from matplotlib.patches import Rectangle
    from matplotlib.quiver import Quiver

    for line in axes.lines:
        points = _in_data(axes, line.get_transform(), line.get_xydata())
        last = len(points) - 1
        kept = [at for at in range(len(points)) if last < _LONG or at % every == 0 or at == last]
        yield "line", _label(line), _named(points[kept])
    for collection in axes.collections:
        label, values = _label(collection), _values(collection.get_array())
        paths = [
            _in_data(axes, collection.get_transform(), path.vertices)
            for path in collection.get_paths()
        ]
        if isinstance(collection, Quiver):
            parts = np.column_stack([collection.XY, collection.U, collection.V])
            yield (
                "arrow",
                label,
                [dict(zip(("x", "y", "x2", "y2"), part, strict=True)) for part in parts],
            )
        elif isinstance(collection, QuadMesh):
            yield (
                "mesh",
                label,
                _cells(np.asarray(collection.get_coordinates(), dtype=float), values),
            )
        elif isinstance(collection, PathCollection):
            marks = _in_data(axes, collection.get_offset_transform(), collection.get_offsets())
            yield "points", label, _named(marks, values if len(values) == len(marks) else ())
        elif isinstance(collection, FillBetweenPolyCollection):
            upright = collection.t_direction == "y"  # type: ignore[attr-defined,unused-ignore]
            yield "band", label, [point for path in paths for point in _ends(path, upright)]
        elif isinstance(collection, LineCollection) and all(len(path) == 2 for path in paths):
            yield (
                "segment",
                label,
                [dict(zip(("x", "y", "x2", "y2"), path.ravel(), strict=True)) for path in paths],
            )
        else:
            colours = values if len(values) == len(paths) else [np.nan] * len(paths)
            outline = [
                _named(path, [value] * len(path))
                for path, value in zip(paths, colours, strict=True)
            ]
            yield "outline", label, [point for path in outline for point in path]
    for patch in axes.patches:
        corners = _in_data(axes, patch.get_transform(), patch.get_path().vertices)
        if isinstance(patch, Rectangle):
            yield (
                "bar",
                _label(patch),
                [dict(zip(("x", "y", "x2", "y2"), (*corners[0], *corners[2]), strict=True))],
            )
        else:
            yield "outline", _label(patch), _named(corners)
    for image in axes.images:
        left, right, bottom, top = image.get_extent()
        values = np.asarray(np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan))
        rows, columns = values.shape[:2]
        if image.origin == "upper":
            bottom, top = top, bottom
        corners = np.stack(
            np.meshgrid(np.linspace(left, right, columns + 1), np.linspace(bottom, top, rows + 1)),
            -1,
        )
        yield "mesh", _label(image), _cells(corners, values.reshape(rows * columns, -1)[:, 0])
    for text in axes.texts:
        if text.get_text():
            ((x, y),) = _in_data(axes, text.get_transform(), [text.get_position()])
            yield "text", text.get_text(), [{"x": x, "y": y}]


def _label(artist: Any) -> str:
    """The name in the legend; names that begin with a line were not given."""
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def _in_data(axes: Any, transform: Any, points: Any) -> Array:
    """Points in the coordinates of the axes' scales; as they were given, where they were given so."""
    data = np.asarray(
        np.ma.filled(np.ma.asarray(points, dtype=float), np.nan), dtype=float
    ).reshape(-1, 2)
    if transform == axes.transData or not len(data):
        return data
    with np.errstate(all="ignore"):
        moved = np.asarray(axes.transData.inverted().transform(transform.transform(data)))
        span = np.ptp([axes.get_xlim(), axes.get_ylim()], axis=1)
    return np.where(np.abs(moved) < _NOISE * span, 0.0, moved)


def _values(values: Any) -> Array:
    return (
        np.empty(0)
        if values is None
        else np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    )


def _named(points: Array, values: Any = ()) -> list[_Point]:
    rows: list[_Point] = [{"x": x, "y": y} for x, y in points]
    for row, value in zip(rows, values, strict=False):
        row |= {} if np.isnan(value) else {"value": value}
    return rows


def _ends(path: Array, upright: bool) -> list[_Point]:
    """The two ends of a band, place by place: its outline goes up one side and down the other, corners doubled."""
    half = (
        len(path) - 3
    ) // 2  # start, the one side, corner, the other side backwards, start again
    one, other = path[1 : half + 1], path[half + 2 : 2 * half + 2][::-1]
    if upright:
        return [{"x": a, "y": y, "x2": b} for (a, y), (b, _) in zip(one, other, strict=True)]
    return [{"x": x, "y": a, "y2": b} for (x, a), (_, b) in zip(one, other, strict=True)]


def _cells(corners: Array, values: Array) -> list[_Point]:
    """The cells of a map by their centres; a map that is shaded from its corners has its values there."""
    if corners[..., 0].size != len(values):
        corners = (corners[:-1, :-1] + corners[1:, :-1] + corners[:-1, 1:] + corners[1:, 1:]) / 4
    return [
        {"x": x, "y": y, "value": value}
        for (x, y), value in zip(corners.reshape(-1, 2), values, strict=True)
    ]
