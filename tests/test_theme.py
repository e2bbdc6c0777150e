"""How pages and figures look: in a light page and in a dark one, on a desk and on a phone.

The first part examines figures as text. The second opens pages of the built book in Chromium, from file://; it is
skipped, with a message, where there is no Chromium. Slow tests visit some pages, the thorough ones all of them.
"""

import base64
import colorsys
import importlib.util
import json
import re
from functools import cache
from io import BytesIO
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import IPython
import IPython.display
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
    sampled,
    settle,
)
from matplotlib import pyplot
from matplotlib.figure import Figure
from PIL import Image

from kit import figures, themed

BOOK = Path(__file__).parents[1] / "book"


def extension(name):
    """A module of the book's own extensions."""
    spec = importlib.util.spec_from_file_location(name, BOOK / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


author_year, plain_text = map(extension, ("author_year", "plain_text"))
CSS = (BOOK / "_static" / "gq.css").read_text(encoding="utf-8")
GROUNDS = {"light": "#ffffff", "dark": "#121212"}  # the theme's; the browser tests compare


# ---------------------------------------------------------------- colours


def variables(theme):
    """The style sheet's colours of figures, by name."""
    start = {"light": "html {", "dark": 'html[data-theme="dark"] {\n  --gq'}[theme]
    rule = CSS[CSS.index(start) :].partition("}")[0]
    return dict(re.findall(r"--gq-(\w+): (#[0-9a-f]{6});", rule))


def channels(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, two):
    low, high = sorted(map(luminance, (one, two)))
    return (high + 0.05) / (low + 0.05)


def hue(colour):
    return 360 * colorsys.rgb_to_hsv(*channels(colour))[0]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("drawn", "name"), themed.PALETTE.items())
def test_a_colour_of_the_palette_keeps_its_hue(theme, drawn, name):
    apart = abs(hue(variables(theme)[name]) - hue(drawn))
    assert min(apart, 360 - apart) < 20


@pytest.mark.parametrize("name", themed.PALETTE.values())
def test_every_colour_can_be_seen_on_the_dark_page(name):
    assert contrast(variables("dark")[name], GROUNDS["dark"]) >= 3.0  # WCAG 2.1, 1.4.11


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_colours_are_alike(theme):
    palette = variables(theme)
    distances = [np.linalg.norm(np.subtract(channels(palette[a]), channels(palette[b])))
                 for a, b in combinations(themed.PALETTE.values(), 2)]  # fmt: skip
    assert min(distances) > 0.15


def test_greys_keep_their_place_between_paper_and_ink():
    shares = [
        themed.themed(f"#{level:02x}{level:02x}{level:02x}") for level in (0, 64, 128, 191, 255)
    ]
    found = [re.findall(r"(\d+)%", share) for share in shares]
    assert found == [[], ["75"], ["50"], ["25"], []]
    assert "ink" in shares[0]
    assert "paper" in shares[-1]


# ---------------------------------------------------------------- figures


@pytest.fixture
def shown(monkeypatch):
    """A function that shows a figure as a notebook would, and returns the SVG that comes with its PNG."""
    kept = []

    def show(figure):
        with monkeypatch.context() as notebook:
            notebook.setattr(IPython, "get_ipython", lambda: SimpleNamespace())
            notebook.setattr(
                IPython.display,
                "display",
                lambda bundle, metadata, raw: kept.append((bundle, metadata)),
            )
            figures.show(figure)
        bundle, metadata = kept.pop()
        picture = Image.open(BytesIO(base64.b64decode(bundle["image/png"])))
        size = metadata["image/png"]
        assert abs(picture.width - 2 * size["width"]) <= 1
        assert bundle["text/plain"].startswith("figure of ")
        return picture.text["svg"]

    return show


def sizes(svg):
    """The sizes of letters in points; matplotlib scales outlines of 100 points."""
    return [100 * float(scale) for scale in re.findall(r"scale\(([\d.]+) -", svg)]


@pytest.mark.slow
@pytest.mark.parametrize("width", [5.0, 7.0, 12.0])
def test_letters_have_nine_points_at_the_size_shown(shown, width):
    figure, axes = figures.new(1, 2, figsize=(width, 3.0))
    for one in axes:
        one.plot([0.0, 1e-3], label="small")
        one.legend(fontsize=6)
        one.text(0.1, 0.5, "tiny", fontsize=5, transform=one.transAxes)
        one.tick_params(labelsize=4)
        one.set_title("also", fontsize=7)
    points = sizes(shown(figure))
    assert len(points) > 10
    assert min(points) >= 9.0 * max(1.0, width / 7.0) - 1e-6


