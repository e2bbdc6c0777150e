"""Write a software bill of materials: every package in requirements.lock, as CycloneDX JSON.

The lock has names, versions, markers and SHA-256 hashes; licences are what installed packages say of themselves
(`licences.py`). The same lock gives the same bytes: the serial number is a digest, and there is no time stamp.

With --osv the packages are held against a database of known vulnerabilities on this machine: a zip file or a folder of
OSV records (the export for the Python index that OSV publishes, all.zip). Ends with 1 if a package is affected.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import uuid
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from licences import LOCK, PINNED, declared

HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
WHERE = LOCK.parent / "_build" / "sbom.cdx.json"


def components(text: str) -> Iterator[dict[str, Any]]:
    """One entry for each package of a lock file."""
    pinned = list(PINNED.finditer(text))
    for entry, following in zip(pinned, [*pinned[1:], None], strict=True):
        name, version, marker = entry.groups()
        block = text[entry.start() : following.start() if following else len(text)]
        hashes = [{"alg": "SHA-256", "content": found} for found in sorted(HASH.findall(block))]
        yield {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name.lower()}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name.lower()}@{version}",
            "hashes": hashes,
            "licenses": [{"license": {"name": licence(name)}}] if licence(name) else [],
            "properties": [{"name": "python:marker", "value": marker}] if marker else [],
        }


def licence(name: str) -> str:
    """What an installed package says of its licence; nothing, if it is not installed here."""
    try:
        return declared(distribution(name))
    except PackageNotFoundError:
        return ""


def bill(text: str) -> dict[str, Any]:
    """The bill of a lock file."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(hashlib.sha256(text.encode()).hexdigest()[:32])}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "gqlib", "name": "gqlib"}},
        "components": list(components(text)),
    }


def records(database: Path) -> Iterator[dict[str, Any]]:
    """The records of a zip file or folder."""
    if database.is_dir():
        yield from (json.loads(path.read_bytes()) for path in sorted(database.glob("*.json")))
        return
    with zipfile.ZipFile(database) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def affects(record: dict[str, Any], name: str, version: str) -> bool:
    """Whether a record says that this version of a package is affected."""
    for entry in record.get("affected", []):
        package = entry.get("package", {})
        if package.get("ecosystem") == "PyPI" and canonicalize_name(
            package.get("name", "")
        ) == canonicalize_name(name):
            spans = [one["events"] for one in entry.get("ranges", []) if one["type"] == "ECOSYSTEM"]
            if version in entry.get("versions", []) or any(inside(one, version) for one in spans):
                return True
    return False


def inside(events: list[dict[str, str]], version: str) -> bool:
    """Whether a version lies in a range given by events, which are in order."""
    try:
        here, within = Version(version), False
        for kind, bound in (pair for event in events for pair in event.items()):
            edge = Version(bound)
            if kind == "introduced" and here >= edge:
                within = True
            if (kind == "fixed" and here >= edge) or (kind == "last_affected" and here > edge):
                within = False
    except InvalidVersion:
        return False
    return within


def audit(database: Path) -> int:
    """Print which packages of the lock are affected; 1 if there is one."""
    packages = [found[:2] for found in PINNED.findall(LOCK.read_text(encoding="utf-8"))]
    every = list(records(database))
    found = [
        f"{name} {version}: {record['id']} {record.get('summary', '')}".rstrip()
        for record in every
        if not record.get("withdrawn")
        for name, version in packages
        if affects(record, name, version)
    ]
    counts = f"{len(packages)} packages, {len(every)} records, {len(found)} known vulnerabilities"
    print(*found, counts, sep="\n")
    return int(bool(found))


def main(arguments: list[str]) -> int:
    """Write the bill, say where it is, and look for what is known of the packages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=WHERE, help="_build/sbom.cdx.json")
    parser.add_argument("--osv", type=Path, default=os.environ.get("GQ_OSV"), help="or GQ_OSV")
    given = parser.parse_args(arguments)
    given.file.parent.mkdir(parents=True, exist_ok=True)
    made = bill(LOCK.read_text(encoding="utf-8"))
    given.file.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(made['components'])} packages: {given.file}")
    if given.osv is None:
        print("not checked for known vulnerabilities: no local database is named by --osv")
        return 0
    if not given.osv.exists():
        parser.error(f"--osv is {given.osv}; it should be a zip file or a folder of OSV records")
    return audit(given.osv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
