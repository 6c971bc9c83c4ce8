"""Numbers that nobody means: each gives a right answer, or one sentence that says what is wrong."""

import logging
from itertools import product

import numpy as np
import pytest

import kane_dynamics as kd

BACKENDS = ["numpy", "c"]


def chain(count: int = 1, kind: str = "continuous", mass: str = "1.0", more: str = "") -> str:
    """Links one after the other, each a particle unless `more` says otherwise."""
    parts = ['<robot name="chain"><link name="link0"/>']
    for k in range(1, count + 1):
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0.1 0 0.2"/><mass value="{mass}"/>'
            '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{k}" type="{kind}"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><axis xyz="0 1 0"/>{more}'
            '<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
        )
    return "".join([*parts, "</robot>"])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("gravity", [1e31, 1e300, 1e308])
def test_a_gravity_beyond_all_stars_is_refused(gravity: float, backend: str) -> None:
    with pytest.raises(kd.ArgumentError, match=r"gravity must be at most 1e\+30 m/s², got"):
        kd.load(chain(), gravity=(0.0, 0.0, -gravity), backend=backend, cache=False)


@pytest.mark.parametrize("gravity", [1e-300, 1e30])
def test_any_other_gravity_is_used(gravity: float) -> None:
    arm = kd.load(chain(), gravity=(0.0, 0.0, -gravity), backend="numpy", cache=False)
    expected = -gravity * (0.1 * np.cos(0.3) + 0.2 * np.sin(0.3))
    np.testing.assert_allclose(arm.gravity([0.3]), [expected], rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("kind", "count"), list(product(["prismatic", "continuous"], [1, 3])))
@pytest.mark.parametrize("mass", ["5e-324", "1e-310", "1e-308", "1e-200"])
def test_a_mass_next_to_nothing_gives_numbers_or_a_sentence(
    mass: str, kind: str, count: int, backend: str
) -> None:
    particle = chain(count, kind, mass).replace("0.15", "0").replace('"0.2"', '"0"')
    arm = kd.load(particle.replace('ixx="0.1"', 'ixx="0"'), backend=backend, cache=False)
    q, u = np.full((2, count), 0.3)
    for name, arguments in {
        "gravity": (q,),
        "mass_matrix": (q,),
        "inverse_dynamics": (q, u, u),
        "forward_dynamics": (q, u, u),
    }.items():
        try:
            found = getattr(arm, name)(*arguments)
        except (kd.SingularError, kd.ModelError, kd.ArgumentError) as error:
            assert "chain" in str(error) or "link" in str(error) or name in str(error)  # noqa: PT017
        else:
            assert np.isfinite(found).all(), name


def test_the_sentence_about_numbers_too_near_to_zero_names_robot_and_function() -> None:
    text = chain(1, "prismatic", "1e-310")
    arm = kd.load(text, backend="numpy", cache=False)
    with pytest.raises(kd.ModelError, match="chain: forward_dynamics has a number beyond"):
        arm.forward_dynamics([0.1], [0.0], [1.0])


@pytest.mark.parametrize("number", ["١", "१.५", "\uff11", "𝟏", "1_0"])
def test_digits_of_other_scripts_are_no_numbers(number: str) -> None:
    with pytest.raises(kd.ModelError, match=r"link 'link1'.*expected a finite number"):
        kd.read_urdf(chain(mass=number))


@pytest.mark.parametrize(
    ("what", "does"), [("damping", "drives it faster"), ("friction", "drives it instead")]
)
def test_friction_that_drives_is_an_error_of_the_model(
    what: str, does: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = chain(more=f'<dynamics {what}="-2"/>')
    (found,) = [each for each in kd.check(text) if each.rule == f"negative-{what}"]
    assert found.severity == "error"
    assert found.message.startswith(f"joint 'joint1' has {what} -2, which {does}")
    with caplog.at_level(logging.WARNING, "kane_dynamics"):
        kd.load(text, backend="numpy", cache=False)
    assert found.message in caplog.text


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_floating_joints_move(backend: str) -> None:
    count = 10
    arm = kd.load(chain(count, "floating"), backend=backend, cache=False)
    q, rest = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], count), np.zeros(6 * count)
    # all fall freely: the first with the acceleration of gravity, others not against those
    expected = np.zeros(6 * count)
    expected[2] = -9.81
    np.testing.assert_allclose(arm.forward_dynamics(q, rest, rest), expected, atol=1e-11)
    assert arm.gravity(np.tile(q, (3, 1))).shape == (3, 6 * count)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_quaternion_is_normalized_as_far_as_rounding_goes_and_refused_beyond(
    backend: str,
) -> None:
    arm = kd.load(chain(1, "floating"), backend=backend, cache=False)
    q = np.array([0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.8])
    right = arm.gravity(q)
    for off in (1e-12, 1e-9, 9e-7):
        longer = q * np.array([1.0, 1.0, 1.0, *[1.0 + off] * 4])
        np.testing.assert_allclose(arm.gravity(longer), right, rtol=1e-14, atol=1e-14)
    for off in (1e-5, 1e-3, -0.5):
        with pytest.raises(kd.ArgumentError, match=r"q\[3:7\] must be a unit quaternion, its norm"):
            arm.gravity(q * np.array([1.0, 1.0, 1.0, *[1.0 + off] * 4]))
