"""The profiler reads what a kernel does from its name: each of ours must say the kind that the runtime's truth says."""

import pytest

from stepprof.analyses.names import kind_of_name
from tests.repository import ROOT

KINDS = {
    "rms_norm_kernel": "norm",
    "rms_norm_quant_kernel": "norm",
    "rope_kernel": "elementwise",
    "norm_rope_kernel": "norm",
    "norm_rope_insert_kernel": "norm",
    "latent_norm_rope_insert_kernel": "norm",
    "swiglu_kernel": "elementwise",
    "compress_softmax_kernel": "reduce",
    "router_topk_kernel": "topk",
    "moe_front_gemm_kernel": "gemm",
    "cold_rows_copy_kernel": "copy",
    "add_rows_elementwise_kernel": "elementwise",
    "impose_elementwise_kernel": "elementwise",
    "mhc_logits_gemm_kernel": "gemm",
    "mhc_rms_norm_kernel": "norm",
    "mhc_pre_rms_norm_kernel": "norm",
    "mhc_post_weights_kernel": "elementwise",
    "mhc_post_mix_kernel": "elementwise",
    "mhc_boundary_gemm_kernel": "gemm",
    "index_logits_gemm_kernel": "gemm",
    "index_topk_kernel": "topk",
    "index_table_elementwise_kernel": "elementwise",
    "sparse_decode_kernel": "attention",
    "merge_attn_states_kernel": "attention",
    "expert_gemm_up_gate_kernel": "gemm",
    "expert_gemm_down_kernel": "gemm",
    "moe_sum_kernel": "reduce",
    "dense_gemm_kernel": "gemm",
    "splitk_reduce_kernel": "reduce",
    "argmax_tiles_kernel": "reduce",
    "argmax_keep_kernel": "reduce",
    "softmax_kernel": "reduce",
    "residual_mass_kernel": "reduce",
    "accept_resample_kernel": "reduce",
    "bump_elementwise_kernel": "elementwise",
    "signal_kernel": "copy",
    "wait_flag_kernel": "wait",
    "pad_elementwise_kernel": "elementwise",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items(), ids=str)
def test_a_name_says_its_kind(name: str, kind: str):
    assert kind_of_name(name) == kind


def test_every_kernel_is_listed():
    """Kernels are the jitted functions whose name ends in _kernel."""
    text = "\n".join(path.read_text() for path in (ROOT / "kernels").rglob("*.py"))
    found = {word.split("(")[0] for word in text.split("def ")[1:] if word.split("(")[0].endswith("_kernel")}
    assert found - {"_has_kernel"} == set(KINDS)
