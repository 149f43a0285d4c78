"""A kernel's name in a few words: what tells it from others."""

import pytest

from stepprof.analyses.short_names import short_name

COPY = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        pytest.param("gemm", "gemm", id="plain"),
        pytest.param("void fused::rms_norm<float, 4>(float*)", "rms_norm", id="namespace and arguments"),
        pytest.param("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", id="no C++ at all"),
        pytest.param(
            f"void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<{COPY}>>(int, T1)",
            "direct_copy_kernel_cuda",
            id="ATen wrapper, what it copies",
        ),
        pytest.param(
            "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>, std::array<char*, 3>>",
            "CUDAFunctor_add",
            id="ATen wrapper, its functor",
        ),
        pytest.param(
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>>>(T3)",
            "MeanOps",
            id="ATen reduction, its operation",
        ),
        pytest.param(
            "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>>>(Params)",
            "GemmUniversal",
            id="CUTLASS wrapper",
        ),
        pytest.param(
            "void (anonymous namespace)::softmax_warp_forward<float>(float*)", "softmax_warp_forward", id="anonymous"
        ),
        pytest.param("[CUDA memcpy Host-to-Device]", "[CUDA memcpy Host-to-Device]", id="memcpy"),
        pytest.param("void elementwise_kernel<128>(int)", "elementwise_kernel", id="a wrapper of nothing known"),
        pytest.param("_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalEEEvT_", "GemmUniversal", id="mangled"),
        pytest.param("a\x1b[31mred\n", "a", id="control characters"),
        pytest.param("", "", id="nameless"),
    ],
)
def test_short_name(name, short):
    assert short_name(name) == short


def test_it_is_never_longer_than_the_limit():
    assert short_name("x" * 200) == "x" * 48
    assert short_name("x" * 200, limit=5) == "xxxxx"


def test_control_characters_never_come_out():
    assert short_name("\x1bk\x07er\u202enel") == "kernel"


def test_a_very_long_name_is_no_burden():
    """Names of a million characters occur; only the first ones are read."""
    assert short_name("void " + "ns::" * 250_000 + "kernel<int>(int)")
