"""The engine's speed, as ratios measured in one run on one machine: ``python -m benchmarks``.

Times are processor times of this process, the best of several measurements, and what is compared is measured in turn;
a ratio therefore says what the code costs, not what else the machine was doing. Two workers and one are compared by
wall-clock time, and with what the machine allows: two processors that share a core do not do twice the work of one.
The learner is compared with two loops that learn nothing: one written plainly, which says what learning costs beside
the loop that one has (the goals of 1.4 and 1.6 were set beside such a one), and one that was given every means of the
learner itself (`gqlib.fast._lowered`), which gains more by them than a learner does, and is the harder measure. Rivals
are what one writes in an hour (`benchmarks.plain`), not the reference, which checks its arguments at every step; its
time is shown as well.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import agents, general, peers, plain
from benchmarks.matrices import cost_of_a
from benchmarks.prediction import prediction_ratios
from benchmarks.store import seconds_to_open
from benchmarks.timing import Tell, side_by_side
from gqlib.control.engine import engine_setting, one_run
from gqlib.control.setting import ControlSetting
from gqlib.engine._kernel import FLUSH_BELOW
from gqlib.fast import ENGINE_VERSION

SEED = 1
BASE = ControlSetting(alpha=0.0005, episodes=40)
DENSE_SIZES = (512, 2048, 16384)
BARE_CAR = "the same without learning, mountain car"
OPENING, OPENING_BOUND = "seconds to open a store of 30,000 runs", 2.0

# name: (what is measured, bound, whether the ratio should be at least or at most that)
TARGETS = {
    "learning / plain": ("compiled learning step / plain loop without learning", 1.4, "at most"),
    "learning / plain, epsilon-greedy": (
        "the same with an epsilon-greedy target policy",
        1.6,
        "at most",
    ),
    "learning / plain, dynamic sigma": (
        "the same with a normal sigma drawn for each step",
        1.6,
        "at most",
    ),
    "learning / bare": ("compiled learning step / tuned loop without learning", 1.7, "at most"),
    "learning / bare, epsilon-greedy": (
        "the same with an epsilon-greedy target policy",
        1.9,
        "at most",
    ),
    "learning / bare, dynamic sigma": (
        "the same with a normal sigma drawn for each step",
        2.0,
        "at most",
    ),
    "learning / bare, mountain car": (
        "engine, mountain car / the same without learning",
        2.0,
        "at most",
    ),
    "learning / bare, Acrobot": (
        "engine, Acrobot / the same without learning",
        2.0,
        "at most",
    ),
    "learning / bare, cart-pole": (
        "engine, cart-pole / the same without learning",
        2.0,
        "at most",
    ),
    "Gymnasium / general": (
        "Sarsa(lambda) on Gymnasium's car in Python / engine",
        100.0,
        "at least",
    ),
    **{
        f"{kind}, {name}": (f"{text}, {name}", bound, sense)
        for kind, text, bound, sense in (
            ("agent / environment", "a step with an agent / Gymnasium's own step", 3.0, "at most"),
            ("plain / agent", "plain sparse Sarsa(lambda) loop in Python / agent", 1.0, "at least"),
        )
        for name in agents.PLACES
    },
    "MushroomRL / agent": (
        "MushroomRL's own true online Sarsa(lambda) loop / agent, MountainCar",
        None,
        "",
    ),
    "gymnax / general": ("gymnax's car alone, in JAX / engine without learning", None, ""),
    "reference / NumPy": ("checked reference / plain NumPy loop, p = 1024", None, ""),
    "NumPy / compiled": ("plain NumPy loop / compiled, p = 1024", 100.0, "at least"),
    "dense / lazy, p = 512": ("plain Numba loop, dense trace / compiled, p = 512", 3.0, "at least"),
    "dense / lazy, p = 2048": (
        "plain Numba loop, dense trace / compiled, p = 2048",
        10.0,
        "at least",
    ),
    "dense / lazy, p = 16384": (
        "plain Numba loop, dense trace / compiled, p = 16384",
        80.0,
        "at least",
    ),
    "p = 16384 / p = 512": ("compiled step at p = 16384 / at p = 512", 1.2, "at most"),
    "16 tilings / 8 tilings": (
        "compiled step with 16 tilings / with 8 (linear: 2)",
        2.2,
        "at most",
    ),
    "two workers / one": ("runs per second of two workers / of one", None, ""),
    "two copies / one": (
        "steps per second of two copies of a run, left to themselves / of one",
        None,
        "",
    ),
    "two workers / two copies": ("what two workers gain / what two copies gain", 0.9, "at least"),
    "prediction, Baird": ("prediction reference / compiled, Baird's star", 100.0, "at least"),
    "prediction, Boyan": ("prediction reference / compiled, Boyan's chain", 100.0, "at least"),
    "prediction, Cart-pole": ("prediction reference / compiled, cart-pole", None, ""),
    "A / solve": ("A_sigma of 2,000 pairs and 200 features / one dense solve", 3.0, "at most"),
}


def best(
    work: Callable[[], int], repeats: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Nanoseconds per step, the lowest of several measurements; `work` returns its number of steps."""
    work()  # fills the caches
    least = math.inf
    for _ in range(repeats):
        begin = clock()
        steps = work()
        least = min(least, (clock() - begin) / steps)
    return 1e9 * least


