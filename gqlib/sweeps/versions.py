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
import copyreg
import dis
import hashlib
import os
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module, util
from inspect import CO_OPTIMIZED
from itertools import pairwise, takewhile
from types import (
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

__all__ = ["confirm", "version_of"]

_MADE = re.compile(r"code-[0-9a-f]{16}")  # other versions are a user's own, and theirs to change
_GIVE = "or give a version of your own"
_PLAIN = {type(None), bool, float, complex, str, bytes, type(...), type(NotImplemented)}
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
_FIRST: dict[
    int, tuple[Any, str]
] = {}  # a loading of a file, and what its top said when first seen
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
    try:
        digest = reach.digest(function, name)
    except RecursionError:
        _refuse(name, "is nested too deeply")
    if not reach.functions:
        _refuse(name, "has no code in Python")
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
            told.update(self._described(thing, place).encode())
        return told.hexdigest()

    def told(self, value: Any, where: str) -> str:
        """A value in words, or the number of what is described elsewhere."""
        if type(value) is int:
            return hex(value)  # of any length
        if type(value) in _PLAIN:
            return f"{type(value).__name__} {value!r}"
        if type(value) is tuple:
            return f"({', '.join(self.told(one, where) for one in value)})"
        if isinstance(value, CodeType):
            return _words(value)
        if type(value) in (set, frozenset):  # in an order that hashes do not decide
            return f"{type(value).__name__} {sorted(self._alone(one, where) for one in value)}"
        if type(value) is np.ndarray and not value.dtype.hasobject:
            content = hashlib.sha256(value.tobytes()).hexdigest()
            return f"array {value.dtype!r} {value.shape} {content}"
        number = self.number.setdefault(id(value), len(self.met))
        if number == len(self.met):
            self.met.append((value, where))  # which keeps it alive, and its number its own
        return f"#{number}"

    def _alone(self, value: Any, where: str) -> str:
        return _Reach(self.compare, self.home).digest(value, where)

    def _described(self, value: Any, where: str) -> str:
        """What is numbered, in words."""
        if any(value is one for one in _UNSEEN):
            _refuse(where, f"is {value.__name__}, and what that reaches cannot be seen")
        held = getattr(value, "__dict__", {})
        inner: Any
        if isinstance(value, FunctionType):
            inner = self._function(value, where)
        elif isinstance(value, type):
            inner = self._class(value)
        elif isinstance(value, ModuleType):
            names = [name for name in sorted(held) if name[:2] != "__" or name == "__getattr__"]
            inner = value.__name__
            if self._own(held):
                inner = tuple(self._global(held, [name], where) for name in names)
        elif type(value) is list:
            inner = tuple(value)
        elif type(value) is np.ndarray:  # of objects
            inner = value.shape, value.tolist()
        elif type(value) in (dict, MappingProxyType):
            inner = tuple(value.items())
        elif isinstance(value, property):
            inner = value.fget, value.fset, value.fdel
        elif isinstance(value, staticmethod | classmethod):
            inner = value.__func__
        elif isinstance(value, cached_property):
            inner = value.func
        elif "py_func" in held:
            inner = value.py_func, getattr(value, "targetoptions", None)
            self._frozen(value, where)
        elif "__wrapped__" in held:
            inner = value.__wrapped__
        elif isinstance(value, MemberDescriptorType | GetSetDescriptorType):
            inner = value.__name__
        else:
            inner = self._reduced(value, where)
        return f"{_name(type(value))} {self.told(inner, where)}\n"

    def _function(self, function: FunctionType, where: str) -> Any:
        """Code, defaults, closure and globals of a function; of an installed one its name, if it is known by that."""
        code, own = function.__code__, self._own(function.__globals__)
        if not own and not self._own(_home(function)) and _known(function):
            return _name(function)
        cells = tuple(map(_content, function.__closure__ or ()))
        held = function.__defaults__, function.__kwdefaults__, cells, vars(function)
        if not own:
            return _name(function), held
        self.functions += 1
        file = self._file(function.__globals__)
        inside = file and os.path.basename(code.co_filename) == os.path.basename(file.path)
        if file and inside and _words(code) not in file.codes:
            _stale(file.path, code.co_qualname)
        chains, imports = _uses(code)
        found = [self._global(function.__globals__, chain, where) for chain in chains]
        for name, level, taken in imports:
            found += self._imported(function, "." * level + name, taken or (), where)
        return code, held, tuple(found)

    def _class(self, cls: type) -> Any:
        """Bases and members of a class; of an installed one its name."""
        if not cls.__flags__ & _HEAP or (not self._own(_home(cls)) and _known(cls)):
            return _name(cls)
        members = {name: member for name, member in vars(cls).items() if name not in _ABOUT}
        return (
            cls.__qualname__,
            type(cls),
            cls.__bases__,
            tuple(sorted(members.items(), key=_first)),
        )

    def _global(self, namespace: Mapping[str, Any], chain: Sequence[str], where: str) -> str:
        """What code means by ``name.attribute.attribute``, as far as that leads through modules of the user's own."""
        name, *rest = chain
        if name not in {*namespace, *vars(builtins)} and "__getattr__" in namespace:
            return self._global(namespace, ["__getattr__"], where)
        value = namespace.get(name, vars(builtins).get(name, NotImplemented))
        where = f"{name}, which {where} uses,"
        if rest and isinstance(value, ModuleType):
            if self._own(vars(value)):
                return self._global(vars(value), rest, where)
            if vars(value).get(rest[0]) is import_module:
                return self.told(import_module, where)
        file = self._file(namespace)
        if file and name in namespace and name in file.constants:
            constant = self._alone(file.constants[name], where)
            if self._alone(value, where) != constant:
                _stale(file.path, name)
        return self.told(value, where)

    def _imported(
        self, function: FunctionType, name: str, taken: Sequence[str], where: str
    ) -> Iterator[str]:
        """What a function imports when it is called: imported now, if it is the user's own."""
        package = function.__globals__.get("__package__")
        try:
            name = util.resolve_name(name, package)
            spec = util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None or not _users(name, spec.origin):
            yield name
            return
        module = import_module(name)
        for one in taken:
            if not hasattr(module, one) and util.find_spec(f"{name}.{one}"):
                import_module(f"{name}.{one}")
            yield self._global(vars(module), [one], where)
        parts = name.split(".")
        for count in range(1, len(parts) + 1) if not taken or "*" in taken else ():
            yield self.told(import_module(".".join(parts[:count])), where)

    def _reduced(self, value: Any, where: str) -> Any:
        """What `pickle` would make an object of, without properties that were computed and kept.

        Of what an installed module made for all, such as `scipy.stats.norm`, its name.
        """
        home = vars(sys.modules.get(type(value).__module__, builtins))
        if not self._own(home):
            for name, one in home.items():
                if one is value:
                    return name
        try:
            reduce = copyreg.dispatch_table.get(type(value))
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
                name
                for name in state
                if isinstance(getattr(type(value), name, None), cached_property)
            }
            state = {name: one for name, one in state.items() if name not in kept} or None
        return call, arguments, state, list(items or ()), list(pairs or ())

    def _frozen(self, compiled: Any, where: str) -> None:
        """Refuse a function that Numba compiled before something that it uses changed: it runs with what was there."""
        now = _Reach(False, self.home).digest(compiled.py_func, where)
        if not getattr(compiled, "signatures", ()):
            _COMPILED[compiled] = now
        elif _COMPILED.setdefault(compiled, now) != now:
            _refuse(
                where,
                "was compiled before something that it uses changed: restart, or define it again",
            )

    def _own(self, namespace: Mapping[str, Any]) -> bool:
        name, file = namespace.get("__name__"), namespace.get("__file__")
        return namespace is self.home or _users(name, file)

    def _file(self, namespace: Mapping[str, Any]) -> _File | None:
        """The file of a module of the user's own as it is now, if there is one to be compared."""
        path, spec = namespace.get("__file__"), namespace.get("__spec__")
        loader = getattr(spec, "loader", None) or namespace.get("__loader__")
        if not self.compare or not path or not hasattr(loader, "source_to_code"):
            return None
        if path not in self.files:
            self.files[path] = file = _read(path, loader)
            if _FIRST.setdefault(id(loader), (loader, file.top))[1] != file.top:
                _stale(path, "its top")
        return self.files[path]


