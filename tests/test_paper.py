"""The paper's numbered objects and tables: complete, and what the printed percentages can and cannot be."""

from fractions import Fraction

import pytest

from gqlib.experiments import printed as paper
from gqlib.experiments.printed import CASES, NUMBERED_ITEMS, PAPER_TABLE_1, PAPER_TABLE_2
from gqlib.stats import case_null, grim, grim_counts

INTERIOR = 49  # means of sigma: 0.02, 0.04, ..., 0.98
CELLS = {(*column, case): PAPER_TABLE_2[column][case] for column in PAPER_TABLE_2 for case in CASES}
ODD_COLUMN = (0.001, 512)


def exact(percentage):
    return Fraction(str(percentage))


def counts_of(column):
    """Counts of 49 behind a column of Table 2, the last cell taken as printed or as what is left to 100."""
    percentages = list(PAPER_TABLE_2[column].values())
    found = grim_counts(percentages, INTERIOR) or grim_counts(percentages, INTERIOR, remainder=2)
    return found[0] if found else None


def test_numbered_items_are_those_of_the_compiled_paper():
    kinds = {}
    for item in NUMBERED_ITEMS:
        kinds[item.split()[0]] = kinds.get(item.split()[0], 0) + 1
    assert kinds == {
        "Eq.": 44, "Figure": 7, "Table": 2, "Algorithm": 1, "Proposition": 1, "Theorem": 1, "Lemma": 1,
        "Assumption": 3, "Appendix": 5,
    }  # fmt: skip
    assert len(set(NUMBERED_ITEMS)) == len(NUMBERED_ITEMS) == 65
    assert {"Eq. (1)", "Eq. (44)", "Figure 7", "Table 2", "Assumption 3", "Appendix E"} < set(
        NUMBERED_ITEMS
    )


def test_tables_cannot_be_changed_by_a_reader():
    with pytest.raises(TypeError):
        PAPER_TABLE_2[ODD_COLUMN]["I"] = 0.0
    with pytest.raises(TypeError):
        PAPER_TABLE_1["I"] = 0.0


def test_every_column_of_the_tables_adds_up_to_100():
    for column in (PAPER_TABLE_1, *PAPER_TABLE_2.values()):
        assert sum(map(exact, column.values())) == 100


def test_thirteen_of_eighteen_cells_are_multiples_of_one_49th():
    assert len(CELLS) == 18
    fits = {cell for cell, percentage in CELLS.items() if grim(percentage, INTERIOR)}
    assert len(fits) == 13
    assert set(CELLS) - fits == {
        *((*ODD_COLUMN, case) for case in CASES),
        (0.002, 512, "III"),
        (0.002, 2048, "III"),
    }


def test_one_cell_is_a_multiple_of_one_51st_and_none_of_one_50th():
    assert [cell for cell, percentage in CELLS.items() if grim(percentage, 51)] == [
        (0.002, 2048, "I")
    ]
    assert grim(CELLS[0.002, 2048, "I"], (49, 51)) == {49: (24,), 51: (25,)}
    assert not any(grim(percentage, 50) for percentage in CELLS.values())


def test_two_more_cells_are_what_the_others_leave_to_100():
    # 4/49 = 8.16... and 16/49 = 32.65... would be printed 8.2 and 32.7, and the columns would add up to 100.1.
    assert counts_of((0.002, 512)) == (26, 19, 4)
    assert counts_of((0.002, 2048)) == (24, 9, 16)


def test_five_columns_have_exactly_one_set_of_counts_and_one_has_none():
    counts = {column: counts_of(column) for column in PAPER_TABLE_2}
    assert counts == {
        ODD_COLUMN: None,
        (0.001, 1024): (10, 18, 21),
        (0.001, 2048): (27, 10, 12),
        (0.002, 512): (26, 19, 4),
        (0.002, 1024): (3, 8, 38),
        (0.002, 2048): (24, 9, 16),
    }


@pytest.mark.parametrize("rounding", ["nearest", "down"])
def test_odd_column_fits_no_total_near_51(rounding):
    column = list(PAPER_TABLE_2[ODD_COLUMN].values())
    totals = range(1, 149)
    assert not any(grim_counts(column, n, rounding=rounding) for n in totals)
    assert not any(
        grim_counts(column, n, remainder=cell) for n in (49, 50, 51) for cell in range(3)
    )
    assert grim_counts(column, 149) == ((104, 21, 24),)


def test_table_1_is_the_mean_of_table_2_up_to_one_last_digit():
    means = {
        case: sum(exact(column[case]) for column in PAPER_TABLE_2.values()) / 6 for case in CASES
    }
    assert means == {"I": Fraction("42.25"), "II": Fraction(1447, 60), "III": Fraction(1009, 30)}
    last_digits = {case: exact(PAPER_TABLE_1[case]) - mean for case, mean in means.items()}
    assert abs(last_digits["I"]) == Fraction(1, 20)  # a tie, printed downwards
    assert abs(last_digits["II"]) < Fraction(1, 20)
    assert last_digits["III"] == Fraction(
        1, 15
    )  # 33.63 would be printed 33.6; 33.7 is what is left to 100


def test_table_1_counts_of_294_complete_the_odd_column():
    (pooled,) = grim_counts(list(PAPER_TABLE_1.values()), 6 * INTERIOR)
    assert pooled == (124, 71, 99)
    others = [counts_of(column) for column in PAPER_TABLE_2 if column != ODD_COLUMN]
    left = tuple(
        total - sum(case) for total, case in zip(pooled, zip(*others, strict=True), strict=True)
    )
    assert left == (34, 7, 8)
    assert sum(left) == INTERIOR
    assert [round(100 * count / INTERIOR, 1) for count in left] == [69.4, 14.3, 16.3]
    assert grim_counts(list(PAPER_TABLE_1.values()), 6 * 51) == ()


def test_the_paper_s_counts_of_case_one_are_no_surprise_if_sigma_has_no_effect():
    cell, pooled = case_null(INTERIOR), case_null(INTERIOR, cells=6)
    assert min(cell.p_value(counts_of(c)[0]) for c in PAPER_TABLE_2 if c != ODD_COLUMN) > 0.2
    assert cell.p_value(34) == pytest.approx(136 / 1275)
    assert 0.1 < pooled.p_value(124) < 0.3


def test_a_column_has_one_percentage_for_each_case():
    column = paper._column(50.0, 30.0, 20.0)
    assert dict(column) == {"I": 50.0, "II": 30.0, "III": 20.0}
    with pytest.raises(TypeError):
        column["I"] = 0.0
    for wrong in ((50.0, 50.0), (25.0, 25.0, 25.0, 25.0)):
        with pytest.raises(ValueError, match="argument 2 is"):
            paper._column(*wrong)
