"""The drawings: what they plot, and what they refuse."""

import itertools

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.linalg import expm

from gqlib.domains.machine import CREW, PLAN, RUN, machine_mdp
from kit import drawings, examples, figures

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


# ---------------------------------------------------------------- the mean field


def test_a_field_has_the_arrows_the_path_and_where_it_ends(axes):
    problem = examples.machine_weights("two weights")
    matrix, vector = problem.A(0.0, 0.5), problem.b(0.0, 0.5)
    rest = drawings.draw_field(axes, matrix, vector, 30.0)
    np.testing.assert_allclose(rest, problem.fixed_point(0.0, 0.5))
    field, first = axes.collections
    assert (field.N, first.N) == (80, 1)
    steps = field.XY @ matrix.T + vector
    np.testing.assert_allclose(field.U * steps[:, 1], field.V * steps[:, 0], atol=1e-9)
    lengths = np.hypot(field.U, field.V) ** 2
    np.testing.assert_allclose(
        lengths / np.linalg.norm(steps, axis=1), (lengths / np.linalg.norm(steps, axis=1))[0]
    )
    assert (field.U * steps[:, 0] + field.V * steps[:, 1] > 0).all()
    np.testing.assert_allclose(
        [first.U.item(), first.V.item()], 0.15 * 30.0 * vector / np.linalg.norm(vector)
    )
    # None is longer than nine tenths of its cell, and the fastest, wherever it is, would be as long.
    places = set(itertools.product(np.linspace(0.0, 30.0, 9), repeat=2))
    fastest = max(np.linalg.norm(matrix @ place + vector) for place in places)
    np.testing.assert_allclose(
        lengths, (0.9 * 30.0 / 8) ** 2 * np.linalg.norm(steps, axis=1) / fastest
    )
    assert {tuple(place) for place in field.XY} | {(0.0, 0.0)} == places
    assert first.XY.tolist() == [[0.0, 0.0]]
    for arrow, colour, width in ((field, "0.55", 0.006), (first, figures.RED, 0.012)):
        assert (arrow.angles, arrow.scale_units, arrow.scale, arrow.width) == (
            "xy",
            "xy",
            1.0,
            width,
        )
        assert to_hex(arrow.get_facecolor()[0]) == to_hex(colour)
    path, end = axes.lines
    assert (path.get_color(), path.get_linestyle(), path.get_marker()) == (
        figures.BLUE,
        "-",
        "None",
    )
    assert (end.get_color(), end.get_marker(), end.get_markersize()) == (figures.BLACK, "o", 6)
    assert first.get_zorder() == 4 > max(line.get_zorder() for line in axes.lines)
    np.testing.assert_allclose(np.ravel(end.get_xydata()), rest)
    track = path.get_xydata()
    np.testing.assert_allclose(track[0], 1e-3 * vector, rtol=1e-2)  # after a moment: along b
    times = np.geomspace(1e-3, 200.0, len(track))
    for k in (100, 250, 390):
        np.testing.assert_allclose(track[k], rest - expm(times[k] * matrix) @ rest, atol=1e-9)
    assert axes.get_xlim() == axes.get_ylim() == (pytest.approx(-2.4), pytest.approx(32.4))


def test_a_spiral_is_drawn_too(axes):
    matrix = np.array([[-0.5, -2.0], [2.0, -0.5]])
    np.testing.assert_allclose(
        drawings.draw_field(axes, matrix, -matrix @ [1.0, 2.0], 4.0), [1.0, 2.0]
    )


@pytest.mark.parametrize(
    ("matrix", "vector", "size", "name"),
    [
        ([[1.0, 0.0], [0.0, -1.0]], [1.0, 0.0], 2.0, "matrix"),
        ([[-1.0, 0.0, 0.0]], [1.0, 0.0], 2.0, "matrix"),
        ([[-1.0, 0.0], [0.0, -1.0]], [1.0, 0.0, 2.0], 2.0, "vector"),
        ([[-1.0, 0.0], [0.0, -1.0]], [1.0, 0.0], 0.0, "size"),
    ],
)
def test_what_cannot_be_drawn_is_refused(axes, matrix, vector, size, name):
    with pytest.raises(ValueError, match=f"^{name} "):
        drawings.draw_field(axes, matrix, vector, size)


def test_what_does_not_come_to_rest_is_refused_with_its_eigenvalues(axes):
    told = r"^matrix has eigenvalues \[0\.0, -1\.0\]; their real parts should be negative$"
    with pytest.raises(ValueError, match=told):
        drawings.draw_field(axes, [[0.0, 0.0], [0.0, -1.0]], [1.0, 0.0], 2.0)


def test_a_point_at_rest_has_an_arrow_without_length(axes):
    """The middle of the square is where the weights come to rest: no division by zero."""
    drawings.draw_field(axes, [[-1.0, 0.0], [0.0, -1.0]], [4.0, 4.0], 8.0)
    field = axes.collections[0]
    (middle,) = np.flatnonzero((field.XY == 4.0).all(axis=1))
    assert field.U[middle] == field.V[middle] == 0.0
    assert np.isfinite(field.U).all()
