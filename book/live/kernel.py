"""The Python side of a page that runs its own cells: what a notebook's kernel does, in a few functions.

`worker.js` runs this file in Pyodide and calls `needs`, `run` and `check`. Outputs leave as JSON through `send`, in the
forms that a notebook file has, so that they can be compared with the record of the chapter.
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import os
import sys
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

ROOT = "/gq"  # laid out like a checkout: gqlib, book, results
NEEDS = f"{ROOT}/needs.json"  # which groups of files a module needs, by its name
FORMS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
}
# What a page cannot have, and why: a cell that imports it says so, and the chapter goes on without it.
CANNOT = {
    "distributed": "it starts a cluster, with threads and connections of its own, and a page has neither",
}
drawn = 0  # figures so far: each gets names of its own for what its SVG refers to


def post(text: str) -> None:
    """Hand a text to the page; `worker.js` puts its own function here."""
    raise NotImplementedError


def send(output: dict[str, Any]) -> None:
    """Hand an output to the page, as JSON."""
    post(json.dumps(output))


class Stream:
    """Standard output or error of a cell: what is printed goes to the page line by line.

    A loop that prints without end must not drown the page, so many lines go together, and at some point no more go.
    """

    encoding = "utf-8"
    alone, together, most = (
        100,
        0.1,
        200_000,
    )  # lines that go at once, then seconds between messages; characters in all

    def __init__(self, name: str) -> None:
        self.name, self.waiting = name, ""
        self.begin()

    def begin(self) -> None:
        """A new cell."""
        self.lines, self.sent, self.last = 0, 0, 0.0

    def write(self, text: str) -> int:
        """Keep the text until its line is complete."""
        self.waiting += text
        self.lines += text.count("\n")
        if "\n" in self.waiting and (
            self.lines <= self.alone or time.monotonic() - self.last > self.together
        ):
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what is waiting, as far as there is room."""
        text, self.waiting, self.last = self.waiting, "", time.monotonic()
        room = self.most - self.sent
        self.sent += len(text)
        if len(text) > room >= 0:
            text = f"{text[:room]}\n… more than {self.most:,} characters: the rest is not shown\n"
        if text and room >= 0:
            send({"output_type": "stream", "name": self.name, "text": text})

    def isatty(self) -> bool:
        """Nobody types here."""
        return False


OUT, ERR = Stream("stdout"), Stream("stderr")


def bundle(value: Any) -> dict[str, str]:
    """A value in every form it offers, as IPython shows it."""
    from gq_pretty import pretty

    forms = {"text/plain": pretty(value)}
    for form, name in FORMS.items():
        method = getattr(value, name, None)
        made = method() if method is not None and not isinstance(value, type) else None
        if isinstance(made, str):
            forms[form] = made
    if hasattr(value, "_repr_mimebundle_") and not isinstance(value, type):
        forms |= value._repr_mimebundle_(include=None, exclude=None)
    return forms


def flush() -> None:
    """Send what was printed and waits for the end of its line."""
    for stream in (OUT, ERR):
        stream.flush()


def display(
    *values: Any, raw: bool = False, metadata: dict[str, Any] | None = None, **_: Any
) -> None:
    """In the place of IPython's function of this name."""
    for value in values:
        emit("display_data", dict(value) if raw else bundle(value))


def emit(kind: str, forms: dict[str, str]) -> None:
    """Send a value or a figure; a figure is dressed in the colours of the page."""
    global drawn
    flush()
    output: dict[str, Any] = {"output_type": kind, "data": forms}
    if "image/svg+xml" in forms:
        from kit.themed import inline

        drawn += 1
        output["html"] = inline(
            forms["image/svg+xml"], f"live{drawn}-", forms.get("text/plain", "figure")
        )
    send(output)


class Text:
    """A text that is shown as what it is: HTML, Markdown, LaTeX or SVG."""

    method = ""

    def __init__(self, data: str) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<IPython.core.display.{type(self).__name__} object>"


def _text(name: str, form: str) -> type:
    return type(name, (Text,), {FORMS[form]: lambda self: self.data})


class Shell:
    """What libraries ask of IPython's shell: nothing but that it is there, and takes drawings as they are."""

    draws_svg = True
    events = types.SimpleNamespace(register=lambda *_: None, unregister=lambda *_: None)


def without_processes() -> types.ModuleType:
    """What libraries import that could start processes; it is there, and says no when it is used."""

    class SemLock:
        SEM_VALUE_MAX = 1

        def __init__(self, *_: Any) -> None:
            raise OSError("a page has one process, and no locks between several")

    stub = types.ModuleType("_multiprocessing")
    stub.SemLock, stub.sem_unlink, stub.flags = SemLock, lambda name: None, {}
    return stub


def without_compiler() -> types.ModuleType:
    """In the place of Numba: what a cell would compile runs as it is written."""

    def njit(function: Any = None, **options: Any) -> Any:
        from gqlib.fast._jit import plain_njit

        return plain_njit(**options) if function is None else plain_njit(**options)(function)

    stub = types.ModuleType("numba")
    stub.njit = njit
    return stub


