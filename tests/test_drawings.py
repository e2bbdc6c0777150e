"""The drawings: what they plot, and what they refuse."""

import matplotlib
import numpy as np
import pytest

from gqlib.edition import drawings, figures

matplotlib.use("Agg")


@pytest.fixture
def axes():
    figure, made = figures.new()
    yield made
    matplotlib.pyplot.close(figure)


def labels(axes):
    return {text.get_text() for text in axes.texts}


def test_star_has_its_states_and_features(axes):
    drawings.draw_star(axes)
    assert {f"$s_{i}$" for i in range(1, 8)} <= labels(axes)
    assert r"$2\epsilon_6 + \epsilon_{8}$" in labels(axes)


def test_chain_numbers_its_states_and_has_an_arrow_for_every_transition(axes):
    drawings.draw_chain(axes, 14)
    assert {f"${i}$" for i in range(1, 15)} <= labels(axes)
    arrows = [child for child in axes.get_children() if getattr(child, "arrow_patch", None) is not None]
    assert len(arrows) == 13 + 12


def test_triangles_are_the_features(axes):
    phi = drawings.draw_triangles(axes, 13)
    for j, line in enumerate(axes.lines):
        np.testing.assert_array_equal(line.get_ydata(), phi[:, j])
    np.testing.assert_array_equal(phi[4], [0, 1, 0, 0])


def test_cart_pole_names_state_and_action(axes):
    drawings.draw_cart_pole(axes)
    assert {"action $a$", "$s_1$"} <= labels(axes)


def test_log_band_is_the_mean_and_stops_with_a_cross_at_divergence(axes):
    runs = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, np.nan]])
    mean = drawings.log_band(axes, [0, 1, 2], runs, "x")
    np.testing.assert_array_equal(mean, [2.0, 2.0, np.nan])
    assert axes.get_yscale() == "log"
    assert [line.get_marker() for line in axes.lines][-1] == "x"
    assert axes.lines[-1].get_xdata().tolist() == [1]


@pytest.mark.parametrize(("draw", "states"), [(drawings.draw_star, 2), (drawings.draw_chain, 3)])
def test_refusals_name_the_argument(axes, draw, states):
    with pytest.raises(ValueError, match=f"states is {states}"):
        draw(axes, states)