def learning(setting: ControlSetting) -> Callable[[], int]:
    """A run of the compiled learner."""
    return lambda: int(np.abs(one_run(setting, SEED, 0)[0]).sum())


def bare(setting: ControlSetting) -> Callable[[], int]:
    """The engine's loop without learning, with the weights that the learner ends with."""
    return general.without_learning(engine_setting(setting), SEED)


def plain_bare(setting: ControlSetting) -> Callable[[], int]:
    """The same, written plainly."""
    return partial(plain.bare_steps, setting, one_run(setting, SEED, 0)[2], SEED)


def reference(setting: ControlSetting) -> Callable[[], int]:
    """The dense NumPy reference, on one short episode: its cost per step does not depend on the number of steps."""
    short = replace(setting, episodes=1, max_steps=min(300, setting.max_steps))
    return lambda: int(np.abs(one_run(short, SEED, 0, reference=True)[0]).sum())


def _task(first_run: int, runs: int) -> int:
    return sum(
        int(np.abs(one_run(BASE, SEED, run)[0]).sum()) for run in range(first_run, first_run + runs)
    )


def two_workers(repeats: int, tasks: int = 32, runs: int = 16) -> float:
    """Speed of two processes over that of one, on the same tasks, in wall-clock time."""
    from joblib import Parallel, delayed

    def speed(workers: int) -> float:
        with Parallel(n_jobs=workers) as parallel:
            work = [delayed(_task)(k * runs, runs) for k in range(tasks)]
            return 1.0 / best(lambda: sum(parallel(work)), repeats, time.perf_counter)

    one = speed(1)
    return speed(2) / one


def _pace(seconds: float) -> float:
    """Steps per second of one run, over and over, for about so long."""
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() < begin + seconds:
        steps += _task(0, 1)
    return steps / (time.perf_counter() - begin)


def two_copies(repeats: int, seconds: float = 1.0) -> float:
    """Speed of two processes that have nothing to do with each other over that of one: what the machine allows."""
    from joblib import Parallel, delayed

    with Parallel(n_jobs=2) as parallel:
        one, two = [delayed(_pace)(seconds)], [delayed(_pace)(seconds)] * 2
        parallel(two)  # starts both, and fills their caches
        pairs = [(sum(parallel(one)), sum(parallel(two))) for _ in range(repeats)]
    alone, together = (max(paces) for paces in zip(*pairs, strict=True))
    return float(together / alone)


def flush_rule(
    thresholds: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-12),
    tell: Tell = lambda *row: None,
) -> list[dict[str, float]]:
    """What the flush threshold costs and what it does to the weights, against the dense NumPy reference."""
    short = replace(BASE, episodes=1, max_steps=2000, p=512)
    exact = one_run(short, SEED, 0, reference=True)[2]
    rows = []
    for threshold in thresholds:

        def work(threshold: float = threshold) -> int:
            return int(np.abs(one_run(BASE, SEED, 0, flush_below=threshold)[0]).sum())

        theta = one_run(short, SEED, 0, flush_below=threshold)[2]
        error = float(np.abs(theta - exact).max() / np.abs(exact).max())
        rows.append({"threshold": threshold, "nanoseconds": best(work, 3), "relative error": error})
        tell(
            "flush",
            f"{threshold:<10g} (relative error of theta {error:.1e})",
            rows[-1]["nanoseconds"],
        )
    return rows


