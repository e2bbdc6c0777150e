"""Execute chapters and write their records: `python book/refresh.py [--all] [--seal] [--jobs N] [book/NAME.md ...]`.

The text is the source. A record is stale when the digest that is kept in it differs from today's; without arguments,
stale records alone are executed. The digest covers what the chapter can see: its text, the modules of gqlib that it
imports, directly or through others, and the files of data that it or they name. This is found by reading, not running:

- imports in cells and in modules, those inside functions too, with the packages that are loaded on the way;
- a module whose name stands in a string, as in `import_module("gqlib.control.reference")`;
- what the table of names of `gqlib.sweeps.names` has under a name that stands in a string or in the header of a
  result, once a module is reached that looks names up in it;
- a file whose name stands in a string: one of the results, of the book, or beside the module.

Every execution checks the first three: a chapter that loads a module which was not found by reading is refused.
Comments and docstrings of the library do not count, since no record shows them; where the chapter, or a module that it
reaches, reads docstrings or sources, the whole library counts, to the letter.

A second digest seals the pictures of a record, which nbval does not compare: one that is exchanged afterwards makes the
record stale, and a test tells. `--seal` gives it to records that have none, for pictures that somebody has looked at.
"""

from __future__ import annotations

import argparse
import ast
import base64
import hashlib
import io
import json
import re
import subprocess
import sys
import time
import tokenize
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from gqlib.sweeps.names import FORMER, TABLE
from gqlib.sweeps.store import write_file

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
HEADER = "jupytext:"
README_FIGURE = "fig-index-eta"  # of the first page; the README shows it too
NAMES, LOOK_UP = (
    "gqlib.sweeps.names",
    "look_up",
)  # the module with the table of names, and how it is used
# Words of code that reads code.
READERS = {
    "__doc__",
    "get_docstring",
    "getcomments",
    "getdoc",
    "getsource",
    "getsourcelines",
    "help",
}
MODULE = re.compile(r"(gqlib(?:\.\w+)*)(?::\w+)?")
FILE = re.compile(r"[\w./*-]*\.(?:npz|json|ya?ml|csv)")
LOADED = "import sys; print(*(name for name in sys.modules if name.partition('.')[0] == 'gqlib'))"


def chapters() -> list[Path]:
    """The text notebooks of the book, by their header."""
    return [
        path
        for path in sorted(BOOK.glob("*.md"))
        if HEADER in path.read_text(encoding="utf-8")[:200]
    ]


@cache
def parsed(code: bytes) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(code)


@cache
def strings(tree: ast.Module) -> frozenset[str]:
    """Every string in the code; of an f-string, its constant pieces."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


@cache
def words(tree: ast.Module) -> frozenset[str]:
    """Every name in the code: of variables, attributes and imports."""
    fields = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name"}
    return frozenset(
        getattr(node, fields[type(node)]) for node in ast.walk(tree) if type(node) in fields
    )


def modules_in(texts: Iterable[str]) -> set[str]:
    """The names of modules of gqlib among texts such as `gqlib.mdp` or `gqlib.mdp:FiniteMDP`."""
    return {match[1] for match in map(MODULE.fullmatch, texts) if match}


@cache
def kinds(tree: ast.Module) -> frozenset[str]:
    """The kinds of names that the code looks up in the table."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    asked = [
        node.args[0]
        for node in calls
        if getattr(node.func, "id", getattr(node.func, "attr", "")) == LOOK_UP
    ]
    return frozenset(
        kind
        for node in asked
        for kind in ([node.value] if isinstance(node, ast.Constant) else TABLE)
    )


