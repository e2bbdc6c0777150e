"""Let docstrings be written as they are read: P(s'|s, a), indented formulas, and no markup to escape.

reStructuredText would take `|s` for a substitution and an indented formula for a quotation. Before a docstring is
parsed, bars are escaped and the indented blocks of a module's opening are made literal.
"""

from __future__ import annotations

import re
from typing import Any

ITEM = re.compile(r"\s*([-*]|\d+\.)\s")


def literal_blocks(lines: list[str]) -> list[str]:
    """Make a code block of every block that is indented under a paragraph."""
    result: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        indented = line.startswith("    ")
        if (
            indented
            and not inside
            and (number == 0 or not lines[number - 1].strip())
            and not ITEM.match(line)
        ):
            result += [".. code-block:: text", ""]
            inside = True
        elif line.strip() and not indented:
            inside = False
        result.append(line)
    return result


def escape(line: str) -> str:
    """Escape bars outside of ``literals``."""
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    return "".join(
        part if part.startswith("`") else re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts
    )


def prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The hook: rewrite the lines of a docstring in place."""
    if what == "module":
        lines[:] = literal_blocks(lines)
    literal = False
    for number, line in enumerate(lines):
        if literal and line.strip() and not line.startswith(" "):
            literal = False
        if not literal and not line.lstrip().startswith((">>>", "...")):
            lines[number] = escape(line)
        literal = literal or line.endswith("::") or line.startswith(".. code-block::")


def setup(app: Any) -> dict[str, bool]:
    """Register the hook, before napoleon sees the lines."""
    app.connect("autodoc-process-docstring", prepare, priority=400)
    return {"parallel_read_safe": True}
