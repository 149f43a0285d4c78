"""The bars that ingest.py's figures are held against, and whether time grows with size.

targets(results)       # [{"target": "import over floor, graph, 1m", "bar": 1.5, "value": 1.3, "met": true}, ...]
"""

from __future__ import annotations

from typing import Any

# (size class, trace, what, bar); seconds and MB of the whole process
RATIO, ACCOUNT_S = 1.5, 5.0
IMPORT_MB, LARGE_IMPORT_MB, ACCOUNT_MB, JSON_MB = 500, 900, 1000, 450
STRAIGHT = 1.3  # time a kernel from the middle to the largest size over that from the smallest to the middle
Results = dict[str, Any]


def targets(results: Results) -> list[dict[str, Any]]:
    """Every bar with its value; wall times where a bar is of time."""
    found: list[dict[str, Any]] = []
    for size, traces in results.items():
        for key in ("graph", "single", "graph_json"):
            if key in traces:
                found += _of_trace(f"{key}, {size}", key, traces[key])
    found += [_bar(f"straight: {key}", STRAIGHT, value) for key, value in linearity(results).items()]
    return found


def _of_trace(where: str, key: str, measured: Results) -> list[dict[str, Any]]:
    kernels = measured["truth"]["kernels"]
    if kernels < 900_000:
        return []
    tasks = measured["tasks"]
    memory = JSON_MB if key == "graph_json" else IMPORT_MB if kernels < 2_000_000 else LARGE_IMPORT_MB
    bars = [
        _bar(f"import over floor: {where}", RATIO, measured["import_over_floor"]["wall"]),
        _bar(f"import MB: {where}", memory, tasks["import"]["rss_mb"]),
    ]
    if kernels < 2_000_000:
        bars.append(_bar(f"account s: {where}", ACCOUNT_S, tasks["account"]["wall_s"]))
        bars.append(_bar(f"account MB: {where}", ACCOUNT_MB, tasks["account"]["rss_mb"]))
    return bars


def _bar(target: str, bar: float, value: float) -> dict[str, Any]:
    return {"target": target, "bar": bar, "value": value, "met": value <= bar}


def linearity(results: Results) -> dict[str, float]:
    """CPU time a kernel between the two largest sizes over that between the two smallest; 1 is a straight line."""
    sizes = list(results.values())
    if len(sizes) < 3:
        return {}
    found: dict[str, float] = {}
    for key in ("graph", "single", "graph_json"):
        for name in ("import", "account"):
            points = [(s[key]["truth"]["kernels"], s[key]["tasks"][name]["cpu_s"]) for s in sizes]
            low, high = _slope(points[0], points[1]), _slope(points[-2], points[-1])
            found[f"{name}, {key}"] = round(high / low, 2)
    return found


def _slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])
