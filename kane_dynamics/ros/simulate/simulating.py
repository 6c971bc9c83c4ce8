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
from kane_dynamics.ros.beside import Beside, snapshot
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.garbage import free, large_messages
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.late_answers import Answer, Conclude, LateActionServer, LateService
from kane_dynamics.ros.model import NO_MODEL, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.simulate.answers import fill_answer, state_of
from kane_dynamics.ros.simulate.inputs import CAUSE
from kane_dynamics.ros.simulate.requests import Situation, read_simulation
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
        Sends the answer.
    cancelled : callable
        Whether the client has cancelled it, or it has taken too long.
    tell : callable
        Told the progress of the model, and whether it is the last.
    if_stopped : str
        What is added to the message of a simulation that was cancelled.
    forget : bool
        Whether nobody needs the answer once it is sent.
    """

    request: Any
    answer: Any
    situation: Situation
    finish: Answer
    cancelled: Callable[[], bool]
    tell: Tell
    if_stopped: str
    forget: bool


class Simulating:
    """Serves `~/simulate` and `~/simulate_motion`.

    One simulation runs at a time. While it does, requests are refused and goals are rejected; it is
    not disturbed by them, nor by a new model of the robot.

    Parameters
    ----------
    node : Node
    beside : Beside
    parameters : Parameters
    faults : Faults
    states : JointStates
    """

    def __init__(
        self,
        node: Node,
        beside: Beside,
        parameters: Parameters,
        faults: Faults,
        states: JointStates,
    ) -> None:
        self._node, self._beside = node, beside
        self._parameters, self._faults, self._states = parameters, beside.faults(faults), states
        self._model: Model | None = None
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None
        self._elsewhere = SimulationProcess()
        LateService(beside, SimulateService, "~/simulate", self._called)
        self._action = LateActionServer(
            node,
            SimulateAction,
            "~/simulate_motion",
            self._welcome,
            self._accepted,
            beside=beside,
        )
        atexit.register(self._await_end)

    def use(self, model: Model) -> None:
        """Serve another model, from the next simulation on."""
        self._model = model

    # ------------------------------------------------------- beside, or else in the executor
    def _called(self, request: Any, answer: Answer) -> None:
        response = SimulateService.Response()
        if self._thread is not None:
            self._refuse(response, Fault(CAUSE, BUSY), answer)
        else:
            end = time.monotonic() + LONGEST_CALL
            late = TOO_LONG.format(LONGEST_CALL)
            self._begin(
                request, response, answer, lambda: time.monotonic() > end, _tell_nobody, late, True
            )

    def _welcome(self, goal: Any) -> bool:
        """Whether nothing is running; a goal that is wrong is accepted, to be told what is."""
        if self._thread is not None:
            self._faults.record(Fault(CAUSE, f"a goal was rejected: {BUSY}"))
        return self._thread is None

    def _accepted(self, handle: Any, conclude: Conclude) -> None:
        told = 0.0

        def tell(progress: Progress, model: Model, last: bool) -> None:
            nonlocal told
            if last or time.monotonic() - told >= FEEDBACK_PERIOD:
                told = time.monotonic()
                handle.publish_feedback(_feedback(progress, model))

        def finish(result: Any) -> None:
            conclude(result, result.success)

        result = SimulateAction.Result()
        self._begin(handle.request, result, finish, lambda: handle.is_cancel_requested, tell)

    def _begin(
        self,
        request: Any,
        answer: Any,
        finish: Answer,
        cancelled: Callable[[], bool],
        tell: Tell,
        if_stopped: str = "",
        forget: bool = False,
    ) -> None:
        with self._beside.swapping:
            model, states = self._model, snapshot(self._states)
        if model is None:
            fault = Fault(CAUSE, NO_MODEL)
            self._refuse(answer, fault, finish)
            return
        settings = self._parameters.values
        situation = Situation(model, settings, states.positions, states.velocities)
        job = Job(request, answer, situation, finish, cancelled, tell, if_stopped, forget)
        self._thread = threading.Thread(
            target=self._work, args=(job,), name="simulation", daemon=True
        )
        self._thread.start()

    def _refuse(self, answer: Any, fault: Fault, finish: Answer) -> None:
        self._faults.record(fault)
        answer.success, answer.message = False, fault.sentence
        finish(answer)

    # ------------------------------------------------------------------------ in the thread
    def _work(self, job: Job) -> None:
        fault = None
        with short_turns(), large_messages():
            try:
                self._simulate(job)
            except Fault as error:
                fault = Fault(CAUSE, str(error))
            except KaneDynamicsError as error:
                fault = Fault(CAUSE, job.situation.model.outside.said(str(error)))
            except Exception as error:  # whatever a request provokes, the node goes on
                fault = Fault("internal error", f"{type(error).__name__}: {error}")
            self._end(job, fault)

    def _end(self, job: Job, fault: Fault | None) -> None:
        context = self._node.context
        self._ending, self._thread = self._thread, None  # whoever has the answer may ask again
        try:
            if not context.ok():
                return
            if fault is None:
                job.finish(job.answer)
            else:
                self._refuse(job.answer, fault, job.finish)
            if job.forget:
                free(job.answer)
        except Exception as error:
            if context.ok():  # else it comes of the shutdown
                sentence = f"{type(error).__name__}: {error}"
                self._faults.record(Fault("internal error", sentence))

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
        for thread in (self._thread, self._ending):
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
