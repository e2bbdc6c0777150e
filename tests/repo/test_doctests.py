"""Every example in a docstring runs and gives what it shows, and every public name has one.

Public is what a module on the library's reference page (`book/api.md`) lists in its ``__all__``.
"""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType

import pytest

import gqlib

BOOK = Path(__file__).parents[2] / "book"
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(gqlib.__path__, "gqlib.")
    if not info.name.endswith("__main__")
) + sorted(f"kit.{path.stem}" for path in BOOK.glob("kit/[!_]*.py"))
ON_PAGE = re.findall(r"automodule:: (\S+)", (BOOK / "api.md").read_text(encoding="utf-8"))
# Names that others rely on: they stay importable as written here.
RELIED_ON = (
    "gqlib.FiniteMDP",
    "gqlib.PredictionProblem",
    "gqlib.stationary_distribution",
    "gqlib.claims.load_claims",
    "gqlib.control.ControlSetting",
    "gqlib.control.run_control",
    "gqlib.domains.baird_star",
    "gqlib.domains.boyan_chain",
    "gqlib.domains.cart_pole",
    "gqlib.domains.mountain_car",
    "gqlib.domains.two_state",
    "gqlib.learners.gq_step",
    "gqlib.learners.gq_step_lagged",
    "gqlib.learners.semi_gradient_step",
    "gqlib.stability.critical_sigma",
    "gqlib.stability.joint_matrix",
    "gqlib.stability.spectral_abscissa",
    "gqlib.stats.bootstrap_interval",
    "gqlib.stats.case_counts",
    "gqlib.stats.case_null",
    "gqlib.stats.grim",
    "gqlib.stats.paired_difference",
    "gqlib.tiles3.IHT",
    "gqlib.tiles3.tiles",
    "gqlib.tiles3.tileswrap",
)
RELIED_ON_MEMBERS = {
    "gqlib.FiniteMDP": ("pair_chain", "q", "state_chain", "v"),
    "gqlib.PredictionProblem": (
        *(
            "A",
            "M",
            "b",
            "fixed_point",
            "mspbe",
            "mspbe_gradient",
            "on_pairs",
            "on_states",
            "prop1_step",
            "rank_A",
        ),
        *("rank_M", "td_step"),
    ),
    "gqlib.domains.Domain": ("problem", "theta0", "trajectory"),
    "gqlib.domains.Trajectory": ("ends", "phi", "phi_next", "phi_next_expected", "reward"),
    "gqlib.control.ControlResult": ("steps",),
}


@pytest.fixture(autouse=True)
def _no_windows(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


def takes_seconds(name):
    """Whether the examples measure, compile, draw or run experiments."""
    some = {"evaluation": ("curves", "run"), "experiments": ("figure3", "today_control", "tuning")}
    package, _, module = name.removeprefix("gqlib.").partition(".")
    return package in ("plots", "engine", "kit") or module in some.get(package, ())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if takes_seconds(name) else name
        for name in MODULES
    ],
)
def test_examples_of(name):
    found = doctest.DocTestFinder().find(importlib.import_module(name))
    once = {
        example.docstring: example for example in found
    }  # in a module that is mutated, each is there many times
    runner = doctest.DocTestRunner()
    failed = sum(runner.run(example).failed for example in once.values())
    assert failed == 0, f"correct the examples of {name}: what they give is printed above"


def find(name):
    """The object of a dotted name, and whether it is a member of its module's ``__all__``."""
    module, _, attribute = name.rpartition(".")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute), attribute in loaded.__all__


def is_code(value):
    """Whether a public name is a function or a class, and not a constant: constants need no example."""
    return inspect.isclass(value) or (callable(value) and inspect.isroutine(inspect.unwrap(value)))


def own(cls):
    """Public methods and properties that a class defines itself."""
    kinds = (FunctionType, classmethod, staticmethod, property, cached_property)
    return {
        name: member
        for name, member in vars(cls).items()
        if name[0] != "_" and isinstance(member, kinds)
    }