@pytest.mark.slow
def test_the_same_figure_is_the_same_file():
    def draw():
        figure, axes = figures.new(figsize=(3.0, 2.0))
        axes.plot([0.0, 1.0, 0.5])
        axes.scatter([0.0, 1.0], [0.5, 0.5])
        made = figures.png(figure)
        pyplot.close(figure)
        return made

    assert draw() == draw()


def mixed():
    """A figure with a curve and, beside it, a map with a white line and a black name in it."""
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], color=figures.BLUE)
    left.text(0.2, 0.2, "14", bbox={"facecolor": figures.SKY})
    right.imshow([[0.0, 1.0], [1.0, 0.0]])
    right.plot([0, 1], [0, 1], color="white")
    right.text(0.5, 0.5, "here", color="black")
    return figure


def rules(html):
    return dict(re.findall(r"\.(g-\d+)\{(.*?)\}(?=\.g-|<)", html))


def test_a_map_keeps_its_colours_and_a_curve_takes_the_themes():
    html = themed.inline(figures.svg(mixed()), "g-", "what it shows")
    styles = list(rules(html).values())
    assert any("stroke: var(--gq-blue, #0072b2)" in style for style in styles)
    assert any("stroke: #ffffff" in style for style in styles)  # the white line on the map
    assert any("fill: #56b4e9" in style for style in styles)  # the box with a name in it
    assert not any("var(--gq-sky" in style for style in styles)
    assert any("stroke: var(--gq-ink, #000000)" in style for style in styles)  # axes
    assert 'role="img"' in html
    assert 'aria-label="what it shows"' in html


def test_a_curve_of_a_family_keeps_its_colour_but_for_some_ink():
    assert "#00224e var(--gq-own, 100%)" in themed.themed("#00224e")
    dark = re.search(r"dark\"\] \{[^}]*--gq-own: (\d+)%", CSS)
    mix = [0.01 * int(dark[1]) * a + (1 - 0.01 * int(dark[1])) * b
           for a, b in zip(channels("#00224e"), channels("#ced6dd"), strict=True)]  # fmt: skip
    assert contrast("#" + "".join(f"{round(255 * c):02x}" for c in mix), GROUNDS["dark"]) > 2.0


def test_a_dark_mark_on_a_map_has_a_light_rim(shown):
    """It may stand at the edge, half of it on the page, which is dark in one of the themes."""
    figure, axes = figures.new(figsize=(3.0, 2.0))
    axes.pcolormesh([[0.0, 1.0], [1.0, 0.0]], rasterized=True)
    axes.plot(2.0, 0.0, "x", color=figures.BLACK, clip_on=False)
    svg = shown(figure)
    marks = re.findall(r"stroke: (#\w+); stroke-width: 3.5", svg)
    assert marks
    assert set(marks) == {"#ffffff"}


SVG = "http://www.w3.org/2000/svg"
SMALL = f"""<svg xmlns="{SVG}" viewBox="0 0 72 36"><defs>
<pattern id="hatch"><path style="stroke: #000000" /></pattern><clipPath id="frame" /><path id="dot" /></defs>
<g id="map-1" style="stroke: #0072b2"><path style="fill: #ffffff" /><g id="map-2"><path /></g></g>
<path style="fill: #0072b2; stroke: #808080" clip-path="url(#frame)" />
<path style="fill: url(#hatch); stroke: #0072b2" /><use href="#dot" style="fill: #0072b2; stroke: #808080" />
<a href="https://example.org" /></svg>"""


