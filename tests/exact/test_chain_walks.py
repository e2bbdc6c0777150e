"""Walks step by step, on numbers that were written down: the finite chain with restarts, and the cart."""

import numpy as np
import pytest

from gqlib.domains.base import sample_chain


class Written:
    """A generator whose numbers are given."""

    def __init__(self, draws):
        self.draws = np.array(draws)

    def random(self, shape):
        assert shape == self.draws.shape
        return self.draws


# From state 0 with 1/2, 1/4 to states 0, 1, and 1/4 back to the start; the others go on surely.
CHAIN = np.array([[0.5, 0.25, 0.0], [0.0, 0.0, 1.0], [0.25, 0.25, 0.5]])
START_AT = np.array([0.0, 1.0, 3.0])  # weights, not probabilities


@pytest.mark.parametrize(
    ("draws", "path"),
    [
        ([[0.2, 0.9], [0.9, 0.1], [0.1, 0.9]], [1, 2, 0]),
        ([[0.3, 0.0], [0.3, 0.9], [0.6, 0.1]], [2, 1, 2]),
        # A number on the border belongs to what follows it.
        ([[0.25, 0.0], [0.25, 0.9], [0.5, 0.1]], [2, 1, 2]),
        # State 0, and its missing quarter: the start is drawn by the second number of that step.
        ([[0.9, 0.9], [0.1, 0.9], [0.8, 0.2]], [2, 0, 1]),
        ([[0.9, 0.1], [0.1, 0.1], [0.8, 0.3]], [2, 0, 2]),
        ([[0.9, 0.1], [0.1, 0.1], [0.74, 0.3]], [2, 0, 1]),
    ],
)
def test_a_path_follows_its_numbers(draws, path):
    assert sample_chain(CHAIN, START_AT, len(draws) - 1, Written(draws)).tolist() == path


def test_rounding_in_a_row_is_no_restart():
    below = np.nextafter(1.0, 0.0)
    chain = np.array([[0.0, 1.0 - 1e-12], [1.0, 0.0]])
    assert sample_chain(
        chain, np.array([1.0, 0.0]), 1, Written([[0.0, 0.0], [below, 0.0]])
    ).tolist() == [0, 1]
