"""Random robots that no factory would build, as values and as URDF text."""

from dataclasses import dataclass, field, replace

import numpy as np
from oracle import Array


@dataclass(frozen=True)
class Part:
    """A link and the joint that carries it; numbers as in a URDF.

    Attributes
    ----------
    parent : int
        Index of the part that carries it; -1 for the root link.
    follows : (int, float, float) or None
        Index of the part whose joint it mimics, multiplier, offset.
    """

    parent: int
    kind: str
    xyz: Array
    rpy: Array
    axis: Array
    mass: float = 0.0
    center: Array = field(default_factory=lambda: np.zeros(3))
    inertial_rpy: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    follows: tuple[int, float, float] | None = None


@dataclass(frozen=True)
class RandomRobot:
    """Parts, parents first, and the order in which the file lists their joints."""

    parts: tuple[Part, ...]
    order: tuple[int, ...]
    root: Part

    def urdf(self) -> str:
        """The robot as text, with all digits."""
        links = [
            _link("root", self.root),
            *(_link(f"link{k}", p) for k, p in enumerate(self.parts)),
        ]
        joints = [self._joint(k) for k in self.order]
        return f'<robot name="random">{"".join(links[::-1])}{"".join(joints)}</robot>'

    def _joint(self, k: int) -> str:
        part = self.parts[k]
        parent = "root" if part.parent < 0 else f"link{part.parent}"
        mimic = ""
        if part.follows is not None:
            master, multiplier, offset = part.follows
            mimic = (
                f'<mimic joint="joint{master}" multiplier="{multiplier!r}" offset="{offset!r}"/>'
            )
        return (
            f'<joint name="joint{k}" type="{part.kind}"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="{_text(part.xyz)}" rpy="{_text(part.rpy)}"/>'
            f'<axis xyz="{_text(part.axis)}"/>{mimic}'
            '<limit lower="-9" upper="9" velocity="9" effort="9"/></joint>'
        )


def _text(numbers: Array) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def _link(name: str, part: Part) -> str:
    if part.mass == 0.0 and not part.inertia.any():
        return f'<link name="{name}"/>'
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = part.inertia.tolist()
    return (
        f'<link name="{name}"><inertial><origin xyz="{_text(part.center)}" '
        f'rpy="{_text(part.inertial_rpy)}"/><mass value="{part.mass!r}"/><inertia ixx="{xx!r}" '
        f'ixy="{xy!r}" ixz="{xz!r}" iyy="{yy!r}" iyz="{yz!r}" izz="{zz!r}"/></inertial></link>'
    )


# ----------------------------------------------------------------------------------- generation
@dataclass(frozen=True)
class Recipe:
    """What kind of robots to make.

    Attributes
    ----------
    parts : int
        How many links besides the root.
    kinds : tuple of str
        Joint types to draw from.
    branching : float
        Chance that a part is carried by any other than the one before.
    parallel : tuple of float
        Angles between successive axes to draw from; none for random directions.
    square : float
        Chance that a number is so round that things align: axes along x, y, z, right angles,
        offsets of zero.
    massless : float
        Chance of a link without inertia.
    masses, lengths : (float, float)
        Exponents of ten between which masses (kg) and lengths (m) lie.
    mimics : float
        Chance that a joint follows another, inboard or outboard.
    extreme : float
        Chance that a mass or a length lies at an end of its range.
    centered : float
        Chance that a centre of mass lies on the joint axis.
    """

    parts: int = 6
    kinds: tuple[str, ...] = ("revolute", "continuous", "prismatic")
    branching: float = 0.3
    parallel: tuple[float, ...] = ()
    square: float = 0.0
    massless: float = 0.0
    masses: tuple[float, float] = (-1.0, 1.0)
    lengths: tuple[float, float] = (-1.0, 0.0)
    mimics: float = 0.0
    extreme: float = 0.0
    centered: float = 0.0


def random_robot(recipe: Recipe, seed: int) -> RandomRobot:
    """The same robot for the same recipe and seed."""
    random = np.random.default_rng(seed)
    parts: list[Part] = []
    for k in range(recipe.parts):
        parent = int(random.integers(-1, k)) if random.random() < recipe.branching else k - 1
        kind = str(random.choice(recipe.kinds))
        rpy = _direction(recipe, random, np.pi)
        axis = _axis(recipe, random, parts[parent] if parent >= 0 else None, rpy)
        part = Part(parent, kind, _offset(recipe, random), rpy, axis)
        parts.append(_with_inertia(recipe, random, part))
    order = tuple(int(k) for k in random.permutation(recipe.parts))
    root = _with_inertia(recipe, random, Part(-1, "fixed", *np.zeros((3, 3))))
    return RandomRobot(tuple(_with_mimics(recipe, random, parts)), order, root)


