"""The scorecard: what the library renders, and what a reader can do with it in Chromium.

The page is visited once, and the tests examine what was seen. Skipped, with a message, where there is no Chromium.
"""

import dataclasses
import itertools
import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from chromium import DESK, NO_MOTION, PHONE, listen, needs_browser, settle
from markup import Seen

from gqlib.claims import SECTIONS, VERDICTS, WEIGHTS, load_claims
from kit import scorecard
from kit.typeset import pieces

ROOT = Path(__file__).parents[1]
CLAIMS = load_claims()
BY_ID = {claim.id: claim for claim in CLAIMS}
PAGE = (ROOT / "book" / "scorecard.md").read_text(encoding="utf-8")
TEN = [name for name in re.findall(r'"([a-z0-9-]+)"', PAGE) if name in BY_ID]
GREEK = re.compile("[α-ωΑ-Ω]")


@cache
def seen():
    """The page as the library renders it, all blocks of it."""
    blocks = [
        scorecard.headline(CLAIMS),
        scorecard.counts(CLAIMS),
        scorecard.cards([BY_ID[name] for name in TEN]),
    ]
    blocks += [
        scorecard.controls(CLAIMS),
        *(scorecard.entries(CLAIMS, verdict) for verdict in VERDICTS),
    ]
    return Seen("\n".join(block.html for block in blocks))


