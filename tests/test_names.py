"""The table of names: what is found under a name, present or former, and what is refused."""

import importlib
import math
import re

import pytest

from gqlib.sweeps import names
from gqlib.sweeps.names import FORMER, TABLE, SweepError, current, former, look_up

EVERY = [(kind, name) for kind, listed in TABLE.items() for name in listed]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_every_name_of_the_table_leads_to_what_its_path_says(kind, name):
    module, _, attribute = TABLE[kind][name].partition(":")
    found = look_up(kind, name)
    assert found is getattr(importlib.import_module(module), attribute)
    assert look_up(kind, TABLE[kind][name]) is found
    assert current(kind, name) == current(kind, TABLE[kind][name]) == name


def test_former_paths_lead_to_names_of_today_and_back():
    for kind, paths in FORMER.items():
        for path, name in paths.items():
            assert name in TABLE[kind]
            assert current(kind, path) == name
            assert former(kind, name) == path
            assert look_up(kind, path) is look_up(kind, name)


def test_what_has_no_former_path_has_none():
    assert former("experiment", "fig4") is None
    assert former("runner", "gqlib.tasks:control_runs") is None
    assert current("experiment", "gqlib.tasks:control_runs") == "gqlib.tasks:control_runs"
    assert current("runner", "mine:runs") == "mine:runs"


def test_ones_own_function_is_found_only_where_it_is_allowed():
    assert look_up("runner", "math:hypot", allow=("math:pow", "math:hypot")) is math.hypot
    told = "runner 'math:hypot' is not one of gqlib's; pass allow=['math:hypot'] to run it"
    for allow in ((), ["math:pow"], ["hypot"]):
        with pytest.raises(SweepError, match=f"^{re.escape(told)}$"):
            look_up("runner", "math:hypot", allow)


def test_an_unknown_name_is_told_the_known_ones():
    known = ", ".join(repr(name) for name in TABLE["summary"])
    told = f"summary is 'none'; it should be one of {known}, or 'module:function'"
    with pytest.raises(SweepError, match=f"^{re.escape(told)}$"):
        look_up("summary", "none", allow=["none"])


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^kind is 'runners'; it should be one of 'runner', "):
        look_up("runners", "control")
    with pytest.raises(ValueError, match=r"^name is 3; "):
        look_up("runner", 3)
    with pytest.raises(
        ValueError,
        match=r"^allow is 'math:hypot'; it should be a list of names such as \['math:hypot'\]$",
    ):
        look_up("runner", "math:hypot", allow="math:hypot")


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("no_such_module_here:f", ImportError),
        ("math:no_such_function", AttributeError),
        (":f", ValueError),
    ],
)
def test_what_cannot_be_found_is_told_with_its_cause(path, cause):
    with pytest.raises(SweepError, match=f"^{re.escape(f'cannot find {path!r}: ')}") as raised:
        look_up("runner", path, allow=[path])
    assert isinstance(raised.value.__cause__, cause)
    assert str(raised.value) == f"cannot find {path!r}: {raised.value.__cause__}"  # and no hint


def test_what_is_in_a_script_gets_a_hint(monkeypatch):
    path = "__main__:no_such_function"
    told = r"^cannot find '__main__:no_such_function': .* \(workers cannot import a script or a notebook: put it into a "
    with pytest.raises(SweepError, match=told + r"module\)$"):
        look_up("runner", path, allow=[path])
    monkeypatch.setitem(names.TABLE["runner"], "gone", "math:no_such_function")
    with pytest.raises(SweepError, match=r"^cannot find 'math:no_such_function': "):
        look_up("runner", "gone")


@pytest.mark.parametrize("allow", [None, 5, iter([])])
def test_what_is_allowed_is_a_collection(allow):
    with pytest.raises(ValueError, match=r"allow is .+; it should be a list of names"):
        look_up("runner", "os:system", allow)
