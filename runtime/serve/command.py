"""The command `serve`: its switches, what it does, what it prints at the end."""

from __future__ import annotations

import argparse
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from stepprof.runtime import arguments as switches
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import ConfigError, RuntimeFault
from stepprof.runtime.facts import Facts


def add_serve_switches(parser: argparse.ArgumentParser) -> None:
    """What a server has beyond a run."""
    parser.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--max-waiting", type=int, default=64, help="prompts that may wait for a slot; more get 429")
    parser.add_argument("--facts", type=Path, help="write facts of steps and calls here (JSON lines)")


def serve_command(given: argparse.Namespace) -> dict[str, Any]:
    """Serve until SIGTERM or SIGINT, or until the engine fails."""
    try:
        from stepprof.runtime.serve.server import Server, listen
    except ModuleNotFoundError as missing:
        raise RuntimeFault(f"serve needs {missing.name}: pip install 'stepprof[serve]'.") from None
    if given.max_waiting < 0:
        raise ConfigError(f"--max-waiting {given.max_waiting} must be at least 0.")
    config, listener = switches.config_of(given), listen(given.port)
    made = (config, switches.options_of(given), switches.weights_of(given), switches.placement_of(given, config))
    facts_file = Facts(given.facts) if given.facts else nullcontext()
    with listener, facts_file as facts, Engine.make(*made) as engine:
        server = Server(engine, listener, given.max_waiting, facts)
        for number in (signal.SIGTERM, signal.SIGINT):
            # uvicorn raises the signal again after it has left; that must not end the clean-up
            signal.signal(number, lambda *_: server.stop())
        return server.work()


def show_serve(document: dict[str, Any]) -> None:
    """One line."""
    counts = ", ".join(f"{document[name]} {name}" for name in ("completed", "failed", "left", "refused"))
    print(f"{document['model']}: {document['steps']} steps; prompts: {counts}")
