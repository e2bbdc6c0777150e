"""The search for step sizes: its one rule, the car's two searches by it, and what the book says of their outcome."""

import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import xarray

from gqlib.control import run_control
from gqlib.control.grids import ControlGrid, control_grid_runs
from gqlib.experiments import load_experiment
from gqlib.experiments import search_drawn_tiles as drawn
from gqlib.experiments import search_one_hash as one_hash
from gqlib.experiments.mountain_car import ALPHAS, ETAS, TABLE_SIZES
from gqlib.experiments.mountain_car_results import with_scores
from gqlib.experiments.search import Ladders, climb, last_stage, means, ranked, windows
from gqlib.stats import holm, paired_difference
from gqlib.sweeps.results import load_results

RESULTS = Path(__file__).parents[1] / "results"
GQ = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}
SARSA = {"method": "semi-gradient", "target": "epsilon-greedy", "p": 512, "sigma": 1.0}
LADDERS = Ladders((1.0, 2.0, 4.0, 8.0, 16.0), (0.125, 0.5, 2.0, 8.0), (3, 2))


# The rule


def test_a_mean_is_over_runs_wherever_they_are():
    values = np.arange(12.0).reshape(2, 2, 3) ** 2
    for dims in (("setting", "run", "cell"), ("setting", "cell", "run")):
        data = xarray.Dataset({"steps": (dims, values)}, {"key": ("setting", ["a", "b"])})
        assert means(data, "steps")["b"].tolist() == values[1].mean(dims.index("run") - 1).tolist()


def test_the_smallest_is_first_and_of_equal_ones_that_tried_first():
    assert ranked({"a": 2.0, "b": 1.0, "c": 1.0, "d": math.inf, "e": math.nan}) == ["b", "c", "a"]


def test_rungs_are_nearest_by_ratio_and_of_two_the_upper():
    assert LADDERS.rungs((2.9, 0.1)) == (2, 0)
    assert LADDERS.rungs((2.8, 4.0)) == (1, 3)
    assert LADDERS.rungs((math.sqrt(8.0), 1.0)) == (2, 2)


def test_windows_stop_at_the_ends_of_the_ladders_and_neighbours_do_too():
    assert LADDERS.window((4.0, 2.0)) == ((2.0, 4.0, 8.0), (0.5, 2.0))
    assert LADDERS.window((1.0, 0.125)) == ((1.0, 2.0, 4.0), (0.125, 0.5))
    assert LADDERS.window((16.0, 8.0)) == ((4.0, 8.0, 16.0), (2.0, 8.0))
    assert LADDERS.neighbours((1.0, 8.0)) == {(2.0, 8.0), (1.0, 2.0)}
    assert LADDERS.neighbours((4.0, 0.5)) == {(2.0, 0.5), (8.0, 0.5), (4.0, 0.125), (4.0, 2.0)}
    assert Ladders((1.0, 2.0), (0.0,), (1, 1)).neighbours((2.0, 0.0)) == {(1.0, 0.0)}


def test_a_search_climbs_until_the_best_has_all_its_neighbours():
    """A slope towards (16, 0.125), from the other corner; each cell is looked at, and none is on an edge."""
    asked, seen = [], {}

    def look(window):
        asked.append(window)
        costs = {(a, e): abs(math.log(a / 16)) + abs(math.log(e * 8)) for a, e in product(*window)}
        seen.update(costs)
        return list(costs.values())

    first = (1.0, 2.0, 4.0), (2.0, 8.0)
    path, costs = climb(first, LADDERS, look)
    assert path[0] == (4.0, 2.0)
    assert path[-1] == ranked(costs)[0] == (16.0, 0.125)
    assert LADDERS.neighbours(path[-1]) <= set(costs)
    assert asked == windows(first, path, LADDERS)
    assert len(path) == len(asked)
    assert costs == seen


def test_the_last_stage_adds_neighbours_that_none_had_seen():
    costs = {(a, e): abs(a - 8.0) + e for a, e in product(LADDERS.alphas, LADDERS.etas)}
    seen = {(2.0, 0.125), (1.0, 0.125), (2.0, 0.5)}
    found = last_stage([(2.0, 0.125)], seen, LADDERS, costs.__getitem__)
    assert list(found)[:2] == [(2.0, 0.125), (4.0, 0.125)]
    assert ranked(found)[0] == (8.0, 0.125)
    assert LADDERS.neighbours((8.0, 0.125)) <= seen | set(found)
    assert all(found[cell] == costs[cell] for cell in found)


# A row of cells as one setting


SHORT = ControlGrid(alphas=(0.002, 0.01), etas=(1.0, 0.25), p=128, episodes=3, max_steps=300)


