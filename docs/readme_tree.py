"""Rewrite README's tree from git and each file's first line: `make tree`.

Python files are described by the first line of their docstring, SQL, TOML, JavaScript and
CSS files by their first comment; the description of any other file stays as it stands in README.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
MARKS = "-#/* "  # around comments
BLOCK = re.compile(r"(^## The tree\n.*?^```\w*\n)(.*?)(^```)", re.DOTALL | re.MULTILINE)


def tracked() -> list[str]:
    """Files of the project, the ones about to be added included."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted({name for name in names if name and os.path.lexists(ROOT / name)})


def described(name: str, before: dict[str, str]) -> str:
    """One line that says what a file is."""
    path = ROOT / name
    if path.is_symlink() or path.suffix not in (".py", ".sql", ".toml", ".js", ".css") or name == "pyproject.toml":
        return before.get(name, "")
    text = path.read_text()
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    first = next((line for line in text.splitlines() if line.strip(MARKS)), "")
    return first.strip(MARKS).rstrip(".").replace("`", "")


def main() -> None:
    """Write the block; a file without a description is left blank, which a test refuses."""
    readme = ROOT / "README.md"
    text = readme.read_text()
    found = BLOCK.search(text)
    assert found, "README.md has no fenced block under '## The tree'"
    before = dict(line.split(maxsplit=1) for line in found[2].splitlines() if len(line.split(maxsplit=1)) == 2)
    names = tracked()
    width = max(map(len, names))
    lines = [f"{name:{width}}  {described(name, before)}".rstrip() for name in names]
    readme.write_text(text[: found.start(2)] + "\n".join(lines) + "\n" + text[found.start(3) :])


if __name__ == "__main__":
    main()
