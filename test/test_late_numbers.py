"""Inertia that is given at run time: the same torques as if it had been known, from one code."""

import copy
import pickle
import threading
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracle import (
    Pinocchio,
    assert_agrees,
    assert_produces,
    load,
    random_states,
    random_torques,
    robot_path,
)

import kane_dynamics as kd
from kane_dynamics.arrays import Array
from kane_dynamics.codegen.backend_c import MachineCode

HAND = "panda_hand"
PROGRAMS = ("inverse_dynamics", "gravity", "bias", "mass_matrix", "forward_dynamics", "momentum")
ARM = [f"panda_joint{k}" for k in range(1, 8)]


def random_inertia(seed: int) -> kd.Inertia:
    """Of a cloud of particles, as light or heavy as a gripper and what it holds."""
    random = np.random.default_rng(seed)
    masses, points = random.uniform(0.0, 0.5, 6), random.uniform(-0.2, 0.3, (6, 3))
    center = masses @ points / masses.sum()
    spread = (points - center).T @ (masses[:, None] * (points - center))
    tensor = np.trace(spread) * np.eye(3) - spread
    return kd.Inertia(
        float(masses.sum()), tuple(center.tolist()), tuple(map(tuple, tensor.tolist()))
    )


def give(arm: kd.Dynamics, link: str, inertia: kd.Inertia) -> None:
    arm.set_inertia(link, inertia.mass, inertia.center, inertia.tensor)


def with_inertia(robot: kd.Robot, inertias: dict[str, kd.Inertia | None]) -> kd.Robot:
    links = [replace(link, inertia=inertias.get(link.name, link.inertia)) for link in robot.links]
    return replace(robot, links=tuple(links))


def everything(arm: kd.Dynamics, q: Array, u: Array, x: Array) -> dict[str, Array]:
    energy, momentum = arm.energy(q, u), arm.momentum(q, u)
    return {
        "torques": arm.inverse_dynamics(q, u, x),
        "gravity": arm.gravity(q),
        "bias": arm.bias(q, u),
        "mass_matrix": arm.mass_matrix(q),
        "kinetic": np.asarray(energy.kinetic),
        "potential": np.asarray(energy.potential),
        "linear": momentum.linear,
        "angular": momentum.angular,
    }


def assert_same(arm: kd.Dynamics, other: kd.Dynamics, tolerance: float = 1e-12) -> None:
    """All functions of two robots agree, for one state and for many."""
    states = random_states(arm, 20)
    for at in (slice(None), 0):
        motion = states.q[at], states.u[at], states.udot[at]
        found, expected = everything(arm, *motion), everything(other, *motion)
        for name, value in expected.items():
            worst = np.abs(found[name] - value).max()
            assert worst <= tolerance * max(np.abs(value).max(), 1e-3), name
    tau = other.inverse_dynamics(states.q, states.u, states.udot)
    udot = arm.forward_dynamics(states.q, states.u, tau)
    back = other.inverse_dynamics(states.q, states.u, udot)
    scale = np.abs(other.mass_matrix(states.q)).max() * np.abs(udot).max() + np.abs(tau).max()
    assert np.abs(back - tau).max() <= 100 * tolerance * scale


