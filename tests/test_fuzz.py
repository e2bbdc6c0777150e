"""Bad input, everywhere: each public function and each command line accepts it with a finite, documented result or
refuses it with a ValueError that names an argument (a command line: in one line, with exit code 2). Nothing else.

A case is a valid call (`fuzz_calls.call`) in which one or two arguments are replaced by hostile values: things of the
wrong type, numbers that are not finite or far out of range, arrays of the wrong shape, chains that are not chains. A
case is determined by the name of the function and a number: a new function changes none of the others' cases. By
default each function has four; the environment variable GQ_FUZZ_CASES asks for at least so many in all, as in

    GQ_FUZZ_CASES=10000 pytest tests/test_fuzz.py -k spoilt -s

which also prints how many were accepted and refused, by module.
"""

from __future__ import annotations

import contextlib
import dataclasses
import decimal
import fractions
import importlib
import inspect
import itertools
import math
import os
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from fuzz_calls import (
    EXCEPTIONS,
    LEFT_OUT,
    ROOT,
    UNSPOILT,
    VALUES,
    call,
    keys,
    public,
    rng,
    why_not,
)

from gqlib import cli, experiments
from gqlib._validate import Diverged
from gqlib.sweeps.names import SweepError
from gqlib.sweeps.store import StoreError

SPOILT = tuple(key for key in keys() if key not in UNSPOILT)
EACH = math.ceil(int(os.environ.get("GQ_FUZZ_CASES", 4 * len(SPOILT))) / len(SPOILT))
SEED = 2019
LIMIT = 30  # seconds for one case: the slowest valid call takes a quarter of one, but machines may be busy
ROOM = 2**31  # bytes that a case may ask for beyond what the process has

# Refusals that name no argument, each documented where it is raised: the disk, a sweep that cannot start, a missing
# file, a step that leaves the range of numbers.
ALSO = (StoreError, SweepError, FileNotFoundError, Diverged)

# Results that may hold what is not finite, and why.
NOT_FINITE = {
    "gqlib.evaluation.measures.exact_mspbe": "NaN for the weights of a run that diverged, which are NaN",
    "gqlib.evaluation.measures.value_error": "NaN for the weights of a run that diverged, which are NaN",
    "gqlib.evaluation.measures.empirical_mspbe": "NaN for the weights of a run that diverged, which are NaN",
    "gqlib.timescales.eta_star": "infinite where no step ratio is large enough",
    "gqlib.learners.corrected.trace_variance_limit": "infinite where the second moment always exists",
    "gqlib.variance.second_moment_limit": "infinite where the second moment always exists",
    "gqlib.evaluation.run.run_prediction": "NaN after the step at which a run diverged, which is told",
    "gqlib.evaluation.curves.run_curves": "NaN after the step at which a run diverged, which is told",
    "gqlib.tabular.operator.contraction_limit": "infinite where the policies agree, or without a discount",
    "gqlib.evaluation.curves.curve_runs": "NaN after the step at which a run diverged, which is told",
    "gqlib.evaluation.curves.curve_summary": "infinite for a run that diverged",
    "gqlib.evaluation.curves.late": "infinite for a run that diverged",
    "gqlib.evaluation.grids.grid_runs": "NaN where a run diverged",
    "gqlib.evaluation.grids.grid_summary": "infinite where a run diverged; no half width from one run",
    "gqlib.stats.comparisons.paired_difference": "variance_ratio is NaN where neither sample varies",
    "gqlib.control.tile_tables.tile_table": "the last cells of the state box have no upper edge",
    "gqlib.methods.limits.eta_star": "infinite where no step ratio is large enough",
    "gqlib.methods.limits.error_after": "infinite for a step size that is too large",
    "gqlib.methods.limits.limits": "infinite noise; NaN where the mean diverges",
    "gqlib.methods.limits.ratio_windows": "the last window may be unbounded",
    "gqlib.ridge.kappa_windows": "the last window may be unbounded",
    "gqlib.stats.cases.case_counts": "counts; percentages of nothing are not asked for",
}


