"""The field of the mean update on the machine with two weights: drawn, and live, with the library's numbers in it."""

import itertools
import math

import matplotlib
import numpy as np
import pytest
from chromium import THEMES, assert_fits_a_phone, live_figure, needs_browser, numbers, put
from javascript import (
    assert_presets_lie_within,
    assert_shown_as_html_and_a_sentence,
    assert_small_and_alone,
    call,
    formula,
    scripts,
)
from matplotlib.colors import to_hex
from scipy.linalg import expm

from gqlib.domains.machine import CREW, NEW, PLAN, RUN, machine_mdp
from kit import figures, mean_field

matplotlib.use("Agg")
GRID = list(itertools.product((0.0, 0.3, 1.0), (0.0, 0.5, 0.9, 1.0), (0.5, 0.8, 0.95)))


@pytest.fixture(scope="module")
def page():
    return scripts(("explorables.js", "mean_field.js"), mean_field.mean_field_explorable())


def field(page, *at):
    return formula(page, "mean-field", "field", *at)


def by_lines(sigma, gamma):
    """A and b at λ = 0 from the tables of the machine, line by line of the logbook; no matrix of the library."""
    mdp = machine_mdp(gamma)
    chain = np.array([[CREW[s] @ mdp.transitions[s, :, t] for t in range(3)] for s in range(3)])
    law = np.linalg.matrix_power(chain, 400)[0]
    matrix, vector = np.zeros((2, 2)), np.zeros(2)
    for s, a, t, c in np.ndindex(3, 2, 3, 2):
        weight = law[s] * CREW[s, a] * mdp.transitions[s, a, t] * CREW[t, c]
        ahead = sigma * np.eye(2)[c] + (1 - sigma) * PLAN[t]
        matrix[a] += weight * (gamma * ahead - np.eye(2)[a])
        vector[a] += weight * mdp.rewards[s, a]
    return matrix, vector


