"""Pictures of records look like what their cells draw: what is noticed, and that every notebook is held to it."""

import base64
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from kit import figures
from kit.in_words import in_words

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


conftest, refresh = (
    load(BOOK / "conftest.py", "book_conftest"),
    load(BOOK / "refresh.py", "refresh_for_pictures"),
)
X = np.linspace(0.0, 3.0, 80)


def picture(change=None, noise=0.0):
    """Two curves beside a map; `change` is applied to its axes before it is drawn."""
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2)
    for factor, colour in ((1.0, figures.BLUE), (0.5, figures.RED)):
        left.plot(X, factor * np.sin(X) * (1.0 + noise), color=colour, label=f"{factor:g}")
    left.text(1.0, 0.9, "fast")
    left.set(xlabel="steps", xticks=[0, 1, 2, 3], ylim=(0, 1.2))
    left.legend()
    right.pcolormesh(np.outer(X, X)[:9, :9])
    if change is not None:
        change(left, right)
    return figures.png(figure)


def rewritten(data, *, red=False, **texts):
    """The picture with other chunks of text, and red all over if asked for."""
    with Image.open(io.BytesIO(data)) as opened:
        opened.load()
        kept, out = PngInfo(), io.BytesIO()
        for name, text in (opened.text | texts).items():
            kept.add_itxt(name, text)
        (Image.new("RGB", opened.size, "red") if red else opened).save(out, "png", pnginfo=kept)
    return out.getvalue()


def text_of(data, name):
    with Image.open(io.BytesIO(data)) as opened:
        opened.load()
        return opened.text[name]


def crossed(left, right):
    for line, factor in zip(left.lines, (0.5, 1.0), strict=True):
        line.set_ydata(factor * np.sin(X))


@pytest.fixture(scope="module")
def whole():
    return picture()


# What is drawn instead, and the part of the picture that tells it even where the pixels are as they were.
DRAWN = {
    "another curve": (lambda left, right: left.lines[1].set_ydata(0.6 * np.sin(X)), "numbers"),
    "curves in another order": (crossed, "numbers"),
    "a colour": (lambda left, right: left.lines[1].set_color(figures.PINK), "styles"),
    "a width": (lambda left, right: left.lines[1].set_linewidth(4.0), "styles"),
    "a mark": (lambda left, right: left.lines[1].set_marker("x"), "drawing"),
    "names of ticks": (
        lambda left, right: left.set_xticks([0, 1, 2, 3], ["0", "1", "3", "2"]),
        "letters",
    ),
    "a name beside another curve": (
        lambda left, right: left.texts[0].set_position((1.0, 0.4)),
        "numbers",
    ),
    "a label": (lambda left, right: left.set_xlabel("seeds"), "axes"),
    "a name in the legend": (
        lambda left, right: left.get_legend().get_texts()[0].set_text("one"),
        "letters",
    ),
    "a limit": (lambda left, right: left.set_ylim(0, 1.4), "letters"),
    "a map": (
        lambda left, right: right.collections[0].set_array(np.outer(X, X)[:9, :9][::-1]),
        "numbers",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DRAWN)
def test_a_picture_of_something_else_is_noticed_by_its_pixels_or_else_by_what_goes_with_them(
    whole, what
):
    change, told = DRAWN[what]
    other = picture(change)
    assert conftest.difference(other, whole) is not None
    texts = {name: text_of(other, name) for name in ("svg", "table", "axes")}
    assert told in conftest.difference(rewritten(whole, **texts), whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", ["a width", "a mark", "names of ticks", "a name beside another curve"]
)
def test_the_line_of_text_alone_would_not_tell(what):
    """Why records are not compared by that line alone."""
    lines = []
    for change in (None, DRAWN[what][0]):
        figure = Figure(figsize=(6, 3))
        left, right = figure.subplots(1, 2)
        left.plot(X, X)
        left.plot(X, 2.0 * X)
        left.text(1.0, 0.9, "fast")
        left.set(xticks=[0, 1, 2, 3])
        if change is not None:
            change(left, right)
        lines.append(in_words(figure))
    assert lines[0] == lines[1]


EXCHANGED = {
    "pixels": lambda whole: rewritten(whole, red=True),
    "size": lambda whole: small(whole),
    "numbers": lambda whole: rewritten(whole, table=text_of(picture(crossed), "table")),
    "axes": lambda whole: rewritten(whole, axes=text_of(whole, "axes").replace("steps", "seeds")),
    "letters": lambda whole: rewritten(
        whole, svg='<svg xmlns="http://www.w3.org/2000/svg"><rect fill="red"/></svg>'
    ),
    "styles": lambda whole: rewritten(
        whole, svg=text_of(whole, "svg").replace(figures.BLUE.lower(), "#ff0000")
    ),
    "places": lambda whole: rewritten(
        whole, svg=re.sub(r' d="M[^"]*"', ' d="M0 0L9 9"', text_of(whole, "svg"))
    ),
}


def small(data):
    with Image.open(io.BytesIO(data)) as opened:
        out = io.BytesIO()
        opened.resize((opened.width // 2, opened.height // 2)).save(out, "png")
    return out.getvalue()


@pytest.mark.parametrize("told", EXCHANGED)
def test_each_part_of_a_picture_is_compared(whole, told):
    assert told in conftest.difference(EXCHANGED[told](whole), whole)


@pytest.mark.slow
def test_rounding_makes_no_difference(whole):
    assert conftest.difference(whole, whole) is None
    assert conftest.difference(picture(noise=1e-12), whole) is None


def test_numbers_may_be_missing_or_infinite_on_both_sides_only():
    head = "axes,kind,series,label,x\n"
    same = conftest._same_table
    assert same(f"{head}1,line,1,a,nan\n1,line,1,a,5", f"{head}1,line,1,a,nan\n1,line,1,a,5.01")
    assert same(f"{head}1,line,1,a,-inf", f"{head}1,line,1,a,-inf")
    assert not same(f"{head}1,line,1,a,-inf", f"{head}1,line,1,a,inf")
    assert not same(f"{head}1,line,1,a,nan", f"{head}1,line,1,a,1")
    assert not same(f"{head}1,line,1,a,5", f"{head}1,line,1,a,5.2")
    assert not same(f"{head}1,line,1,a,5", f"{head}1,line,1,b,5")
    assert not same(f"{head}1,line,1,a,5", f"{head}1,line,1,a,5\n1,line,1,a,5")


SOURCE = """from kit import figures
figure, axes = figures.new(figsize=(3, 2))
axes.plot([0, 1, 0.5], label="up")
figures.show(figure)"""


@pytest.mark.slow
def test_a_red_square_with_a_seal_of_its_own_is_noticed_where_its_cell_is_executed(tmp_path):
    """The text beside the picture and the seal of the record are right; the picture is not."""
    made, axes = figures.new(figsize=(3, 2))
    axes.plot([0, 1, 0.5], label="up")
    figures._make_readable(made)
    data, line = figures.png(made), in_words(made)
    shutil.copy(BOOK / "conftest.py", tmp_path)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for name, shown in (("right", data), ("red", rewritten(data, red=True))):
        cell = nbformat.v4.new_code_cell(SOURCE, execution_count=1)
        bundle = {"image/png": base64.b64encode(shown).decode(), "text/plain": line}
        cell.outputs = [nbformat.v4.new_output("display_data", bundle)]
        record = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
        record.metadata["gqlib"] = {"pictures": refresh.seal(record)}
        nbformat.write(record, tmp_path / f"{name}.ipynb")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        ".",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(BOOK)])}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert "picture 0 of the record is not what this cell draws: its pixels" in done.stdout
