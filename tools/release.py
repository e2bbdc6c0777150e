"""Build a release, two times, and compare.

Into one folder go the wheel and the source archive, the HTML book (zipped), the PDF
edition with the library's reference, the article, the EPUB, the data and the software bill of materials, and
SHA256SUMS. All is built again elsewhere, and what comes out with other bytes is named. Dates inside the files are that
of CITATION.cff (XeTeX heeds them too). What a tool is missing for is left out, and that is said. No network is used.
A size on the first page of the book that is no longer true is named as well.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import yaml

import wheels

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book"))
import pdf  # noqa: E402

WHERE = ROOT / "_build" / "release"
SUMS = "SHA256SUMS"
SIZE = re.compile(r"\| `(?:make|python) ([\w/. -]+)` \| ([\d.]+)\sMB \|$", re.MULTILINE)
FREE = 0.2  # how far, as a share, a size may be from what the first page says


class Failure(Exception):
    """A part could not be built."""


def epoch() -> int:
    """The date of the version, in seconds since 1970."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return int(datetime.fromisoformat(str(cited["date-released"])).replace(tzinfo=UTC).timestamp())


def call(*command: str | Path) -> None:
    """Run a command of the project; raise with its last words where it fails."""
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": str(epoch()),
        "FORCE_SOURCE_DATE": "1",
        "PYTHONHASHSEED": "0",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failure(f"{Path(str(command[1])).name}: {(done.stderr or done.stdout)[-1500:]}")


def zipped(folder: Path, archive: Path) -> None:
    """Pack a folder, sorted, with one date for all files."""
    when = time.gmtime(epoch())[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{archive.stem}/{path.relative_to(folder).as_posix()}", when)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, path.read_bytes(), compresslevel=9)


def plain_archive(path: Path) -> None:
    """Write a source archive again: sorted, with one date and no owner."""
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(path) as packed:
            packed.extractall(place, filter="data")
        inner = Path(place) / "inner.tar"
        with tarfile.open(inner, "w", format=tarfile.PAX_FORMAT) as again:
            for file in sorted(one for one in Path(place).rglob("*") if one != inner):
                again.add(file, file.relative_to(place).as_posix(), recursive=False, filter=_plain)
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch()) as compressed:
            compressed.write(inner.read_bytes())


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime, entry.uid, entry.gid = epoch(), 0, 0
    entry.uname, entry.gname, entry.pax_headers = "", "", {}
    return entry


def packages(folder: Path) -> None:
    """The wheel, and the source archive it is built from."""
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch())
    with tempfile.TemporaryDirectory() as place:
        wheel = wheels.build(Path(place))
        (archive,) = Path(place).glob("*.tar.gz")
        plain_archive(archive)
        for made in (wheel, archive):
            shutil.copyfile(made, folder / made.name)


def website(folder: Path) -> None:
    """The HTML book, to be unpacked and opened."""
    with tempfile.TemporaryDirectory() as place:
        tool = Path(sys.executable).with_name("jupyter-book")
        options = ["-W", "--keep-going", "-n", "--quiet", "--path-output"]
        call(tool, "build", "book", *options, place)
        shutil.rmtree(Path(place) / "_build" / "html" / ".doctrees", ignore_errors=True)
        zipped(Path(place) / "_build" / "html", folder / "gqlib-book-html.zip")


