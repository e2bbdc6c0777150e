"""Change the code in small ways and check that the unit tests notice: `make mutants`.

mutmut makes the mutants and runs them: it keeps all variants of a function in one file, forks a process for each after
everything is imported, and runs only the tests that reach the function, the fastest first. This script says which tests
have to notice what, module by module, and adds scores, samples and a bar for each: `tests/kills.json` has how many of
how many sampled mutants were killed (`--sample 25 --seed 33`), and a module must not score less than that; one that is
not in the file must reach 90%. `--keep` writes the scores that were just found into the file.

One module is one slice and takes between a few minutes and ten on two cores; all of them take hours. Everything happens
on copies in `mutants/MODULE/`, which git ignores; the working tree is only read. A run that was stopped resumes where
it left off: mutants that were killed stay so until their function changes, the others are tried again. `rm -r mutants`
starts afresh. mutmut leaves out annotations, docstrings, f-strings, module constants and decorated functions, including
properties and compiled kernels; error texts that are not f-strings are counted.

    make mutants                                     every module, the command of record
    make mutants SLICE=control/agent                 one module
    make mutants SLICE="seeds stats"                 some modules, and all those in a package
    python tests/mutants.py --minutes 10             stop after ten minutes, to resume another time
    python tests/mutants.py --sample 25 --seed 33    at most 25 per module, chosen at random: those of `tests/kills.json`
    python tests/mutants.py --report                 what is known so far, without running anything
    python tests/mutants.py --list                   the modules, how many mutants each has, and the tests

A mutant that times out counts as killed. On a busy machine that may be the machine's fault: the report says how many.
The exit code is 1 if a module scores less than it should, could not be tried, or something is left to run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KILLS = ROOT / "tests" / "kills.json"
# Module to the tests that have to notice, tests/test_*.py.
SLICES: dict[str, tuple[str, ...]] = {
    "__init__": ("objects",),
    "_objects": ("objects",),
    "_validate": (
        "validate",
        "ranges",
        "mdp",
        "learners",
        "prediction",
        "store",
        "hostile_files",
    ),
    "claims": ("register",),
    "cli": ("command_line", "cli"),
    "control/_answers": ("own_learner", "agent"),
    "control/_budget": ("budget",),
    "control/_weights": ("weights", "agent", "agent_fast"),
    "control/agent": ("agent", "agent_fast"),
    "control/corrected": ("corrected",),
    "control/engine": ("fast_control", "control"),
    "control/features": ("features", "agent", "agent_fast"),
    "control/grids": ("search", "control"),
    "control/gym": ("own_learner", "agent", "agent_fast", "hostile_files"),
    "control/run": ("control",),
    "control/schedules": ("agent_fast",),
    "control/setting": ("control",),
    "control/tile_tables": ("features", "fast_control", "tiles3", "control"),
    "control/vector": ("side_by_side",),
    "domains/baird_star": (
        "domains",
        "baird_star",
    ),
    "domains/base": ("domains", "chain_walks", "own_domain"),
    "domains/boyan_chain": (
        "domains",
        "boyan_chain",
    ),
    "domains/cart_pole": ("domains", "cart_pole"),
    "domains/collision": (
        "domains",
        "collision",
    ),
    "domains/episodes": ("domains_tabular", "tabular"),
    "domains/finite": ("finite_domains", "domains"),
    "domains/five_state_walk": (
        "domains",
        "collision",
    ),
    "domains/gridworld": ("domains_tabular",),
    "domains/machine": (
        "domains",
        "machine",
    ),
    "domains/mountain_car": ("mountain_car",),
    "domains/own": (
        "domains",
        "own_domain",
    ),
    "domains/random_problems": (
        "domains",
        "random_problems",
    ),
    "domains/random_walk": ("domains_tabular",),
    "domains/two_state": (
        "domains",
        "two_state",
    ),
    "experiments/printed": ("paper",),
    "plots": ("plots",),
    "emphatic": ("emphatic",),
    "engine/_steps": ("agent_fast", "weights"),
    "engine/coders": ("engine_parts",),
    "engine/environments": ("engine_parts",),
    "engine/runs": ("engine_parts", "engine_reference"),
    "evaluation/curves": ("summaries", "labels", "experiments_prediction"),
    "evaluation/grids": ("summaries", "labels", "grids"),
    "evaluation/measures": ("evaluation",),
    "evaluation/run": ("evaluation", "fast_prediction", "objects"),
    "evaluation/setting": ("prediction_setting",),
    "experiments/__init__": ("experiments",),
    "experiments/figure2": ("experiments", "summaries", "records"),
    "experiments/figure3": ("experiments_prediction", "records"),
    "experiments/figure3_rules": ("experiments_prediction", "summaries", "labels"),
    "experiments/mountain_car": ("experiments", "records"),
    "experiments/mountain_car_results": ("summaries", "coders", "labels"),
    "experiments/search": ("search",),
    "experiments/search_drawn_tiles": ("search", "records", "labels"),
    "experiments/search_one_hash": ("search", "records", "labels"),
    "experiments/today": ("today", "records"),
    "experiments/today_control": ("today_control", "records", "labels"),
    "fast/_jit": ("jit", "without_numba"),
    "fast/_kept": ("jit", "kept"),
    "fast/_lines": ("lowered",),
    "fast/_lowered": ("lowered",),
    "fast/_sound": ("sound",),
    "fast/prediction": ("fast_prediction", "fast_refusals"),
    "fast/rng": ("rng", "fast_refusals"),
    "fast/tabular": ("fast_tabular", "fast_refusals"),
    "learners/corrected": ("corrected",),
    "learners/dense": ("carriers",),
    "learners/ensemble": ("ensemble",),
    "learners/gq": ("learners",),
    "learners/gradient_td": ("relatives",),
    "learners/relatives": ("relatives",),
    "learners/sigma": ("sigma",),
    "learners/sparse": ("sparse_gq",),
    "learners/textbook": ("textbook_parts",),
    "learners/texts": ("engine_parts",),
    "long_run": ("long_run",),
    "mdp": ("mdp",),
    "methods/catalogue": ("methods",),
    "methods/limits": ("methods_exact",),
    "methods/mean": ("methods_exact",),
    "methods/noise": ("methods_exact",),
    "methods/steps": ("methods_steps",),
    "methods/task": ("methods_exact",),
    "optimal": ("optimal",),
    "poisson": ("poisson",),
    "prediction": ("prediction", "proposition_1", "cart_pole", "objects"),
    "ridge": ("ridge",),
    "rltoolkit": ("rltoolkit",),
    "rounding": ("numbers",),
    "rules": ("control", "agent"),
    "seeds": ("rng", "experiments"),
    "stability": ("stability",),
    "stats/_checks": ("stats",),
    "stats/_told": ("progress", "objects"),
    "stats/cases": ("stats",),
    "stats/comparisons": ("stats",),
    "stats/ends": ("ends",),
    "stats/granularity": ("stats",),
    "stats/intervals": ("stats",),
    "stats/strata": ("strata",),
    "sweeps/_lost": ("lost_runs",),
    "sweeps/exports": ("exports",),
    "sweeps/names": ("names",),
    "sweeps/own": ("own_study",),
    "sweeps/progress": ("progress", "sweep"),
    "sweeps/results": ("results_parts",),
    "sweeps/setting": ("setting",),
    "sweeps/store": ("store", "hostile_files"),
    "sweeps/sweep": ("sweep", "own_study", "hostile_files"),
    "sweeps/versions": ("versions", "own_study"),
    "sweeps/workers": ("workers", "cluster", "sweep"),
    "symbolic": ("symbolic",),
    "tabular/_arguments": ("tabular",),
    "tabular/_along": ("tabular",),
    "tabular/errors": ("tabular_errors",),
    "tabular/n_step": ("tabular",),
    "tabular/one_step": ("tabular",),
    "tabular/operator": ("tabular",),
    "tabular/traces": ("tabular",),
    "tiles3": ("tiles3",),
    "timescales": ("timescales",),
    "variance": ("variance",),
}
# Without public functions that test_ranges can call; each of the other modules is held to its test there, too.
WITHOUT_RANGES = {
    *("__init__", "_objects", "_validate", "cli", "rules", "tabular/_along", "tabular/_arguments"),
    *("experiments/mountain_car", "experiments/printed", "experiments/search"),
    *(f"control/{name}" for name in ("_answers", "_budget", "_weights", "engine", "tile_tables")),
    *("domains/finite", "engine/_steps", "learners/dense"),
    *(
        f"fast/{name}"
        for name in (
            "_jit",
            "_kept",
            "_lines",
            "_lowered",
            "_sound",
            "prediction",
            "rng",
            "tabular",
        )
    ),
    *(
        "stats/_checks",
        "stats/_told",
        "sweeps/_lost",
        "sweeps/progress",
        "sweeps/workers",
    ),
}
# Those that refuse sizes for want of room, as tests/exact/test_room.py has it.
WITH_ROOM = {
    *(
        "mdp",
        "rltoolkit",
        "stability",
        "tabular/errors",
        "tiles3",
        "control/corrected",
        "control/run",
        "engine/runs",
    ),
    *(
        f"domains/{name}"
        for name in ("baird_star", "base", "boyan_chain", "random_problems", "random_walk")
    ),
    *(
        "evaluation/curves",
        "evaluation/grids",
        "evaluation/run",
        "experiments/figure2",
        "experiments/today",
    ),
    *("fast/prediction", "fast/tabular", "learners/ensemble", "methods/steps", "methods/task"),
}
# Not mutated, because compiled: mutmut leaves functions under a decorator alone. Each kernel has a reference, which is
# mutated above as are the entrances to the kernels, and tests that compare the two number by number.
COMPARED: dict[str, tuple[str, tuple[str, ...]]] = {
    "fast/_tiles": ("tiles3", ("agent_fast", "agent")),
    "fast/_car": ("learners/corrected, step by step", ("corrected", "fast_control")),
    "fast/_prediction": ("domains/finite and cart_pole, step by step", ("fast_prediction",)),
    "fast/_rng": ("xoshiro on Python integers, published words, mpmath", ("rng",)),
    "fast/_tabular": (
        "tabular/n_step, tabular/_along, and the definitions in the tests",
        ("fast_tabular", "tabular_control"),
    ),
}
READ = (
    "benchmarks",
    "book",
    "results",
    "README.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "Makefile",
    "setup.py",
    ".ci",
)  # by tests
GOAL = 0.9
PATIENCE = 5.0  # a mutant that takes so many times as long as its tests do otherwise is in a loop, and counts as killed
KILLED = {"killed", "timeout", "segfault"}
UNFINISHED = {"not checked", "check was interrupted by user"}
SKIP = 34  # mutmut's exit code of a mutant that is not to be run
BROKEN = (
    255  # and of one whose tests could not be started, which mutmut takes for a timeout: no verdict
)

Edit = tuple[str, str, str]  # function, the line as it is, the line in the mutant


def chosen(wanted: list[str]) -> list[str]:
    """The modules that are named, and those of the packages that are named; all of them without any."""
    found = [
        name
        for name in SLICES
        if not wanted or any(name == one or name.startswith(f"{one}/") for one in wanted)
    ]
    for one in wanted:
        if not any(name == one or name.startswith(f"{one}/") for name in found):
            raise SystemExit(
                f"{one!r} is no module to mutate and no package of any; --list shows them"
            )
    return found


def path_of(name: str) -> str:
    """Where the tests of that name are, from the root of the repository."""
    (found,) = ROOT.glob(f"tests/**/test_{name}.py")
    return found.relative_to(ROOT).as_posix()


def dotted(module: str) -> str:
    """The name that Python has for a module."""
    return f"gqlib.{module.replace('/', '.')}".removesuffix(".__init__")


def tests_of(module: str) -> list[str]:
    """What pytest is to run: the files that have to notice, the module's examples, and its own test of ranges."""
    examples = f"{path_of('doctests')}::test_examples_of[{dotted(module)}]"
    ranges = f"{path_of('ranges')}::test_each_argument_is_held_to_its_range[{dotted(module)}]"
    named = [path_of(name) for name in (*SLICES[module], *["room"] * (module in WITH_ROOM))]
    return named + [examples] * (module != "__init__") + [ranges] * (module not in WITHOUT_RANGES)


