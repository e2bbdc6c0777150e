"""What the book says about policy evaluation holds in the committed results, and those are what the code produces."""

from pathlib import Path

import numpy as np
import pytest

from gqlib.evaluation.grids import BLOCK, find, grid_runs, significant
from gqlib.experiments import figure3 as exp
from gqlib.experiments import figure3_rules as rules
from gqlib.experiments import load_experiment
from gqlib.learners.sigma import MEANS
from gqlib.stats import holm, paired_difference, paired_ratio
from gqlib.stats.ends import better_than_both, compare_with_ends
from gqlib.sweeps.results import load_results, recompute, verify_sample

RESULTS = Path(__file__).parents[2] / "results"
NAMES = (
    "fig3-search",
    "fig3-wide",
    "fig3-refine",
    "fig3",
    "fig3-curves",
    "fig3-lambdas",
    "fig3-kind",
)
IN_BLOCKS = ("fig3-wide", "fig3-refine", "fig3", "fig3-lambdas", "fig3-kind")
PLACES = list(exp.places(void=False))
MEASURES = ("mspbe", "error")
SCALED, PRINTED_CHAIN = ("Cart-pole, scaled", "expected"), ("Boyan, printed", "expected")
TESTS = ("t", "signed rank", "sign")


@pytest.fixture(scope="module")
def stored():
    return {name: load_results(RESULTS / f"{name}.npz") for name in NAMES}


def scores(part, measure):
    """Late scores by σ and run."""
    return part[measure].values[:, :, 0, 0].T.astype(float)


@pytest.fixture(scope="module")
def families(stored):
    """By place, measure and way of drawing: σ = 0, the 49 means, σ = 1."""
    return {
        (place, measure, drawn): scores(
            find(stored["fig3"], exp.family_setting(*place, drawn)), measure
        )
        for place in PLACES
        for measure in MEASURES
        for drawn in exp.PANELS[place[0]].drawn
    }


@pytest.fixture(scope="module")
def tuned(stored):
    """By place and measure: the curves at their own step sizes, by label."""
    return {
        (place, measure): {
            label: find(stored["fig3-curves"], setting)[f"{measure}_late"].values.astype(float)
            for label, setting in exp.curves(*place).items()
        }
        for place in PLACES
        for measure in MEASURES
    }


@pytest.fixture(scope="module")
def at_lambda(stored):
    """By learner, place, λ and measure: five σ at their own step sizes."""
    data = stored["fig3-lambdas"]
    return {
        (learner, place, lam, measure): np.vstack(
            [
                scores(find(data, exp.own_setting(*place, s, lam, learner)), measure)
                for s in exp.SIGMAS
            ]
        )
        for learner in ("gq", "semi-gradient")
        for place in PLACES
        for lam in exp.LAMBDAS
        for measure in MEASURES
    }


@pytest.fixture(scope="module")
def kindest(stored):
    """By place and measure: σ = 0, the σ that the search preferred, σ = 1."""
    found = {}
    for place in PLACES:
        for measure in MEASURES:
            rows = scores(find(stored["fig3-kind"], exp.kind_setting(*place, measure)), measure)
            *_, sigma = exp.kindest_cells()[" | ".join([*place, measure])]
            found[place, measure] = rows[[0, exp.SIGMAS.index(sigma), -1]]
    return found


def shown(trios, test="t"):
    """Which rows between two ends are better than both, with one error rate for all."""
    p_values = holm(
        [better_than_both(middle, zero, one, test=test) for zero, middle, one in trios.values()]
    )
    return {name for name, value in zip(trios, p_values, strict=True) if value <= 0.05}


