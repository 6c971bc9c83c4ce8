"""What may be asked of a simulation: all of its options, and what they must be."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from numpy.typing import ArrayLike

from kane_dynamics.errors import ArgumentError

if TYPE_CHECKING:
    from kane_dynamics.simulation.coupler import VirtualCoupler
    from kane_dynamics.simulation.inputs import Torque, WrenchHistory
    from kane_dynamics.simulation.switches import StateMachine, Switch

Method = Literal["rk4", "euler", "dop853", "radau"]
Limits = Literal["ignore", "stop", "compliant"]
Simulate = TypeVar("Simulate", bound=Callable[..., Any])

METHODS = ("euler", "rk4", "dop853", "radau")
FIXED_STEP = ("euler", "rk4")
POLICIES = ("ignore", "stop", "compliant")

MOST_STEPS = {"fixed": 10**9, "adaptive": 10**6}
"""Steps that are allowed by default; those of adaptive methods run in Python."""


@dataclass(frozen=True, eq=False)
class Request:
    """A simulation that is asked for.

    Parameters
    ----------
    duration : float
        Simulated time, s.
    q0, u0 : array (nq,), array (dof,)
        Coordinates and speeds at t = 0.
    torque : None, array (dof,), TorqueHistory, callable, PDControl or ComputedTorque
        What drives the joints: nothing, constant torques, torques over time, a function
        ``(t, q, u) -> torques``, or a controller that runs in compiled code. A function must
        depend on its arguments only: it is called several times a step, not always in the
        order of time, but never for a time more than a step back.
    step : float
        Length of the steps of ``"euler"`` and ``"rk4"``, s; steps also end wherever a history
        has an entry. For all methods it is the time constant of compliant stops.
    method : {"rk4", "euler", "dop853", "radau"}
        Classical Runge-Kutta or semi-implicit Euler with fixed step; or with adaptive step an
        explicit method of order 8, or an implicit one for stiff systems; these know constraints
        that stay as they are, not those that come and go.
    output_step : float, optional
        Time between two states of the result, s; by default `step`. The end is always there.
    wrenches : dict from link name to array (6,), WrenchHistory or VirtualCoupler, optional
        Force (N), then torque (N m), that the surroundings exert on a link; world-aligned, at
        the link's origin; or a spring and a damper that pull at it.
    limits : {"ignore", "stop", "compliant"}
        At the limits of its position a joint moves on; or the simulation ends; or it meets a
        critically damped stop with the time constant `step`: the shorter, the stiffer. A motion
        can be continued from where it rests at such a stop. Semi-implicit Euler does not see
        a joint that goes beyond a limit and comes back within one step.
    tolerance : float
        Error that ``"dop853"`` and ``"radau"`` allow in one step, in each coordinate and speed,
        relative to it if it is larger than one.
    verify : bool
        Whether the motion is computed twice, the second time with steps that are shorter by an
        irrational factor, or with a tolerance a hundred times smaller: ``motion.checks`` then says
        how far the two are apart at the end and on the way. A function that gives torques begins
        again at t = 0.
    switches : list of Switch, optional
        Constraints of the mechanism that are switched on or off on the way.
    machine : StateMachine, optional
        States with names that do so.
    max_steps : int, optional
        Steps beyond which a simulation with fixed step is refused, by default 10⁹, and one with
        adaptive step ends, by default after 10⁶: those run in Python, and take about a thousand
        times as long.

    Raises
    ------
    ArgumentError
        If an option is wrong, whatever the mechanism.
    """

    duration: float
    q0: ArrayLike
    u0: ArrayLike
    torque: Torque | VirtualCoupler = None
    step: float = 1e-3
    method: Method = "rk4"
    _: KW_ONLY
    output_step: float | None = None
    wrenches: Mapping[str, ArrayLike | WrenchHistory | VirtualCoupler] | None = None
    limits: Limits = "ignore"
    tolerance: float = 1e-8
    verify: bool = False
    max_steps: int | None = None
    switches: Sequence[Switch] | None = None
    machine: StateMachine | None = None

    def __post_init__(self) -> None:
        _refuse_other("method", self.method, METHODS)
        _refuse_other("limits", self.limits, POLICIES)
        defaults = {
            "duration": None,
            "step": None,
            "output_step": self.step,
            "tolerance": None,
            "max_steps": MOST_STEPS["fixed" if self.fixed else "adaptive"],
        }
        for name, default in defaults.items():
            given = getattr(self, name)
            number = _positive(name, default if given is None else given)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "max_steps", math.ceil(self.most_steps))
        if not 1e-13 <= self.tolerance <= 1e-2:
            raise ArgumentError(
                f"tolerance must lie between 1e-13 and 0.01, got {self.tolerance:g}"
            )
        if self.duration / self.step > self.most_steps and self.fixed:
            raise ArgumentError(
                f"{self.duration:g} s in steps of {self.step:g} s are "
                f"{self.duration / self.step:.10g} steps, more than the {self.most_steps:.10g} of "
                "max_steps; simulate a shorter duration, or with longer steps"
            )
        if self.wrenches is not None and not isinstance(self.wrenches, Mapping):
            raise ArgumentError(
                "wrenches must be a dict from link name to six numbers or a WrenchHistory, got "
                f"{type(self.wrenches).__name__}"
            )

    @property
    def fixed(self) -> bool:
        """Whether steps have a fixed length."""
        return self.method in FIXED_STEP

    @property
    def most_steps(self) -> int:
        assert self.max_steps is not None
        return self.max_steps

    @property
    def apart(self) -> float:
        """Seconds between two states of the result."""
        assert self.output_step is not None
        return self.output_step


def spelled_out(simulate: Simulate) -> Simulate:
    """Give a method that makes a `Request` of its arguments the signature and text of these."""
    self, *_, progress, cancel, _ = inspect.signature(simulate).parameters.values()
    asked = inspect.signature(Request)
    parameters = [self, *asked.parameters.values(), progress, cancel]
    text = inspect.getdoc(Request) or ""
    options = text.partition("----------\n")[2].partition("\n\nRaises")[0]
    simulate.__doc__ = inspect.cleandoc(simulate.__doc__ or "").replace("{options}", options)
    own = inspect.signature(simulate)
    simulate.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return simulate


def _refuse_other(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(map(repr, choices))}, got {given!r}")


def _positive(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentError(f"{name} must be a positive, finite number, got {value!r}")
    return number
