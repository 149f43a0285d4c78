"""`stepprof capture`: control, traced run, import, manifest, in this order; one run file comes out.

done = capture(CaptureOptions(["python", "decode.py"], Path("run.duckdb")), grammars)
done.code       # the program's own
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer

from stepprof.profiler.audit import audit, audit_document
from stepprof.profiler.capture import nsys, torch_profiler
from stepprof.profiler.capture.backends import Recorder, choose
from stepprof.profiler.capture.build import collector
from stepprof.profiler.capture.builtin import Program, program_of
from stepprof.profiler.capture.control import Grammars, Inflation, StepTimes, inflation, step_times
from stepprof.profiler.capture.cupti import Recording, record
from stepprof.profiler.capture.machine import Machine, this_machine
from stepprof.profiler.capture.manifest import manifest
from stepprof.profiler.capture.nvml import Sampler
from stepprof.profiler.capture.options import CaptureOptions, Control
from stepprof.profiler.capture.program import Sitting
from stepprof.profiler.capture.workplace import TRACED, say, workplace
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.ingest.window import Window, keep_window
from stepprof.profiler.store import Store, open_run

FACTS = "facts.jsonl"
NO_OPS = (
    "No GPU op is on record: the program used no GPU, or its GPU process was started without our variables "
    "(sudo, env -i, a container)."
)
LEFT_BEHIND = "if it stumbles over what that left behind, --no-control runs it only once"


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
    control: Control
    sitting: Sitting
    controls: list[StepTimes] = field(default_factory=list[StepTimes])
    codes: list[int] = field(default_factory=list[int])  # of the program in the controls
    missed: list[str] = field(default_factory=list[str])  # why controls are not there


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
        control, missed = _possible_control(options.control, backend)
        shared = Sitting(work / "input" if control != "none" else None)
        return _recorded(
            Session(options, grammars, machine, program, backend, work, entries, control, shared, missed=missed)
        )


def _recorded(session: Session) -> Captured:
    """Control, traced run, perhaps another control; then the import."""
    control, shared = session.control, session.sitting
    if control != "none":
        _control(session, session.work / "control-before")
    if shared.stop:
        say("stopped in the control run, so nothing was traced: --no-control records at once")
        raise typer.Exit(session.codes[0] or 128 + shared.stop)
    say(f"recording with {session.backend}")
    with Sampler() as sampler:
        recording = _record(session)
    if recording.code and session.codes == [0] and not shared.stop:
        say(f"the program failed with exit code {recording.code}, though not in the control run: {LEFT_BEHIND}")
    if control == "both" and not recording.code and not shared.stop:
        _control(session, session.work / "control-after")
    done = _import(session, recording, sampler)
    if len(session.codes) == 2 and shared.stop:
        say("stopped in the control run afterwards, which is left out")
        return replace(done, code=session.codes[1] or 128 + shared.stop)
    return done


def _possible_control(asked: Control, backend: Recorder) -> tuple[Control, list[str]]:
    """The control asked for; none, and why, where its marks cannot be recorded but the backend can do without us."""
    if backend == "marks" or asked == "none":
        return "none", []
    try:
        collector()
    except InputError as fault:
        if backend == "cupti":
            raise
        say(f"no control run, so the tracing cost stays unknown: {fault}")
        return "none", [str(fault)]
    return asked, []


def _record(session: Session) -> Recording:
    options, facts = session.options, session.work / FACTS
    if session.backend == "torch":
        return torch_profiler.record(session.sitting, session.program, session.work, facts, options.window)
    command = session.program.started(facts)
    if session.backend == "nsys":
        return nsys.record(session.sitting, command, session.work, options.window)
    mode = "marks" if session.backend == "marks" else "ops"
    return record(
        session.sitting, command, mode, session.work / TRACED / options.out.stem, options.window, session.machine
    )


def _control(session: Session, folder: Path) -> None:
    """One run with marks alone; its step times are added to the session's controls.

    One that fails is told and left out: the traced run shows the fault, with the program's own code and output.
    """
    say("control run, untraced (the program runs once more without it)")
    facts = folder.with_suffix(".jsonl")
    command = session.program.started(facts, "--gpu-times")
    with Sampler() as sampler:
        recording = record(session.sitting, command, "marks", folder, Window(), None, quiet=True)
    session.codes.append(recording.code)
    if session.sitting.stop:
        return
    if recording.code:
        session.missed.append(f"the program failed in it with exit code {recording.code}.")
        say(f"the control run is left out: {session.missed[-1]}")
    elif recording.made:
        _timed(session, recording.trace, session.program.extras(facts))
        session.entries.update({f"{folder.name}_{key}": value for key, value in _sampled(sampler).items()})


def _timed(session: Session, records: Path, extras: Extras) -> None:
    """The step times of a control are added to the session's."""
    run = records.with_suffix(".duckdb")
    import_run(records, run, extras)
    store = open_run(run)
    times = step_times(store, session.grammars)
    store.close()
    session.controls.extend([] if times is None else [times])


def _import(session: Session, recording: Recording, sampler: Sampler) -> Captured:
    """The run file; InputError where nothing was recorded, which ends in the program's own code if it failed."""
    options, found = session.options, list[Inflation | None]()

    def finish(store: Store) -> None:
        _check_ops(store)
        if session.backend not in ("cupti", "marks"):  # whose records tell their window
            keep_window(store, options.window, recorded=False)
        found.append(_inflation(session, store))
        sampler.number_as(dict(store.rows("SELECT device, identity FROM device SEMI JOIN op USING (device)")))
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
    """What tracing cost; where that stays unknown though it was asked for, the run says why."""
    if session.backend == "marks" or _without_ops(store) or session.options.control == "none":
        return None
    window = session.options.window
    timed = window.delay_s > 0 or window.duration_s > 0
    numbered = session.backend == "cupti" or (session.backend == "nsys" and not timed)
    found = inflation(store, session.grammars, session.controls, numbered)
    if isinstance(found, Inflation):
        return found
    if session.missed:
        store.warn("no_control", len(session.missed), f"There is no control run: {session.missed[0]}")
    else:
        store.warn("control_without_steps", 1, f"The control could not be compared: {found}.")
    return None


def _without_ops(store: Store) -> bool:
    """Whether nothing of a GPU is on record, which is told where the collector did not tell why."""
    if store.value("SELECT count(*) FROM op"):
        return False
    told = store.value("SELECT count(*) FROM warning WHERE code LIKE 'cupti%'")
    store.warn("no_ops", 0 if told else 1, NO_OPS)
    return True


def _sampled(sampler: Sampler) -> dict[str, str]:
    """Driver, GPUs and middle clocks of a run."""
    entries = {"driver_version": sampler.driver or "", "gpus": ", ".join(gpu.name for gpu in sampler.gpus)}
    for name in ("sm_clock_mhz", "power_w"):
        entries[name] = " ".join(f"{value:g}" for _, value in sorted(sampler.median(name).items()))
    return {key: value for key, value in entries.items() if value}
