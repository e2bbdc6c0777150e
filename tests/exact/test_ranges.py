"""What every argument may be: refused by its name where it is of no use, and a number within its range.

Each public callable is called as `fuzz_calls` derives it, with one argument changed. Something that is a value of no
kind is refused, and the refusal begins with the name of the argument; `TAKEN` lists the arguments that may be anything.
A number has the range that `RANGES` gives to its name, the same in the whole library but for the functions that
`ELSEWHERE` lists: a closed end is accepted, an open one is not, and what is just beyond is refused by the name, too.
So is a NaN in an array, an array with an axis too many, a number larger than `check.LARGEST`, or a size that asks for
more than `check.ROOM`, except where a list below says otherwise. `REFUSED` adds what only the arguments together, or the
meaning of one, make wrong. A refusal says what the argument is, and after a semicolon what it should be.

There is one test for each module, so that `tools/mutants.py` can hold a module to its own.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fuzz_calls import UNSPOILT, call, keys, public
from refused import REFUSED

from gqlib._validate import LARGEST
from gqlib.domains.cart_pole import SMALLEST_GAMMA

# From where to where, with round brackets where the end itself is refused.
RANGES = {
    **dict.fromkeys(("lam", "gamma", "epsilon", "zeta", "probability", "astray"), "[0, 1]"),
    **dict.fromkeys(
        ("alpha", "beta", "eta", "kappa", "rho", "rho_next", "trace_weight", "coefficient"),
        "[0, inf)",
    ),
    **dict.fromkeys(
        ("noise", "sigma_noise", "theta0_noise", "psi", "ceiling", "shift"), "[0, inf)"
    ),
    **dict.fromkeys(("sigma_decay", "flush_below"), "(0, 1]"),
    **dict.fromkeys(("bound", "concentration", "tolerance"), "(0, inf)"),
    **dict.fromkeys(("confidence", "coverage", "level"), "(0, 1)"),
    **dict.fromkeys(
        ("seed", "first_run", "run", "purpose", "doublings", "step", "decimals", "remainder"),
        "[0, inf)",
    ),
    **dict.fromkeys(
        ("runs", "steps", "episodes", "max_steps", "every", "n", "kept", "episode_steps"),
        "[1, inf)",
    ),
    **dict.fromkeys(
        ("actions", "tilings", "size", "p", "over", "n_states", "n_actions", "n_features"),
        "[1, inf)",
    ),
    **dict.fromkeys(
        ("runs_per_task", "workers", "sizeval", "numtilings", "num_tilings", "length"), "[1, inf)"
    ),
    **dict.fromkeys(
        ("tiles_per_side", "cells", "denominator", "largest_denominator", "resamples"), "[1, inf)"
    ),
}
# Where a name means something else than it does elsewhere, and where a range ends at a size of the derived call.
ELSEWHERE: dict[tuple[str, str], tuple[str, ...]] = {
    ("sigma", "[0, 1]"): (
        *(
            "methods.catalogue.Method",
            "learners.textbook.TextbookProblem.of",
            "learners.textbook.trace_coefficients",
        ),
        *("control.agent.Agent", "control.gym.GymSetting", "control.setting.ControlSetting"),
        *(
            "control.grids.ControlGrid",
            "tabular.operator.mixed_fixed_point",
            "tabular.operator.mixture_policy",
        ),
        *("experiments.search_drawn_tiles.panel_row", "experiments.figure3_rules.best_cell"),
    ),
    ("sigma", "[0.3, 0.3]"): (  # the one that the problem was made for
        *(
            "learners.textbook.TextbookProblem.gamma_v",
            "learners.textbook.TextbookProblem.next_features",
        ),
    ),
    ("lam", "[0, 1)"): (  # at λ = 1 the noise of this problem is infinite
        *(
            "methods.limits.error_after",
            "methods.noise.increment_covariance",
            "methods.noise.trace_moments",
        ),
    ),
    ("gamma", "[0, 1)"): (  # what never ends has no value at 1
        *(
            "mdp.FiniteMDP",
            "domains.baird_star.baird_star",
            "domains.machine.machine",
            "domains.machine.machine_mdp",
        ),
        *("domains.random_problems.random_mdp", "domains.random_problems.random_problem"),
        *("timescales.rare_action_problem",),
    ),
    ("gamma", f"[{SMALLEST_GAMMA}, 1)"): (
        "domains.cart_pole.cart_pole",
        "domains.cart_pole.riccati_gain",
    ),
    ("alpha", "(0, inf)"): (
        *("control.agent.Agent", "control.gym.GymSetting", "control.setting.ControlSetting"),
        *("variance.stationary_moments",),
    ),
    ("alpha", "(-inf, inf)"): ("methods.steps.method_step",),
    ("beta", "[0, 1]"): ("methods.catalogue.Method",),
    ("epsilon", "(0, 1)"): ("timescales.rare_action_problem",),
    ("eta", "(0, inf)"): (
        *(
            "methods.limits.limits",
            "ridge.kappa_crossings",
            "ridge.kappa_windows",
            "timescales.search_rare_action",
        ),
    ),
    ("eta", "(-inf, inf)"): ("stability.joint", "timescales.pencil"),
    ("decay", "[0, 1]"): ("rounding.resolvent_error",),
    ("decay", "[0, 1)"): ("poisson.affine_poisson",),
    ("decay", "(0, 1]"): ("learners.sigma.Schedule",),
    ("distance", "[0, 2]"): ("tabular.operator.contraction_limit",),
    ("noise", "(-inf, inf)"): ("stability.sign_changes",),
    ("variance", "[0, inf)"): ("stats.intervals.student_interval",),
    ("first", "[0, inf)"): ("control.schedules.Anneal",),
    ("last", "[0, inf)"): ("control.schedules.Anneal",),
    ("position", "[-1.2, 0.5]"): ("domains.mountain_car.step",),
    ("velocity", "[-0.07, 0.07]"): ("domains.mountain_car.step",),
    ("action", "[0, 2]"): ("domains.mountain_car.step",),
    ("states", "[2, inf)"): ("domains.baird_star.baird_star",),
    ("states", "[4, inf)"): ("domains.boyan_chain.boyan_chain", "domains.boyan_chain.triangles"),
    ("count", "[0, inf)"): ("control.schedules.Anneal.__call__", "stats.cases.CaseNull.p_value"),
    ("t", "[0, 2]"): ("tabular.traces.lambda_return", "tabular.traces.td_error_return"),
    ("index", "[0, 3]"): ("poisson.Affine.__call__",),
    ("setting", "[0, 2]"): ("sweeps.results.recompute",),
    ("active", "[1, 8]"): ("engine.coders.Features",),
    ("tiles", "[1, inf)"): ("engine.environments.acrobot", "engine.environments.cart_pole"),
    ("points", "[1, inf)"): ("evaluation.curves.lstd_curve",),
    ("points", "[2, inf)"): ("stability.numerical_range",),
    ("steps", "[10, inf)"): (
        "evaluation.grids.GridSetting",
        "evaluation.setting.PredictionSetting",
    ),
    ("kept", "[2, inf)"): ("evaluation.grids.GridSetting",),
    ("i", "[0, 1]"): ("evaluation.grids.GridSetting.cell",),
    ("j", "[0, 0]"): ("evaluation.grids.GridSetting.cell",),
    ("k", "[0, 0]"): ("evaluation.grids.GridSetting.cell",),
    ("bits", "[1, 24]"): ("evaluation.grids.significant",),
    ("runs", "[2, inf)"): ("stats.intervals.student_interval",),
    ("runs", "[4, inf)"): ("stats.intervals.variance_interval",),
    ("resamples", "[2, inf)"): ("tabular.errors.bias_variance_interval",),
    ("repetitions", "[2, inf)"): ("stats.ends.repeat_procedure",),
    ("p", "(-inf, inf)"): ("stats.ends.cell",),  # one of the fields by which a setting is found
}
OWN = {f"{key}.{name}": text for (name, text), keys_of in ELSEWHERE.items() for key in keys_of}
# Arguments that may be anything, and why.
TAKEN: dict[str, str] = {
    "control.agent.Agent.learn.next_state": "told by the coder, to which it is a state",
    "control.setting.first_weights.seed": "used only where the first weights are drawn",
    "control.setting.first_weights.run": "used only where the first weights are drawn",
    "mdp.FiniteMDP.policy.name": "what the policy is called in a refusal",
    "tiles3.IHT.getindex.obj": "whatever can be a key",
    "tiles3.tile_hash.coordinates": "whatever has a text",
    "symbolic.exact.value": "refused by the name that is handed in with it",
    "symbolic.exact_matrix.value": "refused by the name that is handed in with it",
    "sweeps.store.canonical_json.value": "is called header or value in a refusal",
    "engine.coders.Features.indices.data": "handed to the user's function",
    "experiments.figure3.curve_setting.noise": "refused by the setting, as its sigma_noise",
}


# Arrays that may hold NaN: weights of runs that diverged, or the NaN of one is told together with another array.
HOLES = {
    *(
        f"evaluation.measures.{name}.theta"
        for name in ("empirical_mspbe", "exact_mspbe", "value_error")
    ),
    *(
        "evaluation.curves.late.values",
        "evaluation.grids.significant.values",
        "tabular.errors.rms_error.tables",
    ),
    *("stats.ends.paired_p_values.second",),
}
# Numbers of any size: the steps of learners, which refuse what overflows, matrices that are scaled, scores to compare.
STEP = re.compile(r"learners\.\w+\.(\w+_steps?|gq_step_lagged|SparseGQ\.step)\.\w+")
ANY_SIZE = {
    f"{function}.{name}"
    for function, names in {
        "control.agent.Agent.learn": ("reward",),
        "evaluation.curves.late": ("values",),
        "learners.ensemble.gq_ensemble": ("bound",),
        "learners.ensemble.semi_gradient_ensemble": ("bound",),
        "learners.relatives.n_step_q_sigma_return": ("sigma",),
        "methods.steps.method_step": ("alpha",),
        "poisson.Affine": ("constant", "slope"),
        "prediction.LinearPrediction.solve_M": ("vector",),
        "stability.bialternate": ("a",),
        "stability.joint": ("a", "m", "v"),
        "stability.pencil_roots": ("constant", "slope"),
        "stability.sign_changes": ("points", "noise"),
        "stats.cases.case_counts": ("score_at_0", "score_at_1", "scores"),
        "stats.comparisons.paired_difference": ("first", "second"),
        "stats.comparisons.paired_ratio": ("first", "second"),
        "stats.comparisons.performance_profile": ("thresholds", "scores"),
        "stats.comparisons.probability_of_improvement": ("first", "second"),
        "stats.ends.better_than_both": ("at_zero", "at_one", "middle"),
        "stats.ends.block_repetitions": ("scores",),
        "stats.ends.compare_with_ends": ("scores",),
        "stats.ends.confirm_winner": ("scores",),
        "stats.ends.paired_p_values": ("first", "second"),
        "stats.ends.repeat_procedure": ("scores",),
        "stats.ends.sign_p_values": ("first", "second"),
        "stats.ends.signed_rank_p_values": ("first", "second"),
        "stats.ends.verdict": ("dynamic", "at_zero", "at_one"),
        "stats.intervals.bootstrap_interval": ("sample",),
        "stats.intervals.bounded_interval": ("sample",),
        "stats.intervals.student_interval": ("mean", "variance"),
        "stats.intervals.tolerance_interval": ("sample",),
        "tabular.errors.rms_error": ("tables",),
    }.items()
    for name in names
}
# Sizes of arrays; those below are told by another of the sizes, or belong to a walk that is made step by step.
SIZES = {
    "runs",
    "size",
    "states",
    "length",
    "episode_steps",
    "n_states",
    "points",
    "resamples",
    "repetitions",
}
NOT_MADE = {
    *(
        "learners.ensemble.pair_walks.runs",
        "methods.task.Task.walks.runs",
        "evaluation.run.histories.runs",
    ),
}


# Arrays that may have an axis more: stacks of what the function takes, or refused by the name of another.
ANY_SHAPE = {
    f"{function}.{name}"
    for function, names in {
        "control.agent.Agent.learn": ("next_state",),
        "emphatic.followon_limit": ("ratios",),
        "emphatic.followon_second_moment": ("ratios",),
        "evaluation.grids.significant": ("values",),
        "evaluation.measures.empirical_mspbe": ("theta",),
        "evaluation.measures.exact_mspbe": ("theta",),
        "evaluation.measures.value_error": ("theta",),
        "learners.corrected.trace_variance_limit": ("ratios",),
        "learners.textbook.TracedProblem.of": ("c",),
        "learners.textbook.expected_trace": ("c",),
        "methods.steps.Weights.first": ("theta0",),
        "poisson.Affine": ("constant",),
        "stability.joint": ("a",),
        "stats.cases.case_counts": ("scores",),
        "stats.comparisons.paired_ratio": ("first", "second"),
        "stats.ends.better_than_both": ("at_zero", "at_one", "middle"),
        "stats.ends.paired_p_values": ("first", "second"),
        "stats.ends.sign_p_values": ("first", "second"),
        "stats.ends.signed_rank_p_values": ("first", "second"),
        "stats.ends.verdict": ("at_zero",),
        "stats.intervals.bounded_interval": ("sample",),
        "tabular.errors.bias_variance_interval": ("exact",),
        "tabular.errors.rms_error": ("tables",),
        "variance.second_moment_limit": ("c",),
        "variance.trace_first_moments": ("c",),
        "variance.trace_second_moments": ("c",),
    }.items()
    for name in names
}
# What a refusal looks like: the argument and what it is, then in small letters what it should be.
FORM = re.compile(
    r".*[;,:] (?![A-Z]{2}(?!ON)).*\b[a-z]{2,}\b.*([^A-Z\s]|[a-z]MDP|AᵀTD|\.P)", re.DOTALL
)


def refusal(key: str, **changes: Any) -> str:
    """Why a call is refused, after those changes; empty where it is not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = public()[key](**(call(key) | changes))
            if isinstance(result, Iterator):
                next(result, None)
        except ValueError as error:
            return str(error)
    return ""


