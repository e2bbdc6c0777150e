from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st

from gqlib.sweeps.results import load_results, save_results
from gqlib.sweeps.store import (
    DamagedFile,
    Store,
    StoreError,
    canonical_json,
    pack,
    read_file,
    unpack,
    write_file,
)

HEADER = {"seed": 7, "setting": {"sigma": 0.5, "target": "greedy", "values": [1, 2]}}
ARRAYS = {
    "steps": np.arange(12, dtype=np.uint16).reshape(3, 4),
    "diverged": np.array([True, False, True]),
    "label": np.array(["σ", "lam"]),
    "score": np.array([0.1, np.inf, np.nan]),
}


@pytest.mark.parametrize("compact", [False, True])
def test_what_is_packed_is_unpacked_with_type_and_shape(compact: bool) -> None:
    header, arrays = unpack(pack(HEADER, ARRAYS, compact=compact))
    assert header == HEADER
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize("compact", [False, True])
def test_bytes_depend_on_the_content_alone(compact: bool) -> None:
    first = pack(HEADER, ARRAYS, compact=compact)
    shuffled = {
        name: np.asfortranarray(ARRAYS[name].astype(ARRAYS[name].dtype.newbyteorder(">")))
        for name in reversed(ARRAYS)
    }
    assert pack(dict(reversed(HEADER.items())), shuffled, compact=compact) == first
    assert pack(HEADER | {"seed": 8}, ARRAYS, compact=compact) != first


def test_bytes_are_those_of_every_other_machine() -> None:
    """A change of this digest means that the committed results can no longer be made again byte for byte."""
    import hashlib

    data = pack({"seed": 1}, {"steps": np.arange(5000, dtype=np.int32) % 17}, compact=True)
    assert hashlib.sha256(data).hexdigest() == (
        "de494898f86f828f2c753a37df47ea1dcd222711ca6d4200accd05812c8edea9"
    )


def test_an_archive_is_a_plain_npz(tmp_path: Path) -> None:
    write_file(tmp_path / "a.npz", pack(HEADER, ARRAYS, compact=True))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["steps"], ARRAYS["steps"])
        assert archive["header.json"].decode() == canonical_json(HEADER)


def test_objects_and_infinite_headers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'names'.*object"):
        pack({}, {"names": np.array([{}, None], dtype=object)})
    with pytest.raises(ValueError, match="JSON"):
        pack({"sigma": float("nan")}, {})
    for name in ("a/b", "..\\a", "c:a", "", 3):  # names that `unpack` would refuse
        with pytest.raises(ValueError, match="arrays has the name"):
            pack({}, {name: np.zeros(2)})


@given(cut=st.integers(0, 10**9))
def test_every_truncation_is_detected(cut: int) -> None:
    data = pack(HEADER, ARRAYS)
    with pytest.raises(ValueError, match="does not match its digest"):
        unpack(data[: cut % len(data)])


@given(place=st.integers(0, 10**9), change=st.integers(1, 255))
def test_every_altered_byte_is_detected(place: int, change: int) -> None:
    data = bytearray(pack(HEADER, ARRAYS))
    data[place % len(data)] ^= change
    with pytest.raises(ValueError, match="does not match its digest"):
        unpack(bytes(data))


def test_foreign_files_are_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    np.savez(store.path("numpy"), steps=np.arange(3))
    store.path("text").write_text("not an archive at all")
    store.path("empty").write_bytes(b"")
    store.path("directory").mkdir()
    for name in ("numpy", "text", "empty", "directory"):
        for look in (store.get, store.has):
            with pytest.raises(DamagedFile, match=name) as caught:
                look(name, HEADER)
            assert caught.value.path == store.path(name)
            if name != "directory":
                assert caught.value.reason == (
                    "the content of the data does not match its digest (truncated, altered or foreign)"
                )


def test_a_whole_file_of_another_task_is_not_trusted(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("a", HEADER, ARRAYS)
    os.rename(store.path("a"), store.path("b"))
    for look in (store.get, store.has):
        with pytest.raises(DamagedFile, match="another task"):
            look("b", HEADER | {"seed": 8})
    assert store.has("b", HEADER)
    assert store.get("a", HEADER) is None
    assert not store.has("a", HEADER)


def test_an_archive_with_right_digest_and_wrong_content_is_damaged(tmp_path: Path) -> None:
    import hashlib
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * 64
        archive.writestr("other.txt", "no header")
    body = buffer.getvalue()[:-64]
    (tmp_path / "x.npz").write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(DamagedFile, match=r"other\.txt"):
        read_file(tmp_path / "x.npz")


def test_a_full_disk_is_reported_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    store.put("a", HEADER, {"steps": np.arange(3)})
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) < 200:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:100])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match=r"cannot write .*a\.npz: the disk is full"):
            store.put("a", HEADER, ARRAYS)
    assert os.listdir(tmp_path) == ["a.npz"]
    np.testing.assert_array_equal(store.get("a", HEADER)["steps"], np.arange(3))


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    write_file(tmp_path / "a.npz", pack(HEADER, ARRAYS))
    assert read_file(tmp_path / "a.npz")[0] == HEADER


