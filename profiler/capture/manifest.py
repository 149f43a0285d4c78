"""How a run was made, as rows of table manifest: command, versions, ids, hashes; never values of the environment.

    entries = manifest(command, machine, env_prefixes=["VLLM_"], arm="base")

Arguments that look like secrets are masked (secret_text.py). Of the environment only names under prefixes that the user
allows are kept, with a salted hash of each value: it shows that two runs on one machine differ by exactly
what was meant, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import subprocess
import uuid
from collections.abc import Container, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

import stepprof
from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.ingest.cache import cache_folder
from stepprof.profiler.secret_text import SECRET_START, secret_pair, without_secrets

MASK = "***"
NAMED = re.compile(r"""(?P<name>["']?[-\w.]*\w["']?)(?P<between>=|:(?!:|//)\s*)(?P<value>.*)""", re.DOTALL)
OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
LONG_OPTION = re.compile(r"--[a-z][a-z-]*(=.*)?", re.DOTALL)
SHELL_LINE = re.compile(r"-[a-z]*c")  # bash -lc '...'
HASHED_BYTES = 64 << 20
NAMES_OF_FILES = re.compile(r"\.(py|toml|json|ya?ml|sh|cfg|ini|txt)$")


def manifest(
    command: Sequence[str], machine: Machine, env_prefixes: Sequence[str] = (), arm: str = ""
) -> dict[str, str]:
    """Entries known before the run."""
    entries = {
        "command": json.dumps(masked(command)),
        "arm": arm,
        "launch": uuid.uuid4().hex,
        "run": uuid.uuid4().hex,
        "stepprof_version": stepprof.__version__,
        "python_version": platform.python_version(),
        "machine": platform.machine(),
        "cuda_of_driver": machine.cuda,
        "git_revision": git_revision(),
        "torch_version": torch_version(command),
        "file_hashes": json.dumps(file_hashes(command)),
        "environment": json.dumps(environment(env_prefixes)),
    }
    return {key: value for key, value in entries.items() if value not in ("", None)}


def masked(command: Sequence[str]) -> list[str]:
    """The command without what looks like a secret."""
    result: list[str] = []
    before = ""
    for word in command:
        if OPTION.fullmatch(before) and secret_pair(before, word) and not LONG_OPTION.fullmatch(word):
            result.append(MASK)
        else:
            shown = word if SHELL_LINE.fullmatch(before) else _masked_word(word)
            result.append(_without_home(without_secrets(shown, MASK)))
        before = word
    return result


def environment(prefixes: Sequence[str]) -> dict[str, str]:
    """Name -> salted hash of the value, for names under the prefixes."""
    if not prefixes:
        return {}
    salt = _salt()
    names = sorted(name for name in os.environ if name.startswith(tuple(prefixes)))
    return {
        name: hashlib.blake2b(os.fsencode(os.environ[name]), key=salt, digest_size=12).hexdigest() for name in names
    }


def file_hashes(command: Sequence[str]) -> dict[str, str]:
    """Name -> hash of the scripts and settings that the command names; a second config.json is `config.json (2)`."""
    found: dict[str, str] = {}
    seen: set[Path] = set()
    for word in command:
        path = Path(word.partition("=")[2] or word)
        try:
            if NAMES_OF_FILES.search(path.name) and path.is_file() and path.stat().st_size <= HASHED_BYTES:
                digest = hashlib.blake2b(path.read_bytes(), digest_size=20).hexdigest()
                if path.resolve() not in seen:
                    found[_free_name(path.name, found)] = digest
                seen.add(path.resolve())
        except (OSError, ValueError):
            continue
    return found


def _free_name(name: str, taken: Container[str]) -> str:
    """The name of a file without its folder, numbered in the order of the command where others are called alike."""
    numbered = (f"{name} ({number})" for number in count(2))
    return next(free for free in chain([name], numbered) if free not in taken)


def git_revision() -> str:
    """Commit of the folder we were started in, -dirty where files differ from it; empty without git."""
    commit = _output(["git", "rev-parse", "HEAD"])
    return f"{commit}-dirty" if commit and _output(["git", "status", "--porcelain", "-uno"]) else commit


def torch_version(command: Sequence[str]) -> str:
    """The torch that the command's Python would import, asked without importing it."""
    if not re.match(r"python[\d.]*$", Path(command[0]).name):
        return ""
    return _output([command[0], "-c", "import importlib.metadata as m; print(m.version('torch'))"])


def _masked_word(word: str) -> str:
    """A word that is a secret, or NAME=secret, or a header, with all that follows the name masked."""
    named = NAMED.fullmatch(word)
    if named and (secret_pair(named["name"], named["value"]) or SECRET_START.match(named["value"])):
        return f"{named['name']}{named['between']}{MASK}"
    return MASK if SECRET_START.match(word) else _masked_json(word)


def _masked_json(word: str) -> str:
    """A JSON object or list with the values of secret names masked, whatever they hold."""
    start = re.match(r"(?:-{0,2}[\w.-]+=)?(?=[{\[])", word)
    try:
        found = json.loads(word[start.end() :]) if start else None
    except (ValueError, RecursionError):
        return word
    return f"{start[0]}{json.dumps(_masked_values(found), ensure_ascii=False)}" if start else word


def _masked_values(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: MASK if secret_pair(key, str(item)) else _masked_values(item) for key, item in items}
    if isinstance(value, list):
        return [_masked_values(item) for item in cast("list[Any]", value)]
    return _masked_word(value) if isinstance(value, str) else value


def _without_home(word: str) -> str:
    """A path in the home folder without whose it is."""
    home = os.path.expanduser("~")
    return re.sub(rf"{re.escape(home)}(?![\w.-])", "~", word) if len(home) > 1 else word


def _salt() -> bytes:
    """Random, made once a machine and user, so that hashes can be compared here and not looked up elsewhere."""
    path = cache_folder() / "salt"
    try:
        with path.open("xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    return path.read_bytes()


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
