"""Secrets in a text: values that stand under a secret's name, and values that look like one.

    without_secrets("curl -H 'X-Api-Key: 1234'", "***")     # "curl -H 'X-Api-Key: ***'"

The manifest of a capture and `stepprof scrub` share these patterns.
"""

from __future__ import annotations

import re

KEY_OF = "api|access|account|auth|client|deploy|encryption|license|private|secret|signing|ssh"
COUNTED = (
    "max|min|num|n|new|batch|block|total|prompt|input|output|draft|cached|per|bos|eos|pad|stop|mask|unk|sep|special"
)
SECRET_NAME = re.compile(
    rf"(?i:(?:{KEY_OF})[-_. ]?keys?|token|secret|passw(?:or)?d|passphrase|pwd|credential|bearer"
    r"|(?<![a-z])(?:o?auth|o?auth(?:oriz|oris|entic)ation|cookies?)(?![a-z])"
    r"|(?<![a-z])pass(?![-\w.])|(?<![\w.])pw(?![-\w.]))"
    r"|[A-Z0-9]_KEY(?!\w)"
)
NOT_SECRET = re.compile(
    rf"(?i)(?<![a-z])(?:{COUNTED})[-_]?(?:(?:batched|new)[-_]?)?tokens?(?![a-z])"
    r"|tokens?[-_]?(?:per|ids?|limit|budget|count|len|length|rate|type)(?![a-z])|tokeni[sz]\w*"
    r"|(?<![a-z])(?:forward|backward|first|second|last|next|one|two|single|multi|num|max|n|compiler|fx|grad)[-_ ]?pass(?![a-z])"
)
# what a name like these counts: token=17, --tokens 128, tokens=[4, 8]
COUNT_NAME = re.compile(r"(?i)[\"']?(?:tokens?|[-\w.]*tokens)[\"']?")
COUNT = re.compile(r"[\[(]?-?\d{1,5}(?:\.\d+)?(?:[,x ]+-?\d{1,5}(?:\.\d+)?)*[\])]?")
PASS_NAME, PASS_NUMBER = re.compile(r"(?i)[\"']?-{0,2}pass[\"']?"), re.compile(r"\d{1,3}(?:/\d{1,3})?")
# what takes login:password, as curl does; two numbers are a user and a group
LOGIN_NAME = re.compile(r"(?i)(?<![\w.-])[\"']?(?:-u|(?:--)?(?:proxy[-_])?user)[\"']?(?![\w.-])")
LOGIN = re.compile(r"(?!\d+:\d+$|\w+://)[^:\s]+:[^:\s][^\s]*")

SECRET_START = re.compile(
    r"sk-|hf_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|A[KS]IA|eyJ[\w-]{10,}\.|Bearer\s"
    r"|nvapi-|AIza|ya29\.|(?:gsk|npm)_[A-Za-z0-9]{16}|xai-[\w-]{16}"
)
# the same inside a text, where hf_forward is a name
TOKEN = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-[\w-]{8,} | hf_(?:(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,}|[a-z]{12,})(?!\w) | gh[pousr]_\w{8,} | github_pat_\w{6,}
        | nvapi-[\w-]{8,} | AIza[\w-]{16,} | ya29\.[\w-]{8,} | (?:gsk|npm)_[A-Za-z0-9]{16,}(?!\w) | xai-[\w-]{16,}
        | glpat-[\w-]{8,} | xox[a-z]-[\w-]{6,} | A[KS]IA[A-Z0-9]{12,} | eyJ[\w-]{10,}\.[\w.-]*
    ) | (?<!\w)Bearer\s+[^\s"',;]{3,} | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----.*""",
    re.DOTALL | re.VERBOSE,
)
URL_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")

NAMED = re.compile(r"""(?P<name>(?:\\?["'])?(?<![\w:.])[-\w.]{0,200}\w(?:\\?["'])?)\]?\s*(?:=(?!=)|:(?!:|//))\s*""")
OPTION = re.compile(r"(?<![\w-])(?P<name>--?[A-Za-z][\w.-]*)\s+(?!--[a-z])")
# what follows: quoted with \" or " or ', a list, an object, or up to the next space or mark
VALUE = re.compile(
    r"""(?:(?:Bearer|Basic|Digest|Token)\s+)?(?:
        \\"(?:(?!\\").){0,4000}\\" | "(?:[^"\\]|\\.){0,4000}" | '(?:[^'\\]|\\.){0,4000}'
        | \[[^\]]{0,4000}\] | \{[^}]{0,4000}\} | (?:[^\s"',;&)}\]]|,(?=[^\s"']))+
    )""",
    re.VERBOSE,
)
QUOTE = re.compile(r"""\\?["']""")


def secret_name(name: str) -> bool:
    """Whether what stands under this name is a secret."""
    return bool(SECRET_NAME.search(NOT_SECRET.sub("", name)))


def secret_pair(name: str, value: str) -> bool:
    """Whether this value under this name is one; a number of tokens is none, nor that of a pass."""
    if LOGIN_NAME.fullmatch(name):
        return LOGIN.fullmatch(value) is not None
    numbers = ((COUNT_NAME, COUNT), (PASS_NAME, PASS_NUMBER))
    return secret_name(name) and not any(named.fullmatch(name) and number.fullmatch(value) for named, number in numbers)


def without_secrets(text: str, mask: str) -> str:
    """A text in which secrets are masked."""
    if SECRET_NAME.search(text) or LOGIN_NAME.search(text):
        text = _hidden(OPTION, _hidden(NAMED, text, mask), mask)
    return URL_LOGIN.sub(f"{mask}@", TOKEN.sub(mask, text))


def _hidden(pattern: re.Pattern[str], text: str, mask: str) -> str:
    """The values after secret names masked."""
    parts, at = list[str](), 0
    while found := pattern.search(text, at):
        name = found["name"]
        value = VALUE.match(text, found.end()) if secret_name(name) or LOGIN_NAME.fullmatch(name) else None
        parts.append(text[at : found.end()])
        at = found.end()
        if value is not None and secret_pair(name, value[0].strip("\\\"'")):
            quote = QUOTE.match(value[0]) or (QUOTE.match(name) if name[-1] in "\"'" else None)
            parts.append(f"{quote[0]}{mask}{quote[0]}" if quote else mask)
            at = value.end()
    return "".join([*parts, text[at:]])
