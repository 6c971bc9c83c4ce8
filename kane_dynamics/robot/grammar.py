"""The part of URDF that a robot is read from: elements, their attributes, and what those hold."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, isnan

from kane_dynamics.robot.structure import URDF_KINDS
from kane_dynamics.robot.xml import Grammar, Value


def _holds(count: int, test: Callable[[float], bool]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            return False
        # Python reads 1_000 and digits of other scripts as numbers, readers of URDF do not
        plain = "_" not in text and text.isascii()
        return plain and len(values) == count and all(map(test, values))

    return accepts


_NAME = Value("a name", bool)
_KIND = Value(f"one of {', '.join(URDF_KINDS)}", URDF_KINDS.__contains__)
_VERSION = Value("1.0, 1.1 or 1.2", {"1.0", "1.1", "1.2"}.__contains__)
_NUMBER = Value("a finite number", _holds(1, isfinite))
_BOUND = Value("a number", _holds(1, lambda value: not isnan(value)))
_SIZE = Value("a finite number not below zero", _holds(1, lambda value: 0 <= value < float("inf")))
_SIZES = Value("three finite numbers", _holds(3, lambda value: 0 <= value < float("inf")))
_VECTOR = Value("three finite numbers", _holds(3, isfinite))
_FOUR = Value("four finite numbers", _holds(4, isfinite))
_ANYTHING = Value("a name", lambda _: True)

_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

_ORIGIN = Grammar({"xyz": _VECTOR, "rpy": _VECTOR, "quat_xyzw": _FOUR})

_GEOMETRY = Grammar(
    children={
        "box": Grammar({"size": _SIZES}, needs=("size",)),
        "cylinder": Grammar({"radius": _SIZE, "length": _SIZE}, needs=("radius", "length")),
        "sphere": Grammar({"radius": _SIZE}, needs=("radius",)),
        "mesh": Grammar({"filename": _NAME, "scale": _VECTOR}, needs=("filename",)),
    }
)

MATERIAL = Grammar(
    {"name": _ANYTHING},
    {
        "color": Grammar({"rgba": _FOUR}, needs=("rgba",)),
        "texture": Grammar({"filename": _NAME}, needs=("filename",)),
    },
)
"""What a <visual> looks like, in it or named for all."""

_COLLISION = Grammar(children={"origin": _ORIGIN, "geometry": _GEOMETRY}, needs=("geometry",))

VISUAL = Grammar(children={**_COLLISION.children, "material": MATERIAL}, needs=("geometry",))
"""A <visual>, or a <collision>, which is one without <material>."""

_INERTIAL = Grammar(
    children={
        "origin": _ORIGIN,
        "mass": Grammar({"value": _NUMBER}, needs=("value",)),
        "inertia": Grammar(dict.fromkeys(_TENSOR, _NUMBER), needs=_TENSOR),
    },
    needs=("mass",),
)

_LINK = Grammar(
    {"name": _NAME},
    {"inertial": _INERTIAL, "collision": _COLLISION, "visual": VISUAL},
    needs=("name",),
    repeated=frozenset({"collision", "visual"}),
)

_JOINT = Grammar(
    {"name": _NAME, "type": _KIND},
    {
        "origin": _ORIGIN,
        "parent": Grammar({"link": _NAME}, needs=("link",)),
        "child": Grammar({"link": _NAME}, needs=("link",)),
        "axis": Grammar({"xyz": _VECTOR}, needs=("xyz",)),
        "limit": Grammar(dict.fromkeys(("lower", "upper", "velocity", "effort"), _BOUND)),
        "dynamics": Grammar({"damping": _NUMBER, "friction": _NUMBER}),
        "mimic": Grammar(
            {"joint": _NAME, "multiplier": _NUMBER, "offset": _NUMBER}, needs=("joint",)
        ),
    },
    needs=("name", "type", "parent", "child"),
)

ROBOT = Grammar(
    {"name": _ANYTHING, "version": _VERSION},
    {"link": _LINK, "joint": _JOINT, "material": MATERIAL},
    needs=("name",),
    repeated=frozenset({"link", "joint", "material"}),
)
"""A whole URDF."""
