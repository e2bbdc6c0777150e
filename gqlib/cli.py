"""The command ``gq``: make the data behind figures and tables, look at results, list the claims, measure the engine."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import dataclasses
import functools
import hashlib
import inspect
import json
import os
import re
import shlex
import signal
import sys
import textwrap
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gqlib import __version__
from gqlib import _validate as check
from gqlib.experiments import REGISTRY, load_experiment
from gqlib.sweeps.names import SweepError, look_up
from gqlib.sweeps.store import Store, StoreError
from gqlib.sweeps.sweep import Experiment, run_sweep

if TYPE_CHECKING:
    import xarray

    from gqlib.claims import Claim

__all__ = ["main"]

FAILED, INTERRUPTED, TERMINATED = 2, 130, 143
LONGEST_LABEL = (
    120  # letters; a name of a file has at most 255, and one that is being written some more
)
OVERRIDES = {"sigma": "S", "lam": "L", "tilings": "N"}  # fields that have an option of their own
TOGETHER = {"today": [name for name in REGISTRY if name.startswith("today")]}  # made by one command
SPELT = {
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "−": "-",
    "⁻": "^-",
    "‖": "||",
    "∈": "in",
    "ᵀ": "'",
    "…": "...",
}
_LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
# By name; that of λ is lamda in Unicode.
GREEK = {
    unicodedata.name(letter).split()[-1].lower().replace("amda", "ambda"): letter
    for letter in _LETTERS
}
_EPILOG = """\
examples:
  gq reproduce table2 --runs 2             a first look, on all cores
  gq reproduce table2                      the committed result, bit for bit
  gq reproduce all --workers 2             everything
  gq reproduce today                       all parts of Part V
  gq reproduce fig4 --lam 0.9              Figure 4 with another λ; --lam 0.9,0.95 makes both
  gq reproduce fig4 --dask tcp://host:8786 on a Dask cluster whose workers have gqlib installed

