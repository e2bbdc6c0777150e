"""The live figures of a page, made when the book is built: one script for each, beside the pages that show it.

A page holds their names (`kit.live.show`); `_static/live_figures.js` draws what the scripts declare.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
SHOWN = re.compile(r'data-explorable="([\w-]+)"')


def load(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the scripts of the figures on a page."""
    for name in sorted(set(SHOWN.findall(context.get("body", "")))):
        app.add_js_file(f"live/{name}.js")


def write(app: Any, error: Exception | None) -> None:
    """Write every script, when all pages are there."""
    if error or app.builder.format != "html":
        return
    from kit.live_figures import FIGURES

    place = Path(app.outdir) / "_static" / "live"
    place.mkdir(exist_ok=True)
    for name, make in FIGURES.items():
        (place / f"{name}.js").write_text(make().script(), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