def ends(text: str, whole: bool) -> Iterator[tuple[float, bool]]:
    """Numbers at the finite ends of a range and just beyond, and whether they are in it."""
    left, low, high, right = re.fullmatch(r"([\[(])(\S+), (\S+)([\])])", text).groups()
    for bracket, end, side in ((left, float(low), -math.inf), (right, float(high), math.inf)):
        if math.isfinite(end):
            yield (int(end) if whole else end), bracket in "[]"
            yield (
                (int(end) + (1 if side > 0 else -1) if whole else math.nextafter(end, side)),
                False,
            )


def spoilt(value: np.ndarray, last: float) -> np.ndarray:
    """The array with another number in its last place."""
    changed = value.copy()
    changed.flat[-1] = last
    return changed


def cases(place: str, name: str, value: Any) -> Iterator[tuple[Any, bool]]:
    """What to put in place of an argument, and whether its name may stay out of a refusal."""
    yield object(), place in TAKEN
    text, sized = (
        OWN.get(place, RANGES.get(name, "(-inf, inf)")),
        place in ANY_SIZE or STEP.fullmatch(place) is not None,
    )
    if place in TAKEN or isinstance(value, bool):
        return
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
        yield spoilt(value, np.nan), place in HOLES
        yield spoilt(value, 1.1 * LARGEST), sized
        yield value[None], place in ANY_SHAPE
    elif isinstance(value, int | float):
        yield from ends(text, isinstance(value, int))
    if isinstance(value, float):
        yield 1.1 * LARGEST, sized and "inf" in text
    elif isinstance(value, int) and name in SIZES:
        yield 2**62, place in NOT_MADE


MODULES = sorted({public()[key].__module__ for key in keys() if key not in UNSPOILT})


@pytest.mark.parametrize("module", MODULES)
def test_each_argument_is_held_to_its_range(module):
    for key in keys():
        if public()[key].__module__ != module or key in UNSPOILT:
            continue
        short = key.removeprefix("gqlib.")
        wrong = [(f"{name}", changes, False) for name, changes in REFUSED.get(short, [])]
        for name, value in call(key).items():
            spoils = cases(f"{short}.{name}", name, value) if name != "self" else ()
            wrong += [(f"{name} ", {name: changed}, taken) for changed, taken in spoils]
        for begins, changes, taken in wrong:
            found = refusal(key, **changes)
            assert found.startswith(begins) is not taken, (key, changes, found)
            assert not found or FORM.fullmatch(found), (key, found)


def test_the_tables_are_about_arguments_that_exist():
    found = {f"{key.removeprefix('gqlib.')}.{name}" for key in keys() for name in call(key)}
    places = [*OWN, *TAKEN, *HOLES, *ANY_SIZE, *ANY_SHAPE, *NOT_MADE]
    assert [place for place in places if place not in found] == []
    assert {f"gqlib.{key}" for key in REFUSED} <= set(keys())
