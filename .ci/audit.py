"""Hold the packages of requirements.lock against a database of known vulnerabilities on this machine.

    python .ci/audit.py DATABASE

DATABASE is a zip file or a folder of OSV records (the export for the Python index that OSV publishes, ``all.zip``);
without one the script says that it could not check, and ends with 0. It ends with 1 if a package is affected.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

sys.path.insert(0, str(Path(__file__).resolve().parent))
from licences import LOCK, PINNED


def records(database: Path) -> Iterator[dict[str, Any]]:
    """The records of a zip file or folder."""
    if database.is_dir():
        for path in sorted(database.glob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))
        return
    with zipfile.ZipFile(database) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def affects(record: dict[str, Any], name: str, version: str) -> bool:
    """Whether a record says that this version of a package is affected."""
    for entry in record.get("affected", []):
        package = entry.get("package", {})
        if package.get("ecosystem") != "PyPI" or canonicalize_name(
            package.get("name", "")
        ) != canonicalize_name(name):
            continue
        if version in entry.get("versions", []):
            return True
        spans = (span["events"] for span in entry.get("ranges", []) if span["type"] == "ECOSYSTEM")
        if any(_inside(events, version) for events in spans):
            return True
    return False


def _inside(events: list[dict[str, str]], version: str) -> bool:
    """Whether a version lies in a range given by events, which are in order."""
    try:
        here, inside = Version(version), False
        for event in events:
            for kind, bound in event.items():
                edge = Version(bound)
                if kind == "introduced" and here >= edge:
                    inside = True
                if (kind == "fixed" and here >= edge) or (kind == "last_affected" and here > edge):
                    inside = False
    except InvalidVersion:
        return False
    return inside


def main(arguments: list[str]) -> int:
    """Print what is affected."""
    given = arguments[0] if arguments else os.environ.get("GQ_OSV", "")
    if not given or not Path(given).exists():
        print(
            "not checked for known vulnerabilities: there is no local database (see .ci/audit.py)"
        )
        return 0
    packages = [
        (name, version) for name, version, _ in PINNED.findall(LOCK.read_text(encoding="utf-8"))
    ]
    wanted = {canonicalize_name(name) for name, _ in packages}
    seen, found = 0, []
    for record in records(Path(given)):
        seen += 1
        names = {
            canonicalize_name(entry.get("package", {}).get("name", ""))
            for entry in record.get("affected", [])
        }
        if names & wanted and not record.get("withdrawn"):
            found += [
                f"{name} {version}: {record['id']} {record.get('summary', '')}".rstrip()
                for name, version in packages
                if affects(record, name, version)
            ]
    print(
        *found,
        f"{len(packages)} packages, {seen} records, {len(found)} known vulnerabilities",
        sep="\n",
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
