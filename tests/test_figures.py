"""The look of the book's figures: style, sizes of letters, what keeps its colours, and the files that are made."""

import base64
import re
from io import BytesIO
from types import SimpleNamespace

import IPython
import IPython.display
import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from kit import figure_data, figures
from kit.in_words import in_words

matplotlib.use("Agg")


def rim(artist):
    """Width and colour of the light rim around an artist, where there is one."""
    return [
        (effect._gc["linewidth"], effect._gc["foreground"]) for effect in artist.get_path_effects()
    ]


def test_a_new_figure_has_the_books_style_and_cycle():
    with matplotlib.rc_context():
        figure, axes = figures.new(2, 3, figsize=(5.0, 4.0))
        pyplot.close(figure)
        assert axes.shape == (2, 3)
        assert figure.get_size_inches().tolist() == [5.0, 4.0]
        lines = [axes[0, 0].plot([0, 1])[0] for _ in figures.CYCLE]
        assert [line.get_color() for line in lines] == [colour for colour, _ in figures.CYCLE]
        expected = [
            pyplot.Line2D([], [], linestyle=style)._unscaled_dash_pattern
            for _, style in figures.CYCLE
        ]
        assert [line._unscaled_dash_pattern for line in lines] == expected
        assert all(matplotlib.rcParams[name] == value or list(matplotlib.rcParams[name]) == list(value)
                   for name, value in figures.STYLE.items())  # fmt: skip
        figure, axes = figures.new()
        pyplot.close(figure)
        assert axes.get_subplotspec().get_gridspec().get_geometry() == (1, 1)


def test_a_panel_is_named_in_its_upper_right_corner():
    axes = Figure().subplots()
    figures.panel(axes, "p = 512")
    (name,) = axes.texts
    assert (name.get_text(), name.xy, name.xyann) == ("p = 512", (1.0, 1.0), (-2, 2))
    assert (name.xycoords, name.anncoords) == ("axes fraction", "offset points")
    assert (name.get_ha(), name.get_va(), name.get_fontsize()) == ("right", "bottom", 8)


@pytest.mark.parametrize(("number", "short"), [("1.00", "1"), ("-0.001", "0"), ("-0.512", "-0.51"), ("10.0", "10"),
                                               ("2.345", "2.35"), ("0.10", "0.1")])  # fmt: skip
def test_numbers_are_rounded_to_a_hundredth(number, short):
    assert figures._rounded(re.match(r".*", number)) == short


