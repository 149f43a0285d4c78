"""The options of `stepprof capture`: as the command line spells them, and as one value.

CaptureOptions(["python", "decode.py"], Path("run.duckdb"), backend="cupti")
spelled(["capture", "--control", "--", "x"])      # --control may stand alone
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from stepprof.profiler.capture.backends import Backend
from stepprof.profiler.ingest.window import Window, check_utf8

Control = Literal["none", "before", "both"]

Command = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- CMD…",
        help="The program and its arguments; switches alone (-- --k 3) are for the built-in model, which is recorded "
        "where no program is named. stepprof run --help lists them.",
    ),
]
Out = Annotated[Path, typer.Option("-o", "--out", help="The run file to write.")]
BackendOption = Annotated[
    Backend,
    typer.Option(help="What records: our collector, nsys, torch.profiler (built-in model only), or ranges alone."),
]
ControlOption = Annotated[
    Literal["before", "both"], typer.Option(help="Untraced runs beside the traced one: before it, or before and after.")
]
NoControl = Annotated[bool, typer.Option("--no-control", help="Make no untraced run; the tracing cost stays unknown.")]
Steps = Annotated[str | None, typer.Option(help="Record only steps A:B of those the backend sees, B not included.")]
Range = Annotated[str | None, typer.Option("--range", help="Record only what is launched inside ranges that match.")]
Delay = Annotated[float, typer.Option(help="Seconds until recording starts.")]
Duration = Annotated[float, typer.Option(help="Seconds to record, 0 for all; the program runs on.")]
StepMarker = Annotated[str | None, typer.Option("--marker", help="Regular expression of the ranges that mark steps.")]
EnvPrefix = Annotated[list[str] | None, typer.Option(help="Keep names and salted hashes of variables that begin so.")]
Arm = Annotated[str, typer.Option(help="Name of this variant, for comparisons.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing run file.")]
KeepRecords = Annotated[bool, typer.Option("--keep-records", help="Keep the raw records beside the run file.")]


@dataclass(frozen=True)
class CaptureOptions:
    """What to run, where to put it, how to record it."""

    command: list[str]  # empty, or switches alone, for the built-in model
    out: Path
    backend: Backend = "auto"
    control: Control = "before"
    window: Window = field(default_factory=Window)
    env_prefixes: tuple[str, ...] = ()
    arm: str = ""
    force: bool = False
    keep_records: bool = False

    def __post_init__(self) -> None:
        check_utf8("-o", str(self.out.absolute()))
        check_utf8("--arm", self.arm)


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
