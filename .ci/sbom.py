"""Write a software bill of materials: every package in requirements.lock, as CycloneDX JSON.

    python .ci/sbom.py [FILE]            the default is _build/sbom.cdx.json

The lock has names, versions, markers and SHA-256 hashes; licences are what installed packages say of themselves
(`licences.py`). The same lock gives the same bytes: the serial number is a digest, and there is no time stamp.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from licences import LOCK, PINNED, declared

HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
WHERE = LOCK.parent / "_build" / "sbom.cdx.json"


def components(text: str) -> list[dict[str, Any]]:
    """One entry for each package of a lock file."""
    found = []
    pinned = list(PINNED.finditer(text))
    for entry, following in zip(pinned, [*pinned[1:], None], strict=True):
        name, version, marker = entry.groups()
        block = text[entry.start() : following.start() if following else len(text)]
        found.append(
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name.lower()}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name.lower()}@{version}",
                "hashes": [
                    {"alg": "SHA-256", "content": digest} for digest in sorted(HASH.findall(block))
                ],
                "licenses": [{"license": {"name": licence(name)}}] if licence(name) else [],
                "properties": [{"name": "python:marker", "value": marker}] if marker else [],
            }
        )
    return found


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
        "components": components(text),
    }


def main(arguments: list[str]) -> int:
    """Write the bill and say where it is."""
    path = Path(arguments[0]) if arguments else WHERE
    path.parent.mkdir(parents=True, exist_ok=True)
    made = bill(LOCK.read_text(encoding="utf-8"))
    path.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(made['components'])} packages: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
