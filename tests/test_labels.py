"""A result that lacks something is refused by what it should have, before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray

from gqlib.evaluation.curves import curve_interval
from gqlib.evaluation.grids import find
from gqlib.experiments import figure3_rules, today_control
from gqlib.experiments import mountain_car_results as results
from gqlib.experiments import search_drawn_tiles as drawn
from gqlib.experiments import search_one_hash as one_hash
from gqlib.experiments.figure2 import TwoStateSetting
from gqlib.sweeps.results import recompute, verify_sample

Call = Callable[[xarray.Dataset], Any]
MSPBE = ("key", "diverged", "mspbe")
CELLS = ("target", "alpha", "p", "sigma", "steps_total")
PART = ("diverged", "mspbe", "sigma", "alpha", "eta")
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
        results.table_totals,
        "dataset",
        ("steps_total", "sigma", "sigma_noise", "method"),
    ),
    "search of the family": (
        lambda data: drawn.search_outcomes([], data),
        "searches",
        ("key", "steps_total"),
    ),
    "finals of the family": (
        lambda data: drawn.final_outcomes({}, data),
        "finals",
        ("key", "score"),
    ),
    "scores of the family": (
        lambda data: drawn.scores(data, drawn.rows()[0]),
        "dataset",
        ("key", "score"),
    ),
    "best cell": (lambda data: figure3_rules.best_cell(data, 0.0), "part", PART),
    "common cell": (figure3_rules.common_cell, "part", PART),
    "choices": (figure3_rules.choices, "dataset", MSPBE),
    "interior": (figure3_rules.interior, "dataset", MSPBE),
    "kindest": (figure3_rules.kindest, "dataset", ("key", "diverged", *HALVES)),
    "scores": (results.with_scores, "dataset", ("steps_total", "steps_last", "episodes")),
    "pooled cases": (results.pooled_cases, "dataset", CELLS),
    "table of cases": (
        lambda data: results.cases_table(data, {}, {}),
        "dataset",
        ("count", "target", "alpha", "p"),
    ),
    "cells of today": (today_control.chosen_cells, "search", ("key", "score")),
    "choices of a search": (
        lambda data: one_hash.choices(data, data),
        "search",
        ("key", "steps_total"),
    ),
    "tuned scores": (
        lambda data: one_hash.tuned_scores(data, method="gradient", target="greedy", p=512),
        "dataset",
        ("key", "score"),
    ),
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


@pytest.mark.parametrize("what", NEEDED)
def test_what_is_no_result_is_refused_by_its_name(what: str) -> None:
    call, name, _ = NEEDED[what]
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
