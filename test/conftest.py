"""Tests compile into a cache of their own; those whose oracles are not installed are left out."""

import gc
import os
import re
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CACHE = pytest.StashKey[str]()


def missing_oracles() -> list[str]:
    """What answers of ours are compared with, as far as it is not installed."""
    missing = [name for name in ("pinocchio", "mujoco") if find_spec(name) is None]
    try:
        distribution("example-robot-data")
    except PackageNotFoundError:
        missing.append("example-robot-data")
    return missing


def with_oracles() -> list[str]:
    """Tests that cannot be imported without them."""
    imports = re.compile(r"^(?:from|import) (?:oracle|pinocchio|mujoco|random_robots)\b", re.M)
    return [path.name for path in HERE.glob("test_*.py") if imports.search(path.read_text())]


collect_ignore = with_oracles() if missing_oracles() else []


def pytest_report_header() -> str | None:
    if not collect_ignore:
        return None
    names = ", ".join(missing_oracles())
    return f"{len(collect_ignore)} files of tests are left out: they need {names}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test in real time need not be read by who asks for nothing else."""
    if config.option.markexpr != "real_time" or collection_path.suffix != ".py":
        return None
    return "pytest.mark.real_time" not in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_finish() -> None:
    """Look for garbage less often than Python does, which takes a third of every derivation.

    What is there now, some 10^5 objects, stays until the end.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit it
        config.stash[CACHE] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="kane-test-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE in config.stash:
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)
