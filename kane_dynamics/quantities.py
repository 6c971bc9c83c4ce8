"""Quantities of several parts, as `Dynamics` gives them."""

from __future__ import annotations

from typing import Any, NamedTuple

from kane_dynamics.arrays import Array


class Energy(NamedTuple):
    """Kinetic and potential energy in joules: numbers, or arrays (N,) for a batch."""

    kinetic: Any
    potential: Any


class Momentum(NamedTuple):
    """Linear momentum (kg m/s) and angular momentum about the world's origin (kg m²/s)."""

    linear: Array
    angular: Array


class JointLimits(NamedTuple):
    """Limits of the moving joints, an entry each, infinite where the robot gives none."""

    lower: Array
    upper: Array
    velocity: Array
    effort: Array


class InverseDynamicsDerivatives(NamedTuple):
    """Of torques by displacements, speeds and accelerations, (dof, dof) or (N, dof, dof)."""

    dtau_dq: Array
    dtau_du: Array
    dtau_dudot: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """Of accelerations by displacements, speeds and torques, (dof, dof) or (N, dof, dof)."""

    dudot_dq: Array
    dudot_du: Array
    dudot_dtau: Array
