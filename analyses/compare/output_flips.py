"""Where two outputs differ: flips by prompt, and the first divergence of each prompt.

Under teacher forcing every position follows the same prefix, so each that differs is a flip. Free outputs follow
their own tokens: after the first divergence nothing can be compared, so a prompt gives at most one flip, and the
positions up to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.compare.outputs_file import PLACES, Outputs
from stepprof.analyses.ops import Ints


@dataclass(frozen=True)
class Flips:
    """One pair of outputs; arrays of one entry a prompt number."""

    a: str
    b: str
    positions: Ints  # compared
    flips: Ints
    uncompared: int  # positions that one of the two lacks, or that follow a divergence of free outputs
    first: dict[int, int]  # prompt -> first position that differs

    @property
    def rate(self) -> float:
        """Flips over positions; 0 where nothing is compared."""
        return float(self.flips.sum() / max(1, self.positions.sum()))


def output_flips(a: Outputs, b: Outputs, prompts: int) -> Flips:
    """The differences of two files with `prompts` numbered prompts between them."""
    key, in_a, in_b = np.intersect1d(a.key, b.key, assume_unique=True, return_indices=True)
    differs = a.token[in_a] != b.token[in_b]
    prompt, place = key >> PLACES, key & (1 << PLACES) - 1
    at = np.flatnonzero(differs)
    firsts, index = np.unique(prompt[at], return_index=True)  # keys ascend, so the first index is the first position
    if not a.forced:
        reach = np.full(prompts, np.iinfo(np.int64).max)
        reach[firsts] = place[at[index]]
        kept = place <= reach[prompt]
        prompt, differs = prompt[kept], differs[kept]
    return Flips(
        a=a.name,
        b=b.name,
        positions=np.bincount(prompt, minlength=prompts).astype(np.int64),
        flips=np.bincount(prompt[differs], minlength=prompts).astype(np.int64),
        uncompared=len(a.key) + len(b.key) - len(key) - len(prompt),
        first=dict(zip(firsts.tolist(), place[at[index]].tolist(), strict=True)),
    )
