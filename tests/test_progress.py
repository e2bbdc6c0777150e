"""How long a sweep will take, as a person would say it."""

import numpy as np
import pytest

from gqlib.stats._told import told_mean
from gqlib.sweeps.progress import duration


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0, "1 s"), (1.4, "1 s"), (99.4, "99 s"), (100, "2 min"), (149, "2 min"), (5969, "99 min"),
        (5970, "1 h 40 min"), (6000, "1 h 40 min"), (7200, "2 h 0 min"), (219_660, "2 d 13 h"),
        (172_740, "47 h 59 min"), (172_800, "2 d 0 h"), (180_000, "2 d 2 h"), (259_140, "2 d 23 h"),
    ],
)  # fmt: skip
def test_a_time_is_told_in_the_units_of_its_size(seconds, told):
    assert duration(seconds) == told


def test_a_mean_of_one_value_has_no_interval():
    assert told_mean("mean", [2.0]) == [("mean", "2")]
    assert told_mean("mean", []) == []
    assert [name for name, _ in told_mean("mean", [2.0, 3.0])] == ["mean", "its 95% interval"]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int64])
def test_a_mean_of_numbers_of_few_digits_is_taken_in_full(kind):
    """Squares of these are beyond what a float of 16 bits can hold, and those of others beyond one of 32."""
    wanted = [("mean", "4e+04"), ("its 95% interval", "2.013e+04 to 5.987e+04")]
    assert told_mean("mean", np.array([32000, 40000, 48000], dtype=kind)) == wanted
    told = told_mean("mean", np.array([1e30, 2e30, 3e30], dtype=np.float32))
    assert told == [("mean", "2e+30"), ("its 95% interval", "-4.841e+29 to 4.484e+30")]