class TestFiles:
    @pytest.mark.parametrize("name", NAMES)
    def test_committed_results_are_those_of_the_experiments(self, stored, name):
        data, plan = stored[name], load_experiment(name)
        assert (data.attrs["seed"], data.attrs["runs"]) == (plan.seed, plan.runs)
        assert (data.attrs["version"], data.attrs["summary"]) == (plan.version, plan.summary)
        assert data["key"].values.tolist() == [setting.key for setting in plan.settings]
        assert plan.runs == (1000 if name == "fig3-kind" else 200)

    def test_the_search_and_the_results_have_seeds_of_their_own(self, stored):
        seeds = {name: data.attrs["seed"] for name, data in stored.items()}
        assert {seeds[name] for name in NAMES[:3]} == {exp.SEARCH_SEED}
        assert {seeds[name] for name in NAMES[3:]} == {exp.RESULT_SEED}
        assert exp.SEARCH_SEED != exp.RESULT_SEED

    @pytest.mark.parametrize(
        "name", ["fig3-search", "fig3", "fig3-curves", "fig3-lambdas", "fig3-kind"]
    )
    def test_a_sample_of_runs_comes_out_again(self, stored, name):
        assert verify_sample(stored[name], 3, np.random.default_rng(16)) >= 3

    @pytest.mark.slow
    @pytest.mark.parametrize("name", IN_BLOCKS)
    def test_a_block_of_runs_has_the_weights_of_which_the_digest_was_kept(self, stored, name):
        data = stored[name]
        small = [i for i, domain in enumerate(data["domain"].values) if domain != "cart_pole"]
        position = int(np.random.default_rng(len(name)).choice(small))
        again = recompute(data, position, BLOCK, BLOCK)["digest"][1]
        assert again[0] == data["digest"].values[position, 1]

    def test_the_mean_of_a_cell_is_that_of_its_runs(self, stored):
        data = stored["fig3-refine"]
        again = recompute(data, 3, 0, 200)
        np.testing.assert_allclose(again["mspbe"][1], data["mspbe"].values[3], rtol=1e-6)
        np.testing.assert_array_equal(again["diverged"][1], data["diverged"].values[3])

    def test_results_are_small(self):
        assert sum(path.stat().st_size for path in RESULTS.glob("fig3*")) < 3.5e6

    def test_no_run_diverged_at_the_chosen_step_sizes(self, stored):
        for name in NAMES[3:]:
            values = stored[name]["mspbe_late" if name == "fig3-curves" else "mspbe"].values
            assert np.isfinite(values).all(), name

    @pytest.mark.slow
    def test_rounding_to_sixteen_bits_moves_no_p_value(self):
        setting = exp.family_setting(*SCALED, "step")
        exact = grid_runs(setting, 20, exp.RESULT_SEED, first_run=0)["mspbe"][:, :, 0, 0].T
        kept = significant(exact).astype(float)
        before, after = (better_than_both(rows[1:-1], rows[0], rows[-1]) for rows in (exact, kept))
        np.testing.assert_allclose(after, before, rtol=0.01, atol=1e-4)


class TestOneStepSize:
    def test_how_many_of_49_means_beat_both_ends(self, families):
        for measure, want in (
            ("mspbe", [40, 9, 41, 0, 0, 0, 0, 16]),
            ("error", [21, 0, 30, 0, 0, 0, 0, 0]),
        ):
            for place, number in zip(PLACES, want, strict=True):
                for drawn in exp.PANELS[place[0]].drawn:
                    rows = families[place, measure, drawn]
                    assert compare_with_ends(rows).shown().better == number, (place, measure, drawn)

    def test_separate_intervals_would_not_have_shown_the_cart_pole(self, families):
        """What the first edition did: runs share their walks, and correlations are near one."""
        rows = families[(SCALED, "mspbe", "step")]
        half = 1.972 * rows.std(axis=1, ddof=1) / np.sqrt(rows.shape[1])
        low, high = rows.mean(axis=1) - half, rows.mean(axis=1) + half
        assert not (high[1:-1] < min(low[0], low[-1])).any()
        assert np.corrcoef(rows[0], rows[1 + MEANS.index(0.36)])[0, 1] > 0.98

    def test_by_how_much(self, families):
        best = {
            place: min(rows[1:-1].mean(axis=1)) / min(rows[[0, -1]].mean(axis=1))
            for (place, measure, drawn), rows in families.items()
            if (measure, drawn) == ("mspbe", "step")
        }
        assert 1 / 55 < best["Baird, classical", "expected"] < 1 / 50
        assert 0.975 < best[SCALED] < 0.985

    def test_beyond_0_8_the_star_turns_over(self, families):
        for panel in ("Baird, printed", "Baird, classical"):
            worse = (
                compare_with_ends(families[(panel, "expected"), "mspbe", "step"]).p_worse <= 0.05
            )
            assert worse.sum() == 6
            assert min(np.array(MEANS)[worse]) > 0.8


