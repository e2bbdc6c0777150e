"""The numbers inside a picture: those that were plotted, whatever kind of artist shows them."""

import csv
import json
from io import BytesIO, StringIO

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from PIL import Image

from kit import figures
from kit.figure_data import axes_of, stride, table

X = np.array([1.0, 2.0, 3.0])


def rows(draw, **options):
    """The rows of a figure with one axes, after `draw` has drawn on it, without those of other kinds."""
    figure = Figure()
    axes = figure.subplots()
    axes.set(**options)
    kind = draw(axes)
    return [row for row in csv.DictReader(StringIO(table(figure))) if row["kind"] == kind]


def numbers(listed, *names):
    return [[float(row[name]) for name in names] for row in listed]


def drawing(kind, function):
    def draw(axes):
        function(axes)
        return kind

    return draw


KINDS = {
    "a curve": ("line", lambda axes: axes.plot(X, X**2), ("x", "y"), [[1, 1], [2, 4], [3, 9]]),
    "a curve with a hole": (
        "line",
        lambda axes: axes.plot(X[:2], [np.nan, 1]),
        ("x", "y"),
        [[1, np.nan], [2, 1]],
    ),
    "marks": (
        "points",
        lambda axes: axes.scatter(X[1:], X[1:], c=[6, 7]),
        ("x", "y", "value"),
        [[2, 2, 6], [3, 3, 7]],
    ),
    "a band": (
        "band",
        lambda axes: axes.fill_between(X, X - 1, X + 2),
        ("x", "y", "y2"),
        [[1, 0, 3], [2, 1, 4], [3, 2, 5]],
    ),
    "a band in two pieces": (
        "band",
        lambda axes: axes.fill_between(np.arange(5.0), 0, 1, where=[True, True, False, True, True]),
        ("x", "y", "y2"),
        [[0, 0, 1], [1, 0, 1], [3, 0, 1], [4, 0, 1]],
    ),
    "an upright band": (
        "band",
        lambda axes: axes.fill_betweenx(X, X - 1, X + 2),
        ("y", "x", "x2"),
        [[1, 0, 3], [2, 1, 4], [3, 2, 5]],
    ),
    "error bars": (
        "segment",
        lambda axes: axes.errorbar(X[:1], X[:1], yerr=0.5),
        ("x", "y", "x2", "y2"),
        [[1, 0.5, 1, 1.5]],
    ),
    "bars": (
        "bar",
        lambda axes: axes.bar([1], [3], width=0.5),
        ("x", "y", "x2", "y2"),
        [[0.75, 0, 1.25, 3]],
    ),
    "a level": (
        "line",
        lambda axes: (axes.axhline(0.0), axes.set(xlim=(2, 5))),
        ("x", "y"),
        [[2, 0], [5, 0]],
    ),
    "arrows": (
        "arrow",
        lambda axes: axes.quiver([1], [2], [3], [4]),
        ("x", "y", "x2", "y2"),
        [[1, 2, 3, 4]],
    ),
    "words": (
        "text",
        lambda axes: (axes.set(xlim=(0, 4)), axes.text(0.5, 0.0, "here", transform=axes.transAxes)),
        ("x", "y"),
        [[2, 0]],
    ),
    "an image": (
        "mesh",
        lambda axes: axes.imshow([[1, 2], [3, 4]], extent=(0, 2, 0, 4)),
        ("x", "y", "value"),
        [[0.5, 3, 1], [1.5, 3, 2], [0.5, 1, 3], [1.5, 1, 4]],
    ),
    "a map": (
        "mesh",
        lambda axes: axes.pcolormesh([0, 2, 4], [0, 1], [[7, 8]]),
        ("x", "y", "value"),
        [[1, 0.5, 7], [3, 0.5, 8]],
    ),
    "a map of whole numbers with a hole": (
        "mesh",
        lambda axes: axes.pcolormesh([0, 2, 4], [0, 1], np.ma.masked_equal([[7, 8]], 8)),
        ("x", "y", "value"),
        [[1, 0.5, 7], [3, 0.5, np.nan]],
    ),
    "an image of whole numbers with a hole": (
        "mesh",
        lambda axes: axes.imshow(
            np.ma.masked_equal([[1, 2]], 1), extent=(0, 2, 0, 4), origin="lower"
        ),
        ("x", "y", "value"),
        [[0.5, 2, np.nan], [1.5, 2, 2]],
    ),
    "a map that is shaded from its corners": (
        "mesh",
        lambda axes: axes.pcolormesh([0, 2], [0, 1], [[7, 8], [9, 6]], shading="gouraud"),
        ("x", "y", "value"),
        [[0, 0, 7], [2, 0, 8], [0, 1, 9], [2, 1, 6]],
    ),
    "an image from below": (
        "mesh",
        lambda axes: axes.imshow([[1, 2], [3, 4]], extent=(0, 2, 0, 4), origin="lower"),
        ("x", "y", "value"),
        [[0.5, 1, 1], [1.5, 1, 2], [0.5, 3, 3], [1.5, 3, 4]],
    ),
    "whole bars": (
        "bar",
        lambda axes: axes.barh([2], [5], height=1.0, left=1),
        ("x", "y", "x2", "y2"),
        [[1, 1.5, 6, 2.5]],
    ),
    "zeros of another scale": (
        "line",
        lambda axes: (axes.set(ylim=(0, 8)), axes.axvline(3.0)),
        ("x", "y"),
        [[3, 0], [3, 8]],
    ),
}