def _direction(recipe: Recipe, random: np.random.Generator, size: float) -> Array:
    """Three numbers up to `size`; when square, right angles or zeros."""
    if random.random() < recipe.square:
        return size / 2.0 * random.integers(-2, 3, 3) * (random.random(3) < 0.4)
    return random.uniform(-size, size, 3)


def _magnitude(
    recipe: Recipe, random: np.random.Generator, exponents: tuple[float, float]
) -> float:
    if recipe.extreme and random.random() < recipe.extreme:
        return float(10.0 ** random.choice(exponents))
    return float(10.0 ** random.uniform(*exponents))


def _offset(recipe: Recipe, random: np.random.Generator) -> Array:
    length = _magnitude(recipe, random, recipe.lengths)
    offset = length * random.normal(size=3)
    return offset * (random.random(3) < 0.5) if random.random() < recipe.square else offset


def _axis(recipe: Recipe, random: np.random.Generator, inboard: Part | None, rpy: Array) -> Array:
    """Direction of a joint axis, perhaps nearly that of the joint before."""
    if inboard is not None and recipe.parallel and random.random() < 0.8:
        before = rotation(rpy).T @ (inboard.axis / np.linalg.norm(inboard.axis))
        across = np.cross(before, random.normal(size=3))
        across /= np.linalg.norm(across)
        return random.choice([-1.0, 1.0]) * (before + random.choice(recipe.parallel) * across)
    if random.random() < recipe.square:
        return random.choice([-1.0, 1.0]) * np.eye(3)[random.integers(3)]
    return random.normal(size=3)


def _with_inertia(recipe: Recipe, random: np.random.Generator, part: Part) -> Part:
    if random.random() < recipe.massless:
        return part
    mass = _magnitude(recipe, random, recipe.masses)
    length = _magnitude(recipe, random, recipe.lengths)
    # A body is a cloud of mass: its central second moments are what they like, but not negative.
    spread = random.uniform(0.0, 1.0, 3) * (random.random(3) > 0.3 * recipe.square)
    axes = rotation(_direction(recipe, random, np.pi))
    second = mass * length**2 * (axes * spread) @ axes.T
    inertia = np.trace(second) * np.eye(3) - second
    inertia[np.abs(inertia) < 1e-14 * np.abs(inertia).max()] = 0.0  # not what rounding has left
    direction = _direction(recipe, random, 1.0)
    if recipe.centered and random.random() < recipe.centered:
        direction = part.axis
    return replace(
        part,
        mass=mass,
        center=length * direction,
        inertial_rpy=_direction(recipe, random, np.pi),
        inertia=(inertia + inertia.T) / 2.0,
    )


def _with_mimics(recipe: Recipe, random: np.random.Generator, parts: list[Part]) -> list[Part]:
    """Let joints follow others: those follow nothing, or others before them in a random order."""
    simple = [k for k, p in enumerate(parts) if p.kind in ("revolute", "continuous", "prismatic")]
    result = list(parts)
    order = [int(k) for k in random.permutation(simple)]
    for at, k in enumerate(order[1:], 1):
        if random.random() < recipe.mimics:
            master = int(random.choice(order[:at]))
            multiplier = float(random.choice([1.0, -1.0, 0.5, -2.0, random.normal()]))
            offset = float(random.choice([0.0, np.pi / 2, random.normal()]))
            result[k] = replace(result[k], follows=(master, multiplier, offset))
    return result


def turn_about(axis: Array, angle: Array) -> Array:
    """Rotation matrices (..., 3, 3) about a unit vector (Rodrigues)."""
    K = np.cross(np.eye(3), axis)
    angle = np.asarray(angle)[..., None, None]
    # 1 - cos without loss of digits
    return np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(angle / 2.0) ** 2 * (K @ K)


def rotation(rpy: Array) -> Array:
    """Rotation by roll, pitch and yaw: about fixed x, y, z in this order, as URDF has it."""
    x, y, z = (turn_about(axis, angle) for axis, angle in zip(np.eye(3), rpy, strict=True))
    return z @ y @ x
