"""What Pinocchio says about a robot, in our order of coordinates and speeds, and how to compare."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin

import kane_dynamics as kd
from kane_dynamics.arrays import Array

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
URDFS = sorted(ROBOTS.rglob("*.urdf"))
BUNDLED = Path(__file__).parents[1] / "urdf"

TOLERANCE = 1e-9


def robot_path(stem: str) -> Path:
    """The only URDF of example-robot-data, or of this package, with a name."""
    (path,) = [each for each in [*URDFS, *BUNDLED.glob("*.urdf")] if each.stem == stem]
    return path


def name_of(path: Path) -> str:
    """Short and unique: there are two robots called anymal.urdf."""
    return "/".join((*path.relative_to(ROBOTS / "robots").parts[:1], path.stem))


def load(source: str | Path, **options: object) -> kd.Dynamics:
    """A robot without friction, evaluated by NumPy."""
    return kd.load(source, **{"joint_friction": False, "backend": "numpy", **options})


@dataclass(frozen=True)
class States:
    """A batch of motions: q (N, nq), u, udot (N, dof)."""

    q: Array
    u: Array
    udot: Array


def random_states(arm: kd.Dynamics, count: int = 100, seed: int = 0) -> States:
    """Anywhere within a turn, at a few rad/s or m/s; quaternions have length one."""
    random = np.random.default_rng(seed)
    q = random.uniform(-np.pi, np.pi, (count, arm.nq))
    for at, name in enumerate(arm.coordinate_names):
        if name.endswith(".qx"):
            q[:, at : at + 4] = random.normal(size=(count, 4))
            q[:, at : at + 4] /= np.linalg.norm(q[:, at : at + 4], axis=1, keepdims=True)
    u, udot = random.uniform(-3.0, 3.0, (2, count, arm.dof))
    return States(q, u, 3.0 * udot)


@dataclass(frozen=True)
class Answers:
    """What is true of a robot at a batch of states; shapes as in `kd.Dynamics`.

    Attributes
    ----------
    inertia_size, torque_size : array (dof,) or None
        How large the terms are that add up to an element of the mass matrix and to a torque;
        where terms cancel, the sum is much smaller.
    """

    torques: Array
    gravity: Array
    bias: Array
    mass_matrix: Array
    kinetic: Array
    potential: Array
    linear: Array
    angular: Array
    poses: dict[str, Array] = field(default_factory=dict)
    jacobians: dict[str, Array] = field(default_factory=dict)
    inertia_size: Array | None = None
    torque_size: Array | None = None

    def sizes(self) -> tuple[Array, Array]:
        """Sizes of inertias and torques, speed by speed.

        Torques and forces differ in unit, and by orders of magnitude from hip to finger. Divided
        by the square root of their inertia they can be compared, and an error at a finger is not
        hidden by the torque of the hip.
        """
        inertia = self.inertia_size
        if inertia is None:
            inertia = self.mass_matrix.diagonal(axis1=1, axis2=2).max(axis=0)
        inertia = np.where(inertia > 0.0, inertia, 1.0)
        torque = self.torque_size
        if torque is None:
            torque = np.sqrt(inertia) * np.abs(self.torques / np.sqrt(inertia)).max()
        return inertia, np.where(torque > 0.0, torque, 1.0)


class Pinocchio:
    """A robot in Pinocchio, asked in our order of coordinates.

    Every joint moves by itself there. Mimicking joints are put on by projection: with the full
    speeds v = G u, torques are Gᵀ times the full ones, and the mass matrix is Gᵀ M G.

    Attributes
    ----------
    model : pin.Model
    names : list of str
        Joints that move by themselves, in the order of the file.
    G : array (nv, dof)
    """

    def __init__(self, path: Path, base: str = "fixed") -> None:
        root = [pin.JointModelFreeFlyer()] if base == "floating" else []
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        joints = ElementTree.parse(path).getroot().findall("joint")
        mimics = {joint.get("name"): joint.find("mimic") for joint in joints}
        for name, mimic in mimics.items():
            if mimic is not None and mimic.get("joint") not in mimics:
                mimics[name] = None  # of a joint that is not there: it moves by itself
        moving = [j.get("name") for j in joints if self.model.existJointName(j.get("name"))]
        self.names = [name for name in moving if mimics[name] is None]
        first = 6 if base == "floating" else 0
        self.dof = first + len(self.names)
        self.floating = base == "floating"
        self.G = np.zeros((self.model.nv, self.dof))
        self.G[:first, :first] = np.eye(first)
        self.offset = np.zeros(self.model.nv)
        for name in moving:
            master, multiplier, offset = _followed(name, mimics)
            at = self.model.joints[self.model.getJointId(name)].idx_v
            self.G[at, first + self.names.index(master)] = multiplier
            self.offset[at] = offset

    def configuration(self, q: Array) -> Array:
        """Pinocchio's q for ours; an angle without limits is a cosine and a sine."""
        result = pin.neutral(self.model)
        positions = self.offset.copy()
        if self.floating:
            result[:7] = q[:7]
            q = q[1:]
        positions += self.G @ q
        for joint in self.model.joints[2 if self.floating else 1 :]:
            position = positions[joint.idx_v]
            entries = [position] if joint.nq == 1 else [np.cos(position), np.sin(position)]
            result[joint.idx_q : joint.idx_q + joint.nq] = entries
        return result

    def answers(self, states: States, links: Sequence[str] = ()) -> Answers:
        """Of Pinocchio's own algorithms, state by state."""
        model, data, G = self.model, self.data, self.G
        rest = np.zeros(model.nv)
        rows: dict[str, list[Array]] = {}
        poses: dict[str, list[Array]] = {link: [] for link in links}
        jacobians: dict[str, list[Array]] = {link: [] for link in links}
        for q, u, udot in zip(states.q, states.u, states.udot, strict=True):
            x, v, a = self.configuration(q), G @ u, G @ udot
            upper = np.triu(pin.crba(model, data, x))
            results = {
                "torques": G.T @ pin.rnea(model, data, x, v, a),
                "gravity": G.T @ pin.computeGeneralizedGravity(model, data, x),
                "bias": G.T @ pin.rnea(model, data, x, v, rest),
                "mass_matrix": G.T @ (upper + np.triu(upper, 1).T) @ G,
                "kinetic": pin.computeKineticEnergy(model, data, x, v),
                "potential": pin.computePotentialEnergy(model, data, x),
                **_momentum(model, data),
            }
            for name, value in results.items():
                rows.setdefault(name, []).append(value)
            for link in links:
                frame = model.getFrameId(link, pin.FrameType.BODY)
                J = pin.computeFrameJacobian(model, data, x, frame, pin.LOCAL_WORLD_ALIGNED)
                jacobians[link].append(J @ G)
                poses[link].append(pin.updateFramePlacement(model, data, frame).homogeneous.copy())
        return Answers(
            **{name: np.array(values) for name, values in rows.items()},
            poses={link: np.array(values) for link, values in poses.items()},
            jacobians={link: np.array(values) for link, values in jacobians.items()},
        )


