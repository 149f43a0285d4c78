"""Every kernel compiles for an H200, where no GPU is at hand to say so."""

import json
import os
import subprocess
import sys

import pytest
import torch

from tests.kernels.test_kernel_names import KINDS
from tests.repository import ROOT


@pytest.mark.skipif(torch.cuda.is_available(), reason="the GPU tests compile them")
def test_every_kernel_compiles_for_an_h200():
    pytest.importorskip("triton")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    script = [sys.executable, "-W", "ignore", str(ROOT / "tests/kernels/compiler.py")]
    run = subprocess.run(script, check=False, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert {line["kernel"].split(".")[-1] for line in lines} == set(KINDS)
    found = {(line["kernel"].split(".")[-1], word) for line in lines for word in line["ptx"]}
    assert found >= {
        ("wait_flag_kernel", "ld.acquire.sys.global"),
        ("wait_flag_kernel", "%globaltimer"),
        ("signal_kernel", "st.release.sys.global"),
        ("mhc_boundary_gemm_kernel", "atom.global.gpu.acq_rel"),
        ("moe_front_gemm_kernel", "atom.global.gpu.acq_rel"),
    }
