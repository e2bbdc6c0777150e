from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from sweep_tasks import experiment

import gqlib
from gqlib import cli, experiments
from gqlib.claims import Claim
from gqlib.experiments.mountain_car import control_experiment, control_grid, table2
from gqlib.sweeps import progress
from gqlib.sweeps.names import TABLE, SweepError
from gqlib.sweeps.results import load_results
from gqlib.sweeps.store import StoreError

HERE = Path(__file__).parent


def small() -> object:
    return experiment()


def slow() -> object:
    return experiment(settings=50, runs=40, delay=0.05)


def car() -> object:
    """Learning curves of the car, in a moment."""
    settings = control_grid(
        [{"sigma": 0.0}, {"sigma": 1.0}], alpha=(0.001, 0.002), episodes=(3,), max_steps=(50,)
    )
    return control_experiment(
        "fig4", "Figure 4", settings, runs=2, runs_per_task=2, summary="control with spread"
    )


def tables() -> object:
    """Table 2 with its cells, but five values of σ and one short episode each."""
    few = [setting for setting in table2().settings if setting.sigma in (0.0, 0.2, 0.5, 0.8, 1.0)]
    short = tuple(dataclasses.replace(setting, episodes=1, max_steps=5) for setting in few)
    return dataclasses.replace(table2(), settings=short, runs=1)


A_STUDY = experiment(settings=2)
NO_STUDY = "a word"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the experiments by quick ones, fig3 by one that is not there."""
    replaced = {"fig2": "test_cli:small", "fig3": "no_module:none"}
    replaced |= {"fig4": "test_cli:car", "table2": "test_cli:tables"}
    monkeypatch.setitem(TABLE, "experiment", replaced)
    monkeypatch.setattr(cli, "REGISTRY", replaced)
    monkeypatch.setattr(experiments, "REGISTRY", replaced)


def run(*arguments: str) -> int:
    try:
        return cli.main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)


def test_reproduce_writes_the_result_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("reproduce", "fig2", "--workers", "1", "--out", str(tmp_path)) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert f"written to {tmp_path / 'toy.npz'}" in told.out
    assert "9 tasks computed, 0 found" in told.out
    assert load_results(tmp_path / "toy.npz").sizes["run"] == 10
    assert run("reproduce", "fig2", "--workers", "1", "--out", str(tmp_path)) == 0
    assert "0 tasks computed, 9 found" in capsys.readouterr().out


def test_reproduce_says_how_much_and_how_long_before_it_takes_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "WORTH_SAYING", 0.0)
    assert run("reproduce", "fig2", "--workers", "1", "--out", str(tmp_path)) == 0
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert first == "A toy: 3 settings, 10 runs each"
    assert second == "9 tasks to compute, with 30 of 30 runs"
    assert third.startswith("about ")
    assert third.endswith("for the other 4 tasks, measured on the first 5")


def test_more_runs_add_to_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--runs 1`, then `--runs 2`."""
    for runs, computed, found in (("1", 3, 0), ("2", 3, 3), ("1", 0, 3), ("2", 0, 6)):
        assert (
            run("reproduce", "fig2", "--runs", runs, "--workers", "1", "--out", str(tmp_path)) == 0
        )
        assert f"{computed} tasks computed, {found} found" in capsys.readouterr().out


@pytest.mark.slow
def test_table_2_is_printed_with_labels_beside_that_of_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("reproduce", "table2", "--workers", "1", "--out", str(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    (head,) = [i for i, line in enumerate(lines) if "the paper" in line]
    assert "epsilon-greedy" in lines[head]
    assert lines[head + 1].split() == ["alpha", "p", *3 * ["I", "II", "III"]]
    rows = [line.split() for line in lines[head + 2 : head + 9]]
    assert rows[0][:5] == ["0.001", "512", "69.8", "14.1", "16.1"]
    assert rows[6][:4] == ["all", "42.2", "24.1", "33.7"]
    for row in rows:
        assert sum(map(float, row[-3:])) == pytest.approx(100.0, abs=0.15)
    # With one σ there are no cases to count: the plain report instead.
    assert (
        run("reproduce", "table2", "--sigma", "0.5", "--workers", "1", "--out", str(tmp_path)) == 0
    )
    assert "steps per episode" in capsys.readouterr().out


def test_fields_are_changed_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["reproduce", "fig4", "--workers", "1", "--out", str(tmp_path), "--runs", "1"]
    assert run(*line, "--lam", "0.5,0.9", "--sigma", "1", "--set", "target=epsilon-greedy") == 0
    path = tmp_path / "fig4-runs1-lam0.5_0.9-sigma1-targetepsilon-greedy.npz"
    assert f"written to {path}" in capsys.readouterr().out
    result = load_results(path)
    assert result.attrs["name"] == "fig4-lam0.5_0.9-sigma1-targetepsilon-greedy"
    assert sorted(zip(result["alpha"].values, result["lam"].values, strict=True)) == [
        (alpha, lam) for alpha in (0.001, 0.002) for lam in (0.5, 0.9)
    ]
    assert set(result["sigma"].values) == {1.0}
    assert set(result["target"].values) == {"epsilon-greedy"}
    assert run(*line, "--tilings", "16") == 0
    assert set(load_results(tmp_path / "fig4-runs1-tilings16.npz")["tilings"].values) == {16}


@pytest.mark.parametrize("study", ["test_cli:A_STUDY", "test_cli:small"])
def test_an_experiment_of_ones_own_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], study: str
) -> None:
    assert (
        run(
            "run",
            study,
            "--workers",
            "1",
            "--runs",
            "3",
            "--set",
            "length=2",
            "--out",
            str(tmp_path),
        )
        == 0
    )
    told = r"^variables of the result: run_index, values; dimensions: setting \([23]\), run \(3\), values_1 \(2\)$"
    assert re.search(told, capsys.readouterr().out, re.MULTILINE)
    assert load_results(tmp_path / "toy-runs3-length2.npz")["values"].shape[1:] == (3, 2)


