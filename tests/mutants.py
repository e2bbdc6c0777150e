"""Change the code in small ways and see that the unit tests notice: `make mutants`.

mutmut makes the mutants and runs them: it keeps all variants of a function in one file, forks a process for each after
everything is imported, and runs only the tests that reach the function, the fastest first. This script says what is
mutated and which tests have to notice, and adds a score for each module, samples, and the comparison with
`tests/survivors.yml`, where every survivor has its reason.

All happens on copies in `mutants/MODULE/`, which git ignores; the working tree is only read. A run that was stopped
goes on where it was: mutants that were killed stay so until their function changes, the others are tried again.
`rm -r mutants` starts afresh. mutmut leaves out annotations, docstrings, f-strings, constants of modules and functions
under a decorator, properties among them; texts of errors that are not f-strings are counted.

    python tests/mutants.py                          every mutant, the command of record
    python tests/mutants.py --sample 150 --seed 1    at most 150 a module, chosen at random
    python tests/mutants.py --only mdp sigma         some modules
    python tests/mutants.py --report                 what is known so far, without running anything

The exit code is 1 if a module has less than 90% killed, a survivor is not in the list, or something is left to run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "survivors.yml"
# Module to the files that are mutated and the tests that have to notice.
MODULES = {
    "mdp": (["mdp.py"], ["test_mdp.py"]),
    "prediction": (["prediction.py", "_linear.py"], ["test_prediction.py", "test_proposition_1.py"]),
    "stability": (["stability.py"], ["test_stability.py"]),
    "sigma": (["sigma.py"], ["test_sigma.py"]),
    "learners": (["learners.py"], ["test_learners.py"]),
    "tiles3": (["tiles3.py"], ["test_tiles3.py"]),
    "control": (["control.py", "control_setting.py"], ["test_control.py"]),
    "stats": (["stats/*.py"], ["test_stats.py", "test_stats_refusals.py"]),
}
GOAL = 0.9
PATIENCE = 5.0  # a mutant that takes so many times as long as its tests do otherwise is in a loop, and counts as killed
KILLED = {"killed", "timeout", "segfault"}
UNFINISHED = {"not checked", "check was interrupted by user"}
SKIP = 34  # mutmut's exit code of a mutant that is not to be run

Edit = tuple[str, str, str]  # function, the line as it is, the line in the mutant


def listed(path: Path = LIST) -> dict[Edit, str]:
    """The survivors that are known, each with its reason."""
    groups = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return {
        (entry["function"], entry["was"], entry["now"]): group["reason"]
        for group in groups
        for entry in group["mutants"]
    }


def enter(module: str) -> None:
    """Go to the copy of this module, brought up to date, and tell mutmut what it is about."""
    from mutmut import configuration

    place = ROOT / "mutants" / module
    for source in [ROOT / "pyproject.toml", *ROOT.glob("gqlib/**/*.py"), *ROOT.glob("tests/**/*.*")]:
        copy = place / source.relative_to(ROOT)
        if source.suffix != ".pyc" and not (copy.exists() and copy.stat().st_mtime == source.stat().st_mtime):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
            # Which test reaches which function is known from the files as they were.
            (place / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    os.chdir(place)
    configuration.reset_config()
    configuration.config().timeout_multiplier = PATIENCE
    files, tests = MODULES[module]
    configuration.config().only_mutate = [f"gqlib/{name}" for name in files]
    configuration.config().pytest_add_cli_args_test_selection = [f"tests/{name}" for name in tests]


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

    every = {name: status_by_exit_code[code] for data in records() for name, code in data.exit_code_by_key.items()}
    return {name: verdict for name, verdict in every.items() if verdict != "skipped"}


def edit(mutant: str) -> Edit:
    """What a mutant changes."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.utils.format_utils import get_module_from_key, orig_function_and_class_names_from_key

    name, owner = orig_function_and_class_names_from_key(mutant)
    lines = [line for line in get_diff_for_mutant(mutant).splitlines() if not line.startswith(("---", "+++"))]
    was, now = (" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
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
            elif status_by_exit_code[code] not in KILLED:
                data.exit_code_by_key[name] = None
        data.save()


def run(module: str, jobs: int, sample: int | None, seed: int) -> None:
    """Run the mutants of one module that are left."""
    import pytest
    from mutmut.__main__ import _run

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # finding the plugins takes as long as most tests
    # mutmut 3.8 asks for this attribute, which the items of pytest 9 no longer have.
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
    enter(module)
    choose(sample, seed)
    if any(verdict in UNFINISHED for verdict in verdicts().values()):
        _run((), jobs)


def report(modules: list[str]) -> bool:
    """Print the score of each module and the survivors; return whether all is well."""
    reasons = listed()
    new = []
    known, good = 0, True
    print(f"\n{'module':12}{'killed':>8}{'of':>6}{'score':>9}{'to run':>8}{'left out':>10}")
    for module in modules:
        enter(module)
        found = verdicts()
        left = sum(verdict in UNFINISHED for verdict in found.values())
        skipped = sum(len(data.exit_code_by_key) for data in records()) - len(found)
        killed, total = sum(verdict in KILLED for verdict in found.values()), len(found) - left
        good &= left == 0 < total and killed >= GOAL * total
        print(f"{module:12}{killed:8}{total:6}{killed / max(total, 1):>9.1%}{left:8}{skipped:10}")
        for name, verdict in found.items():
            if verdict not in KILLED | UNFINISHED:
                change = edit(name)
                known += change in reasons
                if change not in reasons:
                    new.append(dict(zip(("function", "was", "now"), change, strict=True)))
    print(f"{known} survivors are in {LIST.relative_to(ROOT)}, {len(new)} are not")
    if new:
        print(yaml.safe_dump([{"reason": "?", "mutants": new}], allow_unicode=True, sort_keys=False, width=10_000))
    return good and not new


def main(arguments: list[str]) -> int:
    """Run the mutants that are left, each module in a process of its own, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=MODULES, default=list(MODULES), metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--run", choices=MODULES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        run(options.run, options.jobs, options.sample, options.seed)
        return 0
    for module in [] if options.report else options.only:
        print(f"== {module}", flush=True)
        command = [sys.executable, __file__, "--run", module, "--jobs", str(options.jobs), "--seed", str(options.seed)]
        subprocess.run([*command, *(["--sample", str(options.sample)] if options.sample else [])], check=True)
    return int(not report(options.only))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
