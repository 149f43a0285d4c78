"""Which GPU of one file is which of another: ordinals of a process's own view are no proof.

Two files mean one GPU where both carry the same identity (UUID, PCI address, or the
machine's ordinal where nothing else is on record). Where nothing tells, an ordinal that
is taken already stands for a further GPU, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from stepprof.profiler.store import Store

ORDINALS = "SELECT device FROM device UNION SELECT src_device FROM op UNION SELECT dst_device FROM op"


@dataclass
class Devices:
    """GPUs of the files so far: the new ordinal of each, its own ordinal, its identity and its rank."""

    known: list[tuple[int, int, str | None, str | None]] = field(
        default_factory=list[tuple[int, int, str | None, str | None]]
    )

    def add(self, part: Store) -> tuple[dict[int, int], list[int]]:
        """New ordinals of a part's GPUs, and its own ordinals of those that may be another file's GPU."""
        identities = dict(part.rows("SELECT device, identity FROM device"))
        ordinals = [d for (d,) in part.rows(f"SELECT * FROM ({ORDINALS}) WHERE device IS NOT NULL ORDER BY 1")]
        rank = part.fact("rank")
        before, ambiguous, chosen = list(self.known), list[int](), dict[int, int]()
        for own in ordinals:
            identity = identities.get(own)
            same = [new for new, _, other, _ in before if identity is not None and other == identity]
            rivals = [(other, other_rank) for _, ordinal, other, other_rank in before if ordinal == own]
            if not same and not all(_differ(identity, rank, *rival) for rival in rivals):
                ambiguous.append(own)
            taken = {new for new, *_ in self.known}
            chosen[own] = same[0] if same else own if own not in taken else next(i for i in count() if i not in taken)
            self.known.append((chosen[own], own, identity, rank))
        return chosen, ambiguous


def _differ(identity: str | None, rank: str | None, other: str | None, other_rank: str | None) -> bool:
    """Whether two GPUs are surely two: identities of one kind that differ, or other ranks of one job."""
    if identity and other and identity.split()[0] == other.split()[0]:
        return identity != other
    return rank is not None and other_rank is not None and rank != other_rank
