"""What Kane and Levinson (1983) computed for the Stanford Arm, to be held beside their paper.

python examples/stanford_arm_paper.py [directory]

Torques and forces have the paper's signs. Figures 1 and 3 are drawn into the directory, by default
the current one, if matplotlib is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kane_dynamics as kd

Array = NDArray[np.float64]

URDF = Path(__file__).parent.parent / "urdf" / "stanford_arm.urdf"
DURATION = 10.0
START = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
GOAL = np.array([np.pi / 3] * 5 + [0.1])

# Equations (128) to (133): k1, k3, …, k11 and k2, k4, …, k12.
STIFFNESS = np.array([3.0, 1.0, 0.30, 0.30, 0.25, 30.0])
DAMPING = np.array([5.0, 3.0, 0.60, 0.60, 0.25, 41.0])

# The paper counts tau2 … tau5 and sigma as what an outboard body exerts on the inboard one.
SIGNS = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
TORQUES = [f"τ{k} (N m)" for k in range(1, 6)] + ["σ (N)"]
COORDINATES = [f"q{k} (deg)" for k in range(1, 6)] + ["q6 (m)"]
DEGREES = np.array([180.0 / np.pi] * 5 + [1.0])

PRINTED_COUNTS = [
    ("torques: Lagrange, Hollerbach 1980", 2195, 1719),
    ("torques: Newton-Euler, Walker and Orin 1982", 1541, 1196),
    ("torques: Newton-Euler, Hollerbach; Silver 1982", 852, 738),
    ("torques: Kane and Levinson 1983", 646, 394),
]


def show_operations(arm: kd.Dynamics) -> None:
    rows = list(PRINTED_COUNTS)
    for what, function in (("torques", "inverse_dynamics"), ("accelerations", "forward_dynamics")):
        count = arm.operations(function)
        divisions = f", {count.divisions} divisions too" if count.divisions else ""
        rows.append((f"{what}: kane_dynamics{divisions}", count.multiplications, count.additions))
    print(f"\nOperations{'':38}{'multiplications':>16}{'additions':>12}")
    for who, multiplications, additions in rows:
        print(f"  {who:46}{multiplications:16}{additions:12}")


def manoeuvre(t: Array) -> tuple[Array, Array, Array]:
    """Equation (127): q, u and udot, a row for each time."""
    phase = 2 * np.pi * t[:, None] / DURATION
    speed = (GOAL - START) / DURATION
    q = START + speed * (t[:, None] - DURATION / (2 * np.pi) * np.sin(phase))
    return q, speed * (1 - np.cos(phase)), speed * 2 * np.pi / DURATION * np.sin(phase)


def show_rows(title: str, names: list[str], t: Array, values: Array) -> None:
    print(f"\n{title}\n  t (s)" + "".join(f"{name:>12}" for name in names))
    for time, row in zip(t, values, strict=True):
        print(f"  {time:5.1f}" + "".join(f"{value:12.4f}" for value in row.round(4) + 0.0))


def controlled(arm: kd.Dynamics, free_base: bool = False) -> kd.Motion:
    """The arm brought from START to GOAL by equations (128) to (133); their g terms are gravity."""
    driven = np.array([0.0 if free_base else 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    control = kd.PDControl(GOAL, driven * STIFFNESS, driven * DAMPING)
    return arm.simulate(DURATION, START, np.zeros(6), control, output_step=0.01)


def draw(path: Path, title: str, names: list[str], t: Array, values: Array) -> None:
    """Six curves over time, each with its own scale."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print(f"{path.name} is not drawn: matplotlib is not installed")
        return
    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    figure.suptitle(title)
    for axes, name, column in zip(figure.subplots(3, 2, sharex=True).flat, names, values.T):
        axes.plot(t, column, color="#0072B2", linewidth=1.2)
        axes.set_ylabel(name)
        axes.set_xlim(0.0, DURATION)
        axes.grid(alpha=0.3)
    for axes in figure.axes[-2:]:
        axes.set_xlabel("t (s)")
    figure.savefig(path, dpi=130)
    print(f"drawn: {path}")


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"figures cannot be drawn into {directory}: {error.strerror}")
    arm = kd.load(URDF)
    show_operations(arm)

    t = np.linspace(0.0, DURATION, 1001)
    torques = SIGNS * arm.inverse_dynamics(*manoeuvre(t))
    show_rows("Figure 1: torques for the motion of equation 127", TORQUES, t[::100], torques[::100])

    motion = controlled(arm)
    q = DEGREES * motion.q
    title = "Figure 3: the arm under the control of equations 128 to 133"
    show_rows(title, COORDINATES, motion.t[::100], q[::100])
    print(f"  off the goal by {100 * np.abs(motion.q[-1] / GOAL - 1).max():.1f} % at most")
    back = arm.inverse_dynamics(motion.q, motion.u, motion.udot)
    print(f"  inverse dynamics gives its torques back within {np.abs(back - motion.tau).max():.0e}")
    free = controlled(arm, free_base=True)
    momentum = np.abs(arm.momentum(free.q, free.u).angular[:, 2]).max()
    print(f"  with τ1 = 0, momentum about the vertical stays below {momentum:.0e} kg m²/s\n")

    draw(directory / "figure_1.png", "Control torques and control force", TORQUES, t, torques)
    draw(directory / "figure_3.png", "Generalized coordinates", COORDINATES, motion.t, q)


if __name__ == "__main__":
    main()
