"""How tasks reach local processes, with a pool that is played: what it is told, what it hands on, what ends it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import joblib
import pytest
from joblib.externals.loky.backend.process import LokyProcess
from joblib.externals.loky.process_executor import BrokenProcessPool
from sweep_tasks import experiment

from gqlib.sweeps import workers
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import run_sweep
from gqlib.sweeps.workers import Failure, computed

DIED = Failure("its worker process died (killed, or out of memory)", "")


class Works:
    def __init__(self, value: Any) -> None:
        self.value = value

    def compute(self) -> Any:
        if isinstance(self.value, BaseException):
            raise self.value
        return {"x": self.value}


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The parents that a worker was told to follow, which this process does not."""
    parents: list[int] = []
    monkeypatch.setattr(workers, "_follow", parents.append)
    return parents


def test_a_worker_follows_its_parent_and_one_of_a_cluster_has_none(followed: list[int]) -> None:
    assert workers._outcome_elsewhere(3, Works(7), 123) == (3, {"x": 7})
    assert followed == [123]
    assert workers._outcome_elsewhere(4, Works(8), None) == (4, {"x": 8})
    assert followed == [123]


def test_a_failure_is_told_with_its_kind_its_words_and_where_it_was() -> None:
    index, failure = workers._outcome(5, Works(KeyError("gone")), (Exception,))
    assert index == 5
    assert isinstance(failure, Failure)
    assert failure.error == "KeyError: 'gone'"
    assert failure.traceback.startswith("Traceback (most recent call last)")
    assert "raise self.value" in failure.traceback


def test_an_exception_that_cannot_say_what_it_is_is_a_failure_like_others() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise KeyError("text")

    outcomes = list(computed([Works(Mute()), Works(7)], 1, None))
    assert isinstance(outcomes[0][1], Failure)
    assert outcomes[0][1].error == "Mute: it has no text, which raised KeyError"
    assert outcomes[1] == (1, {"x": 7})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_worker_whose_parent_is_gone_before_its_first_task_ends_at_once() -> None:
    program = "from gqlib.sweeps import workers; import time; workers._follow(1 << 30); time.sleep(60); print('on')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")


def test_what_computes_in_the_same_process_follows_nobody() -> None:
    before = threading.active_count()
    workers._follow.__wrapped__(os.getpid())
    assert threading.active_count() == before


def test_an_interrupt_is_caught_in_a_worker_alone(followed: list[int]) -> None:
    _, failure = workers._outcome_elsewhere(0, Works(KeyboardInterrupt("stop")), 1)
    assert isinstance(failure, Failure)
    assert failure.error == "KeyboardInterrupt: stop"
    with pytest.raises(KeyboardInterrupt):
        list(computed([Works(KeyboardInterrupt())], 1, None))


def test_one_worker_computes_here_in_order_and_goes_on_after_a_failure() -> None:
    outcomes = list(computed([Works(1), Works(SystemExit(2)), Works(3)], 1, None))
    assert [index for index, _ in outcomes] == [0, 1, 2]
    assert outcomes[0][1] == {"x": 1}
    assert outcomes[1][1].error == "SystemExit: 2"
    assert outcomes[2][1] == {"x": 3}
    assert list(computed([], 4, "tcp://nowhere")) == []


def test_a_page_computes_in_its_only_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IN_PAGE", True)
    monkeypatch.setattr(
        workers, "_by_processes", lambda *_: pytest.fail("a page has no other process")
    )
    assert list(computed([Works(1)], 2, None)) == [(0, {"x": 1})]


