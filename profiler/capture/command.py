"""`stepprof capture`: control, traced run, import, manifest, in this order; one run file comes out.

done = capture(CaptureOptions(["python", "decode.py"], Path("run.duckdb")), grammars)
done.code       # the program's own
"""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass, field
from pathlib import Path

import typer

from stepprof.profiler.audit import audit, audit_document
from stepprof.profiler.capture import nsys, torch_profiler
from stepprof.profiler.capture.backends import Recorder, choose
from stepprof.profiler.capture.build import collector
from stepprof.profiler.capture.builtin import Program, program_of
from stepprof.profiler.capture.control import Grammars, Inflation, StepTimes, compare, inside_ops, step_times
from stepprof.profiler.capture.cupti import Recording, record
from stepprof.profiler.capture.machine import Machine, this_machine
from stepprof.profiler.capture.manifest import manifest
from stepprof.profiler.capture.nvml import Sampler
from stepprof.profiler.capture.options import CaptureOptions, Control
from stepprof.profiler.capture.workplace import say, workplace
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import import_run
from stepprof.profiler.ingest.window import Window, keep_window
from stepprof.profiler.store import Store, open_run

FACTS = "facts.jsonl"
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP)


@dataclass(frozen=True)
class Captured:
    """A run file was written; the program's exit code is passed on."""

    code: int
    inflation: Inflation | None


@dataclass(frozen=True)
class Session:
    """One capture under way: what was asked, what runs, where records go, and what is known so far."""

    options: CaptureOptions
    grammars: Grammars
    machine: Machine
    program: Program
    backend: Recorder
    work: Path
    entries: dict[str, str]  # of the manifest
    controls: list[StepTimes] = field(default_factory=list[StepTimes])
    missed: list[str] = field(default_factory=list[str])  # why a control is not there


def capture(options: CaptureOptions, grammars: Grammars) -> Captured:
    """Record the program; InputError with the reason where that cannot be done here."""
    machine = this_machine()
    program = program_of(options.command, machine)
    backend, why = choose(options.backend, program, options.window, machine)
    if options.backend == "auto":
        say(f"backend {backend}: {why}")
    with workplace(options.out, options.force, options.keep_records) as work:
        entries = manifest(program.command, machine, options.env_prefixes, options.arm)
        entries |= {"backend": backend, "window": options.window.words, "audit": json.dumps(audit_document(audit()))}
        return _recorded(Session(options, grammars, machine, program, backend, work, entries))


def _recorded(session: Session) -> Captured:
    """Control, traced run, perhaps another control; then the import."""
    control = _possible_control(session)
    if control != "none":
        _control(session, session.work / "control-before")
    say(f"recording with {session.backend}")
    with Sampler() as sampler:
        recording = _record(session)
    if control == "both" and not recording.code:
        _control(session, session.work / "control-after")
    return _import(session, recording, sampler)


def _possible_control(session: Session) -> Control:
    """The control asked for; none where its marks cannot be recorded but the backend can do without us."""
    if session.backend == "marks":
        return "none"
    if session.options.control != "none":
        try:
            collector()
        except InputError as fault:
            if session.backend == "cupti":
                raise
            session.missed.append(str(fault))
            say(f"no control run, so the tracing cost stays unknown: {fault}")
            return "none"
    return session.options.control


def _record(session: Session) -> Recording:
    options, facts = session.options, session.work / FACTS
    if session.backend == "torch":
        return torch_profiler.record(session.program, session.work, facts, options.window)
    command = session.program.started(facts)
    if session.backend == "nsys":
        return nsys.record(command, session.work, options.window)
    mode = "marks" if session.backend == "marks" else "ops"
    return record(command, mode, session.work / options.out.stem, options.window, session.machine)


