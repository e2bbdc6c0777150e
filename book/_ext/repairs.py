"""Small repairs of the pages that Sphinx and Jupyter Book write.

Jupyter Book adds the scripts of thebe to every page, which this book does not use: they name a public server, and twice
a constant, which a browser reports as an error. They are left out.
Citations carry a role that ARIA has withdrawn, inside a list that then has no items: they become its items.
"""

from __future__ import annotations

from typing import Any


def is_thebe(script: Any) -> bool:
    """Whether a script entry belongs to thebe, by its file or by its text."""
    body = getattr(script, "attributes", {}).get("body", "") or ""
    return "sphinx-thebe" in str(getattr(script, "filename", script) or "") or "THEBE_JS_URL" in body


def repair(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """The hook: change the page's list of scripts and its body in place."""
    context["script_files"][:] = [script for script in context["script_files"] if not is_thebe(script)]
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Any) -> dict[str, bool]:
    """Register the hook, after everything that adds scripts."""
    app.connect("html-page-context", repair, priority=900)
    return {"parallel_read_safe": True}
