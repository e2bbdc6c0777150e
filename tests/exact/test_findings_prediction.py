"""What the book says about policy evaluation holds in the committed results, and those are what the code produces."""

from pathlib import Path

import numpy as np
import pytest

from gqlib.evaluation.grids import find
from gqlib.experiments import figure3 as exp
from gqlib.experiments import load_experiment
from gqlib.stats import holm
from gqlib.stats.ends import better_than_both, compare_with_ends
from gqlib.sweeps.results import load_results, verify_sample

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

    @pytest.mark.parametrize(
        "name",
        ["fig3", "fig3-curves", "fig3-lambdas", "fig3-kind"],  # a search: tests/test_results.py
    )
    def test_a_sample_of_runs_comes_out_again(self, stored, name):
        assert verify_sample(stored[name], 3, np.random.default_rng(16)) >= 3

    def test_a_search_says_that_nothing_of_single_runs_is_compared(self, stored):
        with pytest.warns(UserWarning, match="nothing was compared"):
            assert verify_sample(stored["fig3-search"], 1, np.random.default_rng(16)) == 0

    def test_no_run_diverged_at_the_chosen_step_sizes(self, stored):
        for name in NAMES[3:]:
            values = stored[name]["mspbe_late" if name == "fig3-curves" else "mspbe"].values
            assert np.isfinite(values).all(), name


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


class TestKindest:
    def test_fifteen_of_sixteen_on_all_runs_and_on_those_made_later(self, kindest):
        want = set(kindest) - {(PRINTED_CHAIN, "mspbe")}
        assert len(want) == 15
        assert (
            shown(kindest) == want == shown({name: rows[:, 200:] for name, rows in kindest.items()})
        )
        assert shown(kindest, "signed rank") == want

    def test_on_the_chain_sigma_0_is_best_wherever_step_sizes_are_any_good(self, stored):
        best = []
        for panel in ("Boyan, printed", "Boyan, end at zero"):
            for lam in exp.LAMBDAS:
                part = find(stored["fig3-search"], exp.search_setting(panel, "expected", lam))
                mean = np.where(part["diverged"].values == 0.0, part["mspbe"].values, np.inf)
                best += mean.argmin(axis=0)[mean.min(axis=0) <= 1000 * mean.min()].tolist()
        assert best == [0] * 124
