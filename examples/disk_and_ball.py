"""A disk that slides, rolls and slips on ramps, and a ball that bounces until it rests.

Both have closed-form solutions, which are printed beside what is simulated. With a folder as
argument it draws the motions, their events marked.

    python examples/disk_and_ball.py /tmp
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kane_dynamics as kd

RADIUS, MASS, INERTIA = 0.1, 2.0, 0.01  # m, kg, kg m²: a disk
FRICTION, G = 0.3, 9.81
RESTITUTION, HEIGHT = 0.5, 0.2

BODY = """<link name="{name}"><inertial><mass value="{mass}"/><inertia ixx="0.005" ixy="0" ixz="0"
iyy="{inertia}" iyz="0" izz="0.005"/></inertial></link>"""
SLIDES = """<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
<axis xyz="{axis}"/><limit effort="0" velocity="100"/></joint>"""

DISK = f"""<robot name="disk"><link name="ramp"/><link name="along"/><link name="up"/>
{BODY.format(name="disk", mass=MASS, inertia=INERTIA)}
{SLIDES.format(name="x", parent="ramp", child="along", axis="1 0 0")}
{SLIDES.format(name="z", parent="along", child="up", axis="0 0 1")}
<joint name="spin" type="continuous"><parent link="up"/><child link="disk"/><axis xyz="0 1 0"/>
</joint></robot>"""

BALL = f"""<robot name="ball"><link name="ground"/>
{BODY.format(name="ball", mass=MASS, inertia=INERTIA)}
{SLIDES.format(name="z", parent="ground", child="ball", axis="0 0 1")}</robot>"""


def disk(slope: float) -> kd.Dynamics:
    """A disk on a ramp that falls by an angle along x."""
    touches = kd.Contact("ramp", "disk", radius=RADIUS, friction=FRICTION)
    gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    return kd.load(DISK, constraints=[touches], gravity=gravity)


def start(v: float, omega: float) -> tuple[np.ndarray, np.ndarray]:
    """On the ramp, with a speed along it and an angular velocity."""
    return np.array([0.0, RADIUS, 0.0]), np.array([v, 0.0, omega])


def disk_until(slope: float, v: float, omega: float) -> tuple[float, float, float]:
    """When a sliding disk does not slip any more, its speed and angular velocity then."""
    side = np.sign(v - RADIUS * omega)
    push = FRICTION * G * np.cos(slope)
    acceleration = G * np.sin(slope) - side * push
    turning = side * MASS * push * RADIUS / INERTIA
    t = (RADIUS * omega - v) / (acceleration - RADIUS * turning)
    return t, v + acceleration * t, omega + turning * t


def bounces(count: int) -> tuple[np.ndarray, float]:
    """Times of the first bounces, and when there are no more."""
    first = np.sqrt(2 * HEIGHT / G)
    times = first * (1 + 2 * np.cumsum([0.0, *RESTITUTION ** np.arange(1, count)]))
    return times, first * (1 + RESTITUTION) / (1 - RESTITUTION)


def ball() -> kd.Dynamics:
    touches = kd.Contact("ground", "ball", radius=RADIUS, restitution=RESTITUTION)
    return kd.load(BALL, constraints=[touches])


def motions() -> dict[str, kd.Motion]:
    slides, reverses, falls = disk(0.1), disk(1.0), ball()
    return {
        "a disk slides, then rolls": slides.simulate(1.0, *start(2.0, 0.0)),
        "a disk whose slip reverses": reverses.simulate(1.0, *start(0.0, 30.0)),
        "a ball comes to rest": falls.simulate(1.0, [RADIUS + HEIGHT], [0.0]),
    }


def main() -> None:
    found = motions()
    for slope, v, omega, name in (
        (0.1, 2.0, 0.0, "a disk slides, then rolls"),
        (1.0, 0.0, 30.0, "a disk whose slip reverses"),
    ):
        t, speed, turning = disk_until(slope, v, omega)
        events = [each for each in found[name].events if each.kind in ("stick", "reversal")]
        print(f"{name}: {events[0].kind} at {events[0].t:.12f} s, closed form {t:.12f} s")
        print(f"  then {speed:.6f} m/s and {turning:.6f} rad/s")
    times, rest = bounces(4)
    hits = [each.t for each in found["a ball comes to rest"].events if each.kind == "contact"]
    print(f"a ball bounces at {np.array(hits[:4]).round(9)} s")
    print(f"     closed form {times.round(9)} s, and rests from {rest:.6f} s on")
    if len(sys.argv) > 1:
        for k, (name, motion) in enumerate(found.items()):
            path = Path(sys.argv[1]) / f"disk_and_ball_{k}.png"
            motion.plot(path)
            print(f"{name}: {path}")


if __name__ == "__main__":
    main()