class TestOwnStepSizes:
    def trios(self, tuned):
        return {
            (place, measure, label): (runs["σ = 0"], runs[label], runs["σ = 1"])
            for (place, measure), runs in tuned.items()
            for label in list(runs)[2:]
        }

    def test_four_of_48_statements(self, tuned):
        best = "dynamic σ, best m"
        want = {(("Baird, printed", "stacked"), "mspbe", best), (SCALED, "mspbe", best)}
        want |= {(PRINTED_CHAIN, "error", f"dynamic σ, {way}") for way in ("m = 0.5", "ramp")}
        trios = self.trios(tuned)
        assert len(trios) == 48
        assert shown(trios) == shown(trios, "signed rank") == want
        assert shown(trios, "sign") == want - {(SCALED, "mspbe", best)}

    def test_by_how_much(self, tuned):
        for place, lowest, highest in (
            (("Baird, printed", "stacked"), 0.44, 0.67),
            (SCALED, 0.97, 0.99),
        ):
            runs = tuned[place, "mspbe"]
            end = min(runs["σ = 0"], runs["σ = 1"], key=np.mean)
            _, low, high = paired_ratio(runs["dynamic σ, best m"], end)
            assert lowest < low < high < highest

    def test_which_end_is_better(self, tuned):
        for place in PLACES:
            gap = paired_difference(tuned[place, "mspbe"]["σ = 0"], tuned[place, "mspbe"]["σ = 1"])
            assert gap.low > 0 if "Baird" in place[0] else gap.high < 0, place

    def test_on_the_printed_chain_the_error_tells_small_from_large_eta(self, tuned):
        """Why dynamic σ wins there by the error: not σ separates 2 from 4, but η."""
        settings, runs = exp.curves(*PRINTED_CHAIN), tuned[PRINTED_CHAIN, "error"]
        assert {
            runs[label].mean() < 3 for label, setting in settings.items() if setting.eta < 0.01
        } == {True}
        assert {
            runs[label].mean() > 4 for label, setting in settings.items() if setting.eta > 0.01
        } == {True}


class TestOtherLambdas:
    def trios(self, at_lambda, learner):
        return {
            (place, lam, measure, exp.SIGMAS[i]): rows[[0, i, -1]]
            for (name, place, lam, measure), rows in at_lambda.items()
            if name == learner
            for i in (1, 2, 3)
        }

    def test_seven_of_192_statements(self, at_lambda):
        trios = self.trios(at_lambda, "gq")
        star, stacked = ("Baird, classical", "expected"), ("Baird, printed", "stacked")
        want = {(star, 0.99, "mspbe", s) for s in (0.25, 0.5, 0.75)} | {
            (stacked, 0.9, "mspbe", 0.75)
        }
        want |= {
            (PRINTED_CHAIN, 0.9, "error", 0.5),
            (SCALED, 0.5, "error", 0.25),
            (SCALED, 0.9, "mspbe", 0.25),
        }
        assert len(trios) == 192
        assert shown(trios) == want
        more = {(stacked, lam, "mspbe", 0.5) for lam in (0.0, 0.5)}
        assert shown(trios, "signed rank") == (want | more) - {(SCALED, 0.5, "error", 0.25)}

    def test_without_the_correction(self, at_lambda):
        trios = self.trios(at_lambda, "semi-gradient")
        assert [len(shown(trios, test)) for test in ("t", "signed rank")] == [4, 12]
        assert not any("Boyan" in place[0] for test in TESTS for place, *_ in shown(trios, test))

    def test_on_the_chain_the_middle_never_wins_by_mspbe(self, at_lambda):
        for (learner, place, _, measure), rows in at_lambda.items():
            if "Boyan" in place[0] and measure == "mspbe" and learner == "gq":
                mean = rows.mean(axis=1)
                assert min(mean[1:]) > 7 * mean[0]


