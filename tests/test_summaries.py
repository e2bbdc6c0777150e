"""What results keep of runs: the names, the dimensions, the types, and numbers that were added up another way."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray
from scipy.stats import t

from gqlib.control import ControlSetting
from gqlib.evaluation import PredictionSetting, curves, grids
from gqlib.experiments import figure2, figure3_rules
from gqlib.experiments import mountain_car_results as car

RNG = np.random.default_rng(0)
STEPS = RNG.integers(3, 90, (7, 60)).astype(np.int16)
STEPS[2, 4] = STEPS[5, 59] = -90  # cut off
DIVERGED = np.array([False] * 6 + [True])
CHECKSUM = RNG.integers(0, 2**64, 7, dtype=np.uint64)
CAR = {"signed_steps": STEPS, "diverged": DIVERGED, "checksum": CHECKSUM}
TOTALS = {"steps_total", "steps_last", "capped", "diverged"}


def column(power: int) -> list[int]:
    """The sum over runs of a power of the steps, episode by episode."""
    return [
        sum(abs(int(STEPS[run, episode])) ** power for run in range(7)) for episode in range(60)
    ]


def check_totals(found: dict[str, Any]) -> None:
    rows = [[abs(int(x)) for x in row] for row in STEPS]
    wanted = {
        "steps_total": [sum(row) for row in rows],
        "steps_last": [sum(row[-50:]) for row in rows],
        "capped": [0, 0, 1, 0, 0, 1, 0],
    }
    for name, numbers in wanted.items():
        dims, array = found[name]
        assert (dims, array.dtype, array.tolist()) == (("run",), np.int32, numbers)
    assert found["diverged"][0] == ("run",)
    np.testing.assert_array_equal(found["diverged"][1], DIVERGED)


def check_sums(found: dict[str, Any]) -> None:
    check_totals(found)
    dims, checksum = found["checksum"]
    assert (dims, checksum.dtype) == (("run",), np.uint32)
    assert checksum.tolist() == [int(word) % 2**32 for word in CHECKSUM]
    for name, power in (("steps_sum", 1), ("steps_sum_of_squares", 2)):
        assert found[name][0] == ("episode",)
        assert found[name][1].tolist() == column(power)


def test_totals_of_control() -> None:
    found = car.control_totals(CAR)
    assert set(found) == TOTALS
    check_totals(found)


def test_sums_of_control() -> None:
    found = car.control_summary(CAR)
    assert set(found) == TOTALS | {"checksum", "steps_sum", "steps_sum_of_squares"}
    check_sums(found)


def test_the_spread_of_control() -> None:
    found = car.control_summary_with_spread(CAR)
    more = {"steps_quantile", "steps_sum_of_cubes", "steps_sum_of_fourths"}
    assert set(found) == TOTALS | {"checksum", "steps_sum", "steps_sum_of_squares"} | more
    check_sums(found)
    for name, power in (("steps_sum_of_cubes", 3), ("steps_sum_of_fourths", 4)):
        assert found[name][0] == ("episode",)
        assert found[name][1].tolist() == column(power)
    dims, spread = found["steps_quantile"]
    assert (dims, spread.dtype, spread.shape) == (("quantile", "episode"), np.int32, (5, 60))
    # Of seven runs the smallest, the second, the middle, the sixth and the largest: 7 · 0.25 = 1.75 is above one.
    ordered = np.sort(np.abs(STEPS.astype(int)), axis=0)
    np.testing.assert_array_equal(spread, ordered[[0, 1, 3, 5, 6]])


def test_blocks_of_control() -> None:
    found = car.control_summary_in_blocks(CAR)
    assert set(found) == TOTALS | {"block_sum", "block_sum_of_squares", "block_square_of_sum"}
    check_totals(found)
    blocks = [range(0, 20), range(20, 40), range(40, 60)]
    for name, numbers in (
        ("block_sum", column(1)),
        ("block_sum_of_squares", column(2)),
        ("block_square_of_sum", [total**2 for total in column(1)]),
    ):
        assert found[name][0] == ("block",)
        assert found[name][1].tolist() == [sum(numbers[i] for i in block) for block in blocks]
    with pytest.raises(
        ValueError, match=r"^arrays has 59 episodes; there should be a multiple of 20$"
    ):
        car.control_summary_in_blocks(CAR | {"signed_steps": STEPS[:, :59]})


def test_small_numbers_do_not_overflow() -> None:
    """Steps are stored in 16 bits, and squares of 5,000 need more."""
    steps = np.full((2, 20), 5000, dtype=np.int16)
    arrays = {"signed_steps": steps, "diverged": DIVERGED[:2], "checksum": CHECKSUM[:2]}
    assert car.control_summary_with_spread(arrays)["steps_sum_of_fourths"][1][0] == 2 * 5000**4
    assert car.control_summary_in_blocks(arrays)["block_square_of_sum"][1].tolist() == [
        20 * 10_000**2
    ]


@pytest.mark.parametrize(("limit", "kind"), [(100, np.int16), (32767, np.int16), (32768, np.int32)])
def test_steps_are_stored_in_as_few_bits_as_the_limit_needs(
    monkeypatch: pytest.MonkeyPatch, limit: int, kind: type
) -> None:
    made = type(
        "Result",
        (),
        {"signed_steps": np.array([[3, -limit]]), "diverged": DIVERGED, "checksum": CHECKSUM},
    )()
    asked: list[Any] = []

    def run_control(*given: Any, **options: Any) -> Any:
        asked.append((given, options))
        return made

    monkeypatch.setattr(car, "run_control", run_control)
    setting = ControlSetting(max_steps=limit)
    found = car.control_runs(setting, 2, 5, first_run=3)
    assert asked == [((setting, 2, 5), {"first_run": 3})]
    assert list(found) == ["signed_steps", "diverged", "checksum"]
    assert found["signed_steps"].dtype == kind
    assert found["signed_steps"].tolist() == [[3, -limit]]
    assert found["diverged"] is DIVERGED
    assert found["checksum"] is CHECKSUM


def labelled(summary: dict[str, Any], episodes: int) -> xarray.Dataset:
    data = xarray.Dataset(
        {name: (("setting", *dims), array[None]) for name, (dims, array) in summary.items()}
    )
    return data.assign_coords(episodes=("setting", [episodes]))


def test_scores_are_means_and_variances_over_runs() -> None:
    steps = np.abs(STEPS.astype(float))
    scored = car.with_scores(labelled(car.control_summary_with_spread(CAR), 60))
    np.testing.assert_allclose(scored["score"].values[0], steps.mean(axis=1))
    np.testing.assert_allclose(scored["score_last"].values[0], steps[:, -50:].mean(axis=1))
    np.testing.assert_allclose(scored["mean"].values[0], steps.mean(axis=0))
    np.testing.assert_allclose(
        scored["variance"].values[0], [statistics.variance(row) for row in steps.T]
    )
    assert scored["quantile"].values.tolist() == [0.05, 0.25, 0.5, 0.75, 0.95]


def test_scores_of_blocks_are_averages_over_their_episodes() -> None:
    steps = np.abs(STEPS.astype(float))
    scored = car.with_scores(labelled(car.control_summary_in_blocks(CAR), 60))
    np.testing.assert_allclose(
        scored["mean"].values[0], steps.mean(axis=0).reshape(3, 20).mean(axis=1)
    )
    variances = np.array([statistics.variance(row) for row in steps.T])
    np.testing.assert_allclose(scored["variance"].values[0], variances.reshape(3, 20).mean(axis=1))
    assert "quantile" not in scored.coords


def test_scores_without_sums_of_short_and_single_runs() -> None:
    scored = car.with_scores(labelled(car.control_totals(CAR), 60))
    assert set(scored.data_vars) == TOTALS | {"score", "score_last"}
    few = {"signed_steps": STEPS[:1, :20], "diverged": DIVERGED[:1], "checksum": CHECKSUM[:1]}
    alone = car.with_scores(labelled(car.control_summary(few), 20))
    assert alone["score_last"].values.tolist() == alone["score"].values.tolist()
    assert "mean" in alone
    assert "variance" not in alone  # of one run there is none


# Curves and grids of prediction


def test_curves_are_counted_summed_and_averaged_late() -> None:
    mspbe, error = RNG.random((4, 6)), RNG.random((4, 6))
    mspbe[3, 4:] = error[3, 4:] = np.nan
    found = curves.curve_summary({"mspbe": mspbe, "error": error})
    ends = ("_late", "_sum", "_sum_of_squares")
    assert set(found) == {"counted"} | {
        f"{measure}{end}" for measure in ("mspbe", "error") for end in ends
    }
    assert (found["counted"][0], found["counted"][1].tolist()) == (
        ("checkpoint",),
        [4, 4, 4, 4, 3, 3],
    )
    for name, curve in (("mspbe", mspbe), ("error", error)):
        dims, late = found[f"{name}_late"]
        assert dims == ("run",)
        wanted = [sum(row[3:]) / 3 for row in curve[:3].tolist()]
        np.testing.assert_allclose(late[:3], wanted, rtol=2.0**-16)
        assert late[3] == np.inf
        columns = [[x for x in curve[:, k] if not np.isnan(x)] for k in range(6)]
        assert found[f"{name}_sum"][0] == found[f"{name}_sum_of_squares"][0] == ("checkpoint",)
        np.testing.assert_allclose(found[f"{name}_sum"][1], [sum(one) for one in columns])
        np.testing.assert_allclose(
            found[f"{name}_sum_of_squares"][1], [sum(x * x for x in one) for one in columns]
        )


@pytest.mark.parametrize("measure", ["mspbe", "error"])
def test_the_interval_of_a_curve_is_students(measure: Any) -> None:
    arrays = {"mspbe": RNG.random((5, 4)), "error": RNG.random((5, 4))}
    arrays[measure][:, 1] = 0.7  # all runs alike: no spread, and none below zero by rounding
    part = xarray.Dataset(curves.curve_summary(arrays))
    mean, half = curves.curve_interval(part, measure)
    np.testing.assert_allclose(mean, arrays[measure].mean(axis=0))
    wanted = t.ppf(0.975, 4) * arrays[measure].std(axis=0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(half, wanted, atol=1e-7)
    if measure == "mspbe":
        np.testing.assert_array_equal(curves.curve_interval(part)[0], mean)


def test_an_interval_needs_one_setting_and_two_runs() -> None:
    arrays = {"mspbe": RNG.random((5, 4)), "error": RNG.random((5, 4))}
    part = xarray.Dataset(curves.curve_summary({name: array[:1] for name, array in arrays.items()}))
    told = r"(?s)^part is <xarray\.Dataset.*; it should be one setting with at least two runs$"
    with pytest.raises(ValueError, match=told):
        curves.curve_interval(part)
    with pytest.raises(ValueError, match=told):
        curves.curve_interval(xarray.Dataset(curves.curve_summary(arrays)).expand_dims(setting=2))
    with pytest.raises(
        ValueError, match=r"^measure is 'mse'; it should be one of 'mspbe', 'error'$"
    ):
        curves.curve_interval(part, "mse")
    stopped = arrays["mspbe"].copy()
    stopped[0, 3] = np.nan
    mean, half = curves.curve_interval(
        xarray.Dataset(curves.curve_summary(arrays | {"mspbe": stopped}))
    )
    assert np.isnan(mean).tolist() == np.isnan(half).tolist() == [False, False, False, True]


def test_late_is_the_second_half() -> None:
    assert curves.late([[1.0, 2.0, 3.0, 4.0, 5.0]]).tolist() == [4.5]
    assert curves.late([[1.0, 2.0, 3.0, 5.0]]).tolist() == [4.0]
    for wrong in ([1.0, 2.0], [[[1.0]]], [[]]):
        with pytest.raises(
            ValueError, match=r"^values has shape \(.*\); it should have one row for each run$"
        ):
            curves.late(wrong)


def test_curves_of_runs_are_those_of_their_result(monkeypatch: pytest.MonkeyPatch) -> None:
    made = type("Result", (), {"mspbe": lambda self: "mspbe", "error": lambda self: "error"})()
    asked: list[Any] = []

    def run_prediction(*given: Any, **options: Any) -> Any:
        asked.append((given, options))
        return made

    monkeypatch.setattr(curves, "run_prediction", run_prediction)
    setting = PredictionSetting("boyan_chain")
    assert curves.curve_runs(setting, 2, 5, first_run=3) == {"mspbe": "mspbe", "error": "error"}
    assert asked == [((setting, 2, 5), {"first_run": 3})]


GRID = {name: RNG.random((6, 2, 3, 1)) for name in grids.MEASURES}
for _array in GRID.values():
    _array[5, 0, 1] = np.nan  # one run of one cell diverged
ARRAYS = GRID | {"digest": RNG.integers(0, 2**64, 6, dtype=np.uint64)}
AXES = ("sigma", "alpha", "eta")


def test_the_summary_of_a_grid() -> None:
    found = grids.grid_summary(ARRAYS)
    assert set(found) == {"diverged", "digest"} | {
        f"{m}{e}" for m in grids.MEASURES for e in ("", "_half", "_median")
    }
    dims, diverged = found["diverged"]
    assert dims == AXES
    assert diverged.ravel().tolist() == [0.0, 1 / 6, 0.0, 0.0, 0.0, 0.0]
    assert found["digest"][0] == ("run",)
    np.testing.assert_array_equal(found["digest"][1], ARRAYS["digest"])
    for name, values in GRID.items():
        cell = values[:, 1, 2, 0]
        assert {found[f"{name}{end}"][0] for end in ("", "_half", "_median")} == {AXES}
        assert found[name][1][1, 2, 0] == pytest.approx(statistics.fmean(cell))
        half = t.ppf(0.975, 5) * statistics.stdev(cell) / 6**0.5
        assert found[f"{name}_half"][1][1, 2, 0] == pytest.approx(half)
        assert found[f"{name}_median"][1][1, 2, 0] == pytest.approx(statistics.median(cell))
        assert found[name][1][0, 1, 0] == found[f"{name}_half"][1][0, 1, 0] == np.inf
        stopped = sorted(
            values[:5, 0, 1, 0].tolist()
        )  # the sixth is infinite, so the middle is between 3rd and 4th
        assert found[f"{name}_median"][1][0, 1, 0] == pytest.approx((stopped[2] + stopped[3]) / 2)
    alone = grids.grid_summary({name: array[:1] for name, array in ARRAYS.items()})
    assert np.isnan(alone["mspbe_half"][1]).all()


def test_the_summary_of_cells_and_that_of_scores() -> None:
    cells, scores = grids.cell_summary(ARRAYS), grids.score_summary(ARRAYS)
    assert set(cells) == {"mspbe", "diverged", "digest"}
    assert (cells["mspbe"][0], cells["diverged"][0], cells["digest"][0]) == (AXES, AXES, ("block",))
    assert cells["diverged"][1].dtype == np.int16
    assert cells["diverged"][1].ravel().tolist() == [0, 1, 0, 0, 0, 0]
    np.testing.assert_allclose(
        cells["mspbe"][1][1, 2, 0], GRID["mspbe"][:, 1, 2, 0].mean(), rtol=2.0**-24
    )
    assert cells["mspbe"][1][0, 1, 0] == np.inf
    assert set(scores) == {"mspbe", "error", "digest"}
    for name in ("mspbe", "error"):
        assert scores[name][0] == ("run", *AXES)
        np.testing.assert_allclose(scores[name][1][:5], GRID[name][:5], rtol=2.0**-16)
        assert scores[name][1][5, 0, 1, 0] == np.inf
    total = sum(int(word) for word in ARRAYS["digest"]) % 2**64
    assert cells["digest"][1].tolist() == scores["digest"][1].tolist() == [total]


def test_digests_are_summed_in_blocks_of_fifty() -> None:
    words = np.arange(1, 121, dtype=np.uint64)
    assert grids._by_block(words).tolist() == [
        sum(range(1, 51)),
        sum(range(51, 101)),
        sum(range(101, 121)),
    ]


@pytest.mark.parametrize("summary", [grids.grid_summary, grids.cell_summary, grids.score_summary])
def test_a_grid_lacks_nothing(summary: Callable[[Any], Any]) -> None:
    for name in ARRAYS:
        with pytest.raises(ValueError, match=r"^arrays "):
            summary({key: array for key, array in ARRAYS.items() if key != name})
        with pytest.raises(ValueError, match=r"^arrays "):
            summary(ARRAYS | {name: ARRAYS[name][..., None]})


# Two states


def test_the_size_of_two_weights() -> None:
    theta = RNG.standard_normal((2, 3, 4, 2))
    diverged = RNG.random((2, 4)) < 0.5
    found = figure2.two_state_summary({"theta": theta, "diverged": diverged})
    assert set(found) == {"size", "diverged"}
    assert (found["size"][0], found["diverged"][0]) == (
        ("run", "checkpoint", "sigma"),
        ("run", "sigma"),
    )
    assert found["size"][1][1, 2, 3] == max(abs(theta[1, 2, 3, 0]), abs(theta[1, 2, 3, 1]))
    np.testing.assert_array_equal(found["diverged"][1], diverged)


# Tables and reports


def named(dataset: xarray.Dataset, **labels: list[Any]) -> xarray.Dataset:
    return dataset.assign_coords({name: ("setting", values) for name, values in labels.items()})


def test_a_report_of_control_groups_by_what_varies_and_finds_the_best_and_the_worst() -> None:
    """Four settings, two runs of ten episodes: α divides them, the target is the same in all and does not."""
    runs = {"steps_total": [[90, 110], [300, 500], [70, 90], [20, 40]], "steps_last": [[0, 0]] * 4,
            "capped": [[1, 2], [3, 4], [0, 0], [0, 1]],
            "diverged": [[False, True], [True, True], [False] * 2, [False] * 2]}  # fmt: skip
    data = xarray.Dataset({name: (("setting", "run"), values) for name, values in runs.items()})
    data = named(data, sigma=[0.0, 0.5, 0.0, 1.0], episodes=[10] * 4, target=["greedy"] * 4)
    for labels, wanted in (
        ({}, [("all", 3.0, 1.0, 40.0, 0.5, 13.8, 3, 8)]),
        (
            {"alpha": [0.1, 0.1, 0.2, 0.2], "p": [512, 512, 64, 64]},
            [("0.1, 512", 10, 0, 40, 0.5, 25.0, 3, 4), ("0.2, 64", 3, 1, 8, 0, 2.5, 0, 4)],
        ),
    ):
        for line, (label, *numbers) in zip(
            car.control_report(named(data, **labels)).splitlines(), wanted, strict=True
        ):
            name, _, told = line.partition(": ")
            assert name.strip() == label
            assert [float(one) for one in re.findall(r"[\d.]+", told)] == numbers


def test_a_report_of_two_states_compares_the_first_with_the_last() -> None:
    first, middle = [1.0, 4.0], [9.0, 9.0]
    size = [[[first, middle, last] for last in ([2.0, 3.0], [3.0, 3.0], [0.0, 9.0])],
            [[[1.0, 1.0], [0.0, 0.0], [1.0, 2.0]]] * 3]  # fmt: skip
    stopped = [[[True, True]] * 3, [[False, True]] * 3]
    data = xarray.Dataset({"size": (("setting", "run", "checkpoint", "sigma"), size),
                           "diverged": (("setting", "run", "sigma"), stopped)})  # fmt: skip
    told = figure2.two_state_report(
        named(data, reading=["terminal", "continuing"], alpha=[0.01, 0.5])
    )
    for line, numbers in zip(told.splitlines(), ([1, 2, 6, 6], [1, 2, 3, 6]), strict=True):
        assert [int(one) for one in re.findall(r" (\d+)\b(?!\.)", line)] == numbers


def test_a_report_of_late_errors_finds_the_smallest_mean_where_no_run_diverged() -> None:
    place = {"domain": ["boyan_chain", "baird_star"], "learner": ["gq", "tdc"]}
    late = [[1.0, 2.0, 6.0, 7.0], [np.inf, 1.0, 1.0, 1.0]]
    curve = named(xarray.Dataset({"mspbe_late": (("setting", "run"), late)}), **place)
    told = figure3_rules.late_report(curve).splitlines()
    assert told[0].startswith("boyan_chain gq: smallest mean late MSPBE 4 at cell ()")
    assert told[0].endswith("diverged in 0 of 1 cells")
    assert told[1].endswith("none, runs diverged in 1 of 1 cells")
    mspbe = np.array([[4.0, np.inf, 3.0, 2.0], [np.inf] * 4]).reshape(2, 1, 2, 2)
    grid = xarray.Dataset({"mspbe": (("setting", "sigma", "alpha", "eta"), mspbe)})
    told = figure3_rules.late_report(named(grid, lam=[0.9, 0.0], **place)).splitlines()
    assert (
        "gq 0.9: smallest mean late MSPBE 2 at cell (0, 1, 1), runs diverged in 1 of 4" in told[0]
    )
    assert told[1].endswith("in 4 of 4 cells")


def test_cases_are_pooled_over_cells_and_set_beside_the_papers() -> None:
    """Two targets, two α and two p, in an order that is not theirs in the file; four interior σ in each cell."""
    steps = {("greedy", 0.001, 64): [20, 10, 10, 10, 30, 40], ("greedy", 0.001, 512): [20, 30, 30, 50, 50, 40],
             ("greedy", 0.01, 64): [20, 50, 50, 50, 10, 40], ("greedy", 0.01, 512): [20, 10, 10, 10, 10, 40],
             ("soft", 0.001, 64): [20, 50, 50, 50, 50, 40], ("soft", 0.001, 512): [20, 50, 50, 50, 30, 40],
             ("soft", 0.01, 64): [20, 50, 50, 30, 30, 40], ("soft", 0.01, 512): [20, 50, 30, 30, 30, 40]}  # fmt: skip
    rows = [(*cell, sigma, total) for cell, totals in reversed(steps.items())
            for sigma, total in zip((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), totals, strict=True)]  # fmt: skip
    target, alpha, p, sigma, total = (list(column) for column in zip(*rows, strict=True))
    data = named(xarray.Dataset({"steps_total": (("setting", "run"), np.array(total)[:, None])}),
                 target=target, alpha=alpha, p=p, sigma=sigma).assign_attrs(seed=3)  # fmt: skip
    table = car.pooled_cases(data)
    assert table["count"].dims == ("target", "alpha", "p", "case")
    assert (table.attrs, table["case"].values.tolist()) == ({"seed": 3}, ["I", "II", "III"])
    count = table["count"].sel
    assert count(target="greedy", alpha=0.001, p=64).values.tolist() == [3, 1, 0]
    assert count(target="greedy", alpha=0.001, p=512).values.tolist() == [0, 2, 2]
    assert count(target="greedy", alpha=0.01, p=64).values.tolist() == [1, 0, 3]
    assert count(target="soft", alpha=0.01, p=512).values.tolist() == [0, 3, 1]
    shares = [float(one) for one in re.findall(r"([\d.]+)%", car.pooled_report(table))]
    assert shares == [50.0, 18.8, 31.2, 0.0, 37.5, 62.5]
    paper = {(0.001, 512): {"I": 1.0, "II": 2.0, "III": 97.0}}
    lines = car.cases_table(table, paper, {"I": 69.8, "II": 14.1, "III": 16.1}).splitlines()
    assert [[float(one) for one in line.split()[-9:]] for line in lines[4:5] + lines[7:]] == [
        [1.0, 2.0, 97.0, 0.0, 50.0, 50.0, 0.0, 25.0, 75.0],
        [69.8, 14.1, 16.1, 50.0, 18.8, 31.2, 0.0, 37.5, 62.5],
    ]
