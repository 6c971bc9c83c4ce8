"""Services: torques for a trajectory, and the equations of motion at a state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.arrays import message_array
from kane_dynamics.ros.beside import Beside, snapshot
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.limits import beyond_limits, within_limits
from kane_dynamics.ros.model import NO_MODEL, Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.requested_states import (
    base_coordinates,
    base_speeds,
    is_current,
    joint_state_asked_for,
    link_asked_for,
    pose_message,
)
from kane_dynamics.ros.simulate.inputs import wrenches_asked_for
from kane_dynamics.ros.stamps import stamp_of
from kane_dynamics.ros.trajectories.plans import among_others
from kane_dynamics.ros.trajectories.points import Points, fill_points, read_points
from kane_dynamics.simulation.trajectory import Sample, trajectory_through
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics

CAUSE = "services"


class Services:
    """Serves `~/inverse_dynamics` and `~/get_dynamics`.

    Parameters
    ----------
    beside : Beside
    parameters : Parameters
    faults : Faults
    states : JointStates
    """

    def __init__(
        self, beside: Beside, parameters: Parameters, faults: Faults, states: JointStates
    ) -> None:
        self._beside, self._parameters, self._latest = beside, parameters, states
        self._faults = beside.faults(faults)
        self._states = states
        self._model: Model | None = None
        beside.create_service(InverseDynamics, "~/inverse_dynamics", self._inverse_dynamics)
        beside.create_service(GetDynamics, "~/get_dynamics", self._get_dynamics)

    def use(self, model: Model) -> None:
        """Serve another model."""
        self._model = model

    def _inverse_dynamics(
        self, request: InverseDynamics.Request, response: InverseDynamics.Response
    ) -> InverseDynamics.Response:
        return self._answer(self._torques, request, response)

    def _get_dynamics(
        self, request: GetDynamics.Request, response: GetDynamics.Response
    ) -> GetDynamics.Response:
        return self._answer(self._equations, request, response)

    def _answer(self, serve: Any, request: Any, response: Any) -> Any:
        """The response with what was asked for, or with what was wrong."""
        with self._beside.swapping:
            model, self._states = self._model, snapshot(self._latest)
        try:
            if model is None:
                raise Fault(CAUSE, NO_MODEL)
            serve(model, request, response)
            response.success = True
        except Fault as fault:
            self._faults.record(Fault(CAUSE, fault.sentence))
            response.success, response.message = False, fault.sentence
        except KaneDynamicsError as error:
            self._faults.record(Fault(CAUSE, str(error)))
            response.success, response.message = False, str(error)
        return response

    # ------------------------------------------------------------------------ inverse dynamics
    def _torques(
        self, model: Model, request: InverseDynamics.Request, response: InverseDynamics.Response
    ) -> None:
        trajectory, settings = request.trajectory, self._parameters.values
        if not trajectory.joint_names:
            trajectory.joint_names = list(model.joint_names)
        points = read_points(trajectory, model, settings.max_trajectory_points)
        filled = _filled(points)
        state = among_others(filled.state, points.joints, self._held(model, points.joints))
        wanted = model.efforts(*state) - self._pushed(model, request, points, state)
        efforts = within_limits(wanted, model, settings.limits, self._faults)
        some = [x[:, points.joints] for x in (state.velocities, state.accelerations, efforts)]
        fill_points(trajectory.points, *some)
        response.trajectory = trajectory
        response.velocities_from = filled.velocities_from
        response.accelerations_from = filled.accelerations_from
        response.message = beyond_limits(wanted, model)

    def _pushed(
        self, model: Model, request: InverseDynamics.Request, points: Points, state: Sample
    ) -> Array | float:
        """Efforts (N, n) at the joints of the wrenches that act during the motion."""
        most = self._parameters.values.max_trajectory_points
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
        positions, velocities, stamp = self._state(model, request.state)
        dynamics = model.dynamics
        q = model.coordinates(positions, base_coordinates(request.base_pose))
        u = model.speeds(velocities, base_speeds(request.base_twist))
        energy = dynamics.energy(q, u)
        response.joint_names = list(model.joint_names)
        response.mass_matrix = message_array(dynamics.mass_matrix(q))
        response.bias = message_array(dynamics.bias(q, u))
        response.gravity = message_array(dynamics.gravity(q))
        response.kinetic_energy = float(energy.kinetic)
        response.potential_energy = float(energy.potential)
        response.state.header.stamp = stamp
        response.state.name = response.joint_names
        response.state.position = message_array(positions)
        response.state.velocity = message_array(velocities)
        if request.link:
            link = link_asked_for("link", request.link, model)
            response.link_pose = pose_message(dynamics.pose(link, q))
            response.jacobian = message_array(dynamics.jacobian(link, q))

    def _state(self, model: Model, asked: JointState) -> tuple[Array, Array, Time]:
        """Positions, velocities and stamp of the state that a request asks for."""
        states = self._states
        positions, velocities = joint_state_asked_for(
            "state", asked, model, states.positions, states.velocities
        )
        latest = int(states.stamps.max(initial=0))
        return positions, velocities, stamp_of(latest) if is_current(asked) else asked.header.stamp


class _Filled(NamedTuple):
    """Points with velocities and accelerations, and how these were obtained."""

    state: Sample
    velocities_from: str
    accelerations_from: str


def _filled(points: Points) -> _Filled:
    """The points with velocities and accelerations, which do not need times if they are there."""
    given, filled = InverseDynamics.Response.GIVEN, InverseDynamics.Response.SPLINE
    p, v, a = points.positions, points.velocities, points.accelerations
    if v is not None and a is not None and points.complete:
        return _Filled(Sample(p, v, a), given, given)
    state = None
    if a is None and (v is None or not np.isnan(v).any()):
        from kane_dynamics.simulation.smoothing import smoothed  # the node starts sooner without

        state = smoothed(points.times, p, v, points.names)
    if state is not None:
        filled = InverseDynamics.Response.SMOOTHED
    else:
        motion = trajectory_through(points.times, p, v, a, joint_names=points.names)
        state = Sample(motion.positions, motion.velocities, motion.accelerations)
    origins = (given if x is not None and not np.isnan(x).any() else filled for x in (v, a))
    return _Filled(state, *origins)
