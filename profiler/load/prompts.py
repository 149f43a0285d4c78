"""What the load test asks: a few prompts of each class (prompts.toml), or a file of the user's own.

prompts("code"); prompts("mine.txt")        # a prompt a line; with .jsonl {"prompt": "…"} a line
filler(1000, seed=3)                        # a text of 1,000 words that no cache has seen
"""

from __future__ import annotations

import json
import random
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from stepprof.profiler.errors import InputError, UsageError

WORDS = [
    "river",
    "window",
    "copper",
    "seven",
    "garden",
    "travel",
    "morning",
    "engine",
    "paper",
    "silent",
    "number",
    "winter",
    "market",
    "follow",
    "bridge",
    "letter",
    "yellow",
    "second",
    "answer",
    "island",
    "village",
    "corner",
    "simple",
    "mountain",
    "record",
    "planet",
    "leader",
    "energy",
    "forest",
    "common",
]


@cache
def classes() -> dict[str, list[str]]:
    """Class -> its prompts."""
    return tomllib.loads((files("stepprof.profiler.load") / "prompts.toml").read_text())


def prompts(name: str) -> list[str]:
    """The prompts of a class, or of a file; InputError where the file holds none."""
    if name in classes():
        return classes()[name]
    path = Path(name)
    if not path.exists():
        raise UsageError(f"--prompts {name}: is no file and no class; the classes are {', '.join(classes())}.")
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name a text file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: write one prompt a line.") from None
    found = [_prompt(path, n, line) for n, line in enumerate(lines, 1)] if path.suffix == ".jsonl" else lines
    if not found:
        raise InputError(f"{path} holds no prompt: write one a line.")
    return found


def filler(words: int, seed: int) -> str:
    """A text of its own for every seed, from the first word on, so that no server has its prefix in a cache."""
    draw = random.Random(seed)
    return " ".join([f"{draw.getrandbits(64):x}", *draw.choices(WORDS, k=max(0, words - 1))])


def _prompt(path: Path, number: int, line: str) -> str:
    try:
        found = json.loads(line)["prompt"]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str) or not found:
        raise InputError(f'{path}, prompt {number}: is not {{"prompt": "…"}}: correct it.')
    return found
