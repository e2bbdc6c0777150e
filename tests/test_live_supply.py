"""What `make live` takes from outside: nothing is executed or shipped that a lock does not name.

Nothing here asks the network: npm's packages, the carrier and the cache are folders of the test.
"""

import base64
import hashlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

LIVE = Path(__file__).parents[1] / "book" / "live"
needs_node = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="Node.js with npm is not installed"
)
EVIL = 'import("node:fs").then((fs) => fs.writeFileSync({!r}, "executed"));\n'


def module(name):
    spec = importlib.util.spec_from_file_location(name, LIVE / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


pack = module("pack")
supply = pack.supply


@pytest.fixture
def marker(tmp_path):
    """A file that strangers' code writes."""
    return tmp_path / "executed"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and neither npm nor pip has another place than folders to take from."""
    place = tmp_path / "cache"
    place.mkdir()
    settings = {
        "GQ_LIVE_CACHE": place, "GQ_LIVE_FROM": "",
        "NPM_CONFIG_OFFLINE": "true", "NPM_CONFIG_CACHE": tmp_path / "npm",
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": tmp_path / "index", "PIP_CONFIG_FILE": os.devnull,
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "index").mkdir()
    return place


def tarred(files):
    """An archive as npm and pip know it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def locked(tmp_path, monkeypatch, data, **more):
    """A lock that names one npm package, with the SHA-512 of `data`."""
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    one = {"version": "1.0.0", "integrity": f"sha512-{digest}", **more}
    (tmp_path / "lock.json").write_text(
        json.dumps({"packages": {"": {}, "node_modules/@a/b": one}})
    )
    monkeypatch.setattr(supply, "LOCK", tmp_path / "lock.json")
    return supply


def carrier(index, monkeypatch, wheels, python=">=3"):
    """A wheel in `index` that carries others, for some Pythons, and its hash as the pinned one."""
    path = index / "open_webui-0.12.4-py3-none-any.whl"
    about = "open_webui-0.12.4.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in wheels.items():
            archive.writestr(supply.CARRIED + name, data)
        told = f"Name: open-webui\nVersion: 0.12.4\nRequires-Python: {python}\n"
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\n{told}")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(supply, "CARRIER_HASH", f"sha256:{digest}")
    return path


def sha256(data):
    return hashlib.sha256(data).digest()


def test_npm_packages_are_pinned_by_their_hashes_and_name_no_host():
    packages = json.loads(supply.LOCK.read_text())["packages"]
    assert {f"node_modules/{name}" for name in ("pyodide", "@codemirror/view", "esbuild")} <= set(
        packages
    )
    for name, one in packages.items():
        assert not name or one["integrity"].startswith("sha512-"), name
        assert "resolved" not in one


@needs_node
def test_a_folder_that_npm_installed_is_not_executed(cache, marker, tmp_path):
    """It was once trusted by its name, with all that lay in it."""
    digest = hashlib.sha256(supply.LOCK.read_bytes()).hexdigest()
    modules = cache / f"npm-{digest[:12]}" / "node_modules"
    for name in ("pyodide/pyodide.mjs", "esbuild/bin/esbuild", ".bin/esbuild"):
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).write_text("#!/usr/bin/env node\n" + EVIL.format(str(marker)))
        (modules / name).chmod(0o700)
    wheel = b"not a wheel"
    names = [name for _, some in pack.GROUPS.values() for name in some]
    one = {"file_name": "a.whl", "sha256": sha256(wheel).hex(), "depends": []}
    lock = {"info": {}, "packages": dict.fromkeys(names, one)}
    (modules / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock))
    (cache / "wheels").mkdir()
    (cache / "wheels" / "a.whl").write_bytes(wheel)
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "live_start.js").touch()
    command = [sys.executable, LIVE / "pack.py", "--html", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not marker.exists()
    assert done.returncode == 1
    assert "npm cannot be reached" in done.stderr


@needs_node
def test_a_tarball_that_was_tampered_with_is_refused_in_the_cache(cache, tmp_path, monkeypatch):
    good = tarred({"package/index.js": "1", "package/lib/more.js": "2"})
    locked(tmp_path, monkeypatch, good)
    (cache / "a-b-1.0.0.tgz").write_bytes(good)
    assert supply.packages() == {
        "node_modules/@a/b/index.js": b"1",
        "node_modules/@a/b/lib/more.js": b"2",
    }
    (cache / "a-b-1.0.0.tgz").write_bytes(tarred({"package/index.js": "evil"}))
    with pytest.raises(supply.Unavailable, match=r"a-b-1\.0\.0\.tgz .* refused"):
        supply.packages()


@needs_node
@pytest.mark.parametrize("honest", [True, False])
def test_npm_delivers_what_the_lock_names_or_is_refused(cache, tmp_path, monkeypatch, honest):
    """A stand-in for npm packs what it is asked for, once as it is and once with more in it."""
    good = tarred({"package/index.js": "1"})
    locked(tmp_path, monkeypatch, good)
    (tmp_path / "sent").write_bytes(good if honest else good + b"\0")
    (tmp_path / "npm").write_text(
        f'#!/bin/sh\ncp "{tmp_path}/sent" a-b-1.0.0.tgz\necho "$@" > "{tmp_path}/asked"\n'
    )
    (tmp_path / "npm").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    if honest:
        assert supply.packages() == {"node_modules/@a/b/index.js": b"1"}
        assert [path.name for path in cache.iterdir()] == ["a-b-1.0.0.tgz"]
    else:
        with pytest.raises(supply.Unavailable, match="refused"):
            supply.packages()
        assert list(cache.iterdir()) == []
    asked = (tmp_path / "asked").read_text().split()
    assert (asked[0], asked[-1], "--ignore-scripts" in asked) == ("pack", "@a/b@1.0.0", True)


@needs_node
def test_packages_for_other_machines_are_left_out(cache, tmp_path, monkeypatch):
    locked(tmp_path, monkeypatch, b"", os=["another"])
    assert supply.packages() == {}


@needs_node
def test_node_sees_the_files_it_is_given_and_no_settings(tmp_path, monkeypatch, marker):
    (tmp_path / "first.cjs").write_text(f"require('fs').writeFileSync({str(marker)!r}, '')")
    monkeypatch.setenv("NODE_OPTIONS", f"--require={tmp_path / 'first.cjs'}")
    script = (
        'import { readdirSync, writeFileSync } from "node:fs"; import two from "two";'
        'writeFileSync("out/made", readdirSync(".").join() + two);'
    )
    files = {
        "one.mjs": script.encode(),
        "node_modules/two/index.js": b"module.exports = process.argv[2]",
    }
    assert supply.node(files, "one.mjs", "!") == {"made": b"node_modules,one.mjs,out,package.json!"}
    assert not marker.exists()
    with pytest.raises(supply.Unavailable, match="ERR_MODULE_NOT_FOUND"):
        supply.node({"one.mjs": script.encode()}, "one.mjs")


@needs_node
def test_what_is_compiled_is_not_kept_where_it_could_be_forged(cache):
    """A stand-in for Pyodide gives back what it is to compile."""
    script = (
        b"export const loadPyodide = () => ({ runPython: () => (it) => ({ toJs: () => it }) });"
    )
    wheels = {"a.whl": b"a", "b.whl": b"b"}
    assert pack.compiled({"node_modules/pyodide/pyodide.mjs": script}, wheels) == wheels
    assert list(cache.iterdir()) == []


def test_a_forged_wheel_is_refused_wherever_it_comes_from(cache, tmp_path, monkeypatch):
    good, name = b"a wheel", "a.whl"
    take = lambda: supply.obtain({name: sha256(good)}, supply.fetch_wheels)  # noqa: E731
    monkeypatch.setenv("GQ_LIVE_FROM", str(tmp_path))
    (tmp_path / name).write_bytes(b"another wheel")
    with pytest.raises(supply.Unavailable, match=r"a\.whl .* refused"):
        take()
    assert list(cache.iterdir()) == []
    (tmp_path / name).write_bytes(good)
    assert take() == {name: good}
    (tmp_path / name).unlink()
    assert take() == {name: good}  # from the cache
    (cache / name).write_bytes(b"altered")
    with pytest.raises(supply.Unavailable, match="refused"):
        take()
    (cache / name).unlink()
    with pytest.raises(supply.Unavailable, match="does not have"):
        take()


def test_a_source_distribution_is_not_built(cache, tmp_path, marker):
    """It comes with its own build backend, so it needs no other package to be executed."""
    top = "open_webui-0.12.4"
    backend = "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n"
    source = tarred(
        {
            f"{top}/PKG-INFO": "Metadata-Version: 2.1\nName: open-webui\nVersion: 0.12.4\n",
            f"{top}/pyproject.toml": backend,
            f"{top}/evil.py": f"open({str(marker)!r}, 'w').close()\n",
        }
    )
    (tmp_path / "index" / f"{top}.tar.gz").write_bytes(source)
    with pytest.raises(supply.Unavailable, match="cannot be had from the Python index"):
        list(supply.from_carrier(["a.whl"], tmp_path))
    assert not marker.exists()


def test_the_carrier_may_be_for_another_python(cache, tmp_path, monkeypatch):
    """The real one is for those before 3.13; nothing of it is installed."""
    carrier(tmp_path / "index", monkeypatch, {"a.whl": "a", "b.whl": "b"}, python="<3")
    assert list(supply.from_carrier(["b.whl"], tmp_path)) == ["b.whl"]
    assert (tmp_path / "b.whl").read_text() == "b"


def test_a_carrier_with_another_hash_is_refused(cache, tmp_path, monkeypatch):
    path = carrier(tmp_path / "index", monkeypatch, {"a.whl": "a"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more", "")
    with pytest.raises(supply.Unavailable, match="DO NOT MATCH THE HASHES"):
        list(supply.from_carrier(["a.whl"], tmp_path))


@needs_node
def test_what_the_real_cache_has_bundles_and_compiles(tmp_path, monkeypatch, marker):
    """The editor, and a wheel by Pyodide, from verified files: nothing from folders above."""
    absent = lambda *_: pytest.skip("the cache of make live is not filled")  # noqa: E731
    obtain = supply.obtain
    monkeypatch.setattr(supply, "obtain", lambda digests, _: obtain(digests, absent))
    npm, _, wheels = pack.fetched()
    bundled = pack.bundle(npm)
    assert b"cm-editor" in bundled
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = {
        "package.json": {"browser": {"@codemirror/view": "./evil.js"}},
        "tsconfig.json": {"compilerOptions": {"paths": {"@codemirror/view": ["./evil.js"]}}},
    }
    for name, content in settings.items():
        (tmp_path / name).write_text(json.dumps(content))
    for name in ("evil.js", "node_modules/ws/index.js", "node_modules/bufferutil/index.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(EVIL.format(str(marker)))
    assert pack.bundle(npm) == bundled
    name = next(name for name in wheels if name.startswith("cycler"))
    made = pack.compiled(npm, {name: wheels[name]})
    assert "cycler/__init__.pyc" in zipfile.ZipFile(io.BytesIO(made[name])).namelist()
    assert not marker.exists()
