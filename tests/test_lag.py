"""Three readings of one logbook, live: the library's steps, in the browser's arithmetic."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from chromium import THEMES, assert_fits_a_phone, live_figure, needs_browser, numbers
from javascript import (
    assert_presets_lie_within,
    assert_shown_as_html_and_a_sentence,
    assert_small_and_alone,
    scripts,
)

from gqlib.domains.machine import machine_mdp
from gqlib.learners import gq_step, gq_step_lagged, semi_gradient_step
from kit import lag

ROOT = Path(__file__).parents[1]
SETTINGS = [
    (0.5, 0.99, 0.99, 0.01, 0.005),
    (0.25, 0.5, 0.99, 0.01, 0.005),
    (0.0, 0.9, 0.95, 0.03, 0.1),
    (1.0, 0.0, 0.5, 0.1, 0.01),
]


@pytest.fixture(scope="module")
def page():
    context = scripts(("explorables.js", "lag.js"), lag.lag_explorable())
    context.eval("var F = gqExplorables.lag.formulas;")
    return context


def in_the_browser(page, name, kind, setting):
    given = ", ".join(map(json.dumps, (kind, setting)))
    place = json.dumps(name)
    found = page.eval(
        f"JSON.stringify(gqLag.run(F.step, F[{place}](), gqLag.START[{place}], {given}))"
    )
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
            theta, omega, trace, v, _ = gq_step_lagged(
                theta, omega, trace, v, *line, beta=beta, **sizes
            )
        else:
            theta, trace, _ = semi_gradient_step(theta, trace, *line, **sizes)
        rows.append([*theta, *omega])
    return np.array(rows)


@pytest.mark.parametrize("kind", ["same", "late", "none"])
@pytest.mark.parametrize("name", lag.LOGBOOKS)
def test_the_browser_takes_the_librarys_steps(page, name, kind):
    for setting in SETTINGS:
        found, expected = (
            in_the_browser(page, name, kind, setting),
            by_the_library(name, kind, setting),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_two_readings_part_from_the_second_correction_on(page):
    same, late = (
        in_the_browser(page, "two states", kind, SETTINGS[0]) for kind in ("same", "late")
    )
    np.testing.assert_array_equal(same[:2], late[:2])
    assert np.abs(same[2] - late[2]).max() > 0


def test_recorded_values_are_met(page):
    recorded = json.loads(
        (ROOT / "tests" / "oracles" / "gq_traces.json").read_text(encoding="utf-8")
    )
    lines = recorded["gq_traces"]["trajectory"]
    assert "".join(line["a"][0] for line in lines) + lines[-1]["a_next"][0] == lag.WALK
    np.testing.assert_array_equal(lag.logbook("two states")[:, 2], [line["r"] for line in lines])
    end = in_the_browser(page, "two states", "same", SETTINGS[0])[-1]
    np.testing.assert_allclose(
        end, [1.737829662617, -1.823386961563, -0.842661101236, -0.345216235677], atol=1e-11
    )


def test_the_machines_logbook_is_one_of_the_machine():
    log, mdp = lag.logbook("machine"), machine_mdp()
    assert log.shape == (60, 7)
    assert set(map(tuple, log[:, :2])) == set(map(tuple, log[:, 3:5])) == {(1.0, 0.0), (0.0, 1.0)}
    np.testing.assert_array_equal(
        log[1:, :2], log[:-1, 3:5]
    )  # what comes next is the next line's own
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


def test_two_weights_have_a_letter_and_two_numbers():
    assert [str(symbol) for symbol in lag._pair("t")] == ["t1", "t2"]


def test_presets_and_caption():
    assert_presets_lie_within(lag.lag_explorable(), lag.LOGBOOKS)


def test_the_script_is_small_starts_where_the_library_does_and_fetches_nothing(page):
    assert_small_and_alone("lag.js", lines=150)
    assert json.loads(page.eval("JSON.stringify(gqLag.START)")) == {
        k: list(v) for k, v in lag.STARTS.items()
    }


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch):
    assert_shown_as_html_and_a_sentence(monkeypatch, lag.show_lag, "lag")


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    with live_figure(book, browser, "the_algorithm", "lag") as tab_and_figure:
        yield tab_and_figure


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("preset", lag.lag_explorable().presets, ids=lambda preset: preset.label)
def test_live_figure_shows_the_librarys_numbers(opened, preset):
    _, figure = opened
    figure.locator("button", has_text=preset.label).first.click()
    given = preset.values
    eta = 10.0 ** (0.05 * round(np.log10(given["eta"]) / 0.05))  # the slider's own steps
    setting = [given[name] for name in ("sigma", "lambda", "gamma", "alpha")] + [
        given["alpha"] * eta
    ]
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
    assert "that you set" in tab.locator("#fig-algorithm-lag .caption-text").inner_text()
    assert_fits_a_phone(tab, figure, theme, panels=3)