def test_names_styles_and_references_of_a_small_figure_by_hand():
    html = themed.inline(SMALL, "g1-", "what & why")
    assert html.startswith('<div class="gq-figure" style="--gq-width: 96px"><svg xmlns="')
    root = ElementTree.fromstring(html).find(f"{{{SVG}}}svg")
    assert {key: root.get(key) for key in ("class", "role", "aria-label", "style", "viewBox")} == {
        "class": "gq-drawing", "role": "img", "aria-label": "what & why", "style": "fill: var(--gq-ink, #000000)",
        "viewBox": "0 0 72 36",
    }  # fmt: skip
    style = root[0]
    assert style.tag == f"{{{SVG}}}style"
    blue, grey = (
        "var(--gq-blue, #0072b2)",
        "color-mix(in srgb, var(--gq-ink, #000000) 50%, var(--gq-paper, #ffffff))",
    )
    assert (
        style.text
        == (
            ".g1-0{stroke: #000000}"  # the hatching belongs to a map, as there is one
            ".g1-1{fill: #000000; stroke: #0072b2}"  # black is what no colour means, and the map keeps the others
            ".g1-2{fill: #ffffff}"
            f".g1-3{{fill: {blue}; stroke: {grey}}}"
            f".g1-4{{fill: url(#g1-hatch); stroke: {blue}}}"
        )
    )
    assert not [node for node in root.iter() if node is not root and node.get("style")]
    assert [node.get("class") for node in root.iter() if node.get("class", "").startswith("g1")] == [
        "g1-0", "g1-1", "g1-2", "g1-3", "g1-4", "g1-3",
    ]  # fmt: skip
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert ids == ["g1-hatch", "g1-frame", "g1-dot", "g1-map-1", "g1-map-2"]
    assert [node.get("href") for node in root.iter() if node.get("href")] == [
        "#g1-dot",
        "https://example.org",
    ]
    assert [node.get("clip-path") for node in root.iter() if node.get("clip-path")] == [
        "url(#g1-frame)"
    ]


def test_without_a_map_the_hatching_takes_the_colours_of_the_page():
    html = themed.inline(SMALL.replace("map-", "not-a-"), "g1-", "")
    assert ".g1-0{stroke: var(--gq-ink, #000000)}" in html
    assert "stroke: #0072b2" not in html


def test_colours_become_those_of_the_page():
    assert themed.themed("#0072b2") == "var(--gq-blue, #0072b2)"
    assert themed.themed("#ffffff") == "var(--gq-paper, #ffffff)"
    assert themed.themed("#000000") == "var(--gq-ink, #000000)"
    assert (
        themed.themed("#333333")
        == "color-mix(in srgb, var(--gq-ink, #000000) 80%, var(--gq-paper, #ffffff))"
    )
    assert "#000000) 87%, var(" in themed.themed("#202020")  # 32 of 255 from black, or 12.55%
    for tinted in ("#334433", "#333344", "#443333"):
        assert (
            themed.themed(tinted)
            == f"color-mix(in srgb, {tinted} var(--gq-own, 100%), var(--gq-ink, #000000))"
        )


def test_two_figures_on_a_page_share_no_names():
    svg = figures.svg(mixed())
    ids = [
        set(re.findall(r'id="([^"]+)"', themed.inline(svg, prefix, "")))
        for prefix in ("gq1-", "gq2-")
    ]
    assert ids[0]
    assert not ids[0] & ids[1]
    html = themed.inline(svg, "gq1-", "")
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', html))
    assert {one or two for one, two in used} <= ids[0]


def test_numbers_are_shortened_and_no_sign_is_lost():
    short = figures._short(
        re.match(r".*", ' d="M -0.512345 1.0 \nL -0.001 -12.3456 \n"', re.DOTALL)
    )
    assert short == ' d="M-0.51 1L0 -12.35"'
    scaled = figures._short(re.match(r".*", ' transform="translate(1.23456 2.0) scale(0.015625)"'))
    assert scaled == ' transform="translate(1.23 2) scale(0.015625)"'


def test_many_points_become_an_image():
    figure = Figure(figsize=(3, 3))
    rng = np.random.default_rng(0)
    figure.subplots().scatter(*rng.random((2, 20_000)))
    svg = figures.svg(figure)
    assert "<image" in svg
    assert len(svg) < 400_000


def test_every_record_fits_and_its_figures_are_whole():
    """What the book shows can be read back from the records; those made before figures had an SVG have none."""
    for path in sorted(BOOK.glob("*.ipynb")):
        assert path.stat().st_size < 1_500_000, path.name
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                data = output.get("data", {}).get("image/png")
                svg = data and Image.open(BytesIO(base64.b64decode(data))).text.get(figures.VECTOR)
                if svg:
                    ElementTree.fromstring(svg)
                    assert min(sizes(svg), default=9.0) >= 9.0 - 1e-6, (path.stem, cell["id"])


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\sigma", "σ"),
        (r"A_\sigma \le \Phi^\top x^2", "A_σ ≤ Φᵀ x²"),
        (r"\frac{a}{b}", "ab"),
        (r"\Lambda", "Λ"),
    ],
)
def test_formulas_in_plain_text(tex, text):
    assert plain_text.formula(tex) == text


