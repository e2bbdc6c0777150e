"""Take the pictures of *The two editions* (needs Chromium).

The first screen of three pages, as a window of a desk shows it in light and in dark, and a phone in light. Without
arguments it is the second edition's, from the book that `make book` has built. That of the first edition is built in a
checkout of its last commit (`git worktree add --detach FOLDER 194e3eb`), and its folder named here.

PNG with few colours is what every form of the book can show; LaTeX takes no WebP.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from chromium import CHROMIUM, FLAGS, NO_MOTION, PATIENCE, PHONE, settle  # noqa: E402

PICTURES = ROOT / "book" / "editions"
PAGES = ("index", "scorecard", "instability")
EDITIONS = ("before", "after")
COLOURS = 48  # of a page: text, its soft edges, links, and the lines of a figure


class Look(NamedTuple):
    """How a page is looked at: the window in pixels, the theme, and the width of the picture."""

    width: int
    height: int
    theme: str
    shown: int


LOOKS = {
    "light": Look(1024, 960, "light", 576),
    "dark": Look(1024, 960, "dark", 576),
    "phone": Look(PHONE["width"], 780, "light", 312),
}


def name(page: str, look: str, edition: str) -> str:
    """The file of a picture."""
    return f"{page}-{look}-{edition}.png"


def small(screen: bytes, width: int) -> bytes:
    """The picture at this width, with few colours."""
    from PIL import Image

    with Image.open(io.BytesIO(screen)) as image:
        size = (width, round(image.height * width / image.width))
        scaled = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    written = io.BytesIO()
    # Of Pillow's ways the octree alone keeps both a ground that fills the page and the colour of a thin line.
    few = scaled.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(written, "PNG", optimize=True)
    return written.getvalue()


def take(edition: str, html: Path) -> int:
    """Write the nine pictures of an edition whose pages are in this folder; return their size in bytes."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    total = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for look, (width, height, theme, shown) in LOOKS.items():
            window = {"width": width, "height": height}
            context = browser.new_context(
                viewport=window, color_scheme=theme, device_scale_factor=2
            )
            context.set_default_timeout(PATIENCE)
            for page in PAGES:
                tab = context.new_page()
                tab.goto((html / f"{page}.html").as_uri())
                settle(tab)
                tab.add_style_tag(content=NO_MOTION)
                made = small(tab.screenshot(), shown)
                (PICTURES / name(page, look, edition)).write_bytes(made)
                total += len(made)
                tab.close()
            context.close()
        browser.close()
    return total


def main(arguments: list[str]) -> int:
    """Take the pictures, and say where they are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("edition", nargs="?", choices=EDITIONS, default="after")
    parser.add_argument("html", nargs="?", type=Path, default=ROOT / "_build" / "html")
    given = parser.parse_args(arguments)
    edition, html = given.edition, given.html.resolve()
    lacking = [page for page in PAGES if not (html / f"{page}.html").is_file()]
    if lacking:
        parser.error(f"html is {html}, where {lacking[0]}.html is missing: make book")
    if CHROMIUM is None:
        parser.error("this needs Chromium: on Debian and Ubuntu, apt-get install chromium")
    print(f"{len(PAGES) * len(LOOKS)} pictures in {PICTURES}, {take(edition, html) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