@dataclass
class _File:
    """What a file says now: its functions, names that it binds to a constant and never again, and all but functions."""

    path: str
    codes: set[str]
    constants: dict[str, Any]
    top: str


def _read(path: str, loader: Any) -> _File:
    try:
        code = loader.source_to_code(loader.get_data(path), path)
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(
            f"no version can be made of {path}, which cannot be read: {error}"
        ) from error
    bound: Counter[str] = Counter()
    for inner in _codes(code):
        names = ("STORE_GLOBAL", "DELETE_GLOBAL", *("STORE_NAME", "DELETE_NAME") * (inner is code))
        bound.update(step.argval for step in _steps(inner) if step.opname in names)
    constants = {
        after.argval: before.argval
        for before, after in pairwise(_steps(code))
        if after.opname == "STORE_NAME" and bound[after.argval] == 1
        and before.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
    }  # fmt: skip
    return _File(path, set(map(_words, _codes(code))), constants, _words(code, functions=False))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A piece of code and all that is in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _steps(code: CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


@lru_cache(maxsize=4096)
def _uses(code: CodeType) -> tuple[list[tuple[str, ...]], list[tuple[str, int, Any]]]:
    """Globals that code names, each with the attributes that it takes of it, and what it imports."""
    chains, imports = set(), set()
    for inner in _codes(code):
        steps = _steps(inner)
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
        inner = isinstance(one, CodeType)
        left_out = inner and not functions and one.co_flags & CO_OPTIMIZED and one.co_name[0] != "<"
        if inner:
            told.append(one.co_name if left_out else _words(one, functions=functions))
        else:
            told.append(_Reach(False).told(one, ""))
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
    return f"{getattr(value, '__module__', None)}:{getattr(value, '__qualname__', None)}"


def _known(value: Any) -> bool:
    """Whether something is found where it says it is."""
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return NotImplemented


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _refuse(where: str, why: str) -> NoReturn:
    raise ValueError(f"no version can be made: {where} {why}; do without it, {_GIVE}") from None


def _stale(path: str, what: str) -> NoReturn:
    raise ValueError(
        f"{path} says something else than what is loaded ({what}): restart, or reload the module, {_GIVE}"
    )
