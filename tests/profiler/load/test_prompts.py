"""Prompts by class, from files, and texts of a length."""

import pytest

from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.load.prompts import classes, filler, prompts


def test_the_classes_of_the_built_in_model_are_all_there():
    assert set(classes()) == {"prose", "structured", "code", "shell_ops", "tool_json"}
    assert all(len(prompts(name)) >= 3 for name in classes())


def test_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    assert prompts(str(tmp_path / "a.txt")) == ["one", "two"]
    (tmp_path / "a.jsonl").write_text('{"prompt": "one"}\n{"text": "x"}\n')
    with pytest.raises(InputError, match="prompt 2: is not"):
        prompts(str(tmp_path / "a.jsonl"))
    (tmp_path / "b.txt").write_text("\n")
    with pytest.raises(InputError, match="holds no prompt"):
        prompts(str(tmp_path / "b.txt"))
    (tmp_path / "c.txt").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        prompts(str(tmp_path / "c.txt"))
    with pytest.raises(InputError, match="cannot be read"):
        prompts(str(tmp_path))
    with pytest.raises(UsageError, match="no file and no class"):
        prompts(str(tmp_path / "missing"))


def test_fillers_differ_from_the_first_word_on():
    a, b = filler(10, 1), filler(10, 2)
    assert len(a.split()) == len(b.split()) == 10 and a.split()[0] != b.split()[0]
    assert filler(10, 1) == a and len(filler(1, 1).split()) == 1
