"""The built book in Chromium, from file://, as a reader opens it; skipped, with a message, where there is no Chromium.

Every page is visited once: what it logs and requests, its formulas, its width on a phone and axe-core's findings in
light and dark are recorded during that visit, and the tests below examine the records.
"""

import math
import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from chromium import (
    CHAPTERS,
    DESK,
    NO_MOTION,
    PAGES,
    PATIENCE,
    PHONE,
    THEMES,
    listen,
    needs_browser,
    numbers,
    put,
    sampled,
    settle,
)
from scipy.linalg import expm

from gqlib.domains import two_state
from gqlib.stability import joint_matrix, spectral_abscissa
from gqlib.stats import case_null
from kit import examples

pytestmark = pytest.mark.slow

# What axe-core finds in the theme's own parts and a style sheet cannot mend: (rule, what the part begins with), reason.
THEME_FAULTS = {
    (
        "region",
        '<div class="sidebar-primary-item">',
    ): "the theme puts the book's title outside of its landmarks",
}


@pytest.fixture(scope="module")
def context(browser):
    opened = browser.new_context(viewport=DESK, has_touch=True, reduced_motion="reduce")
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


# What the page shows outside code, formulas and live figures, text node by text node.
PROSE = """() => {
  const walker = document.createTreeWalker(document.querySelector("article") || document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest("pre, code, script, style, mjx-container, .gq-live"))
      texts.push(walker.currentNode.data);
  return texts;
}"""
# TeX or MyST that was meant to become something else.
RAW = re.compile(
    r"\$[^$\n]+\$|\\\(|\\\[|\\begin\{|\{(numref|eq|cite|ref|doc|prf:ref|func|class)[^}]*\}`|^:::|```"
)
UNRENDERED = """() => ({
  failed: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
  bare: [...document.querySelectorAll(".math")].filter((x) => !x.querySelector("mjx-container"))
    .map((x) => x.textContent),
})"""
# Formulas in sentences that end beyond their sentence and do not scroll, once all that is folded has been opened.
OPEN = """async () => {
  document.querySelectorAll("article :is(.toggle-hidden > button, .toggle-hidden > .admonition-title)")
    .forEach((title) => title.closest(".toggle-hidden") && title.click());
  const folded = [...document.querySelectorAll("article details:not([open])")].filter((part) => part.children.length);
  const opened = folded.map((part) => new Promise((told) => part.addEventListener("toggle", told, { once: true })));
  folded.forEach((part) => part.querySelector(":scope > summary").click());
  await Promise.all(opened); // a busy browser tells of them frames later
  for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
}"""
CUT = """() => [...document.querySelectorAll("article mjx-container:not([display]) mjx-math")].filter((formula) => {
  const box = formula.parentElement, line = box.parentElement.closest("p, li, td, dd, figcaption, div");
  const beyond = formula.getBoundingClientRect().right > line.getBoundingClientRect().right + 1;
  return beyond && !["auto", "scroll"].includes(getComputedStyle(box).overflowX) && !line.closest("table");
}).map((formula) => formula.parentElement.parentElement.textContent.slice(0, 60))"""
SCROLLS = "scrollable-region-focusable"  # the rule of axe-core that a narrow page may break and a wide one not
LOOSE = """() => [...document.querySelectorAll("article span.math")].filter((formula) =>
  formula.querySelector("mjx-container:not([display])") && /^[.,;:!?)]/.test(formula.nextSibling?.data ?? "")
  && getComputedStyle(formula.parentElement).whiteSpace !== "nowrap").map((formula) => formula.nextSibling.data)"""
# What axe-core would look at thousands of times over: glyphs of formulas (a letter in their colour takes their place)
# and tokens of code (the first of each kind stays). Without it a page takes four times as long.
THIN = """() => {
  document.querySelectorAll("mjx-container").forEach((formula) => formula.replaceWith("x"));
  const seen = new Set();
  for (const token of document.querySelectorAll("pre span")) {
    const kind = token.className + (token.closest(".cell_output") ? " output" : " input");
    if (seen.has(kind) && !token.children.length) token.replaceWith(token.textContent);
    seen.add(kind);
  }
}"""


