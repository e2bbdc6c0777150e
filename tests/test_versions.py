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
