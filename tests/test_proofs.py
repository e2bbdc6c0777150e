"""The machine-checked core: nothing left out, no axiom, the recorded statements, and faults that Coq refuses.

Compiling takes some twenty seconds of processor time; where Coq is not installed those tests are skipped.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "proofs"
PAGE = (ROOT / "book" / "machine_checked.md").read_text(encoding="utf-8")
RECORD = (PROOFS / "checked.txt").read_text(encoding="utf-8")


def load(path):
    """A script beside the proofs, which are no package."""
    spec = importlib.util.spec_from_file_location("proofs_check", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = load(PROOFS / "check.py")
needs_coq = pytest.mark.skipif(
    bool(check.missing()), reason=f"no {' and '.join(check.missing())}: {check.ADVICE}"
)
THEOREMS = [
    (file, name)
    for file in check.files()
    for kind, name in check.named(PROOFS, file)
    if kind == "Theorem"
]


def copied(folder):
    """The proofs in another folder, to be changed there."""
    for path in [PROOFS / "_CoqProject", *PROOFS.glob("*.v")]:
        shutil.copyfile(path, folder / path.name)
    return folder


def test_every_file_is_in_the_project_and_has_theorems_or_definitions():
    assert sorted(check.files()) == sorted(path.stem for path in PROOFS.glob("*.v"))
    assert all(check.named(PROOFS, file) for file in check.files())
    assert len(THEOREMS) >= 20
    assert len(set(THEOREMS)) == len(THEOREMS)


def test_nothing_is_left_unproved():
    assert check.gaps() == []


@pytest.mark.parametrize(
    "word", ["Admitted.", "admit.", "Axiom trust : False.", "Parameter trust : False."]
)
def test_a_gap_is_found(tmp_path, word):
    folder = copied(tmp_path)
    text = (folder / "Chains.v").read_text(encoding="utf-8")
    (folder / "Chains.v").write_text(f"{text}\n{word}\n", encoding="utf-8")
    assert len(check.gaps(folder)) == 1
    (folder / "Chains.v").write_text(f"(* {word} *)", encoding="utf-8")
    assert check.gaps(folder) == []


def test_the_record_says_of_every_theorem_that_it_rests_on_no_axiom():
    sections = dict(
        re.findall(r"^==== (\w+)\.v\n(.*?)(?=^==== |\Z)", RECORD, re.MULTILINE | re.DOTALL)
    )
    assert list(sections) == check.files()
    for file, name in THEOREMS:
        statement = rf"^{name}\n +: (?:.+\n)(?: .+\n)*{check.CLOSED}$"
        assert re.search(statement, sections[file], re.MULTILINE), name
    assert RECORD.count(check.CLOSED) == len(THEOREMS)
    assert "Axioms:" not in RECORD


def test_the_page_names_every_file_and_only_theorems_that_exist():
    assert {file for file, _ in THEOREMS} <= set(re.findall(r"<\.\./proofs/(\w+)\.v>", PAGE))
    shown = re.findall(
        r"```\{literalinclude\} \.\./proofs/(\w+)\.v\n:language: coq\n:start-at: Theorem (\w+)",
        PAGE,
    )
    assert len(shown) >= 6
    assert [pair for pair in shown if pair not in THEOREMS] == []
    table = re.findall(
        r"^\| .+ \| (`.+`) \| \{download\}`(\w+)\.v <\.\./proofs/\2\.v>` \|$", PAGE, re.MULTILINE
    )
    listed = {(file, name) for names, file in table for name in re.findall(r"`(\w+)`", names)}
    assert set(THEOREMS) <= listed
    assert listed <= {
        (file, name) for file in check.files() for _, name in check.named(PROOFS, file)
    }
    assert int(re.search(r"(\d+) theorems", PAGE)[1]) == len(THEOREMS)


def test_a_note_beside_a_theorem_links_to_the_file_that_proves_it():
    notes = [
        line
        for path in (ROOT / "book").glob("*.md")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("Proved by machine:")
    ]
    assert len(notes) >= 4
    for note in notes:
        named = set(re.findall(r"`(\w+)`", note)) & {name for _, name in THEOREMS}
        assert named, note
        assert {file for file, name in THEOREMS if name in named} == set(
            re.findall(r"<\.\./proofs/(\w+)\.v>", note)
        )
    told = " ".join(notes)
    for name in (
        "pair_chain_mixture",
        "table_fixed_point",
        "exact_bias",
        "gamma_v_identity",
        "mspbe_any_inverse",
    ):
        assert f"`{name}`" in told
    assert "`joint_stable`" in told


@pytest.mark.parametrize("optional", [False, True])
def test_without_coq_one_line_says_what_to_install(tmp_path, optional):
    command = [sys.executable, PROOFS / "check.py", *(["--optional"] if optional else [])]
    environment = os.environ | {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == optional
    (said,) = done.stderr.splitlines()
    assert said.endswith(f" coqc, not found here. {check.ADVICE}")
    assert ("skipped" in said) == optional


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder in which Coq has accepted everything."""
    work = tmp_path_factory.mktemp("built")
    check.build(PROOFS, work)
    return work


@pytest.mark.slow
@needs_coq
def test_coq_accepts_the_proofs_and_prints_what_is_recorded(built):
    assert check.tell(PROOFS, built) == RECORD


@needs_coq
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("Chains", ":= (1 - sigma) *: a", ":= (1 + sigma) *: a"),
        ("Chains", "stochastic P -> 0 <= c < 1 -> 1%:M", "stochastic P -> 0 <= c <= 1 -> 1%:M"),
        ("Prediction", "(gamma p *: p_nu - 1%:M)", "(gamma p *: p_nu + 1%:M)"),
        ("Prediction", "(sigma * (1 - lam)) *:", "(sigma * (1 + lam)) *:"),
        ("TableFixedPoint", "theta = q_of (mix sigma pi mu).", "theta = q_of (mix sigma mu pi)."),
        ("ExactBias", "((P mu - P pi) *m q pi)", "((P mu - P pi) *m q nu)"),
        ("Proposition1", "gamma_v = M + A^T.", "gamma_v = M + A."),
        (
            "Proposition1",
            "= Phi^T *m remains k.+1 (Xi p *m Phi).",
            "= Phi^T *m remains k (Xi p *m Phi).",
        ),
        ("GeneralisedInverse", "= 2%:R^-1 * form Xi", "= form Xi"),
        ("StepRatio", "eta *: (A *m A^T).", "eta *: (A^T *m A)."),
        (
            "StepRatio",
            "Definition sym A : 'M[R]_d := 2%:R^-1 *: (A + A^T).",
            "Definition sym A : 'M[R]_d := A + A^T.",
        ),
    ],
)
def test_a_planted_error_is_refused(built, tmp_path, file, old, new):
    work = shutil.copytree(built, tmp_path / "work")
    text = (work / f"{file}.v").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (work / f"{file}.v").write_text(text.replace(old, new), encoding="utf-8")
    rest = check.files()[check.files().index(file) :]
    with pytest.raises(RuntimeError, match="Error"):
        [check.coqc(work, name) for name in rest]
