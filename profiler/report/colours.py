"""One colour a role, everywhere: families share a hue, members differ in lightness.

Hues are those of Okabe and Ito (2008), which people with any colour vision can tell apart; a
role is never shown by colour alone. Gaps are grey, a spin-wait or wait for the second card hatched.
"""

from __future__ import annotations

from collections.abc import Sequence

BLUE, SKY, GREEN, YELLOW = (0, 114, 178), (86, 180, 233), (0, 158, 115), (240, 228, 66)
ORANGE, RED, PINK, GREY = (230, 159, 0), (213, 94, 0), (204, 121, 167), (140, 140, 140)
FAMILIES: dict[tuple[int, int, int], tuple[str, ...]] = {
    BLUE: ("attention", "indexer", "kv_write", "rope"),
    SKY: ("norm", "mhc", "quant", "elementwise"),
    ORANGE: ("expert_gemm", "router", "moe_route", "activation"),
    GREEN: ("dense_gemm", "lm_head", "embedding"),
    RED: ("sidecar_gather", "sidecar_gemm", "sidecar_copy", "sidecar_reduce"),
    PINK: ("combine", "communication", "copy", "memset"),
    YELLOW: ("spec_draft", "spec_verify", "sampling"),
    GREY: ("wait", "infra", "unknown"),
}
GAPS: dict[str, str] = {
    "in_graph": "#9aa0a6",
    "graph_boundary": "#80868b",
    "launch_queue": "#b0b5ba",
    "launch": "#5f6368",
    "host": "#3c4043",
    "sync": "#c4c8cc",
    "sidecar_wait": "#a35200",
    "wait": "#8a5a2b",
    "other_step": "#d5d8db",
}
# phases of a call of the sidecar are named by the program; those of the usual names take the colour of their role
PHASE_ROLES: dict[str, str] = {
    "gather": "sidecar_gather",
    "up_gate": "sidecar_gemm",
    "gemm": "sidecar_gemm",
    "down": "sidecar_gemm",
    "reduce": "sidecar_reduce",
    "copy_in": "sidecar_copy",
    "copy_out": "sidecar_copy",
    "publish": "communication",
    "signal": "communication",
}
KIND_HUES: dict[str, tuple[int, int, int]] = {
    "copy": RED,
    "gemm": GREEN,
    "attention": BLUE,
    "elementwise": SKY,
    "reduce": YELLOW,
    "norm": PINK,
    "quant": ORANGE,
}


def role_colours() -> dict[str, str]:
    """Colour of each role as #rrggbb; members of a family get lighter one by one."""
    return {role: _lighter(hue, 0.2 * i) for hue, roles in FAMILIES.items() for i, role in enumerate(roles)}


def _lighter(hue: tuple[int, int, int], by: float) -> str:
    return "#" + "".join(f"{round(part + (255 - part) * by):02x}" for part in hue)


def phase_colours(phases: Sequence[str]) -> dict[str, str]:
    """Colour of each phase of a call; phases in which nothing of it runs are grey, from dark to light."""
    roles, found = role_colours(), dict[str, str]()
    spare = [_lighter(hue, 0.1) for hue in (BLUE, SKY, GREEN, YELLOW, PINK, ORANGE)]
    idle = [phase for phase in phases if phase.startswith("gap:") or phase in ("wake", "wake_up")]
    for phase in phases:
        if phase in idle:
            found[phase] = _lighter(GREY, 0.75 * idle.index(phase) / len(idle))
        else:
            found[phase] = roles[PHASE_ROLES[phase]] if phase in PHASE_ROLES else spare[len(found) % len(spare)]
    return found


def kind_colours(kinds: Sequence[str]) -> dict[str, str]:
    """Colour of each kind of op; gaps and waits are grey."""
    return {kind: _lighter(KIND_HUES.get(kind, GREY), 0.35 if kind == "wait" else 0.0) for kind in kinds}
