"""Motions that come to configurations in which constraints depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy.physics.mechanics as me
from mechanisms import four_bar, t

import kane_dynamics as kd


def bead_on_tracks(track: Callable[[Any, Any], Any], **options: Any) -> kd.System:
    """A particle without weight, in a plane in space that goes through a track."""
    q, u = me.dynamicsymbols("x y z"), me.dynamicsymbols("vx vy vz")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    P = origin.locatenew("P", q[0] * N.x + q[1] * N.y + q[2] * N.z)
    P.set_vel(N, u[0] * N.x + u[1] * N.y + u[2] * N.z)
    kane = me.KanesMethod(N, q, u, [a.diff(t) - b for a, b in zip(q, u)])
    rows = {"track": track(q[0], q[1])}
    return kd.System(kane, [me.Particle("P", P, 1.0)], [], {}, constraints=rows, **options)


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("numpy", {"step": 7e-3}),
        ("auto", {"step": 0.01}),  # which steps onto the crossing
        ("numpy", {"method": "dop853"}),
    ],
)
def test_a_motion_ends_where_tracks_cross(backend: Any, options: dict[str, Any]) -> None:
    system = bead_on_tracks(lambda x, y: x**2 - y**2, backend=backend)
    start = [-0.5, -0.5, 0.0], [1.0, 1.0, 0.3]
    motion = system.simulate(1.0, *start, output_step=0.02, **options)
    assert not motion.completed
    assert 0.46 < motion.t[-1] < 0.5  # they cross at 0.5 s
    assert "comes to a singular configuration after t = 0.4" in motion.message
    np.testing.assert_allclose(motion.q[-1], [motion.t[-1] - 0.5] * 2 + [0.3 * motion.t[-1]])


def test_a_motion_ends_where_a_track_turns_back_in_a_point() -> None:
    system = bead_on_tracks(lambda x, y: x**3 - y**2, backend="numpy")
    motion = system.simulate(1.5, [0.25, 0.125, 0.0], [-1.0, -0.75, 0.3], step=7e-3)
    assert "singular configuration" in motion.message
    assert 0.0 < motion.q[-1, 0] < 0.02
    assert np.abs(motion.q[:, 0] ** 3 - motion.q[:, 1] ** 2).max() < 1e-10


def test_a_motion_that_begins_where_tracks_cross_goes_on() -> None:
    system = bead_on_tracks(lambda x, y: x**2 - y**2, backend="numpy")
    motion = system.simulate(0.1, np.zeros(3), [1.0, 1.0, 0.3], step=0.01)
    assert motion.completed, motion.message


def led_rod(**options: Any) -> kd.System:
    """A crank that is led pulls a slider by a rod which is too short for a turn; a bead on it."""
    q, u = me.dynamicsymbols("q x z"), me.dynamicsymbols("u v w")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [q[0], N.z])
    A.set_ang_vel(N, u[0] * N.z)
    crank = origin.locatenew("crank", 0.3 * A.x)
    crank.v2pt_theory(origin, N, A)
    slider = origin.locatenew("slider", q[1] * N.x + q[2] * N.z)
    slider.set_vel(N, u[1] * N.x + u[2] * N.z)
    rod = crank.pos_from(slider)
    rows = {"rod": (rod & N.x) ** 2 + (rod & N.y) ** 2 - 0.04, "drive": q[0] - 0.5 - t}
    kane = me.KanesMethod(N, q, u, [a.diff(t) - b for a, b in zip(q, u)])
    parts = [me.Particle(str(each), each, 1.0) for each in (crank, slider)]
    return kd.System(kane, parts, [], {}, constraints=rows, **options)


@pytest.mark.parametrize("options", [{"step": 2e-3}, {"method": "dop853", "tolerance": 1e-6}])
def test_a_crank_that_is_led_beyond_its_rod_ends_the_motion(options: dict[str, Any]) -> None:
    system = led_rod(backend="numpy")
    q, u = system.assemble([0.5, 0.5, 0.0], [1.0, 0.0, 0.1], fixed=["z", "w"])
    motion = system.simulate(1.0, q, u, output_step=0.01, **options)
    last = np.arcsin(2 / 3) - 0.5
    assert "singular configuration" in motion.message
    assert last - 0.05 < motion.t[-1] < last


def test_linkages_that_turn_fast_meet_no_singular_configuration() -> None:
    system = four_bar().system()
    q, u = system.assemble([1.0, -0.8, -1.9], [20.0, 0.0, 0.0], fixed=["q1", "u1"])
    for output_step in (1e-3, 0.07):
        motion = system.simulate(1.0, q, u, inputs=[0.0], output_step=output_step)
        assert motion.completed, motion.message
        assert np.ptp(motion.q[:, 0]) > 12.0
