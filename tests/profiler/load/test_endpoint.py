"""Addresses, routes and the body of a request."""

import json

import pytest

from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.load.endpoint import Address, Endpoint, find_endpoint
from tests.profiler.load.fake_server import Handler, fake, good


@pytest.mark.parametrize(
    ("url", "shown", "prefix"),
    [
        ("http://h:8000", "http://h:8000", ""),
        ("http://h:8000/v1/", "http://h:8000", ""),
        ("https://h/api/v1", "https://h/api", "/api"),
        ("http://[::1]:80", "http://[::1]:80", ""),
    ],
)
def test_addresses(url, shown, prefix):
    found = Address.of(url)
    assert (str(found), found.prefix) == (shown, prefix)


@pytest.mark.parametrize("url", ["h:8000", "ftp://h", "http://", "http://u:p@h", "http://h:99999", "http://[::1", ""])
def test_what_is_no_address(url):
    with pytest.raises(UsageError, match="no address of a server"):
        Address.of(url)


def test_a_key_is_sent_and_never_shown():
    found = Address.of("http://h", key="secret")
    assert found.headers["Authorization"] == "Bearer secret" and "secret" not in str(found)


def test_body_by_route():
    address = Address.of("http://h")
    chat = json.loads(Endpoint(address, "m", "chat", thinking=False).body("Hi", 5))
    assert chat["messages"] == [{"role": "user", "content": "Hi"}] and "prompt" not in chat
    assert chat["chat_template_kwargs"] == {"thinking": False, "enable_thinking": False}
    plain = json.loads(Endpoint(address, "m", "completions", ignore_eos=True).body("Hi", 5))
    assert (plain["prompt"], plain["max_tokens"], plain["stream"], plain["ignore_eos"]) == ("Hi", 5, True, True)
    assert plain["stream_options"] == {"include_usage": True} and "chat_template_kwargs" not in plain


def test_a_server_without_chat_is_asked_for_completions():
    with fake(good()) as (url, seen):
        found = find_endpoint(Address.of(url), None, "auto", None)
    assert (found.model, found.route, found.path) == ("fake", "completions", "/v1/completions")
    assert [path for path, _ in seen] == ["/v1/chat/completions"]


def test_a_server_with_chat_is_asked_there():
    with fake(lambda handler, body: handler.document(200, {})) as (url, _):
        assert find_endpoint(Address.of(url), None, "auto", None).route == "chat"


def test_thinking_needs_chat():
    with pytest.raises(UsageError, match="chat template"):
        find_endpoint(Address.of("http://h"), "m", "completions", True)
    with fake(good()) as (url, seen):
        assert find_endpoint(Address.of(url), "m", "auto", True).route == "chat" and not seen


def test_faults_name_the_way_out(monkeypatch):
    with pytest.raises(InputError, match=r"does not answer .*check --url"):
        find_endpoint(Address.of("http://127.0.0.1:9"), None, "auto", None)
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler.document(200, b"[]"))
    with fake(good()) as (url, _), pytest.raises(InputError, match=r"status 200\): name one with --model"):
        find_endpoint(Address.of(url), None, "auto", None)
