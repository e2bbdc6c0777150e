"""The look of the book's figures, and the few plots that several chapters share: data in, axes out.

A figure is drawn once and kept in one file, a PNG that carries the same drawing as SVG in a compressed chunk of text,
and in two more the numbers that it shows and the names of its axes (`kit.figure_data`).
Whatever shows a PNG shows it (notebooks, LaTeX, a README), and records stay small. The HTML edition takes the SVG out,
puts it into the page and gives the palette's colours, black, white and greys the theme's colours
(`book/_ext/themed_figures.py`), so that a figure is sharp at any size and belongs to a light page and to a dark one.
Letters are outlines: they look alike everywhere.

In dark mode a colour may become lighter, never another. A *map*, that is, an axes with an image or a mesh in it, keeps
its colours altogether, for there the colours are the data: what is dark stays dark, and a white line stays white.

Letters have at least nine points where the book's column is 7 inches wide, as it is on a screen of 1280 pixels; those
of a wider figure, which is shown smaller, are drawn larger in proportion.
"""

from __future__ import annotations

import base64
import re
from io import BytesIO, StringIO
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gqlib._validate import Array
from gqlib.plots import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    STYLE,
    YELLOW,
    new,
)
from kit.figure_data import axes_of, table
from kit.in_words import in_words

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
    "png",
    "show",
    "svg",
]

COLUMN, LEAST = (
    7.0,
    9.0,
)  # the width of the page's column in inches, and the least size of letters in points
DPI = 192  # of the PNG: two dots for each of the reference pixels of CSS
VECTOR, TABLE, AXES = "svg", "table", "axes"  # the keywords of the PNG's chunks of text
MANY = 5000  # points of one line, or of one collection, that go into the SVG as points and not as an image
MAP = "map"  # how the groups of the SVG that keep their colours are named


def show(figure: Any) -> None:
    """Hand the figure to the notebook as its only output (does nothing outside a notebook).

    Beside the picture goes a line of text that says what was drawn (`kit.in_words`); records are compared by
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
        _make_readable(figure)
        if getattr(
            shell, "draws_svg", False
        ):  # a page that runs its own cells: book/live/kernel.py
            forms, sizes = {"image/svg+xml": svg(figure)}, {}
        else:
            data = png(figure)
            width, height = (
                int.from_bytes(data[at : at + 4], "big") * 96 // DPI for at in (16, 20)
            )
            forms = {"image/png": base64.b64encode(data).decode()}
            sizes = {"image/png": {"width": width, "height": height}}
        display(forms | {"text/plain": in_words(figure)}, metadata=sizes, raw=True)  # type: ignore[no-untyped-call,unused-ignore]
    pyplot.close(figure)


def png(figure: Any) -> bytes:
    """The figure as PNG of at most 256 colours, with its SVG and its numbers in compressed chunks of text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from PIL import Image
    >>> figure = Figure(figsize=(2, 1))
    >>> _ = figure.subplots().plot([0, 1])
    >>> picture = Image.open(BytesIO(png(figure)))
    >>> picture.mode, round(picture.info["dpi"][0]), picture.text["svg"] == svg(figure)
    ('P', 192, True)
    >>> picture.text["table"].splitlines()[-1]
    '1,line,1,,1,1,,,'
    """
    from PIL import Image, PngImagePlugin

    _settle(figure)
    full, small = BytesIO(), BytesIO()
    figure.savefig(full, format="png", dpi=DPI, **_CROPPED, facecolor="white")
    chunks = PngImagePlugin.PngInfo()
    for name, text in ((VECTOR, svg(figure)), (TABLE, table(figure)), (AXES, axes_of(figure))):
        chunks.add_itxt(name, text, zip=True)
    few = Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(small, "png", optimize=True, dpi=(DPI, DPI), pnginfo=chunks)
    return small.getvalue()


def svg(figure: Any) -> str:
    """The figure as SVG without ornament: the same text for the same figure, numbers to a hundredth of a point.

    Groups that keep their colours in either theme are named map-1, map-2, …

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure(figsize=(2, 1))
    >>> left, right = figure.subplots(1, 2)
    >>> _, _ = left.plot([0, 1]), right.imshow([[0, 1]])
    >>> text = svg(figure)
    >>> text[:36], "map-1" in text, "metadata" in text
    ('<svg xmlns="http://www.w3.org/2000/s', True, False)
    """
    import matplotlib

    _settle(figure)
    _mark(figure)
    plain = [
        axes.patch
        for axes in figure.axes
        if axes.patch.get_gid() is None and sum(axes.get_facecolor()) == 4.0
    ]
    written = StringIO()
    with matplotlib.rc_context(_WRITING):
        for patch in plain:  # the page shows through
            patch.set_facecolor("none")
        figure.savefig(
            written, format="svg", **_CROPPED, dpi=DPI, facecolor="none", metadata={"Date": None}
        )
        for patch in plain:
            patch.set_facecolor("white")
    text = written.getvalue()
    text = text[text.index("<svg") :].replace("xlink:href=", "href=")
    text = re.sub(
        r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>| xmlns:xlink=\S+",
        "",
        text,
        flags=re.DOTALL,
    )
    text = re.sub(r' (?:d|x|y|transform|viewBox)="[^"]*"', _short, text)
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(
        r' id="([\w-]+)"',
        lambda one: one[0] if one[1] in used or one[1].startswith(MAP) else "",
        text,
    )
    text = re.sub(r"<defs>\s*</defs>|\n\s*", "", text)
    return re.sub(
        r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>",
        rf'<svg xmlns="{_SVG}" \1 {_JOINS}>',
        text,
        count=1,
    )


_WRITING = {
    "svg.hashsalt": "gqlib",
    "svg.fonttype": "path",
    "path.simplify": True,
    "path.simplify_threshold": 0.25,
}
_NO_MARK = ("", " ", "None", "none", None)
_CROPPED: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.03}
_SVG = "http://www.w3.org/2000/svg"
_JOINS = 'stroke-linejoin="round" stroke-linecap="butt"'


def _short(attribute: re.Match[str]) -> str:
    """An attribute with its numbers to a hundredth, except for the factors of a scale, and without line breaks."""
    kept = re.split(r"(scale\([^)]*\))", " ".join(attribute[0].split()))
    numbers = [
        part if part.startswith("scale") else re.sub(r"-?\d+\.\d+", _rounded, part) for part in kept
    ]
    return " " + re.sub(r" ?([A-DF-Za-df-z]) (?=[\d.-])| (?=\"$)", r"\1", "".join(numbers).strip())


def _rounded(number: re.Match[str]) -> str:
    short = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _settle(figure: Any) -> None:
    """Lay the figure out once and for all: every file of it has the same layout."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _mark(figure: Any) -> None:
    """Name what keeps its colours: maps, without their axes and what is written beside them, and coloured boxes."""
    kept = [text for axes in figure.axes for text in axes.texts if _boxed(text)]
    for axes in filter(_is_map, figure.axes):
        legend = [] if axes.get_legend() is None else [axes.get_legend()]
        within = axes.get_window_extent()
        beside = [one for one in (*axes.texts, *legend) if not within.contains(*_centre(one))]
        frame = (axes.xaxis, axes.yaxis, axes.title, *axes.spines.values(), *beside)
        kept += [one for one in axes.get_children() if one not in frame]
        kept += [*axes.get_xgridlines(), *axes.get_ygridlines()]
    for number, artist in enumerate(kept, 1):
        artist.set_gid(f"{MAP}-{number}")
    for artist in figure.findobj(
        lambda one: hasattr(one, "get_paths") or hasattr(one, "get_xydata")
    ):
        if _vertices(artist) > MANY:
            artist.set_rasterized(True)


