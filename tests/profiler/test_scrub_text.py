"""Texts lose secrets, users, machines and folders; names of kernels and ranges come through."""

import gzip
import shutil
import sqlite3
import time

import pytest

from stepprof.profiler.demo import TRACE
from stepprof.profiler.place_text import names_in
from stepprof.profiler.scrub_text import TextCleaner, clean_text
from tests.real_runs import TEST_DATA

CAPTURES = (TRACE, *sorted(TEST_DATA.glob("*.sqlite.gz")))


@pytest.mark.parametrize(("text", "kept"), [
    ("/home/me/models/a.py(12): forward", "<path>/a.py(12): forward"),
    ("/home/alice", "<path>"),
    ("see /data/alice, /data/alice/x", "see <path>, <path>"),
    ("file:/home/alice/x", "file:<path>"),
    ("file:///home/alice/x.py", "<path>"),
    ("alice@box:/home/alice/x", "<login>:<path>"),
    ("~alice/x", "<path>"),
    ("~/models/x.onnx", "<path>/x.onnx"),
    ("/home/John Smith/a.py: f", "<path>/a.py: f"),
    ("-I/home/alice/include", "-I<path>"),
    (r"C:\Users\alice\a.py", "C:<path>/a.py"),
    (r"{\"file\": \"\/home\/alice\/x\"}", r"{\"file\": \"<path>\"}"),
    ("mail me@example.com at 10.0.0.1:80", "mail <email> at <address>"),
    ("https://alice:pw@host/x?y", "https://<address>"),
    ("tcp://node12:29500", "tcp://<address>"),
    ("on gpu-07.cluster.local", "on <host>"),
    ("on node12.example.com:29500", "on <host>"),
    ("hostname: gpu17, user=alice", "hostname: <name>, user=<name>"),
    ("fe80::1 and 2001:db8::8a2e:370:7334", "<address> and <address>"),
    ("1:2:3:4:5:6:7:8", "<address>"),
    ("00:1b:44:11:3a:b7", "<address>"),
    ("ip-10-0-0-1", "<address>"),
    ("0000:1b:00.0", "<bus>"),
    ("GPU-01234567-89ab-cdef-0123-456789abcdef", "<uuid>"),
    ("01234567-89ab-cdef-0123-456789abcdef", "<uuid>"),
    ("hf_abcdefghijkl", "<secret>"),
    ("AKIAIOSFODNN7EXAMPLE", "<secret>"),
    ("github_pat_11ABCDEFG0", "<secret>"),
    ("xoxb-1234-5678-abcd", "<secret>"),
    ("nvapi-abcdefghijklmnopqrstuvwxyz12345", "<secret>"),
    ("key AIzaSyD-1234567890abcdefghijklmnopqrstu!", "key <secret>!"),
    ("gsk_abcdefghijklmnop1234567890abcd", "<secret>"),
    ("xai-abcdefghijklmnop1234567890", "<secret>"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "<secret>"),
    ("ya29.a0AfH6SMabcdefghijk", "<secret>"),
    ("db_pass=hunter2, pw: hunter2", "db_pass=<secret>, pw: <secret>"),
    ("plink -pw hunter2 --pass hunter2 x", "plink -pw <secret> --pass <secret> x"),
    ("curl --user carol:hunter2 -u carol:hunter2 x", "curl --user <secret> -u <secret> x"),
    ("curl --proxy-user='carol:hunter2'", "curl --proxy-user='<secret>'"),
    ("os.environ['HF_TOKEN']='abc'", "os.environ['HF_TOKEN']='<secret>'"),
    ('os.environ["HF_TOKEN"] = "abc"', 'os.environ["HF_TOKEN"] = "<secret>"'),
    ("Authorization: Bearer abcdef", "Authorization: <secret>"),
    ('{"api_key": "abc", "rows": 2}', '{"api_key": "<secret>", "rows": 2}'),
])  # fmt: skip
def test_texts(text, kept):
    assert clean_text(text) == kept
    assert clean_text(kept) == kept


