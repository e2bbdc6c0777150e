"""What `gq plot` puts where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from matplotlib.colors import to_hex

from gqlib import plots
from gqlib.plots import plot_result
from gqlib.sweeps.results import load_results
from kit import figures

pyplot = pytest.importorskip("matplotlib.pyplot")
RESULTS = Path(__file__).parents[1] / "results"


@pytest.fixture(autouse=True)
def _no_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def panels(figure: Any) -> dict[str, Any]:
    return {axes.get_title(): axes for axes in figure.axes if axes.get_visible() and axes.lines}


def study(**fields: list[Any]) -> xarray.Dataset:
    """Scores of two runs and curves of three steps; every setting has its own."""
    settings = len(next(iter(fields.values())))
    scores = np.arange(2.0 * settings).reshape(settings, 2)
    curves = {
        "values": (("setting", "run", "step"), np.arange(6.0 * settings).reshape(settings, 2, 3))
    }
    data = xarray.Dataset({"score": (("setting", "run"), scores)} | curves)
    return data.assign_coords({name: ("setting", values) for name, values in fields.items()})


def test_scores_are_drawn_against_sigma_in_order_with_a_curve_for_each_of_a_few() -> None:
    data = study(sigma=[0.5, 0.0, 0.5, 0.0], target=["greedy", "greedy", "soft", "soft"])
    ((_, axes),) = panels(plot_result(data)).items()
    assert axes.get_xlabel() == "sigma"
    assert axes.get_ylabel() == "score"
    assert [line.get_label() for line in axes.lines] == ["greedy", "soft"]
    assert axes.lines[0].get_xdata().tolist() == [0.0, 0.5]
    assert axes.lines[0].get_ydata().tolist() == [2.5, 0.5]
    # Half the width of the interval: a standard deviation of 1/√2 over √2, times Student's 12.7 for one degree.
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(2.5 + 12.7062 / 2, abs=1e-3)


def test_curves_are_drawn_against_their_steps_and_other_fields_make_panels() -> None:
    data = study(sigma=[0.0, 1.0, 0.0, 1.0], alpha=[0.1, 0.1, 0.2, 0.2], noise=[3, 4, 3, 4])
    figure = plot_result(data, "values")
    found = panels(figure)
    assert list(found) == ["alpha 0.1", "alpha 0.2"]  # and none for the noise, which σ determines
    assert [line.get_label() for line in found["alpha 0.2"].lines] == ["0.0", "1.0"]
    np.testing.assert_array_equal(found["alpha 0.2"].lines[1].get_xdata(), [0, 1, 2])
    np.testing.assert_array_equal(found["alpha 0.2"].lines[1].get_ydata(), [19.5, 20.5, 21.5])


def test_many_values_are_shades_with_a_scale() -> None:
    data = study(sigma=[k / 10 for k in range(10)]).drop_vars("score")
    figure = plot_result(data)
    assert len(figure.axes) == 2
    assert figure.axes[1].get_ylabel() == "sigma"
    assert len({line.get_color() for line in figure.axes[0].lines}) == 10


def test_what_is_not_finite_is_left_out_and_counted() -> None:
    data = study(sigma=[0.0, 1.0])
    data["score"][1, 0] = np.inf
    figure = plot_result(data)
    assert figure.get_suptitle() == "1 of 4 values not finite, left out"
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0.5, 3.0]


def test_large_spans_are_logarithmic() -> None:
    data = study(sigma=[0.0, 1.0]).drop_vars("values")
    assert plot_result(data).axes[0].get_yscale() == "linear"
    data["score"][:] = [[1.0, 1.0], [2000.0, 2000.0]]
    assert plot_result(data).axes[0].get_yscale() == "log"


def test_settings_that_no_field_tells_apart_stand_in_a_row() -> None:
    data = study(sigma=[0.5, 0.5]).drop_vars("values")
    assert plot_result(data).axes[0].get_xlabel() == "setting"


def test_lists_of_the_settings_label_a_dimension() -> None:
    arrays = {"mspbe": (("setting", "sigma", "alpha"), np.arange(3.0).reshape(1, 3, 1) + 1)}
    labels = {"sigmas": ("setting", ["[0.0,0.5,1.0]"]), "alphas": ("setting", ["[0.1]"])}
    figure = plot_result(xarray.Dataset(arrays, labels))
    assert figure.axes[0].lines[0].get_xdata().tolist() == [0.0, 0.5, 1.0]


def test_too_much_for_a_figure_is_refused_with_what_to_choose() -> None:
    data = study(sigma=[0.0, 1.0] * 30, name=[str(k // 2) for k in range(60)])
    wanted = r"in 30 panels, one for each name; choose some, for example name=0 \(in gq plot: --where name=0\)$"
    with pytest.raises(ValueError, match=wanted):
        plot_result(data, "values")
    assert plot_result(data).axes[0].get_ylabel() == "score"  # which is enough for one figure
    with pytest.raises(ValueError, match=r"variable is 'none'; .*score"):
        plot_result(data, "none")
    cube = xarray.Dataset({"mspbe": (("setting", "sigma", "alpha"), np.ones((1, 2, 2)))})
    with pytest.raises(
        ValueError, match=r"by sigma and alpha; choose values of all but one .*--where sigma=0\)$"
    ):
        plot_result(cube)


def test_what_was_measured_is_drawn_rather_than_what_diverged() -> None:
    data = study(alpha=[0.1, 0.2]).rename(score="error").drop_vars("values")
    both = xarray.Dataset({"diverged": data["error"] > 1e3, "error": data["error"]})
    assert plot_result(both).axes[0].get_ylabel() == "error"
    assert plot_result(both, "diverged").axes[0].get_ylabel() == "diverged"
    assert plot_result(both[["diverged"]]).axes[0].get_ylabel() == "diverged"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "number"), [("fig4", "mean steps per episode", 12), ("table2", "score", 4)]
)
def test_the_committed_results_are_drawn(name: str, label: str, number: int) -> None:
    result = load_results(RESULTS / f"{name}.npz")
    found = panels(plot_result(result))
    assert len(found) == number
    assert next(iter(found.values())).get_ylabel() == label


def band(axes: Any, curve: int = 0) -> Any:
    return axes.collections[curve]


def test_panels_stand_four_in_a_row_with_names_at_the_edges() -> None:
    data = study(sigma=[0.0, 1.0] * 6, name=[f"n{k // 2}" for k in range(12)])
    figure = plot_result(data, "values")
    assert figure.get_size_inches().tolist() == [13.0, 5.2]
    assert [axes.get_visible() for axes in figure.axes] == [True] * 6 + [False] * 2
    shown = figure.axes[:6]
    assert [axes.get_title() for axes in shown] == [f"name n{k}" for k in range(6)]
    assert {axes.title.get_fontsize() for axes in shown} == {8}
    assert [axes.get_xlabel() for axes in shown] == [
        "",
        "",
        "step",
        "step",
        "step",
        "step",
    ]  # none below them
    assert [axes.get_ylabel() for axes in shown] == ["values", "", "", "", "values", ""]
    assert {axes.get_xlim() for axes in shown} == {shown[0].get_xlim()}
    assert {axes.get_ylim() for axes in shown} == {shown[0].get_ylim()}
    assert [axes.xaxis.get_tick_params()["labelbottom"] for axes in shown] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]


def test_two_panels_share_one_row_and_one_alone_has_the_books_size() -> None:
    two = study(sigma=[0.0, 1.0] * 2, name=["a", "a", "b", "b"])
    assert plot_result(two, "values").get_size_inches().tolist() == [7.0, 2.8]
    assert plot_result(two).get_size_inches().tolist() == [7.0, 3.6]


def test_panels_are_refused_only_beyond_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "MOST_PANELS", 2)
    names = ["n0", "n0", "n1", "n1"]
    assert len(panels(plot_result(study(sigma=[0.0, 1.0] * 2, name=names), "values"))) == 2
    with pytest.raises(
        ValueError, match=r"^variable is 'values', in 3 panels, one for each name; choose some, for"
    ):
        plot_result(study(sigma=[0.0, 1.0] * 3, name=[*names, "n2", "n2"]), "values")


def test_a_few_curves_have_the_books_styles_and_a_legend() -> None:
    data = study(sigma=[0.0, 1.0] * 8, name=[f"n{k // 2}" for k in range(16)])
    figure = plot_result(data)
    (axes,) = figure.axes
    expected = [*figures.CYCLE, *((colour, ":") for colour, _ in figures.CYCLE)]
    for line, (colour, dashes) in zip(axes.lines, expected, strict=False):
        assert line.get_color() == colour
        assert (
            line._unscaled_dash_pattern
            == pyplot.Line2D([], [], linestyle=dashes)._unscaled_dash_pattern
        )
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "name"
    assert [text.get_text() for text in legend.get_texts()] == [f"n{k}" for k in range(8)]
    assert {text.get_fontsize() for text in legend.get_texts()} == {8}
    assert legend._ncols == 1
    for curve, line in enumerate(axes.lines):
        shade = band(axes, curve)
        assert (
            to_hex(shade.get_facecolor()[0], keep_alpha=True) == line.get_color().lower() + "26"
        )  # 15%
        assert shade.get_linewidth().tolist() == [0]


@pytest.mark.parametrize(("names", "columns"), [(14, 1), (15, 2)])
def test_a_long_legend_has_more_columns_and_the_styles_begin_again(
    names: int, columns: int
) -> None:
    data = study(sigma=[0.0, 1.0] * names, name=[f"n{k // 2}" for k in range(2 * names)])
    figure = plot_result(data)
    assert figure.legends[0]._ncols == columns
    lines = figure.axes[0].lines
    assert lines[12].get_color() == lines[0].get_color()
    assert lines[12].get_linestyle() == lines[0].get_linestyle() == "-"


def test_what_is_averaged_says_what_was_left_out_and_how_wide_its_interval_is() -> None:
    data = study(sigma=[0.0, 1.0])
    mean, half, told = plots._averaged(data, "score")
    assert (mean.values.tolist(), told) == ([0.5, 2.5], "")
    assert half.values == pytest.approx([12.7062 / 2] * 2, rel=1e-5)
    alone = data.isel(run=[0]).assign(score=(("setting", "run"), [[3.0], [np.nan]]))
    mean, half, told = plots._averaged(alone, "score")
    assert told == "1 of 2 values not finite, left out"
    assert mean.values[0] == 3.0
    assert np.isnan([mean.values[1], *half.values]).all()
    by_episode = {
        "mean": (("setting", "episode"), [[1.0, 2.0]]),
        "variance": (("setting", "episode"), [[4.0, 9.0]]),
    }
    for runs, factor in ((0, 12.7062), (1, 12.7062), (4, 3.18245 / 2)):
        kept = xarray.Dataset(
            by_episode | ({"score": (("setting", "run"), np.ones((1, runs)))} if runs else {})
        )
        mean, half, told = plots._averaged(kept, "mean")
        assert (mean.values.tolist(), told) == ([[1.0, 2.0]], "")
        assert half.values.ravel() == pytest.approx([2.0 * factor, 3.0 * factor], rel=1e-5)


def test_curves_are_explained_beside_the_panels() -> None:
    figure = plot_result(study(sigma=[0.0, 1.0, 0.0, 1.0], target=["a", "a", "b", "b"]))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert [line.get_color() for line in legend.get_lines()] == [
        line.get_color() for line in figure.axes[0].lines
    ]
    assert legend._outside_loc == "right"
    many = plot_result(study(sigma=[k / 10 for k in range(10)]).drop_vars("score"))
    assert many.axes[1]._colorbar.mappable.get_cmap().name == "cividis"


def test_shades_go_from_the_least_to_the_largest_number() -> None:
    sigmas = [0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 2.25]  # one more than there are styles
    figure = plot_result(study(sigma=sigmas).drop_vars("score"))
    shades = pyplot.colormaps["cividis"]
    assert [line.get_color() for line in figure.axes[0].lines] == [
        shades((sigma - 0.25) / 2.0) for sigma in sigmas
    ]
    assert {(line.get_linestyle(), line.get_linewidth()) for line in figure.axes[0].lines} == {
        ("-", 1.2)
    }
    assert figure.axes[1].get_ylim() == (0.25, 2.25)
    assert not figure.legends
    figure = plot_result(study(sigma=sigmas[:-1]).drop_vars("score"))
    assert [line.get_color() for line in figure.axes[0].lines] == [
        colour for colour, _ in figures.CYCLE
    ]


def test_a_curve_alone_has_the_first_style_and_no_legend() -> None:
    figure = plot_result(study(sigma=[0.0, 1.0]))
    (line,) = figure.axes[0].lines
    assert (line.get_color(), line.get_linestyle()) == figures.CYCLE[0]
    assert not figure.legends
    assert len(figure.axes) == 1


def test_titles_are_wrapped_and_without_brackets() -> None:
    long = '{"kind":"constant","values":[0.25,0.5,0.75]}'
    data = study(sigma=[0.0, 1.0] * 2, schedule=[long, long, "none", "none"])
    first, second = panels(plot_result(data, "values"))
    assert first == "schedule kind:constant, values:0.25,\n0.5, 0.75"
    assert second == "schedule none"


def test_the_key_of_a_setting_is_no_field() -> None:
    data = study(sigma=[0.5, 0.5], key=["a1", "b2"]).drop_vars("values")
    assert plot_result(data).axes[0].get_xlabel() == "setting"


def test_fields_with_more_values_come_first_and_of_two_alike_sigma() -> None:
    data = study(alpha=[1, 2, 1, 2, 1, 2], sigma=[0.0, 0.0, 0.5, 0.5, 1.0, 1.0]).drop_vars("values")
    assert plot_result(data).axes[0].get_xlabel() == "sigma"
    data = study(alpha=[1, 2, 1, 2], sigma=[0.0, 0.0, 0.5, 0.5]).drop_vars("values")
    assert plot_result(data).axes[0].get_xlabel() == "sigma"
    data = study(name=["a", "b", "c", "a", "b", "c"], alpha=[1, 1, 1, 2, 2, 2]).drop_vars("values")
    assert (
        plot_result(data).axes[0].get_xlabel() == "alpha"
    )  # a number, although there are more names


def test_an_interval_needs_two_finite_runs() -> None:
    data = study(sigma=[0.0, 1.0]).drop_vars("values")
    data["score"][1, 0] = np.nan
    figure = plot_result(data)
    assert figure._suptitle.get_fontsize() == 10
    heights = band(figure.axes[0]).get_paths()[0].vertices
    assert set(heights[:, 0]) == {0.0}  # nothing over σ = 1


def test_learning_curves_have_the_interval_of_their_variance() -> None:
    arrays = {
        "mean": (("setting", "episode"), [[4.0, 2.0, 1.0]]),
        "variance": (("setting", "episode"), [[9.0, 9.0, 0.0]]),
        "score": (("setting", "run"), np.ones((1, 9))),
    }
    figure = plot_result(xarray.Dataset(arrays, {"sigma": ("setting", [0.5])}))
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("episode", "mean")
    assert axes.lines[0].get_ydata().tolist() == [4.0, 2.0, 1.0]
    heights = band(axes).get_paths()[0].vertices
    assert heights[heights[:, 0] == 0][:, 1].max() == pytest.approx(
        4.0 + 2.3060041350333704
    )  # t of 8, times 3/√9
    assert set(heights[heights[:, 0] == 2][:, 1]) == {1.0}
    other = plot_result(xarray.Dataset(arrays, {"sigma": ("setting", [0.5])}), "variance")
    assert not any(
        len(path.vertices) for path in band(other.axes[0]).get_paths()
    )  # which has none of its own


@pytest.mark.parametrize(("scores", "scale"), [((1.0, 1000.0), "linear"), ((1.0, 1001.0), "log"),
                                               ((0.0, 5000.0), "linear"), ((-1.0, 5000.0), "linear"),
                                               ((0.5, 600.0), "log"), ((2.0, 1900.0), "linear")])  # fmt: skip
def test_an_axis_is_logarithmic_above_a_thousandfold(
    scores: tuple[float, float], scale: str
) -> None:
    data = study(sigma=[0.0, 1.0]).drop_vars("values")
    data["score"][:] = [[scores[0]] * 2, [scores[1]] * 2]
    assert plot_result(data).axes[0].get_yscale() == scale


def test_a_list_that_does_not_fit_its_dimension_labels_nothing() -> None:
    arrays = {"mspbe": (("setting", "sigma"), np.arange(6.0).reshape(2, 3))}
    for lists in (["[0.0,0.5]"] * 2, ["[0.0,0.5,1.0]", "[0.0,0.5,2.0]"], ["3"] * 2):
        labels = {"sigmas": ("setting", lists), "name": ("setting", ["a", "b"])}
        figure = plot_result(xarray.Dataset(arrays, labels))
        assert figure.axes[0].lines[0].get_xdata().tolist() == [0, 1, 2]
    named = {
        "sigma": [5.0, 6.0, 7.0],
        "sigmas": ("setting", ["[0.0,0.5,1.0]"] * 2),
        "name": ("setting", ["a", "b"]),
    }
    assert plot_result(xarray.Dataset(arrays, named)).axes[0].lines[0].get_xdata().tolist() == [
        5.0,
        6.0,
        7.0,
    ]