# ------------------------------------------------------------------------ the hand of the Panda
def panda_with(inertia: kd.Inertia, path: Path) -> Path:
    """The file of the Panda with another inertia of its hand."""
    tree = ElementTree.parse(robot_path("panda"))
    inertial = tree.find(f"link[@name='{HAND}']/inertial")
    inertial.find("origin").attrib.update(xyz=" ".join(map(str, inertia.center)), rpy="0 0 0")
    inertial.find("mass").set("value", str(inertia.mass))
    for i, j in ("xx", "xy", "xz", "yy", "yz", "zz"):
        number = inertia.tensor["xyz".index(i)]["xyz".index(j)]
        inertial.find("inertia").set(f"i{i}{j}", str(number))
    tree.write(path)
    return path


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_the_hand_of_the_panda_may_be_any_body(backend: str, tmp_path: Path) -> None:
    arm = load(robot_path("panda"), late=[HAND], backend=backend)
    states = random_states(arm, 30)
    for seed in range(4):
        inertia = random_inertia(seed)
        give(arm, HAND, inertia)
        oracle = Pinocchio(panda_with(inertia, tmp_path / f"panda{seed}.urdf"))
        expected = oracle.answers(states, links=[HAND])
        assert_agrees(arm, states, expected)
        tau = random_torques(expected)
        assert_produces(expected, tau, arm.forward_dynamics(states.q, states.u, tau))
        first = (states.q[0], states.u[0], states.udot[0])
        np.testing.assert_allclose(
            arm.inverse_dynamics(*first), expected.torques[0], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(("joints", "count"), [(None, 614), (ARM, 565)])
def test_ten_late_numbers_cost_few_operations(joints: list[str] | None, count: int) -> None:
    early = load(robot_path("panda"), joints=joints)
    late = load(robot_path("panda"), joints=joints, late=[HAND])
    for name in (*PROGRAMS, "energy"):
        assert late.operations(name).total <= 1.25 * early.operations(name).total, name
    assert late.operations("inverse_dynamics").total == count
    assert late.operations("pose", HAND) == early.operations("pose", HAND)


# ------------------------------------------------------------------------------ anywhere else
PLACES = [
    ("panda", "fixed", [HAND]),
    ("panda", "fixed", ["panda_leftfinger", "panda_link3"]),
    ("stanford_arm", "fixed", ["C"]),
    ("revolute_prismatic_arm", "fixed", ["B"]),
    ("ur5_robot", "fixed", ["upper_arm_link", "forearm_link", "ee_link"]),
    ("talos_reduced", "floating", ["torso_2_link", "arm_left_7_link"]),
    ("solo12", "floating", ["FL_LOWER_LEG", "base_link"]),
]


@pytest.mark.parametrize(("stem", "base", "links"), PLACES)
def test_any_link_may_come_late(stem: str, base: str, links: list[str]) -> None:
    robot = kd.read_urdf(robot_path(stem))
    arm = load(robot, base=base, late=links)
    assert_same(arm, load(robot, base=base))
    inertias = {link: random_inertia(k) for k, link in enumerate(links)}
    for link, inertia in inertias.items():
        give(arm, link, inertia)
    assert_same(arm, load(with_inertia(robot, inertias), base=base))


KINDS = ["revolute", "ball", "prismatic", "screw", "ball", "prismatic"]


def chain() -> kd.Robot:
    """A chain of joints of every kind."""
    random = np.random.default_rng(1983)
    links, joints = [kd.Link("world")], []
    for k, kind in enumerate(KINDS):
        links.append(kd.Link(f"link{k}", random_inertia(100 + k)))
        turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
        turn *= np.linalg.det(turn)
        axis = random.normal(size=3)
        joints.append(
            kd.Joint(
                f"joint{k}",
                kind,
                links[k].name,
                f"link{k}",
                tuple(map(tuple, turn.tolist())),
                tuple(random.uniform(-0.5, 0.5, 3).tolist()),
                tuple((axis / np.linalg.norm(axis)).tolist()),
                pitch=0.2 if kind == "screw" else 0.0,
            )
        )
    return kd.Robot("chain", tuple(links), tuple(joints))


@pytest.mark.parametrize(
    "k", range(len(KINDS)), ids=[f"{k} {kind}" for k, kind in enumerate(KINDS)]
)
def test_a_late_link_may_be_on_any_kind_of_joint(k: int) -> None:
    robot, link, inertia = chain(), f"link{k}", random_inertia(k)
    arm = load(robot, late=link)
    give(arm, link, inertia)
    assert_same(arm, load(with_inertia(robot, {link: inertia})))


def test_all_links_may_come_late() -> None:
    robot = chain()
    arm = load(robot, late=[link.name for link in robot.links[1:]])
    assert_same(arm, load(robot))
    inertias = {f"link{k}": random_inertia(k) for k in range(len(KINDS))}
    for link, inertia in inertias.items():
        give(arm, link, inertia)
    assert_same(arm, load(with_inertia(robot, inertias)))


# ------------------------------------------------------------------------------------- payloads
def test_a_payload_is_nothing_until_it_is_given() -> None:
    arm = load(robot_path("ur5_robot"), payload="tool0")
    assert_same(arm, load(robot_path("ur5_robot")))


def test_a_payload_is_carried_beside_what_is_there() -> None:
    robot = kd.read_urdf(robot_path("panda"))
    arm = load(robot, payload=[HAND], late=[HAND])
    carried = random_inertia(7)
    arm.set_payload(HAND, carried.mass, carried.center, carried.tensor)
    grown = kd.Robot(
        "panda",
        (*robot.links, kd.Link("carried", carried)),
        (*robot.joints, kd.Joint("grip", "fixed", HAND, "carried")),
    )
    assert_same(arm, load(grown))
    arm.set_payload(HAND, 0.0)
    assert_same(arm, load(robot))


def test_a_payload_weighs_where_its_centre_of_mass_is() -> None:
    arm = load(robot_path("ur5_robot"), payload="tool0")
    q = random_states(arm, 1).q[0]
    without = arm.gravity(q)
    arm.set_payload("tool0", mass=1.2, com=(0.0, 0.0, 0.05))
    pose, jacobian = arm.pose("tool0", q), arm.jacobian("tool0", q)
    lever = pose[:3, :3] @ [0.0, 0.0, 0.05]
    weight = np.array([0.0, 0.0, -1.2 * 9.81])
    expected = without - jacobian.T @ np.concatenate([weight, np.cross(lever, weight)])
    np.testing.assert_allclose(arm.gravity(q), expected, atol=1e-12)


def test_forward_dynamics_says_what_has_no_inertia_while_there_is_no_payload() -> None:
    rail = kd.Robot(
        "rail",
        (kd.Link("world"), kd.Link("plate")),
        (kd.Joint("slide", "prismatic", "world", "plate"),),
    )
    arm = load(rail, payload="plate")
    with pytest.raises(kd.SingularError, match="link 'plate'"):
        arm.forward_dynamics([0.0], [0.0], [1.0])
    arm.set_payload("plate", 4.0)
    assert arm.forward_dynamics([0.0], [0.0], [1.0]) == pytest.approx([0.25])


def test_a_simulation_uses_what_is_given() -> None:
    arm = load(robot_path("two_link_arm"), late=["B"])
    give(arm, "B", random_inertia(3))
    same = load(with_inertia(arm.robot, {"B": random_inertia(3)}))
    motions = [each.simulate(0.2, [0.1, 0.2], [0.0, 1.0]) for each in (arm, same)]
    np.testing.assert_allclose(motions[0].q, motions[1].q, atol=1e-10)
    assert not np.allclose(motions[0].q, load(arm.robot).simulate(0.2, [0.1, 0.2], [0.0, 1.0]).q)


# --------------------------------------------------------------------- one code for all values
def test_other_values_need_no_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    load_form = MachineCode._load
    monkeypatch.setattr(
        MachineCode, "_load", lambda code, form: compiled.append(form) or load_form(code, form)
    )
    robot = kd.read_urdf(robot_path("panda"))
    other = with_inertia(robot, {HAND: random_inertia(5)})
    arm = kd.load(robot, late=[HAND], backend="c", cache=tmp_path)
    q = random_states(arm, 3).q
    first, before = arm.gravity(q), list(compiled)
    entries = sorted(each.name for each in tmp_path.iterdir())
    give(arm, HAND, random_inertia(5))
    second = arm.gravity(q)
    loaded = kd.load(other, late=[HAND], backend="c", cache=tmp_path)
    np.testing.assert_array_equal(loaded.gravity(q), second)
    assert not np.allclose(first, second)
    assert compiled == before
    assert sorted(each.name for each in tmp_path.iterdir()) == entries


def test_a_robot_without_late_numbers_is_called_as_before() -> None:
    arm = kd.load(robot_path("ur5_robot"), backend="c")
    assert arm.parameters == ()
    assert arm._gravity is arm._functions.function("gravity")


def test_the_text_of_equations_says_what_their_parameters_are() -> None:
    arm = load(robot_path("panda"), late=[HAND])
    text = arm.source("gravity", "python")
    assert f"parameters: Dynamics.parameters, from the late inertia of {HAND}" in text
    names: dict[str, object] = {}
    exec(text, names)
    q = random_states(arm, 1).q[0]
    found = names["gravity"](q, *arm.parameters)
    np.testing.assert_allclose(found, arm.gravity(q), rtol=1e-13, atol=1e-13)


def test_copies_keep_what_was_given() -> None:
    arm = load(robot_path("panda"), late=[HAND], payload=["panda_link3"])
    give(arm, HAND, random_inertia(1))
    arm.set_payload("panda_link3", 2.0, (0.1, 0.0, 0.0))
    q = random_states(arm, 3).q
    for other in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):
        np.testing.assert_array_equal(other.gravity(q), arm.gravity(q))
        give(other, HAND, random_inertia(2))
        assert not np.allclose(other.gravity(q), arm.gravity(q))