def install() -> None:
    """Set up what a cell expects: a module of its own, the folder of the book, and IPython's few names."""
    os.environ.update(MPLBACKEND="agg", GQLIB_NO_NUMBA="1")
    sys.path[:0] = [f"{ROOT}/book", ROOT, f"{ROOT}/extra"]
    os.chdir(f"{ROOT}/book")
    shell = Shell()
    package = types.ModuleType("IPython")
    package.__path__ = []
    package.get_ipython, package.version_info = lambda: shell, (9, 0, 0)
    shown = types.ModuleType("IPython.display")
    shown.display = display
    for name, form in {"HTML": "text/html", "Markdown": "text/markdown", "Latex": "text/latex",
                       "Math": "text/latex", "SVG": "image/svg+xml"}.items():  # fmt: skip
        setattr(shown, name, _text(name, form))
    package.display = shown
    sys.modules["IPython"], sys.modules["IPython.display"] = package, shown
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules.setdefault("_multiprocessing", without_processes())
    sys.modules.setdefault("numba", without_compiler())
    warnings.filterwarnings("ignore", message="tqdm:disabling monitor")  # it would need a thread


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that code may import; where ``from`` takes names, either kind of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def groups(source: str, known: dict[str, list[str]]) -> list[str]:
    """The groups of files that a cell needs, if `known` has those of each module; none where it cannot be read."""
    found: set[str] = set()
    for name in readable(source):
        while (
            name and name not in known
        ):  # a name in a module, or a module in a package from outside
            name = name.rpartition(".")[0]
        found.update(known.get(name, []))
    return sorted(found)


def readable(source: str) -> list[str]:
    """The modules that a cell may import; none where it cannot be read."""
    try:
        return list(imported(ast.parse(source)))
    except SyntaxError:
        return []


def cannot(source: str) -> str | None:
    """Why a cell cannot run in a page, if so."""
    for name in readable(source):
        package = name.partition(".")[0]
        if package in CANNOT:
            return f"it imports {package}: {CANNOT[package]}"
    return None


def needs(source: str) -> str:
    """The groups of files that a cell needs, as JSON."""
    with open(NEEDS, encoding="utf-8") as file:
        return json.dumps(groups(source, json.load(file)))


def begin() -> None:
    """A new cell: what the one before printed no longer counts."""
    for stream in (OUT, ERR):
        stream.begin()


def execute(source: str, name: str, space: dict[str, Any], *, show: bool = True) -> None:
    """Run code as a notebook does: the value of an expression at the end is displayed."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if show and tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(OUT), redirect_stderr(ERR):
        exec(compile(tree, name, "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), space)
            if value is not None:
                emit("execute_result", bundle(value))


def failure(error: BaseException, name: str) -> dict[str, Any]:
    """What went wrong, and in which line of the cell."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__
    ]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == name else None
    own = [frame.lineno for frame in frames if frame.filename == name]
    told = [*traceback.format_list(frames), *traceback.format_exception_only(error)]
    return {
        "output_type": "error",
        "ename": type(error).__name__,
        "evalue": str(error),
        "line": line or (own[-1] if own else None),
        "traceback": "".join(told),
    }


def run(source: str, name: str) -> bool:
    """Run a cell; whether it went well."""
    begin()
    try:
        execute(source, name, vars(sys.modules["__main__"]))
    except BaseException as error:
        flush()
        send(failure(error, name))
        return False
    flush()
    return True


def assigned(node: ast.stmt) -> set[str]:
    """The names that a statement of a cell defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.For):
        return set()  # its name is another one in every round
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    found = (one for target in targets if target is not None for one in ast.walk(target))
    return {one.id for one in found if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def used(node: ast.AST) -> set[str]:
    """The names that code reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def asked(solution: str) -> str:
    """The names that a reader's answer should define: those that the solution defines and its asserts read, as JSON."""
    tree = ast.parse(solution)
    defined = [name for node in tree.body for name in sorted(assigned(node))]
    tested = {
        name for node in ast.walk(tree) if isinstance(node, ast.Assert) for name in used(node)
    }
    return json.dumps([name for name in dict.fromkeys(defined) if name in tested])


class Applied(ast.NodeTransformer):
    """A solution whose asserts read the answer's values: of each name in `given`, the one under another name."""

    prefix = "__answer_"

    def __init__(self, given: list[str]) -> None:
        self.given = given

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Put the answer's names in; `printed` is the assert as it is in the book, for the verdict."""
        printed = ast.unparse(node)
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in self.given:
                one.id = self.prefix + one.id
        node.msg = ast.copy_location(ast.Constant(printed), node)
        return node


def check(answer: str, solution: str, name: str) -> str:
    """Run an answer in a copy of the chapter's names, then the solution in another, with the answer in its asserts.

    The solution computes everything for itself, so that nothing of it gets into the answer; only where an assert reads
    a name that the answer has defined too, it reads the answer's. What the solution prints is not shown, unless there
    is nothing to assert: then it stands below what the answer printed, for comparison. The verdict, as JSON, says which
    names of the answer were tested and what failed.
    """
    begin()
    before, wanted = dict(vars(sys.modules["__main__"])), json.loads(asked(solution))
    space = dict(before)
    try:
        execute(answer, name, space)
    except BaseException as error:
        flush()
        send(failure(error, name))
        return json.dumps({"verdict": "error"})
    flush()
    if not wanted:
        execute(solution, "<solution>", dict(before))
        flush()
        return json.dumps({"verdict": "compare"})
    given = [
        one
        for one in wanted
        if one in space and (one not in before or before[one] is not space[one])
    ]
    if not given:
        return json.dumps({"verdict": "missing", "wanted": wanted})
    tree = ast.fix_missing_locations(Applied(given).visit(ast.parse(solution)))
    space = before | {Applied.prefix + one: space[one] for one in given}
    try:
        with redirect_stdout(io.StringIO()):
            exec(compile(tree, "<solution>", "exec"), space)
    except AssertionError as error:
        return json.dumps({"verdict": "wrong", "given": given, "failed": str(error)})
    except Exception as error:
        return json.dumps(
            {"verdict": "unfit", "given": given, "failed": f"{type(error).__name__}: {error}"}
        )
    return json.dumps(
        {"verdict": "right", "given": given, "left": [one for one in wanted if one not in given]}
    )
