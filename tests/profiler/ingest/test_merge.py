"""Files of one run become one run: ids kept apart, times on one clock, GPUs told apart or said to be unclear."""

from pathlib import Path

import pytest

from stepprof.profiler.errors import InputError, Refused, UsageError
from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.ingest.merge import import_merged
from stepprof.profiler.store import Store, open_run
from tests.profiler.ingest.kineto_documents import BASE, call, document, event, kernel
from tests.trace_builder import NsysExport

UTC = BASE + 1_000_000
RANGES = "SELECT start_ns FROM range ORDER BY start_ns"


def export(pid: int, utc: int | None = UTC, *, gpu: int | None = None, uuid: str | None = None, late: int = 0):
    """A process with three marked kernels, 100 ns apart; `gpu` maps its CUDA ordinal 0 to a GPU of the machine."""
    e = NsysExport()
    if utc is not None:
        e.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=utc)
    if gpu is not None:
        e.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid)
        e.columns("TARGET_INFO_GPU", "id name uuid").add("TARGET_INFO_GPU", id=gpu, name="GPU", uuid=uuid)
    for i in range(3):
        at = 1000 + 100 * i + late
        e.range(f"step/{i}", at, at + 90, pid=pid)
        e.api("cudaLaunchKernel", at + 1, at + 2, correlation=i + 1, pid=pid)
        e.kernel(f"gemm_{pid}", at + 20, at + 30, correlation=i + 1, pid=pid)
    return e


@pytest.fixture
def merged(tmp_path):
    """Write files, import them into one run, open it."""
    stores: list[Store] = []

    def run(*files: NsysExport | str, **options) -> Store:
        paths: list[Path] = []
        for i, file in enumerate(files):
            path = tmp_path / f"{'ab'[i]}.{'json' if isinstance(file, str) else 'sqlite'}"
            paths.append(path)
            _ = path.write_text(file) if isinstance(file, str) else file.write(path)
        import_merged(paths, tmp_path / "run.duckdb", Extras(), **options)
        stores.append(open_run(tmp_path / "run.duckdb"))
        return stores[-1]

    yield run
    for store in stores:
        store.close()


def codes(store: Store) -> dict[str, int]:
    return {w["code"]: w["count"] for w in store.warnings()}


def test_times_are_on_one_clock(merged):
    store = merged(export(100, gpu=0, uuid="a"), export(200, UTC + 7, gpu=1, uuid="b"))
    assert store.rows(RANGES) == [(0,), (7,), (100,), (107,), (200,), (207,)]
    assert store.rows("SELECT clock, epoch_ns, source FROM clock ORDER BY 1") == [
        (0, UTC + 1000, "session_start"),
        (1, UTC + 1000, "session_start"),
    ]
    assert store.rows("SELECT process, pid, clock FROM process ORDER BY 1") == [(100, 100, 0), (200, 200, 1)]
    assert codes(store) == {}


def test_nsys_and_kineto_meet_by_their_epochs(merged):
    document_ = document(event("user_annotation", "step/0", 1001.5, 1), call(1, 1002), kernel(1003))
    store = merged(export(100, gpu=3, uuid="a"), document_)
    # nsys: 1,000 ns after UTC, which is 1,000 µs after Kineto's base; Kineto: 1,001.5 µs after it
    assert store.rows(RANGES) == [(0,), (100,), (200,), (500,)]
    assert store.fact("format") == "nsys-sqlite + kineto-json"
    assert summary(store)["tool"] == "nsys + torch.profiler 2025.3.2"


def test_ids_that_collide_are_kept_apart(merged):
    store = merged(export(100, gpu=0, uuid="a"), export(100, UTC, gpu=1, uuid="b", late=5))
    assert store.value("SELECT count(*) FROM op JOIN api USING (process, correlation)") == 6
    assert store.value("SELECT count(*) FROM op JOIN name USING (name_id) WHERE text = 'gemm_100'") == 6
    for table, column in (("op", "op_id"), ("range", "range_id"), ("name", "name_id"), ("process", "process")):
        assert store.value(f"SELECT count(*) - count(DISTINCT {column}) FROM {table}") == 0
    assert store.rows("SELECT DISTINCT pid FROM process") == [(100,)]


def test_graph_nodes_that_collide_are_kept_apart(merged):
    a, b = (export(pid, gpu=0, uuid="a").node(10, 50, pid=pid).node(11, 60, origin=10, pid=pid) for pid in (100, 200))
    for e, pid in ((a, 100), (b, 200)):
        e.api("cudaGraphLaunch", 1500, 1510, correlation=9, pid=pid)
        e.kernel("node", 1520, 1530, correlation=9, pid=pid, graphNodeId=11)
    store = merged(a, b)
    nodes = store.rows("SELECT process, graph_node, origin_node FROM op WHERE graph_node IS NOT NULL ORDER BY 1")
    assert nodes[0] == (100, 11, 10)
    assert nodes[1][0] == 200 and nodes[1][1] - nodes[1][2] == 1 and nodes[1][2] > 11
    assert (
        store.value("SELECT count(*) FROM op JOIN graph_node g ON g.process = op.process AND g.node = graph_node") == 2
    )


