"""What a registration must say, and that its fingerprint is of its meaning."""

import re

import pytest

from stepprof.analyses.gates.registration import Registration, fingerprint, read_registration
from stepprof.analyses.gates.schedule import slots, stages
from stepprof.profiler.errors import InputError, UsageError
from tests.analyses.gates.gates import Gate
from tests.repository import ROOT

TEXT = """
name = "topk"
metric = "step_ms"
bar = -0.1
[control]
command = ["run"]
[candidate]
command = ["run", "--share-topk"]
"""


def gate(tmp_path, *more: str):
    path = tmp_path / "gate.toml"
    path.write_text("\n".join([*more, TEXT]))
    return read_registration(path)


def test_defaults(tmp_path):
    found = gate(tmp_path)
    assert (found.rule, found.launches, found.order, found.looks, found.rounds) == ("ci", 4, "ABBA", 1, 1)
    assert (found.direction, found.instrument, found.on_crash) == ("lower", "traced", "rerun")
    assert "".join(slot.arm for slot in slots(found)) == "ABBAABBA" and stages(found) == [8]


def test_the_fingerprint_is_of_the_meaning(tmp_path):
    plain = fingerprint(gate(tmp_path))
    assert fingerprint(gate(tmp_path, "# a remark", 'rule   = "ci"')) == plain
    assert fingerprint(gate(tmp_path, "warm_up = 1")) != plain


def test_rounds_and_looks(tmp_path):
    twice = gate(tmp_path, "replicates = 1", "launches = 2")
    assert stages(twice) == [4, 8] and [slot.round for slot in slots(twice)] == [0] * 4 + [1] * 4
    assert stages(gate(tmp_path, "looks = 2")) == [4, 8]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('rules = "ci"', "unknown field `rules`"),
        ("launches = 1", "Expected `int` >= 2"),
        ("launches = 3", "3 launches of each arm do not fill the order 'ABBA'"),
        ('order = "AAB"', "must hold as many A as B"),
        ("looks = 3", "Expected `int` <= 2"),
        ("looks = 2\nreplicates = 1", "looks = 2 needs replicates = 0"),
        ('better = "higher"', "is not how step_ms improves"),
        ('equality = "flip-rate"', "equality = 'flip-rate' and outputs = 'FILE.json' go together"),
        ("bar_unit = 'percent'\nbar_unit = 'percent'", "overwrite"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, line, why):
    with pytest.raises(InputError, match=why):
        gate(tmp_path, line)


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ("speed", "there is no metric 'speed': choose of step_ms, exposed_ms"),
        ("exposed_ms:gemms", "names no role"),
        ("gap_ms:", "names no gap class"),
        ("tokens_per_s:", "names no cell"),
        ("json:", "names no path"),
        ("json:a.b", "needs better = 'lower' or 'higher'"),
    ],
)
def test_metrics_that_are_none(tmp_path, metric, why):
    path = tmp_path / "gate.toml"
    path.write_text(TEXT.replace("step_ms", metric))
    with pytest.raises(InputError, match=why):
        read_registration(path)


def test_figures_of_ops_need_traced_launches(tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text('instrument = "marks"\n' + TEXT.replace("step_ms", "exposed_ms:attention"))
    with pytest.raises(InputError, match="metric exposed_ms:attention needs instrument = 'traced'"):
        read_registration(path)


def test_names_are_plain(tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text(TEXT.replace('"topk"', '"../topk"'))
    with pytest.raises(InputError, match="is not of letters"):
        read_registration(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="give the TOML file of a gate"):
        read_registration(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is no gate"):
        read_registration(tmp_path / "bytes.toml")


def test_a_name_is_taken_once(tmp_path):
    with pytest.raises(UsageError, match="a changed gate takes a new name"):
        Gate(tmp_path).register().register(bar=-0.2)


def test_the_example_of_the_docs(tmp_path):
    """It is a gate, and it shows every field."""
    text = (ROOT / "docs" / "gates.md").read_text()
    example = text.split("```toml\n")[1].split("```")[0]
    (tmp_path / "gate.toml").write_text(example)
    assert read_registration(tmp_path / "gate.toml").rounds == 2
    assert [field for field in Registration.__struct_fields__ if not re.search(rf"\b{field}\b", text)] == []
