"""What A_σ costs: the time for n = 2,000 pairs and d = 200 features, in units of one dense n × n solve.

A_σ needs P^μΦ and P^πΦ (two products), one factorisation of I − γλP^μᵀ with d right-hand sides, and one d × n × d
product; an inverse is never formed. Counted in multiplications, (n³/3 + 3n²d + nd²) / (n³/3 + n²) is about 2 here.
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import least_seconds
from gqlib import _validate as check
from gqlib.prediction import PredictionProblem


def cost_of_a(n: int = 2000, d: int = 200, repeats: int = 3) -> dict[str, float]:
    """Seconds for one dense solve, for a new problem with its A_σ, for A_σ alone, and the two ratios.

    Examples
    --------
    >>> sorted(cost_of_a(20, 3, 1))
    ['A', 'A_ratio', 'problem_and_A', 'problem_and_A_ratio', 'solve']
    """
    n, d = check.integer("n", n, low=1), check.integer("d", d, low=1)
    rng = np.random.default_rng(0)
    p_mu, p_pi = rng.dirichlet(np.ones(n), size=(2, n))
    features, rewards, xi = rng.standard_normal((n, d)), rng.standard_normal(n), np.full(n, 1.0 / n)
    gamma, sigma, lam = 0.99, 0.5, 0.9
    system = np.eye(n) - gamma * lam * p_mu

    def build() -> PredictionProblem:
        return PredictionProblem(features, p_mu, p_pi, rewards, xi, gamma)

    ready = [
        build() for _ in range(repeats)
    ]  # trace weights are kept, so each timing needs a problem of its own
    solve = least_seconds(lambda: np.linalg.solve(system, rewards), repeats)
    alone = least_seconds(lambda: ready.pop().A(sigma, lam), repeats)
    both = least_seconds(lambda: build().A(sigma, lam), repeats)
    return {
        "solve": solve,
        "A": alone,
        "A_ratio": alone / solve,
        "problem_and_A": both,
        "problem_and_A_ratio": both / solve,
    }
