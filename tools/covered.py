"""Line coverage of gqlib by the unit tests alone; fails below the bar in pyproject.toml.

Arguments go to pytest; the default is -n 2 --dist loadfile -q.
"""

import subprocess
import sys

if {"-h", "--help"} & set(sys.argv[1:]):
    sys.exit(print(__doc__))
given = sys.argv[1:] or ["-n", "2", "--dist", "loadfile", "-q"]
for step in (
    ["erase"],
    ["run", "-m", "pytest", "tests", "-m", "not slow", *given],
    ["combine", "--quiet"],
    ["report"],
):
    subprocess.run([sys.executable, "-m", "coverage", *step], check=True)