def test_labels_of_the_bibliography_are_those_of_the_text():
    from pybtex.database import parse_string

    entries = parse_string(
        "@book{a, author={Sutton, Richard S. and Barto, Andrew G.}, year=2018}"
        "@book{b, author={van Seijen, Harm}, year=2009}"
        "@book{c, author={A, B and C, D and E, F}, year=2001} @misc{d, author={Sutton, Richard S.}}",
        "bibtex",
    ).entries.values()
    found = list(author_year.AuthorYearLabels().format_labels(entries))
    assert found == ["Sutton and Barto, 2018", "van Seijen, 2009", "A et al., 2001", "Sutton"]


NO_ADDRESS = {  # or none that a source confirms
    "bertsekas1996neuro", "lakshminarayanan2017stability", "maei2010toward", "maei2011gradient",
    "precup2000eligibility", "precup2001off", "rummery1994line", "sutton2018reinforcement", "watkins1989learning",
    "xu2019two",
}  # fmt: skip


def test_the_bibliography_leads_to_what_it_lists():
    """A DOI, an arXiv number or an address, but for old books, theses, reports and proceedings, which have none."""
    from pybtex.database import parse_file

    fields = {
        key: entry.fields for key, entry in parse_file(str(BOOK / "references.bib")).entries.items()
    }
    assert {
        key
        for key, given in fields.items()
        if not {"doi", "eprint", "url", "howpublished"} & set(given)
    } == NO_ADDRESS
    for kind, form in (("doi", r"10\.\d{4,}/\S+"), ("eprint", r"\d{4}\.\d{5}")):
        assert [
            key
            for key, given in fields.items()
            if kind in given and not re.fullmatch(form, given[kind])
        ] == []


# ---------------------------------------------------------------- pages in a browser

WIDTHS = {1440: {"width": 1440, "height": 900}, DESK["width"]: DESK, PHONE["width"]: PHONE}
ALL = [*PAGES, "prf-prf"]
TAB_STOPS = 180  # of a page without the contents on both sides: every code cell has one to copy it, every link one

# Pieces of text that a reader cannot see: beyond a box that hides what does not fit, beyond the window, or, where
# code may not scroll, beyond its box. Formulas and figures may scroll by themselves, as may code on a phone.
CUT = """(desk) => {
  const walker = document.createTreeWalker(document.querySelector("article") || document.body, NodeFilter.SHOW_TEXT);
  const cut = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim()) continue;
    if (parent.closest("mjx-container, svg, script, style, select, .visually-hidden, .sr-only")) continue;
    if (!parent.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const right = Math.max(...[...node.data.matchAll(/\\S+/g)].map((word) => {
      const range = document.createRange();  // words only: spaces at the end of a folded line hang over its edge
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      return range.getBoundingClientRect().right;
    }));
    let box = parent, scrolls = false, hidden = false;
    for (; box && box.tagName !== "ARTICLE" && !scrolls; box = box.parentElement) {
      const style = getComputedStyle(box), beyond = right > box.getBoundingClientRect().right + 1;
      scrolls = ["auto", "scroll"].includes(style.overflowX);
      if (beyond && ["hidden", "clip"].includes(style.overflowX)) hidden = true;
      if (beyond && scrolls && desk && box.closest("pre, .highlight")) hidden = true;
    }
    if (hidden || (!scrolls && right > innerWidth + 1)) cut.push(node.data.trim().slice(0, 60));
  }
  return cut;
}"""
PROSE = """() => {
  const walker = document.createTreeWalker(document.querySelector("article") || document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest("pre, code, script, style, mjx-container, svg"))
      texts.push(walker.currentNode.data);
  return texts;
}"""
# Letters of still figures: their size in pixels as shown, and their contrast with the page.
LETTERS = """() => {
  const channel = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => channel(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = luminance(getComputedStyle(document.body).backgroundColor), seen = {}, found = [];
  for (const group of document.querySelectorAll("svg.gq-drawing g[transform*='scale(']")) {
    const svg = group.ownerSVGElement, box = svg.getBoundingClientRect();
    const scale = /scale\\(([\\d.]+) -/.exec(group.getAttribute("transform"));
    if (!box.width || !scale || group.closest("[id*='-map-']")) continue;
    const fill = getComputedStyle(group).fill;
    const ink = (seen[fill] = seen[fill] ?? luminance(fill));
    const [low, high] = [ground, ink].sort((a, b) => a - b);
    found.push([(100 * Number(scale[1]) * box.width) / svg.viewBox.baseVal.width, (high + 0.05) / (low + 0.05)]);
  }
  return found;
}"""
# Displayed formulas that are wider than their column, where a desk leaves room: one has to scroll to read them.
LONG = """() => [...document.querySelectorAll('mjx-container[display="true"]')]
  .filter((formula) => formula.clientWidth && formula.scrollWidth > formula.clientWidth + 1)
  .map((formula) => formula.closest("[id]")?.id)"""
