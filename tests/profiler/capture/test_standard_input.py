"""Control and traced run read the same standard input: a file, a pipe, one without an end."""

import os
import subprocess
import sys

import pytest

READER = """
import nvtx, sys
lines = []
for line in sys.stdin:
    with nvtx.annotate(f"step/{len(lines)}"): lines.append(line.strip())
    if line == "enough\\n": break
print(len(lines), lines[0], lines[-1])
print("read", len(lines), file=sys.stderr)
"""


@pytest.mark.parametrize("before", [0, 2])
def test_each_run_reads_a_file_from_where_the_first_began(capture, tmp_path, before):
    (tmp_path / "prompts").write_text("".join(f"{n}\n" for n in range(10_000, 10_040)))
    with (tmp_path / "prompts").open("rb") as prompts:
        os.lseek(prompts.fileno(), 6 * before, os.SEEK_SET)
        done = capture("--control", "both", "-o", "r.duckdb", program=[sys.executable, "-c", READER], stdin=prompts)
    assert done.stdout == f"{40 - before} {10_000 + before} 10039\n", done.stderr
    assert done.stderr.splitlines().count(f"read {40 - before}") == 3


def test_each_run_reads_a_pipe_from_its_beginning(capture, tmp_path):
    """More than a pipe holds."""
    lines = subprocess.Popen(["seq", "100001", "200000"], stdout=subprocess.PIPE)
    done = capture("--control", "both", "-o", "r.duckdb", program=[sys.executable, "-c", READER], stdin=lines.stdout)
    assert done.stdout == "100000 100001 200000\n", done.stderr
    assert done.stderr.splitlines().count("read 100000") == 3
    assert not [path.name for path in tmp_path.iterdir() if "records" in path.name]


@pytest.mark.parametrize(("code", "told"), [(READER, "2 a enough\n"), ("import nvtx; nvtx.mark('x')", "")])
def test_a_pipe_without_an_end_holds_up_nobody(capture, code, told):
    read, write = os.pipe()
    os.write(write, b"a\nenough\nmore\n")
    done = capture("-o", "r.duckdb", program=[sys.executable, "-c", code], stdin=read)
    os.close(read)
    os.close(write)
    assert (done.returncode, done.stdout) == (0, told), done.stderr


def test_a_pipe_is_the_programs_own_without_a_control(capture, tmp_path):
    lines = subprocess.Popen(["seq", "40"], stdout=subprocess.PIPE)
    done = capture("--no-control", "-o", "r.duckdb", program=[sys.executable, "-c", READER], stdin=lines.stdout)
    assert done.stdout == "40 1 40\n", done.stderr
