"""Contacts and switched constraints against closed forms: bounces, slips, sticking, grasps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kane_dynamics as kd
from kane_dynamics.arrays import Array
from kane_dynamics.simulation.excursions import Excursions
from kane_dynamics.simulation.named import STICKS

G = 9.81

ARM = Path(__file__).parents[1] / "urdf" / "two_link_arm.urdf"
_LINK = """<link name="{name}"><inertial><mass value="{mass}"/><inertia ixx="{i}" ixy="0" ixz="0"
iyy="{i}" iyz="0" izz="{i}"/></inertial></link>"""
BALL = f"""<robot name="ball"><link name="ground"/>{_LINK.format(name="ball", mass=2, i=0.01)}
<joint name="z" type="prismatic"><parent link="ground"/><child link="ball"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""
BOX = f"""<robot name="box">{_LINK.format(name="box", mass=3, i=0.03)}</robot>"""
DISK = f"""<robot name="disk"><link name="ground"/>{_LINK.format(name="disk", mass=2, i=0.03)}
<joint name="plane" type="planar"><parent link="ground"/><child link="disk"/>
<axis xyz="0 1 0"/></joint></robot>"""
FEET = [
    kd.Contact(f"foot{k}", "box", at=(x, y, -0.1), friction=(0.6, 0.5))
    for k, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)])
]
UPRIGHT = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])


def _ball(restitution: float, backend: str = "auto") -> kd.Dynamics:
    floor = kd.Contact("floor", "ball", radius=0.1, restitution=restitution)
    return kd.load(BALL, constraints=[floor], backend=backend)  # type: ignore[arg-type]


def _energy(motion: kd.Motion) -> Array:
    return motion.kinetic + motion.potential


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_ball_bounces_as_often_as_it_can_and_then_rests(backend: str) -> None:
    e, fall = 0.5, np.sqrt(2.0 / G)
    motion = _ball(e, backend).simulate(1.6, [1.1], [0.0], step=2e-2)
    hits = [event for event in motion.events if event.kind == "contact"]
    speed = G * fall
    first, second = fall, fall + 2.0 * e * fall
    np.testing.assert_allclose([hits[0].t, hits[1].t], [first, second], atol=1e-12)
    np.testing.assert_allclose(hits[0].impulse, 2.0 * (1 + e) * speed, rtol=1e-12)
    assert hits[0].energy_lost == pytest.approx(speed**2 * (1 - e**2), rel=1e-12)
    assert hits[-1].t == pytest.approx(fall * (1 + e) / (1 - e), abs=1e-7)
    assert sum(event.energy_lost for event in hits) == pytest.approx(2.0 * G, rel=1e-9)
    assert motion.completed
    assert motion.active("floor")[-1]
    np.testing.assert_allclose(motion.constraint_forces["floor"][-1], [2.0 * G], rtol=1e-12)
    assert abs(motion.q[-1, 0] - 0.1) < 1e-12


def test_a_ball_without_losses_keeps_bouncing() -> None:
    motion = _ball(1.0).simulate(2.0, [1.1], [0.0], step=1e-2)
    np.testing.assert_allclose(_energy(motion), _energy(motion)[0], rtol=1e-10)
    assert len(motion.events) == 2


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_block_slides_to_rest_on_four_feet(backend: str) -> None:
    box = kd.load(BOX, base="floating", constraints=FEET, backend=backend)  # type: ignore[arg-type]
    speed = 0.2
    stop = speed / (0.5 * G)
    motion = box.simulate(0.06, UPRIGHT, [speed, 0, 0, 0, 0, 0], step=5e-3)
    sticks = [event for event in motion.events if event.kind == "stick"]
    assert len(sticks) == 4
    np.testing.assert_allclose([event.t for event in sticks], stop, atol=1e-12)
    assert motion.q[-1, 0] == pytest.approx(0.5 * speed * stop, abs=1e-12)
    forces = sum(motion.constraint_forces.values())
    np.testing.assert_allclose(forces[:, 0], 3.0 * G, rtol=1e-10)
    np.testing.assert_allclose(forces[0], [3.0 * G, -1.5 * G, 0.0], atol=1e-9)
    assert not motion.sticking("foot0")[0]
    assert motion.sticking("foot0")[-1]
    assert motion.checks.relative_energy_error < 1e-9


