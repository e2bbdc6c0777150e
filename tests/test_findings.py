"""What the book says about control holds in the committed results, and those are what the code makes."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from gqlib import experiments
from gqlib.domains import two_state
from gqlib.fast import ENGINE_VERSION
from gqlib.overall import cell, compare_with_ends, paired_p_values, repeat_procedure, verify_sample
from gqlib.results import load_results
from gqlib.stats import case_counts, holm, paired_difference
from gqlib.tasks import with_scores

RESULTS = Path(__file__).parents[1] / "results"
PANELS = list(product(experiments.TARGETS, experiments.TABLE_ALPHAS))
CELLS = list(product(experiments.TARGETS, experiments.TABLE_ALPHAS, experiments.TABLE_SIZES))
NAMES = ("fig4", "fig5", "table2", "sensitivity")


@pytest.fixture(scope="module")
def stored():
    return {name: with_scores(load_results(RESULTS / f"{name}.npz")) for name in NAMES}


@pytest.fixture(scope="module")
def totals(stored):
    """Total steps by cell of Table 2, rows in the order of sigma."""
    return {
        key: cell(stored["table2"], target=key[0], alpha=key[1], p=key[2])["steps_total"].values.astype(np.int64)
        for key in CELLS
    }


@pytest.mark.parametrize("name", NAMES)
def test_committed_results_are_what_this_code_makes(stored, name):
    data, plan = stored[name], experiments.load_experiment(name)
    assert data.attrs["version"] == str(ENGINE_VERSION) == plan.version
    assert (data.attrs["seed"], data.attrs["runs"]) == (plan.seed, plan.runs)
    assert data["key"].values.tolist() == [setting.key for setting in plan.settings]
    verify_sample(data, 2, np.random.default_rng(11))


def test_committed_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.glob("*.npz")) < 10e6


def gradient(stored, target, alpha, **fields):
    return cell(stored["fig4"], method="gradient", target=target, alpha=alpha, **fields)["score"].values


def panel(stored, target, alpha):
    """Scores of sigma = 0, of the five dynamic sigma, and of sigma = 1."""
    ends = [gradient(stored, target, alpha, sigma=sigma, sigma_noise=0.0) for sigma in (0.0, 1.0)]
    return np.vstack([ends[0], gradient(stored, target, alpha, sigma_noise=0.01), ends[1]])


def test_figure_4_depends_on_the_target_policy(stored):
    better = {key: compare_with_ends(panel(stored, *key)).shown().better for key in PANELS}
    assert better["epsilon-greedy", 0.002] >= 3
    assert max(better["greedy", 0.001], better["greedy", 0.002]) <= 1
    for alpha in experiments.TABLE_ALPHAS:
        rows = panel(stored, "greedy", alpha)
        assert paired_difference(rows[3], rows[-1]).low > 0  # m = 0.5 against sigma = 1


def test_no_gq_setting_of_figure_4_is_shown_to_beat_sarsa(stored):
    for target, alpha in PANELS:
        fields = {"method": "semi-gradient", "target": target, "alpha": alpha, "sigma": 1.0}
        sarsa = cell(stored["fig4"], **fields)["score"].values[0]
        rivals = gradient(stored, target, alpha)
        assert len(rivals) == 10
        assert (holm(paired_p_values(rivals, sarsa)) > 0.05).all()


def test_the_semi_gradient_learner_diverges_where_gq_does_not(stored):
    data = stored["fig4"]
    lost = data["diverged"].mean("run").values
    semi, greedy = data["method"].values == "semi-gradient", data["target"].values == "greedy"
    low = data["sigma"].values <= 0.5
    assert (lost[semi & greedy & low] > 0.8).all()
    assert (lost[semi & ~(greedy & low)] == 0.0).all()
    assert (lost[~semi] < 0.1).all()


def test_at_sigma_1_both_targets_take_the_same_steps(stored):
    for method, alpha in product(("gradient", "semi-gradient"), experiments.TABLE_ALPHAS):
        ends = cell(stored["fig4"], method=method, alpha=alpha, sigma=1.0, sigma_noise=0.0)
        assert ends.sizes["setting"] == 2
        assert (ends["steps_total"].values[0] == ends["steps_total"].values[1]).all()


def squared_deviations(rows):
    return (rows - rows.mean(axis=1, keepdims=True)) ** 2


def test_figure_5_depends_on_target_policy_and_step_size(stored):
    less = {}
    for target, alpha in PANELS:
        rows = cell(stored["fig5"], target=target, alpha=alpha, p=1024)["score"].values
        less[target, alpha] = compare_with_ends(squared_deviations(rows)).shown().better
    assert less["epsilon-greedy", 0.002] > 5
    assert min(less.values()) == 0


def test_the_least_variable_sigma_changes_with_the_memory_size(stored):
    seven = (0.0, *experiments.FEW_MEANS, 1.0)
    changes = []
    for target, alpha in PANELS:
        least = set()
        for p in experiments.SIZES:
            rows = cell(stored["fig5"], target=target, alpha=alpha, p=p)
            chosen = np.isin(rows["sigma"].values, seven)
            least.add(float(rows["sigma"].values[chosen][rows["score"].values[chosen].std(axis=1).argmin()]))
        changes.append(len(least) > 1)
    assert sum(changes) >= 3


# The first hundred runs were looked at before the others were made: what was said of them must hold of the others too.
PARTS = pytest.mark.parametrize("part", [slice(0, 100), slice(100, None), slice(None)], ids=["first", "new", "all"])


@PARTS
def test_case_one_leads_table_1_under_neither_target_policy(totals, part):
    counts = {key: case_counts(rows[:, part].sum(axis=1)) for key, rows in totals.items()}
    pooled = {
        target: np.sum([tuple(counts[key]) for key in CELLS if key[0] == target], axis=0)
        for target in experiments.TARGETS
    }
    assert pooled["greedy"].argmin() == 0
    assert pooled["epsilon-greedy"].argmax() == 1


@PARTS
def test_table_2_has_no_advantage_at_512_and_2048(totals, part):
    counts = {key: case_counts(rows[:, part].sum(axis=1)) for key, rows in totals.items()}
    assert all(counts[key].better < max(counts[key]) for key in CELLS if key[0] == "greedy")
    for alpha in experiments.TABLE_ALPHAS:
        small, middle, large = (counts["epsilon-greedy", alpha, p].better for p in experiments.TABLE_SIZES)
        assert middle > max(small, large)


def test_sigma_1_fails_in_some_runs_at_1024_and_hardly_elsewhere(stored):
    ends = cell(stored["table2"], target="greedy", sigma=1.0)
    never = (ends["capped"].values == 400).mean(axis=1)
    assert (never[ends["p"].values == 1024] > 0.05).all()
    assert (never[ends["p"].values != 1024] < 0.02).all()


def test_sigma_matters_in_every_cell(totals):
    assert holm([stats.friedmanchisquare(*rows).pvalue for rows in totals.values()]).max() < 0.05
    shown = {key: compare_with_ends(rows).shown() for key, rows in totals.items()}
    better, worse = (
        {target: sum(getattr(shown[key], name) for key in CELLS if key[0] == target) for target in experiments.TARGETS}
        for name in ("better", "worse")
    )
    assert better["greedy"] < worse["greedy"]
    assert better["epsilon-greedy"] > worse["epsilon-greedy"]


def test_gq_diverges_with_the_greedy_target_where_eta_is_small(stored):
    study = stored["sensitivity"]
    for k, target in product(range(1, 11), experiments.TARGETS):
        lost = float(cell(study, target=target, variation=f"eta 2^-{k}")["diverged"].mean())
        assert (lost > 0.4) == (target == "greedy" and k >= 4)


def test_at_alpha_002_nearly_every_run_diverges(stored):
    study = stored["sensitivity"]
    assert float(cell(study, variation="alpha 0.02")["diverged"].mean()) > 0.9


def test_the_procedure_of_the_paper_often_names_another_winner(totals):
    rng = np.random.default_rng(6)
    on_policy = [rows for key, rows in totals.items() if key[0] == "epsilon-greedy"]
    often = [repeat_procedure(rows, experiments.PAPER_RUNS, 500, rng).disagreement for rows in on_policy]
    assert np.median(often) > 0.5


def test_the_ranking_of_sigma_is_stable_with_the_greedy_target_and_not_with_the_other(totals):
    agreement = {}
    for key, rows in totals.items():
        blocks = rows[1:-1].reshape(49, 3, 100).sum(axis=2).T
        agreement[key] = np.mean([stats.spearmanr(a, b).statistic for a, b in combinations(blocks, 2)])
    assert min(value for key, value in agreement.items() if key[0] == "greedy") > 0.8
    assert min(value for key, value in agreement.items() if key[0] == "epsilon-greedy") < 0.6


def test_one_sample_estimates_the_gradient_with_bias():
    problem, theta, sigma = two_state().problem, np.array([2.0, 0.5]), 0.5
    phi, chance = problem.features, problem.xi[:, None] * problem.p_mu
    expected = problem.p_pi @ phi
    inverse = np.linalg.inv(problem.M)
    product_of_means, mean_of_products = [np.zeros((2, 2)), np.zeros(2)], np.zeros(2)
    for i, j in product(range(problem.n), repeat=2):
        step = problem.gamma * (sigma * phi[j] + (1 - sigma) * expected[i]) - phi[i]
        delta = problem.rewards[i] + step @ theta
        product_of_means[0] += chance[i, j] * np.outer(step, phi[i])
        product_of_means[1] += chance[i, j] * delta * phi[i]
        mean_of_products += chance[i, j] * np.outer(step, phi[i]) @ inverse @ (delta * phi[i])
    exact = problem.mspbe_gradient(theta, sigma, 0.0)
    assert product_of_means[0] @ inverse @ product_of_means[1] == pytest.approx(exact)
    assert not np.allclose(mean_of_products, exact, rtol=0.5)
    assert all(np.linalg.matrix_rank(np.outer(row, row)) == 1 < problem.d for row in phi)
