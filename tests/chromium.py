"""What all tests in a browser need: where Chromium is, the sizes and themes of pages, and how to wait and listen."""

import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium on the PATH: install the system's package 'chromium' to run the browser tests",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 1000}
THEMES = ("light", "dark")
PATIENCE = 120_000  # milliseconds: no verdict on speed, the machine may be busy
NO_MOTION = "*, *::before, *::after { transition: none !important; animation: none !important; }"


def _toc_pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    files = [
        toc["root"],
        *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"]),
    ]
    return [Path(name).stem for name in files]


CHAPTERS = _toc_pages()
PAGES = [*CHAPTERS, "search", "genindex"]
SAMPLE = ("index", "instability", "bibliography")  # pages of three kinds


def sampled(pages):
    """The pages as parameters of a slow test: a sample, and the others for the thorough."""
    rest = [pytest.param(name, marks=pytest.mark.thorough) for name in pages if name not in SAMPLE]
    return [*(pytest.param(name, marks=pytest.mark.slow) for name in SAMPLE), *rest]


def settle(page):
    """Wait until MathJax, if the page has it, has typeset everything."""
    page.evaluate(
        "async () => { if (window.MathJax && MathJax.startup) await MathJax.startup.promise; }"
    )


def listen(page):
    """The lists that errors and requests beyond the book's own files are put on."""
    errors, outside = [], []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(f"{request.url}: {request.failure}"))
    own = ("file:", "data:", "blob:")
    page.on(
        "request",
        lambda request: None if request.url.startswith(own) else outside.append(request.url),
    )
    return errors, outside


@contextmanager
def opened_page(browser, address):
    """A tab that shows this address, typeset and still; at the end it must have had no errors and asked for nothing."""
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    errors, outside = listen(tab)
    tab.goto(address)
    settle(tab)
    tab.add_style_tag(content=NO_MOTION)
    yield tab
    assert errors == []
    assert outside == []
    context.close()


@contextmanager
def live_figure(book, browser, chapter, name):
    """The tab with a chapter, and its live figure of this name."""
    with opened_page(browser, (book / f"{chapter}.html").as_uri()) as tab:
        figure = tab.locator(f'.gq-live[data-explorable="{name}"]')
        figure.wait_for()
        yield tab, figure


def numbers(figure, name):
    """The numbers that a read-out of a live figure shows."""
    shown = figure.locator(f'[data-name="{name}"]').inner_text().replace("−", "-")
    return np.array([float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", shown)])


def put(figure, **values):
    """Move sliders of a live figure; `lam` is the one called lambda."""
    for name, value in values.items():
        figure.locator(f'input[data-name="{"lambda" if name == "lam" else name}"]').fill(str(value))


def assert_fits_a_phone(tab, figure, theme, panels):
    """In this theme and on a phone all panels of a live figure are on the page, whole."""
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    tab.set_viewport_size(PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = [panel.bounding_box() for panel in figure.locator("svg.gq-panel").all()]
    assert len(boxes) == panels
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    tab.set_viewport_size(DESK)
