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
    r"|(?<![a-z])(?:o?auth|o?auth(?:oriz|oris|entic)ation|cookies?)(?![a-z]))"
    r"|[A-Z0-9]_KEY(?!\w)"
)
NOT_SECRET = re.compile(
    rf"(?i)(?<![a-z])(?:{COUNTED})[-_]?(?:(?:batched|new)[-_]?)?tokens?(?![a-z])"
    r"|tokens?[-_]?(?:per|ids?|limit|budget|count|len|length|rate|type)(?![a-z])|tokeni[sz]\w*"
)
# what a name like these counts: token=17, --tokens 128, tokens=[4, 8]
COUNT_NAME = re.compile(r"(?i)[\"']?(?:tokens?|[-\w.]*tokens)[\"']?")
COUNT = re.compile(r"[\[(]?-?\d{1,5}(?:\.\d+)?(?:[,x ]+-?\d{1,5}(?:\.\d+)?)*[\])]?")

SECRET_START = re.compile(r"sk-|hf_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|A[KS]IA|eyJ[\w-]{10,}\.|Bearer\s")
# the same inside a text, where hf_forward is a name
TOKEN = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-[\w-]{8,} | hf_(?:(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,}|[a-z]{12,})(?!\w) | gh[pousr]_\w{8,} | github_pat_\w{6,}
        | glpat-[\w-]{8,} | xox[a-z]-[\w-]{6,} | A[KS]IA[A-Z0-9]{12,} | eyJ[\w-]{10,}\.[\w.-]*
    ) | (?<!\w)Bearer\s+[^\s"',;]{3,} | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----.*""",
    re.DOTALL | re.VERBOSE,
)
URL_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")

NAMED = re.compile(r"""(?P<name>(?:\\?["'])?(?<![\w:.])[-\w.]*\w(?:\\?["'])?)\s*(?:=(?!=)|:(?!:|//))\s*""")
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
    """Whether this value under this name is one; a number of tokens is none."""
    return secret_name(name) and not (COUNT_NAME.fullmatch(name) and COUNT.fullmatch(value))


def without_secrets(text: str, mask: str) -> str:
    """A text in which secrets are masked."""
    if SECRET_NAME.search(text):
        text = _hidden(OPTION, _hidden(NAMED, text, mask), mask)
    return URL_LOGIN.sub(f"{mask}@", TOKEN.sub(mask, text))


def _hidden(pattern: re.Pattern[str], text: str, mask: str) -> str:
    """The values after secret names masked."""
    parts, at = list[str](), 0
    while found := pattern.search(text, at):
        name = found["name"]
        value = VALUE.match(text, found.end()) if secret_name(name) else None
        parts.append(text[at : found.end()])
        at = found.end()
        if value is not None and secret_pair(name, value[0].strip("\\\"'")):
            quote = QUOTE.match(value[0]) or (QUOTE.match(name) if name[-1] in "\"'" else None)
            parts.append(f"{quote[0]}{mask}{quote[0]}" if quote else mask)
            at = value.end()
    return "".join([*parts, text[at:]])