The result is OUT/NAME.npz; where --runs, --set and the like ask for something else than the committed
result, its name says so: OUT/fig4-runs2-lam0.9.npz. Finished tasks are kept in OUT/.store: a command
that was interrupted, by Ctrl-C, SIGTERM or a power cut, resumes where it stopped when it is run again,
more runs add to those that are there, and experiments share what they have in common. The directory
can be deleted when the results are there.
"""
_STUDY = """\
STUDY is module:name, in the current directory or installed: a gqlib.sweeps.sweep.Experiment, or a function that returns
one. The module is imported because you name it here; a result never chooses what is imported.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(FAILED, f"{self.prog}: error: {message}\n")


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which ends the command as Ctrl-C does."""


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gq", description="Gradient Q(σ, λ): experiments, results, claims and speed."
    )
    parser.add_argument("--version", action="version", version=f"gq {__version__}")
    commands = parser.add_subparsers(metavar="command")

    def command(call: Any, text: str, **options: Any) -> argparse.ArgumentParser:
        name, sentence = call.__name__.removeprefix("_"), f"{text[0].upper()}{text[1:]}."
        new: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=sentence, **options
        )
        new.set_defaults(call=call)
        return new

    reproduce = command(
        _reproduce,
        "make the data behind a figure or a table of the paper",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.add_argument(
        "name", choices=[*REGISTRY, "all"], metavar="NAME", help=", ".join([*REGISTRY, "all"])
    )
    run = command(_run, "run an experiment of your own", epilog=_STUDY)
    run.add_argument("study", metavar="STUDY", help="module:name of an Experiment")
    for sweep in (reproduce, run):
        _sweep_options(sweep)

    plot = command(_plot, "draw a result")
    plot.add_argument(
        "--variable", default="", metavar="V", help="what to draw (default: curves or scores)"
    )
    plot.add_argument(
        "--save", type=Path, metavar="FILE", help="default: OUT/NAME.png; .svg and .pdf work too"
    )
    export = command(
        _export, "write a result for other programs: one table, or one for each set of dimensions"
    )
    formats = {"csv": "text (default)", "parquet": "needs pyarrow", "netcdf": "one file for xarray"}
    for name, text in formats.items():
        export.add_argument(
            f"--{name}", action="append_const", dest="formats", const=name, help=text
        )
    for reader in (plot, export):
        reader.add_argument(
            "name", metavar="NAME", help="a result in OUT, or a file that ends in .npz"
        )
        reader.add_argument(
            "--where",
            type=_pair,
            action="append",
            default=[],
            metavar="FIELD=VALUE",
            help="only these settings",
        )
        _out_option(reader)

    _out_option(command(_manifest, "write down every setting and seed behind Figure 3"))

    claims = command(_claims, "list the claims of the paper, with verdict, correction and evidence")
    claims.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="only claims that have all of these words somewhere",
    )
    claims.add_argument("--verdict", metavar="V", help="only claims with this verdict")
    claims.add_argument(
        "--section", metavar="S", help="only claims of this section, as in --section 4.3"
    )
    claims.add_argument(
        "--source",
        default="paper",
        metavar="S",
        help="paper (default), or successor (its abstract)",
    )
    claims.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _out_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )


def _pair_of(name: str) -> Callable[[str], tuple[str, str]]:
    """What makes of a text the pair of a field and its values."""

    def pair(text: str) -> tuple[str, str]:
        return _pair(f"{name}={text}")

    return pair


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs", type=_whole, metavar="N", help="runs of each setting (default: as committed)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=_whole, metavar="N", help="local processes (default: one for each core)"
    )
    where.add_argument(
        "--dask", metavar="ADDR", help="address of a Dask scheduler, tcp://host:port, or: local"
    )
    parser.add_argument(
        "--set",
        type=_pair,
        action="append",
        default=[],
        metavar="FIELD=VALUES",
        help="change a field of all settings",
    )
    for (
        name,
        letter,
    ) in (
        OVERRIDES.items()
    ):  # in one list with the others: the result is named in the order as typed
        parser.add_argument(
            f"--{name}", type=_pair_of(name), action="append", dest="set", metavar=letter,
            help=f"short for --set {name}={letter}",
        )  # fmt: skip
    _out_option(parser)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code.

    That is 0 if all went well, 2 for an error, reported in one line, 130 after Ctrl-C and
    143 after SIGTERM.

    Examples
    --------
    >>> main(["reproduce", "fig2", "--runs", "0"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    given = list(sys.argv[1:] if argv is None else argv)
    _spell_out()
    parser = _parser()
    arguments = parser.parse_args(given)
    if not hasattr(arguments, "call"):
        parser.print_help()
        return 0
    try:
        with _ended_by_sigterm():
            code: int = arguments.call(arguments) or 0
            if sys.stdout is not None:  # a shell can close it
                sys.stdout.flush()
            return code
    except KeyboardInterrupt as stop:
        resume = ""
        if arguments.call in (_reproduce, _run):
            again = shlex.join(["gq", *given])
            resume = f"; finished tasks are safe in {arguments.out / '.store'}; to resume: {again}"
        print(f"gq: interrupted{resume}", file=sys.stderr)
        return TERMINATED if isinstance(stop, _Terminated) else INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe, such as head, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (StoreError, SweepError, ValueError, ImportError, OSError) as error:
        print("gq: error: " + " ".join(str(error).split()), file=sys.stderr)
        return FAILED


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, which batch systems and containers send, end the command as Ctrl-C does."""

    def stop(number: int, frame: object) -> NoReturn:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _spell_out() -> None:
    """Where a terminal has no letter for it, write sigma for σ and ? for what has no name; never fail."""
    codecs.register_error("gqlib.spell", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="gqlib.spell")


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    words = []
    for letter in error.object[error.start : error.end]:
        plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
        greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+).*", unicodedata.name(letter, ""))
        spelt = (
            (greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()) if greek else "?"
        )
        words.append(SPELT.get(letter) or plain or spelt.replace("amda", "ambda"))
    return "".join(words), error.end


def _reproduce(arguments: argparse.Namespace) -> None:
    names = (
        list(REGISTRY)
        if arguments.name == "all"
        else TOGETHER.get(arguments.name, [arguments.name])
    )
    _make([load_experiment(name) for name in names], arguments)


def _run(arguments: argparse.Namespace) -> None:
    name = arguments.study
    if ":" not in name:
        raise ValueError(
            f"STUDY is {name!r}; it should be module:name (gq reproduce has the experiments of the paper)"
        )
    sys.path.insert(0, os.getcwd())  # as `python -m` has it; worker processes take it over
    study: Any = look_up("experiment", name, allow=[name])
    if inspect.isfunction(study):
        try:
            inspect.signature(study).bind()
        except TypeError as error:
            raise ValueError(
                f"{name} should be a function that needs no argument: {error}"
            ) from None
        study = study()
    if not isinstance(study, Experiment):
        raise ValueError(
            f"{name} is {check.brief(study)}; it should be an Experiment, or a function that returns one"
        )
    _make([study], arguments)


