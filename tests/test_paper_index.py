"""The index of the paper leads to the code by the shortest route, and to nothing that does not exist.

A *hop* is one look at a page or into a file: from the README to the index of the paper or to a file, and from there
to a name on the reference page or in the file.
"""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import jupytext
import pytest

from gqlib.claims import load_claims
from gqlib.experiments.printed import NUMBERED_ITEMS
from kit import index as paper_index
from kit.index import IMPLEMENTS, items_cited, library_index

ROOT = Path(__file__).parents[1]
# Their docstrings say it without the number: the sum of Eq. (4) for values that are θᵀφ, A on-policy, and the norm of
# which Eq. (19) is another form. Whoever adds the number there takes it off here.
UNCITED = {"Eq. (11)", "Eq. (17)", "Eq. (18)"}


@cache
def index():
    return library_index()


def find(name):
    """The object of a dotted name: the longest part that is a module, and attributes of it."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Eq. (15), corrected", {"Eq. (15)"}),
        ("Eqs. (6) and (7)", {"Eq. (6)", "Eq. (7)"}),
        ("Eqs. (20)–(22)", {"Eq. (20)", "Eq. (21)", "Eq. (22)"}),
        ("Eqs. (1), (3)–(5) and (9)", {"Eq. (1)", "Eq. (3)", "Eq. (4)", "Eq. (5)", "Eq. (9)"}),
        ("x = y    (23)\nnext", {"Eq. (23)"}),
        (">>> table = IHT(2)\n", set()),
        ("Eq. (99) and Table 7", set()),
        ("Proposition 1 in Appendix B", {"Proposition 1", "Appendix B"}),
        ("Figures 4 and 5, Tables 1 and 2", {"Figure 4", "Figure 5", "Table 1", "Table 2"}),
        ("Figures 5–7", {"Figure 5", "Figure 6", "Figure 7"}),
        ("Sutton and Barto (2018, Figure 7.2)", set()),
        ("f(3) is not an equation", set()),
    ],
)
def test_citations_are_read(text, items):
    assert items_cited(text) == items


def test_only_a_text_can_cite():
    with pytest.raises(ValueError, match=r"^text is 15; it should be "):
        items_cited(15)


@pytest.mark.parametrize(
    ("group", "numbers"),
    [
        ("(6), (7) and (9)–(11)", {6, 7, 9, 10, 11}),
        ("4 and 6–7", {4, 6, 7}),
        ("(1)-(3)", {1, 2, 3}),
        ("12", {12}),
        ("", set()),
    ],
)
def test_a_list_of_numbers_is_read(group, numbers):
    assert paper_index._numbers(group) == numbers


SMALL = '''"""A module."""
other = __all__ = ["f", "g", "K"]
here, there = 1, 2
def f():
    """Of f."""
    def inside():
        """Of nobody's concern."""
def g():
    pass
def hidden():
    """Not listed."""
class K:
    """Of K."""
    size = 3
    def m(self):
        """Of m."""
    def n(self):
        pass
    def _o(self):
        """Private."""
class L:
    """Not listed either."""
