"""Excerpts on the page of search results, for a book that is opened as a file too.

The words of the pages are written into one script, which only that page loads, with the code of `search_excerpts.js`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plain_text import words

CODE = Path(__file__).with_suffix(".js")
NAME = "search_excerpts.js"


def load(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the script to the page of results."""
    if pagename == "search":
        app.add_js_file(NAME)


def write(app: Any, error: Exception | None) -> None:
    """Write the script, when all pages are there."""
    if error or app.builder.format != "html":
        return
    pages = {
        app.builder.get_target_uri(name): " ".join(words(app.env.get_doctree(name)).split())
        for name in app.env.titles
    }
    data = json.dumps(pages, ensure_ascii=False, sort_keys=True).replace("</", "<\\/")
    script = Path(app.outdir) / "_static" / NAME
    script.write_text(
        f"window.gqWords = {data};\n{CODE.read_text(encoding='utf-8')}", encoding="utf-8"
    )


def setup(app: Any) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
