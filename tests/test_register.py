"""The register of claims, entry by entry: what is read, refused, counted and printed."""

import copy
import re

import pytest
import yaml

from gqlib.claims import (
    FIELDS,
    VERDICTS,
    WEIGHTS,
    Claim,
    checked,
    count_verdicts,
    count_weights,
    load_claims,
)

GOOD = {
    "id": "x",
    "where": {"section": "S", "label": "Eq. (1)"},
    "items": ["Eq. (1)"],
    "says": "Something.",
    "verdict": "verified",
    "evidence": [{"test": "tests/test_claims.py::test_evidence_exists"}],
}


@pytest.mark.parametrize(
    ("section", "label", "items", "place"),
    [
        ("Control Task", "Eq. (24), θ_uptate_2", ["Eq. (24)"], "Eq. (24)"),
        ("Appendix A", "Step 1 and Eq. (41), A1", ["Eq. (41)", "Appendix A"], "Eq. (41)"),
        ("Appendix A", "Step 2, A2", ["Appendix A"], "Appendix A, Step 2"),
        ("Appendix C", "Appendix C", ["Appendix C"], "Appendix C"),
        ("Abstract", "last sentence", [], "Abstract, last sentence"),
        ("Instability Analysis", "A_σ, a line", [], "Section 3.2, A_σ, a line"),
        ("Introduction; Semi-Gradient Method", "a word", [], "Sections 1 and 3.1, a word"),
        ("Abstract; Introduction", "a word", [], "Abstract and Section 1, a word"),
        (
            "Abstract; Gradient Q(σ, λ)",
            "opening of Section 4",
            [],
            "Abstract and opening of Section 4",
        ),
        ("Experiment", "Section 5, first paragraph", [], "Section 5, first paragraph"),
    ],
)
def test_a_place_is_an_object_or_a_section_and_words(tmp_path, section, label, items, place):
    (claim,) = load_claims(
        write(tmp_path, [GOOD | {"where": {"section": section, "label": label}, "items": items}])
    )
    assert claim.place == place


def test_a_finding_is_read(tmp_path):
    (claim,) = load_claims(write(tmp_path, [GOOD | {"finding": " It is so. "}]))
    assert claim.finding == "It is so."


def write(folder, entries):
    path = folder / "claims.yml"
    each = (
        entries if isinstance(entries, dict) else [copy.deepcopy(entry) for entry in entries]
    )  # shares nothing
    path.write_text(yaml.safe_dump(each), encoding="utf-8")
    return path


