"""The house is in order: imports flow one way, files stay small, and signs lead to what is there.

Signs are the README, CONTRIBUTING, SECURITY, the library's reference page, the page of notation and the Makefile.
"""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gqlib.claims import count_verdicts, count_weights, load_claims

ROOT = Path(__file__).parents[2]
# One idea a module, not one screen: a module is split where the idea ends. Most have fewer than 350 lines; where one
# idea takes more (a protocol with its search, a store with its checks), two halves that import each other's insides
# are harder to read than the whole. Beyond this length there is a second idea.
LONGEST = 720  # 600 again when the house is half its size: at 100 columns eleven modules are longer
LETTERS = (
    "alpha|beta|gamma|delta|varepsilon|epsilon|eta|theta|lambda|mu|nu|xi|pi|rho|sigma|phi|omega"
)
GREEK = re.compile(rf"\\({LETTERS}|Gamma|Delta|Phi|Xi|Pi|Omega)(?![a-zA-Z])")
CELLS = re.compile(r"```\{code-cell\}.*?\n```", re.DOTALL)
# Modules with an ``__all__`` that the reference page leaves out: kernels and workers, for the modules beside them.
OFF_PAGE = {"gqlib.fast.rng", "gqlib.sweeps.workers"}
SIGNS = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]


@cache
def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def path_of(module):
    """The file of a dotted module name, or None."""
    base = ROOT / module.replace(".", "/")
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.exists()), None)


