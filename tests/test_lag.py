"""Three readings of one logbook, live: the library's steps, in the browser's arithmetic."""

import itertools
import json
import re
from pathlib import Path

import IPython.display
import numpy as np
import pytest
import quickjs
from chromium import DESK, NO_MOTION, PHONE, THEMES, listen, needs_browser, settle

from gqlib.domains.machine import machine_mdp
from gqlib.edition import lag
from gqlib.learners import gq_step, gq_step_lagged, semi_gradient_step

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "book" / "_static"
SETTINGS = [
    (0.5, 0.99, 0.99, 0.01, 0.005),
    (0.25, 0.5, 0.99, 0.01, 0.005),
    (0.0, 0.9, 0.95, 0.03, 0.1),
    (1.0, 0.0, 0.5, 0.1, 0.01),
]


@pytest.fixture(scope="module")
def page():
    """A JavaScript context with both scripts and the generated block, as the chapter's page has them."""
    context = quickjs.Context()
    context.eval("var window = globalThis;")
    for name in ("explorables.js", "lag.js"):
        context.eval((STATIC / name).read_text(encoding="utf-8"))
    (script,) = re.findall(r"<script>(.*?)</script>", lag.lag_explorable().html("fig-x"), re.DOTALL)
    context.eval(script)
    context.eval("var F = gqExplorables.lag.formulas;")
    return context


def in_the_browser(page, name, kind, setting):
    given = ", ".join(map(json.dumps, (kind, setting)))
    place = json.dumps(name)
    found = page.eval(f"JSON.stringify(gqLag.run(F.step, F[{place}](), gqLag.START[{place}], {given}))")
    return np.array(json.loads(found))


def by_the_library(name, kind, setting):
    """θ and ω before the first line and after each, with the library's steps."""
    sigma, lam, gamma, alpha, beta = setting
    sizes = {"sigma": sigma, "lam": lam, "gamma": gamma, "alpha": alpha}
    theta, omega, trace, v = np.array(lag.STARTS[name]), np.zeros(2), np.zeros(2), np.zeros((2, 2))
    rows = [[*theta, *omega]]
    for row in lag.logbook(name):
        line = row[:2], row[2], row[3:5], row[5:]
        if kind == "same":
            theta, omega, trace, _ = gq_step(theta, omega, trace, *line, beta=beta, **sizes)
        elif kind == "late":
            theta, omega, trace, v, _ = gq_step_lagged(theta, omega, trace, v, *line, beta=beta, **sizes)
        else:
            theta, trace, _ = semi_gradient_step(theta, trace, *line, **sizes)
        rows.append([*theta, *omega])
    return np.array(rows)


@pytest.mark.parametrize("kind", ["same", "late", "none"])
@pytest.mark.parametrize("name", lag.LOGBOOKS)
def test_the_browser_takes_the_librarys_steps(page, name, kind):
    for setting in SETTINGS:
        found, expected = in_the_browser(page, name, kind, setting), by_the_library(name, kind, setting)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_two_readings_part_from_the_second_correction_on(page):
    same, late = (in_the_browser(page, "two states", kind, SETTINGS[0]) for kind in ("same", "late"))
    np.testing.assert_array_equal(same[:2], late[:2])
    assert np.abs(same[2] - late[2]).max() > 0


def test_recorded_values_are_met(page):
    recorded = json.loads((ROOT / "tests" / "oracles" / "gq_traces.json").read_text(encoding="utf-8"))
    lines = recorded["gq_traces"]["trajectory"]
    assert "".join(line["a"][0] for line in lines) + lines[-1]["a_next"][0] == lag.WALK
    np.testing.assert_array_equal(lag.logbook("two states")[:, 2], [line["r"] for line in lines])
    end = in_the_browser(page, "two states", "same", SETTINGS[0])[-1]
    np.testing.assert_allclose(end, [1.737829662617, -1.823386961563, -0.842661101236, -0.345216235677], atol=1e-11)


