"""How long it takes to open a finished store: to read and verify every file of 30,000 runs, in tasks as for Table 2."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import least_seconds
from gqlib.experiments import load_experiment
from gqlib.sweeps.store import Store, pack
from gqlib.sweeps.sweep import Experiment, run_sweep

RUNS = 30_000


def finished_store(folder: Path, runs: int = RUNS) -> tuple[Experiment, Store]:
    """A sweep over settings of Table 2 and a store that holds all of its tasks, filled with made-up steps."""
    table = load_experiment("table2")
    sweep = dataclasses.replace(table, settings=table.settings[:100], runs=runs // 100)
    store = Store(folder)
    steps = (
        np.random.default_rng(1).integers(100, 5000, (sweep.runs_per_task, 400)).astype(np.int16)
    )
    for task in sweep.tasks():
        store.path(task.name).write_bytes(pack(task.header, {"signed_steps": steps}))
    return sweep, store


def seconds_to_open(repeats: int = 3) -> float:
    """Processor time to find every run in such a store, the lowest of a few measurements."""
    with tempfile.TemporaryDirectory() as folder:
        sweep, store = finished_store(Path(folder))
        return least_seconds(
            lambda: run_sweep(dataclasses.replace(sweep), store), repeats, time.process_time
        )
