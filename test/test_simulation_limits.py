"""Position limits in simulations: ignored, the end, or a stop that gives way a little."""

import numpy as np
import pytest
from oracle import robot_path

import kane_dynamics as kd

METHODS = ("rk4", "euler", "dop853", "radau")
BACKENDS = ("c", "numpy")


def ball(backend: str = "c", friction: float = 0.0) -> kd.Dynamics:
    """A mass of 2 kg that falls from its upper limit 1 m to its lower limit 0 m."""
    return kd.load(
        '<robot name="ball"><link name="ground"/><link name="ball"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="height" type="prismatic"><parent link="ground"/><child link="ball"/>'
        '<axis xyz="0 0 1"/><limit lower="0" upper="1" effort="1" velocity="1"/>'
        f'<dynamics friction="{friction}"/></joint></robot>',
        backend=backend,
    )


def test_a_joint_moves_through_limits_that_are_ignored() -> None:
    motion = ball().simulate(1.0, [0.5], [0.0])
    assert motion.q[-1, 0] == pytest.approx(0.5 - 9.81 / 2)
    assert ball().simulate(0.1, [7.0], [0.0]).completed


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_a_simulation_stops_at_a_limit(method: str, backend: str) -> None:
    arm = ball(backend)
    motion = arm.simulate(1.0, [0.5], [0.0], limits="stop", method=method, step=0.003)
    assert not motion.completed
    assert "'height' reached its lower limit 0 at t = 0.3" in motion.message
    largest = 0.02 if method == "euler" else 1e-9
    assert motion.t[-1] == pytest.approx(np.sqrt(1.0 / 9.81), abs=largest)
    assert motion.u[-1, 0] == pytest.approx(-np.sqrt(9.81), abs=20 * largest)
    assert 0.0 <= motion.q[-1, 0] < 1e-9
    assert (motion.q >= 0.0).all()
    assert (np.diff(motion.t) > 0.0).all()


def test_the_upper_limit_is_named() -> None:
    motion = ball().simulate(1.0, [0.5], [5.0], limits="stop")
    assert "upper limit 1 " in motion.message
    assert 1.0 - 1e-9 < motion.q[-1, 0] <= 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_joint_that_starts_at_a_limit_may_leave_it(method: str) -> None:
    assert ball().simulate(0.1, [1.0], [0.0], limits="stop", method=method).completed
    motion = ball().simulate(0.1, [0.0], [0.0], limits="stop", method=method)
    assert motion.t[-1] < 1e-3
    assert "lower limit" in motion.message