def enter(module: str) -> None:
    """Go to the copy of this module, brought up to date, and tell mutmut what it is about."""
    from mutmut import configuration

    place = ROOT / "mutants" / module.replace("/", ".")
    sources = {ROOT / "pyproject.toml", *ROOT.glob("gqlib/**/*.*"), *ROOT.glob("tests/**/*.*")}
    sources = {
        source for source in sources if source.is_file() and source.parent.name != "__pycache__"
    }
    for source in sources:
        copy = place / source.relative_to(ROOT)
        if not (copy.exists() and copy.stat().st_mtime == source.stat().st_mtime):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
            if source.suffix != ".py":  # mutmut does not copy these again
                (place / "mutants" / source.relative_to(ROOT)).unlink(missing_ok=True)
            # Which test reaches which function is known from the files as they were.
            (place / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    for within in (place, place / "mutants"):
        for copy in [*within.glob("gqlib/**/*.py"), *within.glob("tests/**/*.py")]:
            if ROOT / copy.relative_to(within) not in sources:
                copy.unlink()
    (place / "mutants").mkdir(exist_ok=True)
    for name in READ:
        link = place / "mutants" / name
        if not link.is_symlink():
            link.symlink_to(ROOT / name)
    os.chdir(place)
    configuration.reset_config()
    configuration.config().timeout_multiplier = PATIENCE
    configuration.config().only_mutate = [f"gqlib/{module}.py"]
    configuration.config().pytest_add_cli_args_test_selection = tests_of(module)


def records() -> Iterator[Any]:
    """What mutmut knows of each mutated file of the module that was entered."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.utils.file_utils import walk_mutatable_files

    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        yield data


def verdicts() -> dict[str, str]:
    """Mutant to verdict, without the mutants that are not to be run."""
    from mutmut.stats import status_by_exit_code

    codes = {name: code for data in records() for name, code in data.exit_code_by_key.items()}
    every = {
        name: "not checked" if code == BROKEN else status_by_exit_code[code]
        for name, code in codes.items()
    }
    return {name: verdict for name, verdict in every.items() if verdict != "skipped"}


def edit(mutant: str) -> Edit:
    """What a mutant changes."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.utils.format_utils import (
        get_module_from_key,
        orig_function_and_class_names_from_key,
    )

    name, owner = orig_function_and_class_names_from_key(mutant)
    lines = [
        line
        for line in get_diff_for_mutant(mutant).splitlines()
        if not line.startswith(("---", "+++"))
    ]
    was, now = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    return ".".join(part for part in (get_module_from_key(mutant), owner, name) if part), was, now