@cache
def identifiers(path):
    """Every name that the code of a file uses; text and comments do not count."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found |= {getattr(node, field, None) for field in ("id", "arg", "attr", "name")}
    return found


def rows(text, begins):
    """The cells of each row of a table that begins so."""
    lines = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith(begins)]
    return [[cell.strip() for cell in line] for line in lines]


def test_imports_flow_one_way():
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        "a module imports only from the lines below its own in [tool.importlinter] of pyproject.toml: move what is "
        f"imported down, or give a new module its line there\n{done.stdout}"
    )


def test_no_module_is_too_long_to_read():
    texts = {path: path.read_text(encoding="utf-8") for path in ROOT.glob("gqlib/**/*.py")}
    long = [path.name for path, text in texts.items() if text.count("\n") > LONGEST]
    assert long == [], f"split these where one idea ends: over {LONGEST} lines"


# ---------------------------------------------------------------- README, CONTRIBUTING, SECURITY, Makefile


def counts_line():
    """What the README should say between its two marks."""
    claims = load_claims()
    counts, names = count_verdicts(claims), {"definition": "definitions"}
    told = ", ".join(
        f"{number} {names.get(name, name)}" for name, number in counts.items() if number
    )
    weights = ", ".join(f"{number} {weight}" for weight, number in count_weights(claims).items())
    told = told.replace(" corrected", f" corrected ({weights})")
    return f"**Of the paper's {sum(counts.values())} claims: {told}.**"


def test_the_readme_counts_as_the_register_does():
    assert counts_line() in read("README.md"), (
        "put this line between the marks `counts` of README.md"
    )


def test_the_examples_of_the_readme_run(capsys):
    for example in re.findall(r"```python\n(.*?)```", read("README.md"), flags=re.DOTALL):
        exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out, "the example of README.md should print something"


@pytest.mark.parametrize("sign", SIGNS)
def test_links_and_files_that_are_named_exist(sign):
    links = re.findall(r"\]\((?![a-z]+:|#)([^)\s]+)\)", read(sign))
    files = re.findall(
        r"`((?:\.ci|book|gqlib|proofs|tests|tools|results)/[\w./-]+\.\w+)", read(sign)
    )
    dead = [one for one in [*links, *files] if not (ROOT / one).exists() and "NAME" not in one]
    assert dead == [], (
        f"{sign} names files that are not there: correct the path, or drop the mention"
    )


def test_commands_that_are_named_exist():
    """Every `make X` and `python X.py`, wherever a reader or a machine is told to type it."""
    targets = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile"), re.MULTILINE))
    public = set("setup book test test-all lint lab live release".split())  # noqa: SIM905
    assert targets == public, "make has eight words; what else can be done is a command in tools/"
    places = [*SIGNS, "Containerfile", ".devcontainer/devcontainer.json", ".binder/postBuild"]
    places += [".ci/run", *(p.relative_to(ROOT).as_posix() for p in ROOT.glob("book/*.md"))]
    for place in places:
        text = read(place)
        pattern = r"`make ([a-z-]+)|^make ([a-z-]+)|step \S+ make ([a-z-]+)|RUN make ([a-z-]+)"
        called = {"".join(found) for found in re.findall(pattern, text, re.MULTILINE)}
        assert called <= targets, f"{place} calls a target that Makefile does not have"
        scripts = re.findall(r"python ((?:book|tools|proofs)/[\w/]+\.py)", text)
        gone = [name for name in scripts if not (ROOT / name).exists()]
        assert gone == [], f"{place} calls a script that is not there: correct the path"


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [path.relative_to(ROOT).as_posix() for place in ("tools", "book") for path in ROOT.glob(f"{place}/*.py")
     if "__main__" in path.read_text(encoding="utf-8") or place == "tools"],
)  # fmt: skip
def test_a_command_says_what_it_does(script):
    command = [sys.executable, ROOT / script, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (
        f"{script} --help should print what it does, and do nothing\n{done.stderr}"
    )
    assert len(done.stdout.split()) > 10, (
        f"{script} --help should print the docstring of the script"
    )


def test_the_readme_draws_the_house():
    house = read("README.md").partition("## How it is organised")[2]
    signs = [cell for cell, *_ in rows(house, "| ") if "`gqlib/" in cell]
    named = {name for sign in signs for name in re.findall(r"`(?:gqlib/)?(\w+)/?`", sign)} - {
        "gqlib"
    }
    there = {path.parent.name for path in ROOT.glob("gqlib/*/__init__.py")}
    there |= {path.stem for path in ROOT.glob("gqlib/*.py") if not path.stem.startswith("_")}
    assert there - named == set(), "give these a place in the table of rooms of README.md"
    assert named - there == set(), "the table of rooms of README.md names what is not there"


TWINS = rows(read("CONTRIBUTING.md").partition("## Twins")[2].partition("\n## ")[0], "| `")


def find(dotted):
    """The object of a dotted name; AttributeError where there is none."""
    parts = dotted.split(".")
    cut = max(cut for cut in range(1, len(parts) + 1) if path_of(".".join(parts[:cut])))
    found = importlib.import_module(".".join(parts[:cut]))
    for part in parts[cut:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("row", TWINS, ids=[f"{row[0]} {row[1]}".replace("`", "") for row in TWINS])
def test_twins_and_the_tests_that_compare_them_exist(row):
    for name in re.findall(r"`([\w.]+)`", f"{row[0]} {row[1]}"):
        assert find(f"gqlib.{name}") is not None
    tests = re.findall(r"`([\w/]+)::(\w+)`", row[-1])
    assert tests, (
        "the last column of a row of twins names the test that compares them: `file::test`"
    )
    for file, test in tests:
        assert f"def {test}(" in read(f"tests/{file}.py"), (
            "name a test that is there, or drop the row"
        )


# ---------------------------------------------------------------- the notation, and the reference


def test_every_greek_letter_of_the_chapters_is_in_the_notation():
    listed, used = set(GREEK.findall(read("book/notation.md"))), {}
    for path in sorted((ROOT / "book").glob("*.md")):
        prose = CELLS.sub("", path.read_text(encoding="utf-8"))
        for formula in re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, flags=re.DOTALL):
            used |= dict.fromkeys(GREEK.findall(formula), path.stem)
    missing = {letter: chapter for letter, chapter in used.items() if letter not in listed}
    assert missing == {}, "give these a row in book/notation.md, or use a letter that has one"


# (symbol, names in code, where) of each row that gives a name.
NOTATION = [
    (symbol, re.findall(r"`(\w+)`", names), where.strip("`"))
    for symbol, _, names, where in rows(read("book/notation.md"), "| $")
    if names
]


@pytest.mark.parametrize(
    ("symbol", "names", "where"), NOTATION, ids=[symbol for symbol, _, _ in NOTATION]
)
def test_names_in_the_notation_exist_in_the_code(symbol, names, where):
    """In the module that the row names, as code; or in the code cells of the chapter that it links to."""
    chapter = re.fullmatch(r"\[[^]]+\]\((\w+)\.ipynb\)", where)
    if chapter:
        cells = "\n".join(CELLS.findall(read(f"book/{chapter[1]}.md")))
        there = set(re.findall(r"^(\w+) = ", cells, re.MULTILINE))
    else:
        path = path_of(where)
        assert path is not None, f"the row of {symbol} in book/notation.md should name a module"
        there = identifiers(path)
    assert set(names) <= there, f"correct the row of {symbol} in book/notation.md: not in {where}"


def test_the_reference_page_has_every_module_with_public_names_once():
    signs, _, rest = read("book/api.md").partition("## Where to look")[2].partition("\n## ")
    listed = re.findall(r"automodule:: (\S+)", rest)
    assert re.findall(r"^   (gqlib[\w.]*)$", signs, re.MULTILINE) == listed, (
        "book/api.md: the list under 'Where to look' should name the modules of the sections, in order"
    )
    public = set()
    for path in sorted(ROOT.glob("gqlib/**/*.py")):
        if "__all__" in identifiers(path) and path != ROOT / "gqlib/__init__.py":
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            public |= {name} if importlib.import_module(name).__all__ else set()
    assert sorted(listed) == sorted(public - OFF_PAGE), (
        "a module with an `__all__` has a line in book/api.md, and nothing else has"
    )
