"""Which backend records: the one asked for, or what this machine and this program allow, and why.

chosen, why = choose("auto", program, window, machine)
"""

from __future__ import annotations

from typing import Literal

from stepprof.profiler.capture import nsys, torch_profiler
from stepprof.profiler.capture.build import collector
from stepprof.profiler.capture.builtin import Program
from stepprof.profiler.capture.machine import Machine, check_gpu, find_cupti, gpu_fault
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.window import Window

Recorder = Literal["cupti", "nsys", "torch", "marks"]
Backend = Literal["auto", Recorder]


def choose(asked: Backend, program: Program, window: Window, machine: Machine) -> tuple[Recorder, str]:
    """The backend and the reason for it; InputError or UsageError where none can record."""
    if asked == "marks":
        if window.words != "all":
            raise UsageError("--backend marks records every range: leave the window out, or use --backend cupti.")
        return "marks", "asked for"
    if asked == "torch":
        torch_profiler.check_program(program, window)
        return "torch", "asked for"
    if asked == "auto" and program.built_in and (fault := gpu_fault(machine)):
        torch_profiler.check_program(program, window)
        return "torch", f"{fault}, so operators of the CPU stand in for GPU ops"
    check_gpu(machine)
    if asked == "auto":
        return _on_a_gpu(program, machine)
    if asked == "nsys":
        nsys.nsys_here()
    return asked, "asked for"


def _on_a_gpu(program: Program, machine: Machine) -> tuple[Recorder, str]:
    """The collector where it can be built, else nsys, else what the built-in model can do alone."""
    try:
        collector()
    except InputError as fault:
        why = f"the collector is not to be had ({str(fault).rstrip('.')})"
        try:
            nsys.nsys_here()
        except InputError:
            if not program.built_in:
                raise fault from None
            return "torch", why
        return "nsys", why
    return nsys.picked_instead() if find_cupti(machine) is None else ("cupti", "a GPU and CUPTI are here")
