"""Parameters of the node: declared as the table of settings says, checked, and held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.parameters.rows import NUMBERS, STRINGS, Row
from kane_dynamics.ros.parameters.settings import TABLE, Settings, checked


class Parameters:
    """Declares the parameters, and holds their values: `values` is replaced when one changes.

    Raises ArgumentError if a value given at the start is wrong.

    Parameters
    ----------
    changed : callable, optional
        Told the old and the new settings after a change at run time.
    """

    def __init__(
        self, node: Node, changed: Callable[[Settings, Settings], None] | None = None
    ) -> None:
        self.values = Settings()
        self._changed = changed
        for row in TABLE.values():
            self._declare(node, row)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def _declare(self, node: Node, row: Row) -> None:
        # It is looked at before rclpy does so by the descriptor, and says less well what is wrong.
        anything = ParameterDescriptor(dynamic_typing=True)
        written = row.written()
        given = node.declare_parameter(row.name, None if written == [] else written, anything).value
        self._set(row.name, given)
        node.set_descriptor(row.name, _descriptor(row))

    def _set(self, name: str, given: Any) -> None:
        self.values = replace(self.values, **{name: checked(name, given)})

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name in TABLE:
                    checked(parameter.name, parameter.value)
        except ArgumentError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take(self, parameters: list[Parameter]) -> None:
        before = self.values
        for parameter in parameters:
            if parameter.name in TABLE:
                self._set(parameter.name, parameter.value)
        if self._changed is not None and self.values != before:
            self._changed(before, self.values)


def warn_of_unknown_parameters(node: Node) -> None:
    """Name what was given to the node at the start, but is no parameter of it."""
    given = [name for name in node.handle.get_parameters(Parameter) if not node.has_parameter(name)]
    for name in sorted(given):
        about_quality = name.startswith("qos_overrides.")
        near = _near_quality(node, name) if about_quality else get_close_matches(name, TABLE, 1)
        if about_quality and not near:
            continue  # a file for many nodes may say something about topics of the others
        meant = f": is {near[0]} meant?" if near else "."
        node.get_logger().warning(f"There is no parameter {name}{meant}")


def _near_quality(node: Node, name: str) -> list[str]:
    """The policy of a topic of this node that was probably meant, if any.

    Who publishes what the node subscribes has parameters of nearly the same names.
    """
    known = (f"qos_overrides.{rest}" for rest in node.get_parameters_by_prefix("qos_overrides"))
    ends = [end for end in (".publisher.", ".subscription.") if end in name]
    alike = [each for each in known if all(end in each for end in ends)]
    return get_close_matches(name, alike, 1, 0.9)


def _descriptor(row: Row) -> ParameterDescriptor:
    # a number may be written without a decimal point, and an empty list has no type
    any_type = row.kind in (float, STRINGS, NUMBERS)
    choices = f"One of {', '.join(row.choices)}." if row.choices else ""
    descriptor = ParameterDescriptor(
        name=row.name,
        type=0 if any_type else Parameter.Type.from_parameter_value(row.default).value,
        description=" ".join(row.sentences()),
        read_only=row.read_only,
        additional_constraints=choices,
        dynamic_typing=any_type,
    )
    if row.range is not None and row.kind is int:
        least, most = map(int, row.range)
        descriptor.integer_range = [IntegerRange(from_value=least, to_value=most, step=1)]
    elif row.range is not None:
        low, high = map(float, row.range)
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    return descriptor
