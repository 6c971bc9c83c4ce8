"""What constraints of a robot may say, in Python and in a file, and what is said of mistakes."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from linkages import FOUR_BAR

import kane_dynamics as kd
from kane_dynamics.robot.constraint_file import read_constraints
from kane_dynamics.robot.constraints import constraints_from


def test_frames_and_directions_are_kept_in_one_form() -> None:
    loop = kd.Loop("l", "a", "b", at1=[1, 2, 3], at2=(0, 0, 0, 0, 0, 1.5))
    assert loop.at1 == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)
    assert loop.at2[5] == 1.5
    assert kd.Rolling("r", "w", 0.1, axis=(0, 2, 0)).axis == (0.0, 1.0, 0.0)
    assert kd.Coupling("c", {"a": 1, "b": -2}).factors == (("a", 1.0), ("b", -2.0))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kd.Loop("", "a", "b"), "Loop: name is '', expected a word"),
        (lambda: kd.Loop("l", "a", 3), "constraint 'l': link2 is 3, expected a name"),  # type: ignore
        (lambda: kd.Loop("l", "a", "b", at1=(1, 2)), "at1 is (1, 2), expected 3 or 6 finite"),
        (lambda: kd.Loop("l", "a", "b", keeps="all"), "keeps is 'all', expected one of 'point'"),
        (lambda: kd.Loop("l", "a", "b", active=1), "active is 1, expected True or False"),  # type: ignore
        (lambda: kd.Rolling("r", "w", 0.0), "radius is 0.0, expected a positive number"),
        (lambda: kd.Rolling("r", "w", "10 cm"), "radius is '10 cm', expected a finite number"),  # type: ignore
        (lambda: kd.Rolling("r", "w", 1.0, normal=(0, 0, 0)), "normal is (0, 0, 0), expected a"),
        (lambda: kd.Coupling("c", {}), "factors is {}, expected a dict from joint names"),
        (lambda: kd.Coupling("c", {"a": 0}), "factor of 'a' is 0, expected another number"),
        (lambda: kd.Coupling("c", {"a": float("nan")}), "factor of 'a' is nan, expected a finite"),
        (lambda: kd.Weld("w", "a", "b", at1=(0, 0, 0)), "at1 and at2 are given together"),
        (lambda: kd.Lock("k", ""), "joint is '', expected a name"),
        (lambda: kd.Lock("k", "a", most="2 rad"), "most is '2 rad', expected a finite number"),  # type: ignore
        (lambda: kd.Lock("k", "a", least=0.0, most=1.0), "a stop has either least or most"),
        (lambda: kd.Lock("k", "a", restitution=0.5), "restitution is for stops"),
        (lambda: kd.Lock("k", "a", most=1.0, restitution=2.0), "expected a number from 0 to 1"),
        (lambda: kd.Lock("k", "a", of="foot"), "of is given without a limit"),
        (lambda: kd.Lock("k", "a", limit=1.0, of=3), "of is 3, expected the name of another"),  # type: ignore
        (
            lambda: pressed_by("fot"),
            "of: there is no other constraint 'fot': expected one of 'foot'",
        ),
        (lambda: pressed_by("loop"), "of is 'loop', expected a contact, a wheel, or a lock"),
        (lambda: pressed_by("brake"), "of is 'brake', expected a contact"),
        (lambda: pressed_by("k"), "there is no other constraint 'k'"),
        (lambda: constraints_from("x"), "constraints is 'x', expected a path or a list"),
        (lambda: constraints_from([1]), "constraints: 1 is no constraint"),
        (lambda: constraints_from([kd.Lock("k", "a")] * 2), "'k' is there twice"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(make, sentence) -> None:
    with pytest.raises(kd.ArgumentError) as caught:
        make()
    assert sentence in str(caught.value)


def test_constraints_can_be_compared_copied_and_pickled() -> None:
    for each in (kd.Coupling("c", {"a": 1.0}), kd.Weld("w", "a", "b"), kd.Loop("l", "a", "b")):
        assert copy.deepcopy(each) == pickle.loads(pickle.dumps(each)) == each
        assert hash(each) == hash(copy.copy(each))


CART = """\
left:
  kind: rolling
  wheel: left_wheel
  radius: 0.1
closing: {kind: loop, link1: a, link2: world, at1: [0, 0, 1], keeps: pose}
gear:
  kind: coupling
  factors: {motor: 1, arm: -100.0}
  active: false
"""


def test_a_file_says_the_same_as_python(tmp_path: Path) -> None:
    path = tmp_path / "cart.yaml"
    path.write_text(CART)
    assert read_constraints(path) == (
        kd.Rolling("left", "left_wheel", 0.1),
        kd.Loop("closing", "a", "world", at1=(0, 0, 1), keeps="pose"),
        kd.Coupling("gear", {"motor": 1.0, "arm": -100.0}, active=False),
    )
    path.write_text("")
    assert read_constraints(path) == ()


def pressed_by(of: str) -> None:
    others = [kd.Contact("foot", "a"), kd.Loop("loop", "a", "b"), kd.Lock("brake", "b", limit=1.0)]
    constraints_from([*others, kd.Lock("k", "a", limit=1.0, of=of)])


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (CART.replace("0.1", "10 cm"), 4, "radius is '10 cm', expected a finite number"),
        (CART.replace("wheel:", "wheels:"), 3, "there is no field of a rolling 'wheels'"),
        (CART.replace("  wheel: left_wheel\n", ""), 2, "constraint 'left': wheel is missing"),
        (CART.replace("kind: rolling", "kind: roll"), 2, "kind is 'roll', expected one of loop"),
        (CART.replace("  kind: rolling\n", ""), 2, "has no kind"),
        (CART.replace("gear", "left"), 6, "'left' is there twice"),
        (CART + "  limit: 0.5\n  of: righ\n", 11, "of: there is no other constraint 'righ'"),
        (CART.replace("false", "maybe"), 9, "active is 'maybe', expected True or False"),
        (CART.replace("[0, 0, 1]", "[0, 0, 1"), 5, "no YAML"),
        ("- a\n", 1, "expected constraints by name, got a sequence"),
        ("\nleft: 3\n", 2, "expected the fields of constraint 'left', got a scalar"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(tmp_path, text, line, sentence) -> None:
    path = tmp_path / "cart.yaml"
    path.write_text(text)
    with pytest.raises(kd.ModelError) as caught:
        read_constraints(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("k: {kind: lock, joint: a}\n\nj:\n  kind: lock\n  joint: elbo\n", 3, "'elbo': expected"),
        (
            "l: {kind: loop, link1: crnk, link2: world}",
            1,
            "constraint 'l': there is no link 'crnk'",
        ),
        ("l: {kind: loop, link1: crank, link2: crank}", 1, "do not move relative to each other"),
    ],
)
def test_names_that_the_robot_does_not_have_are_named_with_their_line(
    tmp_path: Path, text: str, line: int, sentence: str
) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(text)
    with pytest.raises(kd.ModelError) as caught:
        kd.load(FOUR_BAR, constraints=path)
    assert str(caught.value).startswith(f"{path}:{line}: constraint ")
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(kd.ModelError, match=r"none\.yaml: cannot be read"):
        read_constraints(tmp_path / "none.yaml")
