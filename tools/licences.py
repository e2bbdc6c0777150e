"""List the licence of every package in requirements.lock, from what the installed packages say of themselves.

Ends with 1 if a package does not say, or names a licence that is not among the `FAMILIES`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)\s*(?:;\s*([^\\]*?))?\s*\\?$", re.MULTILINE)
# Licences that let us use what we install and pass it on, each by the words that tell it.
FAMILIES = {
    "MIT": r"\bMIT\b|\bMIT-CMU\b|Historical Permission Notice",
    "BSD": r"\bBSD\b|0BSD",
    "Apache": r"Apache",
    "MPL": r"\bMPL\b|Mozilla",
    "PSF": r"\bPSF\b|Python Software Foundation|CNRI-Python|\bPython-2",
    "ISC": r"\bISC\b",
    "zlib": r"\bZlib\b",
    "LGPL": r"\bLGPL\b|Lesser General Public",
    "public domain": r"Public Domain|Unlicense|CC0",
}


def locked(text: str) -> dict[str, str]:
    """Names in a lock file, with the platform or Python for which each is meant ('' for all)."""
    return {name: marker or "" for name, _, marker in PINNED.findall(text)}


def declared(package: Distribution) -> str:
    """What a package says its licence is: its expression, its classifiers, the old field, or how the text begins."""
    about = package.metadata
    lines = [line.split(" :: ") for line in about.get_all("Classifier") or []]
    classifiers = [line[-1] for line in lines if line[0] == "License"]
    named = re.compile(
        r"(LICEN[CS]E|COPYING)\w*(\.txt|\.md|\.rst)?", re.IGNORECASE
    )  # and no module of that name
    heads = (
        re.sub(r"\s+", " ", file.read_text().strip())[:60]
        for file in package.files or []
        if named.fullmatch(file.name)
    )
    field = (about.get("License") or "").strip().partition("\n")[0]
    return about.get("License-Expression") or " AND ".join(classifiers) or field or next(heads, "")


def families(text: str) -> list[str]:
    """The families that a licence names."""
    return [name for name, words in FAMILIES.items() if re.search(words, text)]


def main(arguments: list[str]) -> int:
    """Print a line for each package and a count for each family."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    counts: Counter[str] = Counter()
    for name, marker in locked(LOCK.read_text(encoding="utf-8")).items():
        try:
            package = distribution(name)
        except PackageNotFoundError:
            print(f"{name:32} not installed here ({marker or 'on every platform'})")
            continue
        text = declared(package)
        counts.update([" and ".join(families(text)) or "unknown"])
        print(f"{name:32} {package.version:16} {text or 'says nothing'}")
    print(*(f"{number:4} {name}" for name, number in counts.most_common()), sep="\n")
    return 1 if counts["unknown"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