def choose(sample: int | None, seed: int) -> None:
    """Generate the mutants and set down which are to be run: those chosen that were not killed before."""
    from mutmut.__main__ import create_mutants
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import copy_src_dir

    copy_src_dir()
    create_mutants(1)
    names = [name for data in records() for name in data.exit_code_by_key]
    if sample is not None:
        random.Random(seed).shuffle(names)
    chosen = set(names[:sample])  # a larger sample holds the smaller ones
    for data in records():
        for name, code in data.exit_code_by_key.items():
            if name not in chosen:
                data.exit_code_by_key[name] = SKIP
            elif code == BROKEN or status_by_exit_code[code] not in KILLED:
                data.exit_code_by_key[name] = None
        data.save()


def run(module: str, jobs: int, sample: int | None, seed: int) -> None:
    """Run the mutants of one module that are left."""
    import pytest
    from mutmut.__main__ import _run

    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's job in the background would ignore it

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = (
        "1"  # finding the plugins takes as long as most tests
    )
    # mutmut 3.8 asks for this attribute, which the items of pytest 9 no longer have.
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
    enter(module)
    choose(sample, seed)
    if any(verdict in UNFINISHED for verdict in verdicts().values()):
        _run((), jobs)


def run_apart(module: str, options: argparse.Namespace, seconds: float | None) -> bool:
    """Run the mutants of one module in a process of its own; return whether that went well or was out of time."""
    command = [
        sys.executable,
        __file__,
        "--run",
        module,
        "--jobs",
        str(options.jobs),
        "--seed",
        str(options.seed),
    ]
    command += ["--sample", str(options.sample)] if options.sample else []
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        if process.poll() is None:  # out of time, or Ctrl-C
            os.killpg(process.pid, signal.SIGINT)
            process.wait()


