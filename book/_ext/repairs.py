"""Small repairs of the pages that Sphinx and Jupyter Book write.

Jupyter Book adds the scripts of thebe to every page, which this book does not use: they name a public server, and twice
a constant, which a browser reports as an error. They are left out.
Citations carry a role that ARIA has withdrawn, inside a list that then has no items: they become its items.
The title of a solution has the space before its link inside the link, where it is underlined: it moves out.
The index of statements lists labels, which mean nothing to a reader: it becomes a list of numbers and names by chapter.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from plain_text import words

SPACE_IN_LINK = re.compile(r"Solution to(<a [^>]*>) ")
STATEMENTS, TITLE = "prf-prf", "Theorems, definitions and algorithms"


def is_thebe(script: Any) -> bool:
    """Whether a script entry belongs to thebe, by its file or by its text."""
    body = getattr(script, "attributes", {}).get("body", "") or ""
    return (
        "sphinx-thebe" in str(getattr(script, "filename", script) or "") or "THEBE_JS_URL" in body
    )


def numbered(numbers: tuple[int, ...] | None) -> str:
    """A number such as 8.2, or nothing."""
    return ".".join(map(str, numbers or ()))


def statements(app: Any) -> str:
    """The list of statements as HTML: chapter by chapter in the book's order, each in the order of its text."""
    env, parts = app.env, [f"<h1>{TITLE}</h1>"]
    for page in env.collect_relations():
        listed = {
            label: one
            for label, one in getattr(env, "proof_list", {}).items()
            if one["docname"] == page
        }
        items = []
        for node in env.get_doctree(page).findall(nodes.Element):
            one = listed.get(node.get("label"))
            if one is None:
                continue
            number = env.toc_fignumbers.get(page, {}).get(one["countertype"], {}).get(node["label"])
            link = f"{app.builder.get_relative_uri(STATEMENTS, page)}#{node['label']}"
            name = f"{one['realtype'].title()} {numbered(number)}".strip()
            items.append(
                f'<li><a href="{escape(link)}">{name}</a>{escape(words(node[0]).rstrip())}</li>'
            )
        if items:
            chapter = numbered(env.toc_secnumbers.get(page, {}).get(""))
            title = (
                f"{chapter}. {env.titles[page].astext()}" if chapter else env.titles[page].astext()
            )
            parts.append(f'<h2>{escape(title)}</h2><ul class="simple">{"".join(items)}</ul>')
    return "\n".join(parts)


def repair(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> str | None:
    """The hook: change the page's list of scripts and its body in place; return another template if it needs one."""
    context["script_files"][:] = [
        script for script in context["script_files"] if not is_thebe(script)
    ]
    if pagename == STATEMENTS:
        context.update(title=TITLE, body=statements(app))
        return "page.html"
    if "body" in context:
        body = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = SPACE_IN_LINK.sub(r"Solution to \1", body)
    return None


def setup(app: Any) -> dict[str, bool]:
    """Register the hook, after everything that adds scripts."""
    app.connect("html-page-context", repair, priority=900)
    return {"parallel_read_safe": True}
