"""Fault injection: whatever is killed, truncated, replaced or filled up, a sweep ends with the same bits.

GQ_KILLS=200 sets the number of random kills (20 without it). `pytest -rP` shows what was killed and what it cost.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sweep_driver import sweep
from sweep_tasks import experiment, whim_study

from gqlib.sweeps.names import SweepError
from gqlib.sweeps.results import collect
from gqlib.sweeps.store import Store, StoreError
from gqlib.sweeps.sweep import run_sweep

HERE = Path(__file__).parent
KILLS = int(os.environ.get("GQ_KILLS", "20"))


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Return a directory in memory where there is one: the faults are the same there, and fsync takes no time."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        yield Path(directory)


def program(*arguments: object) -> list[str]:
    return [sys.executable, str(HERE / "sweep_driver.py"), *map(str, arguments)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"}


def call(*arguments: object) -> str:
    done = subprocess.run(
        program(*arguments),
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout.strip()


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("*.npz")}


def kill_group(group: int) -> None:
    """Kill -9 a command and its workers; the process that clears up shared memory behind them is left alone."""
    for entry in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        with contextlib.suppress(OSError):
            if (
                os.getpgid(int(entry.name)) == group
                and b"resource_tracker" not in (entry / "cmdline").read_bytes()
            ):
                os.kill(int(entry.name), signal.SIGKILL)


def whole(directory: Path, tasks: int, log: str) -> dict[str, bytes]:
    """Return what an undisturbed sweep leaves."""
    run_sweep(sweep(tasks, log), Store(directory))
    return content(directory)


@pytest.mark.thorough
def test_killed_at_random_instants_a_sweep_ends_bit_identical(tmp_path: Path) -> None:
    tasks, log = 12 * KILLS, tmp_path / "log"
    killed = int(call("kill", tmp_path / "store", log, tasks, KILLS, 1))
    assert killed == KILLS
    safe = len(content(tmp_path / "store"))
    assert KILLS / 2 < safe < tasks
    found, computed = map(int, call("run", tmp_path / "store", log, tasks, 1).split())
    assert (found, computed) == (safe, tasks - safe)
    # One process computes one task at a time: a kill costs at most the one in work.
    started = len(log.read_text().splitlines())
    assert tasks <= started <= tasks + KILLS
    assert content(tmp_path / "store") == whole(tmp_path / "reference", tasks, str(log))
    print(
        f"killed {killed} times, {safe} of {tasks} stored; resumed: {computed} computed, {started - tasks} twice"
    )


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_whose_parent_was_killed_end_within_seconds(tmp_path: Path) -> None:
    process = subprocess.Popen(
        program("run", tmp_path / "store", tmp_path / "log", 4000, 2),
        env=environment(),
        start_new_session=True,
    )
    pids: set[int] = set()
    while len(pids) < 2 and process.poll() is None:
        time.sleep(0.01)
        with contextlib.suppress(OSError):
            pids = {int(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines()}
    process.kill()
    assert len(pids - {process.pid}) == 2
    process.wait(60)
    begin = time.monotonic()
    while any(alive(pid) for pid in pids) and time.monotonic() < begin + 30:
        time.sleep(0.1)
    waited = time.monotonic() - begin
    kill_group(process.pid)
    assert waited < 10
    print(f"orphans ended after {waited:.1f} s")


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.thorough
def test_a_group_of_workers_killed_at_once_ends_bit_identical(tmp_path: Path) -> None:
    tasks, log = 200, tmp_path / "log"
    for kill in range(2):
        process = subprocess.Popen(
            program("run", tmp_path / "store", log, tasks, 2),
            env=environment(),
            start_new_session=True,
        )
        wanted = 20 * (kill + 1)
        while len(list((tmp_path / "store").glob("*.npz"))) < wanted and process.poll() is None:
            time.sleep(0.002)
        kill_group(process.pid)
        assert process.wait(60) == -signal.SIGKILL
    found, computed = map(int, call("run", tmp_path / "store", log, tasks, 2).split())
    assert found >= 40
    assert found + computed == tasks
    twice = len(log.read_text().splitlines()) - tasks
    assert content(tmp_path / "store") == whole(tmp_path / "reference", tasks, str(log))
    print(
        f"two workers killed twice, {found} of {tasks} tasks stored; resumed: {computed} computed, {twice} twice"
    )


@pytest.mark.thorough
def test_two_processes_on_one_store_do_not_disturb_each_other(tmp_path: Path) -> None:
    tasks, log = 100, tmp_path / "log"
    both = [
        subprocess.Popen(
            program("run", tmp_path / "store", log, tasks, 1),
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert sum(map(int, output.split())) == tasks
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == sorted(
        content(tmp_path / "store")
    )
    print(
        f"two writers on {tasks} tasks: {len(log.read_text().splitlines())} computed between them, bits equal"
    )
    assert content(tmp_path / "store") == whole(tmp_path / "reference", tasks, str(log))


def test_truncated_and_foreign_files_are_named_and_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)
    run_sweep(experiment(), store)
    before = content(tmp_path)
    truncated, foreign, swapped, other, *_ = sorted(tmp_path.iterdir())
    truncated.write_bytes(truncated.read_bytes()[:100])
    foreign.write_text("something else")
    swapped.write_bytes(other.read_bytes())
    with pytest.raises(StoreError, match=truncated.name):
        collect(experiment(), store)
    with caplog.at_level(logging.WARNING):
        report = run_sweep(experiment(), store)
    assert sorted(report.damaged) == sorted([truncated, foreign, swapped])
    assert report.computed == 3
    for path in (truncated, foreign, swapped):
        assert str(path) in caplog.text
    assert content(tmp_path) == before
    print(
        f"3 of {len(before)} files cut, replaced, swapped: 3 named, {report.computed} computed, bits equal"
    )


def test_unrelated_files_in_the_store_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    run_sweep(experiment(), Store(tmp_path))
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_disk_that_fills_up_stops_the_sweep_and_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_sweep(experiment(runs=4), store)
    before = content(tmp_path)
    size = max(map(len, before.values()))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, hard))
    try:
        with pytest.raises(StoreError, match=r"cannot write .*: the disk is full"):
            run_sweep(experiment(runs=12), store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert content(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == len(before)
    again = run_sweep(experiment(runs=12), store)
    assert again.found == len(before)
    print(
        f"disk full at file {len(before) + 1}: {again.found} kept, {again.computed} computed once there was room"
    )


@pytest.mark.parametrize("told", ["the others", "nothing"])
def test_a_task_that_cannot_be_stored_is_named_and_the_rest_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    """The rename of one result fails again and again; at last that of the report, too."""
    store, study, real = Store(tmp_path), experiment(settings=3, runs=8), os.replace
    bad = study.tasks()[2]
    lost = [bad.name] + ["failures"] * (told == "nothing")

    def replace(source: Path, target: Path) -> None:
        if any(name in target.name for name in lost):
            raise OSError(errno.ESTALE, "Stale file handle")
        real(source, target)

    monkeypatch.setattr("gqlib.sweeps.store.pause", lambda seconds: None, raising=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(
            SweepError, match=r"^1 of 6 tasks failed.*runs 0 to 3 of .*scale=3"
        ) as found:
            run_sweep(study, store)
    assert "Stale file handle" in str(found.value)
    assert (tmp_path / "failures.txt").exists() == (told != "nothing")
    assert sorted(store.names()) == sorted({task.name for task in study.tasks()} - {bad.name})
    again = run_sweep(study, store)
    assert (again.found, again.computed) == (5, 1)
    print(f"1 of 6 results could not be stored: 5 kept, {again.computed} computed again")


@pytest.mark.thorough
def test_a_task_that_ends_its_worker_is_named_and_the_rest_is_finished(tmp_path: Path) -> None:
    store, sweep = Store(tmp_path), whim_study("good", "death", "better", "fine", "best")
    dead = r"1 of 5 tasks failed.*runs 0 to 1 of Whim\(what='death'\): its worker process died"
    with pytest.raises(SweepError, match=dead):
        run_sweep(sweep, store, workers=2)
    assert len(store.names()) == 4
    with pytest.raises(SweepError, match=dead.replace("5", "1")):
        run_sweep(sweep, store, workers=2)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.mark.thorough
def test_a_dask_cluster_gives_the_same_bits(tmp_path: Path, cluster) -> None:
    sweep = experiment(settings=4, runs=24, log=str(tmp_path / "log"), delay=0.02)
    run_sweep(sweep, Store(tmp_path / "dask"), dask=cluster.scheduler_address)
    pids = {line.split()[0] for line in (tmp_path / "log").read_text().splitlines()}
    assert len(pids) == 2
    assert str(os.getpid()) not in pids
    run_sweep(sweep, Store(tmp_path / "here"))
    assert content(tmp_path / "dask") == content(tmp_path / "here")


@pytest.mark.thorough
def test_a_lost_dask_worker_costs_time_and_nothing_else(tmp_path: Path, cluster) -> None:
    sweep = experiment(settings=4, runs=40, log=str(tmp_path / "log"), delay=0.05)

    class Deadly(Store):
        left = 1

        def put(self, *arguments) -> None:
            super().put(*arguments)
            if self.left:
                self.left -= 1
                victim = int((tmp_path / "log").read_text().split()[0])
                os.kill(victim, signal.SIGKILL)

    assert (
        run_sweep(sweep, Deadly(tmp_path / "dask"), dask=cluster.scheduler_address).computed == 40
    )
    started = len((tmp_path / "log").read_text().splitlines())
    run_sweep(sweep, Store(tmp_path / "here"))
    assert content(tmp_path / "dask") == content(tmp_path / "here")
    print(
        f"1 of 2 Dask workers killed after 1 of 40 tasks: 40 stored, {started - 40} computed twice, bits equal"
    )


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gqlib.sweeps.workers._CONNECT_TIMEOUT", "1s")
    with pytest.raises(SweepError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        run_sweep(experiment(), Store(tmp_path), dask="tcp://127.0.0.1:9")
