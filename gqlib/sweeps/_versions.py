"""The version of a user's own function: a digest of the code that runs, and of everything of the user's that it uses.

Results are kept under the version of what computed them, so the version must follow what is *loaded*, not what a file
says by now. `version_of` goes through the loaded function: its code, defaults and closure, the globals that the code
names, and so on through functions, classes, objects and modules of the user's own. Installed packages, the standard
library and gqlib count by name alone; files that are read, and whatever else a run finds outside of Python, not at all.

Where a file no longer says what is loaded (the code of a function, or a constant), that is refused: workers would import
something else. Whatever else stands at the top of a file is compared with what was there when it was first looked at.
"""

from __future__ import annotations

import builtins
import contextlib
import copyreg
import dis
import hashlib
import os
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module, util
from inspect import CO_OPTIMIZED
from itertools import chain, pairwise, takewhile
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from gqlib import _validate as check
from gqlib.sweeps.names import SweepError, look_up

_MADE = re.compile(r"code-[0-9a-f]{16}")  # other versions are a user's own, and theirs to change
_GIVE = "or give a version of your own"
_PLAIN = {type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented)}
_PARTS: dict[
    type, Callable[[Any], Any]
] = {  # what is within something, for what `pickle` does not know
    list: tuple,
    dict: lambda value: tuple(value.items()),
    MappingProxyType: lambda value: tuple(value.items()),
    np.ndarray: lambda value: (value.shape, value.tolist()),  # of objects
    property: lambda value: (value.fget, value.fset, value.fdel),
    staticmethod: lambda value: value.__func__,
    classmethod: lambda value: value.__func__,
    cached_property: lambda value: value.func,
    MemberDescriptorType: lambda value: value.__name__,
    GetSetDescriptorType: lambda value: value.__name__,
}
_HEAP = 1 << 9  # of a class that Python code made
_UNSEEN = (eval, exec, globals, __import__, import_module)  # what they reach cannot be told
_INSTALLED = {"site-packages", "dist-packages"}
_ROOTS = tuple(
    os.path.realpath(root) + os.sep
    for root in (
        os.path.dirname(os.__file__),
        sysconfig.get_path("platstdlib"),
        os.path.dirname(os.path.dirname(__file__)),
    )
)
# Of a class: what says nothing of what it computes, or follows from the rest.
_ABOUT = {
    "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dict__",
    "__doc__", "__firstlineno__", "__module__", "__orig_bases__", "__parameters__", "__static_attributes__",
    "__weakref__", "_abc_impl",
}  # fmt: skip
_FIRST: dict[int, Any] = {}  # by what loaded it, a file as it was when it was first found to fit
_COMPILED: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # and what Numba may have frozen


def version_of(function: Callable[..., Any], name: str = "", *, compare: bool = True) -> str:
    """Return the version of a function: another one whenever its code, or anything of the user's that it uses, is.

    Parameters
    ----------
    function : callable
    name : str
        What messages call it.
    compare : bool
        Whether to refuse what its file no longer says.

    Raises
    ------
    ValueError
        If the file of something that it uses says something else than what is loaded, or if it uses what no version
        can be made of: a lock, an open file, `eval`.

    Examples
    --------
    >>> def twice(x):
    ...     return x + x
    >>> def thrice(x):
    ...     return x + twice(x)
    >>> before = version_of(thrice)
    >>> def twice(x):
    ...     return x * 2
    >>> len(before), version_of(thrice) == before
    (21, False)
    """
    name = name or getattr(function, "__qualname__", repr(function))
    reach = _Reach(compare, getattr(getattr(function, "py_func", function), "__globals__", None))
    digest = reach.digest(function, name)
    if not reach.functions:
        _refuse(name, "has no code in Python")
    for file in reach.files.values():
        _FIRST.setdefault(id(file[3]), file)
    return f"code-{digest[:16]}"


