"""Which ranges a trace has, numbers folded: what a refusal offers where a marker matches none.

offered(store, "^setp")      # "did you mean step/* (of step/*, verify, draft/*)?"
"""

from __future__ import annotations

from difflib import get_close_matches

from stepprof.profiler.store import Store

SHOWN = 6
NAMES = """
SELECT regexp_replace(left(text, 200), '[0-9]+', '*', 'g') AS family, count(*) AS ranges
FROM range JOIN name USING (name_id) GROUP BY family ORDER BY ranges, family LIMIT 1000
"""


def offered(store: Store, marker: str | None = None) -> str:
    """The rarest families of range names first, since a step holds many ranges; the nearest to `marker` where one is."""
    families = [str(name) for name, _ in store.rows(NAMES)]
    if not families:
        return "the trace has no ranges"
    short = [name if len(name) <= 40 else f"{name[:39]}…" for name in families[:SHOWN]]
    held = ", ".join(short) + (f" and {len(families) - SHOWN} more" if len(families) > SHOWN else "")
    near = get_close_matches((marker or "").strip("^$\\d+*()"), families, n=1, cutoff=0.5) if marker else []
    return f"did you mean {near[0][:40]}? The trace has {held}" if near else f"the trace has {held}"
