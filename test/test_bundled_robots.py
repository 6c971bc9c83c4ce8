"""The robots in urdf/ are those of the papers they are named after.

Each is compared, through Pinocchio and through this package, with equations written here straight
from the paper, in its symbols.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import kane_dynamics as kd
from kane_dynamics.robot import read_urdf
from kane_dynamics.robot.check import check

URDFS = sorted((Path(__file__).parents[1] / "urdf").glob("*.urdf"))
STANFORD_ARM, TWO_LINK_ARM, REVOLUTE_PRISMATIC_ARM = (
    Path(__file__).parents[1] / "urdf" / f"{name}.urdf"
    for name in ("stanford_arm", "two_link_arm", "revolute_prismatic_arm")
)
G = 9.81
STATES = 25

InverseDynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def pinocchio(path: Path) -> InverseDynamics:
    """Inverse dynamics of a URDF, with joints in the order of the file."""
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    names = [joint.name for joint in read_urdf(path).joints if joint.kind != "fixed"]
    order = [model.joints[model.getJointId(name)].idx_v for name in names]

    def efforts(q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
        theirs = np.zeros((3, model.nv))
        theirs[:, order] = q, u, udot
        configuration = pin.integrate(model, pin.neutral(model), theirs[0])
        return np.asarray(pin.rnea(model, data, configuration, theirs[1], theirs[2]))[order]

    return efforts


def kane(path: Path) -> InverseDynamics:
    return kd.load(path, cache=False).inverse_dynamics


def assert_same(efforts: InverseDynamics, expected: InverseDynamics, n: int) -> None:
    random = np.random.default_rng(0)
    for q, u, udot in random.uniform(-2.0, 2.0, (STATES, 3, n)):
        np.testing.assert_allclose(efforts(q, u, udot), expected(q, u, udot), rtol=1e-9, atol=1e-9)


both = pytest.mark.parametrize("solver", [pinocchio, kane])


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_every_bundled_robot_is_sound(path: Path) -> None:
    findings = check(read_urdf(path))
    assert all(finding.severity == "note" for finding in findings), findings


def test_particles_on_massless_links_are_noted() -> None:
    findings = check(read_urdf(TWO_LINK_ARM))
    assert [(finding.link, finding.rule) for finding in findings] == [
        ("A", "point-mass"),
        ("B", "point-mass"),
    ]


# The Stanford Arm: Kane & Levinson 1983, appendix 3. Principal axes 1, 2, 3; n2 is up.
L1, L2, L3, L4, L5, L6 = 0.1, 0.6, 0.2, 0.1, 0.7, 0.06
MASSES = {"A": 9.0, "B": 6.0, "C": 4.0, "D": 1.0, "E": 0.6, "F": 0.5}
INERTIAS = {
    "A": np.diag([0.01, 0.02, 0.01]),
    "B": np.diag([0.06, 0.01, 0.05]),
    "C": np.diag([0.4, 0.01, 0.4]),
    "D": np.diag([0.0005, 0.001, 0.001]),
    "E": np.diag([0.0005, 0.0002, 0.0005]),
    "F": np.diag([0.001, 0.002, 0.003]),
}
E1, E2, E3 = np.eye(3)

Jet = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A quantity with its first and second time-derivatives in N."""


def cross(a: np.ndarray) -> np.ndarray:
    """The matrix that takes b to a × b."""
    return np.cross(np.eye(3), a)


def turn(axis: np.ndarray, q: float, u: float, udot: float) -> Jet:
    """Rotation about an axis that is fixed in both bodies, as direction cosines."""
    k = cross(axis)
    rotation = np.eye(3) + np.sin(q) * k + (1.0 - np.cos(q)) * k @ k
    return rotation, u * k @ rotation, (udot * k + u**2 * k @ k) @ rotation


