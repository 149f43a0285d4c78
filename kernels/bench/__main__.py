"""`python -m stepprof.kernels.bench`: exit code 1 and one sentence where there is no GPU."""

import argparse
import json
import sys

from stepprof.kernels.bench import NoGpu, add_switches, bench_kernels, show


def main() -> int:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m stepprof.kernels.bench", description="measure kernels alone")
    add_switches(parser)
    given = parser.parse_args()
    try:
        document = bench_kernels(given.preset, given.rows, given.ops, given.costs, given.dram)
    except NoGpu as fault:
        print(f"stepprof kernels: {fault}", file=sys.stderr)
        return 1
    print(json.dumps(document)) if given.json else show(document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
