"""The dials of the first two chapters and of the table of cases: the library's numbers, and what the browser shows."""

import itertools
import re

import numpy as np
import pytest
from chromium import THEMES, assert_fits_a_phone, needs_browser, numbers, opened_page
from javascript import (
    STATIC,
    assert_presets_lie_within,
    assert_shown_as_html_and_a_sentence,
    assert_small_and_alone,
    call,
    formula,
    scripts,
)

from gqlib import tabular
from gqlib.domains.episodes import Episode
from gqlib.domains.machine import BROKEN, PLAN, REPAIR, RUN, WORN
from gqlib.experiments.printed import PAPER_TABLE_1
from gqlib.stats import case_null
from kit import dials
from kit.backups import draw_credit

MADE = {
    "backup": dials.backup_explorable,
    "credit": dials.credit_explorable,
    "null": dials.null_explorable,
}


@pytest.fixture(scope="module")
def page():
    return scripts(("explorables.js", "dials.js"), *(made() for made in MADE.values()))


UPDATES = [(0.0, 20, 40, 0.1), (1.0, 20, 40, 0.5), (0.3, 7, 55, 1.0)]


@pytest.mark.parametrize(("sigma", "run", "repair", "alpha"), UPDATES)
def test_one_update_is_the_librarys(page, sigma, run, repair, alpha):
    table = np.zeros((3, 2))
    table[WORN, RUN], table[BROKEN, RUN], table[BROKEN, REPAIR] = 30.0, run, repair
    line = Episode([WORN, BROKEN], [RUN, RUN], [2.0], ended=False)
    after = tabular.q_sigma(table, line, PLAN, sigma=sigma, gamma=0.95, alpha=alpha)
    target, error, guess = formula(page, "backup", "update", sigma, run, repair, alpha)
    assert guess == pytest.approx(after[WORN, RUN])
    assert error == pytest.approx(target - 30)
    assert target == pytest.approx(2 + 0.95 * (sigma * run + (1 - sigma) * repair))


@pytest.mark.slow
def test_payments_are_those_of_the_drawing_and_of_a_trace(page):
    from matplotlib.figure import Figure

    for lam, gamma in itertools.product((0.0, 0.5, 0.99, 1.0), (0.5, 0.99, 1.0)):
        errors = [3 + 4 * gamma - 10, 2 + 6 * gamma - 4, -2 + 10 * gamma - 6]
        trace, paid = np.zeros(3), np.zeros(3)
        for day, delta in enumerate(errors):
            trace *= gamma * lam
            trace[day] += 1
            paid += delta * trace
        np.testing.assert_allclose(
            formula(page, "credit", "credit", lam, gamma), [*errors, *paid], atol=1e-12
        )
        drawn = draw_credit(Figure().subplots(), ["a", "b", "c", "d"], errors, gamma * lam)
        np.testing.assert_allclose(paid, drawn, atol=1e-12)
        assert formula(page, "credit", "fade", lam, gamma) == [pytest.approx(gamma * lam)]
    assert formula(page, "credit", "credit", 0.5, 1.0) == [
        -3,
        4,
        2,
        -0.5,
        5,
        2,
    ]  # by hand, in the chapter


@pytest.mark.parametrize(("n", "cells"), [(1, 1), (9, 2), (49, 1), (49, 6), (99, 6)])
def test_the_law_of_cases_is_the_librarys(page, n, cells):
    single = [formula(page, "null", "single", n, k)[0] for k in range(n + 1)]
    law = call(page, "gqDials.summed", single, cells)
    null = case_null(n, cells)
    np.testing.assert_allclose(law, null.probabilities, rtol=1e-9, atol=1e-18)
    above = call(page, "gqDials.tails", law)
    for count in (0, n * cells // 3, n * cells):
        assert above[count] == pytest.approx(null.p_value(count), rel=1e-9, abs=1e-15)


def test_a_share_becomes_the_papers_count(page):
    assert call(page, "gqDials.counted", PAPER_TABLE_1["I"], 294) == 124
    assert call(page, "gqDials.counted", 100, 294) == 294


@pytest.mark.parametrize("name", MADE)
def test_presets_and_caption(name):
    assert_presets_lie_within(MADE[name]())


def test_the_script_is_small_and_fetches_nothing():
    assert_small_and_alone("dials.js", lines=170)


@pytest.mark.parametrize("name", MADE)
def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch, name):
    assert_shown_as_html_and_a_sentence(monkeypatch, getattr(dials, f"show_{name}"), name)


# ---------------------------------------------------------------- in a browser, on a page of its own


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """The three figures on one bare page with the book's scripts and styles."""
    folder = tmp_path_factory.mktemp("dials")
    parts = [made().html(f"fig-{name}") for name, made in MADE.items()]
    sources = [
        (STATIC / name).read_text(encoding="utf-8") for name in ("dials.js", "explorables.js")
    ]
    parts += [f"<script>{script}</script>" for script in sources]
    style = (STATIC / "gq.css").read_text(encoding="utf-8")
    head = (
        f'<html lang="en"><head><meta charset="utf-8"><title>x</title><style>{style}</style></head>'
    )
    text = f"<!doctype html>{head}<body>{''.join(parts)}</body></html>"
    (folder / "page.html").write_text(text, encoding="utf-8")
    with opened_page(browser, (folder / "page.html").as_uri()) as tab:
        yield tab


def live(tab, name):
    return tab.locator(f'.gq-live[data-explorable="{name}"]')


def shown(figure, name):
    return numbers(figure, name).tolist()


@pytest.mark.slow
@needs_browser
def test_the_dial_of_one_update_turns_by_key_and_by_preset(opened):
    figure = live(opened, "backup")
    figure.locator("button", has_text="Expected Sarsa").click()
    assert (shown(figure, "error"), shown(figure, "guess")) == ([10.0], [30.0, 31.0][1:])
    figure.locator("button", has_text=re.compile("^Sarsa$")).click()
    assert (shown(figure, "error"), shown(figure, "guess")) == ([-9.0], [29.1])
    assert figure.locator('[data-name="verdict"]').inner_text() == "the guess falls"
    figure.locator(".gq-handle").focus()
    for _ in range(5):
        opened.keyboard.press("Shift+ArrowLeft")
    assert shown(figure, "error") == [0.5]


@pytest.mark.slow
@needs_browser
def test_payments_and_chance_are_shown(opened):
    credit, null = live(opened, "credit"), live(opened, "null")
    credit.locator("button", has_text="by hand").click()
    assert shown(credit, "paid") == [-0.5, 5.0, 2.0]
    null.locator("button", has_text="Table 1").click()
    assert shown(null, "count") == [124.0, 294.0]
    assert shown(null, "verdict")[-1] == pytest.approx(case_null(49, 6).p_value(124), rel=6e-4)
    null.locator('input[data-name="cells"]').fill("1")
    assert shown(null, "verdict")[-1] == pytest.approx(case_null(49).p_value(21), rel=6e-4)


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_all_three_fit_a_phone(opened, theme):
    assert_fits_a_phone(opened, opened, theme, panels=7)
