"""What all tests in a browser need: where Chromium is, the sizes and themes of pages, and how to wait and listen."""

import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on the PATH: install the system's package 'chromium' to run the browser tests"
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
NO_MOTION = "*, *::before, *::after { transition: none !important; animation: none !important; }"


def _toc_pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]
    return [Path(name).stem for name in files]


CHAPTERS = _toc_pages()
PAGES = [*CHAPTERS, "search", "genindex"]


def settle(page):
    """Wait until MathJax, if the page has it, has typeset everything."""
    page.evaluate("async () => { if (window.MathJax && MathJax.startup) await MathJax.startup.promise; }")


def listen(page):
    """The lists that errors and requests beyond the book's own files are put on."""
    errors, outside = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(f"{request.url}: {request.failure}"))
    own = ("file:", "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(own) else outside.append(request.url))
    return errors, outside
