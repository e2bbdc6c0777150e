from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweep_tasks import experiment

import gqlib
from gqlib import cli, experiments
from gqlib.experiments.mountain_car import control_experiment, control_grid, table2
from gqlib.sweeps import progress
from gqlib.sweeps.names import TABLE
from gqlib.sweeps.results import load_results

HERE = Path(__file__).parent


def small() -> object:
    return experiment()


def slow() -> object:
    return experiment(settings=50, runs=40, delay=0.05)


def car() -> object:
    """Learning curves of the car, in a moment."""
    settings = control_grid([{"sigma": 0.0}, {"sigma": 1.0}], alpha=(0.001, 0.002), episodes=(3,), max_steps=(50,))
    return control_experiment("fig4", "Figure 4", settings, runs=2, runs_per_task=2, summary="control with spread")


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


def test_reproduce_writes_the_result_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_more_runs_add_to_those_that_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--runs 1`, then `--runs 2`."""
    for runs, computed, found in (("1", 3, 0), ("2", 3, 3), ("1", 0, 3), ("2", 0, 6)):
        assert run("reproduce", "fig2", "--runs", runs, "--workers", "1", "--out", str(tmp_path)) == 0
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
    assert run("reproduce", "table2", "--sigma", "0.5", "--workers", "1", "--out", str(tmp_path)) == 0
    assert "steps per episode" in capsys.readouterr().out


def test_fields_are_changed_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
def test_an_experiment_of_ones_own_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], study: str) -> None:
    assert run("run", study, "--workers", "1", "--runs", "3", "--set", "length=2", "--out", str(tmp_path)) == 0
    assert "run_index, values by setting, run, values_1" in capsys.readouterr().out
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
    command = ["-c", "import sys, gqlib.cli; sys.exit(gqlib.cli.main())", "run", "my_study:study", "--workers", "2"]
    done = subprocess.run([sys.executable, "-P", *command], cwd=tmp_path, env=paths(), capture_output=True, text=True)
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
        str(tmp_path / f"fig4-{dims}.csv") for dims in ("run", "quantile-episode", "episode")
    ]
    rows = (tmp_path / "fig4-episode.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 3
    assert rows[0].startswith("setting,episode,steps_sum,")
    assert ",steps_mean," in rows[0]
    assert run("export", str(tmp_path / "fig4.npz"), "--csv") == 0
    assert len((tmp_path / "fig4-episode.csv").read_text().splitlines()) == 1 + 4 * 3
    assert run("plot", "fig4", *place) == 0
    assert (tmp_path / "fig4.png").read_bytes().startswith(b"\x89PNG")
    assert run("plot", "fig4", "--variable", "capped", "--save", str(tmp_path / "cut.svg"), *place) == 0
    assert "<svg" in (tmp_path / "cut.svg").read_text()


def test_what_parquet_and_netcdf_need_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run("reproduce", "fig4", "--workers", "1", "--out", str(tmp_path)) == 0
    capsys.readouterr()
    assert run("export", "fig4", "--parquet", "--out", str(tmp_path)) == 2
    assert capsys.readouterr().err == "gq: error: Parquet needs the package pyarrow: python -m pip install pyarrow\n"
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "extra", "act"),
    [
        ("matplotlib", "plot", "import gqlib.cli; sys.exit(gqlib.cli.main(['plot', 'x']))"),
        ("sympy", "symbolic", "import gqlib.symbolic"),
        ("gymnasium", "gym", "from gqlib.control.gym import features_of; features_of(None)"),
        ("gymnasium", "gym", "from gqlib.control.gym import _spaces; _spaces(None)"),
        ("distributed", "cluster", "gqlib.cli.main(['reproduce', 'fig2', '--dask', 'local', '--out', sys.argv[1]])"),
    ],
)
def test_a_missing_extra_says_what_to_install(tmp_path: Path, package: str, extra: str, act: str) -> None:
    code = f"import sys, gqlib.cli; sys.modules[{package!r}] = None; {act}"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=paths(), capture_output=True, text=True)
    assert f"needs the package {package}: install gqlib[{extra}]" in done.stderr.splitlines()[-1]


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
        (("reproduce", "fig2", "--set", "shape=3"), "shape is no field of Toy; it should be one of scale, length"),
        (("reproduce", "fig2", "--lam", "0.5"), "lam is no field of Toy"),
        (("reproduce", "fig4", "--lam", "2"), "lam is 2"),
        (("run", "no_module:study"), "no_module"),
        (("run", "study"), "STUDY is 'study'; it should be module:name"),
        (("run", "fig2"), "gq reproduce has the experiments of the paper"),
        (("run", "test_cli:NO_STUDY"), "test_cli:NO_STUDY is 'a word'; it should be an Experiment"),
        (("run", "json:dumps"), "json:dumps should be a function that needs no argument"),
        (("plot", "fig9"), "there is no result results/fig9.npz; those in results are: none"),
        (("export", "fig9", "--csv"), "there is no result"),
        (("bench", "--repeats", "0"), "'0' is not a whole number"),
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


def test_the_command_alone_shows_its_usage_and_knows_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    told = capsys.readouterr().out
    assert told.startswith("usage: gq")
    for command in ("reproduce", "run", "plot", "export", "manifest", "claims", "bench"):
        assert f"\n    {command}" in told
    assert run("--version") == 0
    assert capsys.readouterr().out == f"gq {gqlib.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [(), *((name,) for name in ("reproduce", "run", "plot", "export", "manifest", "claims", "bench"))]
)
def test_help_is_there_for_every_command(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments, "--help") == 0
    assert capsys.readouterr().out.startswith("usage: gq")


def test_claims_lists_the_register_with_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    from gqlib.claims import load_claims

    assert run("claims") == 0
    *paragraphs, counts = capsys.readouterr().out.split("\n\n")
    assert [paragraph.split(":")[0] for paragraph in paragraphs] == [claim.id for claim in load_claims()]
    counted = sum(claim.verdict == "verified" and not claim.repeats for claim in load_claims())
    assert counts.startswith(f"{counted} verified, ")


def test_a_claim_is_told_with_what_holds_and_what_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
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
    assert claims_told(capsys, "--section", "convergence analysis") == claims_told(capsys, "--section", "Section 4.3")
    both = claims_told(capsys, "MARTINGALE", "iterates")
    assert both
    for claim in both:
        assert {"martingale", "iterates"} <= {word for word in ("martingale", "iterates") if word in str(claim).lower()}
    assert claims_told(capsys, "no such word") == []
    assert run("claims", "no such word") == 0
    assert capsys.readouterr().out == "no claim\n"


def test_a_terminal_without_greek_letters_gets_their_names() -> None:
    code = "import sys, gqlib.cli; sys.exit(gqlib.cli.main())"
    for arguments in (("claims",), ("reproduce", "--help")):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], env=paths() | {"PYTHONIOENCODING": "cp1252"}, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"lambda" in done.stdout
    assert cli._spelt(UnicodeEncodeError("cp1252", "σΓλ₀→☃", 0, 6, ""))[0] == "sigmaGammalambda0->?"
    with pytest.raises(UnicodeDecodeError):
        cli._spelt(UnicodeDecodeError("utf-8", b"x", 0, 1, ""))


def test_the_benchmark_gets_its_options_and_gives_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []

    def bench(repeats: int, *, as_json: bool) -> int:
        called.append((repeats, as_json))
        return 1

    monkeypatch.setattr("gqlib.bench.engine.bench", bench)
    assert run("bench") == run("bench", "--repeats", "2", "--json") == 1
    assert called == [(7, False), (2, True)]
    for name in ("costs", "peers"):
        write = f"gqlib.bench.{name}.write_{name}"
        monkeypatch.setattr(write, lambda path, repeats, tell, name=name: called.append((name, path, repeats)) or path)
    assert run("bench", "--costs", "a.json", "--peers", "b.json", "--repeats", "3") == 0
    assert called[2:] == [("costs", Path("a.json"), 3), ("peers", Path("b.json"), 3)]


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
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
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
        os.killpg(process.pid, number)  # what terminals and batch systems do: to the command and to all its workers
        _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert told.count("\n") == 1
    assert told.endswith(f"to resume: gq reproduce fig2 --workers {workers} --out '{tmp_path / 'an out'}'\n")
    assert str(store) in told
    assert not list(store.glob(".partial-*"))
    assert 3 <= len(list(store.glob("*.npz"))) < 500


def test_the_committed_manifest_is_what_the_command_writes(tmp_path: Path) -> None:
    assert run("manifest", "--out", str(tmp_path)) == 0
    committed = HERE.parent / "results" / "fig3-manifest.json"
    assert (tmp_path / "fig3-manifest.json").read_bytes() == committed.read_bytes()
