"""The checkout as the house tests see it: its root and the files git knows or would add.

New files count before they are committed, ignored files never do. Call `files()`.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def files() -> list[str]:
    """Paths of tracked and addable files below the root, sorted; deleted ones are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = {path for path in listed.split("\0") if path}
    return sorted(path for path in paths if (ROOT / path).exists())
