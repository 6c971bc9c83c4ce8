"""Robot descriptions from the parameter or the topic into models, derived beside the executor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.model import Model, load_model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.turns import short_turns

LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)

CAUSE = "robot_description"


@dataclass(frozen=True)
class Outcome:
    """What became of a description: a model, or the sentence that says why there is none."""

    description: str
    model: Model | None
    sentence: str
    seconds: float


class Description:
    """Derives a model for each new description; the newest one counts.

    A thread derives; its outcome is handed over in the executor, through a guard condition. What
    serves until then goes on serving.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    faults : Faults
    ready : callable
        Takes a new model, in the executor.
    changed : callable
        Told, in the executor, that `activity` or `sentence` changed.

    Attributes
    ----------
    activity : str
        What is being done, for the diagnostics.
    sentence : str
        Why the newest description gave no model; empty if it did.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        faults: Faults,
        ready: Callable[[Model], None],
        changed: Callable[[], None],
    ) -> None:
        self._logger = node.get_logger()
        self._parameters = parameters
        self._faults = faults
        self._ready, self._changed = ready, changed
        self.activity = "waiting for a description on the topic robot_description"
        self.sentence = ""
        self._newest = ""
        self._on_topic = ""
        self._serving = ""
        self._wanted: str | None = None
        self._outcomes: list[Outcome] = []
        self._lock = threading.Condition()
        self._handover = node.create_guard_condition(self._hand_over)
        threading.Thread(target=self._work, name="derivation", daemon=True).start()
        node.create_subscription(String, "robot_description", self._receive, LATCHED)
        self.parameter_changed()

    def parameter_changed(self) -> None:
        """Take the description of the parameter, or of the topic if that is empty."""
        description = self._parameters.values.robot_description or self._on_topic
        if description:
            self._derive(description)

    def _derive(self, description: str) -> None:
        """Derive a model, unless that of this description serves, or is on its way."""
        if description == self._newest and not self.sentence:
            return
        self._newest, self.sentence = description, ""
        if description == self._serving:
            self.activity = ""
            self._changed()
            return
        self.activity = "deriving the equations of a new description"
        self._changed()
        with self._lock:
            self._wanted = description
            self._lock.notify()

    def _receive(self, message: String) -> None:
        if message.data.strip():
            self._on_topic = message.data
        if self._parameters.values.robot_description:
            self._logger.info(
                "A description on the topic robot_description is not used, because the parameter "
                "robot_description holds one.",
                once=True,
            )
        elif not message.data.strip():
            self._faults.record(Fault(CAUSE, "the description is empty, expected a URDF"))
        else:
            self._derive(message.data)

    # ------------------------------------------------------------------------ in the thread
    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._wanted is not None)
                description, self._wanted = str(self._wanted), None
            outcome = self._outcome(description)
            with self._lock:
                self._outcomes.append(outcome)
            try:
                self._handover.trigger()
            except InvalidHandle:
                return  # the node is no more

    def _outcome(self, description: str) -> Outcome:
        began = time.monotonic()
        model, sentence = None, ""
        try:
            with short_turns():
                model = load_model(description, self._parameters.values)
        except KaneDynamicsError as error:
            sentence = str(error)
        except Exception as error:  # whatever a description provokes, the thread goes on
            sentence = f"the description could not be used: {type(error).__name__}: {error}"
        return Outcome(description, model, sentence, time.monotonic() - began)

    # ---------------------------------------------------------------------- in the executor
    def _hand_over(self) -> None:
        with self._lock:
            outcomes, self._outcomes = self._outcomes, []
        for outcome in outcomes:
            self._take(outcome)

    def _take(self, outcome: Outcome) -> None:
        if outcome.model is None:
            self._faults.record(Fault(CAUSE, outcome.sentence))
        if outcome.description != self._newest:
            return  # a newer one is on its way
        self.activity = ""
        self.sentence = outcome.sentence
        if outcome.model is not None and outcome.description != self._serving:
            name, dof = outcome.model.dynamics.robot.name, outcome.model.dynamics.dof
            self._logger.info(
                f"Serving {name} with {dof} speeds; derived in {outcome.seconds:.1f} s."
            )
            self._serving = outcome.description
            self._ready(outcome.model)
        self._changed()
