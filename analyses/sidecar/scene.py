"""What the sidecar's calls are looked for in: chosen steps, the main card, copies, marks, edges.

scene = make_scene(store, found, chosen, rules)
scene.step[i]        # the step in which op i can be part of a call
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.edges import replay_edges
from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.rules import RuleSet
from stepprof.analyses.sidecar.copies import load_copies
from stepprof.analyses.sidecar.marks import SidecarMarks, sidecar_marks
from stepprof.analyses.sidecar.members import Scene, main_card
from stepprof.profiler.store import Store


def make_scene(store: Store, found: Attribution, chosen: Sequence[int], rules: RuleSet) -> Scene:
    """Gather it; `chosen` are indices of steps."""
    marks = sidecar_marks(found.labels.paths, rules)
    main = main_card(found, marks)
    kept = np.full(len(found.steps) + 1, UNKNOWN, dtype=np.int64)
    kept[list(chosen)] = list(chosen)
    step = kept[_step_of(found, marks)]
    copies = load_copies(store, found.ops, main)
    return Scene(found, main, step, copies, marks, replay_edges(store, found.ops))


def _step_of(found: Attribution, marks: SidecarMarks) -> Ints:
    """The step of each op; marked ops of a thread that launches for no step have that in whose time they start."""
    step = found.steps.of_op.copy()
    at = np.flatnonzero((step == UNKNOWN) & marks.marked[found.labels.of_op] & ~_threads_of_steps(found))
    windows = found.steps.windows
    with_ops = np.flatnonzero(windows.ops > 0)
    if len(at) == 0 or len(with_ops) == 0:
        return step
    order = with_ops[np.argsort(windows.gpu_start[with_ops], kind="stable")]
    place = np.searchsorted(windows.gpu_start[order], found.ops.start[at], side="right") - 1
    inside = (place >= 0) & ((place < len(order) - 1) | (found.ops.start[at] < windows.gpu_end[order[-1]]))
    step[at[inside]] = order[place[inside]]
    return step


def _threads_of_steps(found: Attribution) -> Bools:
    """Ops of host threads that launch the first op of a step in their process: a helper launches none."""
    ops, step = found.ops, found.steps.of_op
    at = np.flatnonzero(step != UNKNOWN)  # by start
    first = at[np.unique(np.stack([step[at], ops.process[at]]), axis=1, return_index=True)[1]]
    launches = ops.launches
    _, thread = np.unique(np.stack([launches.process, launches.thread]), axis=1, return_inverse=True)
    thread = thread.reshape(-1)
    return np.isin(thread, thread[ops.launch[first]])[ops.launch]
