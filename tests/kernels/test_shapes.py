"""Sizes of the kernel tests and measurements are those of the runtime's presets."""

import pytest

from stepprof.kernels.shapes import PRESETS, Shapes
from stepprof.runtime.config import preset


@pytest.mark.parametrize("shapes", PRESETS, ids=lambda shapes: shapes.name)
def test_sizes_equal_the_presets(shapes: Shapes):
    config = preset(shapes.name)
    names = [name for name in shapes.__slots__ if hasattr(config, name)]
    assert {name: getattr(shapes, name) for name in names} == {name: getattr(config, name) for name in names}
    assert len(names) >= 15
    assert shapes.capacity == config.max_context + 1, "one row more for unfinished groups"
