"""Linear equations of the neighbourhood of a state or of a motion, and states of equilibrium.

With x the deviations of coordinates and speeds, and w those of the inputs, x' = A x + B w. The
matrices come from equations that were formed in full and differentiated then: to linearize first,
while velocities are formed, loses terms (Buffinton, section 6.5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.names import unknown_name

BALANCED = 1e-12
"""Forces this much smaller than those at the start, or than `SMALLEST`, count as none."""

SMALLEST = 1e-3
MOST_STEPS = 200
LONGEST_STEP = 0.5


class Mode(NamedTuple):
    """A motion x = shape · exp(eigenvalue t) of the linear equations.

    Attributes
    ----------
    eigenvalue : complex
        In 1/s; of a pair of conjugates, the one with positive imaginary part.
    frequency : float
        Of the oscillation, Hz; zero if there is none.
    damping : float
        Minus the real part, over the magnitude: 1 for decay without oscillation, 0 for oscillation
        without decay, negative for growth; 0 for an eigenvalue of zero.
    shape : dict of str to complex
        Share of every state; the largest is 1.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shape: dict[str, complex]


@dataclass(frozen=True, eq=False)
class Linearization:
    """x' = A x + B w about a state, or about each state of a batch.

    Attributes
    ----------
    A : array (n, n) or (N, n, n)
    B : array (n, m) or (N, n, m)
    states : tuple of str
        What the entries of x belong to: displacements, then speeds.
    inputs : tuple of str
        What the entries of w belong to.
    """

    A: Array
    B: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    def of(
        self, states: Iterable[str] | None = None, inputs: Iterable[str] | None = None
    ) -> Linearization:
        """The same in some of the variables, in the order named; the others do not deviate.

        Raises
        ------
        ArgumentError
            If there is no such variable, or one is named twice.
        """
        rows = _places("state", self.states, states)
        columns = _places("input", self.inputs, inputs)
        return replace(
            self,
            A=self.A[..., rows, :][..., rows],
            B=self.B[..., rows, :][..., columns],
            states=tuple(self.states[k] for k in rows),
            inputs=tuple(self.inputs[k] for k in columns),
        )

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of A, 1/s, (n,) or (N, n), by magnitude."""
        found = np.asarray(np.linalg.eigvals(self.A), dtype=np.complex128)
        return np.take_along_axis(found, np.argsort(np.abs(found), axis=-1), axis=-1)

    @property
    def is_stable(self) -> NDArray[np.bool_]:
        """Whether every deviation dies out: all real parts are negative."""
        return np.asarray((self.eigenvalues.real < 0.0).all(axis=-1))

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """Of one state: the slowest first, one of each pair of conjugates."""
        if self.A.ndim != 2:
            raise ArgumentError(f"modes are of one state, this has {len(self.A)}: take one of them")
        values, vectors = np.linalg.eig(self.A)
        kept = [k for k in np.argsort(np.abs(values)) if values[k].imag >= 0.0]
        return tuple(self._mode(complex(values[k]), vectors[:, k]) for k in kept)

    def __getitem__(self, k: int) -> Linearization:
        """Of one state of a batch."""
        if self.A.ndim != 3:
            raise ArgumentError("this is the linearization about one state, not of a batch")
        return replace(self, A=self.A[k], B=self.B[k])

    def _mode(self, value: complex, vector: Array) -> Mode:
        largest = vector[np.argmax(np.abs(vector))]
        shape = dict(zip(self.states, (complex(each) for each in vector / largest)))
        size = abs(value)
        damping = -value.real / size if size else 0.0
        return Mode(value, value.imag / (2.0 * np.pi), damping, shape)


def second_order(
    displacement_rates: Array, accelerations: Sequence[Array], names: Sequence[str]
) -> Linearization:
    """From derivatives of accelerations by displacements, speeds and forces, (n, n) or (N, n, n).

    Parameters
    ----------
    displacement_rates : array
        Coefficients of displacements in their own rates, as the program of that name gives them.
    names : sequence of str
        Of the speeds.
    """
    by_displacement, by_speed, by_force = accelerations
    ones = np.broadcast_to(np.eye(by_speed.shape[-1]), by_speed.shape)
    upper = np.concatenate([displacement_rates, ones], axis=-1)
    lower = np.concatenate([by_displacement, by_speed], axis=-1)
    A = np.concatenate([upper, lower], axis=-2)
    B = np.concatenate([np.zeros_like(by_force), by_force], axis=-2)
    return Linearization(A, B, (*names, *(f"{name}.speed" for name in names)), tuple(names))


def _places(kind: str, names: Sequence[str], chosen: Iterable[str] | None) -> list[int]:
    if chosen is None:
        return list(range(len(names)))
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    for name in wanted:
        if name not in names:
            raise unknown_name(kind, name, names)
        if wanted.count(name) > 1:
            raise ArgumentError(f"{kind} {name!r} is named twice")
    return [names.index(name) for name in wanted]


# ---------------------------------------------------------------------------------- equilibrium
def equilibrium(
    unbalanced: Callable[[Array], Array],
    slopes: Callable[[Array], Array],
    moved: Callable[[Array, Array], Array],
    guess: Array,
    names: Sequence[str],
) -> Array:
    """Coordinates near a guess at which no forces are left, by Newton's method.

    What no force depends on stays where it was guessed.

    Parameters
    ----------
    unbalanced, slopes : callable
        The forces at coordinates, and their derivatives by displacements.
    moved : callable
        Coordinates, displaced.
    names : sequence of str
        Of the forces.

    Raises
    ------
    ArgumentError
        If none is found; the message names the force that is left.
    """
    q, left = guess, unbalanced(guess)
    enough = BALANCED * max(float(np.abs(left).max()), SMALLEST)
    damping = 1e-6
    for _ in range(MOST_STEPS):
        if np.abs(left).max() <= enough:
            return q
        S = slopes(q)
        size = float(np.linalg.norm(S)) or 1.0
        step = -np.linalg.solve(S.T @ S + damping * size**2 * np.eye(len(left)), S.T @ left)
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        trial = moved(q, step)
        remains = unbalanced(trial)
        if np.linalg.norm(remains) < np.linalg.norm(left):
            q, left, damping = trial, remains, max(0.1 * damping, 1e-12)
        elif np.abs(left).max() <= 1e3 * enough:
            return q  # rounding is all that is left
        else:
            damping *= 10.0
            if damping > 1e12:
                break
    worst = int(np.argmax(np.abs(left)))
    raise ArgumentError(
        f"there is no equilibrium near the guess: {left[worst]:.3g} N or N m are left at "
        f"{names[worst]!r}; begin elsewhere, or give the forces that hold it"
    )