def test_a_disk_slides_until_it_rolls() -> None:
    floor = kd.Contact("floor", "disk", radius=0.1, friction=0.2)
    disk = kd.load(DISK, constraints=[floor])
    assert disk.speed_names == ("plane.x", "plane.y", "plane.angle")  # y points down
    speed, deceleration, spin = 0.5, 0.2 * G, 0.2 * 2.0 * G * 0.1 / 0.03
    rolls = speed / (deceleration + 0.1 * spin)
    motion = disk.simulate(0.3, [0.0, -0.1, 0.0], [speed, 0.0, 0.0], step=1e-2)
    (stick,) = motion.events
    assert (stick.kind, stick.t) == ("stick", pytest.approx(rolls, abs=1e-12))
    then = speed - deceleration * rolls
    np.testing.assert_allclose(motion.u[-1], [then, 0.0, then / 0.1], atol=1e-12)
    assert motion.checks.relative_energy_error < 1e-9


def test_a_block_is_pushed_loose_at_the_static_limit() -> None:
    box = kd.load(BOX, base="floating", constraints=FEET)
    rate = 40.0
    history = kd.WrenchHistory([0.0, 1.0], [[0.0] * 6, [rate, 0, 0, 0, 0, 0]], hold="linear")
    motion = box.simulate(0.6, UPRIGHT, np.zeros(6), wrenches={"box": history}, step=1e-2)
    loose = 0.6 * 3.0 * G / rate
    first = [event for event in motion.events if event.kind == "slip"][-1]
    assert first.t == pytest.approx(loose, abs=1e-9)
    after = motion.t[-1] - loose
    gain = (0.6 - 0.5) * G * after + rate / 3.0 * after**2 / 2
    assert motion.u[-1, 0] == pytest.approx(gain, rel=1e-9)


def test_a_lock_is_switched_at_a_time_and_takes_the_energy_it_stops() -> None:
    ball = kd.load(BALL, constraints=[kd.Lock("catch", "z", active=False)])
    switches = [kd.Switch("catch", at=0.1234), kd.Switch("catch", on=False, at=0.2)]
    motion = ball.simulate(0.3, [1.0], [0.0], step=1e-2, switches=switches)
    on, off = motion.events
    assert (on.kind, off.kind) == ("on", "off")
    assert (on.t, off.t) == pytest.approx((0.1234, 0.2), abs=1e-12)
    assert on.energy_lost == pytest.approx((G * 0.1234) ** 2, rel=1e-12)
    np.testing.assert_allclose(on.impulse, [2.0 * G * 0.1234], rtol=1e-12)
    np.testing.assert_allclose(motion.u[-1], [-G * 0.1], rtol=1e-10)


@pytest.mark.parametrize("floors", [0, 1])
def test_a_switch_takes_the_same_impulse_with_and_without_a_compiler(floors: int) -> None:
    """Also beside a contact that is open throughout."""
    below = [kd.Contact("floor", "B", offset=-9.0, friction=0.5)] * floors
    gears = kd.Coupling("gears", {"joint1": 1.0, "joint2": -2.0}, active=False)
    brakes = [kd.Lock(name, "joint2", active=False) for name in ("brake", "second_brake")]
    switches = [kd.Switch("gears", at=0.03), kd.Switch("gears", on=False, at=0.06)]
    switches += [kd.Switch(brake.name, at=0.0805) for brake in brakes]  # redundant: each half
    motions = []
    for backend in ("auto", "numpy"):
        given = [gears, *brakes, *below]
        arm = kd.load(ARM, constraints=given, backend=backend)  # type: ignore[arg-type]
        motions.append(arm.simulate(0.1, [0.3, 0.5], [1.0, 2.0], step=1e-3, switches=switches))
    compiled, interpreted = motions
    assert [each.kind for each in compiled.events] == ["on", "off", "on", "on"]
    for ours, theirs in zip(compiled.events, interpreted.events, strict=True):
        np.testing.assert_allclose(ours.impulse, theirs.impulse, rtol=1e-10)
        assert ours.energy_lost == pytest.approx(theirs.energy_lost, rel=1e-10)
    first, _, brake, second = compiled.events
    assert first.energy_lost > 0.0
    assert brake.impulse == pytest.approx(second.impulse, rel=1e-10)
    np.testing.assert_allclose(compiled.u, interpreted.u, atol=1e-12)
    np.testing.assert_allclose(compiled.work, interpreted.work, atol=1e-12)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_state_machine_latches_where_its_condition_is_met(backend: str) -> None:
    ball = kd.load(BALL, constraints=[kd.Lock("latch", "z", active=False)], backend=backend)  # type: ignore[arg-type]
    machine = kd.StateMachine(
        "free",
        states={"free": {"latch": False}, "caught": {"latch": True}},
        transitions=[("free", "caught", lambda t, q, u: 0.8 - q[0])],
    )
    motion = ball.simulate(0.4, [1.0], [0.0], step=1e-2, machine=machine)
    state, on = motion.events
    assert (state.kind, state.state, on.kind) == ("state", "caught", "on")
    assert on.t == pytest.approx(np.sqrt(0.4 / G), abs=1e-12)
    assert motion.q[-1, 0] == pytest.approx(0.8, abs=1e-12)
    assert (motion.states[0], motion.states[-1]) == ("free", "caught")


