"""Inputs that once went wrong, and some thousand that nobody has seen: read right, or refused."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.__main__ import corpus, fuzz
from fuzz.targets import CORPUS, TARGETS, Target

COUNTS = {"urdf": 300, "constraints": 60, "cache": 2000}


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", TARGETS)
def test_what_once_went_wrong_is_read_or_refused(name: str) -> None:
    for data in [*corpus(name), *TARGETS[name].seeds()]:
        TARGETS[name].run(data)


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_inputs_are_read_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fuzz(name, TARGETS[name], COUNTS[name], 10) == {}


def test_a_good_robot_is_the_same_to_urdfdom() -> None:
    pytest.importorskip("pinocchio")
    outcomes = {TARGETS["urdf"].run(data) for data in TARGETS["urdf"].seeds()}
    assert outcomes == {"the same robot"}


def test_a_target_that_goes_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(data: bytes) -> str:
        assert b"\xff" not in data
        return "read"

    monkeypatch.chdir(tmp_path)
    (place,) = fuzz("wrong", Target(fails, lambda: [bytes(20)], [b"\xff"]), 500, 0)
    assert place.startswith("AssertionError")
    assert list((tmp_path / "failures" / "wrong").iterdir())


def test_the_corpus_is_of_known_targets() -> None:
    known = {*TARGETS, "joint_states", "joint_trajectory", "robot_description"}
    assert {path.name for path in CORPUS.iterdir()} <= known | {"parameters", "requests"}
