"""Outputs as JSON lines: what is read, and the line that is at fault."""

import pytest

from stepprof.analyses.compare.outputs_file import PLACES, Names, read_outputs
from stepprof.profiler.errors import InputError


def read(folder, *lines: str, names: Names | None = None):
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n")
    return read_outputs(folder / "a.jsonl", names or Names())


def test_positions_and_whole_prompts_are_the_same_thing(tmp_path):
    one = read(tmp_path, '{"prompt": "q", "position": 1, "token": 8}', "", '{"prompt": "q", "position": 0, "token": 7}')
    whole = read(tmp_path, '{"prompt": "q", "tokens": [7, 8], "forced": true}')
    assert one.key.tolist() == whole.key.tolist() == [0, 1]
    assert one.token.tolist() == whole.token.tolist() == [7, 8]
    assert one.forced and whole.forced and not read(tmp_path, '{"prompt": "q", "tokens": [7]}').forced


def test_prompts_and_texts_are_numbered_once_for_all_files(tmp_path):
    names = Names()
    first = read(tmp_path, '{"prompt": 1, "tokens": ["a", "b"]}', names=names)
    second = read(tmp_path, '{"prompt": 2, "tokens": ["b"]}', '{"prompt": "1", "tokens": ["c"]}', names=names)
    assert first.token.tolist() == [0, 1]
    assert second.key.tolist() == [0, 1 << PLACES] and second.token.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([""], "holds no output"),
        (['{"prompt": "q", "tokens": []}'], "holds no output"),
        (['{"prompt": "q", "tokens": [1]}', "{"], "line 2: Input data was truncated"),
        (['{"prompt": "q", "tokens": [1], "tokns": []}'], "line 1: .*unknown field `tokns`"),
        (['{"prompt": "q"}'], 'line 1: give "tokens", or'),
        (['{"prompt": "q", "token": 1}'], 'line 1: give "tokens", or'),
        (['{"prompt": "q", "position": 0, "token": 1, "tokens": [1]}'], 'give "tokens", or'),
        (['{"prompt": "q", "position": 0, "token": 1, "forced": false}'], "never a free one"),
        (['{"prompt": "q", "tokens": [1]}', '{"prompt": "r", "tokens": [1], "forced": true}'], "line 2: mixes forced"),
        (['{"prompt": "q", "tokens": [1, "x"]}'], "numbers in one place and strings"),
        (['{"prompt": "q", "tokens": [1]}', '{"prompt": "q", "tokens": [1]}'], "'q' has position 0 twice"),
        (['{"prompt": "q", "tokens": [-1]}'], "line 1: .*>= 0"),
    ],
)
def test_faults_name_the_line(tmp_path, lines, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, *lines)


def test_another_prefix_is_no_comparison(tmp_path):
    names = Names()
    read(tmp_path, '{"prompt": "q", "tokens": [1], "forced": true, "prefix": "x"}', names=names)
    with pytest.raises(InputError, match=r"another prefix than in a\.jsonl"):
        read(tmp_path, '{"prompt": "q", "tokens": [1], "forced": true, "prefix": "y"}', names=names)


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_outputs(tmp_path / "missing.jsonl", Names())
    (tmp_path / "b.jsonl").write_bytes(b'{"prompt": "\xff", "tokens": [1]}')
    with pytest.raises(InputError, match="line 1"):
        read_outputs(tmp_path / "b.jsonl", Names())
