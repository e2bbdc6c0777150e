"""The errors that tools/planted.py plants still fit the texts, so that the script cannot go stale."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

import planted

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
