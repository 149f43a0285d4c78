"""Names in one form: nsys and Kineto spell one kernel differently, two kernels never become one."""

import time

import pytest

from stepprof.analyses.comparable_names import comparable_name, outline, tokens
from tests.real_runs import run_of

ANON_NSYS, ANON_KINETO = "<unnamed>", "(anonymous namespace)"
COPY_NSYS = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::"
    "[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>, "
    "(int)4>(int, T1, T2)"
)
COPY_KINETO = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda()#3}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4>(int, at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}, "
    "std::array<char*, 2ul>)"
)
PAIRS = [
    (COPY_NSYS, COPY_KINETO),
    ("void f<(int)10, (bool)0, (bool)1>(T2 *, const T1 *, int)", "void f<10, false, true>(float*, float const*, int)"),
    (f"void {ANON_NSYS}::g<const float, (int)-1>(T1)", f"void {ANON_KINETO}::g<float const, -1>(float const)"),
    ("void h<a::b<a::c<float>>>(T1)", "void h<a::b<a::c<float> > >(a::b<a::c<float> >)"),
    (
        "void k<void at::impl<at::F<float>>(at::It &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
        "void k<at::impl<at::F<float> >(at::It&, at::F<float> const&)::{lambda(int)#1}>(int, at::impl<at::F<float> >)",
    ),
    ("void m<(at::Kind)0, bool at::n<int>(at::Tensor)>(T1)", "void m<(at::Kind)0, at::n<int>(at::Tensor)>(int)"),
    ("[CUDA memcpy Host-to-Device]", "Memcpy HtoD (Pageable -> Device)"),
    ("[CUDA memcpy Peer-to-Peer]", "Memcpy PtoP (Device -> Device)"),
    ("[CUDA memset]", "Memset (Device)"),
    ("nvjet_sm90_tst_64x8_64x16_1x1_h_bz_NNT", "nvjet_sm90_tst_64x8_64x16_1x1_h_bz_NNT"),
]
PROGRAMS = [
    ("h200x2_overlap.sqlite", "h200x2_kineto_overlap.pt.trace.json"),
    ("h200x2_graph.sqlite", "h200x2_kineto_twocard.pt.trace.json"),
    ("h200x2_eager.sqlite", "h200x2_kineto_eager.pt.trace.json"),
    ("h200_hf_deepseek_eager.sqlite", "h200_hf_deepseek_eager.pt.trace.json"),
    ("h200_hf_deepseek_compile.sqlite", "h200_hf_deepseek_compile.pt.trace.json"),
]


@pytest.mark.parametrize(("nsys", "kineto"), PAIRS)
def test_both_spellings_have_one_form(nsys, kineto):
    assert comparable_name(nsys) == comparable_name(kineto)


def test_what_tells_kernels_apart_stays():
    names = ["f<4, 2>(int)", "f<2, 4>(int)", "f<float>()", "f<long>()", "g::f<float>()", COPY_NSYS]
    names += [COPY_NSYS.replace("instance 3", "instance 4"), "Memcpy HtoD (x)", "Memcpy DtoH (x)"]
    assert len({comparable_name(name) for name in names}) == len(names)


def test_a_mangled_name_is_met_by_its_identifiers():
    mangled = "_ZN7cutlass13device_kernelIN2at13enable_3x_forINS_4gemm4GemmILi4EEEEEEEvNT_6ParamsE"
    plain = "void cutlass::device_kernel<at::enable_3x_for<cutlass::gemm::Gemm<(int)4>>>(T1::Params)"
    assert (
        outline(mangled)
        == outline(plain)
        == ("cutlass", "device_kernel", "at", "enable_3x_for", "gemm", "Gemm", "Params")
    )
    first, second, other = tokens([mangled, plain, "void cutlass::device_kernel<at::other>(T1::Params)"])
    assert first == second != other


@pytest.mark.parametrize(
    "name", ["(" * 100_000, ")(" * 50_000, "<lambda" * 20_000, "_Z" + "9" * 100_000, "a " * 50_000, ""]
)
def test_a_hostile_name_takes_no_time(name):
    start = time.perf_counter()
    tokens([name, name + "x"])
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(("nsys", "kineto"), PROGRAMS, ids=[kineto.split(".")[0] for _, kineto in PROGRAMS])
def test_every_kineto_name_has_its_nsys_name(nsys, kineto):
    sides = [
        [text for (text,) in run_of(f).rows("SELECT DISTINCT text FROM op JOIN name USING (name_id)")]
        for f in (nsys, kineto)
    ]
    number = tokens(sides[0] + sides[1])
    theirs, ours = number[: len(sides[0])], number[len(sides[0]) :]
    assert set(ours) <= set(theirs)
    assert (len(set(theirs)), len(set(ours))) == (len(sides[0]), len(sides[1]))
