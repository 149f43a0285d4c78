"""Facts about this host that decide how fast one- and two-card decode can be: `stepprof audit`.

    for fact in audit(): fact.name, fact.value, fact.source, fact.meaning

Everything is read, nothing is set; neither a GPU nor root is needed. What could not be seen has value None
and says why in its meaning. Files of the kernel: audit_host.py; the driver by NVML: audit_nvml.py.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from stepprof.profiler import audit_host, audit_nvml
from stepprof.profiler.audit_fact import Fact


def audit(root: Path = Path("/")) -> list[Fact]:
    """All facts of this host; `root` stands for / in tests."""
    return [*audit_host.facts(root), *audit_nvml.facts()]


def audit_document(facts: list[Fact]) -> dict[str, Any]:
    """As `--json` prints it."""
    seen = [asdict(fact) for fact in facts if fact.value is not None]
    unseen = [{"name": f.name, "gpu": f.gpu, "source": f.source, "why": f.meaning} for f in facts if f.value is None]
    return {"facts": seen, "not_seen": unseen}
