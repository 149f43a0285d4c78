"""One colour a role, everywhere: families share a hue, members differ in lightness.

Hues are those of Okabe and Ito (2008), which people with any colour vision can tell apart; a
role is never shown by colour alone. Gaps are grey, a spin-wait or wait for the second card hatched.
"""

from __future__ import annotations

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


def role_colours() -> dict[str, str]:
    """Colour of each role as #rrggbb; members of a family get lighter one by one."""
    return {role: _lighter(hue, 0.2 * i) for hue, roles in FAMILIES.items() for i, role in enumerate(roles)}


def _lighter(hue: tuple[int, int, int], by: float) -> str:
    return "#" + "".join(f"{round(part + (255 - part) * by):02x}" for part in hue)