def test_only_images_and_meshes_make_a_map():
    plain, image, mesh, dots = Figure().subplots(1, 4)
    plain.plot([0, 1])
    image.imshow([[0, 1]])
    mesh.pcolormesh([[0.0, 1.0]])
    dots.scatter([0], [1])
    assert [figures._is_map(axes) for axes in (plain, image, mesh, dots)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_coloured_box_is_one_that_is_neither_white_nor_grey():
    axes = Figure().subplots()
    colours = (figures.SKY, "white", "#808080", "#808081")
    boxed = [axes.text(0, 0, "x", bbox={"facecolor": colour}) for colour in colours]
    assert [figures._boxed(text) for text in boxed] == [True, False, False, True]
    assert not figures._boxed(axes.text(0, 0, "bare"))


def test_the_centre_is_that_of_the_extent():
    extent = SimpleNamespace(x0=1.0, x1=4.0, y0=10.0, y1=30.0)
    assert figures._centre(SimpleNamespace(get_window_extent=lambda: extent)) == (2.5, 20.0)


def test_vertices_are_counted_for_lines_and_collections():
    axes = Figure().subplots()
    (line,) = axes.plot([0, 1, 0, 1], [0, 1, 1, 0])
    cleaned = line.get_path().cleaned(line.get_transform(), simplify=True)
    assert figures._vertices(line) == len(cleaned.vertices)
    circles = axes.scatter([0, 1, 2], [0, 1, 2])
    (outline,) = circles.get_paths()
    assert figures._vertices(circles) == 3 * len(outline.vertices)
    band = axes.fill_between([0, 1], [0, 0], [1, 1])
    assert figures._vertices(band) == len(band.get_paths()[0].vertices)


def test_artists_with_too_many_points_become_images_and_others_not(monkeypatch):
    monkeypatch.setattr(figures, "MANY", 100)
    axes = Figure().subplots()
    few, many = (axes.scatter(range(count), range(count)) for count in (3, 4))
    assert [figures._vertices(circles) for circles in (few, many)] == [78, 104]
    figures._mark(axes.figure)
    assert (few.get_rasterized(), many.get_rasterized()) == (False, True)


def test_what_is_on_a_map_keeps_its_colours_and_what_is_beside_it_does_not():
    figure = Figure(figsize=(6, 3))
    curve, chart = figure.subplots(1, 2)
    curve.plot([0, 1])
    plain, boxed = (
        curve.text(0.1, 0.1, "plain"),
        curve.text(0.2, 0.2, "14", bbox={"facecolor": figures.SKY}),
    )
    image = chart.imshow([[0.0, 1.0], [1.0, 0.0]])
    within, beside = chart.text(0.5, 0.5, "in"), chart.text(0.5, 2.5, "out")
    figure.draw_without_rendering()
    figures._mark(figure)
    kept = {boxed, image, within, chart.patch, *chart.get_xgridlines(), *chart.get_ygridlines()}
    for artist in kept:
        assert artist.get_gid().startswith("map-"), artist
    for artist in (
        plain,
        beside,
        chart.xaxis,
        chart.yaxis,
        chart.title,
        *chart.spines.values(),
        *curve.lines,
    ):
        assert artist.get_gid() is None, artist
    numbers = [
        int(artist.get_gid()[4:])
        for artist in figure.findobj(lambda one: one.get_gid() is not None)
    ]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_a_legend_on_a_map_is_of_the_map_and_one_beside_it_is_not():
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.imshow([[0.0, 1.0]])
    axes.plot([0, 1], [0, 0], label="way")
    for place, kept in (((0.5, 0.5), True), ((0.5, 3.0), False)):
        legend = axes.legend(loc="center", bbox_to_anchor=place)
        legend.set_gid(None)
        figure.draw_without_rendering()
        figures._mark(figure)
        assert (legend.get_gid() is not None) == kept


@pytest.mark.parametrize(("width", "least"), [(3.5, 9.0), (7.0, 9.0), (14.0, 18.0)])
def test_small_letters_are_made_larger_in_proportion_to_the_width(width, least):
    figure = Figure(figsize=(width, 3))
    axes = figure.subplots()
    axes.plot([0.0, 1.0], label="small")
    axes.legend(fontsize=4)
    axes.tick_params(labelsize=5)
    tiny, large = axes.text(0, 0, "tiny", fontsize=6), axes.text(0, 0.5, "large", fontsize=30)
    figures._make_readable(figure)
    assert (tiny.get_fontsize(), large.get_fontsize()) == (least, 30)
    assert min(text.get_fontsize() for text in figure.findobj(Text)) == least
    assert {
        label.get_fontsize() for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    } == {least}


def test_dark_words_among_curves_have_a_light_rim_and_others_none():
    axes = Figure().subplots()
    dark, pale, empty = (axes.text(0, 0, word, color=colour) for word, colour in
                         (("dark", "#404040"), ("pale", "#c0c0c0"), ("", "black")))  # fmt: skip
    boxed = axes.text(0, 0, "boxed", bbox={"facecolor": "white"})
    figures._make_readable(axes.figure)
    assert rim(dark) == [(2.5, "white")]
    assert rim(pale) == rim(empty) == rim(boxed) == []


def test_dark_marks_on_a_map_have_a_light_rim_and_lines_none():
    figure = Figure()
    chart, plain = figure.subplots(1, 2)
    chart.imshow([[0.0, 1.0]])
    made = {}
    for axes in (chart, plain):
        made[axes] = [axes.plot([0, 1], [0, 0], marker, color=colour, markeredgewidth=1.0)[0]
                      for marker, colour in (("x", "black"), ("x", "white"), ("-", "black"))]  # fmt: skip
    figures._make_readable(figure)
    assert [rim(line) for line in made[chart]] == [[(3.5, "white")], [], []]
    assert [rim(line) for line in made[plain]] == [[], [], []]


# ---------------------------------------------------------------- files


@pytest.fixture(scope="module")
def drawing():
    figure = Figure(figsize=(2, 1), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], color=figures.BLUE)
    right.imshow([[0.0, 1.0], [1.0, 0.0]])
    return figure, figures.png(figure), figures.svg(figure)


