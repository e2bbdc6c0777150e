"""Put Python for the browser beside the built book, so that its cells run in their pages: `make live`.

What the pages load goes to `_build/html/_live/`, one script for each file: a page that is opened as
a file may load scripts and nothing else. None of it enters git. `supply.py` gets what comes from
outside, pinned and verified; packages that are Python alone come from this environment, which
`requirements.lock` has verified. The wheels are compiled, file by file, for the Python of the pages
(`compile.mjs`): imports then take half the time.

    python book/live/pack.py            fetch what is missing, and pack
    python book/live/pack.py --fetch    only fill the cache
"""

from __future__ import annotations

import argparse
import ast
import base64
import gzip
import importlib.util
import io
import json
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import median_low
from types import ModuleType
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BOOK, RECORDS = ROOT / "book", "*.ipynb"
# What a cell may import, by the group of files that brings it. Everything needs the core.
GROUPS = {
    "core": ("numpy and scipy", ("numpy", "scipy")),
    "matplotlib": ("matplotlib", ("matplotlib",)),
    "sympy": ("sympy", ("sympy",)),
    "xarray": ("xarray and pandas", ("pandas",)),
    "gymnasium": ("Gymnasium", ()),
    "results": ("the committed results", ()),
}
IMPORTS = {
    "matplotlib": "matplotlib", "mpl_toolkits": "matplotlib", "PIL": "matplotlib", "cycler": "matplotlib",
    "sympy": "sympy", "mpmath": "sympy", "xarray": "xarray", "pandas": "xarray", "gymnasium": "gymnasium",
}  # fmt: skip
READS_RESULTS = "gqlib.sweeps.results"
# Packages of Python alone, from this environment, without their tests, pictures and what is compiled.
PLAIN = {
    "core": ("yaml", "tqdm"),
    "xarray": ("xarray",),
    "gymnasium": (
        "gymnasium",
        "cloudpickle",
        "farama_notifications",
        "packaging",
        "typing_extensions",
    ),
}
NOT_PLAIN = (".pyc", ".so", ".pyd", ".png", ".gif", ".xml", ".stl", ".ttf")
BOOT = ("pyodide.asm.wasm", "python_stdlib.zip")
# Pyodide would import its own second half by address; a worker that was made from a text cannot. And it would take all
# the memory that there is.
REPLACED = {
    "pyodide.asm.mjs": (
        ("import.meta.url", '"https://live.invalid/pyodide.asm.mjs"'),
        ("export default _createPyodideModule;", "return { default: _createPyodideModule };"),
        # Python gets 2 GiB, then MemoryError
        ("getHeapMax=()=>4294901760", "getHeapMax=()=>2147418112"),
    ),
    "pyodide.js": (("i(async e=>await import(/* webpackIgnore */e)", "i(async e=>gqModule"),),
}


def beside(name: str) -> ModuleType:
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{name}.py is missing beside pack.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


kernel, follow, supply = beside("kernel"), beside("follow"), beside("supply")
PYODIDE = "node_modules/pyodide"


def fetched() -> tuple[dict[str, bytes], dict[str, Any], dict[str, bytes]]:
    """The files of npm's packages, Pyodide's lock, and the wheels."""
    npm = supply.packages()
    lock = json.loads(npm[f"{PYODIDE}/pyodide-lock.json"])
    names = [name for _, some in GROUPS.values() for name in some]
    return npm, lock, supply.obtain(supply.wheels(lock, names), supply.fetch_wheels)


def compiled(npm: dict[str, bytes], wheels: dict[str, bytes]) -> dict[str, bytes]:
    """The wheels with their Python files compiled, by Pyodide itself in Node.js."""
    print(f"compiling {len(wheels)} wheels for the pages ...", flush=True)
    script = {"compile.mjs": (HERE / "compile.mjs").read_bytes()}
    return dict(supply.node(npm | script | wheels, "compile.mjs", *wheels))


