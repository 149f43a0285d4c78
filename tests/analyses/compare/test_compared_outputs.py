"""Candidate against controls: flips, first divergences, and the posts' 2.176 % against 2.121 %."""

import json
from pathlib import Path

import numpy as np
import pytest

from stepprof.analyses.compare.compared_outputs import compared_outputs
from stepprof.profiler.errors import InputError


def write(path: Path, forced: bool = True, **prompts: list) -> Path:
    lines = [{"prompt": p, "tokens": tokens} | ({"forced": True} if forced else {}) for p, tokens in prompts.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_flips_are_counted_at_every_position(tmp_path):
    a = write(tmp_path / "a", p=[1, 2, 3, 4], q=[1, 2])
    b = write(tmp_path / "b", p=[1, 9, 3, 9], q=[1, 2, 5])
    c = write(tmp_path / "c", p=[1, 2, 3, 9], q=[1, 2])
    result = compared_outputs(a, b, [c])
    ab = result.candidate
    assert (ab.flips, ab.positions, ab.prompts, ab.differing_prompts, ab.first_divergence_p50) == (2, 6, 2, 1, 1)
    assert (result.controls[0].flips, result.controls[0].positions) == (1, 6)
    assert [(d.prompt, d.position, d.a, d.b) for d in result.divergences] == [("p", 1, 2, 9)]
    assert result.test is not None and (result.test.share, result.test.control) == (2 / 6, 1 / 6)
    assert {w["code"]: w["count"] for w in result.warnings} == {"few_prompts": 2, "uncompared": 1}


def test_free_outputs_end_at_the_first_divergence(tmp_path):
    a = write(tmp_path / "a", False, p=["x", "y", "z", "z"], q=["x"])
    b = write(tmp_path / "b", False, p=["x", "w", "z", "w"], q=["x"])
    result = compared_outputs(a, b)
    pair = result.candidate
    assert (pair.flips, pair.positions) == (1, 3)  # two of p, one of q
    assert [(d.position, d.a, d.b) for d in result.divergences] == [(1, "y", "w")]
    assert [w["code"] for w in result.warnings] == ["no_controls", "free_outputs"]
    assert result.test is None and result.regression is None


def outputs_with(path: Path, flips: np.ndarray) -> Path:
    """100 prompts of 1,000 positions; token 1 where nothing flips, 2 at the first `flips` positions of each."""
    return write(path, True, **{f"p{i}": [2] * int(n) + [1] * (1000 - int(n)) for i, n in enumerate(flips)})


def spread(total: int) -> np.ndarray:
    """The total over 100 prompts, from few flips to many."""
    weight = np.linspace(0.2, 1.8, 100)
    counts = np.floor(weight * total / 100).astype(int)
    counts[: total - counts.sum()] += 1
    assert counts.sum() == total
    return counts


def posts(tmp_path: Path, candidate: np.ndarray) -> list[Path]:
    """A control, a candidate and a second control that flips 2,121 of 100,000 against the first."""
    return [
        outputs_with(tmp_path / "a", np.zeros(100)),
        outputs_with(tmp_path / "b", candidate),
        outputs_with(tmp_path / "c", spread(2121)[::-1]),
    ]


def test_the_posts_see_no_regression(tmp_path):
    a, b, c = posts(tmp_path, spread(2176))
    result = compared_outputs(a, b, [c])
    assert f"{100 * result.candidate.rate:.3f}" == "2.176"
    assert f"{100 * result.controls[0].rate:.3f}" == "2.121"
    assert result.regression is False and result.test is not None
    assert result.test.low < 0 < result.test.excess == pytest.approx(0.00055)


def test_twice_the_flips_are_a_regression(tmp_path):
    a, b, c = posts(tmp_path, spread(4400))
    result = compared_outputs(a, b, [c])
    assert result.regression is True and result.test is not None and result.test.low > 0


def test_more_controls_are_one_floor(tmp_path):
    a, b, c = posts(tmp_path, spread(2176))
    d = outputs_with(tmp_path / "d", spread(2321))
    result = compared_outputs(a, b, [c, d])
    assert result.test is not None and result.test.control == pytest.approx(0.02221)


def test_one_prompt_cannot_tell(tmp_path):
    files = [write(tmp_path / name, p=[token]) for name, token in (("a", 1), ("b", 2), ("c", 1))]
    result = compared_outputs(files[0], files[1], files[2:])
    assert result.test is None and [w["code"] for w in result.warnings] == ["one_prompt"]


def test_files_that_do_not_fit(tmp_path):
    a, free, other = write(tmp_path / "a", p=[1]), write(tmp_path / "f", False, p=[1]), write(tmp_path / "o", r=[1])
    with pytest.raises(InputError, match=r"holds teacher-forced outputs and .* free ones"):
        compared_outputs(a, free)
    with pytest.raises(InputError, match="share no position"):
        compared_outputs(a, other)
