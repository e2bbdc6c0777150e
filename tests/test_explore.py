"""The live figures without a browser: a JavaScript engine evaluates what the page will evaluate, beside the library."""

import itertools
import json
import math
import re
import sys

import IPython.display
import numpy as np
import pytest
import quickjs
import sympy as sp
from javascript import STATIC, call, formula, scripts
from scipy.linalg import expm

from gqlib import PredictionProblem
from gqlib.domains import two_state
from gqlib.domains.two_state import ENDINGS
from gqlib.stability import joint_matrix
from kit import explore

pytestmark = pytest.mark.slow

SCRIPT = STATIC / "explorables.js"
SIGMAS, LAMS, GAMMAS = (0.0, 0.3, 1.0), (0.0, 0.5, 0.99, 1.0), (0.0, 0.5, 0.9, 0.99)
GRID = list(itertools.product(SIGMAS, LAMS, GAMMAS))
ETAS = (0.001, 0.1, 1.0, 10.0)
EXPLORABLES = (
    explore.two_state_explorable,
    explore.bias_variance_explorable,
    explore.time_scales_explorable,
)


@pytest.fixture(scope="module")
def page():
    return scripts([SCRIPT.name], *(make() for make in EXPLORABLES))


def close(found, expected):
    scale = max(1.0, float(np.abs(expected).max()))
    return bool(np.abs(np.asarray(found) - np.asarray(expected)).max() <= 1e-9 * scale)


@pytest.mark.parametrize("reading", ENDINGS)
def test_two_state_matrix_and_eigenvalues_are_the_librarys(page, reading):
    for sigma, lam, gamma in GRID:
        matrix = two_state(gamma, reading).problem.A(sigma, lam)
        found = formula(page, "two-state", reading, sigma, lam, gamma)
        assert close(found[:4], matrix.ravel()), (sigma, lam, gamma)
        assert close(sorted(found[4:]), np.sort(np.linalg.eigvals(matrix).real)), (
            sigma,
            lam,
            gamma,
        )


def library_bias_and_variance(sigma, lam, gamma):
    """bias² and variance from the float64 library, pair by pair: no averaging shortcut, no symbols."""
    mdp = explore.small_mdp(gamma)
    mu, pi = np.array(explore.COIN), np.array(explore.KEEP)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(4))
    value = mdp.q((1 - sigma) * pi + sigma * mu)
    next_pair = (sigma * value + (1 - sigma) * (pi * value).sum(axis=1, keepdims=True)).ravel()
    error = gamma * (next_pair[None, :] - (problem.p_mu @ next_pair)[:, None])
    one_step = (problem.p_mu * error**2).sum(axis=1)
    whole = np.linalg.solve(np.eye(4) - (gamma * lam) ** 2 * problem.p_mu, one_step)
    return problem.xi @ (value - mdp.q(pi)).ravel() ** 2, problem.xi @ whole, value.ravel()


def test_bias_variance_and_values_are_the_librarys(page):
    for sigma, lam, gamma in GRID:
        bias, variance, value = library_bias_and_variance(sigma, lam, gamma)
        assert close(
            formula(page, "bias-variance", "moments", sigma, lam, gamma), [bias, variance, *value]
        )


def test_variance_of_sampled_returns_is_the_formulas():
    # 20 steps of trace, γλ = 0.45: what is cut off is below 1e-6; 4 standard errors of a variance.
    rng = np.random.default_rng(8)
    sigma, lam, gamma, runs = 0.5, 0.5, 0.9, 40_000
    mdp = explore.small_mdp(gamma)
    mu, pi = np.array(explore.COIN), np.array(explore.KEEP)
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
    expected = library_bias_and_variance(sigma, lam, gamma)[1]
    squares = errors**2
    assert abs(squares.mean() - expected) < 4 * squares.std() / np.sqrt(runs)


def test_an_interior_sigma_can_be_best_for_few_returns_and_zero_is_best_for_many():
    sigmas = np.linspace(0.0, 1.0, 101)
    bias, variance = np.array(
        [library_bias_and_variance(sigma, 0.0, 0.9)[:2] for sigma in sigmas]
    ).T
    assert (np.diff(bias) > 0).all()
    assert 0.3 < sigmas[np.argmin(bias + variance)] < 0.9
    assert sigmas[np.argmin(bias + variance / 10_000)] < 0.05


