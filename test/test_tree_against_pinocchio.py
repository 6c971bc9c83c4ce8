"""Bodies of real robots against Pinocchio: where links are, and what inertia they have."""

from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from kane_dynamics.robot import Robot, Tree, moving_tree, read_urdf

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
URDFS = sorted(ROBOTS.rglob("*.urdf"))
WITH_MIMICS = {"baxter", "panda", "panda_collision", "pr2", "romeo", "talos_full_v2", "tiago_pro"}
TOLERANCE = 1e-9


def named(*names: str) -> list[Path]:
    return [path for path in URDFS if path.stem in names]


def without_mimics(robot: Robot) -> Robot:
    """Every joint moves by itself, as in Pinocchio unless it is told otherwise."""
    return replace(robot, joints=tuple(replace(joint, mimic=None) for joint in robot.joints))


def pinocchio_model(path: Path, **options: object) -> pin.Model:
    try:
        return pin.buildModelFromUrdf(str(path), **options)
    except ValueError:
        pytest.skip("Pinocchio does not load it either")


def random_state(tree: Tree, model: pin.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random q in the order of the tree, and the same in the order of Pinocchio."""
    random = np.random.default_rng(seed)
    q = random.uniform(-1.5, 1.5, tree.nq)
    theirs = pin.neutral(model)
    for joint in ["base", *tree.joint_names]:
        entries = [
            index
            for index, name in enumerate(tree.coordinate_names)
            if name == joint or name.rpartition(".")[0] == joint
        ]
        if not entries:
            continue
        if len(entries) == 7:
            q[entries[3:]] /= np.linalg.norm(q[entries[3:]])
        id_ = model.getJointId("root_joint" if joint == "base" else joint)
        at, width = model.joints[id_].idx_q, model.joints[id_].nq
        ours = q[entries]
        if width > len(entries):  # Pinocchio gives an unbounded angle by cosine and sine
            ours = np.array([*ours[:-1], np.cos(ours[-1]), np.sin(ours[-1])])
        theirs[at : at + width] = ours
    return q, theirs


def body_frames(tree: Tree, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rotation and origin of each body in the world."""
    frames: list[tuple[np.ndarray, np.ndarray]] = []
    for body in tree.bodies:
        turn, origin = frames[body.parent] if body.parent >= 0 else (np.eye(3), np.zeros(3))
        origin = origin + turn @ body.translation
        turn = turn @ np.array(body.rotation)
        position = body.multiplier * q[body.coordinate] + body.offset
        if body.kind == "revolute":
            turn = turn @ Rotation.from_rotvec(position * np.array(body.axis)).as_matrix()
        elif body.kind == "prismatic":
            origin = origin + turn @ (position * np.array(body.axis))
        else:
            pose = q[body.coordinate : body.coordinate + 7]
            origin = origin + turn @ pose[:3]
            turn = turn @ Rotation.from_quat(pose[3:]).as_matrix()
        frames.append((turn, origin))
    return frames


def cross_matrix(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def mass_matrix(tree: Tree, q: np.ndarray) -> np.ndarray:
    """Sum over bodies of partial velocities, times inertia, times partial velocities."""
    frames = body_frames(tree, q)
    partials: list[np.ndarray] = []  # of angular velocity and of the origin's velocity, in the body
    total = np.zeros((tree.nu, tree.nu))
    for body, (turn, origin) in zip(tree.bodies, frames, strict=True):
        partial = np.zeros((6, tree.nu))
        if body.parent >= 0:
            inboard, inboard_origin = frames[body.parent]
            omega = inboard @ partials[body.parent][:3]
            velocity = inboard @ partials[body.parent][3:]
            velocity = velocity - cross_matrix(origin - inboard_origin) @ omega
            partial = np.vstack([turn.T @ omega, turn.T @ velocity])
        column = slice(body.speed, body.speed + 6)
        if body.kind == "revolute":
            partial[:3, body.speed] += body.multiplier * np.array(body.axis)
        elif body.kind == "prismatic":
            partial[3:, body.speed] += body.multiplier * np.array(body.axis)
        else:
            partial[:, column] += np.eye(6)[[3, 4, 5, 0, 1, 2]]
        partials.append(partial)
        first, second = cross_matrix(np.array(body.first_moment)), np.array(body.second_moment)
        inertia = np.trace(second) * np.eye(3) - second
        spatial = np.block([[inertia, first], [first.T, body.mass * np.eye(3)]])
        total += partial.T @ spatial @ partial
    return total


def speed_order(tree: Tree, model: pin.Model) -> list[int]:
    """Index in Pinocchio's velocity of each speed of the tree."""
    order: list[int] = []
    for joint in ["base", *tree.joint_names]:
        id_ = model.getJointId("root_joint" if joint == "base" else joint)
        if id_ < len(model.joints):
            order += range(model.joints[id_].idx_v, model.joints[id_].idx_v + model.joints[id_].nv)
    return order


def assert_same_motion(tree: Tree, model: pin.Model) -> None:
    data = model.createData()
    for seed in range(2):
        q, theirs = random_state(tree, model, seed)
        pin.framesForwardKinematics(model, data, theirs)
        frames = body_frames(tree, q)
        for name, frame in tree.frames:
            turn, origin = frames[frame.body] if frame.body >= 0 else (np.eye(3), np.zeros(3))
            placement = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
            np.testing.assert_allclose(
                turn @ np.array(frame.rotation), placement.rotation, rtol=0, atol=TOLERANCE
            )
            np.testing.assert_allclose(
                origin + turn @ frame.translation, placement.translation, rtol=0, atol=TOLERANCE
            )
        expected = pin.crba(model, data, theirs)
        expected = np.triu(expected) + np.triu(expected, 1).T
        order = speed_order(tree, model)
        np.testing.assert_allclose(
            mass_matrix(tree, q), expected[np.ix_(order, order)], rtol=1e-9, atol=TOLERANCE
        )


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_a_robot_on_a_floating_base_is_the_robot_of_pinocchio(path: Path) -> None:
    model = pinocchio_model(path, root_joint=pin.JointModelFreeFlyer())
    tree = moving_tree(without_mimics(read_urdf(path)), base="floating")
    assert tree.nu == model.nv
    assert sum(body.mass for body in tree.bodies) == pytest.approx(pin.computeTotalMass(model))
    assert_same_motion(tree, model)


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_a_robot_on_a_fixed_base_is_the_robot_of_pinocchio(path: Path) -> None:
    model = pinocchio_model(path)
    robot = without_mimics(read_urdf(path))
    if model.nv == 0:
        pytest.skip("nothing moves")
    tree = moving_tree(robot)
    assert tree.nu == model.nv
    assert_same_motion(tree, model)


@pytest.mark.parametrize("path", named(*WITH_MIMICS), ids=lambda path: path.stem)
def test_mimicking_joints_follow_their_master_as_in_pinocchio(path: Path) -> None:
    model = pinocchio_model(path, mimic=True)
    robot = read_urdf(path)
    tree = moving_tree(robot)
    mimics = {joint.name for joint in robot.joints if joint.mimic is not None}
    assert mimics <= {body.joint for body in tree.bodies}
    assert not mimics & set(tree.joint_names)
    assert tree.nu == model.nv
    assert_same_motion(tree, model)


@pytest.mark.parametrize("path", named("panda", "ur5_robot", "tiago", "kinova"))
@pytest.mark.parametrize("seed", range(3))
def test_locked_joints_leave_the_reduced_robot_of_pinocchio(path: Path, seed: int) -> None:
    robot = without_mimics(read_urdf(path))
    random = np.random.default_rng(seed)
    whole = moving_tree(robot)
    moving = list(random.permutation(whole.joint_names)[: max(1, len(whole.joint_names) // 2)])
    locked = {
        name: float(random.uniform(-1, 1)) for name in whole.joint_names if name not in moving
    }
    full = pinocchio_model(path)
    reference = pin.neutral(full)
    for name, position in locked.items():
        joint = full.joints[full.getJointId(name)]
        reference[joint.idx_q : joint.idx_q + joint.nq] = (
            position if joint.nq == 1 else [np.cos(position), np.sin(position)]
        )
    reduced = pin.buildReducedModel(full, [full.getJointId(name) for name in locked], reference)
    tree = moving_tree(robot, joints=moving, locked=locked)
    assert tree.joint_names == tuple(name for name in whole.joint_names if name in moving)
    assert_same_motion(tree, reduced)


ISLAND = """<robot name="island"><link name="world"/><link name="raft">
<inertial><origin xyz="0.1 0.2 0.3" rpy="1 2 3"/><mass value="2"/>
<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial></link>
<link name="mast"><inertial><origin xyz="1 0 0"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="water" type="{kind}"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
<parent link="world"/><child link="raft"/><axis xyz="0 0 1"/></joint>
<joint name="foot" type="revolute"><origin xyz="3 2 1" rpy="0.3 0.2 0.1"/>
<parent link="raft"/><child link="mast"/><axis xyz="1 2 3"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def test_a_floating_joint_is_that_of_pinocchio() -> None:
    text = ISLAND.format(kind="floating")
    tree = moving_tree(read_urdf(text))
    assert_same_motion(tree, pin.buildModelFromXML(text))


def test_a_planar_joint_is_that_of_pinocchio_but_for_the_frame_of_its_speeds() -> None:
    text = ISLAND.format(kind="planar")
    model, tree = pin.buildModelFromXML(text), moving_tree(read_urdf(text))
    data = model.createData()
    q, theirs = random_state(tree, model, seed=0)
    pin.framesForwardKinematics(model, data, theirs)
    turn, origin = body_frames(tree, q)[tree.frame("mast").body]
    placement = data.oMf[model.getFrameId("mast")]
    np.testing.assert_allclose(turn, placement.rotation, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(origin, placement.translation, rtol=0, atol=TOLERANCE)
    # Pinocchio's x and y speeds are along the axes of the raft, ours along those of the water
    c, s = np.cos(q[2]), np.sin(q[2])
    change = np.eye(4)
    change[:2, :2] = [[c, s], [-s, c]]
    expected = pin.crba(model, data, theirs)
    expected = np.triu(expected) + np.triu(expected, 1).T
    np.testing.assert_allclose(
        mass_matrix(tree, q), change.T @ expected @ change, rtol=1e-9, atol=TOLERANCE
    )


@pytest.mark.parametrize("position", [0.0, 0.02])
def test_a_locked_master_takes_its_mimics_along(position: float) -> None:
    (path,) = named("panda")
    robot = read_urdf(path)
    tree = moving_tree(robot, locked={"panda_finger_joint1": position})
    model = pin.buildModelFromUrdf(str(path))
    fingers = [model.getJointId(f"panda_finger_joint{i}") for i in (1, 2)]
    reference = pin.neutral(model)
    reference[[model.joints[finger].idx_q for finger in fingers]] = position
    assert_same_motion(tree, pin.buildReducedModel(model, fingers, reference))
