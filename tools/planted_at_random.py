"""Errors that a seeded operator draws, over the code cells of the chapters and the functions of gqlib that they cite.

The operators take turns: sign (+ for −, a minus lost), transpose (.T lost), index (one more, or the other axis), power
(a square or a root lost, one more), factor (a factor or a divisor lost), any/all (exchanged). A coin chooses cells or
functions, then a chapter is drawn, then one place in it. Not drawn, because no assert could notice or none should:

- what is printed or drawn: `print`, f-strings, cells that draw;
- a bound: comparisons by order in an assert, `any` and `all` in one, tolerances, and names of rounding errors;
- data: arguments of random generators and of grids, and seeds;
- in the library: refusals of bad arguments, defaults, annotations, private and compiled functions, and the machinery
  around the mathematics (`sweeps`, `fast`, plots, claims, command line).

An error in a cell is noticed if it or a cell that follows from it (`book/live/follow.py`) fails where it does not
without the error; one in a function, by the cells that name it and what follows from them, or else by the quick tests
that `tools/mutants.py` finds for its module. Of the forty of seed 2026, drawn before any was tried, 35 were noticed;
with two more asserts and two more tests it is 39. `tests/planted_at_random.json` has them.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import inspect
import json
import os
import random
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
for place in ("tests", "book", "book/live", ""):
    sys.path.append(str(ROOT / place))

import follow  # noqa: E402
import mutants  # noqa: E402

import planted  # noqa: E402

OPERATORS = ("sign", "transpose", "index", "power", "factor", "any/all")
RECORD = ROOT / "tests" / "planted_at_random.json"
PATIENCE = 420  # seconds for one error
DRAWS = re.compile(r"\b(figures|explore|best_sigma|method_map|drawings)\.\w+\(")
GENERATED = {
    *("standard_normal", "normal", "uniform", "random", "integers", "dirichlet", "exponential"),
    *("choice", "default_rng", "spawn", "linspace", "geomspace", "logspace", "print", "Rational"),
}
EQUALITIES = {"allclose", "isclose", "array_equal", "array_equiv"}
TOLERANCES = {"rtol", "atol", "rel", "abs", "seed", "max_steps"}
MACHINERY = {"sweeps", "fast", "plots", "claims", "cli"}
ROUNDING = re.compile(r"\b(EPS|ROUNDING|MARGIN|TOLERATED|SHARE)\b|errstate|check\.")


class Drawn(NamedTuple):
    """One error: `old` becomes `new` at `begin` of a cell of `chapter`, or of `function`, which it cites."""

    operator: str
    chapter: str
    cell: int | None
    function: str | None
    begin: int
    old: str
    new: str

    def put_into(self, text: str) -> str:
        """The text with the error in it."""
        whole, old = text.encode(), self.old.encode()
        end = self.begin + len(old)
        if whole[self.begin : end] != old:
            raise ValueError(f"{self.old!r} is not at {self.begin} any more")
        return (whole[: self.begin] + self.new.encode() + whole[end:]).decode()


def nodes(node: ast.AST, inside: str = "") -> Iterator[tuple[ast.AST, str]]:
    """What may be changed below a node, with "assert" where it stands in one and "index" in a subscript."""
    match node:
        case (
            ast.JoinedStr()
            | ast.Raise()
            | ast.If(body=[ast.Raise()])
            | ast.Import()
            | ast.ImportFrom()
        ):
            return
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in GENERATED:
            return
        case ast.keyword(arg=name) if name in TOLERANCES:
            return
        case ast.Compare(ops=ops) if inside and not all(isinstance(op, ast.Eq) for op in ops):
            return
        case ast.stmt() if ROUNDING.search(ast.unparse(node)) and not hasattr(node, "body"):
            return
    yield node, inside
    match node:
        case ast.FunctionDef(body=body):
            below: list[ast.AST] = list(body)
        case ast.AnnAssign(value=ast.AST() as value):
            below = [value]
        case ast.Assert(test=test):
            below, inside = [test], "assert"
        case ast.Subscript(value=value, slice=within):
            yield from nodes(value, inside)
            below = [within]
        case _:
            below = list(ast.iter_child_nodes(node))
    for one in below:
        yield from nodes(one, inside)


def changes(node: ast.AST, inside: str) -> Iterator[tuple[str, ast.AST, ast.AST | str]]:
    """Operator, what it is applied to, and what that becomes."""
    lists = ast.List | ast.Tuple | ast.JoinedStr | ast.ListComp
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            words = (
                isinstance(one, ast.Constant) and isinstance(one.value, str)
                for one in ast.walk(node)
            )
            if not isinstance(a, lists) and not isinstance(b, lists) and not any(words):
                new = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                yield "sign", node, ast.BinOp(a, new, b)
        case ast.UnaryOp(op=ast.USub(), operand=a) if not isinstance(a, ast.Constant):
            yield "sign", node, a
        case ast.AugAssign(target=a, op=ast.Add() | ast.Sub() as op, value=b):
            if not isinstance(b, lists):
                new = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                yield "sign", node, ast.unparse(ast.AugAssign(a, new, b))
        case ast.Attribute(value=a, attr="T"):
            yield "transpose", node, a
        case ast.Subscript(slice=within):
            for one in ast.walk(within):
                match one:
                    case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(k))):
                        yield "index", one, str(-k - 1)
                    case ast.Constant(value=int(k)) if not isinstance(k, bool):
                        yield "index", one, str(k + 1)
        case ast.keyword(arg="axis", value=ast.Constant(value=0 | 1 as k)):
            yield "index", node.value, str(1 - k)
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            two = isinstance(b, ast.Constant) and b.value == 2
            more = ast.BinOp(a, ast.Pow(), ast.BinOp(b, ast.Add(), ast.Constant(1)))
            yield "power", node, a if two else more
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[a]):
            yield "power", node, a
        case ast.BinOp(left=a, op=ast.Mult() | ast.Div() as op, right=b):
            if not isinstance(a, lists) and not isinstance(b, lists):
                yield "factor", node, a
                if isinstance(op, ast.Mult):
                    yield "factor", node, b
        case ast.Call(func=ast.Attribute(attr="any" | "all") | ast.Name(id="any" | "all") as f):
            if not inside:
                old = ast.unparse(f)
                yield "any/all", f, old[:-3] + ("all" if old.endswith("any") else "any")


def sites(text: str, within: ast.AST) -> Iterator[tuple[str, int, str, str]]:
    """Operator, place in bytes, old and new text of every error that may be drawn below a node of the text."""
    lines = text.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:k])) for k in range(len(lines))]
    for node, inside in nodes(within):
        for operator, at, new in changes(node, inside):
            begin = starts[at.lineno - 1] + at.col_offset
            old = text.encode()[begin : starts[at.end_lineno - 1] + at.end_col_offset].decode()
            yield operator, begin, old, new if isinstance(new, str) else f"({ast.unparse(new)})"


@functools.cache
def functions() -> dict[str, tuple[Path, ast.FunctionDef, str]]:
    """The public functions and methods of gqlib whose name is used once, that one mutation can reach."""
    found: dict[str, list[tuple[Path, ast.FunctionDef, str]]] = {}
    for path in sorted((ROOT / "gqlib").rglob("*.py")):
        parts = path.relative_to(ROOT / "gqlib").with_suffix("").parts
        if parts[0] in MACHINERY or parts[-1][0] == "_":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        tops = [(one, one.name) for one in tree.body if isinstance(one, ast.FunctionDef)]
        tops += [
            (one, f"{owner.name}.{one.name}")
            for owner in tree.body if isinstance(owner, ast.ClassDef)
            for one in owner.body if isinstance(one, ast.FunctionDef)
        ]  # fmt: skip
        for node, name in tops:
            plain = {"property", "classmethod", "staticmethod", "cached_property"}
            if all(ast.unparse(one).split(".")[-1] in plain for one in node.decorator_list):
                found.setdefault(node.name, []).append((path, node, name))
    return {name: ones[0] for name, ones in found.items() if len(ones) == 1 and name[0] != "_"}


@functools.cache
def chapter_cells(chapter: str) -> list[str]:
    """The code cells of a chapter."""
    return planted.cells((ROOT / "book" / f"{chapter}.md").read_text("utf-8"))


@functools.cache
def imported(chapter: str) -> set[str]:
    """The names that a chapter imports from gqlib."""
    every = (node for cell in chapter_cells(chapter) for node in ast.walk(ast.parse(cell)))
    ours = (one for one in every if isinstance(one, ast.ImportFrom) and "gqlib" in str(one.module))
    return {alias.asname or alias.name for one in ours for alias in one.names}


def cited(chapter: str, source: str) -> set[str]:
    """The functions of gqlib that a cell names: imported, in an imported module, or methods."""
    found, ours = set(), imported(chapter)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) if name in ours:
                found.add(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in ours:
                found.add(name)
            case ast.Attribute(attr=name) if "." in functions().get(name, ("", "", ""))[2]:
                found.add(name)
    return found & functions().keys()


@functools.cache
def places(chapter: str, kind: str) -> list[Drawn]:
    """Every error that may be drawn in the cells of a chapter, or in the functions that these cite."""
    found, names = [], set()
    for number, source in enumerate(chapter_cells(chapter)):
        if DRAWS.search(source):
            continue
        names |= cited(chapter, source)
        found += [
            Drawn(operator, chapter, number, None, *rest)
            for operator, *rest in sites(source, ast.parse(source)) if kind == "cells"
        ]  # fmt: skip
    for name in sorted(names) if kind == "functions" else ():
        path, node, _ = functions()[name]
        text = path.read_text("utf-8")
        found += [Drawn(op, chapter, None, name, *rest) for op, *rest in sites(text, node)]
    return found


def draw(count: int, seed: int) -> list[Drawn]:
    """So many errors, no two of them at one place."""
    rng, found = random.Random(seed), []
    chapters = [
        path.stem for path in sorted((ROOT / "book").glob("*.md"))
        if "jupytext:" in path.read_text("utf-8")[:200]
    ]  # fmt: skip
    while len(found) < count:
        operator = OPERATORS[len(found) % len(OPERATORS)]
        kind, chapter = rng.choice(("cells", "functions")), rng.choice(chapters)
        open_to = [one for one in places(chapter, kind) if one.operator == operator]
        if open_to and (one := rng.choice(open_to)) not in found:
            found.append(one)
    return found


def implant(error: Drawn) -> None:
    """Give the function its code with the error, wherever it is already known."""
    path, _, name = functions()[error.function or ""]
    code = compile(error.put_into(path.read_text("utf-8")), str(path), "exec")
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    owner: Any = importlib.import_module(module)
    for part in name.split("."):
        owner = inspect.getattr_static(owner, part)
    owner = getattr(owner, "fget", None) or getattr(owner, "func", None) or owner
    owner = inspect.unwrap(getattr(owner, "__func__", owner))
    todo: list[types.CodeType] = [code]
    while todo:
        one = todo.pop()
        if one.co_qualname == name:
            owner.__code__ = one
            return
        todo += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    raise ValueError(f"{name} is not in {path.name}")


def needed(cells: list[str], wanted: set[int]) -> set[int]:
    """These cells and all whose names they need."""
    flow, needs = [follow.taken_and_given(cell) for cell in cells], set(wanted)
    for at in sorted(range(len(cells)), reverse=True):
        later = set().union(*(flow[k][0] for k in needs if k > at)) if needs else set()
        if flow[at][1] & later:
            needs.add(at)
    return needs


def run(cells: list[str], names: dict[str, Any], order: list[int]) -> tuple[int, str] | None:
    """The first cell that fails, and by what."""
    for number in order:
        try:
            exec(compile(cells[number], f"cell {number}", "exec"), names)
        except BaseException as error:
            return number, type(error).__name__
    return None


def in_chapter(error: Drawn, *, whole: bool = False) -> str | None:
    """The cell that notices, if one does; a failure that comes without the error as well is none."""
    cells = chapter_cells(error.chapter)
    if error.cell is not None:
        changed = {error.cell: error.put_into(cells[error.cell])}
    else:
        naming = re.compile(rf"\b{error.function}\b")
        renamed = (
            (k, naming.sub("_", cell))
            for k, cell in enumerate(cells)
            if error.function in cited(error.chapter, cell)
        )
        changed = dict(renamed)
    reached = set(changed) | set(follow.following(cells, changed))
    order = sorted(range(len(cells)) if whole else needed(cells, reached))
    first = min(changed)
    names: dict[str, Any] = {"__name__": "__main__"}
    before, after = [k for k in order if k < first], [k for k in order if k >= first]
    if failed := run(cells, names, before):
        raise RuntimeError(f"{error.chapter} fails without the error: {failed}")
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        if error.cell is not None:
            cells = [changed.get(k, cell) for k, cell in enumerate(cells)]
        else:
            implant(error)
        os.write(write, json.dumps(run(cells, names, after)).encode())
        os._exit(0)
    os.close(write)
    told = json.loads(os.read(read, 1000) or b"null")
    os.waitpid(child, 0)
    if told is None:
        return None
    if failed := run(cells, names, [k for k in after if k <= told[0]]):
        raise RuntimeError(f"{error.chapter} fails without the error: {failed}")
    return f"cell {told[0]}, {told[1]}"


def in_tests(error: Drawn) -> str | None:
    """The quick test that notices, if one does."""
    import pytest

    path, *_ = functions()[error.function or ""]
    module = path.relative_to(ROOT / "gqlib").with_suffix("").as_posix()
    files = [str(ROOT / name) for name in mutants.named(module)]
    if not files:
        return None
    implant(error)

    class Told:
        """What failed first."""

        name: str | None = None

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and self.name is None:
                self.name = report.nodeid

    told = Told()
    pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", *files], [told])
    return told.name


def trial(error: Drawn, *ways: str) -> str | None:
    """What notices the error, each way in a process of its own."""
    for way in ways:
        try:
            done = subprocess.run(
                [sys.executable, __file__, way, json.dumps(error)], cwd=ROOT / "book" if way != "tests" else ROOT,
                env=os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": f"{ROOT}"},
                capture_output=True, text=True, check=False, timeout=PATIENCE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{way}: out of time"
        if (told := re.search(r"^NOTICED (.*)$", done.stdout, re.MULTILINE)) is None:
            return f"{way}: no verdict: {done.stderr[-300:]}"
        if told[1] != "None":
            return told[1]
    return None


def report(count: int, seed: int) -> int:
    """Try the errors and renew the record if it is of this seed; 1 if more than one in twenty is not noticed."""
    record = json.loads(RECORD.read_text("utf-8"))
    before = record["errors"]
    reasons = {(*row[:4],): row[5] for row in before if len(row) > 5}
    rows = []
    for error in draw(count, seed):
        ways = ("chapter", "tests", "whole") if error.function else ("chapter", "whole")
        place = f"{error.chapter}: {error.function or f'cell {error.cell}'}"
        row = [error.operator, place, error.old, error.new, trial(error, *ways)]
        rows.append(row + [reasons.get((*row[:4],), "?")] * (row[4] is None))
        print(*rows[-1], sep=" | ", flush=True)
    if (count, seed) == (len(before), record["seed"]):
        write(seed, rows)
    noticed = sum(row[4] is not None for row in rows)
    print(f"{noticed} of {count} drawn errors noticed")
    return int(noticed < 0.95 * count)


def write(seed: int, rows: list[list[Any]]) -> None:
    """Operator, place, old, new, what notices it, and the reason where nothing does: one line for each."""
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    RECORD.write_text(f'{{"seed": {seed}, "errors": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Try one error; tools/planted.py --drawn calls this."
    )
    parser.add_argument("way", choices=("tests", "chapter", "whole"))
    parser.add_argument("error", type=lambda given: Drawn(*json.loads(given)), help="as JSON")
    given = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    found = (
        in_tests(given.error)
        if given.way == "tests"
        else in_chapter(given.error, whole=given.way == "whole")
    )
    print(f"\nNOTICED {found}")
