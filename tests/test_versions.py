"""A version is that of the code that runs: whatever is edited, loaded again, killed or damaged, no old number answers."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from strategies import few

from gqlib.sweeps.names import SweepError
from gqlib.sweeps.own import own_study
from gqlib.sweeps.results import collect
from gqlib.sweeps.store import Store, StoreError
from gqlib.sweeps.sweep import run_sweep
from gqlib.sweeps.versions import version_of

SUBJECT = """
import own_helper
from own_helper import shift

SCALE = {scale}

def walk(rng, a, times={times}):
    return {{"x": a * {factor} + SCALE * own_helper.add(a) + times * shift(a)}}
"""
HELPER = """
OFFSET = {offset}

def add(a):
    return a + OFFSET

def shift(a):
    return {shift} - a
"""
FIRST = {"scale": 1, "times": 1, "factor": 1, "offset": 1, "shift": 1}
POINTS = [1.0, 10.0]


class Files:
    """Two modules of a user's own, and a model of what their files say and of what is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.edits = folder, 0
        self.file = dict(FIRST)
        self.write()
        self.loaded, self.bound = (
            dict(FIRST),
            FIRST["shift"],
        )  # which `from own_helper import shift` took
        self.subject = importlib.import_module("own_subject")
        self.helper = sys.modules["own_helper"]

    def write(self) -> None:
        self.edits += 1
        for name, text in (("own_subject", SUBJECT), ("own_helper", HELPER)):
            path = self.folder / f"{name}.py"
            path.write_text(text.format(**self.file))
            os.utime(
                path, (self.edits, self.edits)
            )  # Python takes a file of the same age for the same

    def edit(self, what: str, value: int) -> None:
        self.file[what] = value
        self.write()

    def reload(self, helper: bool) -> None:
        importlib.reload(self.helper if helper else self.subject)
        names = ("offset", "shift") if helper else ("scale", "times", "factor")
        self.loaded = self.loaded | {name: self.file[name] for name in names}
        if not helper:
            self.bound = self.loaded["shift"]

    @property
    def current(self) -> bool:
        return self.loaded == self.file and self.bound == self.file["shift"]

    def expected(self, a: float) -> float:
        """What the code that is loaded computes, said once more."""
        scale, times, factor, offset, _ = self.loaded.values()
        return a * factor + scale * (a + offset) + times * (self.bound - a)


@contextmanager
def loaded() -> Iterator[Files]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]))
        try:
            yield Files(Path(folder))
        finally:
            for name in ("own_subject", "own_helper"):
                sys.modules.pop(name, None)


class Killed(BaseException):
    pass


class Dying(Store):
    """A store whose process ends while it writes its second file."""

    written = 0

    def put(self, name: str, header: Any, arrays: Any) -> None:
        self.written += 1
        if self.written == 2:
            (self.directory / f".partial-{name}").write_bytes(b"PK")
            raise Killed
        super().put(name, header, arrays)


class Editing(RuleBasedStateMachine):
    """Sweep, kill, damage, edit, load again, resume, collect: a number is that of the loaded code, or there is none."""

    workers = 1

    def __init__(self) -> None:
        super().__init__()
        self.context = loaded()
        self.files = self.context.__enter__()
        self.store = self.files.folder / "store"
        self.study: Any = None
        self.made: Any = None
        self.answer()

    def teardown(self) -> None:
        self.context.__exit__(None, None, None)

    @rule(what=st.sampled_from(sorted(FIRST)), value=st.integers(1, 3), then=st.booleans())
    def edit(self, what: str, value: int, then: bool) -> None:
        self.files.edit(what, value)
        if then:
            self.answer()

    @rule(which=st.sampled_from([[True], [False], [True, False]]), then=st.booleans())
    def reload(self, which: list[bool], then: bool) -> None:
        for helper in which:
            self.files.reload(helper)
        if then:
            self.answer()

    @rule()
    def take(self) -> None:
        """`from own_subject import walk`: it stays what it was when the module is loaded again."""
        self.walk = self.files.subject.walk

    @rule()
    def make(self) -> None:
        try:
            self.study = own_study(self.walk, {"a": POINTS}, runs=2, seed=0)
        except ValueError:
            assert not self.files.current or self.walk is not self.files.subject.walk
        else:
            self.made = self.now

    @rule(killed=st.booleans())
    def sweep(self, killed: bool) -> None:
        store = Dying(self.store) if killed else Store(self.store)
        try:
            run_sweep(self.study, store, workers=self.workers, progress=False)
        except Killed:
            pass
        except (SweepError, ValueError):
            self.refused()

    @rule(which=st.integers(0, 7), place=st.integers(0, 400))
    def damage(self, which: int, place: int) -> None:
        paths = sorted(self.store.glob("*.npz"))
        if paths:
            path = paths[which % len(paths)]
            data = bytearray(path.read_bytes())
            data[place % len(data)] ^= 1
            path.write_bytes(data)

    @invariant()
    def collect(self) -> None:
        try:
            found = collect(self.study, Store(self.store))["x"].values
        except (SweepError, StoreError, ValueError):
            return
        assert found.tolist() == [[self.files.expected(a)] * 2 for a in POINTS]

    @rule()
    def answer(self) -> None:
        """What a user does: all of it, in one go."""
        self.take()
        self.make()
        self.sweep(False)
        self.collect()

    @property
    def now(self) -> Any:
        return self.walk, self.files.loaded, self.files.bound

    def refused(self) -> None:
        alike = self.made[0] is self.files.subject.walk and self.made == self.now
        assert not (self.files.current and alike), "refused for nothing"


