r"""The words of a page as plain text: formulas in letters of Unicode, as far as that goes, and no code.

For places that cannot typeset: excerpts of the search and the list of statements.
"""

from __future__ import annotations

import re
import unicodedata

from docutils import nodes

SIGNS = {
    "T": "ᵀ", "top": "ᵀ", "E": "E", "R": "R", "ell": "ℓ", "infty": "∞", "sum": "Σ", "in": "∈", "to": "→", "mid": "|",
    "le": "≤", "ge": "≥", "ne": "≠", "pm": "±", "cdot": "·", "times": "×", "quad": " ", "colon": ":", "dots": "…",
    "ldots": "…", "max": "max", "min": "min", "log": "log", "det": "det", "tr": "tr", "Var": "Var",
}  # fmt: skip
SHIFTED = str.maketrans("0123456789+-nkt", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵏᵗ")


def sign(command: re.Match[str]) -> str:
    r"""The letter or sign that a command of TeX stands for, or nothing.

    >>> re.sub(r"\\([A-Za-z]+)", sign, r"\lambda\Phi\operatorname")
    'λΦ'
    """
    name = command[1]
    if name in SIGNS:
        return SIGNS[name]
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    spelling = {"LAMBDA": "LAMDA", "VAREPSILON": "EPSILON", "VARPHI": "PHI"}.get(
        name.upper(), name.upper()
    )
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {spelling}")
    except KeyError:
        return ""


def formula(tex: str) -> str:
    r"""A formula in one line of text.

    >>> formula(r"A_\sigma = \Phi^\top \Xi\, x^2 \le 1")
    'A_σ = Φᵀ Ξ x² ≤ 1'
    """
    text = re.sub(r"\^\{?([0-9+\-nkt]+)\}?", lambda power: power[1].translate(SHIFTED), tex)
    text = re.sub(r"\\([A-Za-z]+)", sign, re.sub(r"\\[,;:! ]|[&~]|\\\\", " ", text))
    return " ".join(re.sub(r"[{}\\^]", "", text).split())


def words(node: nodes.Node) -> str:
    """The text of a node, without code and without what is hidden from readers."""
    if isinstance(node, nodes.math | nodes.math_block):
        return formula(node.astext())
    if isinstance(
        node,
        nodes.literal_block
        | nodes.raw
        | nodes.comment
        | nodes.target
        | nodes.substitution_definition,
    ):
        return ""
    if isinstance(node, nodes.Text):
        return node.astext()
    parts = [words(child) for child in node.children]
    return ("" if isinstance(node, nodes.TextElement) else "\n").join(
        part for part in parts if part
    )
