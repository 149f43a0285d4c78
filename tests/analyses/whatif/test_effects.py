"""Steps and tokens/s after a change; the posts' table."""

import pytest

from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.whatif.effects import Base, effect, table, targets, today_rate
from tests.golden_figures import golden

POSTS = Base(11.0, None, Figure(5.27, "quoted"))
GOLDEN = {row.id: row for row in golden()}


@pytest.mark.parametrize("name", ["tps_9.0", "tps_8.0", "tps_7.5", "tps_11.0"])
def test_the_posts_table(name: str):
    row = GOLDEN[name]
    line = table(POSTS, [float(name.removeprefix("tps_"))])[0]
    assert line.tokens_per_s == pytest.approx(row.computed, abs=0.001)
    assert abs(line.tokens_per_s - row.expected) <= row.tolerance
    assert line.kind == "modelled"


@pytest.mark.parametrize(
    ("name", "change"), [("proj_tps_hi", -1.2 - 1.5), ("proj_tps_lo", -1.2 - 1.0), ("tps_if_sidecar_fixed", -1.2)]
)
def test_the_posts_projections(name: str, change: float):
    found = effect(POSTS, Figure(change, "modelled"))
    assert found.tokens_per_s is not None and found.tokens_per_s.value == pytest.approx(
        GOLDEN[name].computed, abs=0.001
    )


def test_the_step_that_a_rate_takes():
    assert targets(POSTS, [703])[0].step_ms == pytest.approx(GOLDEN["need_703"].computed, abs=1e-5)
    assert targets(POSTS, [476])[0].step_ms == pytest.approx(GOLDEN["step_from_476"].computed, abs=1e-4)


def test_bounds():
    found = effect(Base(9.0, 10.0, Figure(5, "measured")), Figure(-1, "modelled", -2, 0))
    assert found.step_ms == Figure(8, "modelled", 7, 9)
    assert found.tokens_per_s == Figure(5000 / 9, "modelled", 500, 625)
    # kept tokens of more drafts are bounds alone
    more = effect(
        Base(9.0, 10.0, Figure(5, "measured")), Figure(1, "modelled", 0, 2), kept=Figure(None, "modelled", 6, 7)
    )
    assert more.tokens_per_s == Figure(None, "modelled", 500, 700)
    assert today_rate(Base(9.0, 10.0, Figure(5, "measured"))) == Figure(500, "measured")


def test_without_kept_tokens_there_is_no_rate():
    base = Base(9.0, None, None)
    assert (effect(base, Figure(-1, "modelled")).tokens_per_s, today_rate(base)) == (None, None)
    assert (table(base, [9]), targets(base, [700])) == ((), ())
    # nor with a step that nothing is left of
    gone = effect(Base(1.0, None, Figure(5, "quoted")), Figure(-1, "modelled", -1.5, -0.5))
    assert gone.tokens_per_s == Figure(None, "modelled", 10_000, None)