def times(a: Jet, b: Jet) -> Jet:
    return (
        a[0] @ b[0],
        a[1] @ b[0] + a[0] @ b[1],
        a[2] @ b[0] + 2.0 * a[1] @ b[1] + a[0] @ b[2],
    )


def plus(*terms: Jet) -> Jet:
    value, rate, acceleration = np.sum(terms, axis=0)
    return value, rate, acceleration


def fixed(vector: np.ndarray) -> Jet:
    return vector, np.zeros(3), np.zeros(3)


def stanford_bodies(
    q: np.ndarray, u: np.ndarray, udot: np.ndarray
) -> tuple[dict[str, Jet], dict[str, Jet]]:
    """Directions of the principal axes in N, and mass centres from A*, by equations 135 to 137.

    Printed L5 e2 in E* is L6 e2, and F* starts from C*, not from E*.
    """
    a, b, d, e, f = (turn(axis, q[i], u[i], udot[i]) for i, axis in enumerate((E2, E1, E2, E1, E2)))
    axes = {"A": a, "B": times(a, b)}
    axes["C"] = axes["B"]
    axes["D"] = times(axes["C"], d)
    axes["E"] = times(axes["D"], e)
    axes["F"] = times(axes["E"], f)
    slide = (q[5] * E2, u[5] * E2, udot[5] * E2)
    centers = {"A": fixed(np.zeros(3)), "B": times(axes["A"], fixed(L1 * E1 + L4 * E2))}
    centers["C"] = plus(centers["B"], times(axes["C"], slide))
    centers["D"] = plus(centers["C"], times(axes["C"], fixed(L5 * E2)))
    wrist = plus(centers["C"], times(axes["D"], fixed(L2 * E2)))
    centers["E"] = plus(wrist, times(axes["E"], fixed(L6 * E2)))
    centers["F"] = plus(wrist, times(axes["E"], fixed(L3 * E2)))
    return axes, centers


def angular_velocity(axes: Jet) -> np.ndarray:
    skew = axes[1] @ axes[0].T
    return np.array([skew[2, 1], skew[0, 2], skew[1, 0]])