def test_the_machines_logbook_is_one_of_the_machine():
    log, mdp = lag.logbook("machine"), machine_mdp()
    assert log.shape == (60, 7)
    assert set(map(tuple, log[:, :2])) == set(map(tuple, log[:, 3:5])) == {(1.0, 0.0), (0.0, 1.0)}
    np.testing.assert_array_equal(log[1:, :2], log[:-1, 3:5])  # what comes next is the next line's own
    for row in log:
        assert row[2] in mdp.rewards[:, int(row[1])]
    new = {(0, 3.0), (1, -1.0)}
    for row, after in itertools.pairwise(log):  # the plan runs a machine if and only if it is new
        assert row[5:].tolist() == ([1.0, 0.0] if (int(after[1]), after[2]) in new else [0.0, 1.0])


def test_the_walk_is_that_of_the_two_states():
    log, state = lag.logbook("two states"), 1
    for row, action in zip(log, lag.WALK[:-1], strict=True):
        expected = [state, 0.0] if action == "r" else [0.0, state]
        assert row[:2].tolist() == expected
        assert row[2] == (1.0 if action == "r" else -0.5)
        state = 2 if action == "r" else 1
        assert row[5:].tolist() == [state, 0.0]
    with pytest.raises(ValueError, match=r"^name "):
        lag.logbook("three states")


def test_presets_and_caption():
    explorable = lag.lag_explorable()
    sliders = {slider.name: slider for slider in explorable.sliders}
    assert "that you set" in explorable.caption
    assert any("paper" in preset.label for preset in explorable.presets)
    for preset in explorable.presets:
        assert preset.choice in lag.LOGBOOKS
        for name, value in preset.values.items():
            shown = np.log10(value) if sliders[name].log else value
            assert sliders[name].low <= shown <= sliders[name].high


def test_the_script_is_small_starts_where_the_library_does_and_fetches_nothing(page):
    source = (STATIC / "lag.js").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 150
    assert not re.search(r"https?://|\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)
    assert json.loads(page.eval("JSON.stringify(gqLag.START)")) == {k: list(v) for k, v in lag.STARTS.items()}


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    lag.show_lag("fig-x")
    assert 'data-explorable="lag" data-figure="fig-x"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] in shown[0]["text/html"]


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(120_000)
    tab = context.new_page()
    errors, outside = listen(tab)
    tab.goto((book / "the_algorithm.html").as_uri())
    settle(tab)
    tab.add_style_tag(content=NO_MOTION)
    yield tab, tab.locator('.gq-live[data-explorable="lag"]')
    assert errors == []
    assert outside == []
    context.close()


def numbers(figure, name):
    shown = figure.locator(f'[data-name="{name}"]').inner_text().replace("−", "-")
    return np.array([float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", shown)])


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("preset", lag.lag_explorable().presets, ids=lambda preset: preset.label)
def test_live_figure_shows_the_librarys_numbers(opened, preset):
    _, figure = opened
    figure.locator("button", has_text=preset.label).first.click()
    given = preset.values
    eta = 10.0 ** (0.05 * round(np.log10(given["eta"]) / 0.05))  # the slider's own steps
    setting = [given[name] for name in ("sigma", "lambda", "gamma", "alpha")] + [given["alpha"] * eta]
    for kind in ("same", "late", "none"):
        expected = by_the_library(preset.choice, kind, setting)[-1, :2]
        np.testing.assert_allclose(numbers(figure, kind), expected, rtol=6e-4, atol=1e-9)


@pytest.mark.slow
@needs_browser
def test_the_keyboard_moves_a_slider_and_the_curves_follow(opened):
    tab, figure = opened
    figure.locator("button", has_text="the machine").click()
    before = numbers(figure, "same").tolist()
    figure.locator('input[data-name="sigma"]').focus()
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    assert numbers(figure, "same").tolist() != before


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_live_figure_has_its_caption_and_fits_a_phone(opened, theme):
    tab, figure = opened
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    assert "that you set" in tab.locator("#fig-algorithm-lag .caption-text").inner_text()
    tab.set_viewport_size(PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = [panel.bounding_box() for panel in figure.locator("svg.gq-panel").all()]
    assert len(boxes) == 3
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    tab.set_viewport_size(DESK)
