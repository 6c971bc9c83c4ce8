"""Ball and screw joints, which URDF does not have, against Pinocchio's spherical and helical."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from oracle import random_states

import kane_dynamics as kd

GRAVITY = (0.3, -0.2, -9.81)


class Twin:
    """A robot of random links, and the same one in Pinocchio."""

    def __init__(self, kinds: list[str], parents: list[int], seed: int = 1983) -> None:
        self.random = np.random.default_rng(seed)
        self.model = pin.Model()
        self.model.gravity.linear = np.array(GRAVITY)
        links, joints = [kd.Link("world")], []
        for i, (kind, parent) in enumerate(zip(kinds, parents)):
            link, joint = self._part(i, kind, f"link{parent}" if parent >= 0 else "world")
            self._add(joint, link, parent + 1)
            links.append(link)
            joints.append(joint)
        self.robot = kd.Robot("twin", tuple(links), tuple(joints))
        self.data = self.model.createData()

    def _part(self, i: int, kind: str, parent: str) -> tuple[kd.Link, kd.Joint]:
        turn = np.linalg.qr(self.random.normal(size=(3, 3)))[0] if i % 3 else np.eye(3)
        turn *= np.linalg.det(turn)
        axis = self.random.normal(size=3) if i % 2 else np.array([0.0, 0.0, 1.0])
        axis /= np.linalg.norm(axis)
        points = self.random.normal(scale=0.2, size=(5, 3))
        spread = points.T @ points
        tensor = np.trace(spread) * np.eye(3) - spread
        center = tuple(self.random.uniform(-0.3, 0.3, 3))
        return (
            kd.Link(f"link{i}", kd.Inertia(1.0 + i, center, tuple(map(tuple, tensor)))),
            kd.Joint(
                f"joint{i}",
                kind,
                parent,
                f"link{i}",
                tuple(map(tuple, turn)),
                tuple(self.random.uniform(-0.5, 0.5, 3)),
                tuple(axis),
                pitch=0.1 + 0.05 * i if kind == "screw" else 0.0,
            ),
        )

    def _add(self, joint: kd.Joint, link: kd.Link, parent: int) -> None:
        axis = np.array(joint.axis)
        kinds = {
            "ball": pin.JointModelSpherical,
            "floating": pin.JointModelFreeFlyer,
            "screw": lambda: pin.JointModelHelicalUnaligned(axis, joint.pitch),
            "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
            "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
        }
        placement = pin.SE3(np.array(joint.rotation), np.array(joint.translation))
        place = self.model.addJoint(parent, kinds[joint.kind](), placement, joint.name)
        inertia = pin.Inertia(
            link.inertia.mass, np.array(link.inertia.center), np.array(link.inertia.tensor)
        )
        self.model.appendBodyToJoint(place, inertia, pin.SE3.Identity())

    def load(self, backend: str = "numpy", **options: object) -> kd.Dynamics:
        return kd.load(self.robot, gravity=GRAVITY, backend=backend, **options)


TWINS = {
    "ball": Twin(["ball"], [-1]),
    "screw": Twin(["screw"], [-1]),
    "chain": Twin(
        ["revolute", "ball", "prismatic", "screw", "ball", "revolute"], list(range(-1, 5))
    ),
    "screws": Twin(["screw"] * 4, list(range(-1, 3))),
    "tree": Twin(["ball", "screw", "revolute", "ball", "screw", "prismatic"], [-1, 0, 1, 0, 3, 3]),
}
every_twin = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)


def close(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return float(np.abs(ours - theirs).max()) <= 1e-9 * max(float(np.abs(theirs).max()), 1.0)


@every_twin
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_torques_and_accelerations_are_those_of_pinocchio(twin: Twin, backend: str) -> None:
    arm, model, data = twin.load(backend), twin.model, twin.data
    assert (arm.nq, arm.dof) == (model.nq, model.nv)
    states = random_states(arm, 20)
    for q, u, udot in zip(states.q, states.u, states.udot):
        tau = pin.rnea(model, data, q, u, udot)
        assert close(arm.inverse_dynamics(q, u, udot), tau)
        assert close(arm.gravity(q), pin.computeGeneralizedGravity(model, data, q))
        mass = pin.crba(model, data, q)
        assert close(arm.mass_matrix(q), np.triu(mass) + np.triu(mass, 1).T)
        assert close(arm.forward_dynamics(q, u, tau), udot)
        energy = arm.energy(q, u)
        assert energy.kinetic == pytest.approx(pin.computeKineticEnergy(model, data, q, u))
        assert energy.potential == pytest.approx(pin.computePotentialEnergy(model, data, q))


@every_twin
def test_poses_and_jacobians_are_those_of_pinocchio(twin: Twin) -> None:
    arm, model, data = twin.load(), twin.model, twin.data
    for q in random_states(arm, 5).q:
        pin.computeJointJacobians(model, data, q)
        for i in range(model.njoints - 1):
            placed = data.oMi[i + 1]
            pose = arm.pose(f"link{i}", q)
            assert close(pose, placed.homogeneous)
            frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            jacobian = pin.getJointJacobian(model, data, i + 1, frame)
            assert close(arm.jacobian(f"link{i}", q), jacobian.reshape(6, -1))


@every_twin
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_motion_is_that_of_pinocchio(twin: Twin, backend: str) -> None:
    """Runge-Kutta on the same manifold, with steps short enough that it does not matter which."""
    arm, model, data = twin.load(backend), twin.model, twin.data
    start = random_states(arm, 1, seed=5)
    q, u, h = start.q[0], 0.3 * start.u[0], 1e-3
    motion = arm.simulate(0.05, q, u, step=h)
    none = np.zeros(model.nv)

    def rates(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return pin.aba(model, data, q, u, none)

    for _ in range(500):  # midpoint steps a tenth as long, by Pinocchio's own integration
        small = h / 10.0
        halfway_u = u + 0.5 * small * rates(q, u)
        halfway_q = pin.integrate(model, q, 0.5 * small * u)
        q, u = pin.integrate(model, q, small * halfway_u), u + small * rates(halfway_q, halfway_u)
    np.testing.assert_allclose(motion.u[-1], u, atol=1e-5 * np.abs(u).max())
    assert np.abs(pin.difference(model, q, motion.q[-1])).max() < 1e-5
    assert motion.checks.relative_energy_error < 1e-9


def test_both_backends_simulate_ball_and_screw_alike() -> None:
    twin = TWINS["tree"]
    start = random_states(twin.load(), 1)
    motions = [
        twin.load(backend).simulate(0.2, start.q[0], 0.3 * start.u[0]) for backend in ("numpy", "c")
    ]
    for name in ("q", "u", "udot"):
        one, other = (getattr(motion, name) for motion in motions)
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(one).max())


def test_a_free_top_keeps_its_angular_momentum() -> None:
    arm = kd.load(TWINS["ball"].robot, gravity=(0.0, 0.0, 0.0), backend="numpy")
    motion = arm.simulate(2.0, [0.0, 0.0, 0.0, 1.0], [3.0, -2.0, 1.0])
    linear, about_origin = arm.momentum(motion.q, motion.u)
    angular = about_origin - np.cross(TWINS["ball"].robot.joints[0].translation, linear)
    np.testing.assert_allclose(angular, angular[:1].repeat(len(angular), 0), rtol=1e-8)


def test_parallel_screws_and_hinges_pass_vectors_at_one_go_and_stay_right() -> None:
    """Screws take part in series of parallel axes, which are an economy of their own."""
    inertia = kd.Inertia(
        1.5, (0.1, -0.2, 0.3), ((0.2, 0.01, 0.02), (0.01, 0.3, 0.0), (0.02, 0.0, 0.25))
    )
    kinds = ["revolute", "screw", "revolute", "screw"]
    links = (kd.Link("world"), *(kd.Link(f"link{i}", inertia) for i in range(4)))
    joints = tuple(
        kd.Joint(
            f"joint{i}",
            kind,
            f"link{i - 1}" if i else "world",
            f"link{i}",
            translation=(0.4, 0.1 * i, 0.2),
            axis=(0.0, 1.0, 0.0) if i % 2 else (0.0, -1.0, 0.0),
            pitch=0.2 if kind == "screw" else 0.0,
        )
        for i, kind in enumerate(kinds)
    )
    twin = Twin([], [])
    twin.robot = kd.Robot("parallel", links, joints)
    for i, (joint, link) in enumerate(zip(joints, links[1:])):
        twin._add(joint, link, i)
    twin.data = twin.model.createData()
    test_torques_and_accelerations_are_those_of_pinocchio(twin, "numpy")


def test_a_screw_can_be_locked_and_mimic_another() -> None:
    twin = TWINS["screws"]
    arm, locked = twin.load(), twin.load(locked={"joint1": 0.7})
    q = np.array([0.3, 0.7, -0.4, 1.1])
    assert close(arm.gravity(q)[[0, 2, 3]], locked.gravity(q[[0, 2, 3]]))
    first, second, *others = twin.robot.joints
    follower = replace(second, mimic=kd.Mimic("joint0", -2.0, 0.1))
    geared = kd.load(
        kd.Robot("geared", twin.robot.links, (first, follower, *others)),
        gravity=GRAVITY,
        backend="numpy",
    )
    torques = arm.gravity(np.array([0.3, -0.5, -0.4, 1.1]))
    expected = [torques[0] - 2.0 * torques[1], torques[2], torques[3]]
    assert close(geared.gravity(np.array([0.3, -0.4, 1.1])), np.array(expected))


def test_bad_joints_are_refused_with_a_sentence() -> None:
    links = kd.Link("world"), kd.Link("link", TWINS["ball"].robot.links[1].inertia)
    for joint, sentence in (
        (kd.Joint("j", "screw", "world", "link"), "joint 'j' is a screw without pitch"),
        (kd.Joint("j", "screw", "world", "link", pitch=math.nan), "joint 'j' has the pitch nan"),
        (kd.Joint("j", "ball", "world", "link", pitch=0.1), "joint 'j' is ball and has a pitch"),
    ):
        with pytest.raises(kd.ModelError, match=sentence):
            kd.Robot("bad", links, (joint,))
    arm = TWINS["ball"].load()
    with pytest.raises(kd.ArgumentError, match="must be a unit quaternion"):
        arm.gravity([0.0, 0.0, 0.5, 1.0])
    with pytest.raises(kd.ArgumentError, match="joint 'joint1' is ball and at 1"):
        TWINS["chain"].load(locked={"joint1": 1})
    text = '<robot name="x"><link name="a"/><link name="b"/><joint name="j" type="ball">'
    text += '<parent link="a"/><child link="b"/></joint></robot>'
    with pytest.raises(kd.ModelError, match="expected one of revolute"):
        kd.load(text)
