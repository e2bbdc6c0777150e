"""Where the weights come to rest on the machine, live, with the library's numbers in it."""

import itertools
import json
import re
from pathlib import Path

import IPython.display
import numpy as np
import pytest
import quickjs
from chromium import DESK, NO_MOTION, PHONE, THEMES, listen, needs_browser, settle

from gqlib.domains.machine import CREW, PLAN, machine_mdp
from gqlib.edition import target

STATIC = Path(__file__).parents[1] / "book" / "_static"
GRID = list(itertools.product((0.0, 0.3, 1.0), (0.0, 0.9, 1.0), (0.5, 0.95)))


@pytest.fixture(scope="module")
def page():
    """A JavaScript context with both scripts and the generated block, as the chapter's page has them."""
    context = quickjs.Context()
    context.eval("var window = globalThis;")
    for name in ("explorables.js", "target.js"):
        context.eval((STATIC / name).read_text(encoding="utf-8"))
    (script,) = re.findall(r"<script>(.*?)</script>", target.target_explorable().html("fig-x"), re.DOTALL)
    context.eval(script)
    context.eval("var F = gqExplorables.target.formulas;")
    return context


def call(page, function, *arguments):
    return json.loads(page.eval(f"JSON.stringify({function}({', '.join(arguments)}))"))


def mixture_values(sigma, gamma):
    return machine_mdp(gamma).q(PLAN + sigma * (CREW - PLAN)).ravel()


def test_a_table_holds_the_values_of_the_mixture_found_by_iteration(page):
    for sigma, gamma in ((0.0, 0.95), (0.3, 0.7), (1.0, 0.5)):
        mdp, policy, q = machine_mdp(gamma), PLAN + sigma * (CREW - PLAN), np.zeros((3, 2))
        for _ in range(2000):  # Bellman's equation, by iteration: no matrix is inverted
            q = mdp.rewards + gamma * mdp.transitions @ (policy * q).sum(axis=1)
        np.testing.assert_allclose(call(page, "F.values", str(sigma), str(gamma)), q.ravel(), rtol=1e-9)


@pytest.mark.parametrize("weights", target.WEIGHTS)
def test_what_is_held_and_its_errors_are_the_librarys(page, weights):
    for sigma, lam, gamma in GRID:
        problem = target.machine_weights(weights, gamma)
        held = problem.features @ problem.fixed_point(sigma, lam)
        at = [json.dumps(weights), str(sigma), str(lam), str(gamma), "true"]
        found = call(page, "gqTarget.rest", "F", *at)
        np.testing.assert_allclose(found["held"], held, rtol=1e-8, atol=1e-8)
        abscissa = np.linalg.eigvals(problem.A(sigma, lam)).real.max()
        np.testing.assert_allclose(found["abscissa"], abscissa, rtol=1e-6, atol=1e-9)
        plan, mixture = mixture_values(0.0, gamma), mixture_values(sigma, gamma)
        expected = [np.sqrt(problem.xi @ gap**2) for gap in (held - plan, mixture - plan, held - mixture)]
        errors = call(page, "gqTarget.errors", "F", json.dumps(held.tolist()), str(sigma), str(gamma))
        np.testing.assert_allclose(errors, expected, rtol=1e-8, atol=1e-6)


def test_features_are_what_their_names_say():
    runs, repairs = np.tile([1.0, 0.0], 3), np.tile([0.0, 1.0], 3)
    wear = np.repeat([0.0, 0.5, 1.0], 2) * runs
    np.testing.assert_array_equal(target.machine_weights("three weights").features.T, [np.ones(6), repairs, wear])
    np.testing.assert_array_equal(target.machine_weights("two weights").features.T, [runs, repairs])
    np.testing.assert_array_equal(target.machine_weights("one weight").features.ravel(), 1.0 + PLAN.ravel())
    np.testing.assert_array_equal(target.machine_weights("table").features, np.eye(6))
    with pytest.raises(ValueError, match=r"^weights "):
        target.machine_weights("four weights")


def test_elimination_is_numpys_and_says_when_it_cannot(page):
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 6):
        matrix, right = rng.standard_normal((n, n)), rng.standard_normal(n)
        found = call(page, "gqTarget.solve", json.dumps(matrix.tolist()), json.dumps(right.tolist()))
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)
        coefficients = call(page, "gqTarget.characteristic", json.dumps(matrix.tolist()))
        np.testing.assert_allclose(coefficients, np.poly(matrix)[1:], rtol=1e-8, atol=1e-10)
    assert call(page, "gqTarget.solve", "[[1, 2], [2, 4]]", "[1, 1]") is None


def test_presets_and_caption():
    explorable = target.target_explorable()
    sliders = {slider.name: slider for slider in explorable.sliders}
    assert "that you set" in explorable.caption
    assert any("paper" in preset.label for preset in explorable.presets)
    for preset in explorable.presets:
        assert preset.choice in target.WEIGHTS
        assert all(sliders[name].low <= value <= sliders[name].high for name, value in preset.values.items())


def test_the_script_is_small_and_fetches_nothing():
    source = (STATIC / "target.js").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 150
    assert not re.search(r"https?://|\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    target.show_target("fig-x")
    assert 'data-explorable="target" data-figure="fig-x"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] in shown[0]["text/html"]


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(120_000)
    tab = context.new_page()
    errors, outside = listen(tab)
    tab.goto((book / "what_it_converges_to.html").as_uri())
    settle(tab)
    tab.add_style_tag(content=NO_MOTION)
    yield tab, tab.locator('.gq-live[data-explorable="target"]')
    assert errors == []
    assert outside == []
    context.close()


def numbers(figure, name):
    shown = figure.locator(f'[data-name="{name}"]').inner_text().replace("−", "-")
    return np.array([float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", shown)])


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("weights", target.WEIGHTS)
@pytest.mark.parametrize(("sigma", "lam", "gamma"), [(0.0, 0.0, 0.95), (0.75, 0.5, 0.8)])
def test_live_figure_shows_the_librarys_numbers(opened, weights, sigma, lam, gamma):
    _, figure = opened
    figure.locator("select").select_option(weights)
    for name, value in (("sigma", sigma), ("lambda", lam), ("gamma", gamma)):
        figure.locator(f'input[data-name="{name}"]').fill(str(value))
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
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    assert "that you set" in tab.locator("#fig-wc-live .caption-text").inner_text()
    tab.set_viewport_size(PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = [panel.bounding_box() for panel in figure.locator("svg.gq-panel").all()]
    assert len(boxes) == 3
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    tab.set_viewport_size(DESK)
