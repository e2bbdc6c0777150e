"""Where an object of the paper lives in the library: what implements it, and which docstrings cite it.

A docstring cites the paper as `Eq. (15)`, `Eqs. (25)–(26)`, `Eqs. (6) and (7)`, `Algorithm 1`, `Figures 6–7`,
`Appendix C` and so on; a `(23)` that stands alone at the end of a formula's line counts too. Citations are read from
the source, so they are never out of date. Which of several names *implements* an object is a judgement, recorded in
`IMPLEMENTS`; `tests/test_paper_index.py` holds it to names that exist and cite their object.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import gqlib
from gqlib import _validate as check
from gqlib.experiments.printed import NUMBERED_ITEMS

__all__ = ["IMPLEMENTS", "items_cited", "library_index"]

_PROBLEM, _GQ, _TRACES = (
    "gqlib.prediction.LinearPrediction",
    "gqlib.learners.gq",
    "gqlib.tabular.traces",
)
_CAR, _MEASURES = "gqlib.experiments.mountain_car", "gqlib.evaluation.measures"

IMPLEMENTS: Mapping[str, str] = MappingProxyType(
    {
        "Eq. (1)": "gqlib.mdp.FiniteMDP.q",
        "Eq. (2)": "gqlib.mdp.FiniteMDP.q",
        "Eq. (3)": f"{_TRACES}.lambda_return",
        "Eq. (4)": f"{_TRACES}.td_error_return",
        "Eq. (5)": f"{_TRACES}.td_errors",
        "Eq. (6)": f"{_TRACES}.q_sigma_lambda",
        "Eq. (7)": f"{_TRACES}.q_sigma_lambda",
        "Eq. (8)": f"{_TRACES}.td_error_return",
        "Eq. (9)": "gqlib.tabular.operator.mixed_operator",
        "Eq. (10)": f"{_GQ}.semi_gradient_step",
        "Eq. (11)": f"{_TRACES}.td_error_return",
        "Eq. (12)": f"{_PROBLEM}.td_step",
        "Eq. (13)": f"{_MEASURES}.empirical_moments",
        "Eq. (14)": f"{_MEASURES}.empirical_moments",
        "Eq. (15)": f"{_PROBLEM}.b",
        "Eq. (16)": f"{_PROBLEM}.fixed_point",
        "Eq. (17)": f"{_PROBLEM}.A",
        "Eq. (18)": f"{_PROBLEM}.mspbe",
        "Eq. (19)": f"{_PROBLEM}.mspbe",
        "Eq. (20)": f"{_PROBLEM}.mspbe_gradient",
        "Eq. (21)": f"{_PROBLEM}.mspbe_gradient",
        "Eq. (22)": f"{_GQ}.mix",
        "Eq. (23)": f"{_GQ}.v_vector",
        "Eq. (24)": f"{_PROBLEM}.prop1_step",
        "Eq. (25)": f"{_GQ}.gq_step",
        "Eq. (26)": f"{_GQ}.gq_step",
        "Eq. (40)": f"{_PROBLEM}.fixed_point",
        "Algorithm 1": f"{_GQ}.gq_step_lagged",
        "Proposition 1": f"{_PROBLEM}.prop1_step",
        "Theorem 1": "gqlib.timescales",
        "Lemma 1": "gqlib.timescales",
        "Figure 1": "gqlib.domains.two_state.two_state",
        "Figure 2": "gqlib.experiments.figure2.fig2",
        "Figure 3": "gqlib.experiments.figure3.fig3",
        "Figure 4": f"{_CAR}.fig4",
        "Figure 5": f"{_CAR}.fig5",
        "Figure 6": "gqlib.domains.boyan_chain",
        "Figure 7": "gqlib.domains.boyan_chain.triangles",
        "Table 1": f"{_CAR}.table1",
        "Table 2": f"{_CAR}.table2",
    }
)
"""The one name that computes or describes an object of the paper."""

# Modules about what the paper prints and what is said of it: they cite everything and compute nothing.
_ABOUT = ("gqlib.claims", "gqlib.experiments.printed")
_JOIN = r"\s*(?:,|and|–|-)\s*"
_RANGE = re.compile(r"(\d+)\)?\s*[–-]\s*\(?(\d+)")
_EQUATIONS = re.compile(rf"Eqs?\. ((?:\(\d+\)(?:{_JOIN})?)+)")
_LINE_END = re.compile(r"(?<=\s)\((\d+)\)\s*$", re.MULTILINE)
# Not followed by a digit or a decimal: "Figure 7.2" belongs to another author.
_NAMED = re.compile(
    r"(Algorithm|Proposition|Theorem|Lemma|Assumption|Appendix) ([\dA-E])\b(?!\.\d)"
)
_PICTURES = re.compile(rf"(Figure|Table)s? (\d\b(?!\.\d)(?:{_JOIN}\d\b(?!\.\d))*)")


def items_cited(text: str) -> set[str]:
    """The numbered objects of the paper that a text cites.

    Examples
    --------
    >>> sorted(items_cited("The step of Eqs. (25)–(26), see Algorithm 1 and Figures 4 and 5."))
    ['Algorithm 1', 'Eq. (25)', 'Eq. (26)', 'Figure 4', 'Figure 5']
    """
    check.instance("text", text, str)
    found = {f"{kind} {name}" for kind, name in _NAMED.findall(text)}
    found |= {f"Eq. ({number})" for number in _LINE_END.findall(text)}
    for group in _EQUATIONS.findall(text):
        found |= {f"Eq. ({number})" for number in _numbers(group)}
    for kind, group in _PICTURES.findall(text):
        found |= {f"{kind} {number}" for number in _numbers(group)}
    return found & set(NUMBERED_ITEMS)


def _numbers(group: str) -> set[int]:
    """The numbers of a list such as "(6), (7) and (9)–(11)" or "4 and 6–7"."""
    numbers = {int(number) for number in re.findall(r"\d+", group)}
    for first, last in _RANGE.findall(group):
        numbers |= set(range(int(first), int(last) + 1))
    return numbers


def library_index() -> dict[str, list[str]]:
    """For each numbered object of the paper, the public names of gqlib that it leads to, the nearest first.

    First comes what implements it, then what cites it in its first paragraph, then the others. A module is listed only
    where none of its own names is.

    Examples
    --------
    >>> library_index()["Eq. (26)"][0], library_index()["Theorem 1"][0]
    ('gqlib.learners.gq.gq_step', 'gqlib.timescales')
    """
    ranked: dict[str, list[tuple[int, str]]] = {item: [] for item in NUMBERED_ITEMS}
    for item, name in IMPLEMENTS.items():
        ranked[item].append((0, name))
    for name, text in _public_docstrings():
        opening = items_cited(text.split("\n\n")[0])
        for item in items_cited(text):
            if IMPLEMENTS.get(item) != name:
                ranked[item].append((1 if item in opening else 2, name))
    index = {}
    for item, entries in ranked.items():
        names = [name for _, name in sorted(entries)]
        owners = {
            ".".join(name.split(".")[:cut])
            for name in names
            for cut in range(1, name.count(".") + 1)
        }
        index[item] = [name for name in names if name not in owners or name == IMPLEMENTS.get(item)]
    return index


def _public_docstrings() -> list[tuple[str, str]]:
    """Dotted names and docstrings of every module with an ``__all__``, of what that lists, and of public methods."""
    root = Path(gqlib.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(("gqlib", *parts)).removesuffix(".__init__")
        if not any(part.startswith("_") for part in name.split(".")) and name not in _ABOUT:
            found += _docstrings(ast.parse(path.read_text(encoding="utf-8")), name)
    return found


def _docstrings(tree: ast.Module, module: str) -> list[tuple[str, str]]:
    listed: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            getattr(target, "id", "") == "__all__" for target in node.targets
        ):
            listed = set(ast.literal_eval(node.value))
    if not listed:
        return []
    found = [(module, ast.get_docstring(tree) or "")]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in listed:
            found.append((f"{module}.{node.name}", ast.get_docstring(node) or ""))
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    found.append(
                        (f"{module}.{node.name}.{inner.name}", ast.get_docstring(inner) or "")
                    )
    return found