def test_joint_matrix_and_its_polynomial_are_the_librarys(page):
    for (sigma, lam, gamma), eta in itertools.product(GRID, ETAS):
        joint = joint_matrix(two_state(gamma).problem, sigma, lam, eta)
        where = (sigma, lam, gamma, eta)
        assert close(formula(page, "time-scales", "J", *where), joint.ravel()), where
        assert close(formula(page, "time-scales", "coefficients", *where), np.poly(joint)[1:]), (
            where
        )


def test_eigenvalues_of_the_joint_matrix_are_the_librarys(page):
    compared = 0
    for (sigma, lam, gamma), eta in itertools.product(GRID, ETAS):
        joint = joint_matrix(two_state(gamma).problem, sigma, lam, eta)
        expected = np.linalg.eigvals(joint)
        gaps = np.abs(expected[:, None] - expected)[np.triu_indices(4, 1)]
        if (
            gaps.min() < 1e-3
        ):  # close eigenvalues are ill-conditioned: digits of either side mean little there
            continue
        coefficients = formula(page, "time-scales", "coefficients", sigma, lam, gamma, eta)
        found = np.array([complex(*pair) for pair in call(page, "gqNumbers.roots", coefficients)])
        assert found.real[0] == found.real.max()
        distance = np.abs(found[:, None] - expected).min(axis=0)
        assert distance.max() < 1e-9 * max(1.0, np.abs(expected).max()), (sigma, lam, gamma, eta)
        compared += 1
    assert compared > 100  # most of the grid was compared


def test_the_coefficients_are_those_of_the_determinant():
    joint, coefficients = explore.joint_polynomial()
    numbers = {
        explore.SIGMA: sp.Rational(1, 3),
        explore.LAM: sp.Rational(2, 5),
        explore.GAMMA: sp.Rational(9, 10),
    }
    numbers[explore.ETA] = sp.Rational(1, 7)
    exact = sp.Matrix(joint).subs(numbers).charpoly(explore.S).all_coeffs()
    assert exact[1:] == [c.subs(numbers) for c in coefficients]


@pytest.mark.parametrize("power", [0.01, 1.0, 30.0])
def test_path_is_the_matrix_exponential(page, power):
    rng = np.random.default_rng(5)
    matrix = power * (rng.standard_normal((4, 4)) - 3.0 * np.eye(4))
    start = rng.standard_normal(4)
    found = np.array(call(page, "gqNumbers.path", matrix.tolist(), start.tolist(), 0.1, 6))
    expected = np.array([expm(0.1 * k * matrix) @ start for k in range(6)])
    assert close(found, expected)


@pytest.mark.parametrize(
    "zeros",
    [
        [-1.0, -2.0, -3.0, -4.0],
        [0.0, 0.0, 0.0, 0.0],
        [1e-3, -1e-3, -5.0, 2.0],
        [0.1 + 2j, 0.1 - 2j, -1.0, 0.0],
    ],
)
def test_roots_of_known_polynomials(page, zeros):
    found = [
        complex(*pair) for pair in call(page, "gqNumbers.roots", np.poly(zeros)[1:].real.tolist())
    ]
    assert np.abs(np.array(found)[:, None] - np.array(zeros)).min(axis=0).max() < 1e-9


@pytest.mark.parametrize(
    "zeros",
    [
        [-0.5 + 2j, -0.5 - 2j, -0.5 + 2j, -0.5 - 2j],  # a double pair
        [-1.25, -1.25, 0.1, -3.0],
        [-1.25, -1.25, 0.1 + 1j, 0.1 - 1j],
        [-0.3, -0.3, 2.0, 2.0],
    ],
)
def test_conjugates_are_equal_and_multiple_roots_are_one(page, zeros):
    found = [
        complex(*pair) for pair in call(page, "gqNumbers.roots", np.poly(zeros)[1:].real.tolist())
    ]
    assert sorted(z.real for z in found if z.imag > 0) == sorted(
        z.real for z in found if z.imag < 0
    )
    assert sorted(z.imag for z in found if z.imag > 0) == sorted(
        -z.imag for z in found if z.imag < 0
    )
    assert len(set(found)) == len(set(zeros))
    assert np.abs(np.array(found)[:, None] - np.array(zeros)).min(axis=0).max() < 1e-7


@pytest.mark.parametrize("zeros", [[-1.0, -1.0, -1.0, 2.0], [0.01] * 4, [-2.0] * 3])
def test_where_more_than_two_roots_meet_conjugates_are_still_equal(page, zeros):
    found = [
        complex(*pair) for pair in call(page, "gqNumbers.roots", np.poly(zeros)[1:].real.tolist())
    ]
    assert len(found) == len(zeros)
    assert all(z.conjugate() in found for z in found)
    assert np.abs(np.array(found)[:, None] - np.array(zeros)).min(axis=0).max() < 1e-3


