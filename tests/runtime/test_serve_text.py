"""Text that comes token by token is the text that comes at once, stop strings cut off."""

import pytest

from stepprof.runtime import tokenizer
from stepprof.runtime.serve.text import Text
from stepprof.runtime.serve.ticket import Order, Ticket

TEXTS = [b"plain", "naïve – 東京 🙂 end".encode(), b"broken \xe6\x9d then \xff fine \xf0\x9f"]


def stream(data: bytes, *stops: str) -> tuple[list[str], bool]:
    """Pieces, one a token, and whether a stop string ended them."""
    text, pieces = Text(stops), list[str]()
    for token in data:
        stopped = text.feed(token)
        pieces.append(text.take())
        if stopped:
            return [*pieces, text.finish()[0]], True
    rest, stopped = text.finish()
    return [*pieces, rest], stopped


@pytest.mark.parametrize("data", TEXTS)
def test_pieces_add_up(data: bytes):
    pieces, stopped = stream(data, "not in there", "endless")
    assert "".join(pieces) == tokenizer.decode(list(data)) and not stopped


@pytest.mark.parametrize(
    ("stops", "kept"),
    [(("ab",), "xa"), (("aab",), "x"), (("b", "aab"), "x"), (("c", "zz"), "xaabb"), (("xaab",), "")],
)
def test_stop_strings_are_cut_off_and_never_sent(stops: tuple[str, ...], kept: str):
    pieces, stopped = stream(b"xaabbcc", *stops)
    assert "".join(pieces) == kept and stopped


def test_held_back_text_comes_once_it_cannot_stop():
    assert stream(b"aaz", "aab")[0] == ["", "", "aaz", ""]


def test_an_unfinished_character_may_stop_at_the_end():
    assert stream("a🙂".encode()[:-1], "\ufffd") == (["a", "", "", "", ""], True)


@pytest.mark.parametrize(
    ("order", "used", "finish"),
    [
        (Order([1], 3), [65, 66, 67], "length"),
        (Order([1], 9), [65, 66, 67, tokenizer.END], "stop"),
        (Order([1], 9, ignore_end=True), [65, 66, 67, tokenizer.END, 68], None),
        (Order([1], 9, stops=("BC",)), [65, 66, 67], "stop"),
    ],
    ids=str,
)
def test_an_answer_ends_inside_a_step(order: Order, used: list[int], finish: str | None):
    piece = Ticket(order, 0, print).advance([65, 66, 67, tokenizer.END, 68])
    assert (piece.tokens, piece.finish) == (used, finish)