def _make(experiments: list[Experiment], arguments: argparse.Namespace) -> None:
    from joblib import cpu_count

    from gqlib.sweeps.results import collect, save_results

    changes = dict(arguments.set)
    if len(changes) < len(arguments.set):
        raise ValueError(
            "a field is set twice; several values should stand between commas, as in --set alpha=0.1,0.2"
        )
    fields = {name: _values(text) for name, text in changes.items()}
    plans = [
        (original, original.with_runs(arguments.runs).with_fields(**fields))
        for original in experiments
    ]
    store, say = Store(arguments.out / ".store"), functools.partial(print, flush=True)
    for original, changed in plans:
        suffix = f"-runs{changed.runs}" if changed.runs != original.runs else ""
        labels = _labels(changes)
        experiment = dataclasses.replace(changed, name=original.name + labels)
        runs = "1 run" if experiment.runs == 1 else f"{experiment.runs} runs"
        say(f"{experiment.title}: {len(experiment.settings)} settings, {runs} each")
        workers = arguments.workers or cpu_count()
        done = run_sweep(experiment, store, workers=workers, dask=arguments.dask, announce=say)
        result = collect(experiment, store)
        path = save_results(arguments.out / f"{original.name}{suffix}{labels}.npz", result)
        whole = len(experiment.settings) == len(original.settings)
        say(_report(original.name if whole else "", experiment, result))
        say(f"{done.computed} tasks computed, {done.found} found in {store.directory}")
        say(f"written to {path} ({path.stat().st_size / 1000:.0f} kB)")


def _labels(changes: dict[str, str]) -> str:
    """What the name of a result says of the fields that were changed; a digest where that would be too long."""
    text = "".join(
        f"-{name}{re.sub(r'[^0-9A-Za-z_.+-]+', '_', values)}" for name, values in changes.items()
    )
    if len(text) <= LONGEST_LABEL:
        return text
    digest = hashlib.sha256(json.dumps(list(changes.items())).encode()).hexdigest()[:12]
    return f"{text[: LONGEST_LABEL - len(digest) - 1]}-{digest}"


def _values(text: str) -> list[Any]:
    """The values after ``--set NAME=``: one, or several between commas; JSON where it is JSON, otherwise words."""

    def value(part: str) -> Any:
        try:
            return json.loads(part)
        except (ValueError, RecursionError):
            return part

    whole = value(text)
    return [value(part) for part in text.split(",")] if whole == text and "," in text else [whole]


def _report(name: str, experiment: Experiment, result: xarray.Dataset) -> str:
    """A few lines about a result; Tables 1 and 2 beside those of the paper."""
    if name in ("table1", "table2"):
        from gqlib.experiments.mountain_car_results import cases_table, pooled_cases
        from gqlib.experiments.printed import PAPER_TABLE_1, PAPER_TABLE_2

        return cases_table(
            pooled_cases(result) if name == "table2" else result, PAPER_TABLE_2, PAPER_TABLE_1
        )
    if not experiment.report:
        sizes = ", ".join(f"{name} ({size})" for name, size in result.sizes.items())
        return f"variables of the result: {', '.join(map(str, result.data_vars))}; dimensions: {sizes}{_lost(result)}"
    text: str = look_up("report", experiment.report, allow=[experiment.report])(result)
    return text


def _lost(result: xarray.Dataset) -> str:
    """A line about settings whose runs diverged, if there are any: how many, and the first few."""
    if "diverged" not in result or "setting" not in result["diverged"].dims:
        return ""
    runs = result["diverged"].transpose("setting", ...)
    where = [i for i, flags in enumerate(runs.values.reshape(len(runs), -1)) if flags.any()]
    fields = {
        name: field.values.tolist()
        for name, field in result.coords.items()
        if field.dims == ("setting",)
    }
    names = [
        name
        for name, values in fields.items()
        if name not in ("setting", "key") and len(set(values)) > 1
    ]
    told = [", ".join(f"{name} {fields[name][i]}" for name in names) for i in where[:3]]
    more = "; ..." if len(where) > len(told) else ""
    return (
        f"\n{len(where)} of {len(runs)} settings have runs that diverged: {'; '.join(told)}{more}"
        if where
        else ""
    )


@contextlib.contextmanager
def _told_of(path: Path, done: str) -> Iterator[None]:
    """Whatever a result from elsewhere makes others' code raise, as an error in one line that names the file."""
    try:
        yield
    except (StoreError, SweepError, ValueError, ImportError, OSError):
        raise
    except Exception as error:
        raise SweepError(f"{path} cannot be {done}: {type(error).__name__}: {error}") from error