def test_a_call_in_another_thread_sees_one_value_or_the_other() -> None:
    arm = kd.load(robot_path("panda"), late=[HAND], backend="c")
    q = random_states(arm, 1).q[0]
    values = [random_inertia(seed) for seed in (1, 2)]
    allowed = set()
    for inertia in values:
        give(arm, HAND, inertia)
        allowed.add(arm.gravity(q).tobytes())
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            for inertia in values:
                give(arm, HAND, inertia)

    thread = threading.Thread(target=change)
    thread.start()
    found = {arm.gravity(q).tobytes() for _ in range(3000)}
    done.set()
    thread.join()
    assert found <= allowed


# ------------------------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"mass": -1.0}, r"link 'panda_hand': mass is -1, expected at least 0"),
        ({"mass": np.nan}, r"link 'panda_hand': mass is nan, expected finite numbers"),
        ({"mass": "1.0"}, r"link 'panda_hand': mass is '1.0', expected one number"),
        ({"mass": 1.0, "com": (0, np.inf, 0)}, r"com is \(0, inf, 0\), expected finite numbers"),
        ({"mass": 1.0, "com": (0, 0)}, r"com is \(0, 0\), expected 3 numbers"),
        ({"mass": 1.0, "inertia": np.ones(3).tolist()}, r"inertia is .*, expected 3 x 3 numbers"),
        ({"mass": 1.0, "inertia": [[1], [2, 3], [4]]}, r"inertia is .*, expected 3 x 3 numbers"),
        ({"mass": 1.0, "inertia": np.triu(np.ones((3, 3)))}, "inertia is not symmetric"),
        ({"mass": 1.0, "inertia": np.diag([1, 1, -1])}, "inertia has the principal moment -1"),
    ],
)
@pytest.mark.parametrize("how", ["late", "payload"])
def test_wrong_numbers_are_refused_and_change_nothing(
    numbers: dict[str, object], message: str, how: str
) -> None:
    arm = load(robot_path("panda"), **{how: HAND})
    q = random_states(arm, 1).q[0]
    before = arm.gravity(q)
    with pytest.raises(kd.ArgumentError, match=message) as refused:
        (arm.set_inertia if how == "late" else arm.set_payload)(HAND, **numbers)
    assert "\n" not in str(refused.value).replace(",\n", "")
    np.testing.assert_array_equal(arm.gravity(q), before)


