"""`stepprof capture`: control, traced run, import, manifest, in this order; one run file comes out.

    done = capture(CaptureOptions(["python", "decode.py"], Path("run.duckdb")), grammars)
    done.code       # the program's own

The options of the command line are described here, the CLI only passes them on.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from stepprof.profiler.audit import audit, audit_document
from stepprof.profiler.capture import nsys
from stepprof.profiler.capture.build import collector
from stepprof.profiler.capture.control import Grammars, Inflation, StepTimes, compare, inside_ops, step_times
from stepprof.profiler.capture.cupti import Recording, record
from stepprof.profiler.capture.machine import Machine, check_gpu, find_cupti, this_machine
from stepprof.profiler.capture.manifest import manifest
from stepprof.profiler.capture.nvml import Sampler
from stepprof.profiler.capture.program import check_command
from stepprof.profiler.capture.window import Window, keep_ranges
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.ingest.record_file import record_files
from stepprof.profiler.store import Store, open_run

Backend = Literal["auto", "cupti", "nsys", "marks"]
Control = Literal["none", "before", "both"]

Command = Annotated[list[str] | None, typer.Argument(metavar="-- CMD…", help="The program and its arguments.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="The run file to write.")]
BackendOption = Annotated[Backend, typer.Option(help="What records: our collector, nsys, or ranges alone.")]
ControlOption = Annotated[
    Literal["before", "both"], typer.Option(help="Untraced runs beside the traced one: before it, or before and after.")
]
NoControl = Annotated[bool, typer.Option("--no-control", help="Make no untraced run; the tracing cost stays unknown.")]
Steps = Annotated[str | None, typer.Option(help="Record only steps A:B, B not included.")]
Range = Annotated[str | None, typer.Option("--range", help="Record only what is launched inside ranges that match.")]
Delay = Annotated[float, typer.Option(help="Seconds until recording starts.")]
Duration = Annotated[float, typer.Option(help="Seconds to record; the program runs on.")]
StepMarker = Annotated[str | None, typer.Option("--marker", help="Regular expression of the ranges that mark steps.")]
EnvPrefix = Annotated[
    list[str] | None, typer.Option(help="Keep names and salted hashes of variables that begin so; may be repeated.")
]
Arm = Annotated[str, typer.Option(help="Name of this variant, for comparisons.")]
Force = Annotated[bool, typer.Option(help="Replace an existing run file.")]
KeepRecords = Annotated[bool, typer.Option(help="Keep the raw records beside the run file.")]


@dataclass(frozen=True)
class CaptureOptions:
    """What to run, where to put it, how to record it."""

    command: list[str]
    out: Path
    backend: Backend = "auto"
    control: Control = "before"
    window: Window = field(default_factory=Window)
    env_prefixes: tuple[str, ...] = ()
    arm: str = ""
    force: bool = False
    keep_records: bool = False


@dataclass(frozen=True)
class Captured:
    """A run file was written; the program's exit code is passed on."""

    code: int
    inflation: Inflation | None


def spelled(argv: list[str]) -> list[str]:
    """`--control` may stand alone; the parser wants its value."""
    if argv[:1] != ["capture"]:
        return argv
    end = argv.index("--") if "--" in argv else len(argv)
    words = argv[:end]
    for i, word in enumerate(words):
        if word == "--control" and words[i + 1 : i + 2] not in (["both"], ["before"]):
            words[i] = "--control=before"
    return words + argv[end:]


def capture(options: CaptureOptions, grammars: Grammars) -> Captured:
    """Record the program; InputError with the reason where that cannot be done here."""
    check_command(options.command)
    machine = this_machine()
    backend = _backend(options, machine)
    with _workplace(options) as work:
        entries = manifest(options.command, machine, options.env_prefixes, options.arm)
        entries |= {"backend": backend, "window": options.window.words, "audit": json.dumps(audit_document(audit()))}
        controls: list[StepTimes] = []
        control = _possible_control(options, backend)
        if control != "none":
            code = _control(options, grammars, work / "control-before", controls, entries)
            if code:
                _failed(code, "the control run")
        _say(f"recording with {backend}")
        with Sampler() as sampler:
            recording = _record(backend, options, work, machine)
        if control == "both" and not recording.code:
            _control(options, grammars, work / "control-after", controls, entries)
        return _import(options, recording, grammars, controls, entries | _sampled(sampler), sampler)


def _possible_control(options: CaptureOptions, backend: str) -> Control:
    """The control asked for; none where its marks cannot be recorded but nsys can do without us."""
    if backend == "marks":
        return "none"
    if options.control != "none":
        try:
            collector()
        except InputError as fault:
            if backend != "nsys":
                raise
            _say(f"no control run, so the tracing cost stays unknown: {fault}")
            return "none"
    return options.control


def _failed(code: int, what: str) -> NoReturn:
    _say(f"the program failed in {what} with exit code {code}; nothing was traced")
    raise typer.Exit(code)


