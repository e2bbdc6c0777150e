"""The tests that have to notice a change of a module are found by what they import; mutants are not run here."""

import json

import mutants
import pytest


def test_tests_are_found_by_what_they_import_and_by_what_was_made_in_a_module():
    assert "tests/exact/test_mdp.py" in mutants.tests_of("mdp")  # which imports it from `gqlib`
    assert not any(name.startswith("tests/repo/test_[!d]") for name in mutants.tests_of("cli"))
    examples, ranges = mutants.tests_of("mdp")[-2:]
    assert examples.endswith("test_examples_of[gqlib.mdp]")
    assert ranges.endswith("test_each_argument_is_held_to_its_range[gqlib.mdp]")


def test_what_a_file_takes_from_gqlib_is_traced_to_where_it_was_made(tmp_path):
    text = "import gqlib\nfrom gqlib import tabular as t\nfrom gqlib.domains import two_state\n"
    path = tmp_path / "test_it.py"
    path.write_text(
        f"{text}gqlib.FiniteMDP, t.q_sigma\nrunner = 'gqlib.experiments.figure2:runs'\n"
    )
    made = {
        "mdp",
        "tabular",
        "tabular.one_step",
        "domains",
        "domains.two_state",
        "experiments.figure2",
    }
    assert mutants.imported(path) == {"gqlib", *(f"gqlib.{name}" for name in made)}


@pytest.mark.slow
def test_every_module_with_functions_has_tests():
    texts = {name: mutants.ROOT / f"gqlib/{name}.py" for name in mutants.modules([])}
    code = [name for name, path in texts.items() if "def " in path.read_text(encoding="utf-8")]
    alone = [name for name in code if not mutants.named(name)]
    assert alone == [], "no test imports these, nor what uses them: write one"


def test_modules_are_named_one_by_one_or_by_package():
    assert mutants.modules(["seeds"]) == ["seeds"]
    assert {"stats/__init__", "stats/cases"} < set(mutants.modules(["stats"]))
    with pytest.raises(SystemExit, match="'stat' is no module or package"):
        mutants.modules(["stat"])


def test_a_score_may_rise_and_not_fall():
    kills = json.loads(mutants.KILLS.read_text(encoding="utf-8"))
    gone = set(kills) - set(mutants.modules([]))
    assert gone == set(), (
        "give the score of a module that moved to its new name in tests/kills.json"
    )
    assert mutants.passes("seeds", [3, 4], {"seeds": [6, 8]})
    assert not mutants.passes("seeds", [2, 4], {"seeds": [6, 8]})
    assert mutants.passes("seeds", [9, 10], {})
    assert not mutants.passes("seeds", [8, 10], {})
