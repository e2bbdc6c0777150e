"""A place, on every page with cells, for the button that runs them in the page.

The button itself comes with `make live` (`book/live/pack.py`), which writes its script over the empty one that is
written here; until then the page says in one line how to get it. That is where its code begins, because a page begins
with its subject. A later build of the book would undo `make live`, so a script whose files are still there is kept.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

STYLE = Path(__file__).resolve().parents[1] / "live" / "live.css"
START = "live_start.js"
EMPTY = "// `make live` puts here what runs the cells of a page in the page.\n"
LINE = (
    '<p id="gq-live" class="gq-live-line" data-chapter="{name}">The cells of this page can be changed and run here: '
    "<code>make live</code>, once.</p>"
)
BEGINS = re.compile(
    r'<div class="cell (?!tag_remove-input)|<section '
)  # the first code, or the first section


def with_place(body: str, name: str) -> str:
    """The page with the line before its first cell that shows code, or its first section if that comes earlier.

    >>> cell = '<div class="cell docutils"><div class="cell_input docutils">'
    >>> with_place(f"<h1>Title</h1><p>The question.</p>{cell}", "name").partition("gq-live")[0]
    '<h1>Title</h1><p>The question.</p><p id="'
    >>> with_place("<h1>No cells</h1>", "name")
    '<h1>No cells</h1>'
    """
    if '<div class="cell_input ' not in body:  # a page may have cells and show the code of none
        return body
    title = body.index("</h1>")
    return body[:title] + BEGINS.sub(
        lambda found: LINE.format(name=name) + found[0], body[title:], count=1
    )


def offer(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """The hook: put the line and the two files into pages that have cells."""
    placed = with_place(context.get("body", ""), pagename)
    if app.builder.format == "html" and placed != context.get("body", ""):
        context["body"] = placed
        app.add_js_file(START, loading_method="defer")
        app.add_css_file(STYLE.name)


def keep(app: Any) -> None:
    """Remember the script of `make live`, if the files that it loads are there."""
    script = Path(app.outdir) / "_static" / START
    there = (Path(app.outdir) / "_live" / "page.js").is_file() and script.is_file()
    app.gq_live_script = script.read_text(encoding="utf-8") if there else EMPTY


def write(app: Any, error: Exception | None) -> None:
    """Write the script and the style, when the other static files are there."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    (static / START).write_text(app.gq_live_script, encoding="utf-8")
    shutil.copy(STYLE, static)


def setup(app: Any) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("builder-inited", keep)
    app.connect("html-page-context", offer)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
