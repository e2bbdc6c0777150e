"""Compile the proofs and compare what they state and assume.

Every definition and theorem of the files in _CoqProject is printed by Coq itself, each theorem with the axioms that
it rests on, and the text must be that of checked.txt; --write makes that text anew, for a reader to look through.
With --optional a machine without Coq is no fault. Standard library only.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = "coq libcoq-mathcomp-algebra libcoq-mathcomp-real-closed"
ADVICE = f"On Debian and Ubuntu: apt-get install {PACKAGES}"
VERSIONS = "Coq 8.16 and MathComp 1.15"
CLOSED = "Closed under the global context"  # what Coq says of a theorem that rests on no axiom
# Words by which a proof is left out, an axiom added or a check of the kernel turned off.
GAPS = re.compile(
    r"\b(?:Admitted|admit|give_up|Abort|Axioms?|Conjecture|Parameters?|bypass_check|type_in_type)\b"
    r"|\bUnset\s+\w+\s+Checking\b"
)
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
NAMED = re.compile(r"^(Theorem|Definition|Record|Fixpoint) (\w+)", re.MULTILINE)
QUIET = ("-q", "-w", "-notation-overridden,-ambiguous-paths")


def missing() -> list[str]:
    """What of Coq and its libraries is not here."""
    coqc = shutil.which("coqc")
    if coqc is None:
        return ["coqc"]
    where = subprocess.run(
        [coqc, "-where"], capture_output=True, text=True, check=False
    ).stdout.strip()
    library = Path(where) / "user-contrib" / "mathcomp"
    parts = {
        "MathComp": "algebra/all_algebra.vo",
        "MathComp's real-closed fields": "real_closed/complex.vo",
    }
    return [name for name, part in parts.items() if not (library / part).exists()]


def files(folder: Path = HERE) -> list[str]:
    """The names of the files with proofs, in the order in which they need each other."""
    return re.findall(
        r"^(\w+)\.v$", (folder / "_CoqProject").read_text(encoding="utf-8"), re.MULTILINE
    )


def named(folder: Path, file: str) -> list[tuple[str, str]]:
    """The kind and the name of everything that a file defines or states as a theorem."""
    text = COMMENT.sub("", (folder / f"{file}.v").read_text(encoding="utf-8"))
    return [(found[1], found[2]) for found in NAMED.finditer(text)]


def gaps(folder: Path = HERE) -> list[str]:
    """Words in the files, comments apart, that leave something unproved."""
    texts = {
        file: COMMENT.sub("", (folder / f"{file}.v").read_text(encoding="utf-8"))
        for file in files(folder)
    }
    return [
        f"{file}.v: {found[0]}" for file, text in texts.items() for found in GAPS.finditer(text)
    ]


def coqc(folder: Path, file: str) -> str:
    """Compile one file; what it prints. Raises RuntimeError with Coq's message."""
    command = ["coqc", *QUIET, "-R", ".", "GQ", f"{file}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{file}.v: {done.stderr.strip()}")
    return done.stdout


def build(folder: Path, work: Path) -> None:
    """Compile copies of the files in the folder `work`."""
    for file in files(folder):
        shutil.copyfile(folder / f"{file}.v", work / f"{file}.v")
        coqc(work, file)


def tell(folder: Path, work: Path) -> str:
    """Let Coq print every definition, theorem and assumption of what was built in `work`."""
    order = files(folder)
    lines = ["From mathcomp Require Import all_ssreflect all_algebra complex."]
    lines += [
        f"From GQ Require Import {' '.join(order)}.",
        "Import GRing.Theory.",
        "Local Open Scope ring_scope.",
    ]
    lines += ["Set Printing Width 110.", "Unset Printing Implicit Defensive."]
    for file in order:
        lines += [f'Goal True. idtac "==== {file}.v". Abort.']
        for kind, item in named(folder, file):
            told = f"Check @{file}.{item}. Print Assumptions {file}.{item}."
            lines += [told if kind == "Theorem" else f"Print {file}.{item}."]
    (work / "Told.v").write_text("\n".join([*lines, ""]), encoding="utf-8")
    # What Coq adds about implicit arguments and at the ends of lines says nothing to a reader.
    kept = [
        line.rstrip()
        for line in coqc(work, "Told").splitlines()
        if not line.startswith("Arguments ")
    ]
    return re.sub(r"\n{2,}", "\n", "\n".join([*kept, ""]))


def main(arguments: list[str]) -> int:
    """Check for Coq, compile, compare, and say in a line how it went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--optional", action="store_true", help="no fault where Coq is missing")
    parser.add_argument("--write", action="store_true", help="write checked.txt anew")
    given = parser.parse_args(arguments)
    lacking = missing()
    if lacking:
        word = "skipped: they need" if given.optional else "The proofs need"
        text = f"{word} {' and '.join(lacking)}, not found here. {ADVICE}"
        print(f"proofs {text}" if given.optional else text, file=sys.stderr)
        return 0 if given.optional else 1
    found = gaps()
    if found:
        print("\n".join(["The proofs have gaps:", *found]), file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory() as work:
            build(HERE, Path(work))
            text = tell(HERE, Path(work))
    except RuntimeError as error:
        print(
            f"Coq does not accept the proofs, which were written for {VERSIONS}. {error}",
            file=sys.stderr,
        )
        return 1
    record = HERE / "checked.txt"
    if given.write:
        record.write_text(text, encoding="utf-8")
    if not record.exists() or text != record.read_text(encoding="utf-8"):
        print(
            f"proofs/checked.txt differs from what {VERSIONS} print: see `proofs/check.py --write`.",
            file=sys.stderr,
        )
        return 1
    theorems = sum(kind == "Theorem" for file in files() for kind, _ in named(HERE, file))
    if text.count(CLOSED) != theorems:
        print("A theorem rests on an axiom: see proofs/checked.txt.", file=sys.stderr)
        return 1
    print(f"{theorems} theorems in {len(files())} files proved; none rests on an axiom.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