# Tables of which a desk shows a part only.
HIDDEN = """() => [...document.querySelectorAll("article table")]
  .filter((table) => table.clientWidth && table.scrollWidth > table.clientWidth + 1)
  .map((table) => [table.scrollWidth - table.clientWidth, table.innerText.slice(0, 60)])"""
# Pieces that begin on one line and end on another: short equations among words, words of code with a hyphen in them.
BROKEN = """() => {
  const walker = document.createTreeWalker(document.querySelector("article") || document.body, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (parent.closest("pre, script, style, svg, mjx-container, .gq-live")) continue;
    const inside = parent.closest("code") ? /^(?=.*-)\\S{1,12}$/g : /(?<!\\S)\\S{1,8} [=<>≤≥≠≈→] \\S{1,8}(?!\\S)/g;
    for (const match of node.data.matchAll(inside)) {
      const range = document.createRange();
      const lines = [match.index, match.index + match[0].length - 1].map((place) => {
        range.setStart(node, place);
        range.setEnd(node, place + 1);
        return range.getBoundingClientRect().bottom;
      });
      if (lines[1] - lines[0] > 6) broken.push(match[0]); // a letter may be lower than another by less
    }
  }
  return broken;
}"""
STOPS = """() => ({
  formulas: document.querySelectorAll("mjx-container[tabindex]").length,
  all: [...document.querySelectorAll("a[href], button, input, select, summary, textarea, [tabindex]")]
    .filter((x) => x.tabIndex >= 0 && !x.disabled && x.checkVisibility({ visibilityProperty: true })
      && !x.closest(".bd-sidebar-primary, .bd-sidebar-secondary")).length,
})"""
RAW = re.compile(
    r"\$[^$\n]+\$|\\[a-zA-Z]{2,}|\\[(\[]|\{(numref|eq|cite|ref|doc|prf:ref|func|class)[^}]*\}`|^:::|```"
)


@cache
def labels():
    """The labels of the book's sources that no reader should meet: those with a hyphen in them."""
    found = set()
    for path in BOOK.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        found |= set(
            re.findall(r"^\(([\w-]+)\)=|:label: ([\w-]+)|^ +name: ([\w-]+)", text, re.MULTILINE)
        )
    return frozenset(
        one
        for names in found
        for one in names
        if one.count("-") > 1 or one.startswith(("fig-", "eq-"))
    )


@pytest.fixture(scope="module")
def look(book, browser):
    """Notes on one page, taken once: at every width, in both themes."""

    @cache
    def notes(name):
        opened = browser.new_context(viewport=WIDTHS[1440], reduced_motion="reduce")
        opened.set_default_timeout(5 * PATIENCE)
        page = opened.new_page()
        errors, outside = listen(page)
        page.goto((book / f"{name}.html").as_uri())
        settle(page)
        page.add_style_tag(content=NO_MOTION)
        found = {
            "errors": errors,
            "outside": outside,
            "cut": {},
            "wide": {},
            "long": {},
            "letters": {},
            "grounds": {},
        }
        found |= {"hidden": {}, "broken": {}}
        found |= {"prose": page.evaluate(PROSE), "stops": page.evaluate(STOPS)}
        found["bare"] = page.locator(
            "svg.gq-drawing:not([aria-label]), svg.gq-drawing[aria-label='']"
        ).count()
        for width, size in WIDTHS.items():
            page.set_viewport_size(size)
            found["cut"][width] = page.evaluate(CUT, width > PHONE["width"])
            found["wide"][width] = page.evaluate("document.documentElement.scrollWidth")
            found["long"][width] = page.evaluate(LONG) if width > PHONE["width"] else []
            found["hidden"][width] = page.evaluate(HIDDEN) if width > PHONE["width"] else []
            found["broken"][width] = page.evaluate(BROKEN)
            found["letters"][width, "light"] = page.evaluate(LETTERS)
        page.set_viewport_size(DESK)
        for theme in THEMES:
            page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
            found["letters"][DESK["width"], theme] = page.evaluate(LETTERS)
            found["grounds"][theme] = page.evaluate(
                "getComputedStyle(document.body).backgroundColor"
            )
        opened.close()
        return found

    return notes