def _followed(name: str, mimics: dict[str, ElementTree.Element | None]) -> tuple[str, float, float]:
    """The joint that a joint follows in the end, with multiplier and offset."""
    multiplier, offset = 1.0, 0.0
    while (mimic := mimics[name]) is not None:
        offset += multiplier * float(mimic.get("offset", 0.0))
        multiplier *= float(mimic.get("multiplier", 1.0))
        name = mimic.get("joint")
    return name, multiplier, offset


def _momentum(model: pin.Model, data: pin.Data) -> dict[str, Array]:
    """Of all moving bodies, about the world's origin; after the velocities have been computed."""
    total = pin.Force.Zero()
    for placement, inertia, velocity in zip(data.oMi, model.inertias, data.v, strict=True):
        if velocity is not data.v[0]:
            total += placement.act(inertia * velocity)
    return {"linear": total.linear, "angular": total.angular}


# ------------------------------------------------------------------------------------- agreement
def error(value: Array, expected: Array, size: float = 0.0) -> float:
    """Largest difference, relative to the largest expected entry or to `size`."""
    assert np.shape(value) == np.shape(expected)
    return _largest(value - expected) / (max(_largest(expected), size) or 1.0)


def assert_agrees(
    arm: kd.Dynamics, states: States, expected: Answers, tolerance: float = TOLERANCE
) -> None:
    """Everything that `arm` computes is what is expected."""
    errors = relative_errors(arm, states, expected)
    wrong = {name: value for name, value in errors.items() if not value <= tolerance}
    assert not wrong, f"relative errors of {arm}: {wrong}"


