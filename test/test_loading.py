"""What `kd.load` makes of a robot: joints, locks, friction, gravity, base and backend."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import random_states, robot_path

import kane_dynamics as kd

INERTIAL = """<inertial><origin xyz="0.2 0.1 -0.3" rpy="0.3 0.2 0.1"/><mass value="2"/>
<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>"""
LIMIT = '<limit lower="-2" upper="1.5" velocity="3" effort="40"/>'

BRANCHED = f"""<robot name="branched"><link name="base"/>
<link name="upper">{INERTIAL}</link><link name="lower">{INERTIAL}</link>
<link name="slide">{INERTIAL}</link><link name="finger">{INERTIAL}</link>
<joint name="finger_joint" type="prismatic"><origin xyz="0 0.1 0.2" rpy="0.1 0 0"/>
<parent link="slide"/><child link="finger"/><axis xyz="0 1 0"/>{LIMIT}
<mimic joint="slide_joint" multiplier="-2" offset="0.1"/><dynamics damping="0.5" friction="0.3"/>
</joint>
<joint name="slide_joint" type="prismatic"><origin xyz="0.1 0.3 0"/><parent link="lower"/>
<child link="slide"/><axis xyz="1 0 0"/>{LIMIT}<dynamics damping="2" friction="0.7"/></joint>
<joint name="elbow" type="revolute"><origin xyz="0.5 0 0.1" rpy="0 0.4 0"/><parent link="upper"/>
<child link="lower"/><axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="shoulder" type="continuous"><origin xyz="0 0 1"/><parent link="base"/>
<child link="upper"/><axis xyz="0 1 1"/><dynamics damping="0.25"/></joint></robot>"""


def load(source: Any = BRANCHED, **options: Any) -> kd.Dynamics:
    return kd.load(source, **{"backend": "numpy", **options})


def torques(arm: kd.Dynamics) -> np.ndarray:
    """At some motion, the same for all robots with as many joints."""
    states = random_states(arm, count=10)
    return arm.inverse_dynamics(states.q, states.u, states.udot)


# ------------------------------------------------------------------------------------- sources
def test_a_robot_may_come_as_path_text_bytes_or_value(tmp_path: Path) -> None:
    path = tmp_path / "branched.urdf"
    path.write_text(BRANCHED)
    expected = torques(load(BRANCHED))
    for source in (path, str(path), BRANCHED.encode(), kd.read_urdf(path)):
        np.testing.assert_array_equal(torques(load(source)), expected)


def test_what_is_no_robot_is_refused() -> None:
    for source in ("no_such_file.urdf", "<robot/>", "", b"\xff\xfe"):
        with pytest.raises(kd.KaneDynamicsError):
            load(source)
    for source in (None, 3, ["panda.urdf"]):
        with pytest.raises(kd.ArgumentError):
            load(source)


# ------------------------------------------------------------------------------ joints and names
def test_vectors_are_in_the_order_of_the_file() -> None:
    arm = load()
    assert arm.joint_names == ("slide_joint", "elbow", "shoulder")
    assert arm.coordinate_names == arm.speed_names == arm.joint_names
    assert (arm.nq, arm.dof) == (3, 3)
    assert arm.link_names == ("base", "upper", "lower", "slide", "finger")
    for order in (["shoulder", "slide_joint"], ("slide_joint", "shoulder"), {"shoulder": 1}.keys()):
        assert load(joints=order, locked={"elbow": 0.3}).joint_names[-1] == "shoulder"
    chosen = load(joints=["shoulder", "slide_joint"], locked={"elbow": 0.3})
    assert chosen.joint_names == ("slide_joint", "shoulder")


def test_joints_may_come_from_an_iterator() -> None:
    assert load(joints=iter(["elbow"])).joint_names == ("elbow",)


def test_a_floating_base_comes_first() -> None:
    arm = load(base="floating")
    pose = ("base.x", "base.y", "base.z", "base.qx", "base.qy", "base.qz", "base.qw")
    twist = ("base.vx", "base.vy", "base.vz", "base.wx", "base.wy", "base.wz")
    assert arm.coordinate_names == (*pose, *arm.joint_names)
    assert arm.speed_names == (*twist, *arm.joint_names)
    assert (arm.nq, arm.dof) == (10, 9)


def test_limits_are_those_of_the_file() -> None:
    limits = load().limits
    np.testing.assert_array_equal(limits.lower, [-2, -2, -np.inf])
    np.testing.assert_array_equal(limits.upper, [1.5, 1.5, np.inf])
    np.testing.assert_array_equal(limits.velocity, [3, 3, np.inf])
    np.testing.assert_array_equal(limits.effort, [40, 40, np.inf])


def test_a_joint_locked_at_a_value_is_as_good_as_built_so() -> None:
    """The elbow turns about its z: yaw of the joint, then the pitch that carries it."""
    elbow = """<joint name="elbow" type="revolute"><origin xyz="0.5 0 0.1" rpy="0 0.4 0"/>"""
    fixed = """<link name="crank"/><joint name="pitch" type="fixed">
    <origin xyz="0.5 0 0.1" rpy="0 0.4 0"/><parent link="upper"/><child link="crank"/></joint>
    <joint name="elbow" type="fixed"><origin rpy="0 0 0.3"/>"""
    built = BRANCHED.replace(elbow, fixed).replace(
        '<parent link="upper"/>\n<child link="lower"/>',
        '<parent link="crank"/><child link="lower"/>',
    )
    assert "crank" in built
    assert 'parent link="crank"' in built
    np.testing.assert_allclose(
        torques(load(locked={"elbow": 0.3})), torques(load(built)), rtol=1e-12, atol=1e-12
    )


def test_a_locked_slide_takes_its_mimic_along() -> None:
    built = (
        BRANCHED.replace(
            'slide_joint" type="prismatic"><origin xyz="0.1 0.3 0"',
            'slide_joint" type="fixed"><origin xyz="0.6 0.3 0"',
        )
        .replace('"finger_joint" type="prismatic"', '"finger_joint" type="fixed"')
        # 0.1 - 2 * 0.5 along y of a frame rolled by 0.1
        .replace(
            'xyz="0 0.1 0.2" rpy="0.1 0 0"',
            f'xyz="0 {0.1 - 0.9 * math.cos(0.1)!r} {0.2 - 0.9 * math.sin(0.1)!r}" rpy="0.1 0 0"',
        )
        .replace('<mimic joint="slide_joint" multiplier="-2" offset="0.1"/>', "")
    )
    np.testing.assert_allclose(
        torques(load(locked={"slide_joint": 0.5})), torques(load(built)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": ["elbw"]}, "elbow"),
        ({"joints": ["elbow", "elbow"]}, "twice"),
        ({"joints": "elbow"}, "list of joint names"),
        ({"joints": 3}, "list of joint names"),
        ({"joints": ["finger_joint"]}, "mimics"),
        ({"joints": ["elbow"], "locked": {"elbow": 0.0}}, "also in locked"),
        ({"locked": {"elbw": 0.0}}, "elbow"),
        ({"locked": {"elbow": np.nan}}, "finite"),
        ({"locked": {"elbow": "up"}}, "finite number"),
        ({"locked": ["elbow"]}, "mapping"),
        ({"base": "loose"}, "fixed"),
        ({"base": None}, "fixed"),
        ({"gravity": 9.81}, "gravity"),
        ({"gravity": (0, 0)}, "gravity"),
        ({"gravity": (0, 0, np.inf)}, "gravity"),
        ({"gravity": (0, 0, "down")}, "gravity"),
        ({"gravity": None}, "gravity"),
        ({"backend": "fortran"}, "backend"),
        ({"backend": None}, "backend"),
        ({"cache": 3}, "cache"),
    ],
)
def test_a_wrong_option_is_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kd.ArgumentError, match=message):
        load(**options)


# ----------------------------------------------------------------------------- friction, gravity
def test_friction_of_the_file_is_part_of_the_torques() -> None:
    with_friction, without = load(), load(joint_friction=False)
    states = random_states(with_friction, count=10)
    slide, _, shoulder = states.u.T
    drag = np.zeros((10, 3))
    drag[:, 0] = 2.0 * slide + 0.7 * np.sign(slide)
    finger = -2.0 * slide  # moves twice as fast, and is felt twice as hard
    drag[:, 0] += -2.0 * (0.5 * finger + 0.3 * np.sign(finger))
    drag[:, 2] = 0.25 * shoulder
    q, u, udot = states.q, states.u, states.udot
    for found, expected in (
        (with_friction.inverse_dynamics(q, u, udot), without.inverse_dynamics(q, u, udot)),
        (with_friction.bias(q, u), without.bias(q, u)),
    ):
        np.testing.assert_allclose(found, expected + drag, rtol=1e-12, atol=1e-12)
    tau = np.ones(3)
    np.testing.assert_allclose(
        with_friction.forward_dynamics(q, u, tau + drag),
        without.forward_dynamics(q, u, tau),
        rtol=1e-10,
        atol=1e-10,
    )
    np.testing.assert_array_equal(with_friction.gravity(q), without.gravity(q))


def test_dry_friction_at_rest_is_zero() -> None:
    arm = load()
    q = random_states(arm, count=4).q
    np.testing.assert_allclose(arm.bias(q, np.zeros(3)), arm.gravity(q), rtol=1e-12, atol=1e-12)


def test_gravity_is_a_vector_in_the_frame_of_the_root() -> None:
    q = random_states(load(), count=5).q
    parts = [load(gravity=np.eye(3)[k]).gravity(q) for k in range(3)]
    whole = load(gravity=[3.0, -2.0, 5.0]).gravity(q)
    expected = 3.0 * parts[0] - 2.0 * parts[1] + 5.0 * parts[2]
    np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-12)
    assert not load(gravity=(0, 0, 0)).gravity(q).any()
    default = load(gravity=(0.0, 0.0, -9.81)).gravity(q)
    np.testing.assert_array_equal(load().gravity(q), default)


# ------------------------------------------------------------------------------------- backends
def test_every_backend_gives_the_same() -> None:
    expected = torques(load(backend="numpy"))
    for backend in ("c", "auto"):
        found = torques(load(backend=backend))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_massless_tip_is_named_when_it_is_to_be_accelerated() -> None:
    text = BRANCHED.replace(f'<link name="finger">{INERTIAL}', '<link name="finger">').replace(
        '<mimic joint="slide_joint" multiplier="-2" offset="0.1"/>', ""
    )
    arm = load(text)
    q, u = np.zeros(4), np.zeros(4)
    assert arm.gravity(q)[0] == 0.0
    for _ in range(2):
        with pytest.raises(kd.SingularError, match=r"'finger'.*'finger_joint'"):
            arm.forward_dynamics(q, u, u)
    locked = load(text, locked={"finger_joint": 0.0})
    assert np.isfinite(locked.forward_dynamics(q[1:], u[1:], u[1:])).all()


def test_a_robot_says_what_it_is() -> None:
    assert repr(load()) == (
        "<Dynamics of branched: 3 speeds, joints ('slide_joint', 'elbow', 'shoulder')>"
    )
    assert load().robot.name == "branched"
    assert kd.load(robot_path("panda")).robot.name == "panda"
