"""The live map of methods: its numbers are those of the committed file, which are the library's."""

import json
import re
from pathlib import Path

import IPython.display
import numpy as np
import pytest
import quickjs
import xarray
from chromium import DESK, NO_MOTION, PHONE, THEMES, listen, needs_browser, settle

from gqlib.experiments.today import ETAS, problem
from gqlib.methods import METHODS, limits
from gqlib.sweeps.results import load_results
from kit import method_map
from kit.explore import Slider

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "book" / "_static"
# One of each kind: a gradient method, a ridge, an emphasis, a cut trace, a sum of two samples; states and pairs.
SAMPLE = [("star", "TDC(λ)", 0.4), ("two-state", "TDRC(λ)", 0.0), ("star", "ETD(λ)", 0.9), ("star", "AᵀTD", 0.0),
          ("Collision", "V-trace(λ)", 0.8), ("machine, pairs", "GQ(½, λ) textbook", 0.9)]  # fmt: skip


@pytest.fixture(scope="module")
def maps():
    return load_results(ROOT / "results" / "today.npz")


@pytest.fixture(scope="module")
def page(maps):
    """A JavaScript context with both scripts and the generated block, as the chapter's page has them."""
    context = quickjs.Context()
    context.eval("var window = globalThis;")
    for name in ("explorables.js", "method_map.js"):
        context.eval((STATIC / name).read_text(encoding="utf-8"))
    (script,) = re.findall(
        r"<script>(.*?)</script>", method_map.map_explorable(maps).html("fig-x"), re.DOTALL
    )
    context.eval(script)
    context.eval('var F = gqExplorables["method-map"].formulas;')
    return context


@pytest.mark.parametrize(("where", "name", "lam"), SAMPLE)
def test_the_page_holds_what_the_library_computes(page, where, name, lam):
    for k, eta in enumerate(ETAS):
        given = limits(problem(where), METHODS[name], lam, eta, noise=False)
        code = f"gqMethodMap.entry(F[{json.dumps(where)}]()[{json.dumps(name)}], {lam}, {k})"
        stable, error = json.loads(page.eval(f"JSON.stringify({code})"))
        assert stable == (given.abscissa < 0.0)
        assert error == pytest.approx(given.error, rel=6e-4, abs=1e-8)


def test_every_point_of_the_file_is_on_the_map(page, maps):
    wheres = list(dict.fromkeys(maps["problem"].values.tolist()))
    assert set(json.loads(page.eval("JSON.stringify(Object.keys(F))"))) == {*wheres, "etas"}
    points = sum(
        len(row["lams"]) for where in wheres for row in method_map.map_rows(maps, where).values()
    )
    assert points == maps.sizes["setting"]
    stable = sum(
        np.sum(row["stable"])
        for where in wheres
        for row in method_map.map_rows(maps, where).values()
    )
    assert stable == (maps["abscissa"].values < 0.0).sum()


def test_the_error_does_not_depend_on_the_ratio(maps):
    """Which is why the map keeps one number per (method, λ)."""
    errors = maps["error"].values[:, 0]
    np.testing.assert_array_equal(errors, np.repeat(errors[:, :1], len(ETAS), axis=1))


def test_the_slider_stops_at_the_ratios_of_the_file(page, maps):
    (slider,) = method_map.map_explorable(maps).sliders
    stops = np.arange(slider.low, slider.high + 1e-9, slider.step)
    assert len(stops) == len(ETAS)
    for k, power in enumerate(stops):
        assert int(page.eval(f"gqMethodMap.nearest(F.etas(), {10.0**power})")) == k


def test_presets_and_caption(maps):
    explorable = method_map.map_explorable(maps)
    (slider,) = explorable.sliders
    assert "that you set" in explorable.caption
    assert any("paper" in preset.label for preset in explorable.presets)
    for preset in explorable.presets:
        assert preset.choice in explorable.choices
        assert slider.low <= np.log10(preset.values["eta"]) <= slider.high


def test_the_script_is_small_and_fetches_nothing():
    source = (STATIC / "method_map.js").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 150
    assert not re.search(r"https?://|\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)


def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch, maps):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    method_map.show_method_map("fig-x", maps)
    assert 'data-explorable="method-map" data-figure="fig-x"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] in shown[0]["text/html"]


def test_an_unknown_problem_is_named(maps):
    with pytest.raises(ValueError, match=r"^problem is 'maze'"):
        method_map.map_rows(maps, "maze")


