"""What we install: all of it pinned with hashes, under known licences."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import latest
import licences
import sbom

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def direct_dependencies():
    """The names of all requirements in pyproject.toml, those of every extra included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    names = {latest.plain(re.match(r"[A-Za-z0-9._-]+", one).group()) for one in wanted}
    return names - {"gqlib"}


def test_every_package_in_the_lock_has_hashes():
    blocks = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)
    blocks = [block for block in blocks if block.strip() and not block.startswith("#")]
    assert len(blocks) == len(licences.PINNED.findall(LOCK)) > 100
    bare = [block for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)]
    assert bare == [], "python tools/lock.py writes hashes"


def test_the_lock_names_no_place_to_download_from():
    found = re.findall(r"https?://|index-url|find-links|@ ", LOCK)
    assert found == [], "the lock names packages, not places: python tools/lock.py"


def test_every_direct_dependency_is_locked():
    missing = direct_dependencies() - {latest.plain(name) for name in licences.locked(LOCK)}
    assert missing == set(), "python tools/lock.py adds these to requirements.lock"


def test_set_up_installs_nothing_without_a_hash():
    locked, own = (line for line in MAKEFILE.splitlines() if "pip install" in line)
    assert "--require-hashes -r requirements.lock" in locked, "make setup should ask for hashes"
    assert own.endswith("--no-deps --no-build-isolation -e ."), "and take nothing else with gqlib"


@pytest.mark.slow
def test_every_locked_package_has_a_known_licence():
    unknown, absent = {}, []
    for name, marker in licences.locked(LOCK).items():
        try:
            text = licences.declared(distribution(name))
        except PackageNotFoundError:
            absent += [] if marker else [name]
            continue
        if not licences.families(text):
            unknown[name] = text
    assert unknown == {}, (
        "read these licences, and add them to FAMILIES in tools/licences.py or drop the package"
    )
    assert absent == [], "make setup installs these"


def test_a_licence_that_nobody_knows_is_told():
    assert licences.families("Proprietary, all rights reserved") == []
    assert licences.families("BSD-3-Clause AND MIT") == ["MIT", "BSD"]


@pytest.mark.slow
def test_the_list_of_licences_is_complete(capsys):
    assert licences.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} >= set(licences.locked(LOCK))


def test_the_newest_versions_are_compared_with_the_lock():
    lock = "numpy==2.0 \\\n    --hash=sha256:00\nPy_YAML==6.0 ; python_version > '3' \\\nPy_YAML==7.0 \\\n"
    assert latest.changes(lock, {"numpy": "2.1", "py-yaml": "6.0", "new": "1"}) == [
        "new: not locked -> 1",
        "numpy: 2.0 -> 2.1",
    ]
    assert latest.changes(lock, {"numpy": "2.0", "Py.YAML": "8.0"}) == [
        "Py.YAML: 6.0 or 7.0 -> 8.0"
    ]


@pytest.mark.slow
def test_the_bill_of_materials_names_what_the_lock_names():
    made = sbom.bill(LOCK)
    assert [(part["name"], part["version"]) for part in made["components"]] == [
        (name, version) for name, version, _ in licences.PINNED.findall(LOCK)
    ]
    assert all(part["hashes"] for part in made["components"])
    assert sum(len(part["hashes"]) for part in made["components"]) == LOCK.count("--hash=sha256:")
    assert sbom.bill(LOCK) == made != sbom.bill(LOCK + "\n# another")


OSV = {
    "id": "X-1",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "Foo.Bar"},
            "versions": ["0.9"],
            "ranges": [
                {
                    "type": "ECOSYSTEM",
                    "events": [{"introduced": "1.0"}, {"fixed": "1.2"}, {"introduced": "2"}],
                }
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("name", "version", "hit"),
    [("foo-bar", "0.9", True), ("foo-bar", "0.8", False), ("foo_bar", "1.1.5", True), ("foo-bar", "1.2", False),
     ("foo-bar", "2.1", True), ("foo", "1.1", False)],
)  # fmt: skip
def test_vulnerable_versions_are_told_from_others(name, version, hit):
    assert sbom.affects(OSV, name, version) is hit


def test_a_local_database_is_read_or_it_is_said_that_there_is_none(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GQ_OSV", raising=False)
    bill = str(tmp_path / "bill.json")
    assert sbom.main([bill]) == 0
    assert "not checked" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        sbom.main([bill, "--osv", str(tmp_path / "nowhere")])
    name, version, _ = licences.PINNED.findall(LOCK)[0]
    package = {"ecosystem": "PyPI", "name": name}
    bad = {"id": "X-2", "affected": [{"package": package, "versions": [version]}]}
    database = tmp_path / "osv"
    database.mkdir()
    for record in (OSV, bad, bad | {"id": "X-3", "withdrawn": "yes"}):
        (database / f"{record['id']}.json").write_text(json.dumps(record))
    assert sbom.main([bill, "--osv", str(database)]) == 1
    said = capsys.readouterr().out
    assert f"{name} {version}: X-2" in said
    assert "3 records, 1 known" in said
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("X-1.json", json.dumps(OSV))
    assert sbom.main([bill, "--osv", str(tmp_path / "all.zip")]) == 0
