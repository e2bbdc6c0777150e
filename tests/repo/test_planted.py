"""The errors that tools/planted.py plants still fit the texts, so that the script cannot go stale."""

import ast
import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

import planted
import planted_at_random as drawn

ROOT = Path(__file__).parents[2]
ERRORS = planted.load()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{error.chapter}: {error.old}")
def test_the_text_to_replace_occurs_once(error):
    found = (ROOT / error.file).read_text(encoding="utf-8").count(error.old)
    assert found == 1, (
        "edit `file` or `old` of this entry in tests/planted.yml: the text has changed"
    )
    assert error.new != error.old
    if error.file == f"book/{error.chapter}.md":
        code = planted.cells((ROOT / error.file).read_text(encoding="utf-8"))
        assert sum(error.old in cell for cell in code) == 1


def test_each_chapter_of_the_theory_has_four_errors_or_more():
    assert len({(error.file, error.old, error.new) for error in ERRORS}) == len(ERRORS) >= 60
    contents = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    ideas, theory = (part["chapters"] for part in contents[:2])
    by_chapter = Counter(error.chapter for error in ERRORS)
    few = {one["file"] for one in [*ideas, *theory] if by_chapter[Path(one["file"]).stem] < 4}
    assert few == set(), "plant four errors or more in each of these, in tests/planted.yml"


def test_an_assert_that_notices_is_told_from_one_that_does_not(tmp_path, monkeypatch):
    """The machinery itself, on a chapter of two cells."""
    (tmp_path / "book").mkdir()
    (tmp_path / "results").mkdir()
    text = "```{code-cell} python\n:tags: [hide-input]\nx = 2 * 3\n```\n\n```{code-cell} python\nassert x == 6\n```\n"
    (tmp_path / "book" / "small.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(planted, "ROOT", tmp_path)
    made = [
        planted.Planted("small", "book/small.md", "2 * 3", new, "")
        for new in ("2 * 4", "3 * 2", "2 * y")
    ]
    assert [planted.trial(error) for error in made] == [
        (0, 1, "assert"),
        (0, None, "nothing"),
        (0, 0, "NameError"),
    ]


def test_operators_change_one_place_and_leave_bounds_data_and_print_alone():
    text = "y = -(a.T @ b[0])**2 * c\nrng.normal(2 * 3)\nprint(1 + 1)\nassert x - 1 < 2 * z\nassert x == 3 * all(y)\n"
    made = [
        (operator, drawn.Drawn(operator, "", 0, None, *rest).put_into(text).splitlines())
        for operator, *rest in drawn.sites(text, ast.parse(text))
    ]
    first = {(operator, lines[0]) for operator, lines in made if lines[1:] == text.splitlines()[1:]}
    assert first == {
        ("sign", "y = ((a.T @ b[0]) ** 2) * c"),
        ("transpose", "y = -((a) @ b[0])**2 * c"),
        ("index", "y = -(a.T @ b[1])**2 * c"),
        ("power", "y = -(a.T @ b[0]) * c"),
        ("factor", "y = (-(a.T @ b[0]) ** 2)"),
        ("factor", "y = (c)"),
    }
    assert [lines[4] for _, lines in made if lines[0] == text.splitlines()[0]] == [
        "assert x == (3)",
        "assert x == (all(y))",
    ]


def test_of_the_errors_that_a_seed_drew_all_but_two_are_noticed():
    record = json.loads(drawn.RECORD.read_text(encoding="utf-8"))
    assert record["seed"] == 2026
    turns = Counter(drawn.OPERATORS[k % len(drawn.OPERATORS)] for k in range(40))
    assert Counter(row[0] for row in record["errors"]) == turns
    survivors = [row for row in record["errors"] if row[4] is None]
    assert len(survivors) <= 2
    assert all(len(row) == 6 and len(row[5]) > 20 for row in survivors)