def measure(repeats: int = 7, tell: Tell = lambda *row: None) -> dict[str, Any]:
    """All times in nanoseconds per step, and the ratios.

    Parameters
    ----------
    repeats : int
        Number of measurements, of which the best counts.
    tell : callable
        Called with every row as soon as it is measured: its kind ("time", "ratio", "flush", "open"), name and value;
        and with "absent", a peer and why it is not measured, and 0.

    Returns
    -------
    dict
        "times", "ratios" (by the names in `TARGETS`), "flush", "engine_version" and the versions of "peers".
    """
    soft = replace(BASE, target="epsilon-greedy")
    noisy = replace(BASE, sigma_noise=0.01)
    few = min(3, repeats)  # what takes long is measured less often
    times: dict[str, float] = {}

    def clock(works: dict[str, Callable[[], int]], repeats: int) -> None:
        for name, value in side_by_side(works, repeats).items():
            times[name] = value
            tell("time", name, value)

    clock(
        {
            "plain bare loop": plain_bare(BASE),
            "bare loop": bare(BASE),
            "compiled": learning(BASE),
            "plain bare loop, epsilon-greedy": plain_bare(soft),
            "bare loop, epsilon-greedy": bare(soft),
            "compiled, epsilon-greedy target": learning(soft),
            "compiled, dynamic sigma": learning(noisy),
            "compiled, 16 tilings": learning(replace(BASE, tilings=16)),
        },
        repeats,
    )
    for p in DENSE_SIZES:
        dense = partial(plain.numba_steps, replace(BASE, p=p, episodes=2))
        clock(
            {
                f"compiled, p = {p}": learning(replace(BASE, p=p)),
                f"plain Numba loop, dense, p = {p}": dense,
            },
            few,
        )
    for name, setting in general.CLASSIC.items():
        pair = {f"engine, {name}": general.general(setting)}
        clock(
            pair | {f"the same without learning, {name}": general.without_learning(setting)},
            repeats,
        )
    clock({"engine, Sarsa, mountain car": general.general(general.SARSA)}, repeats)
    clock(
        {
            "plain NumPy loop": partial(plain.numpy_steps, BASE),
            "checked reference": reference(BASE),
            "Gymnasium loop in Python, Sarsa": plain.gymnasium_steps,
        },
        few,
    )
    for name, place in agents.PLACES.items():
        both = {
            "environment alone": agents.environment_alone(place),
            "agent": agents.agent_in(place),
        }
        clock({f"{what}, {name}": work for what, work in both.items()}, repeats)
        clock({f"plain sparse Sarsa loop, {name}": agents.plain_loop(place)}, few)
    versions: dict[str, str] = {}
    for name in peers.PEERS:
        loop, versions[name] = peers.loop_of(name)
        if loop is None:
            tell("absent", f"{name}: {versions[name]}", 0.0)
        else:
            clock({f"{name}, mountain car": loop}, few)
    ratios: dict[str, float] = {}

    def add(name: str, value: float) -> None:
        ratios[name] = value
        tell("ratio", name, value)

    for kind, idle in (("plain", "plain bare loop"), ("bare", "bare loop")):
        add(f"learning / {kind}", times["compiled"] / times[idle])
        soft_ratio = times["compiled, epsilon-greedy target"] / times[f"{idle}, epsilon-greedy"]
        add(f"learning / {kind}, epsilon-greedy", soft_ratio)
        add(f"learning / {kind}, dynamic sigma", times["compiled, dynamic sigma"] / times[idle])
    for name in general.CLASSIC:
        add(
            f"learning / bare, {name}",
            times[f"engine, {name}"] / times[f"the same without learning, {name}"],
        )
    sarsa = times["engine, Sarsa, mountain car"]
    add("Gymnasium / general", times["Gymnasium loop in Python, Sarsa"] / sarsa)
    for name in agents.PLACES:
        agent = times[f"agent, {name}"]
        add(f"agent / environment, {name}", agent / times[f"environment alone, {name}"])
        add(f"plain / agent, {name}", times[f"plain sparse Sarsa loop, {name}"] / agent)
    for name, ours in (
        ("MushroomRL / agent", "agent, MountainCar"),
        ("gymnax / general", BARE_CAR),
    ):
        theirs = f"{name.partition(' / ')[0]}, mountain car"
        if theirs in times:
            add(name, times[theirs] / times[ours])
    add("reference / NumPy", times["checked reference"] / times["plain NumPy loop"])
    add("NumPy / compiled", times["plain NumPy loop"] / times["compiled"])
    for p in DENSE_SIZES:
        add(
            f"dense / lazy, p = {p}",
            times[f"plain Numba loop, dense, p = {p}"] / times[f"compiled, p = {p}"],
        )
    add("p = 16384 / p = 512", times["compiled, p = 16384"] / times["compiled, p = 512"])
    add("16 tilings / 8 tilings", times["compiled, 16 tilings"] / times["compiled"])
    add("two workers / one", two_workers(few))
    add("two copies / one", two_copies(few))
    add("two workers / two copies", ratios["two workers / one"] / ratios["two copies / one"])
    for name, row in prediction_ratios(repeats).items():
        add(f"prediction, {name}", row["ratio"])
    add("A / solve", cost_of_a(repeats=few)["A_ratio"])
    flush = flush_rule(tell=tell)
    opening = seconds_to_open(few)
    tell("open", OPENING, opening)
    found = {
        "engine_version": ENGINE_VERSION,
        "times": times,
        "ratios": ratios,
        "flush": flush,
        "peers": versions,
    }
    return found | {OPENING: opening}


