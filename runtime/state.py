"""Where every sequence of the batch stands, on the device for the step and on the host for the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from stepprof.runtime.config import Config
from stepprof.runtime.errors import RequestError
from stepprof.runtime.options import Options


@dataclass(frozen=True)
class Kept:
    """What a step kept for one sequence: accepted drafts, then one token more."""

    slot: int
    tokens: list[int]
    context_length: int  # tokens before the step


class State:
    """B slots; `last` is the newest token of a sequence, `position` its place."""

    def __init__(self, config: Config, options: Options) -> None:
        self.config, self.options = config, options
        batch, k, device = options.batch, options.k, options.device
        self.last = torch.zeros(batch, dtype=torch.int64, device=device)
        self.position = torch.zeros(batch, dtype=torch.int64, device=device)
        self.active = torch.zeros(batch, dtype=torch.int64, device=device)
        self.temperature = torch.ones(batch, device=device)
        self.kept = torch.full((batch, k + 1), -1, dtype=torch.int64, device=device)
        self.acceptance = torch.tensor(options.simulate_acceptance, device=device)
        self.no_drafts = self.kept[:, :0].clone(), torch.zeros(batch, 0, config.vocab, device=device)
        self.sequence = torch.arange(batch, device=device).repeat_interleave(k + 1)  # [B·(k+1)]
        self.ahead = torch.arange(k + 1, device=device)
        self.context: dict[int, int] = {}  # slot -> tokens so far
        self.steps = 0

    @property
    def live(self) -> list[torch.Tensor]:
        """What a step changes besides caches; kept over warm-up rounds."""
        return [self.last, self.position, self.kept]

    def begin_step(self) -> int:
        """The number of the coming step; refused where a sequence has no room left."""
        if not self.context:
            raise RequestError("there is no sequence to step: add one first.")
        for slot, length in self.context.items():
            if not self.room(slot):
                most = self.config.max_context
                raise RequestError(f"slot {slot} holds {length} of at most {most} tokens: release it before the step.")
        self.steps += 1
        return self.steps - 1

    def room(self, slot: int) -> bool:
        """Whether a sequence can take a whole step more."""
        return self.context[slot] + self.options.k + 1 <= self.config.max_context

    def take(self, prompt: Sequence[int], temperature: float) -> int:
        """Put a prompt's last token into a free slot."""
        free = sorted(set(range(self.options.batch)) - set(self.context))
        room = self.config.max_context - self.options.k - 1
        if not prompt:
            raise RequestError("the prompt is empty: send at least one token.")
        if len(prompt) > room:
            raise RequestError(f"the prompt has {len(prompt)} tokens, at most {room} fit: shorten it.")
        if not all(0 <= token < self.config.vocab for token in prompt):
            raise RequestError(f"the prompt has tokens beyond the vocabulary of {self.config.vocab}.")
        if not free:
            raise RequestError(f"all {self.options.batch} slots are taken: release one first, or raise --batch.")
        slot = free[0]
        self.context[slot] = len(prompt)
        self.last[slot], self.position[slot] = prompt[-1], len(prompt) - 1
        self.active[slot], self.temperature[slot] = 1, temperature
        return slot

    def free(self, slot: int) -> None:
        """Empty a slot."""
        del self.context[slot]
        self.last[slot] = self.position[slot] = self.active[slot] = 0

    def positions(self) -> torch.Tensor:
        """Of the last token and k drafts of each sequence: [B·(k+1)]."""
        return (self.position[:, None] + self.ahead).flatten()

    def advance(self, accepted: torch.Tensor, tokens: torch.Tensor) -> None:
        """Move on by what was kept, on the device: accepted [B], tokens [B, k+1]."""
        self.kept.copy_(tokens)
        newest = tokens.gather(1, accepted[:, None].long())[:, 0]
        self.last.copy_(torch.where(self.active > 0, newest, self.last))
        self.position.add_((accepted + 1) * self.active)

    def emit(self) -> list[Kept]:
        """What the step kept, on the host."""
        kept = self.kept.tolist()
        results: list[Kept] = []
        for slot in sorted(self.context):
            tokens = [token for token in kept[slot] if token >= 0]
            results.append(Kept(slot, tokens, self.context[slot]))
            self.context[slot] += len(tokens)
        return results
