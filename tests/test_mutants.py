"""The list of mutants that survive fits the code, so that it cannot rot; running them is `make mutants`."""

from pathlib import Path

import mutants
import pytest
import yaml

ROOT = Path(__file__).parents[1]


def flat(text):
    return " ".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("change", list(mutants.listed()), ids=lambda change: f"{change[0]}: {change[1]}")
def test_a_listed_survivor_is_of_code_that_is_there(change):
    function, was, now = change
    dotted = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.glob("gqlib/**/*.py")}
    (module,) = (name for name in dotted if function.startswith(f"{name}."))
    source = dotted[module].read_text(encoding="utf-8")
    assert f"def {function.rpartition('.')[2]}(" in source
    assert was in flat(source)
    assert now != was


def test_every_survivor_is_listed_once_and_with_a_reason():
    groups = yaml.safe_load(mutants.LIST.read_text(encoding="utf-8"))
    assert all(len(group["reason"]) > 20 for group in groups)
    assert sum(len(group["mutants"]) for group in groups) == len(mutants.listed())


def test_what_is_mutated_and_what_has_to_notice_exist():
    for files, tests in mutants.MODULES.values():
        assert all(list((ROOT / "gqlib").glob(name)) for name in files)
        assert all((ROOT / "tests" / name).exists() for name in tests)