def test_conjugates_are_equal_where_two_eigenvalues_meet(page):
    """The time scales at σ = λ = 0, γ = 0.99: between η = 0.01 and 1 pairs of eigenvalues meet and part again."""
    met = 0
    for eta in np.geomspace(1e-3, 10.0, 400):
        coefficients = formula(page, "time-scales", "coefficients", 0.0, 0.0, 0.99, eta)
        found = [complex(*pair) for pair in call(page, "gqNumbers.roots", coefficients)]
        complex_ones = [z for z in found if z.imag != 0]
        assert len(found) == 4
        assert all(z.conjugate() in found for z in complex_ones)
        met += len(complex_ones) > 0
    assert 50 < met < 400


@pytest.mark.slow
def test_nothing_is_beyond_the_axes(page):
    """Every setting of the sliders: eigenvalues, mean weights and paths lie within the windows of the panels."""
    windows = json.loads(page.eval("JSON.stringify(gqNumbers.WINDOWS)"))

    def inside(values, window):
        low, high = windows[window]
        return low <= np.min(values) and np.max(values) <= high

    for sigma, lam, gamma in itertools.product(
        (0.0, 0.5, 1.0), (0.0, 0.5, 0.95, 0.99, 1.0), (0.0, 0.9, 0.99)
    ):
        for reading in ENDINGS:
            matrix = two_state(gamma, reading).problem.A(sigma, lam)
            assert inside(np.linalg.eigvals(matrix).real, "spectrum"), (reading, sigma, lam, gamma)
            path = [expm(t * matrix) @ [2.0, 0.0] for t in np.linspace(0.0, 20.0, 41)]
            assert inside(path, "motion"), (reading, sigma, lam, gamma)
        for eta in (0.001, 0.03, 1.0, 10.0):
            joint = joint_matrix(two_state(gamma).problem, sigma, lam, eta)
            values = np.linalg.eigvals(joint)
            where = (sigma, lam, gamma, eta)
            assert inside(values.real, "real"), where
            assert inside(values.imag, "imaginary"), where
            assert inside(values.real.max(), "abscissa"), where
            if values.real.max() < 0:  # a path that converges is drawn to its end
                forward, state, far = expm(2.0 * joint), np.array([2.0, 0.0, 0.0, 0.0]), []
                for _ in range(100):
                    state = forward @ state
                    far.append(np.abs(state[[0, 2]]).max())
                assert max(far) < windows["turn"], where


def test_a_path_ends_where_it_leaves_the_window(page):
    track = [[0, 9], [5, 9], [31, 9], [2, 9]]
    assert call(page, "gqNumbers.within", track, [0], 30) == track[:3]
    assert call(page, "gqNumbers.within", track, [1], 30) == track
    assert call(page, "gqNumbers.within", track, [0, 1], 8) == track[:1]


@pytest.mark.parametrize("make", EXPLORABLES)
def test_presets_are_within_the_sliders_and_captions_speak_of_what_is_set(make):
    explorable = make()
    sliders = {slider.name: slider for slider in explorable.sliders}
    assert "that you set" in explorable.caption
    assert len(explorable.presets) >= 3
    for preset in explorable.presets:
        assert preset.choice in ("", *explorable.choices)
        for name, value in preset.values.items():
            moved = math.log10(value) if sliders[name].log else value
            assert sliders[name].low - 0.02 <= moved <= sliders[name].high, (preset.label, name)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (-1e-14, "0"),
        (-1.25, "−1.25"),
        (0.123456, "0.1235"),
        (219.94, "219.9"),
        (1234567.0, "1.235e+6"),
        (-2e-5, "−2.000e−5"),
    ],
)
def test_numbers_are_shown_with_four_digits(page, number, shown):
    assert call(page, "gqNumbers.text", number) == shown


def test_a_wrong_formula_is_noticed():
    matrix = two_state(0.9).problem.A(0.3, 0.5)
    wrong = explore.two_state_explorable().formulas["continuing"].replace("12*gamma", "11*gamma")
    assert "11*gamma" in wrong
    context = quickjs.Context()
    found = json.loads(context.eval(f"JSON.stringify(({wrong})(0.3, 0.5, 0.9))"))
    assert not close(found[:4], matrix.ravel())


def test_to_javascript_refuses_an_unknown_symbol():
    with pytest.raises(ValueError, match="gamma"):
        explore.to_javascript([explore.SIGMA], [explore.SIGMA * explore.GAMMA])