@pytest.mark.parametrize("text", [
    "step/3", "sidecar/1/up", "sidecar/0/copy_in rows=2", "layer/3/attention", "step[DECODE bs=32]", "ProfilerStep#8",
    "void f<(int)4, at::native::g>(int, T2)", "ns::~Foo()", "a::b", "face::add::dec", "at::ab::cd<2>::ef",
    "void (anonymous namespace)::f<float, 10, true>(float*, float const*, int)", "a / b and c/d",
    "tokens=512, token=17, tokens=[4, 8]", "max_tokens: 128", "hf_decode_step", "kernel@plt", "self.net.0.dev",
    "PWN(/blocks.1/blocks.1.20/sigmoid/Sigmoid)", "/model/layers.0/self_attn/MatMul", "nsys 2025.3.2.0", "host=cpu",
    "pass=1", "pass: 2/3", "forward_pass: aten::mm", "pass_rate=0.9", "features.3.conv_pw: Conv2d", "--user 1000:1000", "user: 3",
    "gsk_forward_attention_kernel", "npm_norm", "xai-block", "radix_sort_pass<4>", "layer1.attn.mlp",
    "MoE[experts=128, tokens=4, topk=8]", "autograd::engine::evaluate_function: NegBackward0",
])  # fmt: skip
def test_names_come_through(text):
    assert clean_text(text) == text


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name.split(".")[0])
def test_names_of_real_captures_come_through(capture, tmp_path):
    with gzip.open(capture) as packed, (tmp_path / "x.sqlite").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    with sqlite3.connect(tmp_path / "x.sqlite") as con:
        names = [text for (text,) in con.execute(
            "SELECT value FROM StringIds WHERE id IN (SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL UNION "
            "SELECT nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME) UNION SELECT text FROM NVTX_EVENTS WHERE text IS NOT NULL"
        )]  # fmt: skip
    assert len(names) > 20
    assert [clean_text(name) for name in names] == names
    assert {learned for name in names for learned in names_in(name)} == set()


def test_users_and_machines_are_learned():
    clean = TextCleaner()
    clean.learn(["/home/alice/x", "bob@box7:/x", "tcp://node12:29500", "/home/root/x", "gemm@fp8"], ["dgx-5"])
    assert clean("Alice's step/3 of bob on node12, dgx-5 and box7") == (
        "<name>'s step/3 of <name> on <name>, <name> and <name>"
    )
    assert clean("malice, root, gemm_fp8") == "malice, root, gemm_fp8"
    assert clean.told == ["paths, names, addresses, ids or secrets in 1 texts"]


def test_a_machine_is_known_by_its_first_label_too():
    clean = TextCleaner()
    clean.learn(["on node17.cluster.local", "gpu-07.example.com:29500", "wrote to box-3.lan"])
    assert clean("job on node17, GPU-07 and box-3; node170") == "job on <name>, <name> and <name>; node170"


@pytest.mark.parametrize("text", [
    "localhost.localdomain", "node.cluster.local", "docs.example.com", "n17.cluster.local", "layer1.attn.local", "block_4.mlp.net",
    "expert-3.moe.local", "gpu0.cluster.local", "conv1.local", "self.net.0.dev", "torch-2.9.dev", "stage2.pipeline.internal",
])  # fmt: skip
def test_words_and_parts_of_models_are_no_machines(text):
    assert names_in(text) == set()


@pytest.mark.parametrize(
    "part",
    ["token=", "token={", "a.", "a=", "/", "\\", "/home/a ", "x://", "a@", "1:", "'", "--token ", "--user ", "x-1."],
)
def test_no_text_takes_long(part):
    began = time.process_time()
    clean_text("token " + part * (40_000 // len(part)))
    assert time.process_time() - began < 2
