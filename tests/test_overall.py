"""The comparison with both ends, the repetitions and the interval for a variance, checked by other means."""

import numpy as np
import pytest
import xarray
from scipy import stats

from gqlib.stats import holm
from gqlib.stats.ends import (
    block_repetitions,
    cell,
    compare_with_ends,
    confirm_winner,
    paired_p_values,
    repeat_procedure,
)
from gqlib.sweeps.results import verify_sample


def scores_of(means, runs=200, noise=1.0, seed=0):
    """Integer scores, one row per sigma, with a part that all rows of a run share."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 3.0, runs)
    return np.round(
        1000 * (np.array(means)[:, None] + shared + rng.normal(0, noise, (len(means), runs)))
    ).astype(int)


def small_dataset():
    fields = {"sigma": [1.0, 0.0, 0.5, 0.0], "target": ["a", "a", "a", "b"]}
    return xarray.Dataset(
        {"steps_total": (("setting", "run"), np.arange(8).reshape(4, 2))},
        coords={name: ("setting", values) for name, values in fields.items()},
    )


def test_cell_selects_and_sorts_by_sigma():
    chosen = cell(small_dataset(), target="a")
    assert chosen["sigma"].values.tolist() == [0.0, 0.5, 1.0]
    assert chosen["steps_total"].values.tolist() == [[2, 3], [4, 5], [0, 1]]


def test_cell_refuses_values_that_no_setting_has():
    with pytest.raises(ValueError, match="fields"):
        cell(small_dataset(), target="c")


def test_p_values_are_those_of_scipy():
    first, second = scores_of([0.0, 0.1, 0.4, -0.2]), scores_of([0.05], seed=1)[0]
    expected = [stats.ttest_rel(row, second, alternative="less").pvalue for row in first]
    assert paired_p_values(first, second) == pytest.approx(expected, rel=1e-9)


def test_p_values_of_constant_differences():
    same = np.array([4.0, 7.0, 9.0])
    assert paired_p_values([same - 1, same, same + 1], same).tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="at least 2"):
        paired_p_values([1.0], [2.0])


def test_comparison_is_the_larger_of_two_tests_with_holm():
    scores = scores_of([0.0, -0.5, 0.05, 0.8, -0.1, 0.2])
    found = compare_with_ends(scores)
    for p_values, alternative in ((found.p_better, "less"), (found.p_worse, "greater")):
        both = [
            [stats.ttest_rel(row, scores[end], alternative=alternative).pvalue for end in (0, -1)]
            for row in scores[1:-1]
        ]
        assert p_values == pytest.approx(holm(np.max(both, axis=1)), rel=1e-9)
    low, high = (
        [
            [stats.ttest_rel(row, scores[end], alternative=side).pvalue for row in scores[1:-1]]
            for end in (0, -1)
        ]
        for side in ("less", "greater")
    )
    ways = np.maximum(low[0], high[1]), np.maximum(high[0], low[1])
    assert found.p_between == pytest.approx(holm(np.minimum(2 * np.minimum(*ways), 1)), rel=1e-9)
    assert (found.p_between <= 0.05).tolist() == [False, False, False, False]
    assert tuple(found.counts) == (1, 2, 1)
    assert tuple(found.shown()) == (1, 2, 1)
    assert found.difference == pytest.approx((scores[1:-1] - scores[0]).mean(axis=1))
    assert found.error == pytest.approx(stats.sem(scores[1:-1] - scores[0], axis=1))


def test_a_row_between_the_ends_is_shown_to_be_there_whichever_end_is_the_better():
    scores = scores_of([0.0, -0.5, 0.5, 1.5, 1.0])
    for rows in (scores, scores[::-1]):
        found = compare_with_ends(rows)
        assert tuple(found.shown()) == (1, 1, 1)
        assert (found.p_between <= 0.05).tolist() == [False, True, False]


def test_comparison_makes_few_false_findings_if_sigma_has_no_effect():
    rng = np.random.default_rng(5)
    found = [compare_with_ends(rng.exponential(1.0, (12, 60))).shown() for _ in range(300)]
    assert np.mean([counts.better > 0 for counts in found]) < 0.05
    assert np.mean([counts.worse > 0 for counts in found]) < 0.05


def test_few_rows_equal_to_one_end_are_said_to_be_between_the_two():
    rng = np.random.default_rng(6)
    means = np.array([0.0] * 6 + [5.0])[
        :, None
    ]  # the other end is far away: "between" hangs on one comparison
    found = [
        (compare_with_ends(rng.normal(means, 1.0, (7, 60))).p_between <= 0.05).any()
        for _ in range(300)
    ]
    assert np.mean(found) < 0.05


def test_repetitions_follow_the_law_of_the_means():
    # Two interior rows whose means over 100 runs are normal: the chance that row 1 wins is that of a normal difference.
    scores = scores_of([9.0, 0.0, 0.05, 9.0], runs=400)
    repeated = repeat_procedure(scores, 100, 4000, np.random.default_rng(1))
    gap = scores[1] - scores[2]
    chance = stats.norm.cdf(0, gap.mean(), gap.std() / 10)
    assert (repeated.winner == 1).mean() == pytest.approx(
        chance, abs=4 * np.sqrt(chance * (1 - chance) / 4000) + 0.02
    )
    assert (repeated.counts == [2, 0, 0]).all()
    assert (repeated.leading == 0).all()
    share = (repeated.winner == 1).mean()
    assert repeated.disagreement == pytest.approx(2 * share * (1 - share), rel=1e-3)


def test_repetitions_do_not_depend_on_the_order_of_summation():
    scores = scores_of([0.0, 0.0, 0.0, 0.0], noise=0.0, runs=100)
    repeated = repeat_procedure(scores, 50, 100, np.random.default_rng(1))
    assert (repeated.counts == [0, 2, 0]).all()  # ties in every repetition, exactly
    assert (repeated.winner == 0).all()


def test_leading_case_of_a_tie_is_none():
    blocks = block_repetitions(np.array([[3, 3], [1, 3], [5, 3], [3, 3]]), 1)
    assert blocks.counts.tolist() == [[1, 0, 1], [0, 2, 0]]
    assert blocks.leading.tolist() == [-1, 1]
    assert blocks.winner.tolist() == [1, 0]


def test_blocks_are_disjoint_and_leave_the_rest_out():
    scores = np.array([[1, 1, 9, 9, 0], [9, 9, 1, 1, 0], [5, 5, 5, 5, 0]])
    assert block_repetitions(scores, 2).winner.tolist() == [0, 1]
    with pytest.raises(ValueError, match="runs"):
        block_repetitions(scores, 6)


def test_confirmation_chooses_on_even_runs_and_judges_on_odd_ones():
    even, odd = np.array([[4, 1, 2, 4], [9, 8, 1, 9]])
    scores = np.stack([even, odd, even + 1, odd + 2], axis=1)
    found = confirm_winner(scores)
    assert (found.row, found.chosen, found.confirmed) == (1, -3.0, -1.0)
    assert found.p_value == 0.0  # always one step better than both, on the odd runs
    with pytest.raises(ValueError, match="at least 4"):
        confirm_winner(scores[:, :3])


def test_choice_flatters_the_winner_and_confirmation_does_not():
    found = [confirm_winner(scores_of(np.zeros(20), runs=40, seed=seed)) for seed in range(100)]
    assert np.mean([one.chosen for one in found]) < -100
    assert abs(np.mean([one.confirmed for one in found])) < 4 * 1000 * np.sqrt(2 / 20) / 10
    assert np.mean([one.p_value < 0.05 for one in found]) < 0.1


@pytest.mark.parametrize("scores", [np.ones((2, 5)), np.ones(5), np.full((3, 4), np.nan)])
@pytest.mark.parametrize(
    "function", [compare_with_ends, confirm_winner, lambda scores: block_repetitions(scores, 1)]
)
def test_scores_of_another_shape_or_not_finite_are_refused(function, scores):
    with pytest.raises(ValueError, match="scores"):
        function(scores)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    from gqlib.experiments.mountain_car import constant, control_grid
    from gqlib.sweeps.results import collect
    from gqlib.sweeps.store import Store
    from gqlib.sweeps.sweep import Experiment, run_sweep

    experiment = Experiment(
        name="small",
        title="small",
        function="control",
        settings=control_grid(constant(0.0, 1.0), episodes=(3,), max_steps=(300,)),
        runs=3,
        seed=1,
        version="1",
        runs_per_task=3,
        summary="control",
    )
    store = Store(tmp_path_factory.mktemp("store"))
    run_sweep(experiment, store, workers=1)
    return collect(experiment, store)


def test_a_stored_result_is_verified(stored):
    kept_per_run = sum(stored[name].dims == ("setting", "run") for name in stored.data_vars)
    assert verify_sample(stored, 4, np.random.default_rng(0)) == 4 * kept_per_run


def test_an_altered_result_is_found(stored):
    altered = stored.copy(deep=True)
    altered["checksum"].values[...] ^= np.uint32(1)
    with pytest.raises(ValueError, match="checksum"):
        verify_sample(altered, 1, np.random.default_rng(0))