def small_maps():
    """Two methods on two problems; one abscissa is exactly zero, which is not stable."""
    labels = {
        "problem": ["star", "star", "maze"],
        "method": ["TD", "TD", "GQ"],
        "lam": [0.0, 0.5, 0.5],
    }
    coords = {name: ("setting", values) for name, values in labels.items()} | {
        "eta": [0.5, 1.0, 2.0]
    }
    dims = ("setting", "run", "eta")
    abscissa = [[[0.0, -1.0, 1.0]], [[-1.0, -1.0, -1.0]], [[1.0, 1.0, -1e-9]]]
    error = [
        [[1.23456, 9.0, 9.0]],
        [[0.5, 9.0, 9.0]],
        [[7.0, 9.0, 9.0]],
    ]  # does not depend on η: the first is taken
    return xarray.Dataset({"abscissa": (dims, abscissa), "error": (dims, error)}, coords)


def test_rows_of_a_small_map_by_hand():
    assert method_map.map_rows(small_maps(), "star") == {
        "TD": {"lams": [0.0, 0.5], "stable": [[0, 1, 0], [1, 1, 1]], "errors": [1.235, 0.5]}
    }
    assert method_map.map_rows(small_maps(), "maze") == {
        "GQ": {"lams": [0.5], "stable": [[0, 0, 1]], "errors": [7.0]}
    }
    with pytest.raises(
        ValueError, match=r"^problem is 'none'; it should be one of 'star', 'maze'$"
    ):
        method_map.map_rows(small_maps(), "none")


@pytest.mark.parametrize("missing", ["problem", "method", "lam", "eta", "abscissa", "error"])
def test_a_result_without_what_the_map_needs_is_refused(missing):
    lacking = small_maps().drop_vars(missing)
    told = r"^maps is .*; it should be an xarray\.Dataset with problem, method, lam, eta, abscissa, error$"
    with pytest.raises(ValueError, match=told):
        method_map.map_rows(lacking, "star")
    with pytest.raises(ValueError, match=told):
        method_map.show_method_map("fig-x", lacking)


def test_the_figure_of_a_small_map_has_its_slider_choices_and_words():
    explorable = method_map.map_explorable(small_maps())
    assert explorable.sliders == (Slider("eta", "η", -0.301, 0.301, 0.0, 0.301, log=True),)
    assert (explorable.name, explorable.choices) == ("method-map", ("star", "maze"))
    assert explorable.formulas["etas"] == "() => [0.5, 1.0, 2.0]"
    assert json.loads(
        explorable.formulas["maze"].removeprefix("() => (")[:-1]
    ) == method_map.map_rows(small_maps(), "maze")
    greek = small_maps().assign_coords(method=("setting", ["TD(λ)", "TD(λ)", "GQ(½, λ)"]))
    assert (
        '"TD(λ)": {' in method_map.map_explorable(greek).formulas["star"]
    )  # as one reads it in the page's source
    for text in (explorable.label, explorable.note, explorable.caption):
        assert text[0].isupper()
        assert set(re.findall(r"[A-Z]{2,}", text)) <= {"TD", "ABTD"}  # nothing else is in capitals
    assert explorable.note.endswith(".")
    assert explorable.caption.endswith(".")
    presets = {preset.label: (preset.values, preset.choice) for preset in explorable.presets}
    assert presets == {
        "the star at η = 1": ({"eta": 1.0}, "star"),
        "the paper's two states": ({"eta": 1.0}, "two-state"),
        "a slow ω on the star": ({"eta": 0.125}, "star"),
        "Collision": ({"eta": 1.0}, "Collision"),
    }


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(120_000)
    tab = context.new_page()
    errors, outside = listen(tab)
    tab.goto((book / "where_it_stands.html").as_uri())
    settle(tab)
    tab.add_style_tag(content=NO_MOTION)
    yield tab, tab.locator('.gq-live[data-explorable="method-map"]')
    assert errors == []
    assert outside == []
    context.close()


@pytest.mark.slow
@needs_browser
def test_the_keyboard_picks_a_method_and_the_numbers_are_the_files(opened, maps):
    tab, figure = opened
    for where, name in (
        ("star", "HTD(λ)"),
        ("Collision", "ETD(λ)"),
        ("two-state, pairs", "GQ(½, λ)"),
    ):
        figure.locator("select").select_option(where)
        figure.locator('input[data-name="eta"]').fill("0")
        button = figure.locator(".gq-map button", has_text=name).first
        button.focus()
        tab.keyboard.press("Enter")
        chosen = button.inner_text()
        row = method_map.map_rows(maps, where)[chosen]
        stable = sum(flags[ETAS.index(1.0)] for flags in row["stable"])
        wanted = f"{chosen}: stable at {stable} of {len(row['lams'])} λ"
        assert figure.locator('[data-name="verdict"]').inner_text() == wanted
        assert button.get_attribute("aria-pressed") == "true"


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("theme", THEMES)
def test_live_map_has_its_caption_and_fits_a_phone(opened, theme):
    tab, figure = opened
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    assert "that you set" in tab.locator("#fig-today-stable .caption-text").inner_text()
    tab.set_viewport_size(PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box = figure.locator(".gq-map").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    tab.set_viewport_size(DESK)
