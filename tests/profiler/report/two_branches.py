"""A small step with two branches, a second card and hostile names, for tests of what is shown."""

from tests.trace_builder import TraceBuilder

HOSTILE = '<script>alert("x")</script>'
FORMULA = "=cmd|'/c calc'!A1"


def two_branches() -> TraceBuilder:
    """Two steps of 100 ns, 0–100 and 200–300.

    A step, from its start: launch call 2–6; a 10–30, then b 30–50 beside c 30–60, d on card 1 62–70, e 74–90.
    """
    t = TraceBuilder()
    for step in (0, 1):
        at = 200 * step
        t.range(f"step/{step}", at, at + 100)
        g = t.graph_launch(call=(at + 2, at + 6))
        g.kernel("a", at + 10, at + 30, node=1).kernel(HOSTILE, at + 30, at + 50, node=2)
        g.kernel(FORMULA, at + 30, at + 60, node=3).kernel("d", at + 62, at + 70, node=4, device=1)
        g.kernel("e", at + 74, at + 90, node=5)
    return t.edge(1, 2).edge(1, 3).edge(3, 4).edge(2, 5).edge(4, 5)
