"""The wheel holds exactly what git holds, built by way of the sdist; nothing here installs it."""

import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.repository import ROOT, files

PACKAGE = ".package/stepprof"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the sdist of a clean copy, so that no old build output can slip in."""
    checkout = tmp_path_factory.mktemp("checkout")
    for path in files():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, checkout / path, follow_symlinks=False)

    build = [sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", "dist"]
    result = subprocess.run(build, cwd=checkout, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return next((checkout / "dist").glob("*.whl"))


def linked_folders() -> list[str]:
    """The folders at the root that are imported as `stepprof.<folder>`."""
    return [path.name for path in (ROOT / PACKAGE).iterdir() if path.is_symlink()]


def test_wheel_equals_tracked_files(wheel: Path):
    own = {f"stepprof/{name}" for name in ("__init__.py", "py.typed")}
    tracked = {f"stepprof/{path}" for path in files() if path.split("/")[0] in linked_folders()}

    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert packed == own | tracked


def test_wheel_carries_license_and_typing_marker(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "stepprof/py.typed" in names


def test_links_are_relative_and_reach_the_root_folders():
    links = {name: (ROOT / PACKAGE / name).readlink() for name in linked_folders()}
    assert links == {name: Path("../..") / name for name in links}
    assert {"profiler", "analyses"} <= links.keys()


def test_console_script_loads():
    (script,) = entry_points(group="console_scripts", name="stepprof")
    assert callable(script.load())
