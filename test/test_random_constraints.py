"""Random sets of constraints on random trees: as extended precision says, or refused.

``scripts/random_constraints 10000`` takes more of them, ``scripts/random_constraints 10000 150``
the same without those of the first 150 robots.
"""

from __future__ import annotations

import logging
import os
from collections import Counter

import numpy as np
from random_constraints import MOST, exact, random_robot_with_constraints

import kane_dynamics as kd

SETS = int(os.environ.get("RANDOM_CONSTRAINTS", "60"))
FIRST = int(os.environ.get("FIRST_ROBOT", "0"))
SETS_A_ROBOT = 20 if SETS < 1000 else 50


def _judged(robot: kd.ConstrainedDynamics, random: np.random.Generator) -> str:
    """What came of one set in one state."""
    names = [each.name for each in robot.constraints]
    chosen = random.choice(names, int(random.integers(1, MOST + 1)), replace=False)
    own = robot.switched(dict.fromkeys(map(str, chosen), True))
    q = random.normal(size=robot.nq)
    if robot.nq > robot.dof:
        q[3:7] /= np.linalg.norm(q[3:7])
    u, tau = random.normal(size=(2, robot.dof))
    if random.random() < 0.7:
        u = own.admissible_speeds(q, u)
    free = kd.Dynamics
    M, Q = free.mass_matrix(own, q), tau - free.bias(own, q, u)
    rows = own.constraint_rows(q, u)
    answer = exact(M, Q, rows.A, rows.bias)
    try:
        udot = own.forward_dynamics(q, u, tau)
    except kd.KaneDynamicsError as error:
        sentence = str(error)
        assert "contradicts" in sentence or "no inertia" in sentence, sentence
        if answer.decided and answer.worst < 1e8:
            assert answer.udot is None, (sentence, answer)
        return "refused"
    if not answer.decided or answer.worst > 1e8:
        left = np.abs(rows.A @ udot + rows.bias)
        terms = np.abs(rows.A) @ np.abs(udot) + np.abs(rows.bias)
        noise = 1e-10 * np.abs(rows.A).max(axis=1) * np.abs(udot).max()
        assert (left <= 1e-6 * np.maximum(np.maximum(terms, noise), 1e-3 * terms.max())).all()
        return "near to singular"
    assert answer.udot is not None, "a contradiction was not seen"
    units = np.sqrt(np.diagonal(M))
    size = max(np.abs(units * answer.udot).max(), np.abs(Q / units).max())
    off = np.abs(units * (udot - answer.udot)).max() / size
    assert off < 1e-9 + 1e-14 * answer.worst, (off, answer.worst)
    return "redundant" if len(rows.bias) > _rank(rows.A / units) else "independent"


def _rank(A: np.ndarray) -> int:
    lengths = np.linalg.norm(A, axis=1)
    return int(np.linalg.matrix_rank(A[lengths > 0] / lengths[lengths > 0, None], tol=1e-9))


def test_random_constraints_act_as_extended_precision_says_or_are_refused() -> None:
    counts: Counter[str] = Counter()
    for seed in range(FIRST, -(-SETS // SETS_A_ROBOT)):
        random = np.random.default_rng([12, seed])
        robot = random_robot_with_constraints(random)
        for k in range(SETS_A_ROBOT):
            try:
                counts[_judged(robot, random)] += 1
            except AssertionError as error:
                raise AssertionError(f"robot {seed}, set {k}: {error}") from error
        if seed % 10 == 9:
            logging.getLogger(__name__).info("%d robots: %s", seed + 1, dict(counts))
    logging.getLogger(__name__).info("%s", dict(counts))
    assert {"independent", "redundant", "refused"} <= set(counts), counts