def bar(module: str, kills: dict[str, list[int]]) -> float:
    """The share of mutants that have to be killed."""
    killed, tried = kills.get(module, (GOAL, 1))
    return killed / tried


def report(modules: list[str], *, keep: bool = False) -> bool:
    """Print the score of each module and its survivors; return whether all is well."""
    kills: dict[str, list[int]] = json.loads(KILLS.read_text(encoding="utf-8"))
    survived: list[Edit] = []
    good, all_killed, all_tried = True, 0, 0
    heads = ("killed", "of", "score", "bar", "timed out", "to run", "left out")
    print(f"\n{'module':26}" + "".join(f"{head:>11}" for head in heads))
    for module in modules:
        enter(module)
        found = verdicts()
        left = sum(verdict in UNFINISHED for verdict in found.values())
        skipped = sum(len(data.exit_code_by_key) for data in records()) - len(found)
        killed, tried = sum(verdict in KILLED for verdict in found.values()), len(found) - left
        least = bar(module, kills)
        good &= left == 0 < tried and killed >= least * tried
        all_killed, all_tried = all_killed + killed, all_tried + tried
        late = sum(verdict == "timeout" for verdict in found.values())
        shares = f"{killed / max(tried, 1):>11.1%}{least:>11.1%}"
        print(f"{module:26}{killed:11}{tried:11}{shares}{late:11}{left:11}{skipped:11}")
        lives = [name for name, verdict in found.items() if verdict not in KILLED | UNFINISHED]
        survived += map(edit, lives)
        if keep and left == 0 < tried:
            kills[module] = [killed, tried]
    print(f"{'all':26}{all_killed:11}{all_tried:11}{all_killed / max(all_tried, 1):>11.1%}")
    for function, was, now in sorted(survived):
        print(f"survived: {function}\n  - {was}\n  + {now}")
    if keep:
        lines = [f"  {json.dumps(module)}: {kills[module]}" for module in sorted(kills)]
        KILLS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return good


