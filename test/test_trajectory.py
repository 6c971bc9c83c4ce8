"""Motions through given points: what is filled in, what is sampled, and what is refused."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicSpline

import kane_dynamics as kd
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.trajectory import Start, trajectory_through

TIMES = np.array([0.0, 0.4, 1.0, 1.1, 2.5])
RANDOM = np.random.default_rng(5)
POSITIONS = RANDOM.normal(size=(5, 3))
VELOCITIES = RANDOM.normal(size=(5, 3))
ACCELERATIONS = RANDOM.normal(size=(5, 3))
NONE = np.full(3, np.nan)


def test_positions_alone_give_the_cubic_spline_that_rests_at_both_ends() -> None:
    motion = trajectory_through(TIMES, POSITIONS)
    spline = CubicSpline(TIMES, POSITIONS, bc_type="clamped")
    t = np.linspace(0.0, 2.5, 301)
    for order, values in enumerate(motion.sample(t)):
        np.testing.assert_allclose(values, spline(t, order), atol=1e-9)


def test_given_end_velocities_clamp_the_spline() -> None:
    velocities = np.vstack((VELOCITIES[0], NONE, NONE, NONE, VELOCITIES[4]))
    motion = trajectory_through(TIMES, POSITIONS, velocities)
    ends = ((1, VELOCITIES[0]), (1, VELOCITIES[4]))
    spline = CubicSpline(TIMES, POSITIONS, bc_type=ends)
    np.testing.assert_allclose(motion.velocities, spline(TIMES, 1), atol=1e-12)
    np.testing.assert_allclose(motion.accelerations, spline(TIMES, 2), atol=1e-11)


def test_a_velocity_given_in_between_is_kept_and_parts_the_spline_in_two() -> None:
    velocities = np.vstack((NONE, NONE, VELOCITIES[2], NONE, NONE))
    motion = trajectory_through(TIMES, POSITIONS, velocities)
    rest = np.zeros(3)
    before = CubicSpline(TIMES[:3], POSITIONS[:3], bc_type=((1, rest), (1, VELOCITIES[2])))
    after = CubicSpline(TIMES[2:], POSITIONS[2:], bc_type=((1, VELOCITIES[2]), (1, rest)))
    np.testing.assert_allclose(motion.velocities[:3], before(TIMES[:3], 1), atol=1e-12)
    np.testing.assert_allclose(motion.velocities[2:], after(TIMES[2:], 1), atol=1e-12)
    np.testing.assert_array_equal(motion.velocities[2], VELOCITIES[2])


def test_two_points_with_velocities_give_a_cubic_polynomial() -> None:
    motion = trajectory_through(TIMES[:2], POSITIONS[:2], VELOCITIES[:2])
    cubic = BPoly.from_derivatives(
        TIMES[:2], np.stack((POSITIONS[:2], VELOCITIES[:2]), axis=1), orders=3
    )
    t = np.linspace(0.0, 0.4, 50)
    np.testing.assert_allclose(motion.sample(t).positions, cubic(t), atol=1e-13)
    np.testing.assert_allclose(motion.sample(t).accelerations, cubic(t, 2), atol=1e-10)


def test_where_cubic_polynomials_meet_the_acceleration_is_the_mean_of_both() -> None:
    motion = trajectory_through(TIMES, POSITIONS, VELOCITIES)
    cubic = BPoly.from_derivatives(TIMES, np.stack((POSITIONS, VELOCITIES), axis=1), orders=3)
    for k in range(1, 4):
        sides = cubic([TIMES[k] - 1e-9, TIMES[k] + 1e-9], 2)
        np.testing.assert_allclose(motion.accelerations[k], sides.mean(axis=0), rtol=1e-5)


def test_complete_points_give_the_polynomials_of_degree_five() -> None:
    motion = trajectory_through(TIMES, POSITIONS, VELOCITIES, ACCELERATIONS)
    knots = np.stack((POSITIONS, VELOCITIES, ACCELERATIONS), axis=1)
    quintic = BPoly.from_derivatives(TIMES, knots, orders=5)
    t = np.linspace(0.0, 2.5, 301)[:-1]
    for order, values in enumerate(motion.sample(t)):
        np.testing.assert_allclose(values, quintic(t, order), atol=1e-8)


def test_every_point_is_met() -> None:
    motion = trajectory_through(TIMES + 1e6, POSITIONS + 1e3, VELOCITIES, ACCELERATIONS)
    p, v, a = motion.sample(motion.times)
    np.testing.assert_allclose(p, motion.positions, rtol=1e-14)
    np.testing.assert_allclose(v, VELOCITIES, atol=1e-10)
    np.testing.assert_allclose(a, ACCELERATIONS, atol=1e-8)


def test_the_filled_points_describe_the_same_curve() -> None:
    motion = trajectory_through(TIMES, POSITIONS, VELOCITIES)
    again = trajectory_through(TIMES, motion.positions, motion.velocities, motion.accelerations)
    np.testing.assert_array_equal(again.coefficients, motion.coefficients)


def test_one_time_is_sampled_as_many_are() -> None:
    motion = trajectory_through(TIMES, POSITIONS)
    t = np.array([-1.0, 0.0, 0.7, 1.1, 2.5, 9.0])
    many = motion.sample(t)
    for k, each in enumerate(t):
        for one, batch in zip(motion.sample(float(each)), many):
            np.testing.assert_array_equal(one, batch[k])


def test_joints_rest_before_the_first_and_after_the_last_point() -> None:
    motion = trajectory_through(TIMES, POSITIONS, VELOCITIES, ACCELERATIONS)
    for t, place in ((-0.1, 0), (2.6, 4)):
        p, v, a = motion.sample(t)
        np.testing.assert_allclose(p, POSITIONS[place], atol=1e-14)
        assert not v.any()
        assert not a.any()


def test_a_single_point_is_met_and_held() -> None:
    motion = trajectory_through([1.0], POSITIONS[:1], VELOCITIES[:1])
    np.testing.assert_array_equal(motion.sample(1.0).velocities, VELOCITIES[0])
    np.testing.assert_array_equal(motion.sample([0.0, 2.0]).velocities, np.zeros((2, 3)))
    np.testing.assert_array_equal(motion.sample([0.0, 2.0]).positions, POSITIONS[[0, 0]])
    assert not motion.accelerations.any()


def test_a_motion_starts_from_the_state_before_its_first_point() -> None:
    start = Start(-0.5, POSITIONS[4], VELOCITIES[4])
    motion = trajectory_through(TIMES, POSITIONS, start=start)
    p, v, _ = motion.sample(-0.5)
    np.testing.assert_allclose(p, POSITIONS[4])
    np.testing.assert_allclose(v, VELOCITIES[4])
    whole = trajectory_through(
        np.append(-0.5, TIMES),
        np.vstack((POSITIONS[4], POSITIONS)),
        np.vstack((VELOCITIES[4], NONE, NONE, NONE, NONE, NONE)),
    )
    np.testing.assert_array_equal(motion.coefficients, whole.coefficients)


def test_a_start_is_not_accelerated_where_the_points_have_accelerations() -> None:
    start = Start(-0.5, POSITIONS[4], VELOCITIES[4])
    motion = trajectory_through(TIMES, POSITIONS, VELOCITIES, ACCELERATIONS, start)
    assert not motion.accelerations[0].any()
    np.testing.assert_array_equal(motion.accelerations[1:], ACCELERATIONS)


def test_a_start_that_is_not_before_the_first_point_changes_nothing() -> None:
    motion = trajectory_through(TIMES, POSITIONS, start=Start(0.0, POSITIONS[4], VELOCITIES[4]))
    np.testing.assert_array_equal(motion.times, TIMES)


def test_a_trajectory_cannot_be_changed() -> None:
    motion = trajectory_through(TIMES, POSITIONS)
    with pytest.raises(ValueError, match="read-only"):
        motion.positions[0, 0] = 1.0
    with pytest.raises(AttributeError):
        motion.times = TIMES  # type: ignore[misc]


def bad(point: int, value: float) -> np.ndarray:
    array = POSITIONS.copy()
    array[point, 1] = value
    return array


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], np.zeros((0, 3))), "at least one time"),
        ((0.0, POSITIONS), "at least one time"),
        (([0.0, np.nan, 1.0], POSITIONS[:3]), "point 1: its time is nan"),
        (([0.0, 1.0, 1.0], POSITIONS[:3]), "point 2: its time 1 s does not come after 1 s"),
        (([1.0, 0.5], POSITIONS[:2]), "point 1: its time 0.5 s does not come after 1 s"),
        ((TIMES, POSITIONS[:4]), r"positions must have shape \(5, n\).* got \(4, 3\)"),
        ((TIMES, POSITIONS[:, 0]), r"positions must have shape \(5, n\)"),
        ((TIMES, np.zeros((5, 0))), r"positions must have shape \(5, n\)"),
        ((TIMES, bad(3, np.inf)), "point 3: positions of joint 'b' is inf"),
        ((TIMES, POSITIONS, VELOCITIES[:, :2]), r"velocities must have the shape .* \(5, 2\)"),
        ((TIMES, POSITIONS, bad(2, np.nan)), "point 2: velocities of joint 'b' is nan"),
        ((TIMES, POSITIONS, None, bad(0, -np.inf)), "point 0: accelerations of joint 'b' is -inf"),
        ((TIMES, 1e308 * POSITIONS), "too fast for finite numbers"),
    ],
)
def test_bad_points_are_named(arguments: tuple, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        trajectory_through(*arguments, joint_names=("a", "b", "c"))


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (Start(-1.0, [0.0], [0.0]), r"shape \(3,\), got \(1,\) and \(1,\)"),
        (Start(-1.0, np.full(3, np.nan), np.zeros(3)), "finite numbers"),
        (Start(-np.inf, np.zeros(3), np.zeros(3)), "finite numbers"),
    ],
)
def test_a_bad_start_is_refused(start: Start, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        trajectory_through(TIMES, POSITIONS, start=start)


# ------------------------------------------------------------------------------- from its points


def test_a_trajectory_is_made_from_lists() -> None:
    made = kd.Trajectory([0, 1], [[0, 0], [1, 1]], [[0, 0], [0, 0]], [[0, 0], [0, 0]])  # type: ignore[arg-type]
    np.testing.assert_allclose(made.sample(0.5).positions, [0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        made.positions[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ([1.0, 0.0], np.eye(2), np.eye(2), np.eye(2)),
            "point 1: its time 0 s does not come after",
        ),
        (
            ([0.0, 0.0], np.eye(2), np.eye(2), np.eye(2)),
            "point 1: its time 0 s does not come after",
        ),
        (
            ([0.0, 1.0], np.full((2, 2), np.nan), np.eye(2), np.eye(2)),
            "point 0: positions of joint",
        ),
        (([0.0, 1.0], np.eye(2), np.zeros((2, 3)), np.eye(2)), r"velocities must have the shape"),
        (([0.0, 1.0], np.eye(2), np.eye(2), np.eye(3)), r"accelerations must have shape \(2, n\)"),
        (([], np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2))), "at least one time"),
        (
            ([0.0, 1.0], [["0"], ["1"]], np.zeros((2, 1)), np.zeros((2, 1))),
            "positions must hold real",
        ),
    ],
)
def test_a_trajectory_that_is_none_is_refused(arguments: tuple, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        kd.Trajectory(*arguments)
