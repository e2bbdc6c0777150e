"""A file that somebody sends you chooses nothing: what it names is looked up, what it announces is checked, and the
rest is one clear error."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest
import xarray
from sweep_tasks import experiment

from gqlib.cli import main
from gqlib.control import ControlSetting
from gqlib.control.agent import Agent
from gqlib.control.gym import GymSetting
from gqlib.experiments.mountain_car import constant, control_grid
from gqlib.sweeps import names
from gqlib.sweeps.names import SweepError, look_up
from gqlib.sweeps.results import collect, load_results, recompute, save_results, verify_sample
from gqlib.sweeps.setting import Setting
from gqlib.sweeps.store import DamagedFile, Store, canonical_json, pack, read_file, unpack
from gqlib.sweeps.sweep import Experiment, run_sweep

CALLED: list[str] = []


@dataclass(frozen=True)
class Trap(Setting):
    """A setting whose making would be noticed."""

    command: str = ""

    def __post_init__(self) -> None:
        CALLED.append(self.command)


def trap(*arguments, **keywords):
    CALLED.append("trap")
    return {"x": np.zeros(1)}


@pytest.fixture(autouse=True)
def _nothing_was_called():
    CALLED.clear()
    yield
    assert CALLED == []


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> xarray.Dataset:
    settings = control_grid(constant(0.0, 1.0), episodes=(2,), max_steps=(50,))
    sweep = Experiment(
        "small", "Small", "control", settings, 2, 1, "1", runs_per_task=2, summary="control"
    )
    store = Store(tmp_path_factory.mktemp("store"))
    run_sweep(sweep, store)
    return collect(sweep, store)


def sent(dataset: xarray.Dataset, tmp_path, **attrs: object) -> xarray.Dataset:
    """The result as somebody else would send it, with other words in its header."""
    altered = dataset.copy(deep=True)
    altered.attrs |= attrs
    return load_results(save_results(tmp_path / "sent.npz", altered))


FOREIGN = [
    "os:system",
    "test_hostile_files:trap",
    "subprocess:run",
    "builtins:eval",
    "gqlib.cli:main",
    "pickle:loads",
]


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("field", ["function", "summary", "setting_type"])
def test_a_file_cannot_choose_what_is_imported_or_called(honest, tmp_path, field, name):
    evil = sent(honest, tmp_path, **{field: name})
    for act in (
        lambda: verify_sample(evil, 1, np.random.default_rng(0)),
        lambda: recompute(evil, 0, 0),
    ):
        with pytest.raises(SweepError, match=r"is not one of gqlib's; pass allow="):
            act()


def test_a_setting_of_a_file_is_made_by_the_class_of_its_runner_alone(honest, tmp_path):
    settings = json.dumps([{"command": "touch /tmp/x"}] * 2)
    evil = sent(honest, tmp_path, setting_type="test_hostile_files:Trap", settings=settings)
    with pytest.raises(SweepError, match="is not one of gqlib's"):
        recompute(evil, 0, 0)
    with pytest.raises(SweepError, match="cannot be made again"):
        recompute(sent(honest, tmp_path, settings=settings), 0, 0)


@pytest.mark.parametrize(
    ("attrs", "match"),
    [
        ({"settings": "[" * 100_000}, "cannot be made again"),
        ({"settings": "{}"}, "cannot be made again"),
        ({"settings": "[[1]]"}, "cannot be made again"),
        ({"settings": "[]"}, "cannot be made again"),
        ({"settings": 7}, "it should be a str"),
        ({"seed": "0"}, "it should be a int"),
        ({"seed": True}, "it should be a int"),
        ({"function": ["control"]}, "it should be a str"),
        ({"version": None}, "it should be a str"),
        ({"function": "no such runner"}, "it should be one of 'control'"),
        ({"function": "../control"}, "it should be one of 'control'"),
    ],
)
def test_words_of_the_wrong_kind_are_one_clear_error(honest, tmp_path, attrs, match):
    with pytest.raises(SweepError, match=match):
        recompute(sent(honest, tmp_path, **attrs), 0, 0)


def test_an_honest_file_is_verified_and_a_user_allows_his_own_by_name(honest, tmp_path):
    assert verify_sample(sent(honest, tmp_path), 2, np.random.default_rng(0)) > 0
    sweep, store = experiment(settings=1, runs=2), Store(tmp_path / "store")
    run_sweep(sweep, store)
    own = load_results(save_results(tmp_path / "own.npz", collect(sweep, store)))
    with pytest.raises(SweepError, match=r"allow=\['sweep_tasks:toy'\]"):
        recompute(own, 0, 0)
    with pytest.raises(SweepError, match=r"allow=\['sweep_tasks:Toy'\]"):
        recompute(own, 0, 0, allow=["sweep_tasks:toy"])
    assert (
        verify_sample(
            own, 1, np.random.default_rng(0), allow=["sweep_tasks:toy", "sweep_tasks:Toy"]
        )
        > 0
    )
    with pytest.raises(ValueError, match="it should be a list of names"):
        recompute(own, 0, 0, allow="sweep_tasks:toy")


def test_a_gymnasium_name_that_imports_a_module_is_asked_for(tmp_path):
    """Gymnasium imports the part before a colon."""
    setting = GymSetting("some_module:Env-v0", episodes=1, max_steps=1)
    dataset = xarray.Dataset(
        {"returns": (("setting", "run"), [[0.0]])},
        coords={"key": ("setting", [setting.key])},
        attrs={
            "name": "gym", "title": "", "function": "gym", "summary": "everything", "seed": 1, "version": "1",
            "setting_type": "gym", "settings": json.dumps([{"env": setting.env, "episodes": 1, "max_steps": 1}]),
        },
    )  # fmt: skip
    with pytest.raises(SweepError, match="imports 'some_module:Env-v0'; pass allow="):
        recompute(dataset, 0, 0)
    assert GymSetting("CartPole-v1").imported == ControlSetting().imported == ()


def test_everything_in_the_table_is_there_and_ours():
    for kind, table in names.TABLE.items():
        for name, path in table.items():
            assert ":" not in name
            assert path.startswith("gqlib.")
            assert look_up(kind, name).__module__.startswith("gqlib.")
    for kind, former in names.FORMER.items():
        assert set(former.values()) <= set(names.TABLE[kind])


# Archives with a right digest and a wrong content.


def archive(
    *members: tuple[str, bytes], method: int = zipfile.ZIP_STORED, encrypted: bool = False
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.comment = b"0" * 64
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    body = bytearray(buffer.getvalue()[:-64])
    if encrypted:  # the flag in every local header and in every entry of the directory
        for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = body.find(mark)
            while at >= 0:
                body[at + offset] |= 1
                at = body.find(mark, at + 4)
    return bytes(body) + hashlib.sha256(body).hexdigest().encode()


def npy(header: str, body: bytes = b"") -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def shaped(shape: str, descr: str = "'<f8'") -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}", b"\0" * 8)


def says(*members: tuple[str, bytes], size: int, packed: int | None = None) -> bytes:
    """An archive whose last member says that it has another size, and takes another place."""
    method = zipfile.ZIP_BZIP2 if packed is None else zipfile.ZIP_STORED
    body = bytearray(archive(*members, method=method)[:-64])
    for mark, offset in {b"PK\x03\x04": 22, b"PK\x01\x02": 24}.items():
        at = body.rfind(mark) + offset
        body[at : at + 4] = size.to_bytes(4, "little")
        if packed is not None:
            body[at - 4 : at] = packed.to_bytes(4, "little")
    return seal(bytes(body))


def nested() -> bytes:
    """An archive of which one member lies in another."""
    inner = archive(("y.npy", shaped("(1,)")))
    inner = inner[: inner.find(b"PK\x01\x02")]
    outer = npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(inner)},), }}", inner)
    body = bytearray(archive(HEAD, ("x.npy", outer), ("y.npy", shaped("(1,)")))[:-64])
    at = body.rfind(b"PK\x01\x02") + 42
    body[at : at + 4] = body.find(inner).to_bytes(4, "little")
    return seal(bytes(body))


def seal(body: bytes) -> bytes:
    return body + hashlib.sha256(body).hexdigest().encode()


HEAD = ("header.json", b"{}")
PICKLED = io.BytesIO()
np.save(PICKLED, np.array([trap, None], dtype=object), allow_pickle=True)

HOSTILE = {
    "pickled member": archive(HEAD, ("x.npy", PICKLED.getvalue())),
    "object dtype": archive(HEAD, ("x.npy", shaped("(1,)", "'|O'"))),
    "huge shape": archive(HEAD, ("x.npy", shaped("(2**62,)".replace("2**62", str(2**62))))),
    "negative shape": archive(HEAD, ("x.npy", shaped("(-1,)"))),
    "two negative sizes": archive(HEAD, ("x.npy", shaped("(-1, -1)"))),
    "shape of text": archive(HEAD, ("x.npy", shaped("('a',)"))),
    "no shape": archive(HEAD, ("x.npy", npy("{'descr': '<f8'}"))),
    "too few bytes": archive(HEAD, ("x.npy", shaped("(2,)"))),
    "too many bytes": archive(HEAD, ("x.npy", shaped("()", "'<f4'"))),
    "other version": archive(HEAD, ("x.npy", b"\x93NUMPY\x03\x00" + b"\0" * 8)),
    "no array at all": archive(HEAD, ("x.npy", b"hello")),
    "subarray dtype": archive(
        HEAD, ("x.npy", shaped("(1,)", "('<f8', (1, 10**9))".replace("10**9", str(10**9))))
    ),
    "deep header": archive(("header.json", b"[" * 100_000)),
    "header is a list": archive(("header.json", b"[1]")),
    "header is no JSON": archive(("header.json", b"\xff\xfe")),
    "no header": archive(("x.npy", shaped("(1,)"))),
    "path traversal": archive(HEAD, ("../../x.npy", shaped("(1,)"))),
    "absolute path": archive(HEAD, ("/etc/x.npy", shaped("(1,)"))),
    "windows path": archive(HEAD, ("C:\\x.npy", shaped("(1,)"))),
    "other member": archive(HEAD, ("run.py", b"import os")),
    "deflated": archive(HEAD, method=zipfile.ZIP_DEFLATED),
    "lzma": archive(HEAD, method=zipfile.ZIP_LZMA),
    "encrypted": archive(HEAD, encrypted=True),
    "a name twice in the header": archive(("header.json", b'{"seed":1,"seed":2}')),
    "header with NaN": archive(("header.json", b'{"seed":NaN}')),
    "header with a long number": archive(("header.json", b'{"seed":' + b"9" * 5000 + b"}")),
    "header in another form": archive(("header.json", b'{"seed": 1}')),
    "structured dtype": archive(HEAD, ("x.npy", shaped("(1,)", "[('a', '<f4'), ('b', '<f4')]"))),
    "void dtype": archive(HEAD, ("x.npy", shaped("(1,)", "'|V8'"))),
    "dates": archive(HEAD, ("x.npy", shaped("(1,)", "'<M8[s]'"))),
    "code for a dtype": archive(
        HEAD, ("x.npy", shaped("(1,)", "__import__('test_hostile_files').trap()"))
    ),
    "deep shape": archive(HEAD, ("x.npy", shaped("(" * 300 + ")" * 300))),
    "zero in bytes": archive(HEAD, ("x.npy", shaped("(1,)", "'<f8\0'"))),
    "none of very many": archive(
        HEAD, ("x.npy", npy(shaped(f"(0, {2**62})")[10:-8].decode().strip()))
    ),
    "brackets that never close": archive(HEAD, ("x.npy", npy("{" * 100))),
    "no entries in long rows": archive(
        HEAD, ("x.npy", npy(shaped("(100000000, 0)")[10:-8].decode().strip()))
    ),
    "seventy axes": archive(HEAD, ("x.npy", shaped(f"({'1, ' * 70})"))),
    "larger than it says": says(HEAD, ("x.npy", shaped("(13,)") + bytes(2**20)), size=100),
    "longer than it says": says(HEAD, ("x.npy", shaped("(1,)") + bytes(2**20)), size=136),
    "shorter than it says": says(HEAD, ("x.npy", shaped("(10,)")), size=208),
    "one in another": nested(),
    "in the directory": says(HEAD, size=2**20, packed=2**20),
    "very many": archive(HEAD, *((f"{i}.npy", shaped("(1,)")) for i in range(1001))),
    "no archive": b"hello" + hashlib.sha256(b"hello").hexdigest().encode(),
    "empty": b"" + hashlib.sha256(b"").hexdigest().encode(),
}


# Why they are refused, in a word: a file that is refused for another reason is one that nothing is known of.
CODES = {
    "kind": (
        "pickled member", "object dtype", "negative shape", "two negative sizes", "structured dtype", "void dtype", "dates",
    ),
    "length": (
        "huge shape", "too few bytes", "too many bytes", "no entries in long rows", "none of very many",
        "larger than it says",
    ),
    "npy": (
        "other version", "shape of text", "no shape", "no array at all", "subarray dtype", "code for a dtype", "deep shape",
        "zero in bytes", "seventy axes", "brackets that never close",
    ),
    "lie": ("longer than it says", "shorter than it says"),
    "json": ("header is a list", "deep header", "header is no JSON", "no header", "header with a long number"),
    "form": ("a name twice in the header", "header in another form", "header with NaN"),
    "name": ("path traversal", "absolute path", "windows path", "other member"),
    "method": ("deflated", "lzma", "encrypted"),
    "overlap": ("one in another", "in the directory"),
    "count": ("very many",),
    "archive": ("no archive", "empty"),
}  # fmt: skip
CODE = {what: code for code, listed in CODES.items() for what in listed}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_one_clear_error(tmp_path, what):
    path, store = tmp_path / "x.npz", Store(tmp_path)
    path.write_bytes(HOSTILE[what])
    for read in (read_file, load_results, Agent.load, lambda path: store.get("x", {})):
        with pytest.raises(DamagedFile, match=r"x\.npz: ") as told:
            read(path)
        assert "\n" not in str(told.value)
        # What is no array of its length is found when the array is read, and nobody reads those of another format.
        other = "format" if CODE[what] == "lie" and read in (load_results, Agent.load) else ""
        assert told.value.code == (other or CODE[what])


def test_bad_checksums_and_spoilt_compression_are_damaged_files(tmp_path):
    for compact in (False, True):
        data = bytearray(pack({"seed": 1}, {"x": np.arange(500)}, compact=compact)[:-64])
        data[len(data) // 3] ^= 0xFF
        (tmp_path / "x.npz").write_bytes(seal(bytes(data)))
        with pytest.raises(DamagedFile, match=r"x\.npz: "):
            read_file(tmp_path / "x.npz")


def test_a_small_file_that_would_unpack_to_a_large_one_is_refused_before_it_is(
    tmp_path, monkeypatch
):
    data = pack({"seed": 1}, {"x": np.zeros(100_000)}, compact=True)
    assert len(data) < 2000
    (tmp_path / "x.npz").write_bytes(data)
    monkeypatch.setattr("gqlib.sweeps.store.LARGEST_CONTENT", 10_000)
    with pytest.raises(DamagedFile, match="would unpack to more than 10000 bytes"):
        read_file(tmp_path / "x.npz")


def test_a_header_that_would_fill_the_memory_is_refused_before_it_is_unpacked(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("gqlib.sweeps.store.LARGEST_HEADER", 1000)
    (tmp_path / "x.npz").write_bytes(archive(("header.json", b'{"a":[' + b"[]," * 400 + b"[]]}")))
    with pytest.raises(
        DamagedFile, match=r"x\.npz: the header would unpack to more than 1000 bytes"
    ):
        read_file(tmp_path / "x.npz")
    with pytest.raises(
        ValueError, match="header has 1009 bytes as JSON; it should have at most 1000"
    ):
        pack({"a": "x" * 1001}, {})
    (tmp_path / "x.npz").write_bytes(pack({"a": "x" * 992}, {}))
    assert read_file(tmp_path / "x.npz")[0] == {"a": "x" * 992}


@pytest.mark.parametrize("compact", [False, True])
def test_no_array_is_in_memory_twice(tmp_path, monkeypatch, compact):
    monkeypatch.setattr("gqlib.sweeps.store.FREE", 2**30, raising=False)
    arrays = {name: np.zeros(2**20) for name in "abcd"}
    (tmp_path / "x.npz").write_bytes(pack({}, arrays, compact=compact))
    tracemalloc.start()
    read_file(tmp_path / "x.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4.7 * 2**23  # four arrays, and a piece of one


@pytest.mark.parametrize(
    "content", [{"x": np.zeros(10_000)}, {"x": np.full(2000, "")}, {"x": np.ones(3000, dtype=bool)}]
)
def test_what_would_become_too_small_is_not_compressed(tmp_path, monkeypatch, content):
    """So nothing is saved that could not be loaded."""
    monkeypatch.setattr("gqlib.sweeps.store.FREE", 1000)
    data = pack({}, content, compact=True)
    assert len(data) > content["x"].nbytes
    assert (unpack(data)[1]["x"] == content["x"]).all()
    mixed = {"x": np.random.default_rng(0).random(10_000), **{"y": content["x"][:2000]}}
    assert len(pack({}, mixed, compact=True)) < len(pack({}, mixed))


READER = """
import json, resource, sys
from gqlib.control.agent import Agent
from gqlib.sweeps.results import load_results
from gqlib.sweeps.store import DamagedFile
load_results(sys.argv[1])  # what is imported once
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 2**27,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
for path in sys.argv[2:]:
    for read in (load_results, Agent.load):
        try:
            told = f"read {len(read(path).variables)}"
        except DamagedFile as error:
            told = getattr(error, "code", str(error))
        print(json.dumps(told))
