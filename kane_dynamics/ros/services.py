"""Services: torques for a trajectory, and the equations of motion at a state."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.arrays import message_array
from kane_dynamics.ros.messages.stamps import stamp_of
from kane_dynamics.ros.robot.limits import beyond_limits, within_limits
from kane_dynamics.ros.robot.model import NO_MODEL, Model
from kane_dynamics.ros.simulate.inputs import wrenches_asked_for
from kane_dynamics.ros.states.requested_states import (
    base_coordinates,
    base_speeds,
    is_current,
    joint_state_asked_for,
    link_asked_for,
    pose_message,
)
from kane_dynamics.ros.trajectories.points import Points, fill_points, read_points
from kane_dynamics.simulation.trajectory import Sample
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

CAUSE = "services"


class Services:
    """Serves `~/inverse_dynamics` and `~/get_dynamics`."""

    def __init__(self, node: DynamicsNode) -> None:
        self._node = node
        for kind, name, serve in (
            (InverseDynamics, "~/inverse_dynamics", self._torques),
            (GetDynamics, "~/get_dynamics", self._equations),
        ):
            node.beside.create_service(kind, name, partial(self._answer, serve))

    def _answer(self, serve: Any, request: Any, response: Any) -> Any:
        """The response with what was asked for, or with what was wrong."""
        with self._node.beside.swapping:
            model, self._states = self._node.model, self._node.states.snapshot()
        try:
            if model is None:
                raise Fault(CAUSE, NO_MODEL)
            serve(model, request, response)
            response.success = True
        except (Fault, KaneDynamicsError) as error:
            self._node.faults.record(Fault(CAUSE, str(error)))
            response.success, response.message = False, str(error)
        return response

    # ------------------------------------------------------------------------ inverse dynamics
    def _torques(
        self, model: Model, request: InverseDynamics.Request, response: InverseDynamics.Response
    ) -> None:
        trajectory, settings = request.trajectory, self._node.parameters.values
        if not trajectory.joint_names:
            trajectory.joint_names = list(model.joint_names)
        points = read_points(trajectory, model, settings.max_trajectory_points)
        part, origins = _filled(points)
        held, times = self._held(model, points.joints), points.times
        state = model.completed(part, points.joints, held, times if times.any() else None)
        wanted = model.efforts(*state) - self._pushed(model, request, points, state)
        efforts = within_limits(wanted, model, settings.limits, self._node.faults)
        some = [x[:, points.joints] for x in (state.velocities, state.accelerations, efforts)]
        fill_points(trajectory.points, *some)
        response.trajectory = trajectory
        response.velocities_from, response.accelerations_from = origins
        response.message = beyond_limits(wanted, model)

    def _pushed(
        self, model: Model, request: InverseDynamics.Request, points: Points, state: Sample
    ) -> Array | float:
        """Efforts (N, n) at the joints of the wrenches that act during the motion."""
        most = self._node.parameters.values.max_trajectory_points
        histories = wrenches_asked_for(request.external_wrenches, model, most)
        if not histories:
            return 0.0
        wrenches = {link: history.at(points.times) for link, history in histories.items()}
        q = model.coordinates(state.positions)
        forces: Array = model.dynamics.wrench_forces(q, wrenches)
        return forces[:, -len(model.joint_names) :]

    def _held(self, model: Model, named: Any) -> Array:
        """Positions at which joints that are not named rest."""
        held: Array = self._states.positions.copy()
        held[named] = 0.0
        unknown = np.flatnonzero(np.isnan(held))
        if len(unknown):
            raise Fault(
                CAUSE,
                f"joint {model.joint_names[unknown[0]]!r} is not named, and where it is now is not "
                "known: no joint state has named it yet",
            )
        return held

    # --------------------------------------------------------------------- equations of motion
    def _equations(
        self, model: Model, request: GetDynamics.Request, response: GetDynamics.Response
    ) -> None:
        asked, states, dynamics = request.state, self._states, model.dynamics
        positions, velocities = joint_state_asked_for(
            "state", asked, model, states.positions, states.velocities
        )
        q = model.coordinates(positions, base_coordinates(request.base_pose))
        u = model.speeds(velocities, base_speeds(request.base_twist))
        energy = dynamics.energy(q, u)
        response.joint_names = list(model.joint_names)
        response.mass_matrix = message_array(model.free_mass_matrix(q))
        response.bias = message_array(dynamics.bias(q, u))
        response.gravity = message_array(dynamics.gravity(q))
        rows = model.rows(q, u)
        if rows is not None:
            response.constraint_names = list(rows.names)
            response.constraint_rows = message_array(rows.A)
            response.constraint_bias = message_array(rows.bias)
        response.kinetic_energy = float(energy.kinetic)
        response.potential_energy = float(energy.potential)
        latest = stamp_of(int(states.stamps.max(initial=0)))
        response.state.header.stamp = latest if is_current(asked) else asked.header.stamp
        response.state.name = response.joint_names
        response.state.position = message_array(positions)
        response.state.velocity = message_array(velocities)
        if request.link:
            link = link_asked_for("link", request.link, model)
            response.link_pose = pose_message(dynamics.pose(link, q))
            response.jacobian = message_array(dynamics.jacobian(link, q))


def _filled(points: Points) -> tuple[Sample, tuple[str, str]]:
    """The points with velocities and accelerations, and how these were obtained.

    They do not need times if all is there.
    """
    given, filled = InverseDynamics.Response.GIVEN, InverseDynamics.Response.SPLINE
    p, v, a = points.positions, points.velocities, points.accelerations
    if v is not None and a is not None and points.complete:
        return Sample(p, v, a), (given, given)
    state = None
    if a is None and (v is None or not np.isnan(v).any()):
        from kane_dynamics.simulation.smoothing import smoothed  # the node starts sooner without

        state = smoothed(points.times, p, v, points.names)
    if state is not None:
        filled = InverseDynamics.Response.SMOOTHED
    else:
        motion = points.motion()
        state = Sample(motion.positions, motion.velocities, motion.accelerations)
    v_from, a_from = (given if x is not None and not np.isnan(x).any() else filled for x in (v, a))
    return state, (v_from, a_from)