def test_numbers_that_were_never_given_are_missed_by_name() -> None:
    bare = with_inertia(kd.read_urdf(robot_path("panda")), {HAND: None})
    arm = load(bare, late=[HAND])
    q = random_states(arm, 1).q[0]
    for ask in (lambda: arm.gravity(q), lambda: arm.parameters, lambda: arm.simulate(1, q, 0 * q)):
        with pytest.raises(kd.ArgumentError, match=f"link '{HAND}' comes late and was never given"):
            ask()
    assert arm.pose(HAND, q).shape == (4, 4)
    arm.set_inertia(HAND, 0.0)
    np.testing.assert_allclose(arm.gravity(q), load(bare).gravity(q))


@pytest.mark.parametrize("how", ["late", "payload"])
def test_links_that_cannot_come_late_are_named(how: str) -> None:
    for links, message in (
        (["panda_hnd"], f"{how}: there is no link 'panda_hnd'"),
        ([HAND, HAND], f"{how}: link '{HAND}' is there twice"),
        (["panda_link0"], f"{how}: link 'panda_link0' does not move"),
        (3, f"{how} is 3, expected names of links"),
        ([3], f"{how}: there is no link 3"),
    ):
        with pytest.raises(kd.ArgumentError, match=message):
            load(robot_path("panda"), **{how: links})
    arm = load(robot_path("panda"), **{how: HAND})
    change = arm.set_inertia if how == "late" else arm.set_payload
    with pytest.raises(kd.ArgumentError, match="there is no link 'panda_hnd'"):
        change("panda_hnd", 1.0)
    with pytest.raises(kd.ArgumentError, match=f"link 'panda_link3' .* {how}="):
        change("panda_link3", 1.0)
