"""How much faster compiled prediction runs are than the reference: the same setting, the same data, one core."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks.timing import least_seconds
from gqlib import _validate as check
from gqlib.evaluation import PredictionSetting, run_prediction

SETTINGS = {
    "Baird": PredictionSetting(
        "baird_star", options=(("reading", "stacked"),), alpha=0.01, lam=0.9, sigma_noise=0.01
    ),
    "Boyan": PredictionSetting(
        "boyan_chain",
        options=(("reading", "expected"),),
        alpha=0.1,
        lam=0.9,
        sigma_noise=0.01,
        steps=2000,
    ),
    "Cart-pole": PredictionSetting(
        "cart_pole",
        options=(("reading", "expected"),),
        alpha=0.01,
        lam=0.9,
        sigma_noise=0.01,
        steps=10_000,
    ),
}
# The reference is timed on only this many steps; its cost per step does not depend on their number.
REFERENCE_STEPS = 1000


def prediction_ratios(repeats: int = 5) -> dict[str, dict[str, float]]:
    """Nanoseconds per step of reference and compiled runs (walk, σ and learning), and their ratio, by domain.

    Examples
    --------
    >>> sorted(prediction_ratios(1)["Boyan"])
    ['compiled', 'ratio', 'reference']
    """
    repeats = check.integer("repeats", repeats, low=1)
    found = {}
    for name, setting in SETTINGS.items():
        short = replace(setting, steps=REFERENCE_STEPS)
        run_prediction(setting, 1, 0)  # compiles, or loads what was compiled before
        compiled = least_seconds(partial(run_prediction, setting, 20, 0), repeats) / (
            20 * setting.steps
        )
        slow = (
            least_seconds(partial(run_prediction, short, 1, 0, engine="reference"), repeats)
            / short.steps
        )
        found[name] = {
            "reference": 1e9 * slow,
            "compiled": 1e9 * compiled,
            "ratio": slow / compiled,
        }
    return found
