"""MSPBE of two weights as a bowl, live, with the library's numbers in it."""

import itertools

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
from scipy.linalg import expm

from gqlib.domains import two_state
from gqlib.domains.machine import CREW, PLAN
from kit import bowl

GRID = list(itertools.product(bowl.BOWLS, (0.0, 0.4, 1.0), (0.0, 0.9, 1.0), (0.5, 0.99)))


@pytest.fixture(scope="module")
def page():
    return scripts(("explorables.js", "mean_field.js", "bowl.js"), bowl.bowl_explorable())


def flat(matrix):
    return np.asarray(matrix).ravel().tolist()


def test_formulas_are_the_librarys(page):
    for name, sigma, lam, gamma in GRID:
        problem = bowl.bowl_problem(name, gamma)
        expected = np.concatenate(
            [problem.A(sigma, lam).ravel(), problem.b(sigma, lam), problem.M.ravel()]
        )
        found = formula(page, "bowl", name, sigma, lam, gamma)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)


def test_the_objective_and_its_slope_are_the_librarys(page):
    rng = np.random.default_rng(0)
    for name, sigma, lam, gamma in GRID:
        problem, theta = bowl.bowl_problem(name, gamma), rng.standard_normal(2)
        g, m = problem.td_step(theta, sigma, lam), flat(problem.M)
        assert np.isclose(
            call(page, "gqBowl.half", m, g.tolist()), problem.mspbe(theta, sigma, lam)
        )
        steep = np.reshape(call(page, "gqBowl.downhill", flat(problem.A(sigma, lam)), m), (2, 2))
        rest = problem.fixed_point(sigma, lam)
        # Down means minus the gradient, found here by differences of the library's objective.
        slope = [(problem.mspbe(theta + h, sigma, lam) - problem.mspbe(theta - h, sigma, lam)) / 2e-4
                 for h in 1e-4 * np.eye(2)]  # fmt: skip
        scale = np.abs(steep).max() * np.abs(theta - rest).max()
        np.testing.assert_allclose(
            steep @ (theta - rest), -np.array(slope), rtol=1e-4, atol=1e-5 * scale
        )


def test_a_level_line_has_one_height(page):
    for name in bowl.BOWLS:
        problem = bowl.bowl_problem(name, 0.9)
        rest = problem.fixed_point(0.3, 0.5)
        given = flat(problem.A(0.3, 0.5)), flat(problem.M), rest.tolist(), 0.7, 25
        line = np.array(call(page, "gqBowl.level", *given))
        np.testing.assert_allclose(
            [problem.mspbe(point, 0.3, 0.5) for point in line], 0.7, rtol=1e-9
        )
        np.testing.assert_allclose(line[0], line[-1], rtol=1e-9)
        assert np.ptp(line, axis=0).min() > 0


def test_ways_follow_the_exponential(page):
    matrix, start, rest = np.array([[-0.4, 0.3], [0.2, -0.5]]), [1.0, 2.0], [3.0, -1.0]
    times = [0.01, 1.0, 30.0]
    found = call(page, "gqBowl.way", flat(matrix), start, rest, times)
    expected = [np.add(rest, expm(t * matrix) @ np.subtract(start, rest)) for t in times]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_problems_are_what_their_names_say():
    first, second = bowl.bowl_problem(bowl.BOWLS[0], 0.8), bowl.bowl_problem(bowl.BOWLS[1], 0.8)
    np.testing.assert_array_equal(second.features, first.features @ [[1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(second.p_pi, first.p_pi)
    assert first.gamma == 0.8
    np.testing.assert_allclose(
        first.xi.reshape(3, 2) / first.xi.reshape(3, 2).sum(axis=1, keepdims=True), CREW
    )
    np.testing.assert_allclose(first.p_pi.reshape(6, 3, 2)[:, PLAN == 0], 0.0)
    np.testing.assert_allclose(
        bowl.bowl_problem("two states", 0.8).A(0.2, 0.3), two_state(0.8).problem.A(0.2, 0.3)
    )
    with pytest.raises(ValueError, match=r"^name "):
        bowl.bowl_problem("three states")


def test_downhill_never_diverges_and_one_preset_does():
    unstable = 0
    for preset in bowl.bowl_explorable().presets:
        problem = bowl.bowl_problem(preset.choice, preset.values["gamma"])
        a = problem.A(preset.values["sigma"], preset.values["lambda"])
        assert np.linalg.eigvalsh(-a.T @ np.linalg.solve(problem.M, a)).max() < 0
        unstable += np.linalg.eigvals(a).real.max() > 0
    assert unstable == 2


def test_presets_and_caption():
    assert_presets_lie_within(bowl.bowl_explorable(), bowl.BOWLS)


def test_the_script_is_small_and_fetches_nothing():
    assert_small_and_alone("bowl.js", lines=150)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    assert_shown_as_html_and_a_sentence(monkeypatch, bowl.show_bowl, "bowl")


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    with live_figure(book, browser, "mspbe_and_proposition_1", "bowl") as tab_and_figure:
        yield tab_and_figure


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", bowl.BOWLS)
@pytest.mark.parametrize(
    ("sigma", "lam", "gamma"),
    [pytest.param(0.0, 0.0, 0.99, marks=pytest.mark.thorough), (0.5, 0.9, 0.8)],
)
def test_live_figure_shows_the_librarys_numbers(opened, name, sigma, lam, gamma):
    _, figure = opened
    figure.locator("select").select_option(name)
    put(figure, sigma=sigma, lam=lam, gamma=gamma)
    problem = bowl.bowl_problem(name, gamma)
    a = problem.A(sigma, lam)
    slowest = np.linalg.eigvals(a).real.max()
    start = [2.0, 0.0] if name == "two states" else [0.0, 0.0]
    near = {"rtol": 6e-4, "atol": 1e-9}
    np.testing.assert_allclose(numbers(figure, "semi"), -slowest, **near)
    downhill = np.linalg.eigvalsh(-a.T @ np.linalg.solve(problem.M, a)).max()
    np.testing.assert_allclose(numbers(figure, "downhill"), -downhill, **near)
    np.testing.assert_allclose(numbers(figure, "mspbe"), problem.mspbe(start, sigma, lam), **near)
    verdict = figure.locator('[data-name="verdict"]').inner_text()
    assert verdict == ("semi-gradient comes home" if slowest < 0 else "semi-gradient runs away")


@pytest.mark.slow
@needs_browser
def test_the_keyboard_moves_a_slider_and_the_bowl_follows(opened):
    tab, figure = opened
    figure.locator("button", has_text="the machine").click()
    before = figure.locator("path.gq-blue").first.get_attribute("d")
    figure.locator('input[data-name="lambda"]').focus()
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    assert figure.locator("path.gq-blue").first.get_attribute("d") != before


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_live_figure_has_its_caption_and_fits_a_phone(opened, theme):
    tab, figure = opened
    assert "that you set" in tab.locator("#fig-mspbe-live .caption-text").inner_text()
    assert_fits_a_phone(tab, figure, theme, panels=2)
