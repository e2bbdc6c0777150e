"""Figures that belong to the page: the SVG inside a figure's PNG is put into the HTML, in the theme's colours.

A record keeps a figure as a PNG that carries the drawing as SVG (`kit.figures`). Here the SVG replaces the
PNG in HTML pages, dressed by `kit.themed`. LaTeX and EPUB get the PNG.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx.transforms.post_transforms import SphinxPostTransform

sys.path.append(str(Path(__file__).parents[1]))
from kit.figures import VECTOR
from kit.themed import inline


class InlineFigures(SphinxPostTransform):
    """Put the SVG of each figure that carries one in the place of its PNG."""

    default_priority = 50  # after MyST-NB has chosen what to show of an output
    formats = ("html",)

    def run(self, **options: Any) -> None:
        """Go through the page's images; an e-reader may know neither variables nor a dark page, and gets the PNG."""
        if self.app.builder.name == "epub":
            return
        for number, image in enumerate(list(self.document.findall(nodes.image)), 1):
            path = Path(self.env.srcdir) / image["uri"]
            if path.suffix != ".png" or not path.is_file():
                continue
            with Image.open(path) as picture:
                picture.load()
                svg = getattr(picture, "text", {}).get(VECTOR)
            if svg:
                image.replace_self(
                    nodes.raw("", inline(svg, f"gq{number}-", image.get("alt", "")), format="html")
                )


def setup(app: Any) -> dict[str, bool]:
    """Register the transform."""
    app.add_post_transform(InlineFigures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