def test_a_box_that_tumbles_down_comes_to_rest_and_does_not_rattle_on() -> None:
    box = kd.load(BOX, base="floating", constraints=FEET)
    turned = np.array([-0.04, -0.1, 0.46])
    q = np.array([0.0, 0.0, 0.3, *turned, np.sqrt(1.0 - turned @ turned)])
    motion = box.simulate(0.6, q, [0.3, -0.3, 0.3, 0.7, 0.3, -2.2], step=1e-3)
    assert motion.completed
    assert len(motion.events) < 1000
    assert np.diff(_energy(motion)).max() < 1e-10
    np.testing.assert_allclose(motion.u[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.q[-1, 2:5], [0.1, 0.0, 0.0], atol=1e-8)


def test_corners_that_land_while_others_slide_push_and_take_energy() -> None:
    box = kd.load(BOX, base="floating", constraints=FEET)
    random = np.random.default_rng(0)
    for k in range(20):
        q = random.normal(size=4) * [0.1, 0.1, 0.3, 0.0] + [0.0, 0.0, 0.0, 1.0]
        u = random.normal(size=6) * [1.0, 1.0, 0.2, 0.5, 0.5, 1.0]
        if k not in (3, 19):  # directions of slip that overshoot, and depend on each other
            continue
        motion = box.simulate(1.2, [0.0, 0.0, 0.3, *q / np.linalg.norm(q)], u, step=1e-3)
        assert motion.completed
        assert np.diff(_energy(motion)).max() < 1e-6
        assert min(motion.constraint_forces[foot.name][:, 0].min() for foot in FEET) > -1e-6
        np.testing.assert_allclose(motion.u[-1], 0.0, atol=1e-12)


def test_a_cradle_passes_its_blow_on() -> None:
    slide = """<joint name="x{k}" type="prismatic"><parent link="ground"/><child link="b{k}"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>"""
    balls = "".join(
        _LINK.format(name=f"b{k}", mass=1, i=0.01) + slide.format(k=k) for k in range(3)
    )
    pairs = [
        kd.Contact(
            f"c{k}",
            f"b{k + 1}",
            radius=0.1,
            ground=f"b{k}",
            normal=(1, 0, 0),
            offset=0.1,
            restitution=1.0,
        )
        for k in range(2)
    ]
    text = f'<robot name="cradle"><link name="ground"/>{balls}</robot>'
    cradle = kd.load(text, constraints=pairs)
    motion = cradle.simulate(0.2, [-0.1, 0.2, 0.4], [1.0, 0.0, 0.0], step=1e-2)
    np.testing.assert_allclose(motion.u[-1], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(motion.kinetic, 0.5, rtol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("when", [{"at": 0.1}, {"when": lambda t, q, u: t - 0.1}])
def test_a_switch_where_its_constraint_is_violated_ends_the_motion(backend, when) -> None:
    loop = kd.Loop("held", "ball", "world", active=False)
    ball = kd.load(BALL, constraints=[loop], backend=backend)
    motion = ball.simulate(0.2, [1.0], [0.0], switches=[kd.Switch("held", **when)], step=1e-2)
    assert not motion.completed
    assert "constraint 'held' is violated by" in motion.message
    assert motion.message.endswith("at t = 0.1 s")
    assert motion.t[-1] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kd.Contact("c", "l", friction=-1.0), "friction is -1.0, expected a number that"),
        (lambda: kd.Contact("c", "l", friction=(0.3, 0.4)), "the second not larger"),
        (lambda: kd.Contact("c", "l", restitution=1.5), "restitution is 1.5, expected a number"),
        (lambda: kd.Switch("c"), "expected one of at and when"),
        (lambda: kd.Switch("c", when=3), "when is 3, expected a function of (t, q, u)"),
        (lambda: kd.StateMachine("a", {"b": {}}, []), "StateMachine: start"),
        (lambda: kd.Rolling("r", "w", 0.1, friction=1, limit=2), "friction and limit are given"),
    ],
)
def test_what_makes_no_sense_is_refused(make, sentence: str) -> None:
    with pytest.raises(kd.ArgumentError) as caught:
        make()
    assert sentence in str(caught.value)


