"""The equations of a tree of rigid bodies, each program by the algorithm that is best for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.equations import Conserved, Equations, Form, Given, printable
from kane_dynamics.kane.speeds import ReducedSpeeds
from kane_dynamics.kane.tree import (
    derivatives,
    forward,
    forward_derivatives,
    gravity,
    inverse,
    links,
    mass,
    momentum,
    speeds,
)
from kane_dynamics.kane.tree.derivatives import Derivatives
from kane_dynamics.kane.tree.driven import Driven
from kane_dynamics.kane.tree.frames import FramedBody, framed
from kane_dynamics.kane.tree.joints import coordinate_rates
from kane_dynamics.kane.tree.late import Parameters, with_late_numbers
from kane_dynamics.kane.tree.regrouping import regrouped
from kane_dynamics.kane.tree.singular import singular_error, singular_speed
from kane_dynamics.robot.tree import GROUND, Body, Frame, Tree
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import Input

PARALLEL = 1e-12
AXES = "xyz"


class TreeEquations(Equations):
    """A robot ready to have its equations derived.

    Parameters
    ----------
    name : str
    tree : Tree
    gravity : tuple of float
        Acceleration of gravity in the frame of the root link, m/s².
    """

    forms: ClassVar[Mapping[str, Form]] = {
        **Equations.forms,
        "gravity": Form(("q",), ("u",)),
        "momentum": Form(("q", "u"), (6,)),
        "pose": Form(("q",), (4, 4), 1),
        "jacobian": Form(("q",), (6, "u"), 1),
        "drift": Form(("q", "u"), (6,), 1),
        "wrench_forces": Form(("q", "wrenches"), ("u",), None),
    }

    def __init__(self, name: str, tree: Tree, gravity: tuple[float, float, float]) -> None:
        self.name, self.tree, self.gravity_vector = name, tree, gravity
        self.coordinate_names, self.speed_names = tree.coordinate_names, tree.speed_names
        quaternions = (body.quaternion for body in tree.bodies)
        self.quaternions = tuple(each for each in quaternions if each is not None)
        if tree.late or tree.payload:
            self.parameters = (Input("parameters", len(self.late)),)

    @cached_property
    def key(self) -> str:
        return repr((self.tree, self.gravity_vector))

    @property
    def heading(self) -> str:
        numbers = " ".join(f"{g:g}" for g in self.gravity_vector)
        links = " ".join(map(printable, (*self.tree.late, *self.tree.payload)))
        late = (
            f"\nparameters: Dynamics.parameters, from the late inertia of {links}." if links else ""
        )
        return f"{super().heading[:-1]}; gravity {numbers}.{late}"

    # --------------------------------------------------------------------- bodies in our frames
    @cached_property
    def framed(self) -> tuple[FramedBody, ...]:
        """Bodies in frames aligned with the joint axes."""
        return with_late_numbers(self.tree, framed(self.tree))

    @cached_property
    def grouped(self) -> tuple[FramedBody, ...]:
        """Bodies that keep no mass where it can be given to their parents."""
        return regrouped(self.framed, balanced=False)

    @cached_property
    def balanced(self) -> tuple[FramedBody, ...]:
        """Bodies that balance their parents, for programs that know all accelerations."""
        return regrouped(self.framed, balanced=True)

    @cached_property
    def late(self) -> Parameters:
        """What depends on numbers that are given at run time."""
        return Parameters((*self.framed, *self.grouped, *self.balanced))

    def _settled(self, bodies: Sequence[FramedBody], given: Given) -> Sequence[FramedBody]:
        """Bodies with the inertia that late numbers give them."""
        return self.late.settled(bodies, given["parameters"]) if self.parameters else bodies

    def _frames(self, given: Given) -> list[Frame]:
        return [self.tree.frame(link) for link in given.about]

    # -------------------------------------------------------------------------------- programs
    def coordinate_rates(self, given: Given) -> list[Expr]:
        return coordinate_rates(given.graph, self.framed, given["q"], given["u"])

    def inverse_dynamics(self, given: Given) -> list[Expr]:
        torques = inverse.inverse_dynamics(
            given.graph,
            self._settled(self.balanced, given),
            self.gravity_vector,
            given["q"],
            given["u"],
            given["udot"],
        )
        return self._with_friction(torques, given)

    def bias(self, given: Given) -> list[Expr]:
        return self.inverse_dynamics(given.but(udot=[given.graph.zero] * self.tree.nu))

    def generalized_momentum(self, given: Given) -> list[Expr]:
        """M u: the torques that produce accelerations u, at rest and without weight."""
        bodies = self._settled(self.balanced, given)
        rest, nothing = [given.graph.zero] * self.tree.nu, (0.0, 0.0, 0.0)
        return inverse.inverse_dynamics(given.graph, bodies, nothing, given["q"], rest, given["u"])

    def gravity(self, given: Given) -> list[Expr]:
        """Generalized forces that hold the robot still against its weight."""
        bodies = self._settled(self.grouped, given)
        return gravity.gravity_torques(
            given.graph, bodies, self.gravity_vector, given["q"], self.tree.nu
        )

    def mass_matrix(self, given: Given) -> list[Expr]:
        bodies = self._settled(self.grouped, given)
        rows = mass.mass_matrix(given.graph, bodies, given["q"], self.tree.nu)
        return [element for row in rows for element in row]

    def forward_dynamics(self, given: Given) -> list[Expr]:
        return forward.forward_dynamics(self._driven(given))

    def _driven(self, given: Given) -> Driven:
        drag = self._with_friction([given.graph.zero] * self.tree.nu, given)
        return Driven(
            given.graph,
            self.tree,
            self._settled(self.grouped, given),
            self._settled(self.balanced, given),
            self.gravity_vector,
            given["q"],
            given["u"],
            [torque - each for torque, each in zip(given["tau"], drag)],
            self.late.trials() if self.parameters else [[]],
        )

    def inverse_dynamics_derivatives(self, given: Given) -> list[Expr]:
        found = derivatives.inverse_dynamics_derivatives(
            given.graph,
            self._settled(self.grouped, given),
            self.gravity_vector,
            given["q"],
            given["u"],
            given["udot"],
        )
        for r, damping in enumerate(self._damping):
            found.by_u[r][r] = found.by_u[r][r] + damping
        return _flat(found)

    def forward_dynamics_derivatives(self, given: Given) -> list[Expr]:
        driven = self._driven(given)
        return _flat(forward_derivatives.forward_dynamics_derivatives(driven, self._damping))

    def energy(self, given: Given) -> list[Expr]:
        q, u = given["q"], given["u"]
        grouped, whole = (self._settled(each, given) for each in (self.grouped, self.framed))
        kinetic = momentum.kinetic_energy(given.graph, grouped, q, u)
        return [
            kinetic,
            gravity.potential_energy(given.graph, grouped, whole, self.gravity_vector, q),
        ]

    def losses(self, given: Given) -> list[Expr]:
        zeros = [given.graph.zero] * self.tree.nu
        return [-each for each in self._with_friction(zeros, given)]

    def momentum(self, given: Given) -> list[Expr]:
        """Linear momentum, then angular momentum about the origin of the world."""
        bodies = self._settled(self.grouped, given)
        return momentum.momentum(given.graph, bodies, given["q"], given["u"])

    def pose(self, given: Given) -> list[Expr]:
        """Homogeneous matrix of a link in the world."""
        return links.pose(given.graph, self.framed, self._frames(given)[0], given["q"])

    def jacobian(self, given: Given) -> list[Expr]:
        """Partial velocities of a link."""
        (frame,) = self._frames(given)
        return links.jacobian(given.graph, self.framed, frame, given["q"], self.tree.nu)

    def drift(self, given: Given) -> list[Expr]:
        """Acceleration and angular acceleration of a link while no speed changes."""
        (frame,) = self._frames(given)
        return links.drift(given.graph, self.framed, frame, given["q"], given["u"])

    def wrench_forces(self, given: Given) -> list[Expr]:
        """Generalized active forces of wrenches on links, in the order of their names."""
        frames, flat = self._frames(given), given["wrenches"]
        wrenches = [flat[6 * k : 6 * k + 6] for k in range(len(frames))]
        return links.wrench_forces(
            given.graph, self.framed, frames, wrenches, given["q"], self.tree.nu
        )

    def _with_friction(self, torques: list[Expr], given: Given) -> list[Expr]:
        """Viscous and Coulomb friction of the joints, felt through mimicking joints as well."""
        for body in self.tree.bodies:
            if not (body.damping or body.friction):
                continue
            speed = body.multiplier * given["u"][body.speed]
            drag = body.damping * speed + body.friction * given.graph.sign(speed)
            torques[body.speed] = torques[body.speed] + body.multiplier * drag
        return torques

    @cached_property
    def _damping(self) -> tuple[float, ...]:
        """Viscous friction felt by each speed, per unit of it."""
        felt = [0.0] * self.tree.nu
        for body in self.tree.bodies:
            felt[body.speed] += body.multiplier**2 * body.damping
        return tuple(felt)

    # ------------------------------------------------------------------- what a tree also knows
    def reduced_speeds(self) -> ReducedSpeeds:
        """Speeds that make partial velocities vanish; late inertia is taken as none."""
        return speeds.reduced_speeds(self.tree, self.framed, self.gravity_vector, self.speed_names)

    @property
    def units(self) -> frozenset[str]:
        kinds = {body.kind for body in self.tree.bodies}
        turns = bool(kinds & {"revolute", "screw", "ball"})
        slides = "prismatic" in kinds
        both = "floating" in kinds or turns == slides
        return frozenset({"rad", "m"} if both else {"rad"} if turns else {"m"})

    @property
    def friction(self) -> tuple[float, ...]:
        felt = [0.0] * self.tree.nu
        for body in self.tree.bodies:
            felt[body.speed] += abs(body.multiplier) * body.friction
        return tuple(felt)

    @property
    def smooth(self) -> TreeEquations:
        return self._smooth if any(self.friction) else self

    @cached_property
    def _smooth(self) -> TreeEquations:
        bodies = tuple(replace(body, friction=0.0) for body in self.tree.bodies)
        return TreeEquations(self.name, replace(self.tree, bodies=bodies), self.gravity_vector)

    def check_about(self, name: str) -> None:
        self.tree.frame(name)

    def singular_error(self, M: Array) -> Exception | None:
        speed = singular_speed(M)
        return None if speed is None else singular_error(self.tree, speed, "in this configuration")

    def conserved(self, forced: Sequence[bool]) -> Iterator[Conserved]:
        tree, g = self.tree, np.array(self.gravity_vector)
        rooted = [body for body in tree.bodies if body.parent == GROUND]
        if len(rooted) == 1 and rooted[0].kind == "floating":
            if not any(forced[speed] for speed in rooted[0].speeds):
                yield from _conserved_of_whole(g)
            return
        for body in rooted:
            shared = sum(other.speed == body.speed for other in tree.bodies) > 1
            turns_or_slides = body.kind in ("revolute", "prismatic")
            if turns_or_slides and not shared and not forced[body.speed] and _is_free(body, g):
                name = f"momentum of joint '{tree.speed_names[body.speed]}'"
                yield Conserved(name, "generalized_momentum", body.speed)


def _flat(found: Derivatives) -> list[Expr]:
    return [element for matrix in found for row in matrix for element in row]


def _conserved_of_whole(gravity: Array) -> Iterator[Conserved]:
    for k, axis in enumerate(AXES):
        if gravity[k] == 0.0:
            yield Conserved(f"linear momentum along {axis}", "momentum", k)
        if not np.delete(gravity, k).any():
            yield Conserved(f"angular momentum about {axis}", "momentum", 3 + k)


def _is_free(body: Body, gravity: Array) -> bool:
    """Whether the mechanism itself exerts nothing along a joint on the ground."""
    if body.damping or body.friction:
        return False
    axis = np.array(body.rotation) @ np.array(body.axis)
    along = np.cross(axis, gravity) if body.kind == "revolute" else axis @ gravity
    return bool(np.abs(along).max() <= PARALLEL * max(np.abs(gravity).max(), 1.0))