def test_tasks_are_handed_over_one_at_a_time_with_the_parent_to_follow(
    monkeypatch: pytest.MonkeyPatch, followed: list[int]
) -> None:
    told: list[dict[str, Any]] = []
    backends: list[dict[str, Any]] = []
    real = joblib.parallel_config

    class Pool:
        def __init__(self, **options: Any) -> None:
            told.append(options)

        def __call__(self, calls: Any) -> Iterator[Any]:
            return (function(*arguments, **options) for function, arguments, options in calls)

    def config(**options: Any) -> Any:
        backends.append(options)
        return real(**options)

    monkeypatch.setattr(joblib, "Parallel", Pool)
    monkeypatch.setattr(joblib, "parallel_config", config)
    assert list(computed([Works(1), Works(2)], 3, None)) == [(0, {"x": 1}), (1, {"x": 2})]
    own = {"initializer": workers._follow, "initargs": (os.getpid(),)}
    assert told == [{"n_jobs": 2, "batch_size": 1, "return_as": "generator_unordered", **own}]
    handed: list[int] = []
    outcomes = workers._handed_over({4: Works(1), 7: Works(2)}, 3, handed)
    assert [(outcome, list(handed)) for outcome in outcomes] == [
        ((4, {"x": 1}), [4]),
        ((7, {"x": 2}), [4, 7]),
    ]
    assert backends == [{"backend": "loky"}]
    assert followed == [os.getpid()] * 4


def test_tasks_whose_pool_broke_are_tried_alone_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pools: list[tuple[list[int], int]] = []

    def pool(tasks: Mapping[int, Any], count: int, handed: list[int]) -> Iterator[Any]:
        pools.append((list(tasks), count))
        ahead = list(tasks)
        handed += ahead[:count]
        for place, index in enumerate(ahead):
            if tasks[index] == "deadly" or (tasks[index] == "bystander" and len(ahead) > 1):
                raise BrokenProcessPool
            yield index, {"x": index}
            handed += ahead[place + count : place + count + 1]

    monkeypatch.setattr(workers, "_handed_over", pool)
    tasks: list[Any] = ["good", "deadly", "good", "bystander", "good"]
    outcomes = list(workers._by_processes(tasks, 2))
    assert outcomes == [(0, {"x": 0}), (1, DIED), (2, {"x": 2}), (3, {"x": 3}), (4, {"x": 4})]
    assert pools == [([0, 1, 2, 3, 4], 2), ([1], 1), ([2], 1), ([3, 4], 2), ([3], 1), ([4], 1)]


def test_processes_or_a_cluster_get_all_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []

    def by(name: str) -> Callable[..., Iterator[Any]]:
        def compute(*arguments: Any) -> Iterator[Any]:
            seen.append((name, *arguments))
            yield 0, {"x": name}

        return compute

    monkeypatch.setattr(workers, "_by_processes", by("processes"))
    monkeypatch.setattr(workers, "_by_cluster", by("cluster"))
    tasks = [Works(1), Works(2)]
    assert list(computed(tasks, 1000, None)) == [(0, {"x": "processes"})]
    assert list(computed(tasks, 1000, "local")) == [(0, {"x": "cluster"})]
    assert seen == [("processes", tasks, 2), ("cluster", tasks, 2, "local")]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_no_more_processes_are_started_than_there_are_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Of a thousand; and one task has a process of its own, which it may end."""
    joblib.externals.loky.get_reusable_executor().shutdown()  # that of another test
    started: list[int] = []
    start = LokyProcess.start
    monkeypatch.setattr(LokyProcess, "start", lambda process: (started.append(0), start(process)))
    log = tmp_path / "log"
    sweep = experiment(settings=1, runs=count, runs_per_task=1, log=str(log))
    assert run_sweep(sweep, Store(tmp_path / "store"), workers=10).computed == count
    assert len(started) <= count
    assert str(os.getpid()) not in {line.split()[0] for line in log.read_text().splitlines()}


def test_results_that_nobody_waits_for_are_closed_without_a_word() -> None:
    """joblib warns of tasks that were not finished, and here a warning is an error."""
    closed: list[bool] = []

    def outcomes() -> Iterator[int]:
        try:
            yield 1
        finally:
            warnings.warn("2 tasks were not finished", UserWarning, stacklevel=1)
            closed.append(True)

    generator = outcomes()
    with workers._closing_quietly(generator):
        next(generator)
    assert closed == [True]