"""


def zeros(path, header: dict, size: int) -> None:
    """A result of so many bytes of zeros, written without having them."""
    first = npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as file:
        file.comment = b"0" * 64
        file.writestr("header.json", canonical_json(header))
        with file.open("x.npy", "w") as member:
            member.write(first)
            for _ in range(size >> 20):
                member.write(bytes(2**20))
    path.write_bytes(seal(path.read_bytes()[:-64]))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="looks into /proc")
def test_small_files_get_a_budget_of_memory_and_time(tmp_path, monkeypatch):
    """128 MB and 20 seconds for all; each would take more, some as they are, some as what is made of them."""
    first, zero, *others = (
        tmp_path / f"{name}.npz" for name in ("good", "zeros", "objects", "labels", "means", "fits")
    )
    save_results(first, xarray.Dataset({"x": ("run", np.arange(3.0))}))
    zeros(zero, dataset_header(), 2**27)
    monkeypatch.setattr("gqlib.sweeps.store.FREE", 2**40, raising=False)
    many = {name: np.full(10**6, b"ab") for name in "abcd"}
    bombs = (
        (dataset_header(attrs={"a": [[]] * 2**21}), {"x": np.zeros(3)}),
        (dataset_header(dims={name: [name] for name in many}, coords=[*many]), many),
        (dataset_header(dims={"a_sum": ["a"], "counted": [], "r": ["run"]}),
         {"a_sum": np.zeros(2**24, dtype=np.int8), "counted": np.array(3), "r": np.zeros(1)}),
        (dataset_header(), {"x": np.zeros(2_700_000)}),
    )  # fmt: skip
    for path, bomb in zip(others, bombs, strict=True):
        path.write_bytes(pack(*bomb, compact=True))
        assert path.stat().st_size < 40_000
    assert zero.stat().st_size < 1000
    done = subprocess.run(
        [sys.executable, "-c", READER, first, zero, *others], capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    told = list(map(json.loads, done.stdout.splitlines()))
    assert told == [*["ratio"] * 8, "read 2", "format"], done.stderr


def test_a_file_larger_than_any_result_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("gqlib.sweeps.store.LARGEST_CONTENT", 1000)
    with (tmp_path / "x.npz").open("wb") as file:
        file.truncate(2001)
    with pytest.raises(DamagedFile, match=r"x\.npz: cannot be read: it has more than 2000 bytes"):
        read_file(tmp_path / "x.npz")


def test_a_file_cannot_ask_for_a_table_of_all_sums_by_all_counts(tmp_path):
    dims = {"a_sum": ["x"], "counted": ["y"], "r": ["run"]}
    arrays = {"a_sum": np.ones(3000), "counted": np.ones(3000), "r": np.zeros(1)}
    (tmp_path / "x.npz").write_bytes(pack(dataset_header(dims=dims), arrays))
    assert "a_mean" not in load_results(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("descr", "body"),
    [("<U1", b"\x00\x00\x11\x00"), (">U2", b"\x00\x00\x00a\x00\x11\x00\x00"), ("|b1", b"\x01\x02")],
)
def test_letters_and_truths_that_there_are_not_are_damaged(tmp_path, descr, body):
    """NumPy makes texts of such letters, and others of its kind end with an error of the interpreter."""
    size = len(body) // np.dtype(descr).itemsize
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({size},), }}"
    (tmp_path / "x.npz").write_bytes(seal(archive(HEAD, ("x.npy", npy(header, body)))[:-64]))
    with pytest.raises(
        DamagedFile, match=r"the member 'x.npy' is no array: .+ has bytes that stand for none"
    ):
        read_file(tmp_path / "x.npz")


def test_a_file_cannot_ask_for_very_many_labels_of_text(tmp_path, monkeypatch):
    """Each becomes an object of its own: four gigabytes of letters would take eighty."""
    monkeypatch.setattr("gqlib.sweeps.results.MOST_LABELS", 50)
    for size, fits in ((50, True), (51, False)):
        header = dataset_header(dims={"x": ["x"]}, coords=["x"])
        (tmp_path / "x.npz").write_bytes(pack(header, {"x": np.arange(size).astype("S2")}))
        if fits:
            assert load_results(tmp_path / "x.npz").sizes == {"x": 50}
            continue
        with pytest.raises(
            DamagedFile, match="holds no dataset: 'x' has more than 50 labels of text"
        ):
            load_results(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("dims", "arguments", "told"),
    [
        (
            {name: ["run"] for name in ("steps_total", "steps_last", "episodes", "r")},
            ("plot",),
            "cannot be drawn: ",
        ),
        ({"score": ["x"], "x": ["x"]}, ("plot",), "holds no dataset: 'x' has labels of float16"),
        ({"score": ["x"], "half": ["x", "run"]}, ("export", "--where", "half=1"), "name is 'half'"),
        ({"setting": ["x", "setting"]}, ("export", "--where", "setting=1"), "setting is '1'"),
        (
            {"steps_total": ["x"], "steps_last": ["x"], "episodes": ["y"], "r": ["run"]},
            ("plot",),
            "by ('y',)",
        ),
        (
            {"mean": ["setting", "episode"], "variance": ["y"]},
            ("plot", "--variable", "mean"),
            "by ('y',)",
        ),
    ],
)
def test_a_strange_result_is_one_line_of_the_command(tmp_path, capsys, dims, arguments, told):
    sizes = {"setting": 3, "x": 2, "y": 5, "run": 4, "episode": 2}
    shapes = {name: [sizes[dim] for dim in its] for name, its in dims.items()}
    arrays = {
        name: np.arange(np.prod(shape))
        .astype("U2" if name.startswith("steps") else np.float16)
        .reshape(shape)
        for name, shape in shapes.items()
    }
    coords = sorted({"x", "half", "setting", "episodes"} & set(dims))
    (tmp_path / "x.npz").write_bytes(pack(dataset_header(dims=dims, coords=coords), arrays))
    assert main([arguments[0], str(tmp_path / "x.npz"), *arguments[1:]]) == 2
    error = capsys.readouterr().err
    assert error.startswith("gq: error: ")
    assert told in error
    assert error.count("\n") == 1


def test_two_dimensions_of_one_name_are_no_dataset(tmp_path):
    (tmp_path / "x.npz").write_bytes(
        pack(dataset_header(dims={"x": ["run", "run"]}), {"x": np.zeros((3, 3))})
    )
    with pytest.raises(
        DamagedFile, match=r"x\.npz: holds no dataset: 'x' has the dimensions \['run', 'run'\]"
    ):
        load_results(tmp_path / "x.npz")


def test_a_result_without_what_it_should_have_is_one_clear_error(honest, tmp_path):
    rng = np.random.default_rng(0)
    kept = (
        "steps_by_run"
        if "steps_by_run" in honest
        else next(
            str(name)
            for name, array in honest.data_vars.items()
            if array.dims[:2] == ("setting", "run")
        )
    )
    for data in (
        honest.drop_vars(kept),
        honest.assign({kept: honest[kept].isel(run=0, drop=True)}),
    ):
        with pytest.raises(ValueError, match=f"dataset has no {kept} for each setting and run"):
            verify_sample(data, 1, rng)
    for key in (honest["key"].isel(setting=0, drop=True), honest["key"].rename(setting="other")):
        data = honest.drop_vars("key").assign(key=key)
        with pytest.raises(SweepError, match="it should have one for each setting"):
            recompute(data, 0, 0)
        with pytest.raises(SweepError, match="it should have one for each setting"):
            verify_sample(data, 1, rng)
    with pytest.raises(SweepError, match="the result has no runs"):
        verify_sample(honest.isel(run=0, drop=True), 1, rng)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_or_a_device_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "x.npz")
    (tmp_path / "y.npz").symlink_to(os.devnull)
    (tmp_path / "z.npz").symlink_to(tmp_path / "z.npz")
    for name in ("x.npz", "y.npz", "z.npz"):
        with pytest.raises(DamagedFile, match=f"{name}: cannot be read"):
            load_results(tmp_path / name)
        with pytest.raises(DamagedFile, match=f"{name}: cannot be read"):
            Store(tmp_path).has(name.removesuffix(".npz"), {})


def dataset_header(**changes: object) -> dict[str, object]:
    return {
        "format": "gqlib dataset 1",
        "attrs": {},
        "dims": {"x": ["run"]},
        "coords": [],
    } | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"}, {"attrs": 7}, {"attrs": [1]}, {"dims": {"x": ["run", "more"]}}, {"dims": {"y": ["run"]}},
        {"dims": 3}, {"dims": {"x": 3}}, {"coords": 5}, {"coords": [[1]]}, {"dims": {"x": [None]}},
        {"dims": {"x": [1]}},
    ],
)  # fmt: skip
def test_a_dataset_whose_header_does_not_fit_its_arrays_is_damaged(tmp_path, changes):
    (tmp_path / "x.npz").write_bytes(pack(dataset_header(**changes), {"x": np.arange(3)}))
    with pytest.raises(DamagedFile, match=r"x\.npz: holds no dataset"):
        load_results(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "", "\0", None, 7])
def test_names_in_a_store_stay_in_its_directory(tmp_path, name):
    with pytest.raises(ValueError, match="it should name a file in the store"):
        Store(tmp_path).path(name)