def script(command: str, *made: str) -> Callable[[Path], None]:
    """A part that a script of the book builds into a folder of its own."""
    path, *options = command.split()

    def build(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as place:
            call(sys.executable, str(ROOT / path), *options, place)
            for name in made:
                shutil.copyfile(Path(place) / name, folder / name)

    return build


def bill(folder: Path) -> None:
    """The software bill of materials."""
    call(sys.executable, str(ROOT / "tools" / "sbom.py"), str(folder / "gqlib.cdx.json"))


PAPERS = (pdf.NAME, pdf.REFERENCE, pdf.ARTICLE)
PARTS: dict[str, Callable[[Path], None]] = {
    "packages": packages,
    "book": website,
    "pdf": script("book/pdf.py --all", *(f"{one}.pdf" for one in PAPERS), f"{pdf.ARTICLE}.tex"),
    "epub": script("book/epub.py", f"{pdf.NAME}.epub"),
    "data": script("tools/data.py", "gqlib-data.zip"),
    "sbom": bill,
}


# What each command makes of it, by the endings of the files.
MADE = {
    "book/pdf.py --article": (f"{pdf.ARTICLE}.pdf", f"{pdf.ARTICLE}.tex"),
    "book/pdf.py": (f"{pdf.NAME}.pdf", f"{pdf.REFERENCE}.pdf"),
    "book/epub.py": (f"{pdf.NAME}.epub",),
    "tools/data.py": ("gqlib-data.zip",),
    "release": ("",),
}


def misjudged(folder: Path, page: str) -> list[str]:
    """The sizes on the first page of the book that those of the files in the folder contradict."""
    found = []
    for command, said in SIZE.findall(page):
        sizes = [
            path.stat().st_size for path in folder.iterdir() if path.name.endswith(MADE[command])
        ]
        true = sum(sizes) / 1e6
        if sizes and abs(true - float(said)) > FREE * true:
            found.append(
                f"book/index.md: {command} is said to give {said} MB, and gives {true:.1f}"
            )
    return found


def build(folder: Path, parts: dict[str, Callable[[Path], None]]) -> dict[str, str]:
    """Build the parts into the folder, one after the other; return those that failed, and why."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = {}
    for name, part in parts.items():
        if name == "pdf" and pdf.missing():
            failed[name] = f"TeX is missing. {pdf.ADVICE}"
            continue
        begin = time.monotonic()
        try:
            part(folder)
        except (Failure, RuntimeError) as error:
            failed[name] = str(error)
        else:
            print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    return failed


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def compared(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """What differs from one build to the other."""
    names = sorted(first.keys() | second.keys())
    return [
        f"{name}: not the same bytes twice" for name in names if first.get(name) != second.get(name)
    ]


def checked(folder: Path) -> str:
    """What twine says about the packages."""
    try:
        import twine  # noqa: F401
    except ImportError:
        return "twine check: left out, twine is missing: python -m pip install twine"
    files = [str(path) for path in folder.iterdir() if path.suffix in (".whl", ".gz")]
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failure(f"twine check: {done.stdout}{done.stderr}")
    return f"twine check --strict: {len(files)} files pass"


def main(arguments: list[str]) -> int:
    """Build, check, build again, compare, tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=WHERE, help="_build/release")
    parser.add_argument("--once", action="store_true", help="do not build it again to compare")
    given = parser.parse_args(arguments)
    folder = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    failed = build(folder, PARTS)
    try:
        if "packages" not in failed:
            print(checked(folder))
    except Failure as error:
        failed["twine"] = str(error)
    sums = digests(folder)
    (folder / SUMS).write_text(
        "".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8"
    )
    if not given.once:
        with tempfile.TemporaryDirectory() as place:
            again = build(
                Path(place), {name: part for name, part in PARTS.items() if name not in failed}
            )
            failed |= {f"{name}, the second time": why for name, why in again.items()}
            lines = compared(sums, digests(Path(place)))
        print("\n".join(lines) or "built twice: the same bytes")
    for name, digest in sums.items():
        print(f"{digest[:12]}  {(folder / name).stat().st_size / 1e6:6.1f} MB  {name}")
    if not failed:
        print(
            "\n".join(misjudged(folder, (ROOT / "book" / "index.md").read_text(encoding="utf-8")))
        )
    for name, why in failed.items():
        print(f"{name} is missing from the release: {why}", file=sys.stderr)
    print(f"The release is in {folder}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
