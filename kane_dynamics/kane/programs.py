"""The programs that Kane's equations of a tree give: one for each thing a user may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from kane_dynamics.kane import forward, gravity, inverse, links, mass, momentum
from kane_dynamics.kane.frames import FramedBody, framed
from kane_dynamics.kane.regrouping import regrouped
from kane_dynamics.robot.tree import Frame, Tree
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import Input, Program, Signature


@dataclass(frozen=True)
class Equations:
    """A robot ready to have its equations derived.

    Attributes
    ----------
    tree : Tree
    gravity : tuple of float
        Acceleration of gravity in the frame of the root link, m/s².
    """

    tree: Tree
    gravity: tuple[float, float, float]

    @cached_property
    def framed(self) -> tuple[FramedBody, ...]:
        """Bodies in frames aligned with the joint axes."""
        return framed(self.tree)

    @cached_property
    def grouped(self) -> tuple[FramedBody, ...]:
        """Bodies that keep no mass where it can be given to their parents."""
        return regrouped(self.framed, balanced=False)

    @cached_property
    def balanced(self) -> tuple[FramedBody, ...]:
        """Bodies that balance their parents, for programs that know all accelerations."""
        return regrouped(self.framed, balanced=True)


def signature(tree: Tree, name: str, links: Sequence[str] = ()) -> Signature:
    """What a program takes and gives.

    Parameters
    ----------
    name : str
        A key of `PROGRAMS`.
    links : sequence of str
        The links that ``pose``, ``jacobian`` and ``wrench_forces`` are about.
    """
    sizes = {
        "q": tree.nq,
        "u": tree.nu,
        "udot": tree.nu,
        "tau": tree.nu,
        "wrenches": 6 * len(links),
    }
    names, shape, _ = PROGRAMS[name]
    inputs = tuple(Input(each, sizes[each]) for each in names)
    found = (body.quaternion for body in tree.bodies)
    quaternions = tuple(("q", each) for each in found if each is not None)
    return Signature(name, inputs, shape(tree.nu), quaternions)


def program(equations: Equations, name: str, links: Sequence[str] = ()) -> Program:
    """Derive a program: a key of `PROGRAMS`, and the links it is about."""
    tree = equations.tree
    declared = signature(tree, name, links)
    graph = Graph()
    inputs = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
    frames = [tree.frame(link) for link in links]
    derive = PROGRAMS[name][2]
    return Program(declared, tuple(derive(_Derivation(graph, equations, inputs, frames))))


@dataclass(frozen=True)
class _Derivation:
    """What a step of a derivation may use."""

    graph: Graph
    equations: Equations
    inputs: dict[str, tuple[Expr, ...]]
    frames: list[Frame]

    @property
    def count(self) -> int:
        return self.equations.tree.nu

    def torques(self, u: Sequence[Expr], udot: Sequence[Expr]) -> list[Expr]:
        """Inverse dynamics, friction included."""
        e = self.equations
        result = inverse.inverse_dynamics(
            self.graph, e.balanced, e.gravity, self.inputs["q"], u, udot
        )
        return self.with_friction(result, u)

    def with_friction(self, torques: list[Expr], u: Sequence[Expr]) -> list[Expr]:
        """Viscous and Coulomb friction of the joints, felt through mimicking joints as well."""
        for body in self.equations.tree.bodies:
            if not (body.damping or body.friction):
                continue
            speed = body.multiplier * u[body.speed]
            drag = body.damping * speed + body.friction * self.graph.sign(speed)
            torques[body.speed] = torques[body.speed] + body.multiplier * drag
        return torques

    def bias(self) -> list[Expr]:
        return self.torques(self.inputs["u"], [self.graph.zero] * self.count)

    def matrix(self) -> list[list[Expr]]:
        return mass.mass_matrix(self.graph, self.equations.grouped, self.inputs["q"], self.count)


def _inverse_dynamics(d: _Derivation) -> list[Expr]:
    return d.torques(d.inputs["u"], d.inputs["udot"])


def _gravity(d: _Derivation) -> list[Expr]:
    e = d.equations
    return gravity.gravity_torques(d.graph, e.grouped, e.gravity, d.inputs["q"], d.count)


def _mass_matrix(d: _Derivation) -> list[Expr]:
    return [element for row in d.matrix() for element in row]


def _forward_dynamics(d: _Derivation) -> list[Expr]:
    e, q, u = d.equations, d.inputs["q"], d.inputs["u"]
    friction = d.with_friction([d.graph.zero] * d.count, u)
    tau = [torque - drag for torque, drag in zip(d.inputs["tau"], friction)]
    return forward.forward_dynamics(d.graph, e.tree, e.grouped, e.balanced, e.gravity, q, u, tau)


def _energy(d: _Derivation) -> list[Expr]:
    e, q = d.equations, d.inputs["q"]
    kinetic = momentum.kinetic_energy(d.graph, e.grouped, q, d.inputs["u"])
    return [kinetic, gravity.potential_energy(d.graph, e.framed, e.gravity, q)]


def _momentum(d: _Derivation) -> list[Expr]:
    return momentum.momentum(d.graph, d.equations.grouped, d.inputs["q"], d.inputs["u"])


def _pose(d: _Derivation) -> list[Expr]:
    return links.pose(d.graph, d.equations.framed, d.frames[0], d.inputs["q"])


def _jacobian(d: _Derivation) -> list[Expr]:
    return links.jacobian(d.graph, d.equations.framed, d.frames[0], d.inputs["q"], d.count)


def _wrench_forces(d: _Derivation) -> list[Expr]:
    flat = d.inputs["wrenches"]
    wrenches = [flat[6 * k : 6 * k + 6] for k in range(len(d.frames))]
    q = d.inputs["q"]
    return links.wrench_forces(d.graph, d.equations.framed, d.frames, wrenches, q, d.count)


Shape = Callable[[int], tuple[int, ...]]
Step = Callable[[_Derivation], list[Expr]]

PROGRAMS: dict[str, tuple[tuple[str, ...], Shape, Step]] = {
    "inverse_dynamics": (("q", "u", "udot"), lambda n: (n,), _inverse_dynamics),
    "gravity": (("q",), lambda n: (n,), _gravity),
    "bias": (("q", "u"), lambda n: (n,), _Derivation.bias),
    "mass_matrix": (("q",), lambda n: (n, n), _mass_matrix),
    "forward_dynamics": (("q", "u", "tau"), lambda n: (n,), _forward_dynamics),
    "energy": (("q", "u"), lambda n: (2,), _energy),
    "momentum": (("q", "u"), lambda n: (6,), _momentum),
    "pose": (("q",), lambda n: (4, 4), _pose),
    "jacobian": (("q",), lambda n: (6, n), _jacobian),
    "wrench_forces": (("q", "wrenches"), lambda n: (n,), _wrench_forces),
}
"""Inputs, output shape and derivation of every program."""
