"""Folders, users, machines and addresses in a text.

    without_places("alice@box:/home/alice/a.py: f")     # "<login>:<path>/a.py: f"
    names_in("/home/alice/x and tcp://node12:1")        # {"alice", "node12"}

Names of kernels and ranges come through unchanged: colons of C++ are no address, step/3 is no path.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable

Match = re.Match[str]
Instead = str | Callable[[Match], str]

PART = r"""[^\s/\\"'`<>|:;,()\[\]{}]+"""
SLASH = r"[/\\]+"
# the name of a file may stay, that of a folder not
FILE = re.compile(
    r"\.(?:py[xic]?|ipynb|so|[ch](?:c|pp|xx)?|cuh?|hip|jsonl?|toml|ya?ml|cfg|ini|txt|md|csv|tsv|log|sh|bin|pth?|safetensors"
    r"|onnx|engine|plan|sqlite|duckdb|parquet|nsys-rep|qdstrm|steprec|np[yz]|gz|zip|tar|whl|exe|dll|ptx|cubin)(?:\.\d+)*$"
)
HOMES = {"home", "users", "u"}
ROOT = re.compile(
    r"(?i)home|users?|u|root|data|datasets|mnt|tmp|var|usr|opt|scratch|nfs|net|work|workspaces?|srv|media|private|etc|run|proc|dev"
    r"|sys|lib|gpfs|lustre|efs|fsx|shared?|projects?|export|storage|local|cluster|volumes?|vol|raid|ssd|nvme|disk|app|code|src|repos?"
    r"|models|checkpoints|cache|content|kaggle|fs|ceph|beegfs"
)
LAYER = re.compile(r"[A-Za-z]\w*(?:\.\d+)+")  # /blocks.1/blocks.1.20/Sigmoid is a node of a model, as TensorRT names it
# a home may be called John Smith
HOME = re.compile(rf"(?<![/\\]){SLASH}(?:home|Users){SLASH}(?P<user>[\w.@+-]+(?:\ [A-Z][\w.@+-]*)*)(?:{SLASH}{PART})*")
PATH = re.compile(
    rf"""(?<![\w>)*&/\\])(?:~(?P<user>[\w.-]*)(?:\\?/+(?:{PART})?)+ | [A-Za-z]:(?:[/\\]+{PART})+
        | (?:\\?/+{PART}){{2,}} | \\\\{PART}(?:\\+{PART})+)""",
    re.VERBOSE,
)
URL = re.compile(r"""(?<![\w+.-])(?P<scheme>[A-Za-z][\w+.-]*)://(?:<secret>@)?[^\s"'`<>)\]]+""")
LOGIN = re.compile(r"(?<![\w.+-])[\w.+-]+@(?!plt\b|GLIBC|\d)[A-Za-z][\w-]*(?P<domain>(?:\.[\w-]+)*)(?![\w@])")
# what surely names a user or a machine: me@box:/x, tcp://box:29500
NAMING = re.compile(
    r"(?<![\w.+-])(?P<user>[\w.+-]+)@(?P<host>[\w-]+)[\w.-]*(?=:[/~])|://(?P<machine>[\w-]+)[\w.-]*(?=:\d)"
)
UUID = re.compile(r"(?<![0-9a-zA-Z])(?:GPU-|MIG-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-zA-Z])")
MAC = re.compile(r"(?<![\w:-])[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2}){5}|(?:-[0-9a-fA-F]{2}){5})(?![\w:-])")
BUS = re.compile(r"(?<![\w:])[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7](?!\w)")
IP4 = re.compile(r"(?<![\d.vV])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?!\.?\d)|(?<!\w)ip(?:-\d{1,3}){4}(?!\d)")
IP6 = re.compile(r"(?<![\w:.])[0-9a-fA-F:]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%\w+)?(?![\w:])")
KNOWN_IP6 = re.compile(r"(?i)(?:[23][0-9a-f]{3}|f[cdef][0-9a-f]{2}):|::ffff:|::1$")
HOST = re.compile(r"(?<![\w.@-])(?:\w(?:[\w-]*\w)?\.)+[A-Za-z]{2,12}(?::\d+)?(?![\w.(<-])")
MACHINE = re.compile(r"com|org|edu|gov|lan|corp|localdomain|intranet")
MAYBE = re.compile(
    r"net|io|ai|dev|cloud|internal|local|home|cluster|intra|de|uk|fr|ch|at|eu|us|ca|jp|cn|kr|se|nl|fi|dk|pl"
)
# the first label of a machine's whole name tells it alone too, unless a kernel or a layer could be called so
ALONE = re.compile(r"(?=.*[\d-])[A-Za-z][\w-]{3,}")
NAMES_A_PART = re.compile(
    r"(?i)(?:layers?|blocks?|steps?|stages?|experts?|ranks?|heads?|convs?|linear|attn|mlp|proj|norm|gemm|kernel|stream|device"
    r"|cuda|torch|python|triton|nccl|float|bfloat|half|int|tile|warp|group|batch|token|mode|net|model|version|run|test)[-_]?\d*|gpu\d?"
)
SAID = re.compile(
    r"""(?P<name>(?<![A-Za-z])(?i:(?:host|user)(?=\s*=)|(?:host|node|user|log)_?name(?=["']?\s*(?:=|:(?!:)))))
        (?P<between>["']?\s*[=:]\s*["']?)(?!(?:\d+|cpu|gpu|cuda|device|none|null|true|false)\b|<)[\w.-]+""",
    re.VERBOSE,
)
NO_NAME = re.compile(
    r"(?i)[\d.]*|root|users?|ubuntu|admin|runner|python3?|nvidia|localhost|git|worker|node|tests?|work|models?|data|app|home|shared"
    r"|jovyan|vscode|nobody|www|github|huggingface|step|decode|prefill"
)


def without_places(text: str) -> str:
    """A text without folders, users, machines, addresses and ids."""
    for pattern, instead in PLACES:
        text = pattern.sub(instead, text)
    return text


def names_in(text: str) -> set[str]:
    """Users and machines that paths and addresses of a text surely name, and the first label of a machine's whole name."""
    found = [match.groupdict() for pattern in (HOME, PATH, NAMING) for match in pattern.finditer(text)]
    names = {name for groups in found for name in groups.values() if name and telling(name)}
    return names | {label for match in HOST.finditer(text) if (label := _label(match))}


def telling(name: str) -> bool:
    """Whether a name is more than a word that any machine has."""
    return len(name) > 2 and not NO_NAME.fullmatch(name)


def without_names(names: Iterable[str]) -> Callable[[str], str]:
    """A function that takes these names out of a text, wherever they are whole words."""
    words = sorted({re.escape(name) for name in names}, key=len, reverse=True)
    if not words:
        return lambda text: text
    pattern = re.compile(rf"(?i)(?<![a-z0-9])(?:{'|'.join(words)})(?![a-z0-9])")
    return lambda text: pattern.sub("<name>", text)


def _path(found: Match) -> str:
    """A path as <path>, with the name of its file; nodes of a model are none."""
    parts = [part for part in re.split(r"[/\\]+", found[0]) if part]
    folders = [part.lower() for part in parts[:-1]]
    known = not folders or ROOT.fullmatch(folders[0]) or found[0][0] in "~\\" or found[0][1:2] == ":"
    if not known and any(LAYER.fullmatch(part) for part in parts):
        return found[0]
    home = bool(folders) and folders[-1] in HOMES
    kept = not home and not found[0].endswith(("/", "\\")) and (FILE.search(parts[-1]) or not known)
    return f"<path>/{parts[-1]}" if kept else "<path>"


def _ip4(found: Match) -> str:
    numbers = re.findall(r"\d+", found[0])[:4]
    return "<address>" if all(int(number) < 256 for number in numbers) else found[0]


def _ip6(found: Match) -> str:
    """Hexadecimal words with two colons between are C++, unless they are an address of a known kind."""
    try:
        ipaddress.IPv6Address(found[0].partition("%")[0])
    except ValueError:
        return found[0]
    whole = found[0].count(":") == 7 and "::" not in found[0]
    return "<address>" if whole or KNOWN_IP6.match(found[0]) else found[0]


def _host(found: Match) -> str:
    """A name with a domain; one that Python could use as well only where a part tells that it is a machine."""
    labels = found[0].partition(":")[0].lower().split(".")
    told = "-" in found[0] or labels[0][-1].isdigit()
    return "<host>" if MACHINE.fullmatch(labels[-1]) or (told and MAYBE.fullmatch(labels[-1])) else found[0]


def _label(found: Match) -> str | None:
    """The first label of a host, where it is more than a word and the rest tells for sure that it is one."""
    first, *rest = found[0].partition(":")[0].split(".")
    sure = _host(found) == "<host>" and (len(rest) > 1 or MACHINE.fullmatch(rest[-1].lower()))
    return first if sure and ALONE.fullmatch(first) and not NAMES_A_PART.fullmatch(first) and telling(first) else None


PLACES: tuple[tuple[re.Pattern[str], Instead], ...] = (
    (URL, lambda found: "<path>" if found["scheme"] == "file" else f"{found['scheme']}://<address>"),
    (LOGIN, lambda found: "<email>" if found["domain"] else "<login>"),
    (HOME, _path),
    (PATH, _path),
    (UUID, "<uuid>"),
    (MAC, "<address>"),
    (BUS, "<bus>"),
    (IP6, _ip6),
    (IP4, _ip4),
    (HOST, _host),
    (SAID, lambda found: f"{found['name']}{found['between']}<name>"),
)
