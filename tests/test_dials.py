"""The dials of the first two chapters and of the table of cases: the library's numbers, and what the browser shows."""

import itertools
import json
import re
from pathlib import Path

import IPython.display
import numpy as np
import pytest
import quickjs
from chromium import DESK, NO_MOTION, PHONE, THEMES, listen, needs_browser, settle

from gqlib import tabular
from gqlib.domains.episodes import Episode
from gqlib.domains.machine import BROKEN, PLAN, REPAIR, RUN, WORN
from gqlib.edition import dials
from gqlib.edition.backups import draw_credit
from gqlib.edition.paper import PAPER_TABLE_1
from gqlib.stats import case_null

STATIC = Path(__file__).parents[1] / "book" / "_static"
MADE = {"backup": dials.backup_explorable, "credit": dials.credit_explorable, "null": dials.null_explorable}


@pytest.fixture(scope="module")
def page():
    """A JavaScript context with both scripts and the three blocks."""
    context = quickjs.Context()
    context.eval("var window = globalThis;")
    for name in ("explorables.js", "dials.js"):
        context.eval((STATIC / name).read_text(encoding="utf-8"))
    for made in MADE.values():
        (script,) = re.findall(r"<script>(.*?)</script>", made().html("fig-x"), re.DOTALL)
        context.eval(script)
    return context


def call(page, function, *arguments):
    return json.loads(page.eval(f"JSON.stringify({function}({', '.join(map(json.dumps, arguments))}))"))


def formula(page, name, part, *at):
    return call(page, f'gqExplorables["{name}"].formulas["{part}"]', *at)


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


def test_payments_are_those_of_the_drawing_and_of_a_trace(page):
    from matplotlib.figure import Figure

    for lam, gamma in itertools.product((0.0, 0.5, 0.99, 1.0), (0.5, 0.99, 1.0)):
        errors = [3 + 4 * gamma - 10, 2 + 6 * gamma - 4, -2 + 10 * gamma - 6]
        trace, paid = np.zeros(3), np.zeros(3)
        for day, delta in enumerate(errors):
            trace *= gamma * lam
            trace[day] += 1
            paid += delta * trace
        np.testing.assert_allclose(formula(page, "credit", "credit", lam, gamma), [*errors, *paid], atol=1e-12)
        drawn = draw_credit(Figure().subplots(), ["a", "b", "c", "d"], errors, gamma * lam)
        np.testing.assert_allclose(paid, drawn, atol=1e-12)
        assert formula(page, "credit", "fade", lam, gamma) == [pytest.approx(gamma * lam)]
    assert formula(page, "credit", "credit", 0.5, 1.0) == [-3, 4, 2, -0.5, 5, 2]  # by hand, in the chapter


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
    explorable = MADE[name]()
    sliders = {slider.name: slider for slider in explorable.sliders}
    assert "that you set" in explorable.caption
    assert any("paper" in preset.label for preset in explorable.presets)
    for preset in explorable.presets:
        assert all(sliders[key].low <= value <= sliders[key].high for key, value in preset.values.items())


def test_the_script_is_small_and_fetches_nothing():
    source = (STATIC / "dials.js").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 170
    assert not re.search(r"https?://|\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)


@pytest.mark.parametrize("name", MADE)
def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch, name):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    getattr(dials, f"show_{name}")("fig-x")
    assert f'data-explorable="{name}" data-figure="fig-x"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] in shown[0]["text/html"]


# ---------------------------------------------------------------- in a browser, on a page of its own


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """The three figures on one bare page with the book's scripts and styles."""
    folder = tmp_path_factory.mktemp("dials")
    parts = [made().html(f"fig-{name}") for name, made in MADE.items()]
    scripts = [(STATIC / name).read_text(encoding="utf-8") for name in ("dials.js", "explorables.js")]
    parts += [f"<script>{script}</script>" for script in scripts]
    style = (STATIC / "gq.css").read_text(encoding="utf-8")
    head = f'<html lang="en"><head><meta charset="utf-8"><title>x</title><style>{style}</style></head>'
    text = f"<!doctype html>{head}<body>{''.join(parts)}</body></html>"
    (folder / "page.html").write_text(text, encoding="utf-8")
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(120_000)
    tab = context.new_page()
    errors, outside = listen(tab)
    tab.goto((folder / "page.html").as_uri())
    settle(tab)
    tab.add_style_tag(content=NO_MOTION)
    yield tab
    assert errors == []
    assert outside == []
    context.close()


def live(tab, name):
    return tab.locator(f'.gq-live[data-explorable="{name}"]')


def numbers(figure, name):
    shown = figure.locator(f'[data-name="{name}"]').inner_text().replace("−", "-")
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", shown)]


@pytest.mark.slow
@needs_browser
def test_the_dial_of_one_update_turns_by_key_and_by_preset(opened):
    figure = live(opened, "backup")
    figure.locator("button", has_text="Expected Sarsa").click()
    assert (numbers(figure, "error"), numbers(figure, "guess")) == ([10.0], [30.0, 31.0][1:])
    figure.locator("button", has_text=re.compile("^Sarsa$")).click()
    assert (numbers(figure, "error"), numbers(figure, "guess")) == ([-9.0], [29.1])
    assert figure.locator('[data-name="verdict"]').inner_text() == "the guess falls"
    figure.locator(".gq-handle").focus()
    for _ in range(5):
        opened.keyboard.press("Shift+ArrowLeft")
    assert numbers(figure, "error") == [0.5]


@pytest.mark.slow
@needs_browser
def test_payments_and_chance_are_shown(opened):
    credit, null = live(opened, "credit"), live(opened, "null")
    credit.locator("button", has_text="by hand").click()
    assert numbers(credit, "paid") == [-0.5, 5.0, 2.0]
    null.locator("button", has_text="Table 1").click()
    assert numbers(null, "count") == [124.0, 294.0]
    assert numbers(null, "verdict")[-1] == pytest.approx(case_null(49, 6).p_value(124), rel=6e-4)
    null.locator('input[data-name="cells"]').fill("1")
    assert numbers(null, "verdict")[-1] == pytest.approx(case_null(49).p_value(21), rel=6e-4)


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_all_three_fit_a_phone(opened, theme):
    opened.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    opened.set_viewport_size(PHONE)
    boxes = [panel.bounding_box() for panel in opened.locator("svg.gq-panel").all()]
    assert len(boxes) == 7
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    opened.set_viewport_size(DESK)