def test_a_simulation_stops_at_a_limit_while_friction_changes() -> None:
    arm = ball(friction=5.0)
    # up, rest, and down again
    motion = arm.simulate(3.0, [0.2], [2.0], limits="stop")
    up = 9.81 + 2.5
    top = 0.2 + 2.0**2 / 2 / up
    expected = 2.0 / up + np.sqrt(2 * top / (9.81 - 2.5))
    assert motion.t[-1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_compliant_stop_holds(method: str) -> None:
    options = {"limits": "compliant", "method": method, "step": 1e-3, "output_step": 0.01}
    motion = ball().simulate(1.5, [0.5], [0.0], **options)
    assert motion.completed
    assert motion.q.min() > -0.005  # the fastest fall is 3 m/s
    assert np.abs(motion.u[-20:]).max() < 1e-3
    assert -1e-3 < motion.q[-1, 0] < 0.0
    assert motion.other_forces[-1, 0] == pytest.approx(2 * 9.81, rel=1e-3)
    largest = 0.02 if method == "euler" else 1e-4
    assert motion.checks.relative_energy_error < largest
    assert motion.checks.round_trip_error < 1e-9


def test_all_ways_meet_a_compliant_stop_alike() -> None:
    reference = ball().simulate(0.4, [0.5], [0.0], limits="compliant", step=1e-3)
    assert reference.q.min() < 0.0
    for method in ("rk4", "dop853", "radau"):
        motion = ball("numpy").simulate(
            0.4, [0.5], [0.0], limits="compliant", method=method, tolerance=1e-10
        )
        largest = 1e-12 if method == "rk4" else 1e-4
        np.testing.assert_allclose(motion.q, reference.q, atol=largest)


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_an_arm_falls_into_its_stops_and_stays_there(step: float) -> None:
    text = robot_path("panda").read_text(encoding="utf-8")
    text = text.replace('damping="0.003"', 'damping="2"')
    panda = kd.load(text, joints=[f"panda_joint{k}" for k in range(1, 8)])
    q0 = np.array([0.1, 0.3, -0.2, -1.5, 0.2, 1.5, 0.1])
    motion = panda.simulate(4.0, q0, np.zeros(7), step=step, limits="compliant")
    assert motion.completed
    beyond = np.maximum(motion.q - panda.limits.upper, panda.limits.lower - motion.q)
    assert 0.0 < beyond.max() < 8.0 * step
    assert motion.checks.relative_energy_error < 1e-3
    assert np.abs(motion.u[-1]).max() < 0.3


def test_a_start_outside_of_limits_is_refused() -> None:
    for limits in ("stop", "compliant"):
        with pytest.raises(kd.ArgumentError, match=r"'height' starts at 1\.5, outside"):
            ball().simulate(1.0, [1.5], [0.0], limits=limits)


def test_a_policy_that_does_not_exist_is_refused() -> None:
    with pytest.raises(kd.ArgumentError, match="limits must be one of 'ignore', 'stop'"):
        ball().simulate(1.0, [0.5], [0.0], limits="bounce")


# ----------------------------------------------------------------------- within a step, and beyond


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["rk4", "dop853", "radau"])
@pytest.mark.parametrize("step", [0.02, 0.3, 1.0])
def test_a_limit_that_is_passed_and_left_again_within_a_step_is_met(
    step: float, method: str, backend: str
) -> None:
    speed = np.sqrt(2 * 9.81 * 0.51)  # 1 cm too high
    options = {"limits": "stop", "method": method, "step": step}
    motion = ball(backend).simulate(0.6, [0.5], [speed], **options)
    assert not motion.completed
    assert motion.t[-1] == pytest.approx((speed - np.sqrt(2 * 9.81 * 0.01)) / 9.81, abs=1e-9)
    lower = ball(backend).simulate(0.6, [0.48], [speed], **options)  # 1 cm below the limit
    assert lower.completed


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_a_motion_goes_on_from_where_it_rests_at_a_stop(method: str, backend: str) -> None:
    arm, options = ball(backend), {"limits": "compliant", "method": method, "step": 2e-3}
    first = arm.simulate(0.7, [0.1], [0.0], **options)
    assert first.q[-1, 0] < 0.0
    motion = arm.simulate(0.1, first.q[-1], first.u[-1], **options)
    np.testing.assert_allclose(motion.q[:, 0], first.q[-1, 0], atol=1e-8)
    assert motion.other_forces[0, 0] == pytest.approx(2 * 9.81, rel=1e-3)


def test_rounding_does_not_put_a_start_outside() -> None:
    for limits in ("stop", "compliant"):
        assert ball().simulate(0.1, [1.0 + 1e-12], [-1.0], limits=limits).completed
    with pytest.raises(kd.ArgumentError, match=r"starts at 1\.00000002, .* limits 0 and 1;"):
        ball().simulate(0.1, [1.00000002], [0.0], limits="stop")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("start", "speed", "side"),
    [(np.nextafter(1.0, 2.0), 1.0, "upper"), (1.0 + 5e-10, 1.0, "upper"), (-5e-10, 0.0, "lower")],
)
def test_a_start_beyond_a_limit_by_rounding_does_not_disable_it(
    start: float, speed: float, side: str, method: str, backend: str
) -> None:
    motion = ball(backend).simulate(0.5, [start], [speed], limits="stop", method=method)
    assert not motion.completed
    assert f"'height' reached its {side} limit" in motion.message
    assert motion.t[-1] < 1e-3
    assert motion.q.min() >= 0.0
    assert motion.q.max() <= 1.0


def test_rounding_of_one_joint_does_not_widen_the_limits_of_another() -> None:
    slide = (
        '<link name="{0}"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link><joint name="along_{0}" type="prismatic"><parent '
        'link="ground"/><child link="{0}"/><limit lower="0" upper="{1}" effort="1" velocity="1"/>'
        "</joint>"
    )
    slides = slide.format("rail", 1e9) + slide.format("table", 1)
    pair = kd.load(f'<robot name="pair"><link name="ground"/>{slides}</robot>')
    with pytest.raises(kd.ArgumentError, match=r"'along_table' starts at 1\.0005, outside"):
        pair.simulate(0.1, [1e6, 1.0005], [0.0, 0.0], limits="stop")


@pytest.mark.parametrize("method", ["rk4", "dop853", "radau"])
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_the_step_is_the_time_constant_of_stops_for_all_methods(step: float, method: str) -> None:
    weightless = kd.load(ball().robot, gravity=(0.0, 0.0, 0.0))
    options = {"limits": "compliant", "method": method, "step": step, "output_step": step / 50}
    motion = weightless.simulate(20 * step, [1.0 - step], [1.0], **options)
    assert motion.q.max() - 1.0 == pytest.approx(step / np.e, rel=1e-2)