@pytest.fixture(scope="module")
def visit(book, context):
    """Notes on one page of the book, taken once."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {
        "resultTypes": ["violations"],
        "preload": False,
    }  # preloading would fetch, which file:// refuses

    @cache
    def notes(name):
        page = context.new_page()
        errors, outside = listen(page)
        page.goto((book / f"{name}.html").as_uri())
        settle(page)
        page.add_style_tag(content=NO_MOTION)
        found = {"errors": errors[:], "outside": outside, "prose": page.evaluate(PROSE), "axe": {}}
        found |= page.evaluate(UNRENDERED) | {"loose": page.evaluate(LOOSE)}
        page.set_viewport_size(PHONE)
        page.evaluate(OPEN)
        found |= {
            "wide": page.evaluate("document.documentElement.scrollWidth"),
            "cut": page.evaluate(CUT),
        }
        found["stuck"] = axe.run(page, options={**options, "runOnly": [SCROLLS]}).response[
            "violations"
        ]
        page.set_viewport_size(DESK)
        page.evaluate(THIN)
        for theme in THEMES:
            page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
            found["axe"][theme] = axe.run(page, options=options).response["violations"]
        page.close()
        return found

    return notes


@needs_browser
@pytest.mark.parametrize("name", sampled(PAGES))
def test_page_loads_without_errors_or_outside_requests(visit, name):
    notes = visit(name)
    assert notes["errors"] == []
    assert notes["outside"] == []


@needs_browser
@pytest.mark.parametrize("name", sampled(PAGES))
def test_every_formula_is_typeset(visit, name):
    notes = visit(name)
    assert notes["failed"] == 0
    assert notes["bare"] == []
    assert [text for text in notes["prose"] if RAW.search(text)] == []


@needs_browser
@pytest.mark.parametrize("name", sampled(PAGES))
def test_page_fits_a_phone(visit, name):
    assert visit(name)["wide"] <= PHONE["width"]


@needs_browser
@pytest.mark.parametrize("name", sampled(PAGES))
def test_no_formula_in_a_sentence_is_cut_on_a_phone(visit, name):
    assert visit(name)["cut"] == []


@needs_browser
@pytest.mark.parametrize("name", sampled(PAGES))
def test_the_stop_after_a_formula_stays_on_its_line(visit, name):
    assert visit(name)["loose"] == []


@needs_browser
@pytest.mark.parametrize("name", sampled(PAGES))
def test_what_scrolls_on_a_phone_can_be_moved_with_the_keyboard(visit, name):
    found = visit(name)["stuck"]
    assert not found, "\n".join(map(describe, found))


def beyond_the_theme(violation):
    """The violation without the parts that are listed as the theme's faults; None if nothing is left."""
    faults = [start for rule, start in THEME_FAULTS if rule == violation["id"]]
    nodes = [
        node
        for node in violation["nodes"]
        if not any(node["html"].startswith(start) for start in faults)
    ]
    return {**violation, "nodes": nodes} if nodes else None


def describe(violation):
    nodes = [f"{node['target'][-1]}: {node['html'][:160]}" for node in violation["nodes"][:5]]
    return f"{violation['id']}: {violation['help']} ({len(violation['nodes'])})\n  " + "\n  ".join(
        nodes
    )


@needs_browser
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", sampled(PAGES))
def test_page_passes_axe(visit, name, theme):
    found = list(filter(None, map(beyond_the_theme, visit(name)["axe"][theme])))
    assert not found, "\n".join(map(describe, found))


# ---------------------------------------------------------------- links, without a browser