def examples(text):
    """The source of the examples in a docstring."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text or ""))


def documentation(member):
    return getattr(member, "__func__", member).__doc__ or ""


@cache
def shown(value):
    """The examples for a function, or for a class, its methods and its subclasses."""
    if not inspect.isclass(value):
        return examples(value.__doc__)
    own_texts = "".join(map(examples, [value.__doc__, *map(documentation, own(value).values())]))
    return own_texts + "".join(map(shown, value.__subclasses__()))


def public(module):
    loaded = importlib.import_module(module)
    return {name: getattr(loaded, name) for name in loaded.__all__}


@pytest.mark.parametrize("module", ON_PAGE)
def test_a_module_of_the_reference_lists_what_is_public(module):
    listed = importlib.import_module(module).__all__
    assert len(set(listed)) == len(listed) > 0, f"list each public name once in __all__ of {module}"
    assert public(module), "every name in __all__ should exist"


@pytest.mark.parametrize("module", ON_PAGE)
def test_every_public_name_has_an_example(module):
    code = {name: value for name, value in public(module).items() if is_code(value)}
    missing = [name for name, value in code.items() if not shown(value)]
    assert missing == [], f"show in the docstrings of {module} what these do, by an example"


@pytest.mark.parametrize("module", ON_PAGE)
def test_every_public_method_occurs_in_an_example(module):
    missing = [
        f"{name}.{method}"
        for name, value in public(module).items()
        if inspect.isclass(value) and not issubclass(value, BaseException)
        for method in own(value)
        if not re.search(rf"\b{method}\b", shown(value))
    ]
    assert missing == [], f"use these in an example of {module}"


@pytest.mark.parametrize("name", RELIED_ON)
def test_names_that_others_rely_on_are_public_and_have_an_example(name):
    if name == "gqlib.domains.mountain_car":
        assert "step" in importlib.import_module(name).__all__
        return
    value, listed = find(name)
    assert listed, f"{name} should stay in __all__: others rely on it"
    assert shown(value), f"show by an example what {name} does"


@pytest.mark.parametrize("name", RELIED_ON_MEMBERS)
def test_members_that_others_rely_on_exist(name):
    cls, listed = find(name)
    fields = set(getattr(cls, "__dataclass_fields__", ())) | set(dir(cls))
    assert listed, f"{name} should stay in __all__: others rely on it"
    gone = set(RELIED_ON_MEMBERS[name]) - fields
    assert gone == set(), f"others rely on these members of {name}: keep them"


def cells(path):
    """The code cells of a chapter, parsed."""
    text = path.read_text(encoding="utf-8")
    for cell in re.findall(r"(?ms)^```\{code-cell\}[^\n]*\n(.*?)^```", text):
        yield ast.parse(re.sub(r"(?ms)\A---\n.*?^---\n|^:[\w-]+:[^\n]*\n", "", cell))


def names_used(path):
    """(module, name) of whatever a chapter takes from gqlib: imported, or as an attribute of an imported module."""
    modules, used = {}, set()
    for node in (node for cell in cells(path) for node in ast.walk(cell)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gqlib":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if (
                    inner in MODULES
                    and alias.name not in importlib.import_module(node.module).__all__
                ):
                    modules[alias.asname or alias.name] = inner
                else:
                    used.add((node.module, alias.name))
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ):
            used.add((modules[node.value.id], node.attr))
        else:
            plain = isinstance(node, ast.Import) and any("gqlib" in a.name for a in node.names)
            assert not plain, f"{path.name}: import names from gqlib, as other chapters do"
    return used


@pytest.mark.parametrize("chapter", sorted(path.stem for path in BOOK.glob("*.md")))
def test_what_a_chapter_uses_is_public_and_in_the_reference(chapter):
    used = names_used(BOOK / f"{chapter}.md")
    hidden = [
        pair for pair in sorted(used) if pair[1] not in importlib.import_module(pair[0]).__all__
    ]
    assert hidden == [], f"book/{chapter}.md should use what is public: see __all__"
    off = {module for module, _ in used} - {"gqlib", *ON_PAGE}
    assert off == set(), f"book/{chapter}.md uses these; give them a line in book/api.md"
