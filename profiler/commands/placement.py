"""stepprof placement: which cold experts to move to the main card."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.placement.choice import Terms, place
from stepprof.analyses.placement.expert_use import expert_use
from stepprof.analyses.placement.hot_lists import read_hot, with_moves
from stepprof.analyses.placement.layer_waits import Waits, read_waits
from stepprof.analyses.placement.relocation import relocation
from stepprof.profiler.commands.placement_uses import use_tables
from stepprof.profiler.commands.shared import Json, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.link_speed import link_speed, number_of_bytes
from stepprof.profiler.report import terminal
from stepprof.profiler.report.document import write_text
from stepprof.profiler.report.placement_answer import PlacementAnswer, placement_document, show_placement

app = typer.Typer()


@app.command()
def placement(
    uses: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]USES",
            help="CSV of expert uses (stepprof run --expert-use, or counts), or facts or runs with facts that list the "
            "experts of each call; NAME is the class of the whole file.",
        ),
    ],
    expert_bytes: Annotated[str, typer.Option(help="Memory that one expert takes, as in 18.8MB.")],
    memory: Annotated[str | None, typer.Option(help="Room on the main card, as in 10GB.")] = None,
    experts: Annotated[int | None, typer.Option(min=0, help="At most so many experts, instead of --memory.")] = None,
    waits: Annotated[
        Path | None,
        typer.Option(help="Join waits: the CSV of breakdown --sidecar --csv; or means by layer, its --json or a CSV."),
    ] = None,
    wait_us: Annotated[float | None, typer.Option(min=0, help="Join wait of every call that --waits lacks.")] = None,
    per_expert_us: Annotated[float, typer.Option(min=0, help="What one expert less saves of a call that stays.")] = 0.0,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of each class, where the file has counts.")] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="SPEED or FILE.json",
            help="Speed of copying experts, as in 50GB/s or 400Gbit/s, or measured: the file of stepprof audit "
            "--measure --json; else the PCIe link's.",
        ),
    ] = None,
    hot: Annotated[
        Path | None, typer.Option("--placement", help="Today's placement file, to add the moves to.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", help="Write the new placement here; needs --placement.")] = None,
    json: Json = False,
) -> None:
    """Say which cold experts to move to the main card to wait least for the sidecar, and when that pays."""
    if (memory is None) == (experts is None):
        raise UsageError("the budget is --memory or --experts: give one of them.")
    if waits is None and wait_us is None:
        raise UsageError("what do calls make the main card wait? give --waits FILE or --wait-us N.")
    if (hot is None) != (output is None):
        raise UsageError("-o writes the placement of --placement with the moves added: give both.")
    size = number_of_bytes(expert_bytes, "--expert-bytes")
    budget = int(number_of_bytes(memory, "--memory") // size) if memory is not None else experts or 0
    waited = read_waits(waits, wait_us) if waits else Waits({}, wait_us)
    given = expert_use(use_tables(uses), waited, steps)
    speed = link_speed(link)
    placed = place(given, Terms(budget, per_expert_us))
    move = relocation(placed, int(size), speed.bytes_per_s)
    answer = PlacementAnswer(given, placed, move, int(size), speed, budget, waited)
    if hot and output:
        write_text(output, jsonlib.dumps({"hot": with_moves(read_hot(hot), placed.chosen)}) + "\n")
    if json:
        print_json(placement_document(answer))
    else:
        show_placement(terminal.console(), answer)