@pytest.mark.parametrize("what", KINDS)
def test_each_kind_of_artist_gives_the_numbers_that_were_plotted(what):
    kind, draw, names, wanted = KINDS[what]
    np.testing.assert_allclose(numbers(rows(drawing(kind, draw)), *names), wanted, rtol=1e-6)


def test_each_kind_is_numbered_apart_and_cells_without_a_number_are_empty():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot([0], [1])
    left.plot([0], [2])
    left.scatter([0], [3])
    left.text(0, 4, "words")
    left.text(0, 4, "")
    right.plot([-0.0], [np.inf], label="σ")
    right.plot([1 / 3], [-np.inf])
    assert table(figure).splitlines() == [
        "axes,kind,series,label,x,y,x2,y2,value",
        "1,line,1,,0,1,,,",
        "1,line,2,,0,2,,,",
        "1,points,1,,0,3,,,",
        "1,text,1,words,0,4,,,",
        "2,line,1,σ,0,inf,,,",
        "2,line,2,,0.3333333,-inf,,,",
    ]


def test_axes_are_named_one_by_one():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.set(xlabel="σ", ylabel="error", title="one", xscale="log")
    right.set(yscale="symlog")
    assert json.loads(axes_of(figure)) == {
        "every": 1,
        "axes": [
            {"x": "σ", "y": "error", "title": "one", "xscale": "log", "yscale": "linear"},
            {"x": "", "y": "", "title": "", "xscale": "linear", "yscale": "symlog"},
        ],
    }


def test_shapes_and_contours_are_outlines_with_their_level():
    found = rows(
        drawing(
            "outline",
            lambda axes: axes.contour([0, 1], [0, 1], [[0, 1], [0, 1]], levels=[0.25, 0.5]),
        )
    )
    assert {(row["x"], row["value"]) for row in found} == {("0.25", "0.25"), ("0.5", "0.5")}
    circle = rows(drawing("outline", lambda axes: axes.add_patch(Circle((2.0, 3.0), 0.5))))
    x, y = np.array(numbers(circle, "x", "y")).T
    assert np.hypot(x - 2, y - 3).min() == pytest.approx(0.5, rel=0.01)


def test_a_name_of_the_legend_goes_with_its_points_and_invented_names_do_not():
    found = rows(
        drawing("line", lambda axes: (axes.plot(X, X, label="σ, or not"), axes.plot(X, -X)))
    )
    assert [(row["series"], row["label"]) for row in found] == [("1", "σ, or not")] * 3 + [
        ("2", "")
    ] * 3


def test_short_lines_are_never_thinned_out_and_long_ones_keep_their_ends():
    figure = Figure()
    axes = figure.subplots()
    for _ in range(30):
        axes.plot(np.arange(1000.0))
    axes.plot(np.arange(150.0), label="mean")
    assert stride(figure) == 2
    found = list(csv.DictReader(StringIO(table(figure))))
    assert [row["x"] for row in found if row["label"] == "mean"] == [str(x) for x in range(150)]
    assert [row["x"] for row in found if row["series"] == "30"] == [
        str(x) for x in (*range(0, 999, 2), 999)
    ]
    assert '"every": 2' in axes_of(figure)


def test_the_picture_carries_the_table():
    figure, axes = figures.new()
    axes.plot(X, X**2, label="square")
    with Image.open(BytesIO(figures.png(figure))) as picture:
        picture.load()
        carried = dict(picture.text)
    assert carried[figures.TABLE] == table(figure)
    assert carried[figures.AXES] == axes_of(figure)
