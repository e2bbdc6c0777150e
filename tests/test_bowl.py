"""MSPBE of two weights as a bowl, live, with the library's numbers in it."""

import itertools
import json
import re
from pathlib import Path

import IPython.display
import numpy as np
import pytest
import quickjs
from chromium import DESK, NO_MOTION, PHONE, THEMES, listen, needs_browser, settle
from scipy.linalg import expm

from gqlib.domains import two_state
from gqlib.domains.machine import CREW, PLAN
from gqlib.edition import bowl

STATIC = Path(__file__).parents[1] / "book" / "_static"
GRID = list(itertools.product(bowl.BOWLS, (0.0, 0.4, 1.0), (0.0, 0.9, 1.0), (0.5, 0.99)))


@pytest.fixture(scope="module")
def page():
    """A JavaScript context with the scripts and the generated block, as the chapter's page has them."""
    context = quickjs.Context()
    context.eval("var window = globalThis;")
    for name in ("explorables.js", "mean_field.js", "bowl.js"):
        context.eval((STATIC / name).read_text(encoding="utf-8"))
    (script,) = re.findall(r"<script>(.*?)</script>", bowl.bowl_explorable().html("fig-x"), re.DOTALL)
    context.eval(script)
    return context


def call(page, function, *arguments):
    return json.loads(page.eval(f"JSON.stringify({function}({', '.join(map(json.dumps, arguments))}))"))


def flat(matrix):
    return np.asarray(matrix).ravel().tolist()


def test_formulas_are_the_librarys(page):
    for name, sigma, lam, gamma in GRID:
        problem = bowl.bowl_problem(name, gamma)
        expected = np.concatenate([problem.A(sigma, lam).ravel(), problem.b(sigma, lam), problem.M.ravel()])
        found = call(page, f"gqExplorables.bowl.formulas[{json.dumps(name)}]", sigma, lam, gamma)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)


def test_the_objective_and_its_slope_are_the_librarys(page):
    rng = np.random.default_rng(0)
    for name, sigma, lam, gamma in GRID:
        problem, theta = bowl.bowl_problem(name, gamma), rng.standard_normal(2)
        g, m = problem.td_step(theta, sigma, lam), flat(problem.M)
        assert np.isclose(call(page, "gqBowl.half", m, g.tolist()), problem.mspbe(theta, sigma, lam))
        steep = np.reshape(call(page, "gqBowl.downhill", flat(problem.A(sigma, lam)), m), (2, 2))
        rest = problem.fixed_point(sigma, lam)
        # Down means minus the gradient, found here by differences of the library's objective.
        slope = [(problem.mspbe(theta + h, sigma, lam) - problem.mspbe(theta - h, sigma, lam)) / 2e-4
                 for h in 1e-4 * np.eye(2)]  # fmt: skip
        scale = np.abs(steep).max() * np.abs(theta - rest).max()
        np.testing.assert_allclose(steep @ (theta - rest), -np.array(slope), rtol=1e-4, atol=1e-5 * scale)


def test_a_level_line_has_one_height(page):
    for name in bowl.BOWLS:
        problem = bowl.bowl_problem(name, 0.9)
        rest = problem.fixed_point(0.3, 0.5)
        given = flat(problem.A(0.3, 0.5)), flat(problem.M), rest.tolist(), 0.7, 25
        line = np.array(call(page, "gqBowl.level", *given))
        np.testing.assert_allclose([problem.mspbe(point, 0.3, 0.5) for point in line], 0.7, rtol=1e-9)
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
    np.testing.assert_allclose(first.xi.reshape(3, 2) / first.xi.reshape(3, 2).sum(axis=1, keepdims=True), CREW)
    np.testing.assert_allclose(first.p_pi.reshape(6, 3, 2)[:, PLAN == 0], 0.0)
    np.testing.assert_allclose(bowl.bowl_problem("two states", 0.8).A(0.2, 0.3), two_state(0.8).problem.A(0.2, 0.3))
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
    explorable = bowl.bowl_explorable()
    sliders = {slider.name: slider for slider in explorable.sliders}
    assert "that you set" in explorable.caption
    assert any("paper" in preset.label for preset in explorable.presets)
    for preset in explorable.presets:
        assert preset.choice in bowl.BOWLS
        assert all(sliders[name].low <= value <= sliders[name].high for name, value in preset.values.items())


def test_the_script_is_small_and_fetches_nothing():
    source = (STATIC / "bowl.js").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 150
    assert not re.search(r"https?://|\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    bowl.show_bowl("fig-x")
    assert 'data-explorable="bowl" data-figure="fig-x"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] in shown[0]["text/html"]


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(120_000)
    tab = context.new_page()
    errors, outside = listen(tab)
    tab.goto((book / "mspbe_and_proposition_1.html").as_uri())
    settle(tab)
    tab.add_style_tag(content=NO_MOTION)
    yield tab, tab.locator('.gq-live[data-explorable="bowl"]')
    assert errors == []
    assert outside == []
    context.close()


def numbers(figure, name):
    shown = figure.locator(f'[data-name="{name}"]').inner_text().replace("−", "-")
    return np.array([float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", shown)])


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", bowl.BOWLS)
@pytest.mark.parametrize(("sigma", "lam", "gamma"), [(0.0, 0.0, 0.99), (0.5, 0.9, 0.8)])
def test_live_figure_shows_the_librarys_numbers(opened, name, sigma, lam, gamma):
    _, figure = opened
    figure.locator("select").select_option(name)
    for slider, value in (("sigma", sigma), ("lambda", lam), ("gamma", gamma)):
        figure.locator(f'input[data-name="{slider}"]').fill(str(value))
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
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    assert "that you set" in tab.locator("#fig-mspbe-live .caption-text").inner_text()
    tab.set_viewport_size(PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = [panel.bounding_box() for panel in figure.locator("svg.gq-panel").all()]
    assert len(boxes) == 2
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    tab.set_viewport_size(DESK)
