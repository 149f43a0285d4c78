"""Steps in which no other card worked: why no sidecar can be seen, and the way out.

refuse_one_card(scene, resident=False, facts=call_facts(store, steps, chosen))
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.sidecar.facts import CallFacts
from stepprof.analyses.sidecar.members import Scene
from stepprof.profiler.errors import Refused


def refuse_one_card(scene: Scene, resident: bool, facts: CallFacts) -> None:
    """Refused where nothing of the chosen steps ran on another card; `resident`: stamps of calls are on record."""
    ops = scene.found.ops
    if resident or (ops.device[scene.step != UNKNOWN] != scene.main).any():
        return
    if ops.sidecar_known and len(ops.residents):
        raise Refused(
            f"{scene.found.source}: the other card runs a resident kernel whose calls are not on record in these steps: "
            "import them with --resident FILE (stepprof run --resident writes it)."
        )
    if len(facts.step) and facts.skipped.all():
        raise Refused(
            f"{scene.found.source}: all {len(facts.step)} calls of these steps were skipped, so nothing ran on the "
            "sidecar: choose other steps with --steps."
        )
    where = "all ops ran on one card" if len(np.unique(ops.device)) == 1 else "no op of the steps ran on another card"
    raise Refused(f"{scene.found.source}: {where}, so no sidecar can be seen: record both cards and all processes.")
