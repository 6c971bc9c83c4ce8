"""The arm of Kane and Levinson (1983): its equations, its torques, and a fault in its URDF."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import kane_dynamics as kd

URDF = Path(__file__).parent.parent / "urdf" / "stanford_arm.urdf"
DURATION = 10.0
START = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.1])
END = np.array([np.pi / 3, np.pi / 2 + 0.3, 0.5, 0.5, 0.5, 0.2])


def show_operations(arm: kd.Dynamics) -> None:
    torques, at_rest = arm.operations("inverse_dynamics"), arm.operations("gravity")
    print("\nOperations for all six torques    multiplications   additions")
    for who, multiplications, additions in (
        ("Kane and Levinson, 1983", 646, 394),
        ("kane_dynamics", torques.multiplications, torques.additions),
        ("kane_dynamics, robot at rest", at_rest.multiplications, at_rest.additions),
    ):
        print(f"  {who:30}{multiplications:17}{additions:12}")


def show_first_torques(robot: kd.Robot) -> None:
    rest = np.zeros(6)
    print("\nFrom the robot to its first torques")
    with tempfile.TemporaryDirectory() as cache:
        for how in ("equations derived and compiled", "taken from the cache"):
            begin = perf_counter()
            kd.load(robot, cache=cache).inverse_dynamics(START, rest, rest)
            print(f"  {how:33}{1e3 * (perf_counter() - begin):14.1f} ms")


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From rest to rest as in equation (127) of the paper: q, u and udot, a row for each time."""
    phase = 2 * np.pi * t[:, None] / DURATION
    speed = (END - START) / DURATION
    q = START + speed * (t[:, None] - DURATION / (2 * np.pi) * np.sin(phase))
    return q, speed * (1 - np.cos(phase)), speed * 2 * np.pi / DURATION * np.sin(phase)


def show_motion(arm: kd.Dynamics) -> None:
    t = np.linspace(0.0, DURATION, 5)
    q, u, udot = motion(t)
    torques = arm.inverse_dynamics(q, u, udot)
    print("\nTorques (N m; joint6: N) along a motion, one call for all times")
    print("  t (s)" + "".join(f"{name:>10}" for name in arm.joint_names))
    for time, row in zip(t, torques, strict=True):
        print(f"  {time:5.1f}" + "".join(f"{torque:10.3f}" for torque in row.round(3) + 0.0))
    error = np.abs(arm.forward_dynamics(q, u, torques) - udot).max()
    print(f"  forward dynamics gives the accelerations back within {error:.0e}")


def show_fault() -> None:
    print("\nThe same arm with the mass of link C in gram, 4000 for 4: kd.check says")
    broken = URDF.read_text(encoding="utf-8").replace('<mass value="4"/>', '<mass value="4000"/>')
    for finding in kd.check(broken):
        print(f"  {finding}")


def main() -> None:
    robot = kd.read_urdf(URDF)
    arm = kd.load(robot)
    print(f"The {robot.name} of {URDF.name}, joints {', '.join(arm.joint_names)}")
    show_operations(arm)
    show_first_torques(robot)
    show_motion(arm)
    show_fault()


if __name__ == "__main__":
    main()
