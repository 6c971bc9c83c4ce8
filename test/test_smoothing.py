"""Recorded points: noise is told from motion, and what moves behind it is found."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
import pytest

from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.smoothing import smoothed
from kane_dynamics.simulation.trajectory import Sample, trajectory_through

Motion = Callable[[np.ndarray, np.random.Generator], Sample]
JOINTS = 6
DURATION = 6.0


def sinusoids(t: np.ndarray, random: np.random.Generator) -> Sample:
    """Sums of four, up to 1.3 Hz."""
    w, phase = random.uniform(0.5, 8.0, (4, JOINTS)), random.uniform(0.0, 6.0, (4, JOINTS))
    size = random.uniform(-1.0, 1.0, (4, JOINTS)) / w
    angle = t[:, None, None] * w + phase
    return Sample(
        (size * np.sin(angle)).sum(1),
        (size * w * np.cos(angle)).sum(1),
        (-size * w**2 * np.sin(angle)).sum(1),
    )


def quintics(t: np.ndarray, random: np.random.Generator) -> Sample:
    ends = random.uniform(0.5, 2.0, JOINTS)
    still = np.zeros((2, JOINTS))
    motion = trajectory_through([0.0, DURATION], [0.0 * ends, ends], still, still)
    return motion.sample(t)


def splines(t: np.ndarray, random: np.random.Generator) -> Sample:
    knots = np.linspace(0.0, DURATION, 10)
    return trajectory_through(knots, random.uniform(-0.5, 0.5, (10, JOINTS))).sample(t)


def corners(t: np.ndarray, random: np.random.Generator) -> Sample:
    """Accelerations that jump, as in trapezoidal profiles, and where dry friction changes sign."""
    times = np.linspace(0.0, DURATION, 8)
    a = random.uniform(-2.0, 2.0, (8, JOINTS))
    h = np.diff(times)[:, None]
    v = np.vstack((np.zeros(JOINTS), np.cumsum(a[:-1] * h, axis=0)))
    p = np.vstack((np.zeros(JOINTS), np.cumsum(v[:-1] * h + a[:-1] * h**2 / 2.0, axis=0)))
    k = np.minimum(np.searchsorted(times, t, "right") - 1, 6)
    s = (t - times[k])[:, None]
    return Sample(p[k] + v[k] * s + a[k] * s**2 / 2.0, v[k] + a[k] * s, a[k])


MOTIONS = [sinusoids, quintics, splines, corners]


def off(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """RMS of the error of each joint, relative to the RMS of what is true; ends left out."""
    inner = slice(5, -5)
    errors = np.sqrt(np.mean((found - true)[inner] ** 2, axis=0))
    return errors / np.sqrt(np.mean(true[inner] ** 2, axis=0))


def times_at(rate: float, random: np.random.Generator, jitter: float = 0.0) -> np.ndarray:
    count = round(DURATION * rate)
    t = (np.arange(count + 1) + jitter * random.uniform(-0.5, 0.5, count + 1)) / rate
    return np.clip(t, 0.0, DURATION)


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
def test_points_without_noise_are_left_to_the_spline(motion: Motion, rate: float) -> None:
    random = np.random.default_rng(1)
    for _ in range(3):
        t = times_at(rate, random)
        p, v, _ = motion(t, random)
        assert smoothed(t, p) is None
        assert smoothed(t, p, v) is None
        if rate <= 100.0:  # beyond, the sixth digit shows in the accelerations
            assert smoothed(t, np.round(p, 6)) is None
            assert smoothed(t, np.round(p, 6), np.round(v, 6)) is None


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize("noise", [1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
def test_noisy_points_never_give_worse_accelerations_than_the_spline(
    motion: Motion, rate: float, noise: float
) -> None:
    random = np.random.default_rng(2)
    t = times_at(rate, random, jitter=0.6)
    p, v, a = motion(t, random)
    noisy = p + noise * random.standard_normal(p.shape)
    fast = v + 10.0 * noise * random.standard_normal(p.shape)
    for given in (None, fast):
        spline = trajectory_through(t, noisy, given)
        found = smoothed(t, noisy, given)
        worse = off(spline.accelerations, a)
        if found is None:
            assert (worse < 0.35).all()
            continue
        better = off(found.accelerations, a)
        assert (better <= worse).all()
        np.testing.assert_array_equal(found.positions, noisy)
        if given is None:
            assert (off(found.velocities, v) <= off(spline.velocities, v)).all()
        else:
            np.testing.assert_array_equal(found.velocities, fast)
        if noise <= 1e-4 and motion is sinusoids:
            assert (np.minimum(better, worse) < 0.35).all()
            assert np.median(better) < 0.15


@pytest.mark.parametrize("rate", [100.0, 1000.0])
@pytest.mark.parametrize("resolution", [1e-4, 1e-3])
def test_steps_of_encoders_are_noise(rate: float, resolution: float) -> None:
    random = np.random.default_rng(3)
    t = times_at(rate, random)
    p, _, a = sinusoids(t, random)
    found = smoothed(t, resolution * np.round(p / resolution))
    assert found is not None
    assert (off(found.accelerations, a) < 0.15).all()


def test_a_joint_that_stands_still_is_not_accelerated_by_its_noise() -> None:
    random = np.random.default_rng(4)
    t = times_at(200.0, random)
    p = np.array([0.7, -1.2]) + 1e-4 * random.standard_normal((len(t), 2))
    found = smoothed(t, p)
    assert found is not None
    assert np.abs(found.accelerations).max() < 0.01
    found = smoothed(t, p, 1e-3 * random.standard_normal((len(t), 2)))
    assert found is not None
    assert np.abs(found.accelerations).max() < 0.05


def test_only_joints_that_are_noisy_are_smoothed() -> None:
    random = np.random.default_rng(5)
    t = times_at(100.0, random)
    p, _, a = sinusoids(t, random)
    p[:, 0] += 1e-3 * random.standard_normal(len(t))
    found, spline = smoothed(t, p), trajectory_through(t, p)
    assert found is not None
    np.testing.assert_array_equal(found.accelerations[:, 1:], spline.accelerations[:, 1:])
    assert off(found.accelerations, a)[0] < 0.15 < off(spline.accelerations, a)[0]


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_measurements_that_are_published_twice_are_put_at_their_own_times(noise: float) -> None:
    random = np.random.default_rng(6)
    stamps = times_at(30.0, random)
    measured = np.floor(stamps / 0.0345) * 0.0345  # when the newest was taken that is known
    p, v, a = sinusoids(np.unique(measured), random)
    p, v = (x + k * noise * random.standard_normal(x.shape) for x, k in ((p, 1.0), (v, 10.0)))
    row = np.searchsorted(np.unique(measured), measured)
    assert len(p) < len(stamps) - 5
    for given in (None, v[row]):
        found = smoothed(stamps, p[row], given)
        spline = trajectory_through(stamps, p[row], given)
        assert found is not None
        assert (off(found.accelerations, a[row]) < 0.15).all()
        assert (off(spline.accelerations, a[row]) > 0.5).all()


def test_velocities_that_are_smooth_count_more_than_positions_that_contradict_them() -> None:
    t = times_at(125.0, np.random.default_rng(7))
    _, v, a = sinusoids(t, np.random.default_rng(7))
    late = sinusoids(t - 0.02, np.random.default_rng(7)).positions
    found = smoothed(t, late, v)
    assert found is not None
    assert (off(found.accelerations, a) < 0.01).all()


def test_waypoints_of_a_plan_are_not_smoothed() -> None:
    random = np.random.default_rng(8)
    few = random.uniform(-1.0, 1.0, (25, 3))
    assert smoothed(0.05 * np.arange(25), few) is None
    far = random.uniform(-1.0, 1.0, (200, 3))
    assert smoothed(0.5 * np.arange(200), far) is None
    assert smoothed(0.05 * np.arange(200), far) is None
    t = times_at(100.0, random)
    p = sinusoids(t, random).positions
    assert smoothed(t, p, np.zeros_like(p)) is None  # which stops at every point
    waits = np.concatenate((np.zeros(3, dtype=int), np.arange(len(t))))
    assert smoothed(0.01 * np.arange(len(waits)), quintics(t, random).positions[waits]) is None


def test_ten_thousand_points_take_less_than_their_own_time() -> None:
    random = np.random.default_rng(9)
    t = 1e-3 * np.arange(10_000)
    p, v, _ = sinusoids(t, random)
    p, v = (x + 1e-4 * random.standard_normal(x.shape) for x in (p, v))
    begin = perf_counter()
    assert smoothed(t, p, v) is not None
    assert perf_counter() - begin < 10.0


def test_bad_points_are_named() -> None:
    t, p = np.arange(40) * 0.01, np.zeros((40, 2))
    with pytest.raises(ArgumentError, match="does not come after"):
        smoothed(t[::-1], p)
    p[3, 1] = np.nan
    with pytest.raises(ArgumentError, match="point 3: positions of joint 'b' is nan"):
        smoothed(t, p, joint_names=["a", "b"])
    with pytest.raises(ArgumentError, match="velocities must have the shape"):
        smoothed(t, np.zeros((40, 2)), np.zeros((40, 1)))
