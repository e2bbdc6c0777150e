"""Say which committed numbers moved since they were frozen: `python tools/freeze.py [--write]`.

Frozen are the digests of every array in `results/` and of every output in the records of the chapters, in the order of
a page. `--write` freezes what is there; without it, what differs is listed: an array by its file and name, an output by
its chapter, cell and kind. Ends with 1 where something differs, so that a change of structure can show that it moved
no number, and a change of numbers which ones.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import zipfile
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FROZEN = ROOT / "tools" / "frozen.json"
LETTERS = 16  # of a digest: enough to tell a few thousand things apart


def digest(data: bytes) -> str:
    """The first letters of the SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()[:LETTERS]


def arrays(path: Path) -> dict[str, str]:
    """The digest of each array of a result, by its name: kind, shape and bytes, whatever packs them."""
    if path.suffix != ".npz":
        return {"": digest(path.read_bytes())}
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            data = archive.read(name)
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(data), allow_pickle=False)
                data = f"{array.dtype.str} {array.shape}".encode() + array.tobytes()
            found[name.removesuffix(".npy")] = digest(data)
    return found


def outputs(path: Path) -> list[list[str]]:
    """What each output of a record is, in order: the first line of its cell, its kind, its digest."""
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        lines = "".join(cell["source"]).splitlines()
        for output in cell.get("outputs", ()):
            pieces = output.get("data") or {
                output["output_type"]: output.get("text") or output.get("evalue", "")
            }
            for kind, value in sorted(pieces.items()):
                text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
                text = "".join(value) if isinstance(value, list) else text
                found.append([lines[0][:60] if lines else "", kind, digest(text.encode())])
    return found


def state() -> dict[str, Any]:
    """Everything that is frozen, as it is now."""
    files = [
        path for path in sorted((ROOT / "results").iterdir()) if path.suffix in (".npz", ".json")
    ]
    records = sorted((ROOT / "book").glob("**/*.ipynb"))
    return {
        "results": {path.name: arrays(path) for path in files},
        "records": {path.stem: outputs(path) for path in records if "_build" not in path.parts},
    }


def moved(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each difference of two states."""
    lines = []
    for name in sorted(before["results"].keys() | after["results"].keys()):
        old, new = (one["results"].get(name, {}) for one in (before, after))
        for array in sorted(old.keys() | new.keys()):
            if old.get(array) != new.get(array):
                what = (
                    "changed"
                    if array in old and array in new
                    else "gone"
                    if array in old
                    else "new"
                )
                lines.append(f"results/{name}: {array or 'file'}: {what}")
    for name in sorted(before["records"].keys() | after["records"].keys()):
        old, new = (one["records"].get(name, []) for one in (before, after))
        matcher = SequenceMatcher(
            a=[tuple(one[1:]) for one in old], b=[tuple(one[1:]) for one in new], autojunk=False
        )
        for what, first, last, start, end in matcher.get_opcodes():
            if what != "equal":
                lines += [f"{name}: - {cell!r} {kind}" for cell, kind, _ in old[first:last]]
                lines += [f"{name}: + {cell!r} {kind}" for cell, kind, _ in new[start:end]]
    return lines


def main() -> int:
    """Freeze, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="freeze what is there now")
    now = state()
    if parser.parse_args().write:
        text = json.dumps(now, ensure_ascii=False, separators=(",", ":"))
        FROZEN.write_text(
            text.replace('],["', '],\n["').replace('},"', '},\n"') + "\n", encoding="utf-8"
        )
        kinds = ", ".join(f"{sum(map(len, now[kind].values()))} in {kind}" for kind in now)
        print(f"frozen: {kinds}")
        return 0
    lines = moved(json.loads(FROZEN.read_text(encoding="utf-8")), now)
    print("\n".join(lines) or "no committed number moved")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
