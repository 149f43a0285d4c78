"""Runs every runtime test on one thread: ops as small as these lose more to threads than they win.

Without torch, which only the extra [runtime] brings, there is nothing to test here.
"""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """Restored afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
