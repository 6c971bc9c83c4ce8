"""Robots with constraints: against Pinocchio, minimal coordinates and the unicycle."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import mpmath
import numpy as np
import pinocchio as pin
import pytest
from linkages import (
    BASE,
    COUPLER,
    CRANK,
    DIFFERENTIAL_DRIVE,
    FIVE_BAR,
    FIVE_BAR_LOOP,
    FOUR_BAR,
    FOUR_BAR_LOOP,
    RADIUS,
    ROCKER,
    TRACK,
    WHEELS,
)
from oracle import Pinocchio, robot_path

import kane_dynamics as kd
from kane_dynamics.arrays import Array
from kane_dynamics.constrained.written_out import InDoubt

DOWN = (0.0, -9.81, 0.0)


@pytest.fixture(scope="module")
def four_bar() -> kd.Dynamics:
    return kd.load(FOUR_BAR, constraints=[FOUR_BAR_LOOP], actuated=["a"], gravity=DOWN, cache=False)


@pytest.fixture(scope="module")
def cart() -> kd.Dynamics:
    motors = ["left_joint", "right_joint", "shoulder"]
    return kd.load(DIFFERENTIAL_DRIVE, constraints=WHEELS, actuated=motors, cache=False)


# ------------------------------------------------------------------------------ minimal coordinates
def _closed(theta: mpmath.mpf) -> tuple[mpmath.mpf, ...]:
    """Angles of coupler and rocker in the ground, from that of the crank: two circles meet."""
    x, y = CRANK * mpmath.cos(theta), CRANK * mpmath.sin(theta)
    dx, dy = BASE - x, -y
    d = mpmath.sqrt(dx * dx + dy * dy)
    along = (COUPLER**2 - ROCKER**2 + d * d) / (2 * d)
    across = mpmath.sqrt(COUPLER**2 - along**2)
    px, py = x + (along * dx - across * dy) / d, y + (along * dy + across * dx) / d
    return mpmath.atan2(py - y, px - x), mpmath.atan2(py, px - BASE)


def _inertia(theta: mpmath.mpf) -> mpmath.mpf:
    """Twice the kinetic energy for a crank that turns at 1 rad/s."""
    coupler, rocker = (mpmath.diff(lambda t, k=k: _closed(t)[k], theta) for k in (0, 1))
    angle = _closed(theta)[0]
    vx = -CRANK * mpmath.sin(theta) - COUPLER / 2 * mpmath.sin(angle) * coupler
    vy = CRANK * mpmath.cos(theta) + COUPLER / 2 * mpmath.cos(angle) * coupler
    own = 1.0 * CRANK**2 / 3 + 1.5 * ROCKER**2 / 3 * rocker**2
    return own + 2.0 * (vx**2 + vy**2) + 2.0 * COUPLER**2 / 12 * coupler**2


def _potential(theta: mpmath.mpf) -> mpmath.mpf:
    coupler, rocker = _closed(theta)
    heights = (
        1.0 * CRANK / 2 * mpmath.sin(theta)
        + 2.0 * (CRANK * mpmath.sin(theta) + COUPLER / 2 * mpmath.sin(coupler))
        + 1.5 * ROCKER / 2 * mpmath.sin(rocker)
    )
    return mpmath.mpf("9.81") * heights


@pytest.mark.parametrize("theta", [0.4, 1.3, 2.9, -1.7])
def test_a_four_bar_moves_as_in_minimal_coordinates(four_bar, theta: float) -> None:
    mpmath.mp.dps = 40
    coupler, rocker = (float(each) for each in _closed(mpmath.mpf(theta)))
    q = four_bar.assemble([theta, coupler - theta + 0.2, rocker - 0.1], fixed=["a"])
    np.testing.assert_allclose(np.exp(1j * q[1]), np.exp(1j * (coupler - theta)), atol=1e-10)
    np.testing.assert_allclose(np.exp(1j * q[2]), np.exp(1j * rocker), atol=1e-10)
    rates = [float(mpmath.diff(lambda t, k=k: _closed(t)[k], theta)) for k in (0, 1)]
    speed, torque = 1.7, 2.3
    u = speed * np.array([1.0, rates[0] - 1.0, rates[1]])
    np.testing.assert_allclose(four_bar.admissible_speeds(q, u), u, atol=1e-9)
    inertia, slope = float(_inertia(theta)), float(mpmath.diff(_inertia, theta))
    weight = float(mpmath.diff(_potential, theta))
    expected = (torque - 0.5 * slope * speed**2 - weight) / inertia
    udot = four_bar.forward_dynamics(q, u, [torque, 0.0, 0.0])
    assert udot[0] == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(four_bar.inverse_dynamics(q, u, udot), [torque, 0.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(four_bar.gravity(q), [weight, 0.0, 0.0], atol=1e-8)
    kept = four_bar.independent_speeds(q)
    factor = u[four_bar.speed_names.index(kept[0])] / speed
    np.testing.assert_allclose(four_bar.mass_matrix(q), [[inertia / factor**2]], rtol=1e-8)


# -------------------------------------------------------------------------------------- Pinocchio
def _constraint(model: pin.Model, *links: tuple[str, Array | None]) -> pin.RigidConstraintModel:
    """Points of two links that coincide, or of a link and the world."""
    joints, places = [], []
    for link, point in links:
        frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
        joints.append(frame.parentJoint)
        places.append(frame.placement * pin.SE3(np.eye(3), np.asarray(point, float)))
    if len(links) == 1:
        joints.append(0)
        places.append(pin.SE3.Identity())
    kind, aligned = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return pin.RigidConstraintModel(
        kind, model, joints[0], places[0], joints[1], places[1], aligned
    )


def _stands(model: pin.Model, sole: str, where: Array) -> pin.RigidConstraintModel:
    """A sole that is on the ground at a pose (4, 4)."""
    frame = model.frames[model.getFrameId(sole, pin.FrameType.BODY)]
    kind, aligned = pin.ContactType.CONTACT_6D, pin.ReferenceFrame.LOCAL
    ground = pin.SE3(where)
    return pin.RigidConstraintModel(
        kind, model, frame.parentJoint, frame.placement, 0, ground, aligned
    )


def _accelerations(oracle: Pinocchio, constraints: list, q: Array, u: Array, tau: Array) -> Array:
    """Of pin.constraintDynamics, in our order of speeds."""
    model, G = oracle.model, oracle.G
    data = model.createData()
    settings = pin.ProximalSettings(1e-14, 1e-14, 50)
    models, made = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for each in constraints:
        models.append(each)
        made.append(each.createData())
    pin.initConstraintDynamics(model, data, models, made)
    x, order = oracle.configuration(q), np.argmax(G, axis=0)
    a = pin.constraintDynamics(model, data, x, G @ u, G @ tau, models, made, settings)
    return a[order]


@pytest.mark.parametrize("robot", ["four_bar", "five_bar"])
def test_loops_move_as_pinocchio_says(tmp_path: Path, robot: str) -> None:
    text, loop = {
        "four_bar": (FOUR_BAR, FOUR_BAR_LOOP),
        "five_bar": (FIVE_BAR, FIVE_BAR_LOOP),
    }[robot]
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    linkage = kd.load(path, constraints=[loop], cache=False)
    oracle = Pinocchio(path)
    ends = (loop.link1, loop.at1[:3]), (loop.link2, loop.at2[:3])
    constraint = _constraint(oracle.model, *ends)
    random = np.random.default_rng(1)
    for _ in range(5):
        guess = [1.0, -0.5, 1.5] if robot == "four_bar" else [2.0, -1.0, 1.0, 1.0]
        q = linkage.assemble(guess + random.uniform(-0.2, 0.2, linkage.nq))
        u = linkage.admissible_speeds(q, random.normal(size=linkage.dof))
        tau = random.normal(size=linkage.dof)
        expected = _accelerations(oracle, [constraint], q, u, tau)
        udot = linkage.forward_dynamics(q, u, tau)
        np.testing.assert_allclose(udot, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.fixture(scope="module")
def quadruped() -> tuple[kd.Dynamics, Pinocchio, Array]:
    path = robot_path("solo12")
    feet = [f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR")]
    free = kd.load(path, base="floating", cache=False)
    bent = {"HAA": 0.1, "HFE": 0.7, "KFE": -1.4}
    q = np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
    q = np.append(q, [bent[name[-3:]] * (-1 if name[0] == "H" else 1) for name in free.joint_names])
    stands = [
        kd.Loop(f"stands_{foot}", foot, "world", at2=tuple(free.pose(foot, q)[:3, 3]))
        for foot in feet
    ]
    robot = kd.load(path, base="floating", constraints=stands, cache=False)
    return robot, Pinocchio(path, "floating"), q


def test_a_quadruped_on_four_feet_moves_as_pinocchio_says(quadruped) -> None:
    robot, oracle, q = quadruped
    constraints = [_constraint(oracle.model, (e.link1, np.zeros(3))) for e in robot.constraints]
    random = np.random.default_rng(2)
    for _ in range(5):
        u = robot.admissible_speeds(q, random.normal(size=robot.dof))
        tau = np.append(np.zeros(6), random.normal(size=robot.dof - 6))
        expected = _accelerations(oracle, constraints, q, u, tau)
        udot = robot.forward_dynamics(q, u, tau)
        np.testing.assert_allclose(udot, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_the_feet_of_a_robot_that_stands_carry_its_weight(quadruped) -> None:
    robot, oracle, q = quadruped
    tau = robot.gravity(q)
    assert not tau[:6].any()
    still = np.zeros(robot.dof)
    assert np.abs(robot.forward_dynamics(q, still, tau)).max() < 1e-9
    forces = robot.constraint_forces(q, still, tau)
    weight = 9.81 * pin.computeTotalMass(oracle.model)
    np.testing.assert_allclose(sum(forces.values()), [0.0, 0.0, weight], atol=1e-8)


def test_talos_on_two_soles_stands_and_moves_as_pinocchio_says() -> None:
    path, soles = robot_path("talos_reduced"), ("left_sole_link", "right_sole_link")
    options = {"base": "floating", "backend": "numpy", "cache": False, "joint_friction": False}
    free, oracle = kd.load(path, **options), Pinocchio(path, "floating")
    bent = {"3_joint": -0.4, "4_joint": 0.8, "5_joint": -0.4}
    joints = [bent.get(name[-7:], 0.1) if "leg" in name else 0.1 for name in free.joint_names]
    q = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, *joints])
    places = [free.pose(sole, q) for sole in soles]
    stands = [
        kd.Loop(
            f"stands_{sole}",
            sole,
            "world",
            at2=(*place[:3, 3], *pin.rpy.matrixToRpy(place[:3, :3])),
            keeps="pose",
        )
        for sole, place in zip(soles, places)
    ]
    robot = kd.load(path, constraints=stands, **options)
    assert robot.mass_matrix(q).shape == (robot.dof - 12,) * 2
    tau, still = robot.gravity(q), np.zeros(robot.dof)
    assert not tau[:6].any()
    assert np.abs(robot.forward_dynamics(q, still, tau)).max() < 1e-8
    forces = robot.constraint_forces(q, still, tau)
    weight = 9.81 * pin.computeTotalMass(oracle.model)
    total = sum(each[:3] for each in forces.values())
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=1e-8)
    about = sum(
        np.cross(place[:3, 3], each[:3]) + each[3:] for place, each in zip(places, forces.values())
    )
    center = pin.centerOfMass(oracle.model, oracle.model.createData(), oracle.configuration(q))
    np.testing.assert_allclose(about, np.cross(center, [0.0, 0.0, weight]), atol=1e-7)
    constraints = [_stands(oracle.model, sole, place) for sole, place in zip(soles, places)]
    random = np.random.default_rng(5)
    for _ in range(3):
        u = robot.admissible_speeds(q, random.normal(size=robot.dof))
        tau = np.append(np.zeros(6), 10.0 * random.normal(size=robot.dof - 6))
        expected = _accelerations(oracle, constraints, q, u, tau)
        udot = robot.forward_dynamics(q, u, tau)
        np.testing.assert_allclose(udot, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


# ------------------------------------------------------------------------------------------ wheels
def test_a_cart_moves_as_a_unicycle(cart) -> None:
    random = np.random.default_rng(3)
    for _ in range(5):
        q = random.uniform(-1.0, 1.0, cart.nq)
        left, right, arm = random.normal(size=3)
        v, omega = RADIUS * (right + left) / 2, RADIUS * (right - left) / TRACK
        heading = q[2]
        u = np.array([v * np.cos(heading), v * np.sin(heading), omega, left, right, arm])
        np.testing.assert_allclose(cart.admissible_speeds(q, u), u, atol=1e-12)
        tau = np.array([0.0, 0.0, 0.0, *random.normal(size=3)])
        udot = cart.forward_dynamics(q, u, tau)
        pushed, turned = RADIUS * (udot[4] + udot[3]) / 2, RADIUS * (udot[4] - udot[3]) / TRACK
        expected = [
            pushed * np.cos(heading) - v * omega * np.sin(heading),
            pushed * np.sin(heading) + v * omega * np.cos(heading),
            turned,
        ]
        np.testing.assert_allclose(udot[:3], expected, atol=1e-11)
        np.testing.assert_allclose(cart.inverse_dynamics(q, u, udot), tau, atol=1e-10)
        # Without forces but those of the wheels and motors, the power is that of the motors.
        free = kd.load(DIFFERENTIAL_DRIVE, cache=False)
        assert u @ free.inverse_dynamics(q, u, udot) == pytest.approx(u @ tau, abs=1e-10)


def test_side_slip_is_left_free_where_it_is_asked_for() -> None:
    wheels = [kd.Rolling(e.name, e.wheel, e.radius, side_slip=True) for e in WHEELS]
    cart = kd.load(DIFFERENTIAL_DRIVE, constraints=wheels, cache=False)
    q = np.zeros(6)
    assert cart.mass_matrix(q).shape == (4, 4)
    np.testing.assert_allclose(cart.forward_dynamics(q, q, [0, 1.0, 0, 0, 0, 0])[1] > 0.05, True)


# ---------------------------------------------------------------------------- switching and batches
def test_batches_are_the_states_one_by_one(four_bar) -> None:
    random = np.random.default_rng(4)
    q = np.array([four_bar.assemble([a, -0.5, 1.5], fixed=["a"]) for a in (0.5, 1.0, 1.5)])
    u = four_bar.admissible_speeds(q, random.normal(size=q.shape))
    tau = np.array([1.0, 0.0, 0.0])
    udot = four_bar.forward_dynamics(q, u, tau)
    forces = four_bar.constraint_forces(q, u, tau)["c"]
    for k in range(3):
        np.testing.assert_allclose(udot[k], four_bar.forward_dynamics(q[k], u[k], tau), atol=1e-11)
        alone = four_bar.constraint_forces(q[k], u[k], tau)["c"]
        np.testing.assert_allclose(forces[k], alone, atol=1e-10)
    np.testing.assert_allclose(
        four_bar.inverse_dynamics(q, u, udot), np.tile(tau, (3, 1)), atol=1e-8
    )
    assert four_bar.mass_matrix(q).shape == (3, 1, 1)


@pytest.mark.parametrize("twice", [False, True])
def test_one_state_in_compiled_code_is_a_state_of_a_batch(twice: bool) -> None:
    """Rows of a planar loop are redundant, those of two that say the same even more."""
    again = [kd.Loop("again", *(FOUR_BAR_LOOP.link2, FOUR_BAR_LOOP.link1), at1=(ROCKER, 0, 0),
                     at2=(COUPLER, 0, 0))]  # fmt: skip
    loops = [FOUR_BAR_LOOP, *(again if twice else [])]
    linkage = kd.load(FOUR_BAR, constraints=loops, gravity=DOWN)
    random = np.random.default_rng(6)
    q = linkage.assemble([1.0, -0.5, 1.5])
    for _ in range(20):
        u = linkage.admissible_speeds(q, random.normal(size=3))
        tau = random.normal(size=3)
        own = linkage._constraints
        written, one = own.accelerations(q, u, tau), own._of_one_state(q, u, tau)
        assert written is not None
        assert one is not None
        batch = linkage._moved(q[None], u, tau, None)[0]
        for found in (written, one, linkage.forward_dynamics(q[None], u, tau)[0]):
            np.testing.assert_allclose(found, batch[0], rtol=1e-10, atol=1e-10)
        assert own._of_one_state(q, random.normal(size=3), [1, 2, 3]) is None


def test_what_is_written_out_is_left_where_it_is_not_good() -> None:
    """Where all links lie along one line, the loop says nothing along it."""
    linkage = kd.load(FOUR_BAR, constraints=[FOUR_BAR_LOOP], gravity=DOWN, cache=False)
    q = linkage.assemble([1.0, -0.5, 1.5])
    still = np.zeros(3)
    linkage.forward_dynamics(q, still, still)
    own = linkage._constraints
    for angle in (1e-9, 0.0):
        flat = np.array([angle, 0.0, 0.0])
        with pytest.raises(InDoubt):
            own._written(flat, still, [1.0, 2.0, 3.0])
        found = linkage.forward_dynamics(flat, still, [1.0, 2.0, 3.0])
        expected = linkage._moved(flat, still, [1.0, 2.0, 3.0], None)[0]
        np.testing.assert_array_equal(found, expected)


def test_what_is_switched_off_does_not_hold() -> None:
    free = kd.load(FOUR_BAR, cache=False)
    linkage = kd.load(FOUR_BAR, constraints=[FOUR_BAR_LOOP, kd.Lock("brake", "a", active=False)])
    q, u, tau = np.array([1.0, -0.5, 1.5]), np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    assert linkage.active == ("c",)
    linkage.set_active("c", False)
    expected = free.forward_dynamics(q, u, tau)
    np.testing.assert_allclose(linkage.forward_dynamics(q, u, tau), expected, rtol=1e-12)
    linkage.set_active("brake", True, q)
    held = linkage.forward_dynamics(q, u, tau)
    assert held[0] == 0.0
    M = free.mass_matrix(q)[1:, 1:]
    right = (tau - free.bias(q, u))[1:]
    np.testing.assert_allclose(held[1:], np.linalg.solve(M, right), rtol=1e-10)
    for other in (copy.deepcopy(linkage), pickle.loads(pickle.dumps(linkage))):
        assert other.active == ("brake",)
        np.testing.assert_array_equal(other.forward_dynamics(q, u, tau), held)


def test_a_robot_without_a_motion_left_needs_no_torques() -> None:
    brake = kd.Lock("brake", "b", active=False)
    linkage = kd.load(FOUR_BAR, constraints=[FOUR_BAR_LOOP, brake], actuated=["a"], gravity=DOWN)
    q = linkage.assemble([1.0, -0.5, 1.5])
    linkage.set_active("brake", True)
    np.testing.assert_array_equal(linkage.gravity(q), np.zeros(3))
    np.testing.assert_array_equal(linkage.inverse_dynamics(q, *np.zeros((2, 3))), np.zeros(3))
    forces = linkage.constraint_forces(q, np.zeros(3), np.zeros(3))
    assert np.abs(forces["brake"]).max() > 0.1


def test_the_energy_lost_when_constraints_are_imposed_is_that_of_the_change() -> None:
    free = kd.load(FOUR_BAR, cache=False)
    linkage = kd.load(FOUR_BAR, constraints=[FOUR_BAR_LOOP], cache=False)
    q = linkage.assemble([1.0, -0.5, 1.5])
    before = np.array([1.0, -2.0, 0.5])
    after = linkage.admissible_speeds(q, before)
    change, M = after - before, free.mass_matrix(q)
    lost = 0.5 * (before @ M @ before - after @ M @ after)
    assert lost == pytest.approx(0.5 * change @ M @ change, rel=1e-10)


def test_a_grasp_keeps_what_it_finds() -> None:
    grasp = kd.Weld("grasp", "coupler", "rocker", active=False)
    linkage = kd.load(FOUR_BAR, constraints=[grasp], cache=False)
    begin = np.array([0.3, 0.4, 0.5])
    linkage.set_active("grasp", True, begin)
    np.testing.assert_allclose(linkage.assemble(begin), begin, atol=1e-12)
    moved = linkage.assemble(begin + np.array([0.1, -0.1, 0.05]))
    seen = [
        np.linalg.inv(linkage.pose("coupler", q)) @ linkage.pose("rocker", q)
        for q in (begin, moved)
    ]
    np.testing.assert_allclose(seen[0], seen[1], atol=1e-9)
