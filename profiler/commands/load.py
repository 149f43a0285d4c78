"""stepprof load: a load test of any OpenAI-compatible server."""

from __future__ import annotations

import math
import os
import sys
from typing import Annotated, Literal

import typer

from stepprof.profiler.commands.shared import Json, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.load.crowd import Load
from stepprof.profiler.load.endpoint import Address, Route, find_endpoint
from stepprof.profiler.load.run import Plan, load_test
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.terminal_load import show_load

app = typer.Typer()

MOST_CLIENTS = 1024


@app.command()
def load(
    url: Annotated[str, typer.Option(help="Address of the server: http://HOST:PORT.")],
    concurrency: Annotated[str, typer.Option(help="Clients at once.")] = "1,2,4,8,32",
    prompts: Annotated[
        str, typer.Option(help="Classes: prose, structured, code, shell_ops, tool_json; or files.")
    ] = "prose",
    thinking: Annotated[
        Literal["on", "off"] | None, typer.Option(help="Tell the chat template to think or not.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer at most.")] = 128,
    prefill: Annotated[str | None, typer.Option(help="Also read prompts of these lengths: 1024,65536.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Timed requests of each client.")] = 2,
    warm_up: Annotated[int, typer.Option(min=0, help="Requests of each client before them.")] = 1,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = 600,
    model: Annotated[str | None, typer.Option(help="Model; else the first that the server lists.")] = None,
    route: Annotated[Route, typer.Option(help="Which interface is asked.")] = "auto",
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos", help="Ask to go on after the end token.")] = False,
    key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the API key.")] = None,
    json: Json = False,
) -> None:
    """Load a server with real HTTP clients: tokens/s per stream and total, time to first token, prefill."""
    if not math.isfinite(timeout):
        raise UsageError("--timeout must be a number of seconds.")
    load_ = Load(rounds=rounds, warm_up=warm_up, max_tokens=max_tokens, timeout=timeout)
    seed = int.from_bytes(os.urandom(4), "big")  # a new one each time, or the server's cache knows the texts
    lengths = () if prefill is None else _counts("--prefill", prefill, 2**24)
    names = tuple(dict.fromkeys(name for name in prompts.split(",") if name))
    plan = Plan(names, _counts("--concurrency", concurrency, MOST_CLIENTS), lengths, load_, seed)
    think = None if thinking is None else thinking == "on"
    endpoint = find_endpoint(Address.of(url, _key(key_env)), model, route, think, ignore_eos)
    result = load_test(endpoint, plan, lambda text: print(f"stepprof: {text}", file=sys.stderr))
    print_json(document.plain_document(result)) if json else show_load(terminal.console(), result)


def _counts(option: str, text: str, most: int) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 12 and 0 < int(part) <= most for part in parts):
        raise UsageError(f"{option} {text!r}: write whole numbers from 1 to {most} with commas between.")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    key = os.environ.get(name)
    if not key or not key.isprintable():
        raise UsageError(f"--key-env {name}: that variable is not set, or holds no key.")
    return key
