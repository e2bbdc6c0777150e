r"""The register of claims as the book shows it: what it amounts to, the counts, some claims as cards, and all of them.

Every function returns a `Block`, which a notebook shows as HTML and the PDF edition as Markdown. The HTML needs
nothing but the page it is on. The book's `scorecard.css` gives it its look, and `scorecard.js` unhides the controls and
makes them filter and sort; without either, it is a list in sections. Formulas are those of `kit.typeset`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gqlib import _validate as check
from gqlib.claims import (
    SECTIONS,
    VERDICTS,
    WEIGHTS,
    Claim,
    Verdict,
    checked,
    count_verdicts,
    count_weights,
)
from kit.typeset import to_html, to_markdown

__all__ = [
    "NUMBERS",
    "Block",
    "cards",
    "chapter_title",
    "controls",
    "counts",
    "entries",
    "headline",
]

# What each verdict means, in a phrase, and a sign for it; in the order from what stands to what falls.
MEANINGS = {
    "verified": ("✓", "true as printed"),
    "reproduced": ("✓", "run again, it comes out as reported"),
    "definition": (":=", "stipulates, so that there is nothing to be true or false"),
    "corrected": ("✎", "false or not shown as printed; a local change mends it"),
    "underspecified": ("?", "what is printed allows readings that lead to different verdicts"),
    "not reproduced": ("✗", "run again, it comes out otherwise"),
    "refuted": ("✗", "false, and no local change leaves a statement that does the same work"),
}
WEIGHT_MEANINGS = {
    "slip": "put right from the same page",
    "formula": "a wrong line, a right result",
    "hypothesis": "the statement itself changes",
}
# How what was found is introduced: a correction, or readings under each verdict.
FOUND = {
    "verified": "To be exact.",
    "definition": "To be exact.",
    "reproduced": "How.",
    "not reproduced": "What we found.",
    "underspecified": "What it depends on.",
}
PARTS = {
    "Abstract": "Abstract",
    "Section 1": "1 Introduction",
    "Section 2": "2 Background",
    "Section 3": "3 Semi-gradient Q(σ, λ)",
    "Section 4": "4 Gradient Q(σ, λ)",
    "Section 5": "5 Experiments",
    "Section 6": "6 Conclusions",
    "Appendix": "Appendices",
}
# The gravest first, where claims are sorted by weight.
GRAVITY = ("refuted", "hypothesis", "not reproduced", "formula", "underspecified", "slip", "corrected", "reproduced",
           "verified", "definition")  # fmt: skip
NUMBERS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
SPELLED = {"mspbe": "MSPBE", "gq": "GQ", "proposition": "Proposition"}


@dataclass(frozen=True)
class Block:
    """A part of the scorecard, as HTML and, for the PDF edition, as Markdown.

    Examples
    --------
    >>> Block("<p>Yes.</p>", "Yes.")
    <a part of the scorecard>
    """

    html: str
    markdown: str

    def __repr__(self) -> str:
        return "<a part of the scorecard>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html, "text/markdown": self.markdown, "text/plain": repr(self)}


def headline(claims: Iterable[Claim]) -> Block:
    """What the whole judgement amounts to, in three sentences.

    Examples
    --------
    >>> from gqlib.claims import load_claims
    >>> headline(load_claims()).markdown.startswith("**")
    True
    """
    listed = checked(claims)
    number, weight = count_verdicts(listed), count_weights(listed)
    mended = {claim.id for claim in listed if claim.verdict == "corrected"}
    theory = "every false one is mended by local changes"
    if {"theorem-1", "lemma-1"} <= mended:
        theory += ", Theorem 1 and Lemma 1, in the main, by exchanging a ratio"
    first = f"No claim of the theory is refuted: {theory}."
    if refuted := number["refuted"]:
        first = f"{_many(refuted, 'claim')} of the theory {_were(refuted)} refuted; of the others, {theory}."
    again, failed, unsaid = (
        number[verdict] for verdict in ("reproduced", "not reproduced", "underspecified")
    )
    experiments = (
        f"Of what it reports from experiments, its own and those it cites, {_many(again, 'claim')} {_were(again)} "
        f"reproduced, {_alone(failed)} failed to be, and {_alone(unsaid)} cannot be settled from what it prints"
        f"{', descriptions of what was run among them' * (unsaid > 1)}."
    )
    stand = sum(number[verdict] for verdict in ("verified", "reproduced", "definition"))
    weighed = [
        f"{weight[name]} {_plural(name, weight[name])} ({WEIGHT_MEANINGS[name]})"
        for name in WEIGHTS
    ]
    total = (
        f"In all, {stand} of {sum(number.values())} claims stand as they are, and {number['corrected']} with a "
        f"correction: {', '.join(weighed[:-1])} and {weighed[-1]}."
    )
    first = first[0].upper() + first[1:]
    body = f"<p><strong>{first}</strong> {experiments}</p>\n<p>{total}</p>"
    return Block(
        f'<div class="gq-scorecard gq-headline">\n{body}\n</div>',
        f"**{first}** {experiments}\n\n{total}",
    )


def counts(claims: Iterable[Claim]) -> Block:
    """How many claims have each verdict: a table with a bar in each row.

    Examples
    --------
    >>> from gqlib.claims import load_claims
    >>> counts(load_claims()).markdown.splitlines()[0]
    '| verdict | claims | meaning |'
    """
    listed = checked(claims)
    number = count_verdicts(listed)
    total, repeated = sum(number.values()), sum(bool(claim.repeats) for claim in listed)
    largest = max(1, *number.values())
    rows, lines = [], ["| verdict | claims | meaning |", "|---|---|---|"]
    for verdict, (_, meaning) in MEANINGS.items():
        share = f"{number[verdict] / largest:.3f}"
        badge = (
            f'<a href="#{_anchor(verdict)}">{_badge(verdict)}</a>'
            if number[verdict]
            else _badge(verdict)
        )
        bar = f'<span class="gq-bar gq-{_slug(verdict)}" style="--share: {share}" aria-hidden="true"></span>'
        rows.append(
            f'<tr><th scope="row">{badge}</th><td class="gq-number"><span>{number[verdict]}</span>{bar}</td>'
            f"<td>{meaning}</td></tr>"
        )
        lines.append(f"| {verdict} | {number[verdict]} | {meaning} |")
    note = f"{total} claims; {_word(repeated)} more entries repeat one of them and are not counted."
    body = "\n".join(rows)
    table = (
        f'<table class="gq-counts">\n<caption>{note}</caption>\n'
        '<thead><tr><th scope="col">Verdict</th><th scope="col">Claims</th><th scope="col">Meaning</th></tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>"
    )
    return Block(f'<div class="gq-scorecard">\n{table}\n</div>', "\n".join([*lines, "", note]))


def cards(claims: Iterable[Claim]) -> Block:
    """The claims as cards: the claim and what was found, in one sentence each, and the case for the paper.

    Examples
    --------
    >>> from gqlib.claims import load_claims
    >>> cards(load_claims()[:3]).html.count('<li class="gq-card')
    3
    """
    listed = checked(claims)
    body = "\n".join(_card(claim) for claim in listed)
    return Block(
        f'<div class="gq-scorecard">\n<ol class="gq-cards" role="list">\n{body}\n</ol>\n</div>',
        "\n\n".join(_item(claim, "Finding.", _in_short(claim)) for claim in listed),
    )


def controls(claims: Iterable[Claim]) -> Block:
    """What the reader can filter and sort the claims by; hidden until the book's script shows it.

    Examples
    --------
    >>> from gqlib.claims import load_claims
    >>> "hidden" in controls(load_claims()).html
    True
    """
    listed = checked(claims)
    given = {claim.verdict for claim in listed}
    chips = "\n".join(
        f'<label class="gq-chip"><input type="checkbox" name="verdict" value="{verdict}">{_badge(verdict)}</label>'
        for verdict in reversed(MEANINGS)
        if verdict in given
    )
    weights = _options(
        [("", "any")] + [(name, f"{name}: {WEIGHT_MEANINGS[name]}") for name in WEIGHTS]
    )
    parts = [
        (key, name) for key, name in PARTS.items() if any(key in _parts(claim) for claim in listed)
    ]
    orders = _options(
        [
            ("", "by verdict, in sections"),
            ("place", "by place in the paper"),
            ("weight", "by weight, gravest first"),
        ]
    )
    total = len(listed)
    form = f"""<form class="gq-filter" hidden aria-label="Filter and sort the claims">
