"""What is read from outside without ROS: robots, constraints, entries of the cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import kane_dynamics as kd
from kane_dynamics.codegen.cache import FORMAT, open_cache
from kane_dynamics.robot.constraint_file import read_constraints

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).with_name("corpus")
_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*|\bnan\b|\binf\b")


@dataclass(frozen=True)
class Target:
    """Something that reads bytes.

    Attributes
    ----------
    run : callable
        Reads an input, and says in a few words what came of it; raises whatever is wrong.
    seeds : callable
        Good inputs.
    words : sequence of bytes
        Of the language of the inputs, if they have one.
    longest : int
        Bytes of an input that is made.
    """

    run: Callable[[bytes], str]
    seeds: Callable[[], list[bytes]]
    words: Sequence[bytes] = ()
    longest: int = 8000


def outcome(error: Exception) -> str:
    """The sentence of an error, without what differs from one input to the next."""
    sentence = str(error)
    assert sentence, "an error without a sentence"
    assert "\n" not in sentence.strip(), f"more than a line: {sentence!r}"
    return _VARIES.sub("…", sentence.partition(": ")[2] or sentence)[:120]


# ------------------------------------------------------------------------------------------- URDF
_MASSES = 1e-9
"""Share by which masses and torques may differ from those of Pinocchio."""

_URDF_WORDS = [
    *(f"<{tag}>".encode() for tag in ("link", "joint", "inertial", "inertia", "origin", "axis")),
    *(f"</{tag}>".encode() for tag in ("link", "joint", "inertial", "robot")),
    *(
        b'type="%s"' % kind
        for kind in b"revolute continuous prismatic fixed planar floating".split()
    ),
    *(b'<%s link="B"/>' % tag for tag in (b"parent", b"child")),
    b'<mimic joint="joint1" multiplier="2" offset="0.1"/>',
    b'<limit lower="-1" upper="1" effort="1" velocity="1"/>',
    b'<dynamics damping="0.1" friction="0.2"/>',
    b'<origin rpy="1 2 3" xyz="0 0 0.1"/>',
    b'<axis xyz="0 1 1"/>',
    b'<mass value="2"/>',
    b'<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>',
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b'<!DOCTYPE robot [<!ENTITY a "b">]>',
    b"&amp;",
    b"&#x30;",
    "١".encode(),
    b"\xff\xfe",
    b'encoding="utf-16"',
]
_ROBOT = b"""<?xml version="1.0"?><robot name="r"><link name="A"><inertial><origin xyz="0 0.5 0.1"/>
<mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/>
</inertial></link>
<link name="B"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0"
iyz="0"/></inertial></link><link name="C"/><joint name="joint1" type="revolute"><parent link="A"/>
<child link="B"/><origin xyz="0.1 0 0.2" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/><limit lower="-1"
upper="1" effort="5" velocity="2"/></joint><joint name="joint2" type="prismatic"><parent link="B"/>
<child link="C"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/>
</joint></robot>
"""


def _urdf_seeds() -> list[bytes]:
    return [_ROBOT, (ROOT / "urdf" / "two_link_arm.urdf").read_bytes()]


def _read_urdf(data: bytes) -> str:
    try:
        robot = kd.read_urdf(data if b"<" in data else data + b"<")
    except kd.ModelError as error:
        return outcome(error)
    if robot.name == "" or len(robot.links) > 50:
        return "read"
    return _beside_urdfdom(robot, data)


def _beside_urdfdom(robot: kd.Robot, data: bytes) -> str:
    """Where urdfdom reads it, too, it is the same robot: masses, joints, torques."""
    try:
        import pinocchio as pin
    except ImportError:
        return "read"
    if any(joint.kind not in _SAME_KINDS for joint in robot.joints):
        return "read, of other kinds"
    try:
        model = pin.buildModelFromXML(data.decode())
    except (ValueError, RuntimeError):
        return "read, urdfdom refuses"
    try:
        arm = kd.load(robot, backend="numpy", cache=False)
    except kd.KaneDynamicsError as error:
        return "no arm: " + outcome(error)
    q = np.linspace(0.3, 0.9, arm.dof)
    try:
        found = dict(zip(arm.joint_names, arm.gravity(q)))
    except kd.KaneDynamicsError as error:
        return "no gravity: " + outcome(error)
    names = list(model.names)[1:]
    if set(names) != set(found) or model.nv != arm.dof:
        assert any(joint.mimic for joint in robot.joints), (names, list(found))
        return "read, mimics"
    placed = pin.neutral(model)
    for name in names:
        joint = model.joints[model.getJointId(name)]
        angle = q[arm.joint_names.index(name)]
        turns = joint.nq == 2
        placed[joint.idx_q : joint.idx_q + joint.nq] = (
            [np.cos(angle), np.sin(angle)] if turns else [angle]
        )
    torque = pin.computeGeneralizedGravity(model, model.createData(), placed)
    there = {name: torque[model.joints[model.getJointId(name)].idx_v] for name in names}
    most = max((abs(found[name] - there[name]) for name in names), default=0.0)
    size = 9.81 * sum(link.inertia.mass for link in robot.links if link.inertia)
    centers = [abs(x) for link in robot.links if link.inertia for x in link.inertia.center]
    size *= (
        1.0
        + sum(abs(x) for joint in robot.joints for x in joint.translation)
        + max(centers, default=0.0)
    )
    assert not most > _MASSES * size, (found, there)
    return "the same robot"


_SAME_KINDS = {"revolute", "continuous", "prismatic", "fixed"}


# ------------------------------------------------------------------------------------ constraints
_CONSTRAINTS = b"""left_wheel:
  kind: rolling
  wheel: left_wheel_link
  radius: 0.1
