"""`stepprof audit` and `stepprof scrub` as a user meets them."""

import json
import os
import subprocess
import sys

from stepprof.profiler.demo import TRACE

STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]


def run(folder, *words) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*STEPPROF, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_audit(tmp_path):
    done = run(tmp_path, "audit", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document.keys() == {"facts", "not_seen"} and document["facts"]
    assert "numa_nodes" in run(tmp_path, "audit").stdout


def test_scrub(tmp_path):
    done = run(tmp_path, "scrub", TRACE, "-o", "shared.sqlite")
    assert done.returncode == 0, done.stderr
    assert done.stdout and all(
        line.startswith(("removed ", "    ")) and len(line) <= 80 for line in done.stdout.splitlines()
    )
    assert run(tmp_path, "steps", "shared.sqlite").returncode == 0
    again = run(tmp_path, "scrub", TRACE, "-o", "shared.sqlite")
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)


def test_audit_measures_only_where_there_is_a_gpu(tmp_path):
    assert run(tmp_path, "audit", "--trace", TRACE).returncode == 2
    done = run(tmp_path, "audit", "--measure", "--trace", TRACE, "--json")
    if done.returncode:
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert "--measure needs an NVIDIA GPU" in done.stderr
    else:
        document = json.loads(done.stdout)
        assert document["effect"]["calls"] == 18 and {row["kind"] for row in document["measured"]} == {"measured"}
