"""The command ``gq``: reproduce figures and tables, list the claims, run the benchmarks."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gqlib.experiments import REGISTRY, load_experiment
from gqlib.sweeps.names import SweepError, look_up
from gqlib.sweeps.store import Store, StoreError
from gqlib.sweeps.sweep import Experiment, run_sweep

__all__ = ["main"]

FAILED, INTERRUPTED = 2, 130
_EPILOG = """\
examples:
  gq reproduce table2 --runs 2             a first look, on all cores
  gq reproduce table2                      the committed result, bit for bit
  gq reproduce all --workers 2             everything
  gq reproduce fig4 --dask tcp://host:8786 on a Dask cluster whose workers have gqlib installed

The result is OUT/NAME.npz, or OUT/NAME-runsN.npz where --runs asks for another number of runs than
that of the committed result. Finished tasks are kept in OUT/.store: a command that was interrupted,
by Ctrl-C or a power cut, resumes where it stopped when it is run again, and experiments share what
they have in common. The directory can be deleted when the results are there.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(FAILED, f"{self.prog}: error: {message}\n")


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="gq", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    reproduce = commands.add_parser(
        "reproduce",
        help="make the data behind a figure or a table",
        description="Make the data behind a figure or a table of the paper.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.add_argument("name", choices=[*REGISTRY, "all"], metavar="NAME", help=", ".join([*REGISTRY, "all"]))
    reproduce.add_argument("--runs", type=_whole, metavar="N", help="runs of each setting (default: as committed)")
    where = reproduce.add_mutually_exclusive_group()
    where.add_argument("--workers", type=_whole, metavar="N", help="local processes (default: one for each core)")
    where.add_argument("--dask", metavar="ADDR", help="address of a Dask scheduler, tcp://host:port")
    reproduce.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    reproduce.set_defaults(call=_reproduce)

    manifest = commands.add_parser("manifest", help="write down every setting and seed behind Figure 3")
    manifest.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    manifest.set_defaults(call=_manifest)

    claims = commands.add_parser("claims", help="list the claims of the paper and their verdicts")
    claims.add_argument("--verdict", metavar="V", help="only claims with this verdict")
    claims.set_defaults(call=_claims)

    bench = commands.add_parser("bench", help="measure the engine, as ratios")
    bench.add_argument("--json", action="store_true", help="print JSON instead of a table")
    bench.set_defaults(call=_bench)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (0 done, 2 an error, reported in one line, 130 interrupted).

    Examples
    --------
    >>> main(["reproduce", "fig2", "--runs", "0"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(given)
    try:
        arguments.call(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        resume = ""
        if arguments.call is _reproduce:
            again = shlex.join(["gq", *given])
            resume = f"; finished tasks are safe in {arguments.out / '.store'}; to resume: {again}"
        print(f"gq: interrupted{resume}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe, such as head, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (StoreError, SweepError, ValueError, ImportError, OSError) as error:
        print("gq: error: " + " ".join(str(error).split()), file=sys.stderr)
        return FAILED
    return 0


def _reproduce(arguments: argparse.Namespace) -> None:
    from joblib import cpu_count

    names = list(REGISTRY) if arguments.name == "all" else [arguments.name]
    experiments = [load_experiment(name) for name in names]
    workers = arguments.workers or cpu_count()
    store = Store(arguments.out / ".store")
    for committed in experiments:
        experiment = committed.with_runs(arguments.runs)
        changed = f"-runs{experiment.runs}" if experiment.runs != committed.runs else ""
        _make(experiment, store, arguments.out / f"{experiment.name}{changed}.npz", workers, arguments.dask)


def _make(experiment: Experiment, store: Store, path: Path, workers: int, dask: str | None) -> None:
    from gqlib.sweeps.results import collect, save_results

    print(f"{experiment.title}: {len(experiment.settings)} settings, {experiment.runs} runs each", flush=True)
    progress = run_sweep(experiment, store, workers=workers, dask=dask)
    result = collect(experiment, store)
    save_results(path, result)
    if experiment.report:
        print(look_up("report", experiment.report, allow=[experiment.report])(result))
    print(f"{progress.computed} tasks computed, {progress.found} found in {store.directory}")
    print(f"written to {path} ({path.stat().st_size / 1000:.0f} kB)", flush=True)


def _manifest(arguments: argparse.Namespace) -> None:
    from gqlib.experiments.figure3 import manifest
    from gqlib.sweeps.store import write_file

    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "fig3-manifest.json"
    text = json.dumps(manifest(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    write_file(path, text.encode() + b"\n")
    print(f"written to {path}")


def _claims(arguments: argparse.Namespace) -> None:
    from gqlib import claims

    register = claims.load_claims()
    if arguments.verdict is not None and arguments.verdict not in claims.VERDICTS:
        raise ValueError(f"--verdict is {arguments.verdict!r}; it should be one of {', '.join(claims.VERDICTS)}")
    for claim in register:
        if arguments.verdict in (None, claim.verdict):
            print(f"{claim.verdict:15} {claim.section}, {claim.label}: {' '.join(claim.says.split())}")
    print(", ".join(f"{count} {verdict}" for verdict, count in claims.count_verdicts(register).items()))


def _bench(arguments: argparse.Namespace) -> None:
    from gqlib.bench import engine

    engine.main(["--json"] if arguments.json else [])
