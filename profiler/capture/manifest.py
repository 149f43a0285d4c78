"""How a run was made, as rows of table manifest: command, versions, ids, hashes; never values of the environment.

    entries = manifest(command, machine, env_prefixes=["VLLM_"], arm="base")

Arguments that look like secrets are masked. Of the environment only names under prefixes that the user
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
from collections.abc import Sequence
from pathlib import Path

import stepprof
from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.ingest.cache import cache_folder

MASK = "***"
SECRET_NAME = re.compile(r"(?i)(api[-_]?key|token|secret|passw(or)?d|credential|auth)")
SECRET_VALUE = re.compile(r"^(sk-|hf_|gh[pousr]_|github_pat_|glpat-|xox[abp]-|AKIA|eyJ[A-Za-z0-9_-]{10,}\.|Bearer )")
NOT_SECRET = re.compile(
    r"(?i)(max|num|n|min|new|batch|block)[-_]?(batched[-_]?)?tokens?|tokens?[-_]?(per|id|limit|budget)|tokenizer"
)
URL_LOGIN = re.compile(r"(://)[^/@\s]+@")
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
    hide_next = False
    for word in command:
        name, equals, value = word.partition("=")
        if hide_next and not word.startswith("-"):
            result.append(MASK)
        elif equals and _secret_name(name):
            result.append(f"{name}={MASK}")
        elif SECRET_VALUE.search(value if equals else word):
            result.append(f"{name}={MASK}" if equals else MASK)
        else:
            result.append(_without_home(URL_LOGIN.sub(rf"\1{MASK}@", word)))
        hide_next = word.startswith("-") and not equals and _secret_name(name)
    return result


def environment(prefixes: Sequence[str]) -> dict[str, str]:
    """Name -> salted hash of the value, for names under the prefixes."""
    if not prefixes:
        return {}
    salt = _salt()
    names = sorted(name for name in os.environ if name.startswith(tuple(prefixes)))
    return {name: hashlib.blake2b(os.environ[name].encode(), key=salt, digest_size=12).hexdigest() for name in names}


def file_hashes(command: Sequence[str]) -> dict[str, str]:
    """Name -> hash of the scripts and settings that the command names."""
    found: dict[str, str] = {}
    for word in command:
        path = Path(word.partition("=")[2] or word)
        try:
            if NAMES_OF_FILES.search(path.name) and path.is_file() and path.stat().st_size <= HASHED_BYTES:
                found[path.name] = hashlib.blake2b(path.read_bytes(), digest_size=20).hexdigest()
        except OSError:
            continue
    return found


def git_revision() -> str:
    """Commit of the folder we were started in, -dirty where files differ from it; empty without git."""
    commit = _output(["git", "rev-parse", "HEAD"])
    return f"{commit}-dirty" if commit and _output(["git", "status", "--porcelain", "-uno"]) else commit


def torch_version(command: Sequence[str]) -> str:
    """The torch that the command's Python would import, asked without importing it."""
    if not re.match(r"python[\d.]*$", Path(command[0]).name):
        return ""
    return _output([command[0], "-c", "import importlib.metadata as m; print(m.version('torch'))"])


def _secret_name(name: str) -> bool:
    return bool(SECRET_NAME.search(name)) and not NOT_SECRET.search(name)


def _without_home(word: str) -> str:
    """A path in the home folder without whose it is."""
    home = os.path.expanduser("~")
    return word.replace(home, "~") if len(home) > 1 else word


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