def test_switches_name_constraints_that_are_there() -> None:
    ball = _ball(0.5)
    with pytest.raises(kd.ArgumentError, match="flor"):
        ball.simulate(0.1, [1.0], [0.0], switches=[kd.Switch("flor", at=0.1)])
    with pytest.raises(kd.ArgumentError, match="robots with constraints"):
        kd.load(BALL).simulate(0.1, [1.0], [0.0], switches=[kd.Switch("floor", at=0.1)])


def test_a_block_that_tumbles_comes_to_rest_and_never_gains_energy() -> None:
    feet = [kd.Contact(f.name, "box", at=f.at, friction=1.0, restitution=0.3) for f in FEET]
    box = kd.load(BOX, base="floating", constraints=feet)
    tilted = np.array([0.02, 0.05, 0.0, 1.0]) / np.linalg.norm([0.02, 0.05, 0.0, 1.0])
    motion = box.simulate(0.8, [0, 0, 0.35, *tilted], [0.5, 0, 0, 0.3, 0, 0.2], step=1e-3)
    energy = _energy(motion)
    assert motion.completed
    assert np.diff(energy).max() < 1e-6 * energy[0]
    np.testing.assert_allclose(motion.u[-1], 0.0, atol=1e-9)
    assert motion.q[-1, 2] == pytest.approx(0.1, abs=1e-9)
    lost = sum(event.energy_lost for event in motion.events)
    assert 0.0 < lost < energy[0] - energy[-1] + 1e-9


def test_a_rod_that_no_friction_force_can_hold_is_reported() -> None:
    rod = DISK.replace("0.03", "0.1667")
    tip = kd.Contact("tip", "disk", at=(-0.5, 0, 0), friction=2.0)
    painleve = kd.load(rod, constraints=[tip])
    height = 0.5 * np.sin(1.1)
    with pytest.raises(kd.ArgumentError, match="Painlevé"):
        painleve.simulate(0.1, [0.0, -height, -1.1], [-3.0, 0.0, 0.0])


def test_a_block_that_slides_and_spins_stops_as_a_whole() -> None:
    box = kd.load(BOX, base="floating", constraints=FEET)
    motion = box.simulate(0.5, UPRIGHT, [1.0, 0.2, 0, 0, 0, 0.5], step=1e-3)
    assert motion.completed
    np.testing.assert_allclose(motion.u[-1], 0.0, atol=1e-12)
    assert all(motion.sticking(foot.name)[-1] for foot in FEET)
    assert motion.checks.relative_energy_error < 1e-6


def test_modes_that_disagree_with_their_forces_are_said(monkeypatch) -> None:
    """A block pushed beyond its friction, held as if it stuck: no round finds what agrees."""
    decide = Excursions._decide

    def stubborn(own: Excursions) -> None:
        decide(own)
        own.modes.grip[:] = STICKS
        own.modes.factors[:] = [limit.static for limit in own._named.limits]
        own.modes.write()

    monkeypatch.setattr(Excursions, "_decide", stubborn)
    block = kd.load(BOX, base="floating", constraints=FEET)
    push = {"box": np.array([30.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
    motion = block.simulate(0.01, UPRIGHT, np.zeros(6), wrenches=push, step=1e-3)
    said = {event.constraint for event in motion.events if event.kind == "undecided"}
    assert said
    assert said <= {"foot0", "foot1", "foot2", "foot3"}
    assert "agrees with forces" in motion.message
