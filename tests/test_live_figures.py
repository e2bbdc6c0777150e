"""The live figures: what the page evaluates is what the library computes, at every position of the sliders.

A JavaScript engine loads the book's one script and the script of each figure, as a page does. References are computed
without the formulas of `kit.live_figures`: by `gqlib`, by scipy, or by hand.
"""

import itertools
import json
import math
import random
import re
import sys
from functools import cache

import IPython.display
import numpy as np
import pytest
import quickjs
from chromium import ROOT, THEMES, needs_browser, numbers, opened_page
from scipy.linalg import expm

from gqlib import PredictionProblem, tabular
from gqlib.domains import two_state
from gqlib.domains.episodes import Episode
from gqlib.domains.machine import BROKEN, CREW, PLAN, REPAIR, RUN, WORN, machine_mdp
from gqlib.experiments.printed import PAPER_TABLE_1
from gqlib.experiments.today import ETAS, problem
from gqlib.learners import gq_step, gq_step_lagged, semi_gradient_step
from gqlib.learners.corrected import CorrectedProblem, variant_tables
from gqlib.learners.ensemble import gq_ensemble, pair_walks
from gqlib.methods import METHODS, limits
from gqlib.stability import joint_matrix, spectral_abscissa
from gqlib.stats import case_null
from gqlib.sweeps.results import load_results
from kit import examples, live
from kit import live_figures as figures
from kit.backups import draw_credit

pytestmark = pytest.mark.slow

SCRIPT = ROOT / "book" / "_static" / "live_figures.js"
NAMES = tuple(figures.FIGURES)


@cache
def made(name):
    return figures.FIGURES[name]()


@cache
def page():
    """A JavaScript context that has loaded the book's script; figures are added when they are asked for."""
    context = quickjs.Context()
    context.eval("var window = globalThis, sheets = {};")
    context.eval(SCRIPT.read_text(encoding="utf-8"))
    return context


@cache
def loaded(name):
    page().eval(made(name).script())
    page().eval(f"sheets[{json.dumps(name)}] = gqSheet.sheet(gqFigures[{json.dumps(name)}])")
    return f"sheets[{json.dumps(name)}]"


def run(code):
    """The value of an expression; what is no finite number is None."""
    return json.loads(page().eval(f"JSON.stringify({code})"))


def call(function, *arguments):
    return run(f"gqSheet.{function}({', '.join(map(json.dumps, arguments))})")


def first_setting(name):
    figure = made(name)
    at = {one.name: 10.0**one.value if one.log else one.value for one in figure.sliders}
    at |= {"choice": figure.choices[0]} if figure.choices else {}
    return at | ({"pick": figure.pick} if figure.pick else {})


def cell(name, wanted, **at):
    """A cell of a figure; what is not given is as at first, and `lam` is the slider called lambda."""
    if "lam" in at:
        at["lambda"] = at.pop("lam")
    return run(f"{loaded(name)}.cell({json.dumps(wanted)}, {json.dumps(first_setting(name) | at)})")


def near(found, expected, rtol=1e-9):
    expected = np.asarray(expected, dtype=float)
    np.testing.assert_allclose(
        np.asarray(found, dtype=float),
        expected,
        rtol=rtol,
        atol=rtol * max(1.0, np.abs(expected).max()),
    )


def grid(**values):
    return [dict(zip(values, at, strict=True)) for at in itertools.product(*values.values())]


# ---------------------------------------------------------------- numbers, figure by figure


@pytest.mark.parametrize("choice", two_state_readings := ["continuing", "bootstrap", "terminal"])
def test_two_states(choice):
    for at in grid(sigma=(0.0, 0.3, 1.0), lam=(0.0, 0.5, 0.99, 1.0), gamma=(0.0, 0.5, 0.9, 0.99)):
        matrix = two_state(at["gamma"], choice).problem.A(at["sigma"], at["lam"])
        near(cell("two-state", "A", choice=choice, **at), matrix.ravel())
        near(
            cell("two-state", "eigenvalues", choice=choice, **at),
            np.sort(np.linalg.eigvals(matrix).real)[::-1],
        )
        near(
            cell("two-state", "weights", choice=choice, t=3.0, **at),
            expm(3.0 * matrix) @ [2.0, 0.0],
        )
        near(cell("two-state", "end", choice=choice, **at), expm(20.0 * matrix) @ [2.0, 0.0])


def library_bias_and_variance(sigma, lam, gamma):
    """bias² and variance from the float64 library, pair by pair: no averaging shortcut, no symbols."""
    mdp = examples.small_mdp(gamma)
    mu, pi = np.array(examples.COIN), np.array(examples.KEEP)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(4))
    value = mdp.q((1 - sigma) * pi + sigma * mu)
    next_pair = (sigma * value + (1 - sigma) * (pi * value).sum(axis=1, keepdims=True)).ravel()
    error = gamma * (next_pair[None, :] - (problem.p_mu @ next_pair)[:, None])
    one_step = (problem.p_mu * error**2).sum(axis=1)
    whole = np.linalg.solve(np.eye(4) - (gamma * lam) ** 2 * problem.p_mu, one_step)
    return problem.xi @ (value - mdp.q(pi)).ravel() ** 2, problem.xi @ whole, value.ravel()


def test_bias_and_variance():
    for at in grid(sigma=(0.0, 0.3, 1.0), lam=(0.0, 0.5, 1.0), gamma=(0.0, 0.5, 0.99)):
        bias, variance, value = library_bias_and_variance(**at)
        near(cell("bias-variance", "moments", **at), [bias, variance, *value])
        near(
            cell("bias-variance", "errors", n=7, **at),
            np.sqrt([bias + variance / 7, bias, variance / 7]),
        )
    total = [sum(library_bias_and_variance(s, 0.0, 0.9)[:2]) for s in np.linspace(0.0, 1.0, 101)]
    assert cell("bias-variance", "best", n=1)[0] == pytest.approx(np.argmin(total) / 100)