def test_cells_are_the_runs_of_their_settings():
    found = control_grid_runs(SHORT, 2, 5, first_run=3)
    cells = list(SHORT.cells())
    pairs = [(0.002, 1.0), (0.002, 0.25), (0.01, 1.0), (0.01, 0.25)]
    assert [(cell.alpha, cell.eta) for cell in cells] == pairs
    for k, cell in enumerate(cells):
        direct = run_control(cell, 2, 5, first_run=3)
        np.testing.assert_array_equal(found["steps_total"][:, k], direct.steps.sum(axis=1))
        np.testing.assert_array_equal(found["diverged"][:, k], direct.diverged)


# One hash


def test_every_row_and_rival_has_the_same_number_of_cells():
    for row in one_hash.rows()[::7]:
        grids = one_hash.row_grids(row)
        cells = {(cell.alpha, cell.eta) for grid in grids for cell in grid.cells()}
        named = row["sigma"] == 0.0 or (row["sigma"], row["target"]) == (1.0, "epsilon-greedy")
        one_size = row["method"] == "semi-gradient" and not named
        assert len(cells) == 13 * len(grids) == (13 if one_size else 78)
    assert set(ALPHAS) < set(one_hash.ALPHAS)
    assert set(ETAS) < set(one_hash.ETAS)


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_the_choice_is_the_smallest_mean_among_the_cells_it_may_take(monkeypatch, step):
    """On all rows, or on one in forty, among which every method is."""
    rows = one_hash.rows()[::step]
    assert {row["method"] for row in rows} == {"gradient", "corrected", "semi-gradient"}
    monkeypatch.setattr(one_hash, "rows", lambda: rows)
    rng, stored, by_row = np.random.default_rng(3), [], {}
    for name in ("control-search", "control-wide"):
        settings = load_experiment(name).settings
        cells = [list(setting.cells()) for setting in settings]
        steps = rng.integers(1000, 2000, (len(settings), 2, len(cells[0])))
        data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), steps)})
        stored.append(data.assign_coords(key=("setting", [one.key for one in settings])))
        for setting, own, values in zip(settings, cells, steps.sum(axis=1).tolist(), strict=True):
            known = by_row.setdefault(one_hash.row_name(vars(setting)), {})
            known |= {(c.alpha, c.eta): v for c, v in zip(own, values, strict=True)}
    found = one_hash.choices(*stored)
    assert set(found["all"]) == set(by_row) == {one_hash.row_name(row) for row in rows}
    for name, scores in by_row.items():
        allowed = {
            "all": scores,
            "paper": {c: v for c, v in scores.items() if c[0] in ALPHAS and c[1] in (*ETAS, 0.0)},
            "eta 1": {c: v for c, v in scores.items() if c[1] in (1.0, 0.0)},
        }
        for grid, cells in allowed.items():
            assert found[grid][name] == min(cells, key=cells.__getitem__)
    with pytest.raises(ValueError, match=r"^search lacks settings; .* of control-search$"):
        one_hash.choices(stored[0].isel(setting=slice(1)), stored[1])


def test_tuned_scores_are_those_of_the_chosen_cells_in_the_order_of_sigma():
    """From a shuffled result, in which each setting has its place as its score."""
    rng, asked = np.random.default_rng(8), {"method": "gradient", "target": "greedy", "p": 1024}
    for plan, memory, ways in (
        ("control-tuned", "int", [("all", True), ("paper", False), ("eta 1", True)]),
        ("control-tuned-rltoolkit", "rltoolkit", [("all", False)]),
    ):
        keys = rng.permutation([setting.key for setting in load_experiment(plan).settings])
        data = xarray.Dataset({"score": (("setting", "run"), np.arange(len(keys))[:, None])})
        data = data.assign_coords(key=("setting", keys))
        for grid, dynamic in ways:
            found = one_hash.tuned_scores(data, grid, dynamic=dynamic, memory=memory, **asked)
            noise = [{"sigma_noise": 0.01} if dynamic and 0 < k < 10 else {} for k in range(11)]
            rows = [asked | {"sigma": k / 10} | more for k, more in enumerate(noise)]
            settings = [one_hash.tuned_setting(row, grid, memory) for row in rows]
            chosen = [one_hash.chosen()[grid][one_hash.row_name(row)] for row in rows]
            assert [(one.alpha, one.eta) for one in settings] == chosen
            assert {(one.method, one.target, one.p) for one in settings} == {(*asked.values(),)}
            assert keys[found[:, 0]].tolist() == [one.key for one in settings]
    with pytest.raises(ValueError, match=r"^dataset is .*; it should hold gradient, greedy, 1024"):
        one_hash.tuned_scores(data, **asked)  # of the other coder
    for call in (one_hash.tuned_setting, lambda row: one_hash.tuned_scores(data, **row)):
        row = asked | {"p": 3, "sigma": 0.5} if call is one_hash.tuned_setting else asked | {"p": 3}
        with pytest.raises(ValueError, match=r"^row is .*; it should be one of `rows`$"):
            call(row)


