"""Run as a program by the fault-injection tests: a sweep, or a sweep that is killed again and again.

    python sweep_driver.py run STORE LOG TASKS WORKERS      run to the end
    python sweep_driver.py kill STORE LOG TASKS KILLS SEED  start, kill -9 at a random instant, KILLS times over

`kill` forks, so that a start costs milliseconds, and prints how many of the children were killed while at work.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time

from sweep_tasks import experiment

from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import run_sweep

# A kill comes at a random moment of the time in which this many tasks can be stored, measured before.
WINDOW = 8
CHUNK = 64  # bytes


def sweep(tasks: int, log: str):
    return experiment(settings=2, runs=tasks, runs_per_task=2, log=log)


def slow_disk(descriptor: int, data: bytes, write=os.write) -> int:
    """Write a little and take a moment, so that kills fall into the middle of files too."""
    time.sleep(1e-5)
    return write(descriptor, data[:CHUNK])


class Announcing(Store):
    """A store that tells a pipe when it starts to write."""

    pipe: int

    def put(self, *arguments) -> None:
        os.write(self.pipe, b".")
        super().put(*arguments)


def writing_time(store: str) -> float:
    """Return the seconds that it takes to store one small file."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(store)) as directory:
        start = time.perf_counter()
        for trial in range(WINDOW):
            Store(directory).put(str(trial), {}, {})
        return (time.perf_counter() - start) / WINDOW


def killed_once(store: str, log: str, tasks: int, rng: random.Random) -> bool:
    window = WINDOW * writing_time(store)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        announcing = Announcing(store)
        announcing.pipe = writer
        run_sweep(sweep(tasks, log), announcing)
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)  # empty if the child has ended: nothing was left to do
    time.sleep(rng.uniform(0.0, window))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reader)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def main(mode: str, store: str, log: str, tasks: str, number: str, seed: str = "0") -> None:
    if mode == "run":
        report = run_sweep(sweep(int(tasks), log), Store(store), workers=int(number))
        print(report.found, report.computed)
    else:
        rng = random.Random(int(seed))
        os.write = slow_disk
        print(sum(killed_once(store, log, int(tasks), rng) for _ in range(int(number))))


if __name__ == "__main__":
    main(*sys.argv[1:])
