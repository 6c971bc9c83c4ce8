"""How many operations the equations take: asserted exactly, so that every change is noticed.

Counts are multiplications and additions of all torques of a robot; sines and cosines are apart.
"""

import re

import pytest
from formulations import keep_to
from oracle import load, robot_path

import kane_dynamics as kd
from kane_dynamics.kane.tree.factorization import least_operations


def multiplications_and_additions(arm: kd.Dynamics, name: str = "inverse_dynamics") -> int:
    count = arm.operations(name)
    return count.multiplications + count.additions


# Robot, multiplications, additions, sines and cosines, and the most that we want to see. Friction
# as the file gives it, which is the default, adds in the last two columns.
COUNTS = [
    ("two_link_arm", 19, 11, 4, 40, 0, 0),
    ("revolute_prismatic_arm", 12, 7, 0, 20, 0, 0),
    ("stanford_arm", 115, 84, 8, 220, 0, 0),
    ("ur5_robot", 147, 105, 14, 320, 0, 0),
    ("kinova", 202, 155, 12, 420, 0, 0),
    ("panda", 315, 295, 12, 690, 8, 9),
    ("talos_reduced", 1425, 1296, 60, 2950, 2, 40),
]


@pytest.mark.parametrize(
    ("stem", "multiplications", "additions", "functions", "most"), [row[:5] for row in COUNTS]
)
def test_torques_of_a_robot_cost_so_many_operations(
    stem: str, multiplications: int, additions: int, functions: int, most: int
) -> None:
    count = load(robot_path(stem)).operations("inverse_dynamics")
    found = (count.multiplications, count.additions, count.functions, count.divisions)
    assert found == (multiplications, additions, functions, 0)
    assert count.total <= most


@pytest.mark.parametrize(("stem", "products", "sums"), [(r[0], *r[5:]) for r in COUNTS])
def test_friction_of_the_joints_costs_little(stem: str, products: int, sums: int) -> None:
    without = load(robot_path(stem)).operations("inverse_dynamics")
    default = load(robot_path(stem), joint_friction=True).operations("inverse_dynamics")
    assert default.multiplications - without.multiplications == products
    assert default.additions - without.additions == sums


def test_a_mimicking_finger_is_cheaper_than_one_that_moves_by_itself() -> None:
    text = robot_path("panda").read_text()
    mimicking = load(text)
    independent = load(re.sub(r"<mimic[^>]*/>", "", text))
    assert (mimicking.dof, independent.dof) == (8, 9)
    assert multiplications_and_additions(mimicking) == 610
    assert multiplications_and_additions(independent) == 615


def test_a_locked_hand_leaves_the_cost_of_seven_joints() -> None:
    arm = load(robot_path("panda"), joints=[f"panda_joint{k}" for k in range(1, 8)])
    assert multiplications_and_additions(arm) == 550


def test_gravity_and_mass_matrix_are_programs_of_their_own() -> None:
    arm = load(robot_path("ur5_robot"))
    assert multiplications_and_additions(arm, "gravity") == 7
    assert multiplications_and_additions(arm, "mass_matrix") == 154
    assert arm.operations("forward_dynamics").divisions == 5


def test_a_base_that_floats_costs_an_orientation_and_a_body() -> None:
    arm = load(robot_path("talos_reduced"), base="floating")
    assert multiplications_and_additions(arm) == 3352


def chain(length: int, turned: bool) -> str:
    """A serial chain of equal links; every other axis is turned, or all are parallel."""
    parts = ['<robot name="chain"><link name="link0"/>']
    for k in range(1, length + 1):
        axis = "0 1 0" if turned and k % 2 == 0 else "0 0 1"
        parts.append(f"""<link name="link{k}"><inertial>
            <origin xyz="0.1 0.02 0.03" rpy="0.1 0.2 0.3"/><mass value="1.5"/>
            <inertia ixx="0.1" iyy="0.12" izz="0.13" ixy="0.01" ixz="0.02"
            iyz="0.003"/></inertial></link><joint name="joint{k}" type="continuous">
            <origin xyz="0.3 0.1 0.2"/><parent link="link{k - 1}"/><child link="link{k}"/>
            <axis xyz="{axis}"/></joint>""")
    return "".join([*parts, "</robot>"])


