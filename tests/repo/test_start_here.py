"""The file to start from says what the library says: exact quantities, steps, and where they end."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import start_here
from gqlib.domains import two_state
from gqlib.learners import gq_step, semi_gradient_step


@pytest.mark.parametrize("sigma", [0.0, 0.25, 1.0])
def test_exact_quantities_are_those_of_the_library(sigma):
    problem = two_state(start_here.GAMMA, rewards=start_here.REWARDS).problem
    lam = start_here.LAM
    for found, wanted in zip(
        start_here.exact(sigma),
        (problem.A(sigma, lam), problem.b(sigma, lam), problem.M),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_steps_are_those_of_the_library():
    rng = np.random.default_rng(1)
    theta, omega, trace = rng.normal(size=(3, 2))
    options = {"sigma": start_here.SIGMA, "lam": start_here.LAM, "gamma": start_here.GAMMA}
    for now, reward, later, mean in start_here.walk(20, rng):
        seen = now, reward, later, mean
        found = start_here.gq_step(theta, omega, trace, seen)
        wanted = gq_step(theta, omega, trace, *seen, **options,
                         alpha=start_here.ALPHA, beta=start_here.BETA)  # fmt: skip
        np.testing.assert_allclose(found, wanted[:3], rtol=1e-12)
        wanted = semi_gradient_step(theta, trace, *seen, **options, alpha=start_here.ALPHA)
        np.testing.assert_allclose(
            start_here.q_sigma_step(theta, trace, seen), wanted[:2], rtol=1e-12
        )
        theta, omega, trace = found


@pytest.mark.slow
def test_one_ends_at_the_fixed_point_and_the_other_diverges():
    matrix, vector, _ = start_here.exact(start_here.SIGMA)
    learned, diverged = start_here.learn()
    np.testing.assert_allclose(learned, np.linalg.solve(matrix, -vector), atol=0.1)
    assert np.abs(diverged).max() > 1e6


def test_it_is_a_hundred_lines_and_needs_numpy_alone():
    text = Path(start_here.__file__).read_text(encoding="utf-8")
    assert text.count("\n") <= 100, "what does not fit into a hundred lines belongs into gqlib"
    code = "import start_here, sys; print('gqlib' in sys.modules or 'scipy' in sys.modules)"
    place = start_here.__file__.removesuffix("start_here.py")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