def every_page(test):
    """The test on a few pages where slow tests are run, and on all of them by the thorough ones."""
    return needs_browser(pytest.mark.parametrize("name", sampled(ALL))(test))


@every_page
def test_nothing_is_cut_off(look, name):
    assert {width: cut for width, cut in look(name)["cut"].items() if cut} == {}


@every_page
def test_no_page_is_wider_than_its_window(look, name):
    assert {width: wide for width, wide in look(name)["wide"].items() if wide > width} == {}


@every_page
def test_formulas_fit_their_column(look, name):
    assert {width: long for width, long in look(name)["long"].items() if long} == {}


@every_page
def test_tables_fit_a_desk(look, name):
    assert {width: hidden for width, hidden in look(name)["hidden"].items() if hidden} == {}


@every_page
def test_short_equations_and_words_of_code_are_not_broken_over_lines(look, name):
    assert {width: broken for width, broken in look(name)["broken"].items() if broken} == {}


@every_page
def test_no_markup_is_left(look, name):
    prose = look(name)["prose"]
    assert [text for text in prose if RAW.search(text)] == []
    words = set(re.findall(r"[\w-]+", " ".join(prose)))
    assert words & labels() == set()


@every_page
def test_no_errors_and_nothing_from_outside(look, name):
    assert look(name)["errors"] == []
    assert look(name)["outside"] == []


@every_page
def test_the_tab_key_does_not_stop_at_formulas(look, name):
    stops = look(name)["stops"]
    assert stops["formulas"] == 0
    if name in CHAPTERS and name not in ("api", "paper_index", "scorecard"):
        assert stops["all"] <= TAB_STOPS


@every_page
def test_figures_can_be_read(look, name):
    notes = look(name)
    assert notes["bare"] == 0
    assert notes["grounds"] == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 18, 18)"}
    for width in (1440, DESK["width"]):
        assert all(size >= 12 - 0.05 for size, _ in notes["letters"][width, "light"])  # nine points
    for theme in THEMES:
        assert all(
            ratio >= 4.5 for _, ratio in notes["letters"][DESK["width"], theme]
        )  # WCAG 2.1, 1.4.3


# ---------------------------------------------------------------- live figures on a phone


@pytest.fixture(scope="module")
def phone(book, browser):
    """The page of each live figure on a phone."""
    opened = browser.new_context(viewport=PHONE, reduced_motion="reduce", has_touch=True)
    opened.set_default_timeout(5 * PATIENCE)

    @cache
    def page_with(name):
        mark = f'data-explorable="{name}"'
        path = next(
            path for path in sorted(book.glob("*.html")) if mark in path.read_text(encoding="utf-8")
        )
        page = opened.new_page()
        page.goto(path.as_uri())
        settle(page)
        page.add_style_tag(content=NO_MOTION)
        return page, page.locator(f'.gq-live[data-explorable="{name}"]')

    yield page_with
    opened.close()