def stanford_efforts(q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
    """Equations 78, 79 and 90 with generalized speeds q̇: what drives the outboard bodies."""
    axes, centers = stanford_bodies(q, u, udot)
    unit_motions = [stanford_bodies(q, speed, np.zeros(6)) for speed in np.eye(6)]
    efforts = np.zeros(6)
    for body, mass in MASSES.items():
        omega = angular_velocity(axes[body])
        skew = axes[body][2] @ axes[body][0].T - cross(omega) @ cross(omega)
        alpha = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
        inertia = axes[body][0] @ INERTIAS[body] @ axes[body][0].T
        torque = inertia @ alpha + np.cross(omega, inertia @ omega)
        force = mass * (centers[body][2] + G * E2)
        for r, (unit_axes, unit_centers) in enumerate(unit_motions):
            efforts[r] += angular_velocity(unit_axes[body]) @ torque
            efforts[r] += unit_centers[body][1] @ force
    return efforts


@both
def test_the_stanford_arm_is_that_of_kane_and_levinson(
    solver: Callable[[Path], InverseDynamics],
) -> None:
    assert_same(solver(STANFORD_ARM), stanford_efforts, 6)


def test_the_mass_centres_of_the_stanford_arm_are_where_the_paper_has_them() -> None:
    model = pin.buildModelFromUrdf(str(STANFORD_ARM))
    data = model.createData()
    carriers = dict(zip("ABCDEF", (1, 2, 6, 3, 4, 5), strict=True))
    for q in np.random.default_rng(1).uniform(-2.0, 2.0, (STATES, 6)):
        _, centers = stanford_bodies(q, np.zeros(6), np.zeros(6))
        ids = {body: model.getJointId(f"joint{i}") for body, i in carriers.items()}
        theirs = np.zeros(6)
        for body, i in carriers.items():
            theirs[model.joints[ids[body]].idx_v] = q[i - 1]
        pin.forwardKinematics(model, data, pin.integrate(model, pin.neutral(model), theirs))
        for body, id_ in ids.items():
            n1, n2, n3 = centers[body][0]
            world = data.oMi[id_].act(model.inertias[id_].lever)
            np.testing.assert_allclose(world, [n3, n1, n2], rtol=0, atol=1e-12)


@both
def test_the_stanford_arm_is_held_by_the_printed_torques(
    solver: Callable[[Path], InverseDynamics],
) -> None:
    """Terms with g of equations 129 to 133, which have the signs of the paper."""

    def printed(q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
        (_, s2, s3, s4, *_), (_, c2, c3, c4, *_), q6 = np.sin(q), np.cos(q), q[5]
        m_c, m_d, m_e, m_f = (MASSES[body] for body in "CDEF")
        tip = m_e * L6 + m_f * L3
        tau2 = G * (
            ((m_c + m_d) * q6 + m_d * L5) * s2
            + tip * (c4 * s2 + c3 * s4 * c2)
            + (m_e + m_f) * (q6 + L2) * s2
        )
        tau3 = -G * tip * s2 * s3 * s4
        tau4 = G * tip * (c2 * s4 + s2 * c3 * c4)
        sigma = -G * (m_c + m_d + m_e + m_f) * c2
        return np.array([0.0, -tau2, -tau3, -tau4, 0.0, -sigma])

    at_rest = solver(STANFORD_ARM)
    assert_same(lambda q, u, udot: at_rest(q, 0.0 * u, 0.0 * udot), printed, 6)


@both
def test_the_two_link_arm_is_that_of_the_handbook(
    solver: Callable[[Path], InverseDynamics],
) -> None:
    """Equations 6.21 to 6.26, with u1² for u2² in 6.22 and gravity for the angles of figure 6.1."""
    m, length = 1.0, 0.5

    def printed(q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
        s2, c2 = np.sin(q[1]), np.cos(q[1])
        f1_star = (
            -m
            * length**2
            * ((3 + 2 * c2) * udot[0] + (1 + c2) * udot[1] + s2 * (u[0] ** 2 - (u[0] + u[1]) ** 2))
        )
        f2_star = -m * length**2 * ((1 + c2) * udot[0] + udot[1] + s2 * u[0] ** 2)
        gravity1 = -m * G * length * (2 * np.cos(q[0]) + np.cos(q[0] + q[1]))
        gravity2 = -m * G * length * np.cos(q[0] + q[1])
        return np.array([-f1_star - gravity1, -f2_star - gravity2])

    assert_same(solver(TWO_LINK_ARM), printed, 2)


@both
def test_the_revolute_prismatic_arm_is_that_of_the_handbook(
    solver: Callable[[Path], InverseDynamics],
) -> None:
    """Equations 6.53 to 6.65, with the lever in the Coriolis terms of 6.58 and 6.60, and +L_C."""
    l_a, l_t, l_p, length, l_c = 0.1, 0.15, 0.2, 0.8, 0.05
    m_a, m_b, m_c = 5.0, 2.0, 1.0
    i_a, i_b, i_c = 0.1, 0.11, 0.002

    def printed(q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
        f_star = np.array([-(m_a * l_a**2 + i_a) * udot[0], 0.0])
        for m, inertia, lever in (
            (m_b, i_b, l_p + q[1] - length / 2),
            (m_c, i_c, l_p + q[1] + l_c),
        ):
            f_star[0] += -(m * (lever**2 + l_t**2) + inertia) * udot[0]
            f_star[0] += m * l_t * udot[1] - 2 * m * lever * u[0] * u[1]
            f_star[1] += m * l_t * udot[0] - m * udot[1] + m * lever * u[0] ** 2
        return -f_star

    assert_same(solver(REVOLUTE_PRISMATIC_ARM), printed, 2)
