"""Robot descriptions from the parameter or the topic into models, derived beside the node."""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from rclpy.exceptions import InvalidHandle
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.cdr import Malformed, read_string
from kane_dynamics.ros.middleware.interpreter import settle, short_waits
from kane_dynamics.ros.middleware.realtime import beside_the_executor
from kane_dynamics.ros.middleware.topics import subscribe
from kane_dynamics.ros.robot.derivation import DerivationProcess, Overtaken
from kane_dynamics.ros.robot.derived_before import remembered
from kane_dynamics.ros.robot.model import Model, load_model

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)

CAUSE = "robot_description"


class Derived(NamedTuple):
    """What became of a description: a model, or the sentence that says why there is none."""

    description: str
    model: Model | None
    sentence: str
    seconds: float


class Descriptions:
    """Derives a model for each new description; the newest one counts.

    They are derived in a process of their own, which ends when a newer one comes: what serves until
    then goes on serving, and nothing holds it up. Only when nothing serves, and all is in the
    cache, is it loaded here at once. Models are handed over to the node in the executor, through a
    guard condition.

    Attributes
    ----------
    activity : str
        What is being done, for the diagnostics.
    sentence : str
        Why the newest description gave no model; empty if it did.
    topic : str
        On which descriptions come.
    silent : dict from str to float
        Positions of joints, as the URDF calls them, that `lock` has locked.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self._node, self._parameters, self._faults = node, node.parameters, node.faults
        self.topic = node.resolve_topic_name("robot_description")
        self.activity = f"waiting for a description on the topic {self.topic}"
        self.silent: dict[str, float] = {}
        self.sentence = self._newest = self._on_topic = self._serving = ""
        self._wanted: str | None = None
        self._deriving = False
        self._elsewhere = DerivationProcess()
        self._ready: list[Derived] = []
        self._lock = threading.Condition()
        self._handover = node.create_guard_condition(self._hand_over)
        threading.Thread(target=self._work, name="derivation", daemon=True).start()
        atexit.register(self._end)
        subscribe(node, String, "robot_description", self._receive, LATCHED)
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
        if description != self._newest:
            self.silent = {}
        self._newest, self.sentence = description, ""
        if description == self._serving:
            self.activity = ""
            self._want(None)
            self._node.report()
            return
        self._begin(description)

    def lock(self, joints: dict[str, float]) -> None:
        """Derive the newest description anew, with more joints locked at some positions."""
        self.silent = {**self.silent, **joints}
        self._serving = ""
        self._begin(self._newest)

    @property
    def waiting(self) -> bool:
        """Whether there was no description yet."""
        return not self._newest

    def _begin(self, description: str) -> None:
        self.activity = "deriving the equations of a new description"
        self._node.report()
        self._want(description)

    def _want(self, description: str | None) -> None:
        """Give up what is being derived, and derive this one instead, if any."""
        with self._lock:
            self._wanted = description
            if self._deriving:
                self._elsewhere.overtake()
            self._lock.notify()

    def _receive(self, data: bytes) -> None:
        try:
            description = read_string(data)
        except Malformed as error:
            self._faults.record(Fault(CAUSE, str(error)))
            return
        if description.strip():
            self._on_topic = description
        if self._parameters.values.robot_description:
            self._node.get_logger().info(
                "A description on the topic robot_description is not used, because the parameter "
                "robot_description holds one.",
                once=True,
            )
        elif not description.strip():
            self._faults.record(Fault(CAUSE, "the description is empty, expected a URDF"))
        else:
            self._derive(description)

    # ------------------------------------------------------------------------ in the thread
    def _work(self) -> None:
        while True:
            with self._lock:
                self._deriving = False
                self._lock.wait_for(lambda: self._wanted is not None)
                description, self._wanted = str(self._wanted), None
                self._deriving = True
                self._elsewhere.begin()
            try:
                derived = self._derived(description)
            except Overtaken:
                continue
            with self._lock:
                self._ready.append(derived)
            try:
                self._handover.trigger()
            except InvalidHandle:
                return  # the node is no more

    def _derived(self, description: str) -> Derived:
        began = time.monotonic()
        model, sentence = None, ""
        try:
            with short_waits():
                model = self._model(description)
        except KaneDynamicsError as error:
            sentence = str(error)
        except Overtaken:
            raise
        except Exception as error:  # whatever a description provokes, the thread goes on
            sentence = f"the description could not be used: {type(error).__name__}: {error}"
        return Derived(description, model, sentence, time.monotonic() - began)

    def _model(self, description: str) -> Model:
        settings = self._parameters.values
        if self._serving:
            with beside_the_executor():
                return self._elsewhere.model(description, settings, self.silent)
        # nothing serves that would be held up
        operations = remembered(description, settings, self.silent)
        if operations is None:
            model = self._elsewhere.model(description, settings, self.silent)
        else:
            model = load_model(description, settings, self.silent, operations)
        with beside_the_executor():
            settle()
        return model

    def _end(self) -> None:
        """Leave no process behind."""
        self._elsewhere.overtake()
        self._elsewhere.close()

    # ---------------------------------------------------------------------- in the executor
    def _hand_over(self) -> None:
        with self._lock:
            ready, self._ready = self._ready, []
        for derived in ready:
            self._take(derived)

    def _take(self, derived: Derived) -> None:
        if derived.model is None:
            self._faults.record(Fault(CAUSE, derived.sentence))
        if derived.description != self._newest:
            return  # a newer one is on its way
        self.activity = ""
        self.sentence = derived.sentence
        if derived.model is not None and derived.description != self._serving:
            name, dof = derived.model.dynamics.robot.name, derived.model.dynamics.dof
            self._node.get_logger().info(
                f"Serving {name} with {dof} speeds; derived in {derived.seconds:.1f} s."
            )
            self._serving = derived.description
            self._node.serve(derived.model)
        self._node.report()
