"""Imports point one way, and modules stay small enough to read.

Reads the source with `ast`, imports nothing; modules named in strings are not seen.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.repository import ROOT, files

FOLDERS = ("profiler", "analyses", "runtime", "kernels")
SHOWING = ("profiler.report", "profiler.commands", "profiler.cli")
DATA = ("profiler.store", "profiler.errors", "profiler.marks")

# (may import, but not), under `stepprof.`; the longest matching prefix rules
RULES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "kernels": (("kernels",), ()),
    "runtime": (("runtime", "kernels", "profiler.marks"), ()),
    "analyses": (("analyses", *DATA), ()),
    "profiler": (("profiler",), SHOWING),
    "profiler.report": (("profiler", "analyses", "__version__"), ("profiler.commands", "profiler.cli")),
    "profiler.commands": (("profiler", "analyses", "__version__"), ("profiler.cli",)),
    "profiler.cli": (("profiler", "analyses", "__version__"), ()),
}

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60

PYTHON = [path for path in files() if path.endswith(".py")]
PACKAGE = [path for path in PYTHON if path.split("/")[0] in FOLDERS]
TREES = {path: ast.parse((ROOT / path).read_text(), path) for path in PYTHON}


def under(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def allowed(module: str, target: str) -> bool:
    """Whether `module` may import `target`, both without the leading `stepprof.`."""
    rule = max((prefix for prefix in RULES if under(module, (prefix,))), key=len)
    may, but_not = RULES[rule]
    return under(target, may) and not under(target, but_not)


def imported(tree: ast.Module) -> Iterator[str]:
    """Full names a module imports, at any depth; a relative import keeps its dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Name and length in lines of every function, methods and nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize(
    ("module", "target", "answer"),
    [
        ("kernels.moe.kernel", "kernels.moe.reference", True),
        ("kernels.moe.kernel", "profiler.marks", False),
        ("runtime.engine", "profiler.marks.mark", True),
        ("runtime.engine", "profiler.store", False),
        ("profiler.store", "analyses.steps", False),
        ("profiler.capture.nsys", "runtime.engine", False),
        ("profiler.ingest.kineto", "profiler.report.html", False),
        ("profiler.report.html", "analyses.steps", True),
        ("profiler.cli", "runtime.engine", False),
        ("analyses.steps", "profiler.store.Store", True),
        ("analyses.steps", "profiler.storehouse", False),
        ("analyses.steps", "profiler.ingest", False),
    ],
)
def test_rules_say_what_the_design_says(module: str, target: str, answer: bool):
    assert allowed(module, target) is answer


def test_imports_point_one_way():
    ours = [
        (path, name.removeprefix("stepprof."))
        for path in PACKAGE
        for name in imported(TREES[path])
        if name.startswith("stepprof.")
    ]
    wrong = [(path, name) for path, name in ours if not allowed(module_of(path), name)]
    assert ours and wrong == []


def test_folders_of_analyses_never_import_each_other_both_ways():
    links: set[tuple[str, str]] = set()
    for path in PACKAGE:
        mine = module_of(path).split(".")
        for name in imported(TREES[path]):
            theirs = name.removeprefix("stepprof.").split(".")
            if mine[0] == theirs[0] == "analyses" and len(mine) > 2 and len(theirs) > 2 and mine[1] != theirs[1]:
                links.add((mine[1], theirs[1]))
    assert ("gates", "compare") in links
    assert [(a, b) for a, b in links if (b, a) in links] == []


def test_imports_are_absolute():
    names = [(path, name) for path in PYTHON for name in imported(TREES[path])]
    bare = [(path, name) for path, name in names if under(name, FOLDERS) or name.startswith(".")]
    assert bare == []


def test_every_module_says_what_it_is():
    assert [path for path in PYTHON if not ast.get_docstring(TREES[path])] == []


def test_files_are_short():
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in PYTHON}
    assert {path: n for path, n in lengths.items() if n > MAX_FILE_LINES} == {}


def test_functions_are_short():
    lengths = {
        f"{path}:{name}": lines
        for path in PYTHON
        if not path.startswith("tests/")
        for name, lines in functions(TREES[path])
    }
    assert {name: n for name, n in lengths.items() if n > MAX_FUNCTION_LINES} == {}