gear:
  kind: coupling
  factors: {motor: 1.0, arm: -100.0}
  active: false
loop:
  kind: loop
  links: [a, b]
"""
_YAML_WORDS = [
    *(b"kind: %s\n" % kind for kind in b"loop rolling coupling lock weld contact".split()),
    *b"&a *a !!int !!float !!binary !!timestamp !!set !!python/object:os.system".split(),
    *b"<<: | > --- ...".split(),
    *b"2001-99-99 12:99:99 0b 0x 0o9 ~ null true yes {}: [[[[ }}}} ]]] ? :".split(),
    *(b"\t", b"\n", b"  ", b"- ", b": ", b"# ", b"\xff", b"%YAML 9.9\n", b'"\\x', b"'"),
    *b"wheel radius factors joint value links axis point first second active".split(),
    b"[" * 1000,
    b"{a: " * 300,
]


@cache
def _scratch() -> Path:
    """A folder in memory, where there is one."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="kane-fuzz-", dir=memory if memory.is_dir() else None))


def _read_constraints(data: bytes) -> str:
    path = _scratch() / "constraints.yaml"
    path.write_bytes(data)
    try:
        found = read_constraints(path)
    except kd.ModelError as error:
        assert str(path) in str(error), error  # noqa: PT017
        return outcome(error)
    for each in found:
        assert isinstance(each.name, str)
    return f"{len(found)} constraints"


# ------------------------------------------------------------------------------------- the cache
_KEY, _CONTENT = "a" * 64, bytes(range(256)) * 2


def _entry(content: bytes, key: str = _KEY) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    return json.dumps({"format": FORMAT, "key": key, "sha256": digest}).encode() + b"\n" + content


def _read_entry(data: bytes) -> str:
    place = _scratch() / "cache"
    cache = _caches.get(place)
    if cache is None:
        place.mkdir(mode=0o700, exist_ok=True)
        cache = _caches[place] = open_cache(place)
    descriptor = os.open(place / f"{_KEY}.entry", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)
    found = cache.read(_KEY)
    if found is None:
        return "refused"
    header, _, content = data.partition(b"\n")
    assert found == content, "something else than what is written"
    said = json.loads(header)
    assert said == {
        "format": FORMAT,
        "key": _KEY,
        "sha256": hashlib.sha256(content).hexdigest(),
    }, "an entry that does not fit its header is trusted"
    return "taken"


_caches: dict[Path, object] = {}


TARGETS = {
    "urdf": Target(_read_urdf, _urdf_seeds, _URDF_WORDS),
    "constraints": Target(_read_constraints, lambda: [_CONSTRAINTS], _YAML_WORDS, 1200),
    "cache": Target(
        _read_entry,
        lambda: [_entry(_CONTENT), _entry(b""), _entry(b"\n"), _entry(b"x", "b" * 64)],
    ),
}