def _backend(options: CaptureOptions, machine: Machine) -> Literal["cupti", "nsys", "marks"]:
    """The backend to use, and a line that says why it was picked."""
    if options.backend == "marks":
        return "marks"
    check_gpu(machine)
    if options.backend == "nsys":
        nsys.nsys_here()
        return "nsys"
    if options.backend == "auto":
        chosen, why = nsys.picked_instead() if find_cupti(machine) is None else ("cupti", "a GPU and CUPTI are here")
        _say(f"backend {chosen}: {why}")
        return chosen
    return "cupti"


def _record(backend: str, options: CaptureOptions, work: Path, machine: Machine) -> Recording:
    if backend == "nsys":
        return nsys.record(options.command, work, options.window)
    mode = "marks" if backend == "marks" else "ops"
    return record(options.command, mode, work / options.out.stem, options.window, machine)


def _control(
    options: CaptureOptions, grammars: Grammars, folder: Path, controls: list[StepTimes], entries: dict[str, str]
) -> int:
    """One run with marks alone; its step times are added to `controls`."""
    _say("control run, untraced (the program runs once more without it)")
    with Sampler() as sampler:
        recording = record(options.command, "marks", folder, Window(), None, quiet=True)
    run = folder.with_suffix(".duckdb")
    if recording.code == 0 and recording.made:
        import_run(recording.trace, run, Extras())
        store = open_run(run)
        times = step_times(store, grammars)
        store.close()
        controls += [] if times is None else [times]
        entries |= {f"{folder.name}_{key}": value for key, value in _sampled(sampler).items()}
    return recording.code


def _import(
    options: CaptureOptions,
    recording: Recording,
    grammars: Grammars,
    controls: list[StepTimes],
    entries: dict[str, str],
    sampler: Sampler,
) -> Captured:
    found: list[Inflation | None] = [None]

    def finish(store: Store) -> None:
        _check_ops(store)
        if options.window.range_ is not None:
            keep_ranges(store, options.window.range_)
        found[0] = _inflation(store, grammars, controls, options)
        rows = entries | (found[0].manifest if found[0] else {}) | {"exit_code": str(recording.code)}
        store.con.executemany("INSERT INTO manifest VALUES (?, ?)", [list(item) for item in rows.items()])
        if sampler.rows:
            store.con.executemany("INSERT INTO counter VALUES (?, ?, ?, ?)", [list(row) for row in sampler.rows])

    if not recording.made:
        if recording.code:
            _failed(recording.code, "the traced run")
        used = "no NVTX ranges" if options.backend == "marks" else "neither CUDA nor NVTX"
        raise InputError(f"{options.command[0]} used {used}, so nothing was recorded: give the program that decodes.")
    import_run(recording.trace, options.out, Extras(), options.force, finish)
    return Captured(recording.code, found[0])


def _check_ops(store: Store) -> None:
    """InputError where no op is on record because CUPTI was not to be had."""
    text = store.value(
        "SELECT any_value(text) FROM warning WHERE code IN ('cupti_missing', 'cupti_old', 'cupti_refused')"
    )
    if text and not store.value("SELECT count(*) FROM op"):
        raise InputError(text.rstrip(".") + ".")


def _inflation(
    store: Store, grammars: Grammars, controls: list[StepTimes], options: CaptureOptions
) -> Inflation | None:
    if options.control == "none" or options.backend == "marks":
        return None
    times = step_times(store, grammars)
    inflation = None if times is None or not controls else compare(inside_ops(store, times), controls)
    if inflation is None:
        text = "The control could not be compared: mark the steps (step/<n>), or give --marker REGEX."
        store.warn("control_without_steps", 1, text)
    return inflation


def _sampled(sampler: Sampler) -> dict[str, str]:
    """Driver, GPUs and middle clocks of a run."""
    entries = {"driver_version": sampler.driver or "", "gpus": ", ".join(gpu.name for gpu in sampler.gpus)}
    for name in ("sm_clock_mhz", "power_w"):
        entries[name] = " ".join(f"{value:g}" for _, value in sorted(sampler.median(name).items()))
    return {key: value for key, value in entries.items() if value}


@contextmanager
def _workplace(options: CaptureOptions) -> Generator[Path]:
    """A folder for records beside the run file; kept where the import fails, since the program ran."""
    out = options.out
    if out.exists() and not options.force:
        raise InputError(f"{out} exists already: choose another -o or pass --force.")
    if out.is_dir():
        raise UsageError(f"{out} is a folder: give the name of a file to -o.")
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".records", dir=out.parent))
    except OSError as fault:
        raise InputError(f"{out} cannot be written ({fault.strerror}): choose another -o.") from None
    try:
        yield work
    except BaseException:
        _keep(work, out)
        raise
    else:
        if options.keep_records:
            _keep(work, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _keep(work: Path, out: Path) -> None:
    """The records of the traced run beside the run file, where there are any."""
    kept, records = out.with_name(f"{out.name}.records"), work / out.stem
    if records.is_dir() and record_files(records) and not kept.exists():
        records.rename(kept)
        _say(f"the records are kept in {kept}; stepprof import reads them")


def _say(line: str) -> None:
    sys.stderr.write(f"stepprof: {line}\n")
    sys.stderr.flush()
