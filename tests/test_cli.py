from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sweep_tasks import experiment

from gqlib import cli, experiments
from gqlib.sweeps.names import TABLE
from gqlib.sweeps.results import load_results

HERE = Path(__file__).parent


def small() -> object:
    return experiment()


def slow() -> object:
    return experiment(settings=50, runs=40, delay=0.05)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the experiments by quick ones, fig3 by one that is not there."""
    replaced = {"fig2": "test_cli:small", "fig3": "no_module:none"}
    monkeypatch.setitem(TABLE, "experiment", replaced)
    monkeypatch.setattr(cli, "REGISTRY", replaced)
    monkeypatch.setattr(experiments, "REGISTRY", replaced)


def run(*arguments: str) -> int:
    try:
        return cli.main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)


def test_reproduce_writes_the_result_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce", "fig2", "--workers", "1", "--out", str(tmp_path)) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert f"written to {tmp_path / 'toy.npz'}" in told.out
    assert "9 tasks computed, 0 found" in told.out
    assert load_results(tmp_path / "toy.npz").sizes["run"] == 10
    assert run("reproduce", "fig2", "--workers", "1", "--out", str(tmp_path)) == 0
    assert "0 tasks computed, 9 found" in capsys.readouterr().out


def test_a_repeated_reproduction_is_the_same_file_byte_for_byte(tmp_path: Path) -> None:
    for name, workers in (("a", "1"), ("b", "2")):
        assert run("reproduce", "fig2", "--workers", workers, "--out", str(tmp_path / name)) == 0
    assert (tmp_path / "a" / "toy.npz").read_bytes() == (tmp_path / "b" / "toy.npz").read_bytes()


def test_another_number_of_runs_does_not_touch_the_committed_file(tmp_path: Path) -> None:
    assert run("reproduce", "fig2", "--runs", "2", "--workers", "1", "--out", str(tmp_path)) == 0
    assert [path.name for path in tmp_path.glob("*.npz")] == ["toy-runs2.npz"]
    assert load_results(tmp_path / "toy-runs2.npz").sizes["run"] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "required"),
        (("reproduce",), "required"),
        (("reproduce", "fig9"), "fig9"),
        (("reproduce", "fig2", "--runs", "0"), "'0' is not a whole number of at least 1"),
        (("reproduce", "fig2", "--runs", "x"), "'x' is not a whole number"),
        (("reproduce", "fig2", "--workers", "-1"), "--workers"),
        (("reproduce", "fig2", "--workers", "1", "--dask", "tcp://a:1"), "not allowed with"),
        (("reproduce", "fig3"), "no_module"),
        (("reproduce", "all"), "no_module"),
        (("claims", "--verdict", "maybe"), "maybe"),
        (("sing",), "sing"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(
    arguments: tuple[str, ...],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("gq")
    assert told in err
    assert not (tmp_path / "results").exists()


def test_an_output_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run("reproduce", "fig2", "--out", str(tmp_path / "file")) == 2
    assert "cannot make the directory" in capsys.readouterr().err


def test_a_scheduler_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gqlib.sweeps.workers._CONNECT_TIMEOUT", "1s")
    assert run("reproduce", "fig2", "--dask", "tcp://127.0.0.1:9", "--out", str(tmp_path)) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [(), ("reproduce",), ("claims",), ("bench",)])
def test_help_is_there_for_every_command(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments, "--help") == 0
    assert capsys.readouterr().out.startswith("usage: gq")


def test_claims_lists_the_register_with_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    from gqlib.claims import load_claims

    assert run("claims") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(load_claims()) + 1
    counted = sum(claim.verdict == "verified" and not claim.repeats for claim in load_claims())
    assert lines[-1].startswith(f"{counted} verified, ")


# The command with a sweep of 500 tasks in place of fig2: long enough to be interrupted.
LONG = """
import sys, gqlib.cli, gqlib.experiments
gqlib.experiments.REGISTRY["fig2"] = "test_cli:slow"
sys.exit(gqlib.cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_leaves_a_store_to_resume_from_and_says_how(tmp_path: Path, workers: str) -> None:
    command = ["reproduce", "fig2", "--workers", workers, "--out", str(tmp_path / "an out")]
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, *command],
        env=os.environ | {"PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell without job control starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    store = tmp_path / "an out" / ".store"
    while len(list(store.glob("*.npz"))) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: to the command and to all its workers
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.count("\n") == 1
    assert told.endswith(f"to resume: gq reproduce fig2 --workers {workers} --out '{tmp_path / 'an out'}'\n")
    assert str(store) in told
    assert not list(store.glob(".partial-*"))
    assert 3 <= len(list(store.glob("*.npz"))) < 500


def test_the_committed_manifest_is_what_the_command_writes(tmp_path: Path) -> None:
    assert run("manifest", "--out", str(tmp_path)) == 0
    committed = HERE.parent / "results" / "fig3-manifest.json"
    assert (tmp_path / "fig3-manifest.json").read_bytes() == committed.read_bytes()
