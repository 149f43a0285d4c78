"""Many clients at once, each asking one request after another: `crowd(endpoint, prompts, Load(concurrency=8))`.

Every client warms up at full concurrency first; all begin the timed requests together.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from stepprof.profiler.load.endpoint import Endpoint
from stepprof.profiler.load.stream import Answer, ask


@dataclass(frozen=True)
class Load:
    """How much is asked at once."""

    concurrency: int = 1
    rounds: int = 2  # timed requests of each client
    warm_up: int = 1  # requests of each client before them
    max_tokens: int = 128
    timeout: float = 600.0


def crowd(endpoint: Endpoint, prompts: list[str], load: Load) -> tuple[list[Answer], bool]:
    """Answers of the timed requests, and whether a piece of reasoning came in any of all requests."""
    begin = threading.Barrier(load.concurrency)
    answers: list[list[Answer]] = [[] for _ in range(load.concurrency)]
    thought: list[bool] = []

    def work(client: int) -> None:
        for turn in range(-load.warm_up, load.rounds):
            if turn == 0:
                begin.wait()
            prompt = prompts[(client + (turn + load.warm_up) * load.concurrency) % len(prompts)]
            answer = ask(endpoint, prompt, load.max_tokens, load.timeout)
            thought.append(answer.thought)
            if turn >= 0:
                answers[client].append(answer)

    # daemons, so that Ctrl-C need not wait for servers
    clients = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(load.concurrency)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return [answer for mine in answers for answer in mine], any(thought)
