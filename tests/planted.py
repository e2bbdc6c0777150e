"""Plant errors in the derivations of the chapters and see that nbval catches each: `make planted`.

Each error is one edit of one line: a sign, an index, a transpose, a factor or a typo in a matrix, of the kind that
slips into a derivation by hand. It is made in a copy of the executed record, in a temporary directory; pytest with
nbval then runs the copy until the first cell that fails. An error counts as caught if that cell is the edited one or a
later one: an earlier failure has nothing to do with it (a record that is out of date, say). The last column says by
what it was caught. An assert is what a derivation should end in; "output" is a printed number that changed.

`python tests/planted.py 3 17` tries errors 3 and 17 alone. `tests/test_planted.py` holds the list to the chapters.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import nbformat

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("sign", "index", "transpose", "factor", "typo in a matrix")


class Planted(NamedTuple):
    """One error: in this chapter, `old` is replaced by `new`."""

    chapter: str
    kind: str
    old: str
    new: str


ERRORS = (
    Planted(
        "sampling_and_expectation", "sign", "rewards.ravel() + mdp.gamma * pairs", "rewards.ravel() - mdp.gamma * pairs"
    ),
    Planted("sampling_and_expectation", "factor", "claimed = sigma**2 * gamma**2", "claimed = sigma**2 * gamma"),
    Planted("returns_and_traces", "index", "R[k + 1] + g * Q[k + 1] - Q[k]", "R[k] + g * Q[k + 1] - Q[k]"),
    Planted("returns_and_traces", "factor", "short = (1 - lam) * W + lam**h * now", "short = W + lam**h * now"),
    Planted(
        "expected_update",
        "factor",
        "held = -sp.diff((G - value) ** 2, t1) / 2",
        "held = -sp.diff((G - value) ** 2, t1)",
    ),
    Planted("expected_update", "index", "phi.row(2 * state + a) for a", "phi.row(state + a) for a"),
    Planted(
        "expected_update",
        "transpose",
        "phi.row(path[0]).T * delta(*path[-2:])",
        "delta(*path[-2:]).T * phi.row(path[0])",
    ),
    Planted("expected_update", "transpose", "decay * P_mu.T, weighted", "decay * P_mu, weighted"),
    Planted("instability", "sign", "weights = weights + 0.01 * example @", "weights = weights - 0.01 * example @"),
    Planted("instability", "factor", "(gamma * (9 + lam) - 10) / (8 *", "(gamma * (9 + lam) - 10) / (4 *"),
    Planted("what_it_converges_to", "sign", "gamma * sigma * (Pm - Pp) * q", "gamma * sigma * (Pp - Pm) * q"),
    Planted("what_it_converges_to", "transpose", "claimed = sigma * e * theta.T", "claimed = sigma * theta * e.T"),
    Planted("mspbe_and_proposition_1", "factor", "Pi = Phi * M.inv() * Phi.T * Xi", "Pi = Phi * M.inv() * Phi.T"),
    Planted("mspbe_and_proposition_1", "transpose", "claimed = A.T * M.inv()", "claimed = A * M.inv()"),
    Planted("mspbe_and_proposition_1", "index", "metric @ two.features[j])", "metric @ two.features[i])"),
    Planted(
        "mspbe_and_proposition_1", "sign", "(A * theta + b) - gamma_v * omega", "(A * theta + b) + gamma_v * omega"
    ),
    Planted(
        "the_algorithm",
        "typo in a matrix",
        'feature[s, "l"] = np.array([s, 0.0]), np',
        'feature[s, "l"] = np.array([s, 1.0]), np',
    ),
    Planted("convergence", "transpose", "b - (M + A.T) @ omega", "b - (M + A) @ omega"),
    Planted("convergence", "typo in a matrix", "[F(s), F(0)] if a ==", "[F(1), F(0)] if a =="),
    Planted(
        "variance",
        "factor",
        "squares = (rows - rows.mean(axis=1, keepdims=True)) ** 2",
        "squares = (rows - rows.mean(axis=1, keepdims=True))",
    ),
    Planted("corrected_gq", "transpose", "sigma * P_mu * rho_s", "sigma * rho_s * P_mu"),
    Planted("corrected_gq", "typo in a matrix", "[go[2 * s + a], 1 - go[2 * s + a]]", "[go[2 * s + a], 1 - go[s + a]]"),
)


def plant(error: Planted, book: Path) -> int:
    """Write a copy of the chapter's record with the error into `book`; return which code cell has it, from 0."""
    notebook = nbformat.read(ROOT / "book" / f"{error.chapter}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (number,) = (i for i, cell in enumerate(cells) if error.old in cell.source)
    cells[number].source = cells[number].source.replace(error.old, error.new)
    nbformat.write(notebook, book / f"{error.chapter}.ipynb")
    return number


def run(error: Planted) -> tuple[int, int | None, str]:
    """The cell with the error, the first cell that fails (None if none does), and by what it fails."""
    with tempfile.TemporaryDirectory() as place:
        book = Path(place) / "book"
        book.mkdir()
        (Path(place) / "results").symlink_to(ROOT / "results")  # chapters read ../results
        number = plant(error, book)
        command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", place, "-x", "-q"]
        done = subprocess.run(
            [*command, f"book/{error.chapter}.ipynb"], cwd=place, capture_output=True, text=True, check=False
        )
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)  # without the colours of tracebacks
    failed = re.search(r"^FAILED .*::Cell (\d+)", said, flags=re.MULTILINE)
    if done.returncode == 0:
        return number, None, "nothing"
    if failed is None:
        raise RuntimeError(f"pytest ended with {done.returncode} and no failed cell:\n{said}{done.stderr}")
    raised = re.search(r"\b(\w+(?:Error|Exception))\b", said)
    by = {"AssertionError": "assert"}.get(raised.group(1), raised.group(1)) if raised else "output"
    return number, int(failed.group(1)), by


def main(arguments: list[str]) -> int:
    """Try the errors with the given numbers (all without any); return 1 if one is not caught."""
    chosen = [int(text) for text in arguments] or range(1, len(ERRORS) + 1)
    missed = 0
    print(f"{'':>2}  {'chapter':26}{'kind':18}{'planted in':12}{'fails in':10}caught by")
    for number in chosen:
        error = ERRORS[number - 1]
        planted, failed, by = run(error)
        caught = failed is not None and failed >= planted
        missed += not caught
        places = f"{f'cell {planted}':12}{'-' if failed is None else f'cell {failed}':10}"
        print(f"{number:>2}  {error.chapter:26}{error.kind:18}{places}{by if caught else 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} planted errors caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
