"""stepprof compare-outputs: whether a candidate writes something else than controls do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.compare.compared_outputs import ComparedOutputs, compared_outputs
from stepprof.profiler.commands.shared import Json, print_json
from stepprof.profiler.errors import CheckFailed, Refused, UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.terminal_outputs import show_outputs

app = typer.Typer()


def spelled(argv: list[str]) -> list[str]:
    """`--controls C D`: the parser wants --controls before each of its files."""
    if argv[:1] != ["compare-outputs"] or "--controls" not in argv:
        return argv
    at = argv.index("--controls")
    rest = argv[at + 1 :]
    count = next((i for i, word in enumerate(rest) if word.startswith("--")), len(rest))
    return argv[: at + 1] + rest[:1] + [w for file in rest[1:count] for w in ("--controls", file)] + rest[count:]


@app.command("compare-outputs")
def compare_outputs(
    a: Annotated[Path, typer.Argument(metavar="A.jsonl", help="Outputs of the unchanged setup.")],
    b: Annotated[Path, typer.Argument(metavar="B.jsonl", help="Outputs of the candidate.")],
    controls: Annotated[
        list[Path] | None, typer.Option(metavar="C.jsonl...", help="The unchanged setup in launches of its own.")
    ] = None,
    level: Annotated[float, typer.Option(min=0.0001, max=0.5, help="One-sided level of the test.")] = 0.05,
    check: Annotated[bool, typer.Option("--check", help="Exit 3 where a regression is found.")] = False,
    json: Json = False,
) -> None:
    """Count flips and first divergences, and test them against how controls differ from each other.

    One JSON line a position, {"prompt": "p1", "position": 0, "token": 17}, or a prompt,
    {"prompt": "p1", "tokens": [17, 4], "forced": true}; without "forced" the outputs are free ones.
    """
    if check and not controls:
        raise UsageError("--check needs --controls: without them the controls' own spread is not known.")
    result = compared_outputs(a, b, controls or [], level)
    if json:
        print_json(document.plain_document(result))
    else:
        show_outputs(terminal.console(), result)
    if check:
        _verdict(result)


def _verdict(result: ComparedOutputs) -> None:
    """Pass, or the fault with its exit code."""
    if result.test is None:
        raise Refused("one prompt cannot tell a regression: compare outputs of many prompts.")
    if result.regression:
        raise CheckFailed(
            f"the candidate flips {100 * result.test.share:.3f} %, controls {100 * result.test.control:.3f} % "
            f"(p = {result.test.p:.4f}): a regression."
        )
