"""The errors that tests/planted.py plants still fit the texts, so that the script cannot go stale."""

from collections import Counter
from pathlib import Path

import planted
import pytest

ROOT = Path(__file__).parents[1]
ERRORS = planted.load()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{error.chapter}: {error.old}")
def test_the_text_to_replace_occurs_once(error):
    assert (ROOT / error.file).read_text(encoding="utf-8").count(error.old) == 1
    assert error.new != error.old
    assert (ROOT / "book" / f"{error.chapter}.md").exists()
    if error.file == f"book/{error.chapter}.md":
        code = planted.cells((ROOT / error.file).read_text(encoding="utf-8"))
        assert sum(error.old in cell for cell in code) == 1


def test_at_least_sixty_errors_over_the_chapters():
    assert len(ERRORS) >= 60
    assert len({(error.file, error.old, error.new) for error in ERRORS}) == len(ERRORS)
    by_chapter = Counter(error.chapter for error in ERRORS)
    theory = {
        *(
            "sampling_and_expectation",
            "returns_and_traces",
            "expected_update",
            "instability",
            "what_it_converges_to",
        ),
        *(
            "mspbe_and_proposition_1",
            "the_algorithm",
            "convergence",
            "one_trajectory",
            "other_roads",
            "errata",
        ),
        *("corrected_gq", "textbook_repair"),
    }
    assert {chapter for chapter in theory if by_chapter[chapter] < 4} == set()


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