def tabulate(modules: list[str]) -> None:
    """Print which tests have to notice a change of which module."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    print(f"{'module':26}{'mutants':>8}  tests that have to notice")
    for module in modules:
        path = ROOT / "gqlib" / f"{module}.py"
        count = len(
            mutate_file_contents(
                str(path), path.read_text(encoding="utf-8"), None, None
            ).mutant_names
        )
        print(f"{module:26}{count:8}  {', '.join(map(path_of, SLICES[module]))}")
    print(f"\n{'compiled, not mutated':26}compared with, and by")
    for module, (why, tests) in COMPARED.items():
        print(f"{module:26}{why}: {', '.join(map(path_of, tests))}")


def main(arguments: list[str]) -> int:
    """Run the mutants that are left, each module in a process of its own, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("slices", nargs="*", metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--run", choices=SLICES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        run(options.run, options.jobs, options.sample, options.seed)
        return 0
    modules, failed = chosen(options.slices), []
    if options.list:
        tabulate(modules)
        return 0
    end = None if options.minutes is None else time.monotonic() + 60.0 * options.minutes
    for module in [] if options.report else modules:
        seconds = None if end is None else end - time.monotonic()
        if seconds is not None and seconds <= 0:
            break
        print(f"== {module}", flush=True)
        if not run_apart(module, options, seconds):
            failed.append(module)
    good = report(modules, keep=options.keep)
    if failed:
        print(f"could not be tried, see above: {', '.join(failed)}")
    return int(not good or bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
