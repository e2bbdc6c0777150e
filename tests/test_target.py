"""Where the weights come to rest on the machine, live, with the library's numbers in it."""

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

from gqlib.domains.machine import CREW, PLAN, machine_mdp
from kit import target

pytestmark = pytest.mark.slow

GRID = list(itertools.product((0.0, 0.3, 1.0), (0.0, 0.9, 1.0), (0.5, 0.95)))


@pytest.fixture(scope="module")
def page():
    context = scripts(("explorables.js", "target.js"), target.target_explorable())
    for name in ("rest", "errors"):
        context.eval(
            f"var {name} = (...at) => gqTarget.{name}(gqExplorables.target.formulas, ...at);"
        )
    return context


def mixture_values(sigma, gamma):
    return machine_mdp(gamma).q(PLAN + sigma * (CREW - PLAN)).ravel()


def test_a_table_holds_the_values_of_the_mixture_found_by_iteration(page):
    for sigma, gamma in ((0.0, 0.95), (0.3, 0.7), (1.0, 0.5)):
        mdp, policy, q = machine_mdp(gamma), PLAN + sigma * (CREW - PLAN), np.zeros((3, 2))
        for _ in range(2000):  # Bellman's equation, by iteration: no matrix is inverted
            q = mdp.rewards + gamma * mdp.transitions @ (policy * q).sum(axis=1)
        np.testing.assert_allclose(
            formula(page, "target", "values", sigma, gamma), q.ravel(), rtol=1e-9
        )


@pytest.mark.parametrize("weights", target.WEIGHTS)
def test_what_is_held_and_its_errors_are_the_librarys(page, weights):
    for sigma, lam, gamma in GRID:
        problem = target.machine_weights(weights, gamma)
        held = problem.features @ problem.fixed_point(sigma, lam)
        found = call(page, "rest", weights, sigma, lam, gamma, True)
        np.testing.assert_allclose(found["held"], held, rtol=1e-8, atol=1e-8)
        abscissa = np.linalg.eigvals(problem.A(sigma, lam)).real.max()
        np.testing.assert_allclose(found["abscissa"], abscissa, rtol=1e-6, atol=1e-9)
        plan, mixture = mixture_values(0.0, gamma), mixture_values(sigma, gamma)
        expected = [
            np.sqrt(problem.xi @ gap**2) for gap in (held - plan, mixture - plan, held - mixture)
        ]
        errors = call(page, "errors", held.tolist(), sigma, gamma)
        np.testing.assert_allclose(errors, expected, rtol=1e-8, atol=1e-6)


def test_features_are_what_their_names_say():
    runs, repairs = np.tile([1.0, 0.0], 3), np.tile([0.0, 1.0], 3)
    wear = np.repeat([0.0, 0.5, 1.0], 2) * runs
    np.testing.assert_array_equal(
        target.machine_weights("three weights").features.T, [np.ones(6), repairs, wear]
    )
    np.testing.assert_array_equal(target.machine_weights("two weights").features.T, [runs, repairs])
    np.testing.assert_array_equal(
        target.machine_weights("one weight").features.ravel(), 1.0 + PLAN.ravel()
    )
    np.testing.assert_array_equal(target.machine_weights("table").features, np.eye(6))
    with pytest.raises(ValueError, match=r"^weights "):
        target.machine_weights("four weights")


def test_elimination_is_numpys_and_says_when_it_cannot(page):
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 6):
        matrix, right = rng.standard_normal((n, n)), rng.standard_normal(n)
        found = call(page, "gqTarget.solve", matrix.tolist(), right.tolist())
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)
        coefficients = call(page, "gqTarget.characteristic", matrix.tolist())
        np.testing.assert_allclose(coefficients, np.poly(matrix)[1:], rtol=1e-8, atol=1e-10)
    assert call(page, "gqTarget.solve", [[1, 2], [2, 4]], [1, 1]) is None


def test_presets_and_caption():
    assert_presets_lie_within(target.target_explorable(), target.WEIGHTS)


def test_the_script_is_small_and_fetches_nothing():
    assert_small_and_alone("target.js", lines=150)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    assert_shown_as_html_and_a_sentence(monkeypatch, target.show_target, "target")


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    with live_figure(book, browser, "what_it_converges_to", "target") as tab_and_figure:
        yield tab_and_figure


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("weights", target.WEIGHTS)
@pytest.mark.parametrize(
    ("sigma", "lam", "gamma"),
    [pytest.param(0.0, 0.0, 0.95, marks=pytest.mark.thorough), (0.75, 0.5, 0.8)],
)
def test_live_figure_shows_the_librarys_numbers(opened, weights, sigma, lam, gamma):
    _, figure = opened
    figure.locator("select").select_option(weights)
    put(figure, sigma=sigma, lam=lam, gamma=gamma)
    problem = target.machine_weights(weights, gamma)
    held = problem.features @ problem.fixed_point(sigma, lam)
    error = np.sqrt(problem.xi @ (held - mixture_values(0.0, gamma)) ** 2)
    np.testing.assert_allclose(numbers(figure, "held"), held[0], rtol=6e-4)
    np.testing.assert_allclose(numbers(figure, "total"), error, rtol=6e-4, atol=1e-6)
    stable = np.linalg.eigvals(problem.A(sigma, lam)).real.max() < 0
    verdict = figure.locator('[data-name="verdict"]').inner_text()
    assert verdict == ("it comes to rest" if stable else "it runs away from its resting point")


@pytest.mark.slow
@needs_browser
def test_in_a_table_sigma_moves_the_point_and_lambda_does_not(opened):
    tab, figure = opened
    figure.locator("button", has_text="a table, the plan").click()
    first = numbers(figure, "held")
    figure.locator('input[data-name="lambda"]').fill("0.9")
    assert numbers(figure, "held") == first
    figure.locator(".gq-handle").focus()
    for _ in range(5):
        tab.keyboard.press("Shift+ArrowRight")
    np.testing.assert_allclose(numbers(figure, "held"), mixture_values(0.5, 0.95)[0], rtol=6e-4)


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_live_figure_has_its_caption_and_fits_a_phone(opened, theme):
    tab, figure = opened
    assert "that you set" in tab.locator("#fig-wc-live .caption-text").inner_text()
    assert_fits_a_phone(tab, figure, theme, panels=3)