def runtime(npm: dict[str, bytes]) -> bytes:
    """Pyodide's two scripts and ours as one, which loads nothing."""
    parts = {}
    for name, changes in REPLACED.items():
        text = npm[f"{PYODIDE}/{name}"].decode()
        for old, new in changes:
            if old not in text:
                raise supply.Unavailable(
                    f"{name} of this Pyodide does not have {old!r}: pack.py has to learn it"
                )
            text = text.replace(old, new)
        parts[name] = text
    worker = (HERE / "worker.js").read_text(encoding="utf-8")
    # Without importScripts Pyodide takes the worker for one of modules; it refuses the other kind.
    first = f"self.importScripts = undefined;\nconst gqModule = (() => {{\n{parts['pyodide.asm.mjs']}\n}})();\n"
    return f"{first}{parts['pyodide.js']}\n{worker}".encode()


def bundle(npm: dict[str, bytes]) -> bytes:
    """The page's script, with the editor; no setting of a folder above is read."""
    ours = {
        path.name: path.read_bytes() for path in HERE.iterdir() if path.suffix in (".js", ".py")
    }
    options = ["--bundle", "--minify", "--format=iife", "--target=es2022", "--loader:.py=text",
               "--legal-comments=eof", "--log-level=warning", "--tsconfig-raw={}"]  # fmt: skip
    bundler = "node_modules/esbuild/bin/esbuild"
    return bytes(supply.node(npm | ours, bundler, "page.js", "--outdir=out", *options)["page.js"])


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip file; the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return made.getvalue()


def installed(name: str) -> Path:
    """The file of a module of this environment, or the folder of a package."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise supply.Unavailable(f"{name} is not installed in this environment: make setup")
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def plain(group: str) -> dict[str, bytes]:
    """Packages that are Python alone, as files of the folder extra."""
    files = {}
    for name in PLAIN.get(group, ()):
        top = installed(name)
        for path in top.rglob("*") if top.is_dir() else [top]:
            inside = path.relative_to(top.parent)
            if path.is_file() and path.suffix not in NOT_PLAIN and "tests" not in inside.parts:
                files[f"extra/{inside.as_posix()}"] = path.read_bytes()
    return files


def library() -> dict[str, bytes]:
    """What cells read besides wheels: gqlib, the book, IPython's printer, and who needs what."""
    gqlib, kit = ROOT / "gqlib", BOOK / "kit"
    code = [*gqlib.rglob("*.py"), *gqlib.rglob("*.json"), *kit.glob("*.py")]
    paths = [*code, *BOOK.glob("*.md"), *BOOK.glob("*.yml")]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths} | {
        "extra/gq_pretty.py": installed("IPython.lib.pretty").read_bytes(),
        "needs.json": json.dumps(needs(), sort_keys=True).encode(),
    }


def needs() -> dict[str, list[str]]:
    """The groups that an import needs: of each module of gqlib and of the book's kit, and of the packages from outside.

    That is what is imported with the module, and what its own functions import when they are called; of a package, what
    the functions do that it offers. Where that is too little, Python says which package is missing, and a cell that
    imports it gets it.

    >>> needs()["gqlib.symbolic"], needs()["sympy"], needs()["gqlib.prediction"]
    (['sympy'], ['sympy'], [])
    """
    at_once: dict[str, set[str]] = {}
    later: dict[str, set[str]] = {}
    ours = [*(ROOT / "gqlib").rglob("*.py"), *(BOOK / "kit").glob("*.py")]
    for path in sorted(ours):
        top = BOOK if BOOK in path.parents else ROOT
        name = ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        at_once[name], later[name] = set(imported(tree, deep=False)), set(imported(tree, deep=True))
        if "." in name:
            at_once[name].add(name.rpartition(".")[0])  # a package comes with its module
    found = {}
    for name in at_once:
        seen, waiting = {name}, [name]
        while waiting:
            fresh = at_once.get(waiting.pop(), set()) - seen
            seen |= fresh
            waiting += fresh
        offering = {name} | {one for one in at_once[name] if one.startswith(f"{name}.")}
        called = set().union(*(later.get(one, set()) for one in offering))
        groups = {
            IMPORTS[one.partition(".")[0]]
            for one in seen | called
            if one.partition(".")[0] in IMPORTS
        }
        found[name] = sorted(groups | ({"results"} if name == READS_RESULTS else set()))
    return found | {name: [group] for name, group in IMPORTS.items()}


