"""Op names with their time and role, doubtful ones first."""

from stepprof.analyses.role_table import NamedRole, role_table
from tests.analyses.accounts import account
from tests.trace_builder import TraceBuilder

GEMM = "nvjet_tst_64x8_64x16"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>(int)"
ADD = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>>(int)"


def a_step() -> TraceBuilder:
    """gemm 20–50 in attention, copy 50–70 in experts, add 70–73, mystery 73–75 and 75–79, gemm 79–80."""
    trace = TraceBuilder().range("step/0", 0, 100).range("layer/0/attention", 2, 4).range("layer/0/experts", 4, 6)
    trace.kernel(GEMM, 20, 50, call=(2, 3)).kernel(COPY, 50, 70, call=(4, 5)).kernel(ADD, 70, 73, call=(7, 8))
    trace.kernel("mystery", 73, 75, call=(9, 10)).kernel("mystery", 75, 79, call=(11, 12))
    return trace.kernel(GEMM, 79, 80, call=(13, 14))


def test_unknown_roles_then_misfits_then_low_confidence_then_work():
    table = role_table(account(a_step()))

    assert [(r.short_name, r.role, r.kind, r.confidence, r.fits) for r in table] == [
        ("mystery", "unknown", "other", "none", True),
        ("direct_copy_kernel_cuda", "expert_gemm", "copy", "label", False),
        ("CUDAFunctor_add", "elementwise", "elementwise", "low", True),
        (GEMM, "attention", "gemm", "label", True),
        (GEMM, "dense_gemm", "gemm", "medium", True),
    ]


def test_one_row_for_ops_of_one_name_decided_alike():
    """Mystery runs twice, 2 + 4; the gemm's two roles are two rows."""
    table = role_table(account(a_step()))

    assert table[0] == NamedRole("mystery", "mystery", 2, 6, 6, "unknown", "other", "", "none", True)
    assert [(r.ops, r.work_ns, r.rule) for r in table[3:]] == [(1, 30, "layer.role"), (1, 1, "dense_gemm.cublaslt")]


def test_work_that_is_hidden_is_not_exposed():
    found = account(a_step().kernel("hidden", 21, 31, call=(15, 16), stream=8))
    (row,) = (r for r in role_table(found) if r.name == "hidden")

    assert (row.work_ns, row.exposed_ns) == (10, 0)


def test_ops_outside_steps_do_not_count():
    trace = a_step().kernel("stray", 85, 90, call=(3, 4), process=1, stream=8)
    assert "stray" not in {row.name for row in role_table(account(trace))}


def test_work_orders_within_a_doubt():
    table = role_table(account(a_step().kernel("riddle", 81, 95, call=(15, 16))))
    assert [row.name for row in table[:2]] == ["riddle", "mystery"]
