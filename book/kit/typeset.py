r"""Mathematics that was typed as plain text, made ready for typesetting: ``A_σ⁻¹b`` becomes ``A_{\sigma}^{-1}b``.

The register of claims writes formulas as one types them, so that a terminal can show them. Here each text is taken
apart into words and formulas, and the formulas are translated into TeX. What is a formula is decided by a few rules:

- Greek letters, letters with indices, exponents or accents, norms and sizes of sets are mathematics;
- so is a single Latin letter, unless it is the article, an initial, the letter of an appendix or the numeral of a case;
- operators, numbers and brackets belong to a formula if they stand between or around such things, and never alone;
- juxtaposed factors form a product; a word, a comma outside of brackets or a full stop ends a formula.

What the rules do not recognise stays text, as it was typed. Where they are wrong, the register can say ``$...$``, which
is taken as TeX.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gqlib import _validate as check

__all__ = ["pieces", "to_html", "to_markdown"]


def _greek(letter: str) -> str:
    """The name of a letter in TeX; Unicode leaves the b out of lambda."""
    name = unicodedata.name(letter).rpartition(" ")[2].lower().replace("lamda", "lambda")
    return name if letter.islower() else name.title()


LETTERS = {letter: _greek(letter) for letter in "αβγδζηθικλμνξπρστφχψωΓΔΘΛΞΠΦΨΩ"}
LETTERS |= {"ε": "varepsilon", "Σ": "sum", "∞": "infty", "∇": "nabla", "…": "ldots"}
LETTERS |= {"½": "tfrac12", "¼": "tfrac14", "⅓": "tfrac13"}
ACCENTS = {"\u0302": "hat", "\u0307": "dot", "\u0304": "bar", "\u0303": "tilde"}
RELATIONS = {"=": "=", "<": "<", ">": ">", "<=": r"\le", ">=": r"\ge", "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
             "→": r"\to", "∈": r"\in", "≈": r"\approx", "∼": r"\sim"}  # fmt: skip
BINARY = {"+": "+", "-": "-", "−": "-", "±": r"\pm", "·": r"\cdot", "×": r"\times", "/": "/"}
INNER = {",": ",", ";": ";", "|": r"\mid", ".": r"\cdot", "...": r"\ldots"}  # in brackets only
# Words that can be part of a formula; by themselves they are prose.
FUNCTIONS = {name: rf"\{name}" for name in ("sup", "lim", "max", "min")}
FUNCTIONS |= {name: rf"\mathrm{{{name}}}" for name in ("MSPBE", "noise")}
BRACKETS = {"(": ")", "[": "]", "{": "}"}
SIGNS = "+-−"
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺*", "0123456789-+*", strict=True))
RAISED |= {"ᵀ": r"\top", "'": r"\prime", "’": r"\prime"}

MATH = "math notranslate nohighlight"  # the classes of a formula, as Sphinx gives them

_GREEK = "".join(LETTERS)
_HATS, _MARKS = "".join(ACCENTS), r"\u0300-\u036f"
_SYMBOL = rf"[A-Za-z{_GREEK}]"
TOKEN = re.compile(
    rf"""
    (?P<tex>\$[^$]+\$)
  | (?P<abbreviation>(?:[a-z]\.){{2,}}|\b(?:Eqs?|al|vs)\.)
  | (?P<size>\|[A-Z]\|)
  | (?P<word>Q-[a-z]+)
  | (?P<letter>[{_GREEK}][{_HATS}]?|[A-Za-z][{_HATS}]?(?![A-Za-z0-9{_MARKS}]))
  | (?P<name>[A-Za-z][A-Za-z0-9{_MARKS}]+(?:[-–'’][A-Za-z0-9{_MARKS}]+)*|(?<=\S)[-–'’](?:[A-Za-z]{{2,}}|s\b))
  | (?P<number>\d+(?:\.\d+)*(?:/\d+)?%?)
  | (?P<operator>\.\.\.|<=|>=|[-=<>≤≥≠→∈≈∼+−±·×/,;|.])
  | (?P<norm>‖)
  | (?P<open>[(\[{{]) | (?P<close>[)\]}}])
  | (?P<space>\s+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
SCRIPTS = re.compile(
    rf"_(?:\{{[^}}]*\}}|{_SYMBOL}|\d+)|\^(?:\{{[^}}]*\}}|\([^)]*\)|{_SYMBOL}|-?\d+)"
    rf"|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ]+|['’](?![A-Za-z])|\*(?!\w)"
)
LONG = 16  # characters of a formula beyond which a narrow page may break it,
SHORT = 3  # and of a part that is never broken off
# Words behind which a capital letter is a name, and words that show an "A" before them to be no article.
NAMING = {"Appendix", "Appendices", "case", "cases", "Part", "Step"}
VERBS = {"is", "has", "can", "must", "and", "or", "cannot", "itself"}
DEEPEST = (
    50  # brackets within brackets; what is deeper is no formula, and would be followed for ever
)
ALGORITHMS = {"(σ)", "(λ)", "(σ, λ)"}


@dataclass
class _Node:
    """A token, or a group in brackets, with its indices and exponents."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False  # whether white space goes before it
    scripts: list[str] = field(default_factory=list)
    inside: list[_Node] = field(default_factory=list)


def pieces(text: str) -> list[tuple[bool, str]]:
    r"""The text as a list of (whether it is mathematics, words or TeX), in order.

    Examples
    --------
    >>> pieces("A policy has A_σ⁻¹b = 0.")
    [(False, 'A policy has '), (True, 'A_{\\sigma}^{-1}b = 0'), (False, '.')]
    """
    return [(bool(formula), " ".join(formula) or words) for words, formula in _parts(text)]


def to_markdown(text: str) -> str:
    r"""The text as MyST Markdown, formulas between dollars and what would be markup escaped.

    Examples
    --------
    >>> to_markdown("the sum of γ^t R_t, *all* of it")
    'the sum of $\\gamma^{t} R_{t}$, \\*all\\* of it'
    """
    return "".join(
        f"${' '.join(formula)}$" if formula else re.sub(r"([\\*_`<>$#|])", r"\\\1", words)
        for words, formula in _parts(text)
    )


def to_html(text: str) -> str:
    r"""The text as HTML, formulas marked for MathJax; punctuation stays on the line of the formula that it touches.

    A long formula is handed over in several parts, so that a narrow page can break it.

    Examples
    --------
    >>> print(to_html("if R < σ, stop"))
    if <span class="gq-tight"><span class="math notranslate nohighlight">\(R &lt; \sigma\)</span>,</span> stop
    """
    units: list[list[str]] = [[]]  # what must not be parted
    for words, formula in _parts(text):
        for fragment in re.split(r"(\s+)", html.escape(words, quote=False)):
            if fragment.isspace():
                units += [[fragment], []]
            elif fragment:
                units[-1].append(fragment)
        for number, part in enumerate(formula):
            units += [["<wbr>"], []] if number else []
            rest = (
                "" if number + 1 == len(formula) else " {}"
            )  # an operator at the end keeps its space
            units[-1].append(
                rf'<span class="{MATH}">\({html.escape(part + rest, quote=False)}\)</span>'
            )
    tight = [
        f'<span class="gq-tight">{"".join(unit)}</span>' if len(unit) > 1 else "".join(unit)
        for unit in units
    ]
    return "".join(tight)


def _parts(text: str) -> list[tuple[str, list[str]]]:
    """The text in order, each part either words or a formula: its TeX, cut where a line may be broken."""
    check.instance("text", text, str)
    text = re.sub(r"(?<=\d) x (?=\d)", " × ", " ".join(text.split()))
    text = re.sub(r'(?<![^\s(])"', "“", text).replace('"', "”")
    text = re.sub(r"\w", lambda letter: unicodedata.normalize("NFD", letter[0]), text)
    found: list[tuple[str, list[str]]] = []
    done = 0
    for run in [*_runs(_tree(text)), [_Node("end", "", len(text), len(text))]]:
        if words := text[done : run[0].start]:
            words = re.sub(r"(?:(?<=[\s(/,])|^)-(?=[\d\s])", "−", words)
            words = re.sub(r"(?:(?<=\w)|^)'(?=\w)", "’", words)
            found.append((unicodedata.normalize("NFC", words), []))
        if run[0].kind != "end":
            found.append(("", [run[0].text[1:-1]] if run[0].kind == "tex" else _cut(run)))
        done = run[-1].end
    return found


# ---------------------------------------------------------------- from text to a tree


def _tree(text: str) -> list[_Node]:
    """Tokens, with groups in brackets nested and scripts attached to what they belong to."""
    top = _Node("group", "", 0, 0)
    open_groups = [top]
    at, spaced = 0, False
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match is not None  # the last alternative takes anything
        kind = str(match.lastgroup).replace("name", "word")
        node = _Node(kind, match[0], at, match.end(), spaced)
        at, spaced = match.end(), kind == "space"
        if kind == "space":
            continue
        inner = open_groups[-1]
        closes = (
            BRACKETS.get(inner.text) == node.text
            if kind == "close"
            else kind == "norm" == inner.kind
        )
        if closes:
            node = open_groups.pop()
        elif kind in ("open", "norm") and len(open_groups) > DEEPEST:
            node.kind = "other"
        elif kind in ("open", "norm"):
            node.kind = "norm" if kind == "norm" else "group"
            open_groups.append(node)
            continue
        if node.kind in ("letter", "number", "size", "group", "norm"):
            while (script := SCRIPTS.match(text, at)) and not (
                node.kind == "number" and script[0][0] in "_'’*"
            ):
                node.scripts.append(script[0])
                at = script.end()
        node.end = at
        open_groups[-1].inside.append(node)
    while len(open_groups) > 1:
        _dissolve(open_groups)
    return top.inside


def _dissolve(open_groups: list[_Node]) -> None:
    """Make the innermost group, which was not closed, a sign in the text."""
    group = open_groups.pop()
    contents, group.kind, group.inside = group.inside, "other", []
    open_groups[-1].inside += [group, *contents]


# ---------------------------------------------------------------- what is mathematics


def _level(node: _Node) -> int:
    """How surely it is mathematics: 2 for a symbol, 1 for a bare Latin letter, 0 for what can stand in prose too."""
    if node.kind == "letter":
        return 1 if node.text.isascii() and not node.scripts else 2
    if node.kind in ("group", "norm"):
        return (
            2 if node.scripts or node.kind == "norm" else max(map(_level, node.inside), default=0)
        )
    return 2 if node.kind in ("size", "tex") or node.scripts else 0


def _is_operator(node: _Node | None, inside: bool = False) -> bool:
    known = RELATIONS | BINARY | (INNER if inside else {})
    return node is not None and node.kind == "operator" and node.text in known


def _is_variable(nodes: Sequence[_Node], at: int) -> bool:
    """Whether a bare Latin letter in prose is a variable, and not an article, a name or a numeral."""
    node = nodes[at]
    before = nodes[at - 1] if at else None
    after = nodes[at + 1] if at + 1 < len(nodes) else None
    if _is_operator(before) or _is_operator(after):
        return True
    if after is not None and not after.spaced and after.kind in ("letter", "group", "norm"):
        return True
    if (
        before is not None
        and not node.spaced
        and before.kind in ("letter", "group", "norm", "number")
    ):
        return True
    if node.text == "a" or (before is not None and before.text in NAMING):
        return False
    starts = before is None or before.text in ".:;?!“(" or before.text[0].isupper()
    following = (
        nodes[at + 2] if after is not None and after.text == "." and at + 2 < len(nodes) else None
    )
    if starts and following is not None and following.text[0].isupper():  # an initial
        return False
    if node.text != "A" or not starts or after is None or after.text in VERBS:
        return True
    product = (
        after.kind == "letter" and at + 2 < len(nodes) and _is_operator(nodes[at + 2])
    )  # as in: A θ + b
    return product or after.kind not in ("word", "letter")


def _is_mathematics(nodes: Sequence[_Node], at: int, inside: bool) -> bool:
    """Whether the node can be part of a formula."""
    node = nodes[at]
    if node.kind == "letter":
        return inside or _level(node) == 2 or _is_variable(nodes, at)
    if node.kind in ("group", "norm"):
        return bool(node.inside) and all(
            _is_mathematics(node.inside, i, True) for i in range(len(node.inside))
        )
    if node.kind == "operator":
        return _is_operator(node, inside)
    if node.kind == "word":
        touches = at > 0 and not node.spaced and nodes[at - 1].kind == "letter"
        leads = at + 1 < len(nodes) and nodes[at + 1].kind in ("letter", "norm", "group")
        return node.text in FUNCTIONS and (inside or touches or leads)
    return node.kind in ("number", "size", "tex")


def _joined(before: _Node, after: _Node) -> bool:
    """Whether two neighbours that can be mathematics belong to one formula."""
    if "tex" in (before.kind, after.kind):
        return False
    if _is_operator(before) or _is_operator(after) or not after.spaced or before.kind == "word":
        return True
    if after.kind == "number" or "a" in (before.text, after.text):
        return False
    if after.kind == "group":
        remark = any(node.text in RELATIONS for node in after.inside)
        return min(_level(before), _level(after)) > 0 and not remark
    if before.kind == "number":
        return len(before.text) == 1 and _level(after) == 2
    return min(_level(before), _level(after)) > 0 and max(_level(before), _level(after)) == 2


def _runs(nodes: Sequence[_Node]) -> list[list[_Node]]:
    """The formulas among the nodes, and in groups that hold words too, in order."""
    found: list[list[_Node]] = []
    run: list[_Node] = []
    for at, node in enumerate(nodes):
        good = _is_mathematics(nodes, at, inside=False)
        if run and not (good and _joined(run[-1], node)):
            found.append(run)
            run = []
        if good:
            run.append(node)
        elif node.inside:
            found += _runs(node.inside)
    return [trimmed for trimmed in map(_trimmed, [*found, run]) if trimmed]


def _trimmed(run: list[_Node]) -> list[_Node]:
    """The run without operators that bind nothing; empty where no letter is left."""
    start, end = 0, len(run)
    while end > start and _is_operator(run[end - 1]):
        end -= 1
    while start < end and _is_operator(run[start]):
        if run[start].text in SIGNS and not run[start + 1].spaced:
            break
        start += 1
    return run[start:end] if any(map(_level, run[start:end])) else []


# ---------------------------------------------------------------- from a tree to TeX


def _cut(run: Sequence[_Node]) -> list[str]:
    """The TeX of a formula; a long one is cut after relations, after signs of sums, and between brackets."""
    if run[-1].end - run[0].start <= LONG:
        return [_join(run)]
    flat = list(_flat(run))
    parts, begin = [], 0
    for at in range(1, len(flat)):
        before, here = flat[at - 1], flat[at]
        after_operator = _is_operator(before) and before.text != "/" and at - 1 > begin
        factor = here.text in BRACKETS and before.kind in ("group", "close")
        if (after_operator or factor) and before.end - flat[begin].start > SHORT:
            parts.append(flat[begin:at])
            begin = at
    return [_join(part) for part in [*parts, flat[begin:]]]


def _flat(run: Sequence[_Node]) -> Iterator[_Node]:
    """The nodes of a formula, the brackets of its long groups being nodes of their own."""
    for node in run:
        if node.kind == "group" and node.end - node.start > LONG:
            yield _Node("open", node.text, node.start, node.start + 1, node.spaced)
            yield from _flat(node.inside)
            yield _Node("close", BRACKETS[node.text], node.end - 1, node.end, scripts=node.scripts)
        else:
            yield node


def _join(nodes: Sequence[_Node]) -> str:
    """The TeX of nodes, one after another."""
    written = ""
    for node, following in pairwise([*nodes, None]):
        assert node is not None
        one = _tex(node)
        if node.text == "Q" and following is not None and _plain(following) in ALGORITHMS:
            one = rf"\mathrm{{Q}}{_scripted(node)}"  # the name of an algorithm
        spread = node.kind == "operator" and node.text not in "/.,;"
        command = re.search(r"\\[A-Za-z]+$", written) is not None and one[0].isalpha()
        after_comma = written.endswith((",", ";"))
        written += (
            (" " if spread or node.spaced or command or after_comma else "")
            + one
            + (" " if spread else "")
        )
    return re.sub(" +", " ", written).strip()


def _plain(node: _Node) -> str:
    """A group as it was typed, in short."""
    return (
        f"({', '.join(inner.text for inner in node.inside if inner.text != ',')})"
        if node.text == "("
        else ""
    )


def _tex(node: _Node) -> str:
    """The TeX of one node."""
    if node.kind == "letter":
        base = rf"\{LETTERS[node.text[0]]}" if node.text[0] in LETTERS else node.text[0]
        base = r"\mathbb{E}" if base == "E" else base
        base = rf"\{ACCENTS[node.text[1]]}{{{base}}}" if len(node.text) > 1 else base
    elif node.kind == "group":
        base = f"{_bracket(node.text)}{_join(node.inside)}{_bracket(BRACKETS[node.text])}"
    elif node.kind in ("open", "close"):
        base = _bracket(node.text)
    elif node.kind == "norm":
        base = rf"\lVert {_join(node.inside)}\rVert"
    elif node.kind == "size":
        base = rf"\lvert\mathcal{{{node.text[1]}}}\rvert"
    else:
        base = (RELATIONS | BINARY | INNER | FUNCTIONS).get(
            node.text, node.text.replace("%", r"\%")
        )
    return base + _scripted(node)


def _bracket(sign: str) -> str:
    """The TeX of a bracket."""
    return f"\\{sign}" if sign in "{}" else sign


def _scripted(node: _Node) -> str:
    """Indices and exponents of a node, in TeX."""
    below = "".join(_script(script[1:]) for script in node.scripts if script[0] == "_")
    above = "".join(
        _script(script[1:]) if script[0] == "^" else "".join(RAISED[sign] for sign in script)
        for script in node.scripts
        if script[0] != "_"
    )
    return (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def _script(text: str) -> str:
    """What stands in an index or exponent, in TeX."""
    if text == "T":
        return r"\top"
    return _join(_tree(text[1:-1] if text[0] in "{(" else text)).replace(
        " ", "" if "\\" not in text else " "
    )