class TooSlow(BaseException):
    """Raised by the alarm; not an Exception, so that nothing under test can catch it."""


def general() -> list[Any]:
    """Values that are wrong almost everywhere."""
    numbers = [
        np.nan, np.inf, -np.inf, -1, 0, 1, 2, 7.0, -0.5, 0.5, 1.5, 1e308, -1e308, 1e160, 1e-320, 10**18, -(2**63),
        2**64,
        10**400, True, False, 1 + 2j, np.float64("nan"), np.float32(0.3), np.int8(-1), np.uint64(2**64 - 1),
        np.bool_(True),
        np.array(3.0), np.datetime64("2019-01-01"), fractions.Fraction(1, 3), decimal.Decimal("0.5"),
        decimal.Decimal("NaN"),
    ]  # fmt: skip
    arrays = [
        np.empty(0), np.empty((0, 3)), np.zeros((2, 2)), np.ones((2, 2, 2, 2)), np.array([None, 1.0], dtype=object),
        np.array(["a", "b"]), np.array([1 + 1j, 2.0]), np.array([np.nan, 1.0]), np.array([[1e308] * 2] * 2),
        np.array([1, 2]),
        np.ma.masked_array([1.0, 2.0], [0, 1]),
    ]  # fmt: skip
    others = [
        None, "", "nonsense", "0.5", "σ\x00", b"bytes", np.str_("greedy"), [], (), {}, {1: 2}, {"a": None}, set(),
        [None],
        [[1.0, 2.0], [3.0]], [0.5, "a"], range(3), object(), len, int, iter([1.0]), lambda *a, **k: None,
        lambda *a, **k: np.nan, rng(), np.random.RandomState(0),
    ]  # fmt: skip
    return numbers + arrays + others


def spoilt_array(x: np.ndarray, draw: np.random.Generator) -> list[Any]:
    """What an array can be turned into."""
    x = x.astype(float) if x.dtype.kind in "bui" else x
    changed = []
    for value in (np.nan, np.inf, -1.0, 1e308, -1e-3, 5e-324, 1e60):
        copy = np.array(x, dtype=float)
        if copy.size:
            copy.flat[int(draw.integers(copy.size))] = value
        changed.append(copy)
    fixed = np.array(x)
    fixed.setflags(write=False)
    return [
        *changed, fixed, x.T, x.ravel(), x[:-1], x[..., :-1], x[None], x[..., None], x[::-1], x[:0], x + 1.0, 0.0 * x,
        -x,
        1e300 * x, 1e-300 * x, x * (1 + 1e-12), x.astype(complex), x + 1j, x.astype(object), x.astype(str), x.tolist(),
        tuple(x.tolist()), x.astype(np.float32), x.astype(int), x.astype(bool), np.asfortranarray(x), float(x.sum()),
        np.concatenate([x, x]), np.where(x == x, None, x), [*x, None],
    ]  # fmt: skip


def spoilt(value: Any, draw: np.random.Generator) -> Any:
    """A hostile value in place of a valid one."""
    pool = general()
    if isinstance(value, np.ndarray) and draw.random() < 0.7:
        pool = spoilt_array(value, draw)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int | float) and draw.random() < 0.5:
        pool = [-value, value + 1, value - 1, 10 * value + 3, float(value), str(value), np.float64(value), [value],
                np.array([value]), np.array(value), complex(value), fractions.Fraction(str(value)), 1 / 3]  # fmt: skip
    elif isinstance(value, str) and draw.random() < 0.3:
        pool = [value.upper(), value + " ", value[::-1], value.encode(), [value], np.str_(value)]
    elif isinstance(value, list | tuple) and draw.random() < 0.5:
        pool = [value[:-1], [*value, None], [*value, *value], tuple(value), list(value), [value],
                dict(enumerate(value)), [None for _ in value], [str(v) for v in value], [np.nan for _ in value],
                value[::-1]]  # fmt: skip
    elif isinstance(value, dict) and value and draw.random() < 0.5:
        first = next(iter(value))
        pool = [{k: v for k, v in value.items() if k != first}, value | {first: None}, value | {first: np.array("a")},
                value | {first: np.empty(0)}, value | {first: np.zeros((1, 1, 1))}, value | {"more": 1}]  # fmt: skip
    return pool[int(draw.integers(len(pool)))]


