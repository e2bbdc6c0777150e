"""The parts of the scorecard, by hand: what a few claims look like as cards and entries, counted and told."""

import dataclasses
import re

import pytest
from markup import Seen

from gqlib.claims import SECTIONS, Claim
from kit import scorecard

ONE = Claim(
    id="one",
    section="Semi-Gradient Method; Appendix B",
    label="a sum",
    items=("Eq. (7)",),
    says="Says σ & so.",
    verdict="corrected",
    correction="It is 2.",
    readings="Not shown.",
    cells=(
        ("errata", "cell-a"),
        ("gq_and_mspbe", "cell-b"),
        ("errata", "cell-c"),
        ("errata", "cell-d"),
    ),
    tests=("tests/test_a.py::test_b", "tests/test_a.py::test_c"),
    weight="slip",
    defence="It is close.",
    finding="It is two.",
)
TWO = dataclasses.replace(
    ONE, id="two", items=("Eq. (8)",), weight="", repeats="one", cells=(), tests=(), defence=""
)
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
    assert (
        'Judged with <a href="#claim-one">Eq. (7)</a>, whose thought it repeats; not counted again.'
        in block
    )
    assert Seen(scorecard.entries([ONE, TWO]).html).ids == ["claim-one", "claim-two"]
    assert block.count("</li>\n<li") == 1
    assert "None" not in block


def test_entries_that_repeat_another_come_last_however_grave():
    grave = dataclasses.replace(TWO, weight=scorecard.WEIGHTS[-1])
    assert Seen(scorecard.entries([grave, ONE]).html).ids == ["claim-one", "claim-two"]
    assert Seen(scorecard.entries([dataclasses.replace(grave, repeats=""), ONE]).html).ids == [
        "claim-two",
        "claim-one",
    ]


def test_only_the_entries_of_one_verdict_have_an_anchor():
    assert scorecard.entries([ONE]).html.startswith(
        '<div class="gq-scorecard gq-group">\n<ol class="gq-list" '
    )
    with pytest.raises(ValueError, match=r"^verdict is 'so'; it should be one of "):
        scorecard.entries([ONE], "so")


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
    both = scorecard.cards([ONE, TWO]).markdown
    assert both == f"{scorecard.cards([ONE]).markdown}\n\n{scorecard.cards([TWO]).markdown}"
    bare = dataclasses.replace(
        ONE, section="Abstract", items=(), correction="", readings="", defence="", cells=()
    )
    assert (
        scorecard.entries([bare]).markdown
        == "- **Abstract, a sum**, *corrected, slip.* Says $\\sigma$ & so."
    )
    for word in ("gq-told", "gq-case", "gq-again", "gq-evidence", "gq-section"):
        assert word not in scorecard.entries([bare]).html
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
    assert block.count("</li>\n<li") == 1
    assert re.findall(r'<h3><a href="(.*?)">(.*?)</a>', block) == [
        ("#claim-one", "Eq. (7)"),
        ("#claim-two", "Eq. (8)"),
    ]
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
        (
            {"correction": "", "readings": "", "verdict": "verified"},
            "To be exact.",
            "It holds as printed.",
        ),
        (
            {"correction": "", "readings": "", "verdict": "reproduced"},
            "How.",
            "It comes out as reported.",
        ),
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
    assert [scorecard._many(n, "claim") for n in (0, 1, 2)] == [
        "no claims",
        "one claim",
        "two claims",
    ]
    assert [scorecard._plural("hypothesis", n) for n in (0, 1, 2)] == [
        "hypotheses",
        "hypothesis",
        "hypotheses",
    ]
    assert [scorecard._were(number) for number in (0, 1, 2)] == ["were", "was", "were"]


def test_the_headline_of_a_few():
    claims = [dataclasses.replace(ONE, id=f"{n}", verdict=verdict, weight=weight) for n, (verdict, weight) in enumerate(
        [("refuted", ""), ("corrected", "slip"), ("corrected", "formula"), ("reproduced", ""), ("underspecified", "")]
    )]  # fmt: skip
    first, total = scorecard.headline(claims).markdown.split("\n\n")
    assert first == (
        "**One claim of the theory was refuted; of the others, every false one is mended by local changes.** "
        "Of what it reports from experiments, its own and those it cites, one claim was reproduced, none failed to be, "
        "and one cannot be settled from what it prints."
    )
    assert total == (
        "In all, 1 of 5 claims stand as they are, and 2 with a correction: 1 slip (put right from the same page), "
        "1 formula (a wrong line, a right result) and 0 hypotheses (the statement itself changes)."
    )
    more = scorecard.headline([*claims, dataclasses.replace(claims[-1], id="more")]).markdown
    assert (
        "and two cannot be settled from what it prints, descriptions of what was run among them."
        in more
    )
    names = [dataclasses.replace(ONE, id=name) for name in ("theorem-1", "lemma-1")]
    assert (
        "mended by local changes, Theorem 1 and Lemma 1, in the main, by exchanging a ratio.**"
        in (scorecard.headline(names).markdown)
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
    assert block.html.count('</label>\n<label class="gq-chip">') == 1
    Seen(block.html)
    assert block.markdown == "In the HTML edition this list can be filtered and sorted."
    assert re.findall(r'name="verdict" value="([a-z ]+)"', block.html) == [
        "not reproduced",
        "corrected",
    ]
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
    assert (
        '<span class="gq-badge gq-not-reproduced"><span aria-hidden="true">✗</span> not reproduced</span>'
        in block
    )
    assert (
        '<span class="gq-bar gq-not-reproduced" style="--share: 1.000" aria-hidden="true"></span>'
        in (scorecard.counts([claim]).html)
    )


def test_claims_of_unknown_sections_come_last_in_the_paper():
    ranks = [
        scorecard._position(dataclasses.replace(ONE, section=name))
        for name in (*SECTIONS, "Elsewhere")
    ]
    assert ranks == list(range(len(SECTIONS) + 1))
