"""Impulses at impositions: constraints that are switched on, and contacts that close.

Constraints take away the speeds that they do not allow: in generalized speeds M Δu = AᵀP, and
½ ΔuᵀM Δu is lost. Contacts with restitution give back a share of their impulse of compression
(Poisson); where friction would make that create energy, a smaller share, so that none is created.
Contacts that touch without approaching take part in a blow only if they do not bounce: those that
do are struck one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.complementarity import Rub, Unsolved, solve
from kane_dynamics.simulation.named import Modes, Named
from kane_dynamics.simulation.status import Ended, Status

if TYPE_CHECKING:
    from kane_dynamics.simulation.present import Present

LAST_BOUNCE = 1e-7
"""Speed of separation, m/s, below which there is no bounce: it is no higher than rounding."""

APPROACHES = 1e-12
"""Speed of approach, m/s, that is none."""

BLOWS = 400
"""Of one instant, one after the other; then nothing bounces."""

GAINED = 1e-6
"""Share of energies that come and go in a blow, by which rounding may seem to give energy."""

HALVINGS = 40


class Impact:
    """The impulses of one instant.

    Parameters
    ----------
    named, modes, present
        Which constraints there are, hold, and touch; and the state, whose speeds are changed.
    nq : int
    bounces : bool
        Whether anything bounces.
    """

    def __init__(
        self, named: Named, modes: Modes, present: Present, nq: int, bounces: bool
    ) -> None:
        self._named, self._modes, self._present, self._bounces = named, modes, present, bounces
        self._u = present.x[nq:-1]
        count = named.constraints.count
        self._impulse, self._lost = np.zeros(count), np.zeros(count)
        self._struck: set[str] = set()

    def struck(self, name: str) -> bool:
        """Whether a contact has had an impulse."""
        return name in self._struck

    def of(self, name: str) -> tuple[Array, float]:
        """Impulse and energy lost of a constraint."""
        own = self._modes.slice_of(name)
        return self._impulse[own].copy(), float(self._lost[own].sum())

    def resolve(self, imposed: bool) -> None:
        """Resolve impulses until nothing approaches."""
        A = self._present.said[:, :-2]
        for blow in range(2 * BLOWS):
            v = A @ self._u
            approaching = [
                name
                for name, row in self._named.one_sided.items()
                if self._modes.closed[name] and v[row] < -APPROACHES
            ]
            if not approaching and not imposed:
                return
            self._strike(A, v, approaching, self._bounces and blow < BLOWS)
            imposed = False

    def _strike(self, A: Array, v: Array, approaching: list[str], bounces: bool) -> None:
        named, modes = self._named, self._modes
        shares = {
            name: named.restitution[name]
            for name in approaching
            if bounces and named.restitution[name] * -v[named.one_sided[name]] > LAST_BOUNCE
        }
        taking = [
            name
            for name, row in named.one_sided.items()
            if modes.closed[name]
            and (name in approaching or (named.restitution[name] == 0.0 and v[row] <= 1e-9))
        ]
        limited = {e.first + k for e in named.limits for k in range(e.size)}
        firm = [
            row
            for row, name in enumerate(named.owners)
            if modes.active[name] and name not in named.one_sided and row not in limited
        ]
        response = np.linalg.solve(self._present.M, A.T)
        W = A @ response
        first = self._solve(W, v, firm, self._rubs(taking, v))
        impulses, v1 = first, v + W @ first
        self._count(first, v, v1)
        if shares:
            back = self._expansion(W, v, v1, first, firm, taking, shares)
            self._count(back, v1, v1 + W @ back)
            impulses = first + back
        self._struck.update(n for n in taking if first[named.one_sided[n]] > 0.0)
        lost = -float(impulses @ (v + 0.5 * W @ impulses))
        kinetic = 0.5 * float(self._u @ self._present.M @ self._u)
        if lost < -GAINED * (kinetic + float(np.abs(impulses) @ np.abs(v))):
            raise Ended(Status.UNBALANCED)  # no blow gives energy: the algebra has failed
        self._impulse += impulses
        self._u += response @ impulses
        self._present.x[-1] -= lost

    def _count(self, impulse: Array, before: Array, after: Array) -> None:
        self._lost -= 0.5 * impulse * (before + after)

    def _rubs(self, taking: list[str], v: Array) -> list[Rub]:
        found = []
        limits = {each.name: each for each in self._named.limits if each.of >= 0}
        for name in taking:
            row, limit = self._named.one_sided[name], limits.get(name)
            rows = () if limit is None else tuple(range(limit.first, limit.first + limit.size))
            factors = (0.0, 0.0) if limit is None else (limit.static, limit.kinetic)
            found.append(Rub(row, rows, *factors, True))
        for name, limit in limits.items():
            if self._modes.active[name] and name not in self._named.one_sided:
                rows = tuple(range(limit.first, limit.first + limit.size))
                found.append(Rub(limit.of, rows, limit.static, limit.kinetic, False))
        return found

    def _expansion(
        self,
        W: Array,
        v: Array,
        v1: Array,
        first: Array,
        firm: list[int],
        taking: list[str],
        shares: dict[str, float],
    ) -> Array:
        """Impulses after compression: as much as is given back without creating energy."""

        def given_back(share: float) -> Array:
            pushes = np.zeros(len(v))
            for name, e in shares.items():
                row = self._named.one_sided[name]
                pushes[row] = share * e * first[row]
            rubs = self._rubs([name for name in taking if name not in shares], v1)
            limits = {each.name: each for each in self._named.limits if each.of >= 0}
            for name in shares:
                row, limit = self._named.one_sided[name], limits.get(name)
                rubs.append(Rub(row, (), 0.0, 0.0, True))
                if limit is not None and pushes[row] > 0.0:
                    rows = tuple(range(limit.first, limit.first + limit.size))
                    factors = limit.static * pushes[row], limit.kinetic * pushes[row]
                    rubs.append(Rub(-1, rows, *factors, False))
            return pushes + self._solve(W, v1 + W @ pushes, firm, rubs)

        def gained(back: Array) -> float:
            whole = first + back
            return float(whole @ (v + 0.5 * W @ whole))

        scale = float(np.abs(first) @ np.abs(v))
        back = given_back(1.0)
        if gained(back) <= 1e-12 * scale:
            return back
        low, high, best = 0.0, 1.0, given_back(0.0)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            trial = given_back(middle)
            if gained(trial) <= 0.0:
                low, best = middle, trial
            else:
                high = middle
        return best

    def _solve(self, W: Array, v: Array, firm: list[int], rubs: list[Rub]) -> Array:
        try:
            return solve(W, v, firm, rubs)
        except Unsolved:
            raise Ended(Status.UNSOLVABLE) from None
