"""`stepprof run|serve|bench …`: start the built-in model as a command, with all its switches passed on.

The profiler never imports the runtime, so that any NVTX-marked server can take its place.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from stepprof.profiler.errors import InputError

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": list[str]()}


def start_runtime(command: str, switches: list[str], quiet: bool = False) -> int:
    """Run `python -m stepprof.runtime COMMAND …` in the foreground and return its exit code; `quiet`: without its answer."""
    if find_spec("torch") is None:
        raise InputError(f"stepprof {command} runs a model and needs torch: pip install 'stepprof[runtime]'.")
    words = [sys.executable, "-m", "stepprof.runtime", command, *switches]
    return subprocess.run(words, check=False, stdout=subprocess.DEVNULL if quiet else None).returncode
