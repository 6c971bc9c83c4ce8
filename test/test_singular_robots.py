"""Robots whose mass matrix is singular: more joints than the mass at the end can feel."""

import numpy as np
import pytest
from formulations import FORMULATIONS, keep_to
from oracle import load

import kane_dynamics as kd

Z, Y, X = "0 0 1", "0 1 0", "1 0 0"
OBLIQUE = ["0.3 0.5 0.7", "-0.2 0.6 0.11", "0.9 -0.1 0.3", Y, X, "0.2 0.3 -0.8", "0.5 0.1 0.9"]


def chain(axes: list[str], kind: str, mass: float, spread: float, center: str) -> str:
    """A chain of massless links that carries one body."""
    parts = ['<robot name="chain"><link name="link0"/>']
    for k, axis in enumerate(axes, 1):
        inertial = f"""<inertial><origin xyz="{center}"/><mass value="{mass}"/>
            <inertia ixx="{spread}" iyy="{spread}" izz="{spread}" ixy="0" ixz="0" iyz="0"/>
            </inertial>"""
        parts.append(f"""<link name="link{k}">{inertial if k == len(axes) and mass else ""}</link>
            <joint name="joint{k}" type="{kind}"><origin xyz="0.{k} 0.2 {0.1 * k}"/>
            <parent link="link{k - 1}"/><child link="link{k}"/><axis xyz="{axis}"/>
            <limit effort="1" velocity="1" lower="-1" upper="1"/></joint>""")
    return "".join([*parts, "</robot>"])


# Axes, type, mass, moment of inertia and place of the last body, and whether it is too little.
CASES = {
    "a mass on its axis": ([Z], "continuous", 1.0, 0.0, "0 0 0.4", True),
    "a mass beside its axis": ([Z], "continuous", 1.0, 0.0, "1e-4 0 0.4", False),
    "a very small mass": ([Z], "continuous", 1e-9, 0.0, "1e-4 0 0.4", False),
    "two parallel joints and a point": ([Z] * 2, "continuous", 1.0, 0.0, "0.2 0 0", False),
    "three parallel joints and a point": ([Z] * 3, "continuous", 1.0, 0.0, "0.2 0 0", True),
    "three parallel joints and a disk": ([Z] * 3, "continuous", 1.0, 0.1, "0.2 0 0", False),
    "four parallel joints and a disk": ([Z] * 4, "continuous", 1.0, 0.1, "0.2 0 0", True),
    "three joints and a point": (OBLIQUE[:3], "continuous", 1.0, 0.0, "0.2 0.3 0.1", False),
    "four joints and a point": (OBLIQUE[:4], "continuous", 1.0, 0.0, "0.2 0.3 0.1", True),
    "six joints and a body": (OBLIQUE[:6], "continuous", 2.0, 0.1, "0.2 0.3 0.1", False),
    "seven joints and a body": (OBLIQUE, "continuous", 2.0, 0.1, "0.2 0.3 0.1", True),
    "a slide without mass": ([Z], "prismatic", 0.0, 0.0, "0 0 0", True),
    "three slides": (OBLIQUE[:3], "prismatic", 1.0, 0.0, "0 0 0", False),
    "four slides": (OBLIQUE[:4], "prismatic", 1.0, 0.5, "0 0 0", True),
}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", CASES)
def test_forward_dynamics_is_refused_where_inertia_is_missing(
    name: str, formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_to(formulation, monkeypatch)
    axes, kind, mass, spread, center, singular = CASES[name]
    arm = load(chain(axes, kind, mass, spread, center), cache=False)
    q = np.linspace(0.4, 1.3, arm.dof)
    udot = np.linspace(-1.0, 1.0, arm.dof)
    tau = arm.inverse_dynamics(q, udot, udot)
    assert np.isfinite(tau).all()
    if not singular:
        np.testing.assert_allclose(
            arm.inverse_dynamics(q, udot, arm.forward_dynamics(q, udot, tau)),
            tau,
            rtol=1e-9,
            atol=1e-9 * np.abs(tau).max(),
        )
        return
    with pytest.raises(kd.SingularError, match=r"link 'link\d'.* joint 'joint\d'"):
        arm.forward_dynamics(q, udot, tau)
    with pytest.raises(kd.SingularError):
        arm.forward_dynamics(np.tile(q, (3, 1)), udot, tau)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_massless_base_cannot_float_with_a_joint_through_it(
    formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_to(formulation, monkeypatch)
    text = chain(OBLIQUE[:2], "continuous", 2.0, 0.3, "0.2 0.3 0.1")
    arm = load(text, base="floating", cache=False)
    q = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.3, 0.4])
    with pytest.raises(kd.SingularError):
        arm.forward_dynamics(q, np.zeros(8), np.zeros(8))
    heavy = text.replace(
        '<link name="link0"/>',
        """<link name="link0"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>""",
    )
    udot = load(heavy, base="floating", cache=False).forward_dynamics(q, np.zeros(8), np.zeros(8))
    falling = load(heavy, base="floating", cache=False).inverse_dynamics(q, np.zeros(8), udot)
    np.testing.assert_allclose(falling, np.zeros(8), atol=1e-10)
