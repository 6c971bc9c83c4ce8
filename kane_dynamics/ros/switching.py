"""Constraints that hold from now on, or no longer: the service ~/set_constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.robot.model import NO_MODEL
from kane_dynamics.ros.robot.names import repeated
from kane_dynamics_interfaces.srv import SetConstraints

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

CAUSE = "constraints"
SWITCHED = "the constraints that hold have changed"
COMMANDED = "effort commands are on: switch them off first, for they obey other constraints"


class Switching:
    """Serves `~/set_constraints`.

    Models stay as they are: who computes with one goes on with the constraints that held, and
    whoever asks for it next is given another one, which shares all that is compiled.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self._node = node
        node.create_service(SetConstraints, "~/set_constraints", self._answer)

    def _answer(
        self, request: SetConstraints.Request, response: SetConstraints.Response
    ) -> SetConstraints.Response:
        try:
            self._switch(list(request.names), list(request.active))
            response.success = True
        except (Fault, KaneDynamicsError) as error:
            self._node.faults.record(Fault(CAUSE, str(error)))
            response.message = str(error)
        model = self._node.model
        response.active_names = [] if model is None else list(model.active)
        return response

    def _switch(self, names: list[str], active: list[bool]) -> None:
        node = self._node
        if node.model is None:
            raise Fault(CAUSE, NO_MODEL)
        if len(names) != len(active):
            raise Fault(CAUSE, f"there are {len(names)} names and {len(active)} entries of active")
        twice = repeated(names)
        if twice is not None:
            raise Fault(CAUSE, f"constraint {twice!r} is named twice")
        if not names:
            return
        if node.commands.enabled:
            raise Fault(CAUSE, COMMANDED)
        if any(active):
            node.states.check_complete()
        model = node.model.switched(dict(zip(names, active)), node.states.positions)
        if model.active == node.model.active:
            return
        node.serve(model)
        node.following.drop(SWITCHED)
        node.report()