def finite(value: Any, depth: int = 0) -> bool:
    """Whether every number in a result is finite, wherever it is."""
    if isinstance(value, float | complex | np.floating | np.complexfloating):
        return bool(np.isfinite(value))
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return all(finite(entry, depth + 1) for entry in value.flat)
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if type(value).__module__.startswith("sympy"):
        return not value.has(*_bad_symbols())
    if depth > 4 or isinstance(value, str | bytes | type) or value is None:
        return True
    if dataclasses.is_dataclass(value):
        return all(
            finite(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)
        )
    if isinstance(value, dict):
        return all(finite(entry, depth + 1) for entry in value.values())
    if isinstance(value, list | tuple):
        return all(finite(entry, depth + 1) for entry in value)
    if hasattr(value, "data_vars"):
        return all(finite(value[name].values) for name in value.data_vars)
    if isinstance(value, Iterator):
        return all(finite(entry, depth + 1) for entry in itertools.islice(value, 100))
    return True


def _bad_symbols() -> tuple[Any, ...]:
    import sympy as sp

    return sp.nan, sp.zoo, sp.oo, -sp.oo


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Limits of time and memory for one case, where the system has them."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    import resource

    def ring(*_: Any) -> None:
        raise TooSlow

    with (
        open("/proc/self/statm")
        if os.path.exists("/proc/self/statm")
        else contextlib.nullcontext() as file
    ):
        used = int(file.read().split()[0]) * resource.getpagesize() if file else None
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    if used is not None:
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempt(key: str, arguments: dict[str, Any], replaced: tuple[str, ...]) -> tuple[str, str]:
    """("taken" or "refused", "") or ("defect", what is wrong)."""
    function = public()[key]
    try:
        with bounded(), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = function(**arguments)
            is_finite = finite(result)
    except (ValueError, *ALSO) as error:
        return judge_refusal(error, function, arguments, replaced)
    except TooSlow:
        return "defect", f"took more than {LIMIT} s"
    except Exception as error:
        return "defect", f"{type(error).__name__}: {error}"
    if key in NOT_FINITE:
        return "taken", ""
    if not is_finite:
        return "defect", f"not finite: {str(result)[:200]}"
    numeric = [
        str(w.message)
        for w in told
        if issubclass(w.category, RuntimeWarning | np.exceptions.ComplexWarning)
    ]
    return ("defect", f"warned: {numeric[0]}") if numeric else ("taken", "")


def judge_refusal(
    error: Exception, function: Any, arguments: dict[str, Any], replaced: tuple[str, ...]
) -> tuple[str, str]:
    """A refusal names an argument: the bad one, or one that does not go with it."""
    message = str(error)
    if isinstance(error, ALSO):
        return "refused", ""
    # Words that stand for an argument: a field by its short name, a group of keywords by what they are.
    also = (
        {"sigma_noise", "sigma_drawn", "fields"}
        if "noise" in arguments or "target" in arguments
        else set()
    )
    known = {*arguments, *also, *inspect.signature(function).parameters} - {"self"}
    if str(arguments.get("name", "\n")) in message:  # the argument that is the name of another
        return "refused", ""
    if (
        any(
            re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message)
            for name in {*replaced, *known}
        )
        and "\n" not in message
    ):
        return "refused", ""
    return "defect", f"names no argument: {type(error).__name__}: {message}"


