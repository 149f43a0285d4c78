"""Who shares a batch, who waits, who leaves, and what a fault does to all of them."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stepprof.runtime import tokenizer
from stepprof.runtime.errors import RuntimeFault, SidecarError
from stepprof.runtime.facts import Facts
from tests.runtime.engines import generate
from tests.runtime.servers import LONG, serving, tokens


def test_waiting_prompts_join_when_a_slot_is_free_and_the_rest_is_refused():
    with serving(batch=1, k=1, max_waiting=2) as client:
        expected = {name: tokens([client.ask(name, 6)]) for name in "ab"}
        with ThreadPoolExecutor(2) as pool, client.open(LONG) as lines:
            waiting = {name: pool.submit(client.ask, name, 6) for name in "ab"}
            client.wait(lambda now: now["waiting"] == 2)
            refused = client.post({"prompt": "c"})
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert refused.json()["error"]["type"] == "rate_limit_error"
            assert "3 of 3 places are taken" in refused.json()["error"]["message"]
            assert "error" not in next(lines)
        assert {name: tokens([one.result()]) for name, one in waiting.items()} == expected
        state = client.wait(lambda now: now["running"] == now["waiting"] == 0)
        assert (state["completed"], state["left"], state["refused"], state["failed"]) == (4, 1, 1, 0)


def test_a_client_that_leaves_the_queue_is_never_served():
    with serving(batch=1, k=1) as client, client.open(LONG) as lines:
        with client.knock(LONG):
            client.wait(lambda now: now["waiting"] == 1)
        assert client.wait(lambda now: now["waiting"] == 0)["left"] == 1
        assert "error" not in next(lines)


def test_a_seed_gives_the_same_tokens_whoever_shares_the_batch():
    with serving(batch=3, k=2, sampling="block") as client:
        alone = tokens([client.ask("dice", 16, seed=5)])
        with client.open({**LONG, "temperature": 1.5}):
            assert tokens([client.ask("dice", 16, seed=5)]) == alone
            assert tokens([client.ask("dice", 16, seed=6)]) != alone
        cold = tokens([client.ask("dice", 16, temperature=0)])
    assert cold == generate(16, prompt=tokenizer.encode("dice"), k=0)


def test_every_step_has_its_facts(tmp_path: Path):
    with Facts(tmp_path / "facts.jsonl") as facts, serving(batch=2, k=3, facts=facts) as client:
        client.ask(["a", "b"], 12)
        steps = client.wait(lambda now: now["running"] == 0)["steps"]
    lines = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()]
    made = [line for line in lines if "layer" not in line]
    assert [line["step"] for line in made] == list(range(steps)) and len(lines) == steps * 5
    assert {line["batch"] for line in made} == {1, 2} and all(line["class"] is None for line in made)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (SidecarError("the card died."), "the card died."),
        (ValueError("odd"), "the engine failed with ValueError (odd)"),
    ],
    ids=str,
)
def test_a_fault_of_the_engine_fails_every_request(fault: Exception, message: str):
    def fail() -> None:
        raise fault

    with serving(batch=1, k=1) as client:
        with client.open(LONG) as lines, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.post, {"prompt": "b"})
            client.wait(lambda now: now["waiting"] == 1)
            client.server.worker.engine.runner.sidecar.check = fail
            last = json.loads(list(lines)[-1])
            refused = waiting.result()
        for error in (last["error"], refused.json()["error"]):
            assert error["type"] == "server_error" and message in error["message"]
        client.thread.join(5)
    (outcome,) = client.outcome
    assert refused.status_code == 503 and isinstance(outcome, RuntimeFault) and message in str(outcome)
