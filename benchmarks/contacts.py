"""A block that slides to rest on four contacts, beside MuJoCo, each with the step that it needs.

A block with a foot at each corner is thrown along a plane and comes to rest after v²/(2 μ g). We
find the moment at which it sticks; MuJoCo, whose contacts are soft and whose friction begins with
speed, comes as near as its step allows. Each takes the longest of some steps with which its block
ends, after a second, within a tenth of a millimetre of that place. It does not spin: what then
matters is how four feet share the weight, which rigid bodies do not say.
"""

from __future__ import annotations

import mujoco
import numpy as np

import kane_dynamics as kd
from benchmarks.timing import Pair, now

FRICTION, SPEED, MASS, INERTIA = 0.5, 3.0, 3.0, 0.03
FEET = tuple((x, y, -0.1) for x in (0.2, -0.2) for y in (0.1, -0.1))
DURATION, WITHIN = 1.0, 1e-4
STEPS = (5e-2, 2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
REST = SPEED**2 / (2.0 * FRICTION * 9.81)

URDF = f"""<robot name="block"><link name="block"><inertial><mass value="{MASS}"/>
<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial>
</link></robot>"""

SMALL = 1e-4
"""Radius of MuJoCo's feet, which are spheres."""

_MATERIAL = f'condim="3" friction="{FRICTION} 0 0" {{soft}}'

MJCF = f"""<mujoco><option cone="elliptic"/><worldbody>
<geom type="plane" size="20 20 1" {_MATERIAL}/><body pos="0 0 0.1"><freejoint/>
<inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>{
    "".join(
        f'<geom type="sphere" size="{SMALL}" pos="{x} {y} {z + SMALL}" {_MATERIAL}/>'
        for x, y, z in FEET
    )
}</body></worldbody></mujoco>"""

SOFTNESS = ("", 'solref="0.002 1" solimp="0.99 0.999 0.0001"')
"""MuJoCo's own, and ten times as stiff: the one that allows the longer step is taken."""


def block() -> Pair:
    """A second of each, with its longest step that is good enough."""
    feet = [kd.Contact(f"foot{k}", "block", at=at, friction=FRICTION) for k, at in enumerate(FEET)]
    robot = kd.load(URDF, base="floating", constraints=feet)
    q, u = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]), np.array([SPEED, 0.0, 0.0, 0.0, 0.0, 0.0])

    def ours(step: float) -> float:
        motion = robot.simulate(DURATION, q, u, step=step, output_step=DURATION)
        return float(motion.q[-1, 0])

    models = [mujoco.MjModel.from_xml_string(MJCF.replace("{soft}", soft)) for soft in SOFTNESS]

    def theirs(model: mujoco.MjModel, step: float) -> float:
        model.opt.timestep = step
        data = mujoco.MjData(model)
        data.qvel[0] = SPEED
        mujoco.mj_step(model, data, nstep=round(DURATION / step))
        return float(data.qpos[0])

    own = next(step for step in STEPS if abs(ours(step) - REST) < WITHIN)
    model, step = next(
        (model, step)
        for step in STEPS
        for model in models
        if abs(theirs(model, step) - REST) < WITHIN
    )

    def seconds(call: object, *arguments: object) -> float:
        begin = now()
        call(*arguments)  # type: ignore[operator]
        return now() - begin

    return Pair(lambda: seconds(ours, own), lambda: seconds(theirs, model, step))