@cache
def imports(tree: ast.Module, package: str) -> frozenset[str]:
    """Dotted names that imports bring in, wherever they stand; some are modules, others names inside of modules."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            above = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def loaded(name: str) -> tuple[str, Path] | None:
    """The package that holds a module, or that it is, and its file; None where gqlib has no such module."""
    base = ROOT.joinpath(*name.split("."))
    if name.partition(".")[0] != "gqlib":
        return None
    if (base / "__init__.py").is_file():
        return name, base / "__init__.py"
    return (
        (name.rpartition(".")[0], base.with_suffix(".py"))
        if base.with_suffix(".py").is_file()
        else None
    )


def closure(names: Iterable[str]) -> dict[str, Path]:
    """The modules of gqlib among these names, and all that they import, with their files."""
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or (module := loaded(name)) is None:
            continue
        package, found[name] = module
        tree = parsed(found[name].read_bytes())
        waiting += [*imports(tree, package), name.rpartition(".")[0]]
        if name != NAMES:
            waiting += modules_in(strings(tree))
    return found


def files_named(texts: Iterable[str], *places: Path) -> set[Path]:
    """The files in these places whose names, or endings, stand in the texts."""
    patterns = {Path(text).name for text in texts if FILE.fullmatch(text)}
    patterns = {"*" + name if name.startswith(".") else name for name in patterns}
    return {path for place in places for name in patterns for path in place.glob(name)}


def header_strings(path: Path) -> set[str]:
    """What a result says about itself."""
    with zipfile.ZipFile(path) as archive:
        about = (
            json.loads(archive.read("header.json"))["attrs"]
            if "header.json" in archive.namelist()
            else {}
        )
    return {value for value in about.values() if isinstance(value, str)}


def table_modules(asked: Iterable[str], said: set[str]) -> set[str]:
    """The modules that the table has for these kinds under one of the names that were said."""
    today = said | {new for names in FORMER.values() for old, new in names.items() if old in said}
    return modules_in(
        path for kind in asked for name, path in TABLE.get(kind, {}).items() if name in today
    )


def code_of(notebook: nbformat.NotebookNode) -> str:
    """The code cells of a chapter as one program."""
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def reached(tree: ast.Module) -> tuple[dict[str, Path], set[Path]]:
    """The modules of gqlib that the code of a chapter loads, and the files of data that it or they name."""
    data = files_named(strings(tree), ROOT / "results", BOOK)
    headers = [header_strings(path) for path in data if path.suffix == ".npz"]
    names, more = {*imports(tree, ""), *modules_in(strings(tree))}, {"gqlib"}
    while more:
        found = closure(names)
        trees = {name: parsed(path.read_bytes()) for name, path in found.items() if name != NAMES}
        asked = {kind for one in (tree, *trees.values()) for kind in kinds(one)}
        said = set().union(strings(tree), *headers, *map(strings, trees.values()))
        more = table_modules(asked, said) - names
        names |= more
    for name, one in trees.items():
        whole = (
            text for text in strings(one) if not Path(text).name.startswith(".")
        )  # and not an ending
        data |= files_named(whole, ROOT / "results", BOOK, found[name].parent)
    return found, data


@cache
def bare(code: bytes) -> bytes:
    """A module without comments, docstrings and empty lines."""
    lines = code.decode().split("\n")
    dropped: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column].rstrip()
        elif token.type == tokenize.NL and not lines[row - 1].strip():
            dropped.add(row)
    for node in ast.walk(parsed(code)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is None:
            continue
        text = node.body[0]
        start, end = lines[text.lineno - 1].encode(), lines[text.end_lineno - 1].encode()
        if (
            not start[: text.col_offset].strip() and not end[text.end_col_offset :].strip()
        ):  # alone on its lines
            dropped |= set(range(text.lineno, text.end_lineno + 1))
    return "\n".join(line for row, line in enumerate(lines, 1) if row not in dropped).encode()


def inputs(source: Path) -> tuple[dict[str, Path], dict[Path, bytes]]:
    """The modules that a chapter loads, and all that its record depends on: files, with what counts of each."""
    notebook = jupytext.read(source)
    try:
        tree = ast.parse(code_of(notebook))
    except SyntaxError:  # a magic command, say, that can do anything
        tree = ast.parse("__doc__")
    found, data = reached(tree)
    trees = (tree, *(parsed(path.read_bytes()) for path in found.values()))
    shown = any(
        "raises-exception" in cell.metadata.get("tags", []) for cell in notebook.cells
    )  # with lines of code
    if shown or any(READERS & words(one) for one in trees):
        found = {
            ".".join(path.relative_to(ROOT).with_suffix("").parts): path
            for path in ROOT.glob("gqlib/**/*.py")
        }
        found = {name.removesuffix(".__init__"): path for name, path in found.items()}
        seen = {path: path.read_bytes() for path in found.values()}
    else:
        seen = {path: bare(path.read_bytes()) for path in found.values()}
    return found, {path: path.read_bytes() for path in (source, *data)} | seen


def digest(source: Path) -> str:
    """One name for all that a record depends on."""
    total = hashlib.sha256()
    for path, content in sorted(inputs(source)[1].items()):
        total.update(
            path.relative_to(ROOT).as_posix().encode() + b"\0" + hashlib.sha256(content).digest()
        )
    return total.hexdigest()[:16]


def stale(source: Path) -> bool:
    """Whether the record is missing or was made from other text, another library or other data."""
    record = source.with_suffix(".ipynb")
    if not record.exists():
        return True
    kept = nbformat.read(record, as_version=4)
    return bool(kept.metadata.get("gqlib") != {"digest": digest(source), "pictures": seal(kept)})


def seal(notebook: nbformat.NotebookNode) -> str:
    """One name for all pictures of a record, to the byte: the pixels of one theme and the drawing of the other."""
    total = hashlib.sha256()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for kind, data in sorted(output.get("data", {}).items()):
                if kind.startswith("image/"):
                    total.update(f"{kind} {len(data)} {data}".encode())
    return total.hexdigest()[:16]


def add_seal(source: Path) -> bool:
    """Seal a record that has no seal; return whether it had none."""
    record = source.with_suffix(".ipynb")
    notebook = nbformat.read(record, as_version=4)
    if "pictures" in notebook.metadata["gqlib"]:
        return False
    notebook.metadata["gqlib"]["pictures"] = seal(notebook)
    write_file(record, nbformat.writes(notebook).encode() + b"\n")
    return True


def picture(notebook: nbformat.NotebookNode, name: str) -> bytes:
    """The image that the cell with this figure name put out."""
    for cell in notebook.cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == name:
            return base64.b64decode(cell.outputs[0].data["image/png"])
    raise ValueError(f"name is {name!r}; it should be the name of a figure in the notebook")


def refresh(source: Path) -> float:
    """Execute one chapter from its text alone; return the seconds it took."""
    begin = time.perf_counter()
    today, known = (
        digest(source),
        set(inputs(source)[0]),
    )  # before: what changes meanwhile makes the record stale
    notebook = jupytext.read(source)
    notebook.cells.append(nbformat.v4.new_code_cell(LOADED))
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        record_timing=False,
        coalesce_streams=True,  # however many pieces a busy machine prints in
    ).execute()
    missed = set(notebook.cells.pop().outputs[0].text.split()) - known
    if missed:
        raise ValueError(
            f"{source.name} loads {', '.join(sorted(missed))}; by reading it should have been found"
        )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # stable from one execution to the next
    notebook.metadata["gqlib"] = {"digest": today, "pictures": seal(notebook)}
    notebook.metadata["language_info"] = {
        "name": "python"
    }  # the version of Python is not part of a record
    # Written at the end and at once: whoever is killed half-way leaves the record that was there.
    write_file(source.with_suffix(".ipynb"), nbformat.writes(notebook).encode() + b"\n")
    if source.stem == "index":
        write_file(BOOK / "_static" / "striking.png", picture(notebook, README_FIGURE))
    return time.perf_counter() - begin


def in_a_process_of_its_own(source: Path) -> subprocess.CompletedProcess[str]:
    """Execute one chapter, whatever becomes of it."""
    command = [sys.executable, __file__, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refresh_all(sources: list[Path], jobs: int) -> int:
    """Execute chapters, some at a time; return how many failed, after telling why."""
    failed: dict[str, str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = {pool.submit(in_a_process_of_its_own, source): source for source in sources}
            for future in as_completed(running):
                name, done = running[future].relative_to(ROOT).as_posix(), future.result()
                if done.returncode:
                    failed[name] = done.stderr
                print(f"{name}: FAILED" if done.returncode else done.stdout.rstrip(), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    for name, said in sorted(failed.items()):
        print(f"\n== {name} failed:\n{said.rstrip()}", file=sys.stderr)
    return len(failed)


def main(arguments: list[str]) -> int:
    """Refresh the named chapters, all of them with --all, or those that are stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "chapters", nargs="*", type=lambda text: Path(text).resolve(), metavar="book/NAME.md"
    )
    parser.add_argument("--all", action="store_true", help="execute every chapter")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument(
        "--seal", action="store_true", help="execute nothing; seal the pictures of unsealed records"
    )
    options = parser.parse_args(arguments)
    if options.seal:
        print(*("sealed: ", *(source.stem for source in chapters() if add_seal(source))))
        return 0
    chosen = options.chapters or [path for path in chapters() if options.all or stale(path)]
    if not chosen:
        print("every record is up to date")
    if len(chosen) > 1:
        return int(refresh_all(chosen, options.jobs) > 0)
    for source in chosen:
        try:
            print(f"{source.relative_to(ROOT).as_posix()}: {refresh(source):.1f} s", flush=True)
        except (CellExecutionError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