def test_a_file_is_flushed_before_it_gets_its_name_and_the_directory_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor: int) -> None:
        calls.append("directory" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        real_sync(descriptor)

    def replace(source: Path, target: Path) -> None:
        assert source.parent == target.parent
        calls.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    write_file(tmp_path / "a.npz", b"data")
    assert calls == ["file", "rename", "directory"]


def test_a_file_that_is_being_written_is_left_alone_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        os.utime(source, (time.time() - 7200,) * 2)
        Store(tmp_path)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    write_file(tmp_path / "a.npz", b"data")
    assert (tmp_path / "a.npz").read_bytes() == b"data"


KILLED = """
import os, sys
from pathlib import Path
from gqlib.sweeps.store import write_file
os.replace = lambda *paths: os.kill(os.getpid(), 9)
write_file(Path(sys.argv[1]), b"half")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/pid"), reason="looks into /proc")
def test_what_a_killed_process_leaves_is_removed_by_those_that_know(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.npz"], check=False)
    assert ended.returncode == -signal.SIGKILL
    (mine,) = tmp_path.iterdir()
    *_, mark, pid, token = mine.name.rsplit("-", 3)
    others = (
        f".partial-b-{'0' * 12}-{pid}-{token}",  # of another machine, or of another container
        f".partial-c-{mark}-{os.getpid()}-{token}",  # of a process that goes on
        f".partial-d-{mark}-{'9' * 30}-{token}",
        ".partial-e.npz-1-00",  # of an earlier edition
    )
    for name in others:
        (tmp_path / name).write_bytes(b"half")
    Store(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(others)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which take no time."""
    seconds: list[float] = []
    monkeypatch.setattr("gqlib.sweeps.store.pause", seconds.append, raising=False)
    return seconds


def refusing(monkeypatch: pytest.MonkeyPatch, name: str, times: int, number: int) -> None:
    """Let a function of the system fail a few times."""
    real, left = getattr(os, name), [times]

    def refuse(*arguments: object, **keywords: object) -> object:
        if left[0]:
            left[0] -= 1
            raise OSError(number, os.strerror(number))
        return real(*arguments, **keywords)

    monkeypatch.setattr(os, name, refuse)


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EBUSY, errno.EIO], ids=os.strerror)
@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
def test_a_bad_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: list[float], name: str, number: int
) -> None:
    with monkeypatch.context() as patch:
        refusing(patch, name, 4, number)
        write_file(tmp_path / "a.npz", b"data")
    assert waited == sorted(waited)
    assert len(waited) == 4
    assert (tmp_path / "a.npz").read_bytes() == b"data"
    with monkeypatch.context() as patch:
        refusing(patch, name, 5, number)
        with pytest.raises(StoreError, match=os.strerror(number)):
            write_file(tmp_path / "a.npz", b"other")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.npz": b"data"}
    assert len(waited) == 8


def test_what_does_not_pass_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: list[float]
) -> None:
    refusing(monkeypatch, "write", 1, errno.EROFS)
    with pytest.raises(StoreError, match="Read-only"):
        write_file(tmp_path / "a.npz", b"data")
    assert waited == []


@pytest.mark.parametrize("before", [None, b"data", b"old"])
@pytest.mark.parametrize("number", [errno.ENOENT, errno.EIO], ids=os.strerror)
def test_a_rename_whose_reply_was_lost_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: list[float], number: int, before: bytes
) -> None:
    """A server renames, its reply is lost, and asked again it has no such file."""
    path, real = tmp_path / "a.npz", os.replace
    if before:
        path.write_bytes(before)

    def replace(source: Path, target: Path) -> None:
        real(source, target)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", replace)
    write_file(path, b"data")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.npz": b"data"}
    assert waited == []


def test_what_cannot_be_read_for_a_moment_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: list[float]
) -> None:
    store = Store(tmp_path)
    store.put("a", HEADER, ARRAYS)
    refusing(monkeypatch, "listdir", 1, errno.ESTALE)
    assert store.names() == ["a"]
    for look in (store.has, store.get):
        with monkeypatch.context() as patch:
            refusing(patch, "stat", 1, errno.ESTALE)
            assert look("a", HEADER)
    assert len(waited) == 3


def test_a_directory_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the directory"):
        Store(tmp_path / "file" / "store")
    with pytest.raises(StoreError, match="cannot make the directory"):
        save_results(tmp_path / "file" / "a.npz", xarray.Dataset())
    with pytest.raises(StoreError, match=r"cannot write .*b\.npz"):
        write_file(tmp_path / "none" / "b.npz", b"")


def example() -> xarray.Dataset:
    return xarray.Dataset(
        {
            "score": (("setting", "run"), np.arange(6, dtype=np.int32).reshape(2, 3)),
            "capped": (("setting", "run"), np.array([[True, False, True]] * 2)),
        },
        coords={
            "sigma": ("setting", [0.0, 0.5]),
            "target": ("setting", ["greedy", "ε"]),
            "run": np.arange(3),
        },
        attrs={"seed": 7, "settings": "[]"},
    )


