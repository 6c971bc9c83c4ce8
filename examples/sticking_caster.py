"""The shopping cart of Gillespie (2003), example 3, as a robot whose caster sticks and lets go.

In one simulation a `kd.Lock` with a limit is the sticking caster: it lets go where its torque
reaches the limit, and sticks again where the caster no longer turns. The cart is pushed by a force
and a moment, or drawn by a hand through a virtual coupler. It also sticks where q4 is
arccos(L3 / L2) and leaves no forward speed: u1 has to be a dependent speed. With a folder as
argument it draws the motions, their events marked.

    python examples/sticking_caster.py /tmp
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import kane_dynamics as kd

M_B, M_C, I_B = 20.0, 1.5, 1.8
L1, L2, L3 = 0.35, 0.7, 0.06
RADIUS, TRACK = 0.08, 0.5
STICKS = 0.1
"""N m between caster and basket, up to which they stick; then the caster turns freely."""

BODY = """<link name="{name}"><inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/><inertia
ixx="{half}" ixy="0" ixz="0" iyy="{whole}" iyz="0" izz="{half}"/></inertial></link>"""
SLIDE = """<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0 0 {z}"/><axis xyz="{axis}"/><limit effort="0" velocity="100"/></joint>"""
TURN = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{x} {y} 0"/><axis xyz="{axis}"/></joint>"""


def body(name: str, mass: float, inertia: float, x: float = 0.0) -> str:
    """A wheel or a basket; wheels have next to no inertia, as in the paper."""
    return BODY.format(name=name, x=x, mass=mass, half=inertia, whole=1.5 * inertia)


def turn(name: str, parent: str, child: str, x: float, y: float = 0.0, axis: str = "0 0 1") -> str:
    return TURN.format(name=name, parent=parent, child=child, x=x, y=y, axis=axis)


CART = f"""<robot name="cart"><link name="floor"/><link name="along"/><link name="across"/>
{SLIDE.format(name="q1", parent="floor", child="along", z=RADIUS, axis="1 0 0")}
{SLIDE.format(name="q2", parent="along", child="across", z=0, axis="0 1 0")}
{turn("q3", "across", "basket", 0)}{body("basket", M_B, I_B, L1)}
{turn("left", "basket", "P4", 0, TRACK / 2, "0 1 0")}{body("P4", 1e-9, 1e-12)}
{turn("right", "basket", "P5", 0, -TRACK / 2, "0 1 0")}{body("P5", 1e-9, 1e-12)}
{turn("q4", "basket", "C", L2)}<link name="C"/>
{turn("roll", "C", "P3", -L3, axis="0 1 0")}{body("P3", M_C, 1e-12)}</robot>"""

CONSTRAINTS = [
    *(kd.Rolling(wheel, wheel, RADIUS) for wheel in ("P4", "P5", "P3")),
    kd.Lock("caster", "q4", limit=(STICKS, 0.0)),
]


def cart(**options: Any) -> kd.ConstrainedDynamics:
    robot = kd.load(CART, constraints=CONSTRAINTS, **options)
    assert isinstance(robot, kd.ConstrainedDynamics)
    return robot


def start(
    robot: kd.Dynamics, q4: float, u1: float = 0.0, u2: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and speeds that fit the wheels, from the speeds of the paper; q3 is zero."""
    q, u = (dict.fromkeys(robot.joint_names, 0.0) for _ in range(2))
    q["q4"] = q4
    u3 = (-np.sin(q4) * u1 + L2 * np.cos(q4) * u2) / L3  # 60
    along = np.cos(q4) * u1 + L2 * np.sin(q4) * u2  # of P3
    u.update(q1=u1, q3=u2, q4=u3 - u2, roll=along / RADIUS)
    u.update(left=(u1 - TRACK / 2 * u2) / RADIUS, right=(u1 + TRACK / 2 * u2) / RADIUS)
    return np.array(list(q.values())), np.array(list(u.values()))


def push(F: ArrayLike, tau: ArrayLike, times: ArrayLike) -> kd.TorqueHistory:
    """A force along b1 and a moment over time, as what motors at the back wheels exert."""
    F, tau = np.asarray(F, float), np.asarray(tau, float)
    torques = np.zeros((len(F), 7))
    torques[:, 3], torques[:, 4] = (
        0.5 * RADIUS * (F - side * 2.0 * tau / TRACK) for side in (1, -1)
    )
    return kd.TorqueHistory(times, torques, hold="linear")


TIMES = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
FORCE, MOMENT = [0.0, 12.0, 6.0, -6.0, 0.0, 6.0], [0.0, 2.0, -5.0, 4.0, 0.0, -4.0]


def pushed(robot: kd.Dynamics) -> kd.Motion:
    """Directly, beginning at rest with the caster in front."""
    return robot.simulate(5.0, *start(robot, 2.6), torque=push(FORCE, MOMENT, TIMES), step=5e-4)


def drawn(robot: kd.Dynamics) -> tuple[kd.Motion, kd.VirtualCoupler]:
    """By a hand that moves to and fro and sideways, through a spring and a damper."""
    times = np.linspace(0.0, 5.0, 11)
    hand = np.column_stack([0.6 * np.sin(times), 0.15 * np.sin(2.0 * times), np.full(11, RADIUS)])
    coupler = kd.VirtualCoupler("basket", kd.trajectory_through(times, hand), 150.0, 30.0)
    motion = robot.simulate(5.0, *start(robot, 0.3), wrenches={"basket": coupler}, step=5e-4)
    return motion, coupler


SINGULAR = float(np.arccos(L3 / L2))


def turned(robot: kd.Dynamics) -> kd.Motion:
    """With a caster that sticks where the cart can only turn about P1: u1 follows from nothing."""
    moment = push([0.0, 0.0], [0.5, 0.5], [0.0, 1.0])
    return robot.simulate(1.0, *start(robot, SINGULAR), torque=moment, step=5e-4)


def main() -> None:
    robot = cart()
    found = {"pushed": pushed(robot), "drawn by a hand": drawn(robot)[0], "turned": turned(robot)}
    for name, motion in found.items():
        print(f"{name}: " + ", ".join(f"{each.kind} at {each.t:.4f} s" for each in motion.events))
        print(f"  at the end q1, q2, q3, q4 = {motion.q[-1, [0, 1, 2, 5]].round(4) + 0.0}")
    if len(sys.argv) > 1:
        for k, (name, motion) in enumerate(found.items()):
            path = Path(sys.argv[1]) / f"sticking_caster_{k}.png"
            motion.plot(path)
            print(f"{name}: {path}")


if __name__ == "__main__":
    main()
