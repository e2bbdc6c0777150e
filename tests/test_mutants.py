"""Whatever `make mutants` refers to exists, so that its tables cannot go stale; the mutants are not run here."""

import ast
import json
import re
from pathlib import Path

import mutants
import pytest
from fuzz_calls import UNSPOILT, keys, public

ROOT = Path(__file__).parents[1]
MODULES = {
    path.relative_to(ROOT / "gqlib").with_suffix("").as_posix(): path
    for path in ROOT.glob("gqlib/**/*.py")
}


def functions(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@pytest.mark.slow
def test_every_module_with_functions_is_mutated_or_compared():
    free = {
        name
        for name, path in MODULES.items()
        if any(not node.decorator_list for node in functions(path))
    }
    kernels = {name for name in MODULES if name.startswith("fast/_") and functions(MODULES[name])}
    # These say how to compile, where to keep it, where arrays begin, what a sum is lowered to and what is finite.
    compiled = kernels - {"fast/_jit", "fast/_kept", "fast/_lines", "fast/_lowered", "fast/_sound"}
    assert free - set(mutants.SLICES) == set(), (
        "no line in mutants.SLICES says which tests have to notice"
    )
    assert set(mutants.COMPARED) == compiled
    assert set(mutants.SLICES) <= set(MODULES)


def test_the_tests_that_have_to_notice_exist():
    named = {name for tests in mutants.SLICES.values() for name in tests}
    named |= {name for _, tests in mutants.COMPARED.values() for name in tests}
    assert all((ROOT / mutants.path_of(name)).exists() for name in named)


def test_every_module_with_public_functions_is_held_to_their_ranges():
    spoilt = {public()[key].__module__ for key in keys() if key not in UNSPOILT}
    ranged = {module for module in mutants.SLICES if mutants.dotted(module) in spoilt}
    assert set(mutants.SLICES) - ranged == mutants.WITHOUT_RANGES
    for module in ("mdp", "experiments/__init__"):
        assert mutants.tests_of(module)[-1].endswith(f"[{mutants.dotted(module)}]")
    *files, last = mutants.tests_of("cli")
    assert files == [mutants.path_of(name) for name in mutants.SLICES["cli"]]
    assert last.endswith("::test_examples_of[gqlib.cli]")


# Reached through others alone: what they do with a module's functions has to notice.
THROUGH_OTHERS = {
    "__init__",
    "rules",
    "stats/_checks",
    "stats/_told",
    "tabular/_along",
    "tabular/_arguments",
}


@pytest.mark.parametrize("module", sorted(set(mutants.SLICES) - THROUGH_OTHERS))
def test_the_tests_that_have_to_notice_speak_of_the_module(module):
    """One of them names the module or something in it; two modules were once held to tests that never reach them."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    made = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} | {
        Path(module).name
    }
    texts = [
        (ROOT / mutants.path_of(name)).read_text(encoding="utf-8")
        for name in mutants.SLICES[module]
    ]
    assert {word for text in texts for word in re.findall(r"\w+", text)} & made


def test_slices_are_modules_or_packages():
    assert mutants.chosen([]) == list(mutants.SLICES)
    assert mutants.chosen(["seeds"]) == ["seeds"]
    private, public = (
        ("_jit", "_kept", "_lines", "_lowered", "_sound"),
        ("prediction", "rng", "tabular"),
    )
    fast = [f"fast/{name}" for name in private + public]
    assert mutants.chosen(["fast", "seeds"]) == [*fast, "seeds"]
    with pytest.raises(SystemExit, match="'contro' is no module"):
        mutants.chosen(["contro"])


def test_a_score_is_kept_of_modules_that_exist():
    kills = json.loads(mutants.KILLS.read_text(encoding="utf-8"))
    assert set(kills) <= set(mutants.SLICES), (
        "tests/kills.json has a module that mutants.SLICES has not"
    )
    assert all(0 <= killed <= tried > 0 for killed, tried in kills.values())
    assert mutants.bar("seeds", {"seeds": [3, 4]}) == 0.75
    assert mutants.bar("seeds", {}) == mutants.GOAL