def test_the_svg_has_no_ornament_and_short_numbers(drawing):
    _, _, svg = drawing
    begin = 'stroke-linejoin="round" stroke-linecap="butt">'
    assert re.match(
        rf'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 [\d.]+ [\d.]+" {begin}', svg
    )
    assert not re.search(r"<!--|metadata|<style|xlink|\n|<defs></defs>|Date", svg)
    paths = " ".join(re.findall(r' (?:d|x|y|viewBox)="([^"]*)"', svg))
    assert not re.search(r"\.\d{3}", paths)
    used, named = (
        set(re.findall(r'href="#([\w-]+)|url\(#([\w-]+)', svg)),
        set(re.findall(r' id="([\w-]+)"', svg)),
    )
    needed = {one or two for one, two in used}
    assert needed <= named
    assert all(name in needed or name.startswith("map-") for name in named)
    assert "map-1" in named


def test_the_page_shows_through_where_there_is_no_map_and_the_figure_is_white_again(drawing):
    figure, _, svg = drawing
    left, right = figure.axes
    assert left.patch.get_gid() is None
    assert left.get_facecolor() == right.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert svg.count("fill: #ffffff") == 1  # the ground of the map, and no other
    assert (
        figure.get_layout_engine() is None
        or type(figure.get_layout_engine()).__name__ == "PlaceHolderLayoutEngine"
    )


def test_the_png_carries_the_svg_the_numbers_and_the_axes(drawing):
    figure, data, svg = drawing
    picture = Image.open(BytesIO(data))
    assert (picture.format, picture.mode) == ("PNG", "P")
    assert picture.text == {
        "svg": svg,
        "table": figure_data.table(figure),
        "axes": figure_data.axes_of(figure),
    }
    np.testing.assert_allclose(picture.info["dpi"], 192, atol=0.01)
    view = [float(number) for number in re.search(r'viewBox="([^"]*)"', svg)[1].split()]
    np.testing.assert_allclose(picture.size, np.array(view[2:]) * 192 / 72, atol=1.0)
    assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    assert data.count(b"iTXt") == 3


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook is given to show, and a shell to set."""
    shown, shell = [], SimpleNamespace()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr(
        IPython.display, "display", lambda data, **options: shown.append((data, options))
    )
    return shown, shell


def test_a_notebook_is_given_the_png_at_its_size_and_the_line_of_text(notebook):
    figure, axes = figures.new(figsize=(2.0, 1.0))
    axes.plot([0, 1])
    figures.show(figure)
    ((data, options),) = notebook[0]
    assert set(data) == {"image/png", "text/plain"}
    picture = Image.open(BytesIO(base64.b64decode(data["image/png"])))
    size = {"width": picture.width // 2, "height": picture.height // 2}
    assert options == {"metadata": {"image/png": size}, "raw": True}
    assert data["text/plain"] == in_words(figure)
    assert not pyplot.fignum_exists(figure.number)
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 9


def test_a_page_that_runs_its_own_cells_is_given_the_svg(notebook):
    shown, shell = notebook
    shell.draws_svg = True
    figure, axes = figures.new(figsize=(2.0, 1.0))
    axes.plot([0, 1])
    figures.show(figure)
    ((data, options),) = shown
    assert (data["image/svg+xml"], data["text/plain"]) == (figures.svg(figure), in_words(figure))
    assert options == {"metadata": {}, "raw": True}


def test_outside_a_notebook_nothing_is_shown_and_the_figure_is_closed(notebook, monkeypatch):
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    figure, _ = figures.new(figsize=(2.0, 1.0))
    figures.show(figure)
    assert notebook[0] == []
    assert not pyplot.fignum_exists(figure.number)
