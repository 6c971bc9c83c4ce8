"""Messages, settings and requests that nobody means, as many as a moment allows: scripts/fuzz."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.__main__ import corpus, fuzz
from fuzz.ros_targets import TARGETS

COUNTS = {"parameters": 1000, "requests": 40}
OTHERS = 1000


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_nobody_means_are_read_right_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for data in [*corpus(name), *TARGETS[name].seeds()]:
        TARGETS[name].run(data)
    assert fuzz(name, TARGETS[name], COUNTS.get(name, OTHERS), 10) == {}
