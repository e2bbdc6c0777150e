"""Change modules of gqlib in small ways and see that the unit tests notice. Minutes for a module, hours for all.

    python tools/mutants.py engine/coders               one module
    python tools/mutants.py stats                       every module of a package
    python tools/mutants.py --sample 25 --seed 33       at most 25 changes per module, chosen at random

mutmut makes the changes and runs them, each with the tests that reach the changed function. The tests that have to
notice a module are those that import it, or something that was made in it; where there are none, those that import a
module that does; and its own examples and ranges. `tests/kills.json` has how many of how many changes each module's
tests noticed: a module must not score less, and one that is not in it must reach 90%. `--keep` writes what was found.

Everything happens on a copy in `mutants/`, which git ignores. mutmut leaves out annotations, docstrings, f-strings,
constants and decorated functions, compiled kernels among them: tests compare those with what reads like the paper.
A change with which tests do not end counts as noticed; on a busy machine that may be the machine's fault.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KILLS = ROOT / "tests" / "kills.json"
GOAL = 0.9
PATIENCE = 5.0  # times as long as its tests take otherwise: then a change has made a loop
KILLED = {"killed", "timeout", "segfault"}
SKIP, BROKEN = (
    34,
    255,
)  # mutmut's exit codes of what is not to be run, and of tests that did not start
# What tests read, beside what is copied.
READ = "benchmarks book results tools .ci README.md CONTRIBUTING.md CITATION.cff Makefile setup.py"
OWN = (
    "repo/test_doctests.py::test_examples_of",
    "exact/test_ranges.py::test_each_argument_is_held_to_its_range",
)


def modules(wanted: list[str]) -> list[str]:
    """The modules that are named, and those of the packages that are named; all of them without any."""
    every = [path.relative_to(ROOT / "gqlib") for path in sorted(ROOT.glob("gqlib/**/*.py"))]
    names = [path.with_suffix("").as_posix() for path in every]
    for one in wanted:
        if not any(name == one or name.startswith(f"{one}/") for name in names):
            raise SystemExit(f"{one!r} is no module or package of gqlib; write it like stats/cases")
    return [n for n in names if not wanted or any(n == o or n.startswith(f"{o}/") for o in wanted)]


def dotted(module: str) -> str:
    """The name that Python has for a module."""
    return f"gqlib.{module.replace('/', '.')}".removesuffix(".__init__")


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules of gqlib that a file imports or names, or in which something was made that it takes from them."""
    found, taken = set(), set()
    bound = {}  # names of modules in this file
    tree = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    for node in tree:
        if isinstance(node, ast.Import):
            bound |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            taken |= {(str(node.module), alias.name) for alias in node.names}
            bound |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(re.findall(r"^(gqlib[\w.]*)(?::\w+)?$", node.value))
    for node in tree:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken |= {(bound.get(node.value.id, ""), node.attr)}
    found |= {name for name in bound.values() if is_module(name)}
    for module, name in taken:
        if module.split(".")[0] == "gqlib" and is_module(module):
            found |= {module, maker(module, name)}
    return frozenset(name for name in found if name.split(".")[0] == "gqlib")


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or a package of this repository."""
    place = ROOT / name.replace(".", "/")
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def maker(module: str, name: str) -> str:
    """The module in which what is imported from a module by this name was made; itself, if it is a module."""
    if is_module(f"{module}.{name}"):
        return f"{module}.{name}"
    return str(getattr(getattr(importlib.import_module(module), name, None), "__module__", module))


def named(module: str) -> list[str]:
    """The files of tests that import a module; where there are none, those that import what uses it."""
    wanted: set[str] = {dotted(module)}
    while True:
        files = [path for path in ROOT.glob("tests/**/test_*.py") if imported(path) & wanted]
        found = [path.relative_to(ROOT).as_posix() for path in files if path.parent.name != "repo"]
        every = {dotted(other): ROOT / f"gqlib/{other}.py" for other in modules([])}
        users = {name for name, path in every.items() if imported(path) & wanted}
        if found or users <= wanted:
            return sorted(found)
        wanted |= users


def tests_of(module: str) -> list[str]:
    """What pytest is to run: the files that have to notice, the module's examples and its own test of ranges."""
    own = [f"tests/{name}[{dotted(module)}]" for name in OWN]
    return [*named(module), *filter(collected, own)]