def test_to_javascript_names_every_unknown_symbol_and_shares_what_recurs():
    a, b, x = sp.symbols("a b x")
    told = r"^expressions contain a, b; every symbol should be among the arguments$"
    with pytest.raises(ValueError, match=told):
        explore.to_javascript([x], [x * b, a + 1])
    source = explore.to_javascript([a, b], [sp.sqrt(a + b) + 1, (a + b) ** 2, sp.sqrt(a + b)])
    assert source == (
        "(a, b) => {\nconst x0 = a + b;\nconst x1 = Math.sqrt(x0);\nreturn [x1 + 1, Math.pow(x0, 2), x1];\n}"
    )
    assert explore.to_javascript([a], [sp.Integer(2)]) == "(a) => {\nreturn [2];\n}"


def test_a_block_holds_its_settings_and_formulas():
    slider = explore.Slider("eta", "η", -3.0, 1.0, 0.0, log=True)
    preset = explore.Preset("one", {"eta": 1.0}, "high")
    given = {
        "choices": ("high", "low"),
        "note": "Note.",
        "caption": "Caption.",
        "presets": (preset,),
    }
    small = explore.Explorable(
        "small", "A label", (slider,), {"y": "(eta) => [eta]", "z": "(eta) => [1]"}, **given
    )
    head, formulas = small.javascript().split(',\n"formulas": ')
    assert json.loads(head + "}") == {
        "label": "A label",
        "sliders": [
            {
                "name": "eta",
                "label": "η",
                "low": -3.0,
                "high": 1.0,
                "value": 0.0,
                "step": 0.01,
                "log": True,
            },
        ],
        "choices": ["high", "low"],
        "note": "Note.",
        "caption": "Caption.",
        "presets": [{"label": "one", "values": {"eta": 1.0}, "choice": "high"}],
    }
    assert "η" in head
    assert formulas == '{\n"y": (eta) => [eta],\n"z": (eta) => [1]}}'
    assert small.html("fig-a1-b") == (
        '<div class="gq-explorable" data-explorable="small" data-figure="fig-a1-b">\n'
        '<p class="gq-note">In the HTML edition this figure is live where JavaScript runs.</p>\n<script>\n'
        '(window.gqExplorables = window.gqExplorables || {})["small"] =\n'
        + small.javascript()
        + ";\n</script>\n</div>"
    )


def test_the_small_mdp_by_hand():
    mdp = explore.small_mdp()
    assert mdp.transitions.tolist() == [[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]]
    assert mdp.rewards.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert (mdp.gamma, explore.small_mdp(0.25).gamma) == (0.9, 0.25)


def test_without_ipython_nothing_is_shown_but_the_name_is_checked(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    assert explore.show_two_state("fig-x") is None
    with pytest.raises(ValueError, match=r"^figure is"):
        explore.show_two_state("")


@pytest.mark.parametrize("figure", ["", "-", 'x"><script>', 3, None])
def test_html_refuses_what_is_no_name_of_a_figure(figure):
    with pytest.raises(
        ValueError, match=r"^figure is .*; it should be the name of a figure, such as 'fig-phase'$"
    ):
        explore.two_state_explorable().html(figure)


@pytest.mark.parametrize(
    ("show", "name"),
    [
        (explore.show_two_state, "two-state"),
        (explore.show_bias_variance, "bias-variance"),
        (explore.show_time_scales, "time-scales"),
    ],
)
def test_a_notebook_gets_html_and_one_plain_sentence(monkeypatch, show, name):
    shown, raws = [], []
    monkeypatch.setattr(
        IPython.display, "display", lambda bundle, raw: (shown.append(bundle), raws.append(raw))
    )
    show("fig-x")
    assert raws == [True]
    assert [set(bundle) for bundle in shown] == [{"text/html", "text/plain"}]
    html = shown[0]["text/html"]
    assert f'data-explorable="{name}"' in html
    assert 'data-figure="fig-x"' in html
    assert shown[0]["text/plain"] in html


def test_settings_are_readable_and_within_their_ranges(page):
    for make in EXPLORABLES:
        settings = json.loads(page.eval(f'JSON.stringify(gqExplorables["{make().name}"])'))
        assert len(settings["label"]) > 40
        for slider in settings["sliders"]:
            assert slider["low"] <= slider["value"] <= slider["high"]


def test_the_script_is_small_fetches_nothing_and_knows_every_explorable():
    source = SCRIPT.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 500
    assert set(re.findall(r"https?://[^\"']+", source)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
    }
    assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)
    for make in EXPLORABLES:
        assert f'"{make().name}":' in source