def test_the_variance_of_sampled_returns_is_the_formulas():
    # 20 steps of trace, γλ = 0.45: what is cut off is below 1e-6; 4 standard errors of a variance.
    rng = np.random.default_rng(8)
    sigma, lam, gamma, runs = 0.5, 0.5, 0.9, 40_000
    mdp = examples.small_mdp(gamma)
    mu, pi = np.array(examples.COIN), np.array(examples.KEEP)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(4))
    value = mdp.q((1 - sigma) * pi + sigma * mu)
    cumulative = problem.p_mu.cumsum(axis=1)
    pair = rng.choice(4, size=runs, p=problem.xi)
    errors = np.zeros(runs)
    for step in range(20):
        after = (rng.random(runs)[:, None] > cumulative[pair]).sum(axis=1)
        target = sigma * value.ravel()[after] + (1 - sigma) * value[after // 2, 0]
        errors += (gamma * lam) ** step * (
            mdp.rewards.ravel()[pair] + gamma * target - value.ravel()[pair]
        )
        pair = after
    squares = errors**2
    expected = library_bias_and_variance(sigma, lam, gamma)[1]
    assert abs(squares.mean() - expected) < 4 * squares.std() / np.sqrt(runs)


def test_time_scales():
    compared = 0
    for at in grid(
        sigma=(0.0, 0.3, 1.0),
        lam=(0.0, 0.5, 0.99),
        gamma=(0.0, 0.9, 0.99),
        eta=(0.001, 0.1, 1.0, 10.0),
    ):
        joint = joint_matrix(two_state(at["gamma"]).problem, at["sigma"], at["lam"], at["eta"])
        near(cell("time-scales", "J", **at), joint.ravel())
        near(cell("time-scales", "polynomial", **at), np.poly(joint)[1:])
        near(cell("time-scales", "weights", t=2.0, **at), expm(2.0 * joint) @ [2.0, 0.0, 0.0, 0.0])
        expected = np.linalg.eigvals(joint)
        if np.abs(expected[:, None] - expected)[np.triu_indices(4, 1)].min() < 1e-3:
            continue  # close eigenvalues are ill-conditioned: digits of either side mean little there
        found = np.array([complex(*pair) for pair in cell("time-scales", "eigenvalues", **at)])
        assert np.abs(found[:, None] - expected).min(axis=0).max() < 1e-9 * max(
            1.0, np.abs(expected).max()
        )
        near(cell("time-scales", "largest", **at)[0], spectral_abscissa(joint))
        compared += 1
    assert compared > 50


@pytest.mark.parametrize("choice", examples.CASES)
def test_the_repair(choice):
    """Its table is that of the library at every σ and λ, and what it makes of the table is what the chapter does."""
    assert np.allclose(examples.SIGMAS, np.arange(0, 1.001, 0.05))
    for at in grid(sigma=(0.0, 0.35, 1.0), lam=(0.0, 0.3, 0.9)):
        pairs = [
            examples.errors(choice, variant, at["sigma"], at["lam"])
            for variant in ("corrected", "paper")
        ]
        near(cell("repair", "errors", choice=choice, **at), np.ravel(pairs), rtol=2e-5)
        totals = [math.sqrt(bias + 0.01 * variance) for bias, variance in pairs]
        near(cell("repair", "total", choice=choice, alpha=0.01, **at)[:2], totals, rtol=2e-5)
        quiet = examples.errors(choice, "corrected", 0.0, at["lam"])[1]
        near(
            cell("repair", "noise", choice=choice, **at),
            [math.sqrt(pairs[0][1] / quiet)],
            rtol=2e-5,
        )
    for lam in (0.0, 0.9):
        curve = [examples.errors(choice, "corrected", s, lam)[1] for s in np.linspace(0, 1, 101)]
        sigma, noise, saved, top = cell("repair", "least", choice=choice, lam=lam)
        assert abs(sigma - np.argmin(curve) / 100) <= 0.005
        least = examples.errors(choice, "corrected", sigma, lam)[1]
        assert noise == pytest.approx(math.sqrt(least / curve[0]), rel=1e-4)
        assert saved == pytest.approx(100 * (1 - least / curve[0]), abs=0.1)
        assert top == pytest.approx(
            min(2 if sigma > 0 else math.inf, 1.1 * math.sqrt(max(curve) / curve[0])), rel=1e-3
        )


def test_every_lambda_of_the_repair_has_a_table_of_its_own():
    both, parabolas = figures.repair_tables()
    for tables in (both, parabolas):
        assert all(
            len({json.dumps(one) for one in tables[name]}) == len(examples.LAMS)
            for name in examples.CASES
        )
    assert all(
        row[0] == 0.0 for rows in both[examples.CASES[0]] for row in rows
    )  # the curve lies on zero


@pytest.mark.parametrize("sigma", [0.0, 0.25, 1.0])
def test_in_a_table_the_papers_method_learns_the_mixture_of_the_policies(sigma):
    """Whatever λ: the bias is how far the values of (1−σ)π + σμ are from those of π, squared and weighted by visits."""
    case = examples.case(examples.CASES[0])
    away = case.mdp.q((1 - sigma) * case.pi + sigma * case.mu) - case.mdp.q(case.pi)
    for lam in (0.0, 0.6):
        found = examples.errors(examples.CASES[0], "paper", sigma, lam)[0]
        assert found == pytest.approx(case.problem.xi @ away.ravel() ** 2, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("variant", ["paper", "corrected"])
def test_runs_have_this_error(variant):
    """The table of the machine, σ = ½: mean squared error of sampled runs at a small step size."""
    case, alpha, sigma, lam = examples.case(examples.CASES[0]), 0.005, 0.5, 0.3
    problem = case.problem
    mean = CorrectedProblem.of(problem) if variant == "corrected" else problem
    tables = variant_tables(case.mdp, case.mu, case.pi, problem.features, sigma, variant)
    walks = pair_walks(problem, 120, 6000, np.random.default_rng(5))
    rates = {"lam": lam, "alpha": alpha, "beta": examples.ETA * alpha, "every": 100}
    path, diverged = gq_ensemble(problem, tables, walks, mean.fixed_point(sigma, lam), **rates)
    assert not diverged.any()
    squares = ((path[30:] - case.mdp.q(case.pi).ravel()) ** 2 @ problem.xi).mean(axis=0)
    bias, variance = examples.errors(examples.CASES[0], variant, sigma, lam)
    error_of_mean = squares.std(ddof=1) / np.sqrt(len(squares))
    assert (
        abs(squares.mean() - bias - alpha * variance) < 4 * error_of_mean + 0.05 * alpha * variance
    )
    assert error_of_mean < 0.1 * (bias + alpha * variance)


@pytest.mark.parametrize("choice", examples.BOWLS)
def test_mspbe(choice):
    start = np.array([2.0, 0.0] if choice == "two states" else [0.0, 0.0])
    for at in grid(sigma=(0.0, 0.4, 1.0), lam=(0.0, 0.9, 1.0), gamma=(0.5, 0.99)):
        problem = examples.bowl_problem(choice, at["gamma"])
        here = at["sigma"], at["lam"]
        a, rest = problem.A(*here), problem.fixed_point(*here)
        downhill = -a.T @ np.linalg.solve(problem.M, a)
        near(
            cell("mspbe", "system", choice=choice, **at),
            [*a.ravel(), *problem.b(*here), *problem.M.ravel()],
            rtol=1e-8,
        )
        near(cell("mspbe", "rest", choice=choice, **at), rest, rtol=1e-7)
        top = problem.mspbe(start, *here)
        near(cell("mspbe", "top", choice=choice, **at), [top])
        for way, matrix in (("semi", a), ("down", downhill)):
            near(cell("mspbe", way, choice=choice, **at), matrix.ravel(), rtol=1e-7)
            place = rest + expm(1.7 * matrix) @ (start - rest)
            x, y, share = cell("mspbe", f"{way}_point", choice=choice, t=1.7, **at)
            near([x, y], place, rtol=1e-7)
            near(share, problem.mspbe(place, *here) / top, rtol=1e-6)
            slowest = np.linalg.eigvals(matrix).real.max()
            near(cell("mspbe", f"{way}_eigenvalues", choice=choice, **at)[0][0], slowest, rtol=1e-6)
        if top > 1e-12:
            for k, angle in ((0, 0.3), (5, 4.0)):
                point = cell("mspbe", "ring", choice=choice, k=k, angle=angle, **at)
                near(problem.mspbe(point, *here) / top, 4.0 ** (2 - k), rtol=1e-5)
    # Down means minus the gradient, found here by differences of the library's objective.
    theta = np.array([0.3, -0.8])
    slope = [
        (problem.mspbe(theta + h, *here) - problem.mspbe(theta - h, *here)) / 2e-4
        for h in 1e-4 * np.eye(2)
    ]
    near(downhill @ (theta - rest), -np.array(slope), rtol=1e-4)


def test_downhill_never_diverges_and_two_presets_do():
    unstable = 0
    for preset in made("mspbe").presets:
        at = {"choice": preset.choice} | preset.values
        assert cell("mspbe", "down_eigenvalues", **at)[0][0] < 0
        unstable += cell("mspbe", "semi_eigenvalues", **at)[0][0] > 0
    assert unstable == 2


@pytest.mark.parametrize(
    ("sigma", "run_", "repair", "alpha"),
    [(0.0, 20, 40, 0.1), (1.0, 20, 40, 0.5), (0.3, 7, 55, 1.0)],
)
def test_one_update(sigma, run_, repair, alpha):
    q = np.zeros((3, 2))
    q[WORN, RUN], q[BROKEN, RUN], q[BROKEN, REPAIR] = 30.0, run_, repair
    line = Episode([WORN, BROKEN], [RUN, RUN], [2.0], ended=False)
    after = tabular.q_sigma(q, line, PLAN, sigma=sigma, gamma=0.95, alpha=alpha)
    at = {"sigma": sigma, "run": run_, "repair": repair, "alpha": alpha}
    target, error, guess, *weights = cell("one-update", "update", **at)
    assert guess == pytest.approx(after[WORN, RUN])
    assert target == pytest.approx(2 + 0.95 * (sigma * run_ + (1 - sigma) * repair))
    assert (error, weights) == (pytest.approx(target - 30), [sigma, 1 - sigma])
    middle, ends = np.array([0.5, 0.5]), {"run_branch": (0.2, 0.1), "repair_branch": (0.8, 0.1)}
    for weight, (branch, end) in zip(weights, ends.items(), strict=True):
        near(cell("one-update", branch, **at)[0], middle + weight * (np.array(end) - middle))


def test_credit():
    from matplotlib.figure import Figure

    for lam, gamma in itertools.product((0.0, 0.5, 0.99, 1.0), (0.5, 0.99, 1.0)):
        errors = [3 + 4 * gamma - 10, 2 + 6 * gamma - 4, -2 + 10 * gamma - 6]
        trace, paid = np.zeros(3), np.zeros(3)
        for day, delta in enumerate(errors):
            trace *= gamma * lam
            trace[day] += 1
            paid += delta * trace
        near(cell("credit", "errors", lam=lam, gamma=gamma), errors)
        near(cell("credit", "paid", lam=lam, gamma=gamma), paid)
        near(draw_credit(Figure().subplots(), ["a", "b", "c", "d"], errors, gamma * lam), paid)
        assert [row[1] for row in cell("credit", "fading", lam=lam, gamma=gamma)] == pytest.approx(
            [(gamma * lam) ** k for k in range(25)]
        )
        bars = cell("credit", "bars", lam=lam, gamma=gamma)
        near(
            [bar for bar in bars if bar[0] is not None],
            [x for j in range(3) for x in ((j, 0), (j, paid[j]))],
        )
    assert cell("credit", "paid", lam=0.5, gamma=1.0) == [-0.5, 5, 2]  # by hand, in the chapter
    assert cell("credit", "reach", lam=0.5, gamma=1.0) == [2]


@pytest.mark.parametrize(("n", "cells"), [(1, 1), (9, 2), (49, 1), (49, 6), (99, 6)])
def test_chance(n, cells):
    null = case_null(n, cells)
    share, law, above = np.array(cell("chance", "law", n=n, cells=cells)).T
    near(share, 100 * np.arange(n * cells + 1) / (n * cells))
    np.testing.assert_allclose(law, null.probabilities, rtol=1e-9, atol=1e-18)
    for seen in (0, n * cells // 3, n * cells):
        assert above[seen] == pytest.approx(null.p_value(seen), rel=1e-9, abs=1e-15)
        found = cell("chance", "count", n=n, cells=cells, share=100 * seen / (n * cells))
        near(found, [seen, n * cells, null.mean, 100 * null.share_sd])


def test_a_share_becomes_the_papers_count():
    assert cell("chance", "count", share=PAPER_TABLE_1["I"], cells=6, n=49)[:2] == [124, 294]


READINGS = [
    (0.5, 0.99, 0.99, 0.01, 0.5),
    (0.25, 0.5, 0.99, 0.01, 0.5),
    (0.0, 0.9, 0.95, 0.03, 3.0),
    (1.0, 0.0, 0.5, 0.1, 0.1),
]


def by_the_library(name, kind, sigma, lam, gamma, alpha, eta):
    """θ and ω before the first line and after each, with the library's steps."""
    sizes = {"sigma": sigma, "lam": lam, "gamma": gamma, "alpha": alpha}
    theta, omega, trace, v = (
        np.array(examples.STARTS[name]),
        np.zeros(2),
        np.zeros(2),
        np.zeros((2, 2)),
    )
    rows = [[*theta, *omega]]
    for row in examples.logbook(name):
        line = row[:2], row[2], row[3:5], row[5:]
        if kind == "same":
            theta, omega, trace, _ = gq_step(theta, omega, trace, *line, beta=eta * alpha, **sizes)
        elif kind == "late":
            theta, omega, trace, v, _ = gq_step_lagged(
                theta, omega, trace, v, *line, beta=eta * alpha, **sizes
            )
        else:
            theta, trace, _ = semi_gradient_step(theta, trace, *line, **sizes)
        rows.append([*theta, *omega])
    return np.array(rows)


@pytest.mark.parametrize("choice", examples.LOGBOOKS)
@pytest.mark.parametrize("setting", READINGS)
def test_two_readings(choice, setting):
    at = dict(zip(("sigma", "lam", "gamma", "alpha", "eta"), setting, strict=True))
    course = np.array(cell("two-readings", "course", choice=choice, **at), dtype=float)
    wanted = {kind: by_the_library(choice, kind, **at) for kind in ("same", "late", "none")}
    for column, (kind, rows) in zip((1, 5, 9), wanted.items(), strict=True):
        shown = 2 if kind == "none" else 4
        np.testing.assert_allclose(
            course[:, column : column + shown],
            rows[:, :shown],
            rtol=1e-9,
            atol=1e-9 * np.abs(rows).max(),
        )
    apart = np.linalg.norm(wanted["same"][:, :2] - wanted["late"][:, :2], axis=1)
    np.testing.assert_allclose(
        course[:, 17], apart, rtol=1e-6, atol=1e-9 * np.abs(wanted["same"]).max()
    )
    assert apart[1] == 0.0 < apart[2]  # they part from the second correction on
    assert cell("two-readings", "end", choice=choice, **at) == pytest.approx(course[-1].tolist())


def test_recorded_values_are_met():
    recorded = json.loads(
        (ROOT / "tests" / "oracles" / "gq_traces.json").read_text(encoding="utf-8")
    )
    lines = recorded["gq_traces"]["trajectory"]
    assert "".join(one["a"][0] for one in lines) + lines[-1]["a_next"][0] == examples.WALK
    np.testing.assert_array_equal(examples.logbook("two states")[:, 2], [one["r"] for one in lines])
    end = cell(
        "two-readings",
        "end",
        choice="two states",
        sigma=0.5,
        lam=0.99,
        gamma=0.99,
        alpha=0.01,
        eta=0.5,
    )
    near(end[1:5], [1.737829662617, -1.823386961563, -0.842661101236, -0.345216235677], rtol=1e-11)


def test_the_logbooks_are_of_the_walk_and_of_the_machine():
    state = 1
    for row, action in zip(examples.logbook("two states"), examples.WALK[:-1], strict=True):
        assert row[:2].tolist() == ([state, 0.0] if action == "r" else [0.0, state])
        assert row[2] == (1.0 if action == "r" else -0.5)
        state = 2 if action == "r" else 1
        assert row[5:].tolist() == [state, 0.0]
    log, mdp = examples.logbook("machine"), machine_mdp()
    assert log.shape == (60, 7)
    np.testing.assert_array_equal(
        log[1:, :2], log[:-1, 3:5]
    )  # what comes next is the next line's own
    assert all(row[2] in mdp.rewards[:, int(row[1])] for row in log)
    new = {(0, 3.0), (1, -1.0)}
    for row, after in itertools.pairwise(log):  # the plan runs a machine if and only if it is new
        assert row[5:].tolist() == ([1.0, 0.0] if (int(after[1]), after[2]) in new else [0.0, 1.0])


def by_lines(sigma, gamma):
    """A and b at λ = 0 from the tables of the machine, line by line of the logbook; no matrix of the library."""
    mdp = machine_mdp(gamma)
    chain = np.array([[CREW[s] @ mdp.transitions[s, :, t] for t in range(3)] for s in range(3)])
    law = np.linalg.matrix_power(chain, 400)[0]
    matrix, vector = np.zeros((2, 2)), np.zeros(2)
    for s, a, t, c in np.ndindex(3, 2, 3, 2):
        weight = law[s] * CREW[s, a] * mdp.transitions[s, a, t] * CREW[t, c]
        matrix[a] += weight * (
            gamma * (sigma * np.eye(2)[c] + (1 - sigma) * PLAN[t]) - np.eye(2)[a]
        )
        vector[a] += weight * mdp.rewards[s, a]
    return matrix, vector


def test_mean_field():
    for at in grid(sigma=(0.0, 0.4, 1.0), gamma=(0.5, 0.95)):
        matrix, vector = by_lines(**at)
        near(cell("mean-field", "A", lam=0.0, **at), matrix.ravel())
        near(cell("mean-field", "b", lam=0.0, **at), vector)
    for at in grid(sigma=(0.0, 0.3, 1.0), lam=(0.0, 0.9, 1.0), gamma=(0.5, 0.95)):
        problem = examples.machine_weights("two weights", at["gamma"])
        here = at["sigma"], at["lam"]
        matrix, rest = problem.A(*here), problem.fixed_point(*here)
        near(cell("mean-field", "A", **at), matrix.ravel())
        near(cell("mean-field", "b", **at), problem.b(*here))
        near(cell("mean-field", "rest", **at), rest)
        near(cell("mean-field", "step", x=4.0, y=-3.0, **at), problem.td_step([4.0, -3.0], *here))
        near(cell("mean-field", "weights", t=7.0, **at)[:2], rest - expm(7.0 * matrix) @ rest)
        near(
            np.array(cell("mean-field", "A_eigenvalues", **at))[0, 0],
            np.linalg.eigvals(matrix).real.max(),
            rtol=1e-7,
        )
    assert "sigma" not in made("mean-field").inputs("b")
    assert "sigma" in made("mean-field").inputs("A")


def mixture_values(sigma, gamma):
    return machine_mdp(gamma).q(PLAN + sigma * (CREW - PLAN)).ravel()


@pytest.mark.parametrize("choice", examples.WEIGHTS)
def test_resting_point(choice):
    for at in grid(sigma=(0.0, 0.3, 1.0), lam=(0.0, 0.9, 1.0), gamma=(0.5, 0.95)):
        problem = examples.machine_weights(choice, at["gamma"])
        held = problem.features @ problem.fixed_point(at["sigma"], at["lam"])
        near(cell("resting-point", "held", choice=choice, **at), held, rtol=1e-8)
        abscissa = np.linalg.eigvals(problem.A(at["sigma"], at["lam"])).real.max()
        assert cell("resting-point", "A_eigenvalues", choice=choice, **at)[0][0] == pytest.approx(
            abscissa, rel=1e-6, abs=1e-9
        )
        plan, mixture = mixture_values(0.0, at["gamma"]), mixture_values(at["sigma"], at["gamma"])
        gaps = (held - plan, mixture - plan, held - mixture)
        near(
            cell("resting-point", "errors", choice=choice, **at),
            [math.sqrt(problem.xi @ gap**2) for gap in gaps],
            rtol=1e-7,
        )
        near(cell("resting-point", "crew", **at), mixture_values(1.0, at["gamma"]))


def test_a_table_holds_the_values_of_the_mixture_found_by_iteration():
    for sigma, gamma in ((0.0, 0.95), (0.3, 0.7), (1.0, 0.5)):
        mdp, policy, q = machine_mdp(gamma), PLAN + sigma * (CREW - PLAN), np.zeros((3, 2))
        for _ in range(2000):  # Bellman's equation, by iteration: no matrix is inverted
            q = mdp.rewards + gamma * mdp.transitions @ (policy * q).sum(axis=1)
        near(cell("resting-point", "values", sigma=sigma, gamma=gamma), q.ravel())


def test_problems_are_what_their_names_say():
    runs, repairs = np.tile([1.0, 0.0], 3), np.tile([0.0, 1.0], 3)
    wanted = {
        "table": np.eye(6),
        "three weights": np.stack(
            [np.ones(6), repairs, np.repeat([0.0, 0.5, 1.0], 2) * runs], axis=1
        ),
        "two weights": np.stack([runs, repairs], axis=1),
        "one weight": 1.0 + PLAN.reshape(6, 1),
    }
    for name, features in wanted.items():
        np.testing.assert_array_equal(examples.machine_weights(name).features, features)
    first, second = (examples.bowl_problem(name, 0.8) for name in examples.BOWLS[:2])
    np.testing.assert_array_equal(second.features, first.features @ [[1.0, 0.0], [1.0, 1.0]])
    assert first.gamma == 0.8
    np.testing.assert_allclose(
        examples.bowl_problem("two states", 0.8).A(0.2, 0.3), two_state(0.8).problem.A(0.2, 0.3)
    )
    mdp = examples.small_mdp(0.25)
    assert mdp.transitions.tolist() == [[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]]
    assert (mdp.rewards.tolist(), mdp.gamma) == ([[0.0, 1.0], [1.0, 0.0]], 0.25)
    for call_, name in (
        (examples.machine_weights, "weights"),
        (examples.bowl_problem, "name"),
        (examples.logbook, "name"),
        (examples.case, "name"),
    ):
        with pytest.raises(ValueError, match=f"^{name} is 'four'"):
            call_("four")
    with pytest.raises(ValueError, match=r"^variant "):
        examples.errors(examples.CASES[0], "weighted", 0.5, 0.5)


@cache
def maps():
    return load_results(ROOT / "results" / "today.npz")


# One of each kind: a gradient method, a ridge, an emphasis, a cut trace, a sum of two samples; states and pairs.
SAMPLE = [("star", "TDC(λ)", 0.4), ("two-state", "TDRC(λ)", 0.0), ("star", "ETD(λ)", 0.9), ("star", "AᵀTD", 0.0),
          ("Collision", "V-trace(λ)", 0.8), ("machine, pairs", "GQ(½, λ) textbook", 0.9)]  # fmt: skip


@pytest.mark.parametrize(("choice", "pick", "lam"), SAMPLE)
def test_the_map_holds_what_the_library_computes(choice, pick, lam):
    for eta in ETAS:
        given = limits(problem(choice), METHODS[pick], lam, eta, noise=False)
        rows = cell("method-map", "picked", choice=choice, pick=pick, eta=eta)
        (row,) = (row for row in rows if row[0] == lam)
        assert (row[2] is not None) == (given.abscissa < 0.0)
        assert row[1] == pytest.approx(given.error, rel=6e-4, abs=1e-8)


def test_every_point_of_the_file_is_on_the_map():
    errors = maps()["error"].values[:, 0]  # do not depend on the ratio
    np.testing.assert_array_equal(errors, np.repeat(errors[:, :1], len(ETAS), axis=1))
    drawn, _, counts, everywhere = figures.map_tables(maps())
    rows = [
        row
        for levels in drawn.values()
        for level in levels
        for found in level.values()
        for row in found
    ]
    assert len(rows) == maps().sizes["setting"] * len(ETAS)
    stable = (maps()["abscissa"].values < 0.0).sum()
    assert sum(row[2] == row[2] for row in rows) == stable
    assert (
        sum(one[0] for levels in counts.values() for level in levels for one in level.values())
        == stable
    )
    for where, levels in counts.items():
        for level, (always, of) in zip(levels, everywhere[where], strict=True):
            assert (always, of) == (
                sum(one[0] == one[1] for one in level.values()),
                len(drawn[where][0]),
            )


def test_an_abscissa_of_zero_is_not_stable():
    assert figures.count([[0.0, 3.0, float("nan")], [0.5, 2.0, 2.0], [1.0, 1.0, 1.0]]) == [
        2,
        3,
        1.0,
    ]
    maps_ = maps().isel(setting=[0]).copy(deep=True)
    maps_["abscissa"].values[...] = 0.0
    drawn, *_ = figures.map_tables(maps_)
    assert all(
        row[2] != row[2]
        for levels in drawn.values()
        for level in levels
        for found in level.values()
        for row in found
    )


def test_the_slider_of_the_map_stops_at_the_ratios_of_the_file():
    (slider,) = made("method-map").sliders
    stops = np.arange(slider.low, slider.high + 1e-9, slider.step)
    np.testing.assert_allclose(10**stops, ETAS, rtol=2e-3)


# ---------------------------------------------------------------- every figure


def positions(figure, rng, count):
    """The first setting, the presets, every slider at either end, and some at random, with each choice."""
    first = first_setting(figure.name)

    def shown(one, value):
        moved = 10.0**value if one.log else value
        return round(moved) if one.whole or one.step == 1.0 else moved

    yield first
    for preset in figure.presets:
        yield first | preset.values | ({"choice": preset.choice} if preset.choice else {})
    for one, value in itertools.chain(*(((s, s.low), (s, s.high)) for s in figure.sliders)):
        yield first | {one.name: shown(one, value)}
    for choice in figure.choices or ("",):
        for _ in range(count):
            steps = {
                s.name: rng.randrange(round((s.high - s.low) / s.step) + 1) for s in figure.sliders
            }
            at = {s.name: shown(s, s.low + s.step * steps[s.name]) for s in figure.sliders}
            yield first | at | ({"choice": choice} if choice else {})


def points(name, mark, at):
    """What is drawn of a mark, without what is no number."""
    rows = cell(name, mark.of, **at)
    rows = rows if isinstance(rows[0], list) else [rows]
    pairs = [(row[mark.x], row[mark.y]) for row in rows if len(row) > max(mark.x, mark.y)]
    return [pair for pair in pairs if None not in pair]


def settled(figure, at):
    """The setting as the page has it: a method that the problem does not have is another."""
    if figure.pick:
        known = cell(figure.name, "map", **at)
        return at | {"pick": at["pick"] if at["pick"] in known else next(iter(known))}
    return at


def told(figure, at):
    """The verdict and the numbers of a figure, as the page says them."""
    sentences = [figure.verdict, *(sentence for _, _, sentence in figure.numbers)]
    return [
        run(f"gqSheet.filled({json.dumps(one)}, {json.dumps(at)}, {loaded(figure.name)})")
        for one in sentences
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_position_of_the_sliders_has_a_defined_picture(name):
    figure = made(name)
    spec = f"gqFigures[{json.dumps(name)}]"
    loaded(name)
    for at in positions(figure, random.Random(3), 2):
        at = settled(figure, at)
        for k, panel in enumerate(figure.panels):
            for axis in ("x", "y"):
                low, high = run(
                    f"gqSheet.ends({spec}.panels[{k}].{axis}, {json.dumps(at)}, {loaded(name)})"
                )
                assert low < high, (at, panel.title, axis)
            for mark in panel.marks:
                if mark.kind in ("line", "dots") and mark.of:
                    none = name == "method-map" and mark.y == 2  # a method may be stable nowhere
                    assert none or points(name, mark, at), (at, panel.title, mark)
        for sentence in told(figure, at):
            assert not re.search(r"undefined|NaN|null|[{}]", sentence), (at, sentence)
            assert "none" not in sentence or name == "method-map", (at, sentence)


# What grows without bound, or comes from far away, is cut; all else lies within its axes.
CUT = {
    "MSPBE over time", "Level lines and two ways", "Path of θ₁ and ω₁", "Noise of the repaired method against σ",
    "Distance between the two", "First weight", "First auxiliary weight", "Law of the share", "Field of the mean update",
    "Held for (new, run) against σ", "Error against the plan",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_beyond_the_axes(name):
    figure = made(name)
    loaded(name)
    for at in positions(figure, random.Random(4), 1):
        at = settled(figure, at)
        for k, panel in enumerate(figure.panels):
            for mark, axis in itertools.product(panel.marks, "xy"):
                if panel.title not in CUT and mark.kind in ("line", "dots") and mark.of:
                    wanted = f"gqFigures[{json.dumps(name)}].panels[{k}].{axis}"
                    low, high = run(f"gqSheet.ends({wanted}, {json.dumps(at)}, {loaded(name)})")
                    seen = [point["xy".index(axis)] for point in points(name, mark, at)]
                    slack = 1e-9 * max(1.0, abs(low), abs(high))
                    assert low - slack <= min(seen, default=low), (at, panel.title)
                    assert max(seen, default=high) <= high + slack, (at, panel.title)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_is_what_would_be_computed_anew(name):
    """A cell keeps its value while its inputs are the same: a sheet that has seen much agrees with a fresh one."""
    figure, rng = made(name), random.Random(5)
    loaded(name)
    drawn = sorted(
        {
            mark.of
            for panel in figure.panels
            for mark in panel.marks
            if mark.of and mark.kind in ("line", "dots")
        }
    )
    at = first_setting(name)
    for other in rng.sample(list(positions(figure, rng, 2)), 5):
        for changed in rng.sample(sorted(other), 1):
            at = settled(figure, at | {changed: other[changed]})
            for one in drawn:
                given = f"({json.dumps(one)}, {json.dumps(at)})"
                kept = run(f"{loaded(name)}.cell{given}")
                assert kept == run(f"gqSheet.sheet(gqFigures[{json.dumps(name)}]).cell{given}"), (
                    one,
                    at,
                )


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_readable(name):
    """Its description, caption and presets; and what it refers to is there."""
    figure = made(name)
    sliders = {slider.name: slider for slider in figure.sliders}
    assert len(figure.label) > 40
    assert "that you set" in figure.caption
    assert bool(figure.choices) == bool(figure.choice_label)
    assert len(figure.presets) >= 3
    for slider in figure.sliders:
        assert slider.low <= slider.value <= slider.high
    for preset in figure.presets:
        assert preset.choice in (("", *figure.choices) if figure.choices else ("",))
        for key, value in preset.values.items():
            shown = math.log10(value) if sliders[key].log else value
            assert sliders[key].low - 0.02 <= shown <= sliders[key].high, (preset.label, key)
    known = {*figure.cells, *sliders, "pick"}
    for panel in figure.panels:
        assert {mark.of for mark in panel.marks} <= {"", *figure.cells}
        assert not panel.handle or set(panel.handle.along) <= set(sliders)
        coloured = {(mark.colour, mark.dashes) for mark in panel.marks if mark.kind == "line"}
        assert {
            (colour, dashes)
            for colour, dashes, _ in panel.key
            if colour in ("blue", "red", "green", "pink") and dashes
        } <= coloured
    for sentence in (figure.verdict, *(one for _, _, one in figure.numbers)):
        assert {found.split(".")[0] for found in re.findall(r"\{([^}:]+)", sentence)} <= known
    for name_, one in figure.cells.items():
        assert figure.inputs(name_) <= {
            *sliders,
            "choice",
            "pick",
            "state",
            "line",
            "t",
            "x",
            "y",
            "k",
            "angle",
            "day",
        }, (name_, one)


def test_a_wrong_formula_is_noticed():
    source = made("two-state").script()
    assert source.count("12*gamma") > 0
    page().eval(source.replace("12*gamma", "11*gamma").replace('["two-state"]', '["wrong"]'))
    at = {"choice": "continuing", "sigma": 0.3, "lambda": 0.5, "gamma": 0.9}
    found = run(f"gqSheet.sheet(gqFigures.wrong).cell('A', {json.dumps(at)})")
    with pytest.raises(AssertionError):
        near(found, two_state(0.9).problem.A(0.3, 0.5).ravel())


# ---------------------------------------------------------------- the tools


@pytest.mark.parametrize("zeros", [
    [-1.0, -2.0, -3.0, -4.0], [0.0, 0.0, 0.0, 0.0], [1e-3, -1e-3, -5.0, 2.0], [0.1 + 2j, 0.1 - 2j, -1.0, 0.0],
    [-0.5 + 2j, -0.5 - 2j, -0.5 + 2j, -0.5 - 2j], [-1.25, -1.25, 0.1, -3.0], [-1.25, -1.25, 0.1 + 1j, 0.1 - 1j],
    [-0.3, -0.3, 2.0, 2.0],
])  # fmt: skip
def test_roots_of_known_polynomials(zeros):
    found = [complex(*pair) for pair in call("roots", np.poly(zeros)[1:].real.tolist())]
    assert sorted(z.real for z in found if z.imag > 0) == sorted(
        z.real for z in found if z.imag < 0
    )
    assert sorted(z.imag for z in found if z.imag > 0) == sorted(
        -z.imag for z in found if z.imag < 0
    )
    assert len(set(found)) == len(set(zeros))  # multiple roots are one
    assert found[0].real == max(z.real for z in found)
    assert np.abs(np.array(found)[:, None] - np.array(zeros)).min(axis=0).max() < 1e-7


@pytest.mark.parametrize("zeros", [[-1.0, -1.0, -1.0, 2.0], [0.01] * 4, [-2.0] * 3])
def test_where_more_than_two_roots_meet_conjugates_are_still_equal(zeros):
    found = [complex(*pair) for pair in call("roots", np.poly(zeros)[1:].real.tolist())]
    assert len(found) == len(zeros)
    assert all(z.conjugate() in found for z in found)
    assert np.abs(np.array(found)[:, None] - np.array(zeros)).min(axis=0).max() < 1e-3


def test_conjugates_are_equal_where_two_eigenvalues_meet():
    """The time scales at σ = λ = 0, γ = 0.99: between η = 0.01 and 1 pairs of eigenvalues meet and part again."""
    met = 0
    for eta in np.geomspace(1e-3, 10.0, 200):
        found = [
            complex(*pair)
            for pair in cell("time-scales", "eigenvalues", sigma=0, lam=0, gamma=0.99, eta=eta)
        ]
        assert len(found) == 4
        assert all(z.conjugate() in found for z in found)
        met += any(z.imag != 0 for z in found)
    assert 25 < met < 200


def test_matrices():
    rng = np.random.default_rng(0)
    for n, power in itertools.product((1, 2, 3, 6), (0.01, 1.0, 30.0)):
        matrix = power * (rng.standard_normal((n, n)) - 2.0 * np.eye(n))
        near(call("exponential", matrix.tolist()), expm(matrix))
        near(call("characteristic", matrix.tolist()), np.poly(matrix)[1:], rtol=1e-8)


@pytest.mark.parametrize(("value", "shown"), [
    (0, "0"), (-1e-14, "0"), (-1.25, "−1.25"), (0.123456, "0.1235"), (219.94, "219.9"), (1234567.0, "1.235e+6"),
    (-2e-5, "−2.000e−5"), ([1.5, -2], "1.5, −2"), ([[1, 0], [0.5, -2]], "1, 0.5\u00a0−\u00a02i"), ("TDC(λ)", "TDC(λ)"),
])  # fmt: skip
def test_numbers_are_shown_with_four_digits(value, shown):
    assert call("text", value) == shown


def test_what_is_no_number_is_told():
    assert [page().eval(f"gqSheet.text({x})") for x in ("NaN", "Infinity", "-Infinity")] == [
        "none",
        "∞",
        "−∞",
    ]


def test_axes_hold_their_columns():
    page().eval("var data = { rows: [[0, 5], [1, NaN], [2, -3], [3, 1000]], one: [7, 8] };")
    page().eval(
        "var sheet = { cell: (name) => data[name], number: (x) => (typeof x === 'string' ? 42 : x) };"
    )

    def ends(**given):
        axis = {
            "low": 0,
            "high": "x",
            "fit": [],
            "include": [],
            "margin": 0.0,
            "most": 1e300,
            "trim": 0,
        } | given
        return run(f"gqSheet.ends({json.dumps(axis)}, {{}}, sheet)")

    assert ends() == [0, 42]
    assert ends(fit=[["rows", 1]]) == [-3, 1000]
    assert ends(fit=[["rows", 1]], most=50) == [-3, 50]
    assert ends(fit=[["rows", 1], ["one", 1]], trim=0.25) == [5, 8]
    assert ends(fit=[["one", 0]], include=[1], margin=0.5) == [-2, 10]
    low, high = ends(fit=[["one", 0]])
    assert low < 7 < high  # of one value alone


def test_a_formula_shares_what_recurs_and_refuses_unknown_symbols():
    import sympy as sp

    a, b, x = sp.symbols("a b x")
    with pytest.raises(
        ValueError, match=r"^expressions contain a, b; every symbol should be among the arguments$"
    ):
        figures.js([x], [x * b, a + 1])
    assert figures.js([a, b], [sp.sqrt(a + b) + 1, (a + b) ** 2, sp.sqrt(a + b)]) == (
        "(a, b) => {\nconst x0 = a + b;\nconst x1 = Math.sqrt(x0);\nreturn [x1 + 1, Math.pow(x0, 2), x1];\n}"
    )
    assert figures.js([a], [figures.GAP]) == "(a) => {\nreturn [NaN];\n}"


# ---------------------------------------------------------------- in a notebook


def test_a_notebook_gets_a_block_and_one_plain_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append((bundle, raw)))
    live.show("mspbe", "fig-x")
    ((bundle, raw),) = shown
    assert raw
    assert bundle == {"text/html": live.block("mspbe", "fig-x"), "text/plain": live.PLAIN}
    assert live.PLAIN in bundle["text/html"]


def test_without_ipython_nothing_is_shown_but_the_names_are_checked(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    assert live.show("mspbe", "fig-x") is None
    for given in (
        ("mspbe", ""),
        ("mspbe", "-"),
        ("mspbe", 'x"><script>'),
        ("mspbe", 3),
        (None, "fig-x"),
    ):
        with pytest.raises(
            ValueError, match=r"^(name|figure) is .*; it should be words and hyphens"
        ):
            live.show(*given)


def shown_in_chapters():
    return {
        name: path.stem
        for path in sorted((ROOT / "book").glob("*.md"))
        for name in re.findall(r'live\.show\("([\w-]+)"', path.read_text(encoding="utf-8"))
    }


def test_every_figure_is_shown_and_every_one_shown_is_there():
    assert set(shown_in_chapters()) == set(NAMES)


def test_the_script_asks_for_nothing():
    source = SCRIPT.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"']+", source)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
    }
    for text in (source, *(made(name).script() for name in NAMES)):
        assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(|</", text)


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def opened(book, browser):
    """A tab with the chapter of a figure, and the figure; opened one after the other."""
    with opened_page(browser, "about:blank") as tab:

        def open_figure(name):
            address = (book / f"{shown_in_chapters()[name]}.html").as_uri()
            if tab.url != address:
                tab.goto(address)
            figure = tab.locator(f'.gq-live[data-explorable="{name}"]')
            figure.wait_for()
            return tab, figure

        yield open_figure


@needs_browser
@pytest.mark.parametrize("name", NAMES)
def test_a_live_figure_says_what_it_shows_answers_to_the_keyboard_and_fits_a_phone(opened, name):
    tab, figure = opened(name)
    spec = made(name)

    def as_told():
        at = first_setting(name)
        for row in figure.locator(".gq-slider input").all():
            one = next(s for s in spec.sliders if s.name == row.get_attribute("data-name"))
            value = float(row.input_value())
            at[one.name] = 10.0**value if one.log else value
            at[one.name] = round(at[one.name]) if one.whole else at[one.name]
        if spec.choices:
            at["choice"] = figure.locator("select").input_value()
        return told(spec, settled(spec, at))

    def shown():
        return figure.locator(".gq-readout [data-name]").all_inner_texts()

    assert shown() == as_told()
    assert figure.get_attribute("aria-label") == spec.label
    for preset in spec.presets:
        figure.get_by_role("button", name=preset.label, exact=True).click()
        assert shown() == as_told()
    before = figure.locator("svg.gq-panel").first.inner_html()
    first = figure.locator(".gq-slider input").first
    first.focus()
    low, high = (float(first.get_attribute(end)) for end in ("min", "max"))
    way = "ArrowLeft" if float(first.input_value()) > (low + high) / 2 else "ArrowRight"
    for key in (way, "PageDown" if way == "ArrowLeft" else "PageUp"):
        tab.keyboard.press(key)
    assert shown() == as_told()
    assert (
        first.get_attribute("aria-valuetext")
        == figure.locator(".gq-slider output").first.inner_text()
    )
    parts = figure.locator("svg.gq-panel").all()
    assert len(parts) == len(spec.panels)
    assert before != parts[0].inner_html() or name == "method-map"
    if any(panel.handle for panel in spec.panels):
        handle = figure.locator(".gq-handle")
        handle.focus()
        was = handle.get_attribute("aria-valuetext")
        low, high, now = (
            float(handle.get_attribute(f"aria-value{end}")) for end in ("min", "max", "now")
        )
        tab.keyboard.press("Shift+ArrowLeft" if now > (low + high) / 2 else "Shift+ArrowRight")
        assert handle.get_attribute("aria-valuetext") != was
        assert shown() == as_told()
    caption = tab.locator(
        f"figure:has(.gq-live[data-explorable='{name}']) figcaption .caption-text"
    ).inner_text()
    assert "that you set" in caption
    for theme in THEMES:
        tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        tab.set_viewport_size({"width": 360, "height": 780})
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        boxes = [part.bounding_box() for part in (*parts, *figure.locator(".gq-map").all())]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in boxes)
        tab.set_viewport_size({"width": 1280, "height": 1000})


@needs_browser
def test_a_method_of_the_map_is_picked_by_its_button(opened):
    tab, figure = opened("method-map")
    drawn, *_ = figures.map_tables(maps())
    for where, wanted in (
        ("star", "HTD(λ)"),
        ("Collision", "ETD(λ)"),
        ("two-state, pairs", "GQ(½, λ)"),
    ):
        figure.locator("select").select_option(where)
        figure.locator('input[data-name="eta"]').fill("0")
        button = figure.locator(".gq-map button", has_text=wanted).first
        button.focus()
        tab.keyboard.press("Enter")
        rows = drawn[where][ETAS.index(1.0)][button.inner_text()]
        stable = sum(row[2] == row[2] for row in rows)
        assert (
            figure.locator('[data-name="verdict"]').inner_text()
            == f"{button.inner_text()}: stable at {stable} of {len(rows)} λ"
        )
        assert button.get_attribute("aria-pressed") == "true"
        fields = figure.locator(".gq-map tr", has=tab.locator('[aria-pressed="true"]')).locator(
            "td"
        )
        crosses = sum(text == "✕" for text in fields.all_inner_texts())
        assert crosses == len(rows) - stable
        assert fields.first.get_attribute("aria-label")


@needs_browser
def test_the_arrow_of_b_stands_still_while_sigma_turns(opened):
    tab, figure = opened("mean-field")
    figure.locator("button", has_text="no trace, the plan").click()
    arrow, ends = figure.locator("svg.gq-panel").first.locator("path.gq-red"), []
    for _ in range(2):
        ends.append(
            (
                arrow.get_attribute("d"),
                numbers(figure, "b").tolist(),
                numbers(figure, "rest").tolist(),
            )
        )
        figure.locator(".gq-handle").focus()
        for _ in range(5):
            tab.keyboard.press("Shift+ArrowRight")
    assert ends[0][:2] == ends[1][:2]
    assert math.dist(ends[0][2], ends[1][2]) > 0.5
