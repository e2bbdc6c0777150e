"""Remove the environment and everything that was built; lab/ and results/ stay."""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = (
    ".venv*",
    "_build",
    "build",
    "*.egg-info",
    ".*_cache",
    ".hypothesis",
    ".coverage*",
    "mutants",
)

if {"-h", "--help"} & set(sys.argv[1:]):
    sys.exit(print(__doc__))
for pattern in (*BUILT, "[!.]*/**/__pycache__"):
    for path in list(ROOT.glob(pattern)):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