# Drawn tiles


def test_the_first_rows_have_35_cells_of_their_kind_each_on_the_ladders():
    for row, grid in zip(
        drawn.first_rows(), load_experiment("control-search-rltoolkit").settings, strict=True
    ):
        assert (grid.method, grid.target, grid.p, grid.sigma) == tuple(row.values())
        assert grid.memory == "rltoolkit"
        wanted = (0.001, 0.002, 0.005, 0.01, 0.02), tuple(4.0**k for k in range(1, -6, -1))
        if row["method"] == "semi-gradient":
            wanted = tuple(float(f"{0.0005 * 80 ** (k / 34):.3g}") for k in range(35)), (0.0,)
        elif (row["target"], row["sigma"]) == ("greedy", 0.0):
            wanted = tuple(sorted(wanted[0]))[:2], tuple(4.0**k for k in range(4, -3, -1))
            wanted = (0.0001, 0.00025, 0.0005, *wanted[0]), wanted[1]
        assert (grid.alphas, grid.etas) == wanted
        for cell in grid.cells():  # every value that was tried is on a rung
            near = next(iter(drawn.neighbours(row, (cell.alpha, cell.eta))))
            assert (cell.alpha, cell.eta) in drawn.neighbours(row, near)


def test_the_first_stage_follows_a_slope_and_keeps_the_best():
    """Steps that fall towards larger α: the search climbs the ladder to the rung where they rise again."""
    for row, kept in ((GQ, 6), (SARSA, 10)):
        stages, seen, path = [], {}, []
        while len(grids := drawn.row_windows(row, path)) > len(path):
            cells = [(cell.alpha, cell.eta) for cell in grids[-1].cells()]
            costs = [abs(math.log(a / 0.05)) + 0.01 * abs(math.log2(e or 1.0)) for a, e in cells]
            data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), [[costs]])})
            stages.append(400 * data.assign_coords(key=("setting", [grids[-1].key])))
            seen |= dict(zip(cells, costs, strict=True))
            path.append(min(seen, key=seen.__getitem__))
        (outcome,) = drawn.search_outcomes([row], *stages).values()
        assert list(outcome.path) == path
        assert path[-1][0] == pytest.approx(0.05, rel=0.1)
        assert len(path) > 1
        assert outcome.finalists == tuple(sorted(seen, key=seen.__getitem__)[:kept])
        assert outcome.lowest == pytest.approx(min(seen.values()))
        with pytest.raises(ValueError, match=r"^searches lack '.*'; they should be whole results$"):
            drawn.search_outcomes([row], stages[0])


def test_the_second_stage_takes_the_smallest_mean_adds_neighbours_and_stops_other_rows():
    (first,) = drawn.row_windows(GQ, [])
    inside, corner = (first.alphas[1], first.etas[1]), (first.alphas[-1], first.etas[-1])
    searched = {(cell.alpha, cell.eta) for cell in first.cells()}
    beyond = sorted(drawn.neighbours(GQ, corner) - searched)
    assert len(beyond) == 2
    names = [one_hash.row_name(row) for row in (GQ, GQ | {"p": 1024})]
    found = {name: drawn.Outcome((inside,), 300.0, (inside, corner)) for name in names}

    def final(*cells):
        scores = [[500.0, 300.0], *([310.0 + k, 330.0 + k] for k in range(len(cells) - 1))]
        data = xarray.Dataset({"score": (("setting", "run"), scores)})
        keys = [
            drawn.ControlSetting(**GQ, alpha=a, eta=e, memory="rltoolkit").key for a, e in cells
        ]
        return drawn.final_outcomes(found, data.assign_coords(key=("setting", keys)))

    one, other = final(inside, corner, *beyond).values()
    assert (one.choice, one.steps, one.finalists) == (corner, 320.0, (inside, corner, *beyond))
    assert (other.choice, other.steps, other.finalists) == (inside, 300.0, ())
    told = rf"^finals lack \({beyond[1][0]}, {beyond[1][1]}\) of '.*'; .* whole of control-finals$"
    with pytest.raises(ValueError, match=told):
        final(inside, corner, beyond[0])


