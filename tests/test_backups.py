"""Drawings of traces and returns: what they return is what they show, and they refuse what they cannot draw."""

import matplotlib
import numpy as np
import pytest

from gqlib import tabular
from gqlib.domains.episodes import Episode
from kit import backups, figures

matplotlib.use("Agg")


@pytest.fixture
def axes():
    figure, made = figures.new()
    yield made
    matplotlib.pyplot.close(figure)


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def arrows(axes):
    return [
        child for child in axes.get_children() if getattr(child, "arrow_patch", None) is not None
    ]


def test_credit_is_what_a_trace_pays(axes):
    """On three different pairs the drawing's sums are the off-line changes of Sarsa(λ) with α = 1."""
    table = np.array([[10.0, 0.0], [4.0, 0.0], [0.0, 6.0]])
    days = Episode([0, 1, 2, 0], [0, 0, 1, 0], [3.0, 2.0, -2.0], ended=False)
    setting = {"sigma": 1.0, "lam": 0.7, "gamma": 0.9}
    errors = tabular.td_errors(table, days, np.full((3, 2), 0.5), sigma=1.0, gamma=0.9)
    after = tabular.q_sigma_lambda_offline(table, days, np.full((3, 2), 0.5), alpha=1.0, **setting)
    paid = backups.draw_credit(axes, ["a", "b", "c", "a"], errors, 0.9 * 0.7)
    np.testing.assert_allclose(paid, (after - table)[[0, 1, 2], [0, 0, 1]])


def test_every_error_goes_back_to_every_pair_so_far(axes):
    backups.draw_credit(axes, ["new", "worn", "broken", "new"], [-3.0, 4.0, 2.0], 0.5)
    shares = [text for text in texts(axes) if text.startswith("×")]
    assert sorted(shares) == ["×0.25", "×0.5", "×0.5", "×1", "×1", "×1"]
    assert len(arrows(axes)) == 6 + 3  # and from pair to pair
    assert r"$\delta_{1} = +4$" in texts(axes)


def test_without_a_trace_every_error_stays_at_home(axes):
    assert backups.draw_credit(axes, ["a", "b", "c"], [1.0, -2.0], 0.0).tolist() == [1.0, -2.0]
    assert [text for text in texts(axes) if text.startswith("×")] == ["×1", "×1"]


@pytest.mark.parametrize(
    ("lam", "weights"), [(0.0, [1.0, 0.0, 0.0]), (0.5, [0.5, 0.25, 0.25]), (1.0, [0.0, 0.0, 1.0])]
)
def test_the_weights_of_the_columns_are_those_of_the_lambda_return(axes, lam, weights):
    """They average the three returns of three steps to the library's λ-return."""
    assert backups.draw_backups(axes, 1.0, lam).tolist() == weights
    table, rewards = np.array([[1.0], [2.0], [3.0], [5.0]]), [0.5, -1.0, 2.0]
    whole = Episode([0, 1, 2, 3], [0] * 4, rewards, ended=False)
    returns = [sum(rewards[: n + 1]) + table[n + 1, 0] for n in range(3)]
    assert tabular.lambda_return(table, whole, 0, lam=lam, gamma=1.0) == pytest.approx(
        np.dot(weights, returns)
    )


def dashed(axes):
    return [
        line
        for line in axes.lines
        if line.get_color() == figures.RED and len(line.get_xdata()) == 2
    ]


def trunk(axes):
    return [line for line in axes.lines if line.get_color() == figures.BLUE]


def test_sampling_has_no_side_branches_and_expectation_no_sampled_end(axes):
    backups.draw_backups(axes, 1.0, 0.5)
    assert (len(dashed(axes)), len(trunk(axes))) == (0, 2 * (1 + 2 + 3))
    axes.clear()
    backups.draw_backups(axes, 0.0, 0.5)
    assert (len(dashed(axes)), len(trunk(axes))) == (3 * 3 + 2 * (0 + 1 + 2), 2 * (1 + 2 + 3) - 3)


def test_between_the_ends_both_are_drawn_by_their_strength(axes):
    backups.draw_backups(axes, 0.25, 0.5)
    assert {line.get_alpha() for line in dashed(axes)} == {0.75}
    assert {line.get_alpha() for line in trunk(axes)} == {None, 0.25, 1.0}


def test_the_trunk_of_a_tree_thins_and_ours_does_not(axes):
    backups.draw_backups(axes, 0.0, 0.5)
    assert len({line.get_linewidth() for line in trunk(axes)}) == 1
    axes.clear()
    backups.draw_backups(axes, 0.0, 0.5, trunk=0.5)
    assert sorted({line.get_linewidth() for line in trunk(axes)}) == [0.6, 1.2, 2.4]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda axes: backups.draw_credit(axes, ["a", "b"], [1.0, 2.0], 0.5),
            "pairs holds 2 names",
        ),
        (lambda axes: backups.draw_credit(axes, ["a", "b"], [1.0], 1.5), "decay is 1.5"),
        (lambda axes: backups.draw_credit(axes, ["a", "b"], [np.nan], 0.5), "errors"),
        (lambda axes: backups.draw_backups(axes, -0.1, 0.5), "sigma is -0.1"),
        (lambda axes: backups.draw_backups(axes, 0.5, 2.0), "lam is 2.0"),
        (lambda axes: backups.draw_backups(axes, 0.5, 0.5, steps=0), "steps is 0"),
        (lambda axes: backups.draw_backups(axes, 0.5, 0.5, trunk=-1.0), "trunk is -1.0"),
    ],
)
def test_refusals_name_the_argument(axes, call, said):
    with pytest.raises(ValueError, match=said):
        call(axes)
