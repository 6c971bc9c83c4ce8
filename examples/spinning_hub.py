"""A particle on a radial spring, hinged to a hub that spins: linear equations, right and wrong.

Buffinton's handbook chapter (6.5.1) warns that partial velocities must come from velocities in
full. Here the equations are formed in full and differentiated then. Formed from a velocity that was
linearized too early they lose terms: in truth the swing gets stiffer the faster the hub spins, and
with those it gets softer, until the arm seems to fall over. The generalized forces of the springs
are the same, and linear, in both.
"""

from __future__ import annotations

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

angle, length, swing, stretch = me.dynamicsymbols("q1 q2 u1 u2")
t = me.dynamicsymbols._t
m, R, d, k, c, spin = sm.symbols("m R d k c Omega")
CONSTANTS = {m: 0.4, R: 0.5, d: 0.3, k: 300.0, c: 1.5}


def steady_length(rate: float) -> float:
    """Of the spring in steady motion, where k (q2 - d) = m Omega² (R + q2)."""
    pull = CONSTANTS[m] * rate**2
    return (CONSTANTS[k] * CONSTANTS[d] + pull * CONSTANTS[R]) / (CONSTANTS[k] - pull)


def model(rate: float, prematurely: bool) -> tuple[me.KanesMethod, list, list]:
    """Speeds, particle and springs; the hub turns at a prescribed rate."""
    N = me.ReferenceFrame("N")
    hub = N.orientnew("hub", "Axis", [spin * t, N.z])
    arm = hub.orientnew("arm", "Axis", [angle, hub.z])
    arm.set_ang_vel(hub, swing * hub.z)
    O, P, slider = me.Point("O"), me.Point("P"), me.Point("slider")
    O.set_vel(N, 0)
    rim = O.locatenew("rim", R * hub.x)
    rim.v2pt_theory(O, N, hub)
    velocity = rim.vel(N) + stretch * arm.x + length * arm.ang_vel_in(N).cross(arm.x)
    P.set_vel(N, linearized(velocity, hub, rate) if prematurely else velocity)
    slider.set_vel(N, stretch * arm.x)  # P as the arm sees it: the spring feels nothing else
    rates = [swing - angle.diff(), stretch - length.diff()]
    kane = me.KanesMethod(N, [angle, length], [swing, stretch], kd_eqs=rates)
    loads = [(slider, -k * (length - d) * arm.x), (arm, -c * angle * N.z), (hub, c * angle * N.z)]
    return kane, [me.Particle("P", P, m)], loads


def linearized(velocity: me.Vector, hub: me.ReferenceFrame, rate: float) -> me.Vector:
    """To first order in deviations from steady motion."""
    steady = {angle: 0, length: steady_length(rate), swing: 0, stretch: 0}
    parts = velocity.to_matrix(hub)
    small = parts.subs(steady)
    for each, value in steady.items():
        small += parts.diff(each).subs(steady) * (each - value)
    return sum((part * axis for part, axis in zip(small, hub)), me.Vector(0))


def linear_equations(rate: float, prematurely: bool = False) -> kd.Linearization:
    """About steady motion with the arm straight out."""
    system = kd.System(*model(rate, prematurely), constants={**CONSTANTS, spin: rate})
    return system.linearize(0.0, [0.0, steady_length(rate), 0.0, 0.0])


def main() -> None:
    print("Omega (rad/s)   frequencies (rad/s)   linearized too early")
    for rate in (2.0, 5.0, 10.0):
        right, wrong = (linear_equations(rate, each).eigenvalues for each in (False, True))
        shown = [np.unique(np.abs(each.imag).round(4)) for each in (right, wrong)]
        falls = "and falls over" if wrong.real.max() > 1e-6 else ""
        print(f"{rate:9}       {shown[0]!s:22}{shown[1]} {falls}".rstrip())


if __name__ == "__main__":
    main()