HEADS = {
    "time": "nanoseconds per step",
    "absent": "not measured",
    "ratio": "ratios",
    "flush": f"nanoseconds per step, flushed when c is below ... (chosen: {FLUSH_BELOW:g})",
    "open": "the store",
}


def as_text(kind: str, name: str, value: float) -> str:
    """A row as text, with what it should be where there is a bar.

    Examples
    --------
    >>> " ".join(as_text("ratio", "learning / bare", 2.1).split())
    'compiled learning step / tuned loop without learning 2.10 at most 1.7: NO'
    """
    if kind == "absent":
        return f"  {name}"
    if kind == "ratio":
        text, bound, sense = TARGETS[name]
    else:
        text, bound, sense = name, OPENING_BOUND if kind == "open" else None, "at most"
    verdict = (
        ""
        if bound is None
        else f"{sense} {bound:g}: {'yes' if _met(value, bound, sense) else 'NO'}"
    )
    return f"  {text:<62} {value:>10.2f}   {verdict}".rstrip()


def _met(value: float, bound: float, sense: str) -> bool:
    return value >= bound if sense == "at least" else value <= bound


def missed(result: dict[str, Any]) -> list[str]:
    """The names of the bars that a result of `measure` does not meet."""
    bars = {**TARGETS, OPENING: (OPENING, OPENING_BOUND, "at most")}
    values = {**result["ratios"], OPENING: result[OPENING]}
    return [
        name
        for name, value in values.items()
        for _, bound, sense in [bars[name]]
        if bound is not None and not _met(value, bound, sense)
    ]


class Printer:
    """Prints every row as it comes, and a head before the first of a kind."""

    kind = ""

    def __call__(self, kind: str, name: str, value: float) -> None:
        """Print a row."""
        if kind != self.kind:
            print(f"{'' if not self.kind else chr(10)}{HEADS[kind]}")
            self.kind = kind
        print(as_text(kind, name, value), flush=True)


def bench(repeats: int, *, as_json: bool) -> int:
    """Measure and print: rows as they come, or JSON at the end. Returns 1 if a bar is missed, otherwise 0."""
    result = measure(repeats) if as_json else measure(repeats, Printer())
    bad = missed(result)
    print(json.dumps(result | {"missed": bad}, indent=2) if as_json else _verdict(bad))
    return 1 if bad else 0


def _verdict(bad: list[str]) -> str:
    return f"\nmissed: {'; '.join(bad)}" if bad else "\nall bars are met"
