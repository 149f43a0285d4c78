"""Figures from answers whose times can be added up."""

from stepprof.profiler.load.figures import cell, prefill
from stepprof.profiler.load.result import Spread
from stepprof.profiler.load.stream import Answer


def answer(sent: float, first: float, last: float, pieces: int, tokens: int | None = None, **more) -> Answer:
    return Answer(sent, first, last, last, pieces, completion_tokens=tokens, finished=True, **more)


def failed(kind: str) -> Answer:
    made = Answer(end=99.0)
    made.fail(kind, "so")
    return made


def test_a_cell():
    two = [answer(0, 1, 5, 5, 10), answer(1, 3, 8, 6, 12)]
    found = cell("code", 2, two)
    assert (found.tokens, found.counted, found.wall_s, found.tokens_per_s) == (22, "usage", 8, 22 / 8)
    assert found.stream_tokens_per_s == (8 + 10) / (4 + 5)  # Σ ÷ Σ, each without its first piece
    assert found.stream_spread == Spread(2, 2, 2, 2)
    assert found.first_token_ms is not None and (found.first_token_ms.min, found.first_token_ms.max) == (1000, 2000)


def test_pieces_are_counted_where_one_answer_has_no_usage():
    found = cell("code", 1, [answer(0, 1, 5, 5, 10), answer(0, 1, 5, 5)])
    assert (found.tokens, found.counted) == (10, "pieces")


def test_errors_are_counted_and_in_no_figure():
    found = cell("code", 3, [answer(0, 1, 5, 5, 10), failed("dropped"), failed("dropped"), failed("timeout")])
    assert (found.requests, found.errors, found.first_error) == (4, {"dropped": 2, "timeout": 1}, "dropped: so")
    assert found.tokens == 10
    none = cell("code", 1, [failed("http")])
    assert (none.tokens_per_s, none.stream_spread, none.first_token_ms, none.counted) == (None, None, None, None)


def test_one_piece_has_no_rate_of_a_stream():
    assert cell("code", 1, [answer(0, 1, 1, 1, 4)]).stream_tokens_per_s is None


def test_prefill_is_tokens_over_time_to_the_first():
    found = prefill(100, [answer(0, 2, 2, 1, 1, prompt_tokens=90), answer(0, 1, 1, 1, 1, prompt_tokens=120)])
    assert (found.prompt_tokens, found.tokens_per_s) == (105, 70)
    assert prefill(100, [answer(0, 2, 2, 1, 1)]).tokens_per_s is None