def _opened(arguments: argparse.Namespace) -> tuple[Path, xarray.Dataset]:
    """The file that a name means, and the part of it that is asked for."""
    from gqlib.sweeps.exports import select
    from gqlib.sweeps.results import load_results

    path = (
        Path(arguments.name)
        if arguments.name.endswith(".npz")
        else arguments.out / f"{arguments.name}.npz"
    )
    if not path.is_file():
        known = ", ".join(sorted(other.stem for other in path.parent.glob("*.npz"))) or "none"
        raise ValueError(f"there is no result {path}; those in {path.parent} are: {known}")
    result = load_results(path)
    for name, value in arguments.where:
        result = select(result, name, value)
    return path, result


def _plot(arguments: argparse.Namespace) -> None:
    with check.package("matplotlib", "plot"):
        import matplotlib
        from matplotlib import pyplot

    from gqlib.plots import plot_result

    matplotlib.use("agg")
    path, result = _opened(arguments)
    place = arguments.save or path.with_suffix(".png")
    if not place.suffix:  # or matplotlib would choose another name
        raise ValueError(f"--save is {str(place)!r}; it should end in .png, .svg or .pdf")
    with _told_of(path, "drawn"):
        figure = plot_result(result, arguments.variable)
        figure.savefig(place)
        pyplot.close(figure)
    print(f"written to {place}")


def _export(arguments: argparse.Namespace) -> None:
    from gqlib.sweeps.exports import export_results

    path, result = _opened(arguments)
    path = path.with_stem(
        path.stem + _labels(dict(arguments.where))
    )  # beside the whole result, not in its place
    missed = []
    for name in dict.fromkeys(arguments.formats or ["csv"]):
        try:
            with _told_of(path, "exported"):
                files = export_results(
                    path.with_suffix(".nc" if name == "netcdf" else f".{name}"), result
                )
            for written in files:
                print(f"written to {written} ({written.stat().st_size / 1000:.0f} kB)")
        except SweepError as error:  # a package is missing, which another format may not need
            missed.append(str(error))
    if missed:
        raise SweepError("; ".join(missed))


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

    if arguments.verdict is not None and arguments.verdict not in claims.VERDICTS:
        raise ValueError(
            f"--verdict is {arguments.verdict!r}; it should be one of {', '.join(claims.VERDICTS)}"
        )
    chosen = [
        claim
        for claim in claims.load_claims(source=arguments.source)
        if arguments.verdict in (None, claim.verdict)
        and (arguments.section is None or _in_section(claim, arguments.section))
        and all(
            _mentions(str(dataclasses.astuple(claim)).lower(), word.lower())
            for word in arguments.words
        )
    ]
    if arguments.json:
        print(json.dumps([dataclasses.asdict(claim) for claim in chosen], indent=1))
        return
    for claim in chosen:
        print(_told(claim), end="\n\n")
    counts = claims.count_verdicts(chosen)
    print(
        ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no claim"
    )


def _mentions(text: str, word: str) -> bool:
    """Whether a word is in a text, where the name of a Greek letter stands for the letter in either of them."""
    return word in text or _in_greek(word) in _in_greek(text)


def _in_greek(text: str) -> str:
    return re.sub(f"(?<![a-z])({'|'.join(GREEK)})(?![a-z])", lambda found: GREEK[found[0]], text)


def _in_section(claim: Claim, wanted: str) -> bool:
    """Whether a claim is in a section, by number (4 has 4.1 too) or by words of its title."""
    if re.fullmatch(r"[0-9.]+", wanted):
        return any(f"{number}.".startswith(f"Section {wanted}.") for number in claim.sections)
    return any(_mentions(name.lower(), wanted.lower()) for name in (claim.section, *claim.sections))


def _told(claim: Claim) -> str:
    """A claim in a paragraph: verdict and place, what the paper says, what holds, and what shows it."""
    weight = f" ({claim.weight})" if claim.weight else ""
    shown = [f"book/{chapter}.md {cell}" for chapter, cell in claim.cells] + list(claim.tests)
    parts = {
        "": claim.says,
        "holds: ": claim.correction,
        "readings: ": claim.readings,
        "for the paper: ": claim.defence,
        "repeats: ": claim.repeats,
        "shown by: ": ", ".join(shown),
    }
    lines = [f"{claim.id}: {claim.verdict}{weight}, {claim.place}"]
    for head, text in parts.items():
        wrapped = textwrap.wrap(
            " ".join(f"{head}{text}".split()), 116, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"    {line}" for line in wrapped if text]
    return "\n".join(lines)