@cache
def labels_before_code(chapter):
    text = (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\(([\w-]+)\)=\n+```\{code-cell\}", text, flags=re.MULTILINE))


# ---------------------------------------------------------------- formulas


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
            re.escape(command) + "(?![A-Za-z])",
            BACK.get(command, "" if command in DROPPED else "·"),
            tex,
            count=1,
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
    raw = {
        part
        for claim in CLAIMS
        for part in claim.label.split(", ")[1:]
        if re.search(r"[_:]|[a-z]\d", part)
    }
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
        assert (
            item in (claim.place, *claim.sections)
            or item in claim.place
            or item.startswith("Appendix")
        )


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
    assert cards.html.count("<strong>For the paper.</strong>") == sum(
        bool(BY_ID[name].defence) for name in TEN
    )
    for name in TEN:
        words = len(scorecard._in_short(BY_ID[name]).split())
        assert words >= 4


def test_a_finding_of_the_register_comes_before_its_account():
    claim = dataclasses.replace(
        CLAIMS[0], finding="It is so.", correction="Long. Longer.", readings=""
    )
    assert "It is so." in scorecard.cards([claim]).html
    account = dataclasses.replace(
        claim, finding="", correction="Yes. By Eq. (3) of Yang et al. (2018) it is so. But."
    )
    assert scorecard._in_short(account) == "Yes. By Eq. (3) of Yang et al. (2018) it is so."


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if claim.finding], ids=lambda claim: claim.id
)
def test_a_finding_is_one_sentence(claim):
    assert len(scorecard._sentences(claim.finding)) == 1
    assert len(claim.finding.split()) <= 45


def test_the_headline_counts_and_does_not_claim_more_than_the_register():
    judged = [claim for claim in CLAIMS if not claim.repeats]
    text = scorecard.headline(CLAIMS).markdown
    kept = sum(claim.verdict in ("verified", "definition", "reproduced") for claim in judged)
    mended = [claim.weight for claim in judged if claim.verdict == "corrected"]
    assert (
        f"In all, {kept} of {len(judged)} claims stand as they are, and {len(mended)} with a correction"
        in text
    )
    told = re.findall(r"(\d+) (slip|formula|hypothes[ei]s)s? \(", text)
    assert [int(number) for number, _ in told] == [mended.count(weight) for weight in WEIGHTS]
    told = re.search(
        r"(\w+) claims? w\w+ reproduced, (\w+) failed to be, and (\w+) cannot be settled", text
    ).groups()
    small = {"none": 0, **{word: number for number, word in enumerate(scorecard.NUMBERS)}}
    verdicts = [claim.verdict for claim in judged]
    expected = [
        verdicts.count(verdict) for verdict in ("reproduced", "not reproduced", "underspecified")
    ]
    assert [int(small.get(word, word)) for word in told] == expected
    assert ("No claim of the theory is refuted" in text) == all(
        claim.verdict != "refuted" for claim in judged
    )
    worse = [
        dataclasses.replace(claim, verdict="refuted", weight="") if claim.id == "lemma-1" else claim
        for claim in CLAIMS
    ]
    text = scorecard.headline(worse).markdown
    assert "of the theory was refuted" in text or "of the theory were refuted" in text
    assert "Lemma 1" not in text


def test_the_counts_are_those_of_the_register():
    rows = dict(
        re.findall(
            r"^\| ([a-z ]+) \| (\d+) \|", scorecard.counts(CLAIMS).markdown, flags=re.MULTILINE
        )
    )
    judged = [claim.verdict for claim in CLAIMS if not claim.repeats]
    assert {verdict: int(count) for verdict, count in rows.items()} == {
        v: judged.count(v) for v in VERDICTS
    }
    html = scorecard.counts(CLAIMS).html
    assert re.findall(r"<span>(\d+)</span>", html) == list(rows.values())


def test_an_empty_section_says_so():
    assert (
        "None."
        in scorecard.entries([CLAIMS[0]], next(v for v in VERDICTS if v != CLAIMS[0].verdict)).html
    )


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="verdict is 'maybe'"):
        scorecard.entries(CLAIMS, "maybe")
    for function in (
        scorecard.headline,
        scorecard.counts,
        scorecard.cards,
        scorecard.controls,
        scorecard.entries,
    ):
        with pytest.raises(ValueError, match="claims is"):
            function([1])


def test_the_page_shows_every_verdict_and_types_no_number():
    shown = re.findall(r'scorecard\.entries\(claims, "([a-z ]+)"\)', PAGE)
    assert sorted(shown) == sorted(VERDICTS)
    rule = PAGE.index("## How a verdict is given")
    assert (
        PAGE.index("scorecard.headline")
        < PAGE.index("scorecard.counts")
        < PAGE.index("## The ten that matter")
    )
    assert PAGE.rindex("scorecard.entries") < rule
    prose = re.sub(
        r"```\{code-cell\}.*?```|^---\n.*?^---\n", "", PAGE[:rule], flags=re.DOTALL | re.MULTILINE
    )
    assert not re.search(r"\d", prose)


# ---------------------------------------------------------------- in the browser


SHOWN = """() => [...document.querySelectorAll(".gq-claim")].filter((x) => x.checkVisibility()).map((x) => x.id.slice(6))"""
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
LETTERS = [
    f".gq-{name}"
    for name in ("badge", "weight", "says", "told", "case", "evidence", "evidence a", "section")
]
LETTERS += [
    ".gq-status",
    ".gq-filter legend",
    ".gq-filter label",
    ".gq-counts caption",
    ".gq-counts td",
]


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
    page.wait_for_function(
        "() => document.querySelector('#claim-eq-1-bellman-equation').checkVisibility()"
    )
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
        told(len(expected))
        if expected
        else "No entry is like that; take something back, or show all."
    )


@needs_browser
@pytest.mark.slow
def test_words_are_found_whatever_their_case_and_greek_letters_by_name(visit):
    found = set(visit["words"]["shown"])
    assert "theorem-1" in found  # speaks of η, not of eta
    assert found < ids(
        lambda claim: any(section.startswith("Section 4") for section in claim.sections)
    )
    for claim in map(BY_ID.get, found):
        text = " ".join(
            [claim.place, claim.says, claim.correction, claim.readings, claim.defence]
        ).lower()
        assert "theorem" in text
        assert "η" in text or "eta" in text


@needs_browser
@pytest.mark.slow
def test_sections_in_which_nothing_is_left_go(visit):
    assert len(visit["all"]["headings"]) == len(VERDICTS)
    assert [heading.strip("#") for heading in visit["verdict corrected"]["headings"]] == [
        "Corrected"
    ]
    assert [heading.strip("#") for heading in visit["verdict verified"]["headings"]] == [
        "Corrected",
        "Verified",
    ]
    assert visit["none"]["headings"] == []


@needs_browser
@pytest.mark.slow
def test_sorting_puts_entries_into_one_list_and_back(visit):
    places = [
        list(SECTIONS.values()).index(BY_ID[name].sections[0])
        for name in visit["order place"]["shown"]
    ]
    assert places == sorted(places)
    grave = [BY_ID[name].weight or BY_ID[name].verdict for name in visit["order weight"]["shown"]]
    assert [word for word, _ in itertools.groupby(grave)] == [
        word for word in scorecard.GRAVITY if word in grave
    ]
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
