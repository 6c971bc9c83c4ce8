"""Tests compile into a cache of their own, which is gone when they are done."""

import os
import shutil
import tempfile

import pytest

CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit it
        config.stash[CACHE] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="kane-test-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE in config.stash:
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)
