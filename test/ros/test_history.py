"""A history of random requests with a nemesis, and the checker that judges it by its messages.

scripts/history makes one as long as is wanted.
"""

import logging
import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from history import AT_START, HOME, ROBOT, Making
from history_checker import check, pauses
from history_messages import MS, SECOND, Enabling, Goal, History, Life, Motion, Setting, Told
from robot_graph import Graph, arm_of

from kane_dynamics.simulation.trajectory import trajectory_through

COUNT = int(os.environ.get("HISTORY_OPERATIONS", "100"))
SECONDS = float(os.environ.get("HISTORY_SECONDS", "inf"))
SEED = int(os.environ.get("HISTORY_SEED", "1983"))
FEW = 5e-4
"""Share of commands that may stay unexplained: a long history had left 5 of 90788.

All while a plan was being joined, of which no message tells how: one came 15 ms after the joint
state, and four changed as fast as they may towards what the checker had not found.
"""

LOG = logging.getLogger(__name__)
ARM = arm_of(ROBOT.urdf)


@pytest.mark.real_time
def test_no_command_of_a_history_with_a_nemesis_is_wrong(graph: Graph, tmp_path: Path) -> None:
    place = tmp_path / "history"
    place.mkdir()
    history = Making(graph, place, SEED).make(COUNT, SECONDS)
    if "HISTORY_FILE" in os.environ:
        history.write(Path(os.environ["HISTORY_FILE"]))
    verdict = check(history, ARM)
    LOG.info("operations: %s", history.done)
    statuses = [status for goal in history.goals for _, status, _, _ in goal.results]
    LOG.info("goals: %d, succeeded: %d", len(history.goals), statuses.count(4))
    LOG.info("commands: %d, explained by: %s", len(history.commands), verdict.explained)
    lost = np.diff(history.command_number)
    LOG.info("commands that were not heard: %d", int((lost[lost > 0] - 1).sum()))
    LOG.info("pauses: %d, the longest %.3f s", len(pauses(history)), max(pauses(history)))
    certain = [each for each in verdict.violations if each.rule != "explained"]
    assert not certain, "\n".join(map(str, certain[:20]))
    unexplained = [each for each in verdict.violations if each.rule == "explained"]
    LOG.info("not explained: %d", len(unexplained))
    most = FEW * len(history.commands)
    assert len(unexplained) <= most, "\n".join(map(str, unexplained[:20]))
    for state in ("floating", "holding", "following", "braking"):
        assert verdict.explained[state] > 0


# ------------------------------------------------------------------------- what it must notice
STEP = 2 * MS
LATER = MS // 2  # a command is sent after its state
FOLLOWING, HELD = 500, 1000  # the first commands of each


def good_history() -> History:
    """The arm is led by hand for 1 s, moves along a goal for 1 s, and is held for 1 s."""
    begin, count = 10**18, 1500
    sent = begin + STEP * np.arange(1, count + 1)
    seconds = (sent - begin) / SECOND
    led = HOME + 0.3 * np.sin(seconds)[:, None]
    moving = 0.3 * np.cos(seconds)[:, None] + np.zeros(6)
    reference = int(sent[FOLLOWING])
    motion = Motion(
        int(reference - 20 * MS),
        references=[reference],
        times=np.array([0.0, 1.0]),
        positions=np.array([led[500], led[500] + 0.6]),
        velocities=np.array([moving[500], np.zeros(6)]),
        accelerations=np.zeros((2, 6)),
    )
    course = trajectory_through(
        motion.times, motion.positions, motion.velocities, motion.accelerations
    )
    now = course.sample((sent - reference) / SECOND)
    after = course.sample((sent + LATER - reference) / SECOND)
    ahead = course.sample((sent + LATER + STEP - reference) / SECOND)
    first = FOLLOWING
    q = np.vstack((led[:first], now.positions[first:]))
    v = np.vstack((moving[:first], now.velocities[first:]))
    free = ARM.inverse_dynamics(q, 0.0 * v, -3.0 * v)
    feedback = 400.0 * (after.positions - q) + 40.0 * (after.velocities - v)
    driven = ARM.inverse_dynamics(q, v, ahead.accelerations + feedback)
    commands = np.vstack((free[:first], driven[first:]))
    # on the way from one to the other no faster than allowed
    rates = np.array(AT_START["effort_rate"])
    for k in range(1, count):
        most = rates * STEP / SECOND
        commands[k] = np.clip(commands[k], commands[k - 1] - most, commands[k - 1] + most)
    told = [
        Told(begin + 1, "floating", "", "floating"),
        Told(int(sent[FOLLOWING]) + LATER - 1000, "following", "", "following"),
        Told(int(sent[HELD]) + LATER - 1000, "holding", "", "holding"),
    ]
    end = int(sent[-1]) + SECOND
    goal = Goal(motion.asked, True, motion.positions[-1], True)
    goal.results.append((int(sent[HELD]) + 50 * MS, GoalStatus.STATUS_SUCCEEDED, 0, ""))
    return History(
        sent,
        sent.copy(),
        q,
        v,
        sent + LATER,
        np.arange(count),
        commands,
        told,
        [Setting(begin, begin, True, dict(AT_START))],
        [Enabling(begin - SECOND, begin - SECOND, True)],
        [motion],
        [goal],
        [Life(begin - 2 * SECOND, end, False)],
    )