def test_a_row_is_given_up_above_twice_the_better_end_and_is_never_the_best():
    def found(low, middle, high):
        steps = dict.fromkeys((k / 10 for k in range(11)), 1e4) | {0.0: low, 0.5: middle, 1.0: high}
        rows = [drawn.panel_row("gradient", ("greedy", 512), sigma) for sigma in steps]
        outcomes = (drawn.Outcome((), lowest, (), (0.1, 0.2), -lowest) for lowest in steps.values())
        return dict(zip(map(one_hash.row_name, rows), outcomes, strict=True))

    for dynamic in ({}, {"sigma_noise": 0.01}):
        assert not drawn.given_up(GQ | dynamic, found(100.0, 200.0, 150.0))
        assert drawn.given_up(GQ | dynamic, found(100.0, 200.5, 150.0))
        assert not drawn.given_up(GQ | dynamic, found(150.0, 200.0, 100.0))
    assert not drawn.given_up(GQ | {"sigma": 0.0}, found(900.0, 100.0, 100.0))
    assert drawn.best_row("gradient", ("greedy", 512), found(100.0, 200.0, 150.0)) == GQ
    with pytest.raises(ValueError, match=r"^row is .*; it should be one of `rows`$"):
        drawn.given_up(GQ | {"p": 256})


@pytest.fixture(scope="module")
def results():
    return with_scores(load_results(RESULTS / "control-family.npz"))


@pytest.mark.slow
def test_choices_follow_from_the_committed_searches_and_none_is_on_an_edge():
    names = ("search-rltoolkit", "search-family", "finals")
    *stages, finals = (load_results(RESULTS / f"control-{name}.npz") for name in names)
    found = drawn.search_outcomes(drawn.rows(), *stages)
    assert drawn.final_outcomes(found, with_scores(finals)) == drawn.outcomes()
    for row in drawn.rows():
        path = drawn.outcomes()[one_hash.row_name(row)].path
        grids = drawn.row_windows(row, path)
        cells = {(cell.alpha, cell.eta) for grid in grids for cell in grid.cells()}
        assert drawn.neighbours(row, path[-1]) <= cells


def test_every_rival_has_at_least_as_many_finalists_as_gq():
    for row in drawn.rows():
        outcome, method = drawn.outcomes()[one_hash.row_name(row)], row["method"]
        through = method == "semi-gradient" or (method == "gradient" and not drawn.given_up(row))
        best = method == "corrected" and row == drawn.best_row("corrected", ("greedy", row["p"]))
        least = {"gradient": 6, "corrected": 6, "semi-gradient": 10}[method]
        assert len(set(outcome.finalists)) == len(outcome.finalists)
        assert len(outcome.finalists) >= least if through or best else outcome.finalists == ()


def fresh(results, method, place, sigma, **noise):
    return drawn.scores(results, drawn.panel_row(method, place, sigma) | noise)


@pytest.mark.parametrize(
    ("dynamic", "shown"), [(False, [5, 2, 0, 3, 4, 0]), (True, [5, 2, 0, 3, 6, 0])]
)
def test_an_intermediate_sigma_beats_both_ends_at_512_and_1024_under_either_target(
    results, dynamic, shown
):
    """After Holm over 54; all that were run but at most one have a lower mean than both ends."""
    p_values = drawn.p_values(results, dynamic=dynamic)
    assert (holm(p_values.ravel()) <= 0.05).reshape(6, 9).sum(axis=1).tolist() == shown
    noise, lower = {"sigma_noise": 0.01} if dynamic else {}, []
    for place in drawn.PLACES:
        ends = min(fresh(results, "gradient", place, end).mean() for end in (0.0, 1.0))
        inside = [drawn.panel_row("gradient", place, k / 10) | noise for k in range(1, 10)]
        kept = [row for row in inside if not drawn.given_up(row)]
        lower += [drawn.scores(results, row).mean() < ends for row in kept]
    assert len(lower) == 41
    assert lower.count(False) == (0 if dynamic else 1)


def test_tuned_gq_is_ahead_of_tuned_rivals(results):
    """Of Sarsa(λ) in the mean, shown in two panels; of its twin with the ε-greedy target; of the others by far."""
    gaps = {name: [] for name in ("Sarsa", "twin", "far")}
    for place in drawn.PLACES:
        sigma = drawn.best_row("gradient", place)["sigma"]
        mine = fresh(results, "gradient", place, sigma)
        gaps["Sarsa"].append(paired_difference(mine, fresh(results, "semi-gradient", place, 1.0)))
        gaps["twin"].append(paired_difference(mine, fresh(results, "semi-gradient", place, sigma)))
        if place[0] == "greedy":
            far = drawn.scores(results, drawn.best_row("corrected", place))
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


def test_ladders_rise():
    for ladders in drawn.LADDERS.values():
        for ladder in (ladders.alphas, ladders.etas):
            assert all(low < high for low, high in pairwise(ladder))
    assert {p for _, p in drawn.PLACES} == set(TABLE_SIZES)
