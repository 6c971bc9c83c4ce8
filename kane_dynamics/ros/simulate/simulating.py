"""Simulations for the service and the action, one at a time, beside the executor."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.faults import Fault, unforeseen
from kane_dynamics.ros.middleware.interpreter import free, large_messages, short_waits
from kane_dynamics.ros.middleware.late_answers import (
    Answer,
    Conclude,
    LateActionServer,
    LateService,
)
from kane_dynamics.ros.middleware.realtime import ThreadBeside
from kane_dynamics.ros.robot.model import NO_MODEL, Model
from kane_dynamics.ros.simulate.answers import fill_answer, state_of
from kane_dynamics.ros.simulate.inputs import CAUSE
from kane_dynamics.ros.simulate.requests import request_for
from kane_dynamics.simulation.process import SimulationProcess
from kane_dynamics.simulation.request import Request
from kane_dynamics.simulation.watch import Progress
from kane_dynamics_interfaces.action import Simulate as SimulateAction
from kane_dynamics_interfaces.srv import Simulate as SimulateService

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

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
Asked = Callable[[], Request]


@dataclass(frozen=True, eq=False)
class Job:
    """One simulation.

    Attributes
    ----------
    request, answer : message
        What is asked for, and what is filled in.
    finish : callable
        Sends the answer.
    cancelled : callable
        Whether the client has cancelled it, or it has taken too long.
    tell : callable, optional
        Told the progress of the model, and whether it is the last. Nobody is told, or needs the
        answer once it is sent, where the service was called.
    """

    request: Any
    answer: Any
    finish: Answer
    cancelled: Callable[[], bool]
    tell: Tell | None = None


class Simulating:
    """Serves `~/simulate` and `~/simulate_motion`.

    One simulation runs at a time. While it does, requests are refused and goals are rejected; it is
    not disturbed by them, nor by a new model of the robot.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self._node, self._faults = node, node.faults
        self._thread = ThreadBeside("simulation")
        self._running: threading.Event | None = None
        self._ending: threading.Event | None = None
        self._elsewhere = SimulationProcess()
        LateService(node.beside, SimulateService, "~/simulate", self._called)
        self._action = LateActionServer(
            node,
            SimulateAction,
            "~/simulate_motion",
            self._welcome,
            self._accepted,
            beside=node.beside,
        )
        atexit.register(self._await_end)

    # ------------------------------------------------------- beside, or else in the executor
    def _called(self, request: Any, answer: Answer) -> None:
        response, end = SimulateService.Response(), time.monotonic() + LONGEST_CALL
        if self._running is not None:
            self._refuse(response, Fault(CAUSE, BUSY), answer)
        else:
            self._begin(Job(request, response, answer, lambda: time.monotonic() > end))

    def _welcome(self, goal: Any) -> bool:
        """Whether nothing is running; a goal that is wrong is accepted, to be told what is."""
        if self._running is not None:
            self._faults.record(Fault(CAUSE, f"a goal was rejected: {BUSY}"))
        return self._running is None

    def _accepted(self, handle: Any, conclude: Conclude) -> None:
        told = 0.0

        def tell(progress: Progress, model: Model, last: bool) -> None:
            nonlocal told
            if last or time.monotonic() - told >= FEEDBACK_PERIOD:
                told = time.monotonic()
                handle.publish_feedback(
                    SimulateAction.Feedback(
                        progress=progress.share, time=progress.t, state=state_of(progress, model)
                    )
                )

        def finish(result: Any) -> None:
            conclude(result, result.success)

        def cancelled() -> bool:
            return bool(handle.is_cancel_requested)

        self._begin(Job(handle.request, SimulateAction.Result(), finish, cancelled, tell))

    def _begin(self, job: Job) -> None:
        node = self._node
        with node.beside.swapping:
            model, states = node.model, node.states.snapshot()
        if model is None:
            self._refuse(job.answer, Fault(CAUSE, NO_MODEL), job.finish)
            return
        asked = partial(request_for, job.request, model, node.parameters.values, states)
        self._running = threading.Event()
        self._thread.begin(partial(self._work, job, model, asked), self._running)

    def _refuse(self, answer: Any, fault: Fault, finish: Answer) -> None:
        self._faults.record(fault)
        answer.success, answer.message = False, fault.sentence
        finish(answer)

    # ------------------------------------------------------------------------ in the thread
    def _work(self, job: Job, model: Model, asked: Asked) -> None:
        fault = None
        with short_waits():
            try:
                self._simulate(job, model, asked)
            except Fault as error:
                fault = Fault(CAUSE, str(error))
            except KaneDynamicsError as error:
                fault = Fault(CAUSE, model.outside.said(str(error)))
            except Exception as error:  # whatever a request provokes, the node goes on
                fault = unforeseen(error)
            with large_messages():
                self._end(job, fault)

    def _end(self, job: Job, fault: Fault | None) -> None:
        context = self._node.context
        self._ending, self._running = self._running, None  # whoever has the answer may ask again
        try:
            if not context.ok():
                return
            if fault is None:
                job.finish(job.answer)
            else:
                self._refuse(job.answer, fault, job.finish)
            if job.tell is None:
                free(job.answer)
        except Exception as error:
            if context.ok():  # else it comes of the shutdown
                self._faults.record(unforeseen(error))

    def _simulate(self, job: Job, model: Model, asked: Asked) -> None:
        context, request = self._node.context, asked()

        def tell(progress: Progress, last: bool = False) -> None:
            if job.tell is not None and context.ok():
                job.tell(progress, model, last)

        def stopped() -> bool:
            return not context.ok() or job.cancelled()

        motion = self._elsewhere.simulate(model.dynamics, tell, stopped, **vars(request))
        if context.ok():
            t, q, u, tau = (values[-1] for values in (motion.t, motion.q, motion.u, motion.tau))
            tell(Progress(float(t / request.duration), float(t), q, u, tau), last=True)
            with large_messages():
                fill_answer(job.answer, motion, model)
            if not motion.completed and job.tell is None and job.cancelled():
                job.answer.message += TOO_LONG.format(LONGEST_CALL)

    def _await_end(self) -> None:
        """Let a simulation see that the node has ended, before Python does."""
        for end in (self._running, self._ending):
            if end is not None:
                end.wait(LAST_MOMENT)
        self._elsewhere.close()
