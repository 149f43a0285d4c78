"""A scrubbed copy appears whole, under its name, or not at all."""

import gzip
import os
import subprocess
import sys

import pytest

from stepprof.profiler.demo import TRACE
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.scrub import scrub
from tests.profiler.ingest.kineto_documents import call, document, kernel

SCRUB = "from stepprof.profiler.cli import main; main()"


def written(folder, form):
    """A trace of this form, of some 100 KB."""
    if form == "run file":
        import_run(TRACE, folder / "in", Extras())
    elif form == "nsys export":
        (folder / "in").write_bytes(gzip.decompress(TRACE.read_bytes()))
    else:
        (folder / "in").write_text(document(*(call(i) for i in range(2000)), *(kernel(i) for i in range(2000))))
    return folder / "in"


@pytest.mark.parametrize("kilobytes", [2, 100])
@pytest.mark.parametrize("form", ["run file", "nsys export", "torch.profiler trace"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(form, kilobytes, tmp_path):
    written(tmp_path, form)
    limited = f'ulimit -f {kilobytes}; exec "{sys.executable}" -B -c "{SCRUB}" scrub in -o out.x'
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", limited], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith("stepprof: out.x cannot be written (")
    assert done.stderr.endswith("): free space or choose another -o.\n")
    assert os.listdir(tmp_path) == ["in"]


def test_an_export_that_is_damaged_says_so(tmp_path):
    content = bytearray(gzip.decompress(TRACE.read_bytes()))
    content[8192:608_192] = b"\x55" * 600_000
    (tmp_path / "in.sqlite").write_bytes(content)
    with pytest.raises(InputError, match=r"in\.sqlite is damaged \(.*\): run nsys export again\."):
        scrub(tmp_path / "in.sqlite", tmp_path / "out.sqlite")
    assert os.listdir(tmp_path) == ["in.sqlite"]


def test_an_export_may_have_any_name_and_be_packed(tmp_path):
    source = written(tmp_path, "nsys export").rename(tmp_path / "a?b#c 100%.sqlite")
    scrub(source, tmp_path / "out.sqlite.gz")
    assert gzip.decompress((tmp_path / "out.sqlite.gz").read_bytes()).startswith(b"SQLite format 3")


def test_an_existing_file_is_not_replaced(tmp_path):
    (tmp_path / "out.sqlite").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        scrub(TRACE, tmp_path / "out.sqlite")
    assert (tmp_path / "out.sqlite").read_text() == "mine"


@pytest.mark.parametrize("form", ["run file", "nsys export", "torch.profiler trace"])
def test_a_folder_is_not_replaced(form, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=r"out cannot be written \(Is a directory\)"):
        scrub(written(tmp_path, form), tmp_path / "out", force=True)
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]
