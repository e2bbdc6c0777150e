"""Build the EPUB edition, by jupyter-book and book/_ext/epub_edition.py.

Where epubcheck is on the PATH (Debian has it), the file is checked, and a fault fails the build; where it is not, that
is said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "gradient-q-sigma-lambda"  # as in book/_ext/epub_edition.py
EPOCH = "315532800"  # 1980-01-01: the date inside, unless SOURCE_DATE_EPOCH names another


def faults(path: Path) -> list[str] | None:
    """What epubcheck finds wrong with the file; None where it is not installed."""
    tool = shutil.which("epubcheck")
    if tool is None:
        return None
    # Debian installs an archive of Java that calls itself a program, which not every system believes.
    with Path(tool).open("rb") as opened:
        command = ["java", "-jar", tool] if opened.read(2) == b"PK" else [tool]
    done = subprocess.run([*command, "--quiet", path], capture_output=True, text=True, check=False)
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if line.startswith(("ERROR", "FATAL", "WARNING"))
    ]
    return said or ([done.stdout + done.stderr] if done.returncode else [])


def main(arguments: list[str]) -> int:
    """Build, check, and say where the file is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "epub")
    folder = parser.parse_args(arguments).folder.resolve()
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "book"]
    command += [
        "--builder",
        "custom",
        "--custom-builder",
        "epub",
        "-W",
        "--keep-going",
        "-n",
        "--quiet",
    ]
    command += ["--path-output", str(folder)]
    environment = {"SOURCE_DATE_EPOCH": EPOCH} | os.environ
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        print("jupyter-book could not turn the book into an EPUB, see above", file=sys.stderr)
        return 1
    made = folder / f"{NAME}.epub"
    shutil.copyfile(folder / "_build" / "epub" / made.name, made)
    found = faults(made)
    if found:
        print(
            "\n".join([f"epubcheck has found {len(found)} faults in {made}:", *found[:40]]),
            file=sys.stderr,
        )
        return 1
    checked = "epubcheck has no complaint"
    if found is None:
        checked = "not checked; epubcheck does it: on Debian and Ubuntu, apt-get install epubcheck"
    print(f"The EPUB edition is at {made} ({checked})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
