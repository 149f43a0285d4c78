"""Small engines for tests: `generate(20, k=3)` decodes 20 tokens of one prompt with the tiny preset."""

from collections.abc import Callable
from typing import Any

from stepprof.runtime import tokenizer
from stepprof.runtime.config import TINY, Config
from stepprof.runtime.engine import Engine
from stepprof.runtime.options import Options

PROMPT = tokenizer.encode("A small step for a model")


def engine(config: Config = TINY, **options: Any) -> Engine:
    """An engine on the CPU."""
    return Engine.make(config, Options(**options))


def decode(made: Engine, slot: int, count: int) -> list[int]:
    """The next tokens of a sequence; more than `count` where the last step kept more."""
    tokens: list[int] = []
    while len(tokens) < count:
        tokens += next(kept.tokens for kept in made.step() if kept.slot == slot)
    return tokens


def generate(count: int, prompt: list[int] = PROMPT, **options: Any) -> list[int]:
    """Tokens after the prompt."""
    with engine(**options) as made:
        return decode(made, made.add(prompt), count)[:count]


def oracle(made: Engine, truth: Callable[[int], list[int]], wrong_every: int) -> None:
    """Replace the draft head by one that knows what follows, and errs at every `wrong_every`-th position.

    truth(p) are the true tokens after position p of slot 0.
    """
    assert made.draft is not None
    propose = made.draft.propose

    def knowing(last: Any, position: Any, *rest: Any) -> Any:
        drafts, probs = propose(last, position, *rest)
        start = int(position[0])
        known = truth(start)[: drafts.shape[1]]
        for j, token in enumerate(known):
            drafts[0, j] = (token + 1) % 256 if (start + j) % wrong_every == 0 else token
        return drafts, probs

    object.__setattr__(made.draft, "propose", knowing)