class TestKindest:
    def test_fifteen_of_sixteen_on_all_runs_and_on_those_made_later(self, kindest):
        want = set(kindest) - {(PRINTED_CHAIN, "mspbe")}
        assert len(want) == 15
        assert (
            shown(kindest) == want == shown({name: rows[:, 200:] for name, rows in kindest.items()})
        )
        assert shown(kindest, "signed rank") == want

    def test_each_domain_has_a_row_by_mspbe(self, kindest):
        domains = {
            place[0].split(",")[0] for place, measure in shown(kindest) if measure == "mspbe"
        }
        assert domains == {"Baird", "Boyan", "Cart-pole"}

    def test_it_takes_step_sizes_that_suit_nobody(self, stored, at_lambda):
        place = ("Boyan, end at zero", "expected")
        level = scores(find(stored["fig3-kind"], exp.kind_setting(*place)), "mspbe").mean(axis=1)
        assert min(level) > 40_000 * at_lambda["gq", place, 0.99, "mspbe"][0].mean()

    def test_on_the_chain_sigma_0_is_best_wherever_step_sizes_are_any_good(self, stored):
        best = []
        for panel in ("Boyan, printed", "Boyan, end at zero"):
            for lam in exp.LAMBDAS:
                part = find(stored["fig3-search"], exp.search_setting(panel, "expected", lam))
                mean = np.where(part["diverged"].values == 0.0, part["mspbe"].values, np.inf)
                best += mean.argmin(axis=0)[mean.min(axis=0) <= 1000 * mean.min()].tolist()
        assert best == [0] * 124


class TestEdges:
    def test_an_edge_hid_a_factor_of_twenty_thousand(self, stored):
        first, *others = (stored[name] for name in NAMES[:3])
        for panel in ("Baird, printed", "Baird, classical"):
            lowest = []
            for found in ([first], [first, *others]):
                part = rules.joined(found, panel, "expected", 0.99)
                alpha, eta = rules.best_cell(part, 0.0)
                lowest.append(float(part["mspbe"].sel(sigma=0.0, alpha=alpha, eta=eta)))
            assert lowest[0] > 20_000 * lowest[1]

    def test_where_tuned_gq_is_nearly_semi_gradient(self, stored):
        ratios = {}
        for place in PLACES:
            for lam in exp.LAMBDAS:
                mspbe = rules.joined([stored[name] for name in NAMES[:3]], *place, lam)["mspbe"]
                for sigma in exp.SIGMAS:
                    alpha, eta = exp.chosen()[exp.choice_name(*place, "gq", sigma, lam)]
                    if eta <= 2.0**-10:
                        cell = mspbe.sel(sigma=sigma, alpha=alpha)
                        ratios[place, lam, sigma] = float(cell.sel(eta=eta) / cell.sel(eta=0.0))
        assert len(ratios) == 78
        assert sum(abs(ratio - 1) < 0.05 for ratio in ratios.values()) == 65
        poles = [
            ratio for (place, lam, _), ratio in ratios.items() if "Cart" in place[0] and lam == 0.9
        ]
        assert len(poles) == 10
        assert max(abs(ratio - 1) for ratio in poles) < 0.005
