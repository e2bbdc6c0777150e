"""Root mean square errors and the bias–variance split, against numbers with a closed form."""

import numpy as np
import pytest

from gqlib.tabular.errors import bias_variance, bias_variance_interval, rms_error

EXACT = np.array([[0.0, 1.0], [2.0, 3.0]])


def test_rms_error_by_hand_and_its_ceiling():
    tables = np.stack([EXACT + 2.0, EXACT + np.array([[0, 0], [0, 4.0]]), EXACT * np.nan, EXACT + 1e200])
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
    estimates = [bias_variance(EXACT + 2.0 * rng.normal(size=(10, 2, 2)), EXACT)[0] for _ in range(2000)]
    assert abs(np.mean(estimates)) < 4 * np.std(estimates) / np.sqrt(len(estimates))


def test_interval_holds_its_estimate_and_shrinks_with_runs():
    rng = np.random.default_rng(2)
    tables = EXACT + 1.0 + rng.normal(size=(400, 2, 2))
    few, many = (bias_variance_interval(tables[:n], EXACT, np.random.default_rng(3)) for n in (25, 400))
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
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
