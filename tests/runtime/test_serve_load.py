"""stepprof load against the server of the built-in model: its own counts are those that the load test reports."""

from stepprof.profiler.load.crowd import Load
from stepprof.profiler.load.endpoint import Address, find_endpoint
from stepprof.profiler.load.run import Plan, load_test
from tests.runtime.servers import serving


def test_load_of_our_own_server():
    with serving(batch=2, k=3) as client:
        endpoint = find_endpoint(Address.of(str(client.http.base_url)), None, "auto", None, ignore_eos=True)
        assert (endpoint.model, endpoint.route) == ("tiny", "completions")
        load = Load(rounds=1, warm_up=0, max_tokens=6, timeout=30)
        result = load_test(endpoint, Plan(("prose",), (1, 2), (40,), load))
    assert [(c.concurrency, c.tokens, c.counted, c.errors) for c in result.cells] == [
        (1, 6, "usage", {}),
        (2, 12, "usage", {}),
    ]
    assert all(c.tokens_per_s and c.first_token_ms for c in result.cells)
    read = result.prefill[0]
    assert read.errors == {} and read.prompt_tokens is not None and abs(read.prompt_tokens - 40) < 12
    assert result.warnings == ()