'''


def test_docstrings_of_a_small_module_by_hand():
    found = paper_index._docstrings(ast.parse(SMALL), "a.b")
    assert found == [
        ("a.b", "A module."),
        ("a.b.f", "Of f."),
        ("a.b.g", ""),
        ("a.b.K", "Of K."),
        ("a.b.K.m", "Of m."),
        ("a.b.K.n", ""),
    ]
    without = SMALL.removeprefix('"""A module."""\n')
    assert paper_index._docstrings(ast.parse(without), "a.b") == [("a.b", ""), *found[1:]]
    assert paper_index._docstrings(ast.parse(SMALL.replace("__all__", "__some__")), "a.b") == []


def test_docstrings_are_those_of_the_package(monkeypatch):
    read, encodings = Path.read_text, set()

    def noted(path, encoding=None):  # a page must not depend on the language of the machine
        encodings.add(str(encoding).lower())
        return read(path, encoding=encoding)

    monkeypatch.setattr(Path, "read_text", noted)
    found = dict(paper_index._public_docstrings())
    assert encodings == {"utf-8"}
    assert found["gqlib.learners.gq.gq_step"] == inspect.getdoc(find("gqlib.learners.gq.gq_step"))
    assert found["gqlib.learners"] == inspect.getdoc(find("gqlib.learners"))  # of a package
    assert found["gqlib.mdp"] == inspect.getdoc(find("gqlib.mdp"))
    modules = {name for name in found if name.count(".") == 1}
    assert "gqlib.claims" not in modules
    assert not {
        "kit.index",
        "gqlib.experiments.printed",
        "kit.index.items_cited",
    } & set(found)
    assert not [name for name in found if "._" in name]


def test_the_nearest_names_come_first_and_owners_are_left_out(monkeypatch):
    said = [
        ("p.other", "Of Eq. (1)."),
        ("p.also", "Of Eq. (1)."),
        ("p.late", "Something.\n\nSee Eq. (1) and Table 2."),
        ("p", "All of it: Eq. (1), Table 2."),
        ("p.late.f", "Of Table 2."),
        ("p.core", "Of Eq. (1)."),
        ("p.core.done", "Of Eq. (1), by hand."),
    ]
    monkeypatch.setattr(paper_index, "_public_docstrings", lambda: said)
    monkeypatch.setattr(
        paper_index, "IMPLEMENTS", {"Eq. (1)": "p.core.done", "Table 1": "p.table", "Table 2": "p"}
    )
    found = {item: names for item, names in library_index().items() if names}
    assert found == {
        "Eq. (1)": [
            "p.core.done",
            "p.also",
            "p.other",
            "p.late",
        ],  # not p and p.core, whose names are there
        "Table 1": ["p.table"],
        "Table 2": ["p", "p.late.f"],  # p all the same, because it implements it; p.late not
    }


def test_index_names_public_things_that_exist():
    assert set(index()) == set(NUMBERED_ITEMS)
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"automodule:: (\S+)", page))
    for name in {name for names in index().values() for name in names}:
        assert find(name).__doc__, name
        assert not any(part.startswith("_") for part in name.split(".")), name
        module = max(
            (other for other in documented if f"{name}.".startswith(f"{other}.")),
            key=len,
            default=None,
        )
        assert module, f"{name} is not on the reference page"
        rest = name.removeprefix(module).strip(".").split(".")[0]
        assert not rest or rest in importlib.import_module(module).__all__, name


@pytest.mark.parametrize("item", IMPLEMENTS)
def test_what_implements_an_object_comes_first_and_cites_it(item):
    name = IMPLEMENTS[item]
    assert index()[item][0] == name
    assert index()[item].count(name) == 1
    cited = item in items_cited(find(name).__doc__)
    assert cited == (item not in UNCITED)


def test_every_equation_up_to_the_algorithm_and_every_statement_and_picture_has_code():
    equations = {f"Eq. ({number})" for number in range(1, 27)}
    kinds = ("Algorithm", "Proposition", "Theorem", "Lemma", "Figure", "Table")
    others = {item for item in NUMBERED_ITEMS if item.startswith(kinds)}
    assert len(others) == 13
    assert equations | others | {"Eq. (40)"} == set(IMPLEMENTS)


def test_what_cites_an_object_first_comes_before_what_mentions_it():
    names = index()["Eq. (26)"]
    assert names.index("gqlib.learners.sparse.SparseGQ.step") < names.index(
        "gqlib.control.setting.ControlSetting"
    )


def test_a_module_is_left_out_where_its_own_names_are_listed():
    assert "gqlib.learners" not in index()["Eq. (25)"]
    assert "gqlib.learners.gq" not in index()["Eq. (25)"]
    assert "gqlib.domains.boyan_chain" in index()["Figure 6"]
    assert "gqlib.domains.boyan_chain" not in index()["Figure 7"]


@cache
def lines_of_the_page():
    """The lines of the page's tables, by object: from the page's own code, executed."""
    space = {}
    for cell in jupytext.read(ROOT / "book" / "paper_index.md").cells:
        if cell.cell_type == "code" and "table(" not in cell.source.splitlines()[0]:
            exec(compile(cell.source, "paper_index.md", "exec"), space)
    return {item: space["row"](item) for item in NUMBERED_ITEMS}


CLAIMS = cache(load_claims)  # which takes a while to read


@pytest.mark.slow
@pytest.mark.parametrize("item", NUMBERED_ITEMS)
def test_a_line_of_the_page_names_each_chapter_once_and_links_each_name(item):
    _, said, _, chapters, code, _ = (cell.strip() for cell in lines_of_the_page()[item].split("|"))
    assert said == item.replace(" ", "\xa0")  # on one line
    shown = re.findall(r"\[([\w ]+)\]\(#([\w-]+)\)", chapters)
    assert len(shown) == len({chapter for chapter, _ in shown}) >= 1
    cells = {cell for claim in CLAIMS() if item in claim.items for cell in claim.cells}
    shown = [(chapter.lower().replace(" ", "_"), label) for chapter, label in shown]
    assert set(shown) <= cells
    assert {chapter for chapter, _ in shown} == {chapter for chapter, _ in cells}
    linked = re.findall(r"\[`([\w.]+)`\]\(#([\w.]+)\)", code)
    assert [name for _, name in linked] == index()[item][:4]
    assert all(f"gqlib.{text}" == name for text, name in linked)
    assert code.count("`") == 2 * len(linked)


# What a newcomer looks for: the words to look for, where the way starts, and where it has to end.
WALKS = {
    "the mean update, Eq. (12)": (
        "Eq. (12)",
        "book/paper_index.md",
        "gqlib.prediction.LinearPrediction.td_step",
    ),
    "the step of θ, Eq. (26)": ("Eq. (26)", "book/paper_index.md", "gqlib.learners.gq.gq_step"),
    "Figure 5": ("Figure 5", "book/paper_index.md", "gqlib.experiments.mountain_car.fig5"),
    "a cell of Table 2": (
        "Table 2",
        "book/paper_index.md",
        "gqlib.experiments.mountain_car_results.cases_table",
    ),
    "the tile coder": ("the tile coder", "README.md", "gqlib.tiles3.tiles"),
    "the σ schedules": ("the σ schedules", "README.md", "gqlib.learners.sigma.Schedule"),
    "the seed of a run": ("the seed of a run", "README.md", "gqlib.seeds.sequence"),
}


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_a_newcomer_needs_three_hops(walk):
    """README → index of the paper → name; or README → file → name."""
    words, start, name = WALKS[walk]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        start == "README.md" or f"]({start})" in readme
    )  # the first hop, where the way does not start in the README
    if start == "README.md":
        (line,) = [line for line in readme.splitlines() if line.startswith("|") and words in line]
        module, _, last = name.rpartition(".")
        *folder, stem = module.split(".")
        assert f"{'/'.join(folder)}/" in line  # the folder,
        assert f"`{stem}`" in line  # and the file in it
        assert find(name).__doc__
        assert last in importlib.import_module(module).__all__
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()
    else:
        assert (
            f"(#{name})" in lines_of_the_page()[words]
        )  # a link on the line of the object, to the reference
        assert find(name).__doc__