<fieldset>
<legend>Verdicts (none chosen: all are shown)</legend>
{chips}
</fieldset>
<div class="gq-fields">
<label>Words <input type="search" name="words" placeholder="such as Baird, sigma, Eq. (26)" autocomplete="off"></label>
<label>Part of the paper <select name="part">{_options([("", "all"), *parts])}</select></label>
<label>Weight of a correction <select name="weight">{weights}</select></label>
<label>Order <select name="order">{orders}</select></label>
</div>
<div class="gq-fields">
<label class="gq-check"><input type="checkbox" name="repeats" checked> also entries that repeat another</label>
<button type="reset">Show all</button>
<p class="gq-status" role="status" aria-live="polite">All {total} entries are shown.</p>
</div>
</form>
<div class="gq-flat" hidden><h3></h3><ol class="gq-list" role="list"></ol></div>"""
    plain = "In the HTML edition this list can be filtered and sorted."
    return Block(f'<div class="gq-scorecard">\n{form}\n</div>', plain)


def entries(claims: Iterable[Claim], verdict: Verdict | None = None) -> Block:
    """The claims in full, or those with one verdict, the weightiest first and those that repeat another last.

    Examples
    --------
    >>> from gqlib.claims import load_claims
    >>> claims = load_claims()
    >>> entries(claims).html.count("<li ") == len(claims)
    True
    """
    listed = checked(claims)
    if verdict is not None:
        check.choice("verdict", verdict, VERDICTS)
    places = {claim.id: claim.place for claim in listed}
    order = {claim.id: rank for rank, claim in enumerate(sorted(listed, key=_position))}
    chosen = [claim for claim in listed if verdict in (None, claim.verdict)]
    grave = dict(zip(("", *WEIGHTS), range(0, -len(WEIGHTS) - 1, -1), strict=True))
    chosen.sort(key=lambda claim: (bool(claim.repeats), grave[claim.weight], order[claim.id]))
    if not chosen:
        return Block('<div class="gq-scorecard gq-group"><p>None.</p></div>', "None.")
    body = "\n".join(_entry(claim, order[claim.id], places) for claim in chosen)
    anchor = f' id="{_anchor(verdict)}"' if verdict else ""
    return Block(
        f'<div class="gq-scorecard gq-group"{anchor}>\n<ol class="gq-list" role="list">\n{body}\n</ol>\n</div>',
        "\n\n".join(
            _item(claim, *_account(claim), places.get(claim.repeats, "")) for claim in chosen
        ),
    )


# ---------------------------------------------------------------- words


def _word(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def _alone(number: int) -> str:
    return _word(number) if number else "none"


def _plural(word: str, number: int) -> str:
    return word if number == 1 else {"hypothesis": "hypotheses"}.get(word, f"{word}s")


def _many(number: int, word: str) -> str:
    return f"{_word(number)} {_plural(word, number)}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _sentences(text: str) -> list[str]:
    """The sentences of a text; an abbreviation or an initial ends none."""
    return re.split(
        r"(?<!\bEq\.)(?<!\bEqs\.)(?<!\bal\.)(?<!\b[A-Z]\.)(?<=[.?!])\s+(?=[\"“]?[^\W\d_a-z])", text
    )


def _account(claim: Claim) -> tuple[str, str]:
    """What was found, and the words that introduce it."""
    if claim.correction:
        return "What holds.", claim.correction
    return FOUND.get(claim.verdict, "To be exact."), claim.readings


def _in_short(claim: Claim) -> str:
    """What was found, in a sentence: the register's own, or the first of its account that says something."""
    if claim.finding:
        return claim.finding
    _, told = _account(claim)
    if not told:
        return {"verified": "It holds as printed.", "reproduced": "It comes out as reported."}.get(
            claim.verdict, "It stipulates, and nothing is claimed."
        )
    sentences = _sentences(told)
    short = 1
    while short < len(sentences) and len(" ".join(sentences[:short]).split()) < 8:
        short += 1
    return " ".join(sentences[:short])


