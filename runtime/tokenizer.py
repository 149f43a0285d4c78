"""Byte-level tokens: token n < 256 is the byte n; then begin and end of a text."""

BEGIN, END = 256, 257
SIZE = 258  # tokens with a meaning; a larger vocabulary has more, which say nothing


def encode(text: str) -> list[int]:
    """Begin, then the bytes of the text in UTF-8."""
    return [BEGIN, *text.encode()]


def decode(tokens: list[int]) -> str:
    """The text of the bytes among the tokens; broken UTF-8 becomes the replacement character."""
    return bytes(t for t in tokens if t < 256).decode(errors="replace")
