"""Random sets of constraints, redundant, contradictory or badly scaled, and their exact answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mpmath
import numpy as np
from random_robots import Recipe, random_robot

import kane_dynamics as kd
from kane_dynamics.arrays import Array

RECIPES = (
    Recipe(parts=5),
    Recipe(parts=6, square=0.6, branching=0.8),
    Recipe(parts=5, kinds=("revolute",), parallel=(0.0,), square=0.8),
    Recipe(parts=5, masses=(-2.0, 2.0), lengths=(-2.0, 1.0)),
)

POOL, MOST = 12, 5
"""Constraints of a robot, and how many of them hold at most at once."""

DIGITS = 30

NOTHING, SOMETHING = 1e-13, 1e-7
"""Share of a row of length one that is rounding, and that is not; between them nobody can tell."""


def random_robot_with_constraints(random: np.random.Generator) -> kd.ConstrainedDynamics:
    """A tree and a pool of constraints, none of which holds yet."""
    recipe = RECIPES[int(random.integers(len(RECIPES)))]
    robot = random_robot(recipe, int(random.integers(10**6)))
    base = "floating" if random.random() < 0.3 else "fixed"
    free = kd.load(robot.urdf(), base=base, backend="numpy", cache=False)
    pool = random_pool(random, free)
    found = kd.load(robot.urdf(), base=base, backend="numpy", cache=False, constraints=pool)
    assert isinstance(found, kd.ConstrainedDynamics)
    return found


def random_pool(random: np.random.Generator, robot: kd.Dynamics) -> list:
    """Constraints of every kind; some say again, or nearly, what another one says."""
    found: list = []
    while len(found) < POOL:
        name = f"c{len(found)}"
        if found and random.random() < 0.3:
            found.append(_again(random, name, found[int(random.integers(len(found)))]))
        else:
            found.append(_any(random, name, robot))
    return found


def _any(random: np.random.Generator, name: str, robot: kd.Dynamics) -> object:
    moving = [name for name in robot.link_names if name != "root" or robot.nq > robot.dof]
    links, joints = [*moving, "world"], list(robot.joint_names)
    one, two = map(str, random.choice(links, 2, replace=False))
    frames = [tuple(random.normal(size=6) * 10.0 ** random.uniform(-3.0, 2.0)) for _ in range(2)]
    kind = int(random.integers(6))
    if kind <= 1:
        keeps = str(random.choice(["point", "axis", "pose"]))
        return kd.Loop(name, one, two, *frames, keeps=keeps, active=False)
    if kind == 2:
        return kd.Lock(name, str(random.choice(joints)), active=False)
    if kind == 3:
        some = random.choice(joints, int(random.integers(1, len(joints) + 1)), replace=False)
        factors = {str(j): float(10.0 ** random.uniform(-6.0, 6.0)) for j in some}
        return kd.Coupling(name, factors, active=False)
    if kind == 4:
        wheel = one if one != "world" else two
        axis, normal = (tuple(random.normal(size=3)) for _ in range(2))
        return kd.Rolling(name, wheel, 10.0 ** random.uniform(-2, 1), axis, "world", normal, 0.1,
                          bool(random.random() < 0.3), active=False)  # fmt: skip
    return kd.Weld(name, one, two, *frames, active=False)


def _again(random: np.random.Generator, name: str, other: object) -> object:
    """What says the same with other numbers, or nearly the same."""
    if isinstance(other, kd.Coupling):
        size = float(10.0 ** random.uniform(-6.0, 6.0))
        return replace(other, name=name, factors={j: size * f for j, f in other.factors})
    if isinstance(other, (kd.Loop, kd.Weld)) and random.random() < 0.5:
        swapped = {"link1": other.link2, "link2": other.link1, "at1": other.at2, "at2": other.at1}
        return replace(other, name=name, **swapped)
    return replace(other, name=name)


@dataclass(frozen=True)
class Exact:
    """What extended precision says about a set.

    Attributes
    ----------
    udot : array (n,) or None
        None where constraints contradict each other.
    decided : bool
        Whether rank and contradiction are beyond doubt in double precision.
    worst : float
        By what rounding is multiplied.
    """

    udot: Array | None
    decided: bool
    worst: float


def exact(M: Array, Q: Array, A: Array, bias: Array) -> Exact:
    """Accelerations by the singular value decomposition of the rows, with many digits."""
    with mpmath.workdps(DIGITS):
        units = np.sqrt(np.diagonal(M))
        rows, right = _normalized(A / units, bias)
        U, S, V = mpmath.svd_r(mpmath.matrix(rows.tolist()), full_matrices=True)
        values = [float(s) for s in S]
        rank = sum(s > SOMETHING for s in values)
        decided = not any(NOTHING < s <= SOMETHING for s in values)
        b = mpmath.matrix(right.tolist())
        along = U.T * b
        c = mpmath.zeros(len(Q), 1)
        for k in range(rank):
            for j in range(len(Q)):
                c[j] -= V[k, j] * along[k] / S[k]
        smallest = values[rank - 1] if rank else 1.0
        N = V[rank:, :].T if rank < len(Q) else mpmath.zeros(len(Q), 0)
        scaled = mpmath.matrix((M / units / units[:, None]).tolist())
        worst = 1.0 / smallest
        if rank < len(Q):
            reduced = N.T * scaled * N
            force = N.T * (mpmath.matrix((Q / units).tolist()) - scaled * c)
            c = c + N * mpmath.lu_solve(reduced, force)
            eigenvalues = [float(e) for e in mpmath.eigsy(reduced, eigvals_only=True)]
            worst *= max(eigenvalues) / max(min(eigenvalues), 1e-300)
        udot = np.array([float(x) for x in c])
        left = mpmath.matrix(rows.tolist()) * c + b
    terms = np.abs(rows) @ np.abs(udot) + np.abs(right)
    noise = 1e-10 * (np.linalg.norm(udot) + np.linalg.norm(right))  # of rows that are rounded
    size = np.maximum(terms, max(noise, 1e-3 * terms.max(initial=0.0)))
    off = np.abs([float(x) for x in left]) / np.where(size > 0.0, size, 1.0)
    decided = decided and not 1e-9 < off.max(initial=0.0) <= 1e-5
    contradicts = off.max(initial=0.0) > 1e-5
    return Exact(None if contradicts else udot / units, decided, worst)


def _normalized(A: Array, bias: Array) -> tuple[Array, Array]:
    """Rows of length one; those that are rounding beside the longest are none."""
    lengths = np.linalg.norm(A, axis=1)
    there = lengths > NOTHING * lengths.max(initial=0.0)
    return A[there] / lengths[there, None], bias[there] / lengths[there]
