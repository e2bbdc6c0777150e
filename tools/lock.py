"""Resolve pyproject.toml anew into requirements.lock, with hashes, for every platform. Needs uv and the network."""

import shutil
import subprocess
import sys

if {"-h", "--help"} & set(sys.argv[1:]):
    sys.exit(print(__doc__))
if shutil.which("uv") is None:
    sys.exit("tools/lock.py needs uv: python -m pip install uv")
options = "--universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11"
command = f"uv pip compile {options} --all-extras --quiet pyproject.toml -o requirements.lock"
sys.exit(subprocess.run(command.split(), check=False).returncode)
