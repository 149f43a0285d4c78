"""What kernel names say: kinds of real names, mangled as demangled, hostile names in no time."""

import time

import pytest

from stepprof.analyses.names import kind_of_name, readable, role_of_name
from stepprof.analyses.vocabulary import MEMCPY, MEMSET

# read in captures; both spellings of template literals, both of the unnamed namespace
KINDS_OF_NAMES = """
gemm        nvjet_sm90_tst_128x8_64x12_2x1_v_bz_NNT
gemm        nvjet_sm90_tst_64x32_64x16_4x2_h_bz_splitK_TNT
gemm        sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_execute_split_k_kernel__5x_cublas
gemm        void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(T1::Params)
gemm        void gemmSN_NN_kernel<float, (int)128, (int)2, (int)4>(cublasGemmSmallNParams<T9, T10, T11, T1>)
gemm        void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>
gemm        std::enable_if<true, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>
gemm        void dot_kernel<float, (int)128, (int)0, cublasDotParams<const float>>(T4)
gemm        void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<int>>>
gemm        _matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu
gemm        bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_clmp_swiGlu_dynBatch_sm100f
gemm        fused_moe_kernel
gemm        void marlin::Marlin<__nv_bfloat16, 1125899906909960l, 256, 1, 8, 8, true, 4, 2, false>
gemm        void router_gemm_kernel_float_output<__nv_bfloat16, 128, 8, 6, 384, 5120>
gemm        void deep_gemm::sm100_tf32_hc_prenorm_gemm_impl<24u, 20480u, 64u, 32u>
gemm        triton_tem_fused_addmm_3
gemm        triton_red_fused_mm_0
attention   cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0
attention   void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4>>
attention   fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext
attention   void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<...>>
attention   kernel_unified_attention_2d
topk        void at::native::sbtopk::gatherTopK<float, unsigned int, (int)2, (bool)0>(T2)
topk        void vllm::moe::topkGatingSoftplusSqrt<8, 384, 4, 16, 32, int>
topk        void vllm::persistent::persistent_topk_kernel<512>
sort        void at::native::bitonicSortKVInPlace<(int)2, (int)-1, (int)16, (int)16, float, long>
sort        void at::native::radixSortKVInPlace<(int)-2, (int)-1, (int)32, (int)32, long, long, unsigned int>
sort        void cub::CUB_300001_SM_1000::detail::radix_sort::DeviceRadixSortOnesweepKernel<...>
sort        triton_per_fused__to_copy_arange_index_put_sort_view_19
norm        void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float, (bool)0>(int, T2)
norm        void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>
norm        triton_per_fused__to_copy__unsafe_view_add_mean_mul_pow_rsqrt_1
norm        triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0
norm        _ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib
reduce      void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __nv_bfloat16, float, __nv_bfloat16>
reduce      void reduce_1Block_kernel<float, (int)128, (int)7, cublasGemvTensorStridedBatched<float>>
reduce      void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float>>>
reduce      void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>
reduce      void <unnamed>::softmax_warp_forward<float, float, float, (int)10, (bool)0, (bool)0>(T2 *, const T1 *)
reduce      void at_cuda_detail::cub::detail::scan::DeviceScanKernel<at_cuda_detail::cub::detail::scan::policy_hub<int>>
reduce      void at::cuda::kernelHistogram1D<int, int, long, (int)1, (int)2, (int)-1>
reduce      triton_per_fused_cumsum_20
reduce      void moe::dev::finalize::finalizeKernelVecLoad<...>
quant       void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, true, false>
quant       void tensorrt_llm::kernels::quantize_with_block_size<(BlockScaleQuantizationType)2, __nv_bfloat16, 32, true>
elementwise void at::native::vectorized_elementwise_kernel<(int)8, at::native::CUDAFunctor_add<c10::BFloat16>>(int)
elementwise void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::silu_kernel>>(int, T3)
elementwise void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4>
elementwise void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &)>
elementwise void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::masked_fill_kernel(int)>
elementwise void at::cuda::detail::prepare_grouped_gemm_data<cutlass::bfloat16_t, cutlass::bfloat16_t>
elementwise void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*)
elementwise void vllm::act_and_mul_kernel<__nv_bfloat16, &vllm::silu_kernel<__nv_bfloat16>, true>
elementwise triton_poi_fused__grouped_mm_ge_masked_fill_mul_silu_split_transpose_unsqueeze_22
elementwise triton_poi_fused_0
copy        void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda>
copy        void at::native::vectorized_elementwise_kernel<(int)8, at::native::bfloat16_copy_kernel_cuda(int)>
copy        void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned int)2>>
copy        void at::native::<unnamed>::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, (int)2>
copy        void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int)
copy        void at::native::index_elementwise_kernel<(int)128, (int)4, at::native::index_copy_kernel_impl<int>>(long, T3)
copy        void at::native::_scatter_gather_elementwise_kernel<(int)128, (int)8>(int, T3)
copy        void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>
copy        triton_poi_fused__to_copy_13
copy        triton_poi_fused__unsafe_view_cat_split_with_sizes_transpose_view_7
collective  ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
collective  void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, ...)
wait        void spin_wait_kernel(unsigned int volatile*, unsigned int)
wait        wait_for_answer(int*)
memset      void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int, T2, T3)
other       _rejection_kernel
other       my_own_kernel
"""
LISTED = [line.split(maxsplit=1) for line in KINDS_OF_NAMES.strip().splitlines()]