def _control(session: Session, folder: Path) -> None:
    """One run with marks alone; its step times are added to the session's controls.

    One that fails is told and left out: the traced run shows the fault, with the program's own code and output.
    """
    say("control run, untraced (the program runs once more without it)")
    facts = folder.with_suffix(".jsonl")
    command = session.program.started(facts, "--gpu-times")
    with Sampler() as sampler:
        recording = record(command, "marks", folder, Window(), None, quiet=True)
    run = folder.with_suffix(".duckdb")
    if recording.code == 0 and recording.made:
        import_run(recording.trace, run, session.program.extras(facts))
        store = open_run(run)
        times = step_times(store, session.grammars)
        store.close()
        session.controls.extend([] if times is None else [times])
        session.entries.update({f"{folder.name}_{key}": value for key, value in _sampled(sampler).items()})
    if recording.code in STOPPED:
        say("stopped in the control run, so nothing was traced: --no-control records at once")
        raise typer.Exit(recording.code)
    if recording.code:
        session.missed.append(f"the program failed in it with exit code {recording.code}.")
        say(f"the control run is left out: {session.missed[-1]}")


def _import(session: Session, recording: Recording, sampler: Sampler) -> Captured:
    """The run file; InputError where nothing was recorded, which ends in the program's own code if it failed."""
    options, found = session.options, list[Inflation | None]()

    def finish(store: Store) -> None:
        _check_ops(store)
        if session.backend not in ("cupti", "marks"):  # whose records tell their window
            keep_window(store, options.window, recorded=False)
        found.append(_inflation(session, store))
        rows = session.entries | _sampled(sampler) | (found[0].manifest if found[0] else {})
        rows["exit_code"] = str(recording.code)
        store.con.execute("UPDATE run SET value = ? WHERE key = 'source'", [options.out.name])
        store.con.executemany("INSERT INTO manifest VALUES (?, ?)", [list(item) for item in rows.items()])
        if sampler.rows:
            store.con.executemany("INSERT INTO counter VALUES (?, ?, ?, ?)", [list(row) for row in sampler.rows])

    if not recording.made:
        if recording.code:
            say(f"the program failed with exit code {recording.code}; nothing was traced")
            raise typer.Exit(recording.code)
        used = "no NVTX ranges" if session.backend == "marks" else "neither CUDA nor NVTX"
        raise InputError(
            f"{session.program.command[0]} used {used}, so nothing was recorded: give the program that decodes."
        )
    extras, stand_in = session.program.extras(session.work / FACTS), session.backend == "torch"
    import_run(recording.trace, options.out, extras, options.force, finish, cpu_stand_in=stand_in)
    return Captured(recording.code, found[0])


def _check_ops(store: Store) -> None:
    """InputError where no op is on record because CUPTI was not to be had."""
    text = store.value(
        "SELECT any_value(text) FROM warning WHERE code IN ('cupti_missing', 'cupti_old', 'cupti_refused')"
    )
    if text and not store.value("SELECT count(*) FROM op"):
        raise InputError(text.rstrip(".") + ".")


def _inflation(session: Session, store: Store) -> Inflation | None:
    if session.options.control == "none" or session.backend == "marks":
        return None
    times = step_times(store, session.grammars)
    controls = session.controls
    inflation = None if times is None or not controls else compare(inside_ops(store, times), controls)
    if inflation is None and session.missed:
        store.warn("no_control", len(session.missed), f"There is no control run: {session.missed[0]}")
    elif inflation is None:
        text = "The control could not be compared: mark the steps (step/<n>), or give --marker REGEX."
        store.warn("control_without_steps", 1, text)
    return inflation


def _sampled(sampler: Sampler) -> dict[str, str]:
    """Driver, GPUs and middle clocks of a run."""
    entries = {"driver_version": sampler.driver or "", "gpus": ", ".join(gpu.name for gpu in sampler.gpus)}
    for name in ("sm_clock_mhz", "power_w"):
        entries[name] = " ".join(f"{value:g}" for _, value in sorted(sampler.median(name).items()))
    return {key: value for key, value in entries.items() if value}
