"""Figures side by side: ratios, spreads between classes, and faults of the file by their line."""

import pytest

from stepprof.analyses.compare.yardsticks import Yardsticks, yardsticks
from stepprof.profiler.errors import InputError

POSTS = """
ours = "GB300"
"""


def figure(source: str, class_: str, value: object, test: str = "own classes", **more: object) -> str:
    """An entry; `range=[a, b]` where the value is a pair."""
    amount = {"range": list(value)} if isinstance(value, tuple) else {"value": value}
    entry = {"source": source, "metric": "tokens/s", "test": test, "class": class_, **amount}
    entry |= {"kind": "measured", "by": "us", "origin": "own"} | more
    return "[[figure]]\n" + "".join(f"{key} = {value!r}\n" for key, value in entry.items())


THEIRS = {"kind": "quoted", "by": "the author", "origin": "published"}


def read(tmp_path, *entries: str, head: str = POSTS) -> Yardsticks:
    (tmp_path / "y.toml").write_text(head + "\n".join(entries))
    return yardsticks(tmp_path / "y.toml")


def test_the_posts(tmp_path):
    result = read(
        tmp_path,
        figure("GB300", "prose", 285.3),
        figure("GB300", "shell_ops", 388.8),
        figure("GB300", "code", 466, "coding test"),
        figure("4x RTX", "prose", 300, **THEIRS),
        figure("4x RTX", "code", 700, **THEIRS),
    )
    ratios = {(r.ours.class_, round(r.low, 2), r.differs) for r in result.ratios}
    assert ratios == {("prose", 0.95, ()), ("code", 0.67, ("test",))}
    spreads = {(s.source, s.largest, s.smallest, round(s.low, 2)) for s in result.spreads}
    assert spreads == {("GB300", "shell_ops", "prose", 1.36), ("4x RTX", "code", "prose", 2.33)}
    assert len(result.figures) == 5


def test_a_range_gives_a_range(tmp_path):
    result = read(tmp_path, figure("GB300", "all", (239, 260)), figure("X", "all", 342, mode="normal"))
    ratio = result.ratios[0]
    assert (round(ratio.low, 2), round(ratio.high, 2), ratio.differs) == (0.70, 0.76, ("mode",))


def test_other_classes_metrics_and_concurrencies_are_not_compared(tmp_path):
    result = read(
        tmp_path,
        figure("GB300", "code", 100, concurrency=1),
        figure("X", "code", 100, concurrency=4),
        figure("X", "prose", 100, concurrency=1),
        figure("X", "code", 100, metric="prefill tokens/s", concurrency=1),
    )
    assert result.ratios == () and [s.source for s in result.spreads] == []


def test_every_figure_of_a_source_is_shown(tmp_path):
    result = read(
        tmp_path, *(figure("GB300", "code", v) for v in (476, 466)), *(figure("X", "code", v) for v in (703, 507))
    )
    assert [(r.ours.low, r.other.low) for r in result.ratios] == [(476, 703), (476, 507), (466, 703), (466, 507)]


def test_without_ours_there_are_no_ratios(tmp_path):
    assert read(tmp_path, figure("A", "x", 1), figure("B", "x", 2), head="").ratios == ()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (figure("GB300", "code", 1).replace("metric", "metrik"), r'line 5, \[\[figure\]\] 1: unknown key "metrik": did you mean metric'),
        (figure("GB300", "code", 1).replace("measured", "meassured"), r"line 9, .*unknown kind .*did you mean measured"),
        (figure("GB300", "code", 1).replace("'own'\n", "'zzz'\n"), r"line 11, .*there are own, re-run, published"),
        (figure("GB300", "code", "fast"), r'line 8, .*"value" must be a number'),
        (figure("GB300", "code", (2, 1)), r'"range" must be two numbers'),
        (figure("GB300", "code", 0), r"must be above 0"),
        (figure("GB300", "code", 1) + "range = [1, 2]\n", r"either value or range"),
        (figure("GB300", "code", 1).replace("by = 'us'\n", ""), r'line 3, .*"by" is missing'),
        (figure("GB200", "code", 1), r'ours = "GB300" is no source of a figure: did you mean GB200'),
        ("[figure]\nvalue = 1\n", r"holds no \[\[figure\]\]"),
        ("[[figures]]\nvalue = 1\n", r'unknown key "figures": did you mean \[\[figure\]\]'),
        ("x = \n", r"is not valid TOML: .*line 3"),
    ],
)  # fmt: skip
def test_faults_name_the_line_and_what_exists(tmp_path, entry, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, entry)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        yardsticks(tmp_path / "missing.toml")
    (tmp_path / "y.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8"):
        yardsticks(tmp_path / "y.toml")
