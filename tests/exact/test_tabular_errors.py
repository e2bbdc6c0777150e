"""Root mean square errors and the bias–variance split, against numbers with a closed form."""

import numpy as np

from gqlib.tabular.errors import bias_variance, bias_variance_interval, rms_error

EXACT = np.array([[0.0, 1.0], [2.0, 3.0]])


def test_rms_error_by_hand_and_its_ceiling():
    tables = np.stack(
        [EXACT + 2.0, EXACT + np.array([[0, 0], [0, 4.0]]), EXACT * np.nan, EXACT + 1e200]
    )
    assert rms_error(tables, EXACT, ceiling=5.0).tolist() == [2.0, 2.0, 5.0, 5.0]


def test_two_runs_are_enough_and_their_split_is_by_hand():
    """Runs of 1 and 3 where 0 is right: variance 2, squared bias 2² − 2/2; of a pair that is right always, none."""
    assert bias_variance([[[1.0, 5.0]], [[3.0, 5.0]]], [[0.0, 5.0]]) == (1.5, 1.0)


def test_one_table_has_one_error_and_a_stack_of_stacks_one_for_each():
    assert rms_error(EXACT + 3.0, EXACT, ceiling=5.0).tolist() == 3.0
    assert (
        rms_error(np.stack([[EXACT, EXACT + 1.0]] * 2), EXACT, ceiling=5.0).tolist()
        == [[0.0, 1.0]] * 2
    )
    assert rms_error(EXACT + 5.0, EXACT, ceiling=5.0).tolist() == 5.0


def test_the_interval_is_of_resampled_runs_at_the_percentiles_it_names():
    tables = EXACT + np.random.default_rng(4).normal(size=(6, 2, 2))
    found = bias_variance_interval(tables, EXACT, np.random.default_rng(5), resamples=40)
    rng = np.random.default_rng(5)
    drawn = [bias_variance(tables[rng.integers(6, size=6)], EXACT) for _ in range(40)]
    expected = [np.percentile(part, [2.5, 97.5]) for part in zip(*drawn, strict=True)]
    np.testing.assert_allclose(found[:, [0, 2]], expected)
    np.testing.assert_allclose(found[:, 1], bias_variance(tables, EXACT))
    rng = np.random.default_rng(5)
    bias_variance_interval(tables, EXACT, rng)
    fresh = np.random.default_rng(5)
    fresh.integers(6, size=(300, 6))  # three hundred by default
    assert rng.random() == fresh.random()
