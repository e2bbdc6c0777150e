"""Run every notebook with the arithmetic of an older processor: BLAS kernels for SSE, NumPy without AVX.

Arguments go to pytest; the default is -n 2 --dist loadfile -q.
"""

import os
import subprocess
import sys

OLDER = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}

if {"-h", "--help"} & set(sys.argv[1:]):
    sys.exit(print(__doc__))
given = sys.argv[1:] or ["-n", "2", "--dist", "loadfile", "-q"]
command = [sys.executable, "-m", "pytest", "book", *given]
sys.exit(subprocess.run(command, env=os.environ | OLDER, check=False).returncode)