def test_a_good_entry_loads(tmp_path):
    (claim,) = load_claims(write(tmp_path, [GOOD]))
    assert (claim.id, claim.verdict, claim.items) == ("x", "verified", ("Eq. (1)",))


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"id": "x"}, "list of claims"),
        ([GOOD, GOOD], "unique"),
        ([GOOD | {"verdict": "wrong"}], "verdict of claim x is 'wrong'"),
        ([GOOD | {"verdict": "corrected"}], "correction of claim x is missing"),
        ([GOOD | {"verdict": "corrected", "correction": "c"}], "weight of claim x is ''"),
        (
            [GOOD | {"verdict": "corrected", "correction": "c", "weight": "heavy"}],
            "weight of claim x is 'heavy'",
        ),
        ([GOOD | {"weight": "slip"}], "weight of claim x is 'slip'"),
        (
            [GOOD | {"verdict": "corrected", "correction": "c", "weight": "hypothesis"}],
            "defence of claim x is missing",
        ),
        ([GOOD | {"verdict": "not reproduced"}], "defence of claim x is missing"),
        ([GOOD | {"repeats": "y"}], "repeats of claim x is 'y'"),
        (
            [GOOD, GOOD | {"id": "y", "verdict": "reproduced", "repeats": "x"}],
            "repeats of claim y is 'x'",
        ),
        ([GOOD | {"verdict": "underspecified"}], "readings of claim x is missing"),
        ([GOOD | {"evidence": []}], "evidence of claim x"),
        ([GOOD | {"where": {}}], "`where`"),
        ([GOOD | {"author": "me"}], "field 'author'"),
        ([GOOD | {"source": "rumour"}], "source of claim x is 'rumour'"),
        (["x"], "claim is 'x'; it should be a mapping with an id"),
        ([{"verdict": "verified"}], "it should be a mapping with an id"),
        ([GOOD | {"id": 3}], "it should be a mapping with an id"),
        (
            [GOOD | {"where": {"section": "S"}}],
            "claim x should have `where` with section and label, and `says`",
        ),
        (
            [GOOD | {"where": {"label": "S"}}],
            "claim x should have `where` with section and label, and `says`",
        ),
        ([GOOD | {"where": "S"}], "claim x should have `where` with section and label, and `says`"),
        ([GOOD | {"says": ""}], "claim x should have `where` with section and label, and `says`"),
        (
            [GOOD | {"evidence": {"test": "t"}}],
            "evidence of claim x is {'test': 't'}; it should be a list",
        ),
        (
            [GOOD | {"verdict": "refuted", "correction": "c"}],
            "defence of claim x is missing; the paper should have its",
        ),
        (
            [GOOD | {"verdict": "refuted", "defence": "d"}],
            "correction of claim x is missing; a claim that is refuted",
        ),
        (
            [GOOD, GOOD | {"id": "y", "repeats": "x"}, GOOD | {"id": "z", "repeats": "y"}],
            "repeats of claim z is 'y'; it should name a claim of the same verdict that repeats no other",
        ),
        (
            [GOOD, GOOD | {"id": "y"}, GOOD | {"id": "y"}],
            "id is 'y' in several claims; it should be unique",
        ),
        (
            [GOOD | {"weight": "heavy"}],
            "it should be one of ('slip', 'formula', 'hypothesis') where a claim is corrected and repeats no other, "
            "and missing elsewhere",
        ),
        (
            [GOOD | {"b": 1, "a": 1}],
            "claim x has a field 'a'; it should be one of ['correction', 'defence', ",
        ),
    ],
)
def test_a_bad_register_is_refused(tmp_path, entries, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        load_claims(write(tmp_path, entries))


FULL = {
    "id": "full",
    "where": {"section": "Semi-Gradient Method", "label": "Eq. (7), upd"},
    "items": ["Eq. (7)", "Appendix A"],
    "says": "  Says σ.\n",
    "verdict": "corrected",
    "weight": "hypothesis",
    "correction": " It is 2. ",
    "readings": " Or 3. ",
    "finding": " Two. ",
    "defence": " It is close. ",
    "source": "successor",
    "evidence": [
        {"chapter": "gq_errata", "cell": "cell-a"},
        {"test": "tests/test_a.py::test_b"},
        {"chapter": "gq_errata", "cell": "cell-b"},
        {"chapter": "other", "cell": "cell-c"},
        {"test": "tests/test_a.py::test_c"},
    ],
}
READ = Claim(
    id="full",
    section="Semi-Gradient Method",
    label="Eq. (7), upd",
    items=("Eq. (7)", "Appendix A"),
    says="Says σ.",
    verdict="corrected",
    correction="It is 2.",
    readings="Or 3.",
    cells=(("gq_errata", "cell-a"), ("gq_errata", "cell-b"), ("other", "cell-c")),
    tests=("tests/test_a.py::test_b", "tests/test_a.py::test_c"),
    weight="hypothesis",
    defence="It is close.",
    finding="Two.",
    source="successor",
)


def test_every_field_of_an_entry_is_read(tmp_path):
    path = write(tmp_path, [FULL, GOOD])
    assert load_claims(path, source="successor") == [READ]
    (other,) = load_claims(str(path))
    assert other == Claim(
        id="x",
        section="S",
        label="Eq. (1)",
        items=("Eq. (1)",),
        says="Something.",
        verdict="verified",
        correction="",
        readings="",
        cells=(),
        tests=("tests/test_claims.py::test_evidence_exists",),
    )
    assert set(FULL) | {"repeats"} == FIELDS


def test_a_repeat_needs_neither_weight_nor_defence(tmp_path):
    again = FULL | {"id": "again", "repeats": "full"}
    del again["weight"], again["defence"]
    _, claim = load_claims(write(tmp_path, [FULL, again]), source="successor")
    assert (claim.repeats, claim.weight, claim.defence, claim.source) == (
        "full",
        "",
        "",
        "successor",
    )


@pytest.mark.parametrize("weight", ["slip", "formula"])
def test_a_light_correction_needs_no_defence(tmp_path, weight):
    light = FULL | {"weight": weight, "defence": None}
    (claim,) = load_claims(write(tmp_path, [light]), source="successor")
    assert (claim.weight, claim.defence) == (weight, "")


def test_what_is_no_register_is_refused(tmp_path):
    missing = tmp_path / "missing.yml"
    with pytest.raises(
        ValueError, match=re.escape(f"path is {str(missing)!r}; it should be a file with claims")
    ):
        load_claims(missing)
    with pytest.raises(ValueError, match=r"^path is claims\.yml; it should hold a list of claims$"):
        load_claims(write(tmp_path, {"id": "x"}))
    with pytest.raises(ValueError, match=r"^path is 3; "):
        load_claims(3)
    with pytest.raises(
        ValueError, match=r"^source is 'rumour'; it should be one of 'paper', 'successor'$"
    ):
        load_claims(source="rumour")


def test_verdicts_and_weights_are_counted_without_repeats():
    again = READ.__class__(**{**vars(READ), "id": "again", "repeats": "full", "weight": ""})
    other = READ.__class__(**{**vars(READ), "id": "other", "verdict": "refuted", "weight": ""})
    claims = [READ, again, other, READ]
    assert count_verdicts(claims) == dict.fromkeys(VERDICTS, 0) | {"corrected": 2, "refuted": 1}
    assert list(count_verdicts(iter(claims))) == list(VERDICTS)
    assert count_weights(claims) == {"slip": 0, "formula": 0, "hypothesis": 2}
    assert list(count_weights([])) == list(WEIGHTS)


def test_only_claims_are_counted():
    assert checked(claim for claim in (READ,)) == [READ]
    for function in (checked, count_verdicts, count_weights):
        with pytest.raises(ValueError, match=r"^claims is 3; it should be a list of claims$"):
            function(3)
        with pytest.raises(ValueError, match=r"^claims is 'a'; it should be "):
            function([READ, "a"])


TEXT = "- id: a\n  where: {section: Abstract, label: x}\n  says: it\n  verdict: verified\n  evidence: [{test: t}]\n"
LAUGHS = "".join(f"    - &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b: c", "in YAML \\(mapping values are not allowed"),
        (b"\xff\xfe", "in YAML \\('utf-8' codec can't decode"),
        ("[" * 3000, "in YAML \\(maximum recursion depth"),
        (
            "- !!python/object/apply:os.system ['true']",
            "in YAML \\(could not determine a constructor",
        ),
        (TEXT + "  says: something else\n", "in YAML \\(a name twice in"),
        (TEXT.replace("it\n", "\n    - &a0 [lol, lol]\n") + LAUGHS, "in YAML \\("),
        (
            TEXT.replace("says: it\n", "says:\n    - &a0 [lol, lol]\n" + LAUGHS),
            "in YAML \\(a reference in",
        ),
        (TEXT.replace("it\n", '"\\UFFFFFFFF"\n'), "in YAML \\("),
        (TEXT.replace("it\n", "!!timestamp 5\n"), "in YAML \\("),
        (TEXT + "  items: 5\n", "items of claim a is 5; it should be a list of texts"),
        (TEXT + "  items: abc\n", "items of claim a is 'abc'; it should be a list of texts"),
        (
            TEXT.replace("{test: t}", "5"),
            "evidence of claim a has 5; it should be a chapter's cell, or a test",
        ),
        (
            TEXT.replace("{test: t}", "{cell: c}"),
            r"evidence of claim a has \{'cell': 'c'\}; it should be",
        ),
        (
            TEXT.replace("{test: t}", "{test: 5}"),
            r"evidence of claim a has \{'test': 5\}; it should be",
        ),
        (
            TEXT.replace("{test: t}", "{chapter: [], cell: c}"),
            r"evidence of claim a has \{'chapter': \[\], 'cell'",
        ),
        (TEXT.replace("it\n", "!!bool maybe\n"), "in YAML \\('maybe'\\)"),
        (TEXT.replace("it\n", "!!int ''\n"), r"in YAML \("),
        (TEXT + "  5: x\n  foo: y\n", "claim a has a field 5; it should be one of"),
    ],
)
def test_a_hostile_register_is_one_clear_error(tmp_path, text, said):
    path = tmp_path / "claims.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=said) as told:
        load_claims(path)
    assert "\n" not in str(told.value)


def test_a_name_that_no_file_can_have_is_no_register():
    with pytest.raises(ValueError, match=r"path is .+; it should be a file with claims"):
        load_claims("x" * 5000)
