"""What a GPU benchmark writes about where it ran, and whether an earlier receipt may be continued here."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def gpus() -> list[tuple[str, str]]:
    """(name, driver) of each GPU; none where the driver does not answer."""
    ask = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []
    pairs = (line.split(", ") for line in lines)
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def versions(*packages: str) -> dict[str, str]:
    """Of Python and of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def changed(before: dict[str, Any], now: dict[str, Any], keys: Sequence[str]) -> str:
    """What differs between the machine of a receipt and this one; empty where nothing does."""
    differing = [key for key in keys if before.get(key) != now.get(key)]
    return "; ".join(f"{key} is {now.get(key)} now and was {before.get(key)}" for key in differing)


def commands(receipt: dict[str, Any]) -> list[str]:
    """What made it, one call after the other."""
    command = receipt["command"]
    return command if isinstance(command, list) else [command]