class Links(HTMLParser):
    """What a page names (ids) and what it points to."""

    def __init__(self, source):
        super().__init__()
        self.ids, self.links, self.files, self.images = set(), [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href") is not None:
            self.links.append(given["href"])
        if tag in ("img", "script", "source") and given.get("src"):
            self.files.append(given["src"])
        if tag == "link" and given.get("href") and given.get("rel") != "canonical":
            self.files.append(given["href"])
        if tag == "img":
            self.images.append(given)


@pytest.fixture(scope="module")
def parsed(book):
    return {path: Links(path.read_text(encoding="utf-8")) for path in book.glob("*.html")}


def test_every_page_of_the_contents_is_built(parsed):
    assert set(PAGES) <= {path.stem for path in parsed}


def test_links_anchors_and_files_resolve(book, parsed):
    broken = []
    for path, page in parsed.items():
        for target in [*page.links, *page.files]:
            parts = urlsplit(target)
            if parts.scheme in ("data", "mailto") or (
                parts.scheme == "https" and target in page.links
            ):
                continue
            where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            inside = where.is_relative_to(book.resolve()) and where.is_file()
            anchor = unquote(parts.fragment)
            if (
                parts.scheme
                or not inside
                or (anchor and where in parsed and anchor not in parsed[where].ids)
            ):
                broken.append(f"{path.name} → {target}")
    assert broken == []


def test_every_image_has_a_description(parsed):
    bare = [
        f"{path.name}: {image.get('src')}"
        for path, page in parsed.items()
        for image in page.images
        if not (image.get("alt") or "").strip() or re.search(r"\.(png|svg)$", image["alt"])
    ]
    assert bare == []


# ---------------------------------------------------------------- search


@needs_browser
@pytest.mark.parametrize("name", CHAPTERS[1:4])
def test_search_finds_a_chapter_by_a_word_of_its_title(book, context, name):
    title = re.search(
        r"<title>(.*?) &#8212;", (book / f"{name}.html").read_text(encoding="utf-8")
    ).group(1)
    word = max(re.findall(r"[A-Za-z]+", title), key=len)
    page = context.new_page()
    errors, _ = listen(page)
    page.goto((book / "search.html").as_uri() + f"?q={word}")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function(
        "() => !document.querySelector('#search-progress')?.textContent.includes('Searching')"
    )
    found = page.eval_on_selector_all(
        "#search-results li a", "links => links.map(a => a.getAttribute('href'))"
    )
    page.close()
    assert any(link.startswith(f"{name}.html") for link in found), (word, found)
    assert errors == []


@needs_browser
def test_search_box_leads_to_the_results(book, context):
    page = context.new_page()
    page.goto((book / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type("eigenvalues")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    address = urlsplit(page.url)
    page.close()
    assert address.path.endswith("/search.html")
    assert address.query.startswith("q=eigenvalues")


@needs_browser
def test_search_says_when_it_finds_nothing(book, context):
    page = context.new_page()
    page.goto((book / "search.html").as_uri() + "?q=qqxxyyzz")
    page.wait_for_function("() => document.body.innerText.includes('did not match')")
    links = page.locator("#search-results li a").count()
    page.close()
    assert links == 0


# ---------------------------------------------------------------- live figures


def page_of(book, name):
    """The page that holds the live figure; one of them is on the first page and in its chapter."""
    mark = f'data-explorable="{name}"'
    pages = [
        path for path in sorted(book.glob("*.html")) if mark in path.read_text(encoding="utf-8")
    ]
    chapters = [path for path in pages if path.name != "index.html"]
    assert len(chapters) == 1, f"{name} is on {[path.name for path in pages]}"
    return chapters[0]


@pytest.fixture(scope="module")
def opened(book, context):
    """The page of each live figure, opened once."""

    @cache
    def page_with(name):
        page = context.new_page()
        page.goto(page_of(book, name).as_uri())
        settle(page)
        page.add_style_tag(content=NO_MOTION)
        return page

    return page_with


@pytest.fixture
def live(opened):
    """The page of a live figure and the figure, with its sliders and choices as at first."""

    def open_figure(name):
        page = opened(name)
        page.evaluate(
            """name => {
          for (const input of document.querySelectorAll(`.gq-live[data-explorable="${name}"] :is(input, select)`)) {
            if (input.type === "range") input.value = input.defaultValue;
            else input.selectedIndex = 0;
            input.dispatchEvent(new Event(input.type === "range" ? "input" : "change"));
          }
        }""",
            name,
        )
        figure = page.locator(f'.gq-live[data-explorable="{name}"]')
        figure.scroll_into_view_if_needed()
        return page, figure

    return open_figure


def four_digits(found, expected):
    return np.allclose(found, expected, rtol=6e-4, atol=1e-9)


def verdict(figure):
    return figure.locator('[data-name="verdict"]').inner_text()


@needs_browser
@pytest.mark.parametrize("reading", ["continuing", "bootstrap", "terminal"])
@pytest.mark.parametrize(
    ("sigma", "lam", "gamma"), [(0.0, 0.0, 0.9), (0.3, 0.5, 0.9), (1.0, 0.99, 0.99)]
)
def test_two_state_shows_the_librarys_numbers(live, reading, sigma, lam, gamma):
    _, figure = live("two-state")
    figure.locator("select").select_option(reading)
    put(figure, sigma=sigma, lam=lam, gamma=gamma)
    matrix = two_state(gamma, reading).problem.A(sigma, lam)
    assert four_digits(
        numbers(figure, "eigenvalues"), np.sort(np.linalg.eigvals(matrix).real)[::-1]
    )
    assert four_digits(numbers(figure, "theta"), expm(20.0 * matrix) @ [2.0, 0.0])
    assert verdict(figure) == ("stable" if spectral_abscissa(matrix) < 0 else "unstable")


@needs_browser
@pytest.mark.parametrize(
    ("sigma", "lam", "gamma", "n"),
    [(0.5, 0.0, 0.9, 1), (0.25, 0.8, 0.5, 100), (1.0, 1.0, 0.99, 10)],
)
def test_bias_variance_shows_the_librarys_numbers(live, sigma, lam, gamma, n):
    _, figure = live("bias-variance")
    put(figure, sigma=sigma, lam=lam, gamma=gamma, n=round(math.log10(n), 1))
    at = {examples.SIGMA: sigma, examples.LAM: lam, examples.GAMMA: gamma}
    bias, variance = (float(expression.subs(at)) for expression in examples.bias_and_variance()[:2])
    mdp = examples.small_mdp(gamma)
    mu, pi = np.array(examples.COIN), np.array(examples.KEEP)
    gap = (mdp.q((1 - sigma) * pi + sigma * mu) - mdp.q(pi)).ravel()
    assert four_digits(
        numbers(figure, "bias"), np.sqrt((gap**2).mean())
    )  # by the coin all pairs are equally likely
    assert four_digits(numbers(figure, "deviation"), math.sqrt(variance / n))
    assert four_digits(numbers(figure, "total"), math.sqrt(bias + variance / n))


@needs_browser
@pytest.mark.parametrize(
    ("sigma", "lam", "gamma", "exponent"),
    [(0.0, 0.0, 0.99, -1.0), (0.0, 0.0, 0.99, -0.8), (0.5, 0.5, 0.9, 0.5)],
)
def test_time_scales_shows_the_librarys_numbers(live, sigma, lam, gamma, exponent):
    _, figure = live("time-scales")
    put(figure, sigma=sigma, lam=lam, gamma=gamma, eta=exponent)
    joint = joint_matrix(two_state(gamma).problem, sigma, lam, 10.0**exponent)
    assert four_digits(numbers(figure, "abscissa"), spectral_abscissa(joint))
    assert verdict(figure) == ("stable" if spectral_abscissa(joint) < 0 else "unstable")


@needs_browser
@pytest.mark.parametrize(
    ("share", "cells", "n"), [(42.2, 6, 49), (42.2, 1, 49), (80.0, 6, 9), (0.0, 2, 20)]
)
def test_cases_under_the_null_show_the_librarys_numbers(book, live, share, cells, n):
    assert page_of(book, "chance").name == "overall.html"
    _, figure = live("chance")
    put(figure, share=share, cells=cells, n=n)
    null, count = case_null(n, cells), round(share * n * cells / 100)
    assert numbers(figure, "count").tolist() == [count, n * cells]
    assert four_digits(numbers(figure, "expected"), null.mean)
    assert four_digits(numbers(figure, "sd"), 100 * null.share_sd)
    assert four_digits(numbers(figure, "verdict"), null.p_value(count))


@needs_browser
def test_the_verdict_turns_where_eta_crosses(live):
    _, figure = live("time-scales")
    put(figure, eta=-1.0)
    assert verdict(figure) == "unstable"
    put(figure, eta=-0.5)
    assert verdict(figure) == "stable"


def centre(handle):
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def output(figure, name):
    return float(
        figure.locator(f'.gq-slider:has(input[data-name="{name}"]) output')
        .inner_text()
        .replace("−", "-")
    )


@needs_browser
def test_sliders_and_points_answer_to_the_keyboard(live):
    page, figure = live("two-state")
    figure.locator('input[data-name="sigma"]').focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert output(figure, "sigma") == 0.03
    figure.locator(".gq-handle").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    assert (output(figure, "sigma"), output(figure, "lambda")) == (0.04, 0.1)
    assert figure.locator(".gq-handle").get_attribute("aria-valuetext") == "σ 0.04, λ 0.1"


@needs_browser
def test_the_point_follows_the_mouse(live):
    page, figure = live("two-state")
    x, y = centre(figure.locator(".gq-handle"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y - 40, steps=4)
    page.mouse.up()
    assert 0.05 < output(figure, "sigma") < 0.5
    assert 0.05 < output(figure, "lambda") < 0.5
    matrix = two_state(0.99).problem.A(output(figure, "sigma"), output(figure, "lambda"))
    assert four_digits(numbers(figure, "eigenvalues")[0], spectral_abscissa(matrix))


@needs_browser
def test_the_point_follows_a_finger(live, context):
    page, figure = live("bias-variance")
    before = output(figure, "sigma")
    x, y = centre(figure.locator(".gq-handle"))
    touch = context.new_cdp_session(page)
    touch.send(
        "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]}
    )
    for far in (10, 30, 50):
        touch.send(
            "Input.dispatchTouchEvent",
            {"type": "touchMove", "touchPoints": [{"x": x + far, "y": y}]},
        )
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert output(figure, "sigma") > before + 0.05


@needs_browser
@pytest.mark.parametrize("name", ["two-state", "bias-variance", "time-scales"])
def test_live_figure_stands_in_for_the_static_one(live, name):
    _, figure = live(name)
    assert len(figure.get_attribute("aria-label")) > 40
    still = figure.locator("xpath=following-sibling::details[1]")
    assert not still.locator(".gq-drawing").is_visible()
    still.locator("summary").click()
    assert still.locator(".gq-drawing").is_visible()


@needs_browser
@pytest.mark.parametrize("name", ["two-state", "bias-variance", "time-scales"])
def test_without_javascript_the_static_figure_is_there(book, browser, name):
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(page_of(book, name).as_uri())
    figure = page.locator(f'.gq-explorable[data-explorable="{name}"]').get_attribute("data-figure")
    assert page.locator(".gq-live").count() == 0
    assert page.locator(f"#{figure} .gq-drawing").is_visible()
    plain.close()


CONTRAST = """([selector, property]) => {
  const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = luminance(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(selector)].map((x) => {
    const [low, high] = [ground, luminance(getComputedStyle(x)[property])].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
}"""


@needs_browser
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["two-state", "bias-variance", "time-scales"])
def test_live_figure_has_contrast(live, name, theme):
    page, _ = live(name)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    letters = page.evaluate(CONTRAST, [".gq-panel text", "fill"])
    lines = page.evaluate(CONTRAST, [".gq-panel .gq-line", "stroke"])
    assert len(letters) > 10
    assert min(letters) >= 4.5  # WCAG 2.1, 1.4.3
    assert min(lines) >= 3.0  # WCAG 2.1, 1.4.11


# ---------------------------------------------------------------- the tests' own eyes


@pytest.mark.parametrize(
    "text", ["so $x^2$ is", r"\begin{aligned}", "see {numref}`fig-x`", r"\(x\)"]
)
def test_raw_tex_and_myst_would_be_seen(text):
    assert RAW.search(text)


@pytest.mark.parametrize("text", ["it costs $5", "γ = 0.99", "a {brace} here"])
def test_plain_prose_is_not_taken_for_tex(text):
    assert not RAW.search(text)


@needs_browser
def test_a_bad_page_would_be_caught(browser, tmp_path):
    (tmp_path / "bad.html").write_text(
        "<!doctype html><html lang='en'><body><article>so $x$<img src='gone.png'>"
        "<script src='https://example.invalid/x.js'></script><script>throw Error('oops')</script></article></body>",
        encoding="utf-8",
    )
    page = browser.new_page()
    errors, outside = listen(page)
    page.goto((tmp_path / "bad.html").as_uri())
    assert any("oops" in error for error in errors)
    assert any("gone.png" in error for error in errors)
    assert outside == ["https://example.invalid/x.js"]
    assert any(RAW.search(text) for text in page.evaluate(PROSE))
    page.close()
