"""The errors that tests/planted.py plants still fit the chapters, so that the script cannot rot."""

from collections import Counter
from pathlib import Path

import planted
import pytest

BOOK = Path(__file__).parents[1] / "book"


@pytest.mark.parametrize("error", planted.ERRORS, ids=lambda error: f"{error.chapter}: {error.old}")
def test_the_text_to_replace_occurs_once(error):
    assert (BOOK / f"{error.chapter}.md").read_text(encoding="utf-8").count(error.old) == 1
    assert error.new != error.old


def test_at_least_twenty_errors_of_every_kind_over_the_chapters():
    assert len(planted.ERRORS) >= 20
    assert set(Counter(error.kind for error in planted.ERRORS)) == set(planted.KINDS)
    assert len({error.chapter for error in planted.ERRORS}) >= 10


def test_planting_changes_one_cell_of_a_copy(tmp_path):
    error = planted.ERRORS[0]
    record = BOOK / f"{error.chapter}.ipynb"
    before = record.read_bytes()
    number = planted.plant(error, tmp_path)
    copy = planted.nbformat.read(tmp_path / record.name, as_version=4)
    code = [cell for cell in copy.cells if cell.cell_type == "code"]
    assert error.new in code[number].source
    assert error.old not in code[number].source
    assert record.read_bytes() == before
