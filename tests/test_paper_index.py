"""The index of the paper finds what docstrings cite, and nothing that the paper does not have."""

import importlib

import pytest

from gqlib.edition.index import items_cited, library_index
from gqlib.edition.paper import NUMBERED_ITEMS


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Eq. (15), corrected", {"Eq. (15)"}),
        ("Eqs. (6) and (7)", {"Eq. (6)", "Eq. (7)"}),
        ("Eqs. (20)–(22)", {"Eq. (20)", "Eq. (21)", "Eq. (22)"}),
        ("x = y    (23)\nnext", {"Eq. (23)"}),
        ("Eq. (99) and Table 7", set()),
        ("Proposition 1 in Appendix B", {"Proposition 1", "Appendix B"}),
        ("f(3) is not an equation", set()),
    ],
)
def test_citations_are_read(text, items):
    assert items_cited(text) == items


def test_index_names_things_that_exist():
    index = library_index()
    assert set(index) == set(NUMBERED_ITEMS)
    for name in {name for names in index.values() for name in names}:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            for part in parts[cut:]:
                found = getattr(found, part)
            break
        assert found is not None


def test_every_equation_up_to_the_algorithm_has_code():
    index = library_index()
    assert [n for n in (*range(1, 11), 15, 16, 19, *range(20, 27)) if n != 22 and not index[f"Eq. ({n})"]] == []