GOOD = good_history()
GOOD.settings[0] = Setting(GOOD.lives[0].begin, GOOD.lives[0].begin, True, dict(AT_START))


def test_nothing_is_wrong_with_a_good_history() -> None:
    verdict = check(GOOD, ARM)
    assert not verdict.violations, verdict.violations[:5]
    assert verdict.explained.keys() == {"floating", "following", "holding"}


def not_a_number(history: History) -> None:
    history.commands[250, 3] = np.nan


def over_the_limit(history: History) -> None:
    history.commands[250, 3] = 28.5


def jump(history: History) -> None:
    history.commands[700:, 1] += 40.0


def jump_within_the_noise_of_feedback(history: History) -> None:
    history.commands[1250, 0] += 32.0


def stale_while_floating(history: History) -> None:
    """As after a process was stopped: commands for places that the arm has left."""
    history.commands[300:420] = GOOD.commands[150:270]


def stale_while_held(history: History) -> None:
    """The arm is pushed, and the commands do not know."""
    history.positions[1200:, 2] += 0.01


def frozen(history: History) -> None:
    history.commands[100:300] = GOOD.commands[100]


def old_by_its_stamp(history: History) -> None:
    """States keep coming, but their stamps say that they are old."""
    history.state_time[200:400] -= 300 * MS


def late_along_the_plan(history: History) -> None:
    history.commands[700:900] = GOOD.commands[660:860]


def command_after_closing(history: History) -> None:
    history.told.append(Told(int(history.command_sent[1400]) + 1000, "closed", "", "nothing"))


def command_after_a_trip_that_ended_them(history: History) -> None:
    history.told.append(Told(int(history.command_sent[1400]) + 1000, "tripped", "?", "nothing"))


def motion_after_a_trip(history: History) -> None:
    history.told.insert(1, Told(int(history.command_sent[450]), "tripped", "?", "floating"))


def motion_torque_left_behind(history: History) -> None:
    history.told[-1] = Told(int(history.command_sent[600]) + 1000, "closed", "", "nothing")
    history.command_sent, history.command_number = GOOD.command_sent[:601], np.arange(601)
    history.commands = GOOD.commands[:601].copy()
    history.commands[600] = GOOD.commands[599] + 5.0


def no_result(history: History) -> None:
    history.goals[0].results.clear()


def two_results(history: History) -> None:
    history.goals[0].results *= 2


def two_ends(history: History) -> None:
    history.statuses += [(1, b"goal", GoalStatus.STATUS_ABORTED)]
    history.statuses += [(2, b"goal", GoalStatus.STATUS_SUCCEEDED)]


def success_elsewhere(history: History) -> None:
    history.goals[0].last = history.goals[0].last + 0.1


def success_of_what_cannot_be(history: History) -> None:
    history.goals[0].sound = False


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (not_a_number, "finite"),
        (over_the_limit, "limit"),
        (jump, "step"),
        (jump, "explained"),
        (jump_within_the_noise_of_feedback, "step"),
        (stale_while_floating, "explained"),
        (stale_while_held, "explained"),
        (frozen, "explained"),
        (old_by_its_stamp, "explained"),
        (late_along_the_plan, "explained"),
        (command_after_closing, "silence"),
        (command_after_a_trip_that_ended_them, "silence"),
        (motion_after_a_trip, "trip"),
        (motion_torque_left_behind, "left behind"),
        (no_result, "results"),
        (two_results, "results"),
        (two_ends, "results"),
        (success_elsewhere, "success"),
        (success_of_what_cannot_be, "success"),
    ],
)
def test_the_checker_notices(spoil: Callable[[History], None], rule: str) -> None:
    history = deepcopy(GOOD)
    spoil(history)
    assert rule in check(history, ARM).rules


def test_being_enabled_again_explains_a_motion_after_a_trip() -> None:
    history = deepcopy(GOOD)
    motion_after_a_trip(history)
    asked = int(history.command_sent[460])
    history.enablings.append(Enabling(asked, asked + MS, True))
    assert not check(history, ARM).violations


def test_a_command_that_was_computed_before_its_process_was_stopped_is_explained() -> None:
    history = deepcopy(GOOD)
    kept = np.r_[:251, 451:1500]
    for name in ("command_sent", "commands"):
        setattr(history, name, getattr(history, name)[kept])
    history.command_number = np.arange(len(kept))
    history.command_sent[250] = GOOD.command_sent[450]
    assert not check(history, ARM).violations
