"""The live figure on the repair: its numbers are the library's, and those of runs; the script only adds them up."""

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

from gqlib.learners.corrected import CorrectedProblem, variant_tables
from gqlib.learners.ensemble import gq_ensemble, pair_walks
from kit import best_sigma
from kit.best_sigma import CASES, LAMS, SIGMAS


@pytest.fixture(scope="module")
def page():
    return scripts(("explorables.js", "best_sigma.js"), best_sigma.best_sigma_explorable())


def row(page, name, lam):
    return formula(page, "best-sigma", name, lam)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lam", [0.0, 0.3, 0.7, 0.9])
def test_numbers_of_the_page_are_the_librarys(page, name, lam):
    numbers = row(page, name, lam)
    assert len(numbers) == 4 + 2 * len(SIGMAS)
    for k in (0, 7, 20):
        ours = best_sigma.errors(name, "corrected", SIGMAS[k], lam)
        theirs = best_sigma.errors(name, "paper", SIGMAS[k], lam)
        size = 1e-8 * max(numbers)
        np.testing.assert_allclose(
            call(page, "gqBestSigma.repaired", numbers, SIGMAS[k]), ours, rtol=2e-5, atol=size
        )
        np.testing.assert_allclose(
            call(page, "gqBestSigma.paper", numbers, k), theirs, rtol=2e-5, atol=size
        )


@pytest.mark.parametrize("sigma", [0.0, 0.25, 1.0])
def test_in_a_table_the_papers_method_learns_the_mixture_of_the_policies(sigma):
    """Whatever λ: the bias is how far the values of (1−σ)π + σμ are from those of π, squared and weighted by visits."""
    chosen = best_sigma.case(CASES[0])
    away = chosen.mdp.q((1 - sigma) * chosen.pi + sigma * chosen.mu) - chosen.mdp.q(chosen.pi)
    expected = sum(
        weight * gap**2 for weight, gap in zip(chosen.problem.xi, away.ravel(), strict=True)
    )
    for lam in (0.0, 0.6):
        assert best_sigma.errors(CASES[0], "paper", sigma, lam)[0] == pytest.approx(
            expected, rel=1e-9, abs=1e-18
        )


def test_every_lambda_of_the_slider_has_its_row(page):
    rows = [row(page, CASES[0], lam) for lam in LAMS]
    assert len({tuple(numbers) for numbers in rows}) == len(LAMS) == 10
    sliders = {slider.name: slider for slider in best_sigma.best_sigma_explorable().sliders}
    assert np.allclose(np.arange(0, sliders["lambda"].high + 1e-9, sliders["lambda"].step), LAMS)
    assert np.allclose(np.arange(0, 1 + 1e-9, sliders["sigma"].step), SIGMAS)


def test_in_a_table_the_repair_has_no_bias_and_sigma_0_is_best(page):
    for lam in LAMS:
        numbers = row(page, CASES[0], lam)
        assert numbers[0] == 0.0  # to the last digit: the curve lies on zero
        assert call(page, "gqBestSigma.least", numbers) == [0, 0]
    assert call(page, "gqBestSigma.paper", row(page, CASES[0], 0.0), 20)[0] > 300


def test_with_features_and_a_long_trace_a_positive_sigma_is_best(page):
    sigma, saved = call(page, "gqBestSigma.least", row(page, CASES[2], 0.9))
    values = [best_sigma.errors(CASES[2], "corrected", s, 0.9)[1] for s in np.linspace(0, 1, 101)]
    assert abs(sigma - np.argmin(values) / 100) <= 0.005
    assert saved == pytest.approx(1 - min(values) / values[0], rel=1e-3)


def test_a_best_sigma_outside_is_reported_and_saves_nothing(page):
    assert call(page, "gqBestSigma.least", [0, 2.0, 1.0, 0.5]) == [-1, 0]
    assert call(page, "gqBestSigma.least", [0, 2.0, -1.0, 0.25]) == [
        2,
        pytest.approx(0.375),
    ]  # at σ = 1: 1.25 of 2


