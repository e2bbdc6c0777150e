"""Which cells of a chapter work on what other cells have defined: one that was changed changes what follows from it."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence

CONDITIONAL = ast.If, ast.For, ast.While, ast.Try  # what they define may be as it was


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A table of names, and those of what is defined within."""
    yield table
    for child in table.get_children():
        yield from tables(child)


def names(node: ast.AST) -> tuple[set[str], set[str]]:
    """The global names that a statement reads, and those that it defines or puts something into."""
    match node:
        case ast.For(target=target, iter=values, body=body, orelse=rest):
            reads, writes = block(
                [ast.Expr(values), ast.Assign([target], ast.Constant(0)), *body, *rest]
            )
        case ast.With(items=items, body=body):
            entered = [
                ast.Assign([one.optional_vars], one.context_expr)
                if one.optional_vars
                else ast.Expr(one.context_expr)
                for one in items
            ]
            reads, writes = block([*entered, *body])
        case ast.If(test=test, body=body, orelse=rest):
            (reads, writes), (others, more) = block([ast.Expr(test), *body]), block(rest)
            reads, writes = reads | others, writes | more
        case _:
            reads, writes = plain(node)
    return reads, writes


def plain(node: ast.AST) -> tuple[set[str], set[str]]:
    """The same, of a statement that holds no others that are run with it."""
    top = symtable.symtable(ast.unparse(ast.fix_missing_locations(node)), "<cell>", "exec")
    seen = [
        one
        for table in tables(top)
        for one in table.get_symbols()
        if table is top or one.is_global()
    ]
    reads = {one.get_name() for one in seen if one.is_referenced()}
    writes = {
        one.get_name()
        for one in seen
        if one.is_assigned() or one.is_imported() or one.is_namespace()
    }
    for one in ast.walk(node):
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            reads.add(one.target.id)
        if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store):
            writes |= {name.id for name in ast.walk(one.value) if isinstance(name, ast.Name)}
    return reads, writes


def block(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that statements take from before them, and those that they give to what comes after."""
    taken: set[str] = set()
    given: set[str] = set()
    own: set[str] = set()  # without condition
    for node in nodes:
        reads, writes = names(node)
        taken |= reads - own
        given |= writes
        if not isinstance(node, CONDITIONAL):
            own |= writes
    return taken, given


def taken_and_given(source: str) -> tuple[set[str], set[str]]:
    r"""The names that a cell takes from those above it, and those that it gives to those below.

    >>> taken, given = taken_and_given("y = x + 1\nfor i in range(y):\n    total += i * y")
    >>> sorted(taken), sorted(given)
    (['range', 'total', 'x'], ['i', 'total', 'y'])
    """
    return block(ast.parse(source).body)


def following(sources: Sequence[str], changed: Mapping[int, str]) -> list[int]:
    r"""The cells, from 0, that read what others give: of the changed ones, with their new text, or of such as these.

    What a changed cell gives by statements that are in its new text as well, and that read nothing of the kind, is as
    it was. A changed cell is not among those that follow.

    >>> following(["x = 1\nk = 0", "z = x", "print(k)", "print(z)", "x = 3", "print(x)"], {0: "x = 2\nk = 0"})
    [1, 3]
    """
    reached: set[str] = set()
    found: dict[int, None] = {}
    for at, source in enumerate(sources):
        kept = {ast.unparse(node) for node in ast.parse(changed.get(at, source)).body}
        for node in ast.parse(source).body:
            reads, writes = names(node)
            if reads & reached:
                found[at] = None
            if reads & reached or ast.unparse(node) not in kept:
                reached |= writes
            elif not isinstance(node, CONDITIONAL):
                reached -= writes
    return [at for at in found if at not in changed]