def cases(
    names: Sequence[str], each: int
) -> Iterator[tuple[str, int, dict[str, Any], tuple[str, ...]]]:
    """`each` cases of each function, decided by its name and the case's number alone."""
    for key in names:
        for number in range(each):
            own = np.random.default_rng([SEED, *key.encode(), number])
            arguments = call(key)
            given = [name for name in arguments if name != "self"]
            count = min(len(given), 1 + int(own.random() < 0.25))
            replaced = tuple(given[i] for i in own.permutation(len(given))[:count])
            for name in replaced:
                arguments[name] = spoilt(arguments[name], own)
            yield key, number, arguments, replaced


def picture(arguments: dict[str, Any], replaced: tuple[str, ...]) -> str:
    return ", ".join(f"{name}={str(arguments[name])[:120]!r}" for name in replaced)


def test_every_public_callable_has_a_call_or_a_reason():
    on_page = re.findall(
        r"automodule:: (\S+)", (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    )
    documented = {
        f"{value.__module__}.{name}"
        for module in map(importlib.import_module, on_page)
        for name, value in vars(module).items()
        if name in getattr(module, "__all__", ()) and inspect.isfunction(value)
    }
    assert len(documented) > 150
    assert documented <= set(public())
    assert len(keys()) > 250
    assert {key for key, value in public().items() if not why_not(key, value)} == set(keys())
    assert set(NOT_FINITE) | set(UNSPOILT) <= set(keys())
    assert sorted(({f"gqlib.{key}" for key in EXCEPTIONS} | set(LEFT_OUT)) - set(public())) == []
    assert (
        sorted(
            set(VALUES)
            - {name for key in keys() for name in inspect.signature(public()[key]).parameters}
        )
        == []
    )


@pytest.mark.parametrize("key", keys())
def test_the_derived_calls_are_valid(key):
    assert attempt(key, call(key), ()) == ("taken", "")


@pytest.mark.slow
def test_spoilt_arguments_are_taken_or_refused_and_nothing_else(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a spoilt path may be a good one
    defects, outcomes = [], Counter()
    for key, number, arguments, replaced in cases(SPOILT, EACH):
        shown = picture(arguments, replaced)
        outcome, why = attempt(key, arguments, replaced)
        outcomes[key.split(".")[1], outcome] += 1
        if outcome == "defect":
            defects.append(f"{key}, case {number}: ({shown}): {why}")
    for module in sorted({module for module, _ in outcomes}):
        print(
            f"{module:24}"
            + "".join(
                f"{outcomes[module, kind]:7} {kind}" for kind in ("taken", "refused", "defect")
            )
        )
    tried = sum(outcomes.values())
    print(f"{len(defects)} defects in {tried} cases")
    assert not defects, "\n".join(defects)
    assert sum(n for (_, kind), n in outcomes.items() if kind == "refused") > tried / 3


# What longer runs found and no default case tries.
FOUND = [
    ("engine.coders.Features.indices", {"state": {}}),
    ("engine.coders.Features.indices", {"state": "greedy"}),
    ("engine.coders.Features.indices", {"state": -1}),
    ("evaluation.grids.significant", {"values": [7.5e299]}),
    ("experiments.today.problem", {"name": np.empty(0)}),
    ("learners.textbook.TextbookProblem.next_features", {"sigma": fractions.Fraction(1, 3)}),
    ("mdp.FiniteMDP", {"terminal": np.array(3.0)}),
    ("methods.catalogue.Method", {"source": np.nan}),
    ("methods.catalogue.Method", {"on": ([],)}),
    ("methods.limits.largest_step", {"joint": [[-5e-324]]}),
    ("methods.noise.trace_moments", {"lam": 1}),
    ("methods.steps.gap", {"step": 10**400}),
    ("methods.steps.run_method", {"task": []}),
    ("symbolic.twin", {"largest_denominator": 2}),
    ("tabular.errors.bias_variance_interval", {"exact": [[1.0, 0.0], None]}),
]


@pytest.mark.parametrize(
    ("key", "bad"), FOUND, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_was_found_is_refused(key, bad):
    assert attempt(f"gqlib.{key}", call(f"gqlib.{key}") | bad, tuple(bad)) == ("refused", "")


@pytest.mark.slow
def test_a_new_function_changes_no_other_functions_cases():
    def drawn(names: Sequence[str]) -> dict[tuple[str, int], str]:
        return {
            (key, k): picture(arguments, replaced)
            for key, k, arguments, replaced in cases(names, 2)
        }

    def plain(shown: dict[tuple[str, int], str]) -> dict[tuple[str, int], str]:
        return {case: re.sub(r"0x[0-9a-f]+", "", text) for case, text in shown.items()}

    everything, some = plain(drawn(SPOILT)), plain(drawn(SPOILT[::7]))
    assert len(everything) == 2 * len(SPOILT)
    assert some == {case: everything[case] for case in some}


def test_what_is_public_checks_its_arguments_before_a_cache_does():
    cached = [value for value in public().values() if hasattr(value, "cache_info")]
    assert cached
    assert [value for value in cached if inspect.signature(value).parameters] == []


NUMBERS = [
    "0",
    "-1",
    "1.5",
    "1e3",
    "",
    " ",
    "two",
    "²",
    "9" * 20,
    "9" * 5000,
    "0x10",
    "1,000",
    "nan",
    "+1",
    "--",
    "1\n2",
]
NAMES = ["fig9", "", "FIG2", "fig2 ", "../fig2", "σ", "all\0", "-h2", "--runs", "None", "fig2;ls"]
PLACES = ["file/below", "null\0byte", "a" * 5000, "file"]
ADDRESSES = ["", "nonsense", "tcp://", "http//x:1", "σ", "tcp:// host"]
WORDS = [
    "claims",
    "reproduce",
    "--verdict",
    "maybe",
    "verified ",
    "--json=1",
    "--out",
    "--",
    "-",
    "--σ",
    "",
]


def line(draw: np.random.Generator) -> list[str]:
    """A line of arguments that is wrong in one place at least."""

    def pick(options: list[str]) -> str:
        return options[int(draw.integers(len(options)))]

    good = ["reproduce", "fig2", "--runs", "1", "--workers", "1"]
    kind = int(draw.integers(6))
    if kind == 0:
        return [good[0], pick(NAMES), *good[2:]]
    if kind == 1:
        return [*good[:3], pick(NUMBERS), *good[4:]]
    if kind == 2:
        return [*good[:5], pick(NUMBERS)]
    if kind == 3:
        return [*good, "--out", pick(PLACES)]
    if kind == 4:
        return [*good[:4], "--dask", pick(ADDRESSES)]
    return [pick(WORDS) for _ in range(1 + int(draw.integers(4)))] + ["--nonsense"] * int(
        draw.integers(1, 3)
    )


def small() -> Any:
    from sweep_tasks import experiment

    return experiment(settings=1, runs=1)


def test_spoilt_command_lines_end_in_one_line_and_code_two(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cli, "REGISTRY", {"fig2": "test_fuzz:small"})
    monkeypatch.setattr(experiments, "REGISTRY", cli.REGISTRY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("in the way")
    draw = np.random.default_rng([SEED, 1])
    codes: Counter[int] = Counter()
    for _ in range(max(60, EACH * len(SPOILT) // 10)):
        given = line(draw)
        try:
            with bounded():
                code = cli.main(given)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except TooSlow:
            pytest.fail(f"{given} took more than {LIMIT} s")
        told = capsys.readouterr()
        codes[code] += 1
        assert code in (0, 2), (given, code)
        assert "Traceback" not in told.err + told.out, given
        if code:
            assert re.fullmatch(r"gq[^\n]*: [^\n]+\n", told.err), (given, told.err)
    print(f"command lines by exit code: {dict(codes)}")
    assert codes[2] > codes[0]
