"""What `gq plot` puts where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from gqlib.edition.plots import plot_result
from gqlib.sweeps.results import load_results

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
    curves = {"values": (("setting", "run", "step"), np.arange(6.0 * settings).reshape(settings, 2, 3))}
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
    with pytest.raises(ValueError, match="in 30 panels, one for each name; choose some, for example name=0"):
        plot_result(data, "values")
    assert plot_result(data).axes[0].get_ylabel() == "score"  # which is enough for one figure
    with pytest.raises(ValueError, match=r"variable is 'none'; .*score"):
        plot_result(data, "none")
    cube = xarray.Dataset({"mspbe": (("setting", "sigma", "alpha"), np.ones((1, 2, 2)))})
    with pytest.raises(ValueError, match="by sigma and alpha; choose values of all but one"):
        plot_result(cube)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variable", "number"), [("fig4", "mean", 12), ("table2", "score", 4)])
def test_the_committed_results_are_drawn(name: str, variable: str, number: int) -> None:
    result = load_results(RESULTS / f"{name}.npz")
    found = panels(plot_result(result))
    assert len(found) == number
    assert next(iter(found.values())).get_ylabel() == variable
