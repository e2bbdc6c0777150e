"""The drawings: what they plot, and what they refuse."""

import matplotlib
import numpy as np
import pytest

from gqlib.domains.machine import CREW, PLAN, RUN, machine_mdp
from kit import drawings, figures

matplotlib.use("Agg")


@pytest.fixture
def axes():
    figure, made = figures.new()
    yield made
    matplotlib.pyplot.close(figure)


def labels(axes):
    return {text.get_text() for text in axes.texts}


def arrows(axes):
    return [
        child for child in axes.get_children() if getattr(child, "arrow_patch", None) is not None
    ]


def test_the_machine_has_an_arrow_and_a_number_for_every_move(axes):
    drawings.draw_machine(axes)
    moves = machine_mdp().transitions
    assert len(arrows(axes)) == (moves > 0).sum()
    numbers = sorted(
        float(text) for text in (child.get_text() for child in axes.texts) if text[:1].isdigit()
    )
    assert numbers == sorted(moves[moves > 0])
    assert {"new", "worn", "broken"} <= labels(axes)


def test_an_arrow_of_the_machine_ends_beside_the_state_that_it_leads_to():
    for (state, _, reached), (begin, end, _, _) in drawings._MACHINE.items():
        assert abs(begin[0] - 3 * state) < 0.5
        assert abs(end[0] - 3 * reached) < 0.5


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
def test_a_backup_weighs_the_action_taken_by_sigma_and_all_of_them_by_the_policy(axes, sigma):
    policy = np.array([0.2, 0.5, 0.3])
    weights = drawings.draw_backup(axes, sigma, policy, 1, names=["pair", "state", "a", "b", "c"])
    expected = [0.2 * (1 - sigma), 0.5 * (1 - sigma) + sigma, 0.3 * (1 - sigma)]
    np.testing.assert_allclose(weights, expected, rtol=1e-15)
    assert weights.sum() == pytest.approx(1.0)
    assert [f"×{weight:.3g}" for weight in weights] == [
        text for text in written(axes) if text.startswith("×")
    ]
    assert {"pair", "state", "a", "b", "c", f"σ = {sigma:g}", "expect", "sample"} <= labels(axes)


def written(axes):
    return [text.get_text() for text in axes.texts]


def colours(axes):
    return [line.get_color() for line in axes.lines]


def test_lines_of_a_backup_are_there_only_with_weight(axes):
    drawings.draw_backup(
        axes, 0.0, PLAN[2], RUN
    )  # the crew ran, the plan repairs: nothing leads to what was sampled
    assert figures.BLUE not in colours(axes)
    assert colours(axes).count(figures.RED) == 1
    axes.clear()
    drawings.draw_backup(axes, 1.0, CREW[2], RUN)
    assert colours(axes).count(figures.BLUE) == 1
    assert figures.RED not in colours(axes)


@pytest.mark.parametrize(
    ("sigma", "end"), [(0.0, (-1.0, 0.0)), (0.5, (0.0, 1.0)), (1.0, (1.0, 0.0))]
)
def test_the_hand_of_the_dial_points_to_sigma(axes, sigma, end):
    drawings.draw_backup(axes, sigma, [0.5, 0.5], 0)
    (hand,) = arrows(axes)
    way = np.subtract(hand.xy, hand.xyann)
    np.testing.assert_allclose(way / np.linalg.norm(way), end, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, [0.5, 0.5], 0), r"sigma is 1\.5"),
        ((0.5, [0.5, 0.6], 0), "policy"),
        ((0.5, [0.5, 0.5], 2), "taken is 2"),
    ],
)
def test_a_backup_refuses_what_is_none(axes, arguments, message):
    with pytest.raises(ValueError, match=message):
        drawings.draw_backup(axes, *arguments)


def test_a_backup_needs_a_name_for_every_node(axes):
    with pytest.raises(ValueError, match="names holds 3 names; with 2 actions it should hold 4"):
        drawings.draw_backup(axes, 0.5, [0.5, 0.5], 0, names=["pair", "state", "a"])


def test_star_has_its_states_and_features(axes):
    drawings.draw_star(axes)
    assert {f"$s_{i}$" for i in range(1, 8)} <= labels(axes)
    assert r"$2\epsilon_6 + \epsilon_{8}$" in labels(axes)


def test_chain_numbers_its_states_and_has_an_arrow_for_every_transition(axes):
    drawings.draw_chain(axes, 14)
    assert {f"${i}$" for i in range(1, 15)} <= labels(axes)
    assert len(arrows(axes)) == 13 + 12


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