# ---------------------------------------------------------------- places


def _slug(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _anchor(verdict: str) -> str:
    return f"claims-{_slug(verdict)}"


def _position(claim: Claim) -> int:
    """Where the section of a claim is in the paper."""
    known = list(SECTIONS.values())
    return known.index(claim.sections[0]) if claim.sections[0] in known else len(known)


def _section(claim: Claim) -> str:
    """Where a numbered object is; empty where the place says it."""
    return (
        ""
        if claim.place.startswith(("Abstract", "Section", "Appendix"))
        else ", ".join(claim.sections)
    )


def _parts(claim: Claim) -> list[str]:
    """The parts of the paper in which the claim stands, by the names of PARTS."""
    return list(
        dict.fromkeys(key for section in claim.sections for key in PARTS if section.startswith(key))
    )


def chapter_title(name: str) -> str:
    """A chapter of the book as a reader would name it, from the name of its file.

    Examples
    --------
    >>> chapter_title("mspbe_and_proposition_1")
    'MSPBE and Proposition 1'
    """
    check.instance("name", name, str)
    words = " ".join(SPELLED.get(word, word) for word in name.split("_"))
    return words[0].upper() + words[1:]


# ---------------------------------------------------------------- Markdown


def _item(claim: Claim, label: str, told: str, again: str = "") -> str:
    """A claim as an item of a list, for paper."""
    where = f" ({_section(claim)})" if _section(claim) else ""
    verdict = ", ".join(filter(None, (claim.verdict, claim.weight)))
    first = dict(reversed(claim.cells))
    shown = [f"[{chapter_title(chapter)}](#{first[chapter]})" for chapter in dict(claim.cells)]
    lines = [f"- **{to_markdown(claim.place)}**{where}, *{verdict}.* {to_markdown(claim.says)}"]
    lines += [f"**{label}** {to_markdown(told)}"] if told else []
    lines += [f"**For the paper.** {to_markdown(claim.defence)}"] if claim.defence else []
    lines += [f"Judged with {to_markdown(again)}; not counted again."] if again else []
    lines += [f"Shown in {', '.join(shown)}."] if shown else []
    return "\n\n  ".join(lines)


# ---------------------------------------------------------------- HTML


def _badge(verdict: str) -> str:
    sign = f'<span aria-hidden="true">{MEANINGS[verdict][0]}</span>'
    return f'<span class="gq-badge gq-{_slug(verdict)}">{sign} {verdict}</span>'


def _badges(claim: Claim) -> str:
    weight = f' <span class="gq-weight">{claim.weight}</span>' if claim.weight else ""
    return f'<p class="gq-badges">{_badge(claim.verdict)}{weight}</p>'


def _options(choices: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f'<option value="{value}">{html.escape(name)}</option>' for value, name in choices
    )


def _evidence(claim: Claim) -> str:
    """Links to the cells, chapter by chapter, and the number of tests."""
    shown = []
    for chapter in dict.fromkeys(chapter for chapter, _ in claim.cells):
        name, labels = (
            chapter_title(chapter),
            [label for other, label in claim.cells if other == chapter],
        )
        others = [
            f'<a href="{chapter}.html#{label}" aria-label="{name}, cell {number}">{number}</a>'
            for number, label in enumerate(labels[1:], 2)
        ]
        cells = f" (and {_plural('cell', len(others))} {', '.join(others)})" if others else ""
        shown.append(f'<a href="{chapter}.html#{labels[0]}">{name}</a>{cells}')
    tests = f"; held by {_many(len(claim.tests), 'test')}" if claim.tests else ""
    if not shown:
        return ""
    return f'<p class="gq-evidence">Shown in {"; ".join(shown)}{tests}.</p>'


def _case(claim: Claim) -> str:
    return (
        f'<p class="gq-case"><strong>For the paper.</strong> {to_html(claim.defence)}</p>'
        if claim.defence
        else ""
    )


def _card(claim: Claim) -> str:
    return f"""<li class="gq-card gq-{_slug(claim.verdict)}">
<div class="gq-rail">
<h3><a href="#claim-{claim.id}">{to_html(claim.place)}</a></h3>
{_badges(claim)}
</div>
<div class="gq-body">
<p class="gq-says">{to_html(claim.says)}</p>
<p class="gq-told"><strong>Finding.</strong> {to_html(_in_short(claim))}</p>
{_case(claim)}
{_evidence(claim)}
</div>
</li>"""


def _entry(claim: Claim, rank: int, places: dict[str, str]) -> str:
    label, told = _account(claim)
    again = ""
    if claim.repeats in places:
        other = f'<a href="#claim-{claim.repeats}">{to_html(places[claim.repeats])}</a>'
        again = f'<p class="gq-again">Judged with {other}, whose thought it repeats; not counted again.</p>'
    section = _section(claim)
    grave = GRAVITY.index(claim.weight or claim.verdict)
    words = " ".join(
        [claim.place, *claim.sections, claim.verdict, claim.weight, claim.says, told, claim.defence]
    )
    words = f"{words} {' '.join(chapter_title(chapter) for chapter, _ in claim.cells)}"
    data = {
        "verdict": claim.verdict,
        "weight": claim.weight,
        "parts": "|".join(_parts(claim)),
        "place": rank,
        "grave": grave,
        "repeats": claim.repeats,
        "words": " ".join(words.split()).lower(),
    }
    attributes = " ".join(
        f'data-{name}="{html.escape(str(value))}"' for name, value in data.items()
    )
    return f"""<li class="gq-claim gq-{_slug(claim.verdict)}" id="claim-{claim.id}" {attributes}>
<div class="gq-rail">
<h4>{to_html(claim.place)}<a class="headerlink" href="#claim-{claim.id}" aria-label="Link to this entry">#</a></h4>
{f'<p class="gq-section">{section}</p>' if section else ""}
{_badges(claim)}
</div>
<div class="gq-body">
<p class="gq-says">{to_html(claim.says)}</p>
{f'<p class="gq-told"><strong>{label}</strong> {to_html(told)}</p>' if told else ""}
{_case(claim)}
{again}
{_evidence(claim)}
</div>
</li>"""
