"""Simulations for the service and the action, one at a time, beside the executor."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.late_answers import Answer, LateActionServer, LateService
from kane_dynamics.ros.model import NO_MODEL, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.simulation_answers import fill_answer, state_of
from kane_dynamics.ros.simulation_inputs import CAUSE
from kane_dynamics.ros.simulation_requests import Situation, read_simulation
from kane_dynamics.ros.turns import short_turns
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.process import SimulationProcess
from kane_dynamics.simulation.watch import Progress
from kane_dynamics_interfaces.action import Simulate as SimulateAction
from kane_dynamics_interfaces.srv import Simulate as SimulateService

FEEDBACK_PERIOD = 0.1
"""Seconds between two feedbacks."""

LAST_MOMENT = 0.5
"""Seconds that a simulation has to stop in when the process ends."""

LONGEST_CALL = 60.0
"""Seconds that a simulation for the service may compute for: nobody can cancel it."""

TOO_LONG = (
    "; a call may compute for {:g} s: ask for less, or for the action ~/simulate_motion, which may "
    "take as long as it needs"
)
BUSY = "a simulation is running, and one runs at a time: wait for its end, or cancel it if you can"


Tell = Callable[[Progress, Model, bool], None]


@dataclass(frozen=True, eq=False)
class Job:
    """One simulation.

    Attributes
    ----------
    request, answer : message
        What is asked for, and what is filled in.
    situation : Situation
    finish : callable
        Sends the answer, in the executor.
    cancelled : callable
        Whether the client has cancelled it, or it has taken too long.
    tell : callable
        Told the progress of the model, and whether it is the last.
    if_stopped : str
        What is added to the message of a simulation that was cancelled.
    """

    request: Any
    answer: Any
    situation: Situation
    finish: Answer
    cancelled: Callable[[], bool]
    tell: Tell
    if_stopped: str


class Simulating:
    """Serves `~/simulate` and `~/simulate_motion`.

    One simulation runs at a time. While it does, requests are refused and goals are rejected; it is
    not disturbed by them, nor by a new model of the robot.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    faults : Faults
    states : JointStates
    """

    def __init__(
        self, node: Node, parameters: Parameters, faults: Faults, states: JointStates
    ) -> None:
        self._node = node
        self._parameters, self._faults, self._states = parameters, faults, states
        self._model: Model | None = None
        self._thread: threading.Thread | None = None
        self._elsewhere = SimulationProcess()
        LateService(node, SimulateService, "~/simulate", self._called)
        self._action = LateActionServer(
            node, SimulateAction, "~/simulate_motion", self._welcome, self._accepted
        )
        atexit.register(self._await_end)

    def use(self, model: Model) -> None:
        """Serve another model, from the next simulation on."""
        self._model = model

    # ---------------------------------------------------------------------- in the executor
    def _called(self, request: Any, answer: Answer) -> None:
        response = SimulateService.Response()
        if self._thread is not None:
            self._refuse(response, Fault(CAUSE, BUSY), answer)
        else:
            end = time.monotonic() + LONGEST_CALL
            late = TOO_LONG.format(LONGEST_CALL)
            self._begin(
                request, response, answer, lambda: time.monotonic() > end, _tell_nobody, late
            )

    def _welcome(self, goal: Any) -> bool:
        """Whether nothing is running; a goal that is wrong is accepted, to be told what is."""
        if self._thread is not None:
            self._faults.record(Fault(CAUSE, f"a goal was rejected: {BUSY}"))
        return self._thread is None

    def _accepted(self, handle: Any, conclude: Answer) -> None:
        told = 0.0

        def tell(progress: Progress, model: Model, last: bool) -> None:
            nonlocal told
            if last or time.monotonic() - told >= FEEDBACK_PERIOD:
                told = time.monotonic()
                handle.publish_feedback(_feedback(progress, model))

        result = SimulateAction.Result()
        self._begin(handle.request, result, conclude, lambda: handle.is_cancel_requested, tell)

    def _begin(
        self,
        request: Any,
        answer: Any,
        finish: Answer,
        cancelled: Callable[[], bool],
        tell: Tell,
        if_stopped: str = "",
    ) -> None:
        if self._model is None:
            fault = Fault(CAUSE, NO_MODEL)
            self._refuse(answer, fault, finish)
            return
        states = self._states
        situation = Situation(
            self._model,
            self._parameters.values,
            states.positions.copy(),
            states.velocities.copy(),
        )
        job = Job(request, answer, situation, finish, cancelled, tell, if_stopped)
        self._thread = threading.Thread(
            target=self._work, args=(job,), name="simulation", daemon=True
        )
        self._thread.start()

    def _end(self, job: Job, fault: Fault | None) -> None:
        self._thread = None
        if fault is None:
            job.finish(job.answer)
        else:
            self._refuse(job.answer, fault, job.finish)

    def _refuse(self, answer: Any, fault: Fault, finish: Answer) -> None:
        self._faults.record(fault)
        answer.success, answer.message = False, fault.sentence
        finish(answer)

    # ------------------------------------------------------------------------ in the thread
    def _work(self, job: Job) -> None:
        fault = None
        try:
            with short_turns():
                self._simulate(job)
        except (Fault, KaneDynamicsError) as error:
            fault = Fault(CAUSE, str(error))
        except Exception as error:  # whatever a request provokes, the node goes on
            fault = Fault("internal error", f"{type(error).__name__}: {error}")
        executor = self._node.executor
        if self._node.context.ok() and executor is not None:
            executor.create_task(self._end, job, fault)

    def _simulate(self, job: Job) -> None:
        context, model = self._node.context, job.situation.model
        simulation = read_simulation(job.request, job.situation)

        def tell(progress: Progress, last: bool = False) -> None:
            if context.ok():
                job.tell(progress, model, last)

        def stopped() -> bool:
            return not context.ok() or job.cancelled()

        motion = simulation.run(self._elsewhere, tell, stopped)
        if context.ok():
            tell(_last(motion, simulation.duration), last=True)
            fill_answer(job.answer, motion, model)
            if not motion.completed and job.cancelled():
                job.answer.message += job.if_stopped

    def _await_end(self) -> None:
        """Let a simulation see that the node has ended, before Python does."""
        thread = self._thread
        if thread is not None:
            thread.join(LAST_MOMENT)
        self._elsewhere.close()


def _tell_nobody(_progress: Progress, _model: Model, _last: bool) -> None:
    pass


def _last(motion: Motion, duration: float) -> Progress:
    """Where a motion has come to."""
    t, q, u, tau = (values[-1] for values in (motion.t, motion.q, motion.u, motion.tau))
    return Progress(float(t / duration), float(t), q, u, tau)


def _feedback(progress: Progress, model: Model) -> SimulateAction.Feedback:
    return SimulateAction.Feedback(
        progress=progress.share, time=progress.t, state=state_of(progress, model)
    )
