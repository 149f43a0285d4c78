"""Random numbers of a batch in which a sequence may bring its own seed.

A seeded sequence draws from its own generator, so its tokens do not depend on who shares the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from stepprof.runtime.speculative import Draws


@dataclass
class SlotDraws(Draws):
    """Draws whose rows may be overwritten slot by slot."""

    own: dict[int, torch.Generator] = field(default_factory=dict[int, torch.Generator])

    @classmethod
    def over(cls, draws: Draws) -> SlotDraws:
        """The same numbers in the same memory."""
        return cls(**vars(draws))

    def seed(self, slot: int, seed: int) -> None:
        """From now on this slot has its own generator."""
        self.own[slot] = torch.Generator(self.sample.device).manual_seed(seed)

    def refill(self) -> None:
        """Fresh numbers for all, then the seeded slots' own."""
        super().refill()
        for slot, generator in self.own.items():
            for part in (self.draft, self.accept, self.sample, self.simulate):
                part[slot].uniform_(generator=generator)