@pytest.mark.parametrize(
    ("a", "b", "devices", "ambiguous"),
    [
        ({"gpu": 0, "uuid": "a"}, {"gpu": 0, "uuid": "a"}, [0], 0),
        ({"gpu": 0, "uuid": "a"}, {"gpu": 1, "uuid": "b"}, [0, 1], 0),
        # the same ordinal on two machines
        ({"gpu": 0, "uuid": "a"}, {"gpu": 0, "uuid": "b"}, [0, 1], 0),
        # two CUDA ordinals 0 and nothing that says which GPU
        ({}, {}, [0, 1], 1),
        ({"gpu": 0, "uuid": "a"}, {}, [0, 1], 1),
        # mapped ordinals of the machine without any id of the GPU
        ({"gpu": 2}, {"gpu": 2}, [2], 0),
        ({"gpu": 2}, {"gpu": 3}, [2, 3], 0),
    ],
)
def test_gpus_are_told_apart(merged, a, b, devices, ambiguous):
    store = merged(export(100, **a), export(200, **b))
    assert [d for (d,) in store.rows("SELECT DISTINCT device FROM op ORDER BY 1")] == devices
    assert [d for (d,) in store.rows("SELECT device FROM device ORDER BY 1")] == devices
    assert codes(store).get("device_ambiguous", 0) == ambiguous


def test_ranks_of_one_job_are_on_gpus_of_their_own(merged):
    ranks = [document(call(1), kernel(10), distributedInfo={"rank": rank}) for rank in (0, 1)]
    store = merged(*ranks)
    assert [d for (d,) in store.rows("SELECT DISTINCT device FROM op ORDER BY 1")] == [0, 1]
    assert "device_ambiguous" not in codes(store)


def test_copies_name_the_new_ordinals(merged):
    b = export(200).memcpy(10, 1500, 1600, correlation=9, pid=200, srcDeviceId=0, dstDeviceId=1)
    store = merged(export(100), b.api("cudaMemcpyPeerAsync", 1490, 1495, correlation=9, pid=200))
    assert store.rows("SELECT device, src_device, dst_device FROM op WHERE activity = 'memcpy'") == [(1, 1, 2)]


@pytest.mark.parametrize(("key", "value"), [("TIME_NORMALIZE", "true"), ("TIME_SHIFT", "500")])
def test_without_a_common_clock_it_is_refused(merged, tmp_path, key, value):
    shifted = export(200).add("META_DATA_EXPORT", name=f"EXPORT_PARAM_{key}", value=value)
    with pytest.raises(Refused, match=r"b\.sqlite does not say .*: pass --align MARKER"):
        merged(export(100), shifted)
    assert not (tmp_path / "run.duckdb").exists()


def test_markers_align_clocks_that_say_nothing(merged):
    store = merged(export(100, utc=None), export(200, utc=None, late=5_000_000), marker="step/")
    assert store.rows(RANGES) == [(0,), (0,), (100,), (100,), (200,), (200,)]
    assert store.fact("clock_residual_ns") == "0"
    assert store.rows("SELECT epoch_ns, source FROM clock ORDER BY clock") == [(None, None), (None, "aligned")]
    assert codes(store)["clock_aligned"] == 3


def test_the_residual_is_the_farthest_marker(merged):
    late = export(200, utc=None, late=70).range("step/3", 1374, 1380, pid=200)
    store = merged(export(100, utc=None).range("step/3", 1300, 1390), late, marker="step/")
    assert store.fact("clock_residual_ns") == "4"
    text = next(w["text"] for w in store.warnings() if w["code"] == "clock_aligned")
    assert text.startswith("b.sqlite is on the clock of a.sqlite by 4 ranges, which lie up to 0.004 µs apart")


def test_a_residual_beyond_the_period_is_refused(merged):
    late = export(200).range("step/3", 1310, 1390, pid=200)
    with pytest.raises(Refused, match=r"4 ranges that match --align step/ lie up to .* more than 5% of their period"):
        merged(export(100).range("step/3", 1300, 1390), late, marker="step/")


def test_too_few_common_markers_are_refused(merged):
    with pytest.raises(Refused, match=r"share 1 ranges that match --align step/0 .* at least 3 are needed"):
        merged(export(100), export(200), marker="step/0")


def test_a_marker_that_is_no_pattern_is_usage(merged):
    with pytest.raises(UsageError, match="is not a regular expression"):
        merged(export(100), export(200), marker="(")


def test_files_that_do_not_overlap_are_doubted(merged):
    assert codes(merged(export(100), export(200, UTC + 3_600_000_000_000)))["files_apart"] == 1


def test_the_same_trace_twice_is_refused(tmp_path):
    path = export(100).write(tmp_path / "a.sqlite")
    with pytest.raises(InputError, match="are the same trace"):
        import_merged([path, path], tmp_path / "run.duckdb", Extras())
    assert [p.name for p in tmp_path.iterdir()] == ["a.sqlite"]


def test_a_run_file_may_be_a_part(tmp_path):
    first, second = (export(pid, gpu=pid // 200, uuid=str(pid)).write(tmp_path / f"{pid}.sqlite") for pid in (100, 200))
    import_run(first, tmp_path / "it's.duckdb", Extras())
    import_merged([tmp_path / "it's.duckdb", second], tmp_path / "run.duckdb", Extras())
    store = open_run(tmp_path / "run.duckdb")
    assert store.value("SELECT count(*) FROM op") == 6
    store.close()


def test_warnings_say_which_file_they_are_of(merged):
    store = merged(export(100), export(200).kernel("lost", 0, 0, pid=200, correlation=9))
    assert ("op_time_lost", 1) in codes(store).items()
    assert any(w["text"].startswith("b.sqlite: 1 ops have start") for w in store.warnings())
