"""Rows of constraints: relative velocities, their coefficients, and errors whose rates they are."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import load, random_states
from random_robots import Recipe, random_robot, turn_about

import kane_dynamics as kd
from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.kane.tree.constraints import TreeConstraints
from kane_dynamics.kane.tree.equations import TreeEquations

AT1, AT2 = (0.3, -0.2, 0.5, 0.4, 0.9, -1.1), (-0.1, 0.6, 0.2, 1.2, -0.3, 0.7)
SMALL = 1e-6


class Rows:
    """The programs of some constraints on a robot, evaluated."""

    def __init__(self, arm: kd.Dynamics, *definitions: kd.Loop) -> None:
        equations = TreeEquations("robot", arm.tree, arm.gravity_vector)
        self.of = TreeConstraints(equations, definitions)
        self._functions = Functions(equations, "numpy", False)

    def _call(self, name: str, **given: Array) -> Array:
        declared, make, key = self.of.asked(name)
        function = self._functions.made(declared, make, key)
        return function(*(given[each.name] for each in declared.inputs))

    def anchors(self, q: Array) -> Array:
        return self._call("constraint_anchors", q=q) if self.of.anchors else np.zeros(0)

    def at(self, q: Array, u: Array, anchors: Array) -> tuple[Array, Array, Array]:
        both = self._call("constraint_rows", q=q, u=u, anchors=anchors)
        errors = self._call("constraint_errors", q=q, anchors=anchors)
        np.testing.assert_allclose(both[:, -1], errors, rtol=0.0, atol=1e-14)
        return both[:, :-2], both[:, -2], errors

    def moved(self, q: Array, u: Array, dt: float) -> Array:
        """Coordinates a short time later, by classical Runge-Kutta."""
        rate = self._functions.function("coordinate_rates")

        def slope(x: Array) -> Array:
            for first in self.of.equations.quaternions:
                x[first : first + 4] /= np.linalg.norm(x[first : first + 4])
            return rate(x, u)

        a = slope(q + 0.0)
        b = slope(q + dt / 2 * a)
        c = slope(q + dt / 2 * b)
        d = slope(q + dt * c)
        q = q + dt / 6 * (a + 2 * b + 2 * c + d)
        for first in self.of.equations.quaternions:
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        return q


KINDS = ("revolute", "prismatic", "planar", "floating", "fixed")


@pytest.fixture(scope="module")
def arm() -> kd.Dynamics:
    robot = random_robot(Recipe(parts=9, kinds=KINDS, mimics=0.3), 4)
    return load(robot.urdf(), base="floating", backend="numpy", cache=False)


def _definitions(arm: kd.Dynamics) -> list[object]:
    bodies = [body.name for body in arm.tree.bodies if body.name in arm.link_names]
    first, last = bodies[1], bodies[-1]
    single = [body.joint for body in arm.tree.bodies if body.kind in ("revolute", "prismatic")]
    planar = [j for j in single if single.count(j) == 3]
    single = [j for j in single if single.count(j) == 1]
    return [
        kd.Loop("point", first, last, AT1, AT2),
        kd.Loop("ground", last, "world", AT1, AT2, keeps="pose"),
        kd.Weld("grasp", first, last),
        kd.Weld("given", first, last, AT1, AT2),
        kd.Rolling("wheel", last, 0.3, (0.2, 0.9, 0.1), "world", (0.1, 0.2, 1.0), 0.4),
        kd.Rolling("on a link", last, 0.3, ground=first, side_slip=True),
        kd.Coupling("gear", {single[0]: 2.0, single[1]: -3.0}),
        kd.Lock("lock", single[0]),
        kd.Lock("base", "base"),
        *([kd.Lock("planar", planar[0])] if planar else []),
    ]


def test_rates_of_errors_are_the_velocities_and_the_bias_is_what_accelerations_leave(arm) -> None:
    rows = Rows(arm, *_definitions(arm))
    states = random_states(arm, count=4)
    for q, u in zip(states.q, states.u):
        anchors = rows.anchors(q)
        A, bias, errors = rows.at(q, u, anchors)
        before, after = (rows.moved(q, u, dt) for dt in (-SMALL, SMALL))
        A0, _, errors0 = rows.at(before, u, anchors)
        A1, _, errors1 = rows.at(after, u, anchors)
        scale = 1.0 + np.abs(bias).max()
        assert np.abs((A1 - A0) @ u / (2 * SMALL) - bias).max() < 1e-7 * scale
        rate = (errors1 - errors0) / (2 * SMALL)
        held = {"point": slice(0, 3), "ground": slice(0, 3), "wheel": slice(0, 1)}
        held |= {"given": slice(0, 3), "on a link": slice(0, 1)}
        held |= {name: slice(None) for name in ("grasp", "gear", "lock", "base", "planar")}
        for name, own in held.items():
            if name in rows.of.row_slices:
                where = rows.of.row_slices[name]
                assert np.abs((rate - A @ u)[where][own]).max() < 1e-7 * scale, name
        for name in ("grasp", "gear", "lock", "base"):  # they begin here
            assert np.abs(errors[rows.of.row_slices[name]]).max() < 1e-14


def test_the_velocity_of_a_loop_is_that_of_its_points_by_their_jacobians(arm) -> None:
    (point, ground, *_) = _definitions(arm)
    rows = Rows(arm, point, ground)
    states = random_states(arm, count=1)
    q, u = states.q[0], states.u[0]
    A, _, errors = rows.at(q, u, np.zeros(0))

    def of_point(link: str, at: tuple[float, ...]) -> tuple[Array, Array, Array]:
        pose, J = arm.pose(link, q), arm.jacobian(link, q)
        arm_to = pose[:3, :3] @ at[:3]
        v = J[:3] @ u + np.cross(J[3:] @ u, arm_to)
        return pose[:3, 3] + arm_to, v, J[3:] @ u

    p1, v1, _ = of_point(point.link1, AT1)
    p2, v2, omega = of_point(point.link2, AT2)
    np.testing.assert_allclose(errors[:3], p1 - p2, atol=1e-13)
    np.testing.assert_allclose((A @ u)[:3], v1 - v2, atol=1e-12)
    np.testing.assert_allclose((A @ u)[6:], omega, atol=1e-12)


@pytest.mark.parametrize("angle", [1e-9, 0.3, 1.5, 3.0, np.pi])
@pytest.mark.parametrize("keeps", ["axis", "pose"])
def test_frames_are_aligned_nowhere_but_where_they_are(keeps: str, angle: float) -> None:
    urdf = """<robot name="r"><link name="base"/><link name="hand"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    urdf = urdf.replace(
        "</robot>",
        '<joint name="j" type="floating"><parent link="base"/><child link="hand"/></joint></robot>',
    )
    hand = load(urdf, backend="numpy", cache=False)
    axis = np.array([0.6, -0.8, 0.0])
    q = np.array([0.0, 0.0, 0.0, *(np.sin(angle / 2) * axis), np.cos(angle / 2)])
    rows = Rows(hand, kd.Loop("l", "hand", "world", keeps=keeps))
    _, _, errors = rows.at(q, np.zeros(6), np.zeros(0))
    if angle < np.pi:
        size = 2.0 * np.sin(angle / 2)
        assert np.linalg.norm(errors[3:]) == pytest.approx(size, rel=1e-7)
        turned = np.eye(3) if keeps == "pose" else turn_about(axis, np.array(angle))
        expected = (size * turned.T @ axis)[: len(errors) - 3]
        np.testing.assert_allclose(errors[3:], expected, atol=1e-14)
    else:
        assert np.linalg.norm(errors[3:]) >= 1.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kd.Loop("l", "nowhere", "world"), "constraint 'l': there is no link 'nowhere'"),
        (lambda: kd.Lock("k", "nothing"), "constraint 'k': there is no joint that moves 'nothing'"),
        (lambda: kd.Coupling("c", {"base": 1}), "'base' has several speeds, expected joints with"),
        (lambda: kd.Weld("w", "world", "world"), "do not move relative to each other"),
    ],
)
def test_what_a_robot_does_not_have_is_named(arm, make, sentence) -> None:
    with pytest.raises(kd.ArgumentError) as caught:
        Rows(arm, make())
    assert sentence in str(caught.value)
