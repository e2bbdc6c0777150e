"""The house is in order: imports flow one way, files stay small, and the signs say where things are.

Signs are the README's table of folders, the library's reference page, the page of notation and the table of twins.
"""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# One idea a module, not one screen: a module is split where the idea ends. Most have fewer than 350 lines; where one
# idea takes more (a protocol with its search, a store with its checks), two halves that import each other's insides
# are harder to read than the whole. Beyond this length there is a second idea.
LONGEST = 720  # 600 again when the house is half its size: at 100 columns eleven modules are longer
GREEK = re.compile(
    r"\\(alpha|beta|gamma|delta|varepsilon|epsilon|eta|theta|lambda|mu|nu|xi|pi|rho|sigma|phi|omega|Gamma|Delta|Phi|Xi|Pi|Omega)(?![a-zA-Z])"
)
# Modules with an ``__all__`` that the reference page leaves out: kernels and workers, for the modules beside them.
OFF_PAGE = {"gqlib.fast.rng", "gqlib.sweeps.workers"}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def path_of(module):
    """The file of a dotted module name, or None."""
    base = ROOT / module.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


def module_names():
    for path in sorted(ROOT.glob("gqlib/**/*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts).removesuffix(".__init__")


@cache
def identifiers(path):
    """Every name that the code of a file uses; text and comments do not count."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found |= {getattr(node, field, None) for field in ("id", "arg", "attr", "name")}
    return found


def find(dotted):
    """The object of a dotted name; AttributeError where there is none."""
    parts = dotted.split(".")
    cut = max(cut for cut in range(1, len(parts) + 1) if path_of(".".join(parts[:cut])))
    found = importlib.import_module(".".join(parts[:cut]))
    for part in parts[cut:]:
        found = getattr(found, part)
    return found


def test_imports_flow_one_way():
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "1 kept, 0 broken" in done.stdout


def test_no_module_is_too_long_to_read():
    lengths = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in ROOT.glob("gqlib/**/*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def formulas(text):
    """The mathematics of a chapter, without its code cells."""
    prose = re.sub(r"```\{code-cell\}.*?\n```", "", text, flags=re.DOTALL)
    return "\n".join(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, flags=re.DOTALL))


def test_every_greek_letter_of_the_chapters_is_in_the_notation():
    listed = set(GREEK.findall(read("book/notation.md")))
    used = {}
    for path in sorted((ROOT / "book").glob("*.md")):
        for letter in GREEK.findall(formulas(path.read_text(encoding="utf-8"))):
            used.setdefault(letter, path.stem)
    assert {letter: chapter for letter, chapter in used.items() if letter not in listed} == {}
    assert len(used) > 15


def cells_of(text, begins):
    """The cells of each row of a table that begins so."""
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith(begins)]
    return [[cell.strip() for cell in row] for row in rows]


# (symbol, names in code, where) of each row that gives a name.
NOTATION = [
    (symbol, re.findall(r"`(\w+)`", names), where.strip("`"))
    for symbol, _, names, where in cells_of(read("book/notation.md"), "| $")
    if names
]
TWINS = cells_of(read("CONTRIBUTING.md").split("**Twins.**")[1].split("\n**")[0], "| `")


@pytest.mark.parametrize(
    ("symbol", "names", "where"), NOTATION, ids=[symbol for symbol, _, _ in NOTATION]
)
def test_names_in_the_notation_exist_in_the_code(symbol, names, where):
    """In the module that the row names, as code; or in the code cells of the chapter that it links to."""
    assert names, symbol
    chapter = re.fullmatch(r"\[[^]]+\]\((\w+)\.ipynb\)", where)
    if chapter:
        cells = re.findall(
            r"```\{code-cell\}.*?\n```", read(f"book/{chapter[1]}.md"), flags=re.DOTALL
        )
        assert [
            name for name in names if not re.search(rf"^{name} = ", "\n".join(cells), re.MULTILINE)
        ] == []
        return
    path = path_of(where)
    assert path is not None, where
    assert path.name != "__init__.py", f"{where} is a package; the row should name the module"
    assert [name for name in names if name not in identifiers(path)] == []


def test_the_notation_was_read():
    assert len(NOTATION) > 35
    assert len({symbol for symbol, _, _ in NOTATION}) == len(NOTATION)


@pytest.mark.parametrize(
    "module", [f"gqlib.learners.{m}" for m in ("gq", "corrected", "gradient_td", "relatives")]
)
def test_learners_use_no_second_name_for_what_the_notation_names(module):
    """φ, ω, e and θ are phi, omega, trace and theta, and nothing else, in the code of a step."""
    for node in ast.parse(path_of(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_step"):
            stored = {
                n.id
                for n in ast.walk(node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            given = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
            # c, u, w: the corrected method's own symbols, in the notation.
            symbols = {"delta", "c", "u", "w"}
            carried = {"weights", "numbers", "new", "seen", "_"}  # what the carrier takes and gives
            assert stored - given <= symbols | carried, node.name


def words_typed_as_text(source):
    """The arguments of a module's public functions and classes that are refused by a constant and annotated ``str``."""
    found = []

    def fixed(options):
        if isinstance(options, ast.Name):
            return options.id.isupper()
        return isinstance(options, ast.Tuple) and all(
            isinstance(entry, ast.Constant) for entry in options.elts
        )

    def visit(scope, owner, fields):
        for node in scope.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                typed = [line for line in node.body if isinstance(line, ast.AnnAssign)]
                visit(
                    node,
                    node.name,
                    {f"self.{ast.unparse(line.target)}": line.annotation for line in typed},
                )
            elif isinstance(node, ast.FunctionDef) and (owner or not node.name.startswith("_")):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                typed = fields | {
                    argument.arg: argument.annotation
                    for argument in arguments
                    if argument.annotation
                }
                for call in ast.walk(node):
                    called = call.func if isinstance(call, ast.Call) else None
                    if "choice" in (getattr(called, "attr", ""), getattr(called, "id", "")):
                        _, value, options = call.args
                        name = ast.unparse(value)
                        if fixed(options) and "str" in ast.unparse(typed.get(name, value)).split(
                            " | "
                        ):
                            found.append((owner or node.name, name.removeprefix("self.")))

    visit(ast.parse(source), "", {})
    return found


def test_a_choice_among_fixed_words_is_not_typed_as_text():
    """Where the words are a tuple; the names of a table, which can grow, remain text: ``tuple(TABLE)``."""
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("gqlib/**/*.py")]
    found = {
        each for source in sources if 'choice("' in source for each in words_typed_as_text(source)
    }
    assert found == set()


def test_a_choice_typed_as_text_would_be_found():
    source = """
def plain(rule: str): check.choice("rule", rule, RULES)
def also(rule: str | None, *, on: str): check.choice("rule", rule, ("a", "b")), choice("on", on, tuple(TABLE))
def typed(rule: Rule): check.choice("rule", rule, RULES)
def _hidden(rule: str): check.choice("rule", rule, RULES)
class Data:
    rule: str
    def __post_init__(self): check.choice("rule", self.rule, RULES)
"""
    assert words_typed_as_text(source) == [("plain", "rule"), ("also", "rule"), ("Data", "rule")]


def test_the_readme_draws_the_house():
    """One line for each package and each group of modules at the top, and nothing that is not there."""
    section = read("README.md").split("## How it is organised")[1]
    lines = [
        line.split("|")[1]
        for line in section.splitlines()
        if line.startswith("| ") and "`gqlib/" in line
    ]
    packages = [name for line in lines for name in re.findall(r"`gqlib/(\w+)/`", line)]
    modules = [name for line in lines for name in re.findall(r"`(\w+)`", line)]
    there = {path.parent.name for path in ROOT.glob("gqlib/*/__init__.py")}
    files = {path.stem for path in ROOT.glob("gqlib/*.py") if not path.stem.startswith("_")}
    assert sorted(packages) == sorted(there)
    assert sorted(modules) == sorted(files)


def headings_of_the_reference():
    """The modules of the library's reference page, by heading."""
    heading, found = "", {}
    for line in read("book/api.md").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith(".. automodule:: "):
            found.setdefault(heading, []).append(line.split(":: ")[1])
    return found


def test_the_reference_page_begins_with_a_line_for_each_module():
    signs, _, rest = read("book/api.md").partition("## Where to look")[2].partition("\n## ")
    assert re.findall(r"^   (gqlib[\w.]*)$", signs, re.MULTILINE) == re.findall(
        r"automodule:: (\S+)", rest
    )
    assert re.findall(r"^\*\*(.+)\*\*$", signs, re.MULTILINE) == list(headings_of_the_reference())


@pytest.mark.slow
def test_the_reference_page_follows_the_folders():
    pages = headings_of_the_reference()
    for heading, modules in pages.items():
        if heading.startswith(("Top level", "The register")):
            assert all(
                module.count(".") == 1 and path_of(module).name != "__init__.py"
                for module in modules
            )
        else:
            assert {module.split(".")[1] for module in modules} == {heading.lower()}
    listed = [module for modules in pages.values() for module in modules]
    assert len(set(listed)) == len(listed)
    named = [
        name
        for name in module_names()
        if "__all__" in identifiers(path_of(name)) and name != "gqlib"
    ]
    public = {name for name in named if importlib.import_module(name).__all__}
    assert public > OFF_PAGE
    assert set(listed) == public - OFF_PAGE


@pytest.mark.parametrize("row", TWINS, ids=[f"{row[0]} {row[1]}".replace("`", "") for row in TWINS])
def test_twins_and_the_tests_that_compare_them_exist(row):
    reference, twin, difference, compared = row
    names = re.findall(r"`([\w.]+)`", reference) + re.findall(r"`([\w.]+)`", twin)
    for name in names:
        assert find(f"gqlib.{name}") is not None
    tests = re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", compared)
    assert tests
    for path, test in tests:
        assert re.search(rf"^ *def {test.split('::')[-1]}\(", read(path), re.MULTILINE), test
    assert difference


# What a function calls, leaving out what happens when a module is loaded.
WALK = """
import sys
from gqlib import cli
from gqlib.sweeps import names
loading, called, looked_up = 0, set(), []
def watch(frame, event, _):
    global loading
    code, name = frame.f_code.co_name, frame.f_globals.get("__name__", "")
    if code == "<module>":
        loading += (event == "call") - (event == "return")
    elif event == "call" and not loading and name.startswith("gqlib."):
        called.add(name.removeprefix("gqlib."))
real = names.look_up
def look_up(kind, name, allow=()):
    looked_up.append(kind)
    return real(kind, name, allow)
import gqlib.experiments, gqlib.sweeps.results, gqlib.sweeps.sweep
for module in (gqlib.experiments, gqlib.sweeps.results, gqlib.sweeps.sweep, cli):
    module.look_up = look_up
sys.setprofile(watch)
code = cli.main(["reproduce", "table2", "--runs", "1", "--workers", "1", "--set", "episodes=1", "--set", "max_steps=9",
                 "--out", sys.argv[1]])
sys.setprofile(None)
print("called", *sorted(called))
print("looked", *sorted(set(looked_up)))
sys.exit(code)
"""


@pytest.mark.slow
def test_the_walk_of_a_table(tmp_path):
    """Nothing is passed but the stops and the tools that CONTRIBUTING names, and three names are looked up."""
    text = read("CONTRIBUTING.md")
    part = text[text.index("**The walk of a table.**") : text.index("**Numbers.**")]
    stops = re.findall(r"^\| `([\w.]+)` \|", part, re.MULTILINE)
    tools = re.findall(r"`([\w.]+)`", part[part.index("Tools on the way") :])
    assert len(stops) == 9
    done = subprocess.run(
        [sys.executable, "-c", WALK, tmp_path], capture_output=True, text=True, check=True
    )
    told = {words[0]: set(words[1:]) for words in map(str.split, done.stdout.splitlines()[-2:])}
    compiled = {"engine._kernel"}  # whose calls no profiler sees
    called = told["called"] - {
        "fast._lowered"
    }  # called where a kernel is compiled for the first time
    assert called | compiled == {*stops, *tools}
    assert told["looked"] == {"experiment", "runner", "summary"}