@pytest.mark.slow
def test_a_study_in_the_current_directory_is_found_and_so_by_workers(tmp_path: Path) -> None:
    (tmp_path / "my_study.py").write_text(
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "from gqlib.sweeps.setting import Setting\n"
        "from gqlib.sweeps.sweep import Experiment\n"
        "@dataclass(frozen=True)\n"
        "class Mine(Setting):\n"
        "    alpha: float = 0.1\n"
        "def runs(setting, runs, seed, *, first_run):\n"
        "    scores = setting.alpha * np.arange(first_run, first_run + runs)\n"
        "    return {'score': scores, 'diverged': scores > 0.9}\n"
        "study = Experiment('mine', 'My study', 'my_study:runs', (Mine(), Mine(0.2)), 6, 1, '1', runs_per_task=2)\n"
    )
    command = [
        "-c",
        "import sys, gqlib.cli; sys.exit(gqlib.cli.main())",
        "run",
        "my_study:study",
        "--workers",
        "2",
    ]
    done = subprocess.run(
        [sys.executable, "-P", *command], cwd=tmp_path, env=paths(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 2 settings have runs that diverged: alpha 0.2\n" in done.stdout
    result = load_results(tmp_path / "results" / "mine.npz")
    np.testing.assert_array_equal(result["score"].values, np.outer([0.1, 0.2], np.arange(6)))


def paths() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"}


def test_a_result_is_exported_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--out", str(tmp_path)]
    assert run("reproduce", "fig4", "--workers", "1", *place) == 0
    capsys.readouterr()
    assert run("export", "fig4", "--where", "alpha=0.001", *place) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == [
        str(tmp_path / f"fig4-alpha0.001-{dims}.csv")
        for dims in ("run", "quantile-episode", "episode")
    ]
    rows = (tmp_path / "fig4-alpha0.001-episode.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 3
    assert rows[0].startswith("setting,episode,steps_sum,")
    assert ",steps_mean," in rows[0]
    assert run("export", str(tmp_path / "fig4.npz"), "--csv") == 0
    assert len((tmp_path / "fig4-episode.csv").read_text().splitlines()) == 1 + 4 * 3
    assert run("plot", "fig4", *place) == 0
    assert (tmp_path / "fig4.png").read_bytes().startswith(b"\x89PNG")
    assert (
        run("plot", "fig4", "--variable", "capped", "--save", str(tmp_path / "cut.svg"), *place)
        == 0
    )
    assert "<svg" in (tmp_path / "cut.svg").read_text()


def test_what_parquet_and_netcdf_need_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run("reproduce", "fig4", "--workers", "1", "--out", str(tmp_path)) == 0
    capsys.readouterr()
    assert run("export", "fig4", "--parquet", "--out", str(tmp_path)) == 2
    assert (
        capsys.readouterr().err
        == "gq: error: Parquet needs the package pyarrow: python -m pip install pyarrow\n"
    )
    assert not list(tmp_path.glob("*.parquet"))
    assert (
        run("export", "fig4", "--parquet", "--csv", "--out", str(tmp_path)) == 2
    )  # what can be written is
    told = capsys.readouterr()
    assert (
        told.err == "gq: error: Parquet needs the package pyarrow: python -m pip install pyarrow\n"
    )
    assert [line.split()[2] for line in told.out.splitlines()] == [
        str(tmp_path / f"fig4-{dims}.csv") for dims in ("run", "quantile-episode", "episode")
    ]

    def refuse(dataset: object) -> bytes:
        raise SweepError("no room")

    monkeypatch.setattr("gqlib.sweeps.exports._netcdf", refuse)
    assert run("export", "fig4", "--netcdf", "--parquet", "--out", str(tmp_path)) == 2
    assert capsys.readouterr().err == (
        "gq: error: no room; Parquet needs the package pyarrow: python -m pip install pyarrow\n"
    )


def test_without_matplotlib_gq_plot_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("plot", "x") == 2
    assert (
        capsys.readouterr().err
        == "gq: error: this needs the package matplotlib: install gqlib[plot]\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "extra", "act"),
    [
        ("matplotlib", "plot", "import gqlib.cli; sys.exit(gqlib.cli.main(['plot', 'x']))"),
        ("sympy", "symbolic", "import gqlib.symbolic"),
        ("gymnasium", "gym", "from gqlib.control.gym import features_of; features_of(None)"),
        ("gymnasium", "gym", "from gqlib.control.gym import _spaces; _spaces(None)"),
        (
            "distributed",
            "cluster",
            "gqlib.cli.main(['reproduce', 'fig2', '--dask', 'local', '--out', sys.argv[1]])",
        ),
    ],
)
def test_a_missing_extra_says_what_to_install(
    tmp_path: Path, package: str, extra: str, act: str
) -> None:
    code = f"import sys, gqlib.cli; sys.modules[{package!r}] = None; {act}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=paths(), capture_output=True, text=True
    )
    assert f"needs the package {package}: install gqlib[{extra}]" in done.stderr.splitlines()[-1]


@pytest.mark.slow
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
        (("reproduce",), "required"),
        (("reproduce", "fig2", "--set", "scale"), "'scale' is not NAME=VALUE"),
        (
            ("reproduce", "fig2", "--set", "shape=3"),
            "shape is no field of Toy; it should be one of scale, length",
        ),
        (("reproduce", "fig2", "--lam", "0.5"), "lam is no field of Toy"),
        (("reproduce", "fig4", "--lam", "2"), "lam is 2"),
        (
            ("reproduce", "fig2", "--set", "scale=1", "--set", "scale=2"),
            "a field is set twice; several values should",
        ),
        (("reproduce", "fig4", "--set", "lam=" + "[" * 100_000), "lam is '[[[["),
        (("run", "no_module:study"), "no_module"),
        (("run", "..:study"), "cannot find '..:study'"),
        (("run", "study"), "STUDY is 'study'; it should be module:name"),
        (("run", "fig2"), "gq reproduce has the experiments of the paper"),
        (("run", "test_cli:NO_STUDY"), "test_cli:NO_STUDY is 'a word'; it should be an Experiment"),
        (("run", "json:dumps"), "json:dumps should be a function that needs no argument"),
        (("plot", "fig9"), "there is no result results/fig9.npz; those in results are: none"),
        (("export", "fig9", "--csv"), "there is no result"),
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


def test_an_output_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run("reproduce", "fig2", "--out", str(tmp_path / "file")) == 2
    assert "cannot make the directory" in capsys.readouterr().err


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gqlib.sweeps.workers._CONNECT_TIMEOUT", "1s")
    assert run("reproduce", "fig2", "--dask", "tcp://127.0.0.1:9", "--out", str(tmp_path)) == 2
    assert (
        "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err.splitlines()[-1]
    )


def test_the_command_alone_shows_its_usage_and_knows_its_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    told = capsys.readouterr().out
    assert told.startswith("usage: gq")
    for command in ("reproduce", "run", "plot", "export", "manifest", "claims"):
        assert f"\n    {command}" in told
    assert run("--version") == 0
    assert capsys.readouterr().out == f"gq {gqlib.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        *((name,) for name in ("reproduce", "run", "plot", "export", "manifest", "claims")),
    ],
)
def test_help_is_there_for_every_command(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--help") == 0
    assert capsys.readouterr().out.startswith("usage: gq")


@pytest.mark.slow
def test_claims_lists_the_register_with_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    from gqlib.claims import load_claims

    assert run("claims") == 0
    *paragraphs, counts = capsys.readouterr().out.split("\n\n")
    assert [paragraph.split(":")[0] for paragraph in paragraphs] == [
        claim.id for claim in load_claims()
    ]
    counted = sum(claim.verdict == "verified" and not claim.repeats for claim in load_claims())
    assert counts.startswith(f"{counted} verified, ")


def test_a_claim_is_told_with_what_holds_and_what_shows_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from gqlib.claims import load_claims

    (theorem,) = [claim for claim in load_claims() if claim.id == "theorem-1"]
    assert run("claims", "theorem-1", "--section", "4.3", "--verdict", theorem.verdict) == 0
    text = capsys.readouterr().out
    words = " ".join(text.split())
    assert f"theorem-1: {theorem.verdict} ({theorem.weight}), Theorem 1 " in words
    for part in (theorem.says, f"holds: {theorem.correction}", f"for the paper: {theorem.defence}"):
        assert " ".join(part.split()) in words
    assert f"shown by: book/{theorem.cells[0][0]}.md {theorem.cells[0][1]}, " in words
    assert all(test in words for test in theorem.tests)
    assert max(map(len, text.splitlines())) <= 120


def claims_told(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run("claims", "--json", *arguments) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_claims_are_filtered_and_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    from gqlib.claims import load_claims

    everything = claims_told(capsys)
    assert [claim["id"] for claim in everything] == [claim.id for claim in load_claims()]
    assert everything[0]["cells"] == [list(cell) for cell in load_claims()[0].cells]
    fourth = claims_told(capsys, "--section", "4")
    found = {one["id"] for one in fourth}
    places = {place for claim in load_claims() if claim.id in found for place in claim.sections}
    assert places > {"Section 4", "Section 4.3"}
    assert 0 < len(claims_told(capsys, "--section", "4.3")) < len(fourth) < len(everything)
    assert claims_told(capsys, "--section", "convergence analysis") == claims_told(
        capsys, "--section", "Section 4.3"
    )
    both = claims_told(capsys, "MARTINGALE", "iterates")
    assert both
    for claim in both:
        assert {"martingale", "iterates"} <= {
            word for word in ("martingale", "iterates") if word in str(claim).lower()
        }
    assert claims_told(capsys, "no such word") == []
    assert run("claims", "no such word") == 0
    assert capsys.readouterr().out == "no claim\n"


@pytest.mark.slow
def test_a_terminal_without_greek_letters_gets_their_names() -> None:
    code = "import sys, gqlib.cli; sys.exit(gqlib.cli.main())"
    for arguments in (("claims",), ("reproduce", "--help")):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=paths() | {"PYTHONIOENCODING": "cp1252"},
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"lambda" in done.stdout
    assert cli._spelt(UnicodeEncodeError("cp1252", "σΓλ₀→☃", 0, 6, ""))[0] == "sigmaGammalambda0->?"
    with pytest.raises(UnicodeDecodeError):
        cli._spelt(UnicodeDecodeError("utf-8", b"x", 0, 1, ""))


# The command with a sweep of 500 tasks in place of fig2: long enough to be interrupted.
LONG = """
import sys, gqlib.cli, gqlib.experiments, gqlib.sweeps.progress
gqlib.sweeps.progress.LINE_EVERY = 1e9
gqlib.experiments.REGISTRY["fig2"] = "test_cli:slow"
sys.exit(gqlib.cli.main(sys.argv[1:]))
"""


@contextlib.contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a command that a failed test would leave behind."""
    try:
        yield
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_what_ends_a_command_leaves_a_store_to_resume_from_and_says_how(
    tmp_path: Path, workers: str, number: signal.Signals, code: int
) -> None:
    command = ["reproduce", "fig2", "--workers", workers, "--out", str(tmp_path / "an out")]
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, *command],
        env=paths(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell without job control starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    store = tmp_path / "an out" / ".store"
    with ended(process):
        while len(list(store.glob("*.npz"))) < 3:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(
            process.pid, number
        )  # what terminals and batch systems do: to the command and to all its workers
        _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert told.count("\n") == 1
    assert told.endswith(
        f"to resume: gq reproduce fig2 --workers {workers} --out '{tmp_path / 'an out'}'\n"
    )
    assert str(store) in told
    assert not list(store.glob(".partial-*"))
    assert 3 <= len(list(store.glob("*.npz"))) < 500


def test_the_committed_manifest_is_what_the_command_writes(tmp_path: Path) -> None:
    assert run("manifest", "--out", str(tmp_path)) == 0
    committed = HERE.parent / "results" / "fig3-manifest.json"
    assert (tmp_path / "fig3-manifest.json").read_bytes() == committed.read_bytes()


def failing(error: BaseException) -> Any:
    def fail(*given: object, **named: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (cli._Terminated(), 143)],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_what_is_interrupted_says_how_to_resume_where_there_is_a_store(
    error: BaseException,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "_make", failing(error))
    for line in (
        ["reproduce", "fig2", "--out", "an out"],
        ["run", "test_cli:A_STUDY", "--out", "an out"],
    ):
        assert run(*line) == code
        again = " ".join(["gq", *line[:-1], "'an out'"])
        told = f"gq: interrupted; finished tasks are safe in an out/.store; to resume: {again}\n"
        assert capsys.readouterr().err == told
    monkeypatch.setattr("gqlib.claims.load_claims", failing(error))
    assert run("claims") == code
    assert capsys.readouterr().err == "gq: interrupted\n"


def test_sigterm_ends_a_command_and_means_afterwards_what_it_meant_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(
        "gqlib.claims.load_claims", lambda **given: os.kill(os.getpid(), signal.SIGTERM)
    )
    assert run("claims") == 143
    assert signal.getsignal(signal.SIGTERM) is before
    codes: list[int] = []
    monkeypatch.setattr("gqlib.claims.load_claims", lambda **given: [])
    other = threading.Thread(
        target=lambda: codes.append(run("claims"))
    )  # where no signal can be caught
    other.start()
    other.join()
    assert codes == [0]
    assert capsys.readouterr() == ("no claim\n", "gq: interrupted\n")


@pytest.mark.parametrize("kind", [StoreError, SweepError, ValueError, ImportError, OSError])
def test_what_goes_wrong_is_told_on_one_line(
    kind: type[Exception], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gqlib.claims.load_claims", failing(kind("two\n  lines")))
    assert run("claims") == 2
    assert capsys.readouterr() == ("", "gq: error: two lines\n")


def test_a_reader_that_leaves_early_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run("claims", "no such word") == 0
        assert os.path.samestat(os.fstat(stream.fileno()), os.stat(os.devnull))


def test_the_arguments_are_those_of_the_process_unless_they_are_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["gq", "claims", "no such word"])
    assert cli.main() == 0
    assert capsys.readouterr().out == "no claim\n"
    assert cli.main([]) == 0
    assert capsys.readouterr().out.startswith("usage: gq")


def test_streams_spell_what_they_have_no_letter_for(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [io.TextIOWrapper(io.BytesIO(), "ascii") for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    cli._spell_out()
    for stream in streams:
        stream.write("θ ≤ Λ‖é‖ … ∈ A⁻¹ᵀ ☃ " + "".join(cli.SPELT))
        stream.seek(0)
        assert stream.read() == "theta <= Lambda||e|| ... in A^-1' ? " + "".join(cli.SPELT.values())
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # as in a notebook, where nothing can be set
    cli._spell_out()
    assert cli._spelt(UnicodeEncodeError("ascii", "aσbλc", 1, 2, "")) == ("sigma", 2)
    assert cli._spelt(UnicodeEncodeError("ascii", "aσbλc", 3, 4, "")) == ("lambda", 4)
    assert cli._spelt(UnicodeEncodeError("ascii", "\x80\ue000", 0, 2, "")) == (
        "??",
        2,
    )  # letters without a name


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", [1]),
        ("1,2", [1, 2]),
        ("0.5,word", [0.5, "word"]),
        ("word", ["word"]),
        ("a,b", ["a", "b"]),
        ("[1,2]", [[1, 2]]),
        ('"a,b"', ["a,b"]),
        ("true,null", [True, None]),
        ("", [""]),
    ],
)
def test_values_of_a_field_are_json_or_words_between_commas(text: str, values: list[Any]) -> None:
    assert cli._values(text) == values


def test_a_number_and_a_pair_are_read_or_refused() -> None:
    assert [cli._whole(text) for text in ("1", "2", "007", "40")] == [1, 2, 7, 40]
    for text in ("", "0", "-1", "1.5", "x", "1 2"):
        with pytest.raises(
            argparse.ArgumentTypeError, match=f"^{text!r} is not a whole number of at least 1$"
        ):
            cli._whole(text)
    assert [cli._pair(text) for text in ("a=b", "a=b=c", "a==")] == [
        ("a", "b"),
        ("a", "b=c"),
        ("a", "="),
    ]
    for text in ("", "a", "=b", "a=", "="):
        with pytest.raises(argparse.ArgumentTypeError, match=f"^{text!r} is not NAME=VALUE$"):
            cli._pair(text)
    assert cli._pair_of("lam")("0.5,1") == ("lam", "0.5,1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("reproduce", "fig2", "--runs", "0"),
         "gq reproduce: error: argument --runs: '0' is not a whole number of at least 1"),
        (("run", "study"),
         "gq: error: STUDY is 'study'; it should be module:name (gq reproduce has the experiments of the paper)"),
        (("run", "test_cli:NO_STUDY"),
         "gq: error: test_cli:NO_STUDY is 'a word'; it should be an Experiment, or a function that returns one"),
        (("run", "test_cli:failing"),
         "gq: error: test_cli:failing should be a function that needs no argument: missing a required argument: "
         "'error'"),
        (("claims", "--verdict", "maybe"),
         "gq: error: --verdict is 'maybe'; it should be one of verified, definition, corrected, refuted, reproduced, "
         "not reproduced, underspecified"),
    ],
)  # fmt: skip
def test_errors_say_what_should_have_been(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr() == ("", told + "\n")


def test_a_study_is_looked_for_in_the_current_directory_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(cli, "_make", lambda studies, arguments: made.append(studies))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    assert run("run", "test_cli:A_STUDY") == run("run", "test_cli:small") == 0
    assert [[study.name for study in studies] for studies in made] == [["toy"], ["toy"]]
    assert sys.path[0] == str(tmp_path)


def test_some_names_stand_for_several_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(cli, "_make", lambda studies, arguments: made.append(studies))
    monkeypatch.setattr(cli, "load_experiment", lambda name: name)
    monkeypatch.setattr(cli, "TOGETHER", {"fig4": ["fig4", "fig2"]})
    for name in ("fig2", "fig4", "all"):
        assert run("reproduce", name) == 0
    assert made == [["fig2"], ["fig4", "fig2"], ["fig2", "fig3", "fig4", "table2"]]


def test_parts_of_today_are_made_by_one_command() -> None:
    assert set(cli.TOGETHER) == {"today"}
    assert "today" in cli.TOGETHER["today"]
    assert all(name.startswith("today") for name in cli.TOGETHER["today"])


def test_all_that_a_reproduction_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["reproduce", "fig2", "--workers", "1", "--out", str(tmp_path / "new")]
    assert run(*line) == run(*line, "--runs", "1", "--set", "scale=2, 3") == 0
    place, size = (
        tmp_path / "new",
        {path.stem: path.stat().st_size for path in (tmp_path / "new").glob("*.npz")},
    )
    assert capsys.readouterr().out.splitlines() == [
        "A toy: 3 settings, 10 runs each",
        "9 tasks to compute, with 30 of 30 runs",
        "variables of the result: run_index, values; dimensions: setting (3), run (10), values_1 (4)",
        f"9 tasks computed, 0 found in {place / '.store'}",
        f"written to {place / 'toy.npz'} ({size['toy'] / 1000:.0f} kB)",
        "A toy: 2 settings, 1 run each",
        "variables of the result: run_index, values; dimensions: setting (2), run (1), values_1 (4)",
        f"0 tasks computed, 2 found in {place / '.store'}",
        f"written to {place / 'toy-runs1-scale2_3.npz'} ({size['toy-runs1-scale2_3'] / 1000:.0f} kB)",
    ]


def test_workers_are_those_asked_for_or_one_for_each_core(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, asked = cli.run_sweep, []

    def watched(study: Any, store: Any, *, workers: int, dask: str | None, announce: Any) -> Any:
        asked.append((study.name, store.directory, workers, dask))
        assert announce.keywords == {
            "flush": True
        }  # a line is seen when it is said, in a pipe or a log, too
        return sweep(study, store, workers=1, announce=announce)

    monkeypatch.setattr(cli, "run_sweep", watched)
    monkeypatch.setattr("joblib.cpu_count", lambda: 17)
    for option in ([], ["--workers", "3"], ["--dask", "local"]):
        assert run("reproduce", "fig2", "--out", str(tmp_path), *option) == 0
    place = tmp_path / ".store"
    assert asked == [("toy", place, 17, None), ("toy", place, 3, None), ("toy", place, 17, "local")]


def test_tables_are_reported_beside_the_papers_and_the_second_is_pooled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gqlib.experiments.printed import PAPER_TABLE_1, PAPER_TABLE_2

    def told(result: Any, second: Any, first: Any) -> str:
        assert (second, first) == (PAPER_TABLE_2, PAPER_TABLE_1)
        return f"cases of {result}"

    monkeypatch.setattr(
        "gqlib.experiments.mountain_car_results.pooled_cases", lambda result: f"pooled {result}"
    )
    monkeypatch.setattr("gqlib.experiments.mountain_car_results.cases_table", told)
    study: Any = dataclasses.replace(A_STUDY, report="test_cli:reported")
    assert cli._report("table1", study, "runs") == "cases of runs"
    assert cli._report("table2", study, "runs") == "cases of pooled runs"
    for name in ("", "fig2", "table3"):
        assert cli._report(name, study, "runs") == "report of runs"


def reported(result: object) -> str:
    return f"report of {result}"


def test_a_table_that_lacks_some_of_its_settings_is_reported_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(cli, "_report", lambda name, study, result: asked.append(name) or "")
    line = ["reproduce", "fig4", "--workers", "1", "--out", str(tmp_path)]
    assert run(*line) == run(*line, "--sigma", "1") == run(*line, "--lam", "0.5") == 0
    assert asked == ["fig4", "", "fig4"]


def lost(flags: Any, *dims: str) -> str:
    settings = {
        "alpha": [0.1, 0.1, 0.2, 0.2],
        "sigma": [0.0, 1.0, 0.0, 1.0],
        "p": [64] * 4,
        "key": list("abcd"),
    }
    coords: Any = {name: ("setting", values) for name, values in settings.items()} | {
        "setting": range(4)
    }
    return cli._lost(
        xarray.Dataset({"diverged": (dims, flags), "steps": ("setting", [9] * 4)}, coords)
    )


def test_settings_that_lost_runs_are_told_by_the_fields_in_which_they_differ() -> None:
    assert cli._lost(xarray.Dataset({"steps": ("setting", [1])})) == ""
    assert cli._lost(xarray.Dataset({"diverged": ("run", [True])})) == ""
    assert lost([[False] * 2] * 4, "setting", "run") == ""
    flags = np.zeros((2, 4), dtype=bool)
    flags[1, 3] = True
    told = "\n1 of 4 settings have runs that diverged: alpha 0.2, sigma 1.0"
    assert lost(flags, "run", "setting") == lost(flags.T, "setting", "run") == told
    assert (
        lost(flags.T[:, :, None], "setting", "run", "episode") == lost(flags[1], "setting") == told
    )
    flags[0, [0, 1]] = True
    told = "\n3 of 4 settings have runs that diverged: alpha 0.1, sigma 0.0; alpha 0.1, sigma 1.0; alpha 0.2, sigma 1.0"
    assert lost(flags, "run", "setting") == told
    first = "alpha 0.1, sigma 0.0; alpha 0.1, sigma 1.0; alpha 0.2, sigma 0.0"
    told = f"\n4 of 4 settings have runs that diverged: {first}; ..."
    assert lost(np.ones((4, 1)), "setting", "run") == told


def opened(name: str, out: Path, *where: tuple[str, str]) -> Any:
    return cli._opened(argparse.Namespace(name=name, out=out, where=list(where)))


def test_a_result_is_a_name_in_a_directory_or_a_file(tmp_path: Path) -> None:
    assert run("reproduce", "fig2", "--workers", "1", "--out", str(tmp_path)) == 0
    path = tmp_path / "toy.npz"
    for name, out in (("toy", tmp_path), (str(path), tmp_path / "elsewhere")):
        found, result = opened(name, out)
        assert (found, result.sizes["setting"]) == (path, 3)
    scale = float(result["scale"].values[1])
    assert opened("toy", tmp_path, ("scale", str(scale)), ("length", "4"))[1][
        "scale"
    ].values.tolist() == [scale]
    for name in ("b", "a"):
        (tmp_path / f"{name}.npz").write_bytes(b"")
    for name in ("toys", str(tmp_path / "toys.npz")):
        told = f"there is no result {tmp_path / 'toys.npz'}; those in {tmp_path} are: a, b, toy"
        with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
            opened(name, tmp_path)


def test_a_result_is_exported_in_each_format_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(path: Path, result: object) -> list[Path]:
        assert result == "runs"
        path.write_bytes(bytes(2600))
        return [path]

    monkeypatch.setattr(cli, "_opened", lambda arguments: (tmp_path / "a.b.npz", "runs"))
    monkeypatch.setattr("gqlib.sweeps.exports.export_results", written)
    for options, suffixes in (
        ([], ["csv"]),
        (["--netcdf"], ["nc"]),
        (["--parquet", "--csv", "--parquet"], ["parquet", "csv"]),
    ):
        assert run("export", "a", *options) == 0
        told = [f"written to {tmp_path / 'a.b'}.{suffix} (3 kB)" for suffix in suffixes]
        assert capsys.readouterr().out.splitlines() == told


def test_a_drawing_goes_where_it_is_asked_to_or_beside_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib import pyplot

    drawn: list[tuple[object, str]] = []
    monkeypatch.setattr(cli, "_opened", lambda arguments: (tmp_path / "a.npz", "runs"))
    monkeypatch.setattr(
        "gqlib.plots.plot_result",
        lambda *given: drawn.append(given) or pyplot.figure(figsize=(1, 1)),
    )
    open_before = pyplot.get_fignums()
    for options, place in (
        ([], tmp_path / "a.png"),
        (["--save", str(tmp_path / "b.svg")], tmp_path / "b.svg"),
    ):
        assert run("plot", "a", *options, "--variable", "steps") == 0
        assert place.is_file()
        assert capsys.readouterr().out == f"written to {place}\n"
    assert run("plot", "a") == 0
    assert drawn == [("runs", "steps"), ("runs", "steps"), ("runs", "")]
    assert pyplot.get_fignums() == open_before
    assert pyplot.get_backend().lower() == "agg"


def test_a_manifest_makes_its_directories_and_replaces_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a" / "b" / "fig3-manifest.json"
    for value in ("σ", "λ"):
        monkeypatch.setattr(
            "gqlib.experiments.figure3.manifest", lambda value=value: {"b": [1, 2], "a": value}
        )
        assert run("manifest", "--out", str(path.parent)) == 0
        assert path.read_bytes() == f'{{"a":"{value}","b":[1,2]}}\n'.encode()
        assert capsys.readouterr().out == f"written to {path}\n"


CLAIMS = [
    Claim("one", "4.3 Convergence", "L", ("Theorem 1",), "Says  this.", "corrected", "Holds that.", "Read so.",
          (("chapter", "cell"), ("other", "label")), ("tests/test_a.py::test_b",), weight="major", defence="Defended."),
    Claim("two", "Abstract", "first words", (), "word " * 40 + "end", "verified", "", "", (), ("t",), repeats="one"),
    Claim("three", "Section 44", "", ("Table 1",), "Wide.", "verified", "", "", (("c", "d"),), ()),
]  # fmt: skip


@pytest.fixture
def three_claims(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    monkeypatch.setattr(
        "gqlib.claims.load_claims", lambda *, source: asked.append(source) or CLAIMS
    )
    return asked


def test_claims_are_told_in_paragraphs_with_a_count_below(
    three_claims: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("claims") == run("claims", "--source", "successor") == 0
    assert three_claims == ["paper", "successor"]
    words = " ".join(["word"] * 23)
    paragraph = f"""\
one: corrected (major), Theorem 1
    Says this.
    holds: Holds that.
    readings: Read so.
    for the paper: Defended.
    shown by: book/chapter.md cell, book/other.md label, tests/test_a.py::test_b

two: verified, {CLAIMS[1].place}
    {words}
    {" ".join(["word"] * 17)} end
    repeats: one
    shown by: t

three: verified, Table 1
    Wide.
    shown by: book/c.md d

1 verified, 1 corrected
"""
    assert capsys.readouterr().out == 2 * paragraph


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), ["one", "two", "three"]),
        (("--verdict", "verified"), ["two", "three"]),
        (("--verdict", "refuted"), []),
        (("HOLDS", "read"), ["one"]),
        (("holds", "wide"), []),
        (("w",), ["two", "three"]),
        (("--section", "4"), []),
        (("--section", "44"), ["three"]),
        (("--section", "abSTRact"), ["two"]),
        (("--section", "4.3 conv"), ["one"]),
        (("--section", "sect"), ["three"]),
        (("--verdict", "verified", "--section", "44", "wide"), ["three"]),
    ],
)
@pytest.mark.usefixtures("three_claims")
def test_claims_are_chosen_by_verdict_section_and_words(
    arguments: tuple[str, ...], found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [dataclasses.asdict(claim) for claim in CLAIMS if claim.id in found]
    assert run("claims", "--json", *arguments) == 0
    assert capsys.readouterr().out == json.dumps(wanted, indent=1) + "\n"


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("the λ-return", "lambda", True), ("the lambda-return", "λ", True), ("the λ-return", "lam", False),
        ("the lambda-return", "lam", True), (r"\sigma_k", "σ", True), ("σ_k", "sigma_k", True),
        ("theta and beta", "η", False), ("theta and beta", "eta", True), ("θ and β", "eta", False),
        ("β/α", "beta/alpha", True),
        ("a pick", "π", False), ("omega", "ω", True),
    ],
)  # fmt: skip
def test_the_name_of_a_greek_letter_stands_for_the_letter(
    text: str, word: str, found: bool
) -> None:
    assert cli._mentions(text, word) is found


def test_claims_are_found_by_the_name_of_a_greek_letter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    greek = dataclasses.replace(CLAIMS[0], section="Q(σ, λ)", says="For every Λ.")
    monkeypatch.setattr("gqlib.claims.load_claims", lambda *, source: [greek, *CLAIMS])
    for arguments in (("Lambda",), ("λ",), ("--section", "q(sigma"), ("--section", "Q(σ, lambda)")):
        assert [claim["says"] for claim in claims_told(capsys, *arguments)] == ["For every Λ."]


def test_values_too_many_for_a_name_are_a_digest_in_it(tmp_path: Path) -> None:
    """What a command computes it can write: a file's name has at most 255 letters."""
    written = []
    for last in (70, 71):
        values = ",".join(f"{value}.5" for value in range(1, last))
        line = [
            "reproduce",
            "fig2",
            "--runs",
            "1",
            "--workers",
            "1",
            "--out",
            str(tmp_path),
            "--set",
        ]
        assert run(*line, f"scale={values}") == 0
        (new,) = {path.name for path in tmp_path.glob("*.npz")}.difference(written)
        written.append(new)
        assert new.startswith("toy-runs1-scale1.5_2.5_3.5")
        assert len(new) == len("toy-runs1.npz") + cli.LONGEST_LABEL
    assert cli._labels({"scale": "1" * 114}) == "-scale" + "1" * 114


def test_a_closed_output_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run("claims", "no such word") == 0


def test_a_picture_is_written_where_it_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("reproduce", "fig4", "--workers", "1", "--out", str(tmp_path)) == 0
    assert run("plot", "fig4", "--out", str(tmp_path), "--save", str(tmp_path / "picture")) == 2
    assert "picture'; it should end in .png, .svg or .pdf" in capsys.readouterr().err
    assert not (tmp_path / "picture.png").exists()