LIVE = ["two-state", "bias-variance", "time-scales"]
ON_SCREEN = """(live) => [...live.querySelectorAll(".gq-panel")].map((panel) => {
  const desk = live.querySelector(".gq-desk");
  const below = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
  window.scrollBy({ top: panel.getBoundingClientRect().bottom - innerHeight + 4, behavior: "instant" });
  const [top, bottom] = [desk.getBoundingClientRect().top, desk.getBoundingClientRect().bottom];
  const box = panel.getBoundingClientRect();
  return top >= Math.min(below, innerHeight) - 2 && box.top >= bottom - 2 && box.bottom <= innerHeight;
})"""
COVERED = """(live) => [...live.querySelectorAll(".gq-handle")].flatMap((handle) => {
  const a = handle.getBoundingClientRect();
  return [...handle.ownerSVGElement.querySelectorAll("text")].filter((text) => {
    const b = text.getBoundingClientRect();
    return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  }).map((text) => text.textContent);
})"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", LIVE)
def test_sliders_and_each_panel_are_on_one_screen(phone, name):
    _, live = phone(name)
    live.scroll_into_view_if_needed()
    seen = live.evaluate(ON_SCREEN)
    assert len(seen) >= 2
    assert all(seen)


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("end", ["min", "max"])
def test_no_handle_hides_a_label(phone, name, end):
    _, live = phone(name)
    live.evaluate(
        """(live, end) => live.querySelectorAll("input").forEach((input) => {
          input.value = input[end];
          input.dispatchEvent(new Event("input"));
        })""",
        end,
    )
    assert live.evaluate(COVERED) == []


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", LIVE)
def test_the_caption_is_that_of_the_live_figure(phone, name):
    _, live = phone(name)
    figure = live.locator("xpath=ancestor::figure[1]")
    caption = figure.locator("figcaption").inner_text()
    assert "that you set" in caption
    assert "or at what you set" not in caption
    assert figure.locator(".gq-still-caption").count() == 1


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", LIVE)
def test_presets_set_sliders_and_draw(phone, name):
    _, live = phone(name)
    shown = []
    for number in range(live.locator(".gq-presets button").count()):
        live.locator(".gq-presets button").nth(number).click()
        shown.append(
            live.locator(".gq-readout").inner_text()
            + live.locator(".gq-desk output").all_inner_texts()[0]
        )
    assert len(set(shown)) == len(shown) >= 3


# ---------------------------------------------------------------- search, statements, chapters


@pytest.mark.slow
@needs_browser
def test_search_shows_excerpts_from_a_file(book, browser):
    page = browser.new_page()
    page.set_default_timeout(5 * PATIENCE)
    errors, _ = listen(page)
    page.goto((book / "search.html").as_uri() + "?q=eigenvalues")
    page.wait_for_selector(".gq-excerpt mark")
    hits = page.locator(".gq-excerpt mark").all_inner_texts()
    page.close()
    assert errors == []
    assert all(hit.lower().startswith("eigenvalue") for hit in hits)


@pytest.mark.slow
@needs_browser
def test_statements_are_listed_by_chapter_and_number(book):
    source = (book / "prf-prf.html").read_text(encoding="utf-8")
    listed = re.findall(r'<li><a href="([\w.]+)#([\w-]+)">(\w+ [\d.]+)</a>', source)
    assert len(listed) > 20
    for page, label, _ in listed:
        assert f'id="{label}"' in (book / page).read_text(encoding="utf-8")
    theorems = [number for _, _, number in listed if number.startswith("Theorem")]
    assert len(set(theorems)) == len(theorems)


@pytest.mark.slow
@needs_browser
def test_names_of_chapters_are_links(book):
    titles = {re.search(r"<title>(.*?) &#8212;", (book / f"{name}.html").read_text(encoding="utf-8"))[1]: name
              for name in CHAPTERS}  # fmt: skip
    plain = []
    for name in CHAPTERS:
        source = (book / f"{name}.html").read_text(encoding="utf-8")
        for words in re.findall(r"(?<!>)<em>([^<]+)</em>", source):
            if titles.get(re.sub(r"^\d+\. ", "", words), name) != name:
                plain.append((name, words))
    assert plain == []


# ---------------------------------------------------------------- the tests' own eyes


@pytest.mark.slow
@needs_browser
def test_cut_text_would_be_seen(browser, tmp_path):
    line = "x" * 300
    (tmp_path / "bad.html").write_text(
        f"<!doctype html><article><pre style='width: 200px; overflow-x: auto'>{line}</pre>"
        f"<p style='width: 200px; overflow: hidden; white-space: nowrap'>{line}</p><p>fine</p>"
        f"<div style='overflow-x: auto'><p style='width: 4000px'>scrolls</p></div></article>",
        encoding="utf-8",
    )
    page = browser.new_page(viewport=DESK)
    page.goto((tmp_path / "bad.html").as_uri())
    assert len(page.evaluate(CUT, True)) == 2
    assert len(page.evaluate(CUT, False)) == 1
    page.close()


@pytest.mark.parametrize(
    "text", ["so $x^2$ is", r"\begin{aligned}", r"the \theta of", "see {numref}`fig-x`"]
)
def test_raw_markup_would_be_seen(text):
    assert RAW.search(text)


def test_raw_labels_would_be_seen():
    assert "fig-in-phase" in labels()
    assert not labels() & {"off-policy", "two-state", "step-size"}