def imported(tree: ast.AST, *, deep: bool) -> Iterator[str]:
    """The modules that code imports, if `deep` within functions too; not those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if typing or (isinstance(node, ast.FunctionDef) and not deep):
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        yield from imported(node, deep=deep)


def chapter(path: Path) -> dict[str, Any]:
    """A record without its outputs: what a page makes editable, and what it hands out as a notebook.

    Of the outputs it keeps the Markdown and the HTML, which the page has rendered already; where a cell makes the same
    again, that stays. A cell that cannot run in a page says why, and one that would take too long what it is here;
    cells that work on what such a cell has computed say so, too.
    """
    cells: list[dict[str, Any]] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        kept = {
            "cell_type": cell["cell_type"],
            "source": source,
            "tags": cell["metadata"].get("tags", []),
        }
        if cell["cell_type"] == "code":
            kept["rendered"] = [
                "".join(output["data"][form])
                for output in cell["outputs"]
                for form in ("text/markdown", "text/html")
                if form in output.get("data", {})
            ]
            kept |= {"cannot": kernel.cannot(source)} if kernel.cannot(source) else {}
            kept |= here(path.stem, source)
        cells.append(kept)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    changed = {at: cell["here"] for at, cell in enumerate(code) if "here" in cell}
    for at in follow.following([cell["source"] for cell in code], changed):
        code[at]["follows"] = True
    return {"cells": cells}


@cache
def fewer() -> dict[str, list[dict[str, Any]]]:
    """By chapter, which cells take minutes where nothing is compiled, and what becomes of them."""
    return dict(yaml.safe_load((HERE / "fewer.yml").read_text(encoding="utf-8")))


def here(name: str, source: str) -> dict[str, Any]:
    """What a cell is in a page, if not what it is in the book: with fewer runs, or left out for its minutes."""
    for change in fewer().get(name, ()):
        if change["in"] not in source:
            continue
        if "minutes" in change:
            return {"minutes": change["minutes"]}
        made = source
        for book, page in change["replace"].items():
            made = made.replace(book, page)
        return {"here": made, "says": change["says"]}
    return {}


def seconds(name: str) -> int:
    """From the button to the first result, in seconds of the processor; for a chapter not measured, as most others."""
    told = json.loads((HERE / "seconds.json").read_text(encoding="utf-8"))
    found: dict[str, int] = told["seconds"]
    return found.get(name, median_low(found.values()))


def notice(wheels: Iterable[str]) -> str:
    """What the folder is made from, and under which licences."""
    locked = json.loads(supply.LOCK.read_text(encoding="utf-8"))["packages"]
    shipped = {place: one for place, one in locked.items() if place and not one.get("dev")}
    return "\n".join([
        "What runs the cells of this book is made, besides the book and gqlib, from these packages of npm:",
        *(f"{place.rpartition('node_modules/')[2]} {one['version']}: {one['license']}"
          for place, one in sorted(shipped.items())),
        "these packages of Python, with their licences inside:",
        *sorted(wheels),
        "and, from the environment of the book:",
        *sorted(name for names in PLAIN.values() for name in names),
        "IPython (lib/pretty.py): BSD-3-Clause", "",
    ])  # fmt: skip


def offers(page: Path) -> bool:
    """Whether a page has a place for the button: it shows code."""
    return page.is_file() and 'id="gq-live"' in page.read_text(encoding="utf-8")


def pack(html: Path) -> None:
    """Write everything, and the script that offers it last: a page never offers what is not there."""
    start = html / "_static" / "live_start.js"
    if not start.is_file():
        raise supply.Unavailable(f"there is no book in {html}: make book")
    npm, lock, wheels = fetched()
    groups = {group: list(supply.wheels(lock, names)) for group, (_, names) in GROUPS.items()}
    files = compiled(npm, wheels)
    files |= {name: npm[f"{PYODIDE}/{name}"] for name in BOOT} | {"runtime.js": runtime(npm)}
    ours = {group: plain(group) for group in PLAIN}
    ours["core"] |= library()
    # Beside the committed results is the store of a sweep.
    committed = [path for path in (ROOT / "results").iterdir() if path.is_file()]
    ours["results"] = {f"results/{path.name}": path.read_bytes() for path in committed}
    for group, own in ours.items():
        files[f"{group}.zip"] = zipped(own)
        groups[group].append(f"{group}.zip")
    records = {
        path.stem: path for path in sorted(BOOK.glob(RECORDS)) if offers(html / f"{path.stem}.html")
    }
    made = {name: chapter(path) for name, path in records.items()}
    files |= {
        f"chapter-{name}": json.dumps(one, ensure_ascii=False).encode()
        for name, one in made.items()
    }
    page, known = bundle(npm), needs()
    place = html / "_live"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    listed = {}
    for name, data in files.items():
        small = gzip.compress(data, 9, mtime=0) if not name.endswith((".whl", ".zip")) else data
        script = f'gqLive.take("{name}","{base64.b64encode(small).decode()}");\n'
        (place / f"{name}.js").write_text(script, encoding="ascii")
        listed[name] = {"gzip": small is not data, "bytes": len(small)}
    (place / "page.js").write_bytes(page)
    (place / "NOTICE.txt").write_text(notice(wheels), encoding="utf-8")

    def size(name: str) -> int:
        """What a chapter loads until its last cell has run."""
        code = [cell["source"] for cell in made[name]["cells"] if cell["cell_type"] == "code"]
        wanted = {"core"}.union(*(kernel.groups(source, known) for source in code))
        loaded = {"page", "runtime.js", f"chapter-{name}", *BOOT}.union(
            *(groups[group] for group in wanted)
        )
        return sum((place / f"{one}.js").stat().st_size for one in loaded)

    manifest = {
        "runtime": "runtime.js",
        "boot": list(BOOT),
        "groups": {
            group: {"title": GROUPS[group][0], "files": names} for group, names in groups.items()
        },
        "files": listed,
        "chapters": {
            name: {"megabytes": round(size(name) / 1e6), "seconds": seconds(name)}
            for name in records
        },
        "lock": {"info": lock["info"], "packages": {}},
    }
    text = (HERE / "start.js").read_text(encoding="utf-8")
    start.write_text(text.replace("/* MANIFEST */ null", json.dumps(manifest)), encoding="utf-8")
    total = sum(path.stat().st_size for path in place.iterdir())
    sizes = [size(name) / 1e6 for name in records]
    print(f"{len(records)} chapters run where they are read: {place} has {total / 1e6:.0f} MB, of which a chapter "
          f"loads {min(sizes):.0f} to {max(sizes):.0f}")  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description="Put Python for the browser beside the built book."
    )
    parser.add_argument(
        "--html", type=Path, default=ROOT / "_build" / "html", help="the built book"
    )
    parser.add_argument("--fetch", action="store_true", help="only fill the cache")
    arguments = parser.parse_args()
    try:
        if arguments.fetch:
            fetched()
        else:
            pack(arguments.html)
    except supply.Unavailable as error:
        print(
            f"make live: {error}\nThe book itself does not need this: it stays as it is.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