@pytest.mark.parametrize("turned", [True, False], ids=["turned axes", "parallel axes"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "bias", "energy", "momentum", "gravity"])
def test_cost_grows_with_the_number_of_joints_and_not_faster(name: str, turned: bool) -> None:
    short = multiplications_and_additions(load(chain(50, turned)), name)
    long = multiplications_and_additions(load(chain(100, turned)), name)
    assert long <= 2.06 * short
    if name == "inverse_dynamics":
        assert long <= 2.05 * short
        assert long == (10959 if turned else 3263)


@pytest.mark.parametrize(
    ("turned", "counts"),
    [(True, (7900, 16270, 33010)), (False, (2019, 4149, 8409))],
    ids=["turned axes", "parallel axes"],
)
def test_accelerations_of_a_chain_cost_as_much_for_every_joint(
    turned: bool, counts: tuple[int, ...]
) -> None:
    chains = [load(chain(length, turned)) for length in (30, 60, 120)]
    found = tuple(arm.operations("forward_dynamics").total for arm in chains)
    assert found == counts
    assert found[2] <= 2.1 * found[1] <= 2.1**2 * found[0]


# Robot, base, operations of forward dynamics, and those of the factorization of the mass matrix.
ACCELERATIONS = [
    ("iris_simple", "floating", 63, 63),
    ("two_link_arm", "fixed", 38, 44),
    ("stanford_arm", "fixed", 430, 430),
    ("ur5_robot", "fixed", 489, 489),
    ("ur5_robot", "floating", 1021, 1321),
    ("panda", "fixed", 1203, 1203),
    ("solo12", "floating", 2617, 2911),
    ("talos_reduced", "fixed", 5901, 6297),
    ("talos_reduced", "floating", 7785, 11535),
    ("talos_full_v2", "floating", 9428, 14675),
    ("icub", "floating", 8377, 13161),
    ("tiago", "floating", 8229, 24091),
]


@pytest.mark.parametrize(("stem", "base", "fewest", "by_factorization"), ACCELERATIONS)
def test_accelerations_are_found_in_the_way_that_costs_less(
    stem: str, base: str, fewest: int, by_factorization: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = load(robot_path(stem), base=base)
    assert arm.operations("forward_dynamics").total == fewest
    assert least_operations(arm.tree) < by_factorization
    keep_to("factorization", monkeypatch)
    assert arm.operations("forward_dynamics").total == by_factorization
    keep_to("order n", monkeypatch)
    assert fewest == min(by_factorization, arm.operations("forward_dynamics").total)


@pytest.mark.parametrize("stem", ["stanford_arm", "ur5_robot", "panda", "talos_reduced"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
def test_the_operations_counted_are_those_of_the_code(stem: str, name: str) -> None:
    arm = load(robot_path(stem), joint_friction=True)
    text = arm.source(name, "c")
    # After an operator, a minus sign is one of a number or of a product.
    body = re.sub(r"\d[eE][+-]\d", "", text[text.index("\n{") :])
    count = arm.operations(name)
    assert body.count("*") == count.multiplications
    assert body.count("/") == count.divisions
    assert len(re.findall(r"[\w)\]] [+-] ", body)) == count.additions
    assert len(re.findall(r"\b(?:sin|cos|sign_of)\(", body)) == count.functions


def test_an_operation_count_has_a_total_that_leaves_functions_out() -> None:
    count = load(robot_path("stanford_arm")).operations("forward_dynamics")
    assert count.total == count.multiplications + count.additions + count.divisions
    assert count.functions > 0
