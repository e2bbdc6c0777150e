"""The scorecard: what the library renders, and what a reader can do with it in Chromium.

The page is visited once, and the tests examine what was seen. Skipped, with a message, where there is no Chromium.
"""

import dataclasses
import itertools
import re
import unicodedata
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from chromium import DESK, NO_MOTION, PHONE, listen, needs_browser, settle

from gqlib.claims import SECTIONS, VERDICTS, WEIGHTS, Claim, load_claims
from gqlib.edition import scorecard
from gqlib.edition.typeset import pieces, to_html, to_markdown

ROOT = Path(__file__).parents[1]
CLAIMS = load_claims()
BY_ID = {claim.id: claim for claim in CLAIMS}
PAGE = (ROOT / "book" / "scorecard.md").read_text(encoding="utf-8")
TEN = [name for name in re.findall(r'"([a-z0-9-]+)"', PAGE) if name in BY_ID]
GREEK = re.compile("[α-ωΑ-Ω]")


class Seen(HTMLParser):
    """A page's ids and links, its text inside and outside of formulas, and its entries with their badges."""

    def __init__(self, source):
        super().__init__()
        self.ids, self.links, self.open, self.entry = [], [], [], None
        self.entries, self.words, self.formulas, self.badges = {}, [], [], {}
        self.feed(source)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        if tag == "li" and given.get("id", "").startswith("claim-"):
            self.entry = given["id"].removeprefix("claim-")
            self.entries[self.entry] = given
            self.badges[self.entry] = []
        if tag not in ("input", "wbr"):
            self.open.append((tag, given.get("class", "")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag
        self.entry = None if tag == "li" else self.entry

    def handle_data(self, text):
        classes = " ".join(name for _, name in self.open).split()
        if "math" in classes:
            self.formulas.append(text)
        elif not any(tag == "option" for tag, _ in self.open):  # in which nothing can be typeset
            self.words.append(text)
        if self.entry and {"gq-badge", "gq-weight"} & set(classes):
            self.badges[self.entry].append(text.strip())


@cache
def seen():
    """The page as the library renders it, all blocks of it."""
    blocks = [scorecard.headline(CLAIMS), scorecard.counts(CLAIMS), scorecard.cards([BY_ID[name] for name in TEN])]
    blocks += [scorecard.controls(CLAIMS), *(scorecard.entries(CLAIMS, verdict) for verdict in VERDICTS)]
    return Seen("\n".join(block.html for block in blocks))


@cache
def labels_before_code(chapter):
    text = (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\(([\w-]+)\)=\n+```\{code-cell\}", text, flags=re.MULTILINE))


# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("A policy has a value", "A policy has a value"),
        ("A σ in (0, 1)", r"A $\sigma$ in (0, 1)"),
        ("where A has two eigenvalues", "where $A$ has two eigenvalues"),
        ("A is Hurwitz", "$A$ is Hurwitz"),
        ("S_t = a and A_t = a.", "$S_{t} = a$ and $A_{t} = a$."),
        ("case I leads; I, not M", "case I leads; $I$, not $M$"),
        ("Appendix E; E is a mean", r"Appendix E; $\mathbb{E}$ is a mean"),
        ("First: M. Dumke, not M. It", "First: M. Dumke, not $M$. It"),
        ("an ε-greedy n-step λ-return", r"an $\varepsilon$-greedy $n$-step $\lambda$-return"),
        ("Q-learning and σ's law", r"Q-learning and $\sigma$’s law"),
        ("for ε in (0, 2]. (x)", r"for $\varepsilon$ in (0, 2]. $(x)$"),
        ("of 8 x 8, a reward of -3", "of 8 × 8, a reward of −3"),
        ("GQ(σ, λ), Q^π(λ), Q(s, a)", r"GQ$(\sigma, \lambda)$, $\mathrm{Q}^{\pi}(\lambda)$, $Q(s, a)$"),
        ("½‖A_σθ + b‖², Â_k, θ̇", r"$\tfrac12\lVert A_{\sigma}\theta + b\rVert^{2}$, $\hat{A}_{k}$, $\dot{\theta}$"),
        ("(λγ)^(l-t) δ_l, l >= t", r"$(\lambda\gamma)^{l-t} \delta_{l}$, $l \ge t$"),
        ("P(s'|s,a), |S||A|", r"$P(s^{\prime} \mid s, a)$, $\lvert\mathcal{S}\rvert\lvert\mathcal{A}\rvert$"),
        ("in Eq. (8), by (13)–(14), 2(3)", "in Eq. (8), by (13)–(14), 2(3)"),
        ("full sampling (σ = 1)", r"full sampling $(\sigma = 1)$"),
        ("σ (p = 1024)", r"$\sigma$ $(p = 1024)$"),
        ("from 2^7 to 2^11, p = 0.19", "from $2^{7}$ to $2^{11}$, $p = 0.19$"),
        ("as $x_1^\\ast$ says", "as $x_1^\\ast$ says"),
        ("-½∇MSPBE, the MSPBE", r"$- \tfrac12\nabla\mathrm{MSPBE}$, the MSPBE"),
        ('the "best" *of* a_b', "the “best” \\*of\\* $a_{b}$"),
        (
            "E[φ φ^T]⁻¹ and E_π Q(S', .)",
            r"$\mathbb{E}[\phi \phi^{\top}]^{-1}$ and $\mathbb{E}_{\pi} Q(S^{\prime}, \cdot)$",
        ),
        ("1 + 1 = 3, 69.8 / 14.1", "1 + 1 = 3, 69.8 / 14.1"),
        ("", ""),
        # stars, primes and indices, one after another and in brackets of each kind
        ("x*, θ*, 3*, x’ and x'", r"$x^{*}$, $\theta^{*}$, 3\*, $x^{\prime}$ and $x^{\prime}$"),
        ("γ_{t+1}, θ_12, θ^-12, θ_k^2_j", r"$\gamma_{t+1}$, $\theta_{12}$, $\theta^{-12}$, $\theta_{kj}^{2}$"),
        ("(a + b)^2, [x, y]_2, {x | y}", r"$(a + b)^{2}$, $[x, y]_{2}$, $\{x \mid y\}$"),
        ("‖θ‖_M^2, |S|^2, 2_3", r"$\lVert \theta\rVert_{M}^{2}$, $\lvert\mathcal{S}\rvert^{2}$, 2\_3"),
        (r"x^(\tau), x_{t \tau}", r"$x^{\tau}$, $x_{t \tau}$"),
        # brackets that are not closed, or not opened, are signs in the text
        ("(σ", r"($\sigma$"),
        ("σ)", r"$\sigma$)"),
        ("‖σ", r"‖$\sigma$"),
        ("((σ) x", r"($(\sigma) x$"),
        # functions are mathematics before or close behind a letter, and words elsewhere
        ("max σ, max Q(s), the max", r"$\max \sigma$, $\max Q(s)$, the max"),
        ("sup‖x‖, θmax", r"$\sup\lVert x\rVert$, $\theta\max$"),
        # letters that are names, articles, initials; and those that are not
        ("Step A is. Part B", "Step A is. Part B"),
        ("A; B? A. B", "$A$; $B$? A. $B$"),
        ("A θ + b", r"$A \theta + b$"),
        ("A θ and", r"A $\theta$ and"),
        ("A b, a b, a = b, θ a", r"A $b$, a $b$, $a = b$, $\theta$ a"),
        # products: what is side by side belongs together if one of the two is surely mathematics
        ("2 θ, 12 θ, 2 x, θ 2", r"$2 \theta$, 12 $\theta$, 2 $x$, $\theta$ 2"),
        ("θ (x = 1), θ (x), x (θ)", r"$\theta$ $(x = 1)$, $\theta (x)$, $x (\theta)$"),
        ("x y, x θ, x A_t", r"$x$ $y$, $x \theta$, $x A_{t}$"),
        # operators at the edge of a formula
        ("+ θ, +θ, θ +", r"+ $\theta$, $+ \theta$, $\theta$ +"),
        ("x - y, (-3), 4/-3", "$x - y$, (−3), 4/−3"),
        ("50% of θ = 50%", r"50% of $\theta = 50\%$"),
        ("(1, ..., n), x...y", r"$(1, \ldots , n)$, $x$...$y$"),
        # the names of algorithms are upright
        (
            "Q(σ), Q(σ, λ), Q(x), Q^π(σ)",
            r"$\mathrm{Q}(\sigma)$, $\mathrm{Q}(\sigma, \lambda)$, $Q(x)$, $\mathrm{Q}^{\pi}(\sigma)$",
        ),
        ("E[x], Ê, é", r"$\mathbb{E}[x]$, $\hat{\mathbb{E}}$, é"),
        ('say "A" ("b")', "say “$A$” (“$b$”)"),
        ("one\n  more  σ", r"one more $\sigma$"),
    ],
)
def test_formulas_are_told_from_words(text, markdown):
    assert to_markdown(text) == markdown


# The way back, by another table: what is written in TeX, and how the register may have typed it.
BACK = {
    r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\delta": "δ", r"\varepsilon": "ε", r"\eta": "η", r"\theta": "θ",
    r"\lambda": "λ", r"\mu": "μ", r"\nu": "ν", r"\xi": "ξ", r"\pi": "π", r"\rho": "ρ", r"\sigma": "σ", r"\phi": "φ",
    r"\omega": "ω", r"\Delta": "Δ", r"\Xi": "Ξ", r"\Pi": "Π", r"\Phi": "Φ", r"\Omega": "Ω", r"\kappa": "κ",
    r"\sum": "Σ", r"\infty": "∞", r"\nabla": "∇", r"\tfrac12": "½", r"\top": "T", r"\prime": "'", r"\mid": "|",
    r"\le": "≤", r"\ge": "≥", r"\to": "→", r"\in": "∈", r"\times": "×", r"\sup": "sup", r"\lim": "lim",
    r"\max": "max", r"\lVert": "‖", r"\rVert": "‖", r"\lvert": "|", r"\rvert": "|", r"\ldots": "...",
}  # fmt: skip
DROPPED = (r"\mathbb", r"\mathrm", r"\mathcal")  # how a letter looks


def typed(tex):
    """A formula in TeX as somebody would type it, without what is mere arrangement."""
    tex = re.sub(r"\\(hat|dot)\{(\w|\\\w+)\}", lambda m: m[2] + {"hat": "^", "dot": "˙"}[m[1]], tex)
    for command in re.findall(r"\\[A-Za-z]+(?:12)?", tex):
        assert command in BACK or command in DROPPED or command == r"\cdot", command
        tex = re.sub(
            re.escape(command) + "(?![A-Za-z])", BACK.get(command, "" if command in DROPPED else "·"), tex, count=1
        )
    return tex


def bare(text):
    """What a reader must find again: letters, digits and signs, in order."""
    raised = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ’", "0123456789-T'", strict=True))
    accents = {"\u0302": "^", "\u0307": "˙"}
    text = re.sub(r"[^\W\d_]", lambda m: unicodedata.normalize("NFD", m[0]), text)
    text = "".join(accents.get(sign, raised.get(sign, sign)) for sign in text)
    text = re.sub(r"(?<=\d) x (?=\d)", "×", text).replace(">=", "≥").replace("−", "-")
    text = re.sub(r'["“”]', '"', text)
    text = re.sub(r"\^(?!\W)|\^(?=[({*-])", "", text)  # an exponent; a hat stands behind its letter
    return re.sub(r"[\s_{}()\\]", "", text).replace("·", ".")


def texts(claim):
    """What the page shows of a claim in words and formulas."""
    return (claim.place, claim.says, claim.correction, claim.readings, claim.finding, claim.defence)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_nothing_is_lost_when_a_text_is_typeset(claim):
    for text in texts(claim):
        back = "".join(typed(part) if math else part for math, part in pieces(text))
        assert bare(back) == bare(text)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_all_mathematics_is_typeset(claim):
    for math, part in (piece for text in texts(claim) for piece in pieces(text)):
        if math:
            assert part.count("{") == part.count("}")
            assert not GREEK.search(part)
        else:
            assert not GREEK.search(part)
            assert not re.search(r"[\^\\$‖∇½∞→]|\w_|_\w", part), part


def test_a_long_formula_can_be_broken_and_keeps_its_comma():
    written = to_html("so A_σ = Φᵀ Ξ (I - γλ P^μ)⁻¹ ((1 - σ) γP^π + σ γP^μ - I) Φ, say")
    assert written.count("<wbr>") == 4
    assert written.endswith(
        r'<span class="gq-tight"><span class="math notranslate nohighlight">\(I) \Phi\)</span>,</span> say'
    )


def formulas(text):
    """What is between the marks of each formula of the HTML, and how many places to break a line there are."""
    written = to_html(text)
    return re.findall(r"\\\((.*?)\\\)</span>", written), written.count("<wbr>")


def test_a_formula_is_broken_after_operators_only_if_it_is_long():
    assert formulas("x = aθ + bθ - cθ") == ([r"x = a\theta + b\theta - c\theta"], 0)  # 16 characters
    assert formulas("xθ = aθ + bθ - cθ") == (
        [r"x\theta = {}", r"a\theta + {}", r"b\theta - {}", r"c\theta"],
        3,
    )  # and 17
    # neither at a fraction, nor behind a part of three characters or fewer
    assert formulas("x θ/y θ/z θ/z θ/z") == ([r"x \theta/y \theta/z \theta/z \theta/z"], 0)
    assert formulas("θ - aθ + bθ - cθ + d") == (
        [r"\theta - a\theta + {}", r"b\theta - {}", r"c\theta + {}", "d"],
        3,
    )


def test_a_formula_is_broken_between_brackets_and_inside_long_ones():
    # the group of 21 characters is opened up, the short ones are not
    assert formulas("(aθ + bθ + cθ + dθ_1)² (xθ)(yθ)") == (
        [r"(a\theta + {}", r"b\theta + {}", r"c\theta + {}", r"d\theta_{1})^{2} {}", r"(x\theta) {}", r"(y\theta)"],
        5,
    )


def test_what_touches_a_formula_stays_on_its_line():
    assert to_html("θ < 1 & <b>") == (
        r'<span class="math notranslate nohighlight">\(\theta &lt; 1\)</span> &amp; <span class="gq-tight">&lt;'
        r'<span class="math notranslate nohighlight">\(b\)</span>&gt;</span>'
    )
    assert to_html('no "formula"') == "no “formula”"


def test_a_text_must_be_a_text():
    with pytest.raises(ValueError, match="text is 3"):
        pieces(3)


# ---------------------------------------------------------------- what is rendered


def test_every_entry_is_there_once():
    assert sorted(seen().entries) == sorted(BY_ID)
    assert len(set(seen().ids)) == len(seen().ids)


def test_entries_stand_under_their_verdict_and_repeats_behind():
    for verdict in VERDICTS:
        found = Seen(scorecard.entries(CLAIMS, verdict).html).entries
        assert {BY_ID[name].verdict for name in found} <= {verdict}
        repeats = [bool(BY_ID[name].repeats) for name in found]
        assert repeats == sorted(repeats)
        weights = [WEIGHTS.index(BY_ID[name].weight) for name in found if BY_ID[name].weight]
        assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_entry_has_its_verdict_in_words(claim):
    said = " ".join(seen().badges[claim.id]).split()
    assert said[1:] == [*claim.verdict.split(), *claim.weight.split()]
    assert scorecard.MEANINGS.keys() == set(VERDICTS)


def test_outside_formulas_there_is_no_tex_and_no_label():
    text = "\n".join(seen().words)
    assert not re.search(r"[\\$^‖]|\w_\w|_\{", text)
    assert not GREEK.search(text)
    raw = {part for claim in CLAIMS for part in claim.label.split(", ")[1:] if re.search(r"[_:]|[a-z]\d", part)}
    assert len(raw) > 20
    assert [label for label in raw if label in text] == []
    assert [name for name in BY_ID if re.search(r"\d", name) and name in text] == []


def test_formulas_are_marked_as_the_book_marks_them():
    assert len(seen().formulas) > 500
    assert all(re.fullmatch(r"\\\(.+\\\)", formula, flags=re.DOTALL) for formula in seen().formulas)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_places_are_such_as_a_person_would_name(claim):
    assert set(claim.section.split("; ")) <= set(SECTIONS)
    assert re.match(r"(Abstract|Sections? [1-6]|Appendix [A-E]|Eq\. \(\d+\)|Figure \d|Table \d|Algorithm|Proposition|"
                    r"Theorem|Lemma|Assumption \d)", claim.place)  # fmt: skip
    for item in claim.items:
        assert item in (claim.place, *claim.sections) or item in claim.place or item.startswith("Appendix")


def test_links_lead_to_cells_and_entries_that_exist():
    targets = {tuple(link.split("#")) for link in seen().links}
    assert len(targets) > 100
    for page, anchor in targets:
        if page:
            assert anchor in labels_before_code(page.removesuffix(".html"))
        else:
            assert anchor in seen().ids
    named = {(f"{chapter}.html", label) for claim in CLAIMS for chapter, label in claim.cells}
    assert named == {(page, anchor) for page, anchor in targets if page}


def test_on_paper_every_entry_is_an_item_with_a_verdict_and_a_chapter():
    for verdict in VERDICTS:
        chosen = [claim for claim in CLAIMS if claim.verdict == verdict]
        written = scorecard.entries(CLAIMS, verdict).markdown
        items = written.split("\n\n- ") if chosen else []
        assert len(items) == len(chosen)
        assert sum(f"*{verdict}" in item for item in items) == len(chosen)
        assert written.count("**For the paper.**") == sum(bool(claim.defence) for claim in chosen)
        assert written.count("Shown in [") == len(chosen)
        assert "<" not in re.sub(r"\$[^$]*\$|\\<", "", written)


def test_the_ten_have_a_card_each():
    cards = scorecard.cards([BY_ID[name] for name in TEN])
    assert len(TEN) == 10
    assert re.findall(r'href="#claim-([\w-]+)"', cards.html) == TEN
    assert cards.html.count("<strong>For the paper.</strong>") == sum(bool(BY_ID[name].defence) for name in TEN)
    for name in TEN:
        words = len(scorecard._in_short(BY_ID[name]).split())
        assert words >= 4


def test_a_finding_of_the_register_comes_before_its_account():
    claim = dataclasses.replace(CLAIMS[0], finding="It is so.", correction="Long. Longer.", readings="")
    assert "It is so." in scorecard.cards([claim]).html
    account = dataclasses.replace(claim, finding="", correction="Yes. By Eq. (3) of Yang et al. (2018) it is so. But.")
    assert scorecard._in_short(account) == "Yes. By Eq. (3) of Yang et al. (2018) it is so."


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.finding], ids=lambda claim: claim.id)
def test_a_finding_is_one_sentence(claim):
    assert len(scorecard._sentences(claim.finding)) == 1
    assert len(claim.finding.split()) <= 45


def test_the_headline_counts_and_does_not_claim_more_than_the_register():
    judged = [claim for claim in CLAIMS if not claim.repeats]
    text = scorecard.headline(CLAIMS).markdown
    kept = sum(claim.verdict in ("verified", "definition", "reproduced") for claim in judged)
    mended = [claim.weight for claim in judged if claim.verdict == "corrected"]
    assert f"In all, {kept} of {len(judged)} claims stand as they are, and {len(mended)} with a correction" in text
    told = re.findall(r"(\d+) (slip|formula|hypothes[ei]s)s? \(", text)
    assert [int(number) for number, _ in told] == [mended.count(weight) for weight in WEIGHTS]
    told = re.search(r"(\w+) claims? w\w+ reproduced, (\w+) w\w+ not, and (\w+) cannot be settled", text).groups()
    small = {"none": 0, **{word: number for number, word in enumerate(scorecard.NUMBERS)}}
    verdicts = [claim.verdict for claim in judged]
    expected = [verdicts.count(verdict) for verdict in ("reproduced", "not reproduced", "underspecified")]
    assert [int(small.get(word, word)) for word in told] == expected
    assert ("No claim of the theory is refuted" in text) == all(claim.verdict != "refuted" for claim in judged)
    worse = [
        dataclasses.replace(claim, verdict="refuted", weight="") if claim.id == "lemma-1" else claim for claim in CLAIMS
    ]
    text = scorecard.headline(worse).markdown
    assert "of the theory was refuted" in text or "of the theory were refuted" in text
    assert "Lemma 1" not in text


def test_the_counts_are_those_of_the_register():
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \|", scorecard.counts(CLAIMS).markdown, flags=re.MULTILINE))
    judged = [claim.verdict for claim in CLAIMS if not claim.repeats]
    assert {verdict: int(count) for verdict, count in rows.items()} == {v: judged.count(v) for v in VERDICTS}
    html = scorecard.counts(CLAIMS).html
    assert re.findall(r"<span>(\d+)</span>", html) == list(rows.values())


ONE = Claim(
    id="one",
    section="Semi-Gradient Method; Appendix B",
    label="a sum",
    items=("Eq. (7)",),
    says="Says σ & so.",
    verdict="corrected",
    correction="It is 2.",
    readings="Not shown.",
    cells=(("errata", "cell-a"), ("gq_and_mspbe", "cell-b"), ("errata", "cell-c"), ("errata", "cell-d")),
    tests=("tests/test_a.py::test_b", "tests/test_a.py::test_c"),
    weight="slip",
    defence="It is close.",
    finding="It is two.",
)
TWO = dataclasses.replace(ONE, id="two", items=("Eq. (8)",), weight="", repeats="one", cells=(), tests=(), defence="")
EVIDENCE = (
    '<p class="gq-evidence">Shown in <a href="errata.html#cell-a">Errata</a> (and cells '
    '<a href="errata.html#cell-c" aria-label="Errata, cell 2">2</a>, '
    '<a href="errata.html#cell-d" aria-label="Errata, cell 3">3</a>); '
    '<a href="gq_and_mspbe.html#cell-b">GQ and MSPBE</a>; held by two tests.</p>'
)


def test_an_entry_says_where_what_and_why():
    found = Seen(block := scorecard.entries([ONE, TWO], "corrected").html)
    one, two = found.entries["one"], found.entries["two"]
    assert {name: value for name, value in one.items() if name.startswith("data-")} == {
        "data-verdict": "corrected",
        "data-weight": "slip",
        "data-parts": "Section 3|Appendix",
        "data-place": "0",
        "data-grave": str(scorecard.GRAVITY.index("slip")),
        "data-repeats": "",
        "data-words": "eq. (7) section 3.1 appendix b corrected slip says σ & so. it is 2. it is close. "
        "errata gq and mspbe errata errata",
    }
    assert (two["data-place"], two["data-repeats"], two["data-weight"]) == ("1", "one", "")
    assert two["data-grave"] == str(scorecard.GRAVITY.index("corrected"))
    assert two["data-words"] == "eq. (8) section 3.1 appendix b corrected says σ & so. it is 2."
    assert found.ids == ["claims-corrected", "claim-one", "claim-two"]
    assert '<p class="gq-told"><strong>What holds.</strong> It is 2.</p>' in block
    assert block.count('<p class="gq-case"><strong>For the paper.</strong> It is close.</p>') == 1
    assert block.count(EVIDENCE) == block.count('class="gq-evidence"') == 1
    assert block.count("Section 3.1, Appendix B</p>") == 2
    assert block.count("Judged with") == 1
    assert 'Judged with <a href="#claim-one">Eq. (7)</a>, whose thought it repeats; not counted again.' in block
    assert Seen(scorecard.entries([ONE, TWO]).html).ids == ["claim-one", "claim-two"]
    assert "XX" not in block
    assert "None" not in block


def test_an_item_on_paper_says_the_same():
    assert scorecard.entries([ONE, TWO]).markdown == (
        "- **Eq. (7)** (Section 3.1, Appendix B), *corrected, slip.* Says $\\sigma$ & so.\n\n"
        "  **What holds.** It is 2.\n\n"
        "  **For the paper.** It is close.\n\n"
        "  Shown in [Errata](#cell-a), [GQ and MSPBE](#cell-b).\n\n"
        "- **Eq. (8)** (Section 3.1, Appendix B), *corrected.* Says $\\sigma$ & so.\n\n"
        "  **What holds.** It is 2.\n\n"
        "  Judged with Eq. (7); not counted again."
    )
    assert scorecard.cards([ONE]).markdown.split("\n\n  ")[1] == "**Finding.** It is two."
    bare = dataclasses.replace(ONE, section="Abstract", items=(), correction="", readings="", defence="", cells=())
    assert scorecard.entries([bare]).markdown == "- **Abstract, a sum**, *corrected, slip.* Says $\\sigma$ & so."
    assert scorecard.entries([bare], "verified") == scorecard.Block(
        '<div class="gq-scorecard gq-group"><p>None.</p></div>', "None."
    )


def test_a_card_has_the_finding_and_leads_to_the_entry():
    block = scorecard.cards([ONE, dataclasses.replace(TWO, repeats="")]).html
    Seen(block)
    assert block.startswith(
        '<div class="gq-scorecard">\n<ol class="gq-cards" role="list">\n<li class="gq-card gq-corrected">'
    )
    assert block.endswith("</li>\n</ol>\n</div>")
    assert re.findall(r'<h3><a href="(.*?)">(.*?)</a>', block) == [("#claim-one", "Eq. (7)"), ("#claim-two", "Eq. (8)")]
    assert block.count('<p class="gq-told"><strong>Finding.</strong> It is two.</p>') == 2
    assert block.count(EVIDENCE) == 1
    assert block.count('<span class="gq-weight">') == block.count('<p class="gq-case">') == 1


@pytest.mark.parametrize(
    ("change", "label", "short"),
    [
        ({}, "What holds.", "It is 2."),
        ({"correction": "", "verdict": "underspecified"}, "What it depends on.", "Not shown."),
        ({"correction": "", "verdict": "reproduced"}, "How.", "Not shown."),
        ({"correction": "", "verdict": "refuted"}, "To be exact.", "Not shown."),
        ({"correction": "", "readings": "", "verdict": "verified"}, "To be exact.", "It holds as printed."),
        ({"correction": "", "readings": "", "verdict": "reproduced"}, "How.", "It comes out as reported."),
        (
            {"correction": "", "readings": "", "verdict": "definition"},
            "To be exact.",
            "It stipulates, and nothing is claimed.",
        ),
        # as many sentences as have eight words between them
        (
            {"correction": "One two three. Four five six seven. Eight. Nine."},
            "What holds.",
            "One two three. Four five six seven. Eight.",
        ),
        (
            {"correction": "Of one, two, three, four, five, six, seven. Eight."},
            "What holds.",
            "Of one, two, three, four, five, six, seven.",
        ),
    ],
)
def test_what_was_found_is_introduced_by_its_verdict_and_told_in_short(change, label, short):
    claim = dataclasses.replace(ONE, finding="", **change)
    assert scorecard._account(claim)[0] == label
    assert scorecard._in_short(claim) == short


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is so. But not here.", 2),
        ("It is so? Yes! “No,” he said.", 3),
        ("See Eq. (3) or Eqs. A and B of Yang et al. In M. Dumke.", 1),
        ("By σ. Σ is next. α is too.", 3),
        ("One. 2 is no beginning, and _this_ neither. _that_.", 1),
        ('Yes. "No" is said.', 2),
    ],
)
def test_sentences_end_where_one_begins(text, count):
    assert len(scorecard._sentences(text)) == count
    assert " ".join(scorecard._sentences(text)) == text


def test_numbers_and_plurals_are_words():
    assert [scorecard._word(number) for number in (0, 1, 12, 13)] == ["no", "one", "twelve", "13"]
    assert [scorecard._alone(number) for number in (0, 1, 13)] == ["none", "one", "13"]
    assert [scorecard._many(n, "claim") for n in (0, 1, 2)] == ["no claims", "one claim", "two claims"]
    assert [scorecard._plural("hypothesis", n) for n in (0, 1, 2)] == ["hypotheses", "hypothesis", "hypotheses"]
    assert [scorecard._were(number) for number in (0, 1, 2)] == ["were", "was", "were"]


def test_the_headline_of_a_few():
    claims = [dataclasses.replace(ONE, id=f"{n}", verdict=verdict, weight=weight) for n, (verdict, weight) in enumerate(
        [("refuted", ""), ("corrected", "slip"), ("corrected", "formula"), ("reproduced", ""), ("underspecified", "")]
    )]  # fmt: skip
    first, total = scorecard.headline(claims).markdown.split("\n\n")
    assert first == (
        "**One claim of the theory was refuted; of the others, every false one is mended by local changes.** "
        "Of what it reports from experiments, its own and those it cites, one claim was reproduced, none were not, "
        "and one cannot be settled from what it prints."
    )
    assert total == (
        "In all, 1 of 5 claims stand as they are, and 2 with a correction: 1 slip (put right from the same page), "
        "1 formula (a wrong line, a right result) and 0 hypotheses (the statement itself changes)."
    )
    names = [dataclasses.replace(ONE, id=name) for name in ("theorem-1", "lemma-1")]
    assert "mended by local changes, Theorem 1 and Lemma 1, in the main, by exchanging a ratio.**" in (
        scorecard.headline(names).markdown
    )
    assert "Theorem 1" not in scorecard.headline(names[:1]).markdown
    block = scorecard.headline(claims)
    assert block.html == (
        f'<div class="gq-scorecard gq-headline">\n<p><strong>{first[2:].replace("** ", "</strong> ", 1)}</p>\n'
        f"<p>{total}</p>\n</div>"
    )


def test_the_counts_of_a_few():
    claims = [
        *(dataclasses.replace(ONE, id=f"{n}") for n in range(4)),
        TWO,
        TWO,
        dataclasses.replace(ONE, verdict="verified"),
    ]
    block = scorecard.counts(claims)
    note = "5 claims; two more entries repeat one of them and are not counted."
    assert block.markdown.splitlines()[:2] == ["| verdict | claims | meaning |", "|---|---|---|"]
    assert block.markdown.splitlines()[2] == "| verified | 1 | true as printed |"
    assert block.markdown.endswith(f"\n\n{note}")
    assert f"<caption>{note}</caption>" in block.html
    assert re.findall(r"--share: ([\d.]+)", block.html) == [
        "0.250",
        "0.000",
        "0.000",
        "1.000",
        "0.000",
        "0.000",
        "0.000",
    ]
    assert Seen(block.html).links == ["#claims-verified", "#claims-corrected"]
    assert re.findall(r'<th scope="col">(\w+)</th>', block.html) == ["Verdict", "Claims", "Meaning"]
    assert "0.000" in scorecard.counts([]).html


def test_a_block_is_shown_as_html_or_markdown_or_in_a_phrase():
    assert scorecard.Block("<p>Yes.</p>", "Yes.")._repr_mimebundle_() == {
        "text/html": "<p>Yes.</p>",
        "text/markdown": "Yes.",
        "text/plain": "<a part of the scorecard>",
    }


def test_controls_offer_what_there_is():
    block = scorecard.controls([ONE, dataclasses.replace(ONE, verdict="not reproduced")])
    Seen(block.html)
    assert block.markdown == "In the HTML edition this list can be filtered and sorted."
    assert re.findall(r'name="verdict" value="([a-z ]+)"', block.html) == ["not reproduced", "corrected"]
    options = {
        name: re.findall(r'<option value="(.*?)">(.*?)</option>', inside)
        for name, inside in re.findall(r'<select name="(\w+)">(.*?)</select>', block.html)
    }
    assert options == {
        "part": [("", "all"), ("Section 3", "3 Semi-gradient Q(σ, λ)"), ("Appendix", "Appendices")],
        "weight": [
            ("", "any"),
            ("slip", "slip: put right from the same page"),
            ("formula", "formula: a wrong line, a right result"),
            ("hypothesis", "hypothesis: the statement itself changes"),
        ],
        "order": [
            ("", "by verdict, in sections"),
            ("place", "by place in the paper"),
            ("weight", "by weight, gravest first"),
        ],
    }
    assert "All 2 entries are shown." in block.html


@pytest.mark.parametrize("section", ["Abstract", "Introduction", "Appendix B"])
def test_a_place_that_names_its_section_needs_no_other(section):
    words = dataclasses.replace(ONE, section=section, items=())
    assert scorecard._section(words) == ""
    assert scorecard._section(dataclasses.replace(words, items=("Eq. (7)",))) == SECTIONS[section]


def test_names_of_verdicts_are_names_in_html():
    claim = dataclasses.replace(ONE, verdict="not reproduced", weight="")
    block = scorecard.entries([claim], "not reproduced").html
    assert 'id="claims-not-reproduced"' in block
    assert '<span class="gq-badge gq-not-reproduced"><span aria-hidden="true">✗</span> not reproduced</span>' in block
    assert '<span class="gq-bar gq-not-reproduced" style="--share: 1.000" aria-hidden="true"></span>' in (
        scorecard.counts([claim]).html
    )


def test_claims_of_unknown_sections_come_last_in_the_paper():
    ranks = [scorecard._position(dataclasses.replace(ONE, section=name)) for name in (*SECTIONS, "Elsewhere")]
    assert ranks == list(range(len(SECTIONS) + 1))


def test_an_empty_section_says_so():
    assert "None." in scorecard.entries([CLAIMS[0]], next(v for v in VERDICTS if v != CLAIMS[0].verdict)).html


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="verdict is 'maybe'"):
        scorecard.entries(CLAIMS, "maybe")
    for function in (scorecard.headline, scorecard.counts, scorecard.cards, scorecard.controls, scorecard.entries):
        with pytest.raises(ValueError, match="claims is"):
            function([1])


def test_the_page_shows_every_verdict_and_types_no_number():
    shown = re.findall(r'scorecard\.entries\(claims, "([a-z ]+)"\)', PAGE)
    assert sorted(shown) == sorted(VERDICTS)
    rule = PAGE.index("## How a verdict is given")
    assert PAGE.index("scorecard.headline") < PAGE.index("scorecard.counts") < PAGE.index("## The ten that matter")
    assert PAGE.rindex("scorecard.entries") < rule
    prose = re.sub(r"```\{code-cell\}.*?```|^---\n.*?^---\n", "", PAGE[:rule], flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"\d", prose)


# ---------------------------------------------------------------- in the browser


SHOWN = (
    """() => [...document.querySelectorAll(".gq-claim")].filter((x) => x.checkVisibility()).map((x) => x.id.slice(6))"""
)
OVERFLOW = """() => [...document.querySelectorAll("article .gq-scorecard *")].filter((x) => {
  const box = x.getBoundingClientRect();
  return box.width && !x.closest("mjx-assistive-mml") && box.right > document.documentElement.clientWidth + 0.5;
}).map((x) => x.outerHTML.slice(0, 120))"""
# The least contrast of the letters of what is selected with the ground that they stand on.
CONTRAST = """(selector) => {
  const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (x) => {
    const colour = numbers(getComputedStyle(x).backgroundColor);
    return colour.length === 3 || colour[3] === 1 || !x.parentElement ? colour : ground(x.parentElement);
  };
  const all = [...document.querySelectorAll(selector)].map((x) => {
    const [low, high] = [luminance(ground(x)), luminance(numbers(getComputedStyle(x).color))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  return [all.length, Math.min(...all)];
}"""
LETTERS = [f".gq-{name}" for name in ("badge", "weight", "says", "told", "case", "evidence", "evidence a", "section")]
LETTERS += [".gq-status", ".gq-filter legend", ".gq-filter label", ".gq-counts caption", ".gq-counts td"]


@pytest.fixture(scope="module")
def visit(book, browser):
    """Notes on the page, as plain data."""
    address = (book / "scorecard.html").as_uri()
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(600_000)  # no verdict on speed: the machine may be busy
    page = context.new_page()
    errors, outside = listen(page)
    page.goto(address)
    settle(page)
    page.add_style_tag(content=NO_MOTION)
    found = {"form": page.locator(".gq-filter").is_visible(), "stops": None}

    def note(name):
        status = page.locator(".gq-status").inner_text()
        headings = page.locator("section#every-claim h3:visible").all_inner_texts()
        found[name] = {"shown": page.evaluate(SHOWN), "status": status, "headings": headings}

    def select(name, value):
        page.locator(f'.gq-filter select[name="{name}"]').select_option(value)

    note("all")
    found["stops"] = page.locator(".gq-scorecard mjx-container[tabindex]").count()
    found["formulas"] = page.locator(".gq-scorecard mjx-container").count()
    for verdict in ("corrected", "verified"):  # with the keyboard
        page.locator(f'.gq-filter input[value="{verdict}"]').focus()
        page.keyboard.press("Space")
        note(f"verdict {verdict}")
    select("weight", "slip")
    note("slips")
    page.locator(".gq-filter button").click()
    note("reset")
    select("part", "Section 4")
    note("part")
    page.locator(".gq-filter input[type=search]").focus()
    page.keyboard.type("Theorem ETA")
    note("words")
    page.keyboard.type(" qqxxyyzz")
    note("none")
    page.evaluate("location.hash = '#claim-eq-1-bellman-equation'")
    page.wait_for_function("() => document.querySelector('#claim-eq-1-bellman-equation').checkVisibility()")
    note("linked")
    page.locator('.gq-filter input[name="repeats"]').uncheck()
    note("no repeats")
    page.locator('.gq-filter input[name="repeats"]').check()
    for order in ("place", "weight", ""):
        select("order", order)
        note(f"order {order}")
    for width in (PHONE["width"], 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        found[f"width {width}"] = {"wide": wide, "over": page.evaluate(OVERFLOW)}
        columns = "getComputedStyle(document.querySelector('.gq-claim')).gridTemplateColumns.split(' ').length"
        found[f"width {width}"]["columns"] = page.evaluate(columns)
    page.set_viewport_size(DESK)
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        found[theme] = {selector: page.evaluate(CONTRAST, selector) for selector in LETTERS}
    found |= {"errors": errors, "outside": outside}
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(address)
    visible = plain.locator(".gq-claim:visible").count()
    found["plain"] = {"form": plain.locator(".gq-filter").is_visible(), "shown": visible}
    return found


def ids(condition):
    return {claim.id for claim in CLAIMS if condition(claim)}


def told(number):
    return f"{number} of {len(CLAIMS)} entries {'is' if number == 1 else 'are'} shown."


@needs_browser
@pytest.mark.slow
def test_the_page_works_without_errors_or_outside_requests(visit):
    assert visit["form"]
    assert visit["errors"] == []
    assert visit["outside"] == []
    assert visit["formulas"] > 500
    assert visit["stops"] == 0, "the Tab key stops at formulas"


@needs_browser
@pytest.mark.slow
def test_all_entries_are_there_at_first_and_after_a_reset(visit):
    for name in ("all", "reset", "linked"):
        assert sorted(visit[name]["shown"]) == sorted(BY_ID)
        assert visit[name]["status"] == f"All {len(CLAIMS)} entries are shown."


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("verdict corrected", lambda claim: claim.verdict == "corrected"),
        ("verdict verified", lambda claim: claim.verdict in ("corrected", "verified")),
        ("slips", lambda claim: claim.weight == "slip"),
        ("part", lambda claim: any(section.startswith("Section 4") for section in claim.sections)),
        ("no repeats", lambda claim: not claim.repeats),
        ("none", lambda claim: False),
    ],
)
def test_filters_show_what_they_say(visit, name, condition):
    expected = ids(condition)
    assert set(visit[name]["shown"]) == expected
    assert visit[name]["status"] == (
        told(len(expected)) if expected else "No entry is like that; take something back, or show all."
    )


@needs_browser
@pytest.mark.slow
def test_words_are_found_whatever_their_case_and_greek_letters_by_name(visit):
    found = set(visit["words"]["shown"])
    assert "theorem-1" in found  # speaks of η, not of eta
    assert found < ids(lambda claim: any(section.startswith("Section 4") for section in claim.sections))
    for claim in map(BY_ID.get, found):
        text = " ".join([claim.place, claim.says, claim.correction, claim.readings, claim.defence]).lower()
        assert "theorem" in text
        assert "η" in text or "eta" in text


@needs_browser
@pytest.mark.slow
def test_sections_in_which_nothing_is_left_go(visit):
    assert len(visit["all"]["headings"]) == len(VERDICTS)
    assert [heading.strip("#") for heading in visit["verdict corrected"]["headings"]] == ["Corrected"]
    assert [heading.strip("#") for heading in visit["verdict verified"]["headings"]] == ["Corrected", "Verified"]
    assert visit["none"]["headings"] == []


@needs_browser
@pytest.mark.slow
def test_sorting_puts_entries_into_one_list_and_back(visit):
    places = [list(SECTIONS.values()).index(BY_ID[name].sections[0]) for name in visit["order place"]["shown"]]
    assert places == sorted(places)
    grave = [BY_ID[name].weight or BY_ID[name].verdict for name in visit["order weight"]["shown"]]
    assert [word for word, _ in itertools.groupby(grave)] == [word for word in scorecard.GRAVITY if word in grave]
    assert "In the order of the paper" in visit["order place"]["headings"]
    assert visit["order "]["shown"] == visit["all"]["shown"]
    assert visit["order "]["headings"] == visit["all"]["headings"]


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(("width", "columns"), [(PHONE["width"], 1), (1280, 2), (1440, 2)])
def test_nothing_runs_over_the_edge(visit, width, columns):
    found = visit[f"width {width}"]
    assert found["over"] == []
    assert found["wide"] <= width
    assert found["columns"] == columns


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_letters_have_contrast(visit, theme):
    for selector, (number, least) in visit[theme].items():
        assert number, selector
        assert least >= 4.5, (selector, least)  # WCAG 2.1, 1.4.3


@needs_browser
@pytest.mark.slow
def test_without_javascript_the_whole_list_is_there(visit):
    assert visit["plain"] == {"form": False, "shown": len(CLAIMS)}