def test_a_total_is_bias_and_variance(page):
    assert call(page, "gqBestSigma.total", [9.0, 400.0], 0.04) == 5


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper", "corrected"])
def test_runs_have_this_error(variant):
    """The table of the machine, σ = ½: mean squared error of sampled runs at a small step size."""
    chosen, alpha, sigma, lam = best_sigma.case(CASES[0]), 0.005, 0.5, 0.3
    problem = chosen.problem
    mean = CorrectedProblem.of(problem) if variant == "corrected" else problem
    tables = variant_tables(chosen.mdp, chosen.mu, chosen.pi, problem.features, sigma, variant)
    walks = pair_walks(problem, 120, 6000, np.random.default_rng(5))
    rates = {"lam": lam, "alpha": alpha, "beta": best_sigma.ETA * alpha, "every": 100}
    path, diverged = gq_ensemble(problem, tables, walks, mean.fixed_point(sigma, lam), **rates)
    assert not diverged.any()
    q = chosen.mdp.q(chosen.pi).ravel()
    squares = ((path[30:] - q) ** 2 @ problem.xi).mean(axis=0)
    bias, variance = best_sigma.errors(CASES[0], variant, sigma, lam)
    error_of_mean = squares.std(ddof=1) / np.sqrt(len(squares))
    assert (
        abs(squares.mean() - bias - alpha * variance) < 4 * error_of_mean + 0.05 * alpha * variance
    )
    assert error_of_mean < 0.1 * (bias + alpha * variance)


def test_unknown_cases_are_refused():
    with pytest.raises(ValueError, match=r"^name "):
        best_sigma.case("machine")
    with pytest.raises(ValueError, match=r"^variant "):
        best_sigma.errors(CASES[0], "weighted", 0.5, 0.5)


def test_presets_and_caption():
    assert_presets_lie_within(best_sigma.best_sigma_explorable(), CASES)


def test_the_script_is_small_and_fetches_nothing():
    assert_small_and_alone("best_sigma.js", lines=150)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    assert_shown_as_html_and_a_sentence(monkeypatch, best_sigma.show_best_sigma, "best-sigma")


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    with live_figure(book, browser, "corrected_gq", "best-sigma") as tab_and_figure:
        yield tab_and_figure


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize(
    ("name", "sigma", "lam", "power"),
    [
        pytest.param(CASES[0], 0.5, 0.0, -2.0, marks=pytest.mark.thorough),
        (CASES[2], 0.2, 0.9, -3.0),
    ],
)
def test_live_figure_shows_the_librarys_numbers(opened, name, sigma, lam, power):
    _, figure = opened
    figure.locator("select").select_option(name)
    put(figure, sigma=sigma, lam=lam, alpha=power)
    for shown, variant in (("repaired", "corrected"), ("paper", "paper")):
        bias, variance = best_sigma.errors(name, variant, sigma, lam)
        assert numbers(figure, shown)[0] == pytest.approx(
            np.sqrt(bias + 10**power * variance), rel=6e-4
        )


@pytest.mark.slow
@needs_browser
def test_the_keyboard_moves_sigma_and_the_presets_set_the_case(opened):
    tab, figure = opened
    figure.locator("button", has_text="features: a small σ helps").click()
    assert "0.49" in figure.locator('[data-name="verdict"]').inner_text()
    figure.locator(".gq-handle").focus()
    for sigma in (
        0.25,
        0.3,
    ):  # the first step crosses the least error, and shows the same four digits
        tab.keyboard.press("ArrowRight")
        assert float(figure.locator('input[data-name="sigma"]').input_value()) == sigma
        bias, variance = best_sigma.errors(CASES[2], "corrected", sigma, 0.9)
        assert numbers(figure, "repaired")[0] == pytest.approx(
            np.sqrt(bias + 0.001 * variance), rel=6e-4
        )


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_live_figure_has_its_caption_and_fits_a_phone(opened, theme):
    tab, figure = opened
    assert "that you set" in tab.locator("#fig-cg-live .caption-text").inner_text()
    assert_fits_a_phone(tab, figure, theme, panels=3)
