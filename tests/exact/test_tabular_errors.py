"""Root mean square errors and the bias–variance split, against numbers with a closed form."""

import numpy as np
import pytest

from gqlib.tabular.errors import bias_variance, bias_variance_interval, rms_error

EXACT = np.array([[0.0, 1.0], [2.0, 3.0]])


def test_rms_error_by_hand_and_its_ceiling():
    tables = np.stack(
        [EXACT + 2.0, EXACT + np.array([[0, 0], [0, 4.0]]), EXACT * np.nan, EXACT + 1e200]
    )
    assert rms_error(tables, EXACT, ceiling=5.0).tolist() == [2.0, 2.0, 5.0, 5.0]


def test_bias_and_variance_of_known_normal_tables():
    rng, runs = np.random.default_rng(0), 20_000
    tables = EXACT + 0.5 + 2.0 * rng.normal(size=(runs, 2, 2))
    squared_bias, variance = bias_variance(tables, EXACT)
    assert squared_bias == pytest.approx(0.25, abs=0.03)
    assert variance == pytest.approx(4.0, abs=0.1)


def test_squared_bias_is_itself_unbiased():
    """Ten unbiased runs at a time: without the correction the mean would be variance/10 = 0.4."""
    rng = np.random.default_rng(1)
    estimates = [
        bias_variance(EXACT + 2.0 * rng.normal(size=(10, 2, 2)), EXACT)[0] for _ in range(2000)
    ]
    assert abs(np.mean(estimates)) < 4 * np.std(estimates) / np.sqrt(len(estimates))


def test_interval_holds_its_estimate_and_shrinks_with_runs():
    rng = np.random.default_rng(2)
    tables = EXACT + 1.0 + rng.normal(size=(400, 2, 2))
    few, many = (
        bias_variance_interval(tables[:n], EXACT, np.random.default_rng(3)) for n in (25, 400)
    )
    for interval in (few, many):
        assert (interval[:, 0] < interval[:, 1]).all()
        assert (interval[:, 1] < interval[:, 2]).all()
    assert (many[:, 2] - many[:, 0] < few[:, 2] - few[:, 0]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rms_error(np.zeros((3, 2)), EXACT, ceiling=1.0), "tables has shape"),
        (lambda: bias_variance(EXACT[None], EXACT), "at least two runs"),
        (lambda: bias_variance(np.zeros((3, 2, 1)), EXACT), "tables has shape"),
        (lambda: bias_variance(np.full((3, 2, 2), np.nan), EXACT), "tables is nan"),
        (lambda: bias_variance_interval(np.zeros((3, 2, 2)), EXACT, 5), "rng is 5"),
        (
            lambda: bias_variance(np.zeros((1, 2, 2)), EXACT),
            r"^tables has shape \(1, 2, 2\); it should hold at",
        ),
        (
            lambda: rms_error(EXACT, EXACT, ceiling=-1.0),
            r"^ceiling is -1\.0; it should be in \[0, inf\)$",
        ),
        (
            lambda: rms_error(EXACT, EXACT[0], ceiling=1.0),
            r"^exact has shape \(2,\); it should .* \(any, any\)$",
        ),
        (
            lambda: rms_error(np.zeros((3, 2)), EXACT, ceiling=1.0),
            r"^tables has shape \(3, 2\); its last axes should be \(2, 2\)$",
        ),
        (
            lambda: bias_variance_interval(
                np.zeros((3, 2, 2)), EXACT, np.random.default_rng(0), resamples=1
            ),
            r"^resamples is 1; it should be at least 2$",
        ),
        (
            lambda: bias_variance_interval(np.zeros((3, 2, 1)), EXACT, np.random.default_rng(0)),
            r"^tables has shape \(3, 2, 1\); it should have shape \(any, 2, 2\)$",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
