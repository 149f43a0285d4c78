"""Without torch, which only the extra [runtime] brings, there is nothing to test here."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