def _is_map(axes: Any) -> bool:
    """Whether there is an image or a mesh in the axes."""
    from matplotlib.collections import QuadMesh

    return bool(axes.images) or any(isinstance(one, QuadMesh) for one in axes.collections)


def _boxed(text: Any) -> bool:
    """Whether the text stands in a box that is filled with a colour."""
    box = text.get_bbox_patch()
    return box is not None and len(set(box.get_facecolor()[:3])) > 1


def _centre(artist: Any) -> tuple[float, float]:
    box = artist.get_window_extent()
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def _vertices(artist: Any) -> int:
    """How many points the outline of a line or a collection has."""
    if hasattr(artist, "get_xydata"):
        return len(artist.get_path().cleaned(artist.get_transform(), simplify=True).vertices)
    return sum(len(path.vertices) for path in artist.get_paths()) * max(
        1, len(artist.get_offsets())
    )


def _make_readable(figure: Any) -> None:
    """Make letters as large as they have to be; dark ones among curves, and dark marks on a map, get a light rim."""
    from matplotlib.colors import to_rgb
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    for axes in filter(_is_map, figure.axes):
        for line in axes.lines:
            if line.get_marker() not in _NO_MARK and max(to_rgb(line.get_color())) < 0.5:
                line.set_path_effects(
                    [withStroke(linewidth=line.get_markeredgewidth() + 2.5, foreground="white")]
                )
    least = LEAST * max(1.0, figure.get_figwidth() / COLUMN)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_tick_params(
                labelsize=max([least, *(label.get_size() for label in axis.get_ticklabels())])
            )
        for text in axes.texts:
            if (
                text.get_text()
                and text.get_bbox_patch() is None
                and max(to_rgb(text.get_color())) < 0.5
            ):
                text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    for text in figure.findobj(Text):
        text.set_fontsize(max(least, text.get_fontsize()))


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
