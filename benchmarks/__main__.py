"""``python -m benchmarks``, from a checkout: print the ratios, or write a file that the book reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.costs import write_costs
from benchmarks.engine import Printer, bench
from benchmarks.peers import write_peers


def main(given: list[str] | None = None) -> int:
    """Measure; the code is 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Measure the engine, as ratios; ends with 1 if a bar is missed.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--repeats", type=int, default=7, metavar="N", help="measurements, of which the best counts"
    )
    parser.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="measure each learner's step only, and write FILE",
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="FILE",
        help="measure other libraries' steps only, and write FILE",
    )
    arguments = parser.parse_args(given)
    if arguments.repeats < 1:
        parser.error(f"--repeats is {arguments.repeats}; it should be at least 1")
    asked = [
        (write, path)
        for write, path in ((write_costs, arguments.costs), (write_peers, arguments.peers))
        if path
    ]
    for _, path in asked:  # measuring takes minutes: what cannot be written is said first
        if path.is_dir() or not path.parent.is_dir():
            parser.error(f"FILE is {str(path)!r}; it should be a file in a directory that is there")
    for write, path in asked:
        print(f"written to {write(path, arguments.repeats, Printer())}")
    return 0 if asked else bench(arguments.repeats, as_json=arguments.json)


if __name__ == "__main__":
    sys.exit(main())
