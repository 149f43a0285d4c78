"""What a machine lacks skips a test; under STEPPROF_TEST_COLLECTOR=1, as .ci/run sets it, it fails: lacking(reason)."""

import os
from typing import NoReturn

import pytest


def lacking(reason: str) -> NoReturn:
    """For what the tests of the collector need: a compiler, headers, a package index."""
    if os.environ.get("STEPPROF_TEST_COLLECTOR"):
        pytest.fail(f"STEPPROF_TEST_COLLECTOR is set, and {reason}", pytrace=False)
    pytest.skip(reason)
