"""docs/extending.md keeps its word: its files are written and its commands run, in order, in one folder.

A block ```LANGUAGE file=NAME is written to NAME; in a ```console block each `$ ` line is run, and the lines
below it must occur in what it prints, in this order.
"""

import os
import re
import shlex
import subprocess
import sys

import pytest

from stepprof.profiler.demo import EDGES, TRACE
from tests.repository import ROOT

PAGE = (ROOT / "docs/extending.md").read_text()
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)
STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder in which the whole page runs, the sample capture imported as its first lines say."""
    path = tmp_path_factory.mktemp("extending")
    for source, name in ((TRACE, "DEMO.sqlite.gz"), (EDGES, "DEMO.edges.tsv.gz")):
        (path / name).symlink_to(source)
    follow(path, PAGE.partition("\n## ")[0])
    return path


def follow(folder, text: str) -> int:
    """Write the files and run the commands of a part of the page; how many commands there were."""
    count = 0
    for language, name, body in BLOCK.findall(text):
        if name:
            (folder / name).write_text(body)
        elif language == "console":
            for command, told in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                printed = run(folder, command)
                at = 0
                for line in told.splitlines():
                    found = printed.find(line, at)
                    assert found >= 0, f"{command}\n{line}\nis not in\n{printed}"
                    at = found + len(line)
                count += 1
    return count


def run(folder, command: str) -> str:
    words = shlex.split(command)
    program = {"stepprof": STEPPROF, "python": [sys.executable]}[words[0]]
    env = os.environ | {"STEPPROF_CACHE": str(folder / "cache"), "COLUMNS": "80"}
    done = subprocess.run(
        [*program, *words[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.mark.xdist_group("extending")
@pytest.mark.parametrize("section", SECTIONS)
def test_the_examples_of_the_section_run(folder, section):
    assert follow(folder, SECTIONS[section]) >= 1