def confirm(version: str, names: Iterable[str], *, compare: bool = True) -> None:
    """Refuse a version that `version_of` made of other code than what is loaded as ``"module:function"`` now.

    Examples
    --------
    >>> confirm("mine", ["gqlib.sweeps.own:coin"])
    >>> confirm("code-0123456789abcdef", ["gqlib.sweeps.own:coin"])
    Traceback (most recent call last):
    gqlib.sweeps.names.SweepError: gqlib.sweeps.own:coin is not what the study was made of: it, or something that it \
uses, was changed, by an edit or by its own runs; make the study again (where only workers say so, restart them), or \
give a version of your own
    """
    for name in names if _MADE.fullmatch(version) else ():
        if version_of(look_up("runner", name, allow=[name]), name, compare=compare) != version:
            raise SweepError(
                f"{name} is not what the study was made of: it, or something that it uses, was changed, by an edit "
                f"or by its own runs; make the study again (where only workers say so, restart them), {_GIVE}"
            )


# The functions of a file, its constants, all but its functions, and what loaded it.
_File = tuple[set[str], dict[str, Any], str, Any]


class _Reach:
    """Everything that a function uses: what can refer to itself is numbered in the order in which it is met."""

    def __init__(self, compare: bool, home: Any = None) -> None:
        self.compare, self.home, self.functions = compare, home, 0
        self.met: list[tuple[Any, str]] = []
        self.number: dict[int, int] = {}
        self.files: dict[str, _File] = {}

    def digest(self, value: Any, where: str) -> str:
        told = hashlib.sha256(self.told(value, where).encode())
        for thing, place in self.met:  # which grows on the way
            told.update(
                f"{_name(type(thing))} {self.told(self._within(thing, place), place)}".encode()
            )
        return told.hexdigest()

    def told(self, value: Any, where: str) -> str:
        """A value in words, or the number of what is described elsewhere."""
        kind = type(value)
        if kind in _PLAIN:  # a whole number can be of any length
            return f"{kind.__name__} {hex(value) if kind is int else repr(value)}"
        if kind is tuple:
            return f"({', '.join(self.told(one, where) for one in value)})"
        if kind in (set, frozenset):  # in an order that hashes do not decide
            return f"{kind.__name__} {sorted(self._alone(one, where) for one in value)}"
        if kind is np.ndarray and not value.dtype.hasobject:
            return (
                f"array {value.dtype!r} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
            )
        number = self.number.setdefault(id(value), len(self.met))
        if number == len(self.met):
            self.met.append((value, where))  # which keeps it alive, and its number its own
        return f"#{number}"

    def _alone(self, value: Any, where: str) -> str:
        return _Reach(self.compare, self.home).digest(value, where)

    def _within(self, value: Any, where: str) -> Any:
        """What makes something what it is."""
        held = getattr(value, "__dict__", {})
        if any(value is one for one in _UNSEEN):
            _refuse(where, f"is {value.__name__}, and what that reaches cannot be seen")
        if isinstance(value, FunctionType):
            return self._function(value, where)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, ModuleType):
            names = sorted(name for name in held if name[:2] != "__" or name == "__getattr__")
            return tuple(
                self._global(held, [name], where) for name in names if self._own(held)
            ) or _name(value)
        if type(value) in _PARTS:
            return _PARTS[type(value)](value)
        if "py_func" in held:
            self._check_frozen(value, where)
            return value.py_func, getattr(value, "targetoptions", None)
        return value.__wrapped__ if "__wrapped__" in held else self._reduced(value, where)

    def _function(self, function: FunctionType, where: str) -> Any:
        """Code, defaults, closure and globals of a function; of an installed one its name, if it is known by that."""
        code, names = function.__code__, function.__globals__
        own = self._own(names)
        if not own and not self._own(_home(function)) and _known(function):
            return _name(function)
        cells = tuple(
            NotImplemented if one == CellType() else one.cell_contents
            for one in function.__closure__ or ()
        )
        held = function.__defaults__, function.__kwdefaults__, cells, vars(function)
        if not own:
            return _name(function), held
        self.functions += 1
        codes, file = self._file(names)[0], names.get("__file__") or ""
        inside = os.path.basename(code.co_filename) == os.path.basename(file)
        if codes and inside and _words(code) not in codes:
            _stale(file, code.co_qualname)
        paths, imports = _uses(code)
        found = [self._global(names, path, where) for path in paths]
        for name, level, taken in imports:
            found += self._imported(
                "." * level + name, names.get("__package__"), taken or (), where
            )
        return _words(code), held, tuple(found)

    def _class(self, cls: type) -> Any:
        """Bases and members of a class; of an installed one its name."""
        if not cls.__flags__ & _HEAP or (not self._own(_home(cls)) and _known(cls)):
            return _name(cls)
        members = tuple((name, vars(cls)[name]) for name in sorted(vars(cls)) if name not in _ABOUT)
        return cls.__qualname__, type(cls), cls.__bases__, members

    def _global(self, names: Mapping[str, Any], path: Sequence[str], where: str) -> str:
        """What code means by ``name.attribute.attribute``, as far as that leads through modules of the user's own."""
        name, *rest = path
        if "__getattr__" in names and name not in names and name not in vars(builtins):
            name, rest = "__getattr__", []
        value = names.get(name, vars(builtins).get(name, NotImplemented))
        where = f"{name}, which {where} uses,"
        if rest and isinstance(value, ModuleType):
            if self._own(vars(value)):
                return self._global(vars(value), rest, where)
            if vars(value).get(rest[0]) is import_module:
                value = import_module
        constants = self._file(names)[1]
        known = name in names and name in constants
        if known and self._alone(value, where) != self._alone(constants[name], where):
            _stale(names["__file__"], name)
        return self.told(value, where)

    def _imported(self, name: str, package: Any, taken: Sequence[str], where: str) -> Iterator[str]:
        """Modules of the user's own that a function imports when it is called: they are imported now."""
        parts = util.resolve_name(name, package).split(".")
        for stop in range(len(parts) + len(taken)):
            last = taken[stop - len(parts) : stop - len(parts) + 1] if stop >= len(parts) else ()
            with contextlib.suppress(
                ImportError, ValueError
            ):  # such as what is taken and is no module
                whole = ".".join([*parts[: stop + 1], *last])
                spec = util.find_spec(whole)
                if spec and _users(whole, spec.origin):
                    yield self.told(import_module(whole), where)

    def _reduced(self, value: Any, where: str) -> Any:
        """What `pickle` would make an object of, without properties that were computed and kept.

        Of what an installed module made for all, such as `scipy.stats.norm`, its name.
        """
        home, reduce = _home(type(value)), copyreg.dispatch_table.get(type(value))
        known = [name for name, one in home.items() if one is value]
        if known and not self._own(home):
            return known[0]
        try:
            made = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception:
            _refuse(where, f"is {check.brief(value)}, which cannot be compared")
        if isinstance(made, str):
            if self._own(_home(value)):
                _refuse(where, f"is {check.brief(value)}, whose code cannot be read")
            return _name(value), made
        call, arguments, state, items, pairs = (*made, None, None, None)[:5]
        if isinstance(state, dict):
            kept = {
                one for one in state if isinstance(getattr(type(value), one, None), cached_property)
            }
            state = {name: one for name, one in state.items() if name not in kept} or None
        return call, arguments, state, list(items or ()), list(pairs or ())

    def _check_frozen(self, compiled: Any, where: str) -> None:
        """Refuse a function that Numba compiled before something that it uses changed: it runs with what was there."""
        now = _Reach(False, self.home).digest(compiled.py_func, where)
        if not getattr(compiled, "signatures", ()):
            _COMPILED[compiled] = now
        elif _COMPILED.setdefault(compiled, now) != now:
            _refuse(
                where,
                "was compiled before something that it uses changed: restart, or define it again",
            )

    def _own(self, names: Mapping[str, Any]) -> bool:
        return names is self.home or _users(names.get("__name__"), names.get("__file__"))

    def _file(self, names: Mapping[str, Any]) -> _File:
        """What the file of a module of the user's own says by now; nothing if there is none to be compared."""
        path, spec = names.get("__file__"), names.get("__spec__")
        loader = getattr(spec, "loader", None) or names.get("__loader__")
        if not self.compare or not path or not hasattr(loader, "source_to_code"):
            return set(), {}, "", None
        if path not in self.files:
            self.files[path] = found = _read(path, loader)
            if _FIRST.get(id(loader), found)[2] != found[2]:
                _stale(path, "its top")
        return self.files[path]


