"""What the HTML report shows, as one document: the same figures that --json prints, and what its pictures need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepprof import __version__
from stepprof.analyses.attribution import Attribution
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.op_groups import OpGroups, op_groups
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.short_names import short_name
from stepprof.analyses.step_matrix import step_matrix
from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.profiler.report.colours import GAPS, role_colours
from stepprof.profiler.report.document import breakdown_document
from stepprof.profiler.report.html.beside import Beside, asked
from stepprof.profiler.report.html.sections import sections
from stepprof.profiler.report.html.timeline import shown_steps, timeline
from stepprof.profiler.store import Store

BARS = 500  # steps with a bar of their own
NAME = 300  # characters of an op's name that the page holds
GROUPS = 4000  # rows of the op table


def report_data(
    store: Store, found: Attribution, chosen: Sequence[int] | None = None, beside: Beside | None = None
) -> dict[str, Any]:
    """The document; `chosen` steps as in the breakdown (default: all whole ones), `beside` as `asked` gives it."""
    result = breakdown(found, "role", chosen)  # refuses where no step is whole
    steps = list(found.steps.usable if chosen is None else chosen)
    beside = beside or asked(store, found, steps)
    groups = op_groups(found, steps)
    shown = shown_steps(found, steps)
    return {
        "version": __version__,
        "source": found.source,
        "about": _about(store, found),
        "words": {"roles": ROLES, "kinds": KINDS, "phases": PHASES, "gaps": CLASSES},
        "colours": {"roles": role_colours(), "gaps": GAPS},
        "breakdown": breakdown_document(result),
        "steps": _steps(found, shown_steps(found, steps, BARS), len(steps)),
        "heat": _heat(found, groups),
        "groups": _groups(found, groups),
        "timeline": timeline(found, groups, shown),
        **sections(beside),
    }


def _about(store: Store, found: Attribution) -> dict[str, Any]:
    """Where the figures come from: the file's facts and its manifest."""
    facts = dict(
        store.rows("SELECT key, value FROM run WHERE key IN ('format', 'tool', 'tool_version', 'source_sha256')")
    )
    manifest = dict(store.rows("SELECT key, value FROM manifest ORDER BY key"))
    cards = store.rows("SELECT device, coalesce(name, 'unknown GPU') FROM device ORDER BY device")
    return {
        "run": facts,
        "manifest": manifest,
        "cards": [{"device": device, "name": name} for device, name in cards],
        "steps": len(found.steps),
    }


def _steps(found: Attribution, shown: Sequence[int], of: int) -> dict[str, Any]:
    """The partition of each shown step, roles and gap classes that never occur left out."""
    matrix = step_matrix(found, shown)
    exposed = {ROLES[i]: matrix.exposed[i].tolist() for i in np.flatnonzero(matrix.exposed.any(axis=1)).tolist()}
    gaps = {CLASSES[i]: matrix.gaps[i].tolist() for i in np.flatnonzero(matrix.gaps.any(axis=1)).tolist()}
    labels = [found.steps.label[i] or f"step {i}" for i in shown]
    wall = found.steps.wall[list(shown)].tolist()
    return {"of": of, "index": list(shown), "label": labels, "wall_ns": wall, "exposed": exposed, "gaps": gaps}


def _heat(found: Attribution, groups: OpGroups) -> dict[str, Any]:
    """Layer × role: exposed and work, ns a step; the row before layer 0 is ops without a layer."""
    layer = found.roles.layer[groups.example].astype(np.int64)
    role = found.roles.role[groups.example].astype(np.int64)
    rows = int(layer.max(initial=UNKNOWN)) + 2
    figures: dict[str, Any] = {}
    for name, value in (("exposed_ns", groups.exposed_ns), ("work_ns", groups.work_ns)):
        total = np.zeros((rows, len(ROLES)), dtype=np.int64)
        np.add.at(total, (layer + 1, role), value)
        figures[name] = total
    used = np.flatnonzero(figures["work_ns"].any(axis=0) | figures["exposed_ns"].any(axis=0)).tolist()
    kept = {name: (total[:, used] / groups.steps).tolist() for name, total in figures.items()}
    return {"roles": [ROLES[i] for i in used], "layers": ["no layer", *map(str, range(rows - 1))], **kept}


def _groups(found: Attribution, groups: OpGroups) -> dict[str, Any]:
    """The op table: one entry a group, figures a step."""
    ops, roles, op = found.ops, found.roles, groups.example
    paths = [*(" › ".join(path)[:NAME] for path in found.labels.paths), ""]
    texts = [ops.names[i] for i in ops.name[op].tolist()]
    return {
        "table_rows": min(len(op), GROUPS),
        "name": [text[:NAME] for text in texts],
        "short": [short_name(text) for text in texts],
        "label": [paths[i] for i in found.labels.of_op[op].tolist()],
        "role": roles.role[op].tolist(),
        "kind": roles.kind[op].tolist(),
        "phase": roles.phase[op].tolist(),
        "layer": roles.layer[op].tolist(),
        "device": ops.device[op].tolist(),
        "ops": (groups.count / groups.steps).tolist(),
        "exposed_ns": (groups.exposed_ns / groups.steps).tolist(),
        "work_ns": (groups.work_ns / groups.steps).tolist(),
    }