def relative_errors(arm: kd.Dynamics, states: States, expected: Answers) -> dict[str, float]:
    """How far everything that `arm` computes is from what is expected."""
    q, u, udot = states.q, states.u, states.udot
    inertia, torque = expected.sizes()
    energy, momentum = arm.energy(q, u), arm.momentum(q, u)
    pairs = np.sqrt(np.outer(inertia, inertia))
    reach = max((_largest(pose[:, :3, 3]) for pose in expected.poses.values()), default=0.0)
    motion = (np.sqrt(inertia) * np.abs(u)).max() ** 2 / 1e3
    errors = {
        "torques": _largest((arm.inverse_dynamics(q, u, udot) - expected.torques) / torque),
        "bias": _largest((arm.bias(q, u) - expected.bias) / torque),
        "gravity": _largest((arm.gravity(q) - expected.gravity) / torque),
        "mass_matrix": _largest((arm.mass_matrix(q) - expected.mass_matrix) / pairs),
        "kinetic": error(energy.kinetic, expected.kinetic, motion),
        "potential": error(energy.potential, expected.potential),
        "linear": error(momentum.linear, expected.linear),
        "angular": error(momentum.angular, expected.angular),
    }
    for link in expected.poses:
        pose, right = arm.pose(link, q), expected.poses[link]
        errors[f"position {link}"] = error(pose[:, :3, 3], right[:, :3, 3], reach)
        pose[:, :3, 3] = right[:, :3, 3]
        errors[f"orientation {link}"] = _largest(pose - right)
        jacobian, right = arm.jacobian(link, q), expected.jacobians[link]
        errors[f"partial velocity {link}"] = error(jacobian[:, :3], right[:, :3], reach)
        errors[f"partial angular velocity {link}"] = error(jacobian[:, 3:], right[:, 3:], 1.0)
    return errors


def _largest(numbers: Array) -> float:
    return float(np.abs(numbers).max(initial=0.0))


def assert_produces(
    expected: Answers, tau: Array, udot: Array, tolerance: float = TOLERANCE
) -> None:
    """Accelerations `udot` are those that torques `tau` produce: M udot + bias = tau.

    The error is measured in this equation, relative to its largest term. The error of udot itself
    may be larger by the condition number of M, whoever solves for it.
    """
    size = np.sqrt(expected.mass_matrix.diagonal(axis1=1, axis2=2))
    terms = np.abs(expected.mass_matrix) @ np.abs(udot)[..., None]
    scale = ((terms[..., 0] + np.abs(expected.bias) + np.abs(tau)) / size).max(axis=1)
    left = np.einsum("nij,nj->ni", expected.mass_matrix, udot) + expected.bias
    assert np.all(np.abs((left - tau) / size).max(axis=1) <= tolerance * scale)


def random_torques(expected: Answers, seed: int = 0) -> Array:
    """Torques of the size that accelerates each joint by some ten rad/s²."""
    size = np.sqrt(np.abs(expected.mass_matrix.diagonal(axis1=1, axis2=2)))
    return 10.0 * size * np.random.default_rng(seed).normal(size=size.shape)
