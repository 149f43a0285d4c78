"""SwiGLU against the reference; values beyond the limits are among the inputs."""

import pytest

from stepprof.kernels.swiglu import swiglu
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "I": 1}, {"T": 6, "I": 63}, {"T": 2, "I": 1000}]


@pytest.mark.parametrize(("place", "size"), cases(SMALL, [{"T": 6, "I": 256}, {"T": 192, "I": 640}]))
def test_swiglu(place: Place, size: Size):
    both = place.normal(size["T"], 2 * size["I"], std=8)
    place.close(swiglu(both, limit=10.0, backend="triton"), swiglu(both, limit=10.0, backend="reference"))