def test_datasets_come_back_identical_and_byte_for_byte(tmp_path: Path) -> None:
    first = save_results(tmp_path / "made" / "here" / "a.npz", example())
    loaded = load_results(first)
    assert loaded.identical(example())
    assert save_results(tmp_path / "b.npz", loaded).read_bytes() == first.read_bytes()


def test_a_damaged_result_is_not_loaded(tmp_path: Path) -> None:
    path = save_results(tmp_path / "a.npz", example())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFile, match=r"a\.npz"):
        load_results(path)
    write_file(path, pack(HEADER, ARRAYS))
    with pytest.raises(DamagedFile, match="holds no dataset"):
        load_results(path)
    with pytest.raises(FileNotFoundError):
        load_results(tmp_path / "none.npz")


def test_a_directory_that_went_away_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.directory.rmdir()
    with pytest.raises(
        StoreError, match=r"cannot list the directory .*store: No such file or directory"
    ):
        store.names()


def test_names_are_those_of_archives_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name in ("a.npz", "b.npz.npz", "failures.txt", ".partial-c.npz-1-00", "npz"):
        (tmp_path / name).write_bytes(b"")
    assert sorted(store.names()) == ["a", "b.npz"]


def test_what_is_no_file_is_said_to_be_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.path("d").mkdir()
    with pytest.raises(DamagedFile, match=r"d\.npz: cannot be read: it is no regular file$"):
        read_file(store.path("d"))
    with pytest.raises(
        DamagedFile, match=r"d\.npz: cannot be read: it is no regular file$"
    ) as caught:
        store.has("d", HEADER)
    assert caught.value.reason == "cannot be read: it is no regular file"
    with pytest.raises(ValueError, match=r"path is '\.'; it should name a file"):
        write_file(Path(), b"")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    import hashlib
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * 64
        archive.writestr("header.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("header.json", "{}")
    body = buffer.getvalue()[:-64]
    with pytest.raises(
        ValueError, match=r"the archive has a member 'header\.json'; pack writes no such member"
    ):
        unpack(body + hashlib.sha256(body).hexdigest().encode())


def test_json_is_written_in_one_form_or_refused_with_the_value() -> None:
    assert (
        canonical_json({"b": [1, 2.5], "a": {"d": None, "c": True}})
        == '{"a":{"c":true,"d":null},"b":[1,2.5]}'
    )
    with pytest.raises(
        ValueError, match=r"header or value is \{1, 2\}; JSON should hold it \(Object of type set"
    ):
        canonical_json({1, 2})
    with pytest.raises(
        ValueError, match=r"header or value is inf; JSON should hold it \(Out of range"
    ):
        canonical_json(float("inf"))


def test_members_are_plain_files_without_a_time(tmp_path: Path) -> None:
    write_file(tmp_path / "a.npz", pack({"seed": 7}, {"y": np.arange(2), "x": np.arange(3)}))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        infos = archive.infolist()
    assert [info.filename for info in infos] == ["header.json", "x.npy", "y.npy"]
    for info in infos:
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert info.create_system == 3
        assert info.external_attr == 0o100644 << 16
        assert info.compress_type == zipfile.ZIP_STORED


@pytest.mark.parametrize("kind", ["is_char_device", "is_block_device"])
def test_a_device_is_not_replaced_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whoever may do anything would lose /dev/null for the name of a result; here a file plays the device."""
    place = tmp_path / "null"
    place.write_bytes(b"device")
    monkeypatch.setattr(Path, kind, lambda path: path == place)
    with pytest.raises(StoreError, match=r"cannot write .*null: it is a device"):
        write_file(place, b"7")
    assert place.read_bytes() == b"device"
    assert os.listdir(tmp_path) == ["null"]


@pytest.mark.parametrize("name", ["a/b", "a.npy/b", "a.npy\\b", "a.npy:b", "a.npy\0b", "../a", ""])
def test_no_array_is_stored_under_a_name_that_could_not_be_read_again(name):
    with pytest.raises(
        ValueError, match=r"^arrays has the name .*; it should be text without / \\ : and NUL$"
    ):
        pack({}, {name: np.zeros(1)})


def test_what_is_unpacked_is_the_callers_to_change():
    """Bytes cannot be changed, and an array that looks at them could not be either."""
    _, arrays = unpack(pack({}, {"steps": np.arange(3)}))
    arrays["steps"] += 1
    assert arrays["steps"].tolist() == [1, 2, 3]


def test_an_archive_that_ends_before_its_members_is_refused_with_a_reason():
    """zipfile raises an EOFError without a word about a member that is shorter than the archive says."""
    import hashlib
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * 64
        archive.writestr("header.json", "{}")
    body = bytearray(buffer.getvalue()[:-64])
    entry = body.rindex(
        b"PK\x01\x02"
    )  # in the directory at the end, with the sizes 20 and 24 bytes further on
    for place in (entry + 20, entry + 24):
        body[place : place + 4] = (10_000).to_bytes(4, "little")
    with pytest.raises(
        ValueError, match=r"^the member 'header.json' is not in a place of its own$"
    ):
        unpack(bytes(body) + hashlib.sha256(body).hexdigest().encode())
