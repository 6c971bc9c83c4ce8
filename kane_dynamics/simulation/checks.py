"""How far a motion can be trusted: what should be zero, and how large it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.simulation.rates import evaluated

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion


SLOW = 1e-6
"""Speed below which a robot is at rest, rad/s or m/s."""

ROUNDING = 1e-9
"""Share of an energy within which changes are not told from rounding."""


@dataclass(frozen=True)
class Checks:
    """What should be zero in a simulated motion, and what each of it can and cannot see.

    None of them knows whether the model is that of the robot, nor what a torque function does at
    times at which it is never asked.

    Attributes
    ----------
    energy_error : float
        Largest difference between the change of mechanical energy since the start and the work of
        torques, friction, stops and wrenches, J. It sees wrong equations, and steps that are too
        long for the motion. It does not see an input that was misread: its work is misread alike.
        nan, as is the relative one, where the work of prescribed motion in time, or of friction by
        unknown forces, is not known: under constraints, and with semi-implicit Euler.
    relative_energy_error : float
        The same, divided by the largest energy that went back and forth; or by what speeds of
        1e-6 rad/s and m/s amount to, in a robot that rests.
    local_error : float
        Largest estimated error of one step, over coordinates and speeds in their units: by two
        shorter steps that meet at an irrational fraction of it, another one each time, or with a
        tolerance a hundred times smaller; in those steps that seem worse than all before them, and
        in a sample of the others: in all where there are no more than a thousand. It sees inputs
        that change faster than the steps, periodic ones too. It does not see a single short pulse
        between the places that it looks at, nor how errors grow: in a chaotic motion, within
        seconds to any size.
    round_trip_error : float
        Largest difference between the forces that acted and those that inverse dynamics asks for
        the motion, N m or N. It sees accelerations that do not belong to the recorded states, that
        is wrong equations, also when energy is conserved. It does not see how far a motion has
        come off its course: what is recorded obeys the equations at every instant.
    momentum_errors : dict from str to float
        Largest change of each momentum that nothing acts on, such as "angular momentum about z"
        (kg m²/s) or "momentum of joint 'slide'". It sees what energy does, in a direction of its
        own.
    global_error : float or None
        With ``verify=True``, the largest difference from the same motion computed again with other
        steps, over all recorded coordinates and speeds in their units; infinite where the two end
        at different times or for different reasons, nan where the second one was cancelled. It sees
        errors that grow, chaos, misread inputs and missed events, unless both motions misread or
        miss the same. It does not see wrong equations: they are the same in both. None without.
    """

    energy_error: float
    relative_energy_error: float
    local_error: float
    round_trip_error: float
    momentum_errors: Mapping[str, float]
    global_error: float | None = None


def energy_at_rest(functions: Functions, potential: Array, **start: Array) -> float:
    """Energy that a mechanism may seem to exchange when it does not move, J.

    Parameters
    ----------
    functions : Functions
    potential : array (K,)
        Its potential energies.
    **start
        Inputs of its functions at the start.
    """
    bias = evaluated(functions, "bias", **{**start, "u": np.zeros_like(start["u"])})
    height = np.abs(potential).max() + np.abs(bias).sum() * 1.0  # m or rad
    inertia = np.trace(evaluated(functions, "mass_matrix", **start))
    return float(0.5 * SLOW**2 * inertia + ROUNDING * height)


def checks_of(motion: Motion, local_error: float, global_error: float | None) -> Checks:
    """Compute the checks of a motion."""
    functions = motion._functions
    energy = motion.kinetic + motion.potential
    energy_error = float(np.abs(energy - energy[0] - motion.work).max())
    if not motion._balanced:
        energy_error = np.nan
    scale = max(
        np.max(motion.kinetic),
        np.ptp(motion.potential),
        np.ptp(motion.work),
        energy_at_rest(functions, motion.potential, **motion.given(0)),
    )
    force = motion.tau + motion.other_forces
    asked = motion.evaluated("inverse_dynamics")
    forced = [bool(column.any()) for column in force.T]
    errors = {}
    for name, program, output in functions.equations.conserved(forced):
        values = motion.evaluated(program)[:, output]
        errors[name] = float(np.abs(values - values[0]).max())
    return Checks(
        energy_error=energy_error,
        relative_energy_error=energy_error / float(scale),
        local_error=local_error,
        round_trip_error=float(np.abs(asked - force).max()),
        momentum_errors=errors,
        global_error=global_error,
    )