@pytest.mark.parametrize(("kind", "name"), LISTED, ids=[name[:60] for _, name in LISTED])
def test_kind_of_a_real_name(kind: str, name: str):
    assert kind_of_name(name) == kind


def test_activities_that_are_not_kernels_say_their_kind_themselves():
    assert kind_of_name("nvjet_tst_64x8", MEMCPY) == "copy"
    assert kind_of_name("", MEMSET) == "memset"


GROUPED = (
    "_ZN7cutlass13device_kernelIN2at4cuda6detail25enable_3x_kernel_for_sm9xINS_4gemm6kernel13GemmUniversal"
    "INS5_17GroupProblemShapeIN4cute5tupleIJiiiEEEEENS5_10collective13CollectiveMmaINS5_39MainloopSm90ArrayTmaGmma"
    "WarpSpecializedILi4ENSA_IJNS9_1CILi2EEENSG_ILi1EEESI_EEE"
)
MANGLED = {
    GROUPED: "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::kernel::"
    "GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>>>>",
    "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEE": "void cutlass::device_kernel<"
    "cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>>>",
    "_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16ELi8EEEvPT_": "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>",
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_10ArgMaxOpsIfEEjlLi4ELi4EEEEEvT1_": "void at::native::"
    "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>",
    "_Z16spin_wait_kernelPVjj": "spin_wait_kernel(unsigned int volatile*, unsigned int)",
}


@pytest.mark.parametrize(("mangled", "demangled"), MANGLED.items(), ids=[name[:50] for name in MANGLED])
def test_a_mangled_name_says_what_the_demangled_one_says(mangled: str, demangled: str):
    assert role_of_name(mangled) == role_of_name(demangled)
    assert kind_of_name(mangled) == kind_of_name(demangled)


def test_grouped_gemms_are_expert_gemms():
    assert role_of_name(GROUPED).role == "expert_gemm"


def test_readable_skips_literals_types_and_back_references():
    mangled = "_ZN5aiter4normIDF16bLi256ELN4cute5MajorE2ENS1_12_GLOBAL__N_18EpilogueEEvPT0_"
    assert readable(mangled) == "aiter::norm<cute::Major::(anonymous namespace)::Epilogue"
    assert readable("nvjet_tst") == "nvjet_tst"


def test_a_fused_kernel_lists_its_parts():
    found = role_of_name("void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>")
    assert (found.role, found.parts) == ("norm", ("norm", "quant"))


HOSTILE = {
    "empty": "",
    "one letter": "a" * 100_000,
    "a word of many patterns": "fused" * 20_000,
    "inductor": "triton_poi_fused_" + "to_copy_" * 10_000 + "!",
    "reductions": "triton_per_fused" * 600,
    "regex specials": "(((*[+?\\{" * 1_200,
    "unicode": "kérnel_核\u0000\U0001f600 " * 1_000,
    "mangled lengths": "_ZN" + "9" * 10_000,
    "mangled length beyond the end": "_ZN999abc",
    "mangled templates": "_ZN" + "3abcI" * 3_000,
    "line feeds": "gemm\n" * 2_000,
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_are_read_in_no_time(name: str):
    start = time.perf_counter()
    assert role_of_name(name).role and kind_of_name(name)
    assert time.perf_counter() - start < 1
