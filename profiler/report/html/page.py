"""The report as one HTML file: template, style, scripts, Plotly and the figures, all inside."""

from __future__ import annotations

import base64
import gzip
import html
import json
from pathlib import Path
from typing import Any

from stepprof.profiler.report.whole_file import whole_file

FOLDER = Path(__file__).parent
SCRIPTS = (
    "base.js", "where.js", "timeline.js", "tables.js", "sidecar.js", "bench.js", "whatif.js", "comparison.js", "limits.js",
    "main.js",
)  # fmt: skip


def write_report(path: Path, data: dict[str, Any]) -> None:
    """Write the page whole or not at all; InputError where it cannot be written."""
    with whole_file(path) as file:
        file.write(page(data).encode())


def page(data: dict[str, Any]) -> str:
    """The page; figures and Plotly are packed, so that no text of a trace is ever markup."""
    from plotly.offline import get_plotlyjs  # a third of a second that no other command should wait for

    figures = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    parts = {
        "@TITLE@": html.escape(f"{data['source']}: where the step goes"),
        "@STYLE@": (FOLDER / "style.css").read_text(),
        "@SCRIPT@": "\n".join((FOLDER / name).read_text() for name in SCRIPTS),
        "@DATA@": _packed(figures),
        "@PLOTLY@": _packed(get_plotlyjs().encode()),
    }
    text = (FOLDER / "page.html").read_text()
    head, *rest = text.split("@")  # each part is put in once, so that none is read as a template
    made = [head]
    for piece in rest:
        made.append(parts.get(f"@{piece}@", piece))
    return "".join(made)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
