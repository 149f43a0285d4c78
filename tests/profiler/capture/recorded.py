"""What a recorded run holds, as tests of the collector compare it: counts(store), codes(store), ranges(store), identities(store)."""

from stepprof.profiler.store import Store


def counts(store: Store) -> dict[str, int]:
    return dict(store.rows("SELECT activity::VARCHAR, count(*) FROM op GROUP BY ALL"))


def codes(store: Store) -> list[str]:
    return [warning["code"] for warning in store.warnings()]


def ranges(store: Store) -> list[str]:
    return [text for (text,) in store.rows("SELECT text FROM range JOIN name USING (name_id) ORDER BY start_ns")]


def identities(store: Store) -> dict[int, str]:
    return dict(store.rows("SELECT device, identity FROM device"))
