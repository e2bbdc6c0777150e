"""What an experiment says of itself is what its committed record says of it: title, seed, runs, functions, settings."""

from __future__ import annotations

import functools
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gqlib.experiments import REGISTRY, load_experiment
from gqlib.sweeps.results import _setting_name
from gqlib.sweeps.setting import plain
from gqlib.sweeps.store import canonical_json

RESULTS = Path(__file__).resolve().parents[1] / "results"
# Small enough to be made again by their readers, or read out of another's record.
WITHOUT_RECORD = {"fig2", "table1"}


_loaded = functools.cache(load_experiment)


def attributes(name: str) -> dict[str, Any]:
    """The attributes of a record, without its arrays."""
    with zipfile.ZipFile(RESULTS / f"{name}.npz") as archive:
        return json.loads(archive.read("header.json"))["attrs"]


def test_every_record_is_of_an_experiment() -> None:
    assert {path.stem for path in RESULTS.glob("*.npz")} == set(REGISTRY) - WITHOUT_RECORD


# What is in no file: the two without one, the runs of a task, and how a result is finished and reported.
REPORTED = {
    "two-state": ("fig2",),
    "late errors": tuple(name for name in REGISTRY if name.startswith("fig3")),
    "cases": ("table1",),
    "control": (
        *(
            "fig4",
            "fig4-lagged",
            "fig5",
            "table2",
            "sensitivity-by-cell",
            "coders",
            "shared-tiles",
            "control-tuned",
        ),
        *("control-tuned-rltoolkit", "control-finals", "control-family"),
    ),
}
FINISHED = {"table1": "cases", "sensitivity-by-cell": "open choices"}
RUNS_OF_A_TASK = {
    **dict.fromkeys(("today", "today-sigma", "control-search-rltoolkit"), 1),
    **dict.fromkeys(("control-search", "control-wide", "control-search-family", "today-search"), 5),
    **dict.fromkeys((name for name in REGISTRY if name.startswith("fig3")), 50),
    "fig2": 30,
    "today-figure1": 60,
    "today-collision": 80,
    "today-control": 100,
}


@pytest.mark.parametrize("name", REGISTRY)
def test_an_experiment_is_what_its_record_says(name: str) -> None:
    """In one test, since an experiment is made once: tools see only the first that makes it depend on it."""
    experiment = _loaded(name)
    assert experiment.name == name
    assert experiment.report == next(
        (kind for kind, names in REPORTED.items() if name in names), ""
    )
    assert experiment.finish == FINISHED.get(name, "")
    assert experiment.runs_per_task == RUNS_OF_A_TASK.get(name, 10)
    if name not in WITHOUT_RECORD:
        about = attributes(name)
        for field in ("name", "title", "function", "summary", "seed", "version", "runs"):
            assert getattr(experiment, field) == about[field], field
        assert _setting_name(experiment) == about["setting_type"]
        assert (
            canonical_json([plain(setting) for setting in experiment.settings]) == about["settings"]
        )


def test_experiments_without_a_record() -> None:
    two_state, table = load_experiment("fig2"), load_experiment("table1")
    assert two_state.title == "Figure 2: semi-gradient Q(sigma, lambda) on the two-state example"
    assert (two_state.function, two_state.summary) == ("two-state", "two-state")
    assert (two_state.runs, two_state.seed, two_state.version) == (30, 2019, "2")
    assert table.title == "Table 1: mountain car, cases I to III overall"
    # Table 1 pools the runs of Table 2, so it is the same sweep under another name.
    same = ("function", "summary", "settings", "runs", "seed", "version")
    assert all(getattr(table, field) == getattr(_loaded("table2"), field) for field in same)
