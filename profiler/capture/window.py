"""Which part of a run is recorded: all of it, some steps, some ranges, or some time.

Ranges and graph nodes are recorded outside the window too, since labels need those made at capture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepprof.profiler.errors import UsageError
from stepprof.profiler.store import Store

# in the collector's expressions, which are those of ECMAScript; the grammars of analyses/rules/markers.toml
ANY_STEP = (
    r"^(step(?:[ _#:/]?\d+)?|decode_step(?:[ _#/:]?\d+)?|execute_.*|step\[[A-Z_]+\b.*\]|ProfilerStep#\d+|token_\d+.*)$"
)


@dataclass(frozen=True)
class Window:
    """At most one of steps, range_ and a time."""

    steps: str | None = None
    range_: str | None = None
    delay_s: float = 0
    duration_s: float = 0
    marker: str | None = None

    def __post_init__(self) -> None:
        if sum([self.steps is not None, self.range_ is not None, self.delay_s > 0 or self.duration_s > 0]) > 1:
            raise UsageError("--steps, --range and --delay/--duration exclude each other: give one of them.")
        if self.delay_s < 0 or self.duration_s < 0:
            raise UsageError("--delay and --duration are seconds and cannot be negative.")
        if self.steps is not None:
            self._check_steps(self.steps)
        for option, text in (("--range", self.range_), ("--marker", self.marker)):
            self._check_expression(option, text)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that tell the collector."""
        if self.steps is not None:
            return {"STEPPROF_RANGE": self.marker or ANY_STEP, "STEPPROF_STEPS": self.steps}
        if self.range_ is not None:
            return {"STEPPROF_RANGE": self.range_}
        times = {"STEPPROF_DELAY_MS": self.delay_s, "STEPPROF_DURATION_MS": self.duration_s}
        return {name: str(round(seconds * 1000)) for name, seconds in times.items() if seconds > 0}

    @property
    def words(self) -> str:
        """The window for the manifest."""
        times = " ".join(f"{name} {s} s" for name, s in (("delay", self.delay_s), ("duration", self.duration_s)) if s)
        if self.steps is not None:
            return f"steps {self.steps}"
        return f"range {self.range_}" if self.range_ is not None else times or "all"

    @staticmethod
    def _check_steps(steps: str) -> None:
        match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", steps)
        if not match or int(match[1]) >= int(match[2]):
            raise UsageError(f"--steps {steps} is not A:B with A < B, for example --steps 10:60.")

    @staticmethod
    def _check_expression(option: str, text: str | None) -> None:
        try:
            re.compile(text or "")
        except re.error as fault:
            raise UsageError(f"{option} {text!r} is not a regular expression ({fault}): correct it.") from None


def keep_ranges(store: Store, pattern: str) -> None:
    """Leave out ops that were launched outside of the ranges that match.

    The collector records from the first match on: CUPTI confuses launches in its second session.
    """
    store.con.execute(
        """
        CREATE TEMP TABLE _kept AS
        SELECT DISTINCT a.process, a.correlation FROM api a
        JOIN range r ON r.process = a.process AND r.thread = a.thread AND a.start_ns BETWEEN r.start_ns AND r.end_ns
        JOIN name n ON n.name_id = r.name_id
        WHERE regexp_matches(n.text, ?) AND a.correlation IS NOT NULL
        """,
        [pattern],
    )
    store.con.execute(
        "DELETE FROM op WHERE op_id NOT IN (SELECT op_id FROM op SEMI JOIN _kept USING (process, correlation))"
    )
    store.con.execute("DROP TABLE _kept")
