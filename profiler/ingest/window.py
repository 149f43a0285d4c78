"""Which part of a run is recorded: all of it, some steps, some ranges, or some time.

    window.save(folder)                       # beside the records, before the program starts
    keep_window(store, window_of(folder), recorded=True)

Ranges and graph nodes are recorded outside the window too, since labels need those made at capture.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.store import Store

# in the collector's expressions, which are those of ECMAScript; the grammars of analyses/rules/markers.toml
ANY_STEP = (
    r"^(step(?:[ _#:/]?\d+)?|decode_step(?:[ _#/:]?\d+)?|execute_.*|step\[[A-Z_]+\b.*\]|ProfilerStep#\d+|token_\d+.*)$"
)
FILE = "window.json"
# what std::regex (the collector), RE2 (the import) and re do not all know or read alike
UNLIKE = re.compile(r"\(\?(?!:)|\\(?![dDwWsSbBtnr])[A-Za-z0-9]")
MOST_SECONDS = 1_000_000
CHOSEN = "CREATE TEMP TABLE _chosen AS FROM _matching WHERE "


@dataclass(frozen=True)
class Window:
    """At most one of steps, range_ and a time."""

    steps: str | None = None
    range_: str | None = None
    delay_s: float = 0
    duration_s: float = 0
    marker: str | None = None

    def __post_init__(self) -> None:
        self._check_seconds("--delay", self.delay_s)
        self._check_seconds("--duration", self.duration_s)
        if sum([self.steps is not None, self.range_ is not None, self.delay_s > 0 or self.duration_s > 0]) > 1:
            raise UsageError("--steps, --range and --delay/--duration exclude each other: give one of them.")
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
        return {name: str(max(1, round(seconds * 1000))) for name, seconds in times.items() if seconds > 0}

    @property
    def numbers(self) -> tuple[int, int]:
        """First and last of --steps, the last one excluded."""
        assert self.steps is not None, "no steps"
        first, last = self.steps.split(":")
        return int(first), int(last)

    @property
    def words(self) -> str:
        """The window for the manifest."""
        times = " ".join(f"{name} {s} s" for name, s in (("delay", self.delay_s), ("duration", self.duration_s)) if s)
        if self.steps is not None:
            return f"steps {self.steps}"
        return f"range {self.range_}" if self.range_ is not None else times or "all"

    def save(self, folder: Path) -> None:
        """Beside the records, so that an import of them alone knows what they are; nothing where all is recorded."""
        if self.words != "all":
            (folder / FILE).write_text(json.dumps(asdict(self)) + "\n")

    @staticmethod
    def _check_seconds(option: str, seconds: float) -> None:
        if not 0 <= seconds <= MOST_SECONDS:  # nan is neither
            raise UsageError(f"{option} {seconds:g} is no time to wait for: give seconds from 0 to {MOST_SECONDS}.")

    @staticmethod
    def _check_steps(steps: str) -> None:
        match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", steps)
        if not match or int(match[1]) >= int(match[2]):
            raise UsageError(f"--steps {steps} is not A:B with A < B, for example --steps 10:60.")

    @staticmethod
    def _check_expression(option: str, text: str | None) -> None:
        try:
            re.compile(text or "")
            check_utf8(option, text or "")
            duckdb.execute("SELECT regexp_matches('', ?)", [text or ""])
        except (re.error, duckdb.Error) as fault:
            why = str(fault).splitlines()[0].removeprefix("Invalid Input Error: ")
            raise UsageError(f"{option} {text!r} is not a regular expression ({why}): correct it.") from None
        if unlike := UNLIKE.search(text or ""):
            raise UsageError(
                f"{option} {text!r} holds {unlike[0]!r}, which not every reader of it takes alike: use plain "
                "expressions, with (?:...) and the classes \\d \\w \\s."
            )


def check_utf8(option: str, text: str) -> None:
    """UsageError where a word of the command line holds other bytes, which neither run file nor collector takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{option} {text!a} is not UTF-8: give it in UTF-8.") from None


def window_of(records: Path) -> Window:
    """The window of a folder of records, or of one of its files; InputError where it is not as `save` wrote it."""
    path = (records if records.is_dir() else records.parent) / FILE
    if not path.is_file():
        return Window()
    try:
        return Window(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, UsageError):
        raise InputError(f"{path} is no window of a capture: record again, or remove it to read all records.") from None


def keep_window(store: Store, window: Window, recorded: bool) -> None:
    """Leave out ops that were launched outside the window, and calls around it; InputError where nothing matches it.

    `recorded` says that the backend began with --steps by itself and ended a step later. A range it must not keep to:
    the collector records from the first match on, since CUPTI confuses launches in its second session.
    """
    if recorded and window.words != "all":
        store.con.execute(_sql("late_ends"))
    if window.range_ is not None:
        _keep(store, window.range_, None)
    elif window.steps is not None and not recorded:
        _keep(store, window.marker or ANY_STEP, window.numbers)
    elif window.steps is not None:
        _leave_out_later(store, window)
    if recorded and window.duration_s > 0:
        store.con.execute(_sql("cut_launches"))
    if recorded and window.words != "all":
        store.con.execute(_sql("calls_around"))
    _refuse_empty(store, window)


def _refuse_empty(store: Store, window: Window) -> None:
    """InputError where a window left no op; where CUPTI was not to be had, that is the fault to tell."""
    without = store.value("SELECT count(*) FROM warning WHERE code IN ('cupti_missing', 'cupti_old', 'cupti_refused')")
    if window.words == "all" or without or store.value("SELECT count(*) FROM op"):
        return
    if window.steps is not None:
        store.con.execute(_sql("matching"), [window.marker or ANY_STEP])
        there = _what_there_is(store, window.marker or ANY_STEP, window.numbers)
        raise InputError(f"nothing was recorded in the window of {window.words}: {there}.")
    raise InputError(
        f"nothing was recorded in the window ({window.words}): the program ended before it, or launched no GPU op in it."
    )


def _leave_out_later(store: Store, window: Window) -> None:
    """Ops that were launched once the step after the last one had begun."""
    store.con.execute(_sql("matching"), [window.marker or ANY_STEP])
    store.con.execute(_sql("after_steps"), [window.numbers[1]])
    store.con.execute("DROP TABLE _matching")


def _sql(name: str) -> str:
    return Path(__file__).with_name(f"window_{name}.sql").read_text()


def _keep(store: Store, pattern: str, numbers: tuple[int, int] | None) -> None:
    """By the ranges that match; of them those from the first to the last number, counted from 0."""
    store.con.execute(_sql("matching"), [pattern])
    if numbers is None:
        store.con.execute(CHOSEN + "true")
    else:
        store.con.execute(CHOSEN + "number >= ? AND number < ?", list(numbers))
    if not store.value("SELECT count(*) FROM _chosen"):
        raise InputError(f"nothing was recorded in the window: {_what_there_is(store, pattern, numbers)}.")
    store.con.execute("DROP TABLE _matching")
    store.con.execute(_sql("keep"))


def _what_there_is(store: Store, pattern: str, numbers: tuple[int, int] | None) -> str:
    if numbers is not None and (count := store.value("SELECT count(number) FROM _matching")):
        if numbers[0] < count:
            return f"the run has {count} steps, but no GPU op was launched in these"
        return f"the run has {count} steps, so give --steps A:B with A below {count}"
    names = store.rows(
        "SELECT text FROM range JOIN name USING (name_id) GROUP BY text ORDER BY min(start_ns), text LIMIT 5"
    )
    held = ", ".join(text for (text,) in names) or "no ranges at all"
    return f"no range matches {pattern!r}; the run has {held}"
