"""The same bits under other hash seeds, threads, processors, locales, without compilation and with checks of bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
SSE_ALONE = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"  # what NumPy may not use
# What the surroundings are to be; a name with a star has kernels compiled anew for it, into a folder of its own.
SURROUNDINGS = {
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed 4242": {"PYTHONHASHSEED": "4242"},
    "two threads": {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"},
    "no asserts, another zone": {"PYTHONOPTIMIZE": "1", "TZ": "Pacific/Chatham", "COLUMNS": "40"},
    "plain locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "old BLAS, old NumPy": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": SSE_ALONE},
    "any processor *": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "no AVX, no vectors *": {"NUMBA_ENABLE_AVX": "0", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"},
    "bounds are checked *": {"NUMBA_BOUNDSCHECK": "1"},
    "not compiled": {"GQLIB_NO_NUMBA": "1"},
}  # fmt: skip


def computed(tmp_path: Path, name: str, variables: dict[str, str]) -> dict[str, Any]:
    """What `tests/digests.py` prints in these surroundings."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LC_", "LANG", "NUMBA_", "GQLIB_"))
    }
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if name.endswith("*") else {}
    environment = clean | own | variables | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "tests/digests.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(found: dict[str, Any], usual: dict[str, Any]) -> None:
    """Digests are the same texts; what passes through the linear-algebra library agrees to ten digits."""
    for part in ("kernels", "chance", "files"):
        assert found[part] == usual[part]
    assert found["rounded"].keys() == usual["rounded"].keys()
    for name, wanted in usual["rounded"].items():
        np.testing.assert_allclose(
            found["rounded"][name], wanted, rtol=1e-10, atol=1e-10, err_msg=name
        )


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return computed(tmp_path_factory.mktemp("usual"), "", {})


@pytest.mark.thorough
def test_digests_tell_things_apart_and_files_do_not_depend_on_workers(usual):
    every = [digest for part in ("kernels", "chance", "files") for digest in usual[part].values()]
    assert usual["files"]["file, 1 workers"] == usual["files"]["file, 2 workers"]
    every.remove(usual["files"]["file, 2 workers"])
    assert len(every) == len(set(every)) >= 20
    assert all(len(digest) == 16 for digest in every)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_bits_are_the_same_in_other_surroundings(usual, tmp_path, name):
    compare(computed(tmp_path, name, SURROUNDINGS[name]), usual)


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["de_DE", "tr_TR"])
def test_bits_are_the_same_where_numbers_have_a_comma(usual, tmp_path, language):
    """A locale made for the test; the script sets it, as programs with windows do."""
    command = ["localedef", "-i", language, "-f", "UTF-8", str(tmp_path / f"{language}.UTF-8")]
    try:
        made = subprocess.run(command, capture_output=True, check=False).returncode in (
            0,
            1,
        )  # 1: with warnings
    except OSError:
        made = False
    if not made or not (tmp_path / f"{language}.UTF-8").exists():
        pytest.skip(f"there is no localedef here that makes {language}")
    variables = {"LOCPATH": str(tmp_path), "LC_ALL": f"{language}.UTF-8"}
    asked = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])"
    told = subprocess.run(
        [sys.executable, "-c", asked], env=os.environ | variables, capture_output=True, text=True
    )
    assert told.stdout.strip() == ","  # so the locale is in force
    compare(computed(tmp_path, language, variables), usual)
