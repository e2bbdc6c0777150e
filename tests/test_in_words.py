"""The line of text that stands for a picture: it changes with what a reader would see, and with nothing else."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from kit import in_words as module
from kit.in_words import in_words

BOOK = Path(__file__).parents[1] / "book"
X = np.linspace(0.1, 3.0, 60)


def picture(change=None, noise=0.0):
    """A figure with one of everything; `change` is applied to its two axes before it is described."""
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2)
    rng = np.random.default_rng(0)
    wobble = 1.0 + noise * rng.standard_normal(60)
    left.plot(X, np.exp(X) * wobble, label="growth")
    left.fill_between(X, np.exp(X) * wobble - 1, np.exp(X) * wobble + 1, alpha=0.2)
    left.set(yscale="log", xlabel="x", ylabel="y")
    left.legend()
    right.scatter(X, np.sin(X) * wobble, c="C1")
    right.add_patch(Rectangle((0.5, 0.1), 0.5, 0.3))
    right.imshow(np.outer(X, X)[:5, :5], extent=(0, 1, 0, 1), aspect="auto")
    right.axhline(0.0)
    right.text(0.5, 0.5, "here")
    if change is not None:
        change(left, right)
    return in_words(figure)


CHANGES = {
    "a red square": lambda left, right: (
        left.clear(),
        right.add_patch(Rectangle((0, 0), 1, 1, color="red")),
    ),
    "another factor": lambda left, right: left.lines[0].set_ydata(2 * np.exp(X)),
    "two per cent": lambda left, right: left.lines[0].set_ydata(np.exp(1.02 * X)),
    "one point": lambda left, right: left.lines[0].set_ydata(
        np.where(X[30] == X, 1.1, 1) * np.exp(X)
    ),
    "a sign": lambda left, right: right.collections[0].set_offsets(np.c_[X, -np.sin(X)]),
    "a label": lambda left, right: left.set_xlabel("steps"),
    "a name in the legend": lambda left, right: left.get_legend().get_texts()[0].set_text("decay"),
    "a colour": lambda left, right: left.lines[0].set_color("red"),
    "a scale": lambda left, right: left.set_yscale("linear"),
    "limits": lambda left, right: left.set_xlim(0, 2),
    "a band": lambda left, right: left.collections[0].remove(),
    "a line at zero": lambda left, right: right.lines[0].set_ydata([0.1, 0.1]),
    "a text": lambda left, right: right.texts[0].set_text("there"),
    "an image": lambda left, right: right.images[0].set_array(np.outer(X, X)[:5, :5].T[::-1]),
    "a patch": lambda left, right: right.patches[0].set_x(0.6),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_what_a_reader_would_see_changes_the_line(what):
    assert picture(CHANGES[what]) != picture()


@pytest.mark.slow
def test_rounding_does_not():
    assert {picture(noise=noise) for noise in (0.0, 1e-13, -3e-13, 1e-12)} == {picture()}


TWICE = "sampling_and_expectation"  # its machine is drawn among the domains too


def test_every_figure_of_the_book_says_what_was_drawn():
    """Records are compared as text, so each picture needs its line."""
    missing, seen = [], set()
    for path in sorted(BOOK.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                if "image/png" in data or "image/svg+xml" in data:
                    text = "".join(data.get("text/plain", ""))
                    again = (
                        path.stem != "article" and text in seen
                    )  # the article shows some of the book's once more
                    if not text.startswith("figure of ") or (again and path.stem != TWICE):
                        missing.append((path.stem, cell.get("id"), text))
                    if path.stem != "article":
                        seen.add(text)
    assert missing == []
    assert len(seen) > 60


# ---------------------------------------------------------------- line by line

STEP, BEGIN = 487.31, 0.137  # of the steps across an axes: how many, and where the first begins


@pytest.fixture
def square():
    """Axes from 0 to 1 on both sides, so that data are fractions."""
    axes = Figure(figsize=(4, 4)).subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    return axes


def steps(*points):
    return [[int(np.floor(x * STEP + BEGIN)), int(np.floor(y * STEP + BEGIN))] for x, y in points]


def told(axes, kind):
    return [line for line in module._of_axes(axes) if line.startswith(kind)]


def test_axes_are_told_by_their_names_scales_and_limits(square):
    square.set(
        xlabel="across", ylabel="up", title="name", yscale="log", xlim=(-1e-17, 2.5), ylim=(1, 1234)
    )
    assert told(square, "axes") == [
        "axes ['across', 'up', 'name', 'linear', 'log'] ['0', '2.5', '1', '1.2e+03']"
    ]


def test_a_line_is_told_by_its_label_colour_style_and_places(square):
    square.plot([0.25, 0.5], [0.1, 0.9], color="#0072b2", linestyle="--", label="mean")
    assert told(square, "line") == [f"line mean ['#0072b2ff'] -- {steps((0.25, 0.1), (0.5, 0.9))}"]
    square.legend()
    assert told(square, "legend") == ["legend ['mean']"]


def test_a_collection_is_told_by_colours_values_offsets_and_outlines(square):
    square.scatter([0.25, 0.5], [0.1, 0.9], c=[3.0, 5.0])
    (line,) = told(square, "collection")
    assert line.endswith(f" {[0, int(STEP + BEGIN)]}")
    assert told(square, "offsets") == [f"offsets {steps((0.25, 0.1), (0.5, 0.9))}"]
    square.fill_between([0.2, 0.4], [0.3, 0.3], [0.5, 0.5], color="#ff000080")
    assert (
        told(square, "collection")[1] == "collection ['#ff000080', '#ff000080']  []"
    )  # a style for each is left out
    assert str(steps((0.4, 0.5))[0]) in told(square, "path")[-1]


def test_patches_images_and_texts_are_told(square):
    square.add_patch(Rectangle((0.25, 0.5), 0.25, 0.25, facecolor="#112233", edgecolor="#445566"))
    square.text(0.1, 0.2, "here")
    square.imshow([[0.0, 1.0], [np.nan, 4.0]])
    square.set(xlim=(0, 1), ylim=(0, 1))
    corners = steps((0.25, 0.5), (0.5, 0.5), (0.5, 0.75), (0.25, 0.75), (0.25, 0.5))
    assert told(square, "patch") == [f"patch ['#112233ff', '#445566ff'] solid {corners}"]
    assert told(square, "text") == ["text 'here'"]
    assert told(square, "image") == [
        f"image {[0, int(0.25 * STEP + BEGIN), -9999, int(STEP + BEGIN)]}"
    ]


def test_what_is_far_outside_is_told_alike_and_what_is_nowhere_apart(square):
    found = module._places(
        square, square.transData, [(-1.5, 0.0), (-7.0, 2.5), (0.5, 9.0), (np.nan, 0.5)]
    )
    left, right = int(np.floor(-STEP + BEGIN)), int(np.floor(2 * STEP + BEGIN))
    assert found == [[left, 0], [left, right], [steps((0.5, 0.0))[0][0], right], [-9999, -9999]]
    assert module._places(square, square.transData, []) == []
    hidden = np.ma.masked_array([[0.5, 0.5], [0.5, 0.5]], mask=[[False, False], [True, False]])
    assert module._places(square, square.transData, hidden)[1][0] == -9999
    whole = np.ma.masked_array([[0, 1], [1, 0]], mask=[[False, False], [True, False]])
    assert module._places(square, square.transData, whole) == [*steps((0, 1)), [-9999, -9999]]


def test_values_are_told_in_steps_of_their_range():
    assert module._values(None) == []
    assert module._values([[2.0, 3.0], [6.0, np.inf]]) == [
        0,
        int(0.25 * STEP + BEGIN),
        int(STEP + BEGIN),
        -9999,
    ]
    assert module._values([5.0, 5.0]) == [0, 0]
    assert module._values([np.nan]) == [-9999]
    hidden = np.ma.masked_array([1.0, 2.0, 9.0], mask=[False, False, True])
    assert module._values(hidden) == [0, int(STEP + BEGIN), -9999]
    assert module._values(hidden.astype(int)) == [0, int(STEP + BEGIN), -9999]


def test_limits_are_zero_where_they_are_noise():
    assert module._settled(np.array([-2e-9, 1e-17, 3.0, 4.0])).tolist() == [0.0, 0.0, 3.0, 4.0]
    assert module._settled(np.array([-5e-9, 0.0, 3.0, 4.0])).tolist() == [-5e-9, 0.0, 3.0, 4.0]
    assert module._settled(np.array([-10.0, 5e-9, 3.0, 4.0])).tolist() == [-10.0, 0.0, 3.0, 4.0]


def test_the_line_counts_axes_and_artists_and_ends_with_a_digest():
    figure = Figure(figsize=(2, 1))
    left, _ = figure.subplots(1, 2)
    left.plot([0, 1])
    left.plot([1, 0])
    left.text(0.5, 0.5, "here")
    found = in_words(figure)
    lines = [line for axes in figure.axes for line in module._of_axes(axes)]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert found == f"figure of 2 axes, 3 artists, drawn as {digest[:12]}"
