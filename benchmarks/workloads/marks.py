"""Nothing but marks: a step opens and closes thousands of ranges, so that a mark's own cost shows above all noise.

(step in mode marks - step untraced) / ranges is what one range costs the host where it is recorded. A name that is
met for the first time costs more than one that was met before.
"""

from __future__ import annotations

import argparse
from itertools import count

from steps import Part, add_switches, run_steps

from stepprof.profiler import marks
from stepprof.profiler.marks import mark

RANGES, NEW_NAMES = 10_000, 1_000
NUMBERS = count()


def ranges() -> None:
    """Ranges of one name, as a replayed step opens them."""
    name = marks.layer(7, "router")
    for _ in range(RANGES):
        with mark(name):
            pass


def new_names() -> None:
    """Ranges of names that were not met before, as that of a step."""
    for _ in range(NEW_NAMES):
        with mark(marks.step(next(NUMBERS))):
            pass


def main() -> None:
    """Time the steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_switches(parser)
    parts = [Part(f"{RANGES:,} marks", ranges), Part(f"{NEW_NAMES:,} new names", new_names)]
    run_steps("marks", parts, parser.parse_args())


if __name__ == "__main__":
    main()
