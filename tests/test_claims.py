"""The register of claims is well formed, covers the paper, and its evidence exists."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from gqlib.claims import VERDICTS, count_verdicts, count_weights, load_claims
from gqlib.cli import main
from gqlib.experiments.printed import NUMBERED_ITEMS

ROOT = Path(__file__).parents[1]
CLAIMS = load_claims()
SUCCESSOR = load_claims(source="successor")


@cache
def labels_before_code(chapter):
    """Labels of a chapter's text that stand directly before a code cell."""
    text = (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\(([\w-]+)\)=\n+```\{code-cell\}", text, flags=re.MULTILINE))


@cache
def test_functions(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


test_functions.__test__ = False


@pytest.mark.slow
def test_the_package_ships_the_register_of_the_book():
    assert load_claims() == load_claims(ROOT / "book" / "claims.yml")


@pytest.mark.parametrize("claim", [*CLAIMS, *SUCCESSOR], ids=lambda claim: claim.id)
def test_evidence_exists(claim):
    assert claim.cells
    assert claim.tests
    for chapter, label in claim.cells:
        assert label in labels_before_code(chapter), f"{chapter}: no code cell labelled {label}"
    for test in claim.tests:
        path, *_, name = test.split("::")
        assert re.sub(r"\[.*", "", name) in test_functions(path), test


def test_every_numbered_object_of_the_paper_is_covered():
    covered = {item for claim in CLAIMS for item in claim.items}
    assert set(NUMBERED_ITEMS) - covered == set()
    assert covered - set(NUMBERED_ITEMS) == set(), (
        "the register names objects that the paper does not have"
    )


def test_what_the_successor_says_is_kept_apart():
    """Four entries from an abstract, in no list and no count of the paper's claims, and none of them judged harshly."""
    assert len(SUCCESSOR) == 4
    assert {claim.source for claim in SUCCESSOR} == {"successor"}
    assert {claim.source for claim in CLAIMS} == {"paper"}
    assert not {claim.id for claim in SUCCESSOR} & {claim.id for claim in CLAIMS}
    assert {claim.section for claim in SUCCESSOR} == {"Abstract of the successor"}
    assert {claim.verdict for claim in SUCCESSOR} <= {"definition", "underspecified"}
    assert not any(claim.items for claim in SUCCESSOR)


def test_the_command_prints_the_successors_entries_when_asked(capsys):
    main(["claims", "--source", "successor", "--json"])
    assert [claim["id"] for claim in json.loads(capsys.readouterr().out)] == [
        claim.id for claim in SUCCESSOR
    ]
    assert main(["claims", "--source", "rumour"]) == 2
    assert "source is 'rumour'" in capsys.readouterr().err


def test_counts_add_up():
    counts = count_verdicts(CLAIMS)
    assert tuple(counts) == VERDICTS
    assert sum(counts.values()) == sum(not claim.repeats for claim in CLAIMS)
    assert sum(count_weights(CLAIMS).values()) == counts["corrected"]


def test_one_thought_has_one_verdict():
    by_id = {claim.id: claim for claim in CLAIMS}
    repeated = [claim for claim in CLAIMS if claim.repeats]
    assert len(repeated) > 20
    for claim in repeated:
        assert by_id[claim.repeats].verdict == claim.verdict
        assert not by_id[claim.repeats].repeats


def test_negative_verdicts_and_changed_hypotheses_have_a_defence_of_one_sentence():
    judged = [claim for claim in CLAIMS if not claim.repeats]
    severe = [
        c for c in judged if c.verdict in ("refuted", "not reproduced") or c.weight == "hypothesis"
    ]
    assert len(severe) >= 3
    for claim in severe:
        assert 8 <= len(claim.defence.split()) <= 70, claim.id