def _read(path: str, loader: Any) -> _File:
    """The functions in a file, the names that it binds to a constant and never again, and all but its functions."""
    try:
        code = loader.source_to_code(loader.get_data(path), path)
    except (OSError, SyntaxError, ValueError) as error:
        _refuse(path, f"cannot be read: {error}")
    changed = ("STORE_GLOBAL", "DELETE_GLOBAL")
    steps = [step for inner in _codes(code) for step in _steps(inner) if step.opname in changed]
    steps += [step for step in _steps(code) if step.opname in ("STORE_NAME", "DELETE_NAME")]
    bound = Counter(step.argval for step in steps)
    constants = {
        after.argval: before.argval
        for before, after in pairwise(_steps(code))
        if after.opname == "STORE_NAME" and bound[after.argval] == 1
        and before.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
    }  # fmt: skip
    return set(map(_words, _codes(code))), constants, _words(code, functions=False), loader


def _codes(code: CodeType) -> list[CodeType]:
    """A piece of code and all that is in it."""
    inner = [_codes(one) for one in code.co_consts if isinstance(one, CodeType)]
    return [code, *chain.from_iterable(inner)]


def _steps(code: CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


@lru_cache(maxsize=4096)
def _uses(code: CodeType) -> tuple[list[tuple[str, ...]], list[tuple[str, int, Any]]]:
    """Globals that code names, each with the attributes that it takes of it, and what it imports."""
    chains, imports = set(), set()
    for steps in map(_steps, _codes(code)):
        for at, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                imports.add((step.argval, steps[at - 2].argval, steps[at - 1].argval))
            elif "GLOBAL" in step.opname or step.opname == "LOAD_NAME":
                after = takewhile(
                    lambda one: one.opname in ("LOAD_ATTR", "LOAD_METHOD"), steps[at + 1 :]
                )
                chains.add((step.argval, *(one.argval for one in after)))
    return sorted(chains), sorted(imports, key=repr)


def _words(code: CodeType, *, functions: bool = True) -> str:
    """Code in words that do not depend on the lines that it stands in; without its functions if these do not matter."""
    told = [
        code.co_qualname,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
    ]
    told += [
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
    ]
    for one in code.co_consts:
        if not isinstance(one, CodeType):
            told.append(_Reach(False).told(one, ""))
        elif functions or not one.co_flags & CO_OPTIMIZED or one.co_name[0] == "<":
            told.append(_words(one, functions=functions))
    return repr(told)


@lru_cache(maxsize=4096)
def _users(name: str | None, file: str | None) -> bool:
    """Whether a module is a user's own: neither Python's, nor installed, nor gqlib's."""
    if not file or file in ("built-in", "frozen"):
        return not file and name not in sys.builtin_module_names
    both = file, os.path.realpath(file)
    return not any(path.startswith(_ROOTS) or _INSTALLED & {*path.split(os.sep)} for path in both)


def _home(value: Any) -> dict[str, Any]:
    """The names of the module that something says it is from."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return getattr(sys.modules.get(module), "__dict__", {})


def _name(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return f"{getattr(value, '__module__', '')}:{name}"


def _known(value: Any) -> bool:
    """Whether something is found where it says it is."""
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def _refuse(where: str, why: str) -> NoReturn:
    raise ValueError(f"no version can be made: {where} {why}; do without it, {_GIVE}") from None


def _stale(path: str, what: str) -> NoReturn:
    raise ValueError(
        f"{path} says something else than what is loaded ({what}): restart, or reload the module, {_GIVE}"
    )