@pytest.mark.parametrize(("sigma", "gamma"), [(0.0, 0.95), (0.4, 0.8), (1.0, 0.5)])
def test_the_problem_is_the_mean_over_lines_of_the_logbook(sigma, gamma):
    matrix, vector = by_lines(sigma, gamma)
    problem = mean_field.machine_flags(gamma)
    np.testing.assert_allclose(problem.A(sigma, 0.0), matrix, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(problem.b(sigma, 0.0), vector, rtol=1e-12)
    assert problem.features[2 * NEW + RUN].tolist() == [1.0, 0.0]


def test_formulas_are_the_librarys(page):
    for sigma, lam, gamma in GRID:
        problem = mean_field.machine_flags(gamma)
        expected = np.append(problem.A(sigma, lam).ravel(), problem.b(sigma, lam))
        np.testing.assert_allclose(field(page, sigma, lam, gamma), expected, rtol=1e-9, atol=1e-12)


def test_sigma_is_not_in_b_and_is_in_a(page):
    for lam, gamma in ((0.0, 0.95), (0.7, 0.6), (1.0, 0.95)):
        one, two = field(page, 0.0, lam, gamma), field(page, 0.8, lam, gamma)
        assert one[4:] == two[4:]
        assert min(abs(a - b) for a, b in zip(one[:4], two[:4], strict=True)) > 1e-3


def test_rest_eigenvalues_and_course_are_the_librarys(page):
    for sigma, lam, gamma in GRID:
        problem = mean_field.machine_flags(gamma)
        matrix, vector = problem.A(sigma, lam), problem.b(sigma, lam)
        rest = call(page, "gqMeanField.rest", matrix.ravel().tolist(), vector.tolist())
        np.testing.assert_allclose(rest, problem.fixed_point(sigma, lam), rtol=1e-9)
        found = [
            complex(*pair)
            for pair in call(page, "gqMeanField.eigenvalues", matrix.ravel().tolist())
        ]
        np.testing.assert_allclose(
            np.sort_complex(found),
            np.sort_complex(np.linalg.eigvals(matrix).astype(complex)),
            rtol=1e-7,
            atol=1e-9,
        )
        assert found[0].real >= found[1].real
        course = call(page, "gqMeanField.course", matrix.ravel().tolist(), rest, 0.5, 5)
        expected = [np.array(rest) - expm(0.5 * k * matrix) @ rest for k in range(5)]
        np.testing.assert_allclose(course, expected, rtol=1e-9, atol=1e-9)


def test_complex_eigenvalues_come_in_pairs(page):
    assert call(page, "gqMeanField.eigenvalues", [-1, -2, 2, -1]) == [[-1, 2], [-1, -2]]


def test_arrows_point_along_the_step_and_none_is_longer_than_its_cell(page):
    matrix, vector = np.array([[-0.4, 0.3], [0.2, -0.3]]), np.array([1.5, -0.4])
    arrows = np.array(
        call(page, "gqMeanField.arrows", matrix.ravel().tolist(), vector.tolist(), 24.0, 9)
    )
    assert arrows.shape == (81, 2, 2)
    tails, ways = arrows[:, 0], arrows[:, 1] - arrows[:, 0]
    steps = tails @ matrix.T + vector
    sizes = np.linalg.norm(steps, axis=1)
    np.testing.assert_allclose(tails[0], 0.0)
    np.testing.assert_allclose(ways[:, 0] * steps[:, 1], ways[:, 1] * steps[:, 0], atol=1e-9)
    assert ((ways * steps).sum(axis=1) > 0).all()
    lengths = np.linalg.norm(ways, axis=1)
    np.testing.assert_allclose(lengths.max(), 0.9 * 3.0)
    np.testing.assert_allclose((lengths / lengths.max()) ** 2, sizes / sizes.max())


def test_the_mean_is_stable_at_every_setting_of_the_sliders():
    for sigma, lam, gamma in itertools.product(
        np.linspace(0, 1, 11), np.linspace(0, 1, 11), np.linspace(0.5, 0.95, 4)
    ):
        assert np.linalg.eigvals(mean_field.machine_flags(gamma).A(sigma, lam)).real.max() < 0


def test_presets_and_caption():
    assert_presets_lie_within(mean_field.mean_field_explorable())
    assert len(mean_field.mean_field_explorable().presets) >= 3


def test_the_script_is_small_and_fetches_nothing():
    assert_small_and_alone("mean_field.js", lines=150)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    assert_shown_as_html_and_a_sentence(monkeypatch, mean_field.show_mean_field, "mean-field")


# ---------------------------------------------------------------- the still drawing


@pytest.fixture
def axes():
    figure, made = figures.new()
    yield made
    matplotlib.pyplot.close(figure)


def test_a_drawing_has_the_arrows_the_path_and_where_it_ends(axes):
    problem = mean_field.machine_flags()
    matrix, vector = problem.A(0.0, 0.5), problem.b(0.0, 0.5)
    rest = mean_field.draw_field(axes, matrix, vector, 30.0)
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
        mean_field.draw_field(axes, matrix, -matrix @ [1.0, 2.0], 4.0), [1.0, 2.0]
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
        mean_field.draw_field(axes, matrix, vector, size)


def test_what_does_not_come_to_rest_is_refused_with_its_eigenvalues(axes):
    told = r"^matrix has eigenvalues \[0\.0, -1\.0\]; their real parts should be negative$"
    with pytest.raises(ValueError, match=told):
        mean_field.draw_field(axes, [[0.0, 0.0], [0.0, -1.0]], [1.0, 0.0], 2.0)


def test_a_point_at_rest_has_an_arrow_without_length(axes):
    """The middle of the square is where the weights come to rest: no division by zero."""
    mean_field.draw_field(axes, [[-1.0, 0.0], [0.0, -1.0]], [4.0, 4.0], 8.0)
    field = axes.collections[0]
    (middle,) = np.flatnonzero((field.XY == 4.0).all(axis=1))
    assert field.U[middle] == field.V[middle] == 0.0
    assert np.isfinite(field.U).all()


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    with live_figure(book, browser, "expected_update", "mean-field") as tab_and_figure:
        yield tab_and_figure


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize(
    ("sigma", "lam", "gamma"),
    [pytest.param(0.0, 0.0, 0.95, marks=pytest.mark.thorough), (0.5, 0.9, 0.95), (1.0, 0.3, 0.6)],
)
def test_live_figure_shows_the_librarys_numbers(opened, sigma, lam, gamma):
    _, figure = opened
    put(figure, sigma=sigma, lam=lam, gamma=gamma)
    problem = mean_field.machine_flags(gamma)
    near = {"rtol": 6e-4, "atol": 1e-9}
    np.testing.assert_allclose(numbers(figure, "b"), problem.b(sigma, lam), **near)
    np.testing.assert_allclose(numbers(figure, "rest"), problem.fixed_point(sigma, lam), **near)
    values = np.linalg.eigvals(problem.A(sigma, lam))
    if np.abs(values.imag).max() == 0:
        np.testing.assert_allclose(numbers(figure, "eigenvalues"), np.sort(values)[::-1], **near)
    assert figure.locator('[data-name="verdict"]').inner_text() == "stable"


@pytest.mark.slow
@needs_browser
def test_the_red_arrow_stands_still_while_sigma_turns_and_the_keyboard_turns_it(opened):
    tab, figure = opened
    figure.locator("button", has_text="no trace, the plan").click()
    plane = figure.locator("svg.gq-panel").first
    red = plane.locator("path.gq-red")
    ends = []
    for _ in range(2):
        ends.append(
            (
                numbers(figure, "b").tolist(),
                numbers(figure, "rest").tolist(),
                red.get_attribute("d"),
            )
        )
        figure.locator(".gq-handle").focus()
        for _ in range(5):
            tab.keyboard.press("Shift+ArrowRight")
    assert ends[0][0] == ends[1][0]
    assert ends[0][2] == ends[1][2]
    assert math.dist(ends[0][1], ends[1][1]) > 0.5


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_live_figure_has_its_caption_and_fits_a_phone(opened, theme):
    tab, figure = opened
    assert "that you set" in tab.locator("#fig-eu-live .caption-text").inner_text()
    assert_fits_a_phone(tab, figure, theme, panels=3)
