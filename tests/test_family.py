"""The search for step sizes with drawn tiles: its rules, its committed outcome, and what the book says of it."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray

from gqlib.experiments import family, load_experiment, retuning, tuning
from gqlib.experiments.kept import with_scores
from gqlib.fast import ENGINE_VERSION
from gqlib.stats import holm, paired_difference
from gqlib.sweeps.results import load_results, verify_sample

RESULTS = Path(__file__).parents[1] / "results"
GQ = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}
SARSA = {"method": "semi-gradient", "target": "epsilon-greedy", "p": 512, "sigma": 1.0}


@pytest.fixture(scope="module")
def searches():
    return [
        load_results(RESULTS / f"control-search-{name}.npz") for name in ("rltoolkit", "family")
    ]


@pytest.fixture(scope="module")
def finals():
    return with_scores(load_results(RESULTS / "control-finals.npz"))


@pytest.fixture(scope="module")
def results():
    return with_scores(load_results(RESULTS / "control-family.npz"))


def test_ladders_rise_and_hold_every_value_that_was_tried_before():
    for ladder in (family.ALPHA_LADDER, family.ETA_LADDER, family.RIVAL_LADDER):
        assert all(low < high for low, high in pairwise(ladder))
    for row in retuning.retuned_rows():
        cells = {(cell.alpha, cell.eta) for cell in retuning.retuned_grid(row).cells()}
        assert all(
            any(cell in family.neighbours(row, near) for near in family.neighbours(row, cell))
            for cell in cells
        )


@pytest.mark.parametrize("row", [GQ, SARSA], ids=["GQ", "Sarsa"])
def test_a_window_has_15_cells_around_its_cell(row):
    for alpha in (0.0001, 0.004, 0.03):
        cell = (alpha, 0.07 if row is GQ else 0.0)
        cells = [(one.alpha, one.eta) for one in family.window(row, cell).cells()]
        assert len(set(cells)) == 15
        alphas, etas = (sorted({pair[k] for pair in cells}) for k in (0, 1))
        assert math.isclose(math.log(alphas[len(alphas) // 2] / alpha), 0.0, abs_tol=0.5)
        assert len(etas) == (5 if row is GQ else 1)
        assert row is not GQ or etas[2] == 0.0625


def test_a_window_stops_at_the_lowest_eta_and_neighbours_do_too():
    assert min(family.window(GQ, (0.005, 2.0**-10)).etas) == 2.0**-10
    assert (0.005, 2.0**-8) in family.neighbours(GQ, (0.005, 2.0**-10))
    assert len(family.neighbours(GQ, (0.005, 2.0**-10))) == 3
    assert len(family.neighbours(GQ, (0.005, 0.25))) == 4
    assert len(family.neighbours(SARSA, (0.005, 0.0))) == 2


def test_windows_are_added_until_the_best_cell_has_all_its_neighbours():
    (first,) = family.row_windows(GQ, [])
    inside = (first.alphas[1], first.etas[1])
    assert len(family.row_windows(GQ, [inside])) == 1
    edge = (first.alphas[-1], first.etas[1])
    two = family.row_windows(GQ, [edge])
    assert len(two) == 2
    assert two[1].alphas[1] == edge[0]
    assert len(family.row_windows(GQ, [edge, edge])) == 2


def test_the_first_stage_follows_a_slope_and_keeps_the_six_best():
    """Steps that fall towards larger α: the search climbs the ladder to the rung where they rise again."""
    target = 0.05
    steps: dict[str, np.ndarray] = {}

    def look(grid):
        cost = [
            abs(math.log(cell.alpha / target)) + 0.01 * abs(math.log2(cell.eta))
            for cell in grid.cells()
        ]
        steps[grid.key] = 400 * np.array(cost)

    path: list = []
    while len(grids := family.row_windows(GQ, path)) > len(path):
        look(grids[-1])
        seen = {
            (c.alpha, c.eta): s for g in grids for c, s in zip(g.cells(), steps[g.key], strict=True)
        }
        path.append(min(seen, key=lambda cell: seen[cell]))
    data = xarray.Dataset(
        {"steps_total": (("setting", "run", "cell"), np.array(list(steps.values()))[:, None])}
    )
    found = family.search_outcomes([GQ], data.assign_coords(key=("setting", list(steps))))
    (outcome,) = found.values()
    assert list(outcome.path) == path
    assert outcome.path[-1][0] == target
    assert len(outcome.path) > 1
    assert outcome.finalists[0] == outcome.path[-1]
    assert len(outcome.finalists) == 6
    best = sorted(seen.values())[:6]
    assert [seen[cell] for cell in outcome.finalists] == best
    assert outcome.lowest == pytest.approx(best[0] / 400)


def test_the_second_stage_takes_the_smallest_mean_and_stops_rows_that_were_not_run():
    ten = ((0.005, 0.25), (0.01, 0.25))
    found = {
        tuning.row_name(row): family.Outcome(ten[:1], 300.0, ten) for row in (GQ, GQ | {"p": 1024})
    }
    keys = [family._at(GQ, cell).key for cell in ten]
    data = xarray.Dataset({"score": (("setting", "run"), [[500.0, 300.0], [310.0, 330.0]])})
    first, second = family.final_outcomes(found, data.assign_coords(key=("setting", keys))).values()
    assert (first.choice, first.steps, first.finalists) == (ten[1], 320.0, ten)
    assert (second.choice, second.steps, second.finalists) == (ten[0], 300.0, ())


def test_the_second_stage_goes_on_to_neighbours_that_were_not_searched():
    """From the corner of the first window outwards, until the best cell has nothing unknown beside it."""
    (first,) = family.row_windows(GQ, [])
    inside, corner = (first.alphas[1], first.etas[1]), (first.alphas[-1], first.etas[-1])
    found = {tuning.row_name(GQ): family.Outcome((inside,), 300.0, (corner,))}
    searched = {(cell.alpha, cell.eta) for cell in first.cells()}
    beyond = sorted(family.neighbours(GQ, corner) - searched)
    assert len(beyond) == 2

    def finals(*cells):
        data = xarray.Dataset(
            {"score": (("setting", "run"), [[320.0 + k, 340.0 + k] for k in range(len(cells))])}
        )
        return data.assign_coords(key=("setting", [family._at(GQ, cell).key for cell in cells]))

    (outcome,) = family.final_outcomes(found, finals(corner, *beyond)).values()
    assert (outcome.choice, outcome.steps, outcome.finalists) == (corner, 330.0, (corner, *beyond))
    told = rf"^finals lack \({beyond[1][0]}, {beyond[1][1]}\) of '.*'; they should be the whole of control-finals$"
    with pytest.raises(ValueError, match=told):
        family.final_outcomes(found, finals(corner, beyond[0]))
    with pytest.raises(ValueError, match=r"^finals is .* with key, score$"):
        family.final_outcomes(found, finals(corner).drop_vars("score"))


def test_neighbours_are_one_rung_away():
    alphas, etas = family.ALPHA_LADDER, family.ETA_LADDER
    found = family.neighbours(GQ, (alphas[3], etas[2]))
    assert found == {
        (alphas[2], etas[2]),
        (alphas[4], etas[2]),
        (alphas[3], etas[1]),
        (alphas[3], etas[3]),
    }
    rival = family.RIVAL_LADDER
    assert family.neighbours(SARSA, (rival[3], 0.0)) == {(rival[2], 0.0), (rival[4], 0.0)}


def test_a_row_is_given_up_above_twice_the_better_end():
    def found(low, middle, high):
        rows = (family.panel_row("gradient", ("greedy", 512), sigma) for sigma in (0.0, 0.5, 1.0))
        names = map(tuning.row_name, rows)
        return {
            name: family.Outcome((), steps, ())
            for name, steps in zip(names, (low, middle, high), strict=True)
        }

    assert not family.given_up(GQ, found(100.0, 200.0, 150.0))
    assert family.given_up(GQ, found(100.0, 200.5, 150.0))
    assert not family.given_up(GQ, found(150.0, 200.0, 100.0))
    assert not family.given_up(GQ | {"sigma": 0.0}, found(900.0, 100.0, 100.0))
    with pytest.raises(ValueError, match=r"^found is 3; "):
        family.given_up(GQ, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed", "runs"),
    [
        ("control-search-family", 5202, 5),
        ("control-finals", 5302, 40),
        ("control-family", 3019, 100),
    ],
)
def test_committed_results_are_what_this_code_makes(name, seed, runs):
    data, plan = load_results(RESULTS / f"{name}.npz"), load_experiment(name)
    assert data.attrs["version"] == str(ENGINE_VERSION) == plan.version
    assert (data.attrs["seed"], data.attrs["runs"]) == (plan.seed, plan.runs) == (seed, runs)
    assert data["key"].values.tolist() == [setting.key for setting in plan.settings]
    verify_sample(data, 2, np.random.default_rng(19))


@pytest.mark.slow
def test_choices_follow_from_the_committed_searches_and_none_is_on_an_edge(searches, finals):
    found = family.search_outcomes(family.family_rows(), *searches)
    assert family.final_outcomes(found, finals) == family.outcomes()
    for row in family.family_rows():
        path = family.outcomes()[tuning.row_name(row)].path
        cells = {
            (cell.alpha, cell.eta)
            for grid in family.row_windows(row, path)
            for cell in grid.cells()
        }
        assert family.neighbours(row, path[-1]) <= cells


def test_every_rival_has_at_least_as_many_finalists_as_gq():
    for row in family.family_rows():
        outcome, method = family.outcomes()[tuning.row_name(row)], row["method"]
        if method == "semi-gradient" or (method == "gradient" and not family.given_up(row)):
            assert len(set(outcome.finalists)) == len(outcome.finalists) >= family.FINALISTS[method]
    best = [family.best_row("corrected", place) for place in family.PLACES[:3]]
    assert all(len(family.outcomes()[tuning.row_name(row)].finalists) >= 6 for row in best)
    assert (
        family.FINALISTS["semi-gradient"]
        == 10
        > family.FINALISTS["gradient"]
        == family.FINALISTS["corrected"]
    )


def fresh(results, method, place, sigma, **noise):
    return family.family_scores(results, family.panel_row(method, place, sigma) | noise)


@pytest.mark.parametrize(
    ("dynamic", "shown"), [(False, [5, 2, 0, 3, 4, 0]), (True, [5, 2, 0, 3, 6, 0])]
)
def test_an_intermediate_sigma_beats_both_ends_at_512_and_1024_under_either_target(
    results, dynamic, shown
):
    """After Holm over 54; all that were run but at most one have a lower mean than both ends."""
    p_values = family.family_p_values(results, **({"dynamic": True} if dynamic else {}))
    assert (holm(p_values.ravel()) <= 0.05).reshape(6, 9).sum(axis=1).tolist() == shown
    noise = {"sigma_noise": 0.01} if dynamic else {}
    lower = []
    for place in family.PLACES:
        ends = min(fresh(results, "gradient", place, end).mean() for end in (0.0, 1.0))
        inside = [family.panel_row("gradient", place, k / 10) | noise for k in range(1, 10)]
        lower += [
            family.family_scores(results, row).mean() < ends
            for row in inside
            if not family.given_up(row)
        ]
    assert len(lower) == 41
    assert lower.count(False) == (0 if dynamic else 1)


def test_tuned_gq_is_ahead_of_tuned_rivals(results):
    """Of Sarsa(λ) in the mean, shown in two panels; of its twin with the ε-greedy target; of the others by far."""
    gaps = {name: [] for name in ("Sarsa", "twin", "far")}
    for place in family.PLACES:
        sigma = family.best_row("gradient", place)["sigma"]
        mine = fresh(results, "gradient", place, sigma)
        gaps["Sarsa"].append(paired_difference(mine, fresh(results, "semi-gradient", place, 1.0)))
        gaps["twin"].append(paired_difference(mine, fresh(results, "semi-gradient", place, sigma)))
        if place[0] == "greedy":
            far = family.family_scores(results, family.best_row("corrected", place))
        else:
            far = fresh(results, "semi-gradient", place, 0.0)
        gaps["far"].append(paired_difference(mine, far))
    shown = {
        name: (holm([gap.p_value for gap in some]) <= 0.05).tolist() for name, some in gaps.items()
    }
    assert shown["Sarsa"] == [True, False, False, False, False, True]
    assert shown["twin"] == [False, False, False, True, True, False]
    assert max(gap.mean for gap in gaps["Sarsa"]) < 0
    assert max(gap.mean for gap in gaps["twin"][3:]) < 0
    assert max(gap.high for gap in gaps["far"]) < -300


def test_rows_that_were_not_searched_for_are_refused(results):
    unknown = GQ | {"p": 256}
    for call in (family.family_setting, family.given_up):
        with pytest.raises(ValueError, match="row is"):
            call(unknown)
    with pytest.raises(ValueError, match="it should be one of"):
        family.row_windows(unknown, [])
    with pytest.raises(ValueError, match="one that control-family holds"):
        family.family_scores(results.isel(setting=[0]), SARSA)
    with pytest.raises(ValueError, match="searches lack"):
        family.search_outcomes([GQ], xarray.Dataset({"steps_total": (("setting", "run", "cell"), np.ones((1, 1, 15)))})
                               .assign_coords(key=("setting", ["?"])))  # fmt: skip
