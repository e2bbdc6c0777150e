"""Where an object of the paper lives in the library: read off the docstrings that cite it.

A docstring cites the paper as `Eq. (15)`, `Eqs. (25)–(26)`, `Eqs. (6) and (7)`, `Algorithm 1`, `Appendix C` and so on;
a bare `(23)` at the end of a formula's line counts too. The index is therefore never out of date.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from gqlib import _validate as check
from gqlib.paper import NUMBERED_ITEMS

__all__ = ["items_cited", "library_index"]

_RANGE = re.compile(r"\((\d+)\)\s*[–-]\s*\((\d+)\)")
_NUMBER = re.compile(r"\((\d+)\)")
_EQUATIONS = re.compile(r"Eqs?\. ((?:\(\d+\)(?:\s*(?:,|and|–|-)\s*)?)+)")
_LINE_END = re.compile(r"\((\d+)\)\s*$", re.MULTILINE)
_NAMED = re.compile(r"(Algorithm|Proposition|Theorem|Lemma|Assumption|Figure|Table|Appendix) ([\dA-E])\b")


def items_cited(text: str) -> set[str]:
    """The numbered objects of the paper that a text cites.

    Examples
    --------
    >>> sorted(items_cited("The step of Eqs. (25)–(26), see Algorithm 1."))
    ['Algorithm 1', 'Eq. (25)', 'Eq. (26)']
    """
    check.instance("text", text, str)
    numbers: set[int] = {int(number) for number in _LINE_END.findall(text)}
    for group in _EQUATIONS.findall(text):
        numbers |= {int(number) for number in _NUMBER.findall(group)}
        for first, last in _RANGE.findall(group):
            numbers |= set(range(int(first), int(last) + 1))
    found = {f"Eq. ({number})" for number in numbers} | {f"{kind} {name}" for kind, name in _NAMED.findall(text)}
    return found & set(NUMBERED_ITEMS)


def library_index() -> dict[str, list[str]]:
    """For each numbered object of the paper, the dotted names in gqlib whose docstrings cite it.

    Examples
    --------
    >>> "gqlib.learners.gq_step" in library_index()["Eq. (26)"]
    True
    """
    index: dict[str, list[str]] = {item: [] for item in NUMBERED_ITEMS}
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        module = ".".join(("gqlib", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if path.name in ("paper.py", "paper_index.py", "claims.py"):
            continue
        for name, text in _docstrings(ast.parse(path.read_text(encoding="utf-8")), module):
            for item in items_cited(text):
                index[item].append(name)
    return index


def _docstrings(tree: ast.Module, module: str) -> list[tuple[str, str]]:
    """Dotted names and docstrings of a module's public functions, classes and methods, and of the module."""
    found = [(module, ast.get_docstring(tree) or "")]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.append((f"{module}.{node.name}", ast.get_docstring(node) or ""))
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    found.append((f"{module}.{node.name}.{inner.name}", ast.get_docstring(inner) or ""))
    return found