@pytest.mark.parametrize(
    ("examples", "steps"), [(60, 15), pytest.param(600, 40, marks=pytest.mark.thorough)]
)
def test_no_number_is_of_other_code_than_is_loaded(examples: int, steps: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        run_state_machine_as_test(
            Editing, settings=settings(few(examples), stateful_step_count=steps)
        )


def cell(*texts: str) -> dict[str, Any]:
    """What a notebook has after these cells."""
    names: dict[str, Any] = {"__name__": "cell", "np": np}
    for text in texts:
        exec(compile(text, "<cell>", "exec", dont_inherit=True), names)
    return names


IN_A_CELL = {
    "code": "def f(rng): return 3 + {v}",
    "inner code": "def f(rng): return [x + {v} for x in (lambda: [1])()]",
    "constant": "K = {v}\ndef f(rng): return K",
    "long number": "K = 10**5000 + {v}\ndef f(rng): return K",
    "default": "def f(rng, k=3.{v}): return k",
    "keyword": "def f(rng, *, k=b'{v}'): return k",
    "helper's helper": "def h(): return {v}\ndef g(): return h()\ndef f(rng): return g()",
    "recursion": "def g(n): return f(n) + {v}\ndef f(rng): return g(rng)",
    "closure": "def made(k):\n  return lambda rng: k\nf = made({v})",
    "attribute of a function": "def f(rng): return f.k\nf.k = {v}",
    "wrapped": "import functools\ndef add(k):\n  def deco(g):\n    @functools.wraps(g)\n    def inner(*a):"
    " return g(*a) + k\n    return inner\n  return deco\n@add({v})\ndef f(rng): return 1",
    "kept": "import functools\n@functools.lru_cache\ndef g(): return {v}\ndef f(rng): return g()",
    "context": "import contextlib\n@contextlib.contextmanager\ndef g(): yield {v}\ndef f(rng):\n  with g() as k: return k",
    "partial": "import functools\ng = functools.partial(max, {v})\ndef f(rng): return g(0)",
    "function in a table": "T = dict(a=lambda: {v})\ndef f(rng, m): return T[m]()",
    "list": "K = [[1, {v}]]\nK.append(K)\ndef f(rng): return K",
    "set": "K = {{1, 'a', ({v},)}}\ndef f(rng): return K",
    "order": "K = dict(sorted(dict(a=1, b=2).items(), reverse={v} > 1))\ndef f(rng): return list(K)",
    "array": "K = np.arange(3) * {v}\ndef f(rng): return K",
    "shape": "K = np.zeros(({v}, 2 // {v}))\ndef f(rng): return K",
    "objects": "K = np.array([{v}, None])\ndef f(rng): return K",
    "scalar": "K = np.float32({v})\ndef f(rng): return K",
    "minus zero": "K = 0.0 if {v} > 1 else -0.0\ndef f(rng): return K",
    "kind of number": "K = 1 if {v} > 1 else True\ndef f(rng): return K",
    "ufunc": "K = (np.add, np.multiply)[{v} - 1]\ndef f(rng): return K(1, 2)",
    "builtin": "K = (min, max)[{v} - 1]\ndef f(rng): return K(1, 2)",
    "method": "class A:\n  def k(self): return {v}\ndef f(rng): return A().k()",
    "inherited": "class B:\n  k = {v}\nclass A(B): pass\ndef f(rng): return A.k",
    "static": "class A:\n  @staticmethod\n  def k(): return {v}\ndef f(rng): return A.k()",
    "property": "class A:\n  @property\n  def k(self): return {v}\na = A()\ndef f(rng): return a.k",
    "slot": "class A:\n  __slots__ = ('k',)\na = A()\na.k = {v}\ndef f(rng): return a.k",
    "dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n  k: int = {v}"
    "\ndef f(rng): return A().k",
    "field": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n  k: int\na = A({v})"
    "\ndef f(rng): return a.k",
    "made class": "from dataclasses import make_dataclass\nA = make_dataclass('A', ['ab'[{v} - 1]])"
    "\ndef f(rng): return A(1)",
    "enum": "import enum\nclass E(enum.Enum):\n  A = {v}\ndef f(rng): return E.A.value",
    "tuple with names": "from typing import NamedTuple\nclass A(NamedTuple):\n  k: int\na = A({v})\ndef f(rng): return a",
    "bound": "class A:\n  def __init__(self, k): self.k = k\n  def __call__(self): return self.k\ng = A({v}).__call__"
    "\ndef f(rng): return g()",
    "compiled": "from numba import njit\n@njit\ndef g(): return {v}\n@njit\ndef h(): return g()\ndef f(rng): return h()",
    "compiler's option": "from numba import njit\n@njit(fastmath={v} > 1)\ndef g(x): return x\ndef f(rng): return g(1.0)",
    "vectorized": "from numba import vectorize\n@vectorize\ndef g(x): return x + {v}\ndef f(rng): return g(1.0)",
}  # fmt: skip
ELSEWHERE = {
    "attribute": "import own_part\ndef f(rng): return own_part.g()",
    "name": "from own_part import g\ndef f(rng): return g()",
    "inside": "def f(rng):\n  import own_part as part\n  return part.g()",
    "name inside": "def f(rng):\n  from own_part import g\n  return g()",
    "by text": "import own_part\ndef f(rng, name='g'): return getattr(own_part, name)()",
    "handed on": "import own_part\ndef pick(m): return m.g\ndef f(rng): return pick(own_part)()",
    "in a package": "import own_package.inner\ndef f(rng): return own_package.inner.g()",
    "inside a package": "def f(rng):\n  from own_package import inner\n  return inner.g()",
    "on demand": "import own_lazy\ndef f(rng): return own_lazy.g()",
}


@pytest.mark.parametrize("name", IN_A_CELL)
def test_what_a_cell_says_is_in_the_version(name: str) -> None:
    """Three notebooks with the values 1, 2 and 1: the first and the last have the same version."""
    found = [version_of(cell(IN_A_CELL[name].format(v=v))["f"], "f") for v in (1, 2, 1)]
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_a_module_says_is_in_the_version(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "__init__.py").touch()
    (tmp_path / "own_lazy.py").write_text(
        "def __getattr__(name):\n  import own_part\n  return own_part.g\n"
    )
    found = []
    for v in (1, 2, 1):
        for path in ("own_part.py", "own_package/inner.py"):
            (tmp_path / path).write_text(f"K = {v}\ndef g(): return K\n")
        for module in ("own_part", "own_package", "own_package.inner", "own_lazy"):
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        found.append(version_of(cell(ELSEWHERE[name])["f"]))
    assert found[0] == found[2] != found[1]


def test_what_a_function_does_not_use_is_not_in_its_version() -> None:
    text = "def f(rng): return g(rng.plot)\ndef g(x): return x"
    plain = version_of(cell(text)["f"])
    others = ["plot = open", "class A: pass", "# a comment", "result = np.zeros(3)"]
    assert version_of(cell(*others, "\n\n" + text)["f"]) == plain
    found = cell("from scipy.stats import norm", "def f(rng): return norm.ppf(0.5)")
    assert found["f"](0) == 0.0
    first = version_of(found["f"])
    found["norm"].random_state = 3  # an installed module's own is known by its name
    assert version_of(found["f"]) == first


def test_a_property_that_was_computed_is_no_change() -> None:
    names = cell(
        "import functools",
        "class A:\n  @functools.cached_property\n  def k(self): return 3",
        "a = A()\ndef f(rng): return a.k",
    )
    before = version_of(names["f"])
    assert names["f"](0) == 3
    assert version_of(names["f"]) == before
    names["a"].other = 3
    assert version_of(names["f"]) != before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import threading\nL = threading.Lock()\ndef f(rng): return L", "L, which f uses, is <unlocked"),
        ("def f(rng): return eval('1')", "eval, which f uses, is eval"),
        ("def f(rng): return globals()['x']", "globals, which f uses, is globals"),
        ("import importlib\ndef f(rng): return importlib.import_module('x')", "is import_module"),
        ("K = (i for i in 'ab')\ndef g(): return K\ndef f(rng): return g()", "K, which g, which f uses, uses, is"),
        ("f = max", "f has no code in Python"),
    ],
)  # fmt: skip
def test_what_no_version_can_be_made_of_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"no version can be made: .*{message}"):
        version_of(cell(text)["f"], "f")


def test_what_numba_froze_is_refused_once_it_changed() -> None:
    names = cell(
        "from numba import njit\nK = 1\n@njit\ndef g(): return K", "def f(rng): return g()"
    )
    version_of(names["f"])
    assert names["f"](0) == 1
    names["K"] = 2
    assert names["f"](0) == 1  # the compiled code has the old one
    with pytest.raises(ValueError, match="g, which f uses, was compiled before"):
        version_of(names["f"])