def collected(test: str) -> bool:
    """Whether pytest knows a test of this name."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-o", "addopts=", test]
    return not subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode


def enter(module: str, place: Path, tests: list[str]) -> None:
    """Make a copy, go there, and tell mutmut what it is about."""
    from mutmut import configuration

    shutil.rmtree(place, ignore_errors=True)
    for name in ("gqlib", "tests"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    (place / "mutants").mkdir()
    for name in READ.split():
        (place / "mutants" / name).symlink_to(ROOT / name)
    os.chdir(place)
    configuration.reset_config()
    settings = configuration.config()
    settings.timeout_multiplier = PATIENCE
    settings.only_mutate = [f"gqlib/{module}.py"]
    settings.pytest_add_cli_args_test_selection = tests


def records() -> list[Any]:
    """What mutmut knows of each file of the module that was entered."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.utils.file_utils import walk_mutatable_files

    found = [SourceFileMutationData(path=path) for path in sorted(walk_mutatable_files())]
    for data in found:
        data.load()
    return found


def run(module: str, tests: list[str], jobs: int, sample: int | None, seed: int) -> None:
    """Try a module's changes in this process, and print each that nobody noticed, and the counts as JSON."""
    import pytest
    from mutmut.__main__ import _run, create_mutants
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import copy_src_dir

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # finding them takes as long as most tests
    # mutmut 3.8 asks for this attribute, which the items of pytest 9 no longer have.
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
    enter(module, ROOT / "mutants" / module.replace("/", "."), tests)
    copy_src_dir()
    create_mutants(1)
    names = [name for data in records() for name in data.exit_code_by_key]
    if sample is not None:
        random.Random(seed).shuffle(names)
    tried = set(names[:sample])  # a larger sample holds the smaller ones
    for data in records():
        data.exit_code_by_key = {n: None if n in tried else SKIP for n in data.exit_code_by_key}
        data.save()
    if tried:
        _run((), jobs)
    codes = {name: code for data in records() for name, code in data.exit_code_by_key.items()}
    verdicts = {
        n: "not run" if codes[n] == BROKEN else status_by_exit_code[codes[n]] for n in tried
    }
    for name in sorted(name for name in tried if verdicts[name] not in KILLED):
        print(f"{verdicts[name]}: {get_diff_for_mutant(name)}")
    counts = [sum(verdict in KILLED for verdict in verdicts.values()), len(tried)]
    Path("score.json").write_text(json.dumps(counts), encoding="utf-8")


def passes(module: str, score: list[int], kills: dict[str, list[int]]) -> bool:
    """Whether no smaller share of a module's changes was noticed than before; of a new one, enough."""
    killed, tried = kills.get(module, [GOAL, 1])
    return score[0] * tried >= killed * score[1]


def main(arguments: list[str]) -> int:
    """Try the modules, each in a process of its own, and compare the scores with those that are kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="write tests/kills.json")
    parser.add_argument("--list", action="store_true", help="the tests that have to notice")
    parser.add_argument("--here", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    chosen = modules(given.modules)
    if given.here is not None:
        run(chosen[0], given.here, given.jobs, given.sample, given.seed)
        return 0
    if given.list:
        print("\n".join(f"{module:28}{' '.join(tests_of(module))}" for module in chosen))
        return 0
    kills: dict[str, list[int]] = json.loads(KILLS.read_text(encoding="utf-8"))
    worse = []
    for module in chosen:
        options = [f"--jobs={given.jobs}", f"--seed={given.seed}"]
        options += [f"--sample={given.sample}"] if given.sample else []
        # In a process of its own, which must not have imported the module that it changes.
        command = [sys.executable, __file__, module, *options, "--here", *tests_of(module)]
        score = [0, 1]
        if subprocess.run(command, cwd=ROOT, check=False).returncode == 0:
            text = (ROOT / "mutants" / module.replace("/", ".") / "score.json").read_text("utf-8")
            score = json.loads(text)
        good = passes(module, score, kills)
        worse += [] if good else [module]
        print(
            f"== {module}: {score[0]} of {score[1]} noticed{'' if good else ', TOO FEW'}",
            flush=True,
        )
        if given.keep and score[1]:
            kills[module] = score
    if given.keep:
        lines = [f"  {json.dumps(module)}: {kills[module]}" for module in sorted(kills)]
        KILLS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    if worse:
        print(f"too few were noticed in {', '.join(worse)}: see above; a test should fail for each")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
