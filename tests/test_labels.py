"""A result that lacks something is refused by what it should have, before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray

from gqlib.evaluation.curves import curve_interval
from gqlib.evaluation.grids import find
from gqlib.experiments import coders, family, figure3_rules, kept, reports, today_control, tuning
from gqlib.experiments.figure2 import TwoStateSetting
from gqlib.experiments.mountain_car import SENSITIVITY_CELLS, label_open_choices, open_choices
from gqlib.sweeps.results import recompute, verify_sample

Call = Callable[[xarray.Dataset], Any]
MSPBE = ("key", "diverged", "mspbe")
CELLS = ("target", "alpha", "p", "sigma", "steps_total")
PLACE = ("domain", "options", "learner")
HALVES = tuple(f"{measure}{end}" for measure in ("mspbe", "error") for end in ("", "_half"))
# What is called, the name of the argument, and what it needs.
NEEDED: dict[str, tuple[Call, str, tuple[str, ...]]] = {
    "curve of mspbe": (
        curve_interval,
        "part",
        ("counted", "mspbe_late", "mspbe_sum", "mspbe_sum_of_squares"),
    ),
    "curve of the error": (
        lambda data: curve_interval(data, "error"),
        "part",
        ("counted", "error_late", "error_sum", "error_sum_of_squares"),
    ),
    "find": (lambda data: find(data, TwoStateSetting(0.5)), "dataset", ("key",)),
    "totals of a table": (
        coders.table_totals,
        "dataset",
        ("steps_total", "sigma", "sigma_noise", "method"),
    ),
    "search of the family": (
        lambda data: family.search_outcomes([], data),
        "searches",
        ("key", "steps_total"),
    ),
    "finals of the family": (
        lambda data: family.final_outcomes({}, data),
        "finals",
        ("key", "score"),
    ),
    "scores of the family": (
        lambda data: family.family_scores(data, family.family_rows()[0]),
        "dataset",
        ("key", "score"),
    ),
    "best cell": (lambda data: figure3_rules.best_cell(data, 0.0), "part", ("diverged", "mspbe")),
    "common cell": (figure3_rules.common_cell, "part", ("diverged", "mspbe")),
    "choices": (figure3_rules.choices, "dataset", MSPBE),
    "interior": (figure3_rules.interior, "dataset", MSPBE),
    "kindest": (figure3_rules.kindest, "dataset", ("key", "diverged", *HALVES)),
    "report of scores": (figure3_rules.score_report, "dataset", (*PLACE, "lam", "mspbe")),
    "scores": (kept.with_scores, "dataset", ("steps_total", "steps_last", "episodes")),
    "cases of a cell": (
        lambda data: reports.cell_cases(data, "greedy", 0.1, 512),
        "dataset",
        CELLS,
    ),
    "pooled cases": (reports.pooled_cases, "dataset", CELLS),
    "report of pooled cases": (reports.pooled_report, "dataset", ("count", "target")),
    "table of cases": (
        lambda data: reports.cases_table(data, {}, {}),
        "dataset",
        ("count", "target", "alpha", "p"),
    ),
    "report of control": (reports.control_report, "dataset", ("sigma", "capped", "diverged")),
    "report of two states": (
        reports.two_state_report,
        "dataset",
        ("reading", "alpha", "size", "diverged"),
    ),
    "report of curves": (reports.curve_report, "dataset", (*PLACE, "sigma", "mspbe_late")),
    "report of grids": (reports.grid_report, "dataset", (*PLACE, "lam", "diverged", "mspbe")),
    "cells of today": (today_control.chosen_cells, "search", ("key", "score")),
    "choices of a search": (
        lambda data: tuning.choices(data, data),
        "search",
        ("key", "steps_total"),
    ),
    "tuned scores": (tuning.tuned_scores, "dataset", ("key", "score")),
    "a run again": (lambda data: recompute(data, 0, 0), "dataset", ("key",)),
    "a sample again": (
        lambda data: verify_sample(data, 1, np.random.default_rng(0)),
        "dataset",
        ("key",),
    ),
}


@pytest.mark.parametrize("what", NEEDED)
def test_a_result_that_lacks_one_thing_is_told_all_that_it_should_have(what: str) -> None:
    call, name, needed = NEEDED[what]
    wanted = f"it should be an xarray.Dataset with {', '.join(needed)}"
    for missing in needed:
        lacking = xarray.Dataset({one: ((), 0.0) for one in needed if one != missing})
        with pytest.raises(ValueError, match=rf"^{name} is .*; {wanted}$".replace("(", r"\(")):
            call(lacking)


@pytest.mark.parametrize("what", [*NEEDED, "open choices"])
def test_what_is_no_result_is_refused_by_its_name(what: str) -> None:
    call, name, _ = NEEDED.get(what, (label_open_choices, "dataset", ()))
    for wrong in ({}, None, np.zeros(3)):
        with pytest.raises(
            ValueError, match=rf"(?s)^{name} is .*; it should be an xarray\.Dataset"
        ):
            call(wrong)


@pytest.mark.parametrize("call", [figure3_rules.choices, figure3_rules.interior])
def test_the_other_searches_are_a_list_of_results(call: Callable[..., Any]) -> None:
    full = xarray.Dataset({name: ("setting", []) for name in MSPBE})
    with pytest.raises(
        ValueError,
        match=r"^others is .*; it should be an xarray\.Dataset with key, diverged, mspbe$",
    ):
        call(full, [xarray.Dataset()])
    with pytest.raises(ValueError, match=r"^others is "):
        call(full, full)


def test_a_search_that_is_not_whole_is_refused() -> None:
    part = xarray.Dataset({"steps_total": ("setting", [])}, coords={"key": ("setting", [])})
    with pytest.raises(
        ValueError,
        match=r"^search lacks settings; it should be the whole result of control-search$",
    ):
        tuning.choices(part, part)


def test_open_choices_are_labelled_in_their_order_and_counted() -> None:
    names = [name for _ in SENSITIVITY_CELLS for name, _ in open_choices()]
    whole = xarray.Dataset({"score": ("setting", np.zeros(2 * len(names)))})
    labelled = label_open_choices(whole)
    assert labelled["variation"].dims == ("setting",)
    assert labelled["variation"].values.tolist() == [name for name in names for _ in range(2)]
    for wrong in (0, 1, len(names) + 1):
        part = whole.isel(setting=slice(wrong)) if wrong else xarray.Dataset()
        with pytest.raises(
            ValueError, match=rf"^dataset has {wrong} settings; .* a multiple of {len(names)}$"
        ):
            label_open_choices(part)
