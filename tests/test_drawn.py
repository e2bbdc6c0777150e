"""The line of text that stands for a picture: it changes with what a reader would see, and with nothing else."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gqlib.edition.drawn import drawn

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
    return drawn(figure)


CHANGES = {
    "a red square": lambda left, right: (left.clear(), right.add_patch(Rectangle((0, 0), 1, 1, color="red"))),
    "another factor": lambda left, right: left.lines[0].set_ydata(2 * np.exp(X)),
    "two per cent": lambda left, right: left.lines[0].set_ydata(np.exp(1.02 * X)),
    "one point": lambda left, right: left.lines[0].set_ydata(np.where(X[30] == X, 1.1, 1) * np.exp(X)),
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
                    again = path.stem != "article" and text in seen  # the article shows some of the book's once more
                    if not text.startswith("figure of ") or (again and path.stem != TWICE):
                        missing.append((path.stem, cell.get("id"), text))
                    if path.stem != "article":
                        seen.add(text)
    assert missing == []
    assert len(seen) > 60
